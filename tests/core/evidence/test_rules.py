"""Clauses: figures settle what they can, what is not measured is left to people, and the shipped standards prove themselves."""

from typing import Any

import pytest

from lexmill import rules
from lexmill.core.evidence.rules import Clause, StandardsRules

STANDARD = {"id": "standard.x", "why": "w", "title": "X", "version": "1", "in_force": "", "wording": ""}
LIMIT = {"figure": "screen.pass_rate", "min": 0.98}
BROKEN = {"figures": {"screen.pass_rate": 0.9}, "verdict": "不符合"}


def clause(**more: Any) -> dict[str, Any]:
    return {"id": "x.one", "why": "w", "standard": "standard.x", "number": "", "topic": "t", "example": [BROKEN], **more}


@pytest.mark.parametrize(
    ("more", "figures", "verdict"),
    [
        ({"requires": [LIMIT]}, {"screen.pass_rate": 0.98}, "符合"),
        ({"requires": [LIMIT]}, {"screen.pass_rate": 0.9799}, "不符合"),
        ({"requires": [LIMIT]}, {"screen.pass_rate": None}, "需人工"),
        ({"requires": [LIMIT]}, {}, "需人工"),
        ({"requires": [LIMIT], "ask": "the list"}, {"screen.pass_rate": 1.0}, "需人工"),
        ({"requires": [LIMIT], "ask": "the list"}, {"screen.pass_rate": 0.5}, "不符合"),
        ({"requires": [LIMIT], "applies": "sources.open"}, {"screen.pass_rate": 0.5, "sources.open": 0}, "不适用"),
        ({"requires": [LIMIT], "applies": "sources.open"}, {"screen.pass_rate": 1.0, "sources.open": 2}, "符合"),
        ({"requires": [LIMIT], "applies": "sources.open"}, {"screen.pass_rate": 1.0}, "符合"),
        ({}, {"screen.pass_rate": 1.0}, "需人工"),
        ({"requires": [LIMIT, {"figure": "residual.found", "max": 0}]}, {"residual.found": 1}, "不符合"),
    ],
)
def test_known_verdicts(more: dict[str, Any], figures: dict[str, float | None], verdict: str) -> None:
    assert Clause.model_validate(clause(**more)).judge(figures).verdict == verdict


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"standard": "standard.y"}, "no such [[standard]]"),
        ({"shows": ["screen.nothing"]}, "screen.nothing: no such figure"),
        ({"requires": [LIMIT], "example": [{"figures": {"screen.pass_rate": 1.0}, "verdict": "符合"}]}, "no example breaks"),
        ({"requires": [LIMIT], "example": [BROKEN, {"figures": {}, "verdict": "符合"}]}, "is 需人工, not 符合"),
    ],
)
def test_a_clause_that_proves_nothing_is_refused(more: dict[str, Any], said: str) -> None:
    book = StandardsRules.model_validate({"standard": [STANDARD], "clause": [clause(requires=[LIMIT]), clause(**more)]})
    assert any(said in fault.problem for fault in book.faults())


def test_the_shipped_standards_are_the_four_and_a_form() -> None:
    book = rules.load().standards
    assert {standard.title.split()[0] for standard in book.standard} >= {"TC260-003", "GB/T", "中华人民共和国个人信息保护法"}
    assert any("法释〔2016〕19号" in standard.title for standard in book.standard)
    by_id = {clause.id: clause for clause in book.clause}
    for family in ("tc260_003", "gbt_45654"):
        sample = {each.figure: each.min for each in by_id[f"{family}.manual_sample"].requires}
        assert sample == {"review.sample": 4000, "review.pass_rate": 0.96}
        technical = {each.figure: each.min for each in by_id[f"{family}.technical_sample"].requires}
        assert technical == {"screen.coverage": 0.1, "screen.pass_rate": 0.98}
    # No number of a clause is given where nobody read the text.
    assert all(not clause.number for clause in book.clause if clause.standard == "standard.gbt_45654")
