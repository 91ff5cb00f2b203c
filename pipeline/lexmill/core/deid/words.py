"""Which words of the rules a text is searched for, in one search for all of them."""

import re
from collections.abc import Iterable, Iterator

from lexmill.core.deid.lexer import MAX_LISTS, Lexer, Search
from lexmill.core.deid.tables import DeidTables
from lexmill.core.structure import casenumber

BODY, ORGANISATION, BRAND, CUE, ADDRESS, BIRTH = "body", "organisation", "brand", "cue", "address", "birth"
# What is said of brands: that they are registered, that somebody uses them.
OWNED, USED = "商标", "侵权"
# The page of a book that names its press.
IMPRINT, IMPRINTS = "imprint", ("CIP", "出版发行")
# What people do on a site: 在泽沛网买了….
SITES = tuple(f"网{act}" for act in ("买", "购买", "上买", "上购", "下单", "平台", "投资", "投了", "注册", "充值", "订", "借了"))
# What a court masked in part: a township's village, a village's township, a street's number: 泽沛镇某村, 某泽沛村, 泽沛路XXX号.
HALF_MASKED = "half masked"
_HALF_MASKED = (
    *(f"{unit}{mask}" for unit in "镇乡道村市区县" for mask in "某×"),
    *(f"{unit}{mask}" for unit in "路街弄巷道号幢" for mask in "某×XＸ*＊"),
)
# What shows a birth date: the character of these words that stands at that place.
BIRTH_WORDS = {
    **{f"{before}生": 1 for before in "日月 （(出"},
    "生于": 0,
    "生日": 0,
    **{f"{sex}{comma}": 0 for sex in "男女" for comma in "，,"},
}
# One list a thing that is looked for; the names of the lists.
CASE_NUMBER, TITLE, DOT, DOOR, ALIAS, SHORT_FORM, ID_CUE = (
    "case_number", "title", "dot", "door", "alias", "short_form", "id_cue",
)  # fmt: skip
ALIAS_RULE, SHORT_FORM_RULE, BRAND_RULE = "alias.person", "alias.short_form", "alias.brand"
DOTS = "·•・‧∙●"
# What a door number stands behind.
DOOR_PLACES = "路街道巷弄村区园苑庄里厦场寓楼同院"
_FIGURES = "0123456789０１２３４５６７８９"
_MAX_OPENINGS = 64
_LOOK = re.compile(r"\(\?<?[=!]")
_GROUP = re.compile(r"\(\?(?::|P<\w+>)")
_SPECIAL = frozenset("^$.(")


def trigger(rule: str) -> str:
    """The name of the list of words that the trigger of a ``person_pattern`` begins with, or that of a ``certificate`` is."""
    return f"trigger {rule}"


def word_lists(rules: DeidTables) -> dict[str, tuple[Search, tuple[str, ...]]]:
    """All lists, by name: what a pattern begins with is listed under it where it can be told; for others there is no list.

    Those of persons' patterns stand in a row, and so do those of certificates.
    """
    lists: dict[str, tuple[Search, Iterable[str]]] = {
        BODY: ("leftmost", (word for table in rules.public_body for word in table.suffixes.split())),
        ORGANISATION: (
            "leftmost",
            (word for table in rules.organisation for word in (*table.suffixes.split(), *table.doubtful.split())),
        ),
        BRAND: (
            "starts",
            (*(word for table in rules.alias if table.id == BRAND_RULE for word in table.cues.split()), OWNED, USED, *SITES),
        ),
        HALF_MASKED: ("starts", _HALF_MASKED),
        IMPRINT: ("starts", IMPRINTS),
        CUE: ("leftmost", (word for table in rules.role for word in table.cues.split())),
        ADDRESS: ("all", (word for table in rules.address for word in table.cues.split())),
        BIRTH: ("starts", BIRTH_WORDS),
        CASE_NUMBER: ("starts", casenumber.OPENINGS),
        TITLE: ("starts", "《"),
        DOT: ("starts", DOTS),
        DOOR: ("starts", (f"{place}{mark}{figure}" for place in DOOR_PLACES for mark in ("", "第") for figure in _FIGURES)),
        ALIAS: ("starts", (word for table in rules.alias if table.id == ALIAS_RULE for word in table.cues.split())),
        SHORT_FORM: ("starts", (word for table in rules.alias if table.id == SHORT_FORM_RULE for word in table.cues.split())),
    }
    patterns = {ID_CUE: "|".join(table.cue for table in rules.identifier if table.cue)}
    patterns |= {trigger(table.id): table.trigger for table in rules.person_pattern}
    patterns |= {table.id: table.pattern for table in rules.certificate}
    for name, pattern in patterns.items():
        words = openings(pattern) or ()
        # Single characters stand everywhere; to list them takes longer than to look for the pattern where its trigger stands.
        rare = len(words) in (1, 2) or min(map(len, words), default=0) > 1
        if rare and len(lists) < MAX_LISTS:
            lists[name] = ("starts", words)
    for certificate in rules.certificate:
        triggers = certificate.trigger.split()
        if certificate.id not in lists and min(map(len, triggers), default=0) > 1 and len(lists) < MAX_LISTS:
            lists[trigger(certificate.id)] = ("starts", triggers)
    return {name: (search, tuple(dict.fromkeys(words))) for name, (search, words) in lists.items()}


def all_words(rules: DeidTables) -> tuple[str, ...]:
    """The words by their number in what is found."""
    return tuple(dict.fromkeys(word for _, words in word_lists(rules).values() for word in words))


def build_lexer(rules: DeidTables) -> Lexer:
    """Searches for all lists; characters of ``nobody_part`` are marked."""
    return Lexer(word_lists(rules), rules.characters("nobody_part"))


def openings(pattern: str) -> tuple[str, ...] | None:
    """Words one of which every match of ``pattern`` begins with; None where they cannot be told.

    Looks ahead and behind at its beginning are passed over, and names of groups. A branch is read as long as it consists of
    characters, classes of characters and ``(?:…|…)`` of such; what goes on behind them only makes the words shorter than they
    could be.
    """
    words, _ = _openings_of_branches(pattern)
    return None if "" in words else tuple(dict.fromkeys(words))


def _openings_of_branches(pattern: str) -> tuple[list[str], bool]:
    """The words that all branches begin with, and whether they are the whole pattern."""
    read = [_openings_of_branch(branch) for branch in _branches(pattern)]
    return [word for words, _ in read for word in words], all(whole for _, whole in read)


def _openings_of_branch(branch: str) -> tuple[list[str], bool]:
    words = [""]
    at = 0
    while _LOOK.match(branch, at):
        at = _atom_end(branch, at)
    while at < len(branch):
        end = _atom_end(branch, at)
        choices, whole = _choices(branch[at:end])
        # What may be missing or come again ends the words, as does what would make too many of them.
        if branch[end : end + 1] in tuple("*+?{") or len(words) * len(choices) > _MAX_OPENINGS:
            return words, False
        words = [word + choice for word in words for choice in choices]
        if not whole:
            return words, False
        at = end
    return words, True


def _choices(atom: str) -> tuple[list[str], bool]:
    """What a character, a class or a group begins with, and whether that is all of it; an empty word where nobody can say."""
    group = _GROUP.match(atom)
    if group:
        return _openings_of_branches(atom[group.end() : -1])
    if atom[0] == "[" and atom[1] != "^" and "\\" not in atom:
        return _spell(atom[1:-1]), True
    return ([""], False) if atom[0] in _SPECIAL or len(atom) > 1 else ([atom], True)


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
