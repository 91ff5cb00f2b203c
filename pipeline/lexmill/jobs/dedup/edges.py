"""Star edges between the documents of a bucket, and the components that they make."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lexmill.core.dedup.cluster import Components, count_hot, shared_buckets, sorted_edges, star_edges
from lexmill.core.dedup.identity import NO_KEY
from lexmill.core.dedup.judge import MAX_BUCKET
from lexmill.core.dedup.sorting import distinct
from lexmill.jobs.dedup.bands import ID_BAND, count_ranges, range_bounds
from lexmill.jobs.dedup.identifiers import read_repeated
from lexmill.jobs.dedup.steps import Run
from lexmill.store import files
from lexmill.store.index import Entries, View
from lexmill.store.stages import Receipt, StageFolder, Target

_ENTRIES_AT_ONCE = 1 << 18

_EDGE = pa.schema([("low", pa.int64()), ("high", pa.int64()), ("apart", pa.int64())])
# ``component``: whom it may be a copy of, null if of nobody; ``kin``: whom it shares a bucket with.
_COMPONENT = pa.schema([("ordinal", pa.int64()), ("component", pa.int64()), ("kin", pa.int64())])


def join(this: Run, banded: Mapping[str, Any], repeated: Mapping[str, Any]) -> dict[str, Any]:
    """Steps ``edges`` and ``components``."""
    documents = this.firsts[-1]
    ranges = count_ranges(documents)
    tasks: list[Any] = [
        (
            (this.step("bands"), this.step("ids"), this.firsts, band, number, ranges, this.view),
            [banded["fingerprint"], repeated["fingerprint"], band, number, ranges, this.view.fingerprint],
            documents * 20 // ranges,
        )
        for band in range(ID_BAND)
        for number in range(ranges)
    ]
    edges = this.go("edges", find_edges, tasks)
    return this.go("components", join_edges, [((this.step("edges"),), edges["fingerprint"], 0)])


def find_edges(
    target: Target, bands: StageFolder, ids: StageFolder, firsts: list[int], band: int, number: int, ranges: int, view: View
) -> Receipt:
    """Star edges of one band's buckets in one range of hashes."""
    low, high = range_bounds(number, ranges)
    repeated = read_repeated(ids)["ordinal"].to_numpy()
    parts = []
    for path in bands.parts():
        table = files.parquet_file(path).read_row_group(band, use_threads=False)
        columns = [table[name].to_numpy() for name in ("hash", "key", "row")]
        if ranges > 1:
            start = int(np.searchsorted(columns[0], np.uint64(low)))
            end = columns[0].size if number == ranges - 1 else int(np.searchsorted(columns[0], np.uint64(high)))
            columns = [column[start:end].copy() for column in columns]
        parts.append(columns)
    # Ranges small enough for the processor's cache: what comes after takes no more time an entry, however many there are.
    cuts = -(-sum(hashes.size for hashes, *_ in parts) // _ENTRIES_AT_ONCE)
    limits = np.array([low + (high - low) * cut // cuts for cut in range(1, cuts)], np.uint64)
    ends = [[0, *np.searchsorted(hashes, limits).tolist(), hashes.size] for hashes, *_ in parts]
    found, hot = [np.empty((0, 3), np.int64)], 0
    for cut in range(cuts):
        new = Entries.joined(
            [
                Entries(hashes[own], keys[own], np.add(rows[own], first, dtype=np.int64))
                for first, (hashes, keys, rows), own in zip(
                    firsts, parts, (slice(*at[cut : cut + 2]) for at in ends), strict=False
                )
            ]
        )
        if repeated.size:
            new = new.where(~np.isin(new.ordinals, repeated))
        both = Entries.joined([_past_of(view, band, new), new]) if view.segments else new
        both = both.where(shared_buckets(both.hashes, both.keys, both.ordinals))
        found.append(star_edges(both.hashes, both.keys, both.ordinals))
        hot += count_hot(both.hashes, MAX_BUCKET)
    edges = sorted_edges(np.concatenate(found))
    table = pa.table([edges[:, 0], edges[:, 1], edges[:, 2]], schema=_EDGE)
    return target.write_work(table, tallies={"hot_bucket": hot})


def _past_of(view: View, band: int, new: Entries) -> Entries:
    """The entries of earlier runs that ``new`` ones may be compared to, the first of each bucket, with negative ordinals.

    A document without a key is compared to all of its bucket, one with a key to those of the same key; and the very first of a
    bucket leads to its family.
    """
    if not view.segments:
        return Entries.none()
    found = view.probe(band, distinct(new.hashes)).sorted()
    if not found.ordinals.size:
        return found
    open_ = np.isin(found.hashes, new.hashes[new.keys == NO_KEY])
    by_arrival = np.lexsort((found.ordinals, found.hashes))
    first_of_all = np.empty(found.hashes.size, bool)
    first_of_all[by_arrival] = _firsts(found.hashes[by_arrival], MAX_BUCKET)
    mixed = found.hashes ^ (found.keys * np.uint64(0x9E3779B97F4A7C15))
    of_key = np.isin(mixed, new.hashes ^ (new.keys * np.uint64(0x9E3779B97F4A7C15))) & _firsts(mixed, MAX_BUCKET)
    very_first = np.empty(found.hashes.size, bool)
    very_first[by_arrival] = _firsts(found.hashes[by_arrival], 1)
    return found.where((open_ & first_of_all) | of_key | very_first).before(view.limit)


def _firsts(groups: Any, number: int) -> Any:
    """Which of a run of equal neighbours are among its first ``number``."""
    at = np.arange(groups.size)
    starts = np.maximum.accumulate(np.where(np.concatenate([[True], groups[1:] != groups[:-1]]), at, 0))
    return at - starts < number


def join_edges(target: Target, edges: StageFolder) -> Receipt:
    """Components of two or more documents over the edges of all bands: of possible copies, and of kin."""
    bands = [files.parquet_file(path) for path in edges.parts()]
    groups = [file.metadata.row_group(number) for file in bands for number in range(file.metadata.num_row_groups)]
    groups = [group for group in groups if group.num_rows]
    first = min((group.column(0).statistics.min for group in groups), default=0)
    size = max((group.column(1).statistics.max + 1 for group in groups), default=first) - first
    kin, copies = Components(first, size), Components(first, size)
    for file in bands:
        table = file.read(use_threads=False)
        low, high, near = table["low"].to_numpy(), table["high"].to_numpy(), table["apart"].to_numpy() == 0
        kin.add(low, high, np.ones_like(near))
        copies.add(low, high, near)
    nodes, families = kin.labels()
    copied, labels = copies.labels()
    at = np.searchsorted(nodes, copied)
    component, alone = np.zeros(nodes.size, np.int64), np.ones(nodes.size, bool)
    component[at], alone[at] = labels, False
    table = pa.table([nodes, pa.array(component, mask=alone), families], schema=_COMPONENT)
    return target.write_work(table, row_group_size=1 << 16, extra={"copies": int(copied.size)})
