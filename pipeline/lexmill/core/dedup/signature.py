"""MinHash signatures of character 5-grams, bit-equal to datasketch's affine32 scheme, and the bands that propose candidates."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from lexmill.core.dedup.utf8 import buffers, decode, longest
from lexmill.core.kernels import njit, uint32, uint64

if TYPE_CHECKING:
    from datasketch import LeanMinHash

SHINGLE: Final = 5  # characters; different cases of one charge stay below a Jaccard of .68 on 5-grams, edited copies above .8
NUM_PERM: Final = 128
SEED: Final = 1
SCHEME: Final = "affine32"
BANDS: Final = 16  # × 8 rows: a pair at Jaccard .8 becomes a candidate with probability .95, at .85 .994
ROWS: Final = NUM_PERM // BANDS

Array = np.ndarray[Any, np.dtype[Any]]

# The multiplier of Knuth's multiplicative hashing (2^64 / golden ratio) and the first constant of MurmurHash3's 64-bit finaliser.
_MULTIPLIER: Final = 0x9E3779B97F4A7C15
_MIX: Final = 0xFF51AFD7ED558CCD
_MASK: Final = (1 << 64) - 1


def permutations() -> Array:
    """The (2, 128) uint32 multipliers and addends of datasketch's own permutations for ``SEED``."""
    # Drawn as datasketch does it, which takes half a second and 38 MiB to import; NumPy freezes what RandomState draws.
    drawn = np.random.RandomState(SEED)
    multipliers = drawn.randint(0, 1 << 31, NUM_PERM, np.uint32) * np.uint32(2) + np.uint32(1)
    return np.array([multipliers, drawn.randint(0, 1 << 32, NUM_PERM, np.uint32)])


def hash_shingle(shingle: str | bytes) -> int:
    """The 32-bit hash of one shingle (text, or its UTF-8), to be given to ``datasketch.MinHash`` as ``hashfunc``."""
    value = 0
    for char in shingle if isinstance(shingle, str) else shingle.decode():
        value = (value * _MULTIPLIER + ord(char) + 1) & _MASK
    value ^= value >> 33
    value = value * _MIX & _MASK
    value ^= value >> 33
    return value >> 32


@njit(cache=True, nogil=True)
def hash_shingles(points: Any, n: int, hashes: Any) -> int:
    """Write the 64-bit hash of every 5-gram of ``points[:n]`` (upper half: ``hash_shingle``) and return their number."""
    m = max(n - SHINGLE + 1, 0)
    for i in range(m):
        value = uint64(0)
        for j in range(SHINGLE):
            value = value * uint64(_MULTIPLIER) + uint64(points[i + j]) + uint64(1)
        value ^= value >> uint64(33)
        value *= uint64(_MIX)
        value ^= value >> uint64(33)
        hashes[i] = value
    return m


@njit(cache=True, nogil=True)
def sign_hashes(hashes: Any, m: int, a: Any, b: Any, mixed: Any, out: Any) -> None:
    """Write the signature of the shingles of hashes ``hashes[:m]`` to ``out``, of as many uint32 as ``a`` and ``b`` have.

    ``mixed`` (uint32) is room for one value a shingle.
    """
    for i in range(m):  # datasketch mixes every hash once with MurmurHash3's 32-bit finaliser
        x = uint32(hashes[i] >> uint64(32))
        x ^= x >> uint32(16)
        x = uint32(x * uint32(0x85EBCA6B))
        x ^= x >> uint32(13)
        x = uint32(x * uint32(0xC2B2AE35))
        x ^= x >> uint32(16)
        mixed[i] = x
    # Shingles in the inner loop: it has no branch and becomes vector instructions.
    for k in range(a.size):
        least = uint32(0xFFFFFFFF)
        for i in range(m):
            least = min(least, uint32(mixed[i] * a[k] + b[k]))
        out[k] = least


@njit(cache=True, nogil=True)
def sign_points(points: Any, n: int, a: Any, b: Any, hashes: Any, mixed: Any, out: Any) -> None:
    """Write the signature of the text ``points[:n]`` to ``out`` (128 uint32).

    ``a`` and ``b`` are ``permutations()``; ``hashes`` (uint64) and ``mixed`` (uint32) are room for one value a shingle.
    """
    sign_hashes(hashes, hash_shingles(points, n, hashes), a, b, mixed, out)


@njit(cache=True, nogil=True)
def _sign(data: Any, offsets: Any, a: Any, b: Any, out: Any) -> None:
    most = longest(offsets)
    points, hashes, mixed = np.empty(most, np.uint32), np.empty(most, np.uint64), np.empty(most, np.uint32)
    for d in range(offsets.size - 1):
        n = decode(data, offsets[d], offsets[d + 1], points)
        sign_points(points, n, a, b, hashes, mixed, out[d])


def signatures(copies: pa.Array | pa.ChunkedArray) -> Array:
    """The (n, 128) uint32 signatures of n comparison copies; one shorter than ``SHINGLE`` has all bits set and says nothing."""
    data, offsets = buffers(copies)
    a, b = permutations()
    out = np.empty((len(copies), NUM_PERM), np.uint32)
    _sign(data, offsets, a, b, out)
    return out


def signatures_by_numpy(copies: pa.Array | pa.ChunkedArray) -> Array:
    """What ``signatures`` gives, without compiled code (40 MB/s): for platforms that numba does not serve, and as its proof."""
    a, b = permutations()
    out = np.full((len(copies), NUM_PERM), 0xFFFFFFFF, np.uint32)
    for row, copy in enumerate(copies.to_pylist()):
        points = np.frombuffer(copy.encode("utf-32-le"), "<u4").astype(np.uint64)
        m = points.size - SHINGLE + 1
        if m <= 0:
            continue
        value = np.zeros(m, np.uint64)
        for j in range(SHINGLE):
            value = value * np.uint64(_MULTIPLIER) + points[j : j + m] + np.uint64(1)
        value ^= value >> np.uint64(33)
        value *= np.uint64(_MIX)
        value ^= value >> np.uint64(33)
        x = (value >> np.uint64(32)).astype(np.uint32)
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x85EBCA6B)
        x ^= x >> np.uint32(13)
        x *= np.uint32(0xC2B2AE35)
        x ^= x >> np.uint32(16)
        for k in range(0, NUM_PERM, ROWS):
            out[row, k : k + ROWS] = (x * a[k : k + ROWS, None] + b[k : k + ROWS, None]).min(axis=1)
    return out


def lean(row: Array) -> "LeanMinHash":
    """One signature (128 uint32) as datasketch's own object, for its LSH indexes and for checking."""
    from datasketch import LeanMinHash

    return LeanMinHash(seed=SEED, hashvalues=row, scheme=SCHEME)


def pack(signatures: Array) -> pa.Array:
    """(n, 128) uint32 as the ``signature`` column of SIGNATURE: 512 little-endian bytes a row."""
    width = pa.binary(4 * NUM_PERM)
    return pa.FixedSizeBinaryArray.from_buffers(width, len(signatures), [None, pa.py_buffer(signatures.astype("<u4").tobytes())])


def unpack(column: pa.Array | pa.ChunkedArray) -> Array:
    """The (n, 128) uint32 signatures of a ``signature`` column."""
    return _fixed_width(column).view("<u4").astype(np.uint32, copy=False)


def exact_hashes(column: pa.Array | pa.ChunkedArray) -> Array:
    """The first eight bytes of each value of an ``exact`` column as uint64, for ``star_edges``; ``judge`` compares all 16."""
    return np.ascontiguousarray(_fixed_width(column)[:, :8]).view("<u8").astype(np.uint64, copy=False).ravel()


def _fixed_width(column: pa.Array | pa.ChunkedArray) -> Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    width = array.type.byte_width
    if not len(array):
        return np.empty((0, width), np.uint8)
    start = array.offset * width
    return np.frombuffer(array.buffers()[1], np.uint8)[start : start + len(array) * width].reshape(-1, width)


@njit(cache=True, nogil=True)
def _hash_bands(signatures: Any, out: Any) -> None:
    for d in range(signatures.shape[0]):
        for band in range(BANDS):
            value = uint64(band)
            for j in range(ROWS):
                value = (value ^ uint64(signatures[d, band * ROWS + j])) * uint64(_MULTIPLIER)
                value ^= value >> uint64(29)
            value *= uint64(_MIX)
            out[d, band] = value ^ value >> uint64(32)


def band_hashes(signatures: Array) -> Array:
    """The (n, 16) uint64 hashes of the bands of (n, 128) signatures; equal hashes in one column make candidates.

    A document of fewer than ``SHINGLE`` characters has no shingles: leave out rows whose ``n_chars`` is below it, since all of
    them share every band.
    """
    out = np.empty((len(signatures), BANDS), np.uint64)
    _hash_bands(signatures, out)
    return out
