"""What a tokeniser is: a reference encoder, a fast one that must agree with it, and the way back to text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.tokens.batch import Spellings, TokenBatch, char_starts_of_spans

Backend = Literal["auto", "reference"]
# Whose pattern and control tokens a .tiktoken file has.
Scheme = Literal["qwen", "cl100k"]


class Encoder(Protocol):
    """What turns the texts of a string array without nulls into token ids, control tokens never among them."""

    def encode(self, texts: pa.Array, /) -> TokenBatch:
        """Token ids of every text; memory is bounded by the batch and its longest text."""


class VocabularyError(Exception):
    """A vocabulary file cannot be used; the message ends a sentence that begins with its name."""


def aligner(
    spellings: Spellings | None, spans: Callable[[str], Sequence[tuple[int, int]]]
) -> Callable[[NDArray[np.int32], str], NDArray[np.int32]]:
    """What aligns tokens with a text: by what they spell where that is the text, else by the library's own ``spans``."""

    def align(ids: NDArray[np.int32], text: str) -> NDArray[np.int32]:
        starts = spellings.char_starts(ids, text) if spellings is not None else None
        if starts is None:
            starts = char_starts_of_spans(spans(text))
        if len(starts) != len(ids):
            raise ValueError("the tokens are not those of the text")
        return starts

    return align


class Encoded(NamedTuple):
    """Token ids, and whether the fast encoder had to be passed over for the reference."""

    tokens: TokenBatch
    fell_back: bool


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary in memory; ``digest`` (sha256 of its file) stands for everything that the ids depend on.

    ``aligner`` gives the character at which every token of a text begins, -1 for one that begins within a character.
    ``reference`` says what the ids are; ``fast``, where there is one, is only ever used where it says the same. ``spellings``
    holds the bytes of text tokens of vocabularies that write texts byte by byte, None for others.
    """

    name: str
    digest: str
    vocab_size: int
    eos_id: int
    pad_id: int
    bos_id: int | None
    unknown_id: int | None
    reference: Encoder
    fast: Encoder | None
    spellings: Spellings | None
    decoder: Callable[[NDArray[np.int32]], str] = field(repr=False)
    aligner: Callable[[NDArray[np.int32], str], NDArray[np.int32]] = field(repr=False)

    def encode_batch(self, texts: Sequence[str]) -> TokenBatch:
        """Token ids of the reference, without any control token, whatever the texts say."""
        return self.reference.encode(pa.array(texts, pa.string()))

    def encode_proved(self, texts: pa.Array, sample: NDArray[np.int64]) -> Encoded:
        """The ids that the reference gives, from the fast encoder where that can be shown.

        What is shown: the ids of the texts numbered ``sample`` are equal one by one, and (byte-level vocabularies) the tokens
        of every text spell it byte for byte without a control token. Else all texts are encoded by the reference.
        """
        if self.fast is None:
            return Encoded(self.reference.encode(texts), False)
        tokens = _attempt(self.fast, texts)
        if tokens is not None and self._proved(tokens, texts, sample):
            return Encoded(tokens, False)
        return Encoded(self.reference.encode(texts), True)

    def _proved(self, tokens: TokenBatch, texts: pa.Array, sample: NDArray[np.int64]) -> bool:
        if self.spellings is not None and not self.spellings.prove(tokens, texts):
            return False
        expected = self.reference.encode(texts.take(pa.array(sample)))
        return all(np.array_equal(tokens.document(at), expected.document(n)) for n, at in enumerate(sample.tolist()))

    def unknown(self, tokens: TokenBatch) -> int:
        """How many tokens stand for text that the vocabulary has no token for."""
        return 0 if self.unknown_id is None else int(np.count_nonzero(tokens.ids == self.unknown_id))

    def char_starts(self, ids: NDArray[np.int32], text: str) -> NDArray[np.int32]:
        """The character of ``text`` at which each of its tokens begins, -1 for one that begins within a character."""
        return self.aligner(ids, text)

    def decode(self, ids: Sequence[int] | NDArray[np.int32]) -> str:
        """The text of ``ids``, control tokens spelt out."""
        return self.decoder(np.asarray(ids, np.int32))


def _attempt(encoder: Encoder, texts: pa.Array) -> TokenBatch | None:
    try:
        return encoder.encode(texts)
    except Exception:
        return None
    except BaseException as error:
        # A Rust library that fails one of its own assertions raises this, which is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return None


def parity_sample(sizes: NDArray[np.int64], also: int) -> NDArray[np.int64]:
    """Numbers of the texts whose ids are compared: the leading ones, at least 8 and 1 % of the bytes, and number ``also``.

    ``sizes`` are the bytes of every text. Texts in the order of a hash make the leading ones a random sample.
    """
    enough = int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 100)) + 1
    return np.unique(np.append(np.arange(max(8, enough)), also))[: len(sizes)]
