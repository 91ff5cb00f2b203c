"""Spreadsheets (XLSX, XLSB, XLS, ODS): one row a record, under the names of its sheet's header."""

import datetime
import io
from collections.abc import Iterator
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from lexmill.core.ingest.items import Broken, Item, Row
from lexmill.core.ingest.limits import Limits
from lexmill.errors import DocumentError

_MIDNIGHT = datetime.time()


def read_sheets(data: bytes, limits: Limits) -> Iterator[Item]:
    """The rows of all sheets by number; those of the second sheet go on where the first one ends.

    The header is the first row with two filled cells, or the first one in a sheet that has none: what stands above it (the
    title of a form) is ``ingest.above_header``. A row with filled cells beyond the header is ``ingest.bad_row``. A workbook with
    more text than ``max_file_mb`` ends there by that rule.
    """
    number = 0
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        left = limits.file
        for name in book.sheet_names:
            rows = [[_plain(cell) for cell in row] for row in book.get_sheet_by_name(name).iter_rows()]
            left -= sum(len(cell) for row in rows for cell in row if isinstance(cell, str))
            if left < 0:
                raise DocumentError("ingest.max_file_mb")
            for item in _sheet(rows, number):
                yield item
                number += 1
    except PasswordError:
        yield Broken(None, "ingest.encrypted", 0, len(data))
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
    except (CalamineError, ValueError, OSError):
        yield Broken(None, "ingest.broken_workbook", 0, len(data))


def _sheet(rows: list[list[Any]], number: int) -> Iterator[Item]:
    filled = [row for row in rows if any(cell != "" for cell in row)]
    header = next((at for at, row in enumerate(filled) if sum(cell != "" for cell in row) > 1), 0)
    names = [str(cell).strip() for cell in filled[header]] if filled else []
    width = max((at + 1 for at, name in enumerate(names) if name), default=0)
    for at, row in enumerate(filled):
        if at == header:
            continue
        if at < header or any(cell != "" for cell in row[width:]):
            text = "\t".join(map(str, row)).strip("\t")
            rule = "ingest.above_header" if at < header else "ingest.bad_row"
            yield Broken(str(number), rule, len(text), len(text.encode()))
        else:
            yield Row(str(number), {name: cell for name, cell in zip(names, row, strict=False) if name})
        number += 1


def _plain(cell: Any) -> Any:
    """A cell as JSON would have it: whole numbers without a point, days and times in ISO 8601."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.datetime) and cell.time() == _MIDNIGHT:
        return cell.date().isoformat()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell
