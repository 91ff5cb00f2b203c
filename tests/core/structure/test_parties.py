import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.structure.parties import parties
from lexmill.core.structure.rules import SegmentRules
from lexmill.core.structure.segment import Segment, segment

CRIMINAL = (
    "甲市乙区人民法院 刑事判决书 （2078）京0101刑初684号 公诉机关乙区人民检察院。 "
    "被告人张某某，曾用名张二，男，2050年1月2日出生于甲省乙县，汉族，无业，户籍所在地及现住址均为甲省乙县，暂住丙市。"
    "因涉嫌犯盗窃罪于2078年1月2日被逮捕。 被告人张某某因本案现羁押于看守所。 辩护人王某、李某一，甲律师事务所律师。 "
    "被告人赵某，女，××××年×月×日生，住丁市。 "
    "乙区人民检察院以乙检刑诉〔2078〕7号起诉书指控被告人张某某犯盗窃罪，向本院提起公诉。现已审理终结。 "
    "公诉机关指控：窃得手机一部。 本院认为，罪名成立。依照《刑法》第一条，判决如下： 拘役。"
)
CIVIL = (
    "甲市中级人民法院\n民事判决书\n（2078）京01民终3号\n上诉人（原审被告、反诉原告）：甲市测试有限公司，住所地：甲市乙路1号。\n"
    "法定代表人：钱某，总经理。\n委托诉讼代理人：孙某，系丙律师事务所律师。\n被上诉人（原审原告）：周某，男，2049年3月4日出生，住甲市乙区。\n"
    "原审被告人民医院，住所地甲市。\n负责人：吴某。\n上诉人甲市测试有限公司因与被上诉人周某合同纠纷一案，不服判决，向本院提起上诉。"
    "本案现已审理终结。\n甲公司上诉请求：撤销一审判决。\n本院认为，上诉无理。判决如下：\n驳回上诉。\n"
)
TAIWAN = (
    "臺灣甲地方法院民事判決\n108年度訴字第12號\n原　　　告　張某某\n訴訟代理人　王某某律師\n被　　　告　李某某\n"
    "上列當事人間請求清償借款事件，本院判決如下：\n　　主　文\n被告應給付原告壹萬元。\n　　理　由\n一、按。\n"
)


def told(text: str, rules: SegmentRules) -> list[tuple[str, ...]]:
    def words(span: tuple[int, int] | None) -> str:
        return text[slice(*span)] if span else ""

    return [
        (
            *(one.role, one.also, words(one.name), words(one.birth), words(one.address)),
            *(f"{agent.role} {words(agent.name)} {words(agent.firm)}".strip() for agent in one.agents),
        )
        for one in parties(text, segment(text, "judgment", rules))
    ]


def test_parties_of_a_criminal_case(rules: SegmentRules) -> None:
    assert told(CRIMINAL, rules) == [
        ("公诉机关", "", "乙区人民检察院", "", ""),
        ("被告人", "", "张某某", "2050年1月2日", "甲省乙县", "辩护人 王某 甲律师事务所", "辩护人 李某一 甲律师事务所"),
        ("被告人", "", "赵某", "××××年×月×日", "丁市"),
    ]


def test_parties_of_an_appeal(rules: SegmentRules) -> None:
    assert told(CIVIL, rules) == [
        (
            *("上诉人", "原审被告、反诉原告", "甲市测试有限公司", "", "甲市乙路1号"),
            *("法定代表人 钱某", "委托诉讼代理人 孙某 丙律师事务所"),
        ),
        ("被上诉人", "原审原告", "周某", "2049年3月4日", "甲市乙区"),
        ("原审被告", "", "人民医院", "", "甲市", "负责人 吴某"),
    ]


def test_spaced_roles_of_taiwan(rules: SegmentRules) -> None:
    assert told(TAIWAN, rules) == [
        ("原告", "", "張某某", "", "", "訴訟代理人 王某某律師"),
        ("被告", "", "李某某", "", ""),
    ]


def test_without_a_party_block_there_are_none(rules: SegmentRules) -> None:
    text = "原告张某诉称，被告欠款未还。本院认为，应当归还。判决如下：\n还款。"
    assert parties(text, segment(text, "judgment", rules)) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"，。：（）、\n 张王李住", "原告", "被告人", "辩护人", "2050年1月2日出生", "律师事务所", "住所地"])
    )
)
def test_spans_lie_in_the_block(parts: list[str]) -> None:
    text = "首部" + "".join(parts)
    block = Segment("当事人", 2, len(text), 0.9, "")
    for one in parties(text, [block]):
        spans = [one.name, one.birth, one.address, *(span for agent in one.agents for span in (agent.name, agent.firm))]
        assert all(2 <= span.start < span.end <= len(text) for span in spans if span)


@pytest.mark.parametrize("text", ["原告" * 30_000, "原告张" + "　" * 50_000, "被告人张某，住" * 5_000])
def test_hostile_repetition_is_read_in_linear_time(text: str) -> None:
    # A quadratic rule makes this test hang.
    parties(text, [Segment("当事人", 0, len(text), 0.9, "")])
