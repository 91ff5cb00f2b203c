"""Tables with rows (Parquet, Arrow, SQLite): counted without being read, and read range by range."""

import datetime
import decimal
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.items import Broken, Item, Row
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import size_of
from lexmill.errors import DocumentError
from lexmill.store.raw import open_raw

_BATCH_ROWS = 256
_BATCH_BYTES = 64 << 20
_BUFFER = 1 << 20
_ALL = 1 << 62
_BROKEN = (pa.ArrowException, OSError, ValueError, KeyError, OverflowError)


def row_ranges(uri: str, fmt: str, size: int, query: str | None, part_bytes: int, limits: Limits) -> list[tuple[int, int]]:
    """Ranges of rows [start, end) of about ``part_bytes`` each, Parquet's cut where its row groups are."""
    if fmt == "sqlite":
        with _connected(uri, limits) as connection:
            number = next(_run(connection, f"SELECT count(*) AS n FROM ({_inner(query)})", ()))["n"]
        return _even(0, number, size, part_bytes)
    ranges: list[tuple[int, int]] = []
    filled = start = 0
    with open_raw(uri) as file:
        for number, n_bytes in _chunks(file, fmt):
            if filled and filled + n_bytes > part_bytes:
                filled = 0
            if filled:
                ranges[-1] = (ranges[-1][0], start + number)
            else:
                ranges += _even(start, number, n_bytes, part_bytes)
            filled += n_bytes
            start += number
    return ranges


def _even(start: int, number: int, n_bytes: int, part_bytes: int) -> list[tuple[int, int]]:
    pieces = max(1, -(-n_bytes // part_bytes))
    return list(pairwise(start + number * index // pieces for index in range(pieces + 1)))


def _chunks(file: IO[bytes], fmt: str) -> Iterator[tuple[int, int]]:
    """Rows and unpacked bytes of each row group or record batch."""
    try:
        if fmt == "parquet":
            metadata = pq.ParquetFile(file).metadata
            for index in range(metadata.num_row_groups):
                group = metadata.row_group(index)
                yield group.num_rows, group.total_byte_size
        else:
            for batch in _arrow_batches(file):
                yield batch.num_rows, batch.nbytes
    except _BROKEN:
        raise DocumentError("ingest.broken_table") from None


def read_rows(file: IO[bytes], fmt: str, start: int, end: int, limits: Limits) -> Iterator[Item]:
    """Rows [start, end) of a Parquet or Arrow file by their number; ``end`` -1 stands for all.

    A row above ``max_record_mb`` is left out by that rule. Raises DocumentError where the file cannot be read, and where the rows
    together are larger than ``max_file_mb``: a dictionary may hold a gigabyte once and name it a million times.
    """
    end = _ALL if end < 0 else end
    try:
        batches = _parquet_batches(file, start, end) if fmt == "parquet" else _numbered(_arrow_batches(file), 0)
        yield from _bounded(_rows(batches, start, end), limits)
    except _BROKEN:
        raise DocumentError("ingest.broken_table") from None


def _parquet_batches(file: IO[bytes], start: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    table = pq.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
    at = 0
    for index in range(table.metadata.num_row_groups):
        number = table.metadata.row_group(index).num_rows
        if at < end and start < at + number:
            rows = _rows_at_once(file, table.schema_arrow, index)
            yield from _numbered(table.iter_batches(batch_size=rows, row_groups=[index], use_threads=False), at)
        at += number


def _rows_at_once(file: IO[bytes], schema: pa.Schema, index: int) -> int:
    """How many rows of a row group stay below 64 MB though each were the largest value of a dictionary."""
    texts = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]
    table = pq.ParquetFile(file, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False)
    batches = table.iter_batches(batch_size=1, row_groups=[index], columns=texts, use_threads=False)
    largest = 1
    for column in next(batches, pa.table({})).columns:
        largest = max(largest, pc.max(pc.binary_length(column.dictionary)).as_py() or 1)
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // largest))


def _arrow_batches(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    try:
        table = pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        yield from pa.ipc.open_stream(file)
        return
    for index in range(table.num_record_batches):
        yield table.get_batch(index)


def _numbered(batches: Iterable[pa.RecordBatch], at: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first row."""
    for batch in batches:
        yield at, batch
        at += batch.num_rows


def _rows(batches: Iterable[tuple[int, pa.RecordBatch]], start: int, end: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, batch in batches:
        if at >= end:
            return
        names = batch.schema.names
        for row in range(max(0, start - at), min(batch.num_rows, end - at)):
            yield at + row, {name: _plain(column[row].as_py()) for name, column in zip(names, batch.columns, strict=True)}


def _bounded(rows: Iterable[tuple[int, dict[str, Any]]], limits: Limits) -> Iterator[Item]:
    total = 0
    for number, row in rows:
        n_chars, n_bytes = size_of(row)
        total += n_bytes
        if total > limits.file:
            raise DocumentError("ingest.max_file_mb")
        if n_bytes > limits.record:
            yield Broken(str(number), "ingest.max_record_mb", n_chars, n_bytes)
        else:
            yield Row(str(number), row)


def _plain(value: Any) -> Any:
    """A value as JSON would have it: days and times in ISO 8601, decimals by their digits, bytes as text."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        try:
            return decode(value).text
        except DocumentError:
            return None
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def query_rows(uri: str | bytes, query: str | None, start: int, end: int, limits: Limits) -> Iterator[Item]:
    """Rows [start, end) of a query of an SQLite database, which is a path or its bytes, by their number; ``end`` -1: all.

    Raises DocumentError ``ingest.needs_query`` without a query, ``ingest.bad_query`` where this database cannot answer it,
    ``ingest.broken_table`` where it is none, ``ingest.open_database`` where another program has not finished writing it.
    """
    end = _ALL if end < 0 else end
    with _connected(uri, limits) as connection:
        statement = f"SELECT * FROM ({_inner(query)}) LIMIT ? OFFSET ?"
        cursor = _run(connection, statement, (end - start, start))
        yield from _bounded(enumerate(cursor, start), limits)


def _inner(query: str | None) -> str:
    if query is None:
        raise DocumentError("ingest.needs_query")
    return query.strip().rstrip(";")


def _run(connection: sqlite3.Connection, statement: str, arguments: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    try:
        cursor = connection.execute(statement, arguments)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield {name: _plain(value) for name, value in zip(names, row, strict=True)}
    except sqlite3.DataError:
        raise DocumentError("ingest.max_file_mb") from None
    except (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.Warning):
        raise DocumentError("ingest.bad_query") from None
    except sqlite3.Error:
        raise DocumentError("ingest.broken_table") from None


@contextmanager
def _connected(uri: str | bytes, limits: Limits) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing, not even the lock files beside a database."""
    if isinstance(uri, str):
        log = Path(f"{uri}-wal")
        if log.exists() and log.stat().st_size:
            raise DocumentError("ingest.open_database")
        name = f"file:{quote(uri)}?mode=ro&immutable=1"
    else:
        name = "file::memory:"
    with closing(sqlite3.connect(name, uri=True)) as connection:
        if isinstance(uri, bytes):
            connection.deserialize(uri)
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.file)
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection
