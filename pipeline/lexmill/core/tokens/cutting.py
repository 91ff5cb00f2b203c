"""Where a document longer than the window is cut: at a border of segments, else at the end of a sentence, else anywhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# In the order of preference; a number is what the scattered parts hold.
KINDS = ("segment", "sentence", "token")
SEGMENT, SENTENCE, TOKEN = range(3)

_SENTENCE = re.compile(r"(?:[。！？!?；;…]+[”’」』）)】》]*|\n)\s*")


class Cut(NamedTuple):
    """A piece begins at token ``token`` (counted in the framed document), which is character ``char`` of the text."""

    token: int
    char: int
    kind: int


@dataclass(frozen=True)
class Places:
    """Where a document may be cut: the characters at which its tokens begin (-1: within one), and which of them are better.

    ``segment`` and ``sentence`` are the numbers of tokens that begin a segment or a sentence, ascending.
    """

    chars: NDArray[np.int32]
    segment: NDArray[np.int64]
    sentence: NDArray[np.int64]

    def of(self, kind: int) -> NDArray[np.int64]:
        """The tokens at which a cut is of this kind."""
        return (self.segment, self.sentence, np.flatnonzero(self.chars >= 0))[kind]


def find_places(text: str, segments: Sequence[int], chars: NDArray[np.int32]) -> Places:
    """The places of a text whose segments begin at the characters ``segments``, and its tokens at ``chars``."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    return Places(chars, _tokens_at(text, segments, chars), _tokens_at(text, ends, chars))


def _tokens_at(text: str, wanted: Sequence[int], chars: NDArray[np.int32]) -> NDArray[np.int64]:
    """The tokens that begin at one of the characters ``wanted``, or before it with nothing but white space in between."""
    usable = np.flatnonzero(chars >= 0)
    begins = chars[usable]
    at = np.searchsorted(begins, np.array(wanted, np.int64), "right") - 1
    found = [
        int(usable[n])
        for n, char in zip(at.tolist(), wanted, strict=True)
        if n > 0 and (begins[n] == char or text[begins[n] : char].isspace())
    ]
    return np.unique(np.array(found, np.int64))


def heading(places: Places, text: str, limit: int) -> int:
    """Tokens of a document's heading: up to its second segment, else its first line; 0 where that is more than ``limit``."""
    line = text.find("\n") + 1
    for found in (places.segment[:1].tolist(), _tokens_at(text, [line], places.chars).tolist() if line else []):
        if found and found[0] <= limit:
            return int(found[0])
    return 0


def cut(places: Places, window: int, before: int, after: int, head: int) -> list[Cut]:
    """Cuts that leave no piece longer than ``window`` tokens; none for a document that fits.

    ``before`` and ``after`` control tokens frame the document; every piece but the first makes room for ``head`` repeated
    tokens. Each piece is as long as it can be: it ends at the last border of segments in the second half of its room, else at the
    last end of a sentence there, else at the last token that begins a character. Raises ValueError where a character has more
    tokens than there is room for.
    """
    total = before + len(places.chars) + after
    cuts: list[Cut] = []
    at, room = 0, window
    while total - at > room:
        for kind in (SEGMENT, SENTENCE, TOKEN):
            tokens = places.of(kind)
            n = int(np.searchsorted(tokens, at + room - before, "right")) - 1
            least = at if kind == TOKEN else at + room // 2
            if n >= 0 and tokens[n] + before > least:
                break
        else:
            raise ValueError("a character has more tokens than the window")
        token = int(tokens[n])
        at = token + before
        cuts.append(Cut(at, int(places.chars[token]), kind))
        room = window - head
    return cuts
