"""Raw files: listing them in a fixed order, and reading whole files or ranges of lines, compressed or not, local or by URL."""

import bz2
import gzip
import hashlib
import heapq
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

import fsspec
import zstandard

from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError, InputError
from lexmill.store.walk import shown, walk

_COMPRESSED = {
    ".gz": ".gz",
    ".tgz": ".gz",
    ".zst": ".zst",
    ".tzst": ".zst",
    ".xz": ".xz",
    ".txz": ".xz",
    ".bz2": ".bz2",
    ".tbz2": ".bz2",
    ".tbz": ".bz2",
}
_GLOB = frozenset("*?[")
_CHUNK = 1 << 20
_BUFFER = 1 << 18  # lines of 9 kB are read in half the time that they take with the usual 8 kB
_FRAME_INPUT = 1 << 10  # what one step may unpack is bounded: a thousand bytes of repetition stand for 32 MB at the most
_WINDOW = 1 << 29  # of .zst and .xz: what a frame may ask for to be unpacked (xz -9 asks for 64 MB, zstd -19 for 8)


@dataclass(frozen=True)
class RawFile:
    """One raw file as listed: ``relative`` is its path below the source's root, ``stamp`` changes when it may have changed.

    ``rule`` says why it cannot be read at all, or is empty.
    """

    relative: str
    uri: str
    size: int
    stamp: str
    rule: str = ""


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


def _segments(pattern: str, root: PurePosixPath) -> tuple[str, ...]:
    """What of a pattern comes below the root."""
    parts = PurePosixPath(pattern).parts[len(root.parts) :]
    return (*parts, "*") if parts[-1] == "**" else parts  # ``raw/**`` means its files


def _look_at(path: str, root: str) -> RawFile | None:
    """A matched path as a raw file, with a ``rule`` where it cannot be read as one; None for folders and hidden files."""
    if path.rpartition("/")[2].startswith("."):
        return None
    file = f"{root}{path}"
    name, uri = shown(path), shown(file)
    # No table can hold such a name; what stands for it is the same on every machine.
    rule = "" if uri == file else "ingest.bad_file_name"
    try:
        info = os.stat(file)  # noqa: PTH116
    except OSError:
        return RawFile(name, uri, 0, "", rule or "ingest.not_a_file")  # a link to nothing, or in a circle
    if stat.S_ISDIR(info.st_mode):
        return None
    if not stat.S_ISREG(info.st_mode):
        return RawFile(name, uri, 0, "", rule or "ingest.not_a_file")  # a pipe, a socket, a device
    return RawFile(name, uri, info.st_size, str(info.st_mtime_ns), rule)


def list_files(patterns: list[str]) -> Iterator[RawFile]:
    """The files of a source, sorted by path below its root (the folder that all its patterns share), without hidden ones.

    Raises InputError at the end where a pattern named nothing. Memory: the names of a folder at a time; of URLs all of them.
    """
    root = _common([_fixed_folder(pattern) for pattern in patterns])
    local = [pattern for pattern in patterns if not _is_url(pattern)]
    remote = [pattern for pattern in patterns if _is_url(pattern)]
    unmatched = set(patterns)
    before: tuple[str, str] | None = None
    streams = [_local(local, root), *(_remote(pattern, root) for pattern in remote)]
    for file, matched in heapq.merge(*streams, key=lambda found: found[0].relative):
        unmatched -= matched
        # Two patterns may name one file; what stands for a name that no table holds may be another file's name.
        if (file.relative, file.rule) != before:
            yield file
        before = (file.relative, file.rule)
    for pattern in patterns:
        if pattern in unmatched:
            if not _is_url(pattern) and Path(pattern).is_dir():
                raise InputError(f"{pattern} is a folder; write {pattern.rstrip('/')}/**/* for all files in it")
            raise InputError(f"no file matches {pattern}")


def _local(patterns: list[str], root: PurePosixPath) -> Iterator[tuple[RawFile, set[str]]]:
    base = "" if str(root) == "." else f"{str(root).rstrip('/')}/"
    for path, numbers in walk(base, [_segments(pattern, root) for pattern in patterns]):
        file = _look_at(path, base)
        if file is not None:
            yield file, {patterns[number] for number in numbers}


def _remote(pattern: str, root: PurePosixPath) -> list[tuple[RawFile, set[str]]]:
    system, path = fsspec.core.url_to_fs(pattern)
    root_path = system._strip_protocol(str(root).replace(":/", "://", 1))
    found = []
    for name in system.glob(path) if _GLOB & set(path) else [path]:
        info = system.info(name)
        if info["type"] == "file":
            stamp = str(info.get("ETag") or info.get("mtime") or info.get("LastModified") or "")
            relative = PurePosixPath(name).relative_to(root_path).as_posix()
            found.append((RawFile(relative, system.unstrip_protocol(name), int(info["size"]), stamp), {pattern}))
    return sorted(found, key=lambda one: one[0].relative)


def compression_of(name: str) -> str:
    """The compression that a file name's end stands for (``.gz``, ``.zst``, ``.xz``, ``.bz2``) or ``""``."""
    lower = name.lower()
    return next((compression for suffix, compression in _COMPRESSED.items() if lower.endswith(suffix)), "")


class _Frames(io.RawIOBase):
    """Decompressed bytes of all frames of a .zst or .xz file.

    The zstandard library's own reader takes a cut frame for the end of the file, and lzma's bounds no memory.
    """

    def __init__(self, raw: IO[bytes], new_frame: Callable[[], Any]) -> None:
        self._raw = raw
        self._new_frame = new_frame
        self._packed = b""
        self._plain = memoryview(b"")
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._raw.read(_FRAME_INPUT)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError
                return 0
            if self._frame is None:
                # Zeros may pad the frames of .xz to whole words (its specification, 2.2).
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed:
                    continue
                self._frame = self._new_frame()
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


class _Bounded(io.RawIOBase):
    """The bytes of a stream, as long as its allowance lasts."""

    def __init__(self, stream: Any, allowance: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        number: int = self._stream.readinto(buffer)
        self._allowance.take(number)
        return number

    def close(self) -> None:
        self._stream.close()
        super().close()


def _zstd_frame() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj()


def _xz_frame() -> Any:
    return lzma.LZMADecompressor(memlimit=_WINDOW)


def _unpacking(raw: IO[bytes], compression: str, allowance: Allowance) -> IO[bytes]:
    stream: Any = raw
    if compression == ".gz":
        stream = gzip.GzipFile(fileobj=raw)
    elif compression == ".zst":
        stream = _Frames(raw, _zstd_frame)
    elif compression == ".xz":
        stream = _Frames(raw, _xz_frame)
    elif compression == ".bz2":
        stream = bz2.BZ2File(raw)
    return io.BufferedReader(_Bounded(stream, allowance), _CHUNK) if compression else raw


def is_there(uri: str) -> bool:
    """Whether there is a file of this path or URL."""
    if not _is_url(uri):
        return Path(uri).exists()
    system, path = fsspec.core.url_to_fs(uri, use_listings_cache=False)
    return bool(system.exists(path))


def open_raw(uri: str) -> IO[bytes]:
    """A raw file's own bytes, by path or URL; can be sought in."""
    # Asking fsspec for a local file takes longer than reading one of ten thousand small ones.
    raw: IO[bytes] = fsspec.open(uri, "rb").open() if _is_url(uri) else Path(uri).open("rb", buffering=_BUFFER)  # noqa: SIM115
    return raw


@contextmanager
def opened(uri: str, compression: str, allowance: Allowance) -> Iterator[IO[bytes]]:
    """A raw file's bytes, decompressed; raises DocumentError where they cannot be read, or not within the allowance."""
    try:
        with _unpacking(open_raw(uri), compression, allowance) as stream:
            yield stream
    except _BROKEN as error:
        raise _unreadable(error) from None


_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, zstandard.ZstdError, OSError)


def _unreadable(error: Exception) -> DocumentError:
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile) and error.errno is not None:
        return DocumentError("ingest.unreadable")
    return DocumentError("ingest.broken_compression")


def read_file(uri: str, compression: str, size: int, limits: Limits) -> bytes:
    """All bytes of a file of ``size`` bytes, decompressed; raises DocumentError above ``max_file_mb``, or if it is unreadable."""
    with opened(uri, compression, Allowance.whole(size, limits)) as stream:
        if compression or size >= limits.file:
            return _all_of(stream, limits)
        # Room for all that is allowed costs more than reading a small file, which may have grown since it was listed.
        data = stream.read(size + 1)
        return data if len(data) <= size else data + _all_of(stream, limits, len(data))


def decompress(data: bytes, compression: str, limits: Limits, outer: Allowance) -> bytes:
    """The bytes of a compressed file that lies in an archive; raises DocumentError as ``read_file`` does."""
    try:
        with _unpacking(io.BytesIO(data), compression, Allowance.whole(len(data), limits, outer)) as stream:
            return _all_of(stream, limits)
    except _BROKEN as error:
        raise _unreadable(error) from None


def _all_of(stream: IO[bytes], limits: Limits, n_before: int = 0) -> bytes:
    data = stream.read(limits.file + 1 - n_before)
    if n_before + len(data) > limits.file:
        raise DocumentError("ingest.max_file_mb")
    return data


def read_head(uri: str, compression: str, size: int, limit: int, limits: Limits) -> tuple[bytes, bool]:
    """The first bytes of a file, decompressed, at most ``limit``, and whether that is all; raises DocumentError if unreadable."""
    try:
        with opened(uri, compression, Allowance.split(size, limits)) as stream:
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


def read_lines(
    uri: str, compression: str, start: int, end: int, max_line: int, allowance: Allowance
) -> Iterator[Lines | LongLine]:
    """The lines whose first byte lies in [start, end), in blocks of whole lines, with over-long ones only named.

    Two ranges that meet share no line and lose none. Memory: about 10 MB and one line. Raises DocumentError where it cannot be
    read, or not within the allowance, after the lines before that place.
    """
    with opened(uri, compression, allowance) as stream:
        yield from _lines(stream, start, end, max_line)


_BLOCK = 4 << 20


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
        at += _end_of_line(stream)
    lines: list[bytes] = []
    filled = 0
    while at < end:
        try:
            line = stream.readline(max_line + 1)
            is_long = len(line) > max_line and not line.endswith(b"\n")
            length = len(line) + (_end_of_line(stream) if is_long else 0)
        except (DocumentError, *_BROKEN):
            # What stands before the fault is sound.
            if lines:
                yield Lines(at - filled, b"".join(lines))
            raise
        if lines and (not line or is_long or filled >= _BLOCK):
            yield Lines(at - filled, b"".join(lines))
            lines.clear()
            filled = 0
        if not line:
            return
        if is_long:
            yield LongLine(at, length)
        else:
            lines.append(line)
            filled += length
        at += length
    if lines:
        yield Lines(at - filled, b"".join(lines))


def _end_of_line(stream: IO[bytes]) -> int:
    """Go to the end of a line that is not kept; returns the bytes that were left of it."""
    length = 0
    while line := stream.readline(_CHUNK):
        length += len(line)
        if line.endswith(b"\n"):
            break
    return length


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
