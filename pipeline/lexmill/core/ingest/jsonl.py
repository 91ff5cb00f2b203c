"""JSON: one value a line, one value a file, or values after one another; whatever of a damaged file is sound is read."""

import codecs
import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

from lexmill.core.ingest.decode import decode, utf16_of
from lexmill.core.ingest.items import Broken, Item, Row
from lexmill.errors import DocumentError

_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# First bytes of an object, an array, a string, and of the three byte order marks.
_BEGINNINGS = frozenset([b"{", b"[", b'"', b"\xef", b"\xff", b"\xfe"])
# A file is no JSON Lines if nothing in it was JSON so far; after this many lines its faults are reported one by one all the same.
_MAX_HELD = 1000
_PROBED_LINES = 3
# A Python list or dictionary takes at least 56 bytes, an empty JSON array two: half a gigabyte.
_MAX_CONTAINERS = 1 << 23
HEAD = 1 << 20
"""Bytes of a file that say whether its values fill a line each."""
_BETWEEN_VALUES = " \t\r\n,[]\ufeff"
# Escapes in order of reading: a backslash, a pair of surrogates, a surrogate alone.
_ESCAPE = re.compile(r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})")
_DECODER = json.JSONDecoder(strict=False)


def read_jsonl(data: bytes, base: int) -> Iterator[Item]:
    """One row a line, by the line's byte offset in its file, where ``data`` begins at ``base``; a broken line is passed over.

    Each line has its own encoding. Lines none of which is JSON are read as values after one another, else they are one fault.
    """
    if base == 0 and not _is_wide(data) and not is_by_lines(data[:HEAD]):
        yield from _unlined(data, base)
        return
    held: list[Broken] | None = []
    for offset, line in _lines(data):
        place = str(base + offset)
        try:
            row = Row(place, parse(line))
        except DocumentError as error:
            fault = _fault(place, error.rule, line)
            if held is None:
                yield fault
                continue
            held.append(fault)
            if len(held) == _MAX_HELD:
                yield from held
                held = None
            continue
        if held is not None:
            yield from held
            held = None
        yield row
    if held is not None:
        yield from _unlined(data, base)


def _unlined(data: bytes, base: int) -> Iterator[Item]:
    """Values that fill several lines each, or nothing but one fault."""
    try:
        text = decode(data).text
    except DocumentError as error:
        yield _fault(str(base), error.rule, data)
        return
    if not text.strip(_BETWEEN_VALUES):
        yield Broken(str(base), "ingest.bad_json", len(text), len(data))
        return
    for item in _values(text):
        yield item._replace(place=f"{base}.{item.place}") if base else item


def read_json(data: bytes) -> Iterator[Item]:
    """The elements of an array by number, a lone value, or, whatever the suffix says, JSON Lines, or values after one another.

    What would fill memory with millions of tiny values is ``ingest.max_file_mb``.
    """
    if data.count(b"[") + data.count(b"{") > _MAX_CONTAINERS:
        yield Broken(None, "ingest.max_file_mb", 0, len(data))
        return
    try:
        value = parse(data)
    except DocumentError as error:
        if error.rule in ("ingest.binary", "ingest.undecodable"):
            yield _fault(None, error.rule, data)
            return
    else:
        if not value:
            yield Broken(None, "ingest.no_text", len(data), len(data))
        elif isinstance(value, list):
            yield from (Row(str(number), item) for number, item in enumerate(value))
        else:
            yield Row("", value)
        return
    yield from read_jsonl(data, 0) if any(map(_is_json, islice(_lines(data), _PROBED_LINES))) else _unlined(data, 0)


def is_by_lines(head: bytes) -> bool:
    """Whether a JSON Lines file that begins so may be cut at bytes 0A: it is not UTF-16, and its values do not go on over lines.

    They do if the first line opens one, and no line is one. A head below ``HEAD`` is the whole file.
    """
    if _is_wide(head):
        return False
    whole_lines = head.split(b"\n")[: None if len(head) < HEAD else -1]
    lines = [line for line in whole_lines if line and not line.isspace()]
    first = lines[0].removeprefix(codecs.BOM_UTF8).strip() if lines else b""
    is_opening = first.startswith((b"{", b"[")) and first.endswith((b"{", b"[", b",", b":"))
    return not is_opening or any(_is_json((0, line)) for line in lines[:_MAX_HELD])


def is_json_lines(data: bytes) -> bool:
    """Whether a file that is called something else holds JSON Lines: its first line is an object."""
    _, line = next(_lines(data), (0, b""))
    return line.lstrip().startswith(b"{") and _is_json((0, line))


def _is_json(line: tuple[int, bytes]) -> bool:
    try:
        parse(line[1])
    except DocumentError:
        return False
    return True


def parse(data: bytes) -> Any:
    """One JSON object, array or string, any encoding; raises DocumentError ``ingest.bad_json``, ``ingest.too_deep`` or decode's.

    NaN, raw control characters in strings and unpaired surrogates (which become U+FFFD) are borne with: Python writes them.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if data.lstrip()[:1] not in _BEGINNINGS:
            raise DocumentError("ingest.bad_json") from None
        value = _parse_patiently(decode(data).text)
    if not isinstance(value, dict | list | str):
        raise DocumentError("ingest.bad_json")
    return value


def _parse_patiently(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(_paired(text), strict=False)
    except RecursionError:
        raise DocumentError("ingest.too_deep") from None
    except ValueError:
        raise DocumentError("ingest.bad_json") from None


def _paired(text: str) -> str:
    return _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)


def _is_wide(data: bytes) -> bool:
    # JSON begins with an ASCII character, one of whose two bytes in UTF-16 is NUL.
    return data.startswith(_WIDE_BOMS) or (b"\0" in data[:2] and utf16_of(data) is not None)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    if _is_wide(data):
        yield from _wide_lines(data)
        return
    start = 0
    # Neither UTF-8 nor GB18030 has a byte 0A in any other character.
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end]
        if start == 0:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line and not line.isspace():
            yield start, line
        start = end + 1


def _wide_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    try:
        text = decode(data).text
    except DocumentError:
        return
    start, end = 0, 2 if data.startswith(_WIDE_BOMS) else 0
    for line in text.split("\n"):
        if line and not line.isspace():
            yield start, line.encode("utf-8")
        end += len(line.encode("utf-16-le")) + 2
        start = end


def _values(text: str) -> Iterator[Row | Broken]:
    text = _paired(text)
    at = 0
    number = 0
    while True:
        while at < len(text) and text[at] in _BETWEEN_VALUES:
            at += 1
        if at == len(text):
            return
        try:
            value, end = _DECODER.raw_decode(text, at) if text[at] in '{["' else (None, at)
            rule = "ingest.bad_json" if value is None else ""
        except RecursionError:
            rule = "ingest.too_deep"
        except ValueError:
            rule = "ingest.bad_json"
        if rule:
            rest = text[at:]
            yield Broken(str(number), rule, len(rest), len(rest.encode()))
            return
        yield Row(str(number), value)
        number += 1
        at = end


def _fault(place: str | None, rule: str, data: bytes) -> Broken:
    try:
        return Broken(place, rule, len(decode(data).text), len(data))
    except DocumentError:
        return Broken(place, rule, 0, len(data))
