import datetime
import json
import re
from pathlib import Path

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


OF_OTHER_TYPES = dict.fromkeys(["version_date", "statute_title", "status", "exam_year", "answer"])


def of(text: str, given: dict[str, str] | None = None, title: str | None = None) -> dict[str, object]:
    return metadata(text, "judgment", title, given or {}, "CN")


def test_fields_of_a_criminal_judgment() -> None:
    assert of(CRIMINAL) == OF_OTHER_TYPES | {
        "case_number": "（2018）京0101刑初12号",
        "court": "甲省乙市丙区人民法院",
        "court_level": "基层",
        "trial_level": "一审",
        "document_kind": "判决书",
        "case_class": "刑事",
        "cause": "危险驾驶罪",
        "judgment_date": datetime.date(2018, 3, 12),
        "jurisdiction": "CN",
    }


def test_fields_of_a_civil_ruling() -> None:
    found = of(CIVIL)
    assert found == OF_OTHER_TYPES | {
        "case_number": "（2079）京民申7号",
        "court": "甲省高级人民法院",
        "court_level": "高级",
        "trial_level": "再审",
        "document_kind": "裁定书",
        "case_class": "民事",
        "cause": "民间借贷纠纷",
        "judgment_date": datetime.date(2079, 12, 31),
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
    assert (found["trial_level"], found["document_kind"], found["case_class"]) == ("一审", "判决书", "刑事")


@pytest.mark.parametrize(
    ("number", "trial_level"),
    [
        ("108年度訴字第1號", "一审"),
        ("108年度上易字第1號", "二审"),
        ("108年度抗字第1號", "二审"),
        ("108年度台上字第1號", "三审"),
        ("108年度再字第1號", "再审"),
        ("108年度司執字第1號", "执行"),
        ("108年度憲字第1號", "其他"),
    ],
)
def test_trial_level_of_taiwan(number: str, trial_level: str) -> None:
    text = f"臺灣甲法院民事判決\n{number}\n上列當事人間因損害賠償事件，提起訴訟"
    found = metadata(text, "judgment", None, {}, "TW")
    assert (found["trial_level"], found["cause"]) == (trial_level, "損害賠償")


@pytest.mark.parametrize(
    ("title", "cause"),
    [
        ("甲市乙商贸有限公司与张某租赁合同纠纷一审民事判决书", "租赁合同纠纷"),
        ("张某与甲市乙公司租赁合同纠纷一审民事判决书", "租赁合同纠纷"),
        ("李某与某某网络科技有限公司网络购物合同纠纷二审民事裁定书", "网络购物合同纠纷"),
        ("张某与甲公司公司决议效力确认纠纷一审民事判决书", "公司决议效力确认纠纷"),
        ("张某、李某损害公司利益责任纠纷再审民事裁定书", "损害公司利益责任纠纷"),
        ("张某与李某生命权、健康权、身体权纠纷", "生命权、健康权、身体权纠纷"),
        ("张某诉李某离婚一案民事判决书", "离婚"),
        ("张某与甲公司追偿权纠纷", "追偿权纠纷"),
        ("甲公司与乙公司侵害商标权纠纷", "侵害商标权纠纷"),
        ("张某医疗服务合同纠纷", "医疗服务合同纠纷"),
    ],
)
def test_cause_has_no_party_and_no_stage(title: str, cause: str) -> None:
    assert of("甲县人民法院\n民事判决书\n（2078）京0101民初1号\n", title=title)["cause"] == cause


def test_charge_stands_in_the_sentence_if_nowhere_else() -> None:
    text = "甲县人民法院\n刑事判决书\n（2078）京0101刑初1号\n公诉机关甲县人民检察院。判决如下：被告人张某犯盗窃罪，判处拘役。"
    assert of(text)["cause"] == "盗窃罪"


@pytest.mark.parametrize(
    ("text", "title", "name", "status"),
    [
        ("# 甲市公园条例(2021-08-20)\n第一条 为了规范。", None, "甲市公园条例", None),
        ("第一条 为了规范。", "《甲法》（2018年修正）", "甲法", None),
        ("甲办法\n时效性：已被修改\n第一条 为了规范。", None, "甲办法", "已修改"),
        ("甲办法（已废止）\n第一条 为了规范。", None, "甲办法", "已废止"),
        ("甲法\n效力状态：现行有效\n第一条 为了规范。", None, "甲法", "现行有效"),
        ("甲法\n（尚未施行）\n第一条 为了规范。", None, "甲法", "尚未施行"),
        ("第一章 总则\n第一条 为了规范。", "第一章 总则", None, None),
    ],
)
def test_statutes_have_a_name_and_a_status(text: str, title: str | None, name: str | None, status: str | None) -> None:
    found = metadata(text, "statute", title, {}, "CN")
    assert (found["statute_title"], found["status"]) == (name, status)


@pytest.mark.parametrize(
    ("text", "year", "answer"),
    [
        ("2078年国家司法考试卷二第3题\n下列说法正确的是？\nA. 甲\nB. 乙\n答案：B", 2078, "B"),
        ("下列说法正确的是？\nA. 甲\nB. 乙\n【答案】A、B、D", None, "ABD"),
        ("110年專門職業及技術人員高等考試律師考試試題\n何者正確？\n答案：Ｃ", 2021, "C"),
        ("甲于2078年借款。下列说法正确的是？\nA. 甲\n答案：Article", None, None),
    ],
)
def test_exams_have_a_year_and_a_key(text: str, year: int | None, answer: str | None) -> None:
    found = metadata(text, "exam", None, {}, "CN")
    assert (found["exam_year"], found["answer"]) == (year, answer)


SHARED = Path(__file__).parents[4] / "shared" / "corpus" / "judgments" / "judge_test.jsonl"


NUMERALS = "〇一二三四五六七八九"
SIGNED = re.compile(
    r"(?:审\s*判\s*[长员]|陪\s*审\s*员)[^，。；]{1,100}?([一二][^，。；\s]{3})\s*年\s*([一二三四五六七八九十]{1,2})\s*月\s*([一二三四五六七八九十]{1,3})\s*日"
)


def small(numeral: str) -> int:
    """一 to 三十一."""
    tens, ten, ones = numeral.rpartition("十")
    return (10 * (NUMERALS.index(tens) if tens else 1) if ten else 0) + (NUMERALS.index(ones) if ones else 0)


def signed_on(text: str) -> datetime.date | None:
    """The first date in numerals after a judge's name; zeros are written in many ways."""
    found = SIGNED.search(text)
    if found is None:
        return None
    year = int("".join(str(max(0, NUMERALS.find(char))) for char in found[1]))
    return datetime.date(year, small(found[2]), small(found[3]))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_file(), reason="needs the corpus of real texts beside the checkout")
def test_real_judgments_say_what_they_are() -> None:
    with SHARED.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["fd"] for line in lines]
    found = [of(text) for text in texts]
    # The number as it stands in the heading, the court as it opens the text, the date as it is written out under the judges.
    number = re.compile(r"[（(〔\[]\s*[0-9]{4}\s*[)）〕\]][^。，]{2,30}?号(?:之一)?")
    right = {"case_number": 0, "court": 0, "judgment_date": 0}
    for text, meta in zip(texts, found, strict=True):
        printed = number.search(text, 0, 300)
        right["case_number"] += printed is not None and meta["case_number"] == printed[0]
        court = str(meta["court"])
        right["court"] += text.partition(court)[0].count("法院") == 0 and court.endswith("法院") and court in text[:200]
        right["judgment_date"] += meta["judgment_date"] is not None and meta["judgment_date"] == signed_on(text)
    assert right["case_number"] >= 0.995 * len(texts)
    assert right["court"] >= 0.99 * len(texts)
    assert right["judgment_date"] >= 0.99 * len(texts)
    assert sum(meta["cause"] is not None for meta in found) >= 0.99 * len(texts)


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
