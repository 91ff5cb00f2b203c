"""The comparison copy: what a document is compared by, blind to spacing, width and style of masks; it is never written out."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numba import njit, uint8, uint32

from lexmill.core.dedup.utf8 import Utf8, buffers, decode

_MASK: Final = ord("某")
_STAR: Final = ord("*")
_TIMES: Final = ord("×")
_BIG_X: Final = ord("X")
_SMALL_X: Final = ord("x")
_ORDINALS: Final = tuple(map(ord, "甲乙丙丁戊己庚辛壬癸"))


@njit(cache=True, nogil=True, inline="always")
def _is_blank(point: Any) -> bool:
    # Unicode White_Space, controls, and what prints nothing: soft hyphen, zero-width characters, direction and byte order marks.
    if 0x3000 < point < 0xFEFF:
        return False
    if point < 0x1680:
        return point <= 0x20 or 0x7F <= point <= 0xA0 or point == 0xAD
    return (
        0x2000 <= point <= 0x200F
        or 0x2028 <= point <= 0x202F
        or 0x205F <= point <= 0x2064
        or point == 0x3000
        or point == 0xFEFF
        or point == 0x1680
    )


@njit(cache=True, nogil=True, inline="always")
def _is_han(point: Any) -> bool:
    return 0x3400 <= point <= 0x9FFF or 0xF900 <= point <= 0xFAFF or 0x20000 <= point <= 0x3FFFF


@njit(cache=True, nogil=True, inline="always")
def _is_x(point: Any) -> bool:
    return point in (_BIG_X, _SMALL_X)


@njit(cache=True, nogil=True, inline="always")
def _is_mark(point: Any) -> bool:
    if point > _TIMES:
        return point == _MASK
    return point in (_STAR, _TIMES, _BIG_X, _SMALL_X)


@njit(cache=True, nogil=True, inline="always")
def _is_digit(point: Any) -> bool:
    return 0x30 <= point <= 0x39


@njit(cache=True, nogil=True, inline="always")
def _is_letter(point: Any) -> bool:
    return 0x41 <= point <= 0x5A or 0x61 <= point <= 0x7A


@njit(cache=True, nogil=True, inline="always")
def _is_ordinal(point: Any) -> bool:
    return point in _ORDINALS


@njit(cache=True, nogil=True)
def squeeze(points: Any, n: int) -> int:
    """Take blanks out and fold full-width ASCII, in place; the new length."""
    kept = 0
    for i in range(n):
        point = points[i]
        if _is_blank(point):
            continue
        if 0xFF01 <= point <= 0xFF5E:
            point -= uint32(0xFEE0)
        points[kept] = point
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def _end_of_mask(points: Any, n: int, start: int, after_han: bool) -> int:
    """Where the marks and ordinals from ``start`` on end: 某某, 某1, 某甲, ×××; a longer number is no ordinal."""
    i = start
    while i < n:
        if _is_mark(points[i]) or (after_han and _is_ordinal(points[i])):
            i += 1
        elif after_han and _is_digit(points[i]):
            j = i + 1
            while j < min(n, i + 3) and _is_digit(points[j]):
                j += 1
            if j == i + 3:
                break
            i = j
        else:
            break
    return i


@njit(cache=True, nogil=True)
def fold_masks(points: Any, n: int) -> int:
    """Fold every mask to one 某, in place; the new length."""
    kept = 0
    i = 0
    while i < n:
        if not _is_mark(points[i]):
            points[kept] = points[i]
            kept += 1
            i += 1
            continue
        end = i
        only_x = True
        while end < n and _is_mark(points[end]):
            only_x = only_x and _is_x(points[end])
            end += 1
        before = points[kept - 1] if kept else uint32(0)
        after = points[end] if end < n else uint32(0)
        # X stands in words (XML), check digits (…1234X) and products, too.
        is_mask = not only_x or (
            not (_is_letter(before) or _is_letter(after))
            and (end - i > 1 or _is_han(before) or (_is_han(after) and not _is_digit(before)))
        )
        if is_mask:
            end = _end_of_mask(points, n, end, _is_han(before))
            points[kept] = uint32(_MASK)
            kept += 1
        else:
            for j in range(i, end):
                points[kept] = points[j]
                kept += 1
        i = end
    return kept


@njit(cache=True, nogil=True)
def _encode(points: Any, n: int, out: Any, start: int) -> int:
    """Write ``points[:n]`` as UTF-8 to ``out`` from ``start`` on; the end."""
    at = start
    for i in range(n):
        point = points[i]
        if point < 0x80:
            out[at] = uint8(point)
            at += 1
        elif point < 0x800:
            out[at] = uint8(0xC0 | point >> uint32(6))
            out[at + 1] = uint8(0x80 | point & uint32(0x3F))
            at += 2
        elif point < 0x10000:
            out[at] = uint8(0xE0 | point >> uint32(12))
            out[at + 1] = uint8(0x80 | point >> uint32(6) & uint32(0x3F))
            out[at + 2] = uint8(0x80 | point & uint32(0x3F))
            at += 3
        else:
            out[at] = uint8(0xF0 | point >> uint32(18))
            out[at + 1] = uint8(0x80 | point >> uint32(12) & uint32(0x3F))
            out[at + 2] = uint8(0x80 | point >> uint32(6) & uint32(0x3F))
            out[at + 3] = uint8(0x80 | point & uint32(0x3F))
            at += 4
    return at


@njit(cache=True, nogil=True)
def _copy(data: Any, offsets: Any, out: Any, ends: Any) -> None:
    longest = 0
    for d in range(offsets.size - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    points = np.empty(longest, np.uint32)
    ends[0] = 0
    for d in range(offsets.size - 1):
        n = squeeze(points, decode(data, offsets[d], offsets[d + 1], points))
        ends[d + 1] = _encode(points, fold_masks(points, n), out, ends[d])


def comparison_copies(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The comparison copy of every text, as large_string.

    White space and what prints nothing is out; full-width ASCII is half-width (，：（ too); a mask (某某, ××, **, XX, 某1, 某甲)
    is one 某; digits and everything else stay. Copying a copy changes nothing.
    """
    data, offsets = buffers(texts)
    # A mask of one byte becomes 某, of three, but only beside a character that is no mark: at most (3 + 1) / 2 bytes for one.
    out = np.empty(2 * int(offsets[-1] - offsets[0]) + 2 * len(texts), np.uint8)
    ends = np.empty(len(texts) + 1, np.int64)
    _copy(data, offsets, out, ends)
    return Utf8(out[: ends[-1]], ends).array()


def comparison_copy(text: str) -> str:
    """The comparison copy of one text."""
    return comparison_copies(pa.array([text], pa.string()))[0].as_py()
