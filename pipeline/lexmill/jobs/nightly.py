"""A night: what is new or changed since the last one becomes a shard set; the release after it lists that and all earlier sets.

In order, and each step the same again if the night is stopped and run once more:

1. raw files are compared with those that earlier nights read: by size and stamp, and where these differ by sha256;
2. what is new or changed is ingested, in a run of its own that is named by the night;
3. documents that a changed file no longer has, or has with another text, and those of files that are gone, are taken back;
4. what came is compared with the history, masked, filtered, tokenised;
5. the release is published: the parent's sets without what was taken back, and the night's own;
6. the night is committed (history, files, nights), then what is older than the retention is deleted.
"""

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from rich.console import Console

from lexmill.config import Config, Source
from lexmill.errors import GateError, InputError, NothingNew, StoppedError
from lexmill.jobs import dedup, ingest, release
from lexmill.jobs.job import Job
from lexmill.jobs.pieces import Parts
from lexmill.jobs.release import ShardSet
from lexmill.jobs.run import STAGES, Finished, Manifests, bring_up_to, finish, open_job, usage
from lexmill.jobs.sets import sets_of, take_back
from lexmill.schema import DOCUMENT_RAW
from lexmill.store import files
from lexmill.store.history import History, KnownFile, Nights, Notes
from lexmill.store.index import Index
from lexmill.store.purge import due, purge
from lexmill.store.raw import RawFile, open_raw
from lexmill.store.releases import Releases, read_manifest
from lexmill.store.stages import part_name
from lexmill.store.workspace import RELEASE, Workspace

log = structlog.get_logger()

TOKENIZE = "tokenize"
WITHDRAWN = "withdrawn"  # its file is gone, or no longer has it
CORRECTED = "corrected"  # its file has it with another text


@dataclass(frozen=True)
class _Changes:
    """What differs between the raw files now and those that earlier nights read."""

    now: dict[tuple[str, str], tuple[Source, RawFile, str]]  # new or changed: source, file, sha256
    before: list[KnownFile]  # the changed ones as they were
    gone: list[KnownFile]
    touched: list[KnownFile]  # the same content under another stamp
    known: dict[tuple[str, str], KnownFile]

    def __bool__(self) -> bool:
        return bool(self.now or self.gone)


def nightly(config: Config, console: Console, today: datetime.date) -> Finished:
    """Run one night and publish its release; raises NothingNew where no file is new, changed or gone.

    A night that was stopped goes on under its own name, with what came since. Raises what the stages raise; a gate that fails
    leaves ``latest.json`` and the history as they are, and the next night tries again with what came since.
    """
    started, before = datetime.datetime.now().timestamp(), usage()
    workspace = Workspace(config.workspace_dir, config.run)
    nights = History(workspace.root / "lineage").nights()
    name = nights.under_way or _name(today, nights.done)
    compared = config.dedup.model_copy(update={"history": config.dedup.enabled})
    with open_job(config.model_copy(update={"run": name, "dedup": compared}), console) as job:
        history = History(job.workspace.root / "lineage")
        if history.nights() != nights:
            raise StoppedError("another night was committed at this moment; run the same command again")
        changes = compare(config, job.workspace, history)
        if not changes and nights.under_way is None:
            if changes.touched:
                history.write_files({**changes.known, **{one.key: one for one in changes.touched}}.values())
            for folder in (job.workspace.run_folder, job.workspace.lineage):
                files.remove(folder)
            raise NothingNew("no raw file is new, changed or gone since the last night")
        history.write_nights(replace(nights, under_way=name))
        try:
            manifests = _night(job, history, nights, changes)
        finally:
            record, _ = finish(job, started, before)
        job.runner.check()
        purge(job.workspace, due(job.workspace, history.nights(), config.nightly))
    return Finished(manifests, True, record, name)


def _name(today: datetime.date, done: Sequence[str]) -> str:
    names = (today.isoformat(), *(f"{today.isoformat()}.{number}" for number in range(2, len(done) + 3)))
    return next(name for name in names if name not in done)


def compare(config: Config, workspace: Workspace, history: History) -> _Changes:
    """Compare the raw files with the history; a file is read only where its size or its stamp is another.

    Raises GateError where more files are gone than ``nightly.max_missing`` allows: a disk that is not mounted is no withdrawal.
    """
    # What this night itself had noted before it was stopped is not done: the files are read again.
    known = {key: one for key, one in history.known_files().items() if one.night != workspace.run}
    now, before, touched = {}, [], []
    present = set()
    for source, raw in _listed(config, workspace):
        key = (source.name, raw.relative)
        present.add(key)
        old = known.get(key)
        if old is not None and (old.size, old.stamp) == (raw.size, raw.stamp):
            continue
        sha256 = "" if raw.rule else _sha256(raw.uri)
        if old is not None and sha256 and old.sha256 == sha256:
            touched.append(replace(old, size=raw.size, stamp=raw.stamp))
            continue
        now[key] = (source, raw, sha256)
        if old is not None:
            before.append(old)
    gone = [one for key, one in known.items() if key not in present] if config.nightly.missing == "withdraw" else []
    if known and len(gone) / len(known) > config.nightly.max_missing:
        raise GateError(
            f"{len(gone)} of {len(known)} raw files are gone, more than nightly.max_missing = {config.nightly.max_missing}: if "
            "they are withdrawn, run again with --set nightly.max_missing=1; if a disk is not mounted, mount it"
        )
    return _Changes(now, before, gone, touched, known)


def _listed(config: Config, workspace: Workspace) -> list[tuple[Source, RawFile]]:
    found = []
    for source in config.source:
        try:
            found += list(ingest.raw_files(config.model_copy(update={"source": (source,)}), workspace))
        except InputError:
            if config.nightly.missing == "withdraw":
                raise  # a source without a single file is a disk that is not there
            log.info("no raw file of this source is there tonight", source=source.name)
    return found


def _sha256(uri: str) -> str:
    with open_raw(uri) as raw:
        digested = hashlib.sha256()
        while chunk := raw.read(1 << 20):
            digested.update(chunk)
    return digested.hexdigest()


def _night(job: Job, history: History, nights: Nights, changes: _Changes) -> Manifests:
    releases, index = Releases(job.workspace.releases), Index(job.workspace.index)
    parent = releases.find(nights.release) if nights.release else None
    sets = sets_of(parent, read_manifest(parent)) if parent else []
    wanted = dict(changes.now)
    documents = _ingest(job, wanted) if wanted else []
    # The index forgets at once, and says only once what was held down: both are noted before, for a night that is run again.
    noted = history.notes(job.workspace.run)
    taken_back = noted.taken_back | _taken_back(history, changes, documents)
    freed = sorted({*noted.freed, *held_down(index, taken_back)})
    history.write_notes(job.workspace.run, Notes(taken_back, tuple(freed)))
    if taken_back:
        index.remove(taken_back)
    # What was held down comes up again, and so does what an earlier try of this night took back and what is there after all.
    earlier: dict[tuple[str, str], tuple[Source, RawFile, str]] = {}
    for one in sorted(history.files_of({*freed, *noted.taken_back}, changes.known), key=lambda one: (one.night, one.key)):
        raw = changes.now.get(one.key) or _again(job.config, job.workspace, one)
        if raw is not None:
            earlier[one.key] = raw
        elif one not in changes.gone:
            log.warning("copies could come up again, but their file is gone", source=one.source, night=one.night)
    if earlier:
        # They arrived before what is new tonight, and of copies the first stays.
        wanted = earlier | {key: raw for key, raw in wanted.items() if key not in earlier}
        documents = _ingest(job, wanted)
    manifests: Manifests = {}
    own: ShardSet | None = None
    if documents:
        pieces = _chosen(job, wanted)
        manifests = bring_up_to(job, TOKENIZE, {**STAGES, "ingest": lambda job, _: ingest.run(job, pieces)})
        if any(units["docs"] for units in manifests["filter"]["counts"].get("out", {}).values()):
            own = release.own_set(job, manifests)
    if taken_back:
        sets = take_back(job, sets, taken_back)
    every = [*sets, own] if own else sets
    if not every:
        raise InputError("no document of any night is left to be released")
    manifests[RELEASE] = release.publish(job, every, read_manifest(parent)["release"] if parent else None)
    if documents:
        dedup.publish(job, manifests["ingest"])
    history.write_documents(job.workspace.run, documents)
    known = {key: one for key, one in changes.known.items() if one not in changes.gone}
    known |= {one.key: one for one in changes.touched}
    for key, (source, file, sha256) in wanted.items():
        known[key] = KnownFile(source.name, file.relative, file.size, file.stamp, sha256, job.workspace.run)
    history.write_files(known.values())
    history.write_nights(Nights((*nights.done, job.workspace.run), manifests[RELEASE]["release"], None))
    return manifests


def held_down(index: Index, doc_ids: Iterable[str]) -> set[str]:
    """Documents that left as copies of these."""
    wanted = pa.array(sorted(doc_ids), pa.string())
    found: set[str] = set()
    for run in index.manifest()["runs"]:
        held = files.read_columns(index.root / "held" / run["held"]["path"])
        found |= set(held.filter(pc.is_in(held["twin"], wanted))["doc_id"].to_pylist())
    return found - set(doc_ids)


def _chosen(job: Job, wanted: Mapping[tuple[str, str], tuple[Source, RawFile, str]]) -> Parts:
    for plan in job.workspace.lineage.glob("plan-*.parquet"):
        files.remove(plan)  # parts follow the order of arrival, whatever an earlier try of this night had planned
    return ingest.assign(job.config, job.workspace, ((source, raw) for source, raw, _ in wanted.values()))


def _ingest(job: Job, wanted: Mapping[tuple[str, str], tuple[Source, RawFile, str]]) -> list[dict[str, Any]]:
    """Ingest these files and return a row a document: source, relative path, doc_id, digest of its text."""
    pieces = _chosen(job, wanted)
    manifest = ingest.run(job, pieces)
    folder = job.workspace.stage("ingest")
    rows = []
    for number, entry in enumerate(manifest["parts"]):
        relative = {piece.file_number: piece.relative for piece in pieces[number]}
        lineage = files.read_columns(job.workspace.lineage / part_name(number), columns=["doc_id", "file_number"]).to_pylist()
        file_of = {row["doc_id"]: relative[row["file_number"]] for row in lineage}
        table = folder.read(entry, DOCUMENT_RAW).select(["doc_id", "source", "title", "text"])
        rows += [
            {"source": row["source"], "relative": file_of[row["doc_id"]], "doc_id": row["doc_id"], "digest": _digest(row)}
            for row in table.to_pylist()
        ]
    return rows


def _digest(row: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(f"{row['title'] or ''}\n{row['text']}".encode(), digest_size=16).digest()


def _taken_back(history: History, changes: _Changes, documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Documents that leave earlier sets, with the reason."""
    new = {row["doc_id"]: row["digest"] for row in documents}
    left = dict.fromkeys(history.documents_of(changes.gone), WITHDRAWN)
    for doc_id, text in history.documents_of(changes.before).items():
        if doc_id not in new:
            left[doc_id] = WITHDRAWN
        elif new[doc_id] != text:
            left[doc_id] = CORRECTED
    return left


def _again(config: Config, workspace: Workspace, one: KnownFile) -> tuple[Source, RawFile, str] | None:
    for source, raw in _listed(config, workspace):
        if (source.name, raw.relative) == one.key and (raw.size, raw.stamp) == (one.size, one.stamp):
            return source, raw, one.sha256
    return None
