"""The end of the stage: each part split into the documents that stay and the ledger of those that leave."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.batch import Batch
from lexmill.core.dedup.lines import treat_lines
from lexmill.jobs.dedup.families import read_families
from lexmill.jobs.dedup.identifiers import ID_USED_TWICE
from lexmill.jobs.dedup.lines import Lines
from lexmill.jobs.dedup.steps import between
from lexmill.jobs.isolate import DIED, MEMORY, SECONDS, Refused, quarantined
from lexmill.schema import DOCUMENT_RAW, LEDGER
from lexmill.store import files
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents


def apply_part(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    first: int,
    pairs: StageFolder,
    found: StageFolder | None,
    lines: Lines | None,
    dead: Refused = (),
    refused: Refused = (),
) -> Receipt:
    """Split one part into the documents that stay and the ledger of those that leave.

    Quarantined are ``dead`` rows, of which an earlier step died, and ``refused`` ones, of which this one does.
    """
    dead = tuple(sorted({**dict(dead), **dict(refused)}.items()))
    table = ingest.read(entry, DOCUMENT_RAW)
    given = count_documents(table)
    decided = between(pairs, first, first + table.num_rows)
    gone = decided.filter(decided["gone"])
    gone = gone.filter(pc.invert(pc.is_in(gone["ordinal"], pa.array([first + row for row, _ in dead], pa.int64()))))
    rows = gone["ordinal"].to_numpy() - first
    stays = np.ones(table.num_rows, bool)
    stays[rows] = False
    stays[[row for row, _ in dead]] = False
    leaving = table.select(["doc_id", "source", "doc_type", "text"]).take(pa.array(rows))
    columns = {
        **{name: leaving[name] for name in ("doc_id", "source", "doc_type")},
        "stage": pa.array(["dedup"] * len(rows), pa.string()),
        "action": pc.if_else(pc.is_in(gone["rule"], pa.array([ID_USED_TWICE, DIED, MEMORY, SECONDS])), "quarantine", "drop"),
        "rule": gone["rule"],
        "twin": gone["twin"],
        "value": gone["value"],
        "n_chars": pc.utf8_length(leaving["text"]).cast(pa.int64()),
        "n_bytes": pc.binary_length(leaving["text"]).cast(pa.int64()),
        "model": pa.nulls(len(rows), pa.string()),
        "threshold": pa.nulls(len(rows), pa.float64()),
    }
    ledger = pa.table([columns[name] for name in LEDGER.names], schema=LEDGER)
    if dead:
        ledger = pa.concat_tables([ledger, quarantined(table, "dedup", dead)])
    if found is not None:
        table = _name_families(table, found, first)
    kept = table.filter(pa.array(stays))
    if lines is not None:
        frequent = files.read_columns(lines.path)["hash"].to_numpy()
        kept, edits = treat_lines(kept, lines.rules, frequent, lines.mode)
        ledger = pa.concat_tables([ledger, edits])
    return target.write(Batch(kept, ledger, {}), given)


def _name_families(table: pa.Table, found: StageFolder, first: int) -> pa.Table:
    """The documents of a part with the id and size of their families, where those have two or more."""
    kin = read_families(found, first, first + table.num_rows)
    kin = kin.filter(pc.greater(kin["size"], 1))
    at = pc.index_in(pa.array(np.arange(first, first + table.num_rows)), kin["ordinal"].combine_chunks())
    for name, values in (("family_id", kin["family_id"]), ("family_size", kin["size"].cast(pa.int32()))):
        table = table.set_column(table.schema.get_field_index(name), name, values.take(at))
    return table
