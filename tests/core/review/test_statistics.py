"""Bounds against scipy's own distributions and against worked examples from papers and standards."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lexmill.core.review import statistics


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998) 857–872, table I, method 5 (Clopper–Pearson).
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_intervals_of_the_literature(k: int, n: int, low: float, high: float) -> None:
    found = statistics.rate(k, n, 0.95)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@given(st.integers(1, 5000), st.data(), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_upper_bound_is_where_the_tail_is_alpha(n: int, data: st.DataObject, confidence: float) -> None:
    k = data.draw(st.integers(0, n - 1))
    bound = statistics.upper_bound(k, n, confidence)
    assert stats.binom.cdf(k, n, bound) == pytest.approx(1 - confidence, rel=1e-6)
    low = statistics.lower_bound(k, n, confidence)
    assert low <= k / n <= bound


def test_sample_sizes_that_audits_name() -> None:
    assert statistics.size_without_defects(0.001, 0.95) == 2995
    assert statistics.upper_bound(0, 2995, 0.95) <= 0.001 < statistics.upper_bound(0, 2994, 0.95)
    assert statistics.acceptance_number(4000, 0.04, 0.95) == 139
    assert statistics.upper_bound(139, 4000, 0.95) <= 0.04 < statistics.upper_bound(140, 4000, 0.95)
    assert statistics.acceptance_number(2994, 0.001, 0.95) == -1


@given(st.integers(1, 3000), st.floats(0.001, 0.5), st.sampled_from([0.9, 0.95]))
def test_one_defect_more_than_the_acceptance_number_proves_nothing(n: int, limit: float, confidence: float) -> None:
    allowed = statistics.acceptance_number(n, limit, confidence)
    assert allowed < 0 or statistics.upper_bound(allowed, n, confidence) <= limit
    assert statistics.upper_bound(allowed + 1, n, confidence) > limit


def test_equal_weights_are_no_weights() -> None:
    defects = [True] * 3 + [False] * 97
    weighted = statistics.weighted_rate(defects, [7.5] * 100, 0.95)
    plain = statistics.rate(3, 100, 0.95)
    assert (weighted.estimate, weighted.low, weighted.high) == pytest.approx((plain.estimate, plain.low, plain.high))


def test_an_over_sampled_stratum_counts_for_its_share_only() -> None:
    # 900 documents in the plain stratum (90 read, none bad), 100 in the risky one (all read, 50 bad): 5 % of the lot.
    found = statistics.weighted_rate([False] * 90 + [True] * 50 + [False] * 50, [10.0] * 90 + [1.0] * 100, 0.95)
    assert found.estimate == pytest.approx(0.05)
    assert found.low < 0.05 < found.high
    assert found.high - found.low > 0.05  # an effective sample of 109, not 190


def test_nothing_read_proves_nothing() -> None:
    assert statistics.rate(0, 0, 0.95).high == statistics.upper_bound(0, 0, 0.95) == 1.0
    assert statistics.weighted_rate([], [], 0.95).high == 1.0


def test_kappa_of_a_worked_example() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed .70, expected .50, kappa .40.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = statistics.kappa(first, second)
    assert found is not None
    assert math.isclose(found, 0.4)
    assert statistics.kappa(["yes"] * 4, ["yes"] * 4) is None
    assert statistics.kappa([], []) is None


def test_missed_defects_are_added() -> None:
    assert statistics.corrected(0.02, 0.8) == pytest.approx(0.025)
    assert statistics.corrected(0.9, 0.5) == 1.0
    assert statistics.corrected(0.0, 0.0) == 1.0
