"""What comes out is what the reference says, whoever encodes."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens import fast
from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.encoding import Tokenizer, parity_sample
from lexmill.core.tokens.fast import FastEncoder
from lexmill.core.tokens.tokenizer import load
from tests.core.tokens.test_tokenizer import description, written

TEXTS = [
    "经审理查明，被告人卓某1于2078年5月4日在某市某区盗窃人民币3,200.50元。\n\u3000\u3000本院认为，其行为已构成盗窃罪（未遂）。",
    "",
    "甲方：____\n乙方：【　】   \n\n",
    "Article 5 of GB/T 45654-2025, it's \t 12.5％",
    "𠮷㐀é́☎️\x00\u200b",
    "原告称<｜end▁of▁sentence｜>被告称<think><｜User｜>",
]


@pytest.fixture(scope="module")
def deepseek() -> Tokenizer:
    return load("deepseek", "auto")


def same(left: TokenBatch, right: TokenBatch) -> bool:
    return np.array_equal(left.ids, right.ids) and np.array_equal(left.offsets, right.offsets)


def test_the_fast_encoder_gives_the_reference_ids_and_no_control_token(deepseek: Tokenizer) -> None:
    texts = pa.array([*TEXTS, TEXTS[0] * 40])
    encoded = deepseek.encode_proved(texts, np.arange(len(texts)))
    assert not encoded.fell_back
    assert same(encoded.tokens, deepseek.reference.encode(texts))
    assert not np.isin(encoded.tokens.ids, [0, 1, 2]).any()
    assert int(encoded.tokens.ids.max()) < 128_000


LEGAL = st.text("原被告人民法院，。、；：（）《》“”\n \u3000\r12３٣年月aB.－—·㐀𠮷é\u0301\u200bあ☎️", max_size=60)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.one_of(LEGAL, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), min_size=1, max_size=4))
def test_any_text_gives_the_reference_ids(deepseek: Tokenizer, texts: list[str]) -> None:
    assert deepseek.fast is not None
    assert same(deepseek.fast.encode(pa.array(texts)), deepseek.reference.encode(pa.array(texts)))


class Scripted:
    """An encoder that says what it is told to, once for each call."""

    def __init__(self, *answers: TokenBatch | BaseException) -> None:
        self.answers = list(answers)

    def encode(self, _texts: pa.Array) -> TokenBatch:
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class PanicException(BaseException):
    """As Rust libraries raise it."""


def altered(tokens: TokenBatch, at: int, token: int) -> TokenBatch:
    ids = tokens.ids.copy()
    ids[at] = token
    return TokenBatch(ids, tokens.offsets)


def test_one_other_token_makes_the_reference_encode_all(deepseek: Tokenizer) -> None:
    texts = pa.array(["本院认为", "原告", "被告"])
    right = deepseek.reference.encode(texts)
    spelt = deepseek.reference.encode(pa.array(["本", "院", "认", "为"]))
    other = TokenBatch(
        np.concatenate([spelt.ids, right.ids[right.offsets[1] :]]), right.offsets + len(spelt.ids) - right.offsets[1]
    )
    other.offsets[0] = 0
    assert same(other, right) is False
    everywhere, elsewhere = np.arange(3), np.arange(1, 3)
    assert not replace(deepseek, fast=Scripted(right)).encode_proved(texts, everywhere).fell_back
    encoded = replace(deepseek, fast=Scripted(other)).encode_proved(texts, everywhere)
    assert encoded.fell_back
    assert same(encoded.tokens, right)
    # The same bytes in other tokens, where nobody looks: the sample is what stands between.
    assert not replace(deepseek, fast=Scripted(other)).encode_proved(texts, elsewhere).fell_back


def test_wrong_bytes_or_a_control_token_are_found_outside_the_sample(deepseek: Tokenizer) -> None:
    texts = pa.array(["本院认为", "原告", "被告<think>"])
    right = deepseek.reference.encode(texts)
    for wrong in (altered(right, -1, 5), altered(right, 0, deepseek.eos_id), deepseek.reference.encode(texts.slice(1))):
        encoded = replace(deepseek, fast=Scripted(wrong)).encode_proved(texts, np.arange(1, 2))
        assert encoded.fell_back
        assert same(encoded.tokens, right)


@pytest.mark.parametrize("failure", [ValueError("unknown kind"), PanicException("index out of bounds")])
def test_a_failing_fast_encoder_is_passed_over(deepseek: Tokenizer, failure: BaseException) -> None:
    encoded = replace(deepseek, fast=Scripted(failure)).encode_proved(pa.array(["甲"]), np.zeros(1, np.int64))
    assert encoded.fell_back
    assert same(encoded.tokens, deepseek.encode_batch(["甲"]))


def test_a_stop_is_a_stop(deepseek: Tokenizer) -> None:
    with pytest.raises(KeyboardInterrupt):
        replace(deepseek, fast=Scripted(KeyboardInterrupt())).encode_proved(pa.array(["甲"]), np.zeros(1, np.int64))


def test_a_vocabulary_that_the_fast_encoder_does_not_know_is_encoded_by_the_reference(tmp_path: Path) -> None:
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "b"}
    tokenizer = load(written(tmp_path, description(model=model)), "auto")
    encoded = tokenizer.encode_proved(pa.array(["a"]), np.zeros(1, np.int64))
    assert (encoded.tokens.ids.tolist(), encoded.fell_back) == ([0], True)


def test_the_reference_alone_has_nothing_to_fall_back_from(tmp_path: Path) -> None:
    tokenizer = load(written(tmp_path, description()), "reference")
    assert tokenizer.fast is None
    assert not tokenizer.encode_proved(pa.array(["a"]), np.zeros(1, np.int64)).fell_back


class Engine:
    """As gigatoken: an id for every byte."""

    def encode_batch(self, documents: list[bytes], parallel: bool) -> Any:
        assert parallel is False
        offsets = np.cumsum([0, *map(len, documents)], dtype=np.int64)
        ids = np.frombuffer(b"".join(documents), np.uint8).astype(np.uint32)
        return SimpleNamespace(layout=SimpleNamespace(content=SimpleNamespace(data=ids), offsets=SimpleNamespace(data=offsets)))


def test_the_engine_is_made_when_needed_and_anew_when_it_has_had_its_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_WINDOW_BYTES", 5)
    made: list[Engine] = []

    def make() -> Engine:
        made.append(Engine())
        return made[-1]

    encoder = FastEncoder(make, recycle_bytes=10)
    assert made == []
    texts = pa.array(["ab", "cd", "", "efghijk", "l"])  # windows of 4, 7 and 1 bytes
    for count in (2, 3, 4):
        ids, offsets = encoder.encode(texts)
        assert bytes(ids.tolist()) == b"abcdefghijkl"
        assert offsets.tolist() == [0, 2, 4, 4, 11, 12]
        assert len(made) == count


def test_the_sample_is_the_first_and_a_hundredth() -> None:
    assert parity_sample(np.full(3, 10), 2).tolist() == [0, 1, 2]
    assert parity_sample(np.full(100, 10), 50).tolist() == [*range(8), 50]
    assert parity_sample(np.full(5_000, 10), 7).tolist() == list(range(50))
    assert parity_sample(np.array([1] * 20 + [10_000] * 3), 0).tolist() == list(range(21))
    assert parity_sample(np.zeros(0, np.int64), 0).tolist() == []
