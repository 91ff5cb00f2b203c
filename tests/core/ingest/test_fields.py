from typing import Any

import pytest

from lexmill.config import Fields
from lexmill.core.ingest.fields import Composed, Layout, render, role_of


def compose(record: Any, doc_type: str = "judgment", fields: Fields | None = None) -> Composed | str:
    (found,) = Layout(fields or Fields(), doc_type).documents(record, "0")
    return found.document


def text_of(record: Any, doc_type: str, fields: Fields | None = None) -> str:
    document = compose(record, doc_type, fields)
    return document.text if isinstance(document, Composed) else document


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("text", "text"),
        ("Full-Text", "text"),
        ("fullText", "text"),
        ("正文", "text"),
        ("Case Number", "case_number"),
        ("案号", "case_number"),
        ("裁判日期", "date"),
        ("标题", "title"),
        ("labels", None),
    ],
)
def test_role_of(name: str, role: str | None) -> None:
    assert role_of(name) == role


EXAM = [
    (
        {"statement": "题干", "option_list": {"A": "甲", "B": "乙"}, "answer": ["A", "B"], "id": "1_2", "type": "0"},
        "题干\nA. 甲\nB. 乙\n答案：AB",
    ),
    ({"question": "题干", "options": ["甲", "乙"], "answer": "B", "解析": "因为丙"}, "题干\nA. 甲\nB. 乙\n答案：B\n解析：因为丙"),
    ({"题目": "题干", "选项": ["A. 甲", "B、乙"], "答案": "A"}, "题干\nA. 甲\nB、乙\n答案：A"),
    ({"question": "题干", "A": "甲", "B": "乙", "C": "", "answer": "A"}, "题干\nA. 甲\nB. 乙\n答案：A"),
    ({"question": "题干", "choice_A": "(A)甲", "choice_B": "(B)乙", "answer": "(A)甲"}, "题干\n(A)甲\n(B)乙\n答案：(A)甲"),
    ({"question": "题干", "choices": "(A)甲\n(B)乙", "choice_A": "(A)甲", "choice_B": "(B)乙"}, "题干\n(A)甲\n(B)乙"),
    ({"title": "题干", "options": {"A": "甲", "B": "乙"}, "analysis": "丙"}, "题干\nA. 甲\nB. 乙\n解析：丙"),
    ({"content": "题干", "A": "甲", "B": "乙"}, "题干\nA. 甲\nB. 乙"),
    ({"question": "论述", "answer": "要点一", "explanation": "评析"}, "论述\n答案：要点一\n解析：评析"),
    ({"材料": "案情", "question": "题干", "options": ["甲", "乙"]}, "案情\n题干\nA. 甲\nB. 乙"),
    ({"Q": "题干", "A": "答"}, "题干\n答案：答"),
    ({"text": "整题", "answer": "A"}, "整题"),
]


@pytest.mark.parametrize(("record", "text"), EXAM)
def test_exam_items_are_composed(record: dict[str, Any], text: str) -> None:
    assert text_of(record, "exam") == text


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"question": "甲？", "answer": "乙。"}, "问：甲？\n答：乙。"),
        ({"问题": "甲？", "回答": "乙。"}, "问：甲？\n答：乙。"),
        ({"instruction": "分析：", "input": "案情", "output": "乙。"}, "问：分析：\n案情\n答：乙。"),
        ({"instruction": "甲？", "input": "", "output": "乙。"}, "问：甲？\n答：乙。"),
        ({"id": 3, "input": "甲？", "output": "乙。"}, "问：甲？\n答：乙。"),
        ({"query": "甲？", "laws": ["丙"], "response": "乙。"}, "问：甲？\n答：乙。"),
        ({"title": "甲？", "content": "详情", "answer": "乙。"}, "问：甲？\n详情\n答：乙。"),
        ({"question": "甲？", "answers": ["乙。", "丙。"]}, "问：甲？\n答：乙。\n丙。"),
        ({"问题": "甲？", "match_id": [1]}, "问：甲？"),
        (
            {
                "messages": [
                    {"role": "system", "content": "你是"},
                    {"role": "user", "content": "甲？"},
                    {"role": "assistant", "content": "乙。"},
                ]
            },
            "问：甲？\n答：乙。",
        ),
        ({"conversations": [{"from": "human", "value": "甲？"}, {"from": "gpt", "value": "乙。"}]}, "问：甲？\n答：乙。"),
        ({"text": "甲？乙。"}, "甲？乙。"),
        ({"text": "全文", "question": "甲？", "answer": "乙。"}, "全文"),
        ({"content": "全文", "question": "甲？", "answer": "乙。"}, "ingest.ambiguous_text"),
        ({"question": "甲？", "query": "乙？", "answer": "丙。"}, "ingest.ambiguous_text"),
        ({"question": "甲？", "answer": "丙。", "response": "丁。"}, "ingest.ambiguous_text"),
    ],
)
def test_questions_and_answers_are_composed(record: dict[str, Any], text: str) -> None:
    assert text_of(record, "qa") == text


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"text": "甲", "title": "乙", "labels": ["丙"]}, "甲"),
        ({"text": "甲", "content": "乙"}, "ingest.ambiguous_text"),
        ({"text": "甲", "content": "甲", "full_text": ""}, "甲"),
        ({"text": "  ", "content": "甲"}, "甲"),
        ({"fact": "甲", "meta": {"accusation": ["盗窃"]}}, "甲"),
        ({"text": ["甲", "乙"]}, "甲\n乙"),
        ({"text": 12.5}, "12.5"),
        ({"text": True}, "ingest.no_text"),
        ({"labels": ["甲"], "n": 3}, "ingest.no_text"),
        ({"answer": "甲"}, "ingest.no_text"),
        ({"text": "甲", "a": 1, "b": 2}, "甲"),
        ("甲", "甲"),
        (None, "ingest.no_text"),
    ],
)
def test_detected_text(record: Any, text: str) -> None:
    assert text_of(record, "judgment") == text


def test_detected_metadata() -> None:
    record = {
        "正文": "甲",
        "标题": " 某 \n判决书 ",
        "案号": "（2079）沪0000民初1号",
        "审理法院": "某法院",
        "案由": ["盗窃", "抢劫"],
        "date": 2079,
    }
    given = {"case_number": "（2079）沪0000民初1号", "court": "某法院", "cause": "盗窃、抢劫", "date": "2079"}
    assert compose(record) == Composed("甲", "某 判决书", given, None)
    assert compose({"text": "甲", "court": "某法院", "法院": "另一法院"}) == Composed("甲", None, {}, None)


@pytest.mark.parametrize(
    ("record", "own_id"),
    [
        ({"id": " 7 "}, "7"),
        ({"id": 7, "uuid": "x"}, "7"),
        ({"uuid": "x"}, "x"),
        ({"uuid": "x", "doc_id": "y"}, None),
        ({"id": None}, None),
        ({"id": ""}, None),
        ({"id": 1.5}, None),
        ({"id": False}, None),
        ({"query_id": 3}, None),
    ],
)
def test_own_id(record: dict[str, Any], own_id: str | None) -> None:
    document = compose({"text": "甲", **record})
    assert isinstance(document, Composed)
    assert document.own_id == own_id


def test_mapped_fields_rule() -> None:
    fields = Fields(text=("fd", "extra"), id="n", title="meta.name", case_number="meta.no", cause="meta.why")
    record = {
        "text": "摘要",
        "fd": "全文",
        "extra": None,
        "n": 5,
        "meta": {"name": "某案", "no": "甲1号", "why": ["盗窃"]},
        "id": "x",
    }
    assert compose(record, fields=fields) == Composed("全文", "某案", {"case_number": "甲1号", "cause": "盗窃"}, "5")
    assert compose({"text": "摘要"}, fields=fields) == "ingest.no_text"
    assert text_of({"fd": {"A": "甲", "某法第一条": "乙"}, "extra": "丙"}, "qa", fields) == "A. 甲\n某法第一条：乙\n丙"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("甲", "甲"),
        (None, ""),
        (7, "7"),
        (float("nan"), ""),
        (["甲", 1, None, ["乙"]], "甲\n乙"),
        ([{"sentence": "甲", "label": 1}, {"sentence": "乙", "labels": ["X"]}], "甲\n乙"),
        ([{"條號": "第 1 條", "條文內容": "甲"}, {"編章節": "第一章"}], "第 1 條 甲\n第一章"),
    ],
)
def test_render(value: Any, text: str) -> None:
    assert render(value) == text
