"""PDF with a text layer: its lines in reading order, without what only repeats on every page."""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import pypdfium2 as pdfium

from lexmill.core.ingest.items import Item, whole
from lexmill.core.ingest.limits import Limits
from lexmill.errors import DocumentError

# A page with fewer characters than this has no text of its own: a stamp, a page number that a scanner added.
_MIN_PAGE_CHARS = 10
# More pages without text than this share, and the file was scanned.
_MAX_SCANNED_SHARE = 0.5

# Running heads are among this many first or last lines of a page; left and right pages may have different ones.
_EDGE_LINES = 4
_MIN_RECURRING_SHARE = 0.4
_MIN_RECURRING_PAGES = 3
_MAX_HEAD = 80
_NUMBER = re.compile("[0-9]+")
# A page number without its digits: 第#页 共#页, - # -, #/#, 頁次：#－#.
_PAGE_NUMBER = re.compile(
    r"(?:第|页次|頁次|页码|頁碼|page|[-–—－·.:：(（\[])*#(?:[-–—－·./／)）\]页頁共总總第之，,]|of|#)*", re.IGNORECASE
)

# Columns of text fill their width; cells of a table and signatures side by side do not.
_MIN_COLUMN_LINES = 8
_MIN_FILLED = 0.6
_MIN_OVERLAP = 0.5
_MAX_CROSSING_SHARE = 0.2
_GUTTER_STEPS = 200
# In heights of a character: a wider gap within a line separates columns.
_COLUMN_GAP = 1.2

_WORD = re.compile(r"\S+|[\r\n]")
# What PDFium puts for a hyphen at the end of a line.
_LINE_HYPHEN = re.compile("[\ufffe\x02]\n?")


def read_pdf(data: bytes, limits: Limits) -> Iterator[Item]:
    """The one document of a PDF: the lines of its text layer, two columns one after the other, no running heads or page numbers.

    A file most of whose pages have no text is ``ingest.needs_ocr``, one with a password ``ingest.encrypted``.
    """
    return whole(data, lambda: _document_text(data, limits))


def _document_text(data: bytes, limits: Limits) -> str:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise DocumentError("ingest.encrypted" if "password" in str(error).lower() else "ingest.broken_pdf") from None
    try:
        if len(document) > limits.pages:
            raise DocumentError("ingest.max_pages")
        pages: list[list[str]] = []
        left = limits.record
        for index in range(len(document)):
            lines = _page_lines(document, index)
            left -= sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
            if left < 0:
                raise DocumentError("ingest.max_record_mb")
            pages.append(lines)
    finally:
        document.close()
    n_scanned = sum(sum(map(len, lines)) < _MIN_PAGE_CHARS for lines in pages)
    if n_scanned == len(pages) or n_scanned > _MAX_SCANNED_SHARE * len(pages):
        raise DocumentError("ingest.needs_ocr")
    return "\n".join(line for lines in without_running_heads(pages) for line in lines)


def _page_lines(document: pdfium.PdfDocument, index: int) -> list[str]:
    """The lines of a page; none where it is damaged."""
    try:
        page = document[index]
        textpage = page.get_textpage()
    except pdfium.PdfiumError:
        return []
    try:
        segments = _segments(textpage)
        text = "\n".join(in_columns(segments) or ()) or textpage.get_text_range().replace("\r", "\n")
    finally:
        textpage.close()
        page.close()
    return [line.strip() for line in _LINE_HYPHEN.sub("", text).split("\n") if line.strip()]


class Segment(NamedTuple):
    """Characters side by side; the origin is the lower left corner of the page, units are points."""

    text: str
    left: float
    right: float
    bottom: float
    top: float


def _segments(textpage: pdfium.PdfTextPage) -> list[Segment]:
    """The text of a page in the order of its stream, cut at line ends and at gaps as wide as between columns."""
    text = textpage.get_text_range()
    # Each character has a box, unless some are written as surrogate pairs or left out.
    if len(text) != textpage.count_chars():
        return []
    found: list[Segment] = []
    is_new = True
    # PDFium puts a blank where there is a gap: boxes are only asked for beside blanks.
    for word in _WORD.finditer(text):
        if word[0] in "\r\n":
            is_new = True
            continue
        left, bottom, _, top = textpage.get_charbox(word.start(), loose=True)
        _, last_bottom, right, last_top = textpage.get_charbox(word.end() - 1, loose=True)
        segment = Segment(word[0], left, right, min(bottom, last_bottom), max(top, last_top))
        height = segment.top - segment.bottom
        if not is_new and -height < left - found[-1].right <= _COLUMN_GAP * height:
            segment = Segment(
                f"{found[-1].text} {word[0]}",
                found[-1].left,
                max(found[-1].right, right),
                min(found[-1].bottom, segment.bottom),
                max(found[-1].top, segment.top),
            )
            found.pop()
        found.append(segment)
        is_new = False
    return found


def in_columns(segments: Sequence[Segment]) -> list[str]:
    """The lines of a page of two columns of text, the left before the right between lines that span both; else nothing.

    A recursive cut at white space (Nagy and Seth, 1984) would also cut tables and signatures that stand side by side: columns
    are only seen where most lines fill their column.
    """
    if len(segments) < 2 * _MIN_COLUMN_LINES:
        return []
    gutter = _gutter(segments)
    if gutter is None:
        return []
    sides = [_side(segment, gutter) for segment in segments]
    columns = [[segment for segment, side in zip(segments, sides, strict=True) if side == number] for number in (-1, 1)]
    if not _are_columns(columns[0], columns[1], gutter):
        return []
    spanning = sorted((s for s, side in zip(segments, sides, strict=True) if side == 0), key=lambda segment: -segment.top)
    edges = [float("inf"), *((segment.top + segment.bottom) / 2 for segment in spanning), float("-inf")]
    lines: list[str] = []
    for number, (above, below) in enumerate(pairwise(edges)):
        for column in columns:
            lines += _lines([s for s in column if below < (s.top + s.bottom) / 2 <= above])
        if number < len(spanning):
            lines.append(spanning[number].text.strip())
    return lines


def _side(segment: Segment, gutter: float) -> int:
    if segment.right <= gutter:
        return -1
    return 1 if segment.left >= gutter else 0


def _gutter(segments: Sequence[Segment]) -> float | None:
    """Where in the middle of the page the fewest segments are cut."""
    left = min(segment.left for segment in segments)
    width = max(segment.right for segment in segments) - left
    if width <= 0:
        return None
    places = [left + width * step / _GUTTER_STEPS for step in range(_GUTTER_STEPS * 2 // 5, _GUTTER_STEPS * 3 // 5 + 1)]
    crossed = [sum(segment.left < place < segment.right for segment in segments) for place in places]
    least = min(crossed)
    if least > _MAX_CROSSING_SHARE * len(segments):
        return None
    free = [place for place, number in zip(places, crossed, strict=True) if number == least]
    return statistics.median_low(free)


def _are_columns(left: Sequence[Segment], right: Sequence[Segment], gutter: float) -> bool:
    if min(len(left), len(right)) < _MIN_COLUMN_LINES:
        return False
    outer_left, outer_right = min(s.left for s in left), max(s.right for s in right)
    is_filled = (
        statistics.median(s.right - s.left for s in left) >= _MIN_FILLED * (gutter - outer_left)
        and statistics.median(s.right - s.left for s in right) >= _MIN_FILLED * (outer_right - gutter)
    )  # fmt: skip
    tops = [max(s.top for s in column) for column in (left, right)]
    bottoms = [min(s.bottom for s in column) for column in (left, right)]
    shared = min(tops) - max(bottoms)
    return is_filled and shared >= _MIN_OVERLAP * min(tops[0] - bottoms[0], tops[1] - bottoms[1])


def _lines(segments: Sequence[Segment]) -> list[str]:
    """The lines of one column from the top, what stands on one height joined."""
    lines: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: -(s.top + s.bottom)):
        middle = (segment.top + segment.bottom) / 2
        if lines and lines[-1][0].bottom <= middle <= lines[-1][0].top:
            lines[-1].append(segment)
        else:
            lines.append([segment])
    return [" ".join(s.text.strip() for s in sorted(line, key=lambda s: s.left)) for line in lines]


def without_running_heads(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """The pages' lines without those at their tops and bottoms that recur, and without page numbers, with or without words.

    A line recurs that is on two of five pages, and on three at the least. Numbers that go up by one from page to page count them:
    a number alone on two pages, one among other words on as many as a line must recur on.
    """
    counts: Counter[tuple[bool, str]] = Counter()
    for lines in pages:
        counts.update({(is_top, lines[at]) for is_top, at in _edge(lines, max(1, len(lines) // 3))})
    enough = max(_MIN_RECURRING_PAGES, _MIN_RECURRING_SHARE * len(pages))
    heads = {head for head, count in counts.items() if count >= enough and len(head[1]) <= _MAX_HEAD}
    counting = _counting_forms(pages, enough)
    kept = []
    for lines in pages:
        leaving = {at for is_top, at in _edge(lines, max(1, len(lines) // 3)) if (is_top, lines[at]) in heads}
        leaving |= {at for is_top, at in _edge(lines, len(lines)) if (is_top, _form(lines[at])) in counting}
        kept.append([line for at, line in enumerate(lines) if at not in leaving])
    return kept


def _edge(lines: Sequence[str], most: int) -> list[tuple[bool, int]]:
    """The numbers of the first (True) and last lines of a page."""
    number = min(_EDGE_LINES, most, len(lines))
    return [(True, at) for at in range(number)] + [(False, at) for at in range(len(lines) - number, len(lines))]


def _form(line: str) -> str:
    """A line without blanks and with # for each number."""
    return _NUMBER.sub("#", "".join(line.split()))


def _counting_forms(pages: Sequence[Sequence[str]], enough: float) -> set[tuple[bool, str]]:
    """Forms of lines at the top (True) or bottom whose numbers go up by one from page to page."""
    shifts: Counter[tuple[bool, str, int]] = Counter()
    for number, lines in enumerate(pages):
        seen = set()
        for is_top, at in _edge(lines, len(lines)):
            form = _form(lines[at])
            if 1 <= form.count("#") <= 2 and len(form) <= _MAX_HEAD:
                seen |= {(is_top, form, int(digits[:9]) - number) for digits in _NUMBER.findall(lines[at])}
        shifts.update(seen)
    # The first page often shows no number.
    alone = max(2, 0.6 * (len(pages) - 1))
    return {
        (is_top, form)
        for (is_top, form, _), count in shifts.items()
        if count >= (alone if _PAGE_NUMBER.fullmatch(form) else max(enough, alone))
    }
