import datetime
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.structure.citations import VERDICTS, StatuteTables, find, judge

_FOLDER = Path(__file__).parents[3] / "rules" / "statutes"


@pytest.fixture(scope="module")
def tables() -> StatuteTables:
    merged: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        for kind, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
            merged.setdefault(kind, []).extend(rows)
    return StatuteTables.model_validate(merged)


def cited(text: str, tables: StatuteTables) -> list[str]:
    """law id (without its family) or title, and path, of every citation."""
    return [f"{(one.law_id or one.law).removeprefix('statutes.')} {one.path}".strip() for one in find(text, tables)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("依照《中华人民共和国刑法》第二百六十四条之规定", ["criminal 条264"]),
        ("《刑法》第67条第3款", ["criminal 条67/款3"]),
        ("《刑法》第六十七条第三款、第七十二条第一款、第三款", ["criminal 条67/款3", "criminal 条72/款1", "criminal 条72/款3"]),
        ("《民法典》第一千零七十九条第三款第（二）、（三）项", ["civil_code 条1079/款3/项2", "civil_code 条1079/款3/项3"]),
        ("《劳动合同法》第三十八条第（二）项", ["labour_contract 条38/款1/项2"]),
        ("《刑法》第一百二十条之一第一款", ["criminal 条120-1/款1"]),
        ("《民法典》第六百七十五、六百七十六条", ["civil_code 条675", "civil_code 条676"]),
        ("《民法典》第675条和第676条以及《民事诉讼法》第67条", ["civil_code 条675", "civil_code 条676", "civil_procedure 条67"]),
        ("《公司法》第十条至第十二条", ["company 条10", "company 条12"]),
        ("《民法典》 第 五百 条", ["civil_code 条500"]),
        ("依照〈中华人民共和国民法典〉第五百条", ["civil_code 条500"]),
        ("依照刑法第二百六十四条、第五十二条", ["criminal 条264", "criminal 条52"]),
        ("根据合同法的规定", ["contract"]),
        ("根据中国的继承法，依照我国合同法规定", ["succession", "contract"]),
        ("当地的婚姻法律规定，合同法规定，根据合同法规", []),
        ("合同法律关系与婚姻法庭", []),
        ("《房屋租赁合同》第三条约定", []),
        ("《德国刑法典》", ["德国刑法典"]),
        ("德国刑法第十条", []),
        ("《最高人民法院关于适用〈中华人民共和国民法典〉时间效力的若干规定》第一条第二款", ["civil_code_time 条1/款2"]),
        ("最高人民法院《关于适用<中华人民共和国婚姻法>若干问题的解释(二)》第二十四条", ["marriage_2 条24"]),
        ("《最高人民法院关于审理民间借贷案件适用法律若干问题的规定》（法释〔2015〕18号）第二十六条", ["private_lending 条26"]),
        ("法释〔2020〕28号第三条", ["civil_code_security 条3"]),
        ("按照法释〔2099〕1号执行", ["法释〔2099〕1号"]),
        ("（2078）京01刑终1号判决", []),
        ("《甲市物业管理条例》第五条", ["甲市物业管理条例 条5"]),
        ("《公司员工考勤管理规定》第五条", []),
        ("《刑法》第二百六十四条，该法第五十二条", ["criminal 条264", "criminal 条52"]),
        ("《刑法》第二百六十四条，该条例第二条", ["criminal 条264"]),
        ("《××公司员工管理细则》第五条", []),
        (
            "《中华人民共和国道路交通安全法》（以下简称《道交条款》）第一条；《道交条款》第二条、道交条款第三条",
            ["road_traffic 条1", "road_traffic 条2", "road_traffic 条3"],
        ),
        ("民法第184條第1項第2款、第185條", ["tw_civil_code 条184/款1/项2", "tw_civil_code 条185"]),
        ("刑事訴訟法第128條之1第2項", ["tw_criminal_procedure 条128-1/款2"]),
        ("入出國及移民法第38條之2", []),
        ("《民法典》第五百条。第三条约定的租金", ["civil_code 条500"]),
        ("《民法典》第五百条，第三人应当返还3000元", ["civil_code 条500"]),
        ("根据《XX法》第X条", ["XX法 条?"]),
        ("依据相关法律第X条", ["条?"]),
        ("违反本合同第____条的", []),
        ("《甲辦法》第1條，同法第2條", ["甲辦法 条1"]),
    ],
)
def test_citations_are_understood(text: str, expected: list[str], tables: StatuteTables) -> None:
    assert cited(text, tables) == expected


def test_a_citation_spans_its_words(tables: StatuteTables) -> None:
    text = "依照《中华人民共和国刑法》第二百六十四条、第五十二条第一款之规定，根据中华人民共和国民法典第五百条"
    assert [text[one.start : one.end] for one in find(text, tables)] == [
        "《中华人民共和国刑法》第二百六十四条",
        "第五十二条第一款",
        "中华人民共和国民法典第五百条",
    ]


@pytest.mark.parametrize(
    ("text", "date", "expected"),
    [
        ("《合同法》第五十二条", "2020-12-31", {}),
        ("《合同法》第五十二条", "2021-01-01", {"cites_repealed": 1}),
        ("《合同法》第五十二条", None, {"cites_repealed": 1}),
        ("原《合同法》第五十二条", "2022-01-01", {}),
        ("《合同法》（已废止）第五十二条", "2022-01-01", {}),
        ("保险法第四十二条：保险金依照《继承法》的规定给付", "2022-01-01", {}),
        ("保险法第四十二条规定\n：依照《继承法》的规定给付", "2022-01-01", {"cites_repealed": 1}),
        ("担保法第四十条：依照担保法第五条", "2022-01-01", {"cites_repealed": 2}),
        ("《民法典》第一千二百六十一条", "2022-01-01", {"citation_out_of_range": 1}),
        ("《公司法》第二百六十六条", "2023-12-31", {"citation_out_of_range": 1}),
        ("《公司法》第二百六十六条", "2024-07-01", {}),
        ("民法第1225條", None, {}),
        ("民法第1226條", None, {"citation_out_of_range": 1}),
        ("根据《XX法》第X条和第某条", None, {"placeholder_citation": 2}),
        ("《最高人民法院关于适用〈中华人民共和国婚姻法〉若干问题的解释（二）》第二十四条", "2021-06-01", {"cites_repealed": 1}),
    ],
)
def test_citations_are_judged_at_the_date_of_the_document(
    text: str, date: str | None, expected: dict[str, int], tables: StatuteTables
) -> None:
    day = datetime.date.fromisoformat(date) if date else None
    counts = judge(find(text, tables), day, tables)
    assert {name: number for name, number in counts.items() if name in VERDICTS and number} == expected
    assert counts["citations"] >= sum(expected.values())


def test_shipped_tables_prove_their_examples(tables: StatuteTables) -> None:
    assert len(tables.law) > 150
    assert tables.faults() == []
    titles = {law.title for law in tables.law}
    replaced = {law.title for law in tables.law if law.replaced_by == "statutes.civil_code" and "法院" not in law.title}
    # Art. 1260 of the Civil Code repeals nine laws.
    assert {title.removeprefix("中华人民共和国") for title in replaced} == {
        "婚姻法",
        "继承法",
        "民法通则",
        "收养法",
        "担保法",
        "合同法",
        "物权法",
        "侵权责任法",
        "民法总则",
    }
    assert len(titles) == len(tables.law)


LAW: dict[str, Any] = {
    "id": "test.old",
    "why": "for the test",
    "title": "甲法",
    "versions": [{"since": datetime.date(2070, 1, 1), "articles": 10}],
    "repealed": datetime.date(2078, 1, 1),
    "keep": ["2077-01-01 《甲法》第十条"],
    "drop": ["2078-01-01 《甲法》第十条"],
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"keep": ["2077-01-01 《甲法》第十一条"]}, "the verdict is citation_out_of_range"),
        ({"drop": ["2077-01-01 《甲法》第十条"]}, "that all is well"),
        ({"keep": ["2077-01-01 《乙法》第十条"]}, "does not cite"),
        ({"keep": ["《甲法》第十条"]}, "write a date"),
        ({"replaced_by": "test.none"}, "there is no test.none"),
        ({"repealed": datetime.date(2069, 1, 1), "keep": ["2068-01-01 《甲法》"]}, "oldest to the newest"),
    ],
)
def test_a_law_that_fails_its_proof_is_a_fault(change: dict[str, Any], problem: str | None) -> None:
    faults = StatuteTables.model_validate({"law": [LAW | change]}).faults()
    assert [fault.rule_id for fault in faults] == (["test.old"] if problem else [])
    assert all(problem and problem in fault.problem for fault in faults)


def test_a_name_belongs_to_one_law() -> None:
    twice = [LAW, LAW | {"id": "test.twin"}]
    assert any("is a name of test.old" in fault.problem for fault in StatuteTables.model_validate({"law": twice}).faults())


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"《》〈〉第条條款项（）、，-0１X×某一十百之至 \n", "刑法", "民法典", "以下简称", "法释〔2020〕1号", "该法"]
        )
    )
)
def test_citations_are_sorted_disjoint_and_inside(tables: StatuteTables, parts: list[str]) -> None:
    text = "".join(parts)
    found = find(text, tables)
    assert all(one.start < one.end <= len(text) for one in found)
    assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize(
    "text",
    [
        "《" * 20_000,
        "《刑法》" + "（" * 20_000,
        "《刑法》第" + "一、" * 20_000,
        "第" * 20_000,
        "刑法（以下简称" * 5_000,
        "该法第一条" * 5_000,
    ],
)
def test_hostile_repetition_is_read_in_linear_time(text: str, tables: StatuteTables) -> None:
    # A quadratic rule makes this test hang.
    find(text, tables)
