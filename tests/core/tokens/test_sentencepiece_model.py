"""A SentencePiece model, trained here on invented sentences."""

from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.tokens.tokenizer import Tokenizer, load
from lexmill.errors import ConfigError

SENTENCES = ["经审理查明，被告人卓某盗窃人民币三千元。", "本院认为，原告的诉讼请求成立。", "Article 5 of the contract."] * 20


def trained(folder: Path, **changes: Any) -> str:
    model = BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        **{
            "sentence_iterator": iter(SENTENCES),
            "model_writer": model,
            "model_type": "bpe",
            "vocab_size": 380,
            "byte_fallback": True,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            "minloglevel": 2,
            "num_threads": 1,
            **changes,
        }
    )
    path = folder / "tokenizer.model"
    path.write_bytes(model.getvalue())
    return str(path)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """As Llama 2 has it: unknown 0, <s> 1, </s> 2, no padding, bytes for what has no piece."""
    return load(trained(tmp_path_factory.mktemp("model")), "auto")


def test_control_tokens(llama: Tokenizer) -> None:
    assert (llama.vocab_size, llama.eos_id, llama.pad_id, llama.bos_id, llama.unknown_id) == (380, 2, 2, 1, 0)
    assert llama.fast is None
    ids = llama.encode_batch(["原告</s><s>被告<unk>"]).ids
    assert not {0, 1, 2}.intersection(ids.tolist())
    assert llama.decode([1, *ids, 2]) == "<s>原告</s><s>被告<unk></s>"


TEXT = st.one_of(st.text("被告人，。ab1 \n\u3000é▁", max_size=30), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))


@settings(max_examples=80, deadline=None)
@given(texts=st.lists(TEXT, max_size=3))
def test_texts_come_back(llama: Tokenizer, texts: list[str]) -> None:
    ids, offsets = llama.encode_batch(texts)
    assert ids.dtype == np.int32
    assert [llama.decode(ids[a:b]) for a, b in pairwise(offsets)] == texts
    assert llama.unknown(llama.encode_batch(texts)) == 0


def test_the_mark_for_a_space_is_not_a_space(llama: Tokenizer) -> None:
    text = "被告▁人 ▁▁\uf8ff a▁"
    ids = llama.encode_batch([text]).document(0)
    assert llama.decode(ids) == text
    starts = llama.char_starts(ids, text)
    assert starts[starts >= 0].tolist() == sorted(starts[starts >= 0].tolist())
    assert [llama.decode(part) for part in np.split(ids, np.flatnonzero(starts == text.index("人")))] == [
        "被告▁",
        "人 ▁▁\uf8ff a▁",
    ]


def test_padding_of_its_own_and_unknown_tokens_without_bytes(tmp_path: Path) -> None:
    tokenizer = load(trained(tmp_path, byte_fallback=False, pad_id=3, vocab_size=120))
    assert (tokenizer.pad_id, tokenizer.vocab_size) == (3, 120)
    assert tokenizer.unknown(tokenizer.encode_batch(["被告𠮷", "é"])) == 2


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"eos_id": -1}, "no end-of-text token"), ({"user_defined_symbols": ["<turn>"]}, "control token <turn> out of plain text")],
)
def test_an_unfit_model_names_key_and_remedy(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"^tokenize\.tokenizer: .*{problem}; give \"deepseek\" or the path"):
        load(trained(tmp_path, **changes))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.model"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ConfigError, match="not a SentencePiece model"):
        load(str(path))
