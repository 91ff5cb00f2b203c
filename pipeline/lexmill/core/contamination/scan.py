"""Looks through documents for the units of benchmarks."""

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.contamination.index import GRAM, MAX_UNIT, Index, find, key_of, key_of_stretch, step
from lexmill.core.contamination.letters import letters
from lexmill.core.dedup.utf8 import buffers
from lexmill.core.kernels import njit

# A document is looked through so many characters at a time, so that memory does not depend on its length; what stands on a border
# is seen whole in one of two.
_BLOCK: Final = 1 << 16
_OVERLAP: Final = 1 << 13
_LEAST: Final = 0.3  # of a unit: less is not reported
# A unit may be drawn out by so much in a document: a line break costs nothing, an inserted note does.
_SLACK: Final = 40


class Matches(NamedTuple):
    """Units found: of unit ``unit[m]`` the share ``share[m]`` stands in document ``doc[m]``.

    It stands between the letters ``start[m]`` and ``end[m]`` of the document; ``whole[m]`` where it is all there in one piece.
    ``share`` is of the letters that count (see ``Weights``), ``overall`` of all.
    """

    doc: NDArray[np.int64]
    unit: NDArray[np.int32]
    share: NDArray[np.float64]
    overall: NDArray[np.float64]
    whole: NDArray[np.bool_]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


class Weights(NamedTuple):
    """Which letters tell a unit from other text: ``telling[first[u]:first[u + 1]]`` for the letters of unit ``u``.

    ``counted`` is their number.
    """

    telling: NDArray[np.bool_]
    first: NDArray[np.int64]
    counted: NDArray[np.int32]


def weigh(index: Index, quoted: NDArray[np.bool_]) -> Weights:
    """The weights where the distinct grams ``quoted`` stand in statutes: no letter of these or of generic ones tells."""
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(index.length, dtype=np.int64)])
    telling = np.ones(first[-1], np.bool_)
    dumb = np.flatnonzero((quoted | index.generic)[index.number])
    begin = first[index.owner[dumb]] + index.place[dumb]
    telling[(begin[:, None] + np.arange(GRAM)).ravel()] = False
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(telling)])
    return Weights(telling, first, np.diff(upto[first]).astype(np.int32))


def quoted_grams(texts: pa.ChunkedArray, index: Index) -> NDArray[np.bool_]:
    """Which of the distinct grams stand in one of the texts."""
    data, offsets = buffers(texts)
    seen = np.zeros(len(index.keys), np.bool_)
    if len(index.keys):
        _see(data, offsets, index.keys, index.slots, index.bitmap, seen)
    return seen


@njit(cache=True, nogil=True)
def _longest(offsets: Any) -> int:
    longest = 0
    for d in range(offsets.size - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    return longest


@njit(cache=True, nogil=True)
def _hits(points: Any, start: int, end: int, keys: Any, slots: Any, bitmap: Any, at: Any, number: Any) -> int:
    """Write where known grams begin, counted from ``start``, and their numbers; how many there are."""
    power = np.uint64(1)
    for _ in range(GRAM):
        power = step(power, 0)
    hashed = np.uint64(0)
    n = 0
    for i in range(start, end):
        hashed = step(hashed, points[i])
        if i >= start + GRAM:
            hashed -= power * np.uint64(points[i - GRAM])
        if i >= start + GRAM - 1:
            found = find(key_of(hashed), keys, slots, bitmap)
            if found >= 0:
                at[n] = i - start - GRAM + 1
                number[n] = found
                n += 1
    return n


@njit(cache=True, nogil=True)
def _see(data: Any, offsets: Any, keys: Any, slots: Any, bitmap: Any, seen: Any) -> None:
    points = np.empty(_longest(offsets), np.uint32)
    at, number = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    for d in range(offsets.size - 1):
        n = letters(data, offsets[d], offsets[d + 1], points)
        for start in range(0, max(n - GRAM + 1, 0), _BLOCK - GRAM):
            for hit in range(_hits(points, start, min(n, start + _BLOCK), keys, slots, bitmap, at, number)):
                seen[number[hit]] = True


def scan(texts: pa.ChunkedArray, index: Index, weights: Weights) -> Matches:
    """Every unit of which enough stands close together in a text, where most of it stands; maybe more than once a text."""
    data, offsets = buffers(texts)
    rows = np.zeros((0, 7), np.float64)
    if len(index.keys):
        generic = index.generic[index.number]
        rows = _scan(
            data,
            offsets,
            (index.keys, index.slots, index.bitmap),
            (np.where(index.generic, 0, np.diff(index.posted)), index.posted, index.grams),
            (index.owner, index.place),
            (weights.telling, weights.first),
            (index.length, index.whole, weights.counted, np.bincount(index.owner[~generic], minlength=len(index.length))),
        )
    integers = rows.astype(np.int64)
    return Matches(
        integers[:, 0],
        integers[:, 1].astype(np.int32),
        rows[:, 2],
        rows[:, 3],
        rows[:, 4] > 0,
        integers[:, 5],
        integers[:, 6],
    )


@njit(cache=True, nogil=True)
def _scan(data: Any, offsets: Any, lookup: Any, postings: Any, grams: Any, marks: Any, units: Any) -> Any:
    keys, slots, bitmap = lookup
    sizes, posted, members = postings
    owner, place = grams
    telling, marked = marks
    length, whole, counted, least = units
    points = np.empty(_longest(offsets), np.uint32)
    at, number = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    filled = np.zeros(length.size, np.int64)  # of each unit touched in the block: its pairs, then where they end
    touched = np.empty(length.size, np.int32)
    covers = np.zeros(MAX_UNIT, np.int32)
    everything = np.ones(MAX_UNIT, np.bool_)
    rows, n_rows = np.empty((64, 7), np.float64), 0
    for d in range(offsets.size - 1):
        n = letters(data, offsets[d], offsets[d + 1], points)
        for start in range(0, max(n - GRAM + 1, 0), _BLOCK - _OVERLAP):
            if start and n - start <= _OVERLAP:
                break
            block = points[start : min(n, start + _BLOCK)]
            hits = _hits(block, 0, block.size, keys, slots, bitmap, at, number)
            n_touched = 0
            for hit in range(hits):
                first = posted[number[hit]]
                for member in range(first, first + sizes[number[hit]]):
                    unit = owner[members[member]]
                    if filled[unit] == 0:
                        touched[n_touched] = unit
                        n_touched += 1
                    filled[unit] += 1
            total = 0
            for t in range(n_touched):
                size = filled[touched[t]]
                filled[touched[t]] = total
                total += size
            where, gram = np.empty(total, np.int32), np.empty(total, np.int32)
            for hit in range(hits):
                first = posted[number[hit]]
                for member in range(first, first + sizes[number[hit]]):
                    unit = owner[members[member]]
                    where[filled[unit]] = at[hit]
                    gram[filled[unit]] = members[member]
                    filled[unit] += 1
            first = 0
            for t in range(n_touched):
                unit = touched[t]
                last = filled[unit]
                filled[unit] = 0
                found_at = -1
                if last - first >= least[unit]:
                    found_at = _whole(block, where[first:last], gram[first:last], place, length[unit], whole[unit])
                begin, end = found_at, found_at + length[unit]
                share = overall = 1.0 if found_at >= 0 else 0.0
                # A pair shows no more than a gram: most units are touched too little to be looked at.
                if found_at < 0 and (last - first) * GRAM >= _LEAST * length[unit]:
                    overall, begin, end = _closest(
                        where[first:last], gram[first:last], place, everything, length[unit], length[unit], covers
                    )
                if found_at < 0 and (last - first) * GRAM >= _LEAST * counted[unit] > 0:
                    share, telling_begin, telling_end = _closest(
                        where[first:last], gram[first:last], place, telling[marked[unit] :], length[unit], counted[unit], covers
                    )
                    if share >= _LEAST:
                        begin, end = telling_begin, telling_end
                if found_at >= 0 or share >= _LEAST or overall >= _LEAST:
                    if n_rows == rows.shape[0]:
                        more = np.empty((2 * n_rows, 7), np.float64)
                        more[:n_rows] = rows
                        rows = more
                    rows[n_rows, 0], rows[n_rows, 1], rows[n_rows, 2], rows[n_rows, 3] = d, unit, share, overall
                    rows[n_rows, 4], rows[n_rows, 5], rows[n_rows, 6] = found_at >= 0, start + begin, start + end
                    n_rows += 1
                first = last
    return rows[:n_rows]


@njit(cache=True, nogil=True)
def _whole(points: Any, where: Any, gram: Any, place: Any, length: Any, whole: Any) -> int:
    """Where a unit stands in one piece, or -1."""
    last = -1
    for pair in range(where.size):
        start = where[pair] - place[gram[pair]]
        if start >= 0 and start != last and start + length <= points.size:
            if key_of_stretch(points, start, start + length) == whole:
                return start
            last = start
    return -1


@njit(cache=True, nogil=True)
def _closest(where: Any, gram: Any, place: Any, telling: Any, length: Any, counted: Any, covers: Any) -> Any:
    """The largest share of a unit's telling letters that stands within its length and a half, and from where to where."""
    covers[:length] = 0
    reach = length + length // 2 + _SLACK
    covered, best, begin, end, low = 0, 0, 0, 0, 0
    for high in range(where.size):
        for i in range(place[gram[high]], place[gram[high]] + GRAM):
            covered += telling[i] and covers[i] == 0
            covers[i] += 1
        while where[high] - where[low] > reach:
            for i in range(place[gram[low]], place[gram[low]] + GRAM):
                covers[i] -= 1
                covered -= telling[i] and covers[i] == 0
            low += 1
        if covered > best:
            best, begin, end = covered, where[low], where[high] + GRAM
    return best / counted, begin, end


@njit(cache=True, nogil=True)
def stands(points: Any, length: Any, key: Any) -> bool:
    """Whether a stretch of so many characters with this key is among ``points``."""
    power = np.uint64(1)
    for _ in range(length):
        power = step(power, 0)
    hashed = np.uint64(0)
    for i in range(points.size):
        hashed = step(hashed, points[i])
        if i >= length:
            hashed -= power * np.uint64(points[i - length])
        if i >= length - 1 and key_of(hashed) == key:
            return True
    return False
