import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup.cluster import (
    Array,
    Components,
    count_hot,
    shared_buckets,
    sorted_edges,
    star_edges,
)

# (hash, case key); the ordinal is the place in the list, shifted so that none is zero.
ENTRIES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=40)


def edges_of(entries: list[tuple[int, int]], ordinals: list[int] | None = None) -> Array:
    hashes = np.array([entry[0] for entry in entries], np.uint64)
    keys = np.array([entry[1] for entry in entries], np.uint64)
    numbers = np.array(ordinals or range(1, len(entries) + 1), np.int64)
    rows = shared_buckets(hashes, keys, numbers)
    columns = (numbers[rows], keys[rows], hashes[rows])
    assert np.array_equal(np.lexsort(columns), np.arange(rows.size)), "by hash, key and ordinal"
    return sorted_edges(star_edges(hashes[rows], keys[rows], numbers[rows]))


def components(edges: Array) -> tuple[Array, Array]:
    """Those of the edges that propose a copy, taken in one half after the other."""
    if not len(edges):
        return Components(0, 0).labels()
    first = int(edges[:, :2].min())
    found = Components(first, int(edges[:, :2].max()) + 1 - first)
    for half in (edges[::2], edges[1::2]):
        left, right, apart = half.T.copy()
        found.add(left, right, apart == 0)
    return found.labels()


@pytest.mark.parametrize(
    ("entries", "edges"),
    [
        ([], []),
        ([(9, 0)], []),
        ([(9, 0), (8, 0)], []),
        ([(9, 0), (9, 0), (9, 0)], [[1, 2, 0], [1, 3, 0]]),
        ([(9, 5), (9, 5)], [[1, 2, 0]]),
        ([(9, 5), (9, 6)], [[1, 2, 1]]),  # two cases
        ([(9, 5), (9, 6), (9, 0)], [[1, 3, 0], [2, 3, 0]]),
        ([(9, 5), (9, 0), (9, 5), (9, 0), (9, 6)], [[1, 2, 0], [1, 3, 0], [2, 4, 0], [2, 5, 0]]),
    ],
)
def test_stars(entries: list[tuple[int, int]], edges: list[list[int]]) -> None:
    assert edges_of(entries).tolist() == edges


def test_a_series_of_cases_on_one_form_is_a_family_and_no_copies() -> None:
    edges = edges_of([(9, key) for key in range(1, 5001)])
    assert edges.shape == (4999, 3)
    assert edges[:, 2].all()
    mixed = edges_of([(9, key % 100) for key in range(5000)], list(range(-2500, 2500)))
    assert len(mixed) == 4999
    assert mixed.tolist() == sorted(mixed.tolist())


@settings(max_examples=100, deadline=None)
@given(ENTRIES, st.randoms(use_true_random=False))
def test_edges_are_few_sorted_within_a_hash_and_never_between_two_cases(entries: list[tuple[int, int]], random: object) -> None:
    edges = edges_of(entries)
    assert len(edges) <= sum(len([e for e in entries if e[0] == hash_]) - 1 for hash_ in {e[0] for e in entries})
    assert edges.tolist() == sorted(edges.tolist())
    for u, v, apart in edges.tolist():
        (hash_u, key_u), (hash_v, key_v) = entries[u - 1], entries[v - 1]
        assert u < v
        assert hash_u == hash_v
        assert (key_u == key_v or 0 in (key_u, key_v)) is not bool(apart)
    # Whom the rules may merge at all is connected.
    nodes, labels = components(edges)
    label = dict(zip(nodes.tolist(), labels.tolist(), strict=True))
    for i, (hash_, key) in enumerate(entries, 1):
        for j, (other_hash, other_key) in enumerate(entries[: i - 1], 1):
            if hash_ == other_hash and (key == other_key or 0 in (key, other_key)):
                assert label[i] == label[j]
    # The order of the entries does not matter.
    order = list(range(len(entries)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert np.array_equal(edges_of([entries[i] for i in order], [i + 1 for i in order]), edges)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=40))
def test_components_are_those_of_a_naive_walk(pairs: list[tuple[int, int]]) -> None:
    wide = [(u * 99 - (1 << 40), v * 99 - (1 << 40)) for u, v in pairs]  # ordinals do not fit 32 bits
    nodes, labels = components(np.array([(u, v, 0) for u, v in wide], np.int64).reshape(-1, 3))
    expected = {node: node for pair in wide for node in pair}
    for _ in expected:
        for u, v in wide:
            expected[u] = expected[v] = min(expected[u], expected[v])
    assert nodes.tolist() == sorted(expected)
    assert labels.tolist() == [expected[node] for node in nodes.tolist()]


@pytest.mark.parametrize(
    ("hashes", "most", "hot"), [([], 1, 0), ([7], 1, 0), ([7, 3, 7], 1, 1), ([1, 2, 1, 2, 3], 1, 2), ([1] * 5, 5, 0)]
)
def test_hot_buckets(hashes: list[int], most: int, hot: int) -> None:
    assert count_hot(np.sort(np.array(hashes, np.uint64)), most) == hot
