"""Every layout that is recognised, each as its benchmark writes it; the questions are invented."""

from typing import Any

import pytest

from lexmill.config import BenchmarkFields
from lexmill.core.contamination.items import Item, read_item, read_items

STEM = "拾得漂流物的，适用什么规定？"
OPTIONS = ("拾得遗失物的规定", "先占", "无因管理", "不当得利")
WANTED = Item(STEM, OPTIONS)

LETTERS = dict(zip("ABCD", OPTIONS, strict=True))
MARKED = "\n".join(f"{letter}. {option}" for letter, option in LETTERS.items())


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"id": "0", "question": STEM, **LETTERS, "answer": "A", "explanation": "略"}, id="C-Eval"),
        pytest.param({"": "0", "Question": STEM, **LETTERS, "Answer": "A"}, id="CMMLU"),
        pytest.param(
            {
                "passage": None,
                "question": STEM,
                "options": [f"({letter}){option}" for letter, option in LETTERS.items()],
                "label": ["A"],
                "answer": None,
            },
            id="AGIEval",
        ),
        pytest.param({"statement": STEM, "option_list": LETTERS, "answer": ["A"], "id": "1_1"}, id="JEC-QA and CAIL"),
        pytest.param({"instruction": "请选出正确的选项。", "question": f"{STEM}\n{MARKED}", "answer": "A"}, id="LawBench"),
        pytest.param({"instruction": "请选出正确的选项。", "input": f"{STEM}\n{MARKED}", "answer": "A"}, id="LexEval"),
        pytest.param({"question": f"{STEM}A、{OPTIONS[0]} B、{OPTIONS[1]} C、{OPTIONS[2]} D、{OPTIONS[3]}"}, id="in one line"),
        pytest.param({"question": STEM, "choices": MARKED}, id="options in one text"),
    ],
)
def test_known_layouts(record: dict[str, Any]) -> None:
    assert read_item(record, BenchmarkFields()) == WANTED


def test_other_layouts_by_the_names_of_their_fields() -> None:
    fields = BenchmarkFields(stem="tm", options=("x1", "x2", "x3", "x4"), passage="cl")
    record = {"tm": STEM, "cl": "材料", **{f"x{n}": option for n, option in enumerate(OPTIONS, 1)}}
    assert read_item(record, fields) == Item(STEM, OPTIONS, "材料")
    assert read_item(record, BenchmarkFields()) is None


def test_a_question_with_an_answer_has_no_options() -> None:
    assert read_item({"Q": STEM, "A": "拾得遗失物的规定"}, BenchmarkFields()) == Item(STEM)
    assert read_item({"instruction": STEM, "output": "略"}, BenchmarkFields()) == Item(STEM)
    assert read_item({"question": "甲、乙共有一头牛。A项是什么意思？"}, BenchmarkFields()) == Item(
        "甲、乙共有一头牛。A项是什么意思？"
    )


def test_a_passage_is_kept_apart() -> None:
    record = {"passage": "某甲与某乙签订合同。", "question": STEM, "options": []}
    assert read_item(record, BenchmarkFields()) == Item(STEM, (), "某甲与某乙签订合同。")


def test_records_within_lists_and_wrappers() -> None:
    inner = {"question": STEM, **LETTERS}
    assert list(read_items({"data": [inner, {"x": 1}, [inner]], "name": "b"}, BenchmarkFields())) == [WANTED, WANTED]
    assert list(read_items("no record", BenchmarkFields())) == []
