"""A batch: everything is accounted for, and what fails is quarantined."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from lexmill.core.batch import n_bytes
from lexmill.core.deid import batch as module
from lexmill.core.deid import residual
from lexmill.core.deid.batch import deidentify
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.tagger import Tagger
from lexmill.schema import DOCUMENT, DOCUMENT_RAW, LEDGER
from tests.core.deid.test_detector import failing


def document(number: int, text: str, **fields: Any) -> dict[str, Any]:
    return {
        "doc_id": f"{number:032x}",
        "source": "s",
        "doc_type": "judgment",
        "title": None,
        "text": text,
        "meta": None,
        "segments": None,
        "record_id": str(number),
        "uri": "file.jsonl",
        **fields,
    }


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=DOCUMENT_RAW)


ROWS = [
    document(1, "原告：章若岚，女。章若岚付款25000元。"),
    document(2, "当事人应当履行义务。"),
    document(3, "故障：原告：卞长庚，男。"),
    document(4, "（2019）京01民终123456号"),
]


def test_balance_and_fail_closed(rules: DeidRules, tagger: Tagger) -> None:
    batch = deidentify(table(*ROWS), failing(rules, tagger), None)
    assert batch.kept.schema == DOCUMENT
    assert batch.ledger.schema == LEDGER
    ledger = batch.ledger.to_pylist()
    quarantined = [row for row in ledger if row["action"] == "quarantine"]
    assert [(row["doc_id"], row["rule"]) for row in quarantined] == [(ROWS[2]["doc_id"], "deid.detector_failed")]
    assert batch.kept["doc_id"].to_pylist() == [ROWS[i]["doc_id"] for i in (0, 1, 3)]
    edits = [row for row in ledger if row["action"] == "edit"]
    assert [(row["doc_id"], row["rule"]) for row in edits] == [(ROWS[i]["doc_id"], "deid.mask") for i in (0, 3)]
    texts = batch.kept["text"].to_pylist()
    assert sum(len(row["text"]) for row in ROWS) == sum(map(len, texts)) + sum(row["n_chars"] for row in ledger)
    assert sum(n_bytes(row["text"]) for row in ROWS) == sum(map(n_bytes, texts)) + sum(row["n_bytes"] for row in ledger)
    assert batch.counts == {"masked.PERSON": 2, "masked.CASE_NUMBER": 1, "documents.masked": 2, "people.masked": 1}


def test_title_metadata_and_segments_follow_the_text(strict: Detector) -> None:
    text = "（2019）京01民终1234号。原告：章若岚，女。本院认为，章若岚有理。"
    at = text.index("本院认为")
    row = document(
        5,
        text,
        title="章若岚与卞长庚离婚纠纷一审民事判决书",
        meta={"case_number": "（2019）京01民终1234号", "court": "北京市第一中级人民法院", "trial_level": "二审"},
        segments=[
            {"kind": "首部", "start": 0, "end": at, "confidence": 1.0},
            {"kind": "理由", "start": at, "end": len(text), "confidence": 0.5},
        ],
    )
    kept = deidentify(table(row), strict, None).kept.to_pylist()[0]
    assert kept["text"] == "（2019）京01民终×号。原告：章某1，女。本院认为，章某1有理。"
    assert kept["title"] == "章某1与卞某1离婚纠纷一审民事判决书"
    assert kept["meta"]["case_number"] == "（2019）京01民终×号"
    assert kept["meta"]["court"] == "北京市第一中级人民法院"
    assert kept["meta"]["trial_level"] == "二审"
    first, second = kept["segments"]
    assert kept["text"][first["start"] : first["end"]].endswith("女。")
    assert kept["text"][second["start"] : second["end"]] == "本院认为，章某1有理。"


def test_a_name_that_is_left_quarantines_the_document(strict: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual, "has_name", lambda names, texts, _: bool(names and texts))
    batch = deidentify(table(ROWS[0], ROWS[1]), strict, None)
    assert batch.kept["doc_id"].to_pylist() == [ROWS[1]["doc_id"]]
    row = batch.ledger.to_pylist()[0]
    assert (row["rule"], row["n_chars"]) == ("residual.name", len(ROWS[0]["text"]))


def test_what_a_policy_keeps_is_no_residue(strict: Detector, spc: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    row = document(9, "统一社会信用代码91350100M000100Y43。")
    assert deidentify(table(row), spc, None).kept["text"].to_pylist() == [row["text"]]
    monkeypatch.setattr(strict, "detect", lambda *_: [])
    assert deidentify(table(row), strict, None).ledger["rule"].to_pylist() == ["residual.identifier"]


def test_an_identifier_that_is_left_quarantines_the_document(strict: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "detect", lambda *_: [])
    rows = [document(6, "致电13800001111。"), document(7, "付款。", title="致电13800001111"), document(8, "付款13800001111元。")]
    batch = deidentify(table(*rows), strict, None)
    assert batch.kept["doc_id"].to_pylist() == [rows[2]["doc_id"]]
    assert [(row["action"], row["rule"]) for row in batch.ledger.to_pylist()] == [("quarantine", "residual.identifier")] * 2


def test_an_empty_batch(strict: Detector) -> None:
    batch = deidentify(table(), strict, None)
    assert (batch.kept.num_rows, batch.ledger.num_rows, batch.counts) == (0, 0, {})


def test_no_text_in_the_ledger(rules: DeidRules, tagger: Tagger) -> None:
    ledger = deidentify(table(*ROWS), failing(rules, tagger), None).ledger.to_pylist()
    assert not [row for row in ledger if "章若岚" in str(row) or "卞长庚" in str(row)]


def test_any_failure_quarantines_that_document_only(strict: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.mask_document

    def broken(row: Mapping[str, Any], detector: Detector) -> Any:
        if row["doc_id"] == ROWS[1]["doc_id"]:
            raise ZeroDivisionError(row["text"])
        return real(row, detector)

    monkeypatch.setattr(module, "mask_document", broken)
    done = deidentify(table(*ROWS), strict, None)
    quarantined = [row for row in done.ledger.to_pylist() if row["action"] == "quarantine"]
    assert [(row["doc_id"], row["rule"]) for row in quarantined] == [(ROWS[1]["doc_id"], "deid.failed")]
    assert done.kept.num_rows == len(ROWS) - 1


def test_whom_the_party_block_names_is_masked_everywhere(strict: Detector) -> None:
    text = "原告主明，住某市。\n委托代理人宰有，某某律师事务所律师。\n事实：主明与宰有先后到场。"
    block = text.index("事实")
    segments = [
        {"kind": "当事人", "start": 0, "end": block, "confidence": 1.0, "path": ""},
        {"kind": "事实", "start": block, "end": len(text), "confidence": 1.0, "path": ""},
    ]
    told = deidentify(table(document(1, text, segments=segments)), strict, None).kept["text"].to_pylist()[0]
    assert "主明" not in told
    assert "宰有" not in told


def test_a_procuratorate_and_an_authority_of_the_party_block_stay(strict: Detector) -> None:
    text = "公诉机关西湖区人民检察院。\n被告西湖区民政局，住所地某市。\n"
    segments = [{"kind": "当事人", "start": 0, "end": len(text), "confidence": 1.0, "path": ""}]
    assert deidentify(table(document(1, text, segments=segments)), strict, None).kept["text"].to_pylist() == [text]
