"""The pages of browse over the samples: what was planted is in none of them."""

import json
from pathlib import Path

import pytest

from lexmill.config import load
from lexmill.jobs.resources import detector_of
from lexmill.report import browse
from lexmill.report.browse import Desk
from lexmill.store.workspace import Workspace
from scripts.check_demo import BARS, SAMPLES, normalise
from tests.end_to_end.conftest import Reference
from tests.jobs.test_browse import Reader, contents, crawl

pytestmark = pytest.mark.slow

# Of the documents that stay, every page of so many is read; of those that left, all.
KEPT = 20


def test_nothing_planted_is_in_any_page(reference: Reference, monkeypatch: pytest.MonkeyPatch) -> None:
    site = reference.site
    config = load(site.config, ())
    monkeypatch.setattr(browse, "ROWS", KEPT)
    reader = Reader(Desk(Workspace(Path(config.workspace_dir), config.run), detector_of(config)))
    before = contents(site.workspace)
    tabs = ("stage=dedup", "stage=decontaminate", "stage=deidentify")  # of a document; its first and last text are read
    pages = crawl(
        reader,
        lambda path: not any(tab in path for tab in tabs) if path.startswith("doc/") else "page=" not in path or "drop" in path,
    )
    assert len(pages) > 3 * KEPT
    whole = normalise("\0".join(pages.values()))
    planted: dict[str, set[str]] = {}
    for one in json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))["personal"]:
        planted.setdefault(one["kind"], set()).add(one["value"])
    for kind, values in planted.items():
        left = [value for value in values if value in whole]
        assert len(left) <= (1 - BARS.get(kind, 1.0)) * len(values), (kind, len(left), len(values))
    assert contents(site.workspace) == before
