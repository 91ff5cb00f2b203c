"""What ingest would read, and what it would make of one file: no workspace, no cluster, nothing written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from lexmill import rules
from lexmill.config import Config, Fields, Ingest, Source
from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.fields import Layout
from lexmill.core.ingest.items import Row
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import SPLITTABLE, BadRecord, Record, items_of, read
from lexmill.errors import ConfigError, DocumentError, InputError
from lexmill.jobs.reading import UNREAD, Extent, Reading, format_in
from lexmill.schema import DOC_TYPES
from lexmill.store.convert import installed_converters
from lexmill.store.raw import ContentDigest, compression_of, list_files, read_head

_HEAD = 1 << 20
_RECORDS = frozenset({"jsonl", "json", "csv", "tsv"})
_TEXT = _RECORDS | frozenset({"txt", "md", "html"})


@dataclass
class SourceSurvey:
    """One source as it lies there; ``problem`` is the first rule that would refuse something, and the number of that file.

    ``unread`` are fields of its records, by name, that hold more characters than what is read of the same heads: is it the text?
    """

    name: str
    doc_type: str
    n_files: int = 0
    n_bytes: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    encodings: Counter[str] = field(default_factory=Counter)
    problem: tuple[str, int] | None = None
    unread: list[str] = field(default_factory=list)


def survey_sources(config: Config) -> list[SourceSurvey]:
    """Files, bytes, formats, encodings and first problem of every source, from the first megabyte (decompressed) of each file.

    Files are numbered from 0 in the order of a first run's plan. Raises InputError where a source has no file.
    """
    numbers = count()
    limits = Limits.of(config.ingest)
    surveys = []
    for source in config.source:
        found = SourceSurvey(source.name, source.doc_type)
        fields = _FieldSizes()
        for raw in list_files([config.resolve(pattern) for pattern in source.paths]):
            number = next(numbers)
            found.n_files += 1
            found.n_bytes += raw.size
            if raw.rule:  # a pipe or a broken link is not opened
                found.problem = found.problem or (raw.rule, number)
                continue
            fmt = format_in(source, raw.relative)
            compression = compression_of(raw.relative)
            found.formats[f"{fmt}{compression}"] += 1
            problem = UNREAD.get(fmt)
            if fmt in _TEXT:
                encoding, problem = _look(raw.uri, compression, raw.size, fmt, source, limits, fields)
                found.encodings[encoding] += 1
            if problem and found.problem is None:
                found.problem = (problem, number)
        found.unread = sorted(name for name, n_chars in fields.unread.items() if n_chars > fields.read)
        surveys.append(found)
    return surveys


@dataclass
class _FieldSizes:
    """Characters that became documents, and those of the fields that did not."""

    read: int = 0
    unread: Counter[str] = field(default_factory=Counter)


def _look(
    uri: str, compression: str, size: int, fmt: str, source: Source, limits: Limits, fields: _FieldSizes
) -> tuple[str, str | None]:
    """The encoding of a file's head (``–`` where it is no text), and the first problem with what can be read of it."""
    try:
        head, is_whole = read_head(uri, compression, size, _HEAD, limits)
    except DocumentError as error:
        return "–", error.rule
    if not is_whole:
        # The last line is cut; so is the last record of any other format, of which only the encoding is told then.
        head = head[: head.rfind(b"\n") + 1] or head
    try:
        encoding = decode(head).encoding
    except DocumentError as error:
        return "–", error.rule
    if not is_whole and fmt not in SPLITTABLE:
        return encoding, None
    records = list(read(head, fmt, source.fields, source.doc_type, 0, limits, source.records))
    fields.read += sum(len(record.text) for record in records if isinstance(record, Record))
    if fmt in _RECORDS and head.strip():
        layout = Layout(source.fields, source.doc_type)
        for item in items_of(head, fmt, 0, limits, source.records):
            if isinstance(item, Row):
                fields.unread.update(layout.unread(item.value))
    return encoding, next((record.rule for record in records if isinstance(record, BadRecord)), None)


def extract(path: Path, doc_type: str) -> Iterator[dict[str, Any]]:
    """The documents of one file as plain values, and ``{record_id, problem}`` for what of it is none.

    Raises ConfigError for an unknown type, InputError where nothing in the file is a document.
    """
    if doc_type not in (*DOC_TYPES, "auto"):
        raise ConfigError(f"--doc-type {doc_type}: no such type; there are {', '.join(DOC_TYPES)} and auto")
    book = rules.load()
    n_documents = 0
    source = Source.model_construct(
        name="file", doc_type=doc_type, paths=(str(path),), format=None, records=None, query=None, fields=Fields()
    )
    reading = Reading(source, Limits.of(Ingest()), installed_converters(), ContentDigest())
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a file") from None
    extent = Extent(str(path), size, format_in(source, path.name), compression_of(path.name), 0, -1)
    for _, record in reading.records(extent):
        if isinstance(record, BadRecord):
            yield {"record_id": record.record_id, "problem": record.rule}
            continue
        document = make_document(record, doc_type, "CN", book)
        if document.is_blank:
            yield {"record_id": record.record_id, "problem": "ingest.empty"}
            continue
        n_documents += 1
        yield {
            "record_id": record.record_id,
            "doc_type": document.doc_type,
            "title": document.title,
            "text": document.text,
            "meta": document.meta,
            "segments": [part._asdict() for part in document.segments],
            "edits": [edit._asdict() for edit in document.edits],
        }
    if not n_documents:
        raise InputError("nothing in this file is a document; each line of the output says why")
