"""Arrow text columns as the flat buffers that the kernels read."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lexmill.core.kernels import njit, uint32


class Utf8(NamedTuple):
    """Text ``i`` is ``data[offsets[i]:offsets[i + 1]]``, well-formed UTF-8; ``data`` uint8, ``offsets`` int64, one entry more."""

    data: np.ndarray[Any, np.dtype[np.uint8]]
    offsets: np.ndarray[Any, np.dtype[np.int64]]

    def array(self) -> pa.Array:
        """The same texts as an Arrow large_string array; the buffers are shared."""
        return pa.LargeStringArray.from_buffers(self.offsets.size - 1, pa.py_buffer(self.offsets), pa.py_buffer(self.data))


def buffers(texts: pa.Array | pa.ChunkedArray) -> Utf8:
    """The buffers of a string or large_string column, copied only where it has several chunks; raises ValueError on nulls."""
    if texts.null_count:
        raise ValueError("a text column holds nulls")
    array = texts.cast(pa.large_string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not len(array):
        return Utf8(np.empty(0, np.uint8), np.zeros(1, np.int64))
    _, offsets, data = array.buffers()
    return Utf8(
        np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8),
        np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1],
    )


@njit(cache=True, nogil=True, inline="always")
def decode_2(data: Any, at: int) -> Any:
    """The code point whose two bytes begin at ``at``."""
    return (uint32(data[at]) & uint32(0x1F)) << uint32(6) | uint32(data[at + 1]) & uint32(0x3F)


@njit(cache=True, nogil=True, inline="always")
def decode_3(data: Any, at: int) -> Any:
    """The code point whose three bytes begin at ``at``."""
    return (
        (uint32(data[at]) & uint32(0x0F)) << uint32(12)
        | (uint32(data[at + 1]) & uint32(0x3F)) << uint32(6)
        | uint32(data[at + 2]) & uint32(0x3F)
    )


@njit(cache=True, nogil=True, inline="always")
def decode_4(data: Any, at: int) -> Any:
    """The code point whose four bytes begin at ``at``."""
    return (
        (uint32(data[at]) & uint32(0x07)) << uint32(18)
        | (uint32(data[at + 1]) & uint32(0x3F)) << uint32(12)
        | (uint32(data[at + 2]) & uint32(0x3F)) << uint32(6)
        | uint32(data[at + 3]) & uint32(0x3F)
    )


@njit(cache=True, nogil=True)
def decode(data: Any, start: int, end: int, points: Any) -> int:
    """Write the code points of ``data[start:end]`` to ``points`` (uint32, at least as long) and return their number."""
    n = 0
    i = start
    while i < end:
        lead = uint32(data[i])
        if lead < 0x80:
            points[n] = lead
            i += 1
        elif lead < 0xE0:
            points[n] = decode_2(data, i)
            i += 2
        elif lead < 0xF0:
            points[n] = decode_3(data, i)
            i += 3
        else:
            points[n] = decode_4(data, i)
            i += 4
        n += 1
    return n


@njit(cache=True, nogil=True)
def longest(offsets: Any) -> int:
    """The bytes of the longest text."""
    most = 0
    for d in range(offsets.size - 1):
        most = max(most, offsets[d + 1] - offsets[d])
    return most
