"""Vocabularies as ``.tiktoken`` files: base64 tokens and their ranks; pattern and control tokens are known by name."""

import base64
import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import tiktoken

from lexmill.core.tokens import fast
from lexmill.core.tokens.batch import Spellings, TokenBatch
from lexmill.core.tokens.encoding import Backend, Scheme, Tokenizer, VocabularyError, aligner

END_TOKEN = b"<|endoftext|>"


class _Known(NamedTuple):
    """``gap`` is how far <|endoftext|> stands behind the last rank; ``gigatoken`` is what that library calls the pattern."""

    pattern: str
    gap: int
    gigatoken: str


# Qwen: tokenization_qwen.py of Qwen-7B (Apache-2.0 vocabulary file qwen.tiktoken). cl100k: tiktoken_ext/openai_public.py.
SCHEMES: dict[Scheme, _Known] = {
    "qwen": _Known(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        1,
        "qwen2",
    ),
    "cl100k": _Known(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        2,
        "gpt4",
    ),
}


@dataclass(frozen=True)
class RankEncoder:
    """An encoder over tiktoken, which is told of no control tokens and so reads none out of text."""

    encoding: tiktoken.Encoding

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text."""
        ids = [np.asarray(self.encoding.encode_to_numpy(text.as_py(), disallowed_special=()), np.int32) for text in texts]
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum([len(part) for part in ids], out=offsets[1:])
        return TokenBatch(np.concatenate(ids) if ids else np.zeros(0, np.int32), offsets)


def load(name: str, raw: bytes, backend: Backend, scheme: Scheme, path: str) -> Tokenizer:
    """The tokeniser of ``raw``, the bytes of the ``.tiktoken`` file at ``path``; raises VocabularyError."""
    known = SCHEMES[scheme]
    try:
        pairs = [line.split() for line in raw.splitlines() if line.strip()]
        ranks = {base64.b64decode(token, validate=True): int(rank) for token, rank in pairs}
    except ValueError as error:
        raise VocabularyError(f"is not a .tiktoken file ({type(error).__name__})") from None
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise VocabularyError("lacks single bytes, so that it cannot write every text")
    encoding = tiktoken.Encoding(name, pat_str=known.pattern, mergeable_ranks=ranks, special_tokens={})
    last = max(ranks.values())
    eos_id = last + known.gap
    text = {rank: token for token, rank in ranks.items()}
    spellings, reference = Spellings.of(text), RankEncoder(encoding)
    return Tokenizer(
        name=name,
        digest=hashlib.sha256(scheme.encode() + b"\0" + raw).hexdigest(),
        vocab_size=eos_id + 1,
        eos_id=eos_id,
        pad_id=eos_id,
        bos_id=None,
        unknown_id=None,
        reference=reference,
        fast=fast.of_ranks(path, known.gigatoken, spellings, reference) if backend == "auto" else None,
        spellings=spellings,
        decoder=Spellings.of(text | {eos_id: END_TOKEN}).join,
        aligner=aligner(spellings, lambda _: ()),  # ranks spell every text byte by byte
    )
