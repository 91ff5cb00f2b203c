"""Listing is in a fixed order, and ranges of lines share none and lose none, compressed or not."""

import bz2
import gzip
import lzma
import os
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError, InputError
from lexmill.store.raw import Lines, LongLine, compression_of, list_files, read_file, read_lines

LIMITS = Limits.of(Ingest())


def within(total: int) -> Limits:
    return replace(LIMITS, file=total)


PACK = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def collect(path: Path, compression: str, start: int, end: int, limit: int = 1 << 20) -> tuple[bytes, list[LongLine]]:
    data, long = b"", []
    for block in read_lines(str(path), compression, start, end, limit, Allowance.split(path.stat().st_size, LIMITS)):
        if isinstance(block, Lines):
            data += block.data
        else:
            long.append(block)
    return data, long


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=12),
    tail=st.booleans(),
    cuts=st.lists(st.integers(0, 120), max_size=4),
    compression=st.sampled_from(sorted(PACK)),
)
@settings(max_examples=150, deadline=None)
def test_ranges_tile_the_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], tail: bool, cuts: list[int], compression: str
) -> None:
    data = b"\n".join(lines) + (b"\n" if tail else b"")
    path = tmp_path_factory.mktemp("raw") / f"x.jsonl{compression}"
    path.write_bytes(PACK[compression](data))
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [collect(path, compression, start, end)[0] for start, end in pairwise(edges)]
    assert b"".join(pieces) == data
    at = 0
    for (start, end), piece in zip(pairwise(edges), pieces, strict=True):
        assert not piece or start <= at < end, "a range owns the lines that begin in it"
        at += len(piece)


def test_blocks_say_their_offset(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"aaa\nbbb\nccc\n")
    assert [block.offset for block in read_lines(str(path), "", 5, 12, 100, Allowance.split(12, LIMITS))] == [8]


def test_a_long_line_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"ok\n" + b"x" * 5000 + b"\nok too\n")
    assert collect(path, "", 0, 1 << 30, limit=100) == (b"ok\nok too\n", [LongLine(3, 5001)])


def test_a_line_as_long_as_the_limit_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"x" * 100 + b"\ny\n")
    assert collect(path, "", 0, 1 << 30, limit=100) == (b"x" * 100 + b"\ny\n", [])


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_lines_before_a_fault_are_kept(tmp_path: Path, keep: float) -> None:
    lines = b"".join(random.Random(1).randbytes(40_000).hex().encode() + b"\n" for _ in range(100))
    packed = gzip.compress(lines)
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(packed[: int(keep * len(packed))])
    blocks: list[Lines | LongLine] = []
    with pytest.raises(DocumentError, match="broken_compression"):
        blocks.extend(read_lines(str(path), ".gz", 0, 1 << 30, 1 << 20, Allowance.split(len(packed), LIMITS)))
    found = b"".join(block.data for block in blocks if isinstance(block, Lines))
    assert lines.startswith(found)
    assert found.endswith(b"\n")
    assert len(found) > (keep - 0.2) * len(lines)


@pytest.mark.parametrize("compression", sorted(PACK))
def test_whole_files_and_sizes(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"x.txt{compression}"
    path.write_bytes(PACK[compression](b"abc" * 1000))
    assert compression_of(path.name) == compression
    assert read_file(str(path), compression, path.stat().st_size, within(3000)) == b"abc" * 1000
    with pytest.raises(DocumentError, match="max_file_mb"):
        read_file(str(path), compression, path.stat().st_size, within(2999))


@pytest.mark.parametrize("compression", sorted(set(PACK) - {""}))
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_broken_compression_is_a_reason(tmp_path: Path, compression: str, keep: float) -> None:
    path = tmp_path / f"x{compression}"
    whole = PACK[compression](bytes(range(256)) * 400)
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(DocumentError, match="broken_compression"):
        read_file(str(path), compression, path.stat().st_size, LIMITS)


def test_listing_is_sorted_and_relative_to_the_common_root(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/1.txt", "a/x.txt", "a/.hidden.txt", "a/deep/er.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = list_files([f"{tmp_path}/b/*.txt", f"{tmp_path}/a/**/*.txt"])
    assert [file.relative for file in found] == ["a/deep/er.txt", "a/x.txt", "b/1.txt", "b/2.txt"]
    assert [file.relative for file in list_files([f"{tmp_path}/a/x.txt"])] == ["x.txt"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.txt").write_text("x")
    (tmp_path / "a/loop").symlink_to(tmp_path / "a")
    assert [file.relative for file in list_files([f"{tmp_path}/**/*.txt"])] == ["a/x.txt"]


def test_a_pattern_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none-\*"):
        list(list_files([f"{tmp_path}/none-*.txt"]))


def test_what_is_no_file_is_listed_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("x")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "nowhere.txt").symlink_to(tmp_path / "gone")
    (tmp_path / "circle.txt").symlink_to(tmp_path / "circle.txt")
    (tmp_path / "folder.txt").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("x")
    (tmp_path / "\\xff.txt").write_text("x")  # a file whose very name is what stands for the other's
    found = sorted((file.relative, file.rule) for file in list_files([f"{tmp_path}/*.txt"]))
    assert found == sorted(
        [
            ("good.txt", ""),
            ("\\xff.txt", ""),
            ("pipe.txt", "ingest.not_a_file"),
            ("nowhere.txt", "ingest.not_a_file"),
            ("circle.txt", "ingest.not_a_file"),
            ("\\xff.txt", "ingest.bad_file_name"),
        ]
    )


def test_patterns_may_overlap_and_end_in_stars(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.txt").write_text("x")
    assert [file.relative for file in list_files([f"{tmp_path}/a/*.txt", f"{tmp_path}/a/x.txt"])] == ["x.txt"]
    assert [file.relative for file in list_files([f"{tmp_path}/**"])] == ["a/x.txt"]


def test_a_folder_in_place_of_files_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder; write .*/\*\*/\*"):
        list(list_files([str(tmp_path)]))


def test_urls_are_listed_and_read() -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe({"/bucket/raw/b.txt": b"2", "/bucket/raw/a.txt": b"1"})
    found = list(list_files(["memory://bucket/raw/*.txt"]))
    assert [(file.relative, file.size) for file in found] == [("a.txt", 1), ("b.txt", 1)]
    assert read_file(found[0].uri, "", 1, LIMITS) == b"1"
