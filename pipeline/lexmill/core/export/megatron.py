"""Megatron-LM's indexed dataset (``.bin`` and ``.idx``): token ids in a row, and an index of where each document begins.

Layout: megatron/core/datasets/indexed_dataset.py of Megatron-LM. The ``.bin`` holds little-endian int32 ids. The ``.idx``::

    9 bytes   MMIDIDX and two zero bytes
    uint64    version, 1
    uint8     type code, 4 = int32
    uint64    n, sequences
    uint64    d, document borders (documents + 1)
    int32[n]  tokens of each sequence
    int64[n]  byte offset of each sequence in the .bin
    int64[d]  sequence at which each document begins, and n
"""

import struct
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MAGIC = b"MMIDIDX\x00\x00"
_VERSION = 1
_INT32 = 4


@dataclass
class Index:
    """Collects the pieces written to a ``.bin``; each is a sequence and a document of its own, end-of-text included."""

    sizes: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, shard: pa.RecordBatch) -> bytes:
        """The ids of all pieces of a batch of TOKENS rows as they go into the ``.bin``: no padding, no repeated heading."""
        pieces = []
        for row in range(shard.num_rows):
            ids = shard["input_ids"][row].values.to_numpy()
            at = 0
            lengths, heads = (shard[name][row].values.to_numpy() for name in ("doc_lens", "head_lens"))
            for length, head in zip(lengths, heads, strict=True):
                pieces.append(ids[at + head : at + length])
                at += length
        self.sizes.append(np.array([piece.size for piece in pieces], np.int32))
        return b"".join(piece.astype("<i4").tobytes() for piece in pieces)

    def to_bytes(self) -> bytes:
        """The ``.idx``."""
        sizes = np.concatenate([np.zeros(0, np.int32), *self.sizes])
        begins = np.zeros(sizes.size, np.int64)
        np.cumsum(sizes[:-1].astype(np.int64) * 4, out=begins[1:])
        documents = np.arange(sizes.size + 1, dtype=np.int64)
        head = _MAGIC + struct.pack("<QBQQ", _VERSION, _INT32, sizes.size, documents.size)
        return b"".join((head, sizes.astype("<i4").tobytes(), begins.astype("<i8").tobytes(), documents.astype("<i8").tobytes()))
