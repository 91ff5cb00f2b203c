import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.ingest.mojibake import unmangle
from lexmill.errors import DocumentError

TEXT = "中国某某公司诉称，被告未按合同约定支付货款，请求判令被告支付货款及利息。"


@pytest.mark.parametrize("wrong", ["latin-1", "cp1252"])
def test_utf8_read_as_western_is_undone(wrong: str) -> None:
    # Only what Windows-1252 has a character for survives in it.
    text = TEXT if wrong == "latin-1" else "中国某某公司诉"
    shown = "".join(bytes([b]).decode(wrong, "ignore") or chr(b) for b in text.encode())
    assert shown != text
    assert unmangle(shown) == text
    assert unmangle(f"标题\n{shown}\n") == f"标题\n{text}\n"


def test_utf8_read_as_gbk_is_undone_line_by_line() -> None:
    even = "被告支付货款"  # 18 bytes: nine characters of GBK
    shown = even.encode().decode("gb18030")
    assert unmangle(f"完好的一行。\n{shown}") == f"完好的一行。\n{even}"


@pytest.mark.parametrize(
    "shown",
    [
        TEXT.encode().decode("gbk", "replace"),
        TEXT.encode().decode("gbk", "ignore"),
        TEXT.encode().decode("gbk", "replace").replace("\ufffd", "?"),
        TEXT.encode("gb18030").decode("latin-1"),
        TEXT.encode("gb18030").decode("latin-1") * 3 + "完好",
        "锟斤拷" * 4 + "合同",
    ],
)
def test_what_cannot_be_undone_is_refused(shown: str) -> None:
    with pytest.raises(DocumentError) as refused:
        unmangle(shown)
    assert refused.value.rule == "ingest.mojibake"


def test_a_few_lost_characters_are_counted_not_refused() -> None:
    assert unmangle("锟斤拷" + TEXT * 10) == "\ufffd\ufffd" + TEXT * 10


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "买卖双方为合作夥伴及客户，鑽戒，一枚；謄錄存查。",  # pairs that mangled text has too
        "公式：a×b÷c，温度25℃±2℃，第5·6条，Müller诉Société Générale案，naïve façade",
        "被告人××××，银行卡号6222××××××××0001，«merger»，½，²，©",
        "住所地安徽省濉溪县、浙江省鄞州区、四川省邛崃市、江西省婺源县。",
        "",
    ],
)
def test_sound_text_stays_as_it_is(text: str) -> None:
    assert unmangle(text) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_text_or_a_document_error(text: str) -> None:
    try:
        mended = unmangle(text)
    except DocumentError as error:
        mended = error.rule
    assert mended or not text
