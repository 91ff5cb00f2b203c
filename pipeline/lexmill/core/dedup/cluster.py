"""Candidate edges out of equal hashes, and the components they make; linear in the entries."""

from typing import Any

import numpy as np
from numba import njit

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


def star_edges(hashes: Array, case_keys: Array, ordinals: Array) -> Array:
    """The edges that equal hashes propose: (m, 3) int64, lesser ordinal first, sorted; then 1 where it is between two cases.

    ``hashes`` and ``case_keys`` are uint64, ``ordinals`` int64, one entry a document (of one band, or the exact hashes). Within a
    group of equal hashes the documents of one case, and those without a case (key 0), are each linked to the one of least
    ordinal; the centre of those without is linked to the centre of every case. Where all have a case, the centre of the first is
    linked to that of every other by an edge that proposes a family, not a copy. A group of n makes n - 1 edges.
    """
    order = np.argsort(hashes)
    sorted_hashes = hashes[order]
    # Most entries stand alone: only the others need the full sort.
    same = sorted_hashes[1:] == sorted_hashes[:-1]
    shared = np.zeros(hashes.size, np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    rows = order[shared]
    rows = rows[np.lexsort((ordinals[rows], case_keys[rows], hashes[rows]))]
    edges = np.empty((rows.size, 3), np.int64)
    m = _link(hashes[rows], case_keys[rows], ordinals[rows], edges)
    edges = edges[:m]
    edges[:, :2].sort(axis=1)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


@njit(cache=True, nogil=True)
def _find(parents: Any, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]  # path halving
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def _unite(left: Any, right: Any, parents: Any) -> None:
    for i in range(left.size):
        a = _find(parents, left[i])
        b = _find(parents, right[i])
        if a < b:
            parents[b] = a
        else:
            parents[a] = b
    for node in range(parents.size):
        parents[node] = parents[parents[node]]  # a parent is never greater than its child, so it is a root by now


def components(edges: Array) -> tuple[Array, Array]:
    """The connected components of (m, 2) int64 edges: the ordinals that occur, sorted, and the least of each one's component.

    Union-find on numbers of 32 bits: 4 bytes a node beside the edges.
    """
    nodes, inverse = np.unique(edges.ravel(), return_inverse=True)
    pairs = inverse.astype(np.int32).reshape(-1, 2)
    parents = np.arange(nodes.size, dtype=np.int32)
    _unite(pairs[:, 0], pairs[:, 1], parents)
    return nodes, nodes[parents]
