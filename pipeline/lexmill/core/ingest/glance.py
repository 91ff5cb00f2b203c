"""What of a text the rules of hygiene have to look at closer, told in one pass: most texts have next to nothing of it."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from lexmill.core.kernels import njit

CHARACTER: Final = 1 << 0
RUN: Final = 1 << 1
BLANK: Final = 1 << 2
LINE_END: Final = 1 << 3
WORD: Final = 1 << 4
STOP: Final = 1 << 5
"""Classes of characters: what a rule of characters may change, with which a run begins, blanks between the characters of a spaced
word and blanks that go at the end of a line, the first characters of spaced words, the ends of sentences."""
_ALONE: Final = 1 << 6
_FIRST: Final = 1 << 7
_BEYOND: Final = 1 << 8
_SPACED: Final = 1 << 9
_TRAILING: Final = 1 << 10
# Above these bits: the number of a first character of a need.
_NUMBER: Final = 16
_NUMBERS: Final = 64

_BMP = 1 << 16
_SURROGATES = slice(0xD800, 0xE000)


class Glance(NamedTuple):
    """What a text may hold: each says no only where that is certain.

    ``has_characters``, ``has_runs``: something for a rule of characters, for a run. ``is_spaced``: the first character of a
    spaced word before a blank. ``has_trailing``: a blank before the end of a line. ``hits``: where a need may begin, in order;
    None where that is not told. ``n_stopping``: lines that are long and end inside a sentence.
    """

    has_characters: bool
    has_runs: bool
    is_spaced: bool
    has_trailing: bool
    hits: list[int] | None
    n_stopping: int


class Glancer:
    """``classes``: the characters of each class above; ``needs``: what a line must hold to go; ``long_line``: in characters."""

    def __init__(self, classes: Mapping[int, Iterable[str]], needs: Iterable[str], long_line: int) -> None:
        self._table: npt.NDArray[np.uint32] = np.zeros(_BMP, dtype=np.uint32)
        # Of each character, after which first characters it is the second one of a need; more than 64 of these share numbers.
        self._seconds: npt.NDArray[np.uint64] = np.zeros(_BMP, dtype=np.uint64)
        for bit, characters in classes.items():
            for char in characters:
                if ord(char) < _BMP:
                    self._table[ord(char)] |= bit
        numbers: dict[str, int] = {}
        for need in needs:
            first, second = need[0], need[1:2]
            if ord(first) >= _BMP or (second and ord(second) >= _BMP):
                continue
            if second:
                number = numbers.setdefault(first, len(numbers)) % _NUMBERS
                self._table[ord(first)] |= _FIRST | number << _NUMBER
                self._seconds[ord(second)] |= np.uint64(1 << number)
            else:
                self._table[ord(first)] |= _ALONE
        # What lies beyond the first plane comes in halves that tell nothing: it may be of any class.
        self._table[_SURROGATES] = _BEYOND
        self._long_line = long_line

    def at(self, text: str) -> Glance:
        """What ``text`` may hold; of a text with characters beyond U+FFFF nothing is certain."""
        units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
        hits = np.empty(2 * units.size, np.int32)
        held, n_hits, n_stopping = _look(units, self._table, self._seconds, self._long_line, hits)
        if held & _BEYOND:
            return Glance(True, True, True, True, None, text.count("\n"))
        return Glance(
            bool(held & CHARACTER),
            bool(held & RUN),
            bool(held & _SPACED),
            bool(held & _TRAILING),
            hits[:n_hits].tolist(),
            n_stopping,
        )


@njit(cache=True, nogil=True)
def _look(units, table, seconds, long_line, hits):  # type: ignore[no-untyped-def]
    held = n_hits = n_stopping = line = before = 0
    for i in range(units.size):
        bits = table[units[i]]
        if units[i] == 10:
            if before & LINE_END:
                held |= _TRAILING
            n_stopping += i - line >= long_line and before & STOP == 0
            line = i + 1
        if bits | before:
            held |= bits
            if bits & BLANK and before & WORD:
                held |= _SPACED
            if before & _FIRST and (seconds[units[i]] >> np.uint64(before >> _NUMBER)) & np.uint64(1):
                hits[n_hits] = i - 1
                n_hits += 1
            if bits & _ALONE:
                hits[n_hits] = i
                n_hits += 1
        before = bits
    if before & LINE_END:
        held |= _TRAILING
    return held, n_hits, n_stopping
