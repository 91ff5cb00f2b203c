import datetime
from typing import Any

import pyarrow as pa
import pytest

from lexmill.core.structure.columns import DocumentColumns
from lexmill.core.structure.segment import Segment
from lexmill.schema import DOCUMENT_RAW, META


def row(number: int, **meta: object) -> dict[str, Any]:
    strings = dict.fromkeys((field.name for field in DOCUMENT_RAW), f"{number}")
    segments = [Segment("首部", 0, 3, 0.5, ""), Segment("条款", 3, 9 + number, 0.95, "条1")] * number
    later = {"title": None, "family_id": None, "family_size": None}
    return strings | later | {"meta": dict.fromkeys(field.name for field in META) | meta, "segments": segments}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row(0)],
        [row(2, court="甲", judgment_date=datetime.date(2078, 1, 2)), row(0), row(1, exam_year=2078, answer="AB")],
    ],
)
def test_columns_are_what_arrow_makes_of_the_rows(rows: list[dict[str, Any]]) -> None:
    plain = [one | {"segments": [part._asdict() for part in one["segments"]]} for one in rows]
    columns = DocumentColumns()
    for one in rows:
        columns.add(one)
    table = columns.table()
    table.validate(full=True)
    assert table.equals(pa.Table.from_pylist(plain, schema=DOCUMENT_RAW))
