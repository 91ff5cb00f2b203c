"""The history that a night is compared to: sorted runs of hashes, the documents they stand for, and what those hold down.

::

    index/manifest.json                        written last: runs in order of arrival, segments, removals
    index/documents/<run>-<digest>/part-N      what the run kept, with comparison copies: INDEXED, a row group of 256
    index/held/<run>-<digest>.parquet          what left as a copy, and of whom: HELD
    index/lines.parquet                        how often lines recurred when the first run was added; it stays as it is
    index/segments/<digest>/band-NN.parquet    ENTRY sorted by hash, key, ordinal; one file a band

Every document has a number over all runs in order of arrival. A run is added whole or not at all, and only
once.
Segments are merged like a log-structured merge tree (O'Neil et al. 1996): ``FAN`` of one level become one of the next, so that
the number of segments grows with the logarithm of the number of nights. The folder holds raw text and is private.

``Index(workspace.index)`` opens it; ``view(run)`` is what a run is compared to (everything before that run), ``View.probe`` finds
entries and ``View.documents`` what they stand for; ``add`` takes in a run, ``remove`` takes documents out for good.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NotRequired

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from lexmill.errors import ConfigError
from lexmill.schema import SIGNATURE
from lexmill.store import files
from lexmill.store.fingerprint import digest, file_digest

Array = np.ndarray[Any, np.dtype[Any]]

FAN: Final = 8
# Rows that one step of a merge holds: 100 MB with their sort.
_MERGED_AT_ONCE: Final = 2_000_000
_ROW_GROUP: Final = 1 << 16

ENTRY = pa.schema([("hash", pa.uint64()), ("key", pa.uint64()), ("ordinal", pa.int64())])
# ``family``: the ordinal of the first of its template family.
INDEXED = pa.schema([("ordinal", pa.int64()), ("family", pa.int64()), ("text", pa.string()), *SIGNATURE])
HELD = pa.schema([("doc_id", pa.string()), ("twin", pa.string()), ("rule", pa.string())])

# Sorted 64-bit hashes: differences take two thirds of the space, and zstd finds nothing more.
ENTRY_ENCODING: Final = {"hash": "DELTA_BINARY_PACKED", "key": "PLAIN", "ordinal": "PLAIN"}
ENTRY_COMPRESSION: Final = {"hash": "none", "key": "zstd", "ordinal": "zstd"}


@dataclass(frozen=True)
class Entries:
    """Columns of ENTRY."""

    hashes: Array
    keys: Array
    ordinals: Array

    @staticmethod
    def none() -> "Entries":
        """No entries."""
        return Entries(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64))

    @staticmethod
    def joined(found: Sequence["Entries"]) -> "Entries":
        """All entries, in the order given."""
        return Entries(
            np.concatenate([entries.hashes for entries in found]),
            np.concatenate([entries.keys for entries in found]),
            np.concatenate([entries.ordinals for entries in found]),
        )

    def sorted(self) -> "Entries":
        """The same entries by hash, key, ordinal."""
        return self.where(np.lexsort((self.ordinals, self.keys, self.hashes)))

    def by_ordinal(self) -> "Entries":
        """The same entries by ordinal."""
        return self.where(np.argsort(self.ordinals, kind="stable"))

    def where(self, rows: Array) -> "Entries":
        """Some of the entries: a mask, or row numbers."""
        return Entries(self.hashes[rows], self.keys[rows], self.ordinals[rows])

    def before(self, limit: int) -> "Entries":
        """The same entries with ordinals less by ``limit``."""
        return Entries(self.hashes, self.keys, self.ordinals - limit)

    def table(self) -> pa.Table:
        """As ENTRY."""
        return pa.table([self.hashes, self.keys, self.ordinals], schema=ENTRY)


@dataclass(frozen=True)
class View:
    """What a run is compared to: all documents with a number below ``limit``. It is small, and goes to workers as it is."""

    root: Path
    limit: int
    segments: tuple[str, ...]
    parts: tuple[tuple[str, int, int], ...]  # file, and the range of ordinals that it holds
    fingerprint: str
    lines: tuple[str, str] | None = None  # the frozen table of recurring lines: file, sha256

    @property
    def ordinals(self) -> tuple[int, int]:
        """The half-open range of its documents' ordinals as the run that is compared to them counts: negative ones."""
        return min(low for _, low, _ in self.parts) - self.limit, max(high for *_, high in self.parts) - self.limit

    def probe(self, band: int, hashes: Array) -> Entries:
        """The entries of ``band`` whose hash is one of ``hashes`` (uint64, sorted, distinct), in no order."""
        found = [
            part
            for segment in self.segments
            for part in _probe(self.root / "segments" / segment / band_name(band), hashes, self.limit)
        ]
        return Entries.joined(found) if found else Entries.none()

    def documents(self, ordinals: Array, columns: Sequence[str]) -> pa.Table:
        """Columns of INDEXED of some documents (int64, sorted, distinct), by ordinal."""
        tables = [INDEXED.empty_table().select(columns)]
        for name, low, high in self.parts:
            wanted = ordinals[(ordinals >= low) & (ordinals < high)]
            if wanted.size:
                tables.append(_rows(self.root / "documents" / name, wanted, columns))
        return pa.concat_tables(tables)


NO_VIEW: Final = View(Path(), 0, (), (), "")


def band_name(band: int) -> str:
    """The file of one band in a segment."""
    return f"band-{band:02d}.parquet"


def _row_groups(file: pq.ParquetFile) -> Iterable[tuple[int, int, int]]:
    """The row groups that hold anything, with their least and greatest hash."""
    for number in range(file.num_row_groups):
        about = file.metadata.row_group(number)
        if about.num_rows:
            yield number, about.column(0).statistics.min, about.column(0).statistics.max


def _probe(path: Path, hashes: Array, limit: int) -> Iterable[Entries]:
    file = files.parquet_file(path)
    for number, least, most in _row_groups(file):
        low, high = np.searchsorted(hashes, np.array([least, most], np.uint64), "left")
        own = hashes[low : high + 1]
        if not own.size:
            continue
        values = file.read_row_group(number, columns=["hash"], use_threads=False)["hash"].to_numpy()
        starts, ends = np.searchsorted(values, own, "left"), np.searchsorted(values, own, "right")
        lengths = ends - starts
        if not lengths.any():
            continue
        at = np.repeat(starts - np.concatenate([[0], lengths.cumsum()[:-1]]), lengths) + np.arange(lengths.sum())
        rest = file.read_row_group(number, columns=["key", "ordinal"], use_threads=False)
        ordinals = rest["ordinal"].to_numpy()[at]
        mine = ordinals < limit
        yield Entries(values[at][mine], rest["key"].to_numpy()[at][mine], ordinals[mine])


def _rows(path: Path, ordinals: Array, columns: Sequence[str]) -> pa.Table:
    file = files.parquet_file(path)
    at = np.flatnonzero(np.isin(file.read(columns=["ordinal"], use_threads=False)["ordinal"].to_numpy(), ordinals))
    tables, first = [INDEXED.empty_table().select(columns)], 0
    for number in range(file.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        own = at[(at >= first) & (at < first + rows)] - first
        if own.size:
            tables.append(file.read_row_group(number, columns=list(columns), use_threads=False).take(pa.array(own)))
        first += rows
    return pa.concat_tables(tables)


@dataclass(frozen=True)
class NewRun:
    """A run to be added: its files as they lie in the run's work, and the ordinals it takes: ``first`` to ``first + rows``."""

    name: str
    first: int
    rows: int
    documents: tuple[tuple[Path, str, int, int], ...]  # file, sha256, range of ordinals
    bands: tuple[tuple[Path, str], ...]  # file, sha256
    held: tuple[Path, str]
    lines: tuple[Path, str] | None = None  # the first run that has one freezes it

    @property
    def digest(self) -> str:
        """What the run is made of."""
        shas = [[sha256 for _, sha256, *_ in self.documents], [sha256 for _, sha256 in self.bands], self.held[1]]
        return digest(self.first, self.rows, shas)


class _Path(TypedDict):
    path: str
    sha256: str


class _Documents(_Path):
    low: int
    high: int


class _Run(TypedDict):
    name: str
    first: int
    rows: int
    digest: str
    documents: list[_Documents]
    held: _Path


class _Segment(TypedDict):
    id: str
    level: int
    first: int
    last: int


class _Manifest(TypedDict):
    runs: list[_Run]
    segments: list[_Segment]
    removals: list[str]
    lines: NotRequired[_Path]


_MANIFEST = TypeAdapter(_Manifest)


@dataclass(frozen=True)
class Removal:
    """What ``remove`` did: documents that were in the index and are no more, and those that they had held down."""

    removed: tuple[str, ...]
    freed: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """The history of a workspace."""

    root: Path

    def manifest(self) -> dict[str, Any]:
        """The manifest; of no runs where nothing was added yet."""
        found = files.read_shaped(self.root / "manifest.json", _MANIFEST)
        return dict(found) if found else {"runs": [], "segments": [], "removals": []}

    def view(self, run: str) -> View:
        """All documents that arrived before those of ``run``."""
        manifest = self.manifest()
        before = _before(manifest["runs"], run)
        limit = before[-1]["first"] + before[-1]["rows"] if before else 0
        return View(
            self.root,
            limit,
            tuple(segment["id"] for segment in manifest["segments"] if segment["first"] < limit),
            tuple((part["path"], part["low"], part["high"]) for entry in before for part in entry["documents"]),
            digest([(entry["name"], entry["digest"]) for entry in before], manifest["removals"]),
            (lines["path"], lines["sha256"]) if before and (lines := manifest.get("lines")) else None,
        )

    def holds(self, run: NewRun) -> bool:
        """Whether this very run is in the index."""
        return any(entry["name"] == run.name and entry["digest"] == run.digest for entry in self.manifest()["runs"])

    def add(self, run: NewRun) -> None:
        """Take in a run, whole or not at all; one that is there stays, and the last one is replaced if it changed.

        Raises ConfigError where later runs were compared to another version of this one.
        """
        if self.holds(run):
            return
        files.make_private(self.root)
        manifest = self.manifest()
        if any(entry["name"] == run.name for entry in manifest["runs"]):
            if manifest["runs"][-1]["name"] != run.name:
                raise ConfigError(
                    f"run {run.name!r} changed after later runs had been compared to it; give the new run a name of its own"
                )
            manifest = self._without(manifest, manifest["runs"][-1])
        key = run.digest[:16]
        parts = []
        for number, (path, sha256, low, high) in enumerate(run.documents):
            name = f"{run.name}-{key}/part-{number:05d}.parquet"
            files.copy(path, self.root / "documents" / name)
            parts.append({"path": name, "low": low, "high": high, "sha256": sha256})
        held = f"{run.name}-{key}.parquet"
        files.copy(run.held[0], self.root / "held" / held)
        for band, (path, _) in enumerate(run.bands):
            files.copy(path, self.root / "segments" / key / band_name(band))
        manifest["runs"].append(
            {
                "name": run.name,
                "first": run.first,
                "rows": run.rows,
                "digest": run.digest,
                "documents": parts,
                "held": {"path": held, "sha256": run.held[1]},
            }
        )
        if run.lines and not manifest.get("lines"):
            files.copy(run.lines[0], self.root / "lines.parquet")
            manifest["lines"] = {"path": "lines.parquet", "sha256": run.lines[1]}
        manifest["segments"].append({"id": key, "level": 0, "first": run.first, "last": run.first + run.rows})
        self._write(self._merged(manifest))

    def remove(self, doc_ids: Collection[str]) -> Removal:
        """Take documents out of every file, for good, and name those that had left as their copies.

        Those come in again when their files are read again: nothing in the index stands in their way any more.
        """
        manifest = self.manifest()
        wanted = pa.array(sorted(doc_ids), pa.string())
        removed: dict[str, int] = {}
        freed: set[str] = set()
        for entry in manifest["runs"]:
            for part in entry["documents"]:
                found = files.read_columns(self.root / "documents" / part["path"], ["doc_id", "ordinal"])
                found = found.filter(pc.is_in(found["doc_id"], wanted))
                removed |= dict(zip(found["doc_id"].to_pylist(), found["ordinal"].to_pylist(), strict=True))
            held = files.read_columns(self.root / "held" / entry["held"]["path"])
            freed |= set(held.filter(pc.is_in(held["twin"], wanted))["doc_id"].to_pylist())
        ordinals = np.array(sorted(removed.values()), np.int64)
        for entry in manifest["runs"]:
            entry["documents"] = [self._strip_documents(part, ordinals) for part in entry["documents"]]
            entry["held"] = self._strip_held(entry["held"], wanted)
        manifest["segments"] = [self._strip_segment(segment, ordinals) for segment in manifest["segments"]]
        if removed or freed:
            manifest["removals"].append(digest(sorted(removed)))
            self._write(manifest)
        return Removal(tuple(sorted(removed)), tuple(sorted(freed - set(removed))))

    def _without(self, manifest: dict[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest as it was before the last run."""
        ordinals = np.arange(run["first"], run["first"] + run["rows"], dtype=np.int64)
        segments = [segment for segment in manifest["segments"] if segment["first"] < run["first"] or not run["rows"]]
        segments = [segment for segment in segments if segment["id"] != run["digest"][:16]]
        return {
            **manifest,
            "runs": manifest["runs"][:-1],
            "segments": [
                {**self._strip_segment(segment, ordinals), "last": min(segment["last"], run["first"])} for segment in segments
            ],
        }

    def _strip_documents(self, part: dict[str, Any], ordinals: Array) -> dict[str, Any]:
        if not ((ordinals >= part["low"]) & (ordinals < part["high"])).any():
            return part
        table = files.read_columns(self.root / "documents" / part["path"])
        stays = table.filter(pa.array(~np.isin(table["ordinal"].to_numpy(), ordinals)))
        if stays.num_rows == table.num_rows:
            return part
        name = _renamed(part["path"], digest(part["sha256"], ordinals.tolist()))
        sha256, _ = files.write_table(self.root / "documents" / name, stays, row_group_size=256)
        return {**part, "path": name, "sha256": sha256}

    def _strip_held(self, held: dict[str, Any], wanted: pa.Array) -> dict[str, Any]:
        table = files.read_columns(self.root / "held" / held["path"])
        away = pc.or_(pc.is_in(table["twin"], wanted), pc.is_in(table["doc_id"], wanted))
        if not pc.any(away).as_py():
            return held
        name = _renamed(held["path"], digest(held["sha256"], wanted.to_pylist()))
        sha256, _ = files.write_table(self.root / "held" / name, table.filter(pc.invert(away)))
        return {"path": name, "sha256": sha256}

    def _strip_segment(self, segment: dict[str, Any], ordinals: Array) -> dict[str, Any]:
        if not ((ordinals >= segment["first"]) & (ordinals < segment["last"])).any():
            return segment
        key = digest(segment["id"], ordinals.tolist())[:16]
        for path in sorted((self.root / "segments" / segment["id"]).glob("band-*.parquet")):
            write_merged([path], self.root / "segments" / key / path.name, ordinals)
        return {**segment, "id": key}

    def _merged(self, manifest: dict[str, Any]) -> dict[str, Any]:
        segments = list(manifest["segments"])
        for level in range(64):
            group = [segment for segment in segments if segment["level"] == level]
            if len(group) < FAN:
                continue
            key = digest([segment["id"] for segment in group])[:16]
            folders = [self.root / "segments" / segment["id"] for segment in group]
            for path in sorted(folders[0].glob("band-*.parquet")):
                write_merged([folder / path.name for folder in folders], self.root / "segments" / key / path.name)
            merged = {"id": key, "level": level + 1, "first": group[0]["first"], "last": group[-1]["last"]}
            segments = sorted([*(s for s in segments if s["level"] != level), merged], key=lambda s: s["first"])
        return {**manifest, "segments": segments}

    def _write(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, and remove what it does not name any more."""
        files.write_json(self.root / "manifest.json", manifest)
        named = {f"segments/{segment['id']}" for segment in manifest["segments"]}
        for run in manifest["runs"]:
            named.add(f"held/{run['held']['path']}")
            named |= {f"documents/{part['path']}" for part in run["documents"]}
        for path in [*self.root.glob("segments/*"), *self.root.glob("held/*"), *self.root.glob("documents/*/*")]:
            if path.relative_to(self.root).as_posix() not in named:
                files.remove(path)
        for folder in self.root.glob("documents/*"):
            if not any(folder.iterdir()):
                files.remove(folder)

    def damaged(self) -> list[str]:
        """Files whose content is not what the manifest says."""
        manifest = self.manifest()
        named = [(f"held/{run['held']['path']}", run["held"]["sha256"]) for run in manifest["runs"]]
        named += [(f"documents/{part['path']}", part["sha256"]) for run in manifest["runs"] for part in run["documents"]]
        return [name for name, sha256 in named if not (self.root / name).exists() or file_digest(self.root / name) != sha256]


def _before(runs: Sequence[dict[str, Any]], run: str) -> list[dict[str, Any]]:
    names = [entry["name"] for entry in runs]
    return list(runs[: names.index(run)] if run in names else runs)


def _renamed(path: str, key: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.split('.')[0]}.{key[:8]}.parquet"


def write_entries(path: Path, entries: Iterable[Entries]) -> str:
    """Write sorted entries, a batch at a time; returns the sha256 of the file."""
    with files.parquet(path, ENTRY, compression=ENTRY_COMPRESSION, encoding=ENTRY_ENCODING) as (writer, out):
        for batch in entries:
            writer.write_table(batch.table(), row_group_size=_ROW_GROUP)
    return out.sha256


def write_merged(sources: Sequence[Path], target: Path, without: Array | None = None) -> None:
    """Merge sorted files of ENTRY into one, range by range of hashes, and leave the entries of some ordinals out."""
    opened = [files.parquet_file(path) for path in sources]
    rows = sum(file.metadata.num_rows for file in opened)
    ranges = max(1, -(-rows // _MERGED_AT_ONCE))

    def batches() -> Iterable[Entries]:
        for number in range(ranges):
            low, high = (number << 64) // ranges, ((number + 1) << 64) // ranges - 1
            found = [part for file in opened for part in _between(file, low, high)]
            if not found:
                continue
            entries = Entries.joined(found).sorted()
            if without is not None:
                entries = entries.where(~np.isin(entries.ordinals, without))
            yield entries

    write_entries(target, batches())


def _between(file: pq.ParquetFile, low: int, high: int) -> Iterable[Entries]:
    """The entries whose hash lies from ``low`` to ``high``, the ends included."""
    for number, least, most in _row_groups(file):
        if most < low or least > high:
            continue
        table = file.read_row_group(number, use_threads=False)
        values = table["hash"].to_numpy()
        start = int(np.searchsorted(values, np.uint64(low), "left"))
        end = int(np.searchsorted(values, np.uint64(high), "right"))
        yield Entries(values[start:end], table["key"].to_numpy()[start:end], table["ordinal"].to_numpy()[start:end])
