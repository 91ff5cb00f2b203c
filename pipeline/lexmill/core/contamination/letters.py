"""What items and documents are compared by: letters and digits in order, masks folded as in the comparison copy."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.dedup.compare import fold_masks
from lexmill.core.dedup.utf8 import buffers
from lexmill.core.kernels import njit, uint32

_STAR: Final = ord("*")
_TIMES: Final = ord("×")


@njit(cache=True, nogil=True, inline="always")
def _counts(point: Any) -> bool:
    """Whether a character is a letter or a digit, or one that masks are written with."""
    if point < 0x80:
        return 0x30 <= point <= 0x39 or 0x41 <= point <= 0x5A or 0x61 <= point <= 0x7A or point == _STAR
    if point < 0x2000:
        return point >= 0xC0 and point != 0xF7 and point != 0x1680
    # General punctuation to symbols; CJK punctuation (but 々〆〇); vertical and small forms; what is left of full width.
    return (
        not (
            point < 0x2E80
            or (0x3000 <= point <= 0x303F and not 0x3005 <= point <= 0x3007)
            or 0xFE10 <= point <= 0xFE6F
            or 0xFF00 <= point <= 0xFF0F
            or 0xFF5B <= point <= 0xFF65
            or point >= 0xFFF0
        )
        or point >= 0x20000
    )


@njit(cache=True, nogil=True)
def letters(data: Any, start: int, end: int, points: Any) -> int:
    """Write the letters of ``data[start:end]`` (UTF-8) to ``points`` (uint32, at least as long); their number."""
    n = 0
    i = start
    while i < end:
        lead = uint32(data[i])
        if 0xE4 <= lead <= 0xE9:  # ideographs, nearly all of the text
            points[n] = (lead & uint32(0x0F)) << uint32(12) | (uint32(data[i + 1]) & uint32(0x3F)) << uint32(6)
            points[n] |= uint32(data[i + 2]) & uint32(0x3F)
            i += 3
            n += 1
            continue
        if lead < 0x80:
            point = lead
            i += 1
        elif lead < 0xE0:
            point = (lead & uint32(0x1F)) << uint32(6) | uint32(data[i + 1]) & uint32(0x3F)
            i += 2
        elif lead < 0xF0:
            point = (lead & uint32(0x0F)) << uint32(12) | (uint32(data[i + 1]) & uint32(0x3F)) << uint32(6)
            point |= uint32(data[i + 2]) & uint32(0x3F)
            i += 3
            if 0xFF01 <= point <= 0xFF5E:
                point -= uint32(0xFEE0)
        else:
            point = (lead & uint32(0x07)) << uint32(18) | (uint32(data[i + 1]) & uint32(0x3F)) << uint32(12)
            point |= (uint32(data[i + 2]) & uint32(0x3F)) << uint32(6) | uint32(data[i + 3]) & uint32(0x3F)
            i += 4
        if _counts(point):
            points[n] = point
            n += 1
    n = fold_masks(points, n)
    kept = 0
    for i in range(n):  # what was no mask after all
        points[kept] = points[i]
        kept += points[i] != _STAR and points[i] != _TIMES
    return kept


def letters_of(text: str) -> NDArray[np.uint32]:
    """The letters of one text as code points."""
    data, offsets = buffers(pa.array([text], pa.string()))
    points = np.empty(len(data), np.uint32)
    return points[: letters(data, int(offsets[0]), int(offsets[1]), points)]
