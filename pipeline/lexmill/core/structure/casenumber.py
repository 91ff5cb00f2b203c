"""Case numbers of Chinese courts: where they stand in a text, what they are made of, and when two are the same.

Two forms exist: （year）court code + type code + serial 号 since 2016 (法〔2015〕137号), such as （2019）京01民终1234号,
and the older （year）court + type + 字第 serial 号, such as （2013）渝北法民初字第01234号.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_BLANK = r" \t\r\n\u3000\xa0"
_SPACE = rf"[{_BLANK}]{{0,3}}"
_MASK = "×xXＸｘ*＊某\ufffd"
_FIGURE = rf"0-9０-９{_MASK}"
_FIGURES = rf"[{_FIGURE}]{{1,24}}"
_OPENING = "(（〔[［【﹝〈"
_NUMERAL = "○ＯO〇零一二三四五六七八九"
NUMBER = re.compile(
    rf"[{re.escape(_OPENING)}]{_SPACE}"
    rf"([{_FIGURE}]{{1,5}}|[{_NUMERAL}]{{4}}){_SPACE}年?{_SPACE}"
    rf"[)）〕\]］】﹞〉]{_SPACE}年?"
    # Older codes hold brackets: 浦民一（民）初.
    rf"((?:(?![号字第年])[\u4e00-\u9fff{_FIGURE}{_BLANK}]|[(（][\u4e00-\u9fff]{{1,3}}[)）]){{1,24}}?)"
    rf"(?:字{_SPACE})?第?{_SPACE}"
    rf"({_FIGURES}(?:(?:号?{_SPACE}[、及和与至]{_SPACE}第?|[,，]|{_SPACE}[-－—–~～]{_SPACE}){_FIGURES})*)"
    rf"{_SPACE}号"
    # 之一审 is a stage of the proceedings, not a suffix.
    r"(之[一二三四五六七八九十百]++(?!审)|之[0-9]{1,3}(?![0-9])|[-－—–][0-9]{1,3}(?![0-9]))?"
)
# Every match of ``NUMBER`` begins with one of these.
OPENINGS = tuple(
    f"{opening}{char}" for opening in _OPENING for char in f"0123456789０１２３４５６７８９{_MASK}{_NUMERAL} \t\r\n\u3000\xa0"
)
_MASKED = re.compile(rf"[{_MASK}]")

_PROVINCE = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙内陕吉闽贵黔粤青藏川宁琼军兵"
_MODERN = re.compile(rf"(最高法|[{_PROVINCE}][{_FIGURE}]{{1,4}})([^{_FIGURE}]{{1,5}})")
# An older type code starts at the first character that names a kind of case; what stands before names the court.
_CLASS = "民刑行商知经执赔劳破督"
_OLDER = re.compile(rf"(.*?)([{_CLASS}].*|[^{_CLASS}{_FIGURE}]{{1,2}})")
# Type codes end with a stage or kind of proceedings, or hold a kind of case near the end (刑一, 执民, 法民渭初).
_TYPE_END = re.compile(
    r"(?:[初终再申监抗核复特督催破保异他提撤辖减假备赔恢执审算预更止没医惩救调认送请]|[民刑商执赔知劳].{0,2})[)）]?\Z"
)
# Notaries, experts, prosecutors, prisons, arbitrators and banks number their papers in the older form too.
_NOT_A_COURT = re.compile(r"[证鉴检释仲借贷抵押银]|内[经民]|[经民]内|司调|[中工农建交招]行[额个保流固承]")

# One character alone names a kind of case, never a stage of it.
_TOO_SHORT = frozenset("初终再申监抗核复特督催破保异他提撤辖减假备恢审算预更止没医惩救调认送请")

_WIDTH = str.maketrans("０１２３４５６７８９()", "0123456789（）", " \t\r\n\u3000\xa0")
_NUMERALS = str.maketrans("○ＯO〇零一二三四五六七八九", "0000" + "0123456789")
_SEPARATORS = str.maketrans("－—–~～,，及和与至", "-----、、、、、-", "号第")


class CaseNumber(NamedTuple):
    """One case number: ``start`` and ``end`` span it whole, bracket to 号 and suffix; offsets are code points, half-open.

    ``year``, ``court``, ``type``, ``serial`` and ``suffix`` (之一, -1, or empty) are folded: half-width digits, no spaces,
    one kind of separator in lists (、) and ranges (-). ``serial_start`` and ``serial_end`` span the serial in the text.
    ``well_formed``: the year has four digits and nothing is masked or garbled. In the older form the border between court
    and type is a guess.
    """

    start: int
    end: int
    year: str
    court: str
    type: str
    serial: str
    serial_start: int
    serial_end: int
    suffix: str
    well_formed: bool


def _split(code: str) -> tuple[str, str]:
    match = _MODERN.fullmatch(code) or _OLDER.fullmatch(code)
    return (match[1], match[2]) if match else ("", code)


def find(text: str) -> list[CaseNumber]:
    """All case numbers of ``text``, cited ones too, sorted and disjoint; 文号 of statutes and notaries' numbers are none."""
    return read(NUMBER.finditer(text))


def read(matches: Iterable[re.Match[str]]) -> list[CaseNumber]:
    """The case numbers among ``matches`` of ``NUMBER``."""
    found = []
    for match in matches:
        code = match[2].translate(_WIDTH)
        if code in _TOO_SHORT or not _TYPE_END.search(code) or _NOT_A_COURT.search(code):
            continue
        year = match[1].translate(_WIDTH).translate(_NUMERALS)
        court, type_ = _split(code)
        found.append(
            CaseNumber(
                start=match.start(),
                end=match.end(),
                year=year,
                court=court,
                type=type_,
                serial=match[3].translate(_WIDTH).translate(_SEPARATORS),
                serial_start=match.start(3),
                serial_end=match.end(3),
                suffix=(match[4] or "").translate(_SEPARATORS),
                well_formed=len(year) == 4 and not _MASKED.search(match[0]),
            )
        )
    return found


def key(number: CaseNumber) -> str | None:
    """The identity of a well-formed number, whatever its brackets, width, spaces and 字第; zeros and suffix count."""
    if not number.well_formed:
        return None
    return f"({number.year}){number.court}{number.type}{number.serial}号{number.suffix}"


# Where the heading of a judgment ends at the latest: a party and what is said of it, or the history of the case.
_HEADING_END = re.compile(
    r"(?:公诉机关|抗诉机关|原告|被告|上诉人|申请人|申请执行人|再审申请人|赔偿请求人|申诉人|起诉人|罪犯)[^。，,：:；\n（(]{0,40}[。，,：:；]"
    r"|一案[，,。]|不服|指控|作出|经审|查明|认为|，本院"
)
_HEADING = 400


def heading(text: str) -> str:
    """What stands above the parties of a judgment: title, court, kind of document and number (at most 400 characters)."""
    stop = _HEADING_END.search(text, 0, _HEADING)
    return text[: stop.start() if stop else _HEADING]


def own(text: str, doc_type: str) -> CaseNumber | None:
    """The number of the document itself: of a judgment the first in its heading, else None."""
    if doc_type != "judgment":
        return None
    numbers = find(heading(text))
    return numbers[0] if numbers else None
