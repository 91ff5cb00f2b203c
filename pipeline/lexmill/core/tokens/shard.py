"""Packed token ids as a table in the TOKENS schema."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.kernels import njit
from lexmill.core.tokens.packing import Packing
from lexmill.schema import TOKENS


class Documents(NamedTuple):
    """The documents that a packing's pieces number: ``ids`` from ``first[i]`` on are the tokens of document ``i``.

    ``heading`` is where the tokens of its heading begin, ``short_id`` what ``ids.low63`` makes of its doc_id, ``repeat`` how
    often it was written before; ``source`` and ``doc_type`` are string arrays.
    """

    ids: NDArray[np.int32]
    first: NDArray[np.int64]
    heading: NDArray[np.int64]
    short_id: NDArray[np.int64]
    repeat: NDArray[np.int32]
    source: pa.Array
    doc_type: pa.Array


def build_shard(documents: Documents, packing: Packing, seq_len: int | None, pad_id: int) -> pa.Table:
    """One row a sequence of ``packing``: the ids, and the pieces they consist of.

    Each row has ``seq_len`` ids, padded with ``pad_id`` at the end; without ``seq_len`` as many as its pieces have. Raises
    ValueError where the sequences do not fit 32-bit list offsets (2,147,483,647 positions a shard).
    """
    pieces = packing.pieces
    filled = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces.size, dtype=np.int64)])[packing.offsets]
    windows = filled if seq_len is None else np.arange(packing.n_sequences + 1, dtype=np.int64) * seq_len
    if windows[-1] > np.iinfo(np.int32).max:
        raise ValueError("too many sequences for one shard")
    input_ids = np.full(windows[-1], pad_id, np.int32)
    heads = documents.heading[pieces.doc]
    tokens = documents.first[pieces.doc] + pieces.start
    _copy(documents.ids, heads, pieces.head, tokens, pieces.length, packing.offsets, windows, input_ids)
    owner = pa.array(pieces.doc)
    columns = {
        "input_ids": _lists(windows, input_ids),
        "doc_ids": documents.short_id[pieces.doc],
        "doc_lens": pieces.size,
        "doc_starts": pieces.start,
        "n_pad": pa.array((np.diff(windows) - np.diff(filled)).astype(np.int32)),
        "head_lens": pieces.head,
        "char_starts": pieces.char_start,
        "char_ends": pieces.char_end,
        "repeats": documents.repeat[pieces.doc],
        "sources": documents.source.take(owner),
        "doc_types": documents.doc_type.take(owner),
    }
    return pa.Table.from_arrays(
        [columns[name] if name in ("input_ids", "n_pad") else _lists(packing.offsets, columns[name]) for name in TOKENS.names],
        schema=TOKENS,
    )


def _lists(offsets: NDArray[np.int64], values: NDArray[np.int32] | NDArray[np.int64] | pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), values if isinstance(values, pa.Array) else pa.array(values)
    )


@njit(cache=True, nogil=True)
def _copy(ids, heads, head, tokens, length, bounds, windows, out):  # type: ignore[no-untyped-def]
    for s in range(bounds.size - 1):
        at = windows[s]
        for p in range(bounds[s], bounds[s + 1]):
            for i in range(head[p]):
                out[at + i] = ids[heads[p] + i]
            at += head[p]
            for i in range(length[p]):
                out[at + i] = ids[tokens[p] + i]
            at += length[p]
