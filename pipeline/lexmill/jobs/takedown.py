"""A takedown: documents and their copies leave every release, stage and index, and are kept out whenever they come again."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from lexmill.config import Config
from lexmill.core.release.tombstones import case_of, marks_of, tombstone
from lexmill.core.tokens.ids import low63
from lexmill.errors import InputError
from lexmill.jobs import release
from lexmill.jobs.run import finish, open_job, usage
from lexmill.jobs.sets import sets_of, take_back
from lexmill.store import audit, files, tombstones
from lexmill.store.fingerprint import file_digest
from lexmill.store.history import History, Nights
from lexmill.store.index import Index
from lexmill.store.purge import mark
from lexmill.store.releases import WITHDRAWN, Releases, read_manifest
from lexmill.store.workspace import Workspace

TAKEN_DOWN = "takedown"
# Duplicates that are the same document again; a version of a statute, or one too many of a family, is another one.
_SAME = ("dedup.exact", "dedup.near", "dedup.same_case", "dedup.same_paper", "dedup.same_item")


@dataclass(frozen=True)
class Target:
    """One document to be taken down: where it was read, and how it was found (``asked`` or ``copy``)."""

    doc_id: str
    source: str
    run: str
    file_number: int
    why: str


@dataclass
class Found:
    """What still holds documents: places (a file of the workspace, relative) and how many documents were looked at."""

    places: dict[str, int] = field(default_factory=dict)
    looked_at: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, place: str, looked_at: int, hits: int) -> None:
        """Count one file."""
        self.looked_at[kind] = self.looked_at.get(kind, 0) + looked_at
        if hits:
            self.places[place] = self.places.get(place, 0) + hits


def resolve(workspace: Workspace, doc_ids: Iterable[str], case_numbers: Iterable[str], persons: Iterable[str]) -> list[Target]:
    """The documents that are meant, and their copies; raises InputError where nothing is found, or a case number is none.

    Case numbers are looked up in the lineage, names in the raw text of the stages and of the index.
    """
    cases = _cases(case_numbers)
    wanted = {doc_id.strip().lower() for doc_id in doc_ids}
    wanted |= _naming(workspace, [name for name in persons if name.strip()])
    rows: dict[str, Target] = {}
    lineage = list(_lineage(workspace))
    for row in lineage:
        if row["case_number"] and case_of(row["case_number"]) in cases:
            wanted.add(row["doc_id"])
    copies = _copies(workspace, wanted)
    for row in lineage:
        if row["doc_id"] in wanted or row["doc_id"] in copies:
            why = "asked" if row["doc_id"] in wanted else "copy"
            rows[row["doc_id"]] = Target(row["doc_id"], row["source"], row["run"], row["file_number"], why)
    if not rows:
        raise InputError("no document of this workspace is meant by that; `lexmill prove-absent` says where was looked")
    return [rows[doc_id] for doc_id in sorted(rows)]


def _cases(case_numbers: Iterable[str]) -> set[str]:
    """The keys of case numbers; raises InputError where one is none: nothing may be called absent that was never looked for."""
    cases = set()
    for number in case_numbers:
        key = case_of(number)
        if key is None:
            raise InputError("--case-number: is no well-formed case number; write it as the document prints it")
        cases.add(key)
    return cases


def _lineage(workspace: Workspace) -> Iterator[dict[str, Any]]:
    columns = ["doc_id", "source", "case_number", "file_number"]
    for path in sorted((workspace.root / "lineage").glob("*/part-*.parquet")):
        for row in files.read_columns(path, columns).to_pylist():
            yield {**row, "run": path.parent.name}


def _runs(workspace: Workspace) -> list[Path]:
    return sorted(path for path in (workspace.root / "runs").glob("*") if path.is_dir())


def _tables(workspace: Workspace) -> Iterator[Path]:
    """Every Parquet file of stages (also half-built ones), their work, what was drawn for review, and the index; no ledger."""
    for run in _runs(workspace):
        yield from (path for path in sorted(run.rglob("*.parquet")) if path.parent.name != "ledger")
    yield from sorted((workspace.root / "reviews").glob("*/items.parquet"))
    yield from sorted(workspace.index.rglob("*.parquet"))


def _naming(workspace: Workspace, persons: list[str]) -> set[str]:
    """Documents whose raw text has one of these names."""
    found: set[str] = set()
    if not persons:
        return found
    for path in _tables(workspace):
        with files.open_parquet(path) as file:
            if not {"doc_id", "text"} <= set(file.schema_arrow.names):
                continue
            for batch in file.iter_batches(batch_size=1024, columns=["doc_id", "text"], use_threads=False):
                for person in persons:
                    found |= set(batch["doc_id"].filter(pc.match_substring(batch["text"], person)).to_pylist())
    return found


def _copies(workspace: Workspace, wanted: set[str]) -> set[str]:
    """Documents that are copies of these, or of which these are copies, over all runs, however long the chain."""
    pairs: list[tuple[str, str]] = []
    for path in sorted((workspace.root / "runs").glob("*/dedup/ledger/part-*.parquet")):
        rows = files.read_columns(path, ["doc_id", "twin", "rule"]).to_pylist()
        pairs += [(row["doc_id"], row["twin"]) for row in rows if row["twin"] and row["rule"] in _SAME]
    found = set(wanted)
    while True:
        more = {one for pair in pairs if found & set(pair) for one in pair} - found
        if not more:
            return found - wanted
        found |= more


def take_down(config: Config, console: Console, targets: list[Target], day: datetime.date) -> str | None:
    """Delete what holds these documents, publish the release without them, and leave tombstones; returns the new release's id.

    Tombstones come first, then the new release, then deletions, so that what a kill left undone is done by the next call. None
    where nothing is left to be released, or nothing had been.
    """
    doc_ids = {target.doc_id for target in targets}
    started, before = datetime.datetime.now().timestamp(), usage()
    with open_job(config.model_copy(update={"run": f"takedown-{day.isoformat()}"}), console) as job:
        workspace, releases = job.workspace, Releases(job.workspace.releases)
        tombstones.add(workspace.root, _stones(workspace, doc_ids, day))
        # Where the pointer is lost, the newest release that may still be read stands.
        whole = [folder for folder in releases.folders() if not (folder / WITHDRAWN).exists()]
        latest, successor = releases.latest() or (whole[-1] if whole else None), None
        if latest is not None and not (latest / WITHDRAWN).exists():
            body = read_manifest(latest)
            sets = take_back(job, sets_of(latest, body), dict.fromkeys(doc_ids, TAKEN_DOWN))
            if [one.entry["set"] for one in sets] == [one["set"] for one in body["sets"]]:
                successor = body["release"]
            elif sets:
                successor = release.publish(job, sets, body["release"])["release"]
            else:
                (releases.root / "latest.json").unlink(missing_ok=True)
        history = History(workspace.root / "lineage")
        nights = history.nights()
        if nights.release is not None:
            history.write_nights(Nights(nights.done, successor, nights.under_way))
        finish(job, started, before)
        shorts = pa.array(sorted(low63(doc_id) for doc_id in doc_ids), pa.int64())
        marked: dict[str, str] = {}
        for folder in releases.folders():
            body = read_manifest(folder)
            held = [
                entry["path"] for entry in [*body["shards"], *body["text"]] if _holds(folder / entry["path"], doc_ids, shorts)
            ]
            if held:
                mark(folder, TAKEN_DOWN, successor, held)
                marked[f"{releases.root.name}/{folder.name}/{WITHDRAWN}"] = file_digest(folder / WITHDRAWN)
        for folder in releases.unfinished():
            files.remove(folder)
        for path in _tables(workspace):
            if workspace.index in path.parents or not _holds(path, doc_ids, shorts):
                continue
            if path.name == "items.parquet":
                _drop_rows(path, doc_ids)
            else:
                _delete_part(path)
        for run in _runs(workspace):
            for step in sorted((run / "work").glob("*")):
                _delete_undocumented(step)
        for unpacked in sorted((workspace.root / "lineage").glob("*/unpacked")):
            files.remove(unpacked)  # raw lines, which ingest makes again from the raw file where it needs them
        Index(workspace.index).remove(doc_ids)
        history.forget(doc_ids)
        audit.record(workspace.root, "takedown", f"{day.isoformat()}: {len(doc_ids)} documents", marked)
    return successor


def _stones(workspace: Workspace, doc_ids: set[str], day: datetime.date) -> list[dict[str, Any]]:
    secret = tombstones.secret_of(workspace.root)
    wanted = pa.array(sorted(doc_ids), pa.string())
    exact: dict[str, bytes] = {}
    signature: dict[str, bytes | None] = {}
    numbers = {row["doc_id"]: row["case_number"] for row in _lineage(workspace) if row["doc_id"] in doc_ids}
    for path in sorted((workspace.root / "runs").glob("*/ingest/part-*.parquet")):
        table = files.read_columns(path, ["doc_id", "text"])
        table = table.filter(pc.is_in(table["doc_id"], wanted))
        if table.num_rows:
            marks = marks_of(table["text"])
            exact |= dict(zip(table["doc_id"].to_pylist(), marks.exact, strict=True))
            signature |= dict(zip(table["doc_id"].to_pylist(), marks.signature, strict=True))
    for path in sorted((workspace.index / "documents").rglob("*.parquet")):
        table = files.read_columns(path, ["doc_id", "exact", "signature"])
        for row in table.filter(pc.is_in(table["doc_id"], wanted)).to_pylist():
            exact.setdefault(row["doc_id"], row["exact"])
            signature.setdefault(row["doc_id"], row["signature"])
    return [
        tombstone(secret, doc_id, low63(doc_id), numbers.get(doc_id), exact.get(doc_id), signature.get(doc_id), day)
        for doc_id in sorted(doc_ids)
    ]


def _holds(path: Path, doc_ids: set[str], shorts: pa.Array) -> int:
    """How many rows of a Parquet file are, or hold, one of these documents; 0 where the file is gone."""
    if not path.exists():
        return 0
    wanted = {"doc_id": pa.array(sorted(doc_ids), pa.string()), "doc_ids": shorts, "doc_id_low63": shorts}
    number = 0
    with files.open_parquet(path) as file:
        columns = [name for name in file.schema_arrow.names if name in wanted]
        for batch in file.iter_batches(batch_size=4096, columns=columns, use_threads=False):
            for name in columns:
                column = pc.list_flatten(batch[name]) if name == "doc_ids" else batch[name]
                number += int(pc.sum(pc.is_in(column, wanted[name])).as_py() or 0)
    return number


def _drop_rows(path: Path, doc_ids: set[str]) -> None:
    table = files.read_columns(path)
    files.write_table(path, table.filter(pc.invert(pc.is_in(table["doc_id"], pa.array(sorted(doc_ids), pa.string())))))


def _delete_part(path: Path) -> None:
    """Delete a part with its receipt: a run that is run again makes it anew, without what was taken down."""
    files.remove(path)
    files.remove(path.parent / "receipts" / f"{path.stem}.json")


def _delete_undocumented(work: Path) -> None:
    """Delete intermediate work that names documents only by their number, where what it numbers may be gone."""
    for path in sorted(work.glob("part-*.parquet")):
        with files.open_parquet(path) as file:
            named = {"doc_id", "doc_ids"} & set(file.schema_arrow.names)
        if not named:
            _delete_part(path)


def prove_absent(workspace: Workspace, doc_ids: Iterable[str], case_numbers: Iterable[str], persons: Iterable[str]) -> Found:
    """Search every data file of every release, stage, index and the lineage for what was taken down, and for what is named here.

    Documents that were taken down are known by their tombstones, though nothing names them any more. Raises InputError where a
    case number is none.
    """
    found = Found()
    stones = tombstones.read(workspace.root)
    wanted = {doc_id.strip().lower() for doc_id in doc_ids}
    cases = _cases(case_numbers)
    names = [name for name in persons if name.strip()]
    shorts = {low63(doc_id) for doc_id in wanted}

    def is_case(number: str | None) -> bool:
        return number is not None and (case_of(number) in cases or (stones is not None and stones.is_case(number)))

    for kind, path in _everything(workspace):
        hits = looked_at = 0
        for batch in _searched(path):
            looked_at += batch.num_rows
            for name in batch.schema.names:
                column = pc.list_flatten(batch[name]) if name == "doc_ids" else batch[name]
                if name == "doc_id":
                    hits += sum(one in wanted or (stones is not None and stones.is_document(one)) for one in column.to_pylist())
                elif name in ("doc_ids", "doc_id_low63"):
                    distinct = pc.unique(column).to_pylist()
                    hits += sum(one in shorts or (stones is not None and stones.is_short(one)) for one in distinct)
                elif name == "meta":
                    hits += sum(is_case(number) for number in pc.struct_field(column, "case_number").to_pylist())
                elif name == "case_number":
                    hits += sum(is_case(number) for number in column.to_pylist())
                else:
                    hits += sum(int(pc.sum(pc.match_substring(column, person)).as_py() or 0) for person in names)
        found.add(kind, str(path.relative_to(workspace.root)), looked_at, hits)
    return found


def _searched(path: Path) -> Iterator[pa.RecordBatch]:
    with files.open_parquet(path) as file:
        columns = [name for name in file.schema_arrow.names if name in _SEARCHED]
        yield from file.iter_batches(batch_size=1024, columns=columns, use_threads=False)


_SEARCHED = frozenset({"doc_id", "doc_ids", "doc_id_low63", "meta", "case_number", "text", "title"})


def _everything(workspace: Workspace) -> Iterator[tuple[str, Path]]:
    for path in sorted(workspace.releases.rglob("*.parquet")):
        yield "releases", path
    for path in _tables(workspace):
        yield ("index" if workspace.index in path.parents else "stages"), path
    for path in sorted((workspace.root / "lineage").rglob("*.parquet")):
        if path.name != "files.parquet" and not path.name.startswith("plan-"):
            yield "lineage", path
