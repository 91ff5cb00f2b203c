"""Lines that recur across documents: counted over the run, or as the history froze them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill.core.dedup.lines import add_counts, count_lines
from lexmill.core.dedup.rules import DedupRules
from lexmill.jobs.dedup.steps import Run
from lexmill.jobs.isolate import Others, Refused, without_refused
from lexmill.schema import DOCUMENT_RAW
from lexmill.store import files
from lexmill.store.stages import Receipt, StageFolder, Target

_LINE = pa.schema([("hash", pa.uint64()), ("docs", pa.int64())])


@dataclass(frozen=True)
class Lines:
    """What is done with recurring lines, and the table of those that recur."""

    mode: str
    rules: DedupRules
    path: Path
    sha256: str


def line_table(this: Run) -> Lines:
    """The table of recurring lines: that of the history where it has one, else one counted over this run."""
    rules, mode = this.job.rules.dedup, this.job.config.dedup.lines
    if this.view.lines:
        return Lines(mode, rules, this.view.root / this.view.lines[0], this.view.lines[1])
    counted = this.go(
        "lines",
        count_part,
        [((this.ingest, entry, rules), entry["sha256"], int(entry["bytes"])) for entry in this.entries],
        Others(),
    )
    least = min((rule.min_docs for rule in rules.lines), default=0)
    made = this.go("frequencies", collect_lines, [((this.step("lines"), least), [counted["fingerprint"], least], 0)])
    return Lines(mode, rules, this.step("frequencies").parts()[0], made["parts"][0]["sha256"])


def count_part(
    target: Target, ingest: StageFolder, entry: Mapping[str, Any], rules: DedupRules, refused: Refused = ()
) -> Receipt:
    """In how many documents of one part each line stands; lines of refused ones are not counted."""
    table = ingest.read(entry, DOCUMENT_RAW)
    found = count_lines(without_refused(table, refused), rules)
    return target.write_work(pa.table(list(found), schema=_LINE))


def collect_lines(target: Target, lines: StageFolder, least: int) -> Receipt:
    """The lines that stand in at least ``least`` documents of all parts, sorted by hash."""
    table = pa.concat_tables([_LINE.empty_table(), *(files.read_columns(path) for path in lines.parts())])
    hashes, docs = add_counts(table["hash"].to_numpy(), table["docs"].to_numpy())
    return target.write_work(pa.table([hashes[docs >= least], docs[docs >= least]], schema=_LINE))
