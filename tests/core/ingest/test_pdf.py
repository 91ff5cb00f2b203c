"""PDF: lines in reading order, without running heads and page numbers; what has no text says so."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.items import Broken, Page
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.pdf import Segment, in_columns, read_pdf, without_running_heads

LIMITS = Limits.of(Ingest())
SIZE = 10


def pdf(pages: Sequence[Sequence[tuple[int, int, str]]]) -> bytes:
    """A PDF of pages of (x, y, text) in a font that is not embedded, by its Unicode CMap (ISO 32000-1, 9.7.5.2)."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), b" ".join(b"%d 0 R" % (5 + 2 * n) for n in range(len(pages)))),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [4 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> >>",
    ]
    for number, page in enumerate(pages):
        stream = "".join(
            f"BT /F1 {SIZE} Tf {x} {y} Td <{text.encode('utf-16-be').hex()}> Tj ET\n" for x, y, text in page
        ).encode()
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
            % (6 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table) + tail


def text_of(data: bytes, limits: Limits = LIMITS) -> str:
    (item,) = read_pdf(data, limits)
    return item.text if isinstance(item, Page) else f"!{item.rule}" if isinstance(item, Broken) else ""


def column(x: int, name: str, number: int = 12) -> list[tuple[int, int, str]]:
    return [(x, 700 - 14 * n, f"{name}栏第{n}行的文字写满整个栏宽直到栏边为止了") for n in range(number)]


def lines_of(name: str, number: int = 12) -> list[str]:
    return [text for _, _, text in column(0, name, number)]


def test_one_column_in_order() -> None:
    assert (
        text_of(pdf([[(50, 700, "房屋租赁合同"), (50, 680, "第一条 租金为1,200元。")]])) == "房屋租赁合同\n第一条 租金为1,200元。"
    )


def test_two_columns_one_after_the_other_even_where_written_line_by_line() -> None:
    crossed = [cell for pair in zip(column(40, "左"), column(320, "右"), strict=True) for cell in pair]
    title = (150, 740, "横跨两栏的标题是这样一行长长的文字写在上面")
    assert text_of(pdf([[title, *crossed]])).split("\n") == [title[2], *lines_of("左"), *lines_of("右")]


def test_a_line_across_both_columns_parts_them() -> None:
    lower = [(x, y - 200, f"下{text}") for x, y, text in (*column(40, "左", 8), *column(320, "右", 8))]
    middle = (150, 560, "横跨两栏的小标题是这样一行长长的文字写在中间")
    page = [*column(40, "左", 8), *column(320, "右", 8), middle, *lower]
    expected = [*lines_of("左", 8), *lines_of("右", 8), middle[2], *[f"下{t}" for t in (*lines_of("左", 8), *lines_of("右", 8))]]
    assert text_of(pdf([page])).split("\n") == expected


def test_tables_and_signatures_side_by_side_stay_row_by_row() -> None:
    rows = [cell for n in range(12) for cell in ((40, 700 - 14 * n, f"项目{n}"), (320, 700 - 14 * n, f"金额{n}元"))]
    assert text_of(pdf([rows])).split("\n") == [f"项目{n} 金额{n}元" for n in range(12)]


def test_running_heads_and_page_numbers_go() -> None:
    pages = [
        [
            (40, 780, "某某公司合同范本"),
            (40, 760, f"正文{'甲乙丙丁戊'[n]}这里写下不同的一些文字内容"),
            (40, 740, "又一行正文"),
            (280, 20, f"- {n + 3} -"),
        ]
        for n in range(5)
    ]
    assert text_of(pdf(pages)).split("\n") == [line for page in pages for _, _, line in page[1:3]]


@pytest.mark.parametrize(
    "form",
    [
        "{0}",
        "- {0} -",
        "第{0}页",
        "第{0}页 共{1}页",
        "第 {0} 頁，共 {1} 頁",
        "{0}/{1}",
        "Page {0} of {1}",
        "頁次：{1}－{0}",
        "— {0} —",
    ],
)
def test_forms_of_page_numbers(form: str) -> None:
    pages = [[f"正文{'甲乙丙丁'[n]}", form.format(n + 1, 4)] for n in range(4)]
    assert without_running_heads(pages) == [[page[0]] for page in pages]
    assert without_running_heads(pages[:2]) == [[page[0]] for page in pages[:2]]


@pytest.mark.parametrize(
    "pages",
    [
        [["2013", "甲"], ["2001", "乙"], ["1990", "丙"]],  # numbers that do not count pages
        [["第1条 甲"], ["第2条 乙"], ["第3条 丙"]],
        [["第1条", "甲"], ["第3条", "乙"], ["第7条", "丙"]],
        [["题号 01 - 10", "61 - 70 71 - 80"], ["题号 11 - 20", "62 - 70 71 - 81"]],
        [["同一行", "甲"], ["同一行", "乙"]],  # two pages say too little
        [["甲", "1"]],
    ],
)
def test_lines_that_are_no_heads_stay(pages: list[list[str]]) -> None:
    assert without_running_heads(pages) == pages


def test_a_file_without_text_needs_ocr() -> None:
    text = [(50, 700, "这一页有一行足够长的文字内容")]
    assert text_of(pdf([[], [], text])) == "!ingest.needs_ocr"
    assert text_of(pdf([[], text, text])).startswith("这一页")
    assert text_of(pdf([[(50, 700, "1")]])) == "!ingest.needs_ocr"


def test_limits_name_themselves() -> None:
    page = [(50, 700, "一行文字一行文字一行文字")]
    assert text_of(pdf([page] * 3), replace(LIMITS, pages=2)) == "!ingest.max_pages"
    assert text_of(pdf([page] * 3), replace(LIMITS, record=80)) == "!ingest.max_record_mb"
    assert text_of(b"%PDF-1.4 nothing") == "!ingest.broken_pdf"


def test_few_lines_are_no_columns() -> None:
    segments = [Segment("文字", 0, 100, 10 * n, 10 * n + 9) for n in range(7)] + [
        Segment("文字", 110, 210, 10 * n, 10 * n + 9) for n in range(7)
    ]
    assert in_columns(segments) == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_is_a_reason_and_no_crash(data: st.DataObject) -> None:
    whole = bytearray(pdf([column(40, "左")]))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    text = text_of(bytes(whole[: data.draw(st.integers(1, len(whole)))]))
    assert text
    text.encode()


@settings(max_examples=60, deadline=None)
@given(pages=st.lists(st.lists(st.sampled_from(["甲", "1", "第1页", "乙丙", "2"]), max_size=8), max_size=6))
def test_lines_leave_only_from_the_edges_and_in_order(pages: list[list[str]]) -> None:
    for lines, kept in zip(pages, without_running_heads(pages), strict=True):
        rest = iter(lines)
        assert all(line in rest for line in kept)
        assert len(kept) >= len(lines) - 8
