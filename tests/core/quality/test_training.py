import random

import pyarrow as pa
import pytest

from lexmill.core.quality.corrupt import CORRUPTIONS
from lexmill.core.quality.rules import QualityRules
from lexmill.core.quality.training import examples, passing
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import GOOD, MENU

TABLE = documents(*GOOD.items(), ("qa", MENU), ("qa", GOOD["qa"] + "另有一句。"))


def test_examples_do_not_depend_on_the_order_of_documents(shipped: QualityRules) -> None:
    first = examples(TABLE, ["demo"], {}, shipped, 0)
    assert examples(TABLE.take(pa.array(list(reversed(range(len(TABLE)))))), ["demo"], {}, shipped, 0) == first
    assert examples(TABLE, ["demo"], {}, shipped, 1) != first


def test_good_text_is_ruined_and_refused_text_is_bad_as_it_is(shipped: QualityRules) -> None:
    found = examples(TABLE, ["demo"], {}, shipped, 0)
    good = [one for one in found if one.kind == "good"]
    assert {one.doc_type for one in good} == set(GOOD)
    assert len(good) == sum(one.kind in CORRUPTIONS for one in found)
    assert [(one.text, one.is_good) for one in found if one.kind == "rule"] == [(MENU, False)]
    assert not [one for one in examples(TABLE, ["another"], {}, shipped, 0) if one.kind != "rule"]


def test_reviewers_overrule_the_rules(shipped: QualityRules) -> None:
    verdicts = {f"{5:032x}": True, f"{0:032x}": False}
    found = [one for one in examples(TABLE, ["demo"], verdicts, shipped, 0) if one.kind == "reviewer"]
    assert {(one.text[:4], one.is_good) for one in found} == {(MENU[:4], True), (GOOD["judgment"][:4], False)}


def test_copies_of_a_document_stand_on_one_side(shipped: QualityRules) -> None:
    found = examples(documents(*GOOD.items(), *GOOD.items()), ["demo"], {}, shipped, 0)
    learned, held = ({one.text for one in found if one.kind == "good" and one.held_out is side} for side in (False, True))
    assert not learned & held


def test_passing_are_those_that_no_rule_removes(shipped: QualityRules) -> None:
    found = examples(TABLE, ["demo"], {}, shipped, 0)
    passes = passing(found, shipped)
    assert not passes[[one.kind for one in found].index("rule")]
    assert passes[[one.kind for one in found].index("good")]


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("text", ["", "甲", *GOOD.values()])
def test_corruptions_ruin_any_text_and_repeat_themselves(kind: str, text: str) -> None:
    ruined = CORRUPTIONS[kind](text, random.Random(5))
    assert ruined == CORRUPTIONS[kind](text, random.Random(5))
    if len(text) > 20:
        assert ruined != text
