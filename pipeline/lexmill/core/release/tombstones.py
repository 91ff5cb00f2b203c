"""Tombstones: keyed hashes by which a document that was taken down is known again, and from which nothing can be read.

Every value is blake2b with the workspace's secret as its key (RFC 7693, 2.9). A document is known by its id, by its comparison
copy, by its case number, or by its likeness: of the 128 values of its MinHash signature each of 64 pairs is hashed; at Jaccard
index J a pair agrees with probability J², so 34 of 64 stand for J = .73. By the binomial distribution a copy at .8 is found in 97
of 100, and another document at .6 taken for one in 4 of 1,000.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.signature import SHINGLE, pack, signatures
from lexmill.core.dedup.utf8 import buffers
from lexmill.core.structure import casenumber

PAIRS: Final = 64
ALIKE: Final = 34
_PAIR_BYTES: Final = 8

TOMBSTONE = pa.schema(
    [
        ("document", pa.binary(16)),  # keyed hash of the doc_id
        ("short", pa.binary(16)),  # of its low 63 bits, which stand in shards
        ("exact", pa.binary(16)),  # of the comparison copy's digest; null where the text was not there any more
        ("case", pa.binary(16)),  # of the case number; null without one
        ("pairs", pa.binary(PAIRS * _PAIR_BYTES)),  # of pairs of signature values; null for texts too short to have one
        ("day", pa.date32()),
    ]
)


def keyed(secret: bytes, kind: str, value: bytes, size: int = 16) -> bytes:
    """The keyed hash of a value of one kind."""
    return blake2b(value, digest_size=size, key=secret, person=kind.encode()).digest()


def case_of(number: str | None) -> str | None:
    """The identity of a well-formed case number, whatever its brackets and width."""
    found = next(iter(casenumber.find(number)), None) if number else None
    return casenumber.key(found) if found else None


def keyed_pairs(secret: bytes, signature: bytes) -> bytes:
    """Keyed hashes of the pairs of a signature (512 bytes)."""
    return b"".join(keyed(secret, f"pair {at}", signature[8 * at : 8 * at + 8], _PAIR_BYTES) for at in range(PAIRS))


@dataclass(frozen=True)
class Marks:
    """How documents are known: a comparison copy's digest and a signature each (None where there is none)."""

    exact: list[bytes]
    signature: list[bytes | None]


def marks_of(texts: pa.ChunkedArray) -> Marks:
    """The marks of texts (a string column)."""
    copies = comparison_copies(texts)
    packed = pack(signatures(copies)).to_pylist()
    found = buffers(copies)
    view, bounds = found.data.data, found.offsets.tolist()
    digests = [blake2b(view[start:end], digest_size=16).digest() for start, end in pairwise(bounds)]
    lengths = [len(bytes(view[start:end]).decode()) for start, end in pairwise(bounds)]
    return Marks(digests, [one if n >= SHINGLE else None for one, n in zip(packed, lengths, strict=True)])


@dataclass(frozen=True)
class Tombstones:
    """All tombstones of a workspace, and the secret that they are keyed with."""

    secret: bytes
    documents: frozenset[bytes]
    shorts: frozenset[bytes]
    exacts: frozenset[bytes]
    cases: frozenset[bytes]
    pairs: NDArray[np.uint64]  # [n, 64]

    @staticmethod
    def of(table: pa.Table, secret: bytes) -> "Tombstones":
        """From the rows of TOMBSTONE."""
        columns = {name: [value for value in table[name].to_pylist() if value is not None] for name in TOMBSTONE.names}
        return Tombstones(
            secret,
            frozenset(columns["document"]),
            frozenset(columns["short"]),
            frozenset(columns["exact"]),
            frozenset(columns["case"]),
            np.frombuffer(b"".join(columns["pairs"]), np.uint64).reshape(-1, PAIRS),
        )

    def is_document(self, doc_id: str) -> bool:
        """Whether this doc_id was taken down."""
        return keyed(self.secret, "document", doc_id.encode()) in self.documents

    def is_short(self, short: int) -> bool:
        """Whether these low 63 bits are those of a document that was taken down."""
        return keyed(self.secret, "short", str(short).encode()) in self.shorts

    def is_case(self, number: str | None) -> bool:
        """Whether this is the case number of a document that was taken down."""
        key = case_of(number)
        return key is not None and keyed(self.secret, "case", key.encode()) in self.cases

    def bury(self, doc_ids: Sequence[str], numbers: Sequence[str | None], texts: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Which of these documents were taken down, or are copies of what was."""
        buried = np.zeros(len(doc_ids), bool)
        marks = marks_of(texts)
        for at, (doc_id, number, exact, signature) in enumerate(zip(doc_ids, numbers, marks.exact, marks.signature, strict=True)):
            buried[at] = (
                self.is_document(doc_id)
                or self.is_case(number)
                or keyed(self.secret, "exact", exact) in self.exacts
                or (signature is not None and self._is_alike(signature))
            )
        return buried

    def _is_alike(self, signature: bytes) -> bool:
        if not len(self.pairs):
            return False
        mine = np.frombuffer(keyed_pairs(self.secret, signature), np.uint64)
        return bool(((self.pairs == mine).sum(axis=1) >= ALIKE).any())


def tombstone(
    secret: bytes, doc_id: str, short: int, number: str | None, exact: bytes | None, signature: bytes | None, day: Any
) -> dict[str, Any]:
    """A row of TOMBSTONE for one document."""
    key = case_of(number)
    return {
        "document": keyed(secret, "document", doc_id.encode()),
        "short": keyed(secret, "short", str(short).encode()),
        "exact": None if exact is None else keyed(secret, "exact", exact),
        "case": None if key is None else keyed(secret, "case", key.encode()),
        "pairs": None if signature is None else keyed_pairs(secret, signature),
        "day": day,
    }
