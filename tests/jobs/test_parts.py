"""The runner: bounded window, one retry, safe failures, kept parts."""

import errno
import os
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lexmill.errors import GateError, StoppedError
from lexmill.jobs.call import Terms, call
from lexmill.jobs.isolate import MEMORY, limited_key
from lexmill.jobs.parts import DamagedInput, PartTask, Runner
from lexmill.store.files import DamagedFile
from lexmill.store.stages import Receipt, StageFolder, Target

SECRET = "张三的秘密"


def write(target: Target, text: str, log: Path) -> Receipt:
    with log.open("a") as out:
        out.write(f"{target.number}\n")
    return target.write_work(pa.table({"text": [text]}))


def fail_once(target: Target, log: Path) -> Receipt:
    if not log.exists():
        log.write_text("failed")
        raise ValueError(SECRET)
    return write(target, "second", log)


def always(target: Target, error: Exception) -> Receipt:
    assert target.number >= 0
    raise error


def tasks(log: Path, *texts: str) -> list[PartTask]:
    return [PartTask(number, f"key {text}", (text, log)) for number, text in enumerate(texts)]


def made(log: Path) -> list[int]:
    return sorted(int(line) for line in log.read_text().split()) if log.exists() else []


def test_all_parts_are_made_and_then_kept(tmp_path: Path, runner: Runner) -> None:
    folder, log = StageFolder(tmp_path / "stage"), tmp_path / "log"
    first = runner.run_stage("stage", folder, write, tasks(log, "a", "b", "c"), "fp")
    assert made(log) == [0, 1, 2]
    assert [entry["rows"] for entry in first["parts"]] == [1, 1, 1]
    log.unlink()
    assert runner.run_stage("stage", folder, write, tasks(log, "a", "b", "c"), "fp") == first
    assert made(log) == []


def test_only_changed_and_new_parts_are_made_again(tmp_path: Path, runner: Runner) -> None:
    folder, log = StageFolder(tmp_path / "stage"), tmp_path / "log"
    runner.run_stage("stage", folder, write, tasks(log, "a", "b", "c"), "fp")
    log.unlink()
    runner.run_stage("stage", folder, write, tasks(log, "a", "B", "c", "d"), "fp")
    assert made(log) == [1, 3]
    log.unlink()
    runner.run_stage("stage", folder, write, tasks(log, "a", "B"), "fp")
    assert made(log) == []
    assert sorted(path.name for path in folder.path.glob("part-*")) == ["part-00000.parquet", "part-00001.parquet"]


def test_a_part_that_is_damaged_is_made_again(tmp_path: Path, runner: Runner) -> None:
    folder, log = StageFolder(tmp_path / "stage"), tmp_path / "log"
    runner.run_stage("stage", folder, write, tasks(log, "a", "b"), "fp")
    folder.part(1).write_bytes(b"cut")
    log.unlink()
    runner.run_stage("stage", folder, write, tasks(log, "a", "b"), "fp")
    assert made(log) == [1]


def killed_in_between(target: Target, text: str, log: Path) -> Receipt:
    """What a worker that is killed while it writes leaves, and the part made by another."""
    target.folder.path.mkdir(parents=True, exist_ok=True)
    (target.folder.path / f".part-{target.number:05d}.parquet.abc.tmp").write_bytes(b"half")
    return write(target, text, log)


def test_half_written_files_of_the_killed_are_swept(tmp_path: Path, runner: Runner) -> None:
    folder = StageFolder(tmp_path / "stage")
    runner.run_stage("stage", folder, killed_in_between, tasks(tmp_path / "log", "a", "b"), "fp")
    assert sorted(path.name for path in folder.path.rglob("*") if path.is_file() and path.suffix != ".json") == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]


def test_a_failure_is_tried_once_more(tmp_path: Path, runner: Runner) -> None:
    log = tmp_path / "log"
    manifest = runner.run_stage("stage", StageFolder(tmp_path / "stage"), fail_once, [PartTask(0, "k", (log,))], "fp")
    assert manifest["parts"][0]["rows"] == 1


@pytest.mark.parametrize(
    ("error", "raised", "said"),
    [
        (ValueError(SECRET), RuntimeError, "failed twice with ValueError"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), StoppedError, "no space left"),
        (GateError("part does not balance"), GateError, "does not balance"),
        (DamagedFile("ingest/part-00000.parquet is damaged"), DamagedInput, "ingest/part-00000"),
        (OSError(errno.EIO, "Input/output error"), StoppedError, "Input/output error"),
    ],
)
def test_a_failure_says_what_and_where_but_never_the_text(
    tmp_path: Path, runner: Runner, error: Exception, raised: type[Exception], said: str
) -> None:
    folder = StageFolder(tmp_path / "stage")
    with pytest.raises(raised, match=said) as caught:
        runner.run_stage("stage", folder, always, [PartTask(0, "k", (error,))], "fp")
    assert SECRET not in str(caught.value)
    assert not folder.path.exists(), "nothing half-made stands in the place of a stage"


def died_for_want(target: Target, text: str, log: Path) -> Receipt:
    return write(replace(target, key=limited_key(target.key, [MEMORY], 1e9, 60)), text, log)


def test_a_document_that_died_is_tried_again_with_more_memory(tmp_path: Path, runner: Runner) -> None:
    folder, log = StageFolder(tmp_path / "stage"), tmp_path / "log"
    for limit, again in ((1e9, True), (1e9, False), (0.5e9, False), (None, False), (2e9, True)):
        log.unlink(missing_ok=True)
        more = replace(runner, memory_limit=partial(next, repeat(limit)))
        more.run_stage("stage", folder, died_for_want, tasks(log, "a"), "fp")
        assert made(log) == ([0] if again else [])


def test_finished_parts_survive_a_failure_beside_them(tmp_path: Path, runner: Runner) -> None:
    folder, log = StageFolder(tmp_path / "stage"), tmp_path / "log"
    good = tasks(log, "a", "b")

    def run(last: Any) -> Any:
        return runner.run_stage(
            "stage", folder, mixed, [*(PartTask(t.number, t.key, (t.arguments, None)) for t in good), last], "fp"
        )

    with pytest.raises(StoppedError):
        run(PartTask(2, "k2", ((), OSError(errno.ENOSPC, "full"))))
    assert made(log) == [0, 1]
    run(PartTask(2, "k2", (("c", log), None)))
    assert made(log) == [0, 1, 2]


def mixed(target: Target, arguments: tuple[Any, ...], error: Exception | None) -> Receipt:
    if error is not None:
        raise error
    return write(target, *arguments)


def test_call_measures_and_never_raises(tmp_path: Path) -> None:
    target = Target(StageFolder(tmp_path), 0, "k")
    outcome = call(always, target, (KeyError(SECRET),), Terms())
    assert outcome.receipt is None
    assert outcome.failure is not None
    assert SECRET not in repr(outcome)
    assert any("test_parts.py" in place for place in outcome.failure.places)
    assert call(write, target, ("x", tmp_path / "log"), Terms()).peak_rss > 1_000_000
