"""A small model for names of persons, organisations and addresses: a linear-chain conditional random field over hashed n-grams.

The method is Lafferty, McCallum and Pereira (2001) with hashed features (Weinberger et al. 2009); weights are 8-bit integers.
Features of a character are its neighbours up to four on each side, alone and in runs of two to four, and the kinds of the
nearest characters; decoding is Viterbi's. ``scripts/train_names.py`` makes the file.
"""

import hashlib
import io
import zipfile
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from lexmill.core.deid.lexer import to_codes

LABELS = ("PERSON", "ORGANISATION", "ADDRESS")
# O, then begin, inside, end of each label; a mention has two characters at least.
N_TAGS = 1 + 3 * len(LABELS)
# A row of weights is padded so that its sum is one vector instruction.
WIDTH = 16
N_FEATURES = 22
REACH = 4
# Features are computed for so many characters at once.
_BLOCK = 64
_NO_KIND = 15
_START = 1
_END = 2
_SURNAME = 6
_ADDRESS = 7
_MASK = 8
_DOT = 9

# Random odd multipliers, one a place, for characters and for kinds, and one offset a feature: part of the model's format.
_RANDOM = np.random.default_rng(20161001)
PLACES: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, 2 * REACH + 1, dtype=np.uint64) | np.uint64(1)
KIND_PLACES: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, 2 * REACH + 1, dtype=np.uint64) | np.uint64(1)
OFFSETS: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, N_FEATURES, dtype=np.uint64)
# As tuples they are constants to the compiler, without which it makes no vector instructions.
_PLACES, _KIND_PLACES, _OFFSETS = tuple(PLACES), tuple(KIND_PLACES), tuple(OFFSETS)


class Mention(NamedTuple):
    """One decoded mention: half-open code points, one of ``LABELS``, and by how many nats it beats no mention there."""

    start: int
    end: int
    label: str
    margin: float


def _fold_table() -> NDArray[np.uint32]:
    table = np.arange(0x110000, dtype=np.uint32)
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


def kind_table(surnames: str) -> NDArray[np.uint8]:
    table = np.zeros(0x110000, dtype=np.uint8)
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
    folded: NDArray[np.uint32] = _FOLD[to_codes(text)]
    return folded


@njit(cache=True, nogil=True, inline="always")
def _features(
    a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any,
    kc: Any, kd: Any, ke: Any, kf: Any, kg: Any, kh: Any, offsets: Any, s: Any,
) -> Any:  # fmt: skip
    """The rows of the features of ``e`` between its neighbours, each multiplied already, and of the kinds around it."""
    return (
        (c + offsets[0]) >> s,
        (d + offsets[1]) >> s,
        (e + offsets[2]) >> s,
        (f + offsets[3]) >> s,
        (g + offsets[4]) >> s,
        (c + d + offsets[5]) >> s,
        (d + e + offsets[6]) >> s,
        (e + f + offsets[7]) >> s,
        (f + g + offsets[8]) >> s,
        (d + f + offsets[9]) >> s,
        (b + c + d + offsets[10]) >> s,
        (c + d + e + offsets[11]) >> s,
        (d + e + f + offsets[12]) >> s,
        (e + f + g + offsets[13]) >> s,
        (f + g + h + offsets[14]) >> s,
        (c + d + e + f + offsets[15]) >> s,
        (d + e + f + g + offsets[16]) >> s,
        (a + b + c + d + offsets[17]) >> s,
        (f + g + h + i + offsets[18]) >> s,
        (kc + kd + ke + kf + kg + kh + offsets[19]) >> s,
        (kd + ke + kf + offsets[20]) >> s,
        (g + h + offsets[21]) >> s,
    )


@njit(cache=True, nogil=True)
def hash_features(codes: Any, kinds: Any, at: int, shift: int, places: Any, kind_places: Any, offsets: Any, out: Any) -> None:
    n = codes.shape[0]
    a = np.uint64(codes[at - 4] if at > 3 else _START) * places[0]
    b = np.uint64(codes[at - 3] if at > 2 else _START) * places[1]
    c = np.uint64(codes[at - 2] if at > 1 else _START) * places[2]
    d = np.uint64(codes[at - 1] if at > 0 else _START) * places[3]
    e = np.uint64(codes[at]) * places[4]
    f = np.uint64(codes[at + 1] if at + 1 < n else _END) * places[5]
    g = np.uint64(codes[at + 2] if at + 2 < n else _END) * places[6]
    h = np.uint64(codes[at + 3] if at + 3 < n else _END) * places[7]
    i = np.uint64(codes[at + 4] if at + 4 < n else _END) * places[8]
    kc = np.uint64(kinds[at - 2] if at > 1 else _NO_KIND) * kind_places[2]
    kd = np.uint64(kinds[at - 1] if at > 0 else _NO_KIND) * kind_places[3]
    ke = np.uint64(kinds[at]) * kind_places[4]
    kf = np.uint64(kinds[at + 1] if at + 1 < n else _NO_KIND) * kind_places[5]
    kg = np.uint64(kinds[at + 2] if at + 2 < n else _NO_KIND) * kind_places[6]
    kh = np.uint64(kinds[at + 3] if at + 3 < n else _NO_KIND) * kind_places[7]
    rows = _features(a, b, c, d, e, f, g, h, i, kc, kd, ke, kf, kg, kh, offsets, np.uint64(shift))
    for k in range(22):
        out[k] = rows[k]


@njit(cache=True, nogil=True)
def _hash_block(codes: Any, kinds: Any, base: int, shift: int, out: Any) -> None:
    """The rows of ``_BLOCK`` characters into ``out`` (22 × ``_BLOCK``); codes and kinds go on by four on both sides.

    One feature of many characters after another is what vector instructions can do, if the multipliers are constants.
    """
    s = np.uint64(shift)
    for j in range(_BLOCK):
        at = base + j
        a = np.uint64(codes[at + 0]) * _PLACES[0]
        b = np.uint64(codes[at + 1]) * _PLACES[1]
        c = np.uint64(codes[at + 2]) * _PLACES[2]
        d = np.uint64(codes[at + 3]) * _PLACES[3]
        e = np.uint64(codes[at + 4]) * _PLACES[4]
        f = np.uint64(codes[at + 5]) * _PLACES[5]
        g = np.uint64(codes[at + 6]) * _PLACES[6]
        h = np.uint64(codes[at + 7]) * _PLACES[7]
        i = np.uint64(codes[at + 8]) * _PLACES[8]
        kc = np.uint64(kinds[at + 2]) * _KIND_PLACES[2]
        kd = np.uint64(kinds[at + 3]) * _KIND_PLACES[3]
        ke = np.uint64(kinds[at + 4]) * _KIND_PLACES[4]
        kf = np.uint64(kinds[at + 5]) * _KIND_PLACES[5]
        kg = np.uint64(kinds[at + 6]) * _KIND_PLACES[6]
        kh = np.uint64(kinds[at + 7]) * _KIND_PLACES[7]
        (
            r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10,
            r11, r12, r13, r14, r15, r16, r17, r18, r19, r20, r21,
        ) = _features(a, b, c, d, e, f, g, h, i, kc, kd, ke, kf, kg, kh, _OFFSETS, s)  # fmt: skip
        out[0, j], out[1, j], out[2, j], out[3, j], out[4, j], out[5, j] = r0, r1, r2, r3, r4, r5
        out[6, j], out[7, j], out[8, j], out[9, j], out[10, j], out[11, j] = r6, r7, r8, r9, r10, r11
        out[12, j], out[13, j], out[14, j], out[15, j], out[16, j], out[17, j] = r12, r13, r14, r15, r16, r17
        out[18, j], out[19, j], out[20, j], out[21, j] = r18, r19, r20, r21


@intrinsic
def _prefetch(_: Any, array: Any, row: Any) -> Any:
    """Asks the processor for the first cache line of ``array[row]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, view.strides)[0]
        start = builder.bitcast(view.data, ir.IntType(8).as_pointer())
        place = builder.gep(start, [builder.mul(builder.zext(arguments[1], stride.type), stride)])
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", (place.type,), form)
        # For reading, into the nearest cache, of data.
        builder.call(ask, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate


@njit(cache=True, nogil=True)
def _score(codes: Any, kinds: Any, n: int, weights: Any, shift: int, scores: Any) -> None:
    """The scores of all tags (n × 16): sums of one row of weights a feature.

    Codes and kinds go on by four before the ``n`` characters, and behind them to the end of a block and by four.
    The table is larger than the nearest caches, so its rows are asked for eight characters ahead.
    """
    ring = np.zeros((2, 22, _BLOCK), dtype=np.uint32)
    _hash_block(codes, kinds, 0, shift, ring[0])
    for j in range(8):
        for k in range(22):
            _prefetch(weights, ring[0, k, j])
    for base in range(0, n, _BLOCK):
        rows, after = ring[(base // _BLOCK) & 1], ring[(base // _BLOCK + 1) & 1]
        if base + _BLOCK < n:
            _hash_block(codes, kinds, base + _BLOCK, shift, after)
        for j in range(min(_BLOCK, n - base)):
            at = base + j
            if j < _BLOCK - 8:
                for k in range(22):
                    _prefetch(weights, rows[k, j + 8])
            else:
                for k in range(22):
                    _prefetch(weights, after[k, j + 8 - _BLOCK])
            r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10 = (
                rows[0, j], rows[1, j], rows[2, j], rows[3, j], rows[4, j], rows[5, j],
                rows[6, j], rows[7, j], rows[8, j], rows[9, j], rows[10, j],
            )  # fmt: skip
            r11, r12, r13, r14, r15, r16, r17, r18, r19, r20, r21 = (
                rows[11, j], rows[12, j], rows[13, j], rows[14, j], rows[15, j], rows[16, j],
                rows[17, j], rows[18, j], rows[19, j], rows[20, j], rows[21, j],
            )  # fmt: skip
            # Written out, so that it becomes one vector sum.
            for k in range(16):
                scores[at, k] = (
                    np.int16(weights[r0, k]) + np.int16(weights[r1, k]) + np.int16(weights[r2, k])
                    + np.int16(weights[r3, k]) + np.int16(weights[r4, k]) + np.int16(weights[r5, k])
                    + np.int16(weights[r6, k]) + np.int16(weights[r7, k]) + np.int16(weights[r8, k])
                    + np.int16(weights[r9, k]) + np.int16(weights[r10, k]) + np.int16(weights[r11, k])
                    + np.int16(weights[r12, k]) + np.int16(weights[r13, k]) + np.int16(weights[r14, k])
                    + np.int16(weights[r15, k]) + np.int16(weights[r16, k]) + np.int16(weights[r17, k])
                    + np.int16(weights[r18, k]) + np.int16(weights[r19, k]) + np.int16(weights[r20, k])
                    + np.int16(weights[r21, k])
                )  # fmt: skip


@njit(cache=True, nogil=True, inline="always")
def _best_closed(outside: int, end1: int, end2: int, end3: int, moves: Any, tag: int) -> tuple[int, int]:
    """The best way into ``tag`` from outside or from the end of a mention, and where it comes from."""
    best, source = outside + moves[0, tag], 0
    other = end1 + moves[3, tag]
    if other > best:
        best, source = other, 3
    other = end2 + moves[6, tag]
    if other > best:
        best, source = other, 6
    other = end3 + moves[9, tag]
    if other > best:
        best, source = other, 9
    return best, source


@njit(cache=True, nogil=True)
def _viterbi(scores: Any, moves: Any, bias: int, back: Any, tags: Any) -> None:
    """The best tags: O (0), then begin, inside, end of each label; ``back`` is scratch (n × 10)."""
    n = scores.shape[0]
    closed = -(1 << 28)
    outside = moves[10, 0] + scores[0, 0] - bias
    begin1, begin2, begin3 = moves[10, 1] + scores[0, 1], moves[10, 4] + scores[0, 4], moves[10, 7] + scores[0, 7]
    inside1, inside2, inside3, end1, end2, end3 = closed, closed, closed, closed, closed, closed
    for at in range(1, n):
        new_outside, back[at, 0] = _best_closed(outside, end1, end2, end3, moves, 0)
        new1, back[at, 1] = _best_closed(outside, end1, end2, end3, moves, 1)
        new2, back[at, 4] = _best_closed(outside, end1, end2, end3, moves, 4)
        new3, back[at, 7] = _best_closed(outside, end1, end2, end3, moves, 7)
        one, two = begin1 + moves[1, 3], inside1 + moves[2, 3]
        end1, back[at, 3] = max(one, two) + scores[at, 3], 1 if one > two else 2
        one, two = begin1 + moves[1, 2], inside1 + moves[2, 2]
        inside1, back[at, 2] = max(one, two) + scores[at, 2], 1 if one > two else 2
        one, two = begin2 + moves[4, 6], inside2 + moves[5, 6]
        end2, back[at, 6] = max(one, two) + scores[at, 6], 4 if one > two else 5
        one, two = begin2 + moves[4, 5], inside2 + moves[5, 5]
        inside2, back[at, 5] = max(one, two) + scores[at, 5], 4 if one > two else 5
        one, two = begin3 + moves[7, 9], inside3 + moves[8, 9]
        end3, back[at, 9] = max(one, two) + scores[at, 9], 7 if one > two else 8
        one, two = begin3 + moves[7, 8], inside3 + moves[8, 8]
        inside3, back[at, 8] = max(one, two) + scores[at, 8], 7 if one > two else 8
        outside = new_outside + scores[at, 0] - bias
        begin1, begin2, begin3 = new1 + scores[at, 1], new2 + scores[at, 4], new3 + scores[at, 7]
    tag, best = 0, outside
    if end1 > best:
        tag, best = 3, end1
    if end2 > best:
        tag, best = 6, end2
    if end3 > best:
        tag, best = 9, end3
    for at in range(n - 1, 0, -1):
        tags[at] = tag
        tag = back[at, tag]
    tags[0] = tag


@njit(cache=True, nogil=True)
def _mentions(scores: Any, moves: Any, tags: Any, found: Any) -> int:
    """Start, end, label and margin of each mention into ``found`` (rows of four); returns how many."""
    n = tags.shape[0]
    count = 0
    for at in range(n):
        tag = tags[at]
        if tag == 0:
            continue
        part = (tag - 1) % 3
        margin = scores[at, tag] - scores[at, 0]
        if part == 0:
            before = 0 if at else 10
            found[count, 0] = at
            found[count, 3] = margin + moves[before, tag] - moves[before, 0]
            continue
        found[count, 3] += margin + moves[tags[at - 1], tag] - moves[0, 0]
        if part == 2:
            found[count, 1] = at + 1
            found[count, 2] = (tag - 1) // 3
            if at + 1 < n:
                found[count, 3] += moves[tag, 0] - moves[0, 0]
            count += 1
    return count


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


@njit(cache=True, nogil=True)
def _decode(raw: Any, folds: Any, kind_of: Any, weights: Any, shift: int, moves: Any, bias: int) -> Any:
    """Rows of start, end, label and margin, one a mention."""
    n = raw.shape[0]
    padded = (n + _BLOCK - 1) // _BLOCK * _BLOCK + 2 * REACH
    codes = np.full(padded, _END, dtype=np.uint32)
    kinds = np.full(padded, _NO_KIND, dtype=np.uint8)
    codes[:REACH] = _START
    for at in range(n):
        code = folds[raw[at]]
        codes[at + REACH] = code
        kinds[at + REACH] = kind_of[code]
    scores = np.empty((n, 16), dtype=np.int16)
    _score(codes, kinds, n, weights, shift, scores)
    tags = np.empty(n, dtype=np.int8)
    _viterbi(scores, moves, bias, np.empty((n, 10), dtype=np.int8), tags)
    found = np.zeros((n // 2 + 1, 4), dtype=np.int32)
    return found[: _mentions(scores, moves, tags, found)]


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
        self._kinds = kind_table(surnames)

    def decode(self, text: str, bias: float) -> list[Mention]:
        """The mentions in ``text``, sorted and disjoint; ``bias`` (in nats) is taken from what speaks against a mention."""
        return self.decode_codes(to_codes(text), bias)

    def decode_codes(self, raw: NDArray[np.uint32], bias: float) -> list[Mention]:
        """The same for the code points of a text."""
        if not len(raw):
            return []
        found = _decode(
            raw, _FOLD, self._kinds, self._weights, self._shift, self._transitions, round(bias * self._scale),
        )  # fmt: skip
        return [Mention(start, end, LABELS[label], margin / self._scale) for start, end, label, margin in found.tolist()]
