from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lexmill.core.structure.rules import Section, SegmentRules
from lexmill.core.structure.sections import cut_sections
from lexmill.core.structure.segment import segment
from lexmill.schema import DOCUMENT

TEXT = (
    "甲市乙区人民法院\n民事判决书\n（2078）京0101民初1号\n原告：张某，女。\n被告：李某，男。\n本院认为，应予支持。判决如下：\n还款。\n"
    "如不服本判决，可以上诉。\n审判员赵某\n二〇七八年五月一日\n书记员钱某\n附：相关法律条文\n《中华人民共和国民法典》第一条"
)
APPENDIX = "附：相关法律条文\n《中华人民共和国民法典》第一条"


def table(text: str, rules: SegmentRules, doc_id: str = "f" * 32, doc_type: str = "judgment") -> pa.Table:
    parts = [part._asdict() for part in segment(text, doc_type, rules)]
    row = {"doc_id": doc_id, "source": "s", "doc_type": doc_type, "title": None, "text": text, "meta": None, "segments": parts}
    return pa.Table.from_pylist([row], schema=DOCUMENT)


def test_nothing_is_cut_by_itself(rules: SegmentRules) -> None:
    before = table(TEXT, rules)
    after, ledger = cut_sections(before, rules.section, ())
    assert after.equals(before)
    assert ledger.num_rows == 0


def test_what_is_chosen_goes_and_is_an_edit(rules: SegmentRules) -> None:
    after, ledger = cut_sections(table(TEXT, rules), rules.section, ["section.judgment_appendix"])
    assert after["text"].to_pylist() == [TEXT.removesuffix(APPENDIX)]
    (row,) = ledger.to_pylist()
    assert (row["action"], row["rule"], row["stage"]) == ("edit", "section.judgment_appendix", "filter")
    assert (row["n_chars"], row["n_bytes"]) == (len(APPENDIX), len(APPENDIX.encode()))


@given(st.sets(st.sampled_from(["section.judgment_tail", "section.judgment_appendix", "section.judgment_heading"])))
def test_characters_balance_and_segments_tile_what_stays(rules: SegmentRules, chosen: set[str]) -> None:
    after, ledger = cut_sections(table(TEXT, rules), rules.section, chosen)
    (row,) = after.to_pylist()
    assert len(row["text"]) + sum(ledger["n_chars"].to_pylist()) == len(TEXT)
    assert len(row["text"].encode()) + sum(ledger["n_bytes"].to_pylist()) == len(TEXT.encode())
    starts = [part["start"] for part in row["segments"]]
    assert starts == [0, *(part["end"] for part in row["segments"][:-1])]
    assert row["segments"][-1]["end"] == len(row["text"])
    assert "本院认为" in row["text"]


def test_a_share_of_the_documents_is_spared_whatever_else_is_there(rules: SegmentRules) -> None:
    ids = [f"{number * 0x01234567 % 2**32:08x}" + "0" * 24 for number in range(1000)]
    rows = pa.concat_tables([table(TEXT, rules, doc_id) for doc_id in ids])
    after, _ = cut_sections(rows, rules.section, ["section.judgment_tail"])
    spared = ["如不服" in text for text in after["text"].to_pylist()]
    assert 0.07 < sum(spared) / len(spared) < 0.13
    alone, _ = cut_sections(rows.slice(500), rules.section, ["section.judgment_tail"])
    assert ["如不服" in text for text in alone["text"].to_pylist()] == spared[500:]


def test_a_document_is_never_cut_to_nothing(rules: SegmentRules) -> None:
    before = table("甲法\n2078年1月2日公布\n", rules, doc_type="statute")
    after, ledger = cut_sections(before, rules.section, ["section.statute_heading"])
    assert after.equals(before)
    assert ledger.num_rows == 0


SECTION: dict[str, Any] = {
    "id": "section.test",
    "why": "for the test",
    "doc_type": "judgment",
    "kinds": ["附录"],
    "match": ["x"],
    "no_match": ["x"],
}


@pytest.mark.parametrize("kinds", [["理由"], ["附录", "查明"]])
def test_facts_and_reasons_cannot_be_cut(kinds: list[str]) -> None:
    with pytest.raises(ValidationError, match="stay together"):
        Section.model_validate(SECTION | {"kinds": kinds})


def test_a_section_proves_its_examples(rules: SegmentRules) -> None:
    wrong = Section.model_validate(SECTION | {"match": ["本院认为，应予支持。｜判决如下：\n还款。｜"], "no_match": ["a｜b"]})
    problems = [fault.problem for fault in rules.model_copy(update={"section": (wrong,)}).faults()]
    assert len(problems) == 2
    assert "what stays" in problems[0]
    assert "between two" in problems[1]
