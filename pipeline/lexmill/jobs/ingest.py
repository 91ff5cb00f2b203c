"""Stage ingest: raw files become documents with metadata and segments, or a ledger row that says why not."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.config import Config, Source
from lexmill.core.batch import Batch, Ledger, n_bytes
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.language import LanguagePolicy
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import ARCHIVES, WORD, BadRecord, Record
from lexmill.core.release.tombstones import Tombstones
from lexmill.core.ruleset import RuleSet
from lexmill.core.structure.columns import DocumentColumns
from lexmill.errors import ConfigError, InputError
from lexmill.jobs.isolate import Ask, Unit
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.pieces import Parts, Piece, Weights
from lexmill.jobs.pieces import assign as assign_pieces
from lexmill.jobs.reading import Found, Reading
from lexmill.jobs.resources import rules_for
from lexmill.schema import LINEAGE
from lexmill.store import files, tombstones
from lexmill.store.convert import Converter, installed_converters
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.raw import ContentDigest, RawFile, list_files
from lexmill.store.stages import Receipt, Target, part_name
from lexmill.store.workspace import Workspace

MB = 1 << 20
_PACKED_ROWS = 4096


@dataclass(frozen=True)
class Choice:
    """Of the records of a piece, those in [first, last); the ``refused`` ones are quarantined, each by its rule."""

    first: int = 0
    last: int = 1 << 62
    refused: tuple[tuple[int, str], ...] = ()


def doc_id(source: str, relative: str, member: str, own_id: str, place: str) -> str:
    """The name of a document on every machine: hex of blake2b-128 over source, path in the source, archive member and record.

    A record is named by the id that it has in its source, else by its place (byte offset or number), so that row 1 is not the
    record whose own id is 1; a file that is one document has neither.
    """
    key = [source, relative, member, own_id, place] if place else [source, relative, member, own_id]
    return hashlib.blake2b(orjson.dumps(key), digest_size=16).hexdigest()


def raw_files(config: Config, workspace: Workspace) -> Iterator[tuple[Source, RawFile]]:
    """Every raw file, source by source; raises InputError where a source has none, ConfigError for files of the workspace."""
    # What no file matches is told before the first file is looked at: unpacking what comes before may take hours.
    for source in config.source:
        for pattern in source.paths:
            if "://" not in pattern:
                next(_listed(config, workspace, source, [pattern]))
    for source in config.source:
        for raw in _listed(config, workspace, source, list(source.paths)):
            yield source, raw


def _listed(config: Config, workspace: Workspace, source: Source, patterns: list[str]) -> Iterator[RawFile]:
    try:
        for raw in list_files([config.resolve(pattern) for pattern in patterns]):
            if raw.uri.startswith(f"{workspace.root}/"):
                raise ConfigError(
                    f"{config.path}: source {source.name!r}: paths: match files of the workspace itself; narrow them, or put the "
                    "workspace elsewhere"
                )
            yield raw
    except InputError as error:
        raise InputError(f"{config.path}: source {source.name!r}: paths: {error}") from None


def plan(config: Config, workspace: Workspace) -> Parts:
    """Pieces of all raw files by part; raises InputError where a source has no file."""
    return assign(config, workspace, raw_files(config, workspace))


def assign(config: Config, workspace: Workspace, listed: Iterable[tuple[Source, RawFile]]) -> Parts:
    """Pieces of these files by part; remembered in the lineage folder so that a file's part is fixed when it is first seen."""
    return assign_pieces(listed, max(1, int(config.ingest.part_mb * MB)), Limits.of(config.ingest), workspace.lineage)


def run(job: Job, chosen: Mapping[int, Sequence[Piece]] | None = None) -> dict[str, Any]:
    """Bring stage ingest up to date, over all raw files or over parts that were ``chosen`` of them.

    Raises InputError where nothing at all was readable.
    """
    config = job.config
    limits = Limits.of(config.ingest)
    converters = installed_converters()
    fingerprint = digest(
        "ingest", code_digest(__name__), job.rules.digests["ingest"], job.rules.digests["segment"], asdict(limits)
    )
    sources = {source.name: source for source in config.source}
    about = {name: _about(source) for name, source in sources.items()}
    buried = tombstones.digest_of(job.workspace.root)
    drafts = []
    weights = Weights()
    parts: Mapping[int, Sequence[Piece]] = plan(config, job.workspace) if chosen is None else chosen
    for number, mine in parts.items():
        some = list(mine)
        source = sources.get(some[0].source) if some else None
        made_by = digest(fingerprint, about[some[0].source] if some else None, _versions(some, converters))
        made_by = digest(made_by, buried) if buried else made_by
        key = digest(made_by, [vars(piece) for piece in some])
        weights.add(number, some)
        arguments = (
            mine,
            source,
            limits,
            converters,
            made_by,
            job.workspace.lineage,
            job.config.rule_folders,
            job.rules.digests,
            buried,
        )
        drafts.append((number, key, arguments))
    tasks = [PartTask(number, key, arguments, weights.of(number), split=Records()) for number, key, arguments in drafts]
    manifest = job.runner.run_stage("ingest", job.workspace.stage("ingest"), ingest_part, tasks, fingerprint)
    files.sweep(job.workspace.lineage)
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
        "records": source.records,
        "query": source.query,
        "format": source.format,
        "jurisdiction": source.card.jurisdiction,
        "languages": list(_languages(source)),
    }


def _languages(source: Source) -> LanguagePolicy:
    return LanguagePolicy(source.traditional, source.other_languages)


def _versions(pieces: Sequence[Piece], converters: tuple[Converter, ...]) -> list[str]:
    """The converters that the pieces may need: when one is installed, they are read again."""
    may_need = any(piece.fmt in WORD or piece.fmt in ARCHIVES for piece in pieces)
    return [converter.version for converter in converters] if may_need else []


def ingest_part(
    target: Target,
    pieces: Sequence[Piece],
    source: Source | None,
    limits: Limits,
    converters: tuple[Converter, ...],
    made_by: str,
    lineage: Path,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
    tombstones_digest: str,
    choices: tuple[Choice, ...] = (),
) -> Receipt:
    """Read the pieces of one part and write documents, ledger and lineage; ``made_by`` digests all else that shapes them.

    ``choices``, where there are any, say what of each piece is read.
    """
    rules = rules_for(overlays, digests)
    content = ContentDigest()
    table = _Documents(rules, source)
    if source is not None:
        reading = Reading(source, limits, converters, content)
        for piece, choice in zip(pieces, choices or repeat(Choice()), strict=False):
            table.take(piece, _records(reading, piece, lineage), choice)
        if reading.n_skipped:
            table.counts["members.skipped"] = reading.n_skipped
    documents, ledger, origins = table.tables()
    if tombstones_digest:
        kept, ledger = _without_buried(documents, ledger, tombstones.read(lineage.parent.parent))
        # Their line is in the ledger; the lineage, which has case numbers, is where nobody is to find them again.
        gone = pc.and_(
            pc.is_in(origins["doc_id"], documents["doc_id"].combine_chunks()),
            pc.invert(pc.is_in(origins["doc_id"], kept["doc_id"].combine_chunks())),
        )
        documents, origins = kept, origins.filter(pc.invert(gone))
    files.write_table(lineage / part_name(target.number), origins)
    fingerprint = digest(made_by, [(piece.relative, piece.start, piece.end, piece.rule) for piece in pieces], content.hexdigest())
    if choices:
        fingerprint = digest(fingerprint, [asdict(choice) for choice in choices])
    return target.write(Batch(documents, ledger, table.counts), table.given, fingerprint=fingerprint)


def _records(reading: Reading, piece: Piece, lineage: Path) -> Iterable[Found]:
    return [Found("", BadRecord(None, piece.rule, 0, 0))] if piece.rule else reading.records(piece.extent(lineage))


def count_records(piece: Piece, source: Source, limits: Limits, converters: tuple[Converter, ...], lineage: Path) -> int:
    """Records of a piece, good and bad."""
    return sum(1 for _ in _records(Reading(source, limits, converters, ContentDigest()), piece, lineage))


@dataclass(frozen=True)
class Records:
    """Cuts the task of a part into its pieces, (number,), and these into their records, (number, record)."""

    compares: ClassVar[bool] = False

    def units(self, arguments: tuple[Any, ...]) -> list[Unit]:
        """The pieces."""
        return [(number,) for number in range(len(arguments[0]))]

    def inside(self, arguments: tuple[Any, ...], unit: Unit, ask: Ask) -> list[Unit]:
        """The records of a piece; none where already reading it ends the process."""
        if len(unit) == 2:
            return []
        pieces, source, limits, converters, _, lineage = arguments[:6]
        number = ask(count_records, (pieces[unit[0]], source, limits, converters, lineage))
        return [(unit[0], record) for record in range(number or 0)]

    def only(self, _target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], _folder: Path) -> tuple[Any, ...]:
        """The same over these pieces, or over these records of one."""
        pieces = arguments[0]
        if len(units[0]) == 1:
            return ([pieces[number] for (number,) in units], *arguments[1:])
        (number, first), (_, last) = units[0], units[-1]
        return ([pieces[number]], *arguments[1:], (Choice(first, last + 1),))

    def without(
        self, target: Target, arguments: tuple[Any, ...], refused: Mapping[Unit, str], _folder: Path
    ) -> tuple[Target, tuple[Any, ...]]:
        """The same with these pieces and records refused."""
        pieces = [
            replace(piece, rule=refused[(number,)]) if (number,) in refused else piece
            for number, piece in enumerate(arguments[0])
        ]
        choices = tuple(
            Choice(
                refused=tuple((unit[1], rule) for unit, rule in sorted(refused.items()) if unit[0] == number and len(unit) == 2)
            )
            for number in range(len(pieces))
        )
        return target, (pieces, *arguments[1:], choices)


def _without_buried(documents: pa.Table, ledger: pa.Table, stones: Tombstones | None) -> tuple[pa.Table, pa.Table]:
    """Documents that were not taken down, nor are copies of what was; the others leave by ``ingest.takedown``."""
    if stones is None or not documents.num_rows:
        return documents, ledger
    numbers = pc.struct_field(documents["meta"].combine_chunks(), "case_number").to_pylist()
    buried = stones.bury(documents["doc_id"].to_pylist(), numbers, documents["text"])
    left = Ledger("ingest")
    for row in documents.filter(pa.array(buried)).select(["doc_id", "source", "doc_type", "text"]).to_pylist():
        left.add(row["doc_id"], row["source"], row["doc_type"], "drop", "ingest.takedown", len(row["text"]), n_bytes(row["text"]))
    return documents.filter(pa.array(~buried)), pa.concat_tables([ledger, left.table()])


class _Documents:
    """Collects the documents of a part with their ledger, lineage and counts."""

    def __init__(self, rules: RuleSet, source: Source | None) -> None:
        self._rules = rules
        self._source = source
        self._documents = DocumentColumns()
        self._lineage: list[dict[str, Any]] = []
        self._ledger = Ledger("ingest")
        self._done: list[tuple[pa.Table, pa.Table, pa.Table]] = []
        self.given: dict[str, dict[str, int]] = {}
        self.counts: dict[str, int] = {}

    @property
    def source(self) -> Source:
        if self._source is None:
            raise ValueError("a part with pieces has a source")
        return self._source

    def tables(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        """Documents, ledger and lineage of all that was taken."""
        self._pack()
        documents, ledgers, lineages = zip(*self._done, strict=True)
        return pa.concat_tables(documents), pa.concat_tables(ledgers), pa.concat_tables(lineages)

    def _pack(self) -> None:
        """Put what was collected into columns: a short document takes twenty times its size as Python objects."""
        tables = (
            self._documents.table(),
            self._ledger.table(),
            pa.Table.from_pylist(self._lineage, schema=LINEAGE),
        )
        self._done.append(tables)
        self._documents, self._lineage, self._ledger = DocumentColumns(), [], Ledger("ingest")

    def take(self, piece: Piece, found: Iterable[Found], choice: Choice) -> None:
        refused = dict(choice.refused)
        for number, (member, record) in enumerate(found):
            if not choice.first <= number < choice.last:
                continue
            own_id, place = (record.record_id or "", "") if record.has_own_id else ("", record.record_id or "")
            identity = doc_id(self.source.name, piece.relative, member, own_id, place)
            uri = "#".join([piece.uri, *filter(None, [member]), *filter(None, [record.record_id])])
            if isinstance(record, BadRecord):
                self._count(self.source.doc_type, record.n_chars, record.n_bytes)
                self._leave(identity, self.source.doc_type, "quarantine", record.rule, record.n_chars, record.n_bytes)
                case_number = None
            elif number in refused:
                size = n_bytes(record.text)
                self._count(self.source.doc_type, len(record.text), size)
                self._leave(identity, self.source.doc_type, "quarantine", refused[number], len(record.text), size)
                case_number = None
            else:
                case_number = self._document(identity, uri, record)
            self._lineage.append(
                {
                    "doc_id": identity,
                    "source": self.source.name,
                    "uri": uri,
                    "record_id": record.record_id or "0",
                    "case_number": case_number,
                    "file_number": piece.file_number,
                }
            )
            if len(self._lineage) == _PACKED_ROWS:
                self._pack()

    def _count(self, doc_type: str, chars: int, size: int) -> None:
        group = self.given.setdefault(f"{self.source.name}/{doc_type}", {"docs": 0, "chars": 0, "bytes": 0})
        group["docs"] += 1
        group["chars"] += chars
        group["bytes"] += size

    def _leave(self, identity: str, doc_type: str, action: str, rule: str, chars: int, size: int) -> None:
        self._ledger.add(identity, self.source.name, doc_type, action, rule, chars, size)

    def _tally(self, name: str, number: int) -> None:
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def _document(self, identity: str, uri: str, record: Record) -> str | None:
        document = make_document(
            record, self.source.doc_type, self.source.card.jurisdiction, self._rules, _languages(self.source)
        )
        doc_type, text = document.doc_type, document.text
        self._count(doc_type, len(record.text), n_bytes(record.text))
        for edit in document.edits:
            self._leave(identity, doc_type, "edit", edit.rule, edit.n_chars, edit.n_bytes)
        if document.is_blank:
            self._leave(identity, doc_type, "drop", "ingest.empty", len(text), n_bytes(text))
            return None
        if document.refused:
            self._leave(identity, doc_type, "drop", document.refused, len(text), n_bytes(text))
            return None
        self._tally("characters.fffd", text.count("\ufffd"))
        self._tally("characters.private_use", document.n_private_use)
        self._documents.add(
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
