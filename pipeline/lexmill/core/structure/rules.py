"""The rules that cut documents into segments: cues in running text and headings at the start of a line."""

import re
import sys
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from operator import itemgetter
from typing import Annotated, Literal, NamedTuple

import ahocorasick_rs
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from lexmill.config import DocType
from lexmill.core.rulebook import Fault, Pattern, Rule, Rulebook
from lexmill.schema import DOC_TYPES

BAR = "｜"
"""Stands in an example where the segment begins."""

_LINE_MARKS = r"[ \t\u3000]*+(?:#{1,6}[ \t]*+|\*\*)?+"
# A line that is neither blank nor only ruled.
_PARAGRAPH = r"(?=[^\s\-])"
# A longer sentence is cut off: its start is not looked for.
_SENTENCE = 400
# So many literals are looked for one by one in the time that the automaton takes to start.
_FEW = 4
_BORDERS = {"sentence": '。！？!?\n \t\u3000；;：:”"）)】', "clause": '。！？!?\n \t\u3000；;：:”"）)】，,、'}


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _without_groups(pattern: str) -> str:
    if re.compile(pattern).groups:
        raise ValueError("write (?:…) for (…): captured groups have no meaning here")
    return pattern


Word = Annotated[str, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_tuple), Field(min_length=1)]
Uncaptured = Annotated[Pattern, Field(min_length=1), AfterValidator(_without_groups)]
Confidence = Annotated[float, Field(gt=0, le=1)]


class Cue(Rule):
    """Words in running text at which a segment of ``kind`` begins.

    One of ``literals`` must stand in the text. With ``cut`` before or after, ``pattern`` (default: the literal) must match
    from the literal on, and the segment begins before or after that match; with ``cut`` sentence, ``pattern`` must match
    from the start of the sentence which holds the literal, and the segment begins there. ``border`` says what must stand
    before a literal: the end of a sentence, of a clause, or anything. ``within``: only in so many first characters.
    """

    doc_type: DocType
    kind: Word
    literals: Words
    pattern: Uncaptured | None = None
    cut: Literal["before", "after", "sentence"] = "before"
    border: Literal["sentence", "clause", "any"] = "any"
    within: Annotated[int, Field(gt=0)] | None = None
    confidence: Confidence
    match: Words
    no_match: Words


class Heading(Rule):
    """A line that opens a segment of ``kind``: ``pattern`` stands at its start, after indentation and Markdown marks.

    ``level``: rank among the headings of a document type, 1 the highest; what ranks mean is up to the type.
    """

    doc_type: DocType
    kind: Word
    pattern: Uncaptured
    level: Annotated[int, Field(ge=1, le=9)] = 1
    confidence: Confidence
    match: Words
    no_match: Words


# Facts, reasons and judgment of a case are one: a model learns from one what follows from the other.
_TOGETHER = frozenset({"诉称", "辩称", "查明", "理由", "依据", "主文"})


class Section(Rule):
    """Segments of ``kinds`` that a run may leave out of documents of ``doc_type``, if its ``filter.sections`` names this rule.

    ``share`` (0 to 1): in so many of the documents they stay. In a ``match`` example what goes stands between two bars; a
    ``no_match`` example loses nothing.
    """

    doc_type: DocType
    kinds: Words
    share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    match: Words
    no_match: Words

    @model_validator(mode="after")
    def _keeps_the_case(self) -> "Section":
        if self.doc_type == "judgment" and _TOGETHER.intersection(self.kinds):
            raise ValueError(f"{'、'.join(sorted(_TOGETHER))} of a judgment stay together: take them out of kinds")
        return self


class Mark(NamedTuple):
    """A place at which a rule lets a segment begin; ``end`` is where the rule's words end."""

    start: int
    kind: str
    level: int
    confidence: float
    rule_id: str
    end: int


# Named tuples by the thousand: their own constructors take three times as long.
_mark = partial(tuple.__new__, Mark)


def _sentence_start(text: str, position: int) -> int:
    """Where the sentence that holds ``position`` begins, blanks left out."""
    floor = max(position - _SENTENCE, 0)
    begin = max(text.rfind("。", floor, position), text.rfind("\n", floor, position), floor - 1) + 1
    while text[begin].isspace():
        begin += 1
    return begin


class _Opener:
    """One rule, ready to say where its segment begins when one of its literals or its line is found."""

    def __init__(self, rule: "Cue | Heading") -> None:
        self.kind = rule.kind
        self.confidence = rule.confidence
        self.rule_id = rule.id
        self.level = rule.level if isinstance(rule, Heading) else 1
        self.cut: str = rule.cut if isinstance(rule, Cue) else "before"
        # A heading was matched as a whole line already.
        cue_pattern = rule.pattern if isinstance(rule, Cue) else None
        self.match = re.compile(cue_pattern).match if cue_pattern is not None else None
        self.borders = _BORDERS.get(rule.border) if isinstance(rule, Cue) else None
        self.within = (rule.within if isinstance(rule, Cue) else None) or sys.maxsize
        self.holds = not (self.match or self.borders) and self.cut == "before"

    def open(self, text: str, start: int, end: int) -> Mark | None:
        """The mark for what was found at ``start`` to ``end``; None where the rule does not hold."""
        if self.borders and start > 0 and text[start - 1] not in self.borders:
            return None
        place = _sentence_start(text, start) if self.cut == "sentence" else start
        if self.match:
            found = self.match(text, place)
            if not found:
                return None
            end = found.end()
        if self.cut == "after":
            place = end
            while place < len(text) and text[place].isspace():
                place += 1
        return Mark(place, self.kind, self.level, self.confidence, self.rule_id, end)


_Hit = tuple[int, int, _Opener]


class Line(NamedTuple):
    """A line that is not blank: it begins at ``start``, ``words`` were matched there; ``opener`` is None for a paragraph."""

    before: int
    start: int
    words: str
    opener: _Opener | None


_place = itemgetter(Mark._fields.index("start"), Mark._fields.index("rule_id"))
_hit_start = itemgetter(0)
_line = partial(tuple.__new__, Line)


class Marks:
    """The marks of one text; a rule's pattern and border are tried only on what is asked for."""

    def __init__(self, text: str, hits: dict[str, list[_Hit]]) -> None:
        self._text = text
        self._hits = hits

    def _open(self, hits: Iterable[_Hit], start: int, end: int) -> Iterator[Mark]:
        for found_start, found_end, opener in hits:
            if found_end > start and found_start < end:
                mark: Mark | None
                if opener.holds:
                    mark = _mark((found_start, opener.kind, opener.level, opener.confidence, opener.rule_id, found_end))
                else:
                    mark = opener.open(self._text, found_start, found_end)
                if mark and start <= mark.start < end:
                    yield mark

    def all(self, kinds: Iterable[str], start: int, end: int) -> list[Mark]:
        """The marks of ``kinds`` whose words and start lie in ``start`` to ``end``, sorted by start, then rule."""
        found: list[Mark] = []
        for kind in kinds:
            if hits := self._hits.get(kind):
                found += self._open(hits, start, end)
        found.sort(key=_place)
        return found

    def first(self, kind: str, start: int, end: int) -> Mark | None:
        """The mark of ``kind`` whose words come first in ``start`` to ``end``."""
        hits = self._hits.get(kind)
        return next(self._open(hits, start, end), None) if hits else None

    def last(self, kind: str, start: int, end: int) -> Mark | None:
        """The mark of ``kind`` whose words come last in ``start`` to ``end``."""
        hits = self._hits.get(kind)
        return next(self._open(reversed(hits), start, end), None) if hits else None

    def named(self, prefix: str, start: int, end: int) -> list[Mark]:
        """The marks of the rules whose id begins with ``prefix``, whatever their kind, as ``all`` would give them."""
        hits = (hit for found in self._hits.values() for hit in found if hit[2].rule_id.startswith(prefix))
        return sorted(self._open(hits, start, end), key=_place)

    @property
    def kinds(self) -> list[str]:
        """The kinds that may have marks here, sorted."""
        return sorted(self._hits)


class _Finder:
    """All rules of one document type: cues by one pass of an automaton, headings by one expression over the starts of lines."""

    def __init__(self, rules: Iterable["Cue | Heading"]) -> None:
        rules = list(rules)
        cues = [rule for rule in rules if isinstance(rule, Cue)]
        headings = [rule for rule in rules if isinstance(rule, Heading)]
        literals = sorted({literal for cue in cues for literal in cue.literals})
        openers = {cue.id: _Opener(cue) for cue in cues}
        self._by_literal = [[openers[cue.id] for cue in cues if literal in cue.literals] for literal in literals]
        self._automaton = (
            ahocorasick_rs.AhoCorasick(literals, implementation=ahocorasick_rs.Implementation.DFA) if literals else None
        )
        # Without one of these there is nothing for the automaton to find, which costs as much as a short text.
        self._needs = literals if len(literals) <= _FEW else None
        # An alternative that begins with a character, and not with a group, is not entered where another character stands.
        choice = "|".join(f"(?:{heading.pattern})()" for heading in headings)
        self._headings = [_Opener(heading) for heading in headings]
        # No group: the line is no heading.
        self._by_group: dict[int | None, _Opener | None] = {None: None, **dict(enumerate(self._headings, 1))}
        self._line = re.compile(f"\n{_LINE_MARKS}(?:{choice})") if headings else None
        self._first_line = re.compile(f"{_LINE_MARKS}(?:{choice})") if headings else None
        self._any_line = re.compile(f"\n{_LINE_MARKS}(?:{choice}|{_PARAGRAPH})") if headings else None
        self._any_first_line = re.compile(f"{_LINE_MARKS}(?:{choice}|{_PARAGRAPH})") if headings else None

    def find(self, text: str) -> Marks:
        hits: defaultdict[str, list[_Hit]] = defaultdict(list)
        if self._automaton and (self._needs is None or any(literal in text for literal in self._needs)):
            for index, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
                for opener in self._by_literal[index]:
                    if start < opener.within:
                        hits[opener.kind].append((start, end, opener))
        if self._line and self._first_line:
            headed: defaultdict[str, list[_Hit]] = defaultdict(list)
            first = self._first_line.match(text)
            if first:
                opener = self._headings[(first.lastindex or 1) - 1]
                headed[opener.kind].append((0, first.end(), opener))
            for match in self._line.finditer(text):
                opener = self._headings[(match.lastindex or 1) - 1]
                start, end = match.span()
                headed[opener.kind].append((start + 1, end, opener))
            for kind, found in headed.items():
                if cued := hits.get(kind):
                    for hit in found:
                        insort(cued, hit, key=_hit_start)
                else:
                    hits[kind] = found
        return Marks(text, hits)

    def lines(self, text: str) -> list[Line]:
        if not self._any_line or not self._any_first_line:
            return []
        first = self._any_first_line.match(text)
        headings = self._by_group
        lines = [Line(0, 0, first[0], headings[first.lastindex])] if first else []
        lines += [
            _line((start := match.start(), start + 1, match[0], headings[match.lastindex]))
            for match in self._any_line.finditer(text)
        ]
        return lines


class SegmentRules(Rulebook):
    """The cues, headings and sections of ``rules/segment``; compiled finders are kept with it: it does not pickle once used."""

    cue: tuple[Cue, ...] = ()
    heading: tuple[Heading, ...] = ()
    section: tuple[Section, ...] = ()

    @property
    def _rules(self) -> list[Cue | Heading]:
        return [*self.cue, *self.heading]

    @cached_property
    def _finders(self) -> dict[str, _Finder]:
        return {kind: _Finder([rule for rule in self._rules if rule.doc_type == kind]) for kind in DOC_TYPES}

    def marks(self, text: str, doc_type: str) -> Marks:
        """The places of ``text`` at which the rules for ``doc_type`` let segments begin; raises KeyError for an unknown type."""
        return self._finders[doc_type].find(text)

    def lines(self, text: str, doc_type: str) -> list[Line]:
        """All lines of ``text`` that are not blank, with the heading that each opens; raises KeyError for an unknown type."""
        return self._finders[doc_type].lines(text)

    def faults(self) -> list[Fault]:
        """Try every rule on its own examples, alone: ``match`` begins first at the bar, ``no_match`` nowhere."""
        faults = []
        for rule in self._rules:
            finder = _Finder([rule])
            for number, example in enumerate(rule.match, 1):
                text = example.replace(BAR, "")
                starts = [mark.start for mark in finder.find(text).all([rule.kind], 0, len(text))]
                if example.count(BAR) != 1:
                    faults.append(Fault(rule.id, f"match example {number}: put one {BAR} where the segment begins"))
                elif starts[:1] != [example.index(BAR)]:
                    begins = f"begins at {starts[0]}" if starts else "the rule does not hold"
                    faults.append(Fault(rule.id, f"match example {number}: {begins}, the bar is at {example.index(BAR)}"))
            for number, example in enumerate(rule.no_match, 1):
                if finder.find(example).all([rule.kind], 0, len(example)):
                    faults.append(Fault(rule.id, f"no_match example {number}: the rule holds; narrow its pattern"))
        return [*faults, *self._section_faults()]

    def _section_faults(self) -> Iterator[Fault]:
        # The segmenter is built on these rules.
        from lexmill.core.structure.segment import segment

        for rule in self.section:
            for name, examples in (("match", rule.match), ("no_match", rule.no_match)):
                for number, example in enumerate(examples, 1):
                    text = example.replace(BAR, "")
                    parts = segment(text, rule.doc_type, self)
                    kept = "".join(text[part.start : part.end] for part in parts if part.kind not in rule.kinds)
                    pieces = example.split(BAR)
                    if len(pieces) != (3 if name == "match" else 1):
                        yield Fault(rule.id, f"{name} example {number}: put what goes between two {BAR}, and none in a no_match")
                    elif kept != "".join(pieces[::2]):
                        yield Fault(rule.id, f"{name} example {number}: what stays has {len(kept)} characters, not what was said")
