"""How well scores tell good from bad: curves, a logistic fit, and the threshold for a precision."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_POINTS = 200
_RIDGE = 1e-3
_STEPS = 50


def fit_logistic(seen: NDArray[np.float64], is_good: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights (float64[k]) of a logistic regression of ``is_good`` on ``seen`` (float64[n, k]), both classes counting the same.

    Newton's method with a slight ridge and Platt's targets (Platt, 1999; Lin, Lin, Weng, 2007), so that classes that fall apart
    have a finite fit.
    """
    n_good, n_bad = int(is_good.sum()), int((~is_good).sum())
    targets = np.where(is_good, (n_good + 1) / (n_good + 2), 1 / (n_bad + 2))
    shares = np.where(is_good, 0.5 / max(1, n_good), 0.5 / max(1, n_bad))
    weights = np.zeros(seen.shape[1])
    for _ in range(_STEPS):
        fitted = 1 / (1 + np.exp(-np.clip(seen @ weights, -30, 30)))
        gradient = seen.T @ (shares * (fitted - targets)) + _RIDGE / len(seen) * weights
        curvature = seen.T @ (seen * (shares * fitted * (1 - fitted) + 1e-12)[:, None]) + _RIDGE / len(seen) * np.eye(
            len(weights)
        )
        step = np.linalg.solve(curvature, gradient)
        weights -= step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return weights


def curves(scores: NDArray[np.float32], is_good: NDArray[np.bool_]) -> dict[str, Any]:
    """Finding bad text by a low score: at most 200 points of the PR and ROC curves, average precision, area under ROC.

    Each point is (threshold, precision, recall, share of good text below the threshold); plain values, for JSON.
    """
    order = np.argsort(scores, kind="stable")
    bad = ~is_good[order]
    last = np.append(np.diff(scores[order]) > 0, True)  # equal scores stand on one side of any threshold
    found, wrong = np.cumsum(bad)[last], np.cumsum(~bad)[last]
    n_bad, n_good = max(1, int(bad.sum())), max(1, int((~bad).sum()))
    precision, recall, false_drops = found / (found + wrong), found / n_bad, wrong / n_good
    thresholds = np.nextafter(scores[order][last], np.float32(2))
    average = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    area = float(np.sum(np.diff(false_drops, prepend=0.0) * (recall + np.append(0.0, recall[:-1])) / 2))
    chosen = np.unique(np.linspace(0, len(recall) - 1, min(_POINTS, len(recall))).round().astype(int)).tolist()
    points = [[round(float(v), 6) for v in (thresholds[k], precision[k], recall[k], false_drops[k])] for k in chosen]
    return {
        "good": int((~bad).sum()),
        "bad": int(bad.sum()),
        "average_precision": round(average, 4),
        "roc_area": round(area, 4),
        "points": points,
    }


def threshold_for(
    scores: NDArray[np.float32], is_good: NDArray[np.bool_], precision: float, false_drop_limit: float
) -> dict[str, float]:
    """The highest threshold below which at least ``precision`` is bad and at most ``false_drop_limit`` of the good text lies.

    Precision is that of as many bad texts as good ones, whatever was given. With ``threshold`` come ``precision``, ``recall`` and
    ``false_drop_rate`` there; a threshold of 0 hits nothing.
    """
    n_bad, n_good = max(1, int((~is_good).sum())), max(1, int(is_good.sum()))
    best = {"threshold": 0.0, "precision": 1.0, "recall": 0.0, "false_drop_rate": 0.0}
    good, bad = np.sort(scores[is_good]), np.sort(scores[~is_good])
    for candidate in np.unique(scores):
        threshold = float(np.nextafter(candidate, np.float32(2)))
        recall = float(np.searchsorted(bad, threshold) / n_bad)
        false_drops = float(np.searchsorted(good, threshold) / n_good)
        if false_drops > false_drop_limit:
            break
        if recall and recall / (recall + false_drops) >= precision:
            best = {
                "threshold": threshold,
                "precision": round(recall / (recall + false_drops), 4),
                "recall": round(recall, 4),
                "false_drop_rate": round(false_drops, 4),
            }
    return best
