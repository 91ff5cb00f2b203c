"""The second look at masked text, by code of its own: nothing here is shared with the detector."""

import re
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_MIN_NAME = 3
# Eleven digits or more, with single blanks or dashes: all else is passed over at the speed of one search.
_RUN = re.compile("[0-9０-９](?:[ \\-－]?[0-9０-９]){10,}[XxＸｘ]?")
# What is looked at around a run.
_BEFORE, _AFTER = 8, 4
# Groups may be parted by one blank or dash.
_GAP = "[ -]?"
_ID_CARD = re.compile(
    rf"(?<![0-9A-Za-z.])[1-9][0-9]{{5}}{_GAP}(?:1[89]|20)[0-9]{{2}}{_GAP}[01][0-9]{_GAP}?[0-3][0-9]{_GAP}[0-9]{{3}}[0-9Xx](?![0-9A-Za-z]|\.[0-9])"
)
_BANK_CARD = re.compile(
    rf"(?<![0-9A-Za-z.-])62[0-9]{{2}}(?:{_GAP}[0-9]{{4}}){{3}}(?:{_GAP}[0-9]{{1,3}})?(?![0-9A-Za-z]|[.-][0-9])"
)
_MOBILE = re.compile(rf"(?<![0-9A-Za-z.-])1[3-9][0-9]{_GAP}[0-9]{{4}}{_GAP}[0-9]{{4}}(?![0-9A-Za-z]|[.-][0-9])")
# What stands before numbers that are none of ours, and after amounts.
_OTHER = re.compile(r"(?:(?:第|合同|编号|文号|批号|书号|案号|标准|页|条|款|字)[^0-9]{0,2}|[初终再执监申特破抗撤催保辖赔调])\Z")
_UNIT = re.compile(r"[ ]?(?:元|万|亿|%|％|号令)")
_WEIGHTS = tuple(pow(2, 17 - i, 11) for i in range(17))


class Identifier(NamedTuple):
    """A valid identifier that stands in a text: half-open code points and its kind."""

    start: int
    end: int
    kind: str


def _digits(value: str) -> str:
    return value.replace(" ", "").replace("-", "").upper()


def _is_id_card(value: str) -> bool:
    """GB 11643-1999: a real date, and the check character by weights 2^(17-i) mod 11."""
    try:
        date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    except ValueError:
        return False
    rest = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, value, strict=False)) % 11
    return value[17] == "10X98765432"[rest]


def _is_bank_card(value: str) -> bool:
    """ISO/IEC 7812-1: the Luhn sum is a multiple of ten."""
    total = 0
    for place, char in enumerate(reversed(value)):
        figure = int(char) * (1 + place % 2)
        total += figure - 9 if figure > 9 else figure
    return total % 10 == 0


def find_valid_identifiers(text: str) -> list[Identifier]:
    """Identity numbers and 62… bank cards with a right check digit, and mobile numbers with clean borders, sorted."""
    found = []
    for run in _RUN.finditer(text):
        low = max(0, run.start() - _BEFORE)
        folded = text[low : run.end() + _AFTER].translate(_WIDTH)
        found += [item._replace(start=low + item.start, end=low + item.end) for item in _find_in_run(folded)]
    return sorted(found)


def _find_in_run(folded: str) -> list[Identifier]:
    found = [Identifier(*match.span(), "ID_CARD") for match in _ID_CARD.finditer(folded) if _is_id_card(_digits(match.group()))]
    taken = {item.start for item in found}
    for pattern, kind in ((_BANK_CARD, "BANK_CARD"), (_MOBILE, "MOBILE")):
        for match in pattern.finditer(folded):
            if match.start() in taken or _OTHER.search(folded, max(0, match.start() - 6), match.start()):
                continue
            if _UNIT.match(folded, match.end()) or (kind == "BANK_CARD" and not _is_bank_card(_digits(match.group()))):
                continue
            found.append(Identifier(*match.span(), kind))
    return found


def has_name(names: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether a masked name of at least three characters still stands in one of the masked ``texts``."""
    long = [name for name in names if len(name) >= _MIN_NAME]
    return any(name in text for text in texts for name in long)
