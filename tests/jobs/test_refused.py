"""A document that ends the process of a step of dedup or of the tokeniser is quarantined, and compared with none."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest, tokenize
from lexmill.jobs.call import Terms
from lexmill.jobs.dedup import apply, signatures
from lexmill.jobs.dedup.steps import blanked, without_them
from lexmill.jobs.isolate import DIED, MEMORY, SECONDS, Others, holds, isolated_part, limited_key
from lexmill.schema import DOCUMENT_RAW
from lexmill.store.stages import Receipt, StageFolder, Target, imbalance
from tests.jobs.conftest import MakeJob
from tests.jobs.deadly import given, kill_for

KILL = "甲毒乙"


def record(number: int, text: str = "") -> dict[str, Any]:
    return {
        "id": str(number),
        "text": text or f"问：第{number}个问题，租房合同到期后押金怎么退？答：按照约定退还，扣除{number}元。",
    }


# Two that kill are one text, and would be copies of each other.
RECORDS = [*map(record, range(12)), record(12, KILL * 20), record(13, KILL * 20), record(14), record(15, record(3)["text"])]


def refusing(function: Any) -> Any:
    """The same function, told of the rows of a part that hold the deadly word."""

    def refuse(target: Target, source: StageFolder, entry: Any, *more: Any) -> Receipt:
        texts = pq.read_table(source.path / entry["name"], columns=["text"])["text"].to_pylist()
        refused = tuple((row, DIED) for row, text in enumerate(texts) if KILL in text)
        receipt: Receipt = function(target, source, entry, *more, refused) if refused else function(target, source, entry, *more)
        return receipt

    return refuse


@pytest.mark.parametrize(
    ("module", "name", "settings"),
    [
        (signatures, "sign_part", ()),
        (signatures, "digest_part", ("dedup.enabled=false",)),
        (apply, "apply_part", ("dedup.lines='cut'",)),
    ],
)
def test_dedup_quarantines_what_ends_one_of_its_steps(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, settings: tuple[str, ...]
) -> None:
    job = make_job("with", RECORDS, *settings)
    where = dedup if name == "apply_part" else module
    monkeypatch.setattr(where, name, refusing(getattr(module, name)))
    done = dedup.run(job, ingest.run(job))
    assert imbalance(done["counts"]) == []
    ledger = job.workspace.stage("dedup").ledgers().to_pylist()
    dead = [row for row in ledger if row["rule"] == DIED]
    assert len(dead) == 2
    assert all((row["stage"], row["action"]) == ("dedup", "quarantine") for row in dead)
    monkeypatch.undo()
    other = make_job("without", [one for one in RECORDS if KILL not in one["text"]], *settings)
    expected = dedup.run(other, ingest.run(other))
    assert done["counts"]["out"] == expected["counts"]["out"]


def test_the_tokeniser_quarantines_what_ends_it(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job("with", RECORDS, "filter.enabled=false")
    monkeypatch.setattr(tokenize, "scatter_part", refusing(tokenize.scatter_part))
    filtered = filter.run(job, deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job)))))
    done = tokenize.run(job, filtered)
    (row,) = job.workspace.stage("tokenize").ledgers().to_pylist()
    assert (row["stage"], row["action"], row["rule"], row["n_chars"]) == ("tokenize", "quarantine", DIED, 60)
    came, went = (
        sum(units["docs"] for units in counts.values()) for counts in (filtered["counts"]["out"], done["counts"]["out"])
    )
    assert came == went + 1
    assert tokenize.run(job, filtered) == done


def deadly_sign(target: Target, source: StageFolder, entry: Any, refused: Any = ()) -> Receipt:
    table = blanked(source.read(entry, DOCUMENT_RAW), refused)
    for text in table["text"].to_pylist():
        kill_for(text)
    return target.write_work(table.select(["doc_id", "text"]), extra=without_them(refused))


@pytest.mark.slow
def test_rows_keep_their_numbers_where_one_of_them_kills(tmp_path: Path) -> None:
    target = Target(StageFolder(tmp_path / "signatures"), 0, "k")
    receipt = isolated_part(target, deadly_sign, given(tmp_path, "a", "b", "kill", "c"), Others(), Terms(part_seconds=60))
    assert receipt.extra == {"refused": [[2, DIED]]}
    assert pq.read_table(target.folder.part(0))["text"].to_pylist() == ["a", "b", f"{2:032x}", "c"]
    assert receipt.key.startswith("k.m")


def test_more_memory_or_time_is_a_reason_to_try_again() -> None:
    key = limited_key("k", [DIED, SECONDS], 1e9, 60)
    assert key == "k.m1000000000.s60"
    assert limited_key("k", [MEMORY], 1e9, 60) == "k.m1000000000"
    assert holds("k", "k", lambda: 1e12, 1e9)
    assert not holds("j", "k", lambda: None, 60)
    assert holds(key, "k", lambda: None, 60)
    assert holds(key, "k", lambda: 0.5e9, 30)
    assert not holds(key, "k", lambda: 2e9, 60)
    assert not holds(key, "k", lambda: 1e9, 120)
    assert holds("k.m1299900000", "k", lambda: 1.3e9, 60), "what a scheduler rounds is no more memory"
