from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.cutting import SEGMENT, SENTENCE, TOKEN, Cut, Places, cut, find_places, heading
from lexmill.core.tokens.tokenizer import Tokenizer, load

TEXT = "甲市乙区人民法院\n民事判决书\n原告张某诉称：被告未还款。请求判令还款。\n\u3000\u3000本院认为，“应当还款。”驳回其他请求！"


def each(text: str) -> Any:
    """A token a character."""
    return np.arange(len(text), dtype=np.int32)


def places(text: str, *segments: str) -> Places:
    return find_places(text, [text.index(start) for start in segments], each(text))


def pieces(text: str, cuts: list[Cut]) -> list[str]:
    bounds = [0, *(found.char for found in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def test_sentences_end_behind_their_marks_and_what_is_blank_behind_them() -> None:
    found = [TEXT[at:] for at in places(TEXT).sentence.tolist()]
    assert [rest[:3] for rest in found] == ["民事判", "原告张", "请求判", "本院认", "驳回其"]


def test_cuts_at_segments_then_sentences_then_anywhere() -> None:
    found = cut(places(TEXT, "原告", "\u3000\u3000本院"), 24, 0, 1, 0)
    assert pieces(TEXT, found) == [
        "甲市乙区人民法院\n民事判决书\n",
        "原告张某诉称：被告未还款。请求判令还款。\n",
        "\u3000\u3000本院认为，“应当还款。”驳回其他请求！",
    ]
    assert [c.kind for c in found] == [SEGMENT, SEGMENT]
    found = cut(places("一二三四五。六七八九十", "三"), 9, 1, 1, 0)
    assert [(c.token, c.char, c.kind) for c in found] == [(7, 6, SENTENCE)], "the segment is shorter than half the window"
    assert [c.kind for c in cut(places("一" * 20), 9, 1, 1, 0)] == [TOKEN] * 2


def test_no_cut_within_a_character() -> None:
    chars = np.array([0, -1, 1, -1, 2, -1, 3, -1], np.int32)
    assert [c.token for c in cut(find_places("𠮷𠮷𠮷𠮷", [], chars), 5, 0, 1, 0)] == [4]
    with pytest.raises(ValueError, match="more tokens than the window"):
        cut(find_places("𠮷𠮷", [], np.array([0, -1, -1, 1, -1, -1], np.int32)), 2, 0, 1, 0)


def test_a_token_over_a_border_is_cut_before_if_only_blanks_stand_between() -> None:
    text = "一。\n\u3000二三四五"
    chars = np.array([0, 2, 4, 5, 6, 7], np.int32)  # the second token is "\n\u3000"
    assert find_places(text, [3], chars).segment.tolist() == [1]
    assert find_places("一。二三四五", [2], np.array([0, 1, 3, 4, 5], np.int32)).segment.tolist() == []


def test_headings() -> None:
    assert heading(places(TEXT, "原告"), TEXT, 20) == 15
    assert heading(places(TEXT, "原告"), TEXT, 10) == 9, "the first line"
    assert heading(places(TEXT, "原告"), TEXT, 5) == 0
    assert heading(places("没有行也没有段"), "没有行也没有段", 5) == 0


@pytest.fixture(scope="module")
def deepseek() -> Tokenizer:
    return load("deepseek")


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.sampled_from("被告人张某，。！\n\u3000 a1𠮷é“”"), min_size=1, max_size=300),
    st.integers(16, 40),
    st.integers(0, 1),
    st.integers(0, 4),
)
def test_pieces_tile_the_text_and_fit(deepseek: Tokenizer, text: str, window: int, before: int, head: int) -> None:
    ids = deepseek.encode_batch([text]).ids
    found = cut(find_places(text, [len(text) // 2], deepseek.char_starts(ids, text)), window, before, 1, head)
    bounds = [0, *(c.token for c in found), len(ids) + before + 1]
    sizes = np.diff(bounds)
    assert sizes[0] <= window
    assert all(0 < size <= window - head for size in sizes[1:])
    tokens = [ids[max(0, a - before) : b - before] for a, b in pairwise(bounds)]
    assert [deepseek.decode(part) for part in tokens] == pieces(text, found)
    assert (len(found) > 0) == (len(ids) + before + 1 > window)
