"""Run the whole way over a file of `{id, source, text}` lines and print MB/s per core and peak memory, in all and by stage.

    .venv/bin/python scripts/bench/run_bench.py FILE.jsonl[.zst] [--workers 2] [--set KEY=VALUE ...]

MB are 10^6 bytes of UTF-8 text that came in; core seconds are user + system time of all processes (driver, scheduler, workers).
The document type of a line is told from its source: the part before the first dash or underscore.
"""

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import zstandard

TYPES = ("judgment", "contract", "exam", "qa", "statute")

SOURCE = """
[[source]]
name = "{name}"
doc_type = "{name}"
paths = ["{path}"]
[source.card]
origin = "open"
licence = "internal testing only"
collected = 2026-11-01
legal_basis = "testing"
foreign = false
"""


def lines_of(path: Path) -> IO[str]:
    """The lines of a file, which may be packed with zstd."""
    raw: Any = path.open("rb")
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().stream_reader(raw)
    return io.TextIOWrapper(raw, encoding="utf-8")


def split(path: Path, folder: Path) -> tuple[list[str], int, int]:
    """Write one JSONL file a document type; returns (types, documents, bytes of text)."""
    outputs: dict[str, IO[str]] = {}
    documents = size = 0
    with lines_of(path) as lines:
        for line in lines:
            record = json.loads(line)
            kind = record["source"].replace("_", "-").partition("-")[0]
            kind = kind if kind in TYPES else "judgment"
            if kind not in outputs:
                outputs[kind] = (folder / f"{kind}.jsonl").open("w", encoding="utf-8")
            json.dump({"id": record["id"], "text": record["text"]}, outputs[kind], ensure_ascii=False)
            outputs[kind].write("\n")
            documents += 1
            size += len(record["text"].encode())
    for output in outputs.values():
        output.close()
    return sorted(outputs), documents, size


def main() -> None:
    """Split, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--plan", action="store_true", help="ask `lexmill plan` first, and print how far off it was")
    parser.add_argument("--keep", type=Path, help="a folder to leave the workspace in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        types, documents, size = split(arguments.file, folder)
        config = folder / "bench.toml"
        sources = "".join(SOURCE.format(name=kind, path=f"{kind}.jsonl") for kind in types)
        config.write_text(f'version = 1\nworkspace = "workspace"\n{sources}', encoding="utf-8")
        settings = ["--set", f"cluster.workers={arguments.workers}"]
        for setting in arguments.settings:
            settings += ["--set", setting]
        lexmill = [sys.executable, "-m", "lexmill.cli"]
        planned = {}
        if arguments.plan:
            plan = [*lexmill, "plan", str(config), "--cores", str(arguments.workers), "--json", *settings]
            planned = json.loads(subprocess.run(plan, stdout=subprocess.PIPE, check=True).stdout)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        done = subprocess.run([*lexmill, "run", str(config), "--json", *settings], stdout=subprocess.PIPE, check=True)
        wall = time.monotonic() - started
        manifest = json.loads(next(folder.glob("workspace/releases/*/manifest.json")).read_text(encoding="utf-8"))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    result = json.loads(done.stdout)
    print(f"{documents:,} documents, {size / 1e6:.1f} MB of text, {arguments.workers} workers")
    print(f"whole way: {wall:.1f} s, {cpu:.1f} core-s, {size / 1e6 / cpu:.2f} MB/s per core")
    print(f"peak memory of a process: {used.ru_maxrss / 1024:.0f} MiB")
    print(f"{'step':<22} {'core-s':>8} {'MB/s per core':>14} {'wall s':>8} {'peak MB':>8}")
    for step, took in result["run"]["stages"].items():
        rate = size / 1e6 / took["cpu_seconds"] if took["cpu_seconds"] else float("inf")
        print(f"{step:<22} {took['cpu_seconds']:>8.1f} {rate:>14.1f} {took['wall_seconds']:>8.1f} {took['peak_rss'] / 1e6:>8.0f}")
    if planned:
        compare(planned, result["run"], cpu, sum(manifest["tokens"].values()))


def compare(planned: dict[str, Any], run: dict[str, Any], cpu: float, tokens: int) -> None:
    """Print what was planned, with its interval, beside what the run took."""
    peak = max(took["peak_rss"] for took in run["stages"].values())
    rows = (
        ("core_seconds", cpu),
        ("seconds", run["seconds"]),
        ("memory_bytes", peak * run["workers"] + run["peak_rss_driver"]),
        ("disk_bytes", run["disk_bytes"]),
        ("tokens", tokens),
    )
    print(f"{'planned':<14} {'value':>16} {'low':>16} {'high':>16} {'took':>16} {'off':>7}")
    for name, took in rows:
        one = planned[name]
        print(
            f"{name:<14} {one['value']:>16,.1f} {one['low']:>16,.1f} {one['high']:>16,.1f} {took:>16,.1f} "
            f"{one['value'] / took - 1:>+7.1%}"
        )


if __name__ == "__main__":
    main()
