"""Which words of the rules a text is searched for, in one search for all of them."""

import re
from collections.abc import Iterable, Iterator

from lexmill.core.deid.lexer import Lexer, Search
from lexmill.core.deid.tables import DeidTables

BODY, ORGANISATION, BRAND, CUE, ADDRESS, BIRTH = "body", "organisation", "brand", "cue", "address", "birth"
# A township whose village a court masked, and a masked place: 泽沛镇某村, 夏邑县某泽沛村.
HALF_MASKED = "half masked"
_HALF_MASKED = tuple(f"{unit}{mask}" for unit in "镇乡道村市区县" for mask in "某×")
# What shows a birth date: the character of these words that stands at that place.
BIRTH_WORDS = {
    **{f"{before}生": 1 for before in "日月 （(出"},
    "生于": 0,
    "生日": 0,
    **{f"{sex}{comma}": 0 for sex in "男女" for comma in "，,"},
}
BRAND_RULE = "alias.brand"
_MAX_OPENINGS = 64
_SPECIAL = frozenset("\\^$.*+?{}")


def trigger(rule: str) -> str:
    """The name of the list of words that the trigger of a ``person_pattern`` begins with."""
    return f"trigger {rule}"


def word_lists(rules: DeidTables) -> dict[str, tuple[Search, tuple[str, ...]]]:
    """All lists, by name."""
    lists: dict[str, tuple[Search, Iterable[str]]] = {
        BODY: ("leftmost", (word for table in rules.public_body for word in table.suffixes.split())),
        ORGANISATION: (
            "leftmost",
            (word for table in rules.organisation for word in (*table.suffixes.split(), *table.doubtful.split())),
        ),
        BRAND: (
            "starts",
            (*(word for table in rules.alias if table.id == BRAND_RULE for word in table.cues.split()), "商标", "侵权"),
        ),
        HALF_MASKED: ("starts", _HALF_MASKED),
        CUE: ("leftmost", (word for table in rules.role for word in table.cues.split())),
        ADDRESS: ("all", (word for table in rules.address for word in table.cues.split())),
        BIRTH: ("starts", BIRTH_WORDS),
    }
    for table in rules.person_pattern:
        lists[trigger(table.id)] = ("starts", openings(table.trigger) or ())
    return {name: (search, tuple(dict.fromkeys(words))) for name, (search, words) in lists.items()}


def all_words(rules: DeidTables) -> tuple[str, ...]:
    """The words by their number in what is found."""
    return tuple(dict.fromkeys(word for _, words in word_lists(rules).values() for word in words))


def build_lexer(rules: DeidTables) -> Lexer:
    """Searches for all lists; characters of ``nobody_part`` are marked."""
    return Lexer(word_lists(rules), rules.characters("nobody_part"))


def openings(pattern: str) -> tuple[str, ...] | None:
    """Words one of which every match of ``pattern`` begins with; None where the pattern is too rich for this to tell.

    Understood are characters, classes of characters, and ``(?:…|…)``; where a look ahead or behind begins, the
    words end.
    """
    found: dict[str, None] = {}
    for branch in _branches(pattern):
        words = _openings_of_branch(branch)
        if words is None or not all(words):
            return None
        found |= dict.fromkeys(words)
    return tuple(found) if len(found) <= _MAX_OPENINGS else None


def _openings_of_branch(branch: str) -> list[str] | None:
    words = [""]
    at = 0
    while at < len(branch) and not re.match(r"\(\?<?[=!]", branch[at:]):
        end = _atom_end(branch, at)
        atom = branch[at:end]
        if branch[end : end + 1] in tuple("*+?{") or atom[0] in _SPECIAL or "\\" in atom:
            return None
        if atom[0] == "[":
            if atom[1] == "^":
                return None
            choices = _spell(atom[1:-1])
        elif atom[0] == "(":
            inner = openings(atom[3:-1]) if atom.startswith("(?:") else None
            # A look around inside a group ends only the words of that group.
            if inner is None or re.search(r"\(\?<?[=!]", atom):
                return None
            choices = list(inner)
        else:
            choices = [atom]
        words = [word + choice for word in words for choice in choices]
        at = end
    return words


def _spell(ranges: str) -> list[str]:
    """The characters of a class of characters and ranges."""
    return [
        chr(code) for first, last in re.findall(r"(.)(?:-(.))?", ranges) for code in range(ord(first), ord(last or first) + 1)
    ]


def _branches(pattern: str) -> Iterator[str]:
    start = at = 0
    while at < len(pattern):
        if pattern[at] == "|":
            yield pattern[start:at]
            start = at + 1
            at += 1
        else:
            at = _atom_end(pattern, at)
    yield pattern[start:]


def _atom_end(pattern: str, at: int) -> int:
    """Where the character, class or group ends that begins at ``at``."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] == "[":
        return pattern.index("]", at + 2) + 1
    if pattern[at] != "(":
        return at + 1
    at += 1
    while pattern[at] != ")":
        at = _atom_end(pattern, at)
    return at + 1
