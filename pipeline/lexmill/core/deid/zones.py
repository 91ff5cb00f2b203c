"""Stretches of a text that hold no person and no organisation: case numbers, titles of statutes, names of public bodies."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from lexmill.core.deid.lexer import Hits, matches_at
from lexmill.core.deid.tables import DeidTables
from lexmill.core.deid.words import BODY, CASE_NUMBER, TITLE, build_lexer
from lexmill.core.structure import casenumber

# The title of a case names its parties: 《…抢劫案》.
_TITLE = re.compile(r"《[^《》\n]{1,80}(?<!案)》")
# The administrative units before a body's name; the last group lets 高新技术产业开发 and 铁路运输 stand before 法院.
_UNITS = re.compile(
    r"(?:[\u4e00-\u9fa5]{2,7}?(?:自治区|自治州|特别行政区|新区|省|市|区|县|州|盟|旗|镇|乡))*[\u4e00-\u9fa5]{0,8}\Z"
)
# What stands before a body's name and is no part of it; read backwards.
_BEFORE = re.compile(r"(?:(?![向由经被在到于对与和及至从是为服交送告诉请将据因受系])[\u4e00-\u9fa5]){0,24}")
_WORDS = re.compile(r".*(?:判决|本院|指定|指派|原审|一审|二审|公诉机关|抗诉机关)")
_REACH = 24


@dataclass(frozen=True, slots=True)
class Stretches:
    """Sorted, disjoint stretches ``starts[i]:ends[i]``."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def overlap(self, start: int, end: int) -> bool:
        """Whether ``start:end`` touches a stretch."""
        at = bisect_right(self.starts, start)
        return (at > 0 and self.ends[at - 1] > start) or (at < len(self.starts) and self.starts[at] < end)


@dataclass(frozen=True, slots=True)
class Zones(Stretches):
    """The zones of a text, the case numbers among them, and what words of the rules stand where in it."""

    case_numbers: tuple[casenumber.CaseNumber, ...]
    hits: Hits


def join(stretches: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sorted, disjoint starts and ends of possibly overlapping stretches."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted(stretches):
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return tuple(starts), tuple(ends)


class ZoneScanner:
    """Finds the zones of a text by the ``public_body`` rules."""

    def __init__(self, rules: DeidTables) -> None:
        self._province = re.compile("|".join(rules.words("province")))
        self._lexer = build_lexer(rules)

    def body_start(self, text: str, suffix_start: int) -> int:
        """Where the name of the public body begins whose suffix starts at ``suffix_start``."""
        run = _BEFORE.match(text[max(0, suffix_start - _REACH) : suffix_start][::-1])
        assert run is not None  # it may be empty
        before = run.group()[::-1]
        words = _WORDS.match(before)
        if words:
            before = before[words.end() :]
        province = self._province.search(before)
        if province:
            return suffix_start - len(before) + province.start()
        match = _UNITS.search(before)
        return suffix_start - len(before) + (match.start() if match else len(before))

    def scan(self, text: str) -> Zones:
        """The zones of ``text``."""
        hits = self._lexer.scan(text)
        numbers = tuple(casenumber.read(matches_at(casenumber.NUMBER, text, hits.starts(CASE_NUMBER))))
        stretches = [(number.start, number.end) for number in numbers]
        stretches += [match.span() for match in matches_at(_TITLE, text, hits.starts(TITLE))]
        stretches += [(self.body_start(text, start), end) for _, start, end in hits.of(BODY)]
        starts, ends = join(stretches)
        return Zones(starts, ends, numbers, hits)
