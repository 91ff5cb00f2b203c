"""Stage ingest: raw files become documents with metadata and segments, or a ledger row that says why not."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from lexmill.config import Config, Source
from lexmill.core.batch import Batch, Ledger, n_bytes
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.records import SPLITTABLE, BadRecord, Record, format_of, read
from lexmill.core.ruleset import RuleSet
from lexmill.core.structure.columns import DocumentColumns
from lexmill.errors import DocumentError, InputError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import rules_for
from lexmill.schema import LINEAGE
from lexmill.store import files
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.raw import ContentDigest, LongLine, RawFile, compression_of, list_files, read_file, read_lines, unpacked_size
from lexmill.store.stages import Receipt, Target, part_name
from lexmill.store.workspace import Workspace

MB = 1 << 20
UNKNOWN = "unknown"

_PLAN = pa.schema(
    [
        ("part", pa.int32()),
        ("source", pa.string()),
        ("relative", pa.string()),
        ("uri", pa.string()),
        ("size", pa.int64()),
        ("stamp", pa.string()),
        ("fmt", pa.string()),
        ("compression", pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("file_number", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Piece:
    """A raw file, or the lines of one whose first byte lies in [start, end); ``end`` is -1 for a whole file."""

    part: int
    source: str
    relative: str
    uri: str
    size: int
    stamp: str
    fmt: str
    compression: str
    start: int
    end: int
    file_number: int

    @property
    def weight(self) -> int:
        """Bytes to read, about."""
        return self.size if self.end < 0 else self.end - self.start


def doc_id(source: str, relative: str, member: str, record_id: str) -> str:
    """The name of a document on every machine: hex of blake2b-128 over source, path in the source, archive member, record id."""
    return hashlib.blake2b(orjson.dumps([source, relative, member, record_id]), digest_size=16).hexdigest()


def _ranges(size: int, part_bytes: int) -> list[tuple[int, int]]:
    number = max(1, -(-size // part_bytes))
    edges = [size * index // number for index in range(number + 1)]
    return list(pairwise(edges))


class _Planner:
    """Assigns raw files to parts; a file that has been seen before stays in its part."""

    def __init__(self, known: list[Piece], part_bytes: int) -> None:
        self._known: dict[tuple[str, str], list[Piece]] = {}
        for piece in known:
            self._known.setdefault((piece.source, piece.relative), []).append(piece)
        self._next_part = max((piece.part for piece in known), default=-1) + 1
        self._next_file = max((piece.file_number for piece in known), default=-1) + 1
        self._part_bytes = part_bytes
        self._open: tuple[int, int] | None = None  # (part, bytes) that small files are packed into
        self.pieces: list[Piece] = []

    def start_source(self) -> None:
        self._open = None

    def add(self, source: str, raw: RawFile) -> None:
        known = self._known.get((source, raw.relative), [])
        if known and (known[0].size, known[0].stamp) == (raw.size, raw.stamp):
            self.pieces.extend(Piece(**{**asdict(piece), "uri": raw.uri}) for piece in known)
            return
        fmt = format_of(raw.relative) or UNKNOWN
        compression = compression_of(raw.relative)
        if known and known[0].end < 0 and raw.size <= self._part_bytes:
            self.pieces.append(Piece(**{**asdict(known[0]), "uri": raw.uri, "size": raw.size, "stamp": raw.stamp}))
            return
        number = known[0].file_number if known else self._next_file
        self._next_file += 0 if known else 1
        base: dict[str, Any] = {
            "source": source,
            "relative": raw.relative,
            "uri": raw.uri,
            "size": raw.size,
            "stamp": raw.stamp,
            "fmt": fmt,
            "compression": compression,
            "file_number": number,
        }
        unpacked = raw.size
        if fmt in SPLITTABLE and compression and raw.size > self._part_bytes // 8:
            try:
                unpacked = unpacked_size(raw.uri, compression, 1 << 62)
            except DocumentError:
                unpacked = raw.size  # the task that reads it says why
        if fmt in SPLITTABLE and unpacked > self._part_bytes:
            for start, end in _ranges(unpacked, self._part_bytes):
                self.pieces.append(Piece(part=self._next_part, start=start, end=end, **base))
                self._next_part += 1
            return
        self.pieces.append(Piece(part=self._place(unpacked), start=0, end=-1, **base))

    def _place(self, size: int) -> int:
        if self._open is None or self._open[1] + size > self._part_bytes:
            self._open = (self._next_part, 0)
            self._next_part += 1
        part, filled = self._open
        self._open = (part, filled + size)
        return part


def _known_pieces(path: Path) -> list[Piece]:
    try:
        return [Piece(**row) for row in pq.read_table(path).to_pylist()]
    except (FileNotFoundError, pa.ArrowInvalid, TypeError):
        return []  # first run, or a damaged plan: files are planned anew


def plan(config: Config, workspace: Workspace) -> dict[int, list[Piece]]:
    """Pieces of raw files by part; remembered in the lineage folder so that a file's part is fixed when it is first seen.

    Raises InputError where a source has no file.
    """
    part_bytes = max(1, int(config.ingest.part_mb * MB))
    path = files.make_private(workspace.lineage) / f"plan-{part_bytes}.parquet"
    known = _known_pieces(path)
    planner = _Planner(known, part_bytes)
    for source in config.source:
        planner.start_source()
        try:
            found = list_files([config.resolve(pattern) for pattern in source.paths])
        except InputError as error:
            raise InputError(f"{config.path}: source {source.name!r}: paths: {error}") from None
        for raw in found:
            planner.add(source.name, raw)
    if planner.pieces != known:
        files.write_table(path, pa.Table.from_pylist([asdict(piece) for piece in planner.pieces], schema=_PLAN))
    parts: dict[int, list[Piece]] = {}
    for piece in planner.pieces:
        parts.setdefault(piece.part, []).append(piece)
    last = max((piece.part for piece in (*known, *planner.pieces)), default=-1)
    return {number: parts.get(number, []) for number in range(last + 1)}


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes above which a file or a record is quarantined."""

    file: int
    record: int


def run(job: Job) -> dict[str, Any]:
    """Bring stage ingest up to date; raises InputError where nothing at all was readable."""
    config = job.config
    limits = Limits(int(config.ingest.max_file_mb * MB), int(config.ingest.max_record_mb * MB))
    fingerprint = digest(
        "ingest", code_digest(__name__), job.rules.digests["ingest"], job.rules.digests["segment"], asdict(limits)
    )
    sources = {source.name: source for source in config.source}
    about = {name: _about(source) for name, source in sources.items()}
    tasks = []
    for number, pieces in plan(config, job.workspace).items():
        source = sources.get(pieces[0].source) if pieces else None
        key = digest(fingerprint, about[pieces[0].source] if pieces else None, [asdict(piece) for piece in pieces])
        arguments = (pieces, source, limits, fingerprint, job.workspace.lineage, job.config.rule_folders, job.rules.digests)
        tasks.append(PartTask(number, key, arguments, sum(piece.weight for piece in pieces)))
    manifest = job.runner.run_stage("ingest", job.workspace.stage("ingest"), ingest_part, tasks, fingerprint)
    kept = {part_name(task.number) for task in tasks}
    for path in job.workspace.lineage.glob("part-*.parquet"):
        if path.name not in kept:
            files.remove(path)
    if not sum(entry["rows"] for entry in manifest["parts"]):
        raise InputError("nothing in any source is readable; the ledger of stage ingest says why, file by file")
    return manifest


def _about(source: Source) -> dict[str, Any]:
    """What of a source shapes its documents."""
    return {
        "name": source.name,
        "doc_type": source.doc_type,
        "fields": source.fields.model_dump(),
        "jurisdiction": source.card.jurisdiction,
    }


def ingest_part(
    target: Target,
    pieces: list[Piece],
    source: Source | None,
    limits: Limits,
    stage_fingerprint: str,
    lineage: Path,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """Read the pieces of one part and write documents, ledger and lineage."""
    rules = rules_for(overlays, digests)
    content = ContentDigest()
    table = _Documents(rules, source)
    for piece in pieces:
        table.take(piece, _records(piece, table.source, limits, content))
    files.write_table(lineage / part_name(target.number), pa.Table.from_pylist(table.lineage, schema=LINEAGE))
    fingerprint = digest(
        stage_fingerprint,
        _about(source) if source else None,
        [(piece.relative, piece.start, piece.end) for piece in pieces],
        content.hexdigest(),
    )
    batch = Batch(table.documents.table(), table.ledger.table(), table.counts)
    return target.write(batch, table.given, fingerprint=fingerprint)


def _records(piece: Piece, source: Source, limits: Limits, content: ContentDigest) -> Iterator[Record | BadRecord]:
    try:
        if piece.fmt == UNKNOWN:
            yield BadRecord(None, "ingest.unknown_format", 0, 0)
        elif piece.fmt in SPLITTABLE:
            end = piece.end if piece.end >= 0 else 1 << 62
            for block in read_lines(piece.uri, piece.compression, piece.start, end, limits.record):
                if isinstance(block, LongLine):
                    content.add(f"long line {block.offset} {block.n_bytes}".encode())
                    yield BadRecord(str(block.offset), "ingest.record_too_large", 0, 0)
                else:
                    content.add(block.data)
                    yield from read(block.data, piece.fmt, source.fields, source.doc_type, block.offset)
        else:
            data = read_file(piece.uri, piece.compression, limits.file)
            content.add(data)
            yield from read(data, piece.fmt, source.fields, source.doc_type, 0)
    except DocumentError as error:
        yield BadRecord(None, error.rule, 0, 0)


class _Documents:
    """Collects the documents of a part with their ledger, lineage and counts."""

    def __init__(self, rules: RuleSet, source: Source | None) -> None:
        self._rules = rules
        self._source = source
        self.documents = DocumentColumns()
        self.lineage: list[dict[str, Any]] = []
        self.ledger = Ledger("ingest")
        self.given: dict[str, dict[str, int]] = {}
        self.counts: dict[str, int] = {}

    @property
    def source(self) -> Source:
        if self._source is None:
            raise ValueError("a part with pieces has a source")
        return self._source

    def take(self, piece: Piece, records: Iterable[Record | BadRecord]) -> None:
        for record in records:
            identity = doc_id(self.source.name, piece.relative, "", record.record_id or "")
            uri = piece.uri if record.record_id is None else f"{piece.uri}#{record.record_id}"
            if isinstance(record, BadRecord):
                self._count(self.source.doc_type, record.n_chars, record.n_bytes)
                self._leave(identity, self.source.doc_type, "quarantine", record.rule, record.n_chars, record.n_bytes)
                case_number = None
            else:
                case_number = self._document(identity, uri, record)
            self.lineage.append(
                {
                    "doc_id": identity,
                    "source": self.source.name,
                    "uri": uri,
                    "record_id": record.record_id or "0",
                    "case_number": case_number,
                    "file_number": piece.file_number,
                }
            )

    def _count(self, doc_type: str, chars: int, size: int) -> None:
        group = self.given.setdefault(f"{self.source.name}/{doc_type}", {"docs": 0, "chars": 0, "bytes": 0})
        group["docs"] += 1
        group["chars"] += chars
        group["bytes"] += size

    def _leave(self, identity: str, doc_type: str, action: str, rule: str, chars: int, size: int) -> None:
        self.ledger.add(identity, self.source.name, doc_type, action, rule, chars, size)

    def _tally(self, name: str, number: int) -> None:
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def _document(self, identity: str, uri: str, record: Record) -> str | None:
        document = make_document(record, self.source.doc_type, self.source.card.jurisdiction, self._rules)
        doc_type, text = document.doc_type, document.text
        self._count(doc_type, len(record.text), n_bytes(record.text))
        for edit in document.edits:
            self._leave(identity, doc_type, "edit", edit.rule, edit.n_chars, edit.n_bytes)
        if document.is_blank:
            self._leave(identity, doc_type, "drop", "ingest.empty", len(text), n_bytes(text))
            return None
        self._tally("characters.fffd", text.count("\ufffd"))
        self._tally("characters.private_use", document.n_private_use)
        self.documents.add(
            {
                "doc_id": identity,
                "source": self.source.name,
                "doc_type": doc_type,
                "title": document.title,
                "text": text,
                "meta": document.meta,
                "segments": document.segments,
                "record_id": record.record_id or "0",
                "uri": uri,
            }
        )
        case_number = document.meta["case_number"]
        return str(case_number) if case_number else None
