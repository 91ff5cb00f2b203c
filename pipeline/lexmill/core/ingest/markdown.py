"""Markdown: a whole file is one document; its marks go, its words, lists and order stay."""

import re
from collections.abc import Iterator

from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.fields import META_ROLES, role_of
from lexmill.core.ingest.items import Broken, Item, Page
from lexmill.errors import DocumentError

_FRONT = re.compile(r"\s*---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"([^\s:#][^:]{0,40}?)\s*:\s*(.*)")
_TOP_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$|^(\S.*)\n=+[ \t]*$", re.MULTILINE)
_URL = r"(?:[^()\s]|\([^()\s]*\))*"

# In this order. Emphasis is only unwrapped at the beginning of a line: elsewhere ** may be a masked name (张**).
_MARKS = (
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), ""),
    (re.compile(r"^[ \t]*(?:```|~~~).*\n?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE), r"\1"),
    (re.compile(r"^[ \t]{0,3}(?:=+|-{2,}|\*(?:[ \t]*\*){2,}|-(?:[ \t]*-){2,})[ \t]*(?:\n|\Z)", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*(?:\n|\Z)", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE), lambda row: "\t".join(cell.strip() for cell in row[1].split("|"))),
    (re.compile(r"^(?:[ \t]{0,3}>[ \t]?)+", re.MULTILINE), ""),
    (re.compile(rf"!\[[^\[\]\n]*\]\({_URL}\)"), ""),
    (re.compile(rf"\[([^\[\]\n]+)\]\((?=[^()\s]*[./#:]){_URL}\)"), r"\1"),
    (
        re.compile(r"^([ \t]*(?:[-*+][ \t]+|[0-9]+[.)][ \t]+)?)(\*\*|__)(?=[^\s*_])([^*_\n]*[^\s*_])\2(?![*_])", re.MULTILINE),
        r"\1\3",
    ),
    (re.compile(r"\\([\\`*_\[\]()#+.!>|~-])"), r"\1"),
)


def read_markdown(data: bytes) -> Iterator[Item]:
    """The one document of a Markdown file; front matter gives title and metadata, else the first top heading is the title."""
    try:
        text = decode(data).text
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
        return
    header, body = _split_front(text.replace("\r\n", "\n"))
    heading = _TOP_HEADING.search(body)
    title = header.pop("title", None) or (heading and (heading[1] or heading[2]))
    yield Page(markdown_text(body).strip("\n"), title, header)


def markdown_text(markup: str) -> str:
    """The text of Markdown (CommonMark, GFM tables): no comments, no marks of headings, links, quotes, code and tables."""
    for pattern, by in _MARKS:
        markup = pattern.sub(by, markup)
    return markup


def _split_front(text: str) -> tuple[dict[str, str], str]:
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    header: dict[str, str] = {}
    for line in front[1].split("\n"):
        entry = _FRONT_LINE.fullmatch(line.strip())
        role = role_of(entry[1]) if entry else None
        value = entry[2].strip("\"' ") if entry else ""
        if value and role in ("title", *META_ROLES):
            header.setdefault(str(role), value)
    return header, text[front.end() :]
