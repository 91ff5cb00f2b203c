"""Reviews on disk: ``reviews/<lot>/`` holds what was drawn, who reads it, what they said, and what that decided.

::

    plan.json         sizes and terms, and what the lot holds
    items.parquet     ITEM rows, the planted defects among them: not for reviewers
    assignments.json  reviewer → items
    verdicts/R1.json  what the first reviewer said (notes may quote a text)
    decision.json     accepted or not, and why
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexmill.store import files
from lexmill.store.fingerprint import digest


def lot_of(filtered: Mapping[str, Any]) -> str:
    """The name of the lot that a filter manifest's parts make: a digest of their bytes, so that a changed text is another lot."""
    return digest("lot", [entry["sha256"] for entry in filtered["parts"]])[:16]


@dataclass(frozen=True)
class ReviewFolder:
    """The folder of one lot's review."""

    path: Path

    @property
    def plan(self) -> Path:
        """Sizes and terms."""
        return self.path / "plan.json"

    @property
    def items(self) -> Path:
        """What was drawn."""
        return self.path / "items.parquet"

    @property
    def assignments(self) -> Path:
        """Who reads what."""
        return self.path / "assignments.json"

    @property
    def decision(self) -> Path:
        """What was decided."""
        return self.path / "decision.json"

    def verdicts(self, reviewer: str) -> Path:
        """What the reviewer of this number said."""
        return self.path / "verdicts" / f"{reviewer}.json"

    def decided(self) -> dict[str, Any] | None:
        """The decision, or None where there is none; raises DamagedFile."""
        found: dict[str, Any] | None = files.read_json(self.decision)
        return found


def folder(root: Path, lot: str) -> ReviewFolder:
    """The review folder of a lot in the workspace at ``root``."""
    return ReviewFolder(root / "reviews" / lot)
