"""Parts balance, receipts notice damage, and a swap that a kill cut in two is mended."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lexmill.core.batch import Batch, Ledger
from lexmill.errors import GateError
from lexmill.schema import DOCUMENT_RAW, LEDGER
from lexmill.store import files
from lexmill.store.stages import (
    StageFolder,
    Target,
    count_documents,
    discard_damaged,
    imbalance,
    make_manifest,
    settle,
    swap,
)


def documents(*texts: str) -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"doc_id": f"{number:032x}", "source": "s", "doc_type": "qa", "title": None, "text": text, "segments": []}
        for number, text in enumerate(texts)
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENT_RAW)


def built(folder: StageFolder, *texts: str) -> dict[str, Any]:
    receipts = []
    for number, text in enumerate(texts):
        table = documents(text)
        receipts.append(
            Target(folder, number, f"key{number}").write(Batch(table, LEDGER.empty_table(), {}), count_documents(table))
        )
    manifest = make_manifest("x", "0", "fp", receipts)
    files.write_json(folder.path / "manifest.json", manifest)
    return manifest


def test_a_batch_that_loses_a_document_is_refused(tmp_path: Path) -> None:
    table = documents("甲乙", "丙")
    target = Target(StageFolder(tmp_path / "stage"), 0, "k")
    with pytest.raises(GateError, match="does not balance"):
        target.write(Batch(table.slice(0, 1), LEDGER.empty_table(), {}), count_documents(table))
    assert not (tmp_path / "stage").exists()


def test_characters_must_balance_too(tmp_path: Path) -> None:
    table = documents("甲乙丙")
    shorter = documents("甲乙")
    target = Target(StageFolder(tmp_path / "stage"), 0, "k")
    with pytest.raises(GateError, match="3 chars in, 2 accounted for"):
        target.write(Batch(shorter, LEDGER.empty_table(), {}), count_documents(table))
    ledger = Ledger("stage")
    ledger.add("0" * 32, "s", "qa", "edit", "stage.cut", 1, 3)
    receipt = target.write(Batch(shorter, ledger.table(), {}), count_documents(table))
    assert receipt.counts["edit"] == {"s/qa": {"docs": 1, "chars": 1, "bytes": 3}}


def test_imbalance_names_group_and_unit() -> None:
    counts = {"in": {"a/qa": {"docs": 2, "chars": 5, "bytes": 9}}, "out": {"a/qa": {"docs": 1, "chars": 5, "bytes": 9}}}
    assert imbalance(counts) == ["a/qa: 2 docs in, 1 accounted for"]


def test_a_receipt_does_not_vouch_for_a_damaged_part(tmp_path: Path) -> None:
    folder = StageFolder(tmp_path / "stage")
    built(folder, "甲", "乙")
    assert folder.receipt(0) is not None
    folder.part(0).write_bytes(folder.part(0).read_bytes()[:-3])
    assert folder.receipt(0) is None
    folder.ledger(1).unlink()
    assert folder.receipt(1) is None
    folder.receipt_path(1).write_text('{"number": 1')
    assert folder.receipt(1) is None


def test_damage_of_equal_length_is_found_by_digest(tmp_path: Path) -> None:
    folder = StageFolder(tmp_path / "stage")
    built(folder, "甲", "乙")
    data = bytearray(folder.part(1).read_bytes())
    data[20] ^= 1
    folder.part(1).write_bytes(bytes(data))
    assert discard_damaged(folder) == ["part-00001.parquet"]
    assert (folder.receipt(0) is None, folder.receipt(1) is None) == (False, True)


def test_equal_work_gives_equal_manifests(tmp_path: Path) -> None:
    first = built(StageFolder(tmp_path / "1"), "甲", "乙")
    second = built(StageFolder(tmp_path / "2"), "甲", "乙")
    assert first == second
    assert (tmp_path / "1/manifest.json").read_bytes() == (tmp_path / "2/manifest.json").read_bytes()


@pytest.mark.parametrize("finished", [True, False])
def test_a_swap_cut_in_two_is_settled(tmp_path: Path, finished: bool) -> None:
    folder = StageFolder(tmp_path / "stage")
    old = built(folder, "甲")
    new = built(folder.next, "乙")
    if not finished:
        (folder.next.path / "manifest.json").unlink()
    folder.path.rename(tmp_path / "stage.old")  # and here it was killed
    settle(folder)
    assert folder.manifest() == (new if finished else old)
    assert not (tmp_path / "stage.old").exists()


def test_swap_replaces(tmp_path: Path) -> None:
    folder = StageFolder(tmp_path / "stage")
    built(folder, "甲")
    new = built(folder.next, "乙")
    swap(folder)
    assert folder.manifest() == new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stage"]
