"""What kind of character each code point is: one byte a code point, a class and four flags."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lexmill.core.kernels import njit, uint32

# The class, in the low three bits.
OTHER, SPACE, HAN, DIGIT, LETTER, PUNCT, FFFD, PRIVATE = range(8)
CLASS_MASK: Final = 7

# Flags.
RARE: Final = 8  # an ideograph outside the everyday sets of both scripts (GB 2312 level 1, Big5 level 1)
TRADITIONAL: Final = 16  # an everyday ideograph of Big5 that GB 2312 does not have
MOJIBAKE: Final = 32  # what UTF-8 turns into when it is read as Latin-1 or GBK, and control characters
CLAUSE: Final = 64  # ends or parts a clause: running text has it, menus do not
SEPARATOR: Final = 128  # parts the entries of a menu or a breadcrumb

_CODE_POINTS = 0x110000

_SPACES = (0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
_HAN = ((0x3005, 0x3005), (0x3007, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
_LETTERS = (
    (0x41, 0x5A),
    (0x61, 0x7A),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x24F),
    (0x370, 0x52F),
    (0x3041, 0x30FF),
    (0xAC00, 0xD7A3),
    (0xFF21, 0xFF3A),
    (0xFF41, 0xFF5A),
)
# Not ＿ (U+FF3F): it is a blank to fill in, like its ASCII twin.
_PUNCT = (
    (0xB7, 0xB7),
    (0x2014, 0x2015),
    (0x2018, 0x201D),
    (0x2025, 0x2026),
    (0x3001, 0x3003),
    (0x3008, 0x3011),
    (0x3014, 0x301F),
    (0xFE30, 0xFE4F),
    (0xFF01, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF3E),
    (0xFF40, 0xFF40),
    (0xFF5B, 0xFF65),
)
_PRIVATE = ((0xE000, 0xF8FF), (0xF0000, 0x10FFFF))
_CLAUSE_MARKS = "，。；：？！、,;:?!"
_SEPARATORS = "|｜丨>＞»›/／┊│"
# Latin-1 signs that Chinese text uses on purpose: § ¨ ° ± ² ³ · × ÷ ¥ ¢ £ © ® µ ¼ ½ ¾ « »
_LATIN1_IN_USE = "§¨°±²³·×÷¥¢£©®µ¼½¾«»"


def _decoded(encoding: str, leads: range, trails: range) -> set[int]:
    return {
        ord(text)
        for lead in leads
        for trail in trails
        if len(text := bytes((lead, trail)).decode(encoding, "ignore")) == 1 and ord(text) > 0xFF
    }


def _table() -> NDArray[np.uint8]:
    table = np.zeros(_CODE_POINTS, np.uint8)
    for ranges, kind in ((_HAN, HAN), (_LETTERS, LETTER), (_PUNCT, PUNCT), (_PRIVATE, PRIVATE)):
        for first, last in ranges:
            table[first : last + 1] = kind
    table[0x30:0x3A] = DIGIT
    table[0xFF10:0xFF1A] = DIGIT
    table[list(_SPACES)] = SPACE
    table[0x2000:0x2010] = SPACE
    table[0xFFFD] = FFFD

    gb2312 = _decoded("gb2312", range(0xB0, 0xF8), range(0xA1, 0xFF))
    everyday_simplified = _decoded("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF))
    everyday_traditional = _decoded("big5", range(0xA4, 0xC7), range(0x40, 0xFF))
    everyday = everyday_simplified | everyday_traditional | {0x3005, 0x3007}
    han = table == HAN
    rare = han.copy()
    rare[sorted(everyday)] = False
    table[rare] |= RARE
    traditional = np.zeros(_CODE_POINTS, np.bool_)
    traditional[sorted(everyday_traditional - gb2312)] = True
    table[traditional & han] |= TRADITIONAL

    # A Chinese character in UTF-8 is E3..E9 or EF, then 80..BF twice: read as GBK, its first two bytes are one ideograph.
    misread = set().union(*(_decoded("gbk", range(lead, lead + 1), range(0x80, 0xC0)) for lead in (*range(0xE3, 0xEA), 0xEF)))
    mojibake = np.zeros(_CODE_POINTS, np.bool_)
    mojibake[sorted(misread - everyday)] = True
    mojibake[:0x20] = True
    mojibake[0x7F:0x100] = True
    mojibake[[ord(sign) for sign in _LATIN1_IN_USE]] = False
    table[mojibake & (table != SPACE)] |= MOJIBAKE

    table[[ord(mark) for mark in _CLAUSE_MARKS]] |= CLAUSE
    table[[ord(mark) for mark in _SEPARATORS]] |= SEPARATOR
    table.flags.writeable = False
    return table


CHARACTERS: Final = _table()


@njit(cache=True, nogil=True, inline="always")
def decode(data, i):  # type: ignore[no-untyped-def]
    """The code point (uint32) at byte ``i`` of valid UTF-8, and its size in bytes."""
    lead = uint32(data[i])
    if lead < 0x80:
        return lead, 1
    tail = uint32(data[i + 1]) & uint32(0x3F)
    if lead < 0xE0:
        return ((lead & uint32(0x1F)) << uint32(6)) | tail, 2
    tail = (tail << uint32(6)) | (uint32(data[i + 2]) & uint32(0x3F))
    if lead < 0xF0:
        return ((lead & uint32(0x0F)) << uint32(12)) | tail, 3
    tail = (tail << uint32(6)) | (uint32(data[i + 3]) & uint32(0x3F))
    return ((lead & uint32(0x07)) << uint32(18)) | tail, 4
