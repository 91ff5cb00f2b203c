"""Reading: every format, compressed or in archives, gives the same records; whatever cannot be read says why."""

import gzip
import io
import json
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from lexmill.config import Card, Ingest, Source
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import Record
from lexmill.jobs.reading import Extent, Reading, extents, format_in
from lexmill.store.raw import ContentDigest, compression_of
from tests.made import make_7z, make_tar, make_zip

TEXT = "原告卓某诉称，被告未支付货款1,200元。"
LINES = "".join(json.dumps({"text": f"{TEXT}{n}"}, ensure_ascii=False) + "\n" for n in range(30)).encode()
CARD = Card(origin="open", licence="none", collected="2026-01-02", legal_basis="x", foreign=False)  # type: ignore[arg-type]


def source(format: str | None = None, records: str | None = None, query: str | None = None) -> Source:
    return Source(name="a", doc_type="judgment", paths=("x",), format=format, records=records, query=query, card=CARD)  # type: ignore[arg-type]


def limits(**lowered: float) -> Limits:
    return Limits.of(Ingest(**lowered))  # type: ignore[arg-type]


def cuts_of(path: Path, of: Source, part_bytes: int, bounds: Limits) -> list[Extent]:
    fmt = format_in(of, path.name)
    whole = Extent(str(path), path.stat().st_size, fmt, compression_of(path.name), 0, -1)
    return extents(whole, of.query, part_bytes, bounds, path.parent / f"{path.name}.stretches")


def read(
    path: Path, of: Source | None = None, part_bytes: int = 1 << 25, bounds: Limits | None = None
) -> list[tuple[str, str | None, str]]:
    """(member, record id, text or rule) of all extents of a file."""
    of, bounds = of or source(), bounds or limits()
    reading = Reading(of, bounds, (), ContentDigest())
    return [
        (member, record.record_id, record.text if isinstance(record, Record) else record.rule)
        for extent in cuts_of(path, of, part_bytes, bounds)
        for member, record in reading.records(extent)
    ]


def put(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


TEXTS = {f"{name}.txt": f"{TEXT}{name}".encode() for name in "甲乙丙丁"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", make_zip(TEXTS)),
        ("a.tar", make_tar(TEXTS)),
        ("a.tgz", gzip.compress(make_tar(TEXTS))),
        ("a.7z", make_7z(TEXTS)),
        ("a.tar.xz", lzma.compress(make_tar(TEXTS))),
        ("a.tar.zst", zstandard.ZstdCompressor().compress(make_tar(TEXTS))),
    ],
)
@pytest.mark.parametrize("part_bytes", [60, 150, 1 << 25])
def test_archives_whole_and_in_parts(tmp_path: Path, name: str, data: bytes, part_bytes: int) -> None:
    path = put(tmp_path, name, data)
    assert read(path, part_bytes=part_bytes) == [(member, None, text.decode()) for member, text in TEXTS.items()]
    if part_bytes == 60:
        cuts = cuts_of(path, source(), part_bytes, limits())
        assert len(cuts) == 4
        if name not in ("a.zip", "a.tar"):
            path.unlink()  # each part has its own stretch and unpacks nothing else
            reading = Reading(source(), limits(), (), ContentDigest())
            assert [found.member for cut in cuts for found in reading.records(cut)] == list(TEXTS)


def test_an_archive_of_many_things(tmp_path: Path) -> None:
    parquet = io.BytesIO()
    pq.write_table(pa.table({"text": [f"{TEXT}表"]}), parquet)
    files = {
        "a.jsonl.gz": gzip.compress(LINES[: LINES.index(b"\n") + 1]),
        "b.parquet": parquet.getvalue(),
        "内/c.tar.gz": gzip.compress(make_tar({"甲.txt": TEXTS["甲.txt"], "空.txt": b""})),
        "d.png": b"\x89PNG",
        "空.jsonl": b"",
        "e.gz": gzip.compress(b"x"),
        "f.zip": b"PK nothing",
        "g.docx": b"PK nothing",
        "h.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "i.sqlite": b"x",
        "__MACOSX/._a": b"x",
    }
    path = put(tmp_path, "a.zip", make_zip(files))
    assert read(path) == [
        ("a.jsonl.gz", "0", f"{TEXT}0"),
        ("b.parquet", "0", f"{TEXT}表"),
        ("内/c.tar.gz#甲.txt", None, f"{TEXT}甲"),
        ("内/c.tar.gz#空.txt", None, "ingest.empty"),
        ("d.png", None, "ingest.needs_ocr"),
        ("空.jsonl", None, "ingest.empty"),
        ("e.gz", None, "ingest.unknown_format"),
        ("f.zip", None, "ingest.broken_archive"),
        ("g.docx", None, "ingest.broken_archive"),
        ("h.doc", None, "ingest.needs_converter"),
        ("i.sqlite", None, "ingest.needs_query"),
    ]
    reading = Reading(source(), limits(), (), ContentDigest())
    list(reading.records(cuts_of(path, source(), 1 << 25, limits())[0]))
    assert reading.n_skipped == 1


def test_nesting_ends_at_its_limit(tmp_path: Path) -> None:
    data = make_zip({"a.txt": TEXT.encode()})
    for _ in range(3):
        data = make_zip({"b.zip": data, "a.txt": TEXT.encode()})
    found = read(put(tmp_path, "a.zip", data))
    assert found == [
        ("b.zip#b.zip#b.zip", None, "ingest.max_depth"),
        ("b.zip#b.zip#a.txt", None, TEXT),
        ("b.zip#a.txt", None, TEXT),
        ("a.txt", None, TEXT),
    ]
    assert read(put(tmp_path, "a.zip", data), bounds=limits(max_depth=0)) == [("", None, "ingest.max_depth")]


def test_a_bomb_in_bombs_is_refused(tmp_path: Path) -> None:
    inner = make_zip({f"{n}.txt": bytes(4 << 20) for n in range(4)})
    found = read(
        put(tmp_path, "a.zip", make_zip({f"{n}.zip": inner for n in range(8)})), bounds=limits(max_ratio=1e6, max_file_mb=40)
    )
    assert found[-1][2] == "ingest.max_file_mb"
    assert sum(rule == "ingest.binary" for _, _, rule in found) < 10


def test_zeros_without_end_are_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl.gz", gzip.compress(bytes(40 << 20)))
    assert [rule for _, _, rule in read(path, part_bytes=1 << 30)] == ["ingest.max_ratio"]
    assert read(put(tmp_path, "a.txt.gz", gzip.compress(bytes(40 << 20))))[0][2] == "ingest.max_ratio"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_json_lines_that_cannot_be_cut_are_read_whole(tmp_path: Path, name: str, encoding: str) -> None:
    indent = 1 if encoding == "utf-8" else None
    values = [{"id": f"n{n}", "text": f"{TEXT}{n}" * 40} for n in range(2500)]
    data = "\n".join(json.dumps(value, ensure_ascii=False, indent=indent) for value in values).encode(encoding)
    path = put(tmp_path, name, gzip.compress(data) if name.endswith(".gz") else data)
    found = read(path, part_bytes=1 << 16)
    assert [(record_id, text) for _, record_id, text in found] == [(value["id"], value["text"]) for value in values]
    assert len(cuts_of(path, source(), 1 << 16, limits())) == 1


def test_a_long_line_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", LINES + b'{"text":"' + b"x" * (3 << 20) + b'"}\n' + LINES)
    found = read(path, bounds=limits(max_record_mb=1))
    assert [entry[2] for entry in found].count("ingest.max_record_mb") == 1
    assert len(found) == 61


def test_a_document_above_the_record_limit(tmp_path: Path) -> None:
    for name in ("a.txt", "a.html", "a.md"):
        assert read(put(tmp_path, name, b"x" * (2 << 20)), bounds=limits(max_record_mb=1)) == [("", None, "ingest.max_record_mb")]


def test_deep_nesting_ends(tmp_path: Path) -> None:
    deep = 200_000
    assert read(put(tmp_path, "a.json", b"[" * deep))[0][2] in ("ingest.too_deep", "ingest.bad_json")
    assert read(put(tmp_path, "a.jsonl", b'{"a":' * deep + b"1" + b"}" * deep))[0][2] in ("ingest.too_deep", "ingest.bad_json")
    assert read(put(tmp_path, "a.html", b"<div>" * deep)) == [("", None, "ingest.too_deep")]


def test_the_run_file_says_what_a_file_is(tmp_path: Path) -> None:
    whole = [("", str(LINES.index(b"\n") + 1), f"{TEXT}1")]
    assert read(put(tmp_path, "a.dat", LINES), source("jsonl"))[1:2] == whole
    assert len(read(put(tmp_path, "b.dat", LINES), source("jsonl"), part_bytes=500)) == 30
    assert len(read(put(tmp_path, "c.dat.gz", gzip.compress(LINES)), source("jsonl"))) == 30
    assert len(read(put(tmp_path, "d.zip", make_zip({"x.dat": LINES})), source("jsonl"))) == 30
    assert len(read(put(tmp_path, "e.dat", make_zip({"x.jsonl": LINES})), source("zip"))) == 30
    assert read(put(tmp_path, "f.dat", LINES)) == [("", None, "ingest.unknown_format")]


def test_records_at_a_path(tmp_path: Path) -> None:
    value = {"data": {"items": [{"text": f"{TEXT}0"}, {"text": f"{TEXT}1", "id": "x"}], "text": "不是"}}
    path = put(tmp_path, "a.json", json.dumps(value).encode())
    assert read(path, source(records="data.items")) == [("", "0", f"{TEXT}0"), ("", "x", f"{TEXT}1")]
    assert read(path, source(records="data.nothing")) == [("", "0", "ingest.no_records")]
    lines = put(tmp_path, "a.jsonl", (json.dumps(value) + "\n").encode() * 2)
    assert [entry[1] for entry in read(lines, source(records="data.items"))][::2] == ["0.0", f"{len(json.dumps(value)) + 1}.0"]
    assert read(path, source(records="data.text")) == [("", "0", "不是")]


def test_a_word_file_is_what_its_bytes_are(tmp_path: Path) -> None:
    assert read(put(tmp_path, "a.doc", f"<html><body><p>{TEXT}</p></body></html>".encode("gb18030"))) == [("", None, TEXT)]
    assert read(put(tmp_path, "a.docx", TEXT.encode())) == [("", None, TEXT)]
    assert read(put(tmp_path, "a.rtf", b"{\\rtf1 x}")) == [("", None, "ingest.needs_converter")]


def test_what_is_read_is_digested(tmp_path: Path) -> None:
    digests = set()
    for name in ("甲", "乙"):
        path = put(tmp_path, "a.parquet", b"")
        pq.write_table(pa.table({"text": [f"{TEXT}{name}"]}), path)
        for made in (path, put(tmp_path, "a.zip", make_zip({"a.txt": f"{TEXT}{name}".encode()}))):
            reading = Reading(source(), limits(), (), ContentDigest())
            list(reading.records(cuts_of(made, source(), 1 << 25, limits())[0]))
            digests.add(reading.content.hexdigest())
    assert len(digests) == 4
