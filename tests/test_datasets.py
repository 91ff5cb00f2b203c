"""Hugging Face datasets opens the shards, whole and streaming."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexmill.schema import TOKENS

datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed: pip install datasets")


def test_shards_open_whole_and_as_a_stream(tmp_path: Path) -> None:
    rows = [
        {"input_ids": [n, 1, 0], "doc_ids": [n], "doc_lens": [2], "doc_starts": [0], "n_pad": 1, "head_lens": [0]}
        | {"char_starts": [0], "char_ends": [1], "repeats": [0], "sources": ["s"], "doc_types": ["qa"]}
        for n in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=TOKENS), tmp_path / "shard-00000.parquet", row_group_size=4)
    files = {"train": str(tmp_path / "*.parquet")}
    whole = datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "cache"), split="train")
    stream = datasets.load_dataset("parquet", data_files=files, streaming=True, split="train")
    assert [row["input_ids"] for row in whole] == [row["input_ids"] for row in stream] == [row["input_ids"] for row in rows]
