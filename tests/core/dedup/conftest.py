import tomllib
from pathlib import Path

import pytest

from lexmill.core.dedup.rules import DedupRules

RULES = Path(__file__).parents[3] / "rules" / "dedup"


@pytest.fixture(scope="session")
def rules() -> DedupRules:
    merged: dict[str, list[object]] = {}
    for path in sorted(RULES.glob("*.toml")):
        for kind, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, []).extend(tables)
    return DedupRules.model_validate(merged)
