"""The drawings of curves are SVG, hold every line, and are the same bytes each time."""

from xml.etree import ElementTree

import numpy as np
import pytest

from lexmill.core.quality import plot
from lexmill.core.quality.evaluate import curves

LINE = "line reactive nofill"


def test_every_type_is_a_line_that_runs_through_its_points() -> None:
    chance = np.random.default_rng(1)
    is_good = chance.random(400) < 0.5
    scores = np.clip(is_good * 0.4 + chance.random(400) * 0.6, 0, 1).astype(np.float32)
    found = {"judgment": curves(scores, is_good), "qa": curves(scores[:200], is_good[:200])}
    for draw in (plot.precision_recall, plot.roc):
        drawn = draw(found)
        assert drawn == draw(found)
        assert b"<script" not in drawn
        assert b"<!--" not in drawn
        root = ElementTree.fromstring(drawn)
        paths = [one.get("d") or "" for one in root.iter("{http://www.w3.org/2000/svg}path") if one.get("class") == LINE]
        assert len(paths) == len(found)
        assert all(len(path.split()) > 100 for path in paths)
        texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
        assert set(found) <= texts


def test_a_perfect_classifier_runs_along_the_edges() -> None:
    is_good = np.array([False] * 5 + [True] * 5)
    found = curves(np.linspace(0, 1, 10, dtype=np.float32), is_good)
    assert found["roc_area"] == pytest.approx(1.0)
    assert plot.roc({"all": found}) != plot.precision_recall({"all": found})
