"""Vocabularies as SentencePiece ``.model`` files (Llama 2 and its kin)."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import sentencepiece
from numpy.typing import NDArray

from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.encoding import Tokenizer, VocabularyError, aligner


@dataclass(frozen=True)
class ModelEncoder:
    """An encoder over a SentencePiece model, which never reads its control tokens out of text."""

    processor: sentencepiece.SentencePieceProcessor

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text."""
        ids = [np.array(self.processor.encode(text.as_py(), out_type=int), np.int32) for text in texts]
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum([len(part) for part in ids], out=offsets[1:])
        return TokenBatch(np.concatenate(ids) if ids else np.zeros(0, np.int32), offsets)


@dataclass(frozen=True)
class ModelDecoder:
    """The way back; the library itself leaves control tokens out."""

    processor: sentencepiece.SentencePieceProcessor
    control: dict[int, str]

    def __call__(self, ids: NDArray[np.int32]) -> str:
        """The text of ``ids``, control tokens spelt out."""
        at = np.flatnonzero(np.isin(ids, list(self.control)))
        texts = [self.processor.decode(part.tolist()) for part in self._between(ids, at)]
        spelt = [self.control[index] for index in ids[at].tolist()] + [""]
        return "".join(text + token for text, token in zip(texts, spelt, strict=True))

    @staticmethod
    def _between(ids: NDArray[np.int32], at: NDArray[np.int64]) -> list[NDArray[np.int32]]:
        starts, ends = [0, *(at + 1).tolist()], [*at.tolist(), len(ids)]
        return [ids[start:end] for start, end in zip(starts, ends, strict=True)]


def load(name: str, raw: bytes) -> Tokenizer:
    """The tokeniser of the bytes of a ``.model`` file; raises VocabularyError."""
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=raw)
    except Exception as error:  # RuntimeError, TypeError and others, by what is wrong
        raise VocabularyError(f"is not a SentencePiece model ({type(error).__name__})") from None
    size = processor.get_piece_size()
    if processor.eos_id() < 0:
        raise VocabularyError("has no end-of-text token")
    pieces = [processor.id_to_piece(index) for index in range(size)]
    # User-defined symbols such as <start_of_turn> are matched in text, and SentencePiece has no switch against that. They are
    # no type of their own in its interface: a piece is one if text that looks like a control token becomes it.
    for index, piece in enumerate(pieces):
        bracketed = (
            len(piece) > 2
            and piece[0] + piece[-1] in ("<>", "[]")
            and not processor.is_byte(index)
            and not processor.is_unknown(index)
        )
        if bracketed and index in processor.encode(piece, out_type=int):
            raise VocabularyError(f"reads the control token {piece} out of plain text")
    control = {index: piece for index, piece in enumerate(pieces) if processor.is_control(index)}
    return Tokenizer(
        name=name,
        digest=hashlib.sha256(raw).hexdigest(),
        vocab_size=size,
        eos_id=processor.eos_id(),
        pad_id=processor.pad_id() if processor.pad_id() >= 0 else processor.eos_id(),
        bos_id=processor.bos_id() if processor.bos_id() >= 0 else None,
        unknown_id=processor.unk_id(),
        reference=ModelEncoder(processor),
        fast=None,
        spellings=None,
        decoder=ModelDecoder(processor, control),
        aligner=aligner(None, lambda text: processor.encode(text, return_type="offset_mapping")["offsets"]),
    )
