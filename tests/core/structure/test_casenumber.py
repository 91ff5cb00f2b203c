import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.structure.casenumber import find, heading, key, own

# text, year, court, type, serial, suffix, well formed
NUMBERS = [
    ("（2079）京01民终1234号", "2079", "京01", "民终", "1234", "", True),
    ("(2078)最高法知民终5号", "2078", "最高法", "知民终", "5", "", True),
    ("〔2078〕沪0101执恢12号之一", "2078", "沪0101", "执恢", "12", "之一", True),
    ("［２０７８］苏０５８１刑初１７０４号", "2078", "苏0581", "刑初", "1704", "", True),
    ("[2078]粤1302财保1016-1号", "2078", "粤1302", "财保", "1016-1", "", True),
    ("（2078）粤01司救执3号", "2078", "粤01", "司救执", "3", "", True),
    ("（2013）渝北法民初字第01234号", "2013", "渝北法", "民初", "01234", "", True),
    ("（2013）浦民一（民）初字第7号", "2013", "浦", "民一（民）初", "7", "", True),
    ("(2012)深中法知民初字第102、103、104号", "2012", "深中法", "知民初", "102、103、104", "", True),
    ("（2007）南法行初字第8号、10号", "2007", "南法", "行初", "8、10", "", True),
    ("（2002）民二他字第32号", "2002", "", "民二他", "32", "", True),
    ("（二〇一二）西刑初字第9号", "2012", "西", "刑初", "9", "", True),
    ("（ 2078 ） 京 01 民终 12 号", "2078", "京01", "民终", "12", "", True),
    ("（2014）仓刑初字第512号－1", "2014", "仓", "刑初", "512", "-1", True),
    ("（2078）浙01民终×××号", "2078", "浙01", "民终", "×××", "", False),
    ("（2078）×民初字第××号", "2078", "×", "民初", "××", "", False),
    ("（594）川1210刑初356号", "594", "川1210", "刑初", "356", "", False),
    ("（20\ufffd8）川1210刑初356号", "20\ufffd8", "川1210", "刑初", "356", "", False),
]


@pytest.mark.parametrize(("text", "year", "court", "type_", "serial", "suffix", "well_formed"), NUMBERS)
def test_find_takes_a_number_apart(
    text: str, year: str, court: str, type_: str, serial: str, suffix: str, well_formed: bool
) -> None:
    (number,) = find(f"不服{text}判决")
    assert (number.start, number.end) == (2, 2 + len(text))
    assert (number.year, number.court, number.type, number.serial, number.suffix) == (year, court, type_, serial, suffix)
    assert number.well_formed == well_formed
    assert (key(number) is None) == (not well_formed)


@pytest.mark.parametrize(
    "text",
    [
        "法释〔2020〕17号",
        "国发〔2019〕5号",
        "沪奉检诉刑诉［2017］700号起诉书",
        "（2014）沪卢证经字第818号公证书",
        "（2016）临鉴字第37号",
        "（2012）释字第51-717号",
        "（2014）合瑶劳仲裁字第107号裁决",
        "(2015)流贷字第50号",
        "〔1991〕价重字28号",
        "（2018）第410号",
        "（另案处理）在延安东路192号",
        "（2016）珍10号",
    ],
)
def test_find_leaves_what_no_court_wrote(text: str) -> None:
    assert find(text) == []


def test_suffix_is_not_a_stage_of_the_proceedings() -> None:
    (number,) = find("（2078）京01民初12号之一审判决")
    assert number.suffix == ""


def test_correction_is_not_part_of_the_number() -> None:
    text = "（2078）京01民初12号补正裁定"
    (number,) = find(text)
    assert text[number.end :] == "补正裁定"


@pytest.mark.parametrize(
    "variant",
    [
        "(2078)渝北法民初字第012号",
        "〔2078〕渝北法民初字第012号",
        "[２０７８]渝北法民初字第０１２号",
        "（2078） 渝北法 民初字 第 012 号",
    ],
)
def test_key_folds_brackets_width_and_spaces(variant: str) -> None:
    (plain,), (folded,) = find("（2078）渝北法民初字第012号"), find(variant)
    assert key(folded) == key(plain)


@pytest.mark.parametrize(
    "other",
    [
        "（2078）渝北法民初字第12号",
        "（2079）渝北法民初字第012号",
        "（2078）渝北法民终字第012号",
        "（2078）渝北法民初字第012号之一",
        "（2078）渝中法民初字第012号",
        "（2078）渝北法民初字第012-1号",
    ],
)
def test_key_tells_cases_apart(other: str) -> None:
    (plain,), (different,) = find("（2078）渝北法民初字第012号"), find(other)
    assert key(different) not in (None, key(plain))


TEXT = st.text(st.sampled_from("（）()[]2078０ ×某京民初执字第号之一、-和法。\n甲\ufffd"), max_size=80)


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_numbers_are_sorted_disjoint_and_where_they_say(text: str) -> None:
    end = 0
    for number in find(text):
        assert end <= number.start < number.serial_start < number.serial_end < number.end
        end = number.end
        assert text[number.start] in "（(["
        assert "号" in text[number.serial_end : number.end]
        if number.well_formed:
            assert len(number.year) == 4
            assert not set("×某\ufffd") & set(text[number.start : number.end])
            (again,) = find(text[number.start : number.end])
            assert key(again) == key(number)


OWN = [
    ("甲市乙区人民法院 刑事判决书 （2078）甲0101刑初684号 公诉机关甲市乙区人民检察院。", "684"),
    ("张某盗窃一案判决书\n甲市乙区人民法院\n（2013）乙刑初字第5号\n公诉机关甲市乙区人民检察院。", "5"),
    ("首页 > 裁判文书 > 正文\n甲市乙区人民法院\n刑事判决书\n（594）川1210刑初356号\n公诉机关甲市乙区人民检察院。", "356"),
    ("公诉机关指控：张某不履行（2078）甲0101民初9号判决。", None),
    ("经审理查明，甲市乙区人民法院作出（2078）甲0101民初9号判决。", None),
    ("上诉人张某，男。不服（2078）甲0101民初9号判决。", None),
    ("甲市乙区人民法院" + "。" * 400 + "（2078）甲0101民初9号", None),
]


@pytest.mark.parametrize(("text", "serial"), OWN)
def test_own_is_the_number_of_the_heading(text: str, serial: str | None) -> None:
    number = own(text, "judgment")
    assert (number.serial if number else None) == serial


def test_only_judgments_have_a_number_of_their_own() -> None:
    assert own(OWN[0][0], "qa") is None


def test_heading_ends_before_the_parties() -> None:
    assert heading("甲市法院\n判决书\n原告：张某，女。") == "甲市法院\n判决书\n"
