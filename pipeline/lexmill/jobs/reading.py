"""What a raw file, or a piece of one, holds: every format, compressed or in archives, record by record."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import orjson

from lexmill.config import Source
from lexmill.core.ingest.items import Item
from lexmill.core.ingest.jsonl import HEAD, is_by_lines
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.core.ingest.records import ARCHIVES, SPLITTABLE, TABLES, WORD, BadRecord, Record, format_of, read, read_rows
from lexmill.core.ingest.word import word_format
from lexmill.errors import DocumentError
from lexmill.store.archives import Member, list_members, read_members
from lexmill.store.confined import CONFINED, read_confined
from lexmill.store.convert import Converter, convert_to_text
from lexmill.store.raw import (
    ContentDigest,
    LongLine,
    compression_of,
    decompress,
    opened,
    read_file,
    read_head,
    read_lines,
)
from lexmill.store.stretches import COMPRESSION, read_stretch, stretch_name, write_members, write_stretches
from lexmill.store.tables import query_rows, row_ranges
from lexmill.store.tables import read_rows as read_table_rows

UNKNOWN = "unknown"
UNREAD = {UNKNOWN: "ingest.unknown_format", "image": "ingest.needs_ocr", "rar": "ingest.unsupported_archive"}
"""Formats that are not read, and the rule that says so."""
_ALL = 1 << 62


class Extent(NamedTuple):
    """Of a raw file: lines whose first byte lies in [start, end), rows or members so numbered; ``end`` -1 is a whole file.

    ``size`` is the raw file's. Where ``uri`` is a stretch of it that was unpacked (``is_stretch``), that begins at byte, or
    member, ``start`` of the raw file.
    """

    uri: str
    size: int
    fmt: str
    compression: str
    start: int
    end: int
    is_stretch: bool = False


class Found(NamedTuple):
    """A record with the path of the archive member that it came from, empty where there is none."""

    member: str
    record: Record | BadRecord


def format_in(source: Source, name: str) -> str:
    """The format of a file of a source: what the run file says, except that archives are opened; else what its suffix says."""
    return source.format if source.format in ARCHIVES else _format_within(source, name)


def _format_within(source: Source, name: str) -> str:
    """The format of a file, or of a member: a run file that says ``zip`` speaks of the files, not of what is in them."""
    fmt = format_of(name) or UNKNOWN
    return fmt if source.format is None or source.format in ARCHIVES or fmt in ARCHIVES else source.format


def extents(whole: Extent, query: str | None, part_bytes: int, limits: Limits, stretches: Path) -> list[Extent]:
    """Cut a raw file into extents of about ``part_bytes`` once unpacked, or leave it whole where it is small or cannot be cut.

    Compressed lines and archives that can only be unpacked from their beginning are unpacked into the folder ``stretches``.
    Raises DocumentError where a limit forbids to read the file at all, or where it is too broken to be cut.
    """
    uri, size, fmt, compression = whole.uri, whole.size, whole.fmt, whole.compression
    ranges: list[tuple[int, int]] = []
    if fmt in SPLITTABLE and size > part_bytes // 8 and not _is_by_lines(whole, limits):
        return [whole]
    if fmt in SPLITTABLE and compression:
        if size > part_bytes // 8:
            ranges = write_stretches(uri, compression, stretches, part_bytes, Allowance.split(size, limits))
        if len(ranges) > 1:
            return [in_stretch(whole, stretches, *cut) for cut in ranges]
    elif fmt in SPLITTABLE:
        ranges = _even(size, part_bytes)
    elif _is_read_in_place(whole) and size > part_bytes // 4:
        ranges = row_ranges(uri, fmt, size, query, part_bytes, limits)
    elif fmt in ARCHIVES and (compression or fmt == "7z"):
        if size > part_bytes // 8:
            ranges = write_members(uri, fmt, compression, size, stretches, part_bytes, limits)
        if len(ranges) > 1:
            return [in_stretch(whole, stretches, *cut) for cut in ranges]
    elif fmt in ARCHIVES and size > part_bytes // 8:
        ranges = _member_ranges(whole, part_bytes, limits)
    return [whole._replace(start=start, end=end) for start, end in ranges] if len(ranges) > 1 else [whole]


def in_stretch(whole: Extent, stretches: Path, start: int, end: int) -> Extent:
    """The extent [start, end) of a raw file, in the stretch that was unpacked of it."""
    uri = str(stretches / stretch_name(start))
    return whole._replace(uri=uri, compression=COMPRESSION, start=start, end=end, is_stretch=True)


def _is_by_lines(extent: Extent, limits: Limits) -> bool:
    """Whether lines can be read one by one: else the file is read whole, as far as ``max_file_mb`` goes."""
    if not extent.compression and extent.size <= HEAD:
        return True
    try:
        head, _ = read_head(extent.uri, extent.compression, extent.size, HEAD, limits)
    except DocumentError:
        return True  # so what is sound is read
    return is_by_lines(head)


def _is_read_in_place(extent: Extent) -> bool:
    """Whether rows are read from the file itself; SQLite can only do so from a local one."""
    return extent.fmt in TABLES and not extent.compression and not (extent.fmt == "sqlite" and "://" in extent.uri)


def _even(size: int, part_bytes: int) -> list[tuple[int, int]]:
    number = max(1, -(-size // part_bytes))
    edges = [size * index // number for index in range(number + 1)]
    return list(pairwise(edges))


def _member_ranges(whole: Extent, part_bytes: int, limits: Limits) -> list[tuple[int, int]]:
    allowance = Allowance.split(whole.size, limits)
    with opened(whole.uri, "", allowance) as file:
        entries = list_members(file, whole.fmt, limits)
    declared = Allowance.split(whole.size, limits)
    ranges: list[tuple[int, int]] = []
    filled = 0
    for entry in entries:
        declared.take(entry.size)
        if not ranges or filled + entry.size > part_bytes:
            ranges.append((entry.number, entry.number))
            filled = 0
        ranges[-1] = (ranges[-1][0], entry.number + 1)
        filled += entry.size
    return ranges


@dataclass
class Reading:
    """Reads extents for one source; ``content`` digests what was read, ``n_skipped`` counts members that are no documents."""

    source: Source
    limits: Limits
    converters: tuple[Converter, ...]
    content: ContentDigest
    n_skipped: int = field(default=0)

    def records(self, extent: Extent) -> Iterator[Found]:
        """The records of an extent in order; what cannot be read ends them with a BadRecord."""
        is_empty = extent.end < 0
        try:
            for found in self._records(extent):
                is_empty = False
                yield found
        except DocumentError as error:
            is_empty = False
            yield Found("", BadRecord(None, error.rule, 0, 0))
        if is_empty:
            yield Found("", BadRecord(None, "ingest.empty", 0, 0))

    def _records(self, extent: Extent) -> Iterator[Found]:
        if extent.fmt in UNREAD:
            raise DocumentError(UNREAD[extent.fmt])
        if extent.fmt in SPLITTABLE and (extent.end >= 0 or _is_by_lines(extent, self.limits)):
            yield from self._lines(extent)
        elif extent.fmt in ARCHIVES:
            allowance = (Allowance.whole if extent.end < 0 else Allowance.split)(extent.size, self.limits)
            measured = Allowance.split(extent.size, self.limits)
            if extent.is_stretch:
                yield from self._members(read_stretch(extent.uri, measured), "", 1, allowance)
            else:
                with opened(extent.uri, extent.compression, measured) as file:
                    members = read_members(file, extent.fmt, extent.start, extent.end, self.limits, allowance)
                    yield from self._members(members, "", 1, allowance)
        elif _is_read_in_place(extent):
            yield from self._rows(extent)
        else:
            data = read_file(extent.uri, extent.compression, extent.size, self.limits)
            self.content.add(data)
            yield from self._file(data, extent.fmt, "", 1, Allowance.whole(len(data), self.limits))

    def _lines(self, extent: Extent) -> Iterator[Found]:
        is_whole = extent.end < 0
        measured = Allowance.whole if is_whole and extent.compression else Allowance.split
        allowance = measured(extent.size, self.limits)
        base = extent.start if extent.is_stretch else 0
        start, end = (0, _ALL) if is_whole else (extent.start - base, extent.end - base)
        for block in read_lines(extent.uri, extent.compression, start, end, self.limits.record, allowance):
            offset = base + block.offset
            if isinstance(block, LongLine):
                self.content.add(f"long line {offset} {block.n_bytes}".encode())
                yield Found("", BadRecord(str(offset), "ingest.max_record_mb", 0, block.n_bytes))
            else:
                self.content.add(block.data)
                for record in self._read(block.data, extent.fmt, offset):
                    yield Found("", record)

    def _rows(self, extent: Extent) -> Iterator[Found]:
        source = self.source
        if extent.fmt == "sqlite":
            items = query_rows(extent.uri, source.query, extent.start, extent.end, self.limits)
            yield from self._of_rows(items, "")
        else:
            with opened(extent.uri, "", Allowance.split(extent.size, self.limits)) as file:
                items = read_table_rows(file, extent.fmt, extent.start, extent.end, self.limits)
                yield from self._of_rows(items, "")

    def _of_rows(self, items: Iterator[Item], member: str) -> Iterator[Found]:
        for record in read_rows(self._digested(items), self.source.fields, self.source.doc_type):
            yield Found(member, record)

    def _digested(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            self.content.add(orjson.dumps(item, option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=list))
            yield item

    def _members(self, members: Iterator[Member | None], outer: str, depth: int, allowance: Allowance) -> Iterator[Found]:
        if depth > self.limits.depth:
            raise DocumentError("ingest.max_depth")
        for member in members:
            if member is None:
                self.n_skipped += 1
                continue
            path = f"{outer}#{member.name}" if outer else member.name
            self.content.add(path.encode())
            self.content.add(member.data)
            try:
                if member.rule is not None:
                    raise DocumentError(member.rule)
                data = member.data
                compression = compression_of(member.name)
                if compression:
                    data = decompress(data, compression, self.limits, allowance)
                yield from self._file(data, _format_within(self.source, member.name), path, depth + 1, allowance)
            except DocumentError as error:
                yield Found(path, BadRecord(None, error.rule, 0, len(member.data)))

    def _file(self, data: bytes, fmt: str, member: str, depth: int, allowance: Allowance) -> Iterator[Found]:
        """The records of a file that was read whole; an archive in it is the ``depth``-th."""
        if not data:
            yield Found(member, BadRecord(None, "ingest.empty", 0, 0))
            return
        if fmt in WORD:
            fmt = word_format(data)
            if fmt in ("doc", "rtf"):
                data, fmt = convert_to_text(data, fmt, self.converters, self.limits), "txt"
        if fmt in UNREAD:
            raise DocumentError(UNREAD[fmt])
        if fmt in ARCHIVES:
            inner = Allowance.whole(len(data), self.limits, allowance)
            yield from self._members(read_members(io.BytesIO(data), fmt, 0, -1, self.limits, inner), member, depth, inner)
        elif fmt in CONFINED:
            for record in read_rows(read_confined(data, fmt, self.limits), self.source.fields, self.source.doc_type):
                yield Found(member, record)
        elif fmt == "sqlite":
            yield from self._of_rows(query_rows(data, self.source.query, 0, -1, self.limits), member)
        elif fmt in TABLES:
            yield from self._of_rows(read_table_rows(io.BytesIO(data), fmt, 0, -1, self.limits), member)
        else:
            for record in self._read(data, fmt, 0):
                yield Found(member, record)

    def _read(self, data: bytes, fmt: str, base: int) -> Iterator[Record | BadRecord]:
        source = self.source
        return read(data, fmt, source.fields, source.doc_type, base, self.limits, source.records)
