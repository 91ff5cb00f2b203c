"""What the driver takes for many parts, and for many tiny files: its peak memory and time.

    .venv/bin/python scripts/bench/cluster_size.py parts --number 100000 [--workers 2]
    .venv/bin/python scripts/bench/cluster_size.py files --number 10000000 [--folder DIR]

``parts`` runs a stage whose tasks write a part of one row each, through the Runner on local workers, and then asks for it again,
when nothing is to be done; with ``--seconds`` each task rests so long, as a part of work would take, and it says how busy the
workers were: the time that tasks rested over workers × wall time. ``files`` plans ingest over a simulated listing of files of
2 kB (nothing is listed or read), looks at each part as a run does, and pickles one as a task does; with the same ``--folder``
a second time it finds the plan of the first. The peak is the process's.
"""

import argparse
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from lexmill.cluster import open_client
from lexmill.config import Cluster, Config, Source, load
from lexmill.jobs import ingest
from lexmill.jobs.call import Terms
from lexmill.jobs.parts import PartTask, Runner
from lexmill.jobs.pieces import Weights
from lexmill.jobs.progress import Progress
from lexmill.store.fingerprint import digest
from lexmill.store.memory import peak_rss
from lexmill.store.raw import RawFile
from lexmill.store.stages import Receipt, StageFolder, Target
from lexmill.store.workspace import Workspace

RUN_FILE = """
version = 1
workspace = "workspace"
[[source]]
name = "q"
doc_type = "qa"
paths = ["q/**/*.txt"]
[source.card]
origin = "open"
licence = "none needed"
collected = 2026-01-02
legal_basis = "published"
foreign = false
"""


def peak() -> float:
    """Megabytes (10^6 bytes) that this process took at most until now."""
    return peak_rss() / 1e6


def write(target: Target, _path: str, seconds: float) -> Receipt:
    """A part of one row, made in no less than so many seconds."""
    time.sleep(seconds)
    return target.write_work(pa.table({"number": [target.number]}))


def parts(number: int, workers: int, seconds: float) -> None:
    """Run a stage of so many parts, and once more."""
    with tempfile.TemporaryDirectory() as name, open_client(Cluster(workers=workers), Path(name) / "tmp") as client:
        runner = Runner(
            lambda: client, workers, "0", Progress(Console(stderr=True)), lambda *_: None, lambda: None, lambda: None, Terms()
        )
        before = peak()
        tasks = [PartTask(at, f"{at:064x}", (f"/data/{at}", seconds), 1 << 25) for at in range(number)]
        for what in ("made", "found up to date"):
            started, cpu = time.monotonic(), time.process_time()
            runner.run_stage("write", StageFolder(Path(name) / "write"), write, tasks, "fp")
            wall, cpu = time.monotonic() - started, time.process_time() - cpu
            print(
                f"{number:,} parts {what}: {wall:.1f} s, driver {cpu:.1f} core-s ({cpu / number * 1e3:.2f} ms a part), "
                f"driver's peak {peak():.0f} MB, {before:.0f} MB before"
                + (f", workers busy {number * seconds / workers / wall:.1%}" if seconds and what == "made" else "")
            )


class Listing(Sequence[tuple[Source, RawFile]]):
    """Files that nobody made."""

    def __init__(self, source: Source, number: int) -> None:
        self._source = source
        self._number = number

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, at: int) -> tuple[Source, RawFile]:  # type: ignore[override]
        relative = f"{at // 1000:05d}/{at:08d}.txt"
        return self._source, RawFile(relative, f"/data/q/{relative}", 2000, f"{1_700_000_000_000_000_000 + at}", "")

    def __iter__(self) -> Iterator[tuple[Source, RawFile]]:
        return (self[at] for at in range(self._number))


def files(number: int, folder: Path) -> None:
    """Plan ingest over so many files, with the plan that ``folder`` has of an earlier time, if any."""
    path = folder / "run.toml"
    path.write_text(RUN_FILE, encoding="utf-8")
    config: Config = load(path)
    workspace = Workspace(config.workspace_dir, config.run)
    what = "planned again" if workspace.lineage.exists() else "planned"
    before, started = peak(), time.process_time()
    planned = ingest.assign(config, workspace, Listing(config.source[0], number))
    cpu, at_plan = time.process_time() - started, peak()
    weights = Weights()
    for part, pieces in planned.items():
        some = list(pieces)
        digest([vars(piece) for piece in some])
        weights.add(part, some)
    keyed = time.process_time() - started - cpu
    sent = len(pickle.dumps(planned[0]))
    print(
        f"{number:,} files {what} into {len(planned):,} parts: {cpu:.1f} core-s, peak {at_plan:.0f} MB, {before:.0f} MB before; "
        f"looked at: {keyed:.1f} core-s; a task of {len(planned[0]):,} files is sent as {sent / 1e3:.0f} kB; peak {peak():.0f} MB"
    )


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("parts", "files"))
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.0, help="of parts: how long each takes")
    parser.add_argument("--folder", type=Path, help="of files: where the plan is kept; a second time it is there already")
    given = parser.parse_args()
    if given.what == "parts":
        parts(given.number, given.workers, given.seconds)
    elif given.folder:
        given.folder.mkdir(exist_ok=True)
        files(given.number, given.folder)
    else:
        with tempfile.TemporaryDirectory() as name:
            files(given.number, Path(name))


if __name__ == "__main__":
    main()
