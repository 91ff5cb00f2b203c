"""Cluster synthetic signatures by the stage's own tasks, and compare a night with a history of them: core-s and peak memory.

    .venv/bin/python scripts/bench/dedup_scale.py [--documents 10_000_000] [--night 100_000] [--folder FOLDER]

One fifth of the documents are near copies (each of 128 values agrees with the original's with probability .9), one in a hundred
belongs to one form (.85). Making the signatures is not counted; what is: the hashes of the bands, the sorted entries as Parquet,
star edges by band and range, and components by union-find. Then these entries become a history, and a night of other documents,
a tenth of them near copies of old ones, is compared to it: its bands, the probes of all bands, edges and components. Each
measurement is a process of its own; memory is the greatest resident set of that process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lexmill.core.dedup.signature import BANDS, NUM_PERM, band_hashes
from lexmill.jobs.dedup.bands import count_ranges, write_bands
from lexmill.jobs.dedup.edges import find_edges, join_edges
from lexmill.jobs.dedup.history import sort_band
from lexmill.store import files
from lexmill.store.index import Index, NewRun, View
from lexmill.store.memory import peak_rss
from lexmill.store.stages import Receipt, StageFolder, Target, make_manifest

CHUNK = 250_000
COPIES, FORM = 0.9, 0.85


def signatures(first: int, rows: int, history: int) -> Any:
    """(rows, 128) uint32: the documents numbered from ``first``, the same ones whatever the number of all."""
    chance = np.random.default_rng((7, first))
    made = chance.integers(0, 2**32, (rows, NUM_PERM), dtype=np.uint32)
    if history:
        # A night: a tenth are copies of documents of the first chunk of the history.
        old = signatures(0, CHUNK, 0)
        copies = rows // 10
        agree = chance.random((copies, NUM_PERM)) < COPIES
        made[:copies] = np.where(agree, old[chance.integers(0, CHUNK // 2, copies)], made[:copies])
        return made
    copies = rows // 5
    originals = chance.integers(0, rows - copies, copies) // 4 * 4
    agree = chance.random((copies, NUM_PERM)) < COPIES
    made[rows - copies :] = np.where(agree, made[originals], made[rows - copies :])
    form = np.random.default_rng(1).integers(0, 2**32, NUM_PERM, dtype=np.uint32)
    members = chance.choice(rows - copies, rows // 100, replace=False)
    made[members] = np.where(chance.random((members.size, NUM_PERM)) < FORM, form, made[members])
    return made


class Clock:
    """Core seconds (user + system) of this process between start and stop."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._since = 0.0

    def __enter__(self) -> "Clock":
        self._since = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.spent += time.process_time() - self._since


def finish(folder: StageFolder, receipts: list[Receipt]) -> StageFolder:
    """Make a step of finished parts."""
    files.write_json(folder.path / "manifest.json", make_manifest(folder.path.name, "0", "", receipts))
    return folder


def chunks(documents: int) -> Iterator[tuple[int, int]]:
    """Where each part begins, and its size."""
    for first in range(0, documents, CHUNK):
        yield first, min(CHUNK, documents - first)


def cluster(folder: Path, documents: int, offset: int, view: View) -> dict[str, Any]:
    """Bands, edges and components of documents numbered from ``offset``, against ``view``."""
    import pyarrow as pa

    clocks = {name: Clock() for name in ("bands", "edges", "components")}
    bands, edges, ids = (StageFolder(folder / name) for name in ("bands", "edges", "ids"))
    receipts, firsts = [], [0]
    for number, (first, rows) in enumerate(chunks(documents)):
        made = signatures(offset + first, rows, offset)
        everyone = np.arange(rows)
        with clocks["bands"]:
            hashes = band_hashes(made)
            keys = np.zeros(rows, np.uint64)
            receipts.append(write_bands(Target(bands, number, ""), [(everyone, hashes[:, band], keys) for band in range(BANDS)]))
        firsts.append(first + rows)
    finish(bands, receipts)
    repeated = pa.table({"ordinal": pa.array([], pa.int64())})
    finish(ids, [Target(ids, 0, "").write_work(repeated)])
    ranges = count_ranges(documents)
    receipts = []
    with clocks["edges"]:
        for band in range(BANDS):
            for number in range(ranges):
                target = Target(edges, len(receipts), "")
                receipts.append(find_edges(target, bands, ids, firsts, band, number, ranges, view))
    finish(edges, receipts)
    joined = StageFolder(folder / "components")
    with clocks["components"]:
        receipt = join_edges(Target(joined, 0, ""), edges)
    total = sum(clock.spent for clock in clocks.values())
    return {
        "documents": documents,
        "star edges": sum(receipt.rows for receipt in receipts),
        "documents in components": receipt.rows,
        "core seconds": round(total, 1),
        **{name: round(clock.spent, 1) for name, clock in clocks.items()},
    }


def add_history(folder: Path, documents: int) -> dict[str, Any]:
    """Make the bands in ``folder`` the history of an index."""
    bands = StageFolder(folder / "bands")
    firsts = [0, *(first + rows for first, rows in chunks(documents))]
    pairs = StageFolder(folder / "pairs")
    from lexmill.core.dedup.judge import PAIRS

    finish(pairs, [Target(pairs, 0, "").write_work(PAIRS.empty_table())])
    runs = StageFolder(folder / "entries")
    clock = Clock()
    with clock:
        receipts = [sort_band(Target(runs, band, ""), bands, pairs, firsts, band, 0) for band in range(BANDS)]
        held = files.write_table(folder / "held.parquet", PAIRS.empty_table())[0]
        entries = tuple((runs.part(band), receipts[band].sha256) for band in range(BANDS))
        Index(folder / "index").add(NewRun("old", 0, documents, (), entries, (folder / "held.parquet", held)))
    size = sum(receipt.size for receipt in receipts)
    return {"documents": documents, "core seconds": round(clock.spent, 1), "bytes an entry": round(size / documents / BANDS, 1)}


def measure(arguments: argparse.Namespace) -> None:
    """One measurement, in this process; prints it as JSON."""
    # The kernels are compiled (or read from their cache) before the clock runs.
    band_hashes(np.zeros((1, NUM_PERM), np.uint32))
    with tempfile.TemporaryDirectory() as scratch:
        cluster(Path(scratch), 100, 0, Index(Path(scratch) / "none").view("x"))
    if arguments.task == "cluster":
        result = cluster(arguments.folder, arguments.documents, 0, Index(arguments.folder / "none").view("x"))
    elif arguments.task == "history":
        result = add_history(arguments.folder, arguments.documents)
    else:
        view = Index(arguments.folder / "index").view("new")
        result = cluster(arguments.folder / "night", arguments.night, arguments.documents, view)
    peak = peak_rss() / 1e9
    print(json.dumps({**result, "peak GB": round(peak, 2)}))


def main() -> None:
    """Measure a tenth and all of the documents, then a night."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--night", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--task", choices=["cluster", "history", "night"])
    arguments = parser.parse_args()
    if arguments.task:
        measure(arguments)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)

        def one(task: str, documents: int, place: str) -> dict[str, Any]:
            command = [sys.executable, __file__, "--task", task, "--documents", str(documents), "--night", str(arguments.night)]
            done = subprocess.run([*command, "--folder", str(folder / place)], stdout=subprocess.PIPE, check=True)
            print(f"{task} of {documents:,}: {done.stdout.decode().strip()}", flush=True)
            return dict(json.loads(done.stdout))

        small = one("cluster", arguments.documents // 10, "small")
        files.remove(folder / "small")
        large = one("cluster", arguments.documents, "all")
        print(f"growth over ten times the documents: {large['core seconds'] / small['core seconds']:.2f} times the core seconds")
        one("history", arguments.documents, "all")
        one("night", arguments.documents, "all")


if __name__ == "__main__":
    main()
