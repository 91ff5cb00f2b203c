import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.structure.metadata import metadata, parse_date
from lexmill.schema import META

CRIMINAL = (
    "甲省乙市丙区人民法院 刑事判决书 （2018）京0101刑初12号 公诉机关丙区人民检察院。 "
    "被告人张某，曾因犯盗窃罪于2011年3月被判刑。 "
    "丙区人民检察院指控被告人张某犯危险驾驶罪，于2018年2月1日向本院提起公诉。现已审理终结。 本院认为，罪名成立。"
    "依照《中华人民共和国刑法》第一百三十三条之一，判决如下： 被告人张某犯危险驾驶罪，判处拘役（自2018年3月1日起至3月31日止）。"
    " 如不服本判决，可提出上诉。 审判长李某 人民陪审员王某 二〇一八年三月十二日 书记员赵某 附：1997年3月14日修订的条文"
)
CIVIL = (
    "甲省高级人民法院\n民事裁定书\n（2079）京民申7号\n再审申请人：张某，女。\n再审申请人张某因与李某民间借贷纠纷一案，申请再审。"
    "\n裁定如下：\n驳回张某的再审申请。\n审　判　长　　王某\n审　判　员　　赵某\n二〇七九年十二月三十一日\n书　记　员　　钱某"
)


def of(text: str, given: dict[str, str] | None = None, title: str | None = None) -> dict[str, object]:
    return metadata(text, "judgment", title, given or {}, "CN")


def test_fields_of_a_criminal_judgment() -> None:
    assert of(CRIMINAL) == {
        "case_number": "（2018）京0101刑初12号",
        "court": "甲省乙市丙区人民法院",
        "court_level": "基层",
        "trial_level": "一审",
        "document_kind": "判决书",
        "case_class": "刑事",
        "cause": "危险驾驶罪",
        "judgment_date": datetime.date(2018, 3, 12),
        "version_date": None,
        "jurisdiction": "CN",
    }


def test_fields_of_a_civil_ruling() -> None:
    found = of(CIVIL)
    assert found == {
        "case_number": "（2079）京民申7号",
        "court": "甲省高级人民法院",
        "court_level": "高级",
        "trial_level": "再审",
        "document_kind": "裁定书",
        "case_class": "民事",
        "cause": "民间借贷纠纷",
        "judgment_date": datetime.date(2079, 12, 31),
        "version_date": None,
        "jurisdiction": "CN",
    }


def test_the_record_wins_where_it_parses() -> None:
    given = {"case_number": "(2078)沪01民终9号", "court": "沪市第一中级人民法院", "cause": "合同纠纷", "date": "2078-05-06"}
    found = of(CRIMINAL, given)
    assert found["case_number"] == "(2078)沪01民终9号"
    assert (found["court"], found["court_level"]) == ("沪市第一中级人民法院", "中级")
    assert (found["trial_level"], found["case_class"], found["cause"]) == ("二审", "民事", "合同纠纷")
    assert found["judgment_date"] == datetime.date(2078, 5, 6)


def test_a_record_that_does_not_parse_loses() -> None:
    given = {"case_number": "不详", "court": "无", "cause": " ", "date": "2078"}
    assert of(CRIMINAL, given) == of(CRIMINAL)


@pytest.mark.parametrize(
    ("number", "trial_level", "case_class"),
    [
        ("（2078）京01行终1号", "二审", "行政"),
        ("（2078）京0101行赔初1号", "一审", "行政"),
        ("（2078）京0101执恢1号", "执行", "执行"),
        ("（2013）清民执字第1号", "执行", "执行"),
        ("（2078）京委赔1号", "其他", "赔偿"),
        ("（2078）京01破申1号", "其他", "民事"),
        ("（2078）京01刑更1号", "其他", "刑事"),
        ("（2078）京01民再1号", "再审", "民事"),
        ("（2013）深中法商终字第1号", "二审", "民事"),
    ],
)
def test_type_codes_say_level_and_class(number: str, trial_level: str, case_class: str) -> None:
    found = of(f"甲市第一中级人民法院\n民事裁定书\n{number}\n申请人：张某。")
    assert (found["trial_level"], found["case_class"]) == (trial_level, case_class)


@pytest.mark.parametrize(
    ("heading", "level"),
    [
        ("最高人民法院", "最高"),
        ("甲省高级人民法院", "高级"),
        ("甲市中级人民法院", "中级"),
        ("甲县人民法院", "基层"),
        ("甲知识产权法院", "专门"),
        ("甲海事法院", "专门"),
        ("审理法院：甲县人民法院", "基层"),
        ("（2078）最高法民终1号", "最高"),
        ("（2078）京01民终1号", "中级"),
        ("（2078）京0101民初1号", "基层"),
        ("（2078）京73民终1号", "专门"),
    ],
)
def test_court_level(heading: str, level: str) -> None:
    assert of(f"{heading}\n民事判决书\n")["court_level"] == level


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("民 事 判 决 书", "判决书"),
        ("执行裁定书", "裁定书"),
        ("民事调解书", "调解书"),
        ("国家赔偿决定书", "决定书"),
        ("驳回申诉通知书", "通知书"),
        ("支付令", "其他"),
    ],
)
def test_document_kind(heading: str, kind: str) -> None:
    assert of(f"甲县人民法院\n{heading}\n（2078）京0101民初1号\n")["document_kind"] == kind


def test_kind_without_a_heading_follows_the_order() -> None:
    assert of("本院认为，申请成立。裁定如下：准许撤诉。")["document_kind"] == "裁定书"


def test_nothing_known() -> None:
    assert of("张某欠款不还。") == dict.fromkeys(field.name for field in META) | {"jurisdiction": "CN"}


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("二〇一九年三月十二日", (2019, 3, 12)),
        ("二○一九年十二月三十一日", (2019, 12, 31)),
        ("二零二〇年十月二十日", (2020, 10, 20)),
        ("二O二一年一月廿三日", (2021, 1, 23)),
        ("二0一六年五 月 三十日", (2016, 5, 30)),
        ("２０１９年３月１２日", (2019, 3, 12)),
        ("二〇一八年三月一十九日", (2018, 3, 19)),
        ("中華民國 108 年 6 月 19 日", (2019, 6, 19)),
        ("2019-03-12T00:00:00", (2019, 3, 12)),
        ("2019/3/12", (2019, 3, 12)),
        ("20190312", (2019, 3, 12)),
    ],
)
def test_dates_in_every_writing(text: str, date: tuple[int, int, int]) -> None:
    assert parse_date(text) == datetime.date(*date)


@pytest.mark.parametrize(
    "text", ["", "二〇一九年十三月一日", "2019年2月30日", "二〇一九年十十月一日", "××××年××月××日", "123456789"]
)
def test_no_date(text: str) -> None:
    assert parse_date(text) is None


@settings(max_examples=100, deadline=None)
@given(st.dates(datetime.date(1949, 1, 1), datetime.date(2099, 12, 31)))
def test_numerals_mean_their_date(date: datetime.date) -> None:
    def counted(number: int) -> str:
        tens, units = divmod(number, 10)
        return (
            ("" if tens < 2 else "一二三"[tens - 1])
            + ("十" if tens else "")
            + ("" if units == 0 else "一二三四五六七八九"[units - 1])
        )

    year = "".join("〇一二三四五六七八九"[int(figure)] for figure in str(date.year))
    assert parse_date(f"{year}年{counted(date.month)}月{counted(date.day)}日") == date


def test_date_of_a_taiwan_judgment() -> None:
    text = "臺灣甲地方法院刑事判決\n108年度易字第12號\n主文\n中　華　民　國　108　年　6　月　19　日\n刑事第一庭　法　官　李某"
    found = metadata(text, "judgment", None, {}, "TW")
    assert found["judgment_date"] == datetime.date(2019, 6, 19)
    assert found["case_number"] == "108年度易字第12號"
    assert (found["court"], found["court_level"], found["jurisdiction"]) == ("臺灣甲地方法院", "基层", "TW")


@pytest.mark.parametrize(
    ("text", "title", "date"),
    [
        ("# 甲条例(2021-08-20)\n\n第一条 为了规范。", None, (2021, 8, 20)),
        ("第一条 为了规范。", "甲条例(2021-08-20)", (2021, 8, 20)),
        (
            "甲法\n1993年12月29日通过\n根据1999年12月25日《决定》第一次修正\n第一条 为了规范。2022年1月1日修正",
            None,
            (1999, 12, 25),
        ),
        ("甲办法\n2019年4月1日公布，自2020年1月1日起施行\n第一条 为了规范。", None, (2019, 4, 1)),
        ("甲條例\n中華民國108年6月19日修正\n第 1 條 為規範。", None, (2019, 6, 19)),
    ],
)
def test_version_is_the_newest_date(text: str, title: str | None, date: tuple[int, int, int]) -> None:
    assert metadata(text, "statute", title, {}, "CN")["version_date"] == datetime.date(*date)


@pytest.mark.parametrize("doc_type", ["contract", "exam", "qa"])
def test_other_types_have_a_jurisdiction_only(doc_type: str) -> None:
    found = metadata(CRIMINAL, doc_type, None, {}, "HK")
    assert [name for name, value in found.items() if value is not None] == ["jurisdiction"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["judgment", "statute"]))
def test_every_text_has_exactly_the_fields_of_meta(text: str, doc_type: str) -> None:
    assert list(metadata(text, doc_type, None, {}, "CN")) == [field.name for field in META]
