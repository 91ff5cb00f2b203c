import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexmill.core.quality.evaluate import curves, fit_logistic, threshold_for

GOOD = np.array([False, False, True, False, True, True])
SCORES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], np.float32)


def test_known_curves() -> None:
    found = curves(SCORES, GOOD)
    assert (found["good"], found["bad"]) == (3, 3)
    assert [point[1:] for point in found["points"]] == [
        [1, pytest.approx(1 / 3, abs=1e-6), 0],
        [1, pytest.approx(2 / 3, abs=1e-6), 0],
        [pytest.approx(2 / 3, abs=1e-6), pytest.approx(2 / 3, abs=1e-6), pytest.approx(1 / 3, abs=1e-6)],
        [0.75, 1, pytest.approx(1 / 3, abs=1e-6)],
        [0.6, 1, pytest.approx(2 / 3, abs=1e-6)],
        [0.5, 1, 1],
    ]
    assert found["average_precision"] == pytest.approx((1 + 1 + 0.75) / 3, abs=1e-4)
    assert found["roc_area"] == pytest.approx(8 / 9, abs=1e-4)


@pytest.mark.parametrize(
    ("precision", "limit", "recall", "false_drops"), [(0.99, 1.0, 2 / 3, 0), (0.7, 1.0, 1, 1 / 3), (0.7, 0.2, 2 / 3, 0)]
)
def test_a_threshold_keeps_precision_and_false_drops(precision: float, limit: float, recall: float, false_drops: float) -> None:
    found = threshold_for(SCORES, GOOD, precision, limit)
    assert found["recall"] == pytest.approx(recall, abs=1e-4)
    assert found["false_drop_rate"] == pytest.approx(false_drops, abs=1e-4)
    assert np.mean(SCORES[~GOOD] < found["threshold"]) == pytest.approx(recall)


def test_a_threshold_that_cannot_be_met_hits_nothing() -> None:
    assert threshold_for(-SCORES, GOOD, 0.99, 0.01)["threshold"] == 0


@given(st.integers(0, 1000))
def test_a_fit_finds_the_weights_that_made_the_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = np.column_stack([rng.normal(size=4000), rng.normal(size=4000), np.ones(4000)])
    truth = np.array([2.0, -1.0, 0.0])
    labels = rng.random(4000) < 1 / (1 + np.exp(-(seen @ truth)))
    assert fit_logistic(seen, labels) == pytest.approx(truth, abs=0.4)


def test_classes_that_fall_apart_have_a_finite_fit() -> None:
    seen = np.array([[-1.0, 1], [-2, 1], [1, 1], [2, 1]])
    weights = fit_logistic(seen, np.array([False, False, True, True]))
    assert np.all(np.isfinite(weights))
    assert weights[0] > 0
