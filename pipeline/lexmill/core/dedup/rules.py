"""The rules of deduplication: guards that keep look-alikes apart, each with pairs that prove it."""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from lexmill.config import DocType
from lexmill.core.dedup.describe import NO_CASE, NO_DATE, case_key
from lexmill.core.rulebook import Fault, Rule, Rulebook

Pairs = Annotated[
    tuple[Annotated[tuple[str, str], Field(strict=False)], ...],
    Field(strict=False, min_length=1),
]

_EPOCH = datetime.date(1970, 1, 1)


class Guard(Rule):
    """Documents of ``doc_types`` whose ``identity`` differs are never one, however alike; one that is unknown differs from none.

    ``exact_copies`` says whether that holds even for equal comparison copies (``apart``) or not (``merge``). ``keep`` and
    ``merge`` prove the guard: pairs of printed case numbers or of ISO dates (empty = unknown) that it keeps apart, or lets merge.
    """

    identity: Literal["case_number", "version_date"]
    doc_types: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]
    exact_copies: Literal["apart", "merge"]
    keep: Pairs
    merge: Pairs

    @property
    def unknown(self) -> int:
        """The value of a document whose identity is not known."""
        return NO_CASE if self.identity == "case_number" else NO_DATE

    @property
    def verdict(self) -> str:
        """What the pair table calls a refusal by this guard."""
        return f"refused.{self.id.rpartition('.')[2]}"

    def parse(self, printed: str) -> int:
        """The identity that ``printed`` stands for; raises ValueError where it is no ISO date."""
        if self.identity == "case_number":
            return case_key(printed)
        return (datetime.date.fromisoformat(printed) - _EPOCH).days if printed else NO_DATE

    def refuses(self, left: int, right: int) -> bool:
        """Whether documents of these identities are kept apart."""
        return left != right and left != self.unknown and right != self.unknown


class DedupRules(Rulebook):
    """All rules of the dedup family; a document type has at most one guard."""

    guard: tuple[Guard, ...] = ()

    def faults(self) -> list[Fault]:
        """Try every guard on its own pairs, and see that no document type has two guards."""
        faults = []
        guarded: dict[str, str] = {}
        for guard in self.guard:
            for doc_type in guard.doc_types:
                if guarded.setdefault(doc_type, guard.id) != guard.id:
                    problem = f"doc_types: {doc_type} is guarded by {guarded[doc_type]} already; a type has one guard"
                    faults.append(Fault(guard.id, problem))
            for field, pairs, expected in (("keep", guard.keep, True), ("merge", guard.merge, False)):
                for number, (left, right) in enumerate(pairs, 1):
                    try:
                        refused = guard.refuses(guard.parse(left), guard.parse(right))
                    except ValueError:
                        faults.append(Fault(guard.id, f"{field}, pair {number}: a date is not YYYY-MM-DD; mend it"))
                        continue
                    if refused != expected:
                        does = "keeps apart" if refused else "lets merge"
                        faults.append(
                            Fault(guard.id, f"{field}, pair {number}: the guard {does} this pair; mend the pair or move it")
                        )
        return faults
