"""Files made to exhaust a reader end by a limit that is named, in bounded memory; each is read by a process that is measured."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

MOST_MB = 1500
READ = """
import resource, sys
from pathlib import Path
from lexmill.config import Fields, Ingest, Source
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import BadRecord
from lexmill.jobs.reading import Extent, Reading, extents, format_in
from lexmill.store.memory import peak_rss
from lexmill.store.raw import ContentDigest, compression_of
from lexmill.errors import DocumentError
path, limits = Path(sys.argv[1]), Limits.of(Ingest())
source = Source.model_construct(name="a", doc_type="auto", paths=("-",), format=None, records=None, query=None, fields=Fields())
found, size, fmt = [], path.stat().st_size, format_in(source, path.name)
try:
    whole = Extent(str(path), size, fmt, compression_of(path.name), 0, -1)
    cuts = extents(whole, None, 32 << 20, limits, path.parent / "stretches")
except DocumentError as error:
    cuts, found = [], [error.rule]
for extent in cuts:
    for _, record in Reading(source, limits, (), ContentDigest()).records(extent):
        found.append(record.rule if isinstance(record, BadRecord) else "text")
peak = max(peak_rss(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024) >> 20
print(peak, *sorted(set(found)))
"""


def read(path: Path) -> tuple[int, set[str]]:
    """Peak memory in MiB and the rules, or ``text``, that a fresh process finds."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True, timeout=600)
    peak, *rules = done.stdout.split()
    print(path.name, peak, rules)
    return int(peak), set(rules)


def long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b'{"text":"first"}\n{"text":"')
        file.truncate(2 << 30)
        file.seek(2 << 30)
        file.write(b'"}\n{"text":"last"}\n')


def zeros(path: Path) -> None:
    # A gzip file may have many members: one of 64 MB, 64 times.
    member = gzip.compress(bytes(64 << 20), 9)
    path.write_bytes(member * 64)


def zip_bomb(path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", bytes(90 << 20))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(64):
            archive.writestr(f"{number}.zip", inner.getvalue())


def laughs(path: Path) -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    document = (
        f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY l0 "lol">{entities}]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
        "<w:t>&l11;</w:t></w:r></w:p></w:body></w:document>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", document)


def deep_html(path: Path) -> None:
    path.write_bytes(b"<html><body>" + b"<div>" * 3_000_000)


def deep_json(path: Path) -> None:
    path.write_bytes(b'{"a":' * 5_000_000 + b"1" + b"}" * 5_000_000)


def wide_json(path: Path) -> None:
    path.write_bytes(b"[" + b"[]," * 25_000_000 + b"[]]")


def escaping(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../../escaped.txt", "/escaped.txt", "C:\\escaped.txt"):
            archive.writestr(name, "第一条 为了规范。")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make", "rules"),
    [
        ("line.jsonl", long_line, {"ingest.max_record_mb", "text"}),
        ("zeros.jsonl.gz", zeros, {"ingest.max_file_mb", "ingest.max_ratio"}),
        ("zeros.txt.gz", zeros, {"ingest.max_file_mb", "ingest.max_ratio"}),
        ("bomb.zip", zip_bomb, {"ingest.max_ratio"}),
        pytest.param("laughs.docx", laughs, {"ingest.xml_declares_entities"}, marks=pytest.mark.smoke),
        ("deep.html", deep_html, {"ingest.too_deep"}),
        ("deep.json", deep_json, {"ingest.max_file_mb", "ingest.too_deep"}),
        ("deep.jsonl", deep_json, {"ingest.max_record_mb"}),
        ("wide.json", wide_json, {"ingest.max_file_mb"}),
        ("escaping.zip", escaping, {"text"}),
    ],
)
def test_a_hostile_file_ends_by_a_limit_in_bounded_memory(
    tmp_path: Path, name: str, make: Callable[[Path], None], rules: set[str]
) -> None:
    folder = tmp_path / "in" / "deep"
    folder.mkdir(parents=True)
    make(folder / name)
    peak, found = read(folder / name)
    assert peak < MOST_MB
    assert found
    assert found <= rules
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [name]


@pytest.mark.slow
def test_a_record_of_the_largest_size_is_read_in_bounded_memory(tmp_path: Path) -> None:
    text = "原告卓某诉称，被告未支付货款。\n" * 340_000
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": text}, ensure_ascii=False) + "\n", "utf-8")
    assert 15 << 20 < path.stat().st_size < 16 << 20
    peak, found = read(path)
    assert found == {"text"}
    assert peak < MOST_MB
