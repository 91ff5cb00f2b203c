"""What the quality rules and the classifier do to a corpus that a run has de-identified, and to garbage made from it.

    .venv/bin/lexmill run CONFIG --until deidentify
    .venv/bin/python scripts/bench/quality_bench.py CONFIG [--set KEY=VALUE ...] [--dump DROPPED.jsonl]

Prints the share of documents that each type loses in either half of the corpus (by a hash of the doc_id; rules are tuned on half
0 only), and the share of garbage of each kind that leaves, by the rules alone and with the classifier. All documents of the
corpus count as good: what is dropped has to be read (``--dump`` writes it).
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa

from lexmill import rules
from lexmill.config import load
from lexmill.core.quality.classifier import Classifier
from lexmill.core.quality.judge import filter_documents
from lexmill.core.quality.rules import QualityRules
from lexmill.jobs.resources import CLASSIFIER, classifier_for
from lexmill.schema import DOC_TYPES, DOCUMENT
from lexmill.store.fingerprint import file_digest
from lexmill.store.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parents[2]))
from scripts import make_garbage

# Garbage is made from this many documents of a type.
_MADE_FROM = 150


def half(doc_id: str) -> int:
    """0 is the half that rules may be tuned on, 1 the half that they are measured on."""
    return int(doc_id[-1], 16) & 1


def corpus(workspace: Workspace) -> pa.Table:
    """All documents of the stage deidentify."""
    folder = workspace.stage("deidentify")
    manifest = folder.manifest()
    if manifest is None:
        raise SystemExit("there is no stage deidentify: run `lexmill run CONFIG --until deidentify` first")
    return pa.concat_tables([folder.read(entry, DOCUMENT) for entry in manifest["parts"]])


def losses(
    table: pa.Table, book: QualityRules, classifier: Classifier | None, forced: tuple[str, ...]
) -> list[dict[str, object]]:
    """The ledger rows of all documents that leave, with their text."""
    texts = dict(zip(table["doc_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    rows = filter_documents(table, book, classifier, forced).ledger.to_pylist()
    return [{**row, "text": texts[row["doc_id"]]} for row in rows]


def show_losses(table: pa.Table, gone: list[dict[str, object]]) -> None:
    """Documents and losses by type and half, then by rule."""
    totals: dict[tuple[object, int], int] = defaultdict(int)
    lost: dict[tuple[object, int], int] = defaultdict(int)
    by_rule: dict[tuple[object, object], list[int]] = defaultdict(lambda: [0, 0])
    for doc_id, doc_type in zip(table["doc_id"].to_pylist(), table["doc_type"].to_pylist(), strict=True):
        totals[doc_type, half(doc_id)] += 1
    for row in gone:
        lost[row["doc_type"], half(str(row["doc_id"]))] += 1
        by_rule[row["doc_type"], row["rule"]][half(str(row["doc_id"]))] += 1
    print(f"{'type':10} {'docs 0':>7} {'lost':>5} {'share':>7}   {'docs 1':>7} {'lost':>5} {'share':>7}")
    for doc_type in DOC_TYPES:
        cells = [(totals[doc_type, side], lost[doc_type, side]) for side in (0, 1)]
        print(f"{doc_type:10}", "   ".join(f"{n:7,} {out:5} {out / max(1, n):7.3%}" for n, out in cells))
    for (doc_type, rule), (first, second) in sorted(by_rule.items(), key=str):
        print(f"  {doc_type}: {rule}: {first} + {second}")


def show_garbage(table: pa.Table, book: QualityRules, classifier: Classifier, forced: tuple[str, ...]) -> None:
    """The share of each kind of garbage that leaves, by type of the document it was made from."""
    good = []
    for doc_type in DOC_TYPES:
        texts = sorted(
            (doc_id, text)
            for doc_id, kind, text in zip(
                table["doc_id"].to_pylist(), table["doc_type"].to_pylist(), table["text"].to_pylist(), strict=True
            )
            if kind == doc_type and half(doc_id) == 1 and len(text) >= 60
        )
        good += [(doc_type, text) for _, text in texts[:_MADE_FROM]]
    made = list(make_garbage.make(good))
    ruined = pa.Table.from_pylist(
        [
            {"doc_id": f"{n:032x}", "source": one.kind, "doc_type": one.doc_type, "text": one.text, "meta": {}, "segments": []}
            for n, one in enumerate(made)
        ],
        schema=DOCUMENT,
    )
    print(f"\ngarbage from {len(good)} documents of half 1: share that leaves, by the rules alone → with the classifier")
    out = []
    for judge in (None, classifier):
        gone = {int(doc_id, 16) for doc_id in filter_documents(ruined, book, judge, forced).ledger["doc_id"].to_pylist()}
        out.append(np.array([number in gone for number in range(len(made))]))
    kinds = np.array([one.kind for one in made])
    types = np.array([one.doc_type for one in made])
    print(f"{'kind':16} {'n':>5} {'all':>14}  " + " ".join(f"{doc_type:>13}" for doc_type in DOC_TYPES))
    for kind in dict.fromkeys(kinds):
        chosen = (kinds == kind, *((kinds == kind) & (types == doc_type) for doc_type in DOC_TYPES))
        cells = [" → ".join(f"{np.mean(leaves[rows]):.1%}" for leaves in out) if rows.any() else "–" for rows in chosen]
        print(f"{kind:16} {np.sum(kinds == kind):5} {cells[0]:>14}  " + " ".join(f"{cell:>13}" for cell in cells[1:]))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--dump", type=Path, help="write the documents that leave as JSON lines (to be read, never to be published)"
    )
    arguments = parser.parse_args()
    config = load(arguments.config, tuple(arguments.set))
    book = rules.load(config.rule_folders).quality
    classifier = classifier_for(file_digest(CLASSIFIER))
    table = corpus(Workspace(config.workspace_dir, config.run))
    gone = losses(table, book, classifier, config.filter.force)
    show_losses(table, gone)
    if arguments.dump:
        arguments.dump.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in gone), encoding="utf-8")
    show_garbage(table, book, classifier, config.filter.force)
    return 0


if __name__ == "__main__":
    sys.exit(main())
