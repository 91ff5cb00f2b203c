"""A sample of a run's de-identified documents, the same for the same seed whatever the parts are called."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.errors import InputError
from lexmill.schema import DOCUMENT
from lexmill.store.stages import StageFolder
from lexmill.store.workspace import Workspace

# A group of one source and type is drawn from at most this many parts: each is read whole.
_MAX_PARTS = 16

Units = dict[str, int]


@dataclass(frozen=True)
class Sample:
    """Documents (schema DOCUMENT) in the order of their doc_id, and how many there are of each ``source/type`` in all.

    ``weights`` (float64[n]) say for how many documents of its group each stands.
    """

    documents: pa.Table
    weights: NDArray[np.float64]
    totals: dict[str, Units]


def draw(workspace: Workspace, size: int, seed: int) -> Sample:
    """At most ``size`` documents of every source and type, by a hash of (seed, doc_id) within parts chosen by a hash.

    Raises InputError where the run has not come to its stage deidentify: what people look at is masked.
    """
    folder = workspace.stage("deidentify")
    manifest = folder.manifest()
    if manifest is None:
        raise InputError("there is nothing de-identified yet to look at; run `lexmill run CONFIG --until deidentify` first")
    quotas = _quotas(folder, [str(entry["fingerprint"]) for entry in manifest["parts"]], size, seed)
    chosen = [_choose(folder.read(manifest["parts"][number], DOCUMENT), quotas[number], seed) for number in sorted(quotas)]
    documents = pa.concat_tables(chosen).sort_by("doc_id") if chosen else DOCUMENT.empty_table()
    totals = {group: dict(units) for group, units in sorted(manifest["counts"].get("out", {}).items())}
    groups = _groups(documents)
    drawn: dict[str, int] = defaultdict(int)
    for group in groups:
        drawn[group] += 1
    weights = np.array([totals[group]["docs"] / drawn[group] for group in groups], np.float64)
    return Sample(documents, weights, totals)


def _quotas(folder: StageFolder, fingerprints: list[str], size: int, seed: int) -> dict[int, dict[str, int]]:
    """How many documents of which group to take from which part."""
    holders: dict[str, list[int]] = defaultdict(list)
    receipts = folder.receipts()
    for number in range(len(fingerprints)):
        receipt = receipts.get(number)
        for group in sorted(receipt.counts.get("out", {})) if receipt else ():
            holders[group].append(number)
    quotas: dict[int, dict[str, int]] = defaultdict(dict)
    for group, numbers in holders.items():
        parts = sorted(numbers, key=lambda number: _hash(seed, f"{group}\0{fingerprints[number]}"))[:_MAX_PARTS]
        for number in parts:
            quotas[number][group] = -(-size // len(parts))
    return quotas


def _choose(table: pa.Table, quota: dict[str, int], seed: int) -> pa.Table:
    """The documents of a part with the least hashes, at most ``quota`` of each group."""
    ids = table["doc_id"].to_pylist()
    left = dict(quota)
    rows = []
    groups = _groups(table)
    for row in sorted(range(len(ids)), key=lambda row: _hash(seed, ids[row])):
        if left.get(groups[row], 0):
            left[groups[row]] -= 1
            rows.append(row)
    return table.take(sorted(rows))


def _groups(table: pa.Table) -> list[str]:
    return [
        f"{source}/{doc_type}"
        for source, doc_type in zip(table["source"].to_pylist(), table["doc_type"].to_pylist(), strict=True)
    ]


def _hash(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=16).digest()
