"""One SIGNATURE row a document: everything that later steps need to know of it but its text."""

from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.compare import comparison_copies, copy_points, encode, room_for_copies
from lexmill.core.dedup.identity import (
    HEADING,
    NO_CASE,
    NO_DATE,
    NO_KEY,
    NO_TRIAL,
    PREAMBLE,
    case_key,
    fold_title,
    preamble,
    question,
    same_item,
    same_paper,
    same_title,
    trial,
    version,
)
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.signature import NUM_PERM, pack, permutations, sign_points
from lexmill.core.dedup.utf8 import Utf8, buffers, longest
from lexmill.core.kernels import njit
from lexmill.schema import DOC_TYPES, SIGNATURE

# The columns of DOCUMENT_RAW that are looked at.
READ: Final = ("doc_id", "doc_type", "text", "meta", "segments")


def exact_digests(copies: Utf8) -> pa.Array:
    """blake2b-128 of every comparison copy."""
    view = copies.data.data
    bounds = pairwise(copies.offsets.tolist())
    digests = [blake2b(view[start:end], digest_size=16).digest() for start, end in bounds]
    return pa.array(digests, pa.binary(16))


@njit(cache=True, nogil=True)
def _describe(data: Any, offsets: Any, a: Any, b: Any, out: Any, ends: Any, counts: Any, signed: Any) -> None:
    most = longest(offsets)
    points, hashes, mixed = np.empty(most, np.uint32), np.empty(most, np.uint64), np.empty(most, np.uint32)
    ends[0] = 0
    for d in range(offsets.size - 1):
        n, counts[1, d], counts[2, d] = copy_points(data, offsets[d], offsets[d + 1], points)
        counts[0, d], ends[d + 1] = n, encode(points, n, out, ends[d])
        sign_points(points, n, a, b, hashes, mixed, signed[d])


def _copy_and_sign(texts: Utf8) -> tuple[Utf8, dict[str, Any]]:
    """The comparison copies of ``texts``, and the columns that come from the characters alone: each is read once."""
    n = texts.offsets.size - 1
    out, ends = room_for_copies(texts)
    counts, signed = np.empty((3, n), np.int32), np.empty((n, NUM_PERM), np.uint32)
    _describe(*texts, *permutations(), out, ends, counts, signed)
    n_chars, n_text, n_fffd = counts
    return Utf8(out, ends), {"n_chars": n_chars, "n_text": n_text, "n_fffd": n_fffd, "signature": pack(signed)}


def describe(table: pa.Table, rules: DedupRules) -> pa.Table:
    """The SIGNATURE rows of a DOCUMENT_RAW table (its columns ``READ``), in its order.

    ``date`` is that of the statute's version or of the judgment.
    """
    copies, about = _copy_and_sign(buffers(table["text"]))
    meta = table["meta"].combine_chunks()
    dates = pc.coalesce(pc.struct_field(meta, "version_date"), pc.struct_field(meta, "judgment_date"))
    columns = {
        "doc_id": table["doc_id"],
        "doc_type": table["doc_type"],
        **about,
        "exact": exact_digests(copies),
        "date": pc.fill_null(dates.cast(pa.int32()), NO_DATE),
        **_identities(table, meta, rules),
    }
    return pa.table([columns[name] for name in SIGNATURE.names], schema=SIGNATURE)


def _identities(table: pa.Table, meta: pa.Array, rules: DedupRules) -> dict[str, Any]:
    """The columns that say what each document is, by its type."""
    n = table.num_rows
    cases, same = np.full(n, NO_CASE, np.uint64), np.full(n, NO_KEY, np.uint64)
    trials = np.full(n, NO_TRIAL, np.int8)
    titles, versions = np.full(n, None, object), np.full(n, None, object)
    options: list[list[int]] = [[]] * n
    doc_types = np.array(table["doc_type"].to_pylist(), object)

    def of(rows: Any, *fields: str) -> list[list[Any]]:
        return [pc.struct_field(meta, field).take(rows).to_pylist() for field in fields]

    def opening(rows: Any, length: int) -> list[str]:
        return pc.utf8_slice_codeunits(table["text"], 0, length).take(rows).to_pylist()

    rows = np.flatnonzero(doc_types == "judgment")
    if rows.size:
        # A number in other papers (an exam on a case, a contract in dispute) is cited, not their own.
        numbers, courts, kinds, levels = of(rows, "case_number", "court", "document_kind", "trial_level")
        found = [case_key(number, court) for number, court in zip(numbers, courts, strict=True)]
        cases[rows], trials[rows] = found, [trial(level) for level in levels]
        about = zip(found, kinds, levels, opening(rows, HEADING), strict=True)
        same[rows] = [same_paper(*paper) for paper in about]
    for row in np.flatnonzero(doc_types == "exam").tolist():
        same[row], options[row] = same_item(table["text"][row].as_py(), table["segments"][row].as_py())
    rows = np.flatnonzero(doc_types == "exam")
    if rows.size:
        titles[rows] = of(rows, "answer")[0]
    for row in np.flatnonzero(doc_types == "qa").tolist():
        titles[row] = question(table["text"][row].as_py(), table["segments"][row].as_py())
    rows = np.flatnonzero(doc_types == "statute")
    if rows.size:
        printed, dates, jurisdictions = of(rows, "statute_title", "version_date", "jurisdiction")
        folded = [fold_title(title) for title in comparison_copies(pa.array(printed, pa.string()).fill_null("")).to_pylist()]
        titles[rows] = folded
        same[rows] = [same_title(*law) for law in zip(jurisdictions, folded, strict=True)]
        dated = zip(dates, opening(rows, PREAMBLE), strict=True)
        versions[rows] = [version(str(date or ""), preamble(text))[1] for date, text in dated]
    splits = [doc_type for doc_type in DOC_TYPES if rules.splits(doc_type)]
    return {
        "case_key": cases,
        "trial": trials,
        "title": pa.array(titles, pa.string()),
        "version": pa.array(versions, pa.string()),
        "key": np.where(np.isin(doc_types.astype(str), splits), cases, np.uint64(NO_KEY)),
        "same": same,
        "options": pa.array(options, pa.list_(pa.uint64())),
    }
