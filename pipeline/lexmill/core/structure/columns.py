"""Documents as an Arrow table, filled column by column: rows of nested values cost as much as finding what is in them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lexmill.schema import DOCUMENT_RAW, META, SEGMENT

_NESTED = ("meta", "segments")
# What dedup finds out.
_LATER = ("family_id", "family_size")


class DocumentColumns:
    """Collects documents; nothing but plain values is kept, so that many segments are no work for the garbage collector."""

    def __init__(self) -> None:
        self._plain: dict[str, list[Any]] = {name: [] for name in DOCUMENT_RAW.names if name not in (*_NESTED, *_LATER)}
        self._meta: dict[str, list[Any]] = {field.name: [] for field in META}
        self._segments: dict[str, list[Any]] = {field.name: [] for field in SEGMENT}
        self._offsets = [0]

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in one document: a value for every column of DOCUMENT_RAW that ingest knows.

        ``meta`` is a mapping, ``segments`` a list of Segment.
        """
        for name, values in self._plain.items():
            values.append(row[name])
        for name, values in self._meta.items():
            values.append(row["meta"][name])
        for values, found in zip(self._segments.values(), zip(*row["segments"], strict=True), strict=False):
            values.extend(found)
        self._offsets.append(self._offsets[-1] + len(row["segments"]))

    def table(self) -> pa.Table:
        """All documents so far (DOCUMENT_RAW), in the order added."""
        nested = {
            "meta": _struct(self._meta, META),
            "segments": pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), _struct(self._segments, SEGMENT)),
        }
        size = len(self._offsets) - 1
        nested |= {name: pa.nulls(size, DOCUMENT_RAW.field(name).type) for name in _LATER}
        columns = [
            nested[field.name] if field.name in nested else pa.array(self._plain[field.name], field.type)
            for field in DOCUMENT_RAW
        ]
        return pa.Table.from_arrays(columns, schema=DOCUMENT_RAW)


def _struct(columns: Mapping[str, list[Any]], kind: pa.StructType) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(columns[field.name], field.type) for field in kind], fields=list(kind))
