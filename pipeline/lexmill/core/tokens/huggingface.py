"""Vocabularies as ``tokenizer.json``: Hugging Face ``tokenizers`` is the reference."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray
from tokenizers import Tokenizer as Library

from lexmill.core.tokens import fast
from lexmill.core.tokens.batch import Spellings, TokenBatch
from lexmill.core.tokens.encoding import Backend, Tokenizer, VocabularyError, aligner

# How published vocabularies spell their control tokens (DeepSeek, Qwen and GPT-2, Llama 3, Llama 2, Gemma); tokenizer.json itself
# does not say which of its added tokens they are.
END_TOKENS = ("<｜end▁of▁sentence｜>", "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")
PAD_TOKENS = ("<｜▁pad▁｜>", "<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]")
BEGIN_TOKENS = ("<｜begin▁of▁sentence｜>", "<|begin_of_text|>", "<s>", "<bos>")

# An Encoding takes about 100 bytes a token: this many characters at a time stay below 30 MB.
_BATCH_CHARS = 1 << 18

_IDEOGRAPH = re.compile("[一-龥]")
_BREAKS = ("\n", "。", "，")
_PROBES = ("本院认为", "（2078）某0101民初1号", "A1", "一、", "\u3000\u3000判决如下：", "12.5％ of x", "□□", "㐀𠀀")


@dataclass(frozen=True)
class ReferenceEncoder:
    """An encoder over Hugging Face's library.

    ``breaks`` are the characters behind which a long text may be cut, before an ideograph, without another token coming out.
    """

    library: Library
    breaks: tuple[str, ...]

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text, those of long ones piece by piece."""
        parts: list[NDArray[np.int32]] = []
        lengths = np.zeros(len(texts), np.int64)
        for owners, pieces in self._windows(texts.to_pylist()):
            for owner, encoding in zip(owners, self.library.encode_batch_fast(pieces, add_special_tokens=False), strict=True):
                ids = np.array(encoding.ids, np.int32)
                lengths[owner] += len(ids)
                parts.append(ids)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return TokenBatch(np.concatenate(parts) if parts else np.zeros(0, np.int32), offsets)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """(start, end) in characters of every token of ``text``."""
        found, at = [], 0
        for piece in split(text, self.breaks, _BATCH_CHARS):
            offsets = self.library.encode(piece, add_special_tokens=False).offsets
            found += [(at + start, at + end) for start, end in offsets]
            at += len(piece)
        return found

    def _windows(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[str]]]:
        owners: list[int] = []
        pieces: list[str] = []
        room = _BATCH_CHARS
        for owner, text in enumerate(texts):
            for piece in split(text, self.breaks, _BATCH_CHARS):
                if pieces and len(piece) > room:
                    yield owners, pieces
                    owners, pieces, room = [], [], _BATCH_CHARS
                owners.append(owner)
                pieces.append(piece)
                room -= len(piece)
        if pieces:
            yield owners, pieces


def split(text: str, breaks: Sequence[str], size: int) -> Iterator[str]:
    """Cut ``text`` into pieces of about ``size`` characters, each cut behind one of ``breaks`` and before an ideograph."""
    start = 0
    pattern = re.compile(f"[{''.join(breaks)}](?={_IDEOGRAPH.pattern})") if breaks else None
    while pattern is not None and len(text) - start > size:
        cut = None
        for match in pattern.finditer(text, start, start + size + 1):
            cut = match.end()
        if cut is None:
            later = pattern.search(text, start + size)
            if later is None:
                break
            cut = later.end()
        yield text[start:cut]
        start = cut
    yield text[start:]


def load(name: str, raw: bytes, backend: Backend) -> Tokenizer:
    """The tokeniser of the bytes of a ``tokenizer.json``; raises VocabularyError."""
    try:
        description = orjson.loads(raw)
        neutral = _without_control(description)
        library = Library.from_buffer(orjson.dumps(neutral))
    except Exception as error:  # the library raises bare Exception for any fault of the file
        raise VocabularyError(f"is not a tokenizer.json ({type(error).__name__})") from None
    library.encode_special_tokens = True
    added = {token["content"]: int(token["id"]) for token in description["added_tokens"]}
    eos_id = next((added[token] for token in END_TOKENS if token in added), None)
    if eos_id is None:
        raise VocabularyError(f"has none of the end-of-text tokens {', '.join(END_TOKENS)}")
    vocabulary = library.get_vocab(with_added_tokens=False)
    control = {index: content for content, index in added.items() if content.strip()}
    for encoding in library.encode_batch_fast(list(control.values()), add_special_tokens=False):
        if not control.keys().isdisjoint(encoding.ids):
            raise VocabularyError("reads control tokens out of plain text")
    reference = ReferenceEncoder(library, tuple(mark for mark in _BREAKS if _separates(library, mark)))
    spellings = _text_spellings(description, vocabulary, control)
    normalizer = description.get("normalizer") or {}
    verbatim = not normalizer or normalizer == {"type": "Sequence", "normalizers": []}
    # NFC (Qwen) leaves ideographs alone and joins none with what follows.
    divisible = spellings if verbatim or normalizer == {"type": "NFC"} else None
    return Tokenizer(
        name=name,
        digest=hashlib.sha256(raw).hexdigest(),
        vocab_size=1 + max(*vocabulary.values(), *added.values()),
        eos_id=eos_id,
        pad_id=next((added[token] for token in PAD_TOKENS if token in added), eos_id),
        bos_id=next((added[token] for token in BEGIN_TOKENS if token in added), None),
        unknown_id=library.token_to_id(unknown) if (unknown := description["model"].get("unk_token")) else None,
        reference=reference,
        fast=fast.of_description(_without_added(neutral), divisible, reference) if backend == "auto" else None,
        spellings=spellings if verbatim else None,
        decoder=spellings.including({index: content.encode() for index, content in control.items()}).join
        if spellings is not None
        else lambda ids: library.decode(ids.tolist(), skip_special_tokens=False),
        aligner=aligner(spellings, reference.spans),
    )


def _without_control(description: dict[str, Any]) -> dict[str, Any]:
    # Chat and placeholder tokens are often not marked special and would be matched inside documents. Marked so, all of them fall
    # under encode_special_tokens, which reads them as plain text. Added tokens of white space alone are real vocabulary.
    tokens = [
        {**token, "special": True, "normalized": False} if token["content"].strip() else token
        for token in description["added_tokens"]
    ]
    return {**description, "added_tokens": tokens, "truncation": None, "padding": None}


def _without_added(description: dict[str, Any]) -> dict[str, Any]:
    # gigatoken has no switch that reads control tokens as plain text: it matches those that it is told of, so it is told of none.
    # A post-processor only adds control tokens, or moves offsets that nobody reads.
    tokens = [token for token in description["added_tokens"] if not token["content"].strip()]
    return {**description, "added_tokens": tokens, "post_processor": None}


def _byte_alphabet() -> dict[str, int]:
    """The characters that byte-level vocabularies write bytes with: printable Latin-1, and U+0100 on for the rest (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + index): byte for index, byte in enumerate(others)}


def _text_spellings(description: dict[str, Any], vocabulary: dict[str, int], control: dict[int, str]) -> Spellings | None:
    """The bytes of every token that text can have, or None where the vocabulary does not write bytes (GPT-2's way)."""
    if (description.get("decoder") or {}).get("type") != "ByteLevel":
        return None
    alphabet = _byte_alphabet()
    added = {int(token["id"]): token["content"] for token in description["added_tokens"]}
    plain = [token for token, index in vocabulary.items() if index not in added]
    ids = np.array([vocabulary[token] for token in plain], np.int64)
    joined = "".join([plain[at] for at in np.argsort(ids).tolist()])
    if not alphabet.keys() >= set(joined):
        return None
    # All at once: a vocabulary has a hundred thousand tokens, and a character of the alphabet is a byte.
    bytes_of = str.maketrans({char: chr(byte) for char, byte in alphabet.items()})
    data = joined.translate(bytes_of).encode("latin-1")
    lengths = np.zeros(1 + ids.max(initial=-1), np.int64)
    lengths[ids] = [len(token) for token in plain]
    spelt = Spellings(np.frombuffer(data, np.uint8), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    return spelt.including({index: content.encode() for index, content in added.items() if index not in control})


def _separates(library: Library, mark: str) -> bool:
    def ids(text: str) -> list[int]:
        return list(library.encode(text, add_special_tokens=False).ids)

    heads = [probe + mark for probe in _PROBES] + [f"{probe}。{mark}{mark}" for probe in _PROBES]
    tails = [probe for probe in _PROBES if _IDEOGRAPH.match(probe)]
    return all(ids(head + tail) == ids(head) + ids(tail) for head in heads for tail in tails)
