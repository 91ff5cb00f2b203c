"""How long documents are and how good the classifier finds them, as histograms that add up over parts."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LENGTH, QUALITY = "length", "quality"
BINS = 20  # of the score, each 1/20 wide


def length_bins(n_chars: NDArray[np.int64]) -> NDArray[np.int64]:
    """Half-octaves: bin k holds lengths from 2^(k/2) up to below 2^((k+1)/2); an empty text is in bin 0."""
    return np.floor(2 * np.log2(np.maximum(n_chars, 1)) + 1e-9).astype(np.int64)


def lower_edge(length_bin: int) -> int:
    """The least length in characters of a bin."""
    return int(np.ceil(2 ** (length_bin / 2) - 1e-9))


def distributions(table: pa.Table) -> dict[str, int]:
    """Documents (DOCUMENT_JUDGED) by ``length.<type>:<bin>`` and ``quality.<type>:<bin>``; without a score they are in no bin."""
    counts: Counter[str] = Counter()
    doc_types = table["doc_type"].to_pylist()
    lengths = length_bins(pc.utf8_length(table["text"]).to_numpy().astype(np.int64))
    counts.update(f"{LENGTH}.{doc_type}:{at:02d}" for doc_type, at in zip(doc_types, lengths.tolist(), strict=True))
    for doc_type, score in zip(doc_types, table["quality"].to_pylist(), strict=True):
        if score is not None:
            counts[f"{QUALITY}.{doc_type}:{min(BINS - 1, max(0, int(score * BINS))):02d}"] += 1
    return dict(sorted(counts.items()))
