import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from lexmill.config import Fields, Ingest, Source
from lexmill.core.ingest.hygiene import Edit, clean
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import Record
from lexmill.core.ingest.rules import IngestRules
from lexmill.core.structure import casenumber
from lexmill.jobs.reading import Extent, Reading, format_in
from lexmill.store.convert import installed_converters
from lexmill.store.raw import ContentDigest, compression_of

PIECES = [
    "（2079）沪0000民初123号",
    "(2078)某法民初字第4号",
    "《中华人民共和国民法典》第五百七十七条",
    "人民币1,234.50元",
    "￥１２３４元",
    "2079年12月31日",
    "二〇七九年一月一日",
    "【　　】",
    "第 3 页 共 9 页",
    "- 7 -",
    "返回顶部",
    "当前位置：首页 > 法规",
    "审 判 长  卓某某",
    "民　事　判　决　书",
    "甲方：＿＿＿＿＿",
    "____",
    "_",
    " ",
    "　",
    "\u00a0",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\u200b",
    "\ufeff",
    "\u00ad",
    "\u0007",
    "\u2028",
    "本院认为",
    "。",
]
FACTS = re.compile(
    r"[（(]20[0-9]{2}[)）][^\s（(]+?号|《[^》]+》第[一-龥]+条|人民币[0-9,.]+元|￥[０-９]+元|[0-9]{4}年[0-9]+月[0-9]+日"
    r"|二〇七九年一月一日"
)


def test_every_shipped_rule_proves_its_examples(rules: IngestRules) -> None:
    assert rules.faults() == []
    assert len(rules.line) >= 5
    assert len(rules.character) >= 5


def test_rule_ids_are_distinct(rules: IngestRules) -> None:
    ids = [rule.id for kind in type(rules).model_fields for rule in getattr(rules, kind)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("text", "cleaned", "edits"),
    [
        ("原告\u200b诉称\u00ad。", "原告诉称。", [("ingest.zero_width", 1, 3), ("ingest.soft_hyphen", 1, 2)]),
        ("甲\r\n乙 \n　\n丙", "甲\n乙\n\n丙", [("ingest.carriage_return", 1, 1), ("ingest.trailing_blanks", 2, 4)]),
        ("审　判　长　卓某", "审判长　卓某", [("ingest.spaced_word", 2, 6)]),
        ("承租人：＿＿＿＿＿", "承租人：____", [("ingest.blank_to_fill", 1, 11)]),
        ("承租人：___", "承租人：____", [("ingest.blank_to_fill", -1, -1)]),
        (
            "第一条\n- 3 -\n第二条\n第 4 页",
            "第一条\n第二条",
            [("ingest.page_number_in_dashes", 6, 6), ("ingest.page_number", 6, 10)],
        ),
        ("租期【　　　】个月", "租期【____】个月", [("ingest.blank_in_brackets", -1, 5)]),
        ("\ue18c甲\n\ue18d乙\n\ue18e丙", "(A)甲\n(B)乙\n(C)丙", [("ingest.option_glyph", -6, 0)]),
        ("返回顶部", "", [("ingest.page_buttons", 4, 12)]),
        ("正文\n返回顶部\n\n\n\n\n尾", "正文\n\n\n尾", [("ingest.page_buttons", 5, 13), ("ingest.blank_lines", 2, 2)]),
    ],
)
def test_edits_account_for_each_cut(text: str, cleaned: str, edits: list[tuple[str, int, int]], rules: IngestRules) -> None:
    assert clean(text, rules) == (cleaned, tuple(Edit(*edit) for edit in edits), 0)


@pytest.mark.parametrize(
    "text",
    [
        "（２０７９）沪0000民初１２３号：Ａ公司支付＄１，０００．５元；〔2079〕第5號。",
        "《某某法》第一条　（一）甲方：【____】；乙方：[  ]",
        "第三页第二行",
        "1\n2\n3",
        "甲\n\n\n乙",
        "　　第一条　为了规范",
    ],
)
def test_clean_text_comes_back_as_it_is(text: str, rules: IngestRules) -> None:
    assert clean(text, rules) == (text, (), 0)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_balance_facts_and_idempotence(rules: IngestRules, text: str) -> None:
    cleaned = clean(text, rules)
    assert sum(edit.n_chars for edit in cleaned.edits) == len(text) - len(cleaned.text)
    assert sum(edit.n_bytes for edit in cleaned.edits) == len(text.encode()) - len(cleaned.text.encode())
    assert clean(cleaned.text, rules).text == cleaned.text
    assert cleaned.text.count("【") == text.count("【")
    # A zero-width character may have hidden a fact from the pattern: look for those that were plain in the input.
    kept = "".join(cleaned.text.split())
    for fact in FACTS.findall(text):
        assert "".join(fact.split()) in kept


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_lines_go_as_one_rule_after_the_other_would_take_them(rules: IngestRules, text: str) -> None:
    only_lines = IngestRules(line=rules.line)
    expected = text
    for rule in rules.line:
        expected = rule.apply(expected)
    assert clean(text, only_lines).text == expected


WRAPPED = [
    "租船人应当在船舶抵达装货港之前的合理时间之内，将装货港泊",
    "位的名称以及装货的顺序书面通知船舶所有人，因为租船人没有",
    "及时通知而造成的延误以及损失，全部由租船人承担。船舶所有",
    "人收到通知之后应当立即确认，",
]


def test_wrapped_lines_are_joined_where_the_sentence_runs_on(rules: IngestRules) -> None:
    text = "\n".join(WRAPPED)
    assert clean(text, rules) == ("".join(WRAPPED), (Edit("ingest.wrapped_line", 3, 3),), 0)


@pytest.mark.parametrize(
    "line",
    [
        "第三条　装货",
        "第三章 附则",
        "三、装货时间",
        "（三）装货时间",
        "(3) 装货时间",
        "3．装货时间",
        "甲方（盖章）",
        "承租人：某某公司",
        "法定代表人（签字）",
        "审判员　某某",
        "二〇七九年一月二日",
        "附件一",
        "A．装货",
        "● 装货",
        "│装│货│",
        "　　装货时间",
        "",
    ],
)
def test_nothing_is_joined_to_a_line_of_its_own(line: str, rules: IngestRules) -> None:
    text = "\n".join([*WRAPPED[:3], line, *WRAPPED[:2]])
    assert clean(text, rules).text == "".join(WRAPPED[:3]) + f"\n{line}\n" + "".join(WRAPPED[:2])


def test_latin_words_keep_their_blank_when_lines_are_joined(rules: IngestRules) -> None:
    lines = [
        "The charterer shall notify the owner of the name of",
        "the loading port within a reasonable time before the",
        "arrival of the vessel, and shall bear all costs that",
        "follow from a late notice.",
    ]
    assert clean("\n".join(lines), rules).text == " ".join(lines)


SHARED = Path(__file__).parents[4] / "shared" / "corpus"
REAL_FACTS = re.compile(
    r"《[^《》│＿_]{2,60}》(?:第[一二三四五六七八九十百千零〇0-9]+[条條款项])?|[0-9０-９][0-9０-９,，.．]*(?:亿|万|千|百)*(?:美|日|港|欧)?元"
    r"|[0-9０-９]{2,4}年[0-9０-９]{1,2}月(?:[0-9０-９]{1,2}日)?|[一二][〇零○一二三四五六七八九]{3}年[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}日"
)


QUERY = "SELECT law_id AS id, law_name AS title, group_concat(article_text, char(10)) AS text FROM articles GROUP BY law_id"


def texts(folder: Path) -> Iterator[str]:
    """What ingest reads of every file of a folder, whatever its format."""
    source = Source.model_construct(
        name="s", doc_type="exam", paths=("-",), format=None, records=None, query=QUERY, fields=Fields()
    )
    reading = Reading(source, Limits.of(Ingest()), installed_converters(), ContentDigest())
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size < 20 << 20:
            whole = Extent(str(path), path.stat().st_size, format_in(source, path.name), compression_of(path.name), 0, -1)
            for _, record in reading.records(whole):
                if isinstance(record, Record):
                    yield record.text


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the corpus of real texts beside the checkout")
@pytest.mark.parametrize("family", ["judgments", "contracts", "exams", "qa", "statutes"])
def test_every_fact_of_a_real_text_is_in_what_is_left(rules: IngestRules, family: str) -> None:
    n_facts = 0
    blanks = re.compile(r"\s+")
    for text in texts(SHARED / family):
        cleaned = clean(text, rules)
        assert clean(cleaned.text, rules).text == cleaned.text
        assert sum(edit.n_chars for edit in cleaned.edits) == len(text) - len(cleaned.text)
        for rule in (*rules.character, *rules.mapping):
            text = rule.apply(text)
        given, kept = (blanks.sub("", one) for one in (text, cleaned.text))
        facts = [*REAL_FACTS.findall(given), *(given[number.start : number.end] for number in casenumber.find(given))]
        n_facts += len(facts)
        for fact in set(facts):
            assert kept.count(fact) == given.count(fact)
        for bracket in "《》〔〕「」":
            assert kept.count(bracket) == given.count(bracket)
    assert n_facts > 100


@pytest.mark.parametrize(
    ("kind", "change", "problem"),
    [
        ("run", {"changes": [["甲乙", "甲"]]}, "does not come out"),
        ("run", {"keep": ["a  b"]}, "does not come out"),
        ("run", {"changes": []}, "no example shows a change"),
        ("run", {"replace": "  -  ", "changes": [["a  b", "a  -  b"]]}, "changes again"),
    ],
)
def test_a_rule_that_does_not_prove_itself_is_a_fault(kind: str, change: dict[str, Any], problem: str) -> None:
    rule = {
        "id": "ingest.two_blanks",
        "why": "test",
        "needs": ["  "],
        "pattern": "  +",
        "replace": " ",
        "changes": [["a  b", "a b"]],
        "keep": ["a b"],
    }
    assert IngestRules.model_validate({kind: [rule]}).faults() == []
    (fault,) = IngestRules.model_validate({kind: [rule | change]}).faults()
    assert fault.rule_id == "ingest.two_blanks"
    assert problem in fault.problem


@pytest.mark.parametrize("change", [{"pattern": "("}, {"needs": []}, {"unknown": 1}, {"id": "Bad Id"}])
def test_a_malformed_rule_is_refused(change: dict[str, Any]) -> None:
    rule = {"id": "ingest.x", "why": "w", "needs": ["a"], "pattern": "a", "replace": "", "changes": [["a", ""]], "keep": []}
    with pytest.raises(ValidationError):
        IngestRules.model_validate({"run": [rule | change]})


def test_glyphs_without_a_meaning_stay_and_are_counted(rules: IngestRules) -> None:
    assert clean("甲\ue004乙\uf0fe丙\U000f0001", rules) == ("甲\ue004乙☑丙\U000f0001", (Edit("ingest.symbol_glyph", 0, 0),), 2)


def test_no_rules_clean_nothing() -> None:
    assert clean("审 判 长\u200b \n", IngestRules()) == ("审 判 长\u200b \n", (), 0)
