"""Token ids of many documents, and the bytes that tokens stand for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.kernels import njit


class TokenBatch(NamedTuple):
    """Token ids of many documents: those of document ``i`` are ``ids[offsets[i]:offsets[i + 1]]`` (int32, int64)."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def framed(self, bos_id: int | None, eos_id: int) -> "TokenBatch":
        """The same documents, each with one end-of-text token behind it and, if there is a ``bos_id``, that before it."""
        n = len(self.offsets) - 1
        before = 0 if bos_id is None else 1
        offsets = self.offsets + np.arange(n + 1, dtype=np.int64) * (before + 1)
        ids = np.empty(offsets[-1], np.int32)
        _frame(self.ids, self.offsets, before, 0 if bos_id is None else bos_id, eos_id, ids)
        return TokenBatch(ids, offsets)

    def document(self, index: int) -> NDArray[np.int32]:
        """The ids of one document."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


def concatenate(batches: list[TokenBatch]) -> TokenBatch:
    """The documents of all batches, in order."""
    if len(batches) == 1:
        return batches[0]
    lengths = [np.diff(batch.offsets) for batch in batches]
    offsets = np.zeros(1 + sum(len(part) for part in lengths), np.int64)
    if batches:
        np.cumsum(np.concatenate(lengths), out=offsets[1:])
    ids = np.concatenate([batch.ids for batch in batches]) if batches else np.zeros(0, np.int32)
    return TokenBatch(ids, offsets)


@dataclass(frozen=True)
class Spellings:
    """The bytes of the tokens of a byte-level vocabulary: those of token ``i`` are ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, spelt: dict[int, bytes]) -> "Spellings":
        """The spellings of the tokens given; ids that are missing spell nothing."""
        lengths = np.zeros(max(spelt) + 1, np.int64)
        lengths[list(spelt)] = [len(value) for value in spelt.values()]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(np.frombuffer(b"".join(spelt[index] for index in sorted(spelt)), np.uint8), offsets)

    def including(self, more: Mapping[int, bytes]) -> "Spellings":
        """The same with other tokens beside these, or in the place of those that have their ids."""
        data, before = self.data.tobytes(), len(self.offsets) - 1
        lengths = np.zeros(max(before, 1 + max(more, default=-1)), np.int64)
        lengths[:before] = np.diff(self.offsets)
        pieces, at = [], 0
        for index, spelt in sorted(more.items()):
            pieces += [data[at : self.offsets[min(index, before)]], spelt]
            at = self.offsets[min(index + 1, before)]
            lengths[index] = len(spelt)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Spellings(np.frombuffer(b"".join([*pieces, data[at:]]), np.uint8), offsets)

    def join(self, ids: NDArray[np.int32]) -> str:
        """The text of ``ids``; bytes that are no UTF-8 become U+FFFD, as in the backend."""
        out = np.empty(int((self.offsets[ids + 1] - self.offsets[ids]).sum()), np.uint8)
        _spell(self.data, self.offsets, ids, out)
        return out.tobytes().decode("utf-8", "replace")

    def prove(self, tokens: TokenBatch, texts: pa.Array) -> bool:
        """Whether the tokens of every document spell its UTF-8 bytes, and none of them spells nothing."""
        offsets, data = utf8(texts)
        return bool(_same(self.data, self.offsets, tokens.ids, tokens.offsets, offsets, data))

    def char_starts(self, ids: NDArray[np.int32], text: str) -> NDArray[np.int32] | None:
        """The character of ``text`` at which each token begins, -1 for one that begins within a character.

        None where the tokens do not spell the text (a vocabulary that normalises).
        """
        data = np.frombuffer(text.encode(), np.uint8)
        ends = np.cumsum(self.offsets[ids + 1] - self.offsets[ids])
        if not len(ids) or ends[-1] != len(data):
            return None
        spelt = np.empty(len(data), np.uint8)
        _spell(self.data, self.offsets, ids, spelt)
        if not np.array_equal(spelt, data):
            return None
        leads = (data & 0xC0) != 0x80
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        chars = np.cumsum(leads, dtype=np.int32) - 1
        return np.where(leads[starts], chars[starts], -1).astype(np.int32)


def char_starts_of_spans(spans: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """The character at which each token begins, from its (start, end) in characters; -1 for one that begins within a character.

    Libraries give each of the tokens that spell one character by its bytes that character's start.
    """
    starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
    first = np.ones(len(starts), np.bool_)
    first[1:] = (starts[1:] > starts[:-1]) & (starts[1:] >= np.maximum.accumulate(ends)[:-1])
    return np.where(first, starts, -1).astype(np.int32)


def utf8(texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """(offsets, bytes) of a string array without nulls, without a copy: text ``i`` is ``bytes[offsets[i]:offsets[i + 1]]``."""
    if not len(texts):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return bounds, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


@njit(cache=True, nogil=True)
def _frame(ids, offsets, before, bos_id, eos_id, out):  # type: ignore[no-untyped-def]
    at = 0
    for document in range(offsets.size - 1):
        if before:
            out[at] = bos_id
            at += 1
        for token in range(offsets[document], offsets[document + 1]):
            out[at] = ids[token]
            at += 1
        out[at] = eos_id
        at += 1


@njit(cache=True, nogil=True)
def _spell(data, offsets, ids, out):  # type: ignore[no-untyped-def]
    at = 0
    for token in ids:
        for byte in range(offsets[token], offsets[token + 1]):
            out[at] = data[byte]
            at += 1


@njit(cache=True, nogil=True)
def _same(data, offsets, ids, bounds, text_offsets, text):  # type: ignore[no-untyped-def]
    for document in range(bounds.size - 1):
        at = text_offsets[document]
        end = text_offsets[document + 1]
        for index in range(bounds[document], bounds[document + 1]):
            token = ids[index]
            if token < 0 or token >= offsets.size - 1:
                return False
            length = offsets[token + 1] - offsets[token]
            if length == 0 or at + length > end:
                return False
            for byte in range(offsets[token], offsets[token + 1]):
                if text[at] != data[byte]:
                    return False
                at += 1
        if at != end:
            return False
    return True
