"""The quality classifier: a fastText model over characters and a table of known pairs, with one calibrated score."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import fasttext
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.kernels import int8, int32, njit, uint32, uint64
from lexmill.core.quality.characters import CHARACTERS, CLASS_MASK, DIGIT, HAN, SPACE, decode
from lexmill.core.quality.metrics import buffers
from lexmill.errors import InputError

GOOD = "__label__good"
BAD = "__label__bad"

# The files of a model's folder, in the order in which they enter its digest.
MODEL, PAIRS, HEAD = "model.bin", "pairs.bin", "model.json"

PAIR_BITS: Final = 23
_PAIR_SHIFT = np.uint64(64 - PAIR_BITS)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)

_HEAD = 2000
# fastText adds 1e-5 to a probability, and so stops short of 0 and 1 by about this much.
_SMOOTHING = 1e-5
_EPSILON = 1e-6

_CODE_POINTS = 0x110000
_END_OF_LINE = "</s>"


class Network(NamedTuple):
    """A fastText model over separate characters and their pairs, as arrays.

    ``words`` (int32[0x110000]) is the row of each code point in ``rows`` (float32[n, dim]), -1 where it has none; ``end`` is the
    row of the end of a line; that of a pair is ``first`` + its hash modulo ``bucket``. ``outputs`` (float32[2, dim]): bad, good.
    """

    words: NDArray[np.int32]
    rows: NDArray[np.float32]
    outputs: NDArray[np.float32]
    end: int
    first: int
    bucket: int


@dataclass(frozen=True)
class Classifier:
    """A model in memory; ``digest`` is the sha256 over the files of its folder.

    ``pairs`` is a bitmap (uint8[2^20]) of the pairs of adjacent ideographs in good text, by a hash. The score is the logistic
    function of ``weights`` · (logit of fastText's probability, share of unknown pairs, 1), fitted on sources that neither had
    seen (Platt, 1999). ``thresholds`` are the scores below which the model calls a text of a type bad.
    """

    digest: str
    network: Network
    pairs: NDArray[np.uint8]
    weights: NDArray[np.float64]
    thresholds: Mapping[str, float]

    def score(self, texts: pa.Array | pa.ChunkedArray) -> NDArray[np.float32]:
        """The probability that each text (string array) is good: float32[n], 0 to 1; 0 for a text without visible characters."""
        seen, is_blank = features(self.network, self.pairs, texts)
        scores = 1 / (1 + np.exp(-(seen @ self.weights)))
        return np.where(is_blank, 0, scores).astype(np.float32)


def features(
    network: Network, pairs: NDArray[np.uint8], texts: pa.Array | pa.ChunkedArray
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What the score is made of (float64[n, 3]: logit, share of unknown pairs, 1), and which texts have no visible character.

    The same float32 as fastText's ``predict`` gives for what ``spaced`` writes, without the strings in between.
    """
    offsets, data = buffers(texts)
    n = len(offsets) - 1
    seen = np.ones((n, 3), np.float64)
    is_blank = np.zeros(n, np.bool_)
    outputs = np.zeros((n, 2), np.float32)
    _read(data, offsets, CHARACTERS, pairs, *network, outputs, seen[:, 1], is_blank)
    # Rounded where fastText rounds.
    raised = _rounded(np.exp(outputs - outputs.max(axis=1, keepdims=True, initial=-np.inf), dtype=np.float64))
    chances = _rounded(raised[:, 1] / _rounded(raised[:, 0] + raised[:, 1]))
    good = _rounded(np.exp(_rounded(np.log(chances + _SMOOTHING))))
    seen[:, 0] = np.log((good + _EPSILON) / (np.maximum(0.0, 1 - good) + _EPSILON))
    return seen, is_blank


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.astype(np.float32).astype(np.float64)


def network_of(model: fasttext.FastText._FastText) -> Network:
    """The arrays of a fastText model; raises ValueError for one that is not of this kind."""
    settings = model.f.getArgs()
    labels = model.get_labels()
    if model.is_quantized() or settings.maxn or settings.wordNgrams != 2 or set(labels) != {GOOD, BAD}:
        raise ValueError("no model over pairs of characters with the labels good and bad")
    words = np.full(_CODE_POINTS, -1, np.int32)
    end = -1
    for row, word in enumerate(model.get_words()):
        if len(word) == 1:
            words[ord(word)] = row
        elif word == _END_OF_LINE:
            end = row
    outputs = np.ascontiguousarray(model.get_output_matrix()[[labels.index(BAD), labels.index(GOOD)]], np.float32)
    rows = np.ascontiguousarray(model.get_input_matrix(), np.float32)
    return Network(words, rows, outputs, end, len(rows) - settings.bucket, settings.bucket)


def load(folder: Path) -> Classifier:
    """Load the model of ``folder``; raises InputError where there is none that can be read."""
    try:
        data = [(folder / name).read_bytes() for name in (MODEL, PAIRS, HEAD)]
        head = json.loads(data[2])
        weights = np.array(head["weights"], np.float64)
        thresholds = {str(name): float(value) for name, value in head["thresholds"].items()}
        pairs = np.frombuffer(data[1], np.uint8)
        network = network_of(fasttext.load_model(str(folder / MODEL)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: holds no quality model ({type(error).__name__})") from None
    if weights.shape != (3,) or pairs.size << 3 != 1 << PAIR_BITS:
        raise InputError(f"{folder}: holds no quality model of this version")
    return Classifier(digest_of(data), network, pairs, weights, thresholds)


def digest_of(files: Sequence[bytes]) -> str:
    """The digest of a model with these files, in the order MODEL, PAIRS, HEAD."""
    total = hashlib.sha256()
    for data in files:
        total.update(hashlib.sha256(data).digest())
    return total.hexdigest()


def spaced(texts: pa.Array | pa.ChunkedArray, pairs: NDArray[np.uint8]) -> tuple[pa.Array, NDArray[np.float64]]:
    """What the classifier reads of each text: its first 2,000 visible characters, a space between them, digits folded to 0.

    Separate characters do as well as segmented words, at a fraction of the cost; digits tell documents apart, not good from bad.
    Beside it the share of pairs of adjacent ideographs there that ``pairs`` does not know: float64[n], 0 where there is no pair.
    """
    offsets, data = buffers(texts)
    out = np.empty(2 * (int(offsets[-1]) - int(offsets[0])) + 1, np.uint8)
    bounds = np.zeros(len(offsets), np.int64)
    unknown = np.zeros(len(offsets) - 1, np.float64)
    size = _space(data, offsets, CHARACTERS, pairs, out, bounds, unknown)
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(bounds), pa.py_buffer(out[:size])), unknown


def learn_pairs(texts: pa.Array | pa.ChunkedArray, known: NDArray[np.uint8]) -> None:
    """Enter every pair of adjacent ideographs of ``texts`` into the bitmap ``known``."""
    offsets, data = buffers(texts)
    _learn(data, offsets, CHARACTERS, known)


@njit(cache=True, nogil=True, inline="always")
def _pair(first, second):  # type: ignore[no-untyped-def]
    return (uint64(first) * _FIRST ^ uint64(second) * _SECOND) >> _PAIR_SHIFT


@njit(cache=True, nogil=True, inline="always")
def _is_known(known, first, second):  # type: ignore[no-untyped-def]
    slot = _pair(first, second)
    return (known[slot >> uint64(3)] >> np.uint8(slot & uint64(7))) & np.uint8(1)


@njit(cache=True, nogil=True)
def _learn(data, offsets, characters, known):  # type: ignore[no-untyped-def]
    for d in range(offsets.size - 1):
        i = offsets[d]
        last = uint64(0)
        while i < offsets[d + 1]:
            c, size = decode(data, i)
            kind = characters[c] & CLASS_MASK
            if kind == HAN:
                if last:
                    slot = _pair(last, c)
                    known[slot >> uint64(3)] |= np.uint8(1) << np.uint8(slot & uint64(7))
                last = uint64(c)
            elif kind != SPACE:
                last = uint64(0)
            i += size


@njit(cache=True, nogil=True, inline="always")
def _byte_hash(h, byte):  # type: ignore[no-untyped-def]
    """One step of fastText's FNV-1a, which takes bytes as signed."""
    return (h ^ uint32(int8(byte))) * uint32(16777619)


@njit(cache=True, nogil=True)
def _read(  # type: ignore[no-untyped-def]
    data, offsets, characters, known, words, rows, outputs, end_row, first, bucket, out, unknown, is_blank
):
    dim = rows.shape[1]
    hashes = np.empty(_HEAD + 1, np.int32)
    hidden = np.empty(dim, np.float32)
    end_hash = uint32(2166136261)
    for byte in (60, 47, 115, 62):  # </s>
        end_hash = _byte_hash(end_hash, byte)
    for d in range(offsets.size - 1):
        i = offsets[d]
        end = offsets[d + 1]
        n = n_pairs = n_known = n_words = n_rows = 0
        last = uint64(0)
        hidden[:] = 0
        while i < end and n < _HEAD:
            c, size = decode(data, i)
            kind = characters[c] & CLASS_MASK
            if kind != SPACE:
                n += 1
                if last and kind == HAN:
                    n_pairs += 1
                    n_known += _is_known(known, last, c)
                last = uint64(c) if kind == HAN else uint64(0)
                if c:  # fastText takes NUL for white space
                    h = uint32(2166136261)
                    if kind == DIGIT:
                        c = uint32(48)
                        h = _byte_hash(h, 48)
                    else:
                        for k in range(size):
                            h = _byte_hash(h, data[i + k])
                    hashes[n_words] = int32(h)
                    n_words += 1
                    row = words[c]
                    if row >= 0:
                        n_rows += 1
                        for k in range(dim):
                            hidden[k] += rows[row, k]
            i += size
        is_blank[d] = n == 0
        unknown[d] = 1.0 - n_known / n_pairs if n_pairs else 0.0
        if end_row >= 0:
            n_rows += 1
            for k in range(dim):
                hidden[k] += rows[end_row, k]
        hashes[n_words] = int32(end_hash)
        for w in range(n_words):
            row = first + (uint64(hashes[w]) * uint64(116049371) + uint64(hashes[w + 1])) % uint64(bucket)
            n_rows += 1
            for k in range(dim):
                hidden[k] += rows[row, k]
        if n_rows == 0:
            continue
        share = np.float32(1.0 / n_rows)
        for label in range(2):
            total = np.float32(0)
            for k in range(dim):
                total += outputs[label, k] * (hidden[k] * share)
            out[d, label] = total


@njit(cache=True, nogil=True)
def _space(data, offsets, characters, known, out, bounds, unknown):  # type: ignore[no-untyped-def]
    at = 0
    for d in range(offsets.size - 1):
        i = offsets[d]
        end = offsets[d + 1]
        n = n_pairs = n_known = 0
        last = uint64(0)
        while i < end and n < _HEAD:
            c, size = decode(data, i)
            kind = characters[c] & CLASS_MASK
            if kind != SPACE:
                if n:
                    out[at] = 32
                    at += 1
                if last and kind == HAN:
                    n_pairs += 1
                    n_known += _is_known(known, last, c)
                last = uint64(c) if kind == HAN else uint64(0)
                if kind == DIGIT:
                    out[at] = 48
                    at += 1
                else:
                    for k in range(size):
                        out[at + k] = data[i + k]
                    at += size
                n += 1
            i += size
        if n_pairs:
            unknown[d] = 1.0 - n_known / n_pairs
        bounds[d + 1] = at
    return at
