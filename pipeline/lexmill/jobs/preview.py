"""What ingest would read, and what it would make of one file: no workspace, no cluster, nothing written."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from lexmill import rules
from lexmill.config import Config, Fields
from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.document import make_document
from lexmill.core.ingest.records import SPLITTABLE, BadRecord, Record, format_of, read
from lexmill.errors import ConfigError, DocumentError, InputError
from lexmill.schema import DOC_TYPES
from lexmill.store.raw import Lines, compression_of, list_files, read_file, read_head, read_lines

_HEAD = 1 << 20
_MAX_FILE = 1 << 30
_MAX_LINE = 64 << 20


@dataclass
class SourceSurvey:
    """One source as it lies there; ``problem`` is the first rule that would refuse something, and the number of that file."""

    name: str
    doc_type: str
    n_files: int = 0
    n_bytes: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    encodings: Counter[str] = field(default_factory=Counter)
    problem: tuple[str, int] | None = None


def survey_sources(config: Config) -> list[SourceSurvey]:
    """Files, bytes, formats, encodings and first problem of every source, from the first megabyte (decompressed) of each file.

    Files are numbered from 0 in the order of a first run's plan. Raises InputError where a source has no file.
    """
    numbers = count()
    surveys = []
    for source in config.source:
        found = SourceSurvey(source.name, source.doc_type)
        for raw in list_files([config.resolve(pattern) for pattern in source.paths]):
            number = next(numbers)
            found.n_files += 1
            found.n_bytes += raw.size
            fmt = format_of(raw.relative)
            compression = compression_of(raw.relative)
            found.formats[f"{fmt or 'unknown'}{compression}"] += 1
            problem = None if fmt else "ingest.unknown_format"
            if fmt:
                encoding, problem = _look(raw.uri, compression, fmt, source.fields, source.doc_type)
                found.encodings[encoding] += 1
            if problem and found.problem is None:
                found.problem = (problem, number)
        surveys.append(found)
    return surveys


def _look(uri: str, compression: str, fmt: str, fields: Fields, doc_type: str) -> tuple[str, str | None]:
    """The encoding of a file's head (``–`` where it is no text), and the first problem with what can be read of it."""
    try:
        head, is_whole = read_head(uri, compression, _HEAD)
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
    records = read(head, fmt, fields, doc_type, 0)
    return encoding, next((record.rule for record in records if isinstance(record, BadRecord)), None)


def extract(path: Path, doc_type: str) -> Iterator[dict[str, Any]]:
    """The documents of one file as plain values, and ``{record_id, problem}`` for what of it is none.

    Raises ConfigError for an unknown type, InputError where nothing in the file is a document.
    """
    if doc_type not in (*DOC_TYPES, "auto"):
        raise ConfigError(f"--doc-type {doc_type}: no such type; there are {', '.join(DOC_TYPES)} and auto")
    book = rules.load()
    n_documents = 0
    for record in _records(path, doc_type):
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


def _records(path: Path, doc_type: str) -> Iterator[Record | BadRecord]:
    fmt = format_of(path.name)
    compression = compression_of(path.name)
    try:
        if fmt is None:
            yield BadRecord(None, "ingest.unknown_format", 0, 0)
        elif fmt in SPLITTABLE:
            for block in read_lines(str(path), compression, 0, 1 << 62, _MAX_LINE):
                if isinstance(block, Lines):
                    yield from read(block.data, fmt, Fields(), doc_type, block.offset)
                else:
                    yield BadRecord(str(block.offset), "ingest.record_too_large", 0, 0)
        else:
            yield from read(read_file(str(path), compression, _MAX_FILE), fmt, Fields(), doc_type, 0)
    except DocumentError as error:
        yield BadRecord(None, error.rule, 0, 0)
