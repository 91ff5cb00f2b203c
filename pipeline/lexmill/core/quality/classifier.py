"""The quality classifier: a fastText model over characters and a table of known pairs, with one calibrated score."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import fasttext
import numpy as np
import pyarrow as pa
from numba import njit, uint64
from numpy.typing import NDArray

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
# fastText holds the interpreter lock through a call: some tens of milliseconds at this size.
_CALL = 256
# fastText's probabilities stop short of 0 and 1 by about this much.
_EPSILON = 1e-6


@dataclass(frozen=True)
class Classifier:
    """A model in memory; ``digest`` is the sha256 over the files of its folder.

    ``pairs`` is a bitmap (uint8[2^20]) of the pairs of adjacent ideographs in good text, by a hash. The score is the logistic
    function of ``weights`` · (logit of fastText's probability, share of unknown pairs, 1), fitted on sources that neither had
    seen (Platt, 1999). ``thresholds`` are the scores below which the model calls a text of a type bad.
    """

    digest: str
    model: fasttext.FastText._FastText
    pairs: NDArray[np.uint8]
    weights: NDArray[np.float64]
    thresholds: Mapping[str, float]

    def score(self, texts: pa.Array | pa.ChunkedArray) -> NDArray[np.float32]:
        """The probability that each text (string array) is good: float32[n], 0 to 1; 0 for a text without visible characters."""
        seen, is_blank = features(self.model, self.pairs, texts)
        scores = 1 / (1 + np.exp(-(seen @ self.weights)))
        return np.where(is_blank, 0, scores).astype(np.float32)


def features(
    model: fasttext.FastText._FastText, pairs: NDArray[np.uint8], texts: pa.Array | pa.ChunkedArray
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What the score is made of (float64[n, 3]: logit, share of unknown pairs, 1), and which texts have no visible character."""
    n = len(texts)
    seen = np.ones((n, 3), np.float64)
    is_blank = np.zeros(n, np.bool_)
    for at in range(0, n, _CALL):
        spaced_texts, unknown = spaced(texts[at : at + _CALL], pairs)
        lines = spaced_texts.to_pylist()
        labels, probabilities = model.predict(lines, k=2)
        for row, (names, values) in enumerate(zip(labels, probabilities, strict=True)):
            good = float(dict(zip(names, values, strict=True)).get(GOOD, 0.0))
            seen[at + row, 0] = np.log((good + _EPSILON) / (max(0.0, 1 - good) + _EPSILON))
            is_blank[at + row] = not lines[row]
        seen[at : at + len(lines), 1] = unknown
    return seen, is_blank


def load(folder: Path) -> Classifier:
    """Load the model of ``folder``; raises InputError where there is none that can be read."""
    try:
        data = [(folder / name).read_bytes() for name in (MODEL, PAIRS, HEAD)]
        head = json.loads(data[2])
        weights = np.array(head["weights"], np.float64)
        thresholds = {str(name): float(value) for name, value in head["thresholds"].items()}
        pairs = np.frombuffer(data[1], np.uint8)
        model = fasttext.load_model(str(folder / MODEL))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: holds no quality model ({type(error).__name__})") from None
    if weights.shape != (3,) or pairs.size << 3 != 1 << PAIR_BITS:
        raise InputError(f"{folder}: holds no quality model of this version")
    return Classifier(digest_of(data), model, pairs, weights, thresholds)


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
                if kind == HAN:
                    if last:
                        slot = _pair(last, c)
                        n_pairs += 1
                        n_known += (known[slot >> uint64(3)] >> np.uint8(slot & uint64(7))) & np.uint8(1)
                    last = uint64(c)
                else:
                    last = uint64(0)
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
