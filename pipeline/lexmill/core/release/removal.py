"""Documents leave a shard: their pieces go, what stands beside them closes up, and sequences that held nothing else go too.

No text and no tokeniser is needed, and the other documents keep their tokens. Padding grows by what went; ``lexmill reshuffle``
packs anew.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_ROWS = ("input_ids", "n_pad")  # columns by sequence; every other one is by piece


def without(table: pa.Table, gone: NDArray[np.int64], seq_len: int | None, pad_id: int) -> pa.Table:
    """A shard (TOKENS) without the documents of these short ids; rows keep ``seq_len`` tokens, or, without it, what they hold."""
    table = table.combine_chunks()
    owners = table["doc_ids"].chunk(0) if table.num_rows else pa.array([], table.schema.field("doc_ids").type)
    leaves = np.isin(owners.values.to_numpy(), gone)
    if not leaves.any():
        return table
    offsets = owners.offsets.to_numpy().astype(np.int64)
    row_of = np.repeat(np.arange(table.num_rows), np.diff(offsets))
    kept = np.bincount(row_of[~leaves], minlength=table.num_rows)
    rows = np.flatnonzero(kept)  # every row of a shard holds a piece
    bounds = np.concatenate([[0], np.cumsum(kept[rows])]).astype(np.int32)
    columns: dict[str, Any] = {}
    for name in table.schema.names:
        if name not in _ROWS:
            values = table[name].chunk(0).values.filter(pa.array(~leaves))
            columns[name] = pa.ListArray.from_arrays(pa.array(bounds), values)
    tokens = _tokens(table, leaves, row_of)
    held = np.bincount(row_of[~leaves], table["doc_lens"].chunk(0).values.to_numpy()[~leaves], table.num_rows)[rows].astype(
        np.int64
    )
    sizes = held if seq_len is None else np.full(len(rows), seq_len, np.int64)
    ends = np.cumsum(sizes)
    ids = np.full(int(sizes.sum()), pad_id, np.int32)
    at = np.repeat(ends - sizes - np.concatenate([[0], np.cumsum(held)[:-1]]), held) + np.arange(len(tokens))
    ids[at] = tokens
    columns["input_ids"] = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]).astype(np.int32)), pa.array(ids))
    columns["n_pad"] = pa.array((sizes - held).astype(np.int32))
    return pa.Table.from_arrays([columns[name] for name in table.schema.names], schema=table.schema)


def _tokens(table: pa.Table, leaves: NDArray[np.bool_], row_of: NDArray[np.int64]) -> NDArray[np.int32]:
    """The tokens of the pieces that stay, one after the other."""
    inputs = table["input_ids"].chunk(0)
    ids = inputs.values.to_numpy()
    lengths = table["doc_lens"].chunk(0).values.to_numpy().astype(np.int64)
    row_starts = inputs.offsets.to_numpy().astype(np.int64)[:-1]
    before = np.cumsum(lengths) - lengths
    first = np.searchsorted(row_of, np.arange(table.num_rows))
    starts = row_starts[row_of] + before - before[first][row_of]
    starts, lengths = starts[~leaves], lengths[~leaves]
    ends = np.cumsum(lengths)
    return ids[np.repeat(starts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))]


def count(table: pa.Table) -> dict[str, int]:
    """What a manifest counts of a shard (``body.SHARD_COUNTS``); a document is cut where it stands in several pieces."""
    pieces = np.stack([_by_piece(table, name) for name in ("doc_ids", "repeats")], axis=1)
    written, numbers = np.unique(pieces, axis=0, return_counts=True)
    return {
        "documents": len(written),
        "tokens": int(_by_piece(table, "doc_lens").sum()),
        "headings": int(_by_piece(table, "head_lens").sum()),
        "sequences": table.num_rows,
        "padding": int(pc.sum(table["n_pad"]).as_py() or 0),
        "cut": int((numbers > 1).sum()),
    }


def spent_by_document(table: pa.Table, gone: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """(copies, their tokens) of these documents in a shard, by short id; repeated headings are left out."""
    ids = _by_piece(table, "doc_ids")
    mine = np.isin(ids, gone)
    ids, repeats = ids[mine], _by_piece(table, "repeats")[mine]
    lengths = (_by_piece(table, "doc_lens") - _by_piece(table, "head_lens"))[mine]
    return {int(doc_id): (np.unique(repeats[ids == doc_id]).size, int(lengths[ids == doc_id].sum())) for doc_id in np.unique(ids)}


def _by_piece(table: pa.Table, name: str) -> NDArray[np.int64]:
    return pc.list_flatten(table[name].combine_chunks()).to_numpy(zero_copy_only=False).astype(np.int64)
