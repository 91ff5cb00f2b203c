import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup.sorting import Array, distinct, room_for_bounds, sort_hashes, sorted_order


def check(array: Array) -> None:
    order, found = sorted_order(array)
    assert np.array_equal(order, np.argsort(array, kind="stable"))
    assert np.array_equal(found, np.sort(array))
    assert np.array_equal(distinct(array), np.unique(array))
    out = np.empty_like(array)
    sort_hashes(array, room_for_bounds(array.size), out)
    assert np.array_equal(out, np.sort(array))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=60))
def test_sorting_is_what_numpy_makes_of_it(values: list[int]) -> None:
    check(np.array(values, np.uint64))


@pytest.mark.parametrize("bits", [64, 60, 40, 20, 3, 0])
def test_uneven_values_are_sorted_too(bits: int) -> None:
    chance = np.random.default_rng(bits)
    for size in (1000, 70_000):
        check(chance.integers(0, 1 << bits, size, dtype=np.uint64))
        check(chance.integers(0, 1 << bits, size, dtype=np.uint64) + np.uint64((1 << 64) - (1 << bits)))


def test_a_slice_of_a_matrix_is_sorted() -> None:
    matrix = np.random.default_rng(1).integers(0, 2**64, (500, 16), dtype=np.uint64)
    check(matrix[:, 3].copy())
    assert np.array_equal(sorted_order(matrix[:, 3])[1], np.sort(matrix[:, 3]))
