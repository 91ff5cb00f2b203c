from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from lexmill.core.structure.rules import SegmentRules
from lexmill.core.structure.segment import segment
from lexmill.schema import DOC_TYPES

# Each document as (kind, text) pieces: joined, it must be cut into the same pieces again.
Pieces = list[tuple[str, str]]

CRIMINAL: Pieces = [
    ("首部", "甲市乙区人民法院 刑事判决书 （2078）京0101刑初684号 "),
    (
        "当事人",
        "公诉机关乙区人民检察院。 被告人张某，男，无业。因涉嫌犯盗窃罪于2078年1月2日被逮捕。 辩护人王某，甲律师事务所律师。 ",
    ),
    (
        "审理经过",
        "乙区人民检察院以乙检刑诉〔2078〕7号起诉书指控被告人张某犯盗窃罪，向本院提起公诉。本院公开审理了本案。现已审理终结。 ",
    ),
    ("诉称", "公诉机关指控：2078年1月1日，被告人张某窃得手机一部。 "),
    ("辩称", "被告人张某对指控的事实无异议。 辩护人王某提出，被告人系初犯。 "),
    (
        "查明",
        "经审理查明，2078年1月1日，被告人张某窃得手机一部。被告人张某供认不讳。 上述事实，有证人证言等证据证实，足以认定。 ",
    ),
    ("理由", "本院认为，被告人张某的行为已构成盗窃罪。公诉机关指控的罪名成立。"),
    ("依据", "依照《中华人民共和国刑法》第二百六十四条、《最高人民法院解释》第一条之规定，判决如下： "),
    ("主文", "被告人张某犯盗窃罪，判处拘役三个月（刑期自2078年1月2日起至2078年4月1日止）。 "),
    ("尾部", "如不服本判决，可在接到判决书的第二日起十日内提出上诉。书面上诉的，应当提交上诉状正本一份。 "),
    ("落款", "审判长李某 人民陪审员赵某 二〇七八年七月一日 书记员钱某 "),
    ("附录", "附：相关法律条文 《中华人民共和国刑法》第二百六十四条"),
]
CIVIL: Pieces = [
    ("首部", "甲市乙区人民法院\n民 事 判 决 书\n（2078）京0101民初12号\n"),
    ("当事人", "原告：张某，女，住甲市。\n委托诉讼代理人：王某，甲律师事务所律师。\n被告：李某，男，住甲市。\n"),
    (
        "审理经过",
        "原告张某与被告李某民间借贷纠纷一案，本院于2078年1月2日立案后，依法适用简易程序，公开开庭进行了审理。本案现已审理终结。\n",
    ),
    ("诉称", "张某向本院提出诉讼请求：1.判令李某还款一万元；2.诉讼费由李某承担。事实和理由：李某借款不还。\n"),
    ("辩称", "李某辩称，借款已还。\n"),
    ("查明", "本院经审理认定事实如下：2077年1月，李某向张某借款一万元。\n"),
    ("理由", "本院认为，合法的借贷关系受法律保护。被告辩称已还，无证据证明，本院不予采信。\n"),
    ("依据", "综上所述，依照《中华人民共和国民法典》第六百七十五条规定，判决如下：\n".removeprefix("综上所述，")),
    ("主文", "一、李某于本判决生效之日起十日内还款一万元；\n二、驳回张某的其他诉讼请求。\n"),
    (
        "尾部",
        "如果未按本判决指定的期间履行给付金钱义务，应当加倍支付迟延履行期间的债务利息。\n案件受理费50元，由李某负担。\n如不服本判决，可提起上诉。\n",
    ),
    ("落款", "审　判　员　　赵某\n二〇七八年三月一日\n书　记　员　　钱某\n"),
]
APPEAL: Pieces = [
    ("首部", "甲市中级人民法院\n民事判决书\n（2078）京01民终3号\n"),
    ("当事人", "上诉人（原审被告）：李某，男。\n被上诉人（原审原告）：张某，女。\n"),
    ("审理经过", "上诉人李某因与被上诉人张某买卖合同纠纷一案，不服乙区人民法院判决，向本院提起上诉。本案现已审理终结。\n"),
    ("诉称", "李某上诉请求：撤销一审判决。\n"),
    ("辩称", "张某辩称，一审正确。\n"),
    (
        "查明",
        "一审法院认定事实：双方签订合同。\n本院认为，合同有效。遂判决如下：李某付款。\n本院二审查明，一审查明的事实属实。\n",
    ),
    ("理由", "本院认为，一审判决并无不当。"),
    ("依据", "依照《中华人民共和国民事诉讼法》第一百七十七条规定，判决如下：\n"),
    ("主文", "驳回上诉，维持原判。\n"),
    ("尾部", "二审案件受理费50元，由李某负担。\n本判决为终审判决。\n"),
    ("落款", "审判长赵某\n审判员孙某\n二〇七八年五月一日\n"),
]
RULING: Pieces = [
    ("首部", "甲市乙区人民法院\n执行裁定书\n（2078）京0101执9号之一\n"),
    ("当事人", "申请执行人：张某，女。\n被执行人：李某，男。\n"),
    ("审理经过", "本院立案执行的张某申请执行李某借款合同纠纷一案，李某未履行义务。\n"),
    ("依据", "依照《中华人民共和国民事诉讼法》第二百六十八条规定，裁定如下：\n"),
    ("主文", "终结本次执行程序。\n"),
    ("尾部", "本裁定送达后立即生效。\n"),
    ("落款", "审判员赵某\n二〇七八年五月一日\n"),
]
FACTS_ONLY: Pieces = [
    ("诉称", "原告张某诉称，原、被告于2077年登记结婚，请求判令离婚。\n原告年事已高，无力抚养。\n"),
    ("辩称", "被告李某辩称：不同意离婚。\n"),
    ("理由", "本院认为，夫妻感情尚未破裂。\n"),
    ("依据", "根据《中华人民共和国民法典》第一千零七十九条，判决如下：\n"),
    ("主文", "不准原告张某与被告李某离婚。\n"),
    ("尾部", "案件受理费300元，由原告负担。"),
]
PRINTED: Pieces = [
    ("首部", "张某受贿一审刑事判决书\n（2078）京0101刑初1号\n甲市乙区人民法院\n"),
    ("当事人", "1.当事人信息\n公诉机关乙区人民检察院。\n"),
    ("审理经过", "2.案件概述\n乙区人民检察院指控被告人张某犯受贿罪，向本院提起公诉。现已审理终结。\n"),
    ("查明", "6.一审法院查明\n经审理查明，张某受贿一万元。\n"),
    ("理由", "7.一审法院认为\n本院认为，张某的行为已构成受贿罪。\n"),
    ("依据", "依照《中华人民共和国刑法》第三百八十五条，判决如下：\n"),
    ("主文", "8.一审裁判结果\n张某犯受贿罪，判处拘役三个月。\n"),
    ("尾部", "如不服本判决，可提出上诉。\n"),
    ("落款", "9.审判人员\n审判长赵某\n二〇七八年五月一日\n"),
]
CONTRACT: Pieces = [
    ("首部", "房屋租赁合同\n出租方（甲方）：张某\n承租方（乙方）：李某\n"),
    ("条款", "第一条　租赁物\n"),
    ("条款", "一、房屋一套。\n"),
    ("条款", "（1）一厅。\n"),
    ("条款", "（2）两室。\n"),
    ("条款", "二、家具一套。\n"),
    ("条款", "第二条　租金每月一千元。\n第三条的约定优先。\n"),
    ("条款", "第三条　本合同自双方签字之日起生效。\n"),
    ("签署", "甲方（签字）：　　　　乙方（签字）：\n2078年1月2日\n"),
    ("附录", "附件一：家具清单\n一、床一张\n二、椅一把"),
]
SHORT_CONTRACT: Pieces = [
    ("首部", "借款协议\n甲方：张某\n乙方：李某\n"),
    ("条款", "一、甲方借给乙方一万元。\n"),
    ("条款", "1. 现金交付。\n"),
    ("条款", "二、借期一年。\n\n"),
    ("签署", "甲方：\n乙方："),
]
EXAM: Pieces = [
    ("题干", "1.下列说法正确的是？\n"),
    ("选项", "A. 合同有效\nB. 合同无效\n"),
    ("答案", "答案：A\n"),
    ("解析", "解析：1.合同自成立时生效。\n"),
    ("题干", "2. 甲将房屋出租给乙，何者正确？\n"),
    ("选项", "(A)契约有效\n(B)契约无效\n"),
    ("答案", "【答案】B"),
]
PAPER: Pieces = [
    ("首部", "109年律師考試\n科目：民法\n"),
    ("题干", "1 依民法，下列何者正確？\n"),
    ("选项", "(A)甲說 (B)乙說\n(C)丙說\n"),
    ("题干", "2 甲將房屋出租於乙：\n1.租金一千元。\n下列何者錯誤？\n"),
    ("选项", "(A)甲說\n(B)乙說"),
]
REASONING: Pieces = [
    ("题干", "下列说法正确吗？\n公民可以书面申请。\n请给出详细的推理过程之后再给出答案。\n\n"),
    ("解析", "正确。根据规定，可以书面申请。"),
]
QA: Pieces = [("问", "房东不退押金怎么办？\n"), ("答", "可以协商。\n\n也可以起诉。")]
MARKED_QA: Pieces = [
    ("问", "问：房东不退押金怎么办？\n金额一千元。\n"),
    ("答", "律师回复：可以起诉。\n"),
    ("问", "问：要多久？\n"),
    ("答", "答：六个月。"),
]
STATUTE: Pieces = [
    ("首部", "甲法\n2078年1月2日公布\n目录\n第一编 总则\n第一章 一般规定\n第二章 合同\n"),
    ("编", "第一编 总则\n"),
    ("章", "第一章 一般规定\n"),
    ("条", "第一条 为了规范合同，制定本法。\n"),
    ("条", "第二条 本法适用于合同。\n\n"),
    ("款", "第一条规定的下列合同除外：\n"),
    ("项", "（一）口头合同；\n"),
    ("项", "（二）其他：\n"),
    ("目", "1.赠与合同；\n"),
    ("目", "2.借用合同。\n"),
    ("款", "前款所称口头合同，由法院\n认定。\n"),
    ("章", "## 第二章 合同\n"),
    ("节", "### 第一节 订立\n"),
    ("条", "**第三条之一** 合同自成立时生效。\n"),
    ("附录", "附件\n合同目录"),
]
INTERPRETATION: Pieces = [
    ("首部", "甲法院关于适用甲法的解释\n"),
    ("章", "一、管辖\n"),
    ("条", "第一条 甲法第三条所称合同，包括：\n"),
    ("项", "（一）书面合同。\n"),
    ("章", "二、证据\n"),
    ("条", "第二条 证据应当出示。"),
]
REPLY: Pieces = [
    ("首部", "甲法院关于合同效力的批复\n乙高级人民法院：\n你院请示收悉。经研究，批复如下：\n"),
    ("条", "一、口头合同有效。\n"),
    ("款", "（一）双方认可的；\n"),
    ("条", "二、此前的批复废止。"),
]
TAIWAN_STATUTE: Pieces = [
    ("首部", "甲條例\n"),
    ("条", "第 1 條\n違反下列規定之一者，處罰鍰：\n"),
    ("项", "一、第二條。\n"),
    ("项", "二、第三條：\n"),
    ("目", "（一）第一項。\n"),
    ("款", "前項罰鍰，由主管機關處之。\n"),
    ("理由", "理由：一、本條新增。\n二、明定罰則。\n"),
    ("条", "第 2 條\n本條例自公布日施行。"),
]
DOCUMENTS = [
    pytest.param(doc_type, pieces, id=name)
    for name, doc_type, pieces in [
        ("criminal", "judgment", CRIMINAL),
        ("civil", "judgment", CIVIL),
        ("appeal", "judgment", APPEAL),
        ("ruling", "judgment", RULING),
        ("facts only", "judgment", FACTS_ONLY),
        ("printed headings", "judgment", PRINTED),
        ("contract", "contract", CONTRACT),
        ("short contract", "contract", SHORT_CONTRACT),
        ("exam", "exam", EXAM),
        ("paper", "exam", PAPER),
        ("reasoning", "exam", REASONING),
        ("question", "qa", QA),
        ("marked question", "qa", MARKED_QA),
        ("statute", "statute", STATUTE),
        ("interpretation", "statute", INTERPRETATION),
        ("reply", "statute", REPLY),
        ("statute of Taiwan", "statute", TAIWAN_STATUTE),
    ]
]


def pieces_of(text: str, doc_type: str, rules: SegmentRules) -> Pieces:
    return [(part.kind, text[part.start : part.end]) for part in segment(text, doc_type, rules)]


@pytest.mark.parametrize(("doc_type", "pieces"), DOCUMENTS)
def test_documents_are_cut_where_a_lawyer_would(doc_type: str, pieces: Pieces, rules: SegmentRules) -> None:
    assert pieces_of("".join(text for _, text in pieces), doc_type, rules) == pieces


PATHS = [
    (
        "statute",
        STATUTE,
        "编1 编1/章1 编1/章1/条1 编1/章1/条2 编1/章1/条2/款2 编1/章1/条2/款2/项1 编1/章1/条2/款2/项2 "
        "编1/章1/条2/款2/项2/目1 编1/章1/条2/款2/项2/目2 编1/章1/条2/款3 编1/章2 编1/章2/节1 编1/章2/节1/条3-1",
    ),
    ("statute", INTERPRETATION, "章1 章1/条1 章1/条1/款1/项1 章2 章2/条2"),
    ("statute", REPLY, "条1 条1/款1 条2"),
    ("statute", TAIWAN_STATUTE, "条1 条1/款1/项1 条1/款1/项2 条1/款1/项2/目1 条1/款2 条2"),
    ("contract", CONTRACT, "条1 条1/款1 条1/款1/项1 条1/款1/项2 条1/款2 条2 条3"),
    ("contract", SHORT_CONTRACT, "条1 条1/款1 条2"),
    ("exam", EXAM, "题1 题1 题1 题1 题2 题2 题2"),
    ("exam", PAPER, "题1 题1 题2 题2"),
    ("qa", MARKED_QA, "问1 问1 问2 问2"),
]


@pytest.mark.parametrize(("doc_type", "pieces", "paths"), PATHS)
def test_segments_say_their_number(doc_type: str, pieces: Pieces, paths: str, rules: SegmentRules) -> None:
    text = "".join(text for _, text in pieces)
    assert [part.path for part in segment(text, doc_type, rules) if part.path] == paths.split()


def test_a_decimal_is_a_step_of_its_own_clause_only(rules: SegmentRules) -> None:
    text = "服务合同\n第1条 价款\n1.1 总价\n1.2 分期\n3.5 倍\n第2条 期限\n2.1 一年"
    assert [part.path for part in segment(text, "contract", rules)] == ["", "条1", "条1/款1", "条1/款2", "条2", "条2/款1"]


def test_one_line_judgments_are_cut_alike(rules: SegmentRules) -> None:
    text = "".join(text for _, text in CIVIL).replace("\n", " ")
    assert [kind for kind, _ in pieces_of(text, "judgment", rules)] == [kind for kind, _ in CIVIL]


def test_a_stretch_without_cue_is_uncertain(rules: SegmentRules) -> None:
    (part,) = segment("张某欠款不还，双方各执一词。", "judgment", rules)
    assert part.kind == "查明"
    assert part.confidence < 0.5


CUES = [text for param in DOCUMENTS for _, text in param.values[1]]  # type: ignore[union-attr]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(CUES), st.text("本院认为判决如下：。，\n 审判长第一条A答", max_size=12)), max_size=8),
    st.sampled_from(DOC_TYPES),
)
def test_segments_tile_any_text(rules: SegmentRules, parts: list[str], doc_type: str) -> None:
    text = "".join(parts)
    segments = segment(text, doc_type, rules)
    assert [part.start for part in segments] == [0, *(part.end for part in segments[:-1])][: len(segments)]
    assert (segments[-1].end if segments else 0) == len(text)
    assert all(part.start < part.end and 0 < part.confidence <= 1 for part in segments)


@pytest.mark.parametrize("doc_type", DOC_TYPES)
@pytest.mark.parametrize("text", ["\n" + " " * 50_000, "查明" * 20_000, "\n第一条" * 10_000], ids=["blank", "cue", "heading"])
def test_hostile_repetition_is_cut_in_linear_time(text: str, doc_type: str, rules: SegmentRules) -> None:
    # Backtracking over 50,000 blanks once took minutes: a quadratic rule makes this test hang.
    assert segment(text, doc_type, rules)[-1].end == len(text)


@pytest.mark.parametrize("doc_type", DOC_TYPES)
def test_an_empty_text_has_no_segments(doc_type: str, rules: SegmentRules) -> None:
    assert segment("", doc_type, rules) == []


def test_an_unknown_type_is_refused(rules: SegmentRules) -> None:
    with pytest.raises(KeyError):
        segment("文本", "novel", rules)


def test_shipped_rules_prove_their_examples(rules: SegmentRules) -> None:
    assert len(rules.cue) > 15
    assert rules.faults() == []


CUE: dict[str, Any] = {
    "id": "test.reason",
    "why": "for the test",
    "doc_type": "judgment",
    "kind": "理由",
    "literals": ["本院认为"],
    "border": "sentence",
    "confidence": 0.9,
    "match": ["足以认定。｜本院认为，成立。"],
    "no_match": ["被告称本院认为有误"],
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"match": ["足以｜认定。本院认为，成立。"]}, "begins at 5"),
        ({"match": ["没有｜线索"]}, "does not hold"),
        ({"match": ["本院认为，成立。"]}, "put one ｜"),
        ({"no_match": ["本院认为，不成立。"]}, "narrow its pattern"),
    ],
)
def test_a_rule_that_fails_its_own_example_is_a_fault(change: dict[str, Any], problem: str | None) -> None:
    faults = SegmentRules.model_validate({"cue": [CUE | change]}).faults()
    assert [fault.rule_id for fault in faults] == (["test.reason"] if problem else [])
    assert all(problem and problem in fault.problem for fault in faults)


@pytest.mark.parametrize(
    "change",
    [{"pattern": "("}, {"pattern": "(本院)"}, {"colour": "red"}, {"literals": []}, {"cut": "middle"}, {"confidence": 2.0}],
)
def test_a_malformed_rule_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SegmentRules.model_validate({"cue": [CUE | change]})


TAIWAN = (
    "臺灣甲地方法院民事判決\n108年度訴字第12號\n原　　　告　張某\n被　　　告　李某\n"
    "上列當事人間請求清償借款事件，本院判決如下：\n"
    "　　主　文\n被告應給付原告新臺幣壹萬元。\n　　事　實\n一、原告起訴主張：被告借款未還。\n　　理　由\n一、按借款應返還。\n"
    "據上論結，原告之訴為有理由，依民事訴訟法第七十八條，判決如主文。\n中　　華　　民　　國　108　年　6　月　19　日\n"
    "民事第一庭　法　官　王某\n以上正本係照原本作成。\n書記官　趙某"
)


def test_a_judgment_of_taiwan_has_its_order_first(rules: SegmentRules) -> None:
    parts = segment(TAIWAN, "judgment", rules)
    assert [part.kind for part in parts] == ["首部", "当事人", "主文", "查明", "理由", "依据", "落款"]
    begins = [TAIWAN[part.start : part.end].strip().split("\n")[0].replace("\u3000", "") for part in parts]
    assert begins[1:6] == ["原告张某".replace("张", "張"), "主文", "事實", "理由", begins[5]]
    assert begins[5].startswith("據上論結")
    assert begins[6].startswith("中華民國108年")


def test_facts_and_reasons_under_one_heading(rules: SegmentRules) -> None:
    text = TAIWAN.replace("　　事　實\n一、原告起訴主張：被告借款未還。\n　　理　由", "　　事實及理由")
    assert [part.kind for part in segment(text, "judgment", rules)][2:5] == ["主文", "理由", "依据"]


COMPENSATION = (
    "甲市中级人民法院赔偿委员会决定书\n（2078）甲01委赔1号\n赔偿请求人：张某，男，住甲市。\n"
    "赔偿请求人张某于2078年1月2日以错误羁押为由，要求甲市公安局支付赔偿金。\n本院赔偿委员会经审理查明：张某被羁押十日。\n"
    "本院赔偿委员会认为，应予赔偿。根据《中华人民共和国国家赔偿法》第十七条之规定，决定如下：\n甲市公安局支付赔偿金三千元。\n"
    "本决定为发生法律效力的决定。\n二〇七八年五月一日\n（院印）"
)


def test_a_decision_on_compensation_has_its_parts(rules: SegmentRules) -> None:
    kinds = [part.kind for part in segment(COMPENSATION, "judgment", rules)]
    assert kinds == ["首部", "当事人", "诉称", "查明", "理由", "依据", "主文", "尾部", "落款"]


@pytest.mark.parametrize("opening", ["本案情况复杂，本院认为，应予准许。", "经合议庭评议，本院认为，应予准许。"])
def test_a_reason_that_no_strong_cue_opens_is_a_reason(opening: str, rules: SegmentRules) -> None:
    text = f"甲市乙区人民法院\n民事裁定书\n原告：张某，女。\n被告：李某，男。\n{opening}裁定如下：\n准许撤诉。\n审判员赵某\n"
    kinds = [part.kind for part in segment(text, "judgment", rules)]
    assert "理由" in kinds
    assert "理由弱" not in kinds
