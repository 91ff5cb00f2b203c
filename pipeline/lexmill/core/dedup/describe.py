"""One SIGNATURE row a document: everything that later steps need to know of it but its text."""

import re
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.signature import pack, signatures
from lexmill.core.dedup.utf8 import Utf8, buffers, count_replacements
from lexmill.core.structure import casenumber
from lexmill.schema import SIGNATURE

NO_CASE: Final = 0
NO_DATE: Final = -(2**31)


# A court code with figures is the short name of a province and up to four of them (法〔2015〕137号); another one is misread.
_COURT_WITH_FIGURES = re.compile(r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙内陕吉闽贵黔粤青藏川宁琼军兵][0-9]{1,4}")


def case_key(number: str | None) -> int:
    """The 64-bit identity of the case number that ``number`` prints; ``NO_CASE`` if there is none or it is masked or garbled."""
    found = casenumber.find(number) if number else []
    key = casenumber.key(found[0]) if found else None
    if key is None or (re.search("[0-9]", found[0].court) and not _COURT_WITH_FIGURES.fullmatch(found[0].court)):
        return NO_CASE
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little") or 1


def _exact(copies: Utf8) -> pa.Array:
    view = copies.data.data
    bounds = pairwise(copies.offsets.tolist())
    digests = [blake2b(view[start:end], digest_size=16).digest() for start, end in bounds]
    return pa.array(digests, pa.binary(16))


def describe(table: pa.Table) -> pa.Table:
    """The SIGNATURE rows of a DOCUMENT_RAW table, in its order; ``date`` is that of the statute's version or of the judgment."""
    texts = buffers(table["text"])
    copies = comparison_copies(table["text"])
    meta = table["meta"].combine_chunks()
    dates = pc.coalesce(pc.struct_field(meta, "version_date"), pc.struct_field(meta, "judgment_date"))
    # A number in other papers (an exam on a case, a contract in dispute) is cited, not their own.
    numbers = pc.if_else(pc.equal(table["doc_type"], "judgment"), pc.struct_field(meta, "case_number"), None)
    columns = {
        "doc_id": table["doc_id"],
        "exact": _exact(buffers(copies)),
        "case_key": np.array([case_key(number) for number in numbers.to_pylist()], np.uint64),
        "n_chars": pc.utf8_length(copies).cast(pa.int32()),
        "n_fffd": count_replacements(texts.data, texts.offsets),
        "n_text": pc.utf8_length(table["text"]).cast(pa.int32()),
        "date": pc.fill_null(dates.cast(pa.int32()), NO_DATE),
        "signature": pack(signatures(copies)),
    }
    return pa.table(columns, schema=SIGNATURE)
