"""Documents as an Arrow table, made column by column: nested rows one by one cost as much as finding what is in them."""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from lexmill.core.structure.segment import Segment
from lexmill.schema import DOCUMENT_RAW, META, SEGMENT


def documents_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """The table (DOCUMENT_RAW) of rows with a value for every column; ``meta`` is a dict of META, ``segments`` are Segments."""
    columns = []
    for field in DOCUMENT_RAW:
        values = [row[field.name] for row in rows]
        if field.name == "meta":
            columns.append(_meta(values))
        elif field.name == "segments":
            columns.append(_segments(values))
        else:
            columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=DOCUMENT_RAW)


def _meta(metas: Sequence[dict[str, Any]]) -> pa.StructArray:
    return pa.StructArray.from_arrays(
        [pa.array([meta[field.name] for meta in metas], field.type) for field in META], fields=list(META)
    )


def _segments(documents: Sequence[Sequence[Segment]]) -> pa.ListArray:
    columns = list(zip(*chain.from_iterable(documents), strict=True)) or [()] * SEGMENT.num_fields
    parts = pa.StructArray.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, SEGMENT, strict=True)], fields=list(SEGMENT)
    )
    return pa.ListArray.from_arrays(pa.array(accumulate(map(len, documents), initial=0), pa.int32()), parts)
