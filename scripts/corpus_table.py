"""Read every file below a folder as ingest does and print, folder by folder, what became documents and what did not, and why.

    .venv/bin/python scripts/corpus_table.py FOLDER [--config scripts/bench/corpus.toml] [--depth 2] [--sample 0] [--seed 1]

A file is read as the source of the run file that names it says (fields, records, query, type), else as ``auto``. Characters that
hygiene took are shown as a share of those that were read. ``--sample`` prints so many documents, drawn by the seed, with their
files, so that a reader can lay them beside the originals; that is raw text, for your eyes only.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lexmill import config as configuration
from lexmill import rules
from lexmill.config import Fields, Ingest, Source
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import BadRecord
from lexmill.core.ruleset import RuleSet
from lexmill.jobs.reading import Extent, Reading, format_in
from lexmill.store.convert import installed_converters
from lexmill.store.raw import ContentDigest, compression_of, list_files

EXCERPT = 700


@dataclass
class Row:
    """What one folder holds."""

    n_files: int = 0
    n_bytes: int = 0
    n_without: int = 0
    n_documents: int = 0
    n_read: int = 0
    n_kept: int = 0
    types: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass
class Sampled:
    """A document drawn for a reader."""

    place: str
    doc_type: str
    text: str


def sources_of(path: Path | None) -> dict[str, Source]:
    """The source of each file that a run file names, by the file's real path."""
    if path is None:
        return {}
    config = configuration.load(path)
    return {
        str(Path(raw.uri).resolve()): source
        for source in config.source
        for raw in list_files([config.resolve(pattern) for pattern in source.paths])
    }


def documents(file: Path, source: Source, jurisdiction: str, row: Row, book: RuleSet) -> Iterator[Sampled]:
    """The documents of a file, counted into its folder's row."""
    size = file.stat().st_size
    row.n_files += 1
    row.n_bytes += size
    before = row.n_documents
    reading = Reading(source, Limits.of(Ingest()), installed_converters(), ContentDigest())
    extent = Extent(str(file), size, format_in(source, file.name), compression_of(file.name), 0, -1)
    for member, record in reading.records(extent):
        if isinstance(record, BadRecord):
            row.reasons[record.rule] += 1
            continue
        document = make_document(record, source.doc_type, jurisdiction, book)
        if document.is_blank:
            row.reasons["ingest.empty (dropped)"] += 1
            continue
        row.n_documents += 1
        row.n_read += len(record.text)
        row.n_kept += len(document.text)
        row.types[document.doc_type] += 1
        yield Sampled("#".join(filter(None, [str(file), member, record.record_id])), document.doc_type, document.text)
    row.n_without += row.n_documents == before


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    named = sources_of(arguments.config)
    book = rules.load()
    other = Source.model_construct(
        name="other", doc_type="auto", paths=("-",), format=None, records=None, query=None, fields=Fields()
    )
    rows: dict[str, Row] = {}
    chance = random.Random(arguments.seed)
    drawn: list[Sampled] = []
    n_seen = 0
    for file in sorted(path for path in arguments.folder.rglob("*") if path.is_file()):
        relative = file.relative_to(arguments.folder)
        row = rows.setdefault("/".join(relative.parts[: arguments.depth]) if len(relative.parts) > 1 else relative.name, Row())
        source = named.get(str(file.resolve()), other)
        jurisdiction = source.card.jurisdiction if source is not other else "CN"
        for document in documents(file, source, jurisdiction, row, book):
            # A reservoir (Vitter's algorithm R): each document is as likely as any other.
            n_seen += 1
            at = len(drawn) if len(drawn) < arguments.sample else chance.randrange(n_seen)
            drawn[at : at + 1] = [document] if at < arguments.sample else drawn[at : at + 1]
    print("| folder or file | files | MB | documents | types | files without a document | not read | cut |")
    print("|---|--:|--:|--:|---|--:|---|--:|")
    for name, row in rows.items():
        types, reasons = (
            ", ".join(f"{key} {number:,}" for key, number in counted.most_common()) for counted in (row.types, row.reasons)
        )
        cut = f"{1 - row.n_kept / row.n_read:.2%}" if row.n_read else ""
        counts = f"{row.n_files:,} | {row.n_bytes / 1e6:.2f} | {row.n_documents:,}"
        print(f"| {name} | {counts} | {types} | {row.n_without} | {reasons} | {cut} |")
    n_files, n_documents, n_without = (
        sum(getattr(row, name) for row in rows.values()) for name in ("n_files", "n_documents", "n_without")
    )
    n_refused = sum(row.reasons.total() for row in rows.values())
    print(f"{n_files:,} files, {n_documents:,} documents, {n_without:,} files without one, {n_refused:,} not read")
    for document in drawn:
        text = document.text
        print(f"\n=== {document.place} [{document.doc_type}] {len(text):,} characters")
        print(text if len(text) <= 2 * EXCERPT else f"{text[:EXCERPT]}\n[…]\n{text[-EXCERPT:]}")


if __name__ == "__main__":
    main()
