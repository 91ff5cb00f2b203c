"""A document that ends the process of a step of dedup or of the tokeniser is quarantined, and compared with none."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest, tokenize
from lexmill.jobs.call import Terms
from lexmill.jobs.dedup import apply, signatures, verdicts
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


def judging(function: Any) -> Any:
    """The same for what judges a bucket of documents."""

    def refuse(target: Target, candidates: Any, bucket: int, *more: Any) -> Receipt:
        table = verdicts._of_bucket(candidates, bucket, ["ordinal", "text"])
        refused = tuple((row["ordinal"], DIED) for row in table.to_pylist() if KILL in row["text"])
        receipt: Receipt = function(target, candidates, bucket, *more, refused)
        return receipt

    return refuse


@pytest.mark.parametrize(
    ("module", "name", "settings"),
    [
        (signatures, "sign_part", ()),
        (verdicts, "judge_bucket", ()),
        (signatures, "digest_part", ("dedup.enabled=false",)),
        (apply, "apply_part", ("dedup.lines='cut'",)),
    ],
)
def test_dedup_quarantines_what_ends_one_of_its_steps(
    make_job: MakeJob, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, settings: tuple[str, ...]
) -> None:
    job = make_job("with", RECORDS, *settings)
    where = dedup if name == "apply_part" else module
    told = judging if name == "judge_bucket" else refusing
    monkeypatch.setattr(where, name, told(getattr(module, name)))
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


POISON, CURE = "毒", "药"


def deadly_judge(target: Target, *arguments: Any) -> Receipt:
    """``judge_bucket``, which a document ends, and two others when they meet."""
    judge = verdicts.judge  # type: ignore[attr-defined]

    def deadly(table: Any, *more: Any) -> Any:
        text = "".join(table["text"].to_pylist())
        kill_for(text)
        if POISON in text and CURE in text:
            kill_for("kill")
        return judge(table, *more)

    with patch.object(verdicts, "judge", deadly):
        return verdicts.judge_bucket(target, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("kill", ""), (POISON, CURE)])
def test_a_verdict_that_ends_its_process_goes_on_without_one_document(make_job: MakeJob, words: tuple[str, str]) -> None:
    form = "承租人应当按月支付租金，逾期超过十五日的，出租人有权解除合同并没收押金。" * 5
    texts = [form, f"{form}{words[0]}", f"{form}一", f"{form}{words[1]}二", f"{form}三"]
    job = make_job("with", [record(number, text) for number, text in enumerate(texts)], doc_type="contract")
    dedup.run(job, ingest.run(job))
    steps = tuple(job.workspace.work(f"dedup.{name}") for name in ("candidates", "history"))
    arguments = (steps, 0, 0.8, "all", "best", job.rules.dedup)
    assert len(verdicts.Judged().units(arguments)) == len(texts)
    target = Target(StageFolder(job.workspace.root / "tried"), 0, "k")
    isolated_part(target, deadly_judge, arguments, verdicts.Judged(), Terms(part_seconds=60))
    found = pq.read_table(target.folder.part(0)).to_pylist()
    assert [(row["ordinal"], row["gone"]) for row in found if row["rule"] == DIED] == [(1, True)]
    assert len([row for row in found if row["gone"]]) == len(texts) - 1
    assert all(row["twin_ordinal"] != 1 for row in found)


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
