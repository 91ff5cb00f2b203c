"""Plain text: a whole file is one document, with or without lines at its top that say what it is."""

import re
from collections.abc import Iterator

from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.fields import META_ROLES, role_of
from lexmill.core.ingest.html import is_html, read_html
from lexmill.core.ingest.items import Broken, Item, Page
from lexmill.core.ingest.jsonl import is_json_lines, read_jsonl
from lexmill.errors import DocumentError

_HEADER_LINE = re.compile(r"([^\W\d][\w ]{0,20}?)[ \t]*[:：][ \t]*(.*)")
_HEADER_ROLES = ("title", *META_ROLES)
# Lines that belong to a header but not to a document.
_OF_THE_FILE = frozenset({"url", "source", "来源", "来源网址", "网址", "链接", "采集日期"})


def read_txt(data: bytes) -> Iterator[Item]:
    """The one document of a text file; a file that holds JSON Lines or HTML under this name is read as what it is."""
    if is_json_lines(data):
        yield from read_jsonl(data, 0)
        return
    try:
        text = decode(data).text
    except DocumentError as error:
        yield Broken(None, error.rule, 0, len(data))
        return
    if is_html(text):
        yield from read_html(data)
        return
    header, body = split_header(text)
    title = header.pop("title", None)
    yield Page(body.strip("\r\n"), title, header)


def split_header(text: str) -> tuple[dict[str, str], str]:
    """Metadata lines (``标题：…``, ``title: …``, ``案号：…``) at the top of a text, by role, and the text below them.

    They are a header only if the first gives the title or a blank line ends them: a judgment may itself begin with its number.
    """
    header: dict[str, str] = {}
    at = 0
    first_role = None
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = _HEADER_LINE.fullmatch(text[at:end].strip())
        role = role_of(line[1]) if line else None
        if line is None or not (role in _HEADER_ROLES or line[1].casefold() in _OF_THE_FILE):
            break
        first_role = first_role or role or line[1]
        if role in _HEADER_ROLES and line[2]:
            header.setdefault(str(role), line[2])
        at = min(end + 1, len(text))
    body = text[at:]
    is_closed = body[:200].partition("\n")[0].strip() in ("", "---")
    if first_role != "title" and not is_closed:
        return {}, text
    return header, body.removeprefix("---\n") if header else text
