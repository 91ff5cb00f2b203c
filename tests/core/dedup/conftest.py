import tomllib
from pathlib import Path

import pytest

from lexmill.core.dedup.rules import DedupRules

FOLDER = Path(__file__).parents[3] / "rules" / "dedup"


def _load() -> DedupRules:
    merged: dict[str, list[object]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        for kind, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, []).extend(tables)
    return DedupRules.model_validate(merged)


RULES = _load()


@pytest.fixture(scope="session")
def rules() -> DedupRules:
    return RULES
