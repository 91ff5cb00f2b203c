"""Benchmarks as hashes: enough to find their items in documents, too little to read them.

A stem, option or passage is a *unit*. Of its letters every fourth stretch of eight characters (a *gram*, and the last
one) is kept as 40 bits of a hash. Whoever guesses one gram must guess four characters at a time to get on, and a hash of 40 bits
stands for some 10^13 stretches of common characters, so the list does not give the question away; a document is looked through at
every character, so it does not matter where in it the item begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.contamination.items import Item
from lexmill.core.contamination.letters import letters_of
from lexmill.core.kernels import njit

GRAM: Final = 8
STRIDE: Final = 4
# A passage is known by its beginning.
MAX_UNIT: Final = 2048
# A gram of more units than this is how questions are asked (下列说法正确的是), or a law that all quote: it tells nothing.
MAX_UNITS_A_GRAM: Final = 32

STEM, OPTION, PASSAGE = range(3)
KINDS = ("stem", "option", "passage")

INDEX = pa.schema(
    [
        ("benchmark", pa.int32()),  # its number in the footer
        ("item", pa.int32()),  # from 1, as the file has them
        ("kind", pa.string()),
        ("n_chars", pa.int32()),  # letters and digits
        ("whole", pa.uint64()),  # 40 bits of the hash of all of it
        ("grams", pa.list_(pa.uint64())),  # in order; the n-th begins at character 4 n, the last one 8 before the end
    ]
)

_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = np.uint64(0xD6E8FEB86659FD93)
_BITS: Final = 22


class Benchmark(NamedTuple):
    """One benchmark file: ``sha256`` of its bytes, its items, and how many are too short to be found."""

    name: str
    sha256: str
    items: int
    too_short: int


@njit(cache=True, nogil=True, inline="always")
def step(hashed: Any, point: Any) -> Any:
    """The hash with one more character."""
    return hashed * _BASE + np.uint64(point)


@njit(cache=True, nogil=True, inline="always")
def key_of(hashed: Any) -> Any:
    """40 bits of a polynomial hash."""
    return ((hashed ^ (hashed >> np.uint64(32))) * _MIX) >> np.uint64(24)


@njit(cache=True, nogil=True)
def key_of_stretch(points: Any, start: int, end: int) -> Any:
    """The key of the characters from ``start`` to ``end``."""
    hashed = np.uint64(0)
    for i in range(start, end):
        hashed = step(hashed, points[i])
    return key_of(hashed)


def gram_starts(n_chars: int) -> list[int]:
    """Where the grams of a unit of ``n_chars`` characters begin; a shorter unit has none."""
    return sorted({*range(0, n_chars - GRAM + 1, STRIDE), n_chars - GRAM}) if n_chars >= GRAM else []


def units_of(items: Sequence[Item], benchmark: int) -> pa.Table:
    """The units of a benchmark's items, in the INDEX schema."""
    texts: list[str] = []
    owners: list[tuple[int, str]] = []
    for number, item in enumerate(items, 1):
        for kind, text in (("stem", item.stem), *(("option", option) for option in item.options), ("passage", item.passage)):
            if text:
                texts.append(text)
                owners.append((number, kind))
    rows: list[dict[str, Any]] = []
    for text, (number, kind) in zip(texts, owners, strict=True):
        points = letters_of(text)[:MAX_UNIT]
        n = len(points)
        rows.append(
            {
                "benchmark": benchmark,
                "item": number,
                "kind": kind,
                "n_chars": n,
                "whole": int(key_of_stretch(points, 0, n)),
                "grams": [int(key_of_stretch(points, start, start + GRAM)) for start in gram_starts(n)],
            }
        )
    return pa.Table.from_pylist([row for row in rows if row["n_chars"]], schema=INDEX)


@dataclass(frozen=True)
class Index:
    """Units and grams of all benchmarks as flat arrays, ready to look through documents.

    Unit ``u`` has ``length[u]`` characters and the grams ``first[u]`` to ``first[u + 1]``; gram ``g`` begins at character
    ``place[g]`` and has number ``number[g]`` among the distinct ``keys`` (sorted). The grams of number ``k`` are
    ``grams[posted[k]:posted[k + 1]]``. ``slots`` and ``bitmap`` find the number of a key.
    """

    benchmarks: tuple[Benchmark, ...]
    benchmark: NDArray[np.int32]
    item: NDArray[np.int32]
    kind: NDArray[np.int8]
    length: NDArray[np.int32]
    whole: NDArray[np.uint64]
    first: NDArray[np.int64]
    owner: NDArray[np.int32]
    place: NDArray[np.int32]
    number: NDArray[np.int32]
    keys: NDArray[np.uint64]
    posted: NDArray[np.int64]
    grams: NDArray[np.int32]
    slots: NDArray[np.int32]
    bitmap: NDArray[np.uint64]

    @cached_property
    def generic(self) -> NDArray[np.bool_]:
        """The distinct grams that too many units have."""
        return np.diff(self.posted) > MAX_UNITS_A_GRAM

    @cached_property
    def searched(self) -> NDArray[np.bool_]:
        """The units that have a gram which is not generic: the others are never found by themselves."""
        found = np.zeros(len(self.length), np.bool_)
        found[self.owner[~self.generic[self.number]]] = True
        return found

    def units_of(self, benchmark: int, item: int) -> Sequence[int]:
        """The units of one item."""
        return self._by_item[benchmark, item]

    @cached_property
    def _by_item(self) -> dict[tuple[int, int], list[int]]:
        found: dict[tuple[int, int], list[int]] = {}
        for unit, owner in enumerate(zip(self.benchmark.tolist(), self.item.tolist(), strict=True)):
            found.setdefault(owner, []).append(unit)
        return found


def build(benchmarks: Iterable[Benchmark], units: pa.Table) -> Index:
    """The index of units in the INDEX schema, which may come from several files."""
    units = units.combine_chunks()
    lists = pa.concat_arrays(units["grams"].chunks) if units.num_rows else pa.array([], pa.list_(pa.uint64()))
    values = lists.flatten().to_numpy()
    first = lists.offsets.to_numpy().astype(np.int64) - (lists.offsets[0].as_py() if len(lists) else 0)
    length = units["n_chars"].to_numpy().astype(np.int32)
    owner = np.repeat(np.arange(len(length), dtype=np.int32), np.diff(first))
    place = np.array([at for n in length.tolist() for at in gram_starts(n)], np.int32)
    keys, number = np.unique(values, return_inverse=True)
    order = np.argsort(number, kind="stable").astype(np.int32)
    posted = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.bincount(number, minlength=len(keys)), out=posted[1:])
    slots = np.full(1 << max(4, (4 * len(keys)).bit_length()), -1, np.int32)
    bitmap = np.zeros(1 << (_BITS - 6), np.uint64)
    _fill(keys, slots, bitmap)
    kinds = {name: kind for kind, name in enumerate(KINDS)}
    return Index(
        tuple(benchmarks),
        units["benchmark"].to_numpy(),
        units["item"].to_numpy(),
        np.array([kinds[kind] for kind in units["kind"].to_pylist()], np.int8),
        length,
        units["whole"].to_numpy(),
        first,
        owner,
        place,
        number.astype(np.int32),
        keys,
        posted,
        order,
        slots,
        bitmap,
    )


@njit(cache=True, nogil=True)
def _fill(keys: Any, slots: Any, bitmap: Any) -> None:
    mask = np.uint64(slots.size - 1)
    for number in range(keys.size):
        key = keys[number]
        at = key & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = number
        bit = key >> np.uint64(40 - _BITS)
        bitmap[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@njit(cache=True, nogil=True, inline="always")
def find(key: Any, keys: Any, slots: Any, bitmap: Any) -> Any:
    """The number of a key, or -1."""
    bit = key >> np.uint64(40 - _BITS)
    if not (bitmap[bit >> np.uint64(6)] >> (bit & np.uint64(63))) & np.uint64(1):
        return -1
    mask = np.uint64(slots.size - 1)
    at = key & mask
    while slots[at] >= 0:
        if keys[slots[at]] == key:
            return slots[at]
        at = (at + np.uint64(1)) & mask
    return -1
