"""Parts balance, receipts notice damage, and a swap that a kill cut in two is mended."""

import os
from collections.abc import Callable
from contextlib import suppress
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

FILES_OF_A_PART = (("", "parquet"), ("ledger/", "parquet"), ("receipts/", "json"))


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


class Killed(BaseException):
    """What no handler of the code takes for an error of its own."""


class Countdown:
    """Lets so many operations of a kind through, and ends the process before the next one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        for name in ("replace", "unlink", "rmdir", "mkdir"):
            monkeypatch.setattr(os, name, self.counting(getattr(os, name)))

    def counting(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise Killed
            return operation(*arguments, **named)

        return counted


def content(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in files.listing(path)}


def half_replaced(folder: StageFolder) -> None:
    """A stage of three parts, and beside it a finished build that keeps the first, changes the second and drops the third."""
    built(folder, "甲", "乙", "丙")
    changed = Target(folder.next, 1, "other").write(
        Batch(documents("丁戊"), LEDGER.empty_table(), {}), count_documents(documents("丁戊"))
    )
    kept = folder.receipt(0)
    assert kept is not None
    files.write_json(folder.next.path / "manifest.json", make_manifest("x", "0", "fp", [kept, changed]))


def test_a_swap_killed_at_any_moment_leaves_the_old_stage_or_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half_replaced(StageFolder(tmp_path / "whole"))
    old, new = content(tmp_path / "whole"), dict[str, bytes]()
    swap(StageFolder(tmp_path / "whole"))
    new = content(tmp_path / "whole")
    assert sorted(new) == sorted(
        ["manifest.json", *(f"{folder}part-0000{n}.{end}" for n in (0, 1) for folder, end in FILES_OF_A_PART)]
    )
    countdown, seen = Countdown(monkeypatch), []
    for moment in range(100):
        folder = StageFolder(tmp_path / str(moment))
        countdown.left = None
        half_replaced(folder)
        countdown.left = moment
        try:
            swap(folder)
        except Killed:
            # And the next command, too, at its first operations.
            for second in (0, 1, 2):
                countdown.left = second
                with suppress(Killed):
                    settle(folder)
            countdown.left = None
            manifest = folder.manifest()
            settle(folder)
            seen.append(content(folder.path) == old)
            assert content(folder.path) in (old, new)
            if manifest is None:
                assert content(folder.path) == new
            continue
        countdown.left = None
        assert content(folder.path) == new
        assert not folder.next.path.exists()
        break
    assert len(seen) > 8
    assert seen.count(True) <= 1, "only before the old manifest went"


def test_a_build_beside_a_standing_manifest_is_not_moved_in(tmp_path: Path) -> None:
    folder = StageFolder(tmp_path / "stage")
    old = built(folder, "甲")
    built(folder.next, "乙")
    settle(folder)
    assert folder.manifest() == old
    (folder.path / "manifest.json").unlink()
    (folder.next.path / "manifest.json").unlink()
    settle(folder)
    assert folder.manifest() is None


def test_swap_replaces(tmp_path: Path) -> None:
    folder = StageFolder(tmp_path / "stage")
    built(folder, "甲")
    new = built(folder.next, "乙")
    swap(folder)
    assert folder.manifest() == new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stage"]
