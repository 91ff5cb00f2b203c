"""Documents into windows of fixed length: best-fit-decreasing packing."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray


@dataclass(frozen=True)
class Packing:
    """Which piece of which document stands in which sequence.

    Sequence ``s`` holds the pieces ``offsets[s]`` to ``offsets[s + 1]``; piece ``p`` is the ``length[p]`` tokens from token
    ``start[p]`` of document ``doc[p]`` on. ``doc``, ``offsets`` int64; ``start``, ``length`` int32.
    """

    doc: NDArray[np.int64]
    start: NDArray[np.int32]
    length: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @property
    def n_sequences(self) -> int:
        """Sequences in all."""
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens in all, without padding."""
        return int(self.length.sum(dtype=np.int64))

    @property
    def n_cut(self) -> int:
        """Documents of more than one piece."""
        return int(np.count_nonzero(np.bincount(self.doc) > 1))

    def padding_share(self, seq_len: int) -> float:
        """Padding over all positions, 0 to 1."""
        positions = self.n_sequences * seq_len
        return 1 - self.n_tokens / positions if positions else 0.0


def pack(lengths: NDArray[np.int64], seq_len: int) -> Packing:
    """Pack documents of ``lengths`` tokens (end-of-text included, each at least 1) into sequences of at most ``seq_len``.

    Best-fit-decreasing (arXiv 2404.10830): only documents longer than the window are cut, into whole windows and a rest; then the
    longest piece first, each goes to the fullest sequence that has room. Sequences stand in the order of the document that opened
    them, pieces in a sequence in the order of their documents, so that the order of the documents, not their length, is what a
    reader of the shard meets.
    """
    lengths = np.ascontiguousarray(lengths, np.int64)
    if len(lengths) and int(lengths.min()) < 1:
        raise ValueError("every document has at least one token: its end-of-text")
    doc, start, length = _cut(lengths, seq_len)
    order = np.argsort(-length, kind="stable")
    sequence, opener = _place(length, order, seq_len)
    rank = np.empty(len(opener), np.int64)
    rank[np.argsort(opener)] = np.arange(len(opener))
    sequence = rank[sequence]
    by_sequence = np.argsort(sequence, kind="stable")
    offsets = np.zeros(len(opener) + 1, np.int64)
    np.cumsum(np.bincount(sequence, minlength=len(opener)), out=offsets[1:])
    return Packing(doc[by_sequence], start[by_sequence], length[by_sequence], offsets)


@njit(cache=True, nogil=True)
def _cut(lengths, seq_len):  # type: ignore[no-untyped-def]
    n = 0
    for tokens in lengths:
        n += (tokens + seq_len - 1) // seq_len
    doc = np.empty(n, np.int64)
    start = np.empty(n, np.int32)
    length = np.empty(n, np.int32)
    piece = 0
    for d in range(lengths.size):
        at = 0
        while at < lengths[d]:
            doc[piece] = d
            start[piece] = at
            length[piece] = min(seq_len, lengths[d] - at)
            at += seq_len
            piece += 1
    return doc, start, length


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
