"""What stands for a mention: 张某1, 某某公司1, ×××: numbered by first appearance, never equal to a mask that is there already.

法释〔2016〕19号 art. 9: the surname and 某; minority and transliterated names keep their first character; people whose masks
would be equal get Arabic digits. Nothing is keyed and nothing is stored: the numbers follow from the text alone.
"""

import re
from collections.abc import Iterable, Iterator

from lexmill.core.deid.births import BirthScanner
from lexmill.core.deid.recognizers import CASE_NUMBER_RULE
from lexmill.core.deid.spans import Replacement, Span
from lexmill.core.deid.tables import DeidTables

_BLANK = re.compile("[ \u3000\t\u00ad\u200b-\u200d\u2060\ufeff]")
_DOT = re.compile(r"[·•・‧∙●]")
_NUMBER = re.compile("[0-9０-９]{1,9}")
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")
_UNKNOWN = "×××"
_NAMED = frozenset(("PERSON", "ORGANISATION", "LAW_FIRM"))


class Surrogates:
    """Chooses replacements by the rules; one object serves any number of texts."""

    def __init__(self, rules: DeidTables) -> None:
        self._compounds = frozenset(rules.words("compound_surname"))
        self._surnames = frozenset(rules.characters("surname")) - frozenset(rules.characters("rare_surname"))
        self._fixed = {table.id: (table.keep, table.surrogate) for table in rules.identifier}
        self._fixed |= {table.id: (0, table.surrogate) for table in rules.certificate}
        self._fixed |= {table.id: (0, "×××") for table in rules.address}
        self._fixed[CASE_NUMBER_RULE] = (0, "×")
        self._births = BirthScanner(rules)
        self._dates = {table.id: table.surrogate for table in rules.birth_date}
        self._aliases = frozenset(table.id for table in rules.alias)
        self._organisations = {table.id: table.surrogate for table in rules.organisation}
        self._suffixes = sorted(
            ((suffix, table.surrogate) for table in rules.organisation for suffix in table.suffixes.split()),
            key=lambda item: (-len(item[0]), item[0]),
        )

    def choose(self, text: str, spans: Iterable[Span]) -> tuple[Replacement, ...]:
        """One replacement a span (sorted, disjoint, as given); those that would change nothing are left out."""
        spans = tuple(spans)
        # A digit right after the mention would run into the surrogate's number: such names get a stem (甲, 乙 …).
        stems = {self._key(text, span) for span in spans if span.entity in _NAMED and text[span.end : span.end + 1].isdecimal()}
        chosen: dict[tuple[str, str], str] = {}
        free = _Free(text)
        # Most mentions are written as one before.
        written: dict[tuple[str, str], str] = {}
        replacements = []
        for span in spans:
            source = text[span.start : span.end]
            if span.entity in _NAMED:
                known = written.get((span.entity, source))
                if known is None:
                    key = self._key(text, span)
                    if key not in chosen:
                        chosen[key] = free.take(self._base(span, key[1]), key in stems)
                    known = written[(span.entity, source)] = chosen[key]
                replacement = known
            elif span.rule in self._dates:
                replacement = self._dates[span.rule].format(year=self._births.year(span.rule, text, span.start, span.end))
            else:
                keep, mask = self._fixed.get(span.rule, (0, _UNKNOWN))
                replacement = source[:keep] + mask
            if replacement != source:
                replacements.append(Replacement(*span, replacement))
        return tuple(replacements)

    @staticmethod
    def _key(text: str, span: Span) -> tuple[str, str]:
        kind = "PERSON" if span.entity == "PERSON" else "ORGANISATION"
        return kind, _BLANK.sub("", text[span.start : span.end])

    def _base(self, span: Span, name: str) -> str:
        if span.entity != "PERSON":
            if span.rule in self._organisations:
                return self._organisations[span.rule]
            return next((surrogate for suffix, surrogate in self._suffixes if name.endswith(suffix)), "某某企业")
        if span.rule in self._aliases:
            return "某某"
        if _DOT.search(name):
            return f"{name[0]}某"
        if name[:2] in self._compounds and len(name) > 2:
            return f"{name[:2]}某"
        if name[0] in self._surnames and len(name) <= 4:
            return f"{name[0]}某"
        return f"{name[0]}某" if len(name) > 3 else "某某"


class _Free:
    """Surrogates of one document that are neither in its text nor given to somebody already."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._taken: set[str] = set()
        self._used: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}

    def take(self, base: str, stem: bool) -> str:
        """The next free form of ``base``: with one of the ten stems where ``stem`` asks and one is free, else numbered."""
        found = self._with_stem(base) if stem else None
        if found is None:
            found = self._numbered(base)
        self._taken.add(found)
        return found

    def _with_stem(self, base: str) -> str | None:
        forms = (base + letter for letter in _STEMS)
        return next((form for form in forms if form not in self._taken and form not in self._text), None)

    def _numbered(self, base: str) -> str:
        if base not in self._used:
            self._used[base] = set(self._numbers(base))
        number = self._next.get(base, 1)
        while number in self._used[base] or f"{base}{number}" in self._taken:
            number += 1
        self._next[base] = number + 1
        return f"{base}{number}"

    def _numbers(self, base: str) -> Iterator[int]:
        """The numbers that stand right after ``base`` in the text."""
        at = self._text.find(base)
        while at >= 0:
            number = _NUMBER.match(self._text, at + len(base))
            if number is not None:
                yield int(number.group().translate(_WIDTH))
            at = self._text.find(base, at + 1)
