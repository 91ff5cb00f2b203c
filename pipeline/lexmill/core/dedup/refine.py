"""A second key for documents on one form: the bands of their rare shingles, in which the form has no part."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lexmill.core.dedup.shingles import Shingles
from lexmill.core.dedup.signature import permutations, sign_hashes
from lexmill.core.kernels import njit, uint64

# A shingle is rare where it stands in no more than one of so many documents, or a few times.
_RARE_SHARE: Final = 50
_RARE: Final = 4
# Two copies at a Jaccard index of .8 on a form that makes up three quarters share .4 to .6 of what is their own: with 16 bands of
# 2 rows they meet with probability .94 to .998, different cases (below .05) with .04.
_BANDS: Final = 16
_ROWS: Final = 2
# Occurrences are counted by the first bits of a shingle's hash: 16 MB; of too few bits a rare shingle is taken for a common one.
_COUNT_BITS: Final = 22


@njit(cache=True, nogil=True)
def _count(found: Any, counts: Any) -> None:
    for value in found:
        counts[int(value >> uint64(64 - _COUNT_BITS))] += 1


@njit(cache=True, nogil=True)
def _rare(found: Any, counts: Any, most: int, rare: Any) -> int:
    n = 0
    for value in found:
        if counts[int(value >> uint64(64 - _COUNT_BITS))] <= most:
            rare[n] = value
            n += 1
    return n


def rare_bands(shingles: Shingles, rows: Sequence[int]) -> list[list[int]]:
    """The hashes of the bands of each document's rare shingles, those of its hot bucket that few others of ``rows`` have.

    A document that has none (it is nothing but the form) has no bands.
    """
    counts = np.zeros(1 << _COUNT_BITS, np.int32)
    for row in rows:
        _count(shingles.hashes(row), counts)
    most = shingles.longest
    a, b = (values[: _BANDS * _ROWS].copy() for values in permutations())
    rare, mixed, signed = np.empty(most, np.uint64), np.empty(most, np.uint32), np.empty(_BANDS * _ROWS, np.uint32)
    bands: list[list[int]] = []
    for row in rows:
        n = _rare(shingles.hashes(row), counts, max(_RARE, len(rows) // _RARE_SHARE), rare)
        sign_hashes(rare, n, a, b, mixed, signed)
        pairs = signed.reshape(_BANDS, _ROWS).astype(np.uint64)
        values = (pairs[:, 0] << np.uint64(32) | pairs[:, 1]).tolist()
        bands.append([band << 64 | value for band, value in enumerate(values)] if n else [])
    return bands
