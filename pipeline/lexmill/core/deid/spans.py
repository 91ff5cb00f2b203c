"""What de-identification finds, and what it puts there instead."""

from typing import NamedTuple


class Span(NamedTuple):
    """One mention to mask: half-open code points ``start:end``, its entity type, and the id of the rule that found it."""

    start: int
    end: int
    entity: str
    rule: str


class Replacement(NamedTuple):
    """One mention and the ``replacement`` that stands for it; offsets are those of the input."""

    start: int
    end: int
    entity: str
    rule: str
    replacement: str


def splice(text: str, replacements: tuple[Replacement, ...]) -> str:
    """``text`` with every replacement put in; they must be sorted and disjoint."""
    pieces: list[str] = []
    at = 0
    for item in replacements:
        pieces += (text[at : item.start], item.replacement)
        at = item.end
    pieces.append(text[at:])
    return "".join(pieces)
