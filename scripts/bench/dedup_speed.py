"""Run the steps of stage dedup over an ingested workspace, in one process and several times: core-s by step, start-up apart.

    .venv/bin/python scripts/bench/dedup_truth.py FILE.jsonl[.zst] --keep FOLDER
    .venv/bin/python scripts/bench/dedup_speed.py FOLDER/bench.toml [--passes 4]

The first pass loads the compiled kernels, as every worker does once; the others are work alone. The digest is that of the pair
table, the ledgers and the parts, to see whether a change of the code changed what it decides. The workspace stays as it is.
"""

import argparse
import hashlib
import tempfile
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

STARTED = time.process_time()

from lexmill import rules  # noqa: E402
from lexmill.config import load  # noqa: E402
from lexmill.jobs import dedup  # noqa: E402
from lexmill.jobs.job import Job  # noqa: E402
from lexmill.jobs.parts import PartTask, Runner  # noqa: E402
from lexmill.jobs.progress import Progress  # noqa: E402
from lexmill.store import files  # noqa: E402
from lexmill.store.stages import StageFolder, Target, make_manifest  # noqa: E402
from lexmill.store.workspace import Workspace  # noqa: E402


class Here(Runner):
    """Runs every task in this process, one after the other, and keeps the core seconds of each step."""

    spent: dict[str, float]

    def run_stage(
        self, name: str, folder: StageFolder, function: Any, tasks: Sequence[PartTask], fingerprint: str
    ) -> dict[str, Any]:
        """Make all parts."""
        before = time.process_time()
        receipts = [function(Target(folder, task.number, task.key, task.fingerprint), *task.arguments) for task in tasks]
        self.spent[name] = time.process_time() - before
        manifest = make_manifest(name, self.version, fingerprint, receipts)
        files.write_json(folder.path / "manifest.json", manifest)
        return manifest


def digest(folder: Path) -> str:
    """The first digits of the digest of what the stage decided."""
    found = [folder / "work/dedup.pairs/part-00000.parquet", *sorted((folder / "dedup").rglob("part-*.parquet"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in found)).hexdigest()[:16]


def main() -> None:
    """Run, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--passes", type=int, default=4)
    arguments = parser.parse_args()
    config = load(arguments.config, ())
    given = Workspace(config.workspace_dir, config.run).stage("ingest")
    ingested = given.manifest()
    assert ingested is not None, "there is no stage ingest: run it first"
    size = sum(units["bytes"] for units in ingested["counts"]["out"].values()) / 1e6
    rule_set = rules.load(config.rule_folders)
    print(f"imports and rules: {time.process_time() - STARTED:.2f} core-s; {size:.1f} MB of text")
    for number in range(arguments.passes):
        with tempfile.TemporaryDirectory() as name:
            workspace = Workspace(Path(name), config.run)
            for part in range(len(ingested["parts"])):
                files.copy(given.part(part), workspace.stage("ingest").part(part))
            runner = Here(
                lambda: None,  # no task needs a client
                1,
                "0",
                Progress(Console(file=StringIO())),
                lambda *_: None,
                lambda: None,
                lambda: None,
            )
            runner.spent = {}
            dedup.run(Job(config, rule_set, workspace, runner), ingested)
            total = sum(runner.spent.values())
            steps = {step.removeprefix("dedup."): round(took, 2) for step, took in runner.spent.items() if took >= 0.005}
            print(f"pass {number}: {total:.2f} core-s, {size / total:.1f} MB/s per core; {steps}")
            print(f"  decided: {digest(workspace.run_folder)}")


if __name__ == "__main__":
    main()
