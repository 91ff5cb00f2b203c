"""Trade names are masked, public bodies and general words are not."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import read_marks

FOUND = [
    "原告：⟦上海泽沛商贸有限公司⟧。",
    "被告⟦泽沛（集团）有限公司⟧辩称",
    "与⟦上海泽沛商贸有限公司⟧签订合同，⟦上海泽沛商贸有限公司⟧未付款。",
    "⟦上海泽沛商贸有限公司⟧（以下简称⟦泽沛公司⟧）上诉，⟦泽沛公司⟧称其已付款。",
    "被告：⟦泽沛财产保险股份有限公司杭州分公司⟧。",
    "原告：⟦金穗农商银行泽沛支行⟧。",
    "，⟦北京泽沛律师事务所⟧律师。",
    # What ends a name elsewhere may stand in a trade or in a place.
    "被告与⟦杭州泽沛广告有限公司⟧签订合同",
    "被告与⟦北京泽沛系统集成有限公司⟧签订合同",
    "在⟦杭州泽沛汽车租赁有限公司⟧租车",
    "由⟦杭州泽沛供应链管理有限公司⟧承运",
    "与⟦内蒙古泽沛经贸有限公司⟧对账",
    "⟦辽宁泽沛外贸总公司⟧未付款，一旦⟦辽宁泽沛外贸总公司⟧付款",
]
LEFT = [
    "该公司应当承担责任，被告公司辩称",
    "保险公司、物业公司、建筑公司和银行",
    "西湖区人民法院（以下简称西湖法院）",
    "《中华人民共和国公司法》（以下简称公司法）",
    "上海某某有限公司、某某公司1、上海××有限公司",
    "股份有限公司的股东会，有限责任公司可以",
    "向租赁公司租车，后来租赁公司起诉；车辆租赁公司、出租车公司",
    "他人侵犯公司权益，涉及公司内部追偿，期限届满或者公司解散",
    "杭州市公安局西湖区分局、杭州仲裁委员会、浙江省人民政府",
]


@pytest.mark.parametrize("example", FOUND)
def test_found(example: str, strict: Detector) -> None:
    text, spans = read_marks(example)
    found = [(span.start, span.end) for span in strict.detect(text, "judgment") if span.entity in ("ORGANISATION", "LAW_FIRM")]
    assert found == spans


@pytest.mark.parametrize("text", LEFT)
def test_left_alone(text: str, strict: Detector) -> None:
    assert [text[span.start : span.end] for span in strict.detect(text, "judgment")] == []


def test_spc2016_keeps_organisations(spc: Detector) -> None:
    assert spc.detect("原告：上海泽沛商贸有限公司，住所地：浙江省杭州市西湖区泽沛路777号。", "judgment") == []
