"""The index as Megatron's own reader takes it apart, byte by byte."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.export import megatron
from lexmill.schema import TOKENS


def shard() -> pa.RecordBatch:
    def row(ids: list[int], lens: list[int], heads: list[int], pad: int) -> dict[str, object]:
        n = len(lens)
        plain = {"doc_ids": [1] * n, "doc_starts": [0] * n, "char_starts": [0] * n, "char_ends": [1] * n, "repeats": [0] * n}
        named = {"sources": ["s"] * n, "doc_types": ["qa"] * n}
        return {"input_ids": ids, "doc_lens": lens, "head_lens": heads, "n_pad": pad, **plain, **named}

    rows = [row([5, 6, 1, 7, 1, 0, 0, 0], [3, 2], [0, 0], 3), row([9, 9, 8, 8, 8, 1, 0, 0], [6], [2], 2)]
    return pa.RecordBatch.from_pylist(rows, schema=TOKENS)


def test_what_is_written_is_what_megatron_reads() -> None:
    index = megatron.Index()
    tokens = np.frombuffer(index.add(shard()), "<i4")
    raw = index.to_bytes()
    assert raw[:9] == b"MMIDIDX\x00\x00"
    version, code, n, d = struct.unpack_from("<QBQQ", raw, 9)
    assert (version, code, n, d) == (1, 4, 3, 4)
    at = 9 + struct.calcsize("<QBQQ")
    sizes = np.frombuffer(raw, "<i4", n, at)
    begins = np.frombuffer(raw, "<i8", n, at + sizes.nbytes)
    documents = np.frombuffer(raw, "<i8", d, at + sizes.nbytes + begins.nbytes)
    assert at + sizes.nbytes + begins.nbytes + documents.nbytes == len(raw)
    read = [tokens[begin // 4 : begin // 4 + size].tolist() for begin, size in zip(begins, sizes, strict=True)]
    assert read == [[5, 6, 1], [7, 1], [8, 8, 8, 1]]  # no padding, no repeated heading
    assert documents.tolist() == [0, 1, 2, 3]


def test_nothing_gives_an_empty_index() -> None:
    assert struct.unpack_from("<QBQQ", megatron.Index().to_bytes(), 9) == (1, 4, 0, 1)


def test_megatrons_own_reader_reads_it(tmp_path: Path) -> None:
    reader = pytest.importorskip("megatron.core.datasets.indexed_dataset", reason="megatron-core is not installed")
    index = megatron.Index()
    (tmp_path / "a.bin").write_bytes(index.add(shard()))
    (tmp_path / "a.idx").write_bytes(index.to_bytes())
    found = reader.IndexedDataset(str(tmp_path / "a"), mmap=True)
    assert [found[number].tolist() for number in range(len(found))] == [[5, 6, 1], [7, 1], [8, 8, 8, 1]]
