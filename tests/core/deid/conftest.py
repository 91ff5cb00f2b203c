"""The shipped rules of de-identification, read as the loader does: all files of the family merged."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.tagger import Tagger
from lexmill.jobs.resources import load_tagger

RULES_DIR = Path(__file__).parents[3] / "rules" / "deid"


def load_tables() -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(RULES_DIR.glob("*.toml")):
        for kind, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
            tables.setdefault(kind, []).extend(rows)
    return tables


@pytest.fixture(scope="session")
def rules() -> DeidRules:
    return DeidRules.model_validate(load_tables())


@pytest.fixture(scope="session")
def tagger() -> Tagger:
    return load_tagger()


@pytest.fixture(scope="session")
def strict(rules: DeidRules, tagger: Tagger) -> Detector:
    return Detector(rules, "train-strict", tagger)


@pytest.fixture(scope="session")
def spc(rules: DeidRules, tagger: Tagger) -> Detector:
    return Detector(rules, "spc2016", tagger)
