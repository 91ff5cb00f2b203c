"""How busy the workers are while one part takes many times as long as the others: tasks that only sleep, through the Runner.

    .venv/bin/python scripts/bench/cluster_skew.py [--parts 300] [--seconds 1] [--slow 50] [--at middle] [--workers 4]

Every part sleeps ``--seconds``, one of them ``--slow`` times as long: so what else the machine does, and how many cores it has,
matters little. Busy is the time that tasks slept over workers × wall time, from the first task to the last; beside it is what
the best order would allow.
"""

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from lexmill.cluster import open_client
from lexmill.config import Cluster
from lexmill.jobs.call import Terms
from lexmill.jobs.parts import PartTask, Runner
from lexmill.jobs.progress import Progress
from lexmill.store.stages import Receipt, StageFolder, Target


def rest(target: Target, seconds: float) -> Receipt:
    """Hold a worker for so long, and write a part of one row."""
    time.sleep(seconds)
    return target.write_work(pa.table({"number": [target.number]}))


def main() -> None:
    """Run the stage once to start workers, once to measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--slow", type=float, default=50)
    parser.add_argument("--at", choices=("first", "middle", "last"), default="middle")
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    slow = {"first": 0, "middle": given.parts // 2, "last": given.parts - 1}[given.at]
    seconds = [given.seconds * (given.slow if number == slow else 1) for number in range(given.parts)]
    with (
        tempfile.TemporaryDirectory() as name,
        open_client(Cluster(workers=given.workers), Path(name) / "tmp") as client,
    ):
        runner = Runner(
            lambda: client,
            given.workers,
            "0",
            Progress(Console(stderr=True)),
            lambda *_: None,
            lambda: None,
            lambda: None,
            Terms(),
        )
        warm = [PartTask(number, f"w{number}", (0.1,)) for number in range(4 * given.workers)]
        runner.run_stage("warm", StageFolder(Path(name) / "warm"), rest, warm, "fp")
        tasks = [PartTask(number, f"k{number}", (each,)) for number, each in enumerate(seconds)]
        started = time.monotonic()
        runner.run_stage("rest", StageFolder(Path(name) / "rest"), rest, tasks, "fp")
        wall = time.monotonic() - started
    best = max(sum(seconds) / given.workers, max(seconds))
    print(f"{given.parts} parts of {given.seconds} s, one of {max(seconds):.1f} s ({given.at}), {given.workers} workers")
    print(f"wall {wall:.1f} s (at best {best:.1f} s), busy {sum(seconds) / wall / given.workers:.1%}")


if __name__ == "__main__":
    main()
