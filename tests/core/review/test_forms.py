"""What reviewers are sent opens in the programs they use, and what they send back is read or refused by row."""

import re
import shutil
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from python_calamine import CalamineWorkbook

from lexmill.core.review import labelstudio, workbook
from lexmill.core.review.verdicts import BAD, DEFECTS, GOOD, Verdict
from lexmill.errors import InputError


def item(name: str, kind: str, doc_type: str, title: str | None, text: str, *spans: tuple[int, int, str]) -> dict[str, Any]:
    marked = [{"start": start, "end": end, "entity": entity} for start, end, entity in spans]
    return {"item": name, "kind": kind, "doc_type": doc_type, "title": title, "text": text, "spans": marked}


ITEMS = [
    item("00aa", "kept", "judgment", "民事判决书", "原告张某1诉称。\n判决如下", (2, 5, "PERSON")),
    item("00bb", "dropped", "qa", None, '=HYPERLINK("x")'),
    item("00cc", "span", "contract", "", "𠮷某某公司" + "长" * 40_000, (1, 5, "ORGANISATION")),
]


def filled(rows: dict[str, tuple[str, str, str]]) -> bytes:
    """The workbook as LibreOffice or Excel would send it back, with verdicts filled in."""
    import xlsxwriter

    source = CalamineWorkbook.from_filelike(BytesIO(workbook.write(ITEMS))).get_sheet_by_name(workbook.SHEET).to_python()
    out = BytesIO()
    with xlsxwriter.Workbook(out, {"strings_to_formulas": False}) as book:
        sheet = book.add_worksheet(workbook.SHEET)
        for number, row in enumerate(source):
            values = dict(zip(source[0], row, strict=True))
            if number and values["编号"] in rows:
                values |= dict(zip(("判定", "缺陷", "备注"), rows[str(values["编号"])], strict=True))
            sheet.write_row(number, 0, list(values.values()))
    return out.getvalue()


def test_the_workbook_holds_every_item_whole() -> None:
    rows = CalamineWorkbook.from_filelike(BytesIO(workbook.write(ITEMS))).get_sheet_by_name(workbook.SHEET).to_python()
    header = rows[0]
    texts = [number for number, name in enumerate(header) if str(name).startswith("正文")]
    assert ["".join(str(row[at]) for at in texts) for row in rows[1:]] == [item["text"] for item in ITEMS]
    assert [row[0] for row in rows[1:]] == ["00aa", "00bb", "00cc"]


def test_the_workbook_has_drop_downs_a_frozen_header_and_locked_columns() -> None:
    with zipfile.ZipFile(BytesIO(workbook.write(ITEMS))) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert 'state="frozen"' in sheet
    assert "<sheetProtection" in sheet
    lists = re.findall(r"<formula1>\"(.*?)\"</formula1>", sheet)
    assert lists == [f"{GOOD},{BAD}", ",".join(DEFECTS)]
    assert "<f>" not in sheet  # a text that looks like a formula stays a text


def test_equal_items_give_equal_bytes() -> None:
    assert workbook.write(ITEMS) == workbook.write(ITEMS)
    assert workbook.write([])


def test_a_filled_workbook_is_read() -> None:
    data = filled({"00aa": (GOOD, "", ""), "00cc": (BAD, "误遮盖", "法院名")})
    assert workbook.read(data, "甲") == [
        Verdict("00aa", "甲", GOOD, "", ""),
        Verdict("00cc", "甲", BAD, "误遮盖", "法院名"),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [(("好", "", ""), "row 2"), ((BAD, "", ""), "row 2"), ((GOOD, "其他", ""), "row 2"), (("", "其他", ""), "row 2")],
)
def test_other_words_than_the_lists_are_refused_by_row(row: tuple[str, str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        workbook.read(filled({"00aa": row}), "甲")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no workbook", b"a,b\n1,2\n"])
def test_what_is_no_workbook_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="XLSX"):
        workbook.read(data, "甲")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("localc") is None, reason="LibreOffice Calc is not installed")
def test_libreoffice_opens_the_workbook_and_writes_it_back(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(filled({"00aa": (BAD, "其他", "")}))
    (tmp_path / "b.xlsx").write_bytes(workbook.write(ITEMS))
    home = f"-env:UserInstallation=file://{tmp_path}/profile"
    for name in ("a", "b"):
        command = [
            "soffice",
            home,
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            f"{tmp_path}/out",
            f"{tmp_path}/{name}.xlsx",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert workbook.read((tmp_path / "out/a.xlsx").read_bytes(), "甲") == [Verdict("00aa", "甲", BAD, "其他", "")]
    with zipfile.ZipFile(tmp_path / "out/b.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "dataValidation" in sheet
    assert "sheetProtection" in sheet


def test_label_studio_tasks_carry_what_was_masked() -> None:
    tasks = orjson.loads(labelstudio.tasks(ITEMS, "train-strict"))
    values = [result["value"] for task in tasks for result in task["predictions"][0]["result"]]
    assert [value["text"] for value in values] == ["张某1", "某某公司"]
    assert (values[1]["start"], values[1]["end"]) == (1, 5)  # code points: the first character is one of them
    assert "doc_id" not in str(tasks)
    interface = ElementTree.fromstring(labelstudio.interface(["PERSON", "ORGANISATION"]))
    named = {element.get("name") for element in interface.iter()}
    assert {"span", "text", "verdict", "defect", "note"} <= named
    assert {element.get("value") for element in interface.iter("Label")} == {"PERSON", "ORGANISATION"}


def export(*results: list[dict[str, Any]]) -> bytes:
    return orjson.dumps([{"data": {"item": f"i{n}"}, "annotations": [{"result": result}]} for n, result in enumerate(results)])


def test_a_label_studio_export_is_read() -> None:
    good = [{"from_name": "verdict", "value": {"choices": [GOOD]}}]
    bad = [
        {"from_name": "span", "value": {"start": 0, "end": 1, "labels": ["PERSON"]}},
        {"from_name": "verdict", "value": {"choices": [BAD]}},
        {"from_name": "defect", "value": {"choices": ["重复"]}},
        {"from_name": "note", "value": {"text": ["见前", "又见后"]}},
    ]
    assert labelstudio.read(export(good, bad, []), "乙") == [
        Verdict("i0", "乙", GOOD, "", ""),
        Verdict("i1", "乙", BAD, "重复", "见前\n又见后"),
    ]
    with pytest.raises(InputError, match="task 1"):
        labelstudio.read(export(bad[1:2]), "乙")


def test_what_the_reviewer_said_last_holds() -> None:
    said = [
        {"updated_at": f"2026-01-0{day}T00:00:00Z", "was_cancelled": skipped, "result": [verdict]}
        for day, skipped, verdict in (
            (2, False, {"from_name": "verdict", "value": {"choices": [GOOD]}}),
            (1, False, {"from_name": "verdict", "value": {"choices": [BAD]}}),
            (3, True, {"from_name": "verdict", "value": {"choices": [BAD]}}),
        )
    ]
    exported = [{"data": {"item": "i0"}, "annotations": said}, {"data": {"item": "i1"}, "annotations": said[2:]}]
    assert labelstudio.read(orjson.dumps(exported), "乙") == [Verdict("i0", "乙", GOOD, "", "")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[1]",
        b'[{"data": {}}]',
        b'[{"annotations": []}]',
        b'[{"data": {"item": ["a"]}, "annotations": [{"result": 5}]}]',
    ],
)
def test_what_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        labelstudio.read(data, "乙")


def test_the_export_that_leaves_answers_out_is_named() -> None:
    shortened = [{"id": 1, "item": "00aa", "verdict": "合格", "annotator": 1, "annotation_id": 3}]
    with pytest.raises(InputError, match="JSON-MIN"):
        labelstudio.read(orjson.dumps(shortened), "乙")
