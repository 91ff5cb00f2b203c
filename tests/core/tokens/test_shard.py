import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.packing import Packing, one_each, pack
from lexmill.core.tokens.shard import Documents, build_shard
from lexmill.schema import TOKENS
from tests.core.tokens.test_packing import chopped


def documents(lengths: list[int]) -> Documents:
    """Documents whose tokens count on from 100, the ids of one behind those of the other."""
    n = len(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Documents(
        np.arange(100, 100 + offsets[-1], dtype=np.int32),
        offsets[:-1],
        offsets[:-1],
        np.array([1 << 62 | number for number in range(n)], np.int64),
        np.arange(n, dtype=np.int32) % 2,
        pa.array([f"s{number % 3}" for number in range(n)], pa.string()),
        pa.array([f"t{number % 2}" for number in range(n)], pa.string()),
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 50), max_size=40), st.integers(8, 24), st.integers(0, 4))
def test_documents_can_be_put_together_again(lengths: list[int], seq_len: int, head: int) -> None:
    given_ = documents(lengths)
    packing = pack(chopped(lengths, seq_len, head), seq_len)
    table = build_shard(given_, packing, seq_len, pad_id=2)
    table.validate(full=True)
    assert table.schema.equals(TOKENS)
    again: dict[int, dict[int, int]] = {}
    for row in table.to_pylist():
        assert len(row["input_ids"]) == seq_len
        at = 0
        names = ("doc_ids", "doc_lens", "doc_starts", "head_lens", "char_starts", "char_ends", "repeats", "sources", "doc_types")
        for doc, n, start, heading, char, char_end, repeat, source, doc_type in zip(*(row[name] for name in names), strict=True):
            number = doc & ~(1 << 62)
            assert (repeat, source, doc_type) == (number % 2, f"s{number % 3}", f"t{number % 2}")
            assert (char, char_end) == (start, start + n - heading)
            first = int(given_.first[number])
            assert row["input_ids"][at : at + heading] == given_.ids[first : first + heading].tolist()
            again.setdefault(number, {}).update(enumerate(row["input_ids"][at + heading : at + n], start))
            at += n
        assert row["input_ids"][at:] == [2] * row["n_pad"]
    assert {number: [ids[t] for t in range(len(ids))] for number, ids in again.items()} == {
        number: given_.ids[first : first + n].tolist()
        for number, (first, n) in enumerate(zip(given_.first.tolist(), lengths, strict=True))
    }


def test_known_shard() -> None:
    table = build_shard(documents([6, 2]), pack(chopped([6, 2], 4, 1), 4), 4, pad_id=0)
    assert table.to_pylist() == [
        {
            "input_ids": [100, 101, 102, 103],
            "doc_ids": [1 << 62],
            "doc_lens": [4],
            "doc_starts": [0],
            "n_pad": 0,
            "head_lens": [0],
            "char_starts": [0],
            "char_ends": [4],
            "repeats": [0],
            "sources": ["s0"],
            "doc_types": ["t0"],
        },
        {
            "input_ids": [100, 104, 105, 0],
            "doc_ids": [1 << 62],
            "doc_lens": [3],
            "doc_starts": [4],
            "n_pad": 1,
            "head_lens": [1],
            "char_starts": [4],
            "char_ends": [6],
            "repeats": [0],
            "sources": ["s0"],
            "doc_types": ["t0"],
        },
        {
            "input_ids": [106, 107, 0, 0],
            "doc_ids": [1 << 62 | 1],
            "doc_lens": [2],
            "doc_starts": [0],
            "n_pad": 2,
            "head_lens": [0],
            "char_starts": [0],
            "char_ends": [2],
            "repeats": [1],
            "sources": ["s1"],
            "doc_types": ["t1"],
        },
    ]


def test_without_a_window_a_row_is_as_long_as_its_document() -> None:
    table = build_shard(documents([6, 2]), one_each(chopped([6, 2], 100)), None, pad_id=0)
    assert table["input_ids"].to_pylist() == [[100, 101, 102, 103, 104, 105], [106, 107]]
    assert table["n_pad"].to_pylist() == [0, 0]


def test_empty_shard_has_the_schema() -> None:
    assert build_shard(documents([]), pack(chopped([], 8), 8), 8, pad_id=0).equals(pa.Table.from_pylist([], schema=TOKENS))


def test_more_positions_than_list_offsets_reach_are_refused() -> None:
    packing = Packing(chopped([], 8), np.zeros((1 << 11) + 1, np.int64))
    with pytest.raises(ValueError, match="one shard"):
        build_shard(documents([]), packing, 1 << 20, pad_id=0)
