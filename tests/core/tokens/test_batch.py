from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.tokens.batch import Spellings, TokenBatch, concatenate, utf8

SPELT = Spellings.of({1: "甲".encode(), 2: "甲".encode()[:1], 3: "甲".encode()[1:], 5: b"ab"})


def batch(*documents: list[int]) -> TokenBatch:
    offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    return TokenBatch(np.array([token for ids in documents for token in ids], np.int32), offsets)


def documents(batch: TokenBatch) -> list[list[int]]:
    return [batch.document(n).tolist() for n in range(len(batch.offsets) - 1)]


def test_control_tokens_frame_every_document() -> None:
    plain = batch([5, 6], [], [7])
    assert documents(plain.framed(None, 1)) == [[5, 6, 1], [1], [7, 1]]
    assert documents(plain.framed(0, 1)) == [[0, 5, 6, 1], [0, 1], [0, 7, 1]]
    assert plain.framed(0, 1).ids.dtype == np.int32
    assert documents(batch().framed(0, 1)) == []


def test_batches_are_put_together() -> None:
    assert documents(concatenate([batch([1], []), batch([2, 3])])) == [[1], [], [2, 3]]
    assert documents(concatenate([])) == []


def test_texts_are_seen_without_a_copy() -> None:
    texts = pa.array(["x", "甲", "", "ab"]).slice(1)
    offsets, data = utf8(texts)
    assert [bytes(data[a:b]).decode() for a, b in pairwise(offsets)] == ["甲", "", "ab"]
    assert [len(part) for part in utf8(pa.array([], pa.string()))] == [1, 0]


def test_spellings_with_more_are_those_of_all() -> None:
    known = {0: b"x", 1: "甲".encode(), 3: b"ab"}
    for more in ({}, {2: b"cd", 6: b"e"}, {1: b"z"}):
        found, expected = Spellings.of(known).including(more), Spellings.of(known | more)
        assert found.data.tolist() == expected.data.tolist()
        assert found.offsets.tolist() == expected.offsets.tolist()


def test_tokens_are_joined_byte_by_byte() -> None:
    assert SPELT.join(np.array([2, 3, 5], np.int32)) == "甲ab"
    assert SPELT.join(np.array([5, 3], np.int32)) == "ab\ufffd\ufffd"
    assert SPELT.join(np.zeros(0, np.int32)) == ""


@pytest.mark.parametrize(
    ("tokens", "right"),
    [
        (batch([1, 5], []), True),
        (batch([2, 3, 5], []), True),
        (batch([1], [5]), False),
        (batch([1, 5, 5], []), False),
        (batch([1], []), False),
        (batch([1, 4, 5], []), False),  # spells nothing: a control token
        (batch([1, 6], []), False),  # no token at all
        (batch([1, -1], []), False),
        (batch([5, 1], []), False),
    ],
)
def test_proof_that_tokens_are_the_text(tokens: TokenBatch, right: bool) -> None:
    assert SPELT.prove(tokens, pa.array(["甲ab", ""])) is right
