"""What a reader finds in a file, before anyone asks which of its fields is the text."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lexmill.errors import DocumentError


class Row(NamedTuple):
    """A JSON value or a table row; ``place`` is the byte offset of its line, or its number from 0, or empty for a lone object."""

    place: str
    value: Any


class Page(NamedTuple):
    """A whole file that is one document; ``header`` holds what the file says of itself (front matter, lines such as 标题：)."""

    text: str
    title: str | None
    header: Mapping[str, str]


class Broken(NamedTuple):
    """A part of a file that cannot be read, by ``rule``: its characters (0 if undecodable) and its bytes."""

    place: str | None
    rule: str
    n_chars: int
    n_bytes: int


Item = Row | Page | Broken


def whole(data: bytes, read: Callable[[], str]) -> Iterator[Item]:
    """The one document of a file whose text ``read`` gives; what it raises as DocumentError is the reason there is none."""
    try:
        text = read()
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
    else:
        yield Page(text, None, {})
