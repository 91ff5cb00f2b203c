"""A document's way: what each stage did to it, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from lexmill.core.structure import casenumber
from lexmill.errors import InputError
from lexmill.schema import STAGES
from lexmill.store import files
from lexmill.store.stages import StageFolder
from lexmill.store.workspace import Workspace


def resolve(workspace: Workspace, wanted: str) -> list[dict[str, Any]]:
    """Lineage rows of a doc_id or a case number (whatever its brackets and width); raises InputError where there is none."""
    number = next(iter(casenumber.find(wanted)), None)
    key = casenumber.key(number) if number else None
    rows: list[dict[str, Any]] = []
    for path in sorted(workspace.lineage.glob("part-*.parquet")):
        table = files.read_columns(path)
        if key is None:
            rows.extend(table.filter(pc.equal(table["doc_id"], wanted.strip().lower())).to_pylist())
            continue
        for row in table.filter(pc.is_valid(table["case_number"])).to_pylist():
            found = next(iter(casenumber.find(row["case_number"])), None)
            if found and casenumber.key(found) == key:
                rows.append(row)
    if not rows:
        raise InputError("no document has this doc_id or case number in this run; `lexmill status` says what has been run")
    return rows


def parts_of(workspace: Workspace, doc_id: str) -> tuple[int, ...]:
    """The numbers of the parts that hold a document: every stage before tokenize maps part to part."""
    return tuple(
        int(path.stem.removeprefix("part-"))
        for path in sorted(workspace.lineage.glob("part-*.parquet"))
        if pc.any(pc.equal(files.read_columns(path, ["doc_id"])["doc_id"], doc_id)).as_py()
    )


def trace(workspace: Workspace, doc_id: str) -> list[dict[str, Any]]:
    """One row a stage that the document reached: kept, or the ledger's action, rule, twin and value; edits in between."""
    way: list[dict[str, Any]] = []
    numbers = parts_of(workspace, doc_id)
    for stage in STAGES:
        folder = workspace.stage(stage)
        manifest = folder.manifest()
        if manifest is None:
            break
        # The shards of tokenize are no parts of the others.
        entries = (
            manifest["parts"] if stage == "tokenize" else [manifest["parts"][n] for n in numbers if n < len(manifest["parts"])]
        )
        ledgers = (folder.read_ledger(entry) for entry in entries)
        mine = [row for ledger in ledgers for row in ledger.filter(pc.equal(ledger["doc_id"], doc_id)).to_pylist()]
        way.extend(_row(stage, row) for row in mine)
        if any(row["action"] != "edit" for row in mine) and not _kept(folder, entries, doc_id, stage):
            break
        way.append({"stage": stage, "action": "kept", "rule": "", "twin": None, "value": None, "n_chars": 0})
    return way


def _row(stage: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"stage": stage, **{name: row[name] for name in ("action", "rule", "twin", "value", "n_chars")}}


def _kept(folder: StageFolder, entries: Sequence[Mapping[str, Any]], doc_id: str, stage: str) -> bool:
    """A doc_id that stood twice leaves once and is kept once."""
    if stage == "tokenize":
        return False  # what the mixture leaves out is in no shard, and no doc_id stands twice any more
    tables = (files.read_columns(folder.path / entry["name"], ["doc_id"]) for entry in entries)
    return any(pc.any(pc.equal(table["doc_id"], doc_id)).as_py() for table in tables)
