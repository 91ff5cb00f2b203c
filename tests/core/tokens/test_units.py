"""Texts in units: the same ids, whatever is remembered and forgotten in between."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens import units
from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.tokenizer import Tokenizer, load
from lexmill.core.tokens.units import Cuts, UnitEncoder, find_cuts
from tests.core.tokens.test_tiktoken_ranks import LINES, written


class Spy:
    """An encoder that notes what it is asked for, and fails when told to."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.reference = tokenizer.reference
        self.asked: list[str] = []
        self.failing = False

    def encode(self, texts: pa.Array, /) -> TokenBatch:
        self.asked += texts.to_pylist()
        if self.failing:
            raise ValueError
        return self.reference.encode(texts)


@pytest.fixture(scope="module")
def deepseek() -> Tokenizer:
    return load("deepseek")


@pytest.fixture(scope="module")
def cuts(deepseek: Tokenizer) -> Cuts:
    assert deepseek.spellings is not None
    found = find_cuts(deepseek.spellings, deepseek.reference)
    assert found is not None
    return found


def asked(path: str, text: str) -> list[str]:
    tokenizer = load(path)
    assert tokenizer.spellings is not None
    cuts = find_cuts(tokenizer.spellings, tokenizer.reference)
    assert cuts is not None
    spy = Spy(tokenizer)
    UnitEncoder(spy, cuts).encode(pa.array([text]))
    return spy.asked


def test_what_a_token_joins_stays_together(tmp_path: Path) -> None:
    # 告 of 被告 is one of many that begin with the same byte: the token of the end of 被 and that byte keeps them all.
    assert asked(written(tmp_path, LINES), "人被告人某被呀被龥") == ["人", "被告", "某", "被呀", "被", "龥"]
    assert asked(written(tmp_path, LINES[:-3]), "人被告人") == ["人", "被", "告"]


def test_marks_part_only_where_no_token_and_no_pattern_joins(tmp_path: Path) -> None:
    path = written(tmp_path, [*LINES, "，".encode()[:2], "，".encode(), "，被".encode()])
    assert asked(path, "人，被。人，人") == ["人", "，被", "。", "，人"]
    # Qwen's pattern takes one mark and the letters behind it as one, two white spaces not: \u3000 is never parted from them.
    joined = [*LINES, "\u3000".encode()[:2], "\u3000".encode(), "\u3000\u3000".encode()]
    assert asked(written(tmp_path, joined), "人\u3000\u3000人") == ["人", "\u3000\u3000人"]


def test_the_installed_vocabulary_comes_apart_at_most_places(cuts: Cuts) -> None:
    assert int(np.count_nonzero(cuts.pairs)) == 48_066
    assert cuts.after[[ord(mark) for mark in "，。：\n0"]].all()
    assert cuts.before[[ord(mark) for mark in "，。：0"]].all()
    assert not cuts.after[ord("a")]


LEGAL = st.text("被告人民法院判决书原中国的在，。；：（）《》“”\n \u3000\r12３٣年月aB.－㐀𠮷é\u0301あ々〇龥龦一", max_size=40)


@settings(max_examples=80, deadline=None)
@given(
    texts=st.lists(st.one_of(LEGAL, st.text(st.characters(exclude_categories=["Cs"]), max_size=12)), max_size=5),
    max_units=st.sampled_from([1, 2, 5, 1_000]),
    row=st.sampled_from([1, 3, 1_000]),
)
def test_ids_are_the_references(deepseek: Tokenizer, cuts: Cuts, texts: list[str], max_units: int, row: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "_ROW", row)
        encoder = UnitEncoder(deepseek.reference, cuts, max_units)
        expected = deepseek.encode_batch(texts)
        for _ in range(2):
            found = encoder.encode(pa.array(["甲", *texts], pa.string()).slice(1))
            assert found.offsets.tolist() == expected.offsets.tolist()
            assert found.ids.tolist() == expected.ids.tolist()


def test_a_unit_is_asked_for_once(deepseek: Tokenizer, cuts: Cuts) -> None:
    spy = Spy(deepseek)
    encoder = UnitEncoder(spy, cuts)
    encoder.encode(pa.array(["被告人。被告人。", "被告人"]))
    encoder.encode(pa.array(["。被告人"]))
    assert spy.asked == ["被告人", "。"]


def test_what_the_inner_encoder_failed_on_is_not_taken_for_known(deepseek: Tokenizer, cuts: Cuts) -> None:
    spy = Spy(deepseek)
    encoder = UnitEncoder(spy, cuts)
    texts = pa.array(["被告人。"])
    spy.failing = True
    with pytest.raises(ValueError):
        encoder.encode(texts)
    spy.failing = False
    assert encoder.encode(texts).ids.tolist() == deepseek.encode_batch(["被告人。"]).ids.tolist()


def test_a_text_without_a_cut_that_is_larger_than_the_memory(deepseek: Tokenizer, cuts: Cuts) -> None:
    texts = ["被告", "abc def " * 50, "被告"]
    found = UnitEncoder(deepseek.reference, cuts, 2).encode(pa.array(texts))
    expected = deepseek.encode_batch(texts)
    assert [found.document(n).tolist() for n in range(3)] == [expected.ids[a:b].tolist() for a, b in pairwise(expected.offsets)]
