import tomllib
from pathlib import Path
from typing import Any

import pytest

from lexmill.core.ingest.rules import IngestRules

RULES = Path(__file__).parents[3] / "rules" / "ingest"


@pytest.fixture(scope="session")
def rules() -> IngestRules:
    tables: dict[str, list[Any]] = {}
    for path in sorted(RULES.glob("*.toml")):
        for kind, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
            tables.setdefault(kind, []).extend(rows)
    return IngestRules.model_validate(tables)
