from typing import Any

import pytest
from pydantic import ValidationError

from lexmill.core.quality.rules import FALSE_DROP_LIMIT, Bound, Phrase, QualityRules

BOUND: dict[str, Any] = {
    "id": "quality.test.short",
    "why": "Too short.",
    "metric": "n_visible",
    "min": 3,
    "action": "drop",
    "false_drop_rate": 0.0,
    "keep": ["甲乙丙"],
    "drop": ["甲乙"],
}
PHRASE: dict[str, Any] = {
    "id": "quality.test.advertisement",
    "why": "Sells.",
    "phrases": ["免费咨询", "咨询热线"],
    "action": "tag",
    "keep": ["依法咨询。"],
    "drop": ["免费咨询。"],
}


def without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def test_shipped_rules_prove_their_examples(shipped: QualityRules) -> None:
    assert shipped.faults() == []


def test_shipped_removing_rules_are_measured(shipped: QualityRules) -> None:
    rules = shipped.all
    assert [rule.id for rule in rules if rule.action != rule.effect(())] == []
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.id.startswith("quality.") for rule in rules)


@pytest.mark.parametrize(
    ("rate", "effect"), [(None, "tag"), (0.0, "drop"), (FALSE_DROP_LIMIT, "drop"), (FALSE_DROP_LIMIT + 1e-9, "tag"), (1.0, "tag")]
)
def test_a_removing_rule_acts_only_on_evidence(rate: float | None, effect: str) -> None:
    assert Bound.model_validate({**without(BOUND, "false_drop_rate"), "false_drop_rate": rate}).effect(()) == effect


@pytest.mark.parametrize(
    ("model", "table", "problem"),
    [
        (Bound, {**BOUND, "metric": "beauty"}, "no such metric"),
        (Bound, without(BOUND, "min"), "give `min`"),
        (Bound, {**BOUND, "max": 2}, "nothing would be left"),
        (Bound, {**BOUND, "colour": 1}, "Extra inputs"),
        (Bound, {**BOUND, "keep": []}, "at least 1 item"),
        (Bound, without(BOUND, "drop"), "Field required"),
        (Bound, {**BOUND, "action": "delete"}, "Input should be 'tag', 'drop' or 'quarantine'"),
        (Bound, {**BOUND, "doc_types": ["poem"]}, "Input should be 'judgment'"),
        (Bound, {**BOUND, "false_drop_rate": 1.5}, "less than or equal to 1"),
        (Phrase, without(PHRASE, "phrases"), "give `phrases`"),
        (Phrase, {**PHRASE, "patterns": ["(甲"]}, "no regular expression"),
        (Phrase, {**PHRASE, "phrases": [""]}, "at least 1 character"),
        (Phrase, {**PHRASE, "min_count": 0}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_table_is_refused(model: type[Bound] | type[Phrase], table: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        model.model_validate(table)


@pytest.mark.parametrize(
    ("book", "problem"),
    [
        ({"bound": [{**BOUND, "drop": ["甲乙丙丁"]}]}, "`drop` example 1 is not hit (n_visible is 4); mend"),
        ({"bound": [{**BOUND, "keep": ["甲乙丙", "甲"]}]}, "`keep` example 2 is hit (n_visible is 1); mend"),
        ({"phrase": [{**PHRASE, "min_count": 2}]}, "`drop` example 1 is not hit (1 occurrences on 0.8 of it); mend"),
        ({"phrase": [{**PHRASE, "min_share": 0.9}]}, "`drop` example 1 is not hit (1 occurrences on 0.8 of it); mend"),
        ({"phrase": [{**PHRASE, "keep": ["拨打咨询热线"]}]}, "`keep` example 1 is hit"),
    ],
)
def test_examples_are_really_tried(book: dict[str, Any], problem: str) -> None:
    faults = QualityRules.model_validate(book).faults()
    assert len(faults) == 1
    assert problem in faults[0].problem


def test_no_rules_have_no_faults() -> None:
    assert QualityRules().faults() == []
    assert QualityRules().find_phrases("免费咨询", "qa") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("没有。", {}),
        ("免费咨询，咨询热线。", {0: (2, 8)}),
        ("免费咨询热线", {0: (1, 6)}),  # overlapping phrases count once and cover their union
        ("热线12345", {1: (1, 5)}),
        ("热线1、热线22，免费咨询", {0: (1, 4), 1: (2, 3)}),
    ],
)
def test_phrases_are_counted(text: str, found: dict[int, tuple[int, int]]) -> None:
    digits = {**without(PHRASE, "phrases"), "id": "quality.test.hotline", "patterns": ["(?<=热线)[0-9]+"]}
    assert QualityRules.model_validate({"phrase": [PHRASE, digits]}).find_phrases(text, "qa") == found


def test_phrases_are_for_their_types() -> None:
    rules = QualityRules.model_validate({"phrase": [{**PHRASE, "doc_types": ["qa", "exam"]}]})
    assert rules.find_phrases("免费咨询", "exam") == {0: (1, 4)}
    assert rules.find_phrases("免费咨询", "judgment") == {}
