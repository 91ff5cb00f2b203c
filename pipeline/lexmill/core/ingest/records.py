"""One file's bytes to its records: the registry of formats, and what every record goes through whatever its format."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lexmill.config import Fields
from lexmill.core.ingest.docx import read_docx
from lexmill.core.ingest.fields import Composed, Layout
from lexmill.core.ingest.html import html_text, read_html
from lexmill.core.ingest.items import Broken, Item, Page, Row
from lexmill.core.ingest.jsonl import read_json, read_jsonl
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.markdown import read_markdown
from lexmill.core.ingest.mojibake import unmangle
from lexmill.core.ingest.pdf import read_pdf
from lexmill.core.ingest.plain import read_txt
from lexmill.core.ingest.table import read_table
from lexmill.errors import DocumentError

_COMPRESSIONS = (".gz", ".zst", ".xz", ".bz2")
_SUFFIXES = {
    "7z": "7z",
    "arrow": "arrow",
    "arrows": "arrow",
    "csv": "csv",
    "bmp": "image",
    "db": "sqlite",
    "doc": "doc",
    "docm": "docx",
    "docx": "docx",
    "dot": "doc",
    "dotx": "docx",
    "et": "xlsx",
    "feather": "arrow",
    "gif": "image",
    "htm": "html",
    "html": "html",
    "jpeg": "image",
    "jpg": "image",
    "json": "json",
    "jsonl": "jsonl",
    "markdown": "md",
    "md": "md",
    "ndjson": "jsonl",
    "ods": "xlsx",
    "parquet": "parquet",
    "pdf": "pdf",
    "png": "image",
    "rar": "rar",
    "rtf": "doc",
    "shtml": "html",
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
    "tar": "tar",
    "tbz": "tar",
    "tbz2": "tar",
    "tgz": "tar",
    "tif": "image",
    "tiff": "image",
    "tsv": "tsv",
    "txt": "txt",
    "txz": "tar",
    "tzst": "tar",
    "wps": "doc",
    "xhtml": "html",
    "xls": "xlsx",
    "xlsb": "xlsx",
    "xlsm": "xlsx",
    "xlsx": "xlsx",
    "zip": "zip",
}
# How a whole file is read. JSON Lines are read by their own call, because they may be a part of a file.
_READERS: Mapping[str, Callable[[bytes], Iterator[Item]]] = {
    "csv": read_table,
    "html": read_html,
    "json": read_json,
    "md": read_markdown,
    "tsv": read_table,
    "txt": read_txt,
}
# How a whole file is read whose text is not its bytes.
_UNPACKING_READERS: Mapping[str, Callable[[bytes, Limits], Iterator[Item]]] = {
    "docx": read_docx,
    "pdf": read_pdf,
}
# A file of these is one record.
_PAGES = frozenset({"html", "md", "txt"})
SPLITTABLE = frozenset({"jsonl"})
"""Formats that a caller may cut at line ends, telling ``read`` the offset of each part."""
TABLES = frozenset({"arrow", "parquet", "sqlite"})
"""Formats with rows, whose records a caller reads by number and gives to ``read_rows``."""
ARCHIVES = frozenset({"7z", "tar", "zip"})
"""Formats that hold files of others."""
WORD = frozenset({"doc", "docx"})
"""Formats of word processors; what a file of these is, its first bytes say (``word_format``)."""

# Markup inside a field, as dumps of web sites have it.
_MARKUP = re.compile(r"</(?:p|div|span|td|table|html|body|font|h[1-6])>|<br\s*/?>", re.IGNORECASE)
# A number need not be closed (HTML, 13.2.5.80).
_REFERENCE = re.compile(r"&(?:[a-zA-Z]{2,8};|#[0-9]{2,6};?|#[xX][0-9a-fA-F]{2,5};?)")
# Web sites escape what is escaped already (&amp;amp;ldquo;).
_MAX_ESCAPED = 3


class Record(NamedTuple):
    """One document as its file has it, not yet cleaned; ``given`` holds case_number, court, cause and date where a field does.

    ``has_own_id`` says that ``record_id`` is the source's own, and no place in the file.
    """

    record_id: str | None
    text: str
    title: str | None
    given: dict[str, str]
    n_fffd: int
    has_own_id: bool = False


class BadRecord(NamedTuple):
    """What of a file is no document, and the rule why; ``n_chars`` is 0 where the ``n_bytes`` are not decodable."""

    record_id: str | None
    rule: str
    n_chars: int
    n_bytes: int
    has_own_id: bool = False


def format_of(name: str) -> str | None:
    """The format by the end of a file's name, compression aside, as the run file's ``format`` names it; None where unknown."""
    name = name.casefold()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    stem, dot, suffix = name.rpartition(".")
    return _SUFFIXES.get(suffix) if stem and dot else None


def read(
    data: bytes, fmt: str, fields: Fields, doc_type: str, base: int, limits: Limits, records: str | None
) -> Iterator[Record | BadRecord]:
    """The records of a file, or of a part of a JSON Lines file that begins at byte ``base``, in order; no data makes it raise.

    ``record_id`` is the record's own id where it is mapped or plain, else the byte offset of its line, else its number from 0;
    records inside a record add theirs after a dot. A file that is one document has none. ``records`` is the path of the records
    in a JSON value (``data.items``), where the run file has one.
    """
    if not data or data.isspace():
        if base == 0:
            yield BadRecord(None, "ingest.empty", len(data), len(data))
        return
    if fmt in _PAGES and len(data) > limits.record:
        yield BadRecord(None, "ingest.max_record_mb", 0, len(data))
        return
    yield from read_rows(items_of(data, fmt, base, limits, records), fields, doc_type)


def items_of(data: bytes, fmt: str, base: int, limits: Limits, records: str | None) -> Iterator[Item]:
    """What ``fmt``'s reader finds in a file that is not blank; the arguments are those of ``read``."""
    if fmt in SPLITTABLE:
        items = read_jsonl(data, base)
    elif fmt in _UNPACKING_READERS:
        items = _UNPACKING_READERS[fmt](data, limits)
    else:
        items = _READERS[fmt](data)
    return _inside(items, records) if records else items


def read_rows(items: Iterable[Item], fields: Fields, doc_type: str) -> Iterator[Record | BadRecord]:
    """The records of what a reader found."""
    layout = Layout(fields, doc_type)
    for item in items:
        if isinstance(item, Broken):
            yield BadRecord(item.place, item.rule, item.n_chars, item.n_bytes)
        elif isinstance(item, Page):
            yield _page(item)
        else:
            for place, value, document in layout.documents(item.value, item.place):
                record_id = place or "0"
                if isinstance(document, str):
                    yield BadRecord(record_id, document, *size_of(value))
                else:
                    # Ids of records inside records begin anew in each: they tell nothing apart unless the run file says so.
                    has_own_id = document.own_id is not None and ("." not in place or fields.id is not None)
                    yield _record(document.own_id if has_own_id else record_id, document, has_own_id)


def _inside(items: Iterable[Item], path: str) -> Iterator[Item]:
    """The values that lie at a path of each JSON value: the elements of a list, by number, or the one value there."""
    for item in items:
        if not isinstance(item, Row):
            yield item
            continue
        value = item.value
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, list):
            for number, one in enumerate(value):
                yield Row(f"{item.place}.{number}" if item.place else str(number), one)
        elif value is None:
            yield Broken(item.place or "0", "ingest.no_records", *size_of(item.value))
        else:
            yield Row(item.place, value)


def _page(page: Page) -> Record | BadRecord:
    return _record(None, Composed(page.text, page.title, dict(page.header), None), False)


def _record(record_id: str | None, document: Composed, has_own_id: bool) -> Record | BadRecord:
    try:
        text = _sound(document.text)
        title = _sound(document.title) if document.title else None
    except DocumentError as error:
        return BadRecord(record_id, error.rule, len(document.text), len(document.text.encode()), has_own_id)
    if not text or text.isspace():
        return BadRecord(record_id, "ingest.no_text", len(document.text), len(document.text.encode()), has_own_id)
    return Record(record_id, text, title, document.given, text.count("\ufffd"), has_own_id)


def _sound(text: str) -> str:
    """Text without markup, character references and NUL, and with a wrong decoding undone."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if "<" in text and _MARKUP.search(text):
        text = html_text(text)[1]
    for _ in range(_MAX_ESCAPED):
        if "&" not in text:
            break
        text = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)
    return unmangle(text)


def size_of(value: Any) -> tuple[int, int]:
    """Characters and UTF-8 bytes of all strings in a JSON value."""
    n_chars = n_bytes = 0
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, str):
            n_chars += len(value)
            n_bytes += len(value.encode("utf-8", "replace"))
        elif isinstance(value, list):
            values.extend(value)
        elif isinstance(value, dict):
            values.extend(value.values())
    return n_chars, n_bytes
