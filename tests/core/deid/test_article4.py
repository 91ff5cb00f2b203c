"""Judgments that art. 4 keeps offline are dropped by rule; what only sounds like them stays."""

from typing import Any

import pytest

from lexmill.core.batch import n_bytes
from lexmill.core.deid.article4 import Article4
from lexmill.core.deid.batch import deidentify
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import DeidRules
from lexmill.schema import DOC_TYPES
from tests.core.deid.test_batch import document, table

DIVORCE = "原告章若岚诉被告卞长庚离婚纠纷一案，本院于2016年1月7日立案受理。原告诉称：请求判令准予原告与被告离婚。"
MINOR = "公诉机关西湖区人民检察院。被告人曲仲元，男。法定代理人曲大年，系被告人曲仲元的父亲。被告人曲仲元犯盗窃罪。"
CASES = [
    (DIVORCE, "", "", "art4.divorce"),
    ("本院认为，双方感情确已破裂。", "章若岚与卞长庚离婚纠纷一审民事判决书", "", "art4.divorce"),
    ("本院认为，双方感情确已破裂。", "", "离婚纠纷", "art4.divorce"),
    (MINOR, "", "", "art4.minor_crime"),
    ("原告诉称，请求变更婚生子由原告抚养。", "", "", "art4.custody_relief"),
    ("本院认为，借款应当归还。" * 200 + "判决如下：一、准予原告章若岚与被告卞长庚离婚。", "", "", "art4.divorce_ruling"),
    ("借款应当归还。" * 300 + "请求判令准予原告与被告离婚。", "", "", None),
    (
        "被告与案外人已于2012年经法院判决离婚。请求判令被告归还借款。",
        "章若岚与卞长庚民间借贷纠纷一审民事判决书",
        "民间借贷纠纷",
        None,
    ),
    ("被告人卞长庚虐待其子，其妻曾起诉要求与被告离婚。", "卞长庚虐待一审刑事判决书", "", None),
]


@pytest.mark.parametrize(("text", "title", "cause", "rule"), CASES)
def test_which_judgments_are_withheld(text: str, title: str, cause: str, rule: str | None, rules: DeidRules) -> None:
    assert Article4(rules).rule(title, cause, text) == rule


def test_dropped_documents_balance_and_carry_their_rule(rules: DeidRules, strict: Detector) -> None:
    rows = [document(1, DIVORCE), document(2, "原告章若岚诉被告卞长庚买卖合同纠纷一案。"), document(3, MINOR)]
    batch = deidentify(table(*rows), strict, Article4(rules))
    ledger = batch.ledger.to_pylist()
    assert [(row["doc_id"], row["action"], row["rule"]) for row in ledger] == [
        (rows[0]["doc_id"], "drop", "art4.divorce"),
        (rows[1]["doc_id"], "edit", "deid.mask"),
        (rows[2]["doc_id"], "drop", "art4.minor_crime"),
    ]
    texts = batch.kept["text"].to_pylist()
    assert sum(n_bytes(row["text"]) for row in rows) == sum(map(n_bytes, texts)) + sum(row["n_bytes"] for row in ledger)
    assert deidentify(table(*rows), strict, None).kept.num_rows == len(rows)


@pytest.mark.parametrize(
    "fields", [*({"doc_type": doc_type} for doc_type in DOC_TYPES if doc_type != "judgment"), {"meta": {"jurisdiction": "TW"}}]
)
def test_only_judgments_of_the_mainland_are_looked_at(fields: dict[str, Any], rules: DeidRules, strict: Detector) -> None:
    assert deidentify(table(document(1, DIVORCE, **fields)), strict, Article4(rules)).kept.num_rows == 1


def test_sensitive_documents_are_counted_apart(strict: Detector) -> None:
    rows = [
        document(1, "被害人佟雨薇经诊断为右侧肋骨骨折，损伤程度为轻伤二级。"),
        document(2, "被害人年仅十三岁，经鉴定患有精神分裂症。"),
        document(3, "被告应当归还借款。"),
        document(4, "未成年人的病历", doc_type="statute"),
    ]
    counts = deidentify(table(*rows), strict, None).counts
    assert (counts["documents.sensitive.health"], counts["documents.sensitive.minor"]) == (2, 1)
