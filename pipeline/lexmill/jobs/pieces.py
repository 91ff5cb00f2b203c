"""Which raw files, and which pieces of them, make which part of stage ingest; a file seen before stays in its part.

They are held as columns, 55 bytes and the path below the source's root a file, so that ten million tiny ones fit a driver.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.config import Source
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import ARCHIVES
from lexmill.errors import DocumentError
from lexmill.jobs.reading import Extent, extents, format_in, in_stretch
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.raw import RawFile, compression_of, is_there

# What is small and packed is not measured: text packs about so many times.
_PACKED_RATIO = 8
_ROWS = 1 << 13  # files that are looked at, pieces that are put into columns or written, at a time
_ROW_GROUP = 4096

PLAN = pa.schema(
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
        ("is_stretch", pa.bool_()),
        ("file_number", pa.int32()),
        ("rule", pa.string()),
    ]
)


@dataclass(frozen=True)
class Piece:
    """A raw file, or an extent of one; ``end`` is -1 for a whole file, ``rule`` a limit that forbids to read it, or empty.

    ``is_stretch`` says that it was unpacked into the lineage's folder of its file.
    """

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
    is_stretch: bool
    file_number: int
    rule: str

    def extent(self, lineage: Path) -> Extent:
        """What is to be read."""
        extent = Extent(self.uri, self.size, self.fmt, self.compression, self.start, self.end)
        return in_stretch(extent, _stretches(lineage, self.file_number), self.start, self.end) if self.is_stretch else extent


def _stretches(lineage: Path, file_number: int) -> Path:
    return lineage / "unpacked" / f"{file_number:06d}"


class _Common(NamedTuple):
    """What many pieces have in common; ``stem`` comes before ``relative`` in a URI, or is all of it."""

    source: str
    stem: str
    is_stem: bool
    fmt: str
    compression: str
    rule: str


class _Cut(NamedTuple):
    """What only pieces have that are not a whole file."""

    start: int = 0
    end: int = -1
    is_stretch: bool = False


_WHOLE = _Cut()


class _Columns:
    """Pieces as columns, block after block of rows: filled row by row, and read by row numbers once ``close`` was called."""

    _TYPES = (
        pa.int32(),  # which _Common
        pa.int32(),  # part
        pa.string(),  # relative
        pa.int64(),  # size
        pa.string(),  # stamp
        pa.int32(),  # file_number
    )

    def __init__(self) -> None:
        self._common: dict[_Common, int] = {}
        self._cuts: dict[int, _Cut] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._blocks: list[list[pa.Array]] = []
        self._known_common: list[_Common] = []

    def add(self, piece: Piece) -> None:
        is_stem = piece.uri.endswith(piece.relative)
        stem = piece.uri.removesuffix(piece.relative) if is_stem else piece.uri
        common = _Common(piece.source, stem, is_stem, piece.fmt, piece.compression, piece.rule)
        number = self._common.setdefault(common, len(self._common))
        if piece.end >= 0:
            self._cuts[len(self)] = _Cut(piece.start, piece.end, piece.is_stretch)
        self._rows.append((number, piece.part, piece.relative, piece.size, piece.stamp, piece.file_number))
        if len(self._rows) == _ROWS:
            self._pack()

    def _pack(self) -> None:
        columns = zip(*self._rows, strict=True)
        self._blocks.append([pa.array(values, kind) for values, kind in zip(columns, self._TYPES, strict=True)])
        self._rows = []

    def close(self) -> None:
        """No row is added any more."""
        if self._rows:
            self._pack()
        self._known_common = list(self._common)

    def __len__(self) -> int:
        return sum(len(block[0]) for block in self._blocks[-1:]) + _ROWS * max(0, len(self._blocks) - 1) + len(self._rows)

    def parts(self) -> NDArray[np.int32]:
        return np.concatenate([np.zeros(0, np.int32), *(block[1].to_numpy() for block in self._blocks)])

    def take(self, rows: NDArray[np.int64]) -> Iterator[Piece]:
        """The pieces of these rows, which are in order."""
        blocks = rows // _ROWS
        for some in np.split(rows, np.flatnonzero(np.diff(blocks)) + 1) if len(rows) else ():
            block = self._blocks[some[0] // _ROWS]
            wanted = pa.array(some % _ROWS)
            columns = (column.take(wanted).to_pylist() for column in block)
            for row, number, part, relative, size, stamp, file_number in zip(some.tolist(), *columns, strict=True):
                source, stem, is_stem, fmt, compression, rule = self._known_common[number]
                uri = stem + relative if is_stem else stem
                cut = self._cuts.get(row, _WHOLE)
                yield Piece(part, source, relative, uri, size, stamp, fmt, compression, *cut, file_number, rule)


class Pieces(Sequence[Piece]):
    """Pieces that are made out of columns whenever they are asked for; pickled they are a list, and small on the way."""

    def __init__(self, columns: _Columns, rows: NDArray[np.int64]) -> None:
        self._columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Piece]:
        return self._columns.take(self._rows)

    @overload
    def __getitem__(self, at: int) -> Piece: ...
    @overload
    def __getitem__(self, at: slice) -> "Pieces": ...
    def __getitem__(self, at: int | slice) -> "Piece | Pieces":
        if isinstance(at, slice):
            return Pieces(self._columns, self._rows[at])
        return next(self._columns.take(self._rows[[at]]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __reduce__(self) -> tuple[Any, ...]:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, PLAN, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
            out.write_table(_as_table(self))
        return _unpickled, (sink.getvalue().to_pybytes(),)


def _unpickled(data: bytes) -> list[Piece]:
    return [Piece(**row) for row in pa.ipc.open_stream(data).read_all().to_pylist()]


def _as_table(pieces: Iterable[Piece]) -> pa.Table:
    return pa.Table.from_pylist([vars(piece) for piece in pieces], schema=PLAN)


class Parts(Mapping[int, Pieces]):
    """The pieces of every part, from number 0 to the last; parts whose files are gone have none."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns
        parts = columns.parts()
        order = np.argsort(parts, kind="stable")
        self._order = order.astype(np.uint32) if len(order) < 1 << 32 else order
        last = int(parts.max()) if len(parts) else -1
        self._starts = np.searchsorted(parts, np.arange(last + 2), sorter=order)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __getitem__(self, number: int) -> Pieces:
        if not 0 <= number < len(self):
            raise KeyError(number)
        return Pieces(self._columns, self._order[self._starts[number] : self._starts[number + 1]].astype(np.int64))


def _hash(*values: str | int) -> bytes:
    return hashlib.blake2b("\0".join(map(str, values)).encode(), digest_size=16).digest()


class _KnownPiece(NamedTuple):
    part: int
    start: int
    end: int
    is_stretch: bool
    file_number: int
    rule: str


class _Known:
    """The pieces of an earlier plan, by file: of its name, and of what says that it changed, there are digests only."""

    def __init__(self, path: Path) -> None:
        try:
            self._read(path)
        except (FileNotFoundError, DamagedFile):
            # First run, or a damaged plan: files are planned anew.
            self._take([], [], [], {})
            self.lines = hashlib.blake2b()

    def _read(self, path: Path) -> None:
        names, stamps, places = [], [], []
        special: dict[int, tuple[_Cut, str]] = {}
        at = 0
        self.lines = hashlib.blake2b()
        with files.open_parquet(path) as plan:
            if plan.schema_arrow.names != PLAN.names:
                raise pa.ArrowInvalid("not a plan of this version")
            for batch in plan.iter_batches(_ROWS, use_threads=False):
                names.append(_digests(_rows(batch, "source", "relative")))
                stamps.append(_digests(_rows(batch, "size", "stamp", "fmt"))[:, 0].copy())
                places.append(np.stack([batch["part"].to_numpy(), batch["file_number"].to_numpy()], axis=1))
                for row, (start, end, is_stretch, rule) in enumerate(_rows(batch, "start", "end", "is_stretch", "rule"), at):
                    if end >= 0 or rule:
                        special[row] = (_Cut(start, end, is_stretch), rule)
                at += batch.num_rows
                self.lines.update(_lines(_rows(batch, *PLAN.names)))
        self._take(names, stamps, places, special)

    def _take(
        self,
        names: list[NDArray[np.uint64]],
        stamps: list[NDArray[np.uint64]],
        places: list[NDArray[np.int32]],
        special: dict[int, tuple[_Cut, str]],
    ) -> None:
        """Sort by digest: what is read in batches is let go as soon as it is joined."""
        joined = np.concatenate([np.zeros((0, 2), np.uint64), *names])
        names.clear()
        order = np.argsort(joined[:, 0], kind="stable")  # pieces of a file stay in order
        self._names = joined[order]
        self._stamps = np.concatenate([np.zeros(0, np.uint64), *stamps])[order]
        self._places = np.concatenate([np.zeros((0, 2), np.int32), *places])[order]
        self._special = {row: special[was] for row, was in enumerate(order.tolist()) if was in special} if special else {}
        last_part, last_file = self._places.max(axis=0).tolist() if len(order) else (-1, -1)
        self.next_part, self.next_file = last_part + 1, last_file + 1

    def find(self, listed: Sequence[tuple[Source, RawFile, str]]) -> Iterator[tuple[bool, list[_KnownPiece]]]:
        """For each (source, file, format) whether it is what it was in the earlier plan, and its pieces there."""
        names = _digests((source.name, raw.relative) for source, raw, _ in listed)
        stamps = _digests((raw.size, raw.stamp, fmt) for _, raw, fmt in listed)[:, 0]
        firsts = np.searchsorted(self._names[:, 0], names[:, 0]).tolist()
        lasts = np.searchsorted(self._names[:, 0], names[:, 0], "right").tolist()
        for first, last, name, stamp in zip(firsts, lasts, names[:, 1].tolist(), stamps.tolist(), strict=True):
            rows = [row for row in range(first, last) if self._names.item(row, 1) == name]
            yield bool(rows) and self._stamps.item(rows[0]) == stamp, [self._piece(row) for row in rows]

    def _piece(self, row: int) -> _KnownPiece:
        cut, rule = self._special.get(row, (_WHOLE, ""))
        return _KnownPiece(self._places.item(row, 0), *cut, self._places.item(row, 1), rule)


def _rows(batch: pa.RecordBatch, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch[name].to_pylist() for name in names), strict=True)


def _digests(rows: Iterable[tuple[str | int, ...]]) -> NDArray[np.uint64]:
    """Two numbers of 64 bits for each row."""
    return np.frombuffer(b"".join(_hash(*row) for row in rows), np.uint64).reshape(-1, 2)


def _lines(rows: Iterable[tuple[Any, ...]]) -> bytes:
    return b"".join(map(orjson.dumps, rows))


class _Planner:
    """Assigns raw files to parts."""

    def __init__(self, known: _Known, part_bytes: int, limits: Limits, lineage: Path) -> None:
        self._known = known
        self._limits = limits
        self._lineage = lineage
        self._next_part = known.next_part
        self._next_file = known.next_file
        self._part_bytes = part_bytes
        self._open: tuple[int, int] | None = None  # (part, bytes) that small files are packed into
        self._source = ""
        self.columns = _Columns()
        self.lines = hashlib.blake2b()
        self.stretches: set[str] = set()

    def add_all(self, listed: Iterable[tuple[Source, RawFile]]) -> None:
        """Take files in, in their order."""
        waiting = iter(listed)
        while some := [(source, raw, format_in(source, raw.relative)) for source, raw in islice(waiting, _ROWS)]:
            lines = []
            for (source, raw, fmt), (is_known, known) in zip(some, self._known.find(some), strict=True):
                if source.name != self._source:
                    self._open, self._source = None, source.name
                for piece in self._pieces(source, raw, fmt, known, is_known=is_known):
                    self.columns.add(piece)
                    lines.append(tuple(vars(piece).values()))
                    if piece.is_stretch:
                        self.stretches.add(piece.extent(self._lineage).uri)
            self.lines.update(_lines(lines))
        self.columns.close()

    def _pieces(self, source: Source, raw: RawFile, fmt: str, known: list[_KnownPiece], *, is_known: bool) -> Iterator[Piece]:
        compression = compression_of(raw.relative)

        def piece(part: int, start: int, end: int, is_stretch: bool, file_number: int, rule: str) -> Piece:
            return Piece(
                part,
                source.name,
                raw.relative,
                raw.uri,
                raw.size,
                raw.stamp,
                fmt,
                compression,
                start,
                end,
                is_stretch,
                file_number,
                rule,
            )

        again = [piece(*one) for one in known]
        if is_known and all(is_there(one.extent(self._lineage).uri) for one in again if one.is_stretch):
            yield from again
            return
        rule = raw.rule
        number = known[0].file_number if known else self._next_file
        self._next_file += 0 if known else 1
        whole = Extent(raw.uri, raw.size, fmt, compression, 0, -1)
        cuts = [whole]
        try:
            if not rule and raw.size > self._part_bytes // 8:  # smaller ones are never cut
                cuts = extents(whole, source.query, self._part_bytes, self._limits, _stretches(self._lineage, number))
        except DocumentError as error:
            # What is only broken is left to its task, which keeps what can be read.
            rule = error.rule if error.rule.startswith("ingest.max_") else ""
        if is_known and [(cut.start, cut.end) for cut in cuts] == [(one.start, one.end) for one in known]:
            yield from again  # only its stretches were gone
            return
        is_whole = len(cuts) == 1
        stays = is_whole and known and known[0].end < 0 and raw.size <= self._part_bytes
        for cut in cuts:
            if stays:
                part = known[0].part
            elif is_whole:
                part = self._place(raw.size * (_PACKED_RATIO if compression or fmt in ARCHIVES else 1))
            else:
                part, self._next_part = self._next_part, self._next_part + 1
            yield piece(part, cut.start, cut.end, cut.uri != raw.uri, number, rule)

    def _place(self, size: int) -> int:
        if self._open is None or self._open[1] + size > self._part_bytes:
            self._open = (self._next_part, 0)
            self._next_part += 1
        part, filled = self._open
        self._open = (part, filled + size)
        return part


def assign(listed: Iterable[tuple[Source, RawFile]], part_bytes: int, limits: Limits, lineage: Path) -> Parts:
    """Pieces of these files by part; remembered in the lineage folder so that a file's part is fixed when it is first seen."""
    path = files.make_private(lineage) / f"plan-{part_bytes}.parquet"
    known = _Known(path)
    planner = _Planner(known, part_bytes, limits, lineage)
    planner.add_all(listed)
    columns = planner.columns
    if planner.lines.digest() != known.lines.digest():
        with files.parquet(path, PLAN) as (writer, _):
            for at in range(0, len(columns), _ROWS):
                some = columns.take(np.arange(at, min(at + _ROWS, len(columns))))
                writer.write_table(_as_table(some), row_group_size=_ROW_GROUP)
    for stretch in lineage.glob("unpacked/*/*"):
        if str(stretch) not in planner.stretches:
            files.remove(stretch)
    return Parts(columns)


class Weights:
    """Bytes of raw files that each part stands for, about: of a file in pieces, its share of the lines' bytes, rows, members."""

    def __init__(self) -> None:
        self._whole: dict[int, int] = {}
        self._cut: dict[int, list[Piece]] = {}
        self._last_ends: dict[int, int] = {}

    def add(self, number: int, pieces: Iterable[Piece]) -> None:
        """Take a part in: what a piece weighs is known when all of its file are there."""
        self._whole[number] = 0
        for piece in pieces:
            if piece.end < 0:
                self._whole[number] += piece.size
            else:
                self._cut.setdefault(number, []).append(piece)
                self._last_ends[piece.file_number] = max(piece.end, self._last_ends.get(piece.file_number, 0))

    def of(self, number: int) -> int:
        """What a part weighs."""
        return self._whole[number] + sum(
            piece.size * (piece.end - piece.start) // self._last_ends[piece.file_number] for piece in self._cut.get(number, ())
        )
