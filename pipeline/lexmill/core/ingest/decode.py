"""Bytes to text: UTF-8, UTF-16, GB18030 and Big5 by what the bytes say; what a page declares is not asked, because it may lie."""

import codecs
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lexmill.errors import DocumentError

MAX_BAD_SHARE = 0.01
"""More U+FFFD than this share of the characters, and the bytes are in no encoding that we know."""

# GB18030 text read as UTF-8 is broken in nearly every character; damaged UTF-8 keeps nearly all of its characters.
_MAX_BAD_PER_WIDE = 0.1
_FEW_BAD = 20
_MAX_CONTROL_SHARE = 0.01
# Everything below the space but tab, line feed, form feed, carriage return and escape; and DEL.
_CONTROLS = bytes(b for b in (*range(0x20), 0x7F) if b not in b"\t\n\f\r\x1b")
_ASCII = bytes(range(0x80))
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# The 220 most frequent characters of court texts, contracts and questions of the mainland, and 260 of such texts of Taiwan: 70
# and 76 % of all Han characters there. Text decoded by the wrong table hits them by chance only, about one time in fifteen.
_COMMON = (
    "一七三上下不与丙业並个中为主之乙书了予事二于五交亦产人仍从他付代令以件价任份会但位体何作使例供依係保個偿元內全公六共关其"
    "具内再决出分刑列判別利到制則前力加务动動務勞包区十协单卖即原县參及发取受可号司各合同名后向否告员命和品員商四回因国國土在"
    "地场執基处外大如委字安官定实审害家察實審对将將對就屋屬工已市師年并序应度庭建开张当形征律後得必性情意憲應成或房所承担指按"
    "损据提據支收政效數文新方於施无日时明是時更書最會月有期未本机权李村条果某查标案條检業機檢權款正此毒民求決法為無然照爭物特"
    "犯王现現理生產用由甲當發的益相知确確稅程立第等管範系約結給經约经给罚罪罰義考者而聲職能自至與营處號行表被裁要見規规解言計"
    "訟設訴該認調請論證議護计认议记许设证诉该请財費資财责费资赔起车辦过进述通造進過違適選部釋重金開間關间限院除险障非項須額體"
    "高"
    "，。、：；（）《》「」“”‘’〔〕○〇"
)
_IS_COMMON = np.zeros(1 << 16, dtype=bool)
_IS_COMMON[[ord(char) for char in _COMMON]] = True
_MIN_COMMON_LEAD = 0.15
_MIN_MORE_COMMON = 2
# Six times what the wrong table makes of a text by chance: the other table, which costs most, is not asked.
_SURELY_COMMON = 0.4
_MIN_COMMON_HAN = 0.3
_MIN_ASCII = 0.9
# Bytes that tell an encoding; of fragments a tenth as long one in a thousand is undecided.
_PROBE = 1 << 12
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
# First bytes of UTF-16 units in Chinese text: ASCII, punctuation, Han, full width. Every other byte of such a text is one of
# them, the rest are spread evenly.
_UTF16_ROWS = bytes([0x00, 0x20, 0x22, 0x25, 0x30, 0x32, 0xFF, *range(0x4E, 0xA0)])
_MIN_UTF16_ROWS = 0.95


class Decoded(NamedTuple):
    """``n_bad`` counts the places that were not decodable, or were NUL, and became U+FFFD."""

    text: str
    encoding: str
    n_bad: int


def decode(data: bytes) -> Decoded:
    """Decode bytes by their byte order mark, else as the first that fits of UTF-8, UTF-16, damaged UTF-8, GB18030 or Big5.

    GB18030 (GB 18030-2022) contains GBK and GB2312. Nearly all Big5 is valid GB18030, so these two are told apart by the share of
    frequent Chinese characters; a tie is GB18030. Raises DocumentError ``ingest.binary`` where more than 1 % are NUL or control
    characters, ``ingest.undecodable`` where more than 1 % of the characters would be U+FFFD.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            text = data[len(bom) :].decode(encoding, "replace")
            return _accept(text, encoding, text.count("\ufffd"))
    is_clean = len(data) - len(data.translate(None, _CONTROLS)) <= _MAX_CONTROL_SHARE * len(data)
    if is_clean:
        try:
            # U+FFFD that the source itself holds is its own matter: only what we replace counts.
            return _accept(data.decode("utf-8"), "utf-8", 0)
        except UnicodeDecodeError:
            pass
    wide = utf16_of(data)
    if wide:
        text = data.decode(wide, "replace")
        return _accept(text, wide, text.count("\ufffd"))
    if not is_clean:
        raise DocumentError("ingest.binary")
    first = _NOT_ASCII.search(data)
    probe = data[first.start() :][:_PROBE] if first else b""
    # Replacing all that is wrong is slow: a text that begins with nothing but faults is spared it.
    n_bad, n_wide = _utf8_damage(probe.decode("utf-8", "replace"), probe)
    if n_bad < n_wide or n_bad <= _FEW_BAD:
        text = data.decode("utf-8", "replace")
        n_bad, n_wide = _utf8_damage(text, data)
        if n_bad <= _MAX_BAD_PER_WIDE * n_wide:
            return _accept(text, "utf-8", n_bad)
    for encoding in ("cp950", "big5hkscs") if _is_big5(probe) else ("gb18030",):
        try:
            return _accept(data.decode(encoding), encoding, 0)
        except UnicodeDecodeError:
            text = data.decode(encoding, "replace")
    return _accept(text, encoding, text.count("\ufffd"))


def utf16_of(data: bytes) -> str | None:
    """``utf-16-le`` or ``utf-16-be`` where bytes without a byte order mark are Chinese or ASCII text in it, else None."""
    probe = data[: min(_PROBE, len(data) & ~1)]
    half = len(probe) // 2
    for encoding, rows in (("utf-16-le", probe[1::2]), ("utf-16-be", probe[::2])):
        if half and half - len(rows.translate(None, _UTF16_ROWS)) >= _MIN_UTF16_ROWS * half:
            units = _units(probe.decode(encoding, "replace"))
            han = units[(units >= 0x4E00) & (units < 0xA000)]
            if _common_share(han) >= _MIN_COMMON_HAN or (units < 0x80).mean() >= _MIN_ASCII:
                return encoding
    return None


def _utf8_damage(text: str, data: bytes) -> tuple[int, int]:
    """U+FFFD, and sound characters beyond ASCII, in a text decoded from ``data``."""
    n_bad = text.count("\ufffd")
    return n_bad, len(text) - n_bad - (len(data) - len(data.translate(None, _ASCII)))


def _is_big5(probe: bytes) -> bool:
    # U+FFFD and private use are what the wrong table makes of many; neither is a common character.
    gb18030 = _units(probe.decode("gb18030", "replace"))
    share = _common_share(gb18030[gb18030 > 0x7F])
    if share > _SURELY_COMMON:
        return False
    big5 = _units(probe.decode("big5hkscs", "replace"))
    lead = _common_share(big5[big5 > 0x7F]) - share
    n_wide = int((big5 > 0x7F).sum())
    return lead * n_wide > max(_MIN_COMMON_LEAD * n_wide, _MIN_MORE_COMMON)


def _units(text: str) -> npt.NDArray[np.uint16]:
    return np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")


def _common_share(units: npt.NDArray[np.uint16]) -> float:
    """The share of frequent characters in UTF-16 units."""
    return np.count_nonzero(_IS_COMMON[units]) / len(units) if len(units) else 0.0


def _accept(text: str, encoding: str, n_bad: int) -> Decoded:
    if n_bad > MAX_BAD_SHARE * len(text):
        raise DocumentError("ingest.undecodable")
    n_nul = text.count("\0")
    if not n_nul:
        return Decoded(text, encoding, n_bad)
    if n_nul > _MAX_CONTROL_SHARE * len(text):
        raise DocumentError("ingest.binary")
    return Decoded(text.replace("\0", "\ufffd"), encoding, n_bad + n_nul)
