"""A .tiktoken file: single bytes and a few joins, made here."""

import base64
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.tokenizer import Scheme, Tokenizer, load
from lexmill.errors import ConfigError

BEI, GAO = "被".encode(), "告".encode()
# 被 and 告, both together, and a token of the end of the one and the beginning of the other.
JOINS = [BEI[:2], BEI, GAO[:2], GAO, BEI[2:] + GAO[:1], BEI + GAO, b"ab"]
LINES = [*(bytes([byte]) for byte in range(256)), *JOINS]


def written(folder: Path, tokens: list[bytes]) -> str:
    path = folder / "toy.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return str(path)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(written(tmp_path_factory.mktemp("ranks"), LINES), "auto")


def test_ids_and_control_tokens(toy: Tokenizer) -> None:
    assert (toy.vocab_size, toy.eos_id, toy.pad_id, toy.bos_id, toy.unknown_id) == (264, 263, 263, None, None)
    assert toy.encode_batch(["被告ab"]).ids.tolist() == [261, 262]
    assert toy.decode([261, 263]) == "被告<|endoftext|>"
    assert toy.eos_id not in toy.encode_batch(["<|endoftext|>"]).ids


@pytest.mark.parametrize(("scheme", "eos_id"), [("qwen", 263), ("cl100k", 264)])
def test_the_scheme_says_where_the_end_of_text_is(tmp_path: Path, scheme: Scheme, eos_id: int) -> None:
    assert load(written(tmp_path, LINES), scheme=scheme).eos_id == eos_id


def test_the_scheme_says_what_the_pattern_is(tmp_path: Path) -> None:
    path = written(tmp_path, [*LINES, b"12"])
    assert load(path, scheme="qwen").encode_batch(["12"]).ids.tolist() == [0x31, 0x32]  # digit by digit
    assert load(path, scheme="cl100k").encode_batch(["12"]).ids.tolist() == [263]
    assert load(path, scheme="qwen").digest != load(path, scheme="cl100k").digest


TEXT = st.one_of(st.text("被告人，。ab1 \n\u3000é", max_size=30), st.text(st.characters(exclude_categories=["Cs"]), max_size=9))


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=3))
def test_texts_come_back_and_the_fast_encoder_agrees(toy: Tokenizer, texts: list[str]) -> None:
    encoded = toy.encode_proved(pa.array(texts), np.arange(len(texts)))
    assert not encoded.fell_back
    ids, offsets = encoded.tokens
    assert [toy.decode(ids[a:b]) for a, b in pairwise(offsets)] == texts
    assert ids.tolist() == toy.encode_batch(texts).ids.tolist()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{}", "not a .tiktoken file"),
        (b"!!!! 1\n", "not a .tiktoken file"),
        (b"", "lacks single bytes"),
        (b"YQ== 0\n", "lacks single bytes"),
    ],
)
def test_an_unfit_file_names_key_and_remedy(tmp_path: Path, data: bytes, problem: str) -> None:
    path = tmp_path / "bad.tiktoken"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=rf"^tokenize\.tokenizer: .*{problem}.*; give \"deepseek\" or the path"):
        load(str(path))
