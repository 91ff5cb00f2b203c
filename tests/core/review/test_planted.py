"""Planted defects are there, are of the class they say, and say nothing of a real person."""

from lexmill.core.deid.residual import find_valid_identifiers
from lexmill.core.review.planted import DAMAGED, DIRECT, plant

TEXT = "原告张某1诉称。被告李某未还款；\n本院认为，借款属实。判决如下。"
SPANS = [
    {"start": TEXT.index(name), "end": TEXT.index(name) + len(name), "entity": "PERSON"} for name in ("张某1", "李某", "借款")
]


def test_every_kind_of_defect_comes_up_and_adds_or_cuts() -> None:
    planted = [plant(TEXT, SPANS, f"{number:032x}", 0) for number in range(200)]
    assert {item.defect for item in planted} == {DIRECT, DAMAGED}
    assert len({item.text for item in planted if item.defect == DIRECT}) > 10
    for item in planted:
        if item.defect == DIRECT:
            assert len(item.text) > len(TEXT)
        else:
            assert TEXT not in item.text
            assert "锟斤拷" in item.text


def test_the_same_document_gets_the_same_defect() -> None:
    assert plant(TEXT, SPANS, "a", 1) == plant(TEXT, SPANS, "a", 1)
    assert any(plant(TEXT, SPANS, str(n), 1) != plant(TEXT, SPANS, str(n), 2) for n in range(5))


def test_no_planted_number_is_one_that_somebody_may_have() -> None:
    for number in range(200):
        assert not find_valid_identifiers(plant(TEXT, SPANS, str(number), 0).text)


def test_a_text_without_sentences_takes_a_defect_too() -> None:
    for number in range(20):
        assert plant("字", [], str(number), 0).text != "字"


def test_what_was_masked_stays_marked() -> None:
    for number in range(200):
        planted = plant(TEXT, SPANS, str(number), 0)
        marked = [planted.text[span["start"] : span["end"]] for span in planted.spans]
        whole = ["张某1", "李某", "借款"]
        assert marked == whole if planted.defect == DIRECT else marked == whole[: len(marked)]
        assert marked
