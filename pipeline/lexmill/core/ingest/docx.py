"""DOCX (ECMA-376): the text of a document as Word shows it, read as a stream, in bounded memory.

python-docx was tried: it builds the whole tree (no bound), and knows neither automatic numbers nor content controls, text boxes,
footnotes, and what a tracked change has struck out.
"""

import io
from collections.abc import Iterator, Mapping
from typing import IO, NamedTuple, Protocol
from xml.parsers import expat

from lexmill.core.ingest.items import Item, whole
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.core.ingest.numbering import Level, Numbering
from lexmill.core.ingest.zipped import BROKEN, open_zip
from lexmill.errors import DocumentError

_CHUNK = 1 << 16
_MAX_NESTED = 512
_MAX_STYLES = 32
_SPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w:",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w:",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc:",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m:",
}
# Headers, footers and comments are parts of their own and left out.
_STORIES = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
# Longer rows and cells are layout, not data (as in pages).
_MAX_ROW = 2000
_MAX_CELL = 200
# What a tracked change took out, readings above characters, and the second telling of what a newer Word draws.
_UNSEEN = frozenset({"w:del", "w:moveFrom", "w:pPrChange", "w:rt", "mc:Fallback"})
_BREAKS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "w:ptab": "\t"}
# A number that ends so needs no blank before the text.
_TIGHT = ("、", ".", "．", ")", "）", "】", "〕", ":", "：")
# Boxes and ticks that Word's symbol dialog takes from Wingdings and Wingdings 2.
_SYMBOLS = {
    "F06F": "□",
    "F071": "□",
    "F072": "□",
    "F0A8": "□",
    "F0A3": "□",
    "F0FC": "√",
    "F0FE": "☑",
    "F052": "☑",
    "F0FD": "☒",
    "F054": "☒",
    "F0B7": "·",
    "F06C": "●",
    "F06E": "■",
}


class _Numbered(NamedTuple):
    """Of a paragraph or a style: its list and level, and the style that it is or rests on."""

    list_id: str | None = None
    level: int | None = None
    style: str | None = None


def read_docx(data: bytes, limits: Limits) -> Iterator[Item]:
    """The one document of a DOCX: one line a paragraph with its number, the short cells of a table row on one line with tabs.

    Footnotes and endnotes follow the text; headers, footers and comments are left out. A file is refused that has a document type
    declaration (ECMA-376 part 2, 8.1.4 forbids it; it is what entity bombs are made of), is nested deeper than 512 elements
    (``ingest.too_deep``), or unpacks to more than the limits allow.
    """
    return whole(data, lambda: _document_text(data, limits))


def _document_text(data: bytes, limits: Limits) -> str:
    allowance = Allowance.whole(len(data), limits)
    with open_zip(io.BytesIO(data), limits.members) as archive:
        parts = {info.filename: info for info in archive.infolist()}
        if _STORIES[0] not in parts:
            raise DocumentError("ingest.not_docx")

        def parse(name: str, handler: "_Handler") -> None:
            info = parts.get(name)
            if info is None:
                return
            if info.flag_bits & 1:
                raise DocumentError("ingest.encrypted")
            try:
                with archive.open(info) as stream:
                    _parse(stream, handler, allowance)
            except (*BROKEN, NotImplementedError, RuntimeError):
                raise DocumentError("ingest.broken_archive") from None

        styles = _Styles()
        parse("word/styles.xml", styles)
        lists = _Lists()
        parse("word/numbering.xml", lists)
        numbering = lists.numbering()
        lines: list[str] = []
        for name in _STORIES:
            story = _Story(styles, numbering, limits.record)
            parse(name, story)
            lines += story.lines
    return "\n".join(lines)


class _Handler(Protocol):
    """Is told of the elements and texts of a part, by names such as ``w:p``."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def text(self, data: str) -> None: ...


def _prefixed(name: str) -> str:
    space, _, local = name.rpartition(" ")
    return f"{_SPACES.get(space, '')}{local}"


def _parse(stream: IO[bytes], handler: _Handler, allowance: Allowance) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    names: dict[str, str] = {}
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_NESTED:
            raise DocumentError("ingest.too_deep")
        tag = names.get(name) or names.setdefault(name, _prefixed(name))
        handler.start(tag, {_prefixed(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(names[name])

    def refuse(*_: object) -> None:
        raise DocumentError("ingest.xml_declares_entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = refuse
    parser.buffer_text = True
    try:
        while chunk := stream.read(_CHUNK):
            allowance.take(len(chunk))
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError:
        raise DocumentError("ingest.bad_xml") from None


class _Styles:
    """Reads which paragraph styles are numbered."""

    def __init__(self) -> None:
        self._found: dict[str, _Numbered] = {}
        self._open: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "w:style":
            self._open = attributes.get("w:styleId", "")
            self._found[self._open] = _Numbered()
        elif self._open is not None:
            self._found[self._open] = _with(self._found[self._open], tag, attributes, "w:basedOn")

    def end(self, tag: str) -> None:
        if tag == "w:style":
            self._open = None

    def text(self, data: str) -> None:
        pass

    def numbered(self, own: _Numbered) -> _Numbered:
        """What holds for a paragraph, where a style, or the one that it rests on, says what it does not."""
        style = own.style
        # A chain of styles that bites its own tail ends too.
        for _ in range(_MAX_STYLES):
            base = self._found.get(style or "")
            if base is None or own.list_id is not None:
                break
            own = own._replace(list_id=base.list_id, level=base.level if own.level is None else own.level)
            style = base.style
        return own


def _with(numbered: _Numbered, tag: str, attributes: Mapping[str, str], style_tag: str) -> _Numbered:
    value = attributes.get("w:val", "")
    if tag == "w:numId":
        return numbered._replace(list_id=value)
    if tag == "w:ilvl":
        return numbered._replace(level=_number(value))
    return numbered._replace(style=value) if tag == style_tag else numbered


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0


class _Lists:
    """Reads the lists of a document and their levels."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[int, Level]] = {}
        self._kind_of: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._kind: str | None = None
        self._list: str | None = None
        self._level = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        value = attributes.get("w:val", "")
        if tag == "w:abstractNum":
            self._kind, self._list = attributes.get("w:abstractNumId", ""), None
            self._kinds[self._kind] = {}
        elif tag == "w:num":
            self._kind, self._list = None, attributes.get("w:numId", "")
        elif tag in ("w:lvl", "w:lvlOverride"):
            self._level = _number(attributes.get("w:ilvl", ""))
            if tag == "w:lvl" and self._kind is not None:
                self._kinds[self._kind][self._level] = Level("decimal", "", 1, False, None)
        elif self._list is not None and tag == "w:abstractNumId":
            self._kind_of[self._list] = value
        elif self._list is not None and tag == "w:startOverride":
            self._restarts.setdefault(self._list, {})[self._level] = _number(value)
        elif self._kind is not None and self._level in self._kinds[self._kind]:
            levels = self._kinds[self._kind]
            levels[self._level] = _defined(levels[self._level], tag, value)

    def end(self, tag: str) -> None:
        if tag in ("w:abstractNum", "w:num"):
            self._kind = self._list = None

    def text(self, data: str) -> None:
        pass

    def numbering(self) -> Numbering:
        lists, kinds = {}, {}
        for name, kind in self._kind_of.items():
            restarts = self._restarts.get(name, {})
            levels = self._kinds.get(kind, {})
            lists[name] = {at: level._replace(start=restarts.get(at, level.start)) for at, level in levels.items()}
            kinds[name] = f"list {name}" if restarts else kind
        return Numbering(lists, kinds)


def _defined(level: Level, tag: str, value: str) -> Level:
    if tag == "w:start":
        return level._replace(start=_number(value))
    if tag == "w:numFmt":
        return level._replace(fmt=value)
    if tag == "w:lvlText":
        return level._replace(text=value)
    if tag == "w:pStyle":
        return level._replace(style=value)
    return level._replace(is_decimal=value not in ("0", "false")) if tag == "w:isLgl" else level


class _Paragraph:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.numbered = _Numbered()


class _Story:
    """Collects the lines of the body, or of the notes."""

    def __init__(self, styles: _Styles, numbering: Numbering, max_bytes: int) -> None:
        self.lines: list[str] = []
        self._styles = styles
        self._numbering = numbering
        self._left = max_bytes
        self._unseen = 0
        self._is_text = False
        # A text box holds paragraphs inside a paragraph, a cell tables inside a table.
        self._paragraphs: list[_Paragraph] = []
        self._rows: list[list[str]] = []
        self._cells: list[list[str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._unseen or tag in _UNSEEN:
            self._unseen += 1
        elif tag == "w:p":
            self._paragraphs.append(_Paragraph())
        elif tag == "w:tr":
            self._rows.append([])
        elif tag == "w:tc":
            self._cells.append([])
        elif tag in ("w:t", "m:t"):
            self._is_text = True
        elif self._paragraphs:
            paragraph = self._paragraphs[-1]
            if tag in _BREAKS:
                paragraph.pieces.append(_BREAKS[tag])
            elif tag == "w:sym":
                paragraph.pieces.append(_symbol(attributes.get("w:char", "")))
            else:
                paragraph.numbered = _with(paragraph.numbered, tag, attributes, "w:pStyle")

    def end(self, tag: str) -> None:
        if self._unseen:
            self._unseen -= 1
        elif tag in ("w:t", "m:t"):
            self._is_text = False
        elif tag == "w:p":
            self._add(self._finished(self._paragraphs.pop()))
        elif tag == "w:tc" and self._rows:
            self._rows[-1].append("\n".join(self._cells.pop()))
        elif tag == "w:tr":
            self._add(_row(self._rows.pop()))

    def text(self, data: str) -> None:
        if self._is_text and self._paragraphs and not self._unseen:
            self._left -= len(data.encode())
            if self._left < 0:
                raise DocumentError("ingest.max_record_mb")
            self._paragraphs[-1].pieces.append(data)

    def _add(self, text: str) -> None:
        if text.strip():
            (self._cells[-1] if self._cells else self.lines).append(text)

    def _finished(self, paragraph: _Paragraph) -> str:
        text = "".join(paragraph.pieces).strip(" \t\n")
        numbered = self._styles.numbered(paragraph.numbered)
        if numbered.list_id is None:
            return text
        number = self._numbering.next(numbered.list_id, numbered.level, paragraph.numbered.style)
        gap = "" if not number or number.endswith(_TIGHT) else " "
        return f"{number}{gap}{text}" if text else ""


def _symbol(char: str) -> str:
    char = char.upper()
    if char in _SYMBOLS:
        return _SYMBOLS[char]
    try:
        return chr(int(char, 16)) if len(char) == 4 and not "D800" <= char <= "DFFF" else "\ufffd"
    except ValueError:
        return "\ufffd"


def _row(cells: list[str]) -> str:
    if sum(map(bool, cells)) < 2 or max(map(len, cells)) > _MAX_CELL or sum(map(len, cells)) > _MAX_ROW:
        return "\n".join(cell for cell in cells if cell)
    return "\t".join(" ".join(cell.split()) for cell in cells).strip("\t")
