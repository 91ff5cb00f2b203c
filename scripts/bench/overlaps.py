"""Overlaps of benchmark files with corpora: what stage decontaminate finds of what a plain search finds, and how fast it is.

    .venv/bin/python scripts/bench/overlaps.py --benchmarks FOLDER --run RUN_FILE [--workspace FOLDER]

The corpus is read by RUN_FILE up to stage ingest (without dedup, so that copies count too), or taken from --workspace as it is.
The plain search shares no code with lexmill: it folds texts with NFKC, keeps letters and digits only, and calls a document an
overlap of an item where, within the length of two stems, stretches of at least ten characters cover eight tenths of a stem of
20 characters or more; of a shorter one all must be there in one piece, and half of the item's options. Overlaps that are none if
stretches of ten characters that stand in a statute of the corpus are left out (both quote the same law) are counted apart.
Speed is measured over the same texts, in memory, in MB (10^6 bytes of UTF-8) per second of user and system time of one process,
kernels compiled before.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lexmill import rules
from lexmill.config import BenchmarkFields
from lexmill.core.contamination.index import build
from lexmill.core.contamination.judge import find_items
from lexmill.core.contamination.scan import quoted_grams, weigh
from lexmill.core.dedup.compare import comparison_copies
from lexmill.store import benchmarks

SEED = 10


def plain(text: str) -> str:
    """Letters and digits of a text, width folded."""
    return "".join(char for char in unicodedata.normalize("NFKC", text) if char.isalnum())


def read_plainly(folder: Path) -> list[tuple[str, int, str, list[str]]]:
    """(file, item, stem, options) of the JSON lines and CSV files in a folder whose fields are those of AGIEval and CMMLU."""
    items = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".jsonl":
            rows: list[Any] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            for number, row in enumerate(rows, 1):
                items.append((path.name, number, plain(row["question"]), [plain(option[3:]) for option in row["options"]]))
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as lines:
                for number, row in enumerate(csv.DictReader(lines), 1):
                    items.append((path.name, number, plain(row["Question"]), [plain(row[letter]) for letter in "ABCD"]))
    return items


def cover(length: int, places: list[tuple[int, int]], letters: set[int]) -> float:
    """The largest share of ``letters`` of a stem that seeds (place in the text, in the stem) cover within two lengths of it."""
    best = 0
    places.sort()
    for start in range(len(places)):
        covered: set[int] = set()
        for at, inside in places[start:]:
            if at - places[start][0] > 2 * length:
                break
            covered.update(range(inside, inside + SEED))
        best = max(best, len(covered & letters))
        if best == len(letters):
            break
    return best / len(letters) if letters else 0.0


def search(
    items: list[tuple[str, int, str, list[str]]], texts: Iterator[tuple[int, str]], law: set[str]
) -> tuple[dict[tuple[str, int], set[int]], set[tuple[tuple[str, int], int]]]:
    """Documents by (file, item) that hold the item, and the pairs of these that are none without what stands in ``law``."""
    seeds: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, (_, _, stem, _) in enumerate(items):
        for at in range(max(0, len(stem) - SEED) + 1):
            seeds[stem[at : at + SEED]].append((number, at))
    lengths = sorted({len(seed) for seed in seeds})
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    quotes: set[tuple[tuple[str, int], int]] = set()
    for document, raw in texts:
        text = plain(raw)
        hits: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for length in lengths:
            for at in range(len(text) - length + 1):
                for number, inside in seeds.get(text[at : at + length], ()):
                    hits[number].append((at, inside))
        for number, places in hits.items():
            file, item, stem, options = items[number]
            if len(stem) >= 20:
                held = cover(len(stem), places, set(range(len(stem)))) >= 0.8
                if held:
                    of_law = {at for at in range(len(stem) - SEED + 1) if stem[at : at + SEED] in law}
                    own = set(range(len(stem))) - {at + more for at in of_law for more in range(SEED)}
                    if len(own) < SEED or cover(len(stem), places, own) < 0.8:
                        quotes.add(((file, item), document))
            else:
                given = [option for option in options if option]
                held = len(stem) >= 6 and stem in text and 2 * sum(option in text for option in given) >= len(given)
            if held:
                found[file, item].add(document)
    return found, quotes


def quoted(items: list[tuple[str, int, str, list[str]]], statutes: Iterator[str]) -> set[str]:
    """The stretches of stems that stand in a statute."""
    seeds = {stem[at : at + SEED] for _, _, stem, _ in items for at in range(max(0, len(stem) - SEED + 1))}
    found: set[str] = set()
    for raw in statutes:
        text = plain(raw)
        found.update(seed for at in range(len(text) - SEED + 1) if (seed := text[at : at + SEED]) in seeds)
    return found


def main() -> None:
    """Ingest, search twice, compare, time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", type=Path, required=True)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--workspace", type=Path, help="where the corpus is, or is to be, ingested")
    parser.add_argument("--misses", action="store_true", help="print which items and documents were missed, by number")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        workspace = given.workspace or Path(name)
        if given.run is not None:
            command = [sys.executable, "-m", "lexmill.cli", "run", str(given.run), "--until", "ingest", "--set"]
            subprocess.run([*command, f"workspace='{workspace.resolve()}'"], check=True, stdout=subprocess.DEVNULL)
        parts = sorted((workspace / "runs" / "main" / "ingest").glob("part-*.parquet"))
        table = pa.concat_tables([pq.read_table(part, columns=["doc_id", "source", "doc_type", "text"]) for part in parts])
    size = pc.sum(pc.binary_length(table["text"])).as_py() / 1e6
    print(f"{table.num_rows:,} documents, {size:.1f} MB of text")

    held, units = benchmarks.read(benchmarks.find([str(given.benchmarks)]), BenchmarkFields())
    index = build(held, units)
    rule_set = rules.load().contamination
    find_items(table["text"].slice(0, 10), index, weigh(index, quoted_grams(table["text"].slice(0, 1), index)), rule_set)
    comparison_copies(table["text"].slice(0, 10))
    started = time.process_time()
    law = table.filter(pc.equal(table["doc_type"], "statute"))
    weights = weigh(index, quoted_grams(law["text"], index))
    marked = time.process_time()
    found = find_items(table["text"], index, weights, rule_set)
    ended = time.process_time()
    print(f"index: {len(index.length):,} units, {len(index.keys):,} grams, {int((~weights.telling).sum()):,} tell nothing")
    print(f"law: {pc.sum(pc.binary_length(law['text'])).as_py() / 1e6 / (marked - started):.0f} MB/s per core")
    print(f"verdicts: {size / (ended - marked):.0f} MB/s per core; both: {size / (ended - started):.0f}")

    types = table["doc_type"].to_pylist()
    mine: dict[tuple[str, int], set[int]] = defaultdict(set)
    spared = {item.doc for item in found if rule_set.spares(types[item.doc])}
    for item in found:
        if item.doc not in spared:
            mine[held[item.benchmark].name, item.item].add(item.doc)
    by_type: dict[str, int] = defaultdict(int)
    for doc in set().union(*mine.values()):
        by_type[types[doc]] += 1
    print(f"documents out: {dict(sorted(by_type.items()))}; statutes that hold an item and stay: {len(spared)}")
    items = read_plainly(given.benchmarks)
    plainly, quotes = search(items, enumerate(table["text"].to_pylist()), quoted(items, iter(law["text"].to_pylist())))
    pairs = {(key, doc) for key, docs in plainly.items() for doc in docs if not rule_set.spares(types[doc])}
    agreed = sum(doc in mine.get(key, ()) for key, doc in pairs)
    out = {doc for docs in mine.values() for doc in docs}
    documents = {doc for _, doc in pairs}
    print(f"plain search: {len(pairs):,} overlaps of an item and a document in {len(documents):,} documents")
    own = pairs - quotes
    held_own = sum(doc in mine.get(key, ()) for key, doc in own)
    print(f"without those that only quote the same law: {held_own:,} of {len(own):,} overlaps, {held_own / max(1, len(own)):.2%}")
    share = len(documents & out) / max(1, len(documents))
    print(f"found of its overlaps: {agreed / max(1, len(pairs)):.2%}; of its documents: {share:.2%}")
    more = {(key, doc) for key, docs in mine.items() for doc in docs} - pairs
    print(f"found besides: {len(more):,} overlaps, {len(out - documents):,} documents")
    for file in sorted({file for file, *_ in items}):
        whole = [key for key in plainly if key[0] == file]
        print(
            f"{file}: {sum(name == file for name, *_ in items):,} items, {len(whole):,} in the corpus by the plain search, "
            f"{sum(key[0] == file for key in mine):,} by lexmill"
        )
    if given.misses:
        for key, doc in sorted(pairs):
            if doc not in mine.get(key, ()):
                print(
                    "quotes" if (key, doc) in quotes else "missed",
                    key,
                    table["doc_id"][doc].as_py(),
                    table["source"][doc].as_py(),
                )
        for key, doc in sorted(more)[:50]:
            print("besides", key, table["doc_id"][doc].as_py(), table["source"][doc].as_py())


if __name__ == "__main__":
    main()
