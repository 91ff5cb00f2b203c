"""What a whole run would take, from what a stratified sample of its parts took: a regression estimate with an interval.

A task that works on one part costs something whatever its size, and something a byte that is its stratum's (source's) own. The
first task of a process also pays for what it loads; that, and what no task explains (start of the cluster, imports, the driver),
is counted once.
Copies are rarer in a sample than in the whole, because both of a pair must be drawn: the share of copies found is divided by the
share sampled (exact for pairs, too low for larger clusters), and what comes after dedup shrinks with it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Two-sided 95 % of the normal distribution, and what the model itself may be wrong by (BENCHMARKS.md).
Z95 = 1.96
MODEL_ERROR = 0.12


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that should hold it."""

    value: float
    low: float
    high: float

    @staticmethod
    def around(value: float, relative: float) -> "Estimate":
        """``value`` give or take its share ``relative``, never below zero."""
        return Estimate(value, value * max(0.0, 1 - relative), value * (1 + relative))


@dataclass(frozen=True)
class Stratum:
    """A source: bytes of all its parts, and (bytes, cost) of those sampled."""

    total: int
    sampled: Sequence[tuple[int, float]]


def ratio_estimate(strata: Sequence[Stratum]) -> tuple[float, float]:
    """(total cost, its standard error) by separate ratio estimation (Cochran, Sampling Techniques, 6.10-6.11)."""
    total = variance = 0.0
    for stratum in strata:
        weight = sum(size for size, _ in stratum.sampled)
        if not weight:
            continue
        ratio = sum(cost for _, cost in stratum.sampled) / weight
        total += ratio * stratum.total
        number = len(stratum.sampled)
        if number > 1 and weight < stratum.total:
            spread = sum((cost - ratio * size) ** 2 for size, cost in stratum.sampled) / (number - 1)
            left = 1 - weight / stratum.total
            variance += (stratum.total / weight) ** 2 * number * left * spread
    return total, math.sqrt(variance)


def part_estimate(strata: Sequence[Stratum], tasks: int) -> tuple[float, float]:
    """(total cost, its standard error) of ``tasks`` tasks, by least squares: a fixed cost for each, and one a byte by stratum.

    Errors are taken to grow with the size. Parts of the sample are smaller than those of the run, and a ratio would count the
    fixed cost too often. Where the sample is too small, or a cost would come out below nothing, the ratio stands.
    """
    drawn = [(number, size, cost) for number, stratum in enumerate(strata) for size, cost in stratum.sampled]
    known = sorted({number for number, *_ in drawn})
    free = len(drawn) - len(known) - 1
    if free < 1 or len({size for _, size, _ in drawn}) == 1:
        return ratio_estimate(strata)
    given = np.zeros((len(drawn), len(known) + 1))
    for row, (number, size, _) in enumerate(drawn):
        given[row, 0] = 1 / size
        given[row, 1 + known.index(number)] = 1
    costs = np.array([cost / size for _, size, cost in drawn])
    found, *_ = np.linalg.lstsq(given, costs, rcond=None)
    if (found < 0).any():
        return ratio_estimate(strata)
    wanted = np.array([tasks, *(strata[number].total for number in known)], float)
    noise = float(((costs - given @ found) ** 2).sum()) / free
    return float(wanted @ found), math.sqrt(max(0.0, noise * float(wanted @ np.linalg.pinv(given.T @ given) @ wanted)))


def copies_at_scale(share_found: float, share_sampled: float) -> float:
    """The share of copies to expect in the whole, of which ``share_found`` was seen in a sample of ``share_sampled``."""
    return min(0.9, share_found / share_sampled) if share_sampled else 0.0


def line(size: float, cost: float, larger: float, its_cost: float, at: float) -> float:
    """The cost at size ``at`` on the line through two measured points, whose slope is not let fall below zero."""
    if larger <= size:
        return its_cost
    slope = max(0.0, (its_cost - cost) / (larger - size))
    return its_cost + slope * (at - larger)


def wall_seconds(stage_cpu: Mapping[str, tuple[float, int]], fixed: float, cores: int) -> float:
    """Seconds that stages of (core-seconds, tasks) take on ``cores``: the last wave of tasks may not fill them."""
    return fixed + sum(cpu * -(-tasks // cores) / tasks for cpu, tasks in stage_cpu.values() if tasks)


def cores_for(stage_cpu: Mapping[str, tuple[float, int]], fixed: float, seconds: float) -> int | None:
    """The least number of cores that finish within ``seconds``, or None where no number does."""
    most = max((tasks for _, tasks in stage_cpu.values()), default=1)
    if wall_seconds(stage_cpu, fixed, most) > seconds:
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if wall_seconds(stage_cpu, fixed, middle) <= seconds:
            high = middle
        else:
            low = middle + 1
    return low
