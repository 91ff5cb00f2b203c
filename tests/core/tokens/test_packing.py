import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.packing import Packing, Pieces, divide, one_each, pack

LENGTHS = st.lists(st.integers(1, 90), max_size=60)


def chopped(lengths: list[int], seq_len: int, head: int = 0) -> Pieces:
    """Documents with a character a token, cut wherever the window ends."""
    room = seq_len - head
    cuts = [list(range(seq_len, n, room)) for n in lengths]
    flat = np.array([at for each in cuts for at in each], np.int32)
    upto = np.concatenate([[0], np.cumsum([len(each) for each in cuts])]).astype(np.int64)
    n = np.array(lengths, np.int64)
    return divide(n, n, np.full(len(lengths), head, np.int32), upto, flat, flat)


def packed(lengths: list[int], seq_len: int, head: int = 0) -> Packing:
    return pack(chopped(lengths, seq_len, head), seq_len)


def rooms(packing: Packing, seq_len: int) -> list[int]:
    size = packing.pieces.size
    return [seq_len - int(size[a:b].sum()) for a, b in zip(packing.offsets, packing.offsets[1:], strict=False)]


def reference(sizes: list[int], seq_len: int) -> list[int]:
    """Best-fit-decreasing as the paper words it: how full each sequence is, sorted."""
    sequences: list[int] = []
    for size in sorted(sizes, reverse=True):
        fitting = [s for s, filled in enumerate(sequences) if filled + size <= seq_len]
        if fitting:
            sequences[max(fitting, key=lambda s: sequences[s])] += size
        else:
            sequences.append(size)
    return sorted(sequences)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(8, 40), st.integers(0, 4))
def test_every_token_stands_once_and_no_sequence_overflows(lengths: list[int], seq_len: int, head: int) -> None:
    packing = packed(lengths, seq_len, head)
    p = packing.pieces
    seen = [(int(d), t) for d, a, n in zip(p.doc, p.start, p.length, strict=True) for t in range(int(a), int(a) + int(n))]
    assert sorted(seen) == [(d, t) for d, n in enumerate(lengths) for t in range(n)]
    assert np.array_equal(p.char_start, p.start)
    assert np.array_equal(p.char_end, p.start + p.length)
    assert np.array_equal(p.head, np.where(p.start > 0, head, 0))
    assert all(0 <= room < seq_len for room in rooms(packing, seq_len))
    assert packing.n_tokens == sum(lengths) + int(p.head.sum())
    assert packing.n_cut == sum(n > seq_len for n in lengths)


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 40))
def test_fills_sequences_as_the_plain_algorithm(lengths: list[int], seq_len: int) -> None:
    packing = packed(lengths, seq_len)
    # Which of two equally full sequences is taken is free: the fill levels are not.
    filled = sorted(seq_len - room for room in rooms(packing, seq_len))
    assert filled == reference(chopped(lengths, seq_len).size.tolist(), seq_len)


def test_known_packing() -> None:
    packing = packed([3, 10, 7, 25, 2, 5], 10)
    # 25 = 10 + 10 + 5; the fives share a window, 7 takes the 3, the 2 is left
    assert packing.padding_share(10) == pytest.approx(1 - 52 / 60)
    assert packing.offsets.tolist() == [0, 1, 3, 4, 5, 7, 8]
    assert packing.pieces.doc.tolist() == [1, 0, 2, 3, 3, 3, 5, 4]
    assert packing.pieces.start.tolist() == [0, 0, 0, 0, 10, 20, 0, 0]
    assert packing.n_cut == 1


def test_order_of_documents_is_the_order_of_sequences() -> None:
    assert packed([60, 61, 62, 63] * 5, 64).pieces.doc.tolist() == list(range(20))


def test_padding_is_small_on_documents_of_judgment_length() -> None:
    lengths = np.random.default_rng(1).lognormal(7, 1, 20_000).astype(np.int64) + 1
    assert packed(lengths.tolist(), 4096).padding_share(4096) < 0.01


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 40), st.data())
def test_dividing_moves_nothing(lengths: list[int], seq_len: int, data: st.DataObject) -> None:
    packing = packed(lengths, seq_len)
    more = data.draw(st.integers(0, packing.n_divisible))
    divided = packing.divided(more)
    assert divided.n_sequences == packing.n_sequences + more
    assert divided.pieces is packing.pieces
    assert set(packing.offsets.tolist()) <= set(divided.offsets.tolist())
    assert all(0 <= room < seq_len for room in rooms(divided, seq_len)), "no sequence is empty"
    with pytest.raises(ValueError, match="fewer pieces"):
        packing.divided(packing.n_divisible + 1)


def test_documents_without_a_window_stand_alone() -> None:
    packing = one_each(chopped([3, 90, 5], 1000))
    assert (packing.n_sequences, packing.n_cut, packing.pieces.length.tolist()) == (3, 0, [3, 90, 5])


def test_nothing_gives_nothing() -> None:
    packing = packed([], 16)
    assert (packing.n_sequences, packing.n_tokens, packing.n_cut, packing.padding_share(16)) == (0, 0, 0, 0.0)


def test_a_document_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one token"):
        packed([3, 0], 16)


def test_a_piece_longer_than_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match="longer than the window"):
        pack(chopped([20], 20), 16)
