import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.quality.judge import filter_documents
from lexmill.core.quality.rules import QualityRules
from lexmill.schema import DOC_TYPES, DOCUMENT_JUDGED, LEDGER
from tests.core.quality.conftest import documents

GOOD = {
    "judgment": "某市某区人民法院\n民事判决书\n（2078）某0101民初12号\n原告：卓某，女，汉族。\n被告：某某有限公司。\n"
    "经审理查明，2077年3月5日，双方签订房屋租赁合同，约定月租金3,200元。\n"
    "本院认为，合同合法有效，被告逾期付款构成违约。\n判决如下：\n"
    "一、被告于本判决生效之日起十日内支付原告租金9,600元；\n二、驳回原告其他诉讼请求。\n审判员　甲某\n书记员　乙某",
    "contract": "货物买卖合同\n甲方（卖方）：________________\n乙方（买方）：________________\n"
    "第一条 货物名称：______，数量：____吨。\n第二条 价款：人民币________元（大写：________________）。\n"
    "第三条 交货时间：____年__月__日。\n第四条 违约责任：逾期交货的，每日按价款的千分之三支付违约金。\n"
    "甲方（盖章）：________　乙方（盖章）：________\n日期：____年__月__日",
    "exam": "甲将房屋出租给乙，租期内又卖给丙并办理登记。下列哪一说法正确？\n"
    "A. 租赁合同终止\nB. 乙可继续承租\nC. 丙可解除合同\nD. 买卖无效\n答案：B",
    "qa": "公司拖欠工资怎么办？\n您可以先与公司协商，协商不成的，向劳动监察部门投诉，或者申请劳动仲裁，要求支付工资和经济补偿。",
    "statute": "某市养犬管理办法\n第一章 总则\n第一条 为了规范养犬行为，维护公共秩序，制定本办法。\n"
    "第二条 本市行政区域内的养犬活动，适用本办法。\n第二章 登记\n"
    "第三条 养犬人应当自养犬之日起三十日内办理登记。\n第四条 本办法自2079年5月1日起施行。",
}
MENU = "首页\n法律法规\n裁判文书\n合同范本\n律师名录\n关于我们\n联系我们\n网站地图\n设为首页\n加入收藏"
GARBAGE = {
    "empty": "",
    "blank": " \n\u3000\n",
    "menu": MENU,
    "bar menu": "首页 | 新闻 | 法规 | 案例 | 律师\n当前位置：首页 > 案例 > 正文\n"
    "上一篇 下一篇 打印本页 关闭窗口\n版权所有 网站地图",
    "character loop": "的" * 300,
    "symbol loop": "。" * 300,
    "phrase loop": "根据相关法律规定，" * 60,
    "line loop": "甲方应当按照合同约定的时间、地点和方式履行义务。\n" * 20,
    "utf-8 as gbk": GOOD["judgment"].encode().decode("gbk", "replace"),
    "utf-8 as latin-1": GOOD["statute"].encode().decode("latin-1"),
    "gb18030 as utf-8": GOOD["contract"].encode("gb18030").decode("utf-8", "replace"),
    "big5 as gb18030": "中華民國刑法第一條行為之處罰以行為時之法律有明文規定者為限拘束人身自由".encode("big5").decode(
        "gb18030", "replace"
    ),
    "binary": bytes(random.Random(5).randrange(256) for _ in range(600)).decode("gb18030", "replace"),
    "random ideographs": "".join(chr(random.Random(7 + n).randint(0x4E00, 0x9FA5)) for n in range(300)),
    "link list": "\n".join(f"https://www.example.cn/ws/{n}.html" for n in range(12)),
    "numbers": "\n".join("13 2078 4471 9920 0031 5528" for _ in range(3)) + "\n99 12 7731 0042",
}


@pytest.mark.parametrize("doc_type", DOC_TYPES)
def test_good_text_stays_without_a_tag(shipped: QualityRules, doc_type: str) -> None:
    batch = filter_documents(documents((doc_type, GOOD[doc_type])), shipped, None)
    assert batch.kept["tags"].to_pylist() == [[]]
    assert batch.ledger.num_rows == 0


@pytest.mark.parametrize("doc_type", DOC_TYPES)
@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_goes(shipped: QualityRules, doc_type: str, kind: str) -> None:
    batch = filter_documents(documents((doc_type, GARBAGE[kind])), shipped, None)
    assert batch.kept.num_rows == 0
    assert batch.ledger["action"].to_pylist()[0] in ("drop", "quarantine")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("离婚怎么办？\n专业律师团队，免费咨询，加微信，24小时在线，胜诉率高。", "quality.qa.advertisement"),
        ("怎么立案？\n作为一个人工智能语言模型，我无法提供法律意见，建议您向当地法院了解。", "quality.any.model_boilerplate"),
        ("加班费怎么算？\n根据《劳动法》第X条的规定，应当支付不低于百分之一百五十的工资。", "quality.qa.placeholder_citation"),
    ],
)
def test_answers_that_answer_nothing_are_dropped(shipped: QualityRules, text: str, rule: str) -> None:
    ledger = filter_documents(documents(("qa", text)), shipped, None).ledger.to_pylist()
    assert [(row["action"], row["rule"]) for row in ledger] == [("drop", rule)]


def test_a_repealed_law_is_tagged_where_it_is_cited_as_current(shipped: QualityRules) -> None:
    text = "{}根据《中华人民共和国合同法》第九十四条的规定，一方迟延履行主要债务，经催告后仍未履行的，对方可以解除合同。"
    batch = filter_documents(
        documents(("qa", text.format("能解除合同吗？")), ("judgment", text.format("本院认为，"))), shipped, None
    )
    assert batch.kept["tags"].to_pylist() == [["quality.qa.cites_repealed"], []]
    assert batch.counts == {"tag.quality.qa.cites_repealed": 1}


def bound(name: str, action: str, *, rate: float | None = 0.0, minimum: int = 5) -> dict[str, object]:
    return {
        "id": f"quality.test.{name}",
        "why": "Short.",
        "metric": "n_visible",
        "min": minimum,
        "action": action,
        "false_drop_rate": rate,
        "keep": ["一二三四五六七八九十"],
        "drop": [""],
    }


def test_the_first_removing_rule_in_order_wins() -> None:
    book = {"bound": [bound("a", "tag"), bound("c", "quarantine"), bound("b", "drop", minimum=9)]}
    batch = filter_documents(
        documents(("qa", "甲乙。"), ("qa", "一二三四五六。"), ("qa", "一二三四五六七八九十")),
        QualityRules.model_validate(book),
        None,
    )
    assert [(r["doc_id"], r["action"], r["rule"], r["value"]) for r in batch.ledger.to_pylist()] == [
        (f"{0:032x}", "quarantine", "quality.test.c", 3.0),
        (f"{1:032x}", "drop", "quality.test.b", 7.0),
    ]
    assert batch.kept["doc_id"].to_pylist() == [f"{2:032x}"]
    assert batch.counts == {"drop.quality.test.b": 1, "quarantine.quality.test.c": 1}


def test_an_unmeasured_drop_rule_tags() -> None:
    book = {"bound": [bound("z", "drop", rate=None), bound("y", "drop", rate=0.5), bound("x", "tag")]}
    batch = filter_documents(documents(("exam", "甲")), QualityRules.model_validate(book), None)
    assert batch.kept["tags"].to_pylist() == [["quality.test.x", "quality.test.y", "quality.test.z"]]
    assert batch.ledger.num_rows == 0


def test_a_forced_rule_acts_without_evidence_and_only_that_one() -> None:
    book = QualityRules.model_validate({"bound": [bound("z", "drop", rate=None), bound("y", "quarantine", rate=0.5)]})
    batch = filter_documents(documents(("exam", "甲")), book, None, ("quality.test.y",))
    assert [(row["action"], row["rule"]) for row in batch.ledger.to_pylist()] == [("quarantine", "quality.test.y")]
    assert batch.counts == {"quarantine.quality.test.y": 1}
    tag = QualityRules.model_validate({"bound": [bound("x", "tag")]})
    assert filter_documents(documents(("exam", "甲")), tag, None, ("quality.test.x",)).kept.num_rows == 1


def test_what_stays_is_unchanged_and_what_goes_is_accounted_for(shipped: QualityRules) -> None:
    table = documents(("judgment", GOOD["judgment"]), ("judgment", "哈" * 90), ("statute", GOOD["statute"]), ("qa", MENU))
    batch = filter_documents(table, shipped, None)
    assert batch.kept.schema.equals(DOCUMENT_JUDGED)
    assert batch.ledger.schema.equals(LEDGER)
    assert batch.kept.select(table.column_names).equals(table.take([0, 2]))
    rows = batch.ledger.to_pylist()
    assert [row["doc_id"] for row in rows] == [f"{1:032x}", f"{3:032x}"]
    assert [(row["n_chars"], row["n_bytes"]) for row in rows] == [(90, 270), (len(MENU), len(MENU.encode()))]
    assert {(row["stage"], row["source"]) for row in rows} == {("filter", "demo")}
    assert not any(text[:4] in str(rows) for text in (MENU, "哈" * 90))


@settings(max_examples=25, deadline=None)
@given(st.permutations([(doc_type, text) for doc_type in DOC_TYPES for text in (GOOD[doc_type], MENU, "甲", "“第X条”")]))
def test_the_verdict_does_not_depend_on_the_neighbours(shipped: QualityRules, rows: list[tuple[str, str]]) -> None:
    batch = filter_documents(documents(*rows), shipped, None)
    alone = [filter_documents(documents(row), shipped, None) for row in rows]
    assert batch.kept["text"].to_pylist() == [text for one in alone for text in one.kept["text"].to_pylist()]
    assert batch.kept["tags"].to_pylist() == [tags for one in alone for tags in one.kept["tags"].to_pylist()]
    assert batch.ledger["rule"].to_pylist() == [rule for one in alone for rule in one.ledger["rule"].to_pylist()]
    assert batch.kept.num_rows + batch.ledger.num_rows == len(rows)


SCORE = {"id": "quality.test.score", "why": "Bad.", "min_score": 1.0, "action": "drop", "false_drop_rate": 0.0}


def test_without_a_classifier_there_is_no_score() -> None:
    rules = QualityRules.model_validate({"classifier": [SCORE]})
    batch = filter_documents(documents(("qa", GOOD["qa"])), rules, None)
    assert batch.kept["quality"].to_pylist() == [None]
    assert batch.kept["tags"].to_pylist() == [[]]


def test_no_documents(shipped: QualityRules) -> None:
    batch = filter_documents(documents(), shipped, None)
    assert (batch.kept.num_rows, batch.ledger.num_rows, batch.counts) == (0, 0, {})
    assert batch.kept.schema.equals(DOCUMENT_JUDGED)


def test_columns_of_the_text_may_be_chunked(shipped: QualityRules) -> None:
    one, two = documents(("qa", GOOD["qa"])), documents(("qa", "甲"))
    batch = filter_documents(pa.concat_tables([one, two]), shipped, None)
    assert batch.kept["text"].to_pylist() == [GOOD["qa"]]
    assert np.array_equal(batch.ledger["n_chars"].to_numpy(), [1])
