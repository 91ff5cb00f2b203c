"""Automatic numbers of paragraphs in DOCX (ECMA-376 part 1, 17.9): what Word shows before a clause and does not store with it."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_DIGITS = "〇一二三四五六七八九"
_LEGAL_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_LEVEL = re.compile(r"%([1-9])")
_MAX_LEVELS = 9


class Level(NamedTuple):
    """One level of a list: number format, text with ``%1`` for the number of level 1, and the number to begin with.

    With ``is_decimal`` the numbers of all levels are shown as digits; ``style`` is the paragraph style that stands for the level.
    """

    fmt: str
    text: str
    start: int
    is_decimal: bool
    style: str | None


class Numbering:
    """Counts the paragraphs of a document's lists; ``lists`` gives the levels of each list by its id."""

    def __init__(self, lists: Mapping[str, Mapping[int, Level]], kinds: Mapping[str, str]) -> None:
        self._lists = lists
        # Lists of one kind go on counting each other's paragraphs.
        self._kinds = kinds
        self._counts: dict[str, dict[int, int]] = {}

    def next(self, list_id: str, level: int | None, style: str | None) -> str:
        """The number that the next paragraph of this list and level shows, or nothing where it is a bullet or no list.

        A paragraph without a level has the one that its style stands for, else the first.
        """
        levels = self._lists.get(list_id, {})
        if level is None:
            level = next((at for at, one in levels.items() if style is not None and one.style == style), 0)
        if level not in levels or not 0 <= level < _MAX_LEVELS:
            return ""
        counts = self._counts.setdefault(self._kinds.get(list_id, list_id), {})
        counts[level] = counts.get(level, levels[level].start - 1) + 1
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if levels[level].fmt in ("bullet", "none"):
            return ""

        def shown(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            if at not in levels:
                return ""
            fmt = "decimal" if levels[level].is_decimal else levels[at].fmt
            return number_text(counts.get(at, levels[at].start), fmt)

        return _LEVEL.sub(shown, levels[level].text)


def number_text(number: int, fmt: str) -> str:
    """A number in one of Word's formats (ST_NumberFormat, ECMA-376 part 1, 17.18.59); unknown ones as decimal digits."""
    if fmt in (
        "chineseCounting",
        "chineseCountingThousand",
        "japaneseCounting",
        "taiwaneseCounting",
        "taiwaneseCountingThousand",
    ):
        return _counted(number)
    if fmt in ("ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital"):
        return "".join(_DIGITS[int(digit)] for digit in str(number))
    if fmt in ("chineseLegalSimplified", "ideographLegalTraditional"):
        return _counted(number, _LEGAL_DIGITS, "拾佰仟").replace("〇", "零")
    if fmt == "ideographTraditional":
        return _STEMS[(number - 1) % 10]
    if fmt == "ideographZodiac":
        return _BRANCHES[(number - 1) % 12]
    if fmt in ("lowerLetter", "upperLetter"):
        letter = chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.lower() if fmt == "lowerLetter" else letter
    if fmt in ("lowerRoman", "upperRoman"):
        return _roman(number).lower() if fmt == "lowerRoman" else _roman(number)
    if fmt.startswith("decimalEnclosedCircle") and 1 <= number <= 20:
        return chr(ord("①") + number - 1)
    if fmt == "decimalZero":
        return f"{number:02d}"
    if fmt == "decimalFullWidth":
        return "".join(chr(ord("０") + int(digit)) for digit in str(number))
    return str(number)


def _counted(number: int, digits: str = _DIGITS, units: str = "十百千") -> str:
    """Chinese counting up to 9,999, beyond which digits are written: 十二, 一百零三."""
    if not 0 < number < 10_000:
        return str(number)
    text = ""
    for power, digit in zip(range(len(str(number)) - 1, -1, -1), map(int, str(number)), strict=True):
        if digit:
            text += digits[digit] + (units[power - 1] if power else "")
        elif text and not text.endswith("零"):
            text += "零"
    text = text.rstrip("零")
    return text.removeprefix(digits[1]) if 10 <= number < 20 and units[0] == "十" else text


def _roman(number: int) -> str:
    text = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        text += letters * (min(number, 4999) // value)
        number = min(number, 4999) % value
    return text
