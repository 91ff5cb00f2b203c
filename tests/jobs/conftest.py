"""Stage jobs on a cluster inside this process, so that a test may change their bounds."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import distributed
import pytest
from rich.console import Console

from lexmill import rules
from lexmill.config import load
from lexmill.jobs.job import Job
from lexmill.jobs.parts import Runner
from lexmill.jobs.progress import Progress
from lexmill.store.workspace import Workspace
from tests.made import source

_SETTINGS = """
version = 1
workspace = "w"
[ingest]
part_mb = 0.02
[tokenize]
dp_width = 2
seq_lens = [128]
"""


def run_file(doc_type: str) -> str:
    """A small run over the JSONL files beside it."""
    return _SETTINGS + source("q", doc_type, "*.jsonl")


@pytest.fixture(scope="session")
def client() -> Iterator[distributed.Client]:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def runner(client: distributed.Client) -> Runner:
    return Runner(lambda: client, 1, "0", Progress(Console(file=StringIO())), lambda *_: None, lambda: None, lambda: None)


MakeJob = Callable[..., Job]


@pytest.fixture
def make_job(tmp_path: Path, runner: Runner) -> MakeJob:
    """A job over JSON lines of the records given, in ``tmp_path/<name>``."""

    def make(name: str, records: list[dict[str, Any]], *settings: str, doc_type: str = "qa") -> Job:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "run.toml").write_text(run_file(doc_type))
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / "a.jsonl").write_text("".join(lines), encoding="utf-8")
        config = load(folder / "run.toml", settings)
        return Job(config, rules.load(), Workspace(folder / "w", config.run), runner)

    return make
