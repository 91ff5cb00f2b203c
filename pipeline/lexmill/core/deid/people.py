"""How many people texts name: counted within a document, estimated over many, and never by name.

A sketch holds the registers of a HyperLogLog (Flajolet et al. 2007, with the bias correction of Heule et al. 2013): of two texts
it tells how many names they have together, and of no name for certain that it is there. It stays in the run's private receipts.
"""

import base64
import hashlib
from collections.abc import Iterable

import numpy as np

from lexmill.core.deid.spans import Replacement

_BITS = 12
ERROR = 1.04 / 2 ** (_BITS / 2)  # relative standard error of an estimate
_PERSON = "PERSON"


def names_of(fields: Iterable[tuple[str, Iterable[Replacement]]]) -> dict[str, str]:
    """The people of one document: surrogate → the longest name that it stands for (fields: text as it came, its replacements)."""
    longest: dict[str, str] = {}
    for text, spans in fields:
        for span in spans:
            name = text[span.start : span.end]
            if span.entity == _PERSON and len(name) > len(longest.get(span.replacement, "")):
                longest[span.replacement] = name
    return longest


class Names:
    """A sketch of distinct names."""

    def __init__(self) -> None:
        self._registers = bytearray(1 << _BITS)

    def add(self, names: Iterable[str]) -> None:
        """Look at some names."""
        for name in names:
            # As datasketch does it, which takes 38 MiB to import: a register keeps the highest place of a first 1 in the rest.
            value = int.from_bytes(hashlib.sha1(name.encode(), usedforsecurity=False).digest()[:8], "little")
            register, rest = value & ((1 << _BITS) - 1), value >> _BITS
            place = 64 - _BITS - rest.bit_length() + 1
            if place > self._registers[register]:
                self._registers[register] = place

    def merge(self, packed: str) -> None:
        """Take in what another sketch saw."""
        registers = np.frombuffer(self._registers, np.int8)
        np.maximum(registers, np.frombuffer(base64.b64decode(packed), np.int8), out=registers)

    def packed(self) -> str:
        """The registers, to be kept."""
        return base64.b64encode(self._registers).decode()

    def count(self) -> int:
        """About how many different names there were (relative standard error ``ERROR``)."""
        from datasketch import HyperLogLogPlusPlus

        return round(float(HyperLogLogPlusPlus(_BITS, np.frombuffer(self._registers, np.int8)).count()))
