from typing import Any

import pytest
from pydantic import ValidationError

from lexmill.core.dedup.rules import DedupRules

GUARD: dict[str, Any] = {
    "id": "dedup.other_case",
    "why": "…",
    "identity": "case_number",
    "doc_types": ["judgment"],
    "exact_copies": "apart",
    "unknown": "joins",
    "keep": [["（2081）沪0115民初1号", "（2081）沪0115民初2号"]],
    "merge": [["（2081）沪0115民初1号", ""]],
}


def faults(**changes: Any) -> list[str]:
    return [fault.problem for fault in DedupRules.model_validate({"guard": [{**GUARD, **changes}]}).faults()]


def test_every_shipped_guard_proves_its_pairs(rules: DedupRules) -> None:
    assert [guard.id for guard in rules.guard] == [
        "dedup.other_case",
        "dedup.other_instance",
        "dedup.other_version",
        "dedup.other_statute",
        "dedup.other_question",
        "dedup.other_key",
    ]
    assert rules.faults() == []


@pytest.mark.parametrize("guard", range(6))
def test_every_shipped_pair_is_needed_to_be_where_it_is(rules: DedupRules, guard: int) -> None:
    """Swapped lists must all be faults: the proof can fail."""
    shipped = rules.guard[guard]
    swapped = shipped.model_copy(update={"keep": shipped.merge, "merge": shipped.keep})
    assert len(DedupRules(guard=(swapped,)).faults()) == len(shipped.keep) + len(shipped.merge)


def test_faults_name_the_pair() -> None:
    assert faults() == []
    assert faults(keep=[["（2081）沪0115民初1号", "（2081）沪0115民初×号"]]) == [
        "keep, pair 1: the guard lets merge this pair; mend the pair or move it"
    ]
    assert faults(merge=[["", ""], ["（2081）沪0115民初1号", "（2082）沪0115民初1号"]]) == [
        "merge, pair 2: the guard keeps apart this pair; mend the pair or move it"
    ]
    assert faults(identity="version_date") == [
        "keep, pair 1: is no date (YYYY-MM-DD); mend it",
        "merge, pair 1: is no date (YYYY-MM-DD); mend it",
    ]


def test_two_guards_of_one_identity_are_a_fault() -> None:
    other = {**GUARD, "id": "dedup.second"}
    problems = DedupRules.model_validate({"guard": [GUARD, other]}).faults()
    assert [(fault.rule_id, fault.problem) for fault in problems] == [
        ("dedup.second", "doc_types: dedup.other_case looks at the case_number of a judgment already; take the type out of one")
    ]


@pytest.mark.parametrize(
    "changes", [{"keep": []}, {"colour": "red"}, {"identity": "colour"}, {"doc_types": ["poem"]}, {"id": "Case"}]
)
def test_what_is_not_understood_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DedupRules.model_validate({"guard": [{**GUARD, **changes}]})
