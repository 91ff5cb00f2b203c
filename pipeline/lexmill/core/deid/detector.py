"""Finds what a policy masks in one text, through Presidio's ``AnalyzerEngine``."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import accumulate
from operator import le
from typing import Any

from lexmill.core.deid.addresses import is_home
from lexmill.core.deid.article4 import SensitiveScanner
from lexmill.core.deid.custom import unheard
from lexmill.core.deid.lexer import Lexer
from lexmill.core.deid.organisations import OrganisationScanner
from lexmill.core.deid.persons import LEAST_MARGIN, Introduced, PersonScanner
from lexmill.core.deid.presidio import EntityRecognizer
from lexmill.core.deid.recognizers import BIAS, LANGUAGE, ROLE_KEY, RULE_KEY, build_engine
from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.spans import Replacement, Span
from lexmill.core.deid.surrogates import Surrogates
from lexmill.core.deid.tables import AUTO, Evidence, Policy, Reading
from lexmill.core.deid.tagger import Tagger
from lexmill.core.deid.zones import join
from lexmill.errors import DocumentError
from lexmill.schema import DOC_TYPES

# What is read around a surrogate when masked text is read again, by the rules and by the model, which looks at four characters on
# each side of a mention; no rule reads across a border.
_NEAR, _MODEL_NEAR = 24, 14
_CUT = "\x1e"
_BORDER = f"\n{_CUT}\n"
_MODEL_BORDER = f"。{_CUT}" * 2
_DIGIT = re.compile("[0-9０-９]")
_FIGURES = tuple("0123456789")
_ENDS = "ends"
_MASKED = frozenset("某×")
# Zero-width blanks and joiners, the soft hyphen, the byte order mark.
_HIDDEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ADDRESSES = frozenset(("ADDRESS", "ORG_ADDRESS"))
_TOWNS = frozenset("镇乡道村")
_NAMED = frozenset(("PERSON", "ORGANISATION", "LAW_FIRM"))


def _places(replacements: Iterable[Replacement]) -> Iterator[tuple[int, int, str]]:
    """Where the replacements stand in the output, and their entity."""
    shift = 0
    for item in replacements:
        start = item.start + shift
        shift += len(item.replacement) - (item.end - item.start)
        yield start, start + len(item.replacement), item.entity


class Detector:
    """Holds the engine and one policy; ``rules`` and ``policy`` are also what surrogates are made by.

    What the ``recognizers`` of a user find is masked whatever its entity, unless the policy keeps that.
    """

    def __init__(self, rules: DeidRules, policy: str, tagger: Tagger, recognizers: Sequence[EntityRecognizer] = ()) -> None:
        by_name = {table.name: table for table in rules.policy}
        if policy not in by_name:
            raise ValueError(f"unknown policy {policy!r}: choose one of {', '.join(sorted(by_name))}")
        self.rules = rules
        self.policy: Policy = by_name[policy]
        self.engine: Any = build_engine(rules, tagger, recognizers)
        self._tagger = tagger
        self._organisations = OrganisationScanner(rules)
        self._persons = PersonScanner(rules)
        self.surrogates = Surrogates(rules)
        self.sensitive = SensitiveScanner(rules)
        self._readings: dict[str, Reading] = {doc_type: table for table in rules.reading for doc_type in table.doc_types}
        self._roles = frozenset(self.policy.mask_roles)
        # A surname that is a common word counts for nothing by its place alone.
        weak = rules.characters("weak_surname")
        surnames = "".join(char for char in rules.characters("surname") if char not in weak)
        self._surnames = frozenset(surnames)
        given = f"(?![{rules.characters('non_name')}])[\u4e00-\u9fa5]"
        self._name_starts = re.compile(f"[{surnames}]{given}")
        self._name_ends = re.compile(f"[{surnames}](?:{given}){{1,2}}\\Z")
        suffixes = sorted({word for table in rules.organisation for word in f"{table.suffixes} {table.doubtful}".split()})
        self._organisation_ends = Lexer({_ENDS: ("all", suffixes)})
        self._not_names = frozenset(rules.words("not_a_name"))
        self._keep = frozenset(self.policy.keep)
        self._has_more = bool(recognizers)

    def detect(self, text: str, doc_type: str, introduced: Sequence[Introduced] = ()) -> list[Span]:
        """What the policy masks in ``text``: sorted, disjoint spans; ``introduced`` is whom its party block names.

        ``doc_type`` decides what a name needs (``reading`` rules); ``auto`` is read like a judgment.
        Where findings overlap, the longest wins, then the first, then the entity's and the rule's name decide.
        Raises DocumentError ``deid.detector_failed`` whatever goes wrong inside a recogniser.
        """
        if doc_type != AUTO and doc_type not in DOC_TYPES:
            raise ValueError(f"unknown document type {doc_type!r}: choose one of {', '.join((AUTO, *DOC_TYPES))}")
        for char in _HIDDEN:
            if char in text:
                break
        else:
            return self._detect(text, doc_type, introduced)
        # What cannot be seen parts neither numbers nor names: they are looked for without, and found with it.
        places = [at for at, char in enumerate(text) if char not in _HIDDEN]
        shown = [who._replace(start=bisect_left(places, who.start), end=bisect_left(places, who.end)) for who in introduced]
        found = self._detect("".join(text[at] for at in places), doc_type, shown)
        return [span._replace(start=places[span.start], end=places[span.end - 1] + 1) for span in found]

    def _detect(self, text: str, doc_type: str, introduced: Sequence[Introduced]) -> list[Span]:
        try:
            reading = self._readings[doc_type]
            artifacts = self.engine.nlp_engine.process_text(text, LANGUAGE)
            artifacts.evidence = reading.evidence
            artifacts.introduced = introduced
            # Ours are all sure of what they find; only a user's have thresholds of their own.
            least = None if self._has_more else 0.0
            with unheard() if self._has_more else nullcontext():
                results = self.engine.analyze(text, LANGUAGE, nlp_artifacts=artifacts, score_threshold=least)
            left = self._keep.union(reading.ignore)
            found = []
            for result in results:
                start, end, entity, metadata = result.start, result.end, result.entity_type, result.recognition_metadata
                if not 0 <= start < end <= len(text):
                    raise DocumentError("deid.detector_failed")
                role = metadata.get(ROLE_KEY)
                if entity not in left and (not role or role in self._roles):
                    found.append(Span(start, end, entity, metadata.get(RULE_KEY, "recognizer")))
        except Exception:
            # Presidio and a user's recogniser may raise anything, with text in its message: nothing of it may go on.
            raise DocumentError("deid.detector_failed") from None
        return _disjoint(found, len(text))

    def may_show_more(self, output: str, doc_type: str, replacements: Sequence[Replacement]) -> bool:
        """Whether more may come to light in masked text: surrogates part words more clearly than names do.

        Only what stands near a surrogate can read differently: for the model within a few characters, which it reads again; for
        the rules where a surname stands right beside a surrogate, or the end of an organisation's name near it, and there all is
        read again. What a user's recognisers make of masked text nobody knows: all is read again.
        """
        if self._has_more:
            return True
        if not replacements:
            return False
        places = list(_places(replacements))
        evidence = self._readings[doc_type].evidence
        if evidence != "label" and self._model_sees_more(output, places, evidence):
            return True
        ends = [
            (start, end, output[end : end + 1] not in _FIGURES)
            for _, start, end in self._organisation_ends.scan(output).of(_ENDS)
            if start and "\u4e00" <= output[start - 1] <= "\u9fa5" and output[start - 1] != "某"
        ]
        stretches = []
        last = 0
        for start, end, entity in places:
            if start and output[start - 1] in _TOWNS:
                # A township before what is masked now.
                stretches.append((max(0, start - _NEAR), end + _NEAR))
            if entity not in _NAMED:
                continue
            # One look at a character spares most of the searches.
            behind = self._name_starts.match(output, end) if output[end : end + 1] in self._surnames else None
            near = output[max(0, start - 3) : start]
            before = None if self._surnames.isdisjoint(near) else self._name_ends.search(near)
            if (
                (behind is not None and behind.group() not in self._not_names)
                or (before is not None and before.group()[:2] not in self._not_names)
                or (ends and (_is_within(ends, max(last, start - _NEAR), start) or _is_within(ends, end, end + _NEAR)))
            ):
                stretches.append((max(0, start - _NEAR), end + _NEAR))
            last = end
        if not stretches:
            return False
        around = _BORDER.join(output[low:high] for low, high in zip(*join(stretches), strict=True))
        return bool(self.surrogates.choose(around, self.detect(around, doc_type)))

    def is_read_as_name(self, text: str, start: int, end: int) -> bool:
        """Whether the model takes just ``text[start:end]`` for a person, by what stands around it."""
        low = max(0, start - _NEAR)
        mentions = self._tagger.decode(text[low : end + _NEAR], 0.0)
        return any(
            (item.start + low, item.end + low, item.label) == (start, end, "PERSON") and item.margin > 0 for item in mentions
        )

    def _model_sees_more(self, output: str, places: Sequence[tuple[int, int, str]], evidence: Evidence) -> bool:
        windows: list[tuple[int, int]] = []
        for start, end, _ in places:
            low = max(0, start - _MODEL_NEAR)
            if windows and low <= windows[-1][1]:
                low = windows.pop()[0]
            windows.append((low, end + _MODEL_NEAR))
        near = _MODEL_BORDER.join(output[low:high] for low, high in windows)
        # How far what stands in a window stands from there in the output.
        begins = [0, *accumulate(min(high, len(output)) - low + len(_MODEL_BORDER) for low, high in windows)]
        for start, end, label, margin in self._tagger.decode(near, BIAS["story"]):
            name = near[start:end]
            # A window cuts words; what stands at its border reads as before.
            if (
                margin > LEAST_MARGIN
                and _MASKED.isdisjoint(near[start : end + 1])
                and _CUT not in near[max(0, start - 4) : end + 4]
                and (
                    (label == "PERSON" and self._may_take(output, windows, begins, start, end, margin, evidence))
                    or self._organisations.is_trade_name(name)
                    or (label == "ADDRESS" and (_DIGIT.search(name) or is_home(name, margin)))
                )
            ):
                return True
        return False

    def _may_take(
        self,
        output: str,
        windows: Sequence[tuple[int, int]],
        begins: Sequence[int],
        start: int,
        end: int,
        margin: float,
        evidence: Evidence,
    ) -> bool:
        """Whether a mention in one of the joined ``windows``, which begin at ``begins``, counts where it stands in the output."""
        which = bisect_right(begins, start) - 1
        shift = windows[which][0] - begins[which]
        return self._persons.may_take(output, start + shift, end + shift, margin, evidence)


def _is_within(ends: Sequence[tuple[int, int, bool]], low: int, high: int) -> bool:
    """Whether one of the sorted ``ends`` of organisations' names stands in ``low:high``, no figure behind it in there."""
    for start, end, clean in ends[bisect_left(ends, (low, 0, False)) :]:
        if start >= high:
            return False
        if end <= high and (clean or end == high):
            return True
    return False


def _disjoint(spans: list[Span], length: int) -> list[Span]:
    """Sorted, disjoint spans: the longest first; of an address that a name covers in part the rest stays masked too."""
    ordered = sorted(spans)
    if all(map(le, [span.end for span in ordered[:-1]], [span.start for span in ordered[1:]])):
        return ordered
    taken = bytearray(length)
    kept = []
    for span in sorted(ordered, key=lambda span: span.start - span.end):
        if taken.find(1, span.start, span.end) < 0:
            pieces = [span]
        elif span.entity in _ADDRESSES:
            free = [at for at in range(span.start, span.end) if not taken[at]]
            pieces = [
                span._replace(start=at, end=next((end for end in range(at, span.end) if taken[end]), span.end))
                for at in free
                if at == span.start or taken[at - 1]
            ]
        else:
            continue
        for piece in pieces:
            taken[piece.start : piece.end] = b"\1" * (piece.end - piece.start)
            kept.append(piece)
    return sorted(kept)
