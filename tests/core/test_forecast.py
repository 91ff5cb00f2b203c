"""Ratio estimates are right where costs are proportional, their interval covers, and more cores are never slower."""

import random

import pytest

from lexmill.core.forecast import (
    Z95,
    Estimate,
    Stratum,
    copies_at_scale,
    cores_for,
    line,
    part_estimate,
    ratio_estimate,
    wall_seconds,
)


def test_proportional_costs_are_estimated_without_error() -> None:
    strata = [Stratum(1000, [(10, 2.0), (30, 6.0)]), Stratum(500, [(5, 10.0), (1, 2.0)])]
    assert list(ratio_estimate(strata)) == pytest.approx([1000 * 0.2 + 500 * 2.0, 0.0], abs=1e-9)


def test_the_interval_covers_the_truth() -> None:
    chance = random.Random(1)
    covered = 0
    for _ in range(300):
        parts = [(size, size * chance.uniform(0.5, 1.5)) for size in (chance.randint(50, 150) for _ in range(200))]
        truth = sum(cost for _, cost in parts)
        value, error = ratio_estimate([Stratum(sum(size for size, _ in parts), chance.sample(parts, 30))])
        covered += abs(value - truth) <= Z95 * error
    assert 0.90 <= covered / 300 <= 0.99


def test_a_fixed_cost_is_told_from_one_a_byte() -> None:
    sizes = (10, 20, 40, 80)
    strata = [
        Stratum(64_000, [(size, 3.0 + 0.2 * size) for size in sizes]),
        Stratum(32_000, [(size, 3.0 + 0.5 * size) for size in sizes]),
    ]
    assert part_estimate(strata, 7) == pytest.approx((7 * 3.0 + 64_000 * 0.2 + 32_000 * 0.5, 0.0), abs=1e-4)
    alike = [Stratum(1000, [(10, 5.0), (10, 5.0)])]
    assert part_estimate(alike, 1) == ratio_estimate(alike)


def test_the_interval_covers_with_a_fixed_cost() -> None:
    chance = random.Random(3)
    covered = 0
    for _ in range(300):
        drawn = [(size, 20 + size * chance.uniform(0.8, 1.2)) for size in (10, 20, 40, 80) * 6]
        value, error = part_estimate([Stratum(100_000, drawn)], 50)
        covered += abs(value - (50 * 20 + 100_000)) <= Z95 * error
    assert 0.9 <= covered / 300 <= 0.99


def test_a_census_has_no_error() -> None:
    assert list(ratio_estimate([Stratum(40, [(10, 1.0), (30, 7.0)])])) == pytest.approx([8.0, 0.0])


def test_pairs_are_found_as_often_as_both_are_drawn() -> None:
    chance = random.Random(2)
    documents = [*range(8000), *range(2000)]  # 2,000 of 10,000 are copies
    drawn = chance.sample(documents, 3000)
    found = 1 - len(set(drawn)) / len(drawn)
    assert copies_at_scale(found, 0.3) == pytest.approx(0.2, rel=0.2)
    assert copies_at_scale(0.0, 0.1) == copies_at_scale(0.0, 0.0) == 0.0


STAGES = {"a": (100.0, 7), "b": (10.0, 3)}


def test_more_cores_are_never_slower_and_the_least_that_fit_are_found() -> None:
    times = [wall_seconds(STAGES, 5.0, cores) for cores in range(1, 9)]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(115.0)
    for limit in (30.0, 60.0, 115.0):
        cores = cores_for(STAGES, 5.0, limit)
        assert cores is not None
        assert wall_seconds(STAGES, 5.0, cores) <= limit
        assert cores == 1 or wall_seconds(STAGES, 5.0, cores - 1) > limit
    assert cores_for(STAGES, 5.0, 10.0) is None


def test_an_interval_holds_its_value() -> None:
    assert Estimate.around(10.0, 0.2) == Estimate(10.0, 8.0, 12.0)
    assert Estimate.around(10.0, 3.0).low == 0.0


def test_a_line_has_a_fixed_cost_and_never_falls() -> None:
    assert line(10, 7.0, 40, 13.0, 100) == pytest.approx(25.0)
    assert line(10, 7.0, 40, 5.0, 100) == 5.0
    assert line(40, 7.0, 40, 5.0, 100) == 5.0
