import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.quality.rules import QualityRules
from lexmill.core.quality.trial import EXAMPLES, try_rules
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import bound

PHRASE = {
    "id": "quality.test.word",
    "why": "Sells.",
    "phrases": ["免费咨询"],
    "action": "drop",
    "keep": ["依法咨询。"],
    "drop": ["免费咨询。"],
}
RULES = QualityRules.model_validate({"bound": [bound("short", "drop", minimum=6)], "phrase": [PHRASE]})
TABLE = documents(("qa", "免费咨询"), ("qa", "甲"), ("exam", "免费咨询，依法办理。"), ("exam", "一二三四五六七八九"))
WEIGHTS = np.array([10.0, 10.0, 1.0, 1.0])


def test_what_rules_hit_is_counted_by_group_and_extrapolated() -> None:
    found = try_rules(TABLE, WEIGHTS, {"qa": 0.5, "exam": 1.0}, RULES, None, ())
    assert found["groups"] == {
        "demo/exam": {"sampled": 2, "docs": 2, "chars": 19, "tokens": 57},
        "demo/qa": {"sampled": 2, "docs": 20, "chars": 50, "tokens": 75},
    }
    short, word = found["rules"]
    assert short["hits"] == {"demo/qa": {"sampled": 2, "docs": 20, "chars": 50, "tokens": 75}}
    assert word["hits"] == {
        "demo/exam": {"sampled": 1, "docs": 1, "chars": 10, "tokens": 30},
        "demo/qa": {"sampled": 1, "docs": 10, "chars": 40, "tokens": 60},
    }
    assert (short["effect"], word["action"], word["effect"], word["alone"]) == ("drop", "drop", "tag", 0)
    assert found["leaving"] == {"demo/qa": {"sampled": 2, "docs": 20, "chars": 50, "tokens": 75}}
    assert found["overlap"] == [{"rules": ["quality.test.short", "quality.test.word"], "docs": 10, "shares": [0.5, 0.9091]}]


def test_a_forced_rule_is_tried_as_forced() -> None:
    found = try_rules(TABLE, WEIGHTS, {}, RULES, None, ("quality.test.word",))
    short, word = found["rules"]
    assert (short["alone"], word["effect"], word["alone"]) == (10, "drop", 1)
    assert {group: units["docs"] for group, units in found["leaving"].items()} == {"demo/exam": 1, "demo/qa": 20}


def test_excerpts_show_where_a_phrase_stands_and_are_few() -> None:
    text = "依法办理。" * 80 + "免费咨询" + "依法办理。" * 80
    found = try_rules(documents(*[("qa", text)] * 40), np.ones(40), {}, RULES, None, ())
    examples = found["rules"][0]["examples"]
    assert len(examples) == EXAMPLES
    assert all("免费咨询" in example["text"] and len(example["text"]) < 200 for example in examples)
    assert [example["doc_id"] for example in examples] == [f"{n:032x}" for n in range(EXAMPLES)]


def test_no_documents_and_no_rules() -> None:
    empty = try_rules(documents(), np.zeros(0), {}, RULES, None, ())
    assert (empty["groups"], empty["rules"], empty["leaving"]) == ({}, [], {})
    assert try_rules(TABLE, WEIGHTS, {}, QualityRules(), None, ())["rules"] == []


@pytest.mark.parametrize("order", [[3, 1, 0, 2], [2, 3, 1, 0]])
def test_counts_do_not_depend_on_the_order(order: list[int]) -> None:
    again = try_rules(TABLE.take(pa.array(order)), WEIGHTS[order], {"qa": 0.5}, RULES, None, ())
    first = try_rules(TABLE, WEIGHTS, {"qa": 0.5}, RULES, None, ())
    assert {**again, "rules": None} == {**first, "rules": None}
