import codecs
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.ingest.decode import decode
from lexmill.errors import DocumentError

TAIWAN = "原告主張被告積欠貨款，經催討無效，爰依買賣契約請求給付，並聲明如主文所示。" * 20
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
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TAIWAN.encode("utf-16-le"), "utf-16-le"),
        (("Contract No. 7\r\n" * 9).encode("utf-16-be"), "utf-16-be"),
        (("甲方：＿＿＿＿＿＿＿＿　　　　\n┌────┐\n" * 20).encode("utf-16-le"), "utf-16-le"),
        (TAIWAN.encode("big5"), "cp950"),
        (("<p>" * 3000 + TAIWAN).encode("big5"), "cp950"),
        ((TAIWAN + "㗎").encode("big5hkscs"), "big5hkscs"),
        (TAIWAN.encode("gb18030"), "gb18030"),
        ("甲方：\r\n乙方：".encode("gb18030"), "gb18030"),
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


@pytest.mark.parametrize(("text", "encoding"), [(TEXT, "utf-8"), (TEXT, "gb18030"), (TAIWAN, "big5hkscs")])
def test_a_few_invalid_bytes_are_kept_and_counted(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    third = len(text[:3].encode(encoding))
    decoded = decode(data[: third - 1] + b"\xff" + data[third:])
    assert decoded.encoding == encoding
    assert 1 <= decoded.n_bad <= 2
    assert decoded.text.count("\ufffd") == decoded.n_bad
    assert decoded.text.endswith(text[6:])


def test_damaged_utf8_is_not_taken_for_gb18030() -> None:
    # Losing one byte leaves bytes that GB18030 can read, all of them wrong.
    data = TEXT.encode()
    damaged = data[:100] + data[101:]
    assert decode(damaged).encoding == "utf-8"


@pytest.mark.parametrize("encoding", ["gb18030", "big5"])
def test_a_long_text_with_its_only_damage_at_the_end_is_what_it_is(encoding: str) -> None:
    text = TEXT * 20 if encoding == "gb18030" else TAIWAN * 20
    decoded = decode(text.encode(encoding) + b"\xff\xff")
    assert decoded.text.startswith(text)
    assert decoded.n_bad == 2


SHARED = Path(__file__).parents[4] / "shared" / "corpus"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the corpus of real texts beside the checkout")
def test_real_texts_in_every_encoding() -> None:
    mainland = [path.read_text("utf-8") for path in sorted((SHARED / "statutes" / "lawrefbook_md").rglob("*.md"))[:400]]
    with (SHARED / "judgments" / "judge_test.jsonl").open(encoding="utf-8") as lines:
        mainland += [json.loads(line)["fd"] for line in lines]
    taiwan = [path.read_text("utf-8") for path in sorted((SHARED / "statutes" / "tw_law_corpus_md").rglob("*.md"))]
    for text in mainland + taiwan:
        encodings = ["utf-8", "gb18030", "utf-16-le", "utf-16-be"] + (["cp950"] if text in taiwan else [])
        for encoding in encodings:
            for length in (len(text), 200, 60):
                data = text[:length].encode(encoding, "ignore")
                assert decode(data).text == data.decode(encoding), (encoding, length)


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
