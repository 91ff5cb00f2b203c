"""How a run grows with workers and with input: wall time by workers, core-seconds a MB by size.

    .venv/bin/python scripts/bench/cluster_scale.py workers FILE.jsonl[.zst] [--mb 1000] [--workers 1,2] [--times 2] [--part-mb 8]
    .venv/bin/python scripts/bench/cluster_scale.py sizes FILE.jsonl[.zst] [--mb 100,1000,3000] [--workers 2]

The stages from ingest to tokenize, each time in a new workspace, over the file (lines of `{id, source, text}`) from its beginning
until there are so many megabytes (10^6 bytes of UTF-8 text). Where the file is too short for one of the sizes, it is read again
and again for all of them, with other digits in case numbers and every sixth Chinese character shifted by the number of the
reading (the first one too), so that no reading is a near copy of another and each costs about the same.

Before all, 2 MB go through twice: kernels are compiled once an installation, and what that takes is printed, and counts nowhere.
``workers`` takes turns between the numbers of workers. Beside every round stands what so many processes that only compute gain
over one on this machine at that moment: no run can gain more. On the disk of $TMPDIR it takes some six times the largest size.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from run_bench import SOURCE, TYPES, lines_of  # type: ignore[import-not-found]  # beside this file

_NUMBER = re.compile(r"(?<=[第字])\d+(?=号)")
_WARM_MB = 2.0


def other(text: str, reading: int) -> str:
    """The text of another case about as hard to read."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").copy()
    sixth = np.flatnonzero((codes >= 0x4E00) & (codes <= 0x9FFF))[5::6]
    codes[sixth] = 0x4E00 + (codes[sixth] - 0x4E00 + 37 * (reading + 1)) % 0x5000
    shifted = codes.tobytes().decode("utf-32-le", "surrogatepass")
    return _NUMBER.sub(lambda found: str(int(found[0]) + 7919 * reading), shifted)


def is_shorter(path: Path, size: int) -> bool:
    """Whether the file has fewer bytes of text."""
    with lines_of(path) as lines:
        for line in lines:
            size -= len(json.loads(line)["text"].encode())
            if size <= 0:
                return False
    return True


def documents(path: Path, size: int, *, tiled: bool) -> Iterator[tuple[str, str, str]]:
    """(id, kind, text) until there are ``size`` bytes of text."""
    reading = 0
    while True:
        with lines_of(path) as lines:
            for line in lines:
                record = json.loads(line)
                kind = record["source"].replace("_", "-").partition("-")[0]
                text = other(record["text"], reading) if tiled else record["text"]
                yield f"{record['id']}-{reading}", kind if kind in TYPES else "judgment", text
                size -= len(text.encode())
                if size <= 0:
                    return
        reading += 1


def lay(path: Path, folder: Path, size: int, *, tiled: bool) -> Path:
    """Write the documents, a file a type, and the run file."""
    outputs: dict[str, IO[str]] = {}
    for name, kind, text in documents(path, size, tiled=tiled):
        if kind not in outputs:
            outputs[kind] = (folder / f"{kind}.jsonl").open("w", encoding="utf-8")
        outputs[kind].write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")
    for output in outputs.values():
        output.close()
    config = folder / "bench.toml"
    sources = "".join(SOURCE.format(name=kind, path=f"{kind}.jsonl") for kind in sorted(outputs))
    config.write_text(f'version = 1\nworkspace = "workspace"\n{sources}', encoding="utf-8")
    return config


class Took(NamedTuple):
    """What a run took: seconds on the clock, core-seconds, and the peaks of its largest worker and of its driver in MB."""

    wall: float
    cpu: float
    worker: float
    driver: float


def run(config: Path, workers: int, part_mb: float) -> Took:
    """A run in a new workspace."""
    # As an installation is: modules are compiled once, not in every process.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory(dir=config.parent) as workspace:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "lexmill.cli", "run", str(config), "--until", "tokenize", "--json"]
        for setting in (f"ingest.part_mb={part_mb}", f"cluster.workers={workers}", f"workspace='{workspace}'"):
            command += ["--set", setting]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env=environment)
        wall, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    record = json.loads(done.stdout)["run"]
    worker = max(stage["peak_rss"] for stage in record["stages"].values())
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu, worker / 1e6, record["peak_rss_driver"] / 1e6)


def machine(processes: int) -> float:
    """How many times as much so many processes compute as one does, now."""
    code = "import time\nt=time.perf_counter()\nn=0\nwhile time.perf_counter()-t<3: n+=sum(range(10000))>0\nprint(n)"

    def counted(number: int) -> int:
        started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return sum(int(one.communicate()[0]) for one in started)

    return counted(processes) / counted(1)


def told(size: float, workers: int, took: Took) -> Took:
    """The same, printed."""
    print(
        f"{size:.0f} MB, {workers} workers: {took.wall:.1f} s, {took.cpu:.1f} core-s, {took.cpu / size:.3f} core-s a MB, "
        f"busy {took.cpu / took.wall:.2f} cores, peak of a worker {took.worker:.0f} MB, of the driver {took.driver:.0f} MB",
        flush=True,
    )
    return took


def by_workers(config: Path, size: float, workers: list[int], part_mb: float, times: int) -> None:
    """Print wall times by workers, what more of them gain, and what the machine gives."""
    walls: dict[int, list[float]] = {number: [] for number in workers}
    gains = []
    for _ in range(times):
        for number in workers:
            walls[number].append(told(size, number, run(config, number, part_mb)).wall)
            gains.append(machine(max(workers)))
        print(f"{max(workers)} processes that only compute: {gains[-2]:.2f} and {gains[-1]:.2f} times one", flush=True)
    first, most = min(workers), max(workers)
    gain, ceiling = statistics.median(walls[first]) / statistics.median(walls[most]), statistics.median(gains)
    print(
        f"{size:.0f} MB, {first} to {most} workers: {gain:.2f} times (medians of {times}); processes that only compute "
        f"{ceiling:.2f} times; {gain / ceiling:.0%} of that"
    )


def by_sizes(path: Path, sizes: list[float], workers: list[int], part_mb: float, *, tiled: bool) -> None:
    """Print the cost a MB of each size, and how far they are apart."""
    costs: dict[int, list[float]] = {number: [] for number in workers}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            config = lay(path, Path(name), int(size * 1e6), tiled=tiled)
            for number in workers:
                costs[number].append(told(size, number, run(config, number, part_mb)).cpu / size)
                print(f"{number} processes that only compute: {machine(number):.2f} times one", flush=True)
    for number, found in costs.items():
        against = ", ".join(f"{size:.0f} MB {cost / found[-1]:.3f}" for size, cost in zip(sizes, found, strict=True))
        print(f"{number} workers, cost a MB against that of {sizes[-1]:.0f} MB: {against}")


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("workers", "sizes"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--mb", default="")
    parser.add_argument("--workers", default="")
    # With a few parts a worker, the last ones would leave the others idle.
    parser.add_argument("--part-mb", type=float, default=8)
    parser.add_argument("--times", type=int, default=2)
    given = parser.parse_args()
    sizes = [float(size) for size in (given.mb or ("1000" if given.what == "workers" else "100,1000,3000")).split(",")]
    workers = [int(number) for number in (given.workers or ("1,2" if given.what == "workers" else "2")).split(",")]
    tiled = is_shorter(given.file, int(max(sizes) * 1e6))
    print(
        f"{os.cpu_count()} cores; parts of {given.part_mb:g} MB; the file is {'read again and again' if tiled else 'long enough'}"
    )
    with tempfile.TemporaryDirectory() as name:
        config = lay(given.file, Path(name), int(_WARM_MB * 1e6), tiled=tiled)
        cold, warm = (run(config, max(workers), given.part_mb) for _ in range(2))
        print(
            f"{_WARM_MB:g} MB for the first time: {cold.cpu:.1f} core-s; again: {warm.cpu:.1f} core-s, {warm.wall:.1f} s",
            flush=True,
        )
    if given.what == "sizes":
        by_sizes(given.file, sizes, workers, given.part_mb, tiled=tiled)
        return
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            config = lay(given.file, Path(name), int(size * 1e6), tiled=tiled)
            by_workers(config, size, workers, given.part_mb, given.times)


if __name__ == "__main__":
    main()
