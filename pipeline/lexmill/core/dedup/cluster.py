"""Candidate edges out of equal hashes, and the components they make; linear in the entries."""

from typing import Any

import numpy as np

from lexmill.core.dedup.sorting import sorted_order
from lexmill.core.kernels import njit

Array = np.ndarray[Any, np.dtype[Any]]


@njit(cache=True, nogil=True)
def _link(hashes: Any, keys: Any, ordinals: Any, edges: Any) -> int:
    """Write the stars over entries sorted by hash, key, ordinal; returns the number of edges. Key 0 comes first in a group.

    The third column of an edge is 1 where it links two keys.
    """
    m = 0
    group = 0
    centre = 0
    for i in range(1, hashes.size):
        if hashes[i] != hashes[i - 1]:
            group = centre = i
        elif keys[i] != keys[i - 1]:
            centre = i
            edges[m, 0] = ordinals[group]
            edges[m, 1] = ordinals[i]
            edges[m, 2] = keys[group] != 0
            m += 1
        else:
            edges[m, 0] = ordinals[centre]
            edges[m, 1] = ordinals[i]
            edges[m, 2] = 0
            m += 1
    return m


@njit(cache=True, nogil=True)
def _settle_groups(hashes: Any, keys: Any, ordinals: Any, order: Any) -> None:
    """Sort rows of equal hash, which are neighbours in ``order``, by key and ordinal."""
    start = 0
    for i in range(1, order.size + 1):
        if i < order.size and hashes[order[i]] == hashes[order[start]]:
            continue
        if i - start > 32:
            rows = order[start:i].copy()
            rows = rows[np.argsort(ordinals[rows], kind="mergesort")]
            order[start:i] = rows[np.argsort(keys[rows], kind="mergesort")]
        else:
            for j in range(start + 1, i):
                row = order[j]
                k = j
                while k > start and (
                    keys[order[k - 1]] > keys[row] or (keys[order[k - 1]] == keys[row] and ordinals[order[k - 1]] > ordinals[row])
                ):
                    order[k] = order[k - 1]
                    k -= 1
                order[k] = row
        start = i


def shared_buckets(hashes: Array, case_keys: Array, ordinals: Array) -> Array:
    """The rows of entries whose hash another one has, too, by hash, key and ordinal; most entries stand alone."""
    order, found = sorted_order(hashes)
    same = found[1:] == found[:-1]
    shared = np.zeros(hashes.size, np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    rows = order[shared]
    _settle_groups(hashes, case_keys, ordinals, rows)
    return rows


def star_edges(hashes: Array, case_keys: Array, ordinals: Array) -> Array:
    """The edges that equal hashes propose: (m, 3) int64, lesser ordinal first, then 1 where it is between two cases.

    ``hashes`` and ``case_keys`` are uint64, ``ordinals`` int64, one entry a document (of one band, or the exact hashes), in the
    order of ``shared_buckets``. Within a group of equal hashes the documents of one case, and those without a case (key 0), are
    each linked to the one of least ordinal; the centre of those without is linked to the centre of every case. Where all have a
    case, the centre of the first is linked to that of every other by an edge that proposes a family, not a copy. A group of n
    makes n - 1 edges.
    """
    edges = np.empty((hashes.size, 3), np.int64)
    m = _link(hashes, case_keys, ordinals, edges)
    edges = edges[:m]
    edges[:, :2].sort(axis=1)
    return edges


def sorted_edges(edges: Array) -> Array:
    """Edges by their lesser ordinal, then the greater; the ordinals span fewer than 2^31."""
    if not edges.size:
        return edges
    first = edges[:, 0].min()
    packed = (edges[:, 0] - first).astype(np.uint64) << np.uint64(32)
    packed |= (edges[:, 1] - first).astype(np.uint64) << np.uint64(1)
    packed |= edges[:, 2].astype(np.uint64)
    packed.sort()  # of one number an edge: a tenth of the time that sorting by columns takes
    out = np.empty(edges.shape, np.int64)
    out[:, 0] = (packed >> np.uint64(32)).astype(np.int64) + first
    out[:, 1] = (packed >> np.uint64(1) & np.uint64(0x7FFFFFFF)).astype(np.int64) + first
    out[:, 2] = packed & np.uint64(1)
    return out


@njit(cache=True, nogil=True)
def _find(parents: Any, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]  # path halving
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def _unite(left: Any, right: Any, wanted: Any, first: int, parents: Any, linked: Any) -> None:
    for i in range(left.size):
        if not wanted[i]:
            continue
        a, b = left[i] - first, right[i] - first
        linked[a] = linked[b] = True
        a = _find(parents, a)
        b = _find(parents, b)
        if a < b:
            parents[b] = a
        else:
            parents[a] = b


@njit(cache=True, nogil=True)
def _flatten(parents: Any) -> None:
    for node in range(parents.size):
        parents[node] = parents[parents[node]]  # a parent is never greater than its child, so it is a root by now


class Components:
    """The connected components of edges between ordinals (int64) from ``first`` on, fewer than 2^31: union-find, 5 bytes each."""

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self._parents, self._linked = np.arange(size, dtype=np.int32), np.zeros(size, np.bool_)

    def add(self, left: Array, right: Array, wanted: Array) -> None:
        """Take in those of some edges that are wanted."""
        _unite(left, right, wanted, self._first, self._parents, self._linked)

    def labels(self) -> tuple[Array, Array]:
        """The ordinals that occur, sorted, and the least of each one's component."""
        _flatten(self._parents)
        nodes = np.flatnonzero(self._linked)
        return nodes + self._first, self._parents[nodes].astype(np.int64) + self._first


def count_hot(hashes: Array, most: int) -> int:
    """How many buckets (equal neighbours) hold more than ``most`` documents."""
    starts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1], [True]])) if hashes.size else np.empty(0, np.int64)
    return int(np.count_nonzero(np.diff(starts) > most))
