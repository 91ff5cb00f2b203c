import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lexmill.core.quality.rules import QualityRules
from lexmill.schema import DOCUMENT


@pytest.fixture(scope="session")
def shipped() -> QualityRules:
    """The rules of rules/quality, merged as the loader does."""
    merged: dict[str, list[Any]] = {}
    for path in sorted((Path(__file__).parents[3] / "rules" / "quality").glob("*.toml")):
        for kind, tables in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, []).extend(tables)
    return QualityRules.model_validate(merged)


def documents(*rows: tuple[str, str]) -> pa.Table:
    """Documents of (doc_type, text)."""
    return pa.Table.from_pylist(
        [
            {
                "doc_id": f"{n:032x}",
                "source": "demo",
                "doc_type": doc_type,
                "title": "题",
                "text": text,
                "meta": {"court": "甲市法院"},
                "segments": [{"kind": "事实", "start": 0, "end": len(text), "confidence": 1.0}],
            }
            for n, (doc_type, text) in enumerate(rows)
        ],
        schema=DOCUMENT,
    )
