"""How many people texts name: counted within a document, estimated over many, and never by name.

A sketch holds the registers of a HyperLogLog (Flajolet et al. 2007, with the bias correction of Heule et al. 2013): of two texts
it tells how many names they have together, and of no name for certain that it is there. It stays in the run's private receipts.
"""

import base64
from collections.abc import Iterable

import numpy as np
from datasketch import HyperLogLogPlusPlus

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
        self._sketch = HyperLogLogPlusPlus(_BITS)

    def add(self, names: Iterable[str]) -> None:
        """Look at some names."""
        for name in names:
            self._sketch.update(name.encode())

    def merge(self, packed: str) -> None:
        """Take in what another sketch saw."""
        registers = np.frombuffer(base64.b64decode(packed), np.int8)
        np.maximum(self._sketch.reg, registers, out=self._sketch.reg)

    def packed(self) -> str:
        """The registers, to be kept."""
        return base64.b64encode(self._sketch.reg.tobytes()).decode()

    def count(self) -> int:
        """About how many different names there were (relative standard error ``ERROR``)."""
        return round(float(self._sketch.count()))
