"""Masking: surrogates as courts write them, idempotent, distinct, and no fact inside a span."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask, mask_fields
from lexmill.core.deid.spans import splice

CASES = [
    ("原告：章若岚，女。被告：章伯年，男。", "原告：章某1，女。被告：章某2，男。"),
    ("被告人欧阳立谦，男。", "被告人欧阳某1，男。"),
    ("被告人阿依古丽·买合木提，女，维吾尔族。", "被告人阿某1，女，维吾尔族。"),
    ("证人章若岚、章某1到庭。", "证人章某2、章某1到庭。"),  # 章某1 is taken
    ("被告人章若岚2018年到案。", "被告人章某甲2018年到案。"),  # a digit would run into the number
    ("原告：上海泽沛商贸有限公司。", "原告：某某公司1。"),
    ("，北京泽沛律师事务所律师。", "，某某律师事务所1律师。"),
    # Columns of names are filled with blanks.
    ("原告：韶　启，男。被告：桑 怀 瑜，女。韶启称桑怀瑜欠款。", "原告：韶某1，男。被告：桑某1，女。韶某1称桑某1欠款。"),
    ("原告韶启，男，汉族。\n原告　韶　启\n", "原告韶某1，男，汉族。\n原告　韶某1\n"),
    ("被告：王　某，男。纪 律严明。", "被告：王　某，男。纪 律严明。"),
    ("（2019）京01民终1234号", "（2019）京01民终×号"),
    ("驾驶浙A0Z0Z0号轿车，电话13800001111", "驾驶浙A×××××号轿车，电话×××"),
    ("被告人卞长庚（绰号“铁拐”），铁拐到案。", "被告人卞某1（绰号“某某1”），某某1到案。"),
    # A given name alone is its owner's, unless it is a word or two people have it.
    ("被告人令狐晓燕到案。晓燕说没有钱，他和晓燕离开。", "被告人令狐某1到案。令狐某1说没有钱，他和令狐某1离开。"),
    ("证人努尔买买提·库尔班到庭。努尔买买提称，其不知情。", "证人努某1到庭。努某1称，其不知情。"),
    ("原告庄建国诉称，建国后法制完善。", "原告庄某1诉称，建国后法制完善。"),
    ("原告庄晓燕，被告令狐晓燕。晓燕说没有钱。", "原告庄某1，被告令狐某1。某某1说没有钱。"),
    # So is the short form of a firm, if the text says whose it is or one firm alone can be meant.
    (
        "原告：上海泽沛商贸有限公司（统一社会信用代码91350100M000100Y43，以下简称“泽沛公司”）。被告：上海泽沛物业有限公司。泽沛公司上诉。",
        "原告：某某公司1（统一社会信用代码×××，以下简称“某某公司1”）。被告：某某公司2。某某公司1上诉。",
    ),
    ("泽沛公司与江苏泽沛科技有限公司签约。", "某某公司1与某某公司1签约。"),
    (
        "原告：上海泽沛商贸有限公司。被告：上海泽沛物业有限公司。泽沛公司付款。",
        "原告：某某公司1。被告：某某公司2。某某公司3付款。",
    ),
    (
        "原告：金穗银行股份有限公司泽沛支行（以下简称泽沛支行）。泽沛支行与金穗银行不同。",
        "原告：某某银行1（以下简称某某银行1）。某某银行1与某某银行2不同。",
    ),
]
NAMES = [
    "章若岚",
    "卞长庚",
    "曲仲元",
    "佟雨薇",
    "莫如松",
    "邝秋池",
    "欧阳立谦",
    "章伯年",
    "阿依古丽·买合木提",
    "李四",
    "张三",
    "王平",
]
TEMPLATES = [
    "原告：{a}，男，1985年3月12日出生，汉族，住杭州市西湖区泽沛路12号。\n",
    "被告：{b}，女。委托诉讼代理人：{c}，北京泽沛律师事务所律师。\n",
    "被告人{a}伙同{b}、{c}将货物卖给{d}。\n",
    "证人{b}、{d}的证言，{a}的供述。\n",
    "后{a}{b}发生争执，{c}与{a}互殴，{d}报警。\n",
    "张某1、李某甲、王××到庭，{a}未到庭。\n",
    "（2019）京01民终1234号，账号330000012000012345、330000012000054321，{a}2018年还款3万元。\n",
    "审 判 长  {c}\n书 记 员  {d}\n",
    "原告：上海{e}商贸有限公司（以下简称{e}公司），与{a}签订合同，{e}公司付款100000.00元。\n",
    "依照《中华人民共和国民法典》第五百零九条，判决如下：一、{a}于判决生效之日起十日内向{b}支付货款25000元。\n",
]
FACTS = re.compile(
    r"《[^》]*》第[一二三四五六七八九十百零]+条|[0-9.]+(?:万)?元|有期徒刑[一二三四五六七八九十]+年|[^，。\n]{2,6}人民法院|2018年2月1日"
)
documents = st.builds(
    lambda order, names, short: "".join(
        TEMPLATES[i].format(a=names[0], b=names[1], c=names[2], d=names[3], e=short) for i in order
    ),
    st.lists(st.integers(0, len(TEMPLATES) - 1), min_size=1, max_size=6),
    st.permutations(NAMES),
    st.sampled_from(["泽沛", "青禾", "恒润"]),
)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_surrogates(text: str, expected: str, strict: Detector) -> None:
    assert mask(text, "judgment", strict).text == expected


@settings(max_examples=60, deadline=None)
@given(document=documents)
def test_masking_twice_changes_nothing_and_splicing_gives_the_text(document: str, strict: Detector) -> None:
    masked = mask(document, "judgment", strict)
    assert splice(document, masked.spans) == masked.text
    assert all(one.end <= two.start for one, two in pairwise(masked.spans))
    assert all(item.replacement != document[item.start : item.end] for item in masked.spans)
    again = mask(masked.text, "judgment", strict)
    assert again.text == masked.text
    assert again.spans == ()


@settings(max_examples=40, deadline=None)
@given(document=documents)
def test_distinct_people_stay_distinct(document: str, strict: Detector) -> None:
    masked = mask(document, "judgment", strict)
    surrogate = {document[item.start : item.end]: item.replacement for item in masked.spans if item.entity == "PERSON"}
    assert len(set(surrogate.values())) == len(surrogate)
    assert all(value not in document for value in surrogate.values())
    for item in masked.spans:
        if item.entity == "PERSON":
            assert item.replacement == surrogate[document[item.start : item.end]]


@settings(max_examples=40, deadline=None)
@given(document=documents)
def test_facts_survive(document: str, strict: Detector) -> None:
    document += "杭州市西湖区人民法院判决：判处有期徒刑三年，自2018年2月1日起。"
    spans = mask(document, "judgment", strict).spans
    for fact in FACTS.finditer(document):
        assert not [item for item in spans if item.start < fact.end() and fact.start() < item.end], fact.group()


def test_fields_share_their_surrogates(strict: Detector) -> None:
    text, title = mask_fields(("原告：章若岚，女。", "章若岚与卞长庚离婚纠纷一审民事判决书"), "judgment", strict)
    assert text.text == "原告：章某1，女。"
    assert title.text == "章某1与卞某1离婚纠纷一审民事判决书"
    assert title.spans[0][:2] == (0, 3)


def test_a_text_without_personal_data_is_returned_as_it_is(strict: Detector) -> None:
    text = "当事人应当按照约定全面履行自己的义务。"
    assert mask(text, "statute", strict).text == text
