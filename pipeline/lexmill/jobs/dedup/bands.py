"""The bands of the signatures, with those of equal texts, identities and ids: sorted entries, a row group a band."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lexmill.core.dedup.identity import NO_KEY, hash64
from lexmill.core.dedup.signature import BANDS, SHINGLE, band_hashes, exact_hashes, unpack
from lexmill.core.dedup.sorting import sorted_order
from lexmill.jobs.dedup.steps import Run
from lexmill.schema import DOC_TYPES, SIGNATURE
from lexmill.store.stages import Receipt, StageFolder, Target

# A hash with its key and ordinal takes 24 bytes. Every task reads the band of every part, so they are better few.
HASHES_A_TASK = 16_000_000

# After the bands of the signature come two of one hash a document: equal texts, and what a document says it is.
ID_BAND = BANDS + 2
ALL_BANDS = BANDS + 3

SALTS = {doc_type: hash64(doc_type) for doc_type in DOC_TYPES}

# A row group a band.
BAND = pa.schema([("hash", pa.uint64()), ("key", pa.uint64()), ("row", pa.int32())])
# Sorted hashes: differences are shorter, and zstd finds nothing in them, nor in rows; keys are often 0.
_BAND_ENCODING = {"hash": "DELTA_BINARY_PACKED", "key": "PLAIN", "row": "PLAIN"}
_BAND_COMPRESSION = {"hash": "none", "key": "zstd", "row": "none"}


def hash_bands(this: Run, signed: Mapping[str, Any]) -> dict[str, Any]:
    """Step ``bands``."""
    tasks = [((this.step("signatures"), entry), entry["sha256"], int(entry["bytes"])) for entry in signed["parts"]]
    return this.go("bands", band_part, tasks)


def count_ranges(documents: int) -> int:
    """Into how many ranges of hashes the entries of a band are cut."""
    return max(1, -(-documents // HASHES_A_TASK))


def band_part(target: Target, signatures: StageFolder, entry: Mapping[str, Any]) -> Receipt:
    """The band entries of one part: one sorted row group for each band."""
    table = signatures.read(entry, SIGNATURE)
    keys, same = table["key"].to_numpy(), table["same"].to_numpy()
    signed = np.flatnonzero(table["n_chars"].to_numpy() >= SHINGLE)
    hashes = band_hashes(unpack(table["signature"])[signed])
    everyone, named = np.arange(table.num_rows), np.flatnonzero(same != NO_KEY)
    # Near copies and the same paper are of one type: the others need not meet.
    salts = np.array([SALTS[doc_type] for doc_type in table["doc_type"].to_pylist()], np.uint64)
    bands = [(signed, hashes[:, band] ^ salts[signed], keys[signed]) for band in range(BANDS)]
    bands.append((everyone, exact_hashes(table["exact"]), keys))
    bands.append((named, same[named] ^ salts[named], keys[named]))
    heads, tails = id_halves(table["doc_id"])
    bands.append((everyone, heads, tails))
    return write_bands(target, bands)


def write_bands(target: Target, bands: Sequence[tuple[Any, Any, Any]]) -> Receipt:
    """Write (rows ascending, hashes, keys) of each band as one row group, sorted by hash."""
    with target.writer(BAND, compression=_BAND_COMPRESSION, encoding=_BAND_ENCODING) as (writer, done):
        for rows, values, own in bands:
            order, hashes = sorted_order(values)
            columns = [hashes, own[order], rows[order].astype(np.int32)]
            writer.write_table(pa.table([pa.array(column) for column in columns], schema=BAND), row_group_size=1 << 30)
    return done[0]


def id_halves(doc_ids: pa.ChunkedArray) -> tuple[Any, Any]:
    """The two halves of each doc_id, as uint64."""
    raw = np.frombuffer(bytes.fromhex("".join(doc_ids.to_pylist())), np.dtype(">u8")).reshape(-1, 2).astype(np.uint64)
    return raw[:, 0], raw[:, 1]


def range_bounds(number: int, ranges: int) -> tuple[int, int]:
    """The half-open bounds of one of so many equal ranges of hashes."""
    return (number << 64) // ranges, ((number + 1) << 64) // ranges
