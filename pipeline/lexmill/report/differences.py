"""What differs between two texts: sentences first, then the characters of those that differ."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

# Characters of equal text that are shown on each side of a difference.
_CONTEXT = 24
# A stretch of more pairs of characters than this is shown as changed whole: comparing takes the product.
_MOST = 4_000_000


class Piece(NamedTuple):
    """A stretch of both texts, and whether it is the ``same`` in both."""

    left: str
    right: str
    same: bool


def pieces(left: str, right: str) -> Iterator[Piece]:
    """Both texts piece by piece, in order and whole."""
    for a, b, same in _compare(_sentences(left), _sentences(right)):
        one, other = "".join(a), "".join(b)
        if same or not one or not other or len(one) * len(other) > _MOST:
            yield Piece(one, other, same)
        else:
            for x, y, equal in _compare(list(one), list(other)):
                yield Piece("".join(x), "".join(y), equal)


def shorten(text: str, limit: int) -> str:
    """``text``, or its beginning and end with the number of characters between."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]} …{len(text) - limit}… {text[-limit // 2 :]}"


def in_context(found: Iterator[Piece], most: int) -> Iterator[Piece]:
    """The pieces as they are shown: of equal text a few characters on each side of a difference, of a changed one ``most``."""
    for piece in found:
        limit = 2 * _CONTEXT if piece.same else most
        yield Piece(shorten(piece.left, limit), shorten(piece.right, limit), piece.same)


def _sentences(text: str) -> list[str]:
    sentences = [""]
    for char in text:
        sentences[-1] += char
        if char in "。；;\n":
            sentences.append("")
    return sentences


def _compare(left: list[str], right: list[str]) -> Iterator[tuple[list[str], list[str], bool]]:
    for kind, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        yield left[i:j], right[k:m], kind == "equal"
