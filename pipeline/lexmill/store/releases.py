"""Releases on disk: dated folders that never change, marks of those whose data is gone, and ``latest.json``, written last.

::

    releases/2026-11-30-0123456789abcdef/    day of publication and the manifest's digest
        manifest.json                        what it is made of; the last file: without it the folder is no release
        tokens/<window>/<set>-shard-….parquet
        text/<set>-part-….parquet
        DATACARD.md  DATACARD.zh.md  croissant.json  mix.json
        report.html  run.json                what was made of what, for people; what the publishing command took
        evidence/                            tables, figures and clauses for an audit, and index.html of all of them
        SHA256SUMS                           every file but itself, as ``sha256sum -c`` reads it
        withdrawn.json                       only where the data files were deleted: why, and what came after
    releases/latest.json                     the newest release that may be read
"""

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from lexmill.errors import InputError
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
WITHDRAWN = "withdrawn.json"
PUBLIC = 0o644
IMMUTABLE = 0o444  # what is published is never changed in place


class _File(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # what pydantic reads
    path: str
    sha256: str
    bytes: int
    rows: int


class _Shard(_File):
    seq_len: int | None


class _Vocabulary(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    sha256: str
    pad_id: int


class _Window(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    seq_len: int | None


class _Set(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    set: str
    stages: dict[str, dict[str, Any]]
    mix: dict[str, Any]
    sources: dict[str, Any]
    tokens: dict[str, int]


class _Body(TypedDict):
    """The fields of a manifest that others count on; it has more."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
    release: str
    lexmill: str
    parent: str | None
    tokenizer: _Vocabulary
    documents: int
    tokens: dict[str, int]
    windows: list[_Window]
    sets: Annotated[list[_Set], Field(min_length=1)]
    shards: list[_Shard]
    text: list[_File]


class Mark(TypedDict):
    """``withdrawn.json``: why data files were deleted, the release that came after, and their paths."""

    why: str
    successor: str | None
    deleted: list[str]


_BODY = TypeAdapter(_Body)
_MARK = TypeAdapter(Mark)


@dataclass(frozen=True)
class DataFile:
    """A data file of a release: where its bytes are now, and its manifest entry (``path``, ``sha256``, ``bytes``, ``rows`` …)."""

    source: Path
    entry: Mapping[str, Any]


def published_on(folder: Path) -> str:
    """The day of publication (ISO 8601) that a release's folder is named by."""
    return folder.name[: len("2026-11-30")]


@dataclass(frozen=True)
class Releases:
    """The folder ``releases`` of a workspace."""

    root: Path

    def folders(self) -> list[Path]:
        """Every release, oldest first."""
        return sorted(path.parent for path in self.root.glob(f"[!.]*/{MANIFEST}"))

    def unfinished(self) -> list[Path]:
        """Folders whose publication was cut before its end: they are no releases, and hold some of one's files."""
        whole = set(self.folders())
        return sorted(path for path in self.root.glob("*") if path.is_dir() and path not in whole)

    def find(self, release: str) -> Path | None:
        """The folder of a release by its id or its folder's name."""
        for folder in self.folders():
            if folder.name == release or folder.name.endswith(f"-{release}"):
                return folder
        return None

    def latest(self) -> Path | None:
        """The folder that ``latest.json`` names; None before the first release. Raises DamagedFile where it names none."""
        pointer = files.read_json(self.root / "latest.json")
        if pointer is None:
            return None
        if not (isinstance(pointer, dict) and isinstance(pointer.get("release"), str)):
            raise DamagedFile('releases/latest.json is damaged (it must be {"release": the name of a folder})')
        return self.root / pointer["release"]

    def point_to(self, folder: Path) -> None:
        """Let ``latest.json`` name this release."""
        pointer = {"release": folder.name}
        if files.read_json(self.root / "latest.json") != pointer:
            files.write_json(self.root / "latest.json", pointer, PUBLIC)

    def is_whole(self, folder: Path, body: Mapping[str, Any]) -> bool:
        """Whether the release stands there with this manifest and all its files in full length."""
        try:
            present = files.listing(folder)
            if files.read_json(folder / MANIFEST) != body or not present.keys() >= {SUMS, *read_sums(folder)}:
                return False
            return all(present[entry["path"]] == entry["bytes"] for entry in [*body["shards"], *body["text"]])
        except (DamagedFile, KeyError):
            return False

    def publish(
        self, body: Mapping[str, Any], data: Sequence[DataFile], pages: Mapping[str, bytes], today: datetime.date
    ) -> Path:
        """Put a release there and return its folder, which is none before its manifest, the last file; a whole one stays.

        ``pages`` are the further files by name. Raises DamagedFile where a data file is not what its entry says.
        """
        folder = self.find(str(body["release"])) or self.root / f"{today.isoformat()}-{body['release']}"
        if self.is_whole(folder, body):
            return folder
        # Half a release that nobody will finish holds data for nothing.
        for half in self.unfinished():
            files.remove(half)
        # What stands here is half of it, or damaged: the name is a digest of what it holds.
        files.remove(folder / MANIFEST)
        files.remove(folder)
        sums = {}
        for one in data:
            target = folder / str(one.entry["path"])
            # The file may be linked, not copied; the folder that it came from keeps it private there.
            files.copy(one.source, target)
            if file_digest(target) != one.entry["sha256"]:
                raise DamagedFile(f"{one.source.parent.name}/{one.source.name} is damaged (its sha256 is not the recorded one)")
            files.protect(target, IMMUTABLE)
            sums[str(one.entry["path"])] = str(one.entry["sha256"])
        for name, content in pages.items():
            sums[name] = files.write_bytes(folder / name, content, IMMUTABLE)
        manifest = files.json_bytes(body)
        sums[MANIFEST] = hashlib.sha256(manifest).hexdigest()
        lines = "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(sums.items()))
        files.write_bytes(folder / SUMS, lines.encode(), IMMUTABLE)
        files.write_bytes(folder / MANIFEST, manifest, IMMUTABLE)
        return folder


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release's folder; raises InputError where there is none, DamagedFile where it is cut or garbled."""
    found = files.read_shaped(folder / MANIFEST, _BODY)
    if found is None:
        raise InputError(f"{folder}: is no release (it has no {MANIFEST}); give the folder of a release")
    return dict(found)


def read_mark(folder: Path) -> "Mark | None":
    """What ``withdrawn.json`` says of a release's folder; None where it lost no data. Raises DamagedFile."""
    return files.read_shaped(folder / WITHDRAWN, _MARK)


def read_sums(folder: Path) -> dict[str, str]:
    """sha256 by file name, as ``SHA256SUMS`` has them; raises DamagedFile for a line that is none."""
    found = {}
    try:
        text = files.read_bytes(folder / SUMS).decode()
    except (OSError, UnicodeDecodeError):
        raise DamagedFile(f"{SUMS} is missing or damaged") from None
    for line in text.splitlines():
        sha256, gap, name = line.partition("  ")
        if not gap or len(sha256) != 64:
            raise DamagedFile(f"{SUMS} is damaged")
        found[name] = sha256
    return found
