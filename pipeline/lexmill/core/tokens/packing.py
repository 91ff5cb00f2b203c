"""Documents into windows of fixed length: best-fit-decreasing packing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexmill.core.kernels import njit


@dataclass(frozen=True)
class Pieces:
    """Stretches of documents: piece ``p`` is the ``length[p]`` tokens from token ``start[p]`` of document ``doc[p]`` on.

    It stands for the characters ``char_start[p]`` to ``char_end[p]``, and ``head[p]`` tokens that repeat the heading of its
    document stand before it. ``doc`` int64, the others int32.
    """

    doc: NDArray[np.int64]
    start: NDArray[np.int32]
    length: NDArray[np.int32]
    head: NDArray[np.int32]
    char_start: NDArray[np.int32]
    char_end: NDArray[np.int32]

    @property
    def size(self) -> NDArray[np.int32]:
        """Tokens that each piece takes up in a sequence."""
        return self.length + self.head

    def take(self, order: NDArray[np.int64]) -> "Pieces":
        """The pieces numbered ``order``."""
        return Pieces(
            self.doc[order],
            self.start[order],
            self.length[order],
            self.head[order],
            self.char_start[order],
            self.char_end[order],
        )


@dataclass(frozen=True)
class Packing:
    """Which pieces stand in which sequence: sequence ``s`` holds ``pieces`` ``offsets[s]`` to ``offsets[s + 1]`` (int64)."""

    pieces: Pieces
    offsets: NDArray[np.int64]

    @property
    def n_sequences(self) -> int:
        """Sequences in all."""
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens in all, repeated headings included, without padding."""
        return int(self.pieces.size.sum(dtype=np.int64))

    @property
    def n_cut(self) -> int:
        """Documents of more than one piece."""
        return int(np.count_nonzero(np.bincount(self.pieces.doc) > 1))

    @property
    def n_divisible(self) -> int:
        """How many more sequences the same pieces could fill."""
        return len(self.pieces.doc) - self.n_sequences

    def padding_share(self, seq_len: int) -> float:
        """Padding over all positions, 0 to 1."""
        positions = self.n_sequences * seq_len
        return 1 - self.n_tokens / positions if positions else 0.0

    def divided(self, more: int) -> "Packing":
        """The same pieces in ``more`` more sequences, by dividing some evenly chosen ones between two pieces.

        No piece is cut and none is moved past another. Raises ValueError where that would take more pieces than there are.
        """
        if more == 0:
            return self
        within = np.setdiff1d(np.arange(len(self.pieces.doc), dtype=np.int64), self.offsets)
        if more > len(within):
            raise ValueError("there are fewer pieces than sequences asked for")
        return Packing(self.pieces, np.sort(np.concatenate([self.offsets, within[np.arange(more) * len(within) // more]])))


def divide(
    lengths: NDArray[np.int64],
    chars: NDArray[np.int64],
    heads: NDArray[np.int32],
    cuts: NDArray[np.int64],
    tokens: NDArray[np.int32],
    at_chars: NDArray[np.int32],
) -> Pieces:
    """The pieces of documents of ``lengths`` tokens (framed, at least 1) and ``chars`` characters, in order.

    ``cuts[i]`` to ``cuts[i + 1]`` number the cuts of document ``i`` in ``tokens`` and ``at_chars``, where its later pieces begin;
    those repeat ``heads[i]`` tokens.
    """
    if len(lengths) and int(lengths.min()) < 1:
        raise ValueError("every document has at least one token: its end-of-text")
    counts = 1 + np.diff(cuts)
    doc = np.repeat(np.arange(len(lengths), dtype=np.int64), counts)
    first = np.zeros(len(doc), np.bool_)
    first[np.cumsum(counts) - counts] = True
    start, char_start = np.zeros(len(doc), np.int32), np.zeros(len(doc), np.int32)
    start[~first], char_start[~first] = tokens, at_chars
    last = np.append(first[1:], True) if len(doc) else first
    end, char_end = np.empty(len(doc), np.int32), np.empty(len(doc), np.int32)
    end[last], char_end[last] = lengths, chars
    end[~last], char_end[~last] = tokens, at_chars
    head = np.where(first, 0, heads[doc]).astype(np.int32)
    return Pieces(doc, start, end - start, head, char_start, char_end)


def pack(pieces: Pieces, seq_len: int) -> Packing:
    """Pack pieces, none longer than ``seq_len``, into sequences of at most ``seq_len`` tokens.

    Best-fit-decreasing (arXiv 2404.10830): the longest piece first, each goes to the fullest sequence that has room. Sequences
    stand in the order of the document that opened them, pieces in a sequence in the order of their documents, so that the order
    of the documents, not their length, is what a reader of the shard meets.
    """
    size = pieces.size
    if len(size) and int(size.max()) > seq_len:
        raise ValueError("a piece is longer than the window")
    order = np.argsort(-size, kind="stable")
    sequence, opener = _place(size, order, seq_len)
    rank = np.empty(len(opener), np.int64)
    rank[np.argsort(opener)] = np.arange(len(opener))
    sequence = rank[sequence]
    by_sequence = np.argsort(sequence, kind="stable")
    offsets = np.zeros(len(opener) + 1, np.int64)
    np.cumsum(np.bincount(sequence, minlength=len(opener)), out=offsets[1:])
    return Packing(pieces.take(by_sequence), offsets)


def one_each(pieces: Pieces) -> Packing:
    """Every piece in a sequence of its own, in order."""
    return Packing(pieces, np.arange(len(pieces.doc) + 1, dtype=np.int64))


@njit(cache=True, nogil=True)
def _place(length, order, seq_len):  # type: ignore[no-untyped-def]
    """The sequence of each piece, and the piece that opened each sequence.

    ``tree`` is a binary heap over 0..seq_len: a leaf counts the open sequences with exactly that much room, so the least room
    that suffices is found in O(log seq_len); ``first`` and ``after`` chain the sequences of equal room.
    """
    leaves = 1
    while leaves < seq_len + 1:
        leaves *= 2
    tree = np.zeros(2 * leaves, np.int32)
    first = np.full(seq_len + 1, -1, np.int64)
    after = np.empty(length.size, np.int64)
    sequence = np.empty(length.size, np.int64)
    opener = np.empty(length.size, np.int64)
    n = 0
    for piece in order:
        need = length[piece]
        node = leaves + need
        if tree[node] == 0:
            while node > 1 and (node % 2 == 1 or tree[node + 1] == 0):
                node //= 2
            if node > 1:
                node += 1
                while node < leaves:
                    node *= 2
                    if tree[node] == 0:
                        node += 1
        if node > 1:
            room = node - leaves
            chosen = first[room]
            first[room] = after[chosen]
            while node >= 1:
                tree[node] -= 1
                node //= 2
        else:
            room = seq_len
            chosen = n
            opener[n] = piece
            n += 1
        sequence[piece] = chosen
        room -= need
        if room:
            after[chosen] = first[room]
            first[room] = chosen
            node = leaves + room
            while node >= 1:
                tree[node] += 1
                node //= 2
    return sequence, opener[:n].copy()
