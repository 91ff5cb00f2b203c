"""The fast encoder: gigatoken, ten times the reference on Chinese text, and asked in units twenty times; kept within bounds."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import gigatoken
import numpy as np
import orjson
import pyarrow as pa

from lexmill.core.tokens.batch import Spellings, TokenBatch, concatenate, utf8
from lexmill.core.tokens.encoding import Encoder
from lexmill.core.tokens.units import UnitEncoder, find_cuts

# gigatoken 0.10 remembers every run of characters that it has met and never forgets: 1.5 bytes of memory for each byte of legal
# text, 3.5 where a tenth of the characters is random (scripts/bench/tokens_bench.py measures it). A new engine takes 0.5 s.
RECYCLE_BYTES = 64_000_000
_WINDOW_BYTES = 8_000_000


class FastEncoder:
    """An encoder over a gigatoken engine that ``make`` makes when it is first needed, and anew after ``recycle_bytes``."""

    def __init__(self, make: Callable[[], Any], recycle_bytes: int = RECYCLE_BYTES) -> None:
        self._make = make
        self._engine: Any = None
        self._recycle_bytes = recycle_bytes
        self._fed = 0

    def encode(self, texts: pa.Array) -> TokenBatch:
        """Token ids of every text; raises what the engine raises, be it that it does not know this kind of vocabulary."""
        return concatenate([self._encode(window) for window in _windows(texts)])

    def _encode(self, texts: pa.Array) -> TokenBatch:
        if self._fed >= self._recycle_bytes:
            self._engine = None  # before its successor is made: they would stand in memory together
        if self._engine is None:
            self._engine, self._fed = self._make(), 0
        documents = texts.cast(pa.binary()).to_pylist()
        self._fed += sum(map(len, documents))
        # parallel=False: the other cores have workers of their own.
        layout = self._engine.encode_batch(documents, parallel=False).layout
        return TokenBatch(np.asarray(layout.content.data).view(np.int32), np.asarray(layout.offsets.data).astype(np.int64))


def of_description(description: Mapping[str, Any], spellings: Spellings | None, reference: Encoder) -> Encoder:
    """The fast encoder of a parsed ``tokenizer.json``; ``spellings`` only where its texts may be cut (see ``units``)."""
    text = orjson.dumps(description).decode()
    return _in_units(FastEncoder(lambda: gigatoken.Tokenizer.from_json(text)), spellings, reference)


def of_ranks(path: str, pattern: str, spellings: Spellings, reference: Encoder) -> Encoder:
    """The fast encoder of a ``.tiktoken`` file with one of gigatoken's patterns."""
    return _in_units(FastEncoder(lambda: gigatoken.Tokenizer.from_tiktoken(path, pattern)), spellings, reference)


class _InUnits:
    """An engine asked in units, if texts may be cut; that is found out, in half a second, when there is something to encode."""

    def __init__(self, engine: FastEncoder, spellings: Spellings, reference: Encoder) -> None:
        self._engine = engine
        self._spellings = spellings
        self._reference = reference

    @cached_property
    def _encoder(self) -> Encoder:
        cuts = find_cuts(self._spellings, self._reference)
        return self._engine if cuts is None else UnitEncoder(self._engine, cuts)

    def encode(self, texts: pa.Array) -> TokenBatch:
        return self._encoder.encode(texts)


def _in_units(engine: FastEncoder, spellings: Spellings | None, reference: Encoder) -> Encoder:
    return engine if spellings is None else _InUnits(engine, spellings, reference)


def _windows(texts: pa.Array) -> Iterator[pa.Array]:
    offsets, _ = utf8(texts)
    start = 0
    while start < len(texts):
        stop = int(np.searchsorted(offsets, int(offsets[start]) + _WINDOW_BYTES, "right")) - 1
        stop = max(start + 1, min(stop, len(texts)))
        yield texts.slice(start, stop - start)
        start = stop
