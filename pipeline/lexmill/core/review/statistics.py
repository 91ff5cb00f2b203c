"""What a sample proves: exact bounds, acceptance numbers, agreement, and estimates from unequal inclusion probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Rate:
    """A share with its two-sided exact interval: ``k`` of ``n`` judged are defective; ``high`` is 1 where none was judged."""

    n: int
    k: int
    estimate: float
    low: float
    high: float


def rate(k: int, n: int, confidence: float) -> Rate:
    """``k`` of ``n`` with the interval of Clopper and Pearson (Biometrika 26, 1934), which never covers less than it says."""
    if not 0 <= k <= n:
        raise ValueError("0 <= k <= n")
    if n == 0:
        return Rate(0, 0, 0.0, 0.0, 1.0)
    interval = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
    return Rate(n, k, k / n, float(interval.low), float(interval.high))


def upper_bound(k: int, n: int, confidence: float) -> float:
    """The one-sided Clopper–Pearson bound: with this confidence no more than this share of the lot is defective."""
    if n == 0 or k >= n:
        return 1.0
    return float(stats.beta.ppf(confidence, k + 1, n - k))


def lower_bound(k: int, n: int, confidence: float) -> float:
    """The one-sided bound from below."""
    return 0.0 if k == 0 else float(stats.beta.ppf(1 - confidence, k, n - k + 1))


def size_without_defects(limit: float, confidence: float) -> int:
    """The smallest sample that proves a share of at most ``limit`` if it holds no defect: (1 - limit)^n <= 1 - confidence.

    2,995 for .001 at .95 (the rule of three says 3,000).
    """
    return ceil(log(1 - confidence) / log1p(-limit))


def acceptance_number(n: int, limit: float, confidence: float) -> int:
    """How many defects a sample of ``n`` may hold and still prove a share of at most ``limit``; -1 where not even none does.

    139 for 4,000, .04, .95.
    """
    allowed = int(stats.binom.ppf(1 - confidence, n, limit))
    while allowed >= 0 and upper_bound(allowed, n, confidence) > limit:
        allowed -= 1
    return allowed


def weighted_rate(defective: Sequence[bool], weights: Sequence[float], confidence: float) -> Rate:
    """The share in the lot from a sample with weights 1 / inclusion probability, and its interval.

    Estimate: Hájek's ratio. Interval: Clopper–Pearson at the effective sample size (Korn and Graubard, Survey Methodology 24,
    1998), with Kish's design effect n Σw² / (Σw)².
    """
    if not defective:
        return Rate(0, 0, 0.0, 0.0, 1.0)
    weight = np.asarray(weights, dtype=np.float64)
    found = np.asarray(defective, dtype=np.float64)
    share = float((weight * found).sum() / weight.sum())
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    hits = share * effective
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(stats.beta.ppf(tail, hits, effective - hits + 1))
    high = 1.0 if hits >= effective else float(stats.beta.ppf(1 - tail, hits + 1, effective - hits))
    return Rate(len(found), int(found.sum()), share, low, high)


def kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Cohen's kappa of two reviewers' verdicts on the same items (Educational and Psychological Measurement 20, 1960).

    None where it does not exist: no items, or both always say the same one thing.
    """
    if len(first) != len(second):
        raise ValueError("as many verdicts from each reviewer")
    n = len(first)
    if n == 0:
        return None
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / n
    expected = sum(first.count(label) * second.count(label) for label in set(first) | set(second)) / n**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def corrected(share: float, recall: float) -> float:
    """The share of defects when reviewers find only ``recall`` of them (Rogan and Gladen 1978, no false alarms)."""
    return min(1.0, share / recall) if recall else 1.0
