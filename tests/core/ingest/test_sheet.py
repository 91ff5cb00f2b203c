"""Rows of a workbook are records under their header; what stands above it or beyond it leaves a row that says so."""

import datetime
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest
import xlsxwriter

from lexmill.config import Fields, Ingest
from lexmill.core.ingest.items import Broken, Row
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import Record, read_rows
from lexmill.core.ingest.sheet import read_sheets

LIMITS = Limits.of(Ingest())


def workbook(*sheets: Sequence[Sequence[Any]]) -> bytes:
    out = BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "default_date_format": "yyyy-mm-dd"}) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return out.getvalue()


def test_rows_are_values_under_their_names() -> None:
    rows: list[list[Any]] = [
        ["案号", "金额", "日期", "时间", "全文"],
        ["（2079）沪0000民初1号", 1200.0, datetime.date(2079, 1, 2), datetime.datetime(2079, 1, 2, 3, 4), "原告\n诉称"],
        ["", 0.5, "", "", "乙"],
        [],
        [None, 3, None, None, "丙"],
    ]
    names = rows[0]
    assert list(read_sheets(workbook(rows), LIMITS)) == [
        Row(
            "0", dict(zip(names, ["（2079）沪0000民初1号", 1200, "2079-01-02", "2079-01-02T03:04:00", "原告\n诉称"], strict=True))
        ),
        Row("1", dict(zip(names, ["", 0.5, "", "", "乙"], strict=True))),
        Row("2", dict(zip(names, ["", 3, "", "", "丙"], strict=True))),
    ]


def test_all_sheets_are_read_and_nothing_is_lost() -> None:
    first: list[list[str]] = [["某某律所案件汇总表"], ["编号", "正文"], ["A1", "甲"], ["A2", "乙", "表外"]]
    second = [["正文"], ["丙"]]
    assert list(read_sheets(workbook(first, [], second), LIMITS)) == [
        Broken("0", "ingest.above_header", 9, 27),
        Row("1", {"编号": "A1", "正文": "甲"}),
        Broken("2", "ingest.bad_row", 7, 13),
        Row("3", {"正文": "丙"}),
    ]


def test_rows_become_documents() -> None:
    data = workbook([["文书编号", "标题", "正文", "案号"], [7, "某案", "原告诉称。", "（2079）沪0000民初1号"]])
    (record,) = read_rows(read_sheets(data, LIMITS), Fields(), "judgment")
    assert record == Record("7", "原告诉称。", "某案", {"case_number": "（2079）沪0000民初1号"}, 0, has_own_id=True)


@pytest.mark.parametrize("keep", [0, 4, 200, 0.5, 0.98])
def test_a_damaged_workbook_is_one_fault(keep: float) -> None:
    data = workbook([["正文"], ["甲" * 50]])
    data = data[: int(keep * len(data)) if keep < 1 else int(keep)]
    assert list(read_sheets(data, LIMITS)) == [Broken(None, "ingest.broken_workbook", 0, len(data))]


def test_too_much_text_is_refused() -> None:
    data = workbook([["正文"], *[["甲" * 30_000]] * 40])
    (broken,) = read_sheets(data, Limits.of(Ingest(max_file_mb=1)))
    assert broken == Broken(None, "ingest.max_file_mb", 0, len(data))
