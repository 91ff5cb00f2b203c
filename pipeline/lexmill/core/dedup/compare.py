"""The comparison copy: what a document is compared by, blind to spacing, width and style of masks; it is never written out."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from lexmill.core.dedup.utf8 import Utf8, buffers, decode_2, decode_3, decode_4, longest
from lexmill.core.kernels import njit, uint8, uint32

Array = np.ndarray[Any, np.dtype[Any]]

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
def _squeezed(data: Any, start: int, end: int, points: Any) -> tuple[int, int, int, bool]:
    """Write the code points of UTF-8 without blanks, full-width ASCII folded.

    Returns how many there are, how many the text has, how many of these are U+FFFD, and whether one may belong to a mask.
    """
    n = chars = lost = 0
    marked = False
    i = start
    while i < end:
        lead = uint32(data[i])
        chars += 1
        if 0xE4 <= lead <= 0xE9:  # U+4000 to U+9FFF: most of a text, and never blank or full-width
            point = decode_3(data, i)
            points[n] = point
            n += 1
            i += 3
            marked |= point == _MASK
            continue
        if lead < 0x80:
            point = lead
            i += 1
        elif lead < 0xE0:
            point = decode_2(data, i)
            i += 2
        elif lead < 0xF0:
            point = decode_3(data, i)
            i += 3
            lost += point == 0xFFFD
        else:
            point = decode_4(data, i)
            i += 4
        if _is_blank(point):
            continue
        if 0xFF01 <= point <= 0xFF5E:
            point -= uint32(0xFEE0)
        marked |= _is_mark(point)
        points[n] = point
        n += 1
    return n, chars, lost, marked


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
def copy_points(data: Any, start: int, end: int, points: Any) -> tuple[int, int, int]:
    """Write the comparison copy of ``data[start:end]`` to ``points`` (uint32, at least as long as the text has bytes).

    Returns the number of the copy's characters, how many the text has, and how many of these are U+FFFD.
    """
    n, chars, lost, marked = _squeezed(data, start, end, points)
    return fold_masks(points, n) if marked else n, chars, lost


@njit(cache=True, nogil=True)
def encode(points: Any, n: int, out: Any, start: int) -> int:
    """Write ``points[:n]`` as UTF-8 to ``out`` from ``start`` on; the end."""
    at = start
    for i in range(n):
        point = points[i]
        if 0x800 <= point < 0x10000:
            out[at] = uint8(0xE0 | point >> uint32(12))
            out[at + 1] = uint8(0x80 | point >> uint32(6) & uint32(0x3F))
            out[at + 2] = uint8(0x80 | point & uint32(0x3F))
            at += 3
        elif point < 0x80:
            out[at] = uint8(point)
            at += 1
        elif point < 0x800:
            out[at] = uint8(0xC0 | point >> uint32(6))
            out[at + 1] = uint8(0x80 | point & uint32(0x3F))
            at += 2
        else:
            out[at] = uint8(0xF0 | point >> uint32(18))
            out[at + 1] = uint8(0x80 | point >> uint32(12) & uint32(0x3F))
            out[at + 2] = uint8(0x80 | point >> uint32(6) & uint32(0x3F))
            out[at + 3] = uint8(0x80 | point & uint32(0x3F))
            at += 4
    return at


@njit(cache=True, nogil=True)
def _copy(data: Any, offsets: Any, out: Any, ends: Any) -> None:
    points = np.empty(longest(offsets), np.uint32)
    ends[0] = 0
    for d in range(offsets.size - 1):
        ends[d + 1] = encode(points, copy_points(data, offsets[d], offsets[d + 1], points)[0], out, ends[d])


def room_for_copies(texts: Utf8) -> tuple[Array, Array]:
    """Where ``encode`` writes the comparison copies of ``texts`` one behind the other: their bytes and their offsets."""
    # A mask of one byte becomes 某, of three, but only beside a character that is no mark: at most (3 + 1) / 2 bytes for one.
    n = texts.offsets.size - 1
    return np.empty(2 * int(texts.offsets[-1] - texts.offsets[0]) + 2 * n, np.uint8), np.empty(n + 1, np.int64)


def comparison_copies(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The comparison copy of every text, as large_string.

    White space and what prints nothing is out; full-width ASCII is half-width (，：（ too); a mask (某某, ××, **, XX, 某1, 某甲)
    is one 某; digits and everything else stay. Copying a copy changes nothing.
    """
    given = buffers(texts)
    out, ends = room_for_copies(given)
    _copy(given.data, given.offsets, out, ends)
    return Utf8(out[: ends[-1]], ends).array()


def comparison_copy(text: str) -> str:
    """The comparison copy of one text."""
    return comparison_copies(pa.array([text], pa.string()))[0].as_py()
