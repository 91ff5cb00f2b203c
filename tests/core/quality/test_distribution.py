"""Histograms: every document is in one bin of its type, and bins of parts add up to those of the whole."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lexmill.core.quality.distribution import BINS, distributions, length_bins, lower_edge
from lexmill.schema import DOCUMENT_JUDGED


def table(rows: list[tuple[str, str, float | None]]) -> pa.Table:
    empty = dict.fromkeys(DOCUMENT_JUDGED.names)
    made = [{**empty, "doc_type": doc_type, "text": text, "quality": score} for doc_type, text, score in rows]
    return pa.Table.from_pylist(made, schema=DOCUMENT_JUDGED)


def test_known_bins() -> None:
    assert length_bins(np.array([0, 1, 2, 3, 4, 1023, 1024])).tolist() == [0, 0, 2, 3, 4, 19, 20]
    rows = [("qa", "字" * 1024, 0.999), ("qa", "字" * 1024, 1.0), ("exam", "字", None), ("exam", "", 0.0)]
    assert distributions(table(rows)) == {
        "length.exam:00": 2,
        "length.qa:20": 2,
        "quality.exam:00": 1,
        f"quality.qa:{BINS - 1:02d}": 2,
    }


@given(st.integers(min_value=1, max_value=1 << 24))
def test_a_length_is_not_below_the_edge_of_its_bin(length: int) -> None:
    at = int(length_bins(np.array([length]))[0])
    assert lower_edge(at) <= length < max(2, lower_edge(at + 1))


@given(st.lists(st.tuples(st.sampled_from(["qa", "exam"]), st.text(max_size=9), st.floats(0, 1)), max_size=9), st.integers(0, 9))
def test_parts_add_up(rows: list[tuple[str, str, float | None]], cut: int) -> None:
    parts = Counter(distributions(table(rows[:cut]))) + Counter(distributions(table(rows[cut:])))
    assert dict(parts) == distributions(table(rows))
