"""Stretches tile the lines of a compressed file, whatever it is compressed by, and end where a line does."""

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError
from lexmill.store.raw import read_file
from lexmill.store.stretches import COMPRESSION, stretch_name, write_stretches

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
