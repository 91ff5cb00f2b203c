"""A small model for names of persons, organisations and addresses: a linear-chain conditional random field over hashed n-grams.

The method is Lafferty, McCallum and Pereira (2001) with hashed features (Weinberger et al. 2009); weights are 8-bit integers.
Features of a character are its neighbours up to four on each side, alone and in runs of two to four, and the kinds of the
nearest characters; decoding is Viterbi's. ``scripts/train_names.py`` makes the file.
"""

import hashlib
import io
import zipfile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexmill.core.deid.decode import CLOSED, SOURCES, WIDTH, find_mentions
from lexmill.core.deid.lexer import to_codes

LABELS = ("PERSON", "ORGANISATION", "ADDRESS")
# O, then begin, inside, end of each label; a mention has two characters at least.
N_TAGS = 1 + 3 * len(LABELS)
_SURNAME = 6
_ADDRESS = 7
_MASK = 8
_DOT = 9
# Rarer characters stand for themselves, and are of no kind.
_KNOWN = 1 << 16


class Mention(NamedTuple):
    """One decoded mention: half-open code points, one of ``LABELS``, and by how many nats it beats no mention there."""

    start: int
    end: int
    label: str
    margin: float


def _fold_table() -> NDArray[np.uint32]:
    table = np.arange(_KNOWN, dtype=np.uint32)
    table[0xFF01:0xFF5F] = np.arange(0x21, 0x7F, dtype=np.uint32)
    for low, high, one in ((0x30, 0x3A, "0"), (0xFF10, 0xFF1A, "0"), (0x41, 0x5B, "a"), (0x61, 0x7B, "a"), (0xFF21, 0xFF3B, "a")):
        table[low:high] = ord(one)
    table[0xFF41:0xFF5B] = ord("a")
    for char in "xXｘＸ×*＊":
        table[ord(char)] = ord("X")
    for char in "·•・‧∙●":
        table[ord(char)] = ord("·")
    for char in "\t\u3000\xa0":
        table[ord(char)] = ord(" ")
    table[ord("\r")] = ord("\n")
    return table


_FOLD = _fold_table()


def _kind_table(surnames: str) -> NDArray[np.uint8]:
    table = np.zeros(_KNOWN, dtype=np.uint8)
    table[0x4E00:0xA000] = 1
    for chars, kind in (
        ("0", 2),
        ("a", 3),
        ("X", 4),
        ("，。、；：？！（）《》“”‘’〈〉(),.;:?!\n \x1e", 5),
        (surnames, _SURNAME),
        ("省市县区镇乡村路街号楼室栋幢巷弄院组屯道苑园旗州盟", _ADDRESS),
        ("某甲乙丙丁戊己庚辛", _MASK),
        ("·", _DOT),
    ):
        for char in chars:
            table[ord(char)] = kind
    return table


def fold(text: str) -> NDArray[np.uint32]:
    """The code points of ``text``, one a character, with digits, letters, widths, blanks and masks folded to one each."""
    codes = to_codes(text)
    folded: NDArray[np.uint32] = np.where(codes < _KNOWN, _FOLD[np.minimum(codes, _KNOWN - 1)], codes)
    return folded


def kinds_of(codes: NDArray[np.uint32], surnames: str) -> NDArray[np.uint8]:
    """The kind of each folded character: 0 where it is of none."""
    kinds: NDArray[np.uint8] = np.where(codes < _KNOWN, _kind_table(surnames)[np.minimum(codes, _KNOWN - 1)], 0)
    return kinds


def write_model(
    weights: NDArray[np.float32], transitions: NDArray[np.float32], allowed: NDArray[np.bool_], surnames: str
) -> bytes:
    """The bytes of a model file, the same for the same weights: 8-bit weights on one scale, transitions on the same."""
    # One weight in ten thousand is cut off, so that the others keep their steps.
    scale = 127 / float(np.quantile(np.abs(weights[weights != 0]), 0.9999))
    arrays = {
        "weights": np.clip(np.rint(weights * scale), -127, 127).astype(np.int8),
        "transitions": np.where(allowed, np.rint(transitions * scale), -(1 << 20)).astype(np.int32),
        "scale": np.float64(scale),
        "surnames": np.array(surnames),
    }
    out = io.BytesIO()
    # numpy writes the time of day into its archives; a fixed one makes the bytes repeat.
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), entry.getvalue(), zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


class Tagger:
    """A trained model; ``digest`` is that of its file."""

    def __init__(self, data: bytes) -> None:
        """From the bytes of the file; raises ValueError if they are no model."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                weights, transitions = arrays["weights"], arrays["transitions"]
                self._scale = float(arrays["scale"])
                surnames = str(arrays["surnames"])
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError("the names model is damaged; train it again with scripts/train_names.py") from error
        self.digest = hashlib.sha256(data).hexdigest()
        self._shift = 64 - int(weights.shape[0]).bit_length() + 1
        self._weights = np.zeros((weights.shape[0], WIDTH), dtype=np.int8)
        self._weights[:, :N_TAGS] = weights
        self._transitions = transitions
        # What each character is folded to, and above it its kind.
        self._folds = _FOLD | _kind_table(surnames)[_FOLD].astype(np.uint32) << 24
        self._moves: dict[float, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}

    def decode(self, text: str, bias: float) -> list[Mention]:
        """The mentions in ``text``, sorted and disjoint; ``bias`` (in nats) is taken from what speaks against a mention."""
        return self.decode_codes(to_codes(text), bias)

    def decode_codes(self, raw: NDArray[np.uint32], bias: float) -> list[Mention]:
        """The same for the code points of a text."""
        if not len(raw):
            return []
        moves, first = self._moves.get(bias) or self._moves_for(bias)
        found = find_mentions(raw, self._folds, self._weights.reshape(-1), self._shift, self._transitions, moves, first)
        scale = self._scale
        return [Mention(start, end, LABELS[label], margin / scale) for start, end, label, margin in found.tolist()]

    def _moves_for(self, bias: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The costs of all ways into all tags, and of all beginnings; no mention costs ``bias`` (nats) more."""
        off = round(bias * self._scale)
        moves = np.zeros((len(SOURCES), WIDTH), np.int32)
        for way, sources in enumerate(SOURCES):
            moves[way, :N_TAGS] = self._transitions[sources[:N_TAGS], range(N_TAGS)]
        first = np.full(WIDTH, CLOSED, np.int32)
        opening = [0, *range(1, N_TAGS, 3)]
        first[opening] = self._transitions[N_TAGS, opening]
        moves[:, 0] -= off
        first[0] -= off
        self._moves[bias] = moves.reshape(-1), first
        return self._moves[bias]
