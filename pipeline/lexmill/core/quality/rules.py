"""The rules that judge quality: bounds on metrics, telling phrases, and what a classifier's score means."""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Annotated, Literal, get_args

import ahocorasick_rs
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from lexmill.config import DocType
from lexmill.core.quality.metrics import METRICS, measure
from lexmill.core.rulebook import Fault, Pattern, Rule, Rulebook
from lexmill.core.structure.citations import StatuteTables, find
from lexmill.core.structure.citations import judge as judge_citations

Action = Literal["tag", "drop", "quarantine"]

FALSE_DROP_LIMIT = 0.01
"""A rule that removes more good documents than this share, or whose share nobody measured, only tags."""


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _known_metric(name: str) -> str:
    if name not in METRICS:
        raise ValueError(f"no such metric; there are {', '.join(METRICS)}")
    return name


Word = Annotated[str, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_tuple)]
Patterns = Annotated[tuple[Annotated[Pattern, Field(min_length=1)], ...], BeforeValidator(_tuple)]
Examples = Annotated[tuple[str, ...], BeforeValidator(_tuple), Field(min_length=1)]
DocTypes = Annotated[tuple[DocType, ...], BeforeValidator(_tuple), Field(min_length=1)]
Share = Annotated[float, Field(ge=0, le=1)]


class Judgement(Rule):
    """What every quality rule says besides its condition.

    ``false_drop_rate`` is the share of good documents of its types that the rule was seen to remove; where it is absent, or above
    ``FALSE_DROP_LIMIT``, a removing ``action`` is not carried out: the rule tags, unless the run file forces it. ``evidence``
    says what was measured, for people to read.
    """

    doc_types: DocTypes = get_args(DocType)
    action: Action
    false_drop_rate: Share | None = None
    evidence: str | None = None

    def effect(self, forced: Collection[str]) -> Action:
        """The action that is carried out where the run file forces the rules of the ids ``forced``."""
        measured = self.false_drop_rate is not None and self.false_drop_rate <= FALSE_DROP_LIMIT
        return self.action if measured or self.id in forced else "tag"


class Bound(Judgement):
    """A metric below ``min`` or above ``max``; ``drop`` holds texts that the rule must hit, ``keep`` texts that it must not."""

    metric: Annotated[str, AfterValidator(_known_metric)]
    min: float | None = None
    max: float | None = None
    keep: Examples
    drop: Examples

    @model_validator(mode="after")
    def _bounded(self) -> "Bound":
        if self.min is None and self.max is None:
            raise ValueError("give `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is above `max`: nothing would be left")
        return self

    @property
    def interval(self) -> str:
        """The bounds as people write them."""
        return ", ".join(f"{side} {value:g}" for side, value in (("≥", self.min), ("≤", self.max)) if value is not None)

    def hits(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which ``values`` are out of bounds."""
        return (values < (-np.inf if self.min is None else self.min)) | (values > (np.inf if self.max is None else self.max))


class Phrase(Judgement):
    """Literal ``phrases`` or regular-expression ``patterns`` that occur often enough.

    A text is hit with at least ``min_count`` occurrences (overlapping ones count once) which together are at least ``min_share``
    of its visible characters.
    """

    phrases: Words = ()
    patterns: Patterns = ()
    min_count: Annotated[int, Field(ge=1)] = 1
    min_share: Share = 0.0
    keep: Examples
    drop: Examples

    @model_validator(mode="after")
    def _searching(self) -> "Phrase":
        if not self.phrases and not self.patterns:
            raise ValueError("give `phrases`, `patterns` or both")
        return self

    def hits(self, count: int, share: float) -> bool:
        """Whether ``count`` occurrences on ``share`` of the text are enough."""
        return count >= self.min_count and share >= self.min_share

    def value(self, count: int, share: float) -> float:
        """What the ledger says: the share where the rule asks for one, else the count."""
        return share if self.min_share else float(count)


class Citation(Judgement):
    """Citations of law with a ``verdict`` of ``core.structure.citations``, at least ``min_count`` of them.

    A document is held against the law of its own date (of judgment, of the version, of the exam), one without a date against
    today's. ``keep`` and ``drop`` are texts without a date.
    """

    verdict: Literal["cites_repealed", "citation_out_of_range", "placeholder_citation"]
    min_count: Annotated[int, Field(ge=1)] = 1
    keep: Examples
    drop: Examples

    def hits(self, count: int) -> bool:
        """Whether ``count`` such citations are enough."""
        return count >= self.min_count


class Score(Judgement):
    """A classifier's score below ``min_score``; with ``model`` (a digest) only the scores of that one count.

    It carries no examples, because rules are proven without a model: the model's card says what was measured.
    """

    min_score: Share
    model: str | None = None

    def effect(self, forced: Collection[str]) -> Action:
        """The action that is carried out; a rate was measured with one model, so a rule without one tags."""
        effect = super().effect(forced)
        return effect if self.model is not None or self.id in forced else "tag"

    def is_of(self, digest: str) -> bool:
        """Whether the rule speaks of the scores of the model of this digest."""
        return self.model is None or self.model == digest

    def hits(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which ``scores`` are too low."""
        return scores < self.min_score


class QualityRules(Rulebook):
    """All quality rules; the order of kinds and then of tables decides which removing rule a document falls to."""

    bound: tuple[Bound, ...] = ()
    phrase: tuple[Phrase, ...] = ()
    citation: tuple[Citation, ...] = ()
    classifier: tuple[Score, ...] = ()

    @cached_property
    def _literals(self) -> tuple[ahocorasick_rs.AhoCorasick, tuple[int, ...]]:
        literals = [(word, number) for number, rule in enumerate(self.phrase) for word in rule.phrases]
        return ahocorasick_rs.AhoCorasick([word for word, _ in literals]), tuple(number for _, number in literals)

    @cached_property
    def _patterns(self) -> tuple[tuple[int, re.Pattern[str]], ...]:
        return tuple((number, re.compile(pattern)) for number, rule in enumerate(self.phrase) for pattern in rule.patterns)

    def find_phrases(self, text: str, doc_type: str) -> dict[int, tuple[int, int]]:
        """Occurrences and covered characters of each phrase rule for ``doc_type`` that occurs at all, by its index."""
        spans: dict[int, list[tuple[int, int]]] = {}
        automaton, owners = self._literals
        for literal, start, end in automaton.find_matches_as_indexes(text, overlapping=True):
            if doc_type in self.phrase[owners[literal]].doc_types:
                spans.setdefault(owners[literal], []).append((start, end))
        for number, pattern in self._patterns:
            if doc_type in self.phrase[number].doc_types:
                found = [match.span() for match in pattern.finditer(text) if match.end() > match.start()]
                if found:
                    spans.setdefault(number, []).extend(found)
        return {number: _merged(found) for number, found in sorted(spans.items())}

    def first_phrase(self, text: str, rule: Phrase) -> int | None:
        """Where ``rule`` first occurs in ``text`` (code points)."""
        starts = [at for phrase in rule.phrases if (at := text.find(phrase)) >= 0]
        starts += [match.start() for pattern in rule.patterns if (match := re.search(pattern, text))]
        return min(starts, default=None)

    @property
    def all(self) -> tuple[Judgement, ...]:
        """Every rule, in the order in which they judge."""
        return (*self.bound, *self.phrase, *self.citation, *self.classifier)

    def faults(self) -> list[Fault]:
        """Try every bound and phrase on its own examples."""
        return [*self._bound_faults(), *self._phrase_faults()]

    def citation_faults(self, statutes: StatuteTables) -> list[Fault]:
        """Try every citation rule on its own examples with the tables of another family."""
        faults: list[Fault] = []
        for rule in self.citation:
            counts = [judge_citations(find(text, statutes), None, statutes)[rule.verdict] for text in (*rule.keep, *rule.drop)]
            faults += _faults(rule, [rule.hits(count) for count in counts], [f"{count} such citations" for count in counts])
        return faults

    def _bound_faults(self) -> Iterator[Fault]:
        for rule in self.bound:
            values = measure(pa.array([*rule.keep, *rule.drop]))[rule.metric].to_numpy().astype(np.float64)
            yield from _faults(rule, rule.hits(values).tolist(), [f"{rule.metric} is {value:.4g}" for value in values])

    def _phrase_faults(self) -> Iterator[Fault]:
        for number, rule in enumerate(self.phrase):
            hits: list[bool] = []
            seen: list[str] = []
            for text in (*rule.keep, *rule.drop):
                count, covered = self.find_phrases(text, rule.doc_types[0]).get(number, (0, 0))
                share = covered / max(1, len("".join(text.split())))
                hits.append(rule.hits(count, share))
                seen.append(f"{count} occurrences on {share:.4g} of it")
            yield from _faults(rule, hits, seen)


def _faults(rule: Bound | Phrase | Citation, hits: list[bool], seen: list[str]) -> Iterator[Fault]:
    for number, (hit, what) in enumerate(zip(hits, seen, strict=True)):
        wanted = number >= len(rule.keep)
        if hit != wanted:
            name, index = ("drop", number - len(rule.keep)) if wanted else ("keep", number)
            problem = "is not hit" if wanted else "is hit"
            yield Fault(rule.id, f"`{name}` example {index + 1} {problem} ({what}); mend the rule or the example")


def _merged(spans: list[tuple[int, int]]) -> tuple[int, int]:
    count = covered = reached = 0
    for start, end in sorted(spans):
        if start >= reached:
            count += 1
            covered += end - start
        else:
            covered += max(0, end - reached)
        reached = max(reached, end)
    return count, covered
