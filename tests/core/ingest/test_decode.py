import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.ingest.decode import decode
from lexmill.errors import DocumentError

TEXT = "原告卓某某与被告某某公司买卖合同纠纷一案，本院于2079年3月1日立案。" * 20


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("gb18030"), "gb18030"),
        (TEXT.encode("gbk"), "gb18030"),
        (TEXT.encode("gb2312"), "gb18030"),
        (("㐂𠮷" + TEXT).encode("gb18030"), "gb18030"),
        (b"plain ASCII", "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_encodings(data: bytes, encoding: str) -> None:
    decoded = decode(data)
    assert (decoded.encoding, decoded.n_bad) == (encoding, 0)
    assert decoded.text.encode(encoding) == data.removeprefix(codecs.BOM_UTF8).removeprefix(codecs.BOM_UTF16_LE).removeprefix(
        codecs.BOM_UTF16_BE
    )


@pytest.mark.parametrize(("encoding", "cut"), [("utf-8", 1), ("gb18030", 1)])
def test_a_few_invalid_bytes_are_kept_and_counted(encoding: str, cut: int) -> None:
    data = TEXT.encode(encoding)
    half = len("原告卓".encode(encoding))
    damaged = data[: half - cut] + b"\xff" + data[half:]
    decoded = decode(damaged)
    assert decoded.encoding == encoding
    assert 1 <= decoded.n_bad <= 2
    assert decoded.text.count("\ufffd") == decoded.n_bad
    assert decoded.text.endswith(TEXT[6:])


def test_damaged_utf8_is_not_taken_for_gb18030() -> None:
    # Losing one byte leaves bytes that GB18030 can read, all of them wrong.
    data = TEXT.encode()
    damaged = data[:100] + data[101:]
    assert decode(damaged).encoding == "utf-8"


def test_fffd_of_the_source_is_not_ours() -> None:
    assert decode(("\ufffd" * 5).encode()) == ("\ufffd" * 5, "utf-8", 0)


def test_a_nul_in_much_text_becomes_fffd() -> None:
    decoded = decode((TEXT + "\0").encode())
    assert decoded.text == TEXT + "\ufffd"
    assert decoded.n_bad == 1


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"PK\x03\x04\x14\x00\x06\x00" + bytes(range(256)), "ingest.binary"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0", "ingest.binary"),
        (codecs.BOM_UTF16_LE + "合\0同".encode("utf-16-le"), "ingest.binary"),
        (b"\xff\xfd\xfc\x80\x81" * 50, "ingest.undecodable"),
        (b"\xff", "ingest.undecodable"),
        (b"abc\xff\xff def", "ingest.undecodable"),
    ],
)
def test_refused(data: bytes, rule: str) -> None:
    with pytest.raises(DocumentError) as refused:
        decode(data)
    assert refused.value.rule == rule


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_a_document_error(data: bytes) -> None:
    try:
        outcome = decode(data).text
    except DocumentError as error:
        outcome = error.rule
    assert "\0" not in outcome


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=4, max_size=60))
def test_both_encodings_give_the_same_text(text: str) -> None:
    assert decode(f"标题：{text}，结束。".encode("gb18030")).text == decode(f"标题：{text}，结束。".encode()).text
