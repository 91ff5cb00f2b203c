"""Archives (ZIP, tar, 7z): their members listed and read one by one in memory; a member's path is a name and never a place."""

import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal, NamedTuple

import py7zr
from py7zr.io import MemIO, Py7zBytesIO, Py7zIO, WriterFactory

from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.core.ingest.zipped import BROKEN, name_of, native_name, open_zip, read_member
from lexmill.errors import DocumentError


class Entry(NamedTuple):
    """A member as its archive lists it: ``number`` counts all entries; folders, links and a system's own files are skipped."""

    number: int
    name: str
    size: int
    is_skipped: bool


class Member(NamedTuple):
    """A member with its bytes, or with the rule why it has none."""

    name: str
    data: bytes
    rule: str | None


# What macOS and Windows leave in folders.
_SYSTEM_FOLDERS = frozenset({"__MACOSX", ".git", ".svn"})
_SYSTEM_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_BROKEN_TAR = (tarfile.TarError, *BROKEN)


def _is_systems_own(name: str) -> bool:
    *folders, file = name.split("/")
    return file.casefold() in _SYSTEM_FILES or file.startswith("._") or not _SYSTEM_FOLDERS.isdisjoint(folders)


class _Names:
    """Tells members of one name apart: the second ``a.txt`` is ``a.txt~2``."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def tell(self, name: str) -> str:
        number = self._seen[name] = self._seen.get(name, 0) + 1
        return name if number == 1 else f"{name}~{number}"


def _entry(number: int, name: str, size: int, has_content: bool, names: _Names) -> Entry:
    return Entry(number, names.tell(name), size, not has_content or _is_systems_own(name))


def list_members(file: IO[bytes], fmt: str, limits: Limits) -> list[Entry]:
    """All entries of an archive in its own order; raises DocumentError where it is broken, locked, or has too many."""
    if fmt == "7z":
        with _opened_7z(file, limits) as (_, entries):
            return entries
    return [entry for entry, _ in _entries(file, fmt, limits)]


def read_members(
    file: IO[bytes], fmt: str, start: int, end: int, limits: Limits, allowance: Allowance
) -> Iterator[Member | None]:
    """The members whose number lies in [start, end), and None for each that is skipped; ``end`` -1 stands for all.

    Each counts against the allowance when it is read. Raises DocumentError where the archive itself cannot be read any further.
    """
    end = limits.members if end < 0 else end
    if fmt == "7z":
        yield from _read_7z(file, start, end, limits, allowance)
        return
    for entry, content in _entries(file, fmt, limits):
        if not start <= entry.number < end:
            continue
        if entry.is_skipped:
            yield None
            continue
        if entry.size > limits.file:
            yield Member(entry.name, b"", "ingest.max_file_mb")
            continue
        allowance.take(entry.size)
        try:
            yield Member(entry.name, content.read(limits.file), None)
        except DocumentError as error:
            yield Member(entry.name, b"", error.rule)


class _Content:
    """How the bytes of a ZIP or tar member are read, where they are wanted."""

    def __init__(self, archive: Any, info: Any) -> None:
        self._archive = archive
        self._info = info

    def read(self, limit: int) -> bytes:
        if not isinstance(self._archive, tarfile.TarFile):
            return read_member(self._archive, self._info, limit)
        try:
            stream = self._archive.extractfile(self._info)
            data = stream.read() if stream is not None else b""
        except _BROKEN_TAR:
            raise DocumentError("ingest.broken_archive") from None
        if len(data) < self._info.size:
            raise DocumentError("ingest.broken_archive")
        return data


def _entries(file: IO[bytes], fmt: str, limits: Limits) -> Iterator[tuple[Entry, _Content]]:
    return _zip_entries(file, limits) if fmt == "zip" else _tar_entries(file, limits)


def _zip_entries(file: IO[bytes], limits: Limits) -> Iterator[tuple[Entry, _Content]]:
    names = _Names()
    with open_zip(file, limits.members) as archive:
        for index, info in enumerate(archive.infolist()):
            yield _entry(index, name_of(info), info.file_size, not info.is_dir(), names), _Content(archive, info)


class _ShortReads:
    """A file from which nobody reads much at once: a tar header may claim gigabytes for a name."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._limit = limit

    def read(self, size: int) -> bytes:
        if size > self._limit:
            raise tarfile.ReadError
        return self._file.read(size)

    def seek(self, offset: int) -> int:
        return self._file.seek(offset)

    def tell(self) -> int:
        return self._file.tell()


def _tar_entries(file: IO[bytes], limits: Limits) -> Iterator[tuple[Entry, _Content]]:
    names = _Names()
    mode: Literal["r:", "r|"] = "r:" if file.seekable() else "r|"
    short: Any = _ShortReads(file, max(limits.file, tarfile.RECORDSIZE))
    try:
        with tarfile.open(fileobj=short, mode=mode, encoding="utf-8", errors="surrogateescape") as archive:
            index = 0
            while (info := archive.next()) is not None:
                if index == limits.members:
                    raise DocumentError("ingest.max_members")
                name = native_name(info.name.encode("utf-8", "surrogateescape"))
                yield _entry(index, name, info.size, info.isreg(), names), _Content(archive, info)
                index += 1
                archive.members = []  # type: ignore[attr-defined]  # else the library keeps every header that it has read
    except _BROKEN_TAR:
        raise DocumentError("ingest.broken_archive") from None


@contextmanager
def _opened_7z(file: IO[bytes], limits: Limits) -> Iterator[tuple[py7zr.SevenZipFile, list[Entry]]]:
    try:
        with py7zr.SevenZipFile(file) as archive:
            if archive.needs_password():
                raise DocumentError("ingest.encrypted")
            if len(archive.files) > limits.members:
                raise DocumentError("ingest.max_members")
            names = _Names()
            entries = []
            for index, one in enumerate(archive.files):
                has_content = not (one.is_directory or one.is_symlink or one.is_junction or one.is_socket)
                name = one.filename.replace("\\", "/")
                entries.append(_entry(index, name, 0 if one.emptystream else one.uncompressed, has_content, names))
            yield archive, entries
    except py7zr.PasswordRequired:
        raise DocumentError("ingest.encrypted") from None
    except py7zr.UnsupportedCompressionMethodError:
        raise DocumentError("ingest.unsupported_archive") from None
    except DocumentError:
        raise
    except Exception:
        # The library's own exceptions are but a few of those that a damaged header brings about.
        raise DocumentError("ingest.broken_archive") from None


class _InMemory(WriterFactory):
    """Where the bytes of members go, by their number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[str, Py7zBytesIO] = {}

    def create(self, filename: str) -> Py7zIO:
        self._kept[filename] = Py7zBytesIO(filename, self._limit)
        return self._kept[filename]

    def take(self, index: int) -> bytes:
        kept = self._kept.pop(str(index), None)
        return kept.read() if kept is not None else b""


def _read_7z(file: IO[bytes], start: int, end: int, limits: Limits, allowance: Allowance) -> Iterator[Member | None]:
    with _opened_7z(file, limits) as (archive, entries):
        memory = _InMemory(limits.file)
        ids = {}
        for entry, one in zip(entries[start:end], list(archive.files)[start:end], strict=True):
            if not entry.is_skipped and entry.size <= limits.file:
                allowance.take(entry.size)
                ids[entry.number] = one.crc32
                # By id: the library's own extract() refuses names that escape, and renames those that are there twice.
                archive.worker.register_filelike(one.id, MemIO(str(entry.number), memory))
        # What is not wanted is unpacked on the way to what is.
        archive.worker.max_extract_size = allowance.most
        # One damaged member must not take the others with it: what came out is judged by its check sum.
        with suppress(Exception):
            archive.worker.extract(archive.fp, None, parallel=False)
        for entry in entries[start:end]:
            if entry.is_skipped:
                yield None
            elif entry.number not in ids:
                yield Member(entry.name, b"", "ingest.max_file_mb")
            else:
                data = memory.take(entry.number)
                is_sound = len(data) == entry.size and ids[entry.number] in (None, zlib.crc32(data))
                yield Member(entry.name, data if is_sound else b"", None if is_sound else "ingest.broken_archive")
