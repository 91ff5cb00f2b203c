"""Vocabularies as SentencePiece ``.model`` files (Llama 2 and its kin)."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import sentencepiece
from numpy.typing import NDArray

from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.encoding import Tokenizer, VocabularyError, aligner

# What SentencePiece writes for a space. A text that has it itself is given bytes for it, as for any character without a piece:
# another character is written in its place, one of three bytes that is neither in the text nor in the vocabulary.
_SPACE = "\u2581"
_STAND_INS = "\uf8ff\uf8fe\uf8fd\uf8fc\uf8fb"


@dataclass(frozen=True)
class ModelEncoder:
    """An encoder over a SentencePiece model, which never reads its control tokens out of text.

    ``byte_ids`` are the tokens of the bytes, if the model has all of them; else U+2581 becomes a space.
    """

    processor: sentencepiece.SentencePieceProcessor
    byte_ids: tuple[int, ...] | None

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text."""
        ids = [self._encode(text.as_py()) for text in texts]
        offsets = np.zeros(len(ids) + 1, np.int64)
        np.cumsum([len(part) for part in ids], out=offsets[1:])
        return TokenBatch(np.concatenate(ids) if ids else np.zeros(0, np.int32), offsets)

    def _encode(self, text: str) -> NDArray[np.int32]:
        written, stand_in = self.written(text)
        ids = np.array(self.processor.encode(written, out_type=int), np.int32)
        if stand_in is not None and self.byte_ids is not None:
            wanted = [[self.byte_ids[byte] for byte in char.encode()] for char in (stand_in, _SPACE)]
            for at in np.flatnonzero((ids[:-2] == wanted[0][0]) & (ids[1:-1] == wanted[0][1]) & (ids[2:] == wanted[0][2])):
                ids[at : at + 3] = wanted[1]
        return ids

    def written(self, text: str) -> tuple[str, str | None]:
        """The text as the library is given it, as long as it was, and what stands in it for U+2581."""
        if _SPACE not in text or self.byte_ids is None:
            return text, None
        stand_in = next(
            (char for char in _STAND_INS if char not in text and self.processor.piece_to_id(char) in self._unknown), None
        )
        return (text, None) if stand_in is None else (text.replace(_SPACE, stand_in), stand_in)

    @property
    def _unknown(self) -> tuple[int]:
        return (self.processor.unk_id(),)


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
    by_byte = {processor.id_to_piece(index): index for index in range(size) if processor.is_byte(index)}
    spelt = [by_byte.get(f"<0x{byte:02X}>") for byte in range(256)]
    byte_ids = tuple(index for index in spelt if index is not None)
    reference = ModelEncoder(processor, byte_ids if len(byte_ids) == 256 else None)
    control = {index: piece for index, piece in enumerate(pieces) if processor.is_control(index)}
    return Tokenizer(
        name=name,
        digest=hashlib.sha256(raw).hexdigest(),
        vocab_size=size,
        eos_id=processor.eos_id(),
        pad_id=processor.pad_id() if processor.pad_id() >= 0 else processor.eos_id(),
        bos_id=processor.bos_id() if processor.bos_id() >= 0 else None,
        unknown_id=processor.unk_id(),
        reference=reference,
        fast=None,
        spellings=None,
        decoder=ModelDecoder(processor, control),
        aligner=aligner(None, lambda text: processor.encode(reference.written(text)[0], return_type="offset_mapping")["offsets"]),
    )
