"""Run ingest and dedup over a file whose copies are known, and say how many were found and what was lost.

    .venv/bin/python scripts/bench/dedup_truth.py FILE.jsonl[.zst] [--list] [--set KEY=VALUE ...]

Lines are `{id, source, text, cluster, kind}`: documents of one cluster are copies of one, all others are different. The document
type is told from the source, as in run_bench.py. Printed are the share of redundant copies that left, the documents of which no
copy is left (by type; with --list each with its rule, its twin and the Jaccard index), and MB/s per core of the dedup stage.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from run_bench import SOURCE, lines_of, split  # type: ignore[import-not-found]  # beside this file


class Truth(NamedTuple):
    """What is known of one document."""

    cluster: int | None
    source: str
    kind: str


def known(path: Path) -> dict[str, Truth]:
    """Truth by record id."""
    with lines_of(path) as lines:
        records = map(json.loads, lines)
        return {record["id"]: Truth(record["cluster"], record["source"], record["kind"]) for record in records}


def run(path: Path, folder: Path, settings: list[str]) -> tuple[Any, pa.Table, dict[str, str], int]:
    """(balance, ledger of dedup, record ids by doc_id, bytes of text) of a run until dedup."""
    types, _, size = split(path, folder)
    config = folder / "bench.toml"
    sources = "".join(SOURCE.format(name=kind, path=f"{kind}.jsonl") for kind in types)
    config.write_text(f'version = 1\nworkspace = "workspace"\n{sources}', encoding="utf-8")
    command = [sys.executable, "-m", "lexmill.cli", "run", str(config), "--until", "dedup", "--json"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    workspace = folder / "workspace"
    ledger = pq.read_table(workspace / "runs" / "main" / "dedup" / "ledger")
    lineage = pq.read_table(workspace / "lineage" / "main", columns=["doc_id", "record_id"])
    ids = dict(zip(lineage["doc_id"].to_pylist(), lineage["record_id"].to_pylist(), strict=True))
    return json.loads(done.stdout), ledger, ids, size


def main() -> None:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--list", action="store_true", help="every document that was lost")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--keep", type=Path, help="a folder to leave the workspace in")
    arguments = parser.parse_args()
    truth = known(arguments.file)
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        result, ledger, ids, size = run(arguments.file, folder, arguments.settings)
    gone = {ids[row["doc_id"]]: row for row in ledger.to_pylist()}
    clusters: dict[Any, list[str]] = defaultdict(list)
    for record, about in truth.items():
        clusters[record if about.cluster is None else about.cluster].append(record)
    redundant = found = 0
    missed: Counter[tuple[str, str]] = Counter()
    lost: list[str] = []
    for members in clusters.values():
        away = [record for record in members if record in gone]
        redundant += len(members) - 1
        found += min(len(away), len(members) - 1)
        if len(away) == len(members):
            lost.append(max(away, key=lambda record: gone[record]["value"] or 0))
        for record in members[1:]:
            missed[truth[record].source, truth[record].kind] += record not in gone
    print(f"{len(truth):,} documents; {redundant:,} redundant copies, {found:,} found: recall {found / max(redundant, 1):.4f}")
    print("copies that stayed, by source and kind:", dict(sorted((k, n) for k, n in missed.items() if n)))
    print(f"documents lost: {len(lost)}", dict(Counter(truth[record].source for record in lost)))
    if arguments.list:
        for record in sorted(lost):
            row = gone[record]
            print(f"  {record} ({truth[record].source}) {row['rule']} {row['value']:.3f} twin {ids[row['twin']]}")
    print("by rule:", dict(sorted(Counter(row["rule"] for row in gone.values()).items())))
    steps = {step: took for step, took in result["run"]["stages"].items() if step.startswith("dedup")}
    cpu = sum(took["cpu_seconds"] for took in steps.values())
    print(f"dedup: {cpu:.1f} core-s, {size / 1e6 / cpu:.1f} MB/s per core; by step:")
    for step, took in steps.items():
        print(f"  {step:<20} {took['cpu_seconds']:>6.2f} core-s, peak {took['peak_rss'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
