"""Birth dates: everything but the year is masked."""

import re

from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import DeidTables
from lexmill.core.deid.words import BIRTH, BIRTH_WORDS, all_words
from lexmill.core.deid.zones import Zones
from lexmill.errors import DocumentError

# A birth date stands at most this far from the word that tells it.
_REACH = 28
_AHEAD = 8
_YEAR = re.compile("[年./-](?<=[0-9０-９〇零一二三四五六七八九].)")
_NUMERAL = "〇○零一二三四五六七八九"
_PARTS = {
    # Its first character stands alone, so that `re` skips to it.
    "{YEAR}": "(?P<year>[12１２一二](?:(?:(?<=1)[89]|(?<=2)0|(?<=１)[８９]|(?<=２)０)[0-9０-９]{2}"
    f"|(?<=[一二])[{_NUMERAL}]{{3}})年)",
    "{MONTH}": "(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,2})月",
    "{DAY}": "(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,3})日",
    "{PLAIN}": "(?P<year>(?:1[89]|20)[0-9]{2}[-./])[0-9]{1,2}[-./][0-9]{1,2}(?![0-9])",
}


class BirthScanner:
    """Finds birth dates by the ``birth_date`` rules; a span covers the whole date."""

    def __init__(self, rules: DeidTables) -> None:
        self._patterns = []
        for table in rules.birth_date:
            pattern = table.pattern
            for mark, value in _PARTS.items():
                pattern = pattern.replace(mark, value)
            self._patterns.append((table.id, re.compile(pattern)))
        self._shown_by = [BIRTH_WORDS.get(word, 0) for word in all_words(rules)]

    def find(self, text: str, zones: Zones) -> list[Span]:
        """All birth dates, by place, then by rule; a date that two rules find stands twice."""
        found: dict[Span, None] = {}
        if not zones.hits.has_any(BIRTH, BIRTH):
            return []
        for at in sorted({start + self._shown_by[word] for word, start, _ in zones.hits.of(BIRTH)}):
            low, high = max(0, at - _REACH), at + 1 + _REACH
            if not _YEAR.search(text, low, high):
                continue
            for rule, pattern in self._patterns:
                # A pattern looks at what follows its match: it must not end where the window does.
                for match in pattern.finditer(text, low, high + _AHEAD):
                    if match.end() <= high:
                        found[Span(*match.span("date"), "BIRTH_DATE", rule)] = None
        return list(found)

    def year(self, rule: str, text: str, start: int, end: int) -> str:
        """The year (with its sign) of the birth date that ``rule`` found at ``start:end``."""
        pattern = next(pattern for id_, pattern in self._patterns if id_ == rule)
        # Where the rule's match begins is not known any more: it is the nearest place before the date that gives the same date.
        for begin in range(start, max(-1, start - _REACH - 1), -1):
            match = pattern.match(text, begin)
            if match is not None and match.span("date") == (start, end):
                return match["year"]
        raise DocumentError("deid.birth_year")
