import tomllib
from pathlib import Path
from typing import Any

import pytest

from lexmill.core.structure.rules import SegmentRules

_FOLDER = Path(__file__).parents[3] / "rules" / "segment"


@pytest.fixture(scope="session")
def rules() -> SegmentRules:
    merged: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        for kind, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, []).extend(tables)
    return SegmentRules.model_validate(merged)
