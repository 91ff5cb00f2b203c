"""Bytes to text: UTF-8, UTF-16 with a byte order mark, GB18030; what a page declares is not asked, because it may lie."""

import codecs
from typing import NamedTuple

from lexmill.errors import DocumentError

MAX_BAD_SHARE = 0.01
"""More U+FFFD than this share of the characters, and the bytes are in no encoding that we know."""

# GB18030 text read as UTF-8 is broken in nearly every character; damaged UTF-8 keeps nearly all of its characters.
_MAX_BAD_PER_WIDE = 0.1
_MAX_CONTROL_SHARE = 0.01
# Everything below the space but tab, line feed, form feed, carriage return and escape; and DEL.
_CONTROLS = bytes(b for b in (*range(0x20), 0x7F) if b not in b"\t\n\f\r\x1b")
_ASCII = bytes(range(0x80))
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Decoded(NamedTuple):
    """``n_bad`` counts the places that were not decodable, or were NUL, and became U+FFFD."""

    text: str
    encoding: str
    n_bad: int


def decode(data: bytes) -> Decoded:
    """Decode bytes by their byte order mark, else as the first that fits of UTF-8, damaged UTF-8, GB18030, damaged GB18030.

    GB18030 (GB 18030-2022) contains GBK and GB2312. Raises DocumentError ``ingest.binary`` where more than 1 % are NUL or control
    characters, ``ingest.undecodable`` where more than 1 % of the characters would be U+FFFD.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            text = data[len(bom) :].decode(encoding, "replace")
            return _accept(text, encoding, text.count("\ufffd"))
    if len(data) - len(data.translate(None, _CONTROLS)) > _MAX_CONTROL_SHARE * len(data):
        raise DocumentError("ingest.binary")
    try:
        # U+FFFD that the source itself holds is its own matter: only what we replace counts.
        return _accept(data.decode("utf-8"), "utf-8", 0)
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    n_bad = text.count("\ufffd")
    n_wide = len(text) - n_bad - (len(data) - len(data.translate(None, _ASCII)))
    if n_bad <= _MAX_BAD_PER_WIDE * n_wide:
        return _accept(text, "utf-8", n_bad)
    try:
        return _accept(data.decode("gb18030"), "gb18030", 0)
    except UnicodeDecodeError:
        text = data.decode("gb18030", "replace")
        return _accept(text, "gb18030", text.count("\ufffd"))


def _accept(text: str, encoding: str, n_bad: int) -> Decoded:
    if n_bad > MAX_BAD_SHARE * len(text):
        raise DocumentError("ingest.undecodable")
    n_nul = text.count("\0")
    if not n_nul:
        return Decoded(text, encoding, n_bad)
    if n_nul > _MAX_CONTROL_SHARE * len(text):
        raise DocumentError("ingest.binary")
    return Decoded(text.replace("\0", "\ufffd"), encoding, n_bad + n_nul)
