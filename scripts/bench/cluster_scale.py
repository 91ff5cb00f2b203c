"""How a run grows with workers and with input: wall time by workers, core-seconds a MB by size.

    .venv/bin/python scripts/bench/cluster_scale.py workers FILE.jsonl[.zst] [--mb 150] [--workers 1,2] [--times 2] [--part-mb 8]
    .venv/bin/python scripts/bench/cluster_scale.py sizes FILE.jsonl[.zst] [--mb 100,300,1000] [--workers 2]
    .venv/bin/python scripts/bench/cluster_scale.py tiles FILE ...   as sizes, --mb may be more than the file has

The stages from ingest to tokenize, each time in a new workspace, over the file (lines of `{id, source, text}`) from its beginning
until there are so many megabytes (10^6 bytes of UTF-8 text). ``workers`` takes turns between the numbers of workers, and prints
beside the runs what two processes that only compute gain over one on this machine at that moment: no run can gain more. Where
the file is too short, ``tiles`` reads it again, with other digits in case numbers and every sixth Chinese character shifted by
the number of the reading (the first reading too), so that no reading is a near copy of another and each costs about the same.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from run_bench import SOURCE, TYPES, lines_of  # type: ignore[import-not-found]  # beside this file

_HAN = re.compile(r"[\u4e00-\u9fff]")
_NUMBER = re.compile(r"(?<=[第字])\d+(?=号)")


def other(text: str, reading: int) -> str:
    """The text of another case about as hard to read."""
    seen = 0

    def shift(found: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        return chr(0x4E00 + (ord(found[0]) - 0x4E00 + 37 * (reading + 1)) % 0x5000) if seen % 6 == 0 else found[0]

    return _NUMBER.sub(lambda found: str(int(found[0]) + 7919 * reading), _HAN.sub(shift, text))


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
        if not tiled:
            raise SystemExit("the file is shorter than that; see ``tiles``")


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


def run(config: Path, workers: int, part_mb: float) -> tuple[float, float, float]:
    """(wall seconds, core-seconds, the largest peak of a process in MB) of a run in a new workspace."""
    with tempfile.TemporaryDirectory(dir=config.parent) as workspace:
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        settings = (
            "--set",
            f"ingest.part_mb={part_mb}",
            "--set",
            f"cluster.workers={workers}",
            "--set",
            f"workspace='{workspace}'",
            "--until",
            "tokenize",
            "--json",
        )
        command = [sys.executable, "-m", "lexmill.cli", "run", str(config), *settings]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        wall, used = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, used.ru_maxrss * 1024 / 1e6


def machine(processes: int) -> float:
    """How many times as much so many processes compute as one does, now."""
    code = "import time\nt=time.perf_counter()\nn=0\nwhile time.perf_counter()-t<3: n+=sum(range(10000))>0\nprint(n)"

    def counted(number: int) -> int:
        started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return sum(int(one.communicate()[0]) for one in started)

    return counted(processes) / counted(1)


def main() -> None:
    """Measure one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("workers", "sizes", "tiles"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--mb", default="")
    parser.add_argument("--workers", default="")
    # As many parts as a run of many gigabytes has a worker: with a few, the last ones leave a worker idle.
    parser.add_argument("--part-mb", type=float, default=8)
    parser.add_argument("--times", type=int, default=2)
    given = parser.parse_args()
    sizes = [float(size) for size in (given.mb or ("150" if given.what == "workers" else "30,100")).split(",")]
    workers = [int(number) for number in (given.workers or ("1,2" if given.what == "workers" else "2")).split(",")]
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            config = lay(given.file, Path(name), int(size * 1e6), tiled=given.what == "tiles")
            for _ in range(given.times if given.what == "workers" else 1):
                for number in workers:
                    wall, cpu, peak = run(config, number, given.part_mb)
                    print(
                        f"{size:.0f} MB, {number} workers: {wall:.1f} s, {cpu:.1f} core-s, {cpu / size:.3f} core-s a MB, "
                        f"busy {cpu / wall:.2f} cores, peak of a process {peak:.0f} MB",
                        flush=True,
                    )
                if given.what == "workers":
                    print(f"{max(workers)} processes that only compute: {machine(max(workers)):.2f} times one", flush=True)


if __name__ == "__main__":
    main()
