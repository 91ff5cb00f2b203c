"""How busy the cores are while one part takes many times as long as the others: tasks that only burn time, through the Runner.

    .venv/bin/python scripts/bench/cluster_skew.py [--parts 200] [--seconds 0.3] [--slow 50] [--at middle] [--workers 2]

Every part burns ``--seconds`` of processor time, one of them ``--slow`` times as much. Busy is the processor time of the tasks over
workers × wall time, from the first task to the last; beside it is the best that any order allows. The machine should
be idle: what others take of it counts as time that a core was not busy.
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


def burn(target: Target, seconds: float) -> Receipt:
    """Take so much processor time, and write a part of one row."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))
    return target.write_work(pa.table({"number": [target.number]}))


def main() -> None:
    """Run the stage once to start workers, once to measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--slow", type=float, default=50)
    parser.add_argument("--at", choices=("first", "middle", "last"), default="middle")
    parser.add_argument("--workers", type=int, default=2)
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
        runner.run_stage("warm", StageFolder(Path(name) / "warm"), burn, warm, "fp")
        tasks = [PartTask(number, f"k{number}", (each,)) for number, each in enumerate(seconds)]
        started = time.monotonic()
        runner.run_stage("burn", StageFolder(Path(name) / "burn"), burn, tasks, "fp")
        wall = time.monotonic() - started
    took = runner.timings["burn"].cpu_seconds
    best = max(sum(seconds) / given.workers, max(seconds))
    print(f"{given.parts} parts of {given.seconds} s, one of {max(seconds):.0f} s ({given.at}), {given.workers} workers")
    print(f"wall {wall:.1f} s (at best {best:.1f} s), tasks {took:.1f} core-s, busy {took / wall / given.workers:.1%}")


if __name__ == "__main__":
    main()
