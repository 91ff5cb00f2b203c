"""The rules of deduplication: guards that keep look-alikes apart, each with pairs that prove it."""

import datetime
import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Final, Literal

from pydantic import Field

from lexmill.config import DocType
from lexmill.core.dedup.compare import comparison_copy
from lexmill.core.dedup.identity import (
    NO_CASE,
    NO_TITLE,
    NO_TRIAL,
    NO_VERSION,
    TRIALS,
    case_key,
    fold_question,
    fold_title,
    version,
)
from lexmill.core.rulebook import Fault, Pattern, Rule, Rulebook

Pairs = Annotated[
    tuple[Annotated[tuple[str, str], Field(strict=False)], ...],
    Field(strict=False, min_length=1),
]

Lines = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


_compiled = cache(re.compile)

Identity = Literal["case_number", "trial_level", "version_date", "title", "question", "answer"]
Value = int | str | tuple[str, str]

UNKNOWN: Final[dict[Identity, Value]] = {
    "case_number": NO_CASE,
    "trial_level": NO_TRIAL,
    "version_date": NO_VERSION,
    "title": NO_TITLE,
    "question": NO_TITLE,
    "answer": NO_TITLE,
}


def is_misread(left: str, right: str) -> bool:
    """Whether at most one character was put for another, left out or added."""
    if abs(len(left) - len(right)) > 1:
        return False
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    rests = (left[same:], right[same + 1 :]), (left[same + 1 :], right[same:]), (left[same + 1 :], right[same + 1 :])
    return any(a == b for a, b in rests)


class Guard(Rule):
    """Documents of ``doc_types`` whose ``identity`` differs are never one, however alike.

    ``unknown`` says whether a document whose identity is not known ``joins`` any other or stays ``apart`` from those that have
    one; ``exact_copies`` whether the guard holds even for equal comparison copies (``apart``) or not (``merge``). Titles,
    questions, and the figures of the dates that a statute names before its first article, differ where more than one character
    does: one may be misread. ``keep`` and ``merge`` prove the guard: pairs of printed case numbers, trial levels, titles,
    questions, keys of exam items (ABD) or ISO dates (empty = unknown) that it keeps apart, or lets merge.
    """

    identity: Identity
    doc_types: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]
    exact_copies: Literal["apart", "merge"]
    unknown: Literal["joins", "apart"]
    keep: Pairs
    merge: Pairs

    @property
    def verdict(self) -> str:
        """What the pair table calls a refusal by this guard."""
        return f"refused.{self.id.rpartition('.')[2]}"

    def parse(self, printed: str) -> Value:
        """The identity that ``printed`` stands for; raises ValueError where it is no ISO date or no trial level."""
        if self.identity == "case_number":
            return case_key(printed)
        if self.identity == "title":
            return fold_title(comparison_copy(printed))
        if self.identity == "question":
            return fold_question(printed)
        if self.identity == "answer":
            return printed
        if self.identity == "trial_level":
            return TRIALS.index(printed) + 1 if printed else NO_TRIAL
        return version(datetime.date.fromisoformat(printed).isoformat(), printed) if printed else NO_VERSION

    def knows(self, value: Value) -> bool:
        """Whether ``value`` is an identity."""
        return value != UNKNOWN[self.identity]

    def refuses(self, left: Value, right: Value) -> bool:
        """Whether documents of these identities are kept apart."""
        if left == right:
            return False
        if not (self.knows(left) and self.knows(right)):
            return self.unknown == "apart"
        if isinstance(left, str) and isinstance(right, str):
            return self.identity == "answer" or not is_misread(left, right)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left[0] != right[0] and not is_misread(left[1], right[1])
        return True


class LineRule(Rule):
    """Lines of ``min_chars`` or more, in segments of ``kinds``, that are furniture where ``min_docs`` documents have them.

    ``protect`` is searched in a line and keeps it whatever its frequency. ``drop`` and ``keep`` prove the rule: lines that count,
    and lines that never do.
    """

    doc_types: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]
    kinds: Lines
    min_docs: Annotated[int, Field(ge=2)]
    min_chars: Annotated[int, Field(ge=1)]
    protect: Pattern
    drop: Lines
    keep: Lines

    def counts(self, line: str) -> bool:
        """Whether a line may be furniture."""
        return len(line.strip()) >= self.min_chars and not _compiled(self.protect).search(line)


class DedupRules(Rulebook):
    """All rules of the dedup family; of one identity a document type has at most one guard, and one rule for its lines."""

    guard: tuple[Guard, ...] = ()
    lines: tuple[LineRule, ...] = ()

    def guards(self, doc_type: str) -> Sequence[Guard]:
        """The guards of one document type, in the order of the files."""
        return [guard for guard in self.guard if doc_type in guard.doc_types]

    def splits(self, doc_type: str) -> bool:
        """Whether case numbers split the buckets of one document type, so that a series is not compared pair by pair."""
        return any(guard.identity == "case_number" for guard in self.guards(doc_type))

    def faults(self) -> list[Fault]:
        """Try every rule on its own examples, and see that no document type has two rules for one thing."""
        faults = []
        guarded: dict[tuple[str, str], str] = {}
        for guard in self.guard:
            for doc_type in guard.doc_types:
                first = guarded.setdefault((doc_type, guard.identity), guard.id)
                if first != guard.id:
                    problem = (
                        f"doc_types: {first} looks at the {guard.identity} of a {doc_type} already; take the type out of one"
                    )
                    faults.append(Fault(guard.id, problem))
            for field, pairs, expected in (("keep", guard.keep, True), ("merge", guard.merge, False)):
                for number, (left, right) in enumerate(pairs, 1):
                    try:
                        refused = guard.refuses(guard.parse(left), guard.parse(right))
                    except ValueError:
                        is_what = "trial level" if guard.identity == "trial_level" else "date (YYYY-MM-DD)"
                        faults.append(Fault(guard.id, f"{field}, pair {number}: is no {is_what}; mend it"))
                        continue
                    if refused != expected:
                        does = "keeps apart" if refused else "lets merge"
                        faults.append(
                            Fault(guard.id, f"{field}, pair {number}: the guard {does} this pair; mend the pair or move it")
                        )
        lined: dict[str, str] = {}
        for rule in self.lines:
            for doc_type in rule.doc_types:
                first = lined.setdefault(doc_type, rule.id)
                if first != rule.id:
                    faults.append(Fault(rule.id, f"doc_types: {first} is about the lines of a {doc_type} already"))
            for field, lines, expected in (("drop", rule.drop, True), ("keep", rule.keep, False)):
                faults += [
                    Fault(
                        rule.id, f"{field}, line {number}: the rule {'drops' if not expected else 'keeps'} it; mend it or move it"
                    )
                    for number, line in enumerate(lines, 1)
                    if rule.counts(line) is not expected
                ]
        return faults
