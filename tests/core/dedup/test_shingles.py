import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.shingles import Shingles, containment, jaccard
from lexmill.core.dedup.signature import SHINGLE, hash_shingle
from lexmill.core.dedup.utf8 import buffers


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("甲乙丙某×*，, a\u3000", max_size=80) | st.text(max_size=40), max_size=6))
def test_sets_of_shingles_are_those_of_the_comparison_copies(texts: list[str]) -> None:
    column = pa.array([text * (1 + 40 * (at % 2)) for at, text in enumerate(texts)], pa.string())
    shingles = Shingles(buffers(column))
    for row, copy in enumerate(comparison_copies(column).to_pylist()):
        expected = {hash_shingle(copy[at : at + SHINGLE]) for at in range(len(copy) - SHINGLE + 1)}
        assert shingles.of(row).tolist() == sorted(shingles.of(row).tolist())
        assert {int(value) >> 32 for value in shingles.of(row)} == expected


def test_what_two_sets_share() -> None:
    shingles = Shingles(buffers(pa.array(["甲乙丙丁戊己庚", "甲乙丙丁戊己辛", "甲乙丙丁戊", "短"])))
    long, other, part, short = map(shingles.of, range(4))
    assert jaccard(long, other) == 2 / 4
    assert jaccard(long, long) == containment(part, long) == containment(long, part) == 1
    assert jaccard(long, short) == containment(long, short) == jaccard(short, short) == 0
