"""The scoring of de-identification: right values worked out by hand."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def evaluation() -> ModuleType:
    path = Path(__file__).parents[1] / "scripts" / "eval_deid.py"
    spec = importlib.util.spec_from_file_location("eval_deid", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["eval_deid"] = module
    spec.loader.exec_module(module)
    return module


TEXT = "卞长庚借款给佟雨薇。卞长庚住甲县泽沛路12号。"


def score(evaluation: ModuleType, masked: list[tuple[int, int, str]]) -> dict[str, dict[str, float]]:
    spans = [[0, 3, "PER"], [6, 9, "PER"], [10, 13, "PER"], [14, 22, "LOC"]]
    result = evaluation.Score({})
    result.add(TEXT, evaluation.read_gold({"text": TEXT, "spans": spans}), masked)
    return {row["entity"]: row for row in result.rows(frozenset(["PERSON"]))}


def test_an_entity_counts_only_if_every_mention_is_masked(evaluation: ModuleType) -> None:
    row = score(evaluation, [(0, 3, "PERSON"), (6, 9, "PERSON")])["PERSON"]
    assert (row["mentions_covered"], row["mentions"]) == (2, 3)
    assert (row["entities"], row["entity_recall"]) == (2, 0.5)
    assert row["leaked_characters"] == 3
    assert row["leaked_per_million"] == pytest.approx(3 / len(TEXT) * 1e6)


def test_half_a_mention_leaks_half(evaluation: ModuleType) -> None:
    row = score(evaluation, [(0, 2, "PERSON"), (6, 9, "PERSON"), (10, 13, "PERSON")])["PERSON"]
    assert (row["leaked_characters"], row["entity_recall"]) == (1, 0.5)


def test_the_county_may_stay_and_a_mask_of_another_type_covers(evaluation: ModuleType) -> None:
    assert score(evaluation, [])["ADDRESS"]["labelled_characters"] == 6
    assert score(evaluation, [(16, 22, "ORG_ADDRESS")])["ADDRESS"]["leaked_characters"] == 0


def test_precision_and_over_masking(evaluation: ModuleType) -> None:
    row = score(evaluation, [(0, 4, "PERSON"), (9, 10, "PERSON")])["PERSON"]
    assert (row["masked"], row["precision"]) == (2, 0.5)
    assert row["over_masked_per_million"] == pytest.approx(2 / len(TEXT) * 1e6)


def test_masks_that_stand_already_never_leak(evaluation: ModuleType) -> None:
    text = "张某1与李×"
    gold = evaluation.read_gold({"text": text, "spans": [[0, 3, "ANON"], [4, 6, "PER"]]})
    assert [(item.start, item.end) for item in gold] == [(4, 6)]
    result = evaluation.Score({})
    result.add(text, gold, [])
    assert next(result.rows(frozenset()))["leaked_characters"] == 1


def test_public_bodies_are_no_organisations_to_mask(evaluation: ModuleType) -> None:
    text = "西湖区人民法院、泽沛公司"
    assert [item.key for item in evaluation.read_gold({"text": text, "spans": [[0, 7, "ORG"], [8, 12, "ORG"]]})] == ["泽沛公司"]


def test_wilson_gives_the_known_interval(evaluation: ModuleType) -> None:
    # 0 of 10 and 5 of 10, to three places, as in Brown, Cai, DasGupta (2001).
    assert evaluation.wilson(0, 10) == (0.0, pytest.approx(0.278, abs=5e-4))
    assert evaluation.wilson(5, 10) == (pytest.approx(0.237, abs=5e-4), pytest.approx(0.763, abs=5e-4))


def test_the_bootstrap_surrounds_the_rate_and_repeats(evaluation: ModuleType) -> None:
    leaks, sizes = [0] * 90 + [10] * 10, [1000] * 100
    low, high = evaluation.bootstrap(leaks, sizes)
    assert low < 1000 < high
    assert (low, high) == evaluation.bootstrap(leaks, sizes)


def test_copies_of_one_document_stand_on_one_side(evaluation: ModuleType) -> None:
    parts = {evaluation.split({"id": str(number), "text": "一"}) for number in range(40)}
    assert parts == {"training", "held-out"}
    assert evaluation.split({"id": "7", "text": "一"}) == evaluation.split({"id": "7", "text": "二"})
