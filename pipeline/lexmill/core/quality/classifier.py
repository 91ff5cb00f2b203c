"""The quality classifier: a fastText model over characters."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from lexmill.core.quality.characters import CHARACTERS, CLASS_MASK, DIGIT, SPACE, decode
from lexmill.core.quality.metrics import buffers
from lexmill.errors import InputError

GOOD = "__label__good"
BAD = "__label__bad"

_HEAD = 2000
# fastText holds the interpreter lock through a call: some tens of milliseconds at this size.
_CALL = 256


@dataclass(frozen=True)
class Classifier:
    """A model in memory; ``digest`` is the sha256 of its file's bytes."""

    digest: str
    model: fasttext.FastText._FastText

    def score(self, texts: pa.Array | pa.ChunkedArray) -> NDArray[np.float32]:
        """The probability that each text (string array) is good: float32[n], 0 to 1; 0 for a text without visible characters."""
        scores = np.zeros(len(texts), np.float32)
        for at in range(0, len(texts), _CALL):
            lines = spaced(texts[at : at + _CALL]).to_pylist()
            labels, probabilities = self.model.predict(lines, k=2)
            for row, (names, values) in enumerate(zip(labels, probabilities, strict=True), start=at):
                found = dict(zip(names, values, strict=True))
                scores[row] = min(1.0, float(found.get(GOOD, 0.0))) if lines[row - at] else 0.0
        return scores


def load(path: Path) -> Classifier:
    """Load the model at ``path``; raises InputError where there is none that fastText reads."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        model = fasttext.load_model(str(path))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not a fastText model ({type(error).__name__})") from None
    return Classifier(digest, model)


def spaced(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """What the classifier reads of each text: its first 2,000 visible characters, a space between them, digits folded to 0.

    Separate characters do as well as segmented words, at a fraction of the cost; digits tell documents apart, not good from bad.
    """
    offsets, data = buffers(texts)
    out = np.empty(2 * (int(offsets[-1]) - int(offsets[0])) + 1, np.uint8)
    bounds = np.zeros(len(offsets), np.int64)
    size = _space(data, offsets, CHARACTERS, out, bounds)
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(bounds), pa.py_buffer(out[:size]))


@njit(cache=True, nogil=True)
def _space(data, offsets, characters, out, bounds):  # type: ignore[no-untyped-def]
    at = 0
    for d in range(offsets.size - 1):
        i = offsets[d]
        end = offsets[d + 1]
        n = 0
        while i < end and n < _HEAD:
            c, size = decode(data, i)
            kind = characters[c] & CLASS_MASK
            if kind != SPACE:
                if n:
                    out[at] = 32
                    at += 1
                if kind == DIGIT:
                    out[at] = 48
                    at += 1
                else:
                    for k in range(size):
                        out[at + k] = data[i + k]
                    at += size
                n += 1
            i += size
        bounds[d + 1] = at
    return at
