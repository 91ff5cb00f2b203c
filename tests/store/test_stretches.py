"""Stretches tile the lines of a compressed file, whatever it is compressed by, and end where a line does."""

import gzip
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError
from lexmill.store.archives import Member, read_members
from lexmill.store.raw import opened, read_file
from lexmill.store.stretches import COMPRESSION, read_stretch, stretch_name, write_members, write_stretches
from tests.made import make_7z, make_tar

LIMITS = Limits.of(Ingest())


@given(lines=st.lists(st.binary(max_size=30), max_size=20), n_bytes=st.integers(1, 60), ends=st.booleans())
@settings(max_examples=60, deadline=None)
def test_stretches_tile_the_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], n_bytes: int, ends: bool) -> None:
    folder = tmp_path_factory.mktemp("raw")
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    packed = folder / "x.gz"
    packed.write_bytes(gzip.compress(data))
    ranges = write_stretches(str(packed), ".gz", folder / "s", n_bytes, Allowance.split(len(data), LIMITS))
    assert [end for _, end in ranges[:-1]] == [start for start, _ in ranges[1:]]
    assert sum(end - start for start, end in ranges) == len(data)
    pieces = [read_file(str(folder / "s" / stretch_name(start)), COMPRESSION, 1, LIMITS) for start, _ in ranges]
    assert b"".join(pieces) == data
    assert [len(piece) for piece in pieces] == [end - start for start, end in ranges]
    assert all(piece.endswith(b"\n") and len(piece) >= n_bytes for piece, _ in pairwise(pieces))


def test_what_is_broken_or_too_much_is_a_reason(tmp_path: Path) -> None:
    data = gzip.compress(b"line\n" * 100_000)
    (tmp_path / "cut.gz").write_bytes(data[:-20])
    with pytest.raises(DocumentError, match="broken_compression"):
        write_stretches(str(tmp_path / "cut.gz"), ".gz", tmp_path / "s", 1000, Allowance.split(len(data), LIMITS))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\0" * (20 << 20)))
    with pytest.raises(DocumentError, match="max_ratio"):
        write_stretches(str(tmp_path / "bomb.gz"), ".gz", tmp_path / "s", 1 << 20, Allowance.split(1, LIMITS))


def tar_gz(files: Mapping[str, bytes]) -> bytes:
    return make_tar(files, "w:gz")


@pytest.mark.parametrize(("fmt", "compression", "make"), [("tar", ".gz", tar_gz), ("7z", "", make_7z)])
@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=12), n_bytes=st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_stretches_of_members_are_all_members_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    fmt: str,
    compression: str,
    make: Callable[[Mapping[str, bytes]], bytes],
    sizes: list[int],
    n_bytes: int,
) -> None:
    folder = tmp_path_factory.mktemp("raw")
    files = {f"卷/{number}{'.txt' if number % 4 else '/.DS_Store'}": b"\n{" * size for number, size in enumerate(sizes)}
    packed = folder / "x"
    packed.write_bytes(make(files))
    size = packed.stat().st_size
    with opened(str(packed), compression, Allowance.split(size, LIMITS)) as file:
        whole = list(read_members(file, fmt, 0, -1, LIMITS, Allowance.split(size, LIMITS)))
    ranges = write_members(str(packed), fmt, compression, size, folder / "s", n_bytes, LIMITS)
    assert [end for _, end in ranges] == [*(start for start, _ in ranges[1:]), len(files)]
    # Nothing is unpacked again.
    packed.unlink()
    found: list[Member | None] = []
    for start, end in ranges:
        piece = list(read_stretch(str(folder / "s" / stretch_name(start)), Allowance.split(size, LIMITS)))
        assert len(piece) == end - start
        kept = [len(member.data) for member in piece if member]
        assert sum(kept) <= n_bytes or len([size for size in kept if size]) == 1
        found += piece
    assert found == whole


def test_a_broken_archive_leaves_no_half_stretch(tmp_path: Path) -> None:
    data = tar_gz({f"{number}.txt": bytes(100) + bytes([number]) for number in range(50)})
    (tmp_path / "cut.tgz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DocumentError):
        write_members(str(tmp_path / "cut.tgz"), "tar", ".gz", len(data), tmp_path / "s", 200, LIMITS)
    assert not list((tmp_path / "s").glob(".*"))
