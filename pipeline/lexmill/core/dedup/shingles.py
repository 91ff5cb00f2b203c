"""Sets of shingles, and how much of two they share."""

from typing import Any

import numpy as np

from lexmill.core.dedup.compare import copy_points
from lexmill.core.dedup.signature import hash_shingles
from lexmill.core.dedup.sorting import room_for_bounds, sort_hashes
from lexmill.core.dedup.utf8 import Utf8, longest
from lexmill.core.kernels import njit

Array = np.ndarray[Any, np.dtype[Any]]


@njit(cache=True, nogil=True)
def _hash_text(data: Any, start: int, end: int, points: Any, hashes: Any) -> int:
    return hash_shingles(points, copy_points(data, start, end, points)[0], hashes)


@njit(cache=True, nogil=True)
def _shingle_set(hashes: Any, ends: Any, found: Any) -> Any:
    sort_hashes(hashes, ends, found)
    n = 0
    for i in range(hashes.size):
        if i == 0 or found[i] != found[i - 1]:
            found[n] = found[i]  # n ≤ i: the one before i still stands, or is its own copy
            n += 1
    return found[:n].copy()


class Shingles:
    """The 64-bit hashes of the 5-grams of the comparison copies of texts.

    All share one room to work in: to allocate and to touch it anew took longer than the work.
    """

    def __init__(self, texts: Utf8) -> None:
        self._texts = texts
        self.longest = longest(texts.offsets)
        self._points, self._hashes = np.empty(self.longest, np.uint32), np.empty(self.longest, np.uint64)
        self._found, self._ends = np.empty(self.longest, np.uint64), room_for_bounds(self.longest)

    def hashes(self, row: int) -> Array:
        """All hashes of one text, as they stand in it; they are gone when the next text is asked for."""
        start, end = self._texts.offsets[row : row + 2]
        return self._hashes[: _hash_text(self._texts.data, start, end, self._points, self._hashes)]

    def of(self, row: int) -> Array:
        """The distinct hashes of one text, sorted."""
        hashes = self.hashes(row)
        found: Array = _shingle_set(hashes, self._ends, self._found[: hashes.size])
        return found


@njit(cache=True, nogil=True)
def in_common(left: Any, right: Any) -> int:
    """How many values two sorted arrays without repeats have in common."""
    i = j = both = 0
    while i < left.size and j < right.size:
        a, b = left[i], right[j]
        both += a == b
        i += a <= b
        j += b <= a
    return both


def jaccard(left: Array, right: Array) -> float:
    """The Jaccard index of two sorted arrays without repeats; 0 for two empty ones."""
    both = in_common(left, right)
    return both / max(left.size + right.size - both, 1)


def containment(left: Array, right: Array) -> float:
    """The share of the smaller of two sorted arrays without repeats that the other holds; 0 where one is empty."""
    return in_common(left, right) / max(min(left.size, right.size), 1)
