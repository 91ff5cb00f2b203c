"""The second look at masked text, by code of its own: nothing here is shared with the detector."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import ahocorasick_rs

_MIN_NAME = 3
_FEW = 200
# Digits that Unicode does not class as decimal: Chinese numerals, plain, of accounts and of merchants, Roman ones, and figures in
# circles, raised, or with a full stop.
_NUMERALS = {
    char: str(value)
    for value, chars in enumerate(("〇零○", "一壹幺", "二贰貳", "三叁參", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖"))
    for char in chars
}
_MERCHANTS = {char: str(value) for value, char in enumerate("〡〢〣〤〥〦〧〨〩", 1)}
_ROMAN = {char: str(value) for value, char in enumerate("ⅠⅡⅢⅣⅤⅥⅦⅧⅨ", 1)}
_DIGITS = {**_NUMERALS, **_MERCHANTS, **_ROMAN}
_FIGURE = (
    rf"[\d{''.join(_DIGITS)}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089"
    r"\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e]"
)
# Up to four characters that are no letter and no digit may part two figures, line breaks among them; commas, quotes and the like
# do not, for they part numbers, and U+001E parts fields.
_BLANK = r"[^\w\x1e,;:!?/\\%*+=<>@#$&|~\"'，、；：。！？／％×《》“”‘’…【】\[\]〔〕]"
_RUN = re.compile(rf"{_FIGURE}(?:{_BLANK}{{0,4}}{_FIGURE}){{10,}}(?:{_BLANK}{{0,4}}[XxＸｘ])?")
# Behind its name an identity number is looked for whatever parts its figures (commas, bars, markup, a date), to the end of the
# sentence; letters that look like figures are read as such there. A clause between two figures parts numbers.
_NAME = re.compile(r"身份(?:证|号)")
_NAMED_REACH, _GAP_REACH = 100, 24
_SENTENCE_END = re.compile("[。；;\x1e]")
_CLAUSE = re.compile(f"(?![年月日号第岁{''.join(_NUMERALS)}])[\u4e00-\u9fa5]")
# Latin, Greek and Cyrillic letters.
_LOOK_ALIKE = dict.fromkeys("OoΟοОо", "0") | dict.fromkeys("lIІ", "1")
_NAMED_FIGURE = re.compile(rf"{_FIGURE}|[XxＸｘ{''.join(_LOOK_ALIKE)}]")
# Six, eight and four figures apart, by whatever: an area, a day and a number, where the check character is right.
_APART = r"(?:[^0-9A-Za-z\u4e00-\u9fa5\n\x1e]|[年月日]){0,6}"
_IN_DATE = "[-年月日./－—· ]{0,2}"
_PARTED = re.compile(
    rf"[1-9](?<![0-9][1-9])[0-9]{{5}}{_APART}(?:1[89]|20)[0-9]{{2}}{_IN_DATE}[01][0-9]{_IN_DATE}[0-3][0-9]{_APART}"
    "[0-9]{3}[0-9Xx](?![0-9])"
)
_NO_FIGURE = re.compile("[^0-9X]")
_PART = re.compile(rf"(?:{_FIGURE}|[XxＸｘ])+")
_ID_CARD = re.compile(r"(?=([1-9][0-9]{5}(?:1[89]|20)[0-9]{2}[01][0-9][0-3][0-9][0-9]{3}[0-9X]))")
_CARD_LENGTHS = (19, 18, 17, 16)
# A mobile is known by its form alone, so it needs clean borders; its groups may be parted by one blank or dash.
_MOBILE = re.compile(r"(?<![0-9A-Za-z.-])1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}(?![0-9A-Za-z]|[.-][0-9])")
_MOBILE_LENGTH = 11
# What follows a count in Chinese figures.
_COUNTED = re.compile("[十百千万亿点元条款项人份个吨年]")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
# What is looked at around a run.
_BEFORE, _AFTER = 8, 4
# What stands before numbers that are none of ours, and after amounts.
_SERIAL = r"合同|编号|文号|批号|书号|案号|标准|页|条|款|字"
_OTHER = re.compile(rf"(?:(?:第|{_SERIAL})[^0-9]{{0,2}}|[初终再执监申特破抗撤催保辖赔调])\Z")
_NO_CARD = re.compile(rf"(?:{_SERIAL})[^0-9]{{0,2}}\Z")
_UNIT = re.compile(r"[ ]?(?:元|万|亿|%|％|号令)|[.．]\d{1,2}(?!\d)")
_AMOUNT = re.compile(r"\d{14}[.．]\d{1,2}\Z")
_WEIGHTS = tuple(pow(2, 17 - i, 11) for i in range(17))
# 统一社会信用代码: two characters, the six digits of an area, the nine of the organisation, a check character.
_ALNUM = "0-9A-Z０-９Ａ-Ｚ"
# Letters and figures in a row, as many as the shortest code has.
_CODE_RUN = re.compile(f"[{_ALNUM}]{{7,}}")
_CREDIT_CODE = re.compile(r"[0-9A-HJ-NPQRTUWXY]{2}[0-9]{6}[0-9A-HJ-NPQRTUWXY]{8}[0-9X][0-9A-HJ-NPQRTUWXY]")
# A 香港身份证 ends a run of letters and figures and has its check character in parentheses.
_HONG_KONG = re.compile(r"(?<![0-9A-Z])[A-Z]{1,2}[0-9]{6}\([0-9A]\)\Z")
_PARENTHESES = frozenset("(（")
_LOWER = re.compile("[a-zａ-ｚ]")
_VIN_LENGTH, _CREDIT_LENGTH = 17, 18
_VIN_VALUES = {
    char: str(value)
    for value, chars in enumerate(("", "AJ", "BKS", "CLT", "DMU", "ENV", "FW", "GPX", "HY", "RZ"))
    for char in chars
}
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
# An IMEI is fifteen figures with a Luhn digit: a tenth of all such numbers, so only behind its name.
_IMEI_WORDS = ("IMEI", "imei", "串号", "串码", "机身码")
_IMEI = re.compile(r"(?:IMEI|imei|串[号码]|机身码)[码号为是：: ]{0,4}((?:[0-9０-９][ -]?){14}[0-9０-９])(?![0-9０-９])")
_CREDIT_CHARS = "0123456789ABCDEFGHJKLMNPQRTUWXY"
_ORG_WEIGHTS = (3, 7, 9, 10, 5, 8, 4, 2)


KINDS = ("BANK_CARD", "ID_CARD", "MOBILE", "USCC")  # what ``find_valid_identifiers`` knows


class Identifier(NamedTuple):
    """A valid identifier that stands in a text: half-open code points and its kind."""

    start: int
    end: int
    kind: str


def _fold(char: str) -> str:
    value = unicodedata.digit(char, None)
    return _DIGITS.get(char, "X") if value is None else str(value)


def _is_id_card(value: str) -> bool:
    """GB 11643-1999: a real date, and the check character by weights 2^(17-i) mod 11."""
    try:
        date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    except ValueError:
        return False
    rest = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, value, strict=False)) % 11
    return value[17] == "10X98765432"[rest]


def _is_bank_card(value: str) -> bool:
    """62… and Luhn's digit."""
    return value.startswith("62") and value.isdigit() and _is_luhn(value)


def _is_luhn(value: str) -> bool:
    """ISO/IEC 7812-1: the Luhn sum is a multiple of ten."""
    total = 0
    for place, char in enumerate(reversed(value)):
        figure = int(char) * (1 + place % 2)
        total += figure - 9 if figure > 9 else figure
    return total % 10 == 0


def _is_credit_code(value: str) -> bool:
    """GB 32100-2015: the sum by weights 3^i is a multiple of 31; GB 11714-1997 inside it: the ninth character modulo 11."""
    if _CREDIT_CODE.fullmatch(value) is None:
        return False
    total = sum(pow(3, i, 31) * _CREDIT_CHARS.index(char) for i, char in enumerate(value[:17])) + _CREDIT_CHARS.index(value[17])
    if total % 31:
        return False
    rest = -sum(weight * int(char, 36) for weight, char in zip(_ORG_WEIGHTS, value[8:16], strict=True)) % 11
    return value[16] == "0123456789X"[rest]


def _is_vin(value: str) -> bool:
    """GB 16735, ISO 3779: no I, O, Q, a letter and a figure; the weighted sum modulo 11 is the ninth character, X for ten."""
    if not {"I", "O", "Q"}.isdisjoint(value) or value.isdigit() or value.isalpha():
        return False
    total = sum(weight * int(_VIN_VALUES.get(char, char)) for weight, char in zip(_VIN_WEIGHTS, value, strict=True))
    return value[8] == "0123456789X"[total % 11]


def _is_hong_kong_card(value: str) -> bool:
    """The sum by weights 9 to 1 (a missing first letter counts 36) is a multiple of 11."""
    figures = [int(char, 36) for char in value if char.isalnum()]
    if len(figures) == 8:
        figures.insert(0, 36)
    return sum((9 - place) * figure for place, figure in enumerate(figures)) % 11 == 0


def find_valid_identifiers(text: str) -> list[Identifier]:
    """Identity numbers, bank cards, 统一社会信用代码, VIN, IMEI, Hong Kong cards with right check digits, and mobiles, sorted.

    Identity numbers are found in figures of any script, whatever they are grouped by and whatever figures go on before and after,
    in ASCII figures whatever parts the area, the day and the number (commas, bars, 年月日), and behind their name (身份证,
    身份号码) whatever stands between the figures but a clause;
    bank cards are whole groups of figures; codes with letters are written in one piece, in any width; an IMEI stands behind its
    name; mobiles have clean borders, or are a run of Chinese figures.
    """
    found = list(_codes(text))
    found += _named(text)
    found += [
        Identifier(*match.span(), "ID_CARD")
        for match in _PARTED.finditer(text)
        if _is_id_card(_NO_FIGURE.sub("", match.group().upper()))
    ]
    found += [
        Identifier(*match.span(1), "IMEI")
        for match in (_IMEI.finditer(text) if any(word in text for word in _IMEI_WORDS) else ())
        if _is_luhn(match[1].translate(_WIDTH).replace(" ", "").replace("-", ""))
    ]
    for run in _RUN.finditer(text):
        found += _in_figures(text, run.start(), run.end())
        low = max(0, run.start() - _BEFORE)
        folded = text[low : run.end() + _AFTER].translate(_WIDTH)
        found += [Identifier(low + start, low + end, "MOBILE") for start, end in _mobiles(folded)]
        found += _mobile_in_words(text, run.start(), run.end())
    return sorted(set(found))


def _named(text: str) -> Iterator[Identifier]:
    for low, high in _behind_names(text):
        places: list[int] = []
        for figure in _NAMED_FIGURE.finditer(text, low, high):
            gap = text[places[-1] + 1 : figure.start()] if places else ""
            if len(gap) > _GAP_REACH or (gap and _CLAUSE.search(gap)):
                yield from _cards(text, places)
                places = []
            places.append(figure.start())
        yield from _cards(text, places)


def _behind_names(text: str) -> Iterator[tuple[int, int]]:
    """What stands behind the name of an identity number, to the end of the sentence; what two names share is told once."""
    low = high = 0
    for name in _NAME.finditer(text):
        reach = min(len(text), name.end() + _NAMED_REACH)
        stop = _SENTENCE_END.search(text, name.end(), reach)
        if name.start() > high:
            if high:
                yield low, high
            low = name.end()
        high = stop.start() if stop else reach
    if high:
        yield low, high


def _cards(text: str, places: Sequence[int]) -> Iterator[Identifier]:
    figures = "".join(_LOOK_ALIKE.get(text[place]) or _fold(text[place]) for place in places)
    yield from (
        Identifier(places[card.start(1)], places[card.end(1) - 1] + 1, "ID_CARD")
        for card in _ID_CARD.finditer(figures)
        if _is_id_card(card.group(1))
    )


def _codes(text: str) -> Iterator[Identifier]:
    for match in _CODE_RUN.finditer(text):
        start, end = match.span()
        size = end - start
        if size >= _CREDIT_LENGTH and _is_credit_code(match.group().translate(_WIDTH)):
            yield Identifier(start, end, "USCC")
        elif size == _VIN_LENGTH and not _LOWER.match(text, end) and _is_vin(match.group().translate(_WIDTH)):
            yield Identifier(start, end, "VIN")
        elif text[end : end + 1] in _PARENTHESES:
            card = _HONG_KONG.search(text[start : end + 3].translate(_WIDTH))
            if card is not None and _is_hong_kong_card(card.group()):
                yield Identifier(start + card.start(), end + 3, "PERMIT")


def _in_figures(text: str, start: int, end: int) -> Iterator[Identifier]:
    parts = [part.span() for part in _PART.finditer(text, start, end)]
    places = [place for part in parts for place in range(*part)]
    figures = "".join(_fold(text[place]) for place in places)
    free = 0
    for match in _ID_CARD.finditer(figures):
        low, high = match.span(1)
        # Eighteen figures in one piece are no amount.
        whole = places[high - 1] - places[low] == high - low - 1 and (low == 0 or places[low - 1] < places[low] - 1)
        if low >= free and _is_id_card(match.group(1)) and (whole or not _UNIT.match(text, places[high - 1] + 1)):
            yield Identifier(places[low], places[high - 1] + 1, "ID_CARD")
            free = high
    starts = {part[0] for part in parts}
    ends = {part[1] for part in parts}
    free = 0
    for low, place in enumerate(places):
        if place not in starts or low < free or _NO_CARD.search(text, max(0, place - 6), place):
            continue
        for length in _CARD_LENGTHS:
            high = low + length
            if high > len(places) or places[high - 1] + 1 not in ends or not _is_bank_card(figures[low:high]):
                continue
            end = places[high - 1] + 1
            if not _UNIT.match(text, end) and not _AMOUNT.search(text, place, end):
                yield Identifier(place, end, "BANK_CARD")
                free = high
                break


def _mobile_in_words(text: str, start: int, end: int) -> Iterator[Identifier]:
    """A run of eleven Chinese figures that begins as a mobile does, and counts nothing."""
    figures = [char for char in text[start:end] if char in _NUMERALS]
    if len(figures) == _MOBILE_LENGTH and not any(char.isdigit() for char in text[start:end]):
        number = "".join(map(_fold, figures))
        if number[0] == "1" and number[1] > "2" and not _COUNTED.match(text, end) and text[start - 1 : start] != "第":
            yield Identifier(start, end, "MOBILE")


def _mobiles(folded: str) -> Iterator[tuple[int, int]]:
    for match in _MOBILE.finditer(folded):
        if not _OTHER.search(folded, max(0, match.start() - 6), match.start()) and not _UNIT.match(folded, match.end()):
            yield match.span()


def has_name(names: Iterable[str], texts: Iterable[str], is_read_as_name: Callable[[str, int, int], bool]) -> bool:
    """Whether a masked name still stands in one of the masked ``texts``.

    One of two characters stands in many words by chance: it counts where ``is_read_as_name`` (text, start, end) says so.
    """
    names = list(names)
    scan = ahocorasick_rs.AhoCorasick(names).find_matches_as_indexes if len(names) > _FEW else None
    for text in texts:
        # Name by name is faster for few names, and quadratic in a document that is a list of names.
        standing = {names[hit[0]] for hit in scan(text, overlapping=True)} if scan else {name for name in names if name in text}
        for name in standing:
            if len(name) >= _MIN_NAME or any(is_read_as_name(text, at, at + len(name)) for at in _places(name, text)):
                return True
    return False


def _places(name: str, text: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + 1)
