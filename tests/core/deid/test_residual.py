"""The residual scan: valid identifiers are found, look-alikes of statutes and amounts are not."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask
from lexmill.core.deid.residual import find_valid_identifiers, has_name

FOUND = [
    ("号码110105208801012366。", "ID_CARD", "110105208801012366"),
    ("１１０１０５２０８８０１０１２３６６", "ID_CARD", "１１０１０５２０８８０１０１２３６６"),
    ("110105 20880101 2366", "ID_CARD", "110105 20880101 2366"),
    ("卡6222 0000 1111 2223，", "BANK_CARD", "6222 0000 1111 2223"),
    ("致电138-0000-1111。", "MOBILE", "138-0000-1111"),
    ("手机13800001111号。", "MOBILE", "13800001111"),
    ("手机一三八〇〇〇〇一一一一。", "MOBILE", "一三八〇〇〇〇一一一一"),
    ("手机幺三八-零零零零-壹壹壹壹。", "MOBILE", "幺三八-零零零零-壹壹壹壹"),
    ("第6222000011112223号", "BANK_CARD", "6222000011112223"),
    ("ID110105208801012366abc", "ID_CARD", "110105208801012366"),
    ("卡A6222000011112223b", "BANK_CARD", "6222000011112223"),
    ("0086110105208801012366", "ID_CARD", "110105208801012366"),
    ("1101052088010123660001", "ID_CARD", "110105208801012366"),
    ("其代码91350100M000100Y43。", "USCC", "91350100M000100Y43"),
    ("代码９１３５０１００Ｍ０００１００Ｙ４３，", "USCC", "９１３５０１００Ｍ０００１００Ｙ４３"),
]
FOUND += [
    ("车架号1M8GDM9AXKP042788。", "VIN", "1M8GDM9AXKP042788"),
    ("车１Ｍ８ＧＤＭ９ＡＸＫＰ０４２７８８，", "VIN", "１Ｍ８ＧＤＭ９ＡＸＫＰ０４２７８８"),
    ("手机串号：490154203237518，", "IMEI", "490154203237518"),
    ("IMEI 49-015420-323751-8。", "IMEI", "49-015420-323751-8"),
    ("持Z000000(1)来港", "PERMIT", "Z000000(1)"),
    ("AB000000（9）", "PERMIT", "AB000000（9）"),
]
# What stands behind its name is no number that the detector reads; the document is held back.
NAMED = [
    ("公民身份号码：110105,20880101,2366。", "ID_CARD", "110105,20880101,2366"),
    ("身份证号 110105 | 20880101 | 2366 |", "ID_CARD", "110105 | 20880101 | 2366"),
    ("身份号码110105（2088年01月01日）2366，", "ID_CARD", "110105（2088年01月01日）2366"),
    ("身份证：110105</b><b>20880101</b>2366", "ID_CARD", "110105</b><b>20880101</b>2366"),
    ("身份证：一一O一O五二O八八O一O一二三六六", "ID_CARD", "一一O一O五二O八八O一O一二三六六"),
    ("身份证：110105\u31642088\uffa001012366", "ID_CARD", "110105\u31642088\uffa001012366"),
    ("身份证：" + "，" * 90 + "身份证号110105,20880101,2366", "ID_CARD", "110105,20880101,2366"),
    ("身份证：110105年2088月0101日2366", "ID_CARD", "110105年2088月0101日2366"),
    ("身份证110105，于2088年01月01日到案，押2366天", "", ""),
    ("身份证：110105" + "-" * 30 + "208801012366", "", ""),
    ("公民身份证的号码见附件。1,10105,208801,01,2366", "", ""),
    ("身份证：110105,20880101,2369；", "", ""),
]
PARTED = [" ", "\u00a0", "\u2009", "\u3000", "\u200b", "-", "\u2011", ".", "·", "•", ") (", "\n", "\r\n", "   "]
SCRIPTS = [
    "０１２３４５６７８９",
    "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗",
    "٠١٢٣٤٥٦٧٨٩",
    "⓪①②③④⑤⑥⑦⑧⑨",
    "₀₁₂₃₄₅₆₇₈₉",
    "〇一二三四五六七八九",
    "零壹贰叁肆伍陆柒捌玖",
    "0一2三4五6七8九",
]
NONE = [
    "一二三四五六七八九〇一二三四五六七八",
    "110105,208801,012366",
    "110105，20880230，2361",  # 30 February
    "9110105,20880101,2366",
    "110105的20880101后2366",
    "6222000011112223.50",
    "6222000011112223.00",
    "110105208801012369",  # wrong check digit
    "110105208802302361",  # 30 February
    "6222000011112222",
    "合同编号6222000011112223",
    "（2019）京01民终13800001111号",
    "第13800001111号",
    "本金13800001111元",
    "13800001111.50",
    "法释〔2020〕17号",
    "2088年1月1日",
    "A13800001111",
    "113800001111",
    "13800001111-2",
    "1 3 8 0 0 0 0 1 1 1 1",
    "×××",
    "第一三八〇〇一三八〇〇〇条",
    "一三八〇〇一三八〇〇〇元",
    "一三八〇〇一三八〇〇〇〇",
    "一二八〇〇一三八〇〇〇",
    "91350100M000100Y44",
    "A91350100M000100Y43",
    "1M8GDM9A0KP042788",  # wrong check character
    "A1M8GDM9AXKP042788",
    "11111111111111111",  # no letter
    "编号490154203237518",  # an IMEI only behind its name
    "串号490154203237519",
    "Z000000(2)",
    "附件A123456(1)",
]


@pytest.mark.parametrize(("text", "kind", "value"), FOUND)
def test_found(text: str, kind: str, value: str, strict: Detector) -> None:
    assert [(item.kind, text[item.start : item.end]) for item in find_valid_identifiers(text)] == [(kind, value)]
    assert find_valid_identifiers(mask(text, "auto", strict).text) == []


@pytest.mark.parametrize(("text", "kind", "value"), NAMED)
def test_found_behind_its_name_whatever_parts_it(text: str, kind: str, value: str) -> None:
    assert [(item.kind, text[item.start : item.end]) for item in find_valid_identifiers(text)] == (
        [(kind, value)] if kind else []
    )


@pytest.mark.parametrize(("kind", "number"), [("ID_CARD", "11010520880101023X"), ("BANK_CARD", "6222000011112223")])
@pytest.mark.parametrize("link", PARTED)
def test_found_however_parted(link: str, kind: str, number: str) -> None:
    for groups in ((number[:6], number[6:14], number[14:]), tuple(number)):
        value = link.join(groups)
        assert [(item.kind, item.start, item.end) for item in find_valid_identifiers(f"号{value}。")] == [
            (kind, 1, 1 + len(value))
        ]


@pytest.mark.parametrize(("kind", "number"), [("ID_CARD", "110105208801012366"), ("BANK_CARD", "6222000011112223")])
@pytest.mark.parametrize("script", SCRIPTS)
def test_found_in_every_script(script: str, kind: str, number: str) -> None:
    value = "".join(script[int(digit)] for digit in number)
    assert [(item.kind, item.start, item.end) for item in find_valid_identifiers(f"号{value}。")] == [(kind, 1, 1 + len(value))]


@pytest.mark.parametrize(
    "value",
    [
        *("110105/20880101/2366", "110105,20880101,2366", "110105|20880101|2366", "110105_20880101_2366"),
        *("1101052088年01月01日2366", "11010520880101[2366]", "11010520880101023x", "110105：2088-01-01：2366"),
        *("110105208801012366元", "110105208801012366.00"),
    ],
)
def test_area_day_and_number_are_one_whatever_parts_them(value: str) -> None:
    number = value.removesuffix("元").removesuffix(".00").removesuffix("]")
    assert [(item.kind, item.start, item.end) for item in find_valid_identifiers(f"他提供的是{value}，")] == [
        ("ID_CARD", 5, 5 + len(number))
    ]


@pytest.mark.parametrize("text", NONE)
def test_nothing_found(text: str) -> None:
    assert find_valid_identifiers(text) == []


def test_names_of_three_characters_and_more() -> None:
    assert has_name(["章若岚"], ["甲", "见章若岚"], lambda *_: False)
    assert not has_name(["李四", "章若岚"], ["李四到庭"], lambda *_: False)


def test_a_document_that_lists_names_is_scanned_once_for_all() -> None:
    names = [f"章{first}{second}" for first in "若岚雨薇长庚如松秋池仲元" for second in "怀瑜启佟卞桑韶邝莫曲尕藏多杰之乎者也"]
    assert len(names) > 200
    assert has_name(names, ["甲", "见章元也"], lambda *_: False)
    assert not has_name(names, ["甲", "见章元"], lambda *_: False)


def test_names_of_two_characters_where_the_model_reads_them(strict: Detector) -> None:
    assert has_name(["李敏"], ["原告李敏诉称，被告欠款未还。"], strict.is_read_as_name)
    assert not has_name(["高明"], ["佛山市高明区人民法院"], strict.is_read_as_name)
    assert not has_name(["文明"], ["建设精神文明的城市。"], strict.is_read_as_name)
