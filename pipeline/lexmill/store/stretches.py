"""Compressed files of lines, unpacked once and kept in stretches, so that no task unpacks what lies before its own part."""

import io
from pathlib import Path
from typing import cast

import zstandard

from lexmill.core.ingest.limits import Allowance
from lexmill.store import files
from lexmill.store.raw import opened

COMPRESSION = ".zst"
"""How stretches are compressed: level 1 of zstd takes a tenth of the time of what is done with the lines."""
_LEVEL = 1
_CHUNK = 1 << 20


def stretch_name(start: int) -> str:
    """The file in its folder that holds the stretch from byte ``start`` of the unpacked file."""
    return f"{start}{COMPRESSION}"


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
            packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
            with files.atomic(folder / stretch_name(start)) as out:
                while end - start < n_bytes and (data := stream.read(min(_CHUNK, n_bytes - (end - start)))):
                    out.write(packer.compress(data))
                    end += len(data)
                while line := stream.readline(_CHUNK):
                    out.write(packer.compress(line))
                    end += len(line)
                    if line.endswith(b"\n"):
                        break
                out.write(packer.flush())
            ranges.append((start, end))
    return ranges
