"""Template families: different cases (or versions) on one form, each led by the first that came; nothing is dropped here."""

from typing import Any, Final

import numpy as np

from lexmill.core.dedup.signature import NUM_PERM
from lexmill.core.kernels import njit

Array = np.ndarray[Any, np.dtype[Any]]

# Bank cases on one form reach .65 to .72, enforcement rulings of one court .75 to .79; other cases of one charge hardly .6.
FAMILY: Final = 0.6


@njit(cache=True, nogil=True)
def _assign(buckets: Any, signatures: Any, leaders: Any, needed: int) -> None:
    owners = np.full(buckets.max() + 1, -1, np.int64)
    for i in range(leaders.size):
        if leaders[i] < 0:
            best = -1
            most = needed - 1
            for b in range(buckets.shape[1]):
                other = owners[buckets[i, b]]
                if other < 0 or other == best:
                    continue
                same = 0
                for k in range(signatures.shape[1]):
                    same += signatures[i, k] == signatures[other, k]
                if same > most or (same == most and best >= 0 and other < best):
                    most = same
                    best = other
            leaders[i] = best if best >= 0 else i
        for b in range(buckets.shape[1]):
            if owners[buckets[i, b]] < 0:
                owners[buckets[i, b]] = leaders[i]


def families(hashes: Array, signatures: Array, known: Array) -> Array:
    """The row of the leader of each document's family, int64; one alone leads itself.

    Rows are in order of arrival: (n, 16) band hashes, (n, 128) signatures, and the leaders that are known from earlier runs (-1:
    not known). A document joins the most alike of the leaders of those that came first in its buckets, if the signatures let
    expect a Jaccard index of at least ``FAMILY`` with that leader; so a family does not drift along a chain, and its leader is
    the same however the documents are cut into runs.
    """
    leaders = known.astype(np.int64)
    if leaders.size:
        _, buckets = np.unique(hashes.ravel(), return_inverse=True)
        _assign(buckets.reshape(hashes.shape), signatures, leaders, int(np.ceil(FAMILY * NUM_PERM)))
    return leaders


def ranks(leaders: Array, before: Array) -> tuple[Array, Array]:
    """How manieth of its family each document is, from 1, and the size of the family; ``before`` counts those of earlier runs."""
    order = np.argsort(leaders, kind="stable")
    sorted_leaders = leaders[order]
    at = np.arange(leaders.size)
    starts = np.maximum.accumulate(np.where(np.concatenate([[True], sorted_leaders[1:] != sorted_leaders[:-1]]), at, 0))
    rank = np.empty(leaders.size, np.int64)
    rank[order] = at - starts[: leaders.size] + 1
    _, inverse, counts = np.unique(leaders, return_inverse=True, return_counts=True)
    return rank + before, counts[inverse] + before
