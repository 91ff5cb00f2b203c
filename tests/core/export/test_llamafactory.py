"""Alpaca records have both sides or are not there."""

from typing import Any

import pytest

from lexmill.core.export import llamafactory


def document(doc_type: str, *parts: tuple[str, str, str]) -> dict[str, Any]:
    text, segments = "", []
    for kind, path, piece in parts:
        segments.append({"kind": kind, "path": path, "start": len(text), "end": len(text) + len(piece)})
        text += piece
    return {"doc_type": doc_type, "text": text, "segments": segments}


LONG = "借款合同成立并已生效，双方应按约定履行各自的义务。"


def test_a_judgment_gives_its_facts_and_reasons() -> None:
    pieces = {
        "首部": "某法院\n",
        "诉称": f"原告诉称{LONG}\n",
        "查明": f"经审理查明{LONG}",
        "理由": f"本院认为{LONG}",
        "主文": "判决如下",
    }
    row = document("judgment", *((kind, "", piece) for kind, piece in pieces.items()))
    (record,) = llamafactory.alpaca(row)
    assert record["input"] == f"原告诉称{LONG}\n经审理查明{LONG}"
    assert record["output"] == f"本院认为{LONG}"
    assert record["instruction"]


def test_every_question_of_a_page_is_a_record_without_its_label() -> None:
    first, second = (
        [("问", "问1", f"问：{LONG}"), ("答", "问1", f"答：{LONG}")],
        [("问", "问2", f"问：第二{LONG}"), ("答", "问2", f"答：第二{LONG}")],
    )
    row = document("qa", *first, *second)
    records = list(llamafactory.alpaca(row))
    assert [record["input"] for record in records] == [LONG, f"第二{LONG}"]
    assert [record["output"] for record in records] == [LONG, f"第二{LONG}"]


def test_an_exam_item_may_be_answered_by_a_letter() -> None:
    row = document("exam", ("题干", "题1", f"{LONG}\n"), ("选项", "题1", "A.是\nB.否\n"), ("答案", "题1", "B"))
    (record,) = llamafactory.alpaca(row)
    assert record["output"] == "B"
    assert record["input"].endswith("B.否")


@pytest.mark.parametrize(
    "row",
    [
        document("judgment", ("首部", "", LONG), ("理由", "", LONG)),
        document("qa", ("问", "问1", LONG)),
        document("qa", ("问", "问1", "在"), ("答", "问1", LONG)),
        document("statute", ("条", "条1", LONG)),
        {"doc_type": "qa", "text": LONG, "segments": None},
    ],
)
def test_a_side_that_lacks_gives_no_record(row: dict[str, Any]) -> None:
    assert list(llamafactory.alpaca(row)) == []


def test_the_index_names_files_and_columns() -> None:
    found = llamafactory.info({"alpaca": llamafactory.ALPACA, "pretrain": llamafactory.PRETRAIN})
    assert found["lexmill_alpaca"]["file_name"] == "alpaca.jsonl"
    assert found["lexmill_pretrain"]["columns"] == {"prompt": "text"}
