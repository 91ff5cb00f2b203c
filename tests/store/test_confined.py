"""A PDF that would keep its parser busy for ever is refused by a limit, and the next one is read."""

import io
from dataclasses import replace

import pypdfium2 as pdfium
import pytest
import xlsxwriter

from lexmill.config import Ingest
from lexmill.core.ingest.items import Broken, Page
from lexmill.core.ingest.limits import Limits
from lexmill.store.confined import read_confined

LIMITS = replace(Limits.of(Ingest()), seconds=1)


def pdf(objects: list[bytes]) -> bytes:
    """A PDF of these objects, the first its catalogue."""
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return out.getvalue()


def nested(depth: int, times: int) -> bytes:
    """A page that draws a form ``times`` times, which draws another as often, ``depth`` forms deep."""
    first = 5
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</XObject<</F %d 0 R>>>>>>" % first,
    ]
    draws = b"/F Do " * times
    objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(draws), draws))
    for level in range(depth):
        drawn = draws if level + 1 < depth else b"BT /A 12 Tf 9 9 Td (some text) Tj ET"
        inner = b"/XObject<</F %d 0 R>>" % (first + level + 1) if level + 1 < depth else b"/Font<</A %d 0 R>>" % (first + depth)
        objects.append(
            b"<</Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<<%b>>/Length %d>>stream\n%b\nendstream"
            % (inner, len(drawn), drawn)
        )
    objects.append(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    return pdf(objects)


def test_a_pdf_is_read() -> None:
    (page,) = read_confined(nested(2, 3), "pdf", LIMITS)
    assert isinstance(page, Page)
    assert page.text.count("some text") >= 1


@pytest.mark.slow
@pytest.mark.smoke
def test_forms_within_forms_are_ended_by_their_limit_and_the_next_is_read() -> None:
    hostile = nested(12, 30)
    assert len(hostile) < 10_000
    assert read_confined(hostile, "pdf", LIMITS) == [Broken(None, "ingest.max_seconds", 0, len(hostile))]
    (page,) = read_confined(nested(2, 3), "pdf", LIMITS)
    assert isinstance(page, Page)


def test_what_is_no_pdf_is_said_to_be_broken() -> None:
    (broken,) = read_confined(b"%PDF-1.4 nothing", "pdf", LIMITS)
    assert isinstance(broken, Broken)
    assert broken.rule == "ingest.broken_pdf"
    assert pdfium.PdfDocument(nested(1, 1)) is not None


def test_a_sheet_of_seventeen_thousand_million_cells_is_one_fault() -> None:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "正文")
        sheet.write_string(1_048_575, 16_383, "甲")
    data = out.getvalue()
    assert read_confined(data, "xlsx", LIMITS) == [Broken(None, "ingest.broken_workbook", 0, len(data))]
    (page,) = read_confined(nested(2, 3), "pdf", LIMITS)
    assert isinstance(page, Page)
