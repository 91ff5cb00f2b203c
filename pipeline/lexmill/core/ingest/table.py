"""CSV and TSV: one row a record, under the names of the first line."""

import csv
import io
from collections.abc import Iterator

from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.items import Broken, Item, Row
from lexmill.errors import DocumentError

_MAX_CELL = 1 << 30
_DELIMITERS = (",", "\t", ";", "|")
_OTHER_FORMATS = ("{", "[{", "[[", "<!doctype", "<html", "<?xml")


def read_table(data: bytes) -> Iterator[Item]:
    """The rows of a CSV or TSV file by number, in any encoding, with line breaks in quoted cells (RFC 4180).

    The delimiter is the one that the header has most of. A row with more filled cells than the header has names, or with a quote
    out of place, is ``ingest.bad_row``: if the quote is never closed, that is all the rest. A file that is no table is one fault.
    """
    try:
        text = decode(data).text
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
        return
    text = text.lstrip("\r\n")
    if text.lstrip()[:10].casefold().startswith(_OTHER_FORMATS):
        yield Broken(None, "ingest.not_table", len(text), len(data))
        return
    lines = list(io.StringIO(text, newline=""))
    csv.field_size_limit(_MAX_CELL)
    rows = csv.reader(lines, delimiter=max(_DELIMITERS, key=text.partition("\n")[0].count), strict=True)
    names: list[str] | None = None
    number = 0
    while rows.line_num < len(lines):
        first = rows.line_num
        try:
            cells = next(rows)
        except csv.Error:
            cells = None
        if cells is not None and not any(cells):
            continue
        if names is None:
            names = [name.strip() for name in cells or ()]
            continue
        if cells is None or any(cells[len(names) :]):
            row = "".join(lines[first : rows.line_num])
            yield Broken(str(number), "ingest.bad_row", len(row), len(row.encode()))
        else:
            yield Row(str(number), dict(zip(names, cells, strict=False)))
        number += 1
    if not number:
        yield Broken(None, "ingest.empty", len(text), len(data))
