import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.packing import Packing, pack
from lexmill.core.tokens.shard import build_shard
from lexmill.schema import TOKENS


def batch(lengths: list[int]) -> TokenBatch:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TokenBatch(np.arange(100, 100 + offsets[-1], dtype=np.int32), offsets)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 24))
def test_documents_can_be_put_together_again(lengths: list[int], seq_len: int) -> None:
    tokens = batch(lengths)
    doc63 = np.array([1 << 62 | n for n in range(len(lengths))], np.int64)
    table = build_shard(tokens.ids, tokens.offsets[:-1], doc63, pack(np.array(lengths, np.int64), seq_len), seq_len, pad_id=2)
    table.validate(full=True)
    assert table.schema.equals(TOKENS)
    again: dict[int, dict[int, int]] = {}
    for row in table.to_pylist():
        assert len(row["input_ids"]) == seq_len
        at = 0
        for doc, n, start in zip(row["doc_ids"], row["doc_lens"], row["doc_starts"], strict=True):
            again.setdefault(doc, {}).update(enumerate(row["input_ids"][at : at + n], start))
            at += n
        assert row["input_ids"][at:] == [2] * row["n_pad"]
    for n, doc in enumerate(doc63.tolist()):
        ids = again[doc]
        assert [ids[t] for t in range(len(ids))] == tokens.ids[tokens.offsets[n] : tokens.offsets[n + 1]].tolist()


def test_known_shard() -> None:
    tokens = batch([3, 2])
    table = build_shard(
        tokens.ids, tokens.offsets[:-1], np.array([11, 12], np.int64), pack(np.array([3, 2], np.int64), 4), 4, pad_id=0
    )
    assert table.to_pylist() == [
        {"input_ids": [100, 101, 102, 0], "doc_ids": [11], "doc_lens": [3], "doc_starts": [0], "n_pad": 1},
        {"input_ids": [103, 104, 0, 0], "doc_ids": [12], "doc_lens": [2], "doc_starts": [0], "n_pad": 2},
    ]


def test_empty_shard_has_the_schema() -> None:
    table = build_shard(
        np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), pack(np.zeros(0, np.int64), 8), 8, pad_id=0
    )
    assert table.equals(pa.Table.from_pylist([], schema=TOKENS))


def test_more_positions_than_list_offsets_reach_are_refused() -> None:
    none = np.zeros(0, np.int32)
    packing = Packing(np.zeros(0, np.int64), none, none, np.zeros((1 << 11) + 1, np.int64))
    with pytest.raises(ValueError, match="one shard"):
        build_shard(none, np.zeros(0, np.int64), np.zeros(0, np.int64), packing, 1 << 20, pad_id=0)
