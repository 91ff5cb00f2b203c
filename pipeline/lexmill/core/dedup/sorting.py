"""Sorting of hashes: evenly spread over 64 bits, they fall into small buckets by their first bits, in linear time."""

from typing import Any, Final

import numpy as np

from lexmill.core.kernels import njit, uint64

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_BITS: Final = 20  # 8 MB of bounds
# A longer bucket holds one hash over and over, or was made to be slow.
_LONGEST: Final = 64


@njit(cache=True, nogil=True)
def _bounds(values: Any, share: int, ends: Any) -> Any:
    """Count values into buckets of about ``share``; ``ends[k]`` is where bucket k begins. Returns how far to shift a value."""
    bits = 1
    while (share << bits) < values.size and bits < _MOST_BITS:
        bits += 1
    shift = uint64(64 - bits)
    n = 1 << bits
    ends[: n + 1] = 0
    for value in values:
        ends[int(value >> shift) + 1] += 1
    for k in range(1, n + 1):
        ends[k] += ends[k - 1]
    return shift


def room_for_bounds(most: int) -> Array:
    """What ``sort_hashes`` works in, for up to ``most`` values."""
    return np.empty(min(2 * most, 1 << _MOST_BITS) + 3, np.int64)


@njit(cache=True, nogil=True)
def sort_hashes(values: Any, ends: Any, out: Any) -> None:
    """Write uint64 ``values`` to ``out``, sorted; ``ends`` is ``room_for_bounds``."""
    shift = _bounds(values, 1, ends)
    for value in values:
        k = int(value >> shift)
        out[ends[k]] = value
        ends[k] += 1
    start = 0
    while start < out.size:
        end = ends[int(out[start] >> shift)]
        if end - start > _LONGEST:
            out[start:end].sort()
        else:
            for i in range(start + 1, end):
                value = out[i]
                j = i
                while j > start and out[j - 1] > value:
                    out[j] = out[j - 1]
                    j -= 1
                out[j] = value
        start = end


@njit(cache=True, nogil=True)
def _sort_order(values: Any, ends: Any, found: Any, order: Any) -> None:
    shift = _bounds(values, 8, ends)
    for row in range(values.size):
        value = values[row]
        at = ends[int(value >> shift)]
        found[at], order[at] = value, row
        ends[int(value >> shift)] = at + 1
    start = 0
    while start < found.size:
        end = ends[int(found[start] >> shift)]
        if end - start > _LONGEST:
            by_value = np.argsort(found[start:end], kind="mergesort")
            found[start:end] = found[start:end][by_value]
            order[start:end] = order[start:end][by_value]
        else:
            for i in range(start + 1, end):
                value, row = found[i], order[i]
                j = i
                while j > start and found[j - 1] > value:
                    found[j], order[j] = found[j - 1], order[j - 1]
                    j -= 1
                found[j], order[j] = value, row
        start = end


def sorted_order(values: Array) -> tuple[Array, Array]:
    """The order (int64) that sorts uint64 values, equal ones by place, and the sorted values: as a stable sort gives them."""
    found, order = np.empty(values.size, np.uint64), np.empty(values.size, np.int64)
    _sort_order(np.ascontiguousarray(values), room_for_bounds(values.size), found, order)
    return order, found


def distinct(values: Array) -> Array:
    """The values without repeats, sorted; ``np.unique`` hashes first, which takes ten times as long where most differ."""
    found = np.sort(values)
    first = np.ones(found.size, np.bool_)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found[first]
