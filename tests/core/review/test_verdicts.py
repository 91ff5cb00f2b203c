"""A lot is accepted only if every item is read, the bounds hold, and the reviewers find what was planted."""

from collections.abc import Sequence
from typing import Any

import pytest

from lexmill.core.review.planted import DIRECT
from lexmill.core.review.verdicts import BAD, GOOD, Terms, Verdict, assign, decide

TERMS = Terms(confidence=0.95, max_identifiers=0.001, min_pass=0.96, min_recall=0.8)


def item(name: str, kind: str = "kept", **more: Any) -> dict[str, Any]:
    plain = {"item": name, "kind": kind, "rule": "", "weight": 1.0, "core": True, "planted": None, "doc_type": "judgment"}
    return {**plain, **more}


def good(items: Sequence[dict[str, Any]], reviewer: str = "a") -> list[Verdict]:
    return [Verdict(each["item"], reviewer, GOOD, "", "") for each in items]


def bad(each: dict[str, Any], defect: str, reviewer: str = "a") -> Verdict:
    return Verdict(each["item"], reviewer, BAD, defect, "")


CORE = [item(f"k{n}") for n in range(2995)]


def test_a_clean_core_of_the_right_size_is_accepted() -> None:
    decision = decide(CORE, good(CORE), 1_000_000, TERMS)
    assert decision["accepted"]
    assert decision["reasons"] == []
    assert decision["bounds"]["identifiers"] == pytest.approx(0.001, abs=1e-6)
    assert decision["core"]["n"] == 2995


def test_a_core_too_small_proves_nothing() -> None:
    decision = decide(CORE[:2000], good(CORE[:2000]), 1_000_000, TERMS)
    assert not decision["accepted"]
    assert "上限" in decision["reasons"][0]


def test_a_lot_read_whole_needs_no_bound() -> None:
    small = CORE[:40]
    assert decide(small, good(small), 40, TERMS)["accepted"]
    assert not decide(small, good(small), 41, TERMS)["accepted"]


def test_one_direct_identifier_rejects_even_outside_the_core() -> None:
    extra = item("x", core=False, weight=3.0)
    decision = decide([*CORE, extra], [*good(CORE), bad(extra, DIRECT)], 1_000_000, TERMS)
    assert not decision["accepted"]
    assert DIRECT in decision["reasons"][0]
    assert decision["core"]["identifiers"]["k"] == 0


def test_other_defects_may_be_as_many_as_the_acceptance_number() -> None:
    core = [item(f"k{n}") for n in range(4000)]
    for number, accepted in ((139, True), (140, False)):
        said = [*(bad(each, "其他") for each in core[:number]), *good(core[number:])]
        assert decide(core, said, 10_000_000, TERMS)["accepted"] is accepted


def test_an_unread_item_stops_the_decision() -> None:
    decision = decide(CORE, good(CORE[1:]), 1_000_000, TERMS)
    assert not decision["accepted"]
    assert decision["unread"] == 1


def test_reviewers_who_miss_planted_defects_prove_nothing() -> None:
    planted = [item(f"p{n}", planted=DIRECT, core=False) for n in range(10)]
    seen = [*(bad(each, DIRECT) for each in planted[:7]), *good(planted[7:])]
    decision = decide([*CORE, *planted], [*good(CORE), *seen], 1_000_000, TERMS)
    assert not decision["accepted"]
    assert decision["planted"]["k"] == 7
    assert decision["reviewers"]["a"] == {"verdicts": 3005, "planted": 10, "found": 7}
    assert decision["core"]["identifiers"]["k"] == 0  # a planted defect is none of the lot's


def test_two_readers_disagree_and_the_stricter_counts() -> None:
    said = [*good(CORE), bad(CORE[0], "误遮盖", "b"), *good(CORE[1:20], "b")]
    decision = decide(CORE, said, 1_000_000, TERMS)
    assert decision["core"]["defects"]["k"] == 1
    assert decision["double"] == {"n": 20, "kappa": pytest.approx(0.0)}


def test_a_rule_that_is_often_wrong_is_suspected() -> None:
    pile = [item(f"d{n}", "dropped", rule="quality.x" if n < 30 else "quality.y") for n in range(60)]
    said = [*(bad(each, "不应删除") for each in pile[:6]), *good(pile[6:])]
    decision = decide([*CORE, *pile], [*good(CORE), *said], 1_000_000, TERMS)
    assert decision["suspected_rules"] == {"quality.x": {"judged": 30, "wrong": 6}}
    assert decision["dropped"]["estimate"] == pytest.approx(0.1)


def test_every_item_has_a_reader_and_a_tenth_has_two() -> None:
    items = [f"{n:016x}" for n in range(3000)]
    given = assign(items, ("a", "b", "c"), 0.1, 0)
    readers = [who for who, mine in given.items() for _ in mine]
    both = [name for name in items if sum(name in set(mine) for mine in given.values()) == 2]
    assert {name for mine in given.values() for name in mine} == set(items)
    assert len(readers) == len(items) + len(both)
    assert 240 < len(both) < 360
    assert all(len(mine) == len(set(mine)) for mine in given.values())
    assert assign(items, ("a",), 0.1, 0) == {"a": items}
