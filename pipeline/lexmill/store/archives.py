"""Archives (ZIP, tar, 7z): their members listed and read one by one in memory; a member's path is a name and never a place."""

import io
import tarfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Literal, NamedTuple, Self

import py7zr
from py7zr.io import MemIO, Py7zBytesIO, Py7zIO, WriterFactory

from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.core.ingest.zipped import BROKEN, name_of, native_name, open_zip, read_member
from lexmill.errors import DocumentError, LexmillError


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
_ZEROS: type[Exception] = tarfile.EOFHeaderError  # type: ignore[attr-defined]  # a block of zeros
_END: type[Exception] = tarfile.EmptyHeaderError  # type: ignore[attr-defined]  # nothing more
_MAX_EMPTY_READS = 8  # a file may be asked again at its end, not for ever


def _is_systems_own(name: str) -> bool:
    *folders, file = name.split("/")
    return file.casefold() in _SYSTEM_FILES or file.startswith("._") or not _SYSTEM_FOLDERS.isdisjoint(folders)


class _Names:
    """Tells members of one name apart: the second ``a.txt`` is ``a~2.txt``, so that its ending still says what it is."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def tell(self, name: str) -> str:
        number = self._seen[name] = self._seen.get(name, 0) + 1
        if number == 1:
            return name
        folder, slash, file = name.rpartition("/")
        stem, dot, ending = file.partition(".")
        while (other := f"{folder}{slash}{stem}~{number}{dot}{ending}") in self._seen:
            number += 1
        self._seen[name] = number
        self._seen[other] = 1
        return other


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


class _Header(tarfile.TarInfo):
    """A tar header whose damage is an error: the library takes any damaged one but the first for the end of the archive.

    Behind the two blocks of zeros that end an archive another may follow (``cat a.tar b.tar``); what else follows is none of it.
    """

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """The next header; raises ReadError where it is damaged, or the file ends before the zeros that end an archive."""
        n_zeros: int = getattr(archive, "n_zeros", 0)
        try:
            info = super().fromtarfile(archive)
        except _ZEROS:
            archive.n_zeros = n_zeros + 1  # type: ignore[attr-defined]
            raise
        except _END:
            if n_zeros:
                raise
            raise tarfile.ReadError from None
        except tarfile.HeaderError:
            if n_zeros > 1:
                raise _END from None
            raise tarfile.ReadError from None
        if info.size < 0:
            raise tarfile.ReadError
        archive.n_zeros = 0  # type: ignore[attr-defined]
        return info


class _ShortReads:
    """A file from which nobody reads much at once: a tar header may claim gigabytes for a name.

    Nor does anybody read on and on behind its end, as the library would to skip a member that claims more than there is.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._limit = limit
        self._n_empty = 0

    def read(self, size: int) -> bytes:
        if size > self._limit or self._n_empty > _MAX_EMPTY_READS:
            raise tarfile.ReadError
        data = self._file.read(size)
        self._n_empty += size > 0 and not data
        return data

    def seek(self, offset: int) -> int:
        return self._file.seek(offset)

    def tell(self) -> int:
        return self._file.tell()


def _tar_entries(file: IO[bytes], limits: Limits) -> Iterator[tuple[Entry, _Content]]:
    names = _Names()
    mode: Literal["r:", "r|"] = "r:" if file.seekable() else "r|"
    short: Any = _ShortReads(file, max(limits.file, tarfile.RECORDSIZE))
    try:
        with tarfile.open(
            fileobj=short, mode=mode, encoding="utf-8", errors="surrogateescape", tarinfo=_Header, ignore_zeros=True
        ) as archive:
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
    except LexmillError:
        raise
    except Exception:
        # The library's own exceptions are but a few of those that a damaged header brings about.
        raise DocumentError("ingest.broken_archive") from None


class _InOrder(WriterFactory):
    """Hands on each member as soon as its last byte is there, and before it those of which no byte comes."""

    def __init__(self, wanted: list[Entry], limits: Limits, take: Callable[[Member | None], None]) -> None:
        self._left = deque(wanted)
        self._limits = limits
        self._take = take
        self.sums: dict[int, int | None] = {}
        self.error: Exception | None = None

    def create(self, filename: str) -> Py7zIO:
        return _Handed(filename, self._limits.file, self)

    def finish(self, number: int, data: bytes) -> None:
        """Take in the bytes of a member, by its number."""
        if self.error is not None or not self._left or self._left[0].number > number:
            return
        try:
            self.rest(number)
            entry = self._left.popleft()
            is_sound = len(data) == entry.size and self.sums[number] in (None, zlib.crc32(data))
            self._take(Member(entry.name, data if is_sound else b"", None if is_sound else "ingest.broken_archive"))
        except Exception as error:
            # What calls this is not trusted to hand an exception on.
            self.error = error
            raise

    def rest(self, end: int) -> None:
        """Hand on what is left before the member numbered ``end``: skipped, too large, empty, or not there."""
        while self._left and self._left[0].number < end:
            entry = self._left.popleft()
            if entry.is_skipped:
                self._take(None)
            elif entry.size > self._limits.file:
                self._take(Member(entry.name, b"", "ingest.max_file_mb"))
            else:
                self._take(Member(entry.name, b"", "ingest.broken_archive" if entry.size else None))


class _Handed(Py7zBytesIO):
    def __init__(self, filename: str, limit: int, to: _InOrder) -> None:
        super().__init__(filename, limit)
        self._buffer: io.BytesIO = io.BytesIO()
        self._to = to

    def close(self) -> None:
        data = self._buffer.getvalue()
        # The archive keeps this object until it is closed.
        self._buffer = io.BytesIO()
        self._to.finish(int(self.filename), data)


def _unpack_7z(
    file: IO[bytes], start: int, end: int, limits: Limits, allowance: Allowance, take: Callable[[Member | None], None]
) -> None:
    with _opened_7z(file, limits) as (archive, entries):
        in_order = _InOrder(entries[start:end], limits, take)
        for entry, one in zip(entries[start:end], list(archive.files)[start:end], strict=True):
            if not entry.is_skipped and 0 < entry.size <= limits.file:
                allowance.take(entry.size)
                in_order.sums[entry.number] = one.crc32
                # The library would stop at a sum that is wrong, and take with it what lies behind.
                one._file_info["digest"] = None
                # By id: the library's own extract() refuses names that escape, and renames those that are there twice.
                archive.worker.register_filelike(one.id, MemIO(str(entry.number), in_order))
        # What is not wanted is unpacked on the way to what is.
        archive.worker.max_extract_size = allowance.most
        # One damaged member must not take the others with it: what came out is judged by its check sum.
        with suppress(Exception):
            archive.worker.extract(archive.fp, None, parallel=False)
        if in_order.error is not None:
            raise in_order.error
        in_order.rest(len(entries))


def unpack(file: IO[bytes], fmt: str, limits: Limits, allowance: Allowance, take: Callable[[Member | None], None]) -> None:
    """Give all members to ``take`` one after the other, as ``read_members`` does; memory: one member, of a solid 7z too."""
    if fmt == "7z":
        _unpack_7z(file, 0, limits.members, limits, allowance, take)
        return
    for member in read_members(file, fmt, 0, -1, limits, allowance):
        take(member)


def _read_7z(file: IO[bytes], start: int, end: int, limits: Limits, allowance: Allowance) -> Iterator[Member | None]:
    found: list[Member | None] = []
    _unpack_7z(file, start, end, limits, allowance, found.append)
    yield from found
