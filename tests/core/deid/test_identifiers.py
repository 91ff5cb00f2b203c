"""Numbers: what is found among noise, what is left alone."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import read_marks

FOUND = [
    ("ID_CARD", "公民身份号码⟦110105208801012366⟧。"),
    ("ID_CARD", "身份证号码为⟦110105 20880101 2366⟧，"),
    ("ID_CARD", "号码⟦１１０１０５２０８８０１０１２３６６⟧"),
    ("ID_CARD", "身份证号⟦11O1O5208801012366⟧"),  # O for 0
    ("ID_CARD", "身份证号⟦110105208801012369⟧"),  # wrong check digit beside a cue
    ("ID_CARD", "身份证号⟦110105********2366⟧"),  # identifying digits are left
    ("MOBILE", "联系电话⟦13800001111⟧"),
    ("MOBILE", "手机⟦138—0000—1111⟧"),
    ("BANK_CARD", "卡号⟦6222 0000 1111 2223⟧"),
    ("BANK_ACCOUNT", "账号为⟦330000012000012345⟧"),
    ("PLATE", "驾驶⟦浙A0Z0Z0⟧号轿车"),
    ("EMAIL", "邮箱⟦nobody@example.com⟧。"),
    ("WECHAT", "微信号⟦wx_nobody_01⟧"),
    ("LAWYER_LICENCE", "执业证号⟦13301209910000001⟧"),
    ("TITLE_DEED", "浙（2018）杭州市不动产权第⟦0000123⟧号"),
]
LEFT = [
    "（2019）京01民终1234号",
    "法释〔2020〕17号",
    "本金18833374.74元",
    "合计13800001111元",
    "第一百二十三条",
    "依据GB/T 35273-2020",
    "专利号ZL201010000000.0",
    "道路交通事故认定书第410782120180000136号",
    "合同20072110810011301",
    "身份证号×××",
    "手机×××××××××××",
    "驾驶皖H8XXXX轿车",
    "2088年1月1日12时30分",
    "拨打12345或者110",
]


@pytest.mark.parametrize(("entity", "example"), FOUND)
def test_found(entity: str, example: str, strict: Detector) -> None:
    text, spans = read_marks(example)
    assert [(span.start, span.end, span.entity) for span in strict.detect(text, "auto")] == [(*spans[0], entity)]


@pytest.mark.parametrize("text", LEFT)
def test_left_alone(text: str, strict: Detector) -> None:
    assert [span for span in strict.detect(text, "auto") if span.entity != "CASE_NUMBER"] == []


def test_a_list_shares_its_cue(strict: Detector) -> None:
    text, spans = read_marks("账号⟦330000012000012345⟧、⟦330000012000054321⟧，共计330000012元")
    assert [(span.start, span.end) for span in strict.detect(text, "auto")] == spans


def test_serials_of_case_numbers_own_and_cited(strict: Detector) -> None:
    text, spans = read_marks("（2019）京01民终⟦1234⟧号，不服（2013）渝北法民初字第⟦01234⟧号判决，另见（2024）浙01民终×××号")
    assert [(span.start, span.end, span.entity) for span in strict.detect(text, "auto")] == [
        (*span, "CASE_NUMBER") for span in spans
    ]
