"""Documents under a doc_id that an earlier document has."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lexmill.core.dedup.sorting import distinct
from lexmill.jobs.dedup.bands import ID_BAND, count_ranges, id_halves, range_bounds
from lexmill.jobs.dedup.steps import Run
from lexmill.store import files
from lexmill.store.index import View
from lexmill.store.stages import Receipt, StageFolder, Target

ID_USED_TWICE = "dedup.id_used_twice"

_REPEATED = pa.schema([("ordinal", pa.int64()), ("twin_ordinal", pa.int64()), ("twin", pa.string()), ("same_text", pa.bool_())])


def find_used_ids(this: Run, digests: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Step ``ids``, over the ids and digests of the step named."""
    documents = this.firsts[-1]
    ranges = count_ranges(documents)
    tasks = [
        (
            (this.step(digests), this.firsts, number, ranges, this.view),
            [manifest["fingerprint"], number, ranges, this.view.fingerprint],
            documents * 16,
        )
        for number in range(ranges)
    ]
    return this.go("ids", find_repeated, tasks)


def _in_range(values: Any, number: int, ranges: int) -> Any:
    low, high = range_bounds(number, ranges)
    mask = values >= np.uint64(low)
    return mask if number == ranges - 1 else mask & (values < np.uint64(high))


def find_repeated(target: Target, signatures: StageFolder, firsts: list[int], number: int, ranges: int, view: View) -> Receipt:
    """Documents whose doc_id an earlier document has too: a record id that is not unique in its file, or one of another night."""
    heads, tails, exacts, ordinals = [], [], [], []
    for first, path in zip(firsts, signatures.parts(), strict=False):
        table = files.read_columns(path, columns=["doc_id", "exact"])
        head, tail = id_halves(table["doc_id"])
        exact = np.frombuffer(b"".join(table["exact"].to_pylist()), np.dtype("<u8")).reshape(-1, 2)
        mine = np.flatnonzero(_in_range(head, number, ranges))
        heads.append(head[mine])
        tails.append(tail[mine])
        exacts.append(exact[mine])
        ordinals.append(first + mine)
    past = view.probe(ID_BAND, distinct(np.concatenate(heads))).by_ordinal()
    known = view.documents(past.ordinals, ["ordinal", "exact"])
    heads.append(past.hashes)
    tails.append(past.keys)
    exacts.append(np.frombuffer(b"".join(known["exact"].to_pylist()), np.dtype("<u8")).reshape(-1, 2))
    ordinals.append(past.ordinals - view.limit)
    head, tail, ordinal = np.concatenate(heads), np.concatenate(tails), np.concatenate(ordinals)
    exact = np.concatenate(exacts)
    order = np.lexsort((ordinal, tail, head))
    head, tail, ordinal, exact = head[order], tail[order], ordinal[order], exact[order]
    again = np.flatnonzero((head[1:] == head[:-1]) & (tail[1:] == tail[:-1])) + 1
    starts = np.flatnonzero(np.concatenate([[True], (head[1:] != head[:-1]) | (tail[1:] != tail[:-1])]))
    first_of = starts[np.searchsorted(starts, again, side="right") - 1] if len(again) else again
    rows = sorted(
        (
            int(ordinal[at]),
            int(ordinal[first]),
            f"{int(head[at]):016x}{int(tail[at]):016x}",
            bool((exact[at] == exact[first]).all()),
        )
        for at, first in zip(again, first_of, strict=True)
    )
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_REPEATED)
    return target.write_work(pa.table([list(column) for column in columns], schema=_REPEATED))


def read_repeated(folder: StageFolder) -> pa.Table:
    """What step ``ids`` found."""
    return pa.concat_tables([files.read_columns(path) for path in folder.parts()])
