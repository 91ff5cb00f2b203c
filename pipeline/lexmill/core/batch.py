"""What a stage makes of a batch of documents: the kept ones, a ledger row for every other, and the stage's own tallies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lexmill.schema import ACTIONS, LEDGER


@dataclass(frozen=True)
class Batch:
    """``kept`` and ``ledger`` account together for every document given; ``counts`` holds tallies such as ``masked.PERSON``.

    ``sketches`` are estimates in the making, which parts are merged by; they stay in the part's receipt.
    """

    kept: pa.Table
    ledger: pa.Table
    counts: Mapping[str, int]
    sketches: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Ledger:
    """Collects ledger rows of one stage; ``table()`` gives them in the LEDGER schema."""

    stage: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        doc_id: str,
        source: str,
        doc_type: str,
        action: str,
        rule: str,
        n_chars: int,
        n_bytes: int,
        *,
        twin: str | None = None,
        value: float | None = None,
        model: str | None = None,
        threshold: float | None = None,
    ) -> None:
        """Say that ``n_chars`` characters (``n_bytes`` of UTF-8) of one document left by ``rule``; never text, title or path."""
        if action not in ACTIONS:
            raise ValueError(f"unknown ledger action {action!r}")
        self.rows.append(
            {
                "doc_id": doc_id,
                "source": source,
                "doc_type": doc_type,
                "stage": self.stage,
                "action": action,
                "rule": rule,
                "twin": twin,
                "value": value,
                "n_chars": n_chars,
                "n_bytes": n_bytes,
                "model": model,
                "threshold": threshold,
            }
        )

    def table(self) -> pa.Table:
        """All rows so far, in the order added."""
        return pa.Table.from_pylist(self.rows, schema=LEDGER)


def n_bytes(text: str) -> int:
    """UTF-8 bytes of ``text``."""
    return len(text.encode("utf-8"))
