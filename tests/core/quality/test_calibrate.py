import random
import tomllib

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.quality.calibrate import MIN_DOCUMENTS, left_alone, overlay, propose
from lexmill.core.quality.metrics import measure
from lexmill.core.quality.rules import QualityRules
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import GOOD, bound

TAIL = 0.01


def corpus(doc_type: str, n: int, shortest: int) -> pa.Table:
    """Texts of ``shortest`` characters and more, no two of a length."""
    rng = random.Random(3)
    return documents(*((doc_type, "".join(rng.choice("依法办理合同纠纷案件") for _ in range(shortest + k))) for k in range(n)))


def test_a_wider_bound_keeps_its_action_with_what_it_hits() -> None:
    rules = QualityRules.model_validate(
        {"bound": [{**bound("short", "drop", minimum=100), "doc_types": ["qa"], "drop": ["甲" * 9]}]}
    )
    (found,) = propose(corpus("qa", 1000, 20), rules, TAIL)
    assert found.rule is not None
    assert (found.rule.id, found.rule.action, found.rule.min) == ("quality.test.short", "drop", 29.0)
    assert (found.n, found.hits, found.rule.false_drop_rate, found.is_wider) == (1000, 9, 0.009, True)


def test_a_narrower_bound_tags_because_nobody_read_what_it_hits() -> None:
    rules = QualityRules.model_validate({"bound": [{**bound("short", "drop", minimum=5), "doc_types": ["qa"]}]})
    (found,) = propose(corpus("qa", 1000, 20), rules, TAIL)
    assert found.rule is not None
    assert (found.rule.action, found.rule.false_drop_rate, found.rule.min, found.is_wider) == ("tag", None, 29.0, False)
    assert found.rule.id == "quality.qa.short_calibrated", "the rule that drops stays"


def test_a_rule_for_several_types_gets_a_rule_of_its_own_for_each() -> None:
    rules = QualityRules.model_validate({"bound": [bound("short", "drop", minimum=100)]})
    found = propose(pa.concat_tables([corpus("qa", 400, 20), corpus("exam", 400, 50)]), rules, TAIL)
    assert [(one.doc_type, one.rule.id, one.rule.action) for one in found if one.rule] == [
        ("exam", "quality.exam.short_calibrated", "tag"),
        ("qa", "quality.qa.short_calibrated", "tag"),
    ]


def test_few_documents_give_no_bound() -> None:
    rules = QualityRules.model_validate({"bound": [bound("short", "drop")]})
    (found,) = propose(corpus("qa", MIN_DOCUMENTS - 1, 20), rules, TAIL)
    assert (found.rule, found.problem) == (None, f"fewer than {MIN_DOCUMENTS} documents")
    reason = f"qa ({MIN_DOCUMENTS - 1} documents): no bound: fewer than {MIN_DOCUMENTS} documents"
    assert left_alone([found]) == [reason]
    assert f"# Left alone: {reason}" in overlay([found], "main", 0, TAIL)


@pytest.mark.parametrize("tail", [0.0, 0.001, 0.1])
def test_the_overlay_proves_itself_and_tells_what_it_rests_on(shipped: QualityRules, tail: float) -> None:
    rng = random.Random(1)
    rows = [(kind, text[: rng.randint(30, 200)] * rng.randint(1, 4)) for kind, text in GOOD.items() for _ in range(MIN_DOCUMENTS)]
    table = documents(*rows)
    text = overlay(propose(table, shipped, tail), "main", 0, tail)
    book = QualityRules.model_validate(tomllib.loads(text))
    assert book.faults() == []
    assert book.bound
    assert all(rule.evidence and "documents lie beyond" in rule.evidence for rule in book.bound)
    values, kinds = measure(table["text"]), np.array(table["doc_type"].to_pylist())
    for rule in book.bound:
        (kind,) = rule.doc_types
        assert np.mean(rule.hits(values[rule.metric].to_numpy().astype(float)[kinds == kind])) <= tail
    assert not any(given[:20] in text for given in (GOOD["judgment"][40:80], GOOD["statute"][40:80])), "no text of the corpus"
    assert overlay(propose(table, shipped, tail), "main", 0, tail) == text
