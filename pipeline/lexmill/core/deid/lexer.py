"""One look at a text for all the words that the rules name, in compiled code, instead of one search a list of words.

The words of all lists stand in one tree; what is found is told list by list, and each list is searched as it would be alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lexmill.core.kernels import njit

# leftmost: from left to right the longest word, none that touches one before it; starts: the longest word wherever one begins;
# all: every word wherever one begins, the longest first.
Search = Literal["leftmost", "starts", "all"]
_SEARCHES: tuple[Search, ...] = ("leftmost", "starts", "all")
_CODES = 1 << 16
# Most characters that begin a word are followed by one that goes on with none: a table of pairs tells that at one look.
_PAIRS = 1 << 16
_PAIR_STEP = 40503
_MAX_WORD = 32
MAX_LISTS = 62
# Names of one text are looked up by their first characters.
_HEADS = 1 << 10


def matches_at(pattern: re.Pattern[str], text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
    """What ``finditer`` finds of a pattern none of whose matches is empty or begins elsewhere than at the sorted ``starts``."""
    last = 0
    for start in starts:
        match = pattern.match(text, start) if start >= last else None
        if match is not None:
            last = match.end()
            yield match


def to_codes(text: str) -> NDArray[np.uint32]:
    """The code points of ``text``, one a character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


@njit(cache=True, nogil=True)
def _child(keys: Any, values: Any, node: int, code: int) -> int:
    """The node below ``node`` by ``code``, or -1."""
    size = keys.shape[0]
    key = np.int64(node) * _CODES + code
    at = (key * 40503 + (key >> 9)) & (size - 1)
    while keys[at] >= 0:
        if keys[at] == key:
            return int(values[at])
        at = (at + 1) & (size - 1)
    return -1


@njit(cache=True, nogil=True)
def _scan(codes: Any, first: Any, pairs: Any, keys: Any, values: Any, accepts: Any, words: Any, searches: Any, marks: Any) -> Any:
    """Rows of word, start and end sorted by list, where each list begins, and which of the marked characters were seen.

    ``first``: 0 no word begins so, 1 longer words do, 2 a word of one character does; ``accepts``: the lists whose word ends at
    a node, one bit each; ``words``: that word.
    """
    n = codes.shape[0]
    n_lists = searches.shape[0]
    found = np.empty((n // 2 + 64, 4), np.int32)
    count = 0
    free = np.zeros(n_lists, np.int32)
    best = np.zeros(n_lists, np.int32)
    ends = np.zeros(n_lists, np.int32)
    seen = np.uint64(0)
    per_list = np.zeros(n_lists + 1, np.int64)
    for at in range(n):
        code = codes[at]
        if code >= _CODES:
            continue
        begins = first[code]
        if begins == 0:
            continue
        if begins >= 4:
            seen |= np.uint64(1) << np.uint64(marks[code])
            begins &= 3
            if begins == 0:
                continue
        if begins == 1 and (at + 1 >= n or not pairs[(code * _PAIR_STEP + codes[at + 1]) & (_PAIRS - 1)]):
            continue
        node = 0
        touched = np.int64(0)
        to = at
        if count + _MAX_WORD * n_lists > found.shape[0]:
            more = np.empty((2 * found.shape[0] + _MAX_WORD * n_lists, 4), np.int32)
            more[:count] = found[:count]
            found = more
        while to < n and codes[to] < _CODES:
            node = _child(keys, values, node, codes[to])
            if node < 0:
                break
            to += 1
            lists = accepts[node]
            if lists == 0:
                continue
            touched |= lists
            which = -1
            while lists:
                which += 1
                if lists & 1:
                    best[which] = words[node]
                    ends[which] = to
                    if searches[which] == 2:
                        found[count, 0], found[count, 1], found[count, 2], found[count, 3] = words[node], at, to, which
                        count += 1
                        per_list[which + 1] += 1
                lists >>= 1
        which = -1
        while touched:
            which += 1
            if touched & 1 and searches[which] < 2 and at >= free[which]:
                found[count, 0], found[count, 1], found[count, 2], found[count, 3] = best[which], at, ends[which], which
                count += 1
                per_list[which + 1] += 1
                if searches[which] == 0:
                    free[which] = ends[which]
            touched >>= 1
    for which in range(n_lists):
        per_list[which + 1] += per_list[which]
    rows = np.empty((count, 3), np.int32)
    place = per_list.copy()
    for at in range(count):
        to = place[found[at, 3]]
        place[found[at, 3]] += 1
        rows[to, 0], rows[to, 1], rows[to, 2] = found[at, 0], found[at, 1], found[at, 2]
    return rows, per_list, seen


@njit(cache=True, nogil=True)
def _find_names(codes: Any, names: Any, borders: Any) -> Any:
    """Rows of name, start and end: from left to right the longest name; ``borders`` parts the ``names``, which stand in a row."""
    n = codes.shape[0]
    n_names = borders.shape[0] - 1
    heads = np.full(_HEADS, -1, np.int32)
    following = np.empty(n_names, np.int32)
    for name in range(n_names):
        head = names[borders[name]] & (_HEADS - 1)
        following[name] = heads[head]
        heads[head] = name
    found = np.empty((64, 3), np.int32)
    count = 0
    at = 0
    while at < n:
        name = heads[codes[at] & (_HEADS - 1)]
        longest, best = 0, -1
        while name >= 0:
            low = borders[name]
            size = borders[name + 1] - low
            if size > longest and at + size <= n:
                same = 0
                while same < size and names[low + same] == codes[at + same]:
                    same += 1
                if same == size:
                    longest, best = size, name
            name = following[name]
        if best < 0:
            at += 1
            continue
        if count == found.shape[0]:
            more = np.empty((2 * count, 3), np.int32)
            more[:count] = found
            found = more
        found[count, 0], found[count, 1], found[count, 2] = best, at, at + longest
        count += 1
        at += longest
    return found[:count]


def find_names(codes: NDArray[np.uint32], names: Sequence[str]) -> list[list[int]]:
    """Where the ``names`` (different, none empty) stand: rows of name, start and end, from left to right the longest."""
    borders = np.array([0, *accumulate(map(len, names))], np.int32)
    rows: list[list[int]] = _find_names(codes, to_codes("".join(names)), borders).tolist()
    return rows


class Hits:
    """What stands in one text: ``of`` gives the hits of a list, sorted by place; ``marked`` counts the marked characters seen."""

    __slots__ = ("_borders", "_found", "_places", "_rows", "codes", "marked")

    def __init__(
        self, codes: NDArray[np.uint32], rows: NDArray[np.int32], borders: list[int], places: Mapping[str, int], marked: int
    ) -> None:
        self.codes = codes
        self.marked = marked
        self._rows = rows
        self._found: list[int] = rows.ravel().tolist()
        self._borders = borders
        self._places = places

    def of(self, name: str) -> Iterator[tuple[int, int, int]]:
        """Word (its place in ``Lexer.words``), start and end."""
        which = self._places[name]
        low, high = 3 * self._borders[which], 3 * self._borders[which + 1]
        if low == high:
            return iter(())
        return zip(self._found[low:high:3], self._found[low + 1 : high : 3], self._found[low + 2 : high : 3], strict=True)

    def starts(self, name: str) -> list[int]:
        """Where words of the list begin."""
        which = self._places[name]
        return self._found[3 * self._borders[which] + 1 : 3 * self._borders[which + 1] : 3]

    def has_any(self, first: str, last: str) -> bool:
        """Whether there is a word of one of the lists from ``first`` to ``last``."""
        return self._borders[self._places[first]] < self._borders[self._places[last] + 1]

    def array(self, name: str) -> NDArray[np.int32]:
        """Where words of the list begin."""
        which = self._places[name]
        found: NDArray[np.int32] = self._rows[self._borders[which] : self._borders[which + 1], 1]
        return found


class Lexer:
    """Searches for the words of several lists at once; ``marks`` are characters of which is told how many a text holds."""

    def __init__(self, lists: Mapping[str, tuple[Search, Iterable[str]]], marks: str = "") -> None:
        if len(lists) > MAX_LISTS or len(set(marks)) > 64:
            raise ValueError("too many lists or marks")
        ids: dict[str, int] = {}
        tree: list[dict[int, int]] = [{}]
        accepts = [0]
        ends = [-1]
        first = np.zeros(_CODES, np.uint8)
        pairs = np.zeros(_PAIRS, np.bool_)
        for which, (_, words) in enumerate(lists.values()):
            for word in words:
                if not 0 < len(word) <= _MAX_WORD or max(word) > "\uffff":
                    raise ValueError("a word must have 1 to 32 characters of the basic plane")
                node = 0
                for char in word:
                    if ord(char) not in tree[node]:
                        tree[node][ord(char)] = len(tree)
                        tree.append({})
                        accepts.append(0)
                        ends.append(-1)
                    node = tree[node][ord(char)]
                accepts[node] |= 1 << which
                ends[node] = ids.setdefault(word, len(ids))
                if len(word) == 1:
                    first[ord(word)] |= 2
                else:
                    first[ord(word[0])] |= 1
                    pairs[(ord(word[0]) * _PAIR_STEP + ord(word[1])) & (_PAIRS - 1)] = True
        # A word of one character is found whatever follows it.
        first[first == 3] = 2
        self._marks = np.zeros(_CODES, np.uint8)
        for place, char in enumerate(dict.fromkeys(marks)):
            self._marks[ord(char)] = place
            first[ord(char)] |= 4
        size = 1 << max(4, (2 * len(tree)).bit_length())
        keys, values = np.full(size, -1, np.int64), np.zeros(size, np.int32)
        for node, below in enumerate(tree):
            for code, child in below.items():
                key = node * _CODES + code
                at = (key * 40503 + (key >> 9)) & (size - 1)
                while keys[at] >= 0:
                    at = (at + 1) & (size - 1)
                keys[at], values[at] = key, child
        self.words = tuple(ids)
        self.lists = frozenset(lists)
        self._places = {name: which for which, name in enumerate(lists)}
        self._tables = (
            first, pairs, keys, values, np.array(accepts, np.int64), np.array(ends, np.int32),
            np.array([_SEARCHES.index(search) for search, _ in lists.values()], np.int8),
        )  # fmt: skip

    def scan(self, text: str) -> Hits:
        """All hits in ``text``."""
        codes = to_codes(text)
        rows, borders, seen = _scan(codes, *self._tables, self._marks)
        return Hits(codes, rows, borders.tolist(), self._places, int(seen).bit_count())
