"""What stands for a mention: 张某1, 某某公司1, ×××: numbered by first appearance, never equal to a mask that is there already.

法释〔2016〕19号 art. 9: the surname and 某; minority and transliterated names keep their first character; people whose masks
would be equal get Arabic digits. Nothing is keyed and nothing is stored: the numbers follow from the text alone.

A given name alone, and the short form of a firm where the text says so or only one firm of the text can be meant, get what the
full name gets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lexmill.core.deid.births import BirthScanner
from lexmill.core.deid.persons import GIVEN_RULE
from lexmill.core.deid.recognizers import CASE_NUMBER_RULE
from lexmill.core.deid.spans import Replacement, Span
from lexmill.core.deid.tables import DeidTables
from lexmill.core.deid.words import DOTS, SHORT_FORM_RULE

_BLANK = re.compile("[ \u3000\t\u00ad\u200b-\u200d\u2060\ufeff]")
_DOT = re.compile(f"[{DOTS}]")
_NUMBER = re.compile("[0-9０-９]{1,9}")
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_WIDTH = str.maketrans("０１２３４５６７８９", "0123456789")
_UNKNOWN = "×××"
_NAMED = frozenset(("PERSON", "ORGANISATION", "LAW_FIRM"))
_FIRMS = _NAMED - {"PERSON"}
_REGISTERED = "有限"
_BRANCHES = ("分公司", "支公司", "支行", "分行", "营业部", "分理处", "营业所")
# How far behind a firm's name, in its brackets, stands what it is called.
_CALLED_REACH = 60

_Key = tuple[str, str]


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
        forms = sorted({cue for table in rules.alias if table.id == SHORT_FORM_RULE for cue in table.cues.split()}, reverse=True)
        self._says_short = re.compile(f"[（(][^（）()。\n]{{0,40}}?(?:{'|'.join(forms)})[为：:]?[ ]?[“\"‘']?")
        self._province = re.compile(f"(?:{'|'.join(rules.words('province'))})[省市]?")
        ends = {end for table in rules.organisation for end in (*table.suffixes.split(), *table.doubtful.split())}
        self._ends = sorted(ends, key=lambda end: (-len(end), end))
        self._suffixes = sorted(
            ((suffix, table.surrogate) for table in rules.organisation for suffix in table.suffixes.split()),
            key=lambda item: (-len(item[0]), item[0]),
        )

    def choose(self, text: str, spans: Iterable[Span]) -> tuple[Replacement, ...]:
        """One replacement a span (sorted, disjoint, as given); those that would change nothing are left out."""
        spans = tuple(spans)
        # Whom each written form (entity, text) stands for (kind, name), and the first mention of each of those.
        keys: dict[_Key, _Key] = {}
        first: dict[_Key, Span] = {}
        numbered = set()
        for span in spans:
            start, end, entity, _ = span
            if entity in _NAMED:
                form = entity, text[start:end]
                if form not in keys:
                    keys[form] = key = "PERSON" if entity == "PERSON" else "ORGANISATION", _BLANK.sub("", form[1])
                    first.setdefault(key, span)
                if text[end : end + 1].isdecimal():
                    numbered.add(form)
        if len(first) > 1:
            links = self._links(text, spans, first)
            if links:
                keys = {form: links.get(key, key) for form, key in keys.items()}
        # A digit right after the mention would run into the surrogate's number: such names get a stem (甲, 乙 …).
        stems = {keys[form] for form in numbered}
        chosen: dict[_Key, str] = {}
        free = _Free(text)
        replacements = []
        for span in spans:
            start, end, entity, rule = span
            source = text[start:end]
            if entity in _NAMED:
                key = keys[entity, source]
                replacement = chosen.get(key, "")
                if not replacement:
                    replacement = chosen[key] = free.take(self._base(first[key], key[1]), key in stems)
            elif rule in self._dates:
                replacement = self._dates[rule].format(year=self._births.year(rule, text, start, end))
            else:
                keep, mask = self._fixed.get(rule, (0, _UNKNOWN))
                replacement = source[:keep] + mask
            if replacement != source:
                replacements.append(Replacement(start, end, entity, rule, replacement))
        return tuple(replacements)

    def _links(self, text: str, spans: Sequence[Span], first: Mapping[_Key, Span]) -> dict[_Key, _Key]:
        """Which names are another form of one that stands in the text too."""
        links: dict[_Key, _Key] = {}
        people = [name for kind, name in first if kind == "PERSON"]
        for name in people:
            if len(name) > 1 and (name[0] not in self._surnames or first["PERSON", name].rule == GIVEN_RULE):
                owners = [other for other in people if other != name and _is_given_name(name, other)]
                if len(owners) == 1:
                    links["PERSON", name] = "PERSON", owners[0]
        firms = [name for kind, name in first if kind != "PERSON"]
        if len(firms) < 2:
            return links
        called = self._called(text, spans)
        for name in firms:
            owner = called.get(name) or self._owner(name, firms, first)
            # Two that are called each other, or one by its own short form, lead nowhere.
            if owner is not None and ("ORGANISATION", owner) not in links:
                links["ORGANISATION", name] = "ORGANISATION", owner
        return {key: links.get(owner, owner) for key, owner in links.items()}

    def _called(self, text: str, spans: Sequence[Span]) -> dict[str, str]:
        """Short forms in brackets behind the name of a firm: （以下简称泽沛公司）; what stands behind two is nobody's."""
        called: dict[str, str] = {}
        twice = set()
        before: Span | None = None
        for span in spans:
            if span.entity not in _FIRMS:
                continue
            if before is not None and span.rule == SHORT_FORM_RULE and span.start - before.end < _CALLED_REACH:
                name, owner = (_BLANK.sub("", text[item.start : item.end]) for item in (span, before))
                if name != owner and self._says_short.fullmatch(text, before.end, span.start):
                    twice |= {name} if called.setdefault(name, owner) != owner else set()
            before = span
        return {name: owner for name, owner in called.items() if name not in twice}

    def _owner(self, name: str, firms: Sequence[str], first: Mapping[_Key, Span]) -> str | None:
        """The one firm of whose registered name the short form ``name`` can be: 泽沛公司 of 上海泽沛商贸有限公司."""
        core = next((name.removesuffix(suffix) for suffix in self._ends if name.endswith(suffix)), name)
        if _REGISTERED in name or len(core) < 2 or self._province.fullmatch(core):
            return None
        owners = sorted((other for other in firms if _REGISTERED in other and core in other and len(other) > len(name)), key=len)
        if not owners or not all(other.startswith(owners[0]) for other in owners):
            return None
        owner = owners[0]
        is_place = any(f"{core}{unit}" in owner for unit in "省市县区")
        is_branch = owner.endswith(_BRANCHES) and not name.endswith(_BRANCHES)
        kinds = (self._base(first["ORGANISATION", one], one) for one in (name, owner))
        return None if is_place or is_branch or (core != name and len(set(kinds)) > 1) else owner

    def _base(self, span: Span, name: str) -> str:
        if span.entity != "PERSON":
            if span.rule in self._organisations:
                return self._organisations[span.rule]
            return next((surrogate for suffix, surrogate in self._suffixes if name.endswith(suffix)), "某某企业")
        if span.rule in self._aliases or span.rule == GIVEN_RULE:
            return "某某"
        if _DOT.search(name):
            return f"{name[0]}某"
        if name[:2] in self._compounds and len(name) > 2:
            return f"{name[:2]}某"
        if name[0] in self._surnames and len(name) <= 4:
            return f"{name[0]}某"
        return f"{name[0]}某" if len(name) > 3 else "某某"


def _is_given_name(given: str, name: str) -> bool:
    """Whether ``given`` is ``name`` without a surname, or a part of a transliteration."""
    if _DOT.search(name):
        return given in _DOT.split(name)
    return name.endswith(given) and 0 < len(name) - len(given) <= len(given)


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
