"""Raw files: listing them in a fixed order, and reading whole files or ranges of lines, compressed or not, local or by URL."""

import bz2
import gzip
import hashlib
import io
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

import fsspec
import zstandard

from lexmill.errors import DocumentError, InputError

COMPRESSIONS = (".gz", ".zst", ".xz", ".bz2")
_GLOB = frozenset("*?[")
_CHUNK = 1 << 20
_ZSTD_INPUT = 1 << 10  # what one step may unpack is bounded: a thousand bytes of repetition stand for 32 MB at the most


@dataclass(frozen=True)
class RawFile:
    """One raw file as listed: ``relative`` is its path below the source's root, ``stamp`` changes when it may have changed."""

    relative: str
    uri: str
    size: int
    stamp: str


def _is_url(path: str) -> bool:
    return "://" in path


def _fixed_folder(pattern: str) -> PurePosixPath:
    """The folder of a pattern up to its first wildcard."""
    parts = PurePosixPath(pattern).parts
    fixed = next((index for index, part in enumerate(parts) if _GLOB & set(part)), len(parts) - 1)
    return PurePosixPath(*parts[:fixed]) if fixed else PurePosixPath(".")


def _common(folders: list[PurePosixPath]) -> PurePosixPath:
    common = folders[0]
    for folder in folders[1:]:
        while common != folder and common not in folder.parents:
            common = common.parent
    return common


def _local(pattern: str) -> Iterator[Path]:
    path = Path(pattern)
    if not _GLOB & set(pattern):
        yield path
        return
    root = Path(*_fixed_folder(pattern).parts)
    # A folder that is a link is not entered by ``**``, so a loop of links cannot hang the listing.
    yield from root.glob(str(PurePosixPath(pattern).relative_to(root.as_posix())))


def list_files(patterns: list[str]) -> list[RawFile]:
    """The files of a source, sorted by path below its root (the folder that all its patterns share), without hidden ones.

    Raises InputError where a pattern names nothing.
    """
    found: dict[str, tuple[str, int, str]] = {}
    root = _common([_fixed_folder(pattern) for pattern in patterns])
    for pattern in patterns:
        before = len(found)
        if _is_url(pattern):
            system, path = fsspec.core.url_to_fs(pattern)
            root_path = system._strip_protocol(str(root).replace(":/", "://", 1))
            for name in system.glob(path) if _GLOB & set(path) else [path]:
                info = system.info(name)
                if info["type"] == "file":
                    stamp = str(info.get("ETag") or info.get("mtime") or info.get("LastModified") or "")
                    relative = PurePosixPath(name).relative_to(root_path).as_posix()
                    found[relative] = (system.unstrip_protocol(name), int(info["size"]), stamp)
        else:
            for file in _local(pattern):
                if file.is_file() and not file.name.startswith("."):
                    info = file.stat()
                    found[file.relative_to(root).as_posix()] = (str(file), info.st_size, str(info.st_mtime_ns))
        if len(found) == before:
            if not _is_url(pattern) and Path(pattern).is_dir():
                raise InputError(f"{pattern} is a folder; write {pattern.rstrip('/')}/**/* for all files in it")
            raise InputError(f"no file matches {pattern}")
    return [RawFile(relative, *found[relative]) for relative in sorted(found)]


def compression_of(name: str) -> str:
    """The compression suffix of a file name (``.gz``, ``.zst``, ``.xz``, ``.bz2``) or ``""``."""
    lower = name.lower()
    return next((suffix for suffix in COMPRESSIONS if lower.endswith(suffix)), "")


class _Zstd(io.RawIOBase):
    """Decompressed bytes of all frames of a .zst file; the library's own reader takes a cut frame for the end of the file."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._packed = b""
        self._plain = memoryview(b"")
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._raw.read(_ZSTD_INPUT)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            self._plain = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        number = min(len(buffer), len(self._plain))
        buffer[:number] = self._plain[:number]
        self._plain = self._plain[number:]
        return number

    def close(self) -> None:
        self._raw.close()
        super().close()


def _open(uri: str, compression: str) -> IO[bytes]:
    raw: IO[bytes] = fsspec.open(uri, "rb").open()  # a plain path is a local file
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if compression == ".zst":
        return io.BufferedReader(_Zstd(raw), _CHUNK)
    if compression == ".xz":
        return lzma.LZMAFile(raw)
    if compression == ".bz2":
        return bz2.BZ2File(raw)
    return raw


_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError, OSError)


def unpacked_size(uri: str, compression: str, limit: int) -> int:
    """Bytes of a file once decompressed, counted no further than just above ``limit``; raises DocumentError on a broken one."""
    total = 0
    try:
        with _open(uri, compression) as stream:
            while total <= limit and (chunk := stream.read(_CHUNK)):
                total += len(chunk)
    except _BROKEN as error:
        raise _unreadable(error) from None
    return total


def _unreadable(error: Exception) -> DocumentError:
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile) and error.errno is not None:
        return DocumentError("ingest.unreadable")
    return DocumentError("ingest.broken_compression")


def read_file(uri: str, compression: str, limit: int) -> bytes:
    """All bytes of a file, decompressed; raises DocumentError above ``limit`` bytes or where it cannot be read."""
    chunks: list[bytes] = []
    total = 0
    try:
        with _open(uri, compression) as stream:
            while chunk := stream.read(_CHUNK):
                total += len(chunk)
                if total > limit:
                    raise DocumentError("ingest.too_large")
                chunks.append(chunk)
    except _BROKEN as error:
        raise _unreadable(error) from None
    return b"".join(chunks)


def read_head(uri: str, compression: str, limit: int) -> tuple[bytes, bool]:
    """The first bytes of a file, decompressed, at most ``limit``, and whether that is all; raises DocumentError if unreadable."""
    try:
        with _open(uri, compression) as stream:
            data = stream.read(limit + 1)
    except _BROKEN as error:
        raise _unreadable(error) from None
    return data[:limit], len(data) <= limit


@dataclass(frozen=True)
class Lines:
    """Whole lines that follow each other, from byte ``offset`` of the (decompressed) file."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class LongLine:
    """A line longer than the limit, which was not kept."""

    offset: int
    n_bytes: int


def read_lines(uri: str, compression: str, start: int, end: int, max_line: int) -> Iterator[Lines | LongLine]:
    """The lines whose first byte lies in [start, end), in blocks of whole lines, with over-long ones only named.

    Two ranges that meet share no line and lose none. Memory: about 16 MB and one line. Raises DocumentError where it cannot be
    read.
    """
    try:
        with _open(uri, compression) as stream:
            yield from _lines(stream, start, end, max_line)
    except _BROKEN as error:
        raise _unreadable(error) from None


_BLOCK = 16 << 20


def _skip(stream: IO[bytes], number: int) -> int:
    """Go to byte ``number`` of a stream just opened, and return it."""
    if stream.seekable():
        return stream.seek(number)
    left = number
    while left and (chunk := stream.read(min(left, _CHUNK))):
        left -= len(chunk)
    return number - left


def _lines(stream: IO[bytes], start: int, end: int, max_line: int) -> Iterator[Lines | LongLine]:
    at = 0
    if start > 0:
        # Begin one byte early: the range owns its first line only if the byte before it ends a line.
        at = _skip(stream, start - 1)
        while True:
            rest = stream.readline(_CHUNK)
            at += len(rest)
            if not rest or rest.endswith(b"\n"):
                break
    block = bytearray()
    block_at = at
    while at < end:
        line = stream.readline(max_line + 1)
        if not line:
            break
        if len(line) > max_line and not line.endswith(b"\n"):
            if block:
                yield Lines(block_at, bytes(block))
            length = len(line)
            while line and not line.endswith(b"\n"):
                line = stream.readline(_CHUNK)
                length += len(line)
            yield LongLine(at, length)
            at += length
            block.clear()
            block_at = at
            continue
        block += line
        at += len(line)
        if len(block) >= _BLOCK:
            yield Lines(block_at, bytes(block))
            block.clear()
            block_at = at
    if block:
        yield Lines(block_at, bytes(block))


class ContentDigest:
    """Digest over the raw bytes that a part was made of."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, data: bytes) -> None:
        """Take ``data`` in, length first, so that pieces cannot run into each other."""
        self._hash.update(len(data).to_bytes(8, "little"))
        self._hash.update(data)

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()
