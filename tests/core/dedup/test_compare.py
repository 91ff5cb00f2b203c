import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup.compare import comparison_copies, comparison_copy

# What the folding looks at, and one character of each length in UTF-8.
TEXTS = st.text("某×*＊XxＸ甲乙癸a B1２9年的é𠀀。，　\u200b\n\ufeff", max_size=40)


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("", ""),
        ("原告 甲公司，\r\n　诉\t被告\u00a0乙公司。", "原告甲公司,诉被告乙公司。"),
        ("\ufeff零\u200b宽\u00ad度", "零宽度"),
        ("（２０８１）沪０１１５民初１号：ＡＢＣ；！～", "(2081)沪0115民初1号:ABC;!~"),
        ("〔2081〕「」、。", "〔2081〕「」、。"),
        ("李某某", "李某"),
        ("李某1、李某甲、李某12", "李某、李某、李某"),
        ("李××、李＊＊、李**、李XX、李ｘｘ、李Ｘ", "李某、李某、李某、李某、李某、李某"),
        ("李某 某 1 到庭", "李某到庭"),
        ("XX市某区，X某", "某市某区,某"),
        ("身份证号3101152085********1X", "身份证号3101152085某1X"),
        ("身份证号3101152085XXXXXXXX12", "身份证号3101152085某12"),
        ("审判员×××", "审判员某"),
        ("李某2081年", "李某2081年"),
        ("欠款12345元，利率3.85%", "欠款12345元,利率3.85%"),
        ("3×5", "3某5"),
        ("XML文件，FAX传真，尾号123X，某", "XML文件,FAX传真,尾号123X,某"),
        ("乱码\ufffd仍在", "乱码\ufffd仍在"),
    ],
)
def test_copy(text: str, copy: str) -> None:
    assert comparison_copy(text) == copy


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_copying_a_copy_changes_nothing(text: str) -> None:
    copy = comparison_copy(text)
    assert comparison_copy(copy) == copy


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_blind_to_white_space_in_any_text(text: str) -> None:
    copy = comparison_copy(text)
    assert not any(char.isspace() for char in copy)
    assert comparison_copy("\n\u3000".join(text)) == copy


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS, max_size=6), st.integers(0, 6))
def test_column_is_the_texts_one_by_one(texts: list[str], cut: int) -> None:
    expected = [comparison_copy(text) for text in texts]
    for column in (
        pa.array(texts, pa.string()),
        pa.array(texts, pa.large_string()),
        pa.array(["前", *texts, "后"], pa.string()).slice(1, len(texts)),
        pa.chunked_array([texts[:cut], texts[cut:]], pa.string()),
    ):
        assert comparison_copies(column).to_pylist() == expected


def test_masks_of_one_byte_that_grow_to_three_fit() -> None:
    assert comparison_copy("*a" * 999 + "*") == "某a" * 999 + "某"


def test_a_null_is_refused() -> None:
    with pytest.raises(ValueError, match="nulls"):
        comparison_copies(pa.array(["甲", None]))
