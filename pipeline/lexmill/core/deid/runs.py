"""Where figures stand in a text: runs of letters and digits that may be numbers, and digits that many more follow, scattered."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexmill.core.kernels import njit

_CODES = 1 << 16
# A run has at least one character more than this.
_MORE = 4
# The first figure of a scattered number has ten more behind it, and nothing but figures and their links for ten characters.
_SCATTERED = 10
_START, _GOES_ON, _LEADING, _LINKED, _FIGURE, _DIGIT, _MAIL, _OPENING = (1 << bit for bit in range(8))


class RunFinder:
    """Finds them by classes of characters, each written as in a regular expression, without its brackets.

    ``starts`` begin a run, ``goes_on`` continue it (these hold those); ``leading`` characters, and cues within ``reach``
    characters before it, make a run of less than ``uncued`` characters worth a look.
    """

    def __init__(
        self, *, starts: str, goes_on: str, leading: str, figures: str, linked: str, digits: str, uncued: int, reach: int
    ) -> None:
        every = "".join(chr(code) for code in range(_CODES))
        self._classes = np.zeros(_CODES, np.uint8)
        for bit, chars in (
            (_START, starts), (_GOES_ON, goes_on), (_LEADING, leading), (_LINKED, linked), (_FIGURE, figures), (_DIGIT, digits),
            (_MAIL, "@＠"), (_OPENING, "(（"),
        ):  # fmt: skip
            for char in re.findall(f"[{chars}]", every) if chars else ():
                self._classes[ord(char)] |= bit
        self._uncued = uncued
        self._reach = reach

    def find(self, codes: NDArray[np.uint32], cues: NDArray[np.int32]) -> tuple[list[tuple[int, int]], list[int]]:
        """Starts and ends of the runs worth a look, and where scattered figures may begin; ``cues`` are sorted places of words.

        A run is worth it that is long, holds an @, begins with a letter or a plus, or goes on in parentheses; or where a cue,
        a leading character, a mask (×) or such a run stands before it.
        """
        found = _find(codes, self._classes, cues, self._uncued, self._reach).tolist()
        border = found[-1]
        return list(zip(found[0:border:2], found[1:border:2], strict=True)), found[border:-1]


@njit(cache=True, nogil=True)
def _find(codes: Any, classes: Any, cues: Any, uncued: int, reach: int) -> Any:
    """Start and end of each run, then the places of scattered figures, last how many numbers the runs take."""
    n = codes.shape[0]
    runs = np.empty((n // (_MORE + 1) + 1, 2), np.int32)
    scattered = np.empty(n, np.int32)
    n_runs = n_scattered = 0
    mask = -reach - 1
    last = -n - reach
    cue = 0
    at = 0
    while at < n:
        code = codes[at]
        kind = classes[code] if code < _CODES else 0
        if code == 0xD7:
            mask = at
        if not kind & _START:
            at += 1
            continue
        end = at + 1
        mail = False
        while end < n and codes[end] < _CODES and classes[codes[end]] & _GOES_ON:
            mail |= classes[codes[end]] & _MAIL != 0
            end += 1
        if end - at > _MORE:
            while cue < cues.shape[0] and cues[cue] < at - reach:
                cue += 1
            before = classes[codes[at - 1]] if at and codes[at - 1] < _CODES else 0
            if (
                mail
                or end - at >= uncued
                or not kind & _DIGIT
                or before & _LEADING
                or (end < n and codes[end] < _CODES and classes[codes[end]] & _OPENING)
                or (cue < cues.shape[0] and cues[cue] < at)
                or at - mask <= reach
                or at - last <= reach
            ):
                runs[n_runs, 0], runs[n_runs, 1] = at, end
                n_runs += 1
                last = end
            while at < end:
                if codes[at] == 0xD7:
                    mask = at
                at += 1
        else:
            at += 1
    at = 0
    while at < n:
        if codes[at] >= _CODES or not classes[codes[at]] & _LINKED:
            at += 1
            continue
        end = at
        figures = 0
        while end < n and codes[end] < _CODES and classes[codes[end]] & _LINKED:
            figures += classes[codes[end]] & _FIGURE != 0
            end += 1
        while figures > _SCATTERED and at + _SCATTERED < end:
            kind = classes[codes[at]]
            if kind & _FIGURE:
                figures -= 1
                if kind & _DIGIT:
                    scattered[n_scattered] = at
                    n_scattered += 1
            at += 1
        at = end
    out = np.empty(2 * n_runs + n_scattered + 1, np.int32)
    for at in range(n_runs):
        out[2 * at], out[2 * at + 1] = runs[at, 0], runs[at, 1]
    out[2 * n_runs : -1] = scattered[:n_scattered]
    out[-1] = 2 * n_runs
    return out
