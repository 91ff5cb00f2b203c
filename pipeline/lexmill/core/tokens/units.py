"""Chinese text in units whose tokens do not depend on what stands beside them, each encoded once and remembered.

Byte-pair encoding joins bytes only into tokens of its vocabulary. Where two ideographs stand side by side and no token of the
vocabulary holds the end of the one and the beginning of the other, no join crosses, and both sides encode as if alone: DeepSeek's
128,000 tokens leave 48,066 pairs of 437 million to be kept together. The same holds between an ideograph and a mark such as the
full stop, if the vocabulary's pattern divides there too, which is tried out. 30 MB of legal text so become 5.0 million units, of
which 152,000 differ.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.kernels import njit
from lexmill.core.tokens.batch import Spellings, TokenBatch, concatenate, utf8
from lexmill.core.tokens.encoding import Encoder

_FIRST, _LAST = 0x4E00, 0x9FA5  # 一 to 龥: what published patterns call ideographs; three bytes each, E4 to E9 the first of them
_LEADS = range(0xE4, 0xEA)
_MARKS = "\n\u3000，。、；：？！（）《》〈〉“”‘’【】〔〕…—·％0123456789"
_IDEOGRAPHS = ("被", "一", "龥")
_PROBES = (
    "被告人卓某",
    "一、",
    "（2078）某0101民初1号",
    "龥",
    "本院",
    "12.5％ of x",
    "。”“",
    "\n\u3000\u3000",
    "A1",
    " ",
    "",
    "\u3000",
    "\n",
)

# The memory is emptied when it is full: 20 MB of units, 16 MB of slots, 4 MB of bounds, 8 MB of tokens.
MAX_UNITS = 1 << 19
_UNIT_BYTES = 40  # on average, at most: else the memory counts as full earlier
_ROW = 1 << 20  # units whose tokens are written at a time


class Cuts(NamedTuple):
    """Where text may be cut: between ideographs that are no pair of ``pairs``, and at marks.

    ``pairs`` is an open-addressed set of 1 + 65536 × left + right (counted from 一); 0 is an empty slot, its size a power of two.
    ``after[c]``: between character ``c`` and an ideograph behind it; ``before[c]``: between an ideograph and ``c`` behind it.
    """

    pairs: NDArray[np.uint32]
    after: NDArray[np.bool_]
    before: NDArray[np.bool_]


def find_cuts(spellings: Spellings, reference: Encoder) -> Cuts | None:
    """Where the texts of a byte-level vocabulary may be cut, or None where not even ideographs come apart."""
    if not _divides(reference, ("卓", "某", "龥"), ("甪", "龥", "一")):  # three pairs that no token joins
        return None
    crossings = _crossings(spellings)
    joined_ahead = {left for left, right in crossings if right[0] in _LEADS}
    joined_behind = {right for left, right in crossings if _ends_ideograph(left)}
    after, before = np.zeros(1 << 16, np.bool_), np.zeros(1 << 16, np.bool_)
    for mark in _MARKS:
        spelt = mark.encode()
        if joined_ahead.isdisjoint(spelt[at:] for at in range(len(spelt))):
            after[ord(mark)] = _divides(reference, (mark,) * 3, _IDEOGRAPHS)
        if joined_behind.isdisjoint(spelt[: at + 1] for at in range(len(spelt))):
            before[ord(mark)] = _divides(reference, _IDEOGRAPHS, (mark,) * 3)
    return Cuts(_pairs(crossings), after, before)


def _crossings(spellings: Spellings) -> list[tuple[bytes, bytes]]:
    """What stands on both sides of borders between characters within a token: one character each, or what the token has of it."""
    data, offsets = spellings.data.tobytes(), spellings.offsets.tolist()
    found = set()
    for start, end in pairwise(offsets):
        for at in range(start + 1, end):
            if data[at] & 0xC0 == 0x80 or (data[at] < 0x80 and data[at - 1] < 0x80):
                continue  # within a character, or between two of ASCII
            lead, stop = at - 1, at + 1
            while lead > start and data[lead] & 0xC0 == 0x80:
                lead -= 1
            while stop < end and data[stop] & 0xC0 == 0x80:
                stop += 1
            found.add((data[lead:at], data[at:stop]))
    return sorted(found)


def _ends_ideograph(left: bytes) -> bool:
    return left[-1] & 0xC0 == 0x80 and (left[0] & 0xC0 == 0x80 or left[0] in _LEADS)


def _pairs(crossings: Iterable[tuple[bytes, bytes]]) -> NDArray[np.uint32]:
    begins: defaultdict[bytes, list[int]] = defaultdict(list)
    ends: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, code in enumerate(range(_FIRST, _LAST + 1)):
        spelt = chr(code).encode()
        for size in (1, 2, 3):
            begins[spelt[:size]].append(number)
            ends[spelt[-size:]].append(number)
    together = {
        1 + (left << 16 | right) for end, begin in crossings for left in ends.get(end, ()) for right in begins.get(begin, ())
    }
    slots = np.zeros(1 << max(4, (4 * len(together)).bit_length()), np.uint32)
    _fill(slots, np.array(sorted(together), np.uint32))
    return slots


def _divides(reference: Encoder, lefts: Sequence[str], rights: Sequence[str]) -> bool:
    """Whether texts that are joined at each left and right have the tokens of both, with every probe on either side."""
    heads, tails = [], []
    for turn, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        # What stands on a side may be more of the same: patterns take runs of marks and of white space in their own ways.
        before, behind = (*_PROBES, left, 2 * left), (*_PROBES, right, 2 * right)
        shift = 3 * turn + 1
        heads += [probe + left for probe in before]
        tails += [right + probe for probe in behind[shift:] + behind[:shift]]
    whole = reference.encode(pa.array([head + tail for head, tail in zip(heads, tails, strict=True)]))
    head, tail = reference.encode(pa.array(heads)), reference.encode(pa.array(tails))
    return all(whole.document(n).tolist() == [*head.document(n), *tail.document(n)] for n in range(len(heads)))


_NOTHING = TokenBatch(np.zeros(0, np.int32), np.zeros(1, np.int64))


class UnitEncoder:
    """An encoder that cuts texts into units and asks ``inner`` for those that it does not remember."""

    def __init__(self, inner: Encoder, cuts: Cuts, max_units: int = MAX_UNITS) -> None:
        self._inner = inner
        self._cuts = cuts
        self._slots = np.zeros((2 << (max_units - 1).bit_length(), 2), np.uint64)  # key, 1 + number; 0: empty
        self._arena = np.empty(_UNIT_BYTES * max_units, np.uint8)
        self._bounds = np.zeros(max_units + 1, np.int64)
        self._known = 0
        self._tokens = _NOTHING

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text; raises what ``inner`` raises."""
        bounds, data = utf8(texts)
        ends = np.zeros(len(texts), np.int64)  # units up to the end of each text
        offsets = np.zeros(len(texts) + 1, np.int64)
        row = np.empty(min(_ROW, len(data)), np.int32)
        pieces: list[NDArray[np.int32]] = []
        text, byte, units, written = 0, int(bounds[0]), 0, 0
        while text < len(texts):
            first, before = text, units
            text, byte, units, known, missing = _walk(
                data, bounds, *self._cuts, self._slots, self._arena, self._bounds, self._known, row, ends, text, byte, units
            )
            self._learn(known)
            numbers = row[: units - before]
            upto = np.zeros(len(numbers) + 1, np.int64)
            np.cumsum(np.diff(self._tokens.offsets)[numbers], out=upto[1:])
            offsets[first + 1 : text + 1] = written + upto[ends[first:text] - before]
            ids = np.empty(upto[-1], np.int32)
            _copy(self._tokens.ids, self._tokens.offsets, numbers, ids)
            pieces.append(ids)
            written += len(ids)
            if missing:
                self._forget(missing)
        return TokenBatch(np.concatenate(pieces) if pieces else np.zeros(0, np.int32), offsets)

    def _learn(self, known: int) -> None:
        if known == self._known:
            return
        bounds = self._bounds[self._known : known + 1].astype(np.int32)
        units = pa.StringArray.from_buffers(known - self._known, pa.py_buffer(bounds), pa.py_buffer(self._arena))
        try:
            self._tokens = concatenate([self._tokens, self._inner.encode(units)])
        except BaseException:
            self._forget(0)  # the slots already name units whose tokens nobody knows
            raise
        self._known = known

    def _forget(self, room: int) -> None:
        """Empty the memory, and see that it has room for a unit of so many bytes."""
        self._slots[:] = 0
        self._known = 0
        self._tokens = _NOTHING
        if room > len(self._arena):
            self._arena = np.empty(2 * room, np.uint8)


@njit(cache=True, nogil=True)
def _home(key, mask):  # type: ignore[no-untyped-def]
    # Multiplicative hashing (Knuth, TAOCP 6.4) by 2^64 over the golden ratio.
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask


@njit(cache=True, nogil=True)
def _fill(slots, values):  # type: ignore[no-untyped-def]
    for value in values:
        at = _home(value, slots.size - 1)
        while slots[at]:
            at = (at + 1) & (slots.size - 1)
        slots[at] = value


@njit(cache=True, nogil=True)
def _same(data, start, stop, arena, at):  # type: ignore[no-untyped-def]
    byte = start
    while byte < stop and arena[at + byte - start] == data[byte]:
        byte += 1
    return byte == stop


@njit(cache=True, nogil=True)
def _walk(  # type: ignore[no-untyped-def]
    data, text_bounds, pairs, after, before, slots, arena, bounds, known, row, ends, text, byte, units
):
    """Cut texts from ``byte`` of ``text`` on into units and put their numbers into ``row``, until that or the memory is full.

    Returns where it stopped, how many units there were in all and are known, and the length of the unit that there was no room
    for (0: there was room). A slot holds the unit's key and 1 + its number. The key of up to three characters is their code
    points, that of more (or of such beyond 16 bits) a hash, so that their bytes must be compared too.
    """
    filled = 0
    pair_mask, slot_mask = pairs.size - 1, slots.shape[0] - 1
    while text < text_bounds.size - 1:
        end = np.int64(text_bounds[text + 1])
        while byte < end:
            if filled == row.size:
                return text, byte, units, known, 0
            stop = byte
            hashed = np.uint64(0xCBF29CE484222325)  # FNV-1a, over characters
            packed = np.uint64(0)
            characters = 0
            short = True
            last = np.int64(-1)
            while stop < end:
                lead = np.int64(data[stop])
                if lead < 0x80:
                    size, code = 1, lead
                elif lead < 0xE0:
                    size, code = 2, (lead & 0x1F) << 6 | np.int64(data[stop + 1] & 0x3F)
                elif lead < 0xF0:
                    size, code = 3, (lead & 0x0F) << 12 | np.int64(data[stop + 1] & 0x3F) << 6 | np.int64(data[stop + 2] & 0x3F)
                else:
                    size, code = 4, (lead & 0x07) << 18 | np.int64(data[stop + 1] & 0x3F) << 12
                    code |= np.int64(data[stop + 2] & 0x3F) << 6 | np.int64(data[stop + 3] & 0x3F)
                    short = False
                if last >= 0:
                    behind, ahead = _FIRST <= last <= _LAST, _FIRST <= code <= _LAST
                    if behind and ahead:
                        wanted = np.uint32(1 + ((last - _FIRST) << 16 | (code - _FIRST)))
                        at = _home(wanted, pair_mask)
                        while pairs[at] != 0 and pairs[at] != wanted:
                            at = (at + 1) & pair_mask
                        if pairs[at] == 0:
                            break
                    elif (behind and code < 0x10000 and before[code]) or (ahead and last < 0x10000 and after[last]):
                        break
                hashed = (hashed ^ np.uint64(code)) * np.uint64(0x100000001B3)
                packed = packed << np.uint64(16) | np.uint64(code)
                characters += 1
                last = code
                stop += size
            short = short and characters <= 3
            key = packed | np.uint64(characters << 48) if short else hashed | np.uint64(1 << 63)
            at = _home(key, slot_mask)
            while slots[at, 1] != 0:
                if slots[at, 0] == key:
                    number = np.int64(slots[at, 1]) - 1
                    if short or (
                        bounds[number + 1] - bounds[number] == stop - byte and _same(data, byte, stop, arena, bounds[number])
                    ):
                        break
                at = (at + 1) & slot_mask
            if slots[at, 1] == 0:
                if known == bounds.size - 1 or bounds[known] + stop - byte > arena.size:
                    return text, byte, units, known, stop - byte
                for index in range(stop - byte):
                    arena[bounds[known] + index] = data[byte + index]
                bounds[known + 1] = bounds[known] + stop - byte
                known += 1
                slots[at, 0], slots[at, 1] = key, np.uint64(known)
            row[filled] = np.int64(slots[at, 1]) - 1
            filled += 1
            units += 1
            byte = stop
        ends[text] = units
        text += 1
    return text, byte, units, known, 0


@njit(cache=True, nogil=True)
def _copy(ids, offsets, numbers, out):  # type: ignore[no-untyped-def]
    at = 0
    for number in numbers:
        for token in range(offsets[number], offsets[number + 1]):
            out[at] = ids[token]
            at += 1
