"""One SIGNATURE row a document: everything that later steps need to know of it but its text."""

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.identity import (
    NO_CASE,
    NO_DATE,
    NO_KEY,
    NO_TRIAL,
    case_key,
    fold_title,
    preamble,
    same_item,
    same_paper,
    same_title,
    trial,
    version,
)
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.signature import pack, signatures
from lexmill.core.dedup.utf8 import Utf8, buffers, count_replacements
from lexmill.schema import SIGNATURE


def exact_digests(copies: Utf8) -> pa.Array:
    """blake2b-128 of every comparison copy."""
    view = copies.data.data
    bounds = pairwise(copies.offsets.tolist())
    digests = [blake2b(view[start:end], digest_size=16).digest() for start, end in bounds]
    return pa.array(digests, pa.binary(16))


def describe(table: pa.Table, rules: DedupRules) -> pa.Table:
    """The SIGNATURE rows of a DOCUMENT_RAW table, in its order; ``date`` is that of the statute's version or of the judgment."""
    texts = buffers(table["text"])
    copies = comparison_copies(table["text"])
    meta = table["meta"].combine_chunks()
    dates = pc.coalesce(pc.struct_field(meta, "version_date"), pc.struct_field(meta, "judgment_date"))
    columns = {
        "doc_id": table["doc_id"],
        "doc_type": table["doc_type"],
        "exact": exact_digests(buffers(copies)),
        "n_chars": pc.utf8_length(copies).cast(pa.int32()),
        "n_fffd": count_replacements(texts.data, texts.offsets),
        "n_text": pc.utf8_length(table["text"]).cast(pa.int32()),
        "date": pc.fill_null(dates.cast(pa.int32()), NO_DATE),
        "signature": pack(signatures(copies)),
        **_identities(table, meta, rules),
    }
    return pa.table([columns[name] for name in SIGNATURE.names], schema=SIGNATURE)


def _identities(table: pa.Table, meta: pa.Array, rules: DedupRules) -> dict[str, Any]:
    """The columns that say what each document is, by its type."""
    n = table.num_rows
    cases, same = np.full(n, NO_CASE, np.uint64), np.full(n, NO_KEY, np.uint64)
    trials = np.full(n, NO_TRIAL, np.int8)
    titles: list[str | None] = [None] * n
    versions: list[str | None] = [None] * n
    options: list[list[int]] = [[]] * n
    keys = np.full(n, NO_KEY, np.uint64)
    doc_types = table["doc_type"].to_pylist()
    splits = {doc_type: rules.splits(doc_type) for doc_type in set(doc_types)}
    for row, doc_type in enumerate(doc_types):
        if doc_type in ("judgment", "statute"):
            about = meta[row].as_py()
        if doc_type == "judgment":
            # A number in other papers (an exam on a case, a contract in dispute) is cited, not their own.
            case = case_key(about["case_number"], about["court"])
            cases[row], trials[row] = case, trial(about)
            if case != NO_CASE:
                same[row] = same_paper(case, about, table["text"][row].as_py())
        elif doc_type == "exam":
            same[row], options[row] = same_item(table["text"][row].as_py(), table["segments"][row].as_py())
        elif doc_type == "statute":
            text = table["text"][row].as_py()
            titles[row] = fold_title(about["statute_title"])
            versions[row] = version(str(about["version_date"] or ""), preamble(text))[1]
            same[row] = same_title(about)
        if splits[doc_type]:
            keys[row] = cases[row]
    return {
        "case_key": cases,
        "trial": trials,
        "title": pa.array(titles, pa.string()),
        "version": pa.array(versions, pa.string()),
        "key": keys,
        "same": same,
        "options": pa.array(options, pa.list_(pa.uint64())),
    }
