"""Packed token ids as a table in the TOKENS schema."""

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from lexmill.core.tokens.packing import Packing
from lexmill.schema import TOKENS


def build_shard(
    ids: NDArray[np.int32], starts: NDArray[np.int64], doc63: NDArray[np.int64], packing: Packing, seq_len: int, pad_id: int
) -> pa.Table:
    """One row a sequence of ``packing``: ``seq_len`` ids, padded with ``pad_id`` at the end, and the pieces they consist of.

    The tokens of document ``i``, its end-of-text included, are those of ``ids`` from ``starts[i]`` on; ``doc63`` is its short id
    (``ids.low63``). Raises ValueError where the sequences do not fit 32-bit list offsets (2,147,483,647 positions a shard).
    """
    n = packing.n_sequences
    if n * seq_len > np.iinfo(np.int32).max:
        raise ValueError("too many sequences for one shard")
    input_ids = np.empty(n * seq_len, np.int32)
    n_pad = np.empty(n, np.int32)
    source = starts[packing.doc] + packing.start
    _copy(ids, source, packing.length, packing.offsets, seq_len, pad_id, input_ids, n_pad)
    windows = np.arange(0, n * seq_len + 1, seq_len, dtype=np.int32)
    pieces = packing.offsets.astype(np.int32)
    return pa.Table.from_arrays(
        [
            _lists(windows, input_ids),
            _lists(pieces, doc63[packing.doc]),
            _lists(pieces, packing.length),
            _lists(pieces, packing.start),
            pa.array(n_pad),
        ],
        schema=TOKENS,
    )


def _lists(offsets: NDArray[np.int32], values: NDArray[np.int32] | NDArray[np.int64]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


@njit(cache=True, nogil=True)
def _copy(ids, source, length, bounds, seq_len, pad_id, out, n_pad):  # type: ignore[no-untyped-def]
    for s in range(n_pad.size):
        at = s * seq_len
        end = at + seq_len
        for p in range(bounds[s], bounds[s + 1]):
            for i in range(length[p]):
                out[at + i] = ids[source[p] + i]
            at += length[p]
        n_pad[s] = end - at
        out[at:end] = pad_id
