"""A document that ends its worker is found, quarantined by a rule that says how, and the rest of its part is made."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import distributed
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from lexmill import rules
from lexmill.config import load
from lexmill.core.batch import Batch
from lexmill.core.ingest.limits import Limits
from lexmill.errors import StoppedError
from lexmill.jobs import ingest, isolate
from lexmill.jobs.call import Terms
from lexmill.jobs.isolate import DIED, MEMORY, SECONDS, Rows, isolated_part
from lexmill.jobs.parts import PartTask, Runner
from lexmill.jobs.progress import Progress
from lexmill.schema import LEDGER
from lexmill.store import stages
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents, imbalance
from lexmill.store.workspace import Workspace
from tests.jobs.conftest import run_file
from tests.jobs.deadly import documents, given, kill_for, load_first, pass_on, together, work

pytestmark = pytest.mark.slow

TERMS = Terms(part_seconds=16, wait_seconds=120)


def result(target: Target) -> tuple[list[str], list[tuple[str, str]]]:
    texts = pq.read_table(target.folder.part(target.number))["text"].to_pylist()
    ledger = pq.read_table(target.folder.ledger(target.number), schema=LEDGER).to_pylist()
    return texts, [(row["doc_id"], f"{row['stage']} {row['action']} {row['rule']}") for row in ledger]


@pytest.mark.parametrize("function", [pytest.param(work, marks=pytest.mark.smoke), pass_on])
def test_the_one_document_is_found(tmp_path: Path, function: Any) -> None:
    texts = [f"text {number}" for number in range(20)]
    texts[13] = "kill"
    target = Target(StageFolder(tmp_path / "filter.next"), 0, "k")
    receipt = isolated_part(target, function, given(tmp_path, *texts), Rows(), TERMS)
    assert result(target) == ([text for text in texts if text != "kill"], [(f"{13:032x}", f"filter quarantine {DIED}")])
    assert imbalance(receipt.counts) == []
    assert receipt.counts["in"] == count_documents(documents(*texts))
    assert target.folder.receipt(0) == receipt


@pytest.mark.parametrize(
    ("texts", "rules", "seconds"), [(("a", "hang", "b"), [SECONDS], 12), (("a", "crash", "swell", "b"), [DIED, MEMORY], 60)]
)
def test_each_way_to_end_has_its_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...], rules: list[str], seconds: int
) -> None:
    monkeypatch.setattr(isolate, "_memory_limit", lambda: 1.2e9)
    target = Target(StageFolder(tmp_path / "filter"), 0, "k")
    isolated_part(target, work, given(tmp_path, *texts), Rows(), Terms(part_seconds=seconds))
    kept, left = result(target)
    assert kept == ["a", "b"]
    assert [rule.rpartition(" ")[2] for _, rule in left] == rules


def test_a_part_that_died_by_chance_is_made_whole(tmp_path: Path) -> None:
    target = Target(StageFolder(tmp_path / "filter"), 0, "k")
    receipt = isolated_part(target, work, given(tmp_path, "a", "b"), Rows(), TERMS)
    other = Target(StageFolder(tmp_path / "other"), 0, "k")
    assert receipt == work(other, *given(tmp_path, "a", "b"))


def test_no_document_is_blamed_for_what_is_loaded(tmp_path: Path) -> None:
    target = Target(StageFolder(tmp_path / "filter"), 0, "k")
    isolated_part(target, load_first, given(tmp_path, "a", "hang", "b"), Rows(), Terms(part_seconds=3))
    assert result(target) == (["a", "b"], [(f"{1:032x}", f"filter quarantine {SECONDS}")])


def test_what_no_single_document_does_stops_the_run(tmp_path: Path) -> None:
    target = Target(StageFolder(tmp_path / "filter"), 0, "k")
    with pytest.raises(StoppedError, match="no single document does"):
        isolated_part(target, together, given(tmp_path, *"abcdef"), Rows(), TERMS)
    with pytest.raises(StoppedError, match=DIED):
        isolated_part(target, work, given(tmp_path, "kill"), None, TERMS)
    with pytest.raises(StoppedError, match="4 of its documents"):
        isolated_part(target, work, given(tmp_path, *["kill"] * 4, "a"), Rows(), TERMS)
    assert target.folder.receipt(0) is None


def poisoned_ingest(target: Target, *arguments: Any) -> Receipt:
    """``ingest_part``, with a parser that the word "kill" ends."""
    make = ingest.make_document  # type: ignore[attr-defined]

    def deadly(record: Any, *more: Any) -> Any:
        kill_for(record.text)
        return make(record, *more)

    with patch.object(ingest, "make_document", deadly):
        return ingest.ingest_part(target, *arguments)


def test_ingest_quarantines_the_record_and_knows_it_in_the_lineage(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(run_file("qa").replace("part_mb = 0.02", "part_mb = 1"))
    for name in ("a", "b", "c"):
        lines = [f'{{"id": "{name}{number}", "text": "甲方问乙方第{number}个问题怎么办"}}\n' for number in range(9)]
        if name == "b":
            lines[4] = '{"id": "deadly", "text": "kill 甲方"}\n'
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    config = load(tmp_path / "run.toml")
    workspace = Workspace(config.workspace_dir, config.run)
    loaded = rules.load()
    (pieces,) = ingest.plan(config, workspace).values()
    limits = Limits.of(config.ingest)
    arguments = (pieces, config.source[0], limits, (), "fp", workspace.lineage, (), loaded.digests, "")
    target = Target(workspace.stage("ingest"), 0, "k")
    receipt = isolated_part(target, poisoned_ingest, arguments, ingest.Records(), Terms(part_seconds=60))
    texts, left = result(target)
    assert len(texts) == 26
    assert left == [(ingest.doc_id("q", "b.jsonl", "", "deadly", ""), f"ingest quarantine {DIED}")]
    assert imbalance(receipt.counts) == []
    lineage = pq.read_table(workspace.lineage / stages.part_name(0)).to_pylist()
    assert len(lineage) == 27
    assert [row["record_id"] for row in lineage if row["doc_id"] == left[0][0]] == ["deadly"]


@pytest.fixture
def mortal_runner() -> Iterator[Runner]:
    """A runner whose two workers are processes, and may die."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        progress = Progress(Console(file=StringIO()))
        yield Runner(lambda: client, 2, "0", progress, lambda *_: None, lambda: None, lambda: None, TERMS)


@pytest.mark.parametrize("end", ["kill", "hang"])
def test_a_stage_ends_without_the_document_that_kills_its_workers(tmp_path: Path, mortal_runner: Runner, end: str) -> None:
    tasks = []
    for number in range(4):
        source = StageFolder(tmp_path / "before")
        table = documents(*(f"{number} {end if (number, row) == (2, 3) else row}" for row in range(5)))
        entry = Target(source, number, "k").write(Batch(table, LEDGER.empty_table(), {}), count_documents(table)).entry()
        tasks.append(PartTask(number, f"k{number}", (source, entry), split=Rows()))
    folder = StageFolder(tmp_path / "filter")
    manifest = mortal_runner.run_stage("filter", folder, work, tasks, "fp")
    assert [entry["rows"] for entry in manifest["parts"]] == [5, 5, 4, 5]
    (row,) = folder.ledgers().to_pylist()
    assert (row["doc_id"], row["rule"]) == (f"{3:032x}", {"kill": DIED, "hang": SECONDS}[end])
    assert imbalance(manifest["counts"]) == []
