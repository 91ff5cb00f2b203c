"""Files that can only be unpacked from their beginning, unpacked once and kept in stretches: no task unpacks what is not its own.

A stretch of compressed lines is those lines; a stretch of an archive is its members, each a line of JSON and then its bytes.
"""

import io
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import zstandard

from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError
from lexmill.store import files
from lexmill.store.archives import Member, unpack
from lexmill.store.raw import opened

COMPRESSION = ".zst"
"""How stretches are compressed: level 1 of zstd takes a tenth of the time of what is done with the lines."""
_LEVEL = 1
_CHUNK = 1 << 20


def stretch_name(start: int) -> str:
    """The file in its folder that holds the stretch from byte, or member, ``start`` of the unpacked file."""
    return f"{start}{COMPRESSION}"


class _Stretch:
    """One stretch that is being written; it is there when ``with`` ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = ExitStack()
        self._packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
        self._out: Any = None

    def __enter__(self) -> Self:
        self._opened.__enter__()
        self._out = self._opened.enter_context(files.atomic(self._path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self._out.write(self._packer.flush())
        self._opened.__exit__(kind, error, trace)

    def write(self, data: bytes) -> None:
        self._out.write(self._packer.compress(data))


def write_stretches(uri: str, compression: str, folder: Path, n_bytes: int, allowance: Allowance) -> list[tuple[int, int]]:
    """Unpack a file into stretches [start, end) of at least ``n_bytes`` that end where a line does; memory: about 2 MB.

    Raises DocumentError where the file cannot be read to its end, or not within the allowance.
    """
    files.make_private(folder)
    ranges: list[tuple[int, int]] = []
    end = 0
    with opened(uri, compression, allowance) as opened_stream:
        stream = cast(io.BufferedReader, opened_stream)
        while stream.peek(1):
            start = end
            with _Stretch(folder / stretch_name(start)) as stretch:
                while end - start < n_bytes and (data := stream.read(min(_CHUNK, n_bytes - (end - start)))):
                    stretch.write(data)
                    end += len(data)
                while line := stream.readline(_CHUNK):
                    stretch.write(line)
                    end += len(line)
                    if line.endswith(b"\n"):
                        break
            ranges.append((start, end))
    return ranges


class _Members:
    """Writes members into stretches of at most ``n_bytes``, or of one member."""

    def __init__(self, folder: Path, n_bytes: int, opened_stretch: ExitStack) -> None:
        self._folder = folder
        self._n_bytes = n_bytes
        self._opened = opened_stretch
        self._stretch: _Stretch | None = None
        self._filled = 0
        self.ranges: list[tuple[int, int]] = []

    def take(self, member: Member | None) -> None:
        data = member.data if member else b""
        start, end = self.ranges[-1] if self.ranges else (0, 0)
        if self._stretch is None or self._filled + len(data) > self._n_bytes:
            self._opened.close()
            self._stretch = self._opened.enter_context(_Stretch(self._folder / stretch_name(end)))
            self._filled = 0
            start = end
            self.ranges.append((start, end))
        head = {"name": member.name, "rule": member.rule, "size": len(data)} if member else None
        self._stretch.write(json.dumps(head).encode() + b"\n")
        self._stretch.write(data)
        self._filled += len(data)
        self.ranges[-1] = (start, end + 1)


def write_members(
    uri: str, fmt: str, compression: str, size: int, folder: Path, n_bytes: int, limits: Limits
) -> list[tuple[int, int]]:
    """Unpack an archive of ``size`` bytes into stretches of members [start, end); memory: one member.

    Raises DocumentError where the archive cannot be read to its end, or not within ``max_unpacked_mb``.
    """
    files.make_private(folder)
    with ExitStack() as opened_stretch, opened(uri, compression, Allowance.split(size, limits)) as file:
        members = _Members(folder, n_bytes, opened_stretch)
        unpack(file, fmt, limits, Allowance.split(size, limits), members.take)
    return members.ranges


def read_stretch(uri: str, allowance: Allowance) -> Iterator[Member | None]:
    """The members of a stretch, as ``read_members`` gave them; raises DocumentError where they go beyond the allowance."""
    with opened(uri, COMPRESSION, allowance) as stream:
        while line := stream.readline():
            head = json.loads(line)
            if head is None:
                yield None
                continue
            data = stream.read(head["size"])
            if len(data) < head["size"]:
                raise DocumentError("ingest.broken_archive")
            yield Member(head["name"], data, head["rule"])
