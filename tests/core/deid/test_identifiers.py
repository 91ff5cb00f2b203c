"""Numbers: what is found among noise, what is left alone."""

from collections.abc import Callable

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
    ("IP", "登录地址⟦2001:db8:0:17::1⟧。"),
    ("PERMIT", "持⟦Z000000(1)⟧入境"),
    ("PERMIT", "香港身份证⟦Ｚ０００００0（4）⟧"),  # wrong check character beside a cue
    ("TITLE_DEED", "浙（2018）杭州市不动产权第⟦0000123⟧号"),
]
NUMBERS = [
    ("ID_CARD", "110105208801012366"),
    ("ID_CARD", "11010520880101023X"),
    ("MOBILE", "13800001111"),
    ("BANK_CARD", "6222000011112223"),
]
# How a number may be written: what is put between the groups of 3, 4, 4 and more digits.
PARTED = ["\u00a0", "\u2009", "\u3000", "\u202f", "\u200b", "  ", ".", "·", "•", "－", "\u2011", ") (", "\n", "\r\n", " \n\u3000"]
WRITTEN: dict[str, Callable[[str], str]] = {
    "letters before": lambda number: f"Tel⟦{number}⟧",
    "letters behind": lambda number: f"⟦{number}⟧abc",
    "letters around": lambda number: f"ID⟦{number}⟧ok",
    "each digit apart": lambda number: f"⟦{' '.join(number)}⟧",
    "each digit apart, no-break": lambda number: "⟦" + "\u00a0".join(number) + "⟧",
    "parenthesis inside": lambda number: f"⟦({number[:3]}){number[3:]}⟧",
    "full parenthesis inside": lambda number: f"⟦（{number[:3]}）{number[3:]}⟧",
    "parenthesis around": lambda number: f"（⟦{number}⟧）",
    "late line break": lambda number: f"⟦{number[:-1]}\n{number[-1]}⟧",
    "behind another": lambda number: f"⟦110105208801012366⟧⟦{number}⟧",
    "before another": lambda number: f"⟦{number}⟧⟦110105208801012366⟧",
}
DIALLED = ["+86", "86-", "0086", "86", "+86 ", "(+86)"]
LEFT = [
    "第13800001111号",
    "0.13800001111",
    "1500\u2009\u200923\u2009\u200900\u2009\u200900\u2009\u20090",
    "金额（元）\n1500\n2300000\n",
    "编号1101052088010123690",
    "两个号1380000111113900002222",
    "×××13800001111.50",
    "6222000011112223.00",
    "13800\n\n001111",
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


@pytest.mark.parametrize(("entity", "number"), NUMBERS)
@pytest.mark.parametrize("way", WRITTEN)
def test_found_however_written(way: str, entity: str, number: str, strict: Detector) -> None:
    text, spans = read_marks(f"被告的号码是{WRITTEN[way](number)}，已核实。")
    found = strict.detect(text, "auto")
    assert [(span.start, span.end) for span in found] == spans
    assert entity in [span.entity for span in found]


@pytest.mark.parametrize(("entity", "number"), NUMBERS)
@pytest.mark.parametrize("link", PARTED)
def test_found_however_parted(link: str, entity: str, number: str, strict: Detector) -> None:
    text, spans = read_marks(f"被告的号码是⟦{link.join((number[:3], number[3:7], number[7:]))}⟧，已核实。")
    assert [(span.start, span.end, span.entity) for span in strict.detect(text, "auto")] == [(*spans[0], entity)]


@pytest.mark.parametrize(("entity", "number"), NUMBERS)
@pytest.mark.parametrize("dialled", DIALLED)
def test_found_behind_a_country_code(dialled: str, entity: str, number: str, strict: Detector) -> None:
    text, (whole,) = read_marks(f"⟦被告的号码是{dialled}{number}，已核实。⟧")
    start = text.index(number)
    (span,) = strict.detect(text[slice(*whole)], "auto")
    # The country code may be part of a mobile number.
    assert start - len(dialled) <= span.start <= start
    assert (span.end, span.entity) == (start + len(number), entity)


@pytest.mark.parametrize("text", ["第⟦6222000011112223⟧号", "第⟦110105208801012366⟧号"])
def test_a_check_digit_outweighs_an_ordinal(text: str, strict: Detector) -> None:
    text, spans = read_marks(text)
    assert [(span.start, span.end) for span in strict.detect(text, "auto")] == spans


@pytest.mark.parametrize("numbers", ["⟦6222000011112223⟧⟦6222000033334441⟧", "⟦13800001111⟧⟦6222000033334441⟧⟦13800002222⟧"])
def test_one_card_vouches_for_what_is_written_right_at_it(numbers: str, strict: Detector) -> None:
    text, spans = read_marks(f"转入{numbers}后")
    assert [(span.start, span.end) for span in strict.detect(text, "auto")] == spans


def test_digits_that_cling_to_an_identity_number_go_with_it(strict: Detector) -> None:
    text, spans = read_marks("转入⟦99911010520880101236600⟧后")
    assert [(span.start, span.end, span.entity) for span in strict.detect(text, "auto")] == [(*spans[0], "ID_CARD")]


def test_fields_part_numbers(strict: Detector) -> None:
    assert strict.detect("本号13800\n\x1e\n001111", "auto") == []


def test_a_list_shares_its_cue(strict: Detector) -> None:
    text, spans = read_marks("账号⟦330000012000012345⟧、⟦330000012000054321⟧，共计330000012元")
    assert [(span.start, span.end) for span in strict.detect(text, "auto")] == spans


def test_serials_of_case_numbers_own_and_cited(strict: Detector) -> None:
    text, spans = read_marks("（2019）京01民终⟦1234⟧号，不服（2013）渝北法民初字第⟦01234⟧号判决，另见（2024）浙01民终×××号")
    assert [(span.start, span.end, span.entity) for span in strict.detect(text, "auto")] == [
        (*span, "CASE_NUMBER") for span in spans
    ]
