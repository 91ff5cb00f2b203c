"""Screening for illegal content: lists of terms and classifiers that mark legal text, and never remove it.

A judgment on drugs names drugs, and is no illegal content. What is counted, by source, is what the standards ask (GB/T 45654-2025
after TC260-003: a source with more than 5 % is not to be used); a person decides.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ahocorasick_rs
import fasttext
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.config import Screen as Settings
from lexmill.core.quality.classifier import PAIR_BITS, spaced
from lexmill.errors import InputError

_CALL = 256


@dataclass(frozen=True)
class Screen:
    """One list of terms, or one fastText model over characters; ``digest`` is the sha256 of its settings and its file."""

    settings: Settings
    digest: str
    terms: ahocorasick_rs.AhoCorasick | None
    model: fasttext.FastText._FastText | None

    def hits(self, texts: pa.Array | pa.ChunkedArray, doc_types: Sequence[str]) -> NDArray[np.bool_]:
        """Which texts (string array) of its types have ``min_count`` different terms, or a label as likely as ``threshold``."""
        asked = np.isin(np.array(doc_types, dtype=object), np.array(self.settings.doc_types, dtype=object))
        found = np.zeros(len(texts), np.bool_)
        rows = np.flatnonzero(asked)
        chosen = texts.take(pa.array(rows))
        if self.terms is not None:
            found[rows] = [
                len({term for term, _, _ in self.terms.find_matches_as_indexes(text)}) >= self.settings.min_count
                for text in chosen.to_pylist()
            ]
        elif self.model is not None:
            found[rows] = self._likely(chosen)
        return found

    def _likely(self, texts: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        label = f"__label__{self.settings.label}"
        likely = np.zeros(len(texts), np.bool_)
        none_known = np.zeros(1 << (PAIR_BITS - 3), np.uint8)
        for at in range(0, len(texts), _CALL):
            lines = spaced(texts[at : at + _CALL], none_known)[0].to_pylist()
            labels, values = self.model.predict(lines, k=-1)  # type: ignore[union-attr]
            for row, (names, chances) in enumerate(zip(labels, values, strict=True)):
                likely[at + row] = dict(zip(names, chances, strict=True)).get(label, 0.0) >= self.settings.threshold
        return likely


def load(settings: Settings, path: Path) -> Screen:
    """Load the list or the model at ``path``; raises InputError where it is neither."""
    try:
        data = path.read_bytes()
        digest = hashlib.sha256(settings.model_dump_json().encode() + hashlib.sha256(data).digest()).hexdigest()
        if settings.words is None:
            model = fasttext.load_model(str(path))
            if f"__label__{settings.label}" not in model.get_labels():
                raise InputError(f"{path}: the model has no label {settings.label}")
            return Screen(settings, digest, None, model)
        words = sorted({line.strip() for line in data.decode("utf-8-sig").splitlines() if line.strip() and line[0] != "#"})
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no list of terms in UTF-8 and no fastText model ({type(error).__name__})") from None
    if not words:
        raise InputError(f"{path}: holds no term; write one a line")
    return Screen(settings, digest, ahocorasick_rs.AhoCorasick(words), None)
