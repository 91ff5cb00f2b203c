"""What earlier nights read: a row a raw file, a row a document, and the nights themselves. All of it is private.

::

    lineage/nights.json               nights that are done, the release that stands, the night that is under way
    lineage/files.parquet             every raw file that was read: size, stamp, sha256, and the night it was last read in
    lineage/<night>/documents.parquet every document of that night: file, doc_id, a digest of its text
    lineage/<night>/notes.json        what it took back

A night commits by writing ``files.parquet``, then ``nights.json``; what was written before is written again if it was killed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from lexmill.store import files
from lexmill.store.files import DamagedFile

_FILES = pa.schema(
    [
        ("source", pa.string()),
        ("relative", pa.string()),
        ("size", pa.int64()),
        ("stamp", pa.string()),
        ("sha256", pa.string()),
        ("night", pa.string()),
    ]
)
_DOCUMENTS = pa.schema([("source", pa.string()), ("relative", pa.string()), ("doc_id", pa.string()), ("digest", pa.binary(16))])


@dataclass(frozen=True)
class KnownFile:
    """A raw file as it was last read; ``night`` names the run that read it."""

    source: str
    relative: str
    size: int
    stamp: str
    sha256: str
    night: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by."""
        return (self.source, self.relative)


@dataclass(frozen=True)
class Nights:
    """The nights that are done, in order; the release that they made (its id); and the night under way, if one was stopped."""

    done: tuple[str, ...] = ()
    release: str | None = None
    under_way: str | None = None


@dataclass(frozen=True)
class Notes:
    """What a night under way took out of the index (doc_id → why), and what that had held down."""

    taken_back: dict[str, str]
    freed: tuple[str, ...]


_NIGHTS = TypeAdapter(Nights)
_NOTES = TypeAdapter(Notes)


@dataclass(frozen=True)
class History:
    """The history of a workspace, in its folder ``lineage``."""

    folder: Path

    def nights(self) -> Nights:
        """The nights until now; raises DamagedFile where they cannot be read."""
        return files.read_shaped(self.folder / "nights.json", _NIGHTS) or Nights()

    def write_nights(self, nights: Nights) -> None:
        """Let these be the nights."""
        files.write_json(self.folder / "nights.json", asdict(nights))

    def notes(self, night: str) -> Notes:
        """The notes of a night; empty ones where it has none."""
        return files.read_shaped(self.folder / night / "notes.json", _NOTES) or Notes({}, ())

    def write_notes(self, night: str, notes: Notes) -> None:
        """Note it."""
        files.write_json(self.folder / night / "notes.json", asdict(notes))

    def known_files(self) -> dict[tuple[str, str], KnownFile]:
        """Every raw file that was read and not withdrawn, by source and path."""
        path = self.folder / "files.parquet"
        if not path.exists():
            return {}
        try:
            rows = files.read_columns(path, schema=_FILES).to_pylist()
        except DamagedFile:
            raise DamagedFile("lineage/files.parquet is damaged: restore it from a backup, or begin a new workspace") from None
        return {known.key: known for known in (KnownFile(**row) for row in rows)}

    def write_files(self, known: Iterable[KnownFile]) -> None:
        """Let these be the files that were read."""
        rows = [asdict(one) for one in sorted(known, key=lambda one: one.key)]
        files.write_table(self.folder / "files.parquet", pa.Table.from_pylist(rows, schema=_FILES))

    def write_documents(self, night: str, rows: list[dict[str, Any]]) -> None:
        """Remember the documents of a night: ``source``, ``relative``, ``doc_id``, ``digest`` of its text (16 bytes)."""
        rows = sorted(rows, key=lambda row: (row["source"], row["relative"], row["doc_id"]))
        files.write_table(self.folder / night / "documents.parquet", pa.Table.from_pylist(rows, schema=_DOCUMENTS))

    def documents(self, night: str) -> pa.Table:
        """The documents of a night."""
        path = self.folder / night / "documents.parquet"
        return files.read_columns(path, schema=_DOCUMENTS) if path.exists() else _DOCUMENTS.empty_table()

    def documents_of(self, known: Iterable[KnownFile]) -> dict[str, bytes]:
        """Digests of the texts of the documents of these files, by doc_id."""
        wanted: dict[str, set[tuple[str, str]]] = {}
        for one in known:
            wanted.setdefault(one.night, set()).add(one.key)
        found: dict[str, bytes] = {}
        for night, keys in wanted.items():
            table = self.documents(night)
            table = table.filter(pc.is_in(table["relative"], pa.array([relative for _, relative in keys], pa.string())))
            for row in table.to_pylist():
                if (row["source"], row["relative"]) in keys:
                    found[row["doc_id"]] = row["digest"]
        return found

    def files_of(self, doc_ids: Iterable[str], known: Mapping[tuple[str, str], KnownFile]) -> list[KnownFile]:
        """The files that hold these documents, as they were last read."""
        wanted = pa.array(sorted(set(doc_ids)), pa.string())
        found: dict[tuple[str, str], KnownFile] = {}
        for night in sorted({one.night for one in known.values()}):
            table = self.documents(night)
            for row in table.filter(pc.is_in(table["doc_id"], wanted)).to_pylist():
                one = known.get((row["source"], row["relative"]))
                if one is not None and one.night == night:
                    found[one.key] = one
        return [found[key] for key in sorted(found)]

    def forget(self, doc_ids: Iterable[str]) -> None:
        """Take documents out of what every night remembers, and out of its lineage."""
        gone = pa.array(sorted(set(doc_ids)), pa.string())
        for path in [*self.folder.glob("*/documents.parquet"), *self.folder.glob("*/part-*.parquet")]:
            table = files.read_columns(path)
            kept = table.filter(pc.invert(pc.is_in(table["doc_id"], gone)))
            if kept.num_rows < table.num_rows:
                files.write_table(path, kept)
