"""DOCX: what Word shows becomes lines, numbers included; bombs are refused by a named limit."""

import io
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.docx import read_docx
from lexmill.core.ingest.items import Broken, Page
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.numbering import Level, Numbering, number_text
from lexmill.core.ingest.word import word_format
from lexmill.errors import DocumentError

LIMITS = Limits.of(Ingest())
SPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
STRICT = SPACES.replace(
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main", "http://purl.oclc.org/ooxml/wordprocessingml/main"
)


def part(root: str, content: str, spaces: str = SPACES) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{root} {spaces}>{content}</w:{root}>'


def docx(body: str, spaces: str = SPACES, **others: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", part("document", f"<w:body>{body}</w:body>", spaces))
        for name, content in others.items():
            archive.writestr(f"word/{name}.xml", content)
    return packed.getvalue()


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def t(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr>"


def numbered(list_id: int, level: int | None = 0) -> str:
    at = "" if level is None else f'<w:ilvl w:val="{level}"/>'
    return f'<w:numPr>{at}<w:numId w:val="{list_id}"/></w:numPr>'


def text_of(data: bytes, limits: Limits = LIMITS) -> str:
    (item,) = read_docx(data, limits)
    return item.text if isinstance(item, Page) else f"!{item.rule}" if isinstance(item, Broken) else ""


BOX = (
    f"<mc:AlternateContent><mc:Choice><w:txbxContent>{p('框')}</w:txbxContent></mc:Choice>"
    f"<mc:Fallback><w:txbxContent>{p('框')}</w:txbxContent></mc:Fallback></mc:AlternateContent>"
)
INNER = row(p("内1"), p("内2"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p("房屋租赁合同") + p("") + p("第一条 租金为1,200元。"), "房屋租赁合同\n第一条 租金为1,200元。"),
        ("<w:p><w:r><w:t>甲方</w:t><w:tab/><w:t>乙方</w:t><w:br/><w:t>丙方</w:t></w:r></w:p>", "甲方\t乙方\n丙方"),
        (f"<w:p><w:hyperlink>{t('链')}</w:hyperlink><w:sdt><w:sdtContent>{t('控')}</w:sdtContent></w:sdt></w:p>", "链控"),
        (f"<w:p><w:del><w:r><w:delText>删</w:delText></w:r></w:del><w:ins>{t('增')}</w:ins></w:p>", "增"),
        (f"<w:p><w:moveFrom>{t('旧处')}</w:moveFrom>{t('余')}</w:p>", "余"),
        (f"<w:p><w:r><w:instrText>PAGE</w:instrText></w:r>{t('值')}</w:p>", "值"),
        (f'<w:p><w:r><w:sym w:char="F0A8"/></w:r>{t("是")}<w:r><w:sym w:char="F0FE"/></w:r>{t("否")}</w:p>', "□是☑否"),
        (f'<w:p><w:r><w:sym w:char="D800"/><w:sym w:char="zz"/></w:r>{t("x")}</w:p>', "\ufffd\ufffdx"),
        (f"<w:p><w:r>{BOX}</w:r>{t('文')}</w:p>", "框\n文"),
        (f"<w:p><w:r><w:ruby><w:rt>{t('yín')}</w:rt><w:rubyBase>{t('银')}</w:rubyBase></w:ruby></w:r></w:p>", "银"),
        (
            f"<w:tbl>{row(p('序号'), p('名称'), p(''))}{row(p('1'), p('钢') + p('材'), p('吨'))}</w:tbl>",
            "序号\t名称\n1\t钢 材\t吨",
        ),
        (f"<w:tbl>{row(p('申'), p('长' * 201))}</w:tbl>", "申\n" + "长" * 201),
        (f"<w:tbl>{row(f'<w:tbl>{INNER}</w:tbl>', p('外'))}</w:tbl>", "内1 内2\t外"),
    ],
)
def test_what_word_shows(body: str, text: str) -> None:
    assert text_of(docx(body)) == text


def test_strict_documents_are_the_same() -> None:
    assert text_of(docx(p("合同"), STRICT)) == "合同"


def test_notes_follow_and_headers_stay_out() -> None:
    notes = part("footnotes", f"<w:footnote>{p('注一')}</w:footnote>")
    assert (
        text_of(docx(p("正文"), footnotes=notes, header1=part("hdr", p("页眉")), comments=part("comments", p("批注"))))
        == "正文\n注一"
    )


NUMBERING = part(
    "numbering",
    """
    <w:abstractNum w:abstractNumId="7">
      <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCountingThousand"/><w:lvlText w:val="第%1条"/></w:lvl>
      <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:isLgl/><w:lvlText w:val="%1.%2"/></w:lvl>
      <w:lvl w:ilvl="2"><w:numFmt w:val="bullet"/><w:lvlText w:val="l"/></w:lvl>
    </w:abstractNum>
    <w:abstractNum w:abstractNumId="8">
      <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="Sub"/><w:lvlText w:val="（%1）"/></w:lvl>
    </w:abstractNum>
    <w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
    <w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
    <w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>
    """,
)
STYLES = part(
    "styles",
    f"""
    <w:style w:styleId="Base"><w:pPr>{numbered(2, None)}</w:pPr></w:style>
    <w:style w:styleId="Sub"><w:basedOn w:val="Base"/></w:style>
    <w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>
    """,
)


def test_automatic_numbers_are_written_out() -> None:
    body = (
        p("租金", numbered(1))
        + p("每月支付", numbered(1, 1))
        + p("项", numbered(1, 2))
        + p("逾期", numbered(1, 1))
        + p("押金", numbered(1))
        + p("交付", numbered(1, 1))
        + p("样式", '<w:pStyle w:val="Sub"/>')
        + p("样式", '<w:pStyle w:val="Sub"/>')
        + p("另起", numbered(3))
        + p("无", '<w:pStyle w:val="Sub"/>' + numbered(0))
        + p("环", '<w:pStyle w:val="A"/>')
        + p("无此", numbered(9))
    )
    assert text_of(docx(body, numbering=NUMBERING, styles=STYLES)).split("\n") == [
        "第一条 租金", "1.1 每月支付", "项", "1.2 逾期", "第二条 押金", "2.1 交付",
        "（1）样式", "（2）样式", "第五条 另起", "无", "环", "无此",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "fmt", "text"),
    [
        (1, "chineseCounting", "一"),
        (10, "chineseCountingThousand", "十"),
        (12, "chineseCountingThousand", "十二"),
        (20, "chineseCountingThousand", "二十"),
        (103, "chineseCountingThousand", "一百零三"),
        (110, "chineseCountingThousand", "一百一十"),
        (1005, "japaneseCounting", "一千零五"),
        (25, "chineseLegalSimplified", "贰拾伍"),
        (12, "ideographDigital", "一二"),
        (3, "ideographTraditional", "丙"),
        (12, "ideographZodiac", "亥"),
        (27, "lowerLetter", "aa"),
        (2, "upperLetter", "B"),
        (1994, "upperRoman", "MCMXCIV"),
        (4, "lowerRoman", "iv"),
        (3, "decimalEnclosedCircleChinese", "③"),
        (21, "decimalEnclosedCircle", "21"),
        (7, "decimalZero", "07"),
        (12, "decimalFullWidth", "１２"),
        (5, "unheardOf", "5"),
        (0, "chineseCounting", "0"),
    ],
)
def test_number_formats(number: int, fmt: str, text: str) -> None:
    assert number_text(number, fmt) == text


def test_a_deeper_level_begins_anew_below_each_higher_one() -> None:
    levels = {0: Level("decimal", "%1", 1, False, None), 1: Level("decimal", "%1.%2", 1, False, None)}
    numbering = Numbering({"1": levels}, {})
    assert [numbering.next("1", level, None) for level in (0, 1, 1, 0, 1, 1)] == ["1", "1.1", "1.2", "2", "2.1", "2.2"]


def test_billion_laughs_are_refused() -> None:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    declared = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a0 "lol">{entities}]>'
    document = f"{declared}<w:document {SPACES}><w:p><w:t>&a9;</w:t></w:p></w:document>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", document)
    assert text_of(packed.getvalue()) == "!ingest.xml_declares_entities"


@pytest.mark.parametrize(
    ("limits", "body", "rule"),
    [
        (replace(LIMITS, file=20 << 20, ratio=1e6), "<w:p/>" * 4_000_000, "ingest.max_file_mb"),
        (LIMITS, " " * (20 << 20), "ingest.max_ratio"),
        (replace(LIMITS, record=100), p("长" * 40), "ingest.max_record_mb"),
        (replace(LIMITS, members=0), p("甲"), "ingest.max_members"),
        (LIMITS, "<w:x>" * 600 + "</w:x>" * 600, "ingest.too_deep"),
        (LIMITS, "<w:p>", "ingest.bad_xml"),
    ],
)
def test_limits_name_themselves(limits: Limits, body: str, rule: str) -> None:
    assert text_of(docx(body), limits) == f"!{rule}"


def test_what_is_no_docx() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<x/>")
    assert text_of(packed.getvalue()) == "!ingest.not_docx"
    assert text_of(b"PK\x03\x04 cut") == "!ingest.broken_archive"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_is_a_reason_and_no_crash(data: st.DataObject) -> None:
    whole = bytearray(docx(p("租金", numbered(1)) + "<w:tbl>" + row(p("甲"), p("乙")) + "</w:tbl>", numbering=NUMBERING))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(1, len(whole)))])
    text = text_of(cut)
    assert "租金" in text or text.startswith("!ingest.") or len(text) < 100


@pytest.mark.parametrize(
    ("data", "fmt"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "doc"),
        (b"{\\rtf1\\ansi}", "rtf"),
        (b"PK\x03\x04", "docx"),
        ("<html><body>合同</body></html>".encode("gb18030"), "html"),
        ('<?xml version="1.0"?><html>合同</html>'.encode(), "html"),
        ("房屋租赁合同".encode("gb18030"), "txt"),
    ],
)
def test_first_bytes_say_what_a_word_file_is(data: bytes, fmt: str) -> None:
    assert word_format(data) == fmt


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "ingest.encrypted"),
        (b"MIME-Version: 1.0\r\n", "ingest.unknown_format"),
        (bytes(range(256)), "ingest.unknown_format"),
    ],
)
def test_word_files_that_are_nothing_to_read(data: bytes, rule: str) -> None:
    with pytest.raises(DocumentError, match=rule):
        word_format(data)
