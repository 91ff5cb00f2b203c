import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup.family import families, ranks
from lexmill.core.dedup.signature import NUM_PERM, band_hashes

ALONE = np.int64(-1)


def like(form: int, changed: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """A signature that agrees with that of ``form`` but in ``changed`` places."""
    row = np.random.default_rng(form).integers(0, 2**32, NUM_PERM, dtype=np.uint32)
    chance = np.random.default_rng((form, seed))
    row[chance.choice(NUM_PERM, changed, replace=False)] = chance.integers(0, 2**32, changed, dtype=np.uint32)
    return row


def lead(rows: list[tuple[int, int, int]]) -> list[int]:
    signatures = np.array([like(*row) for row in rows], np.uint32).reshape(-1, NUM_PERM)
    return families(band_hashes(signatures), signatures, np.full(len(rows), ALONE)).tolist()


def test_those_on_one_form_follow_the_first() -> None:
    assert lead([]) == []
    assert lead([(1, 0, 0), (2, 0, 0), (1, 8, 1), (1, 8, 2), (2, 5, 3)]) == [0, 1, 0, 0, 1]
    # Fifty places of each differ: with the first 78 of 128 agree, with one another fewer; all but the leader are compared to it.
    assert lead([(1, 0, 0), (1, 50, 1)]) in ([0, 0], [0, 1])
    assert lead([(1, 0, 0), (1, 60, 1)]) == [0, 1], "less than .6 is no family, whatever bands they share"


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60), st.integers(0, 5)), min_size=1, max_size=25),
    cut=st.integers(0, 25),
)
def test_the_cut_between_two_nights_changes_nothing(rows: list[tuple[int, int, int]], cut: int) -> None:
    whole = lead(rows)
    assert all(leader <= row and whole[leader] == leader for row, leader in enumerate(whole))
    signatures = np.array([like(*row) for row in rows], np.uint32)
    known = np.where(np.arange(len(rows)) < cut, whole, ALONE)
    assert families(band_hashes(signatures), signatures, known).tolist() == whole


@pytest.mark.parametrize(
    ("leaders", "before", "rank", "size"),
    [([], [], [], []), ([0, 0, 2, 0], [0] * 4, [1, 2, 1, 3], [3, 3, 1, 3]), ([5, 5], [7, 7], [8, 9], [9, 9])],
)
def test_ranks_go_on_where_the_last_night_ended(leaders: list[int], before: list[int], rank: list[int], size: list[int]) -> None:
    found = ranks(np.array(leaders, np.int64), np.array(before, np.int64))
    assert [column.tolist() for column in found] == [rank, size]
