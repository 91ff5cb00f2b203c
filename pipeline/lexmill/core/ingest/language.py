"""What a source wants of texts in traditional characters or in another language than Chinese."""

from functools import cache
from typing import Final, Literal, NamedTuple

import opencc
import pyarrow as pa

from lexmill.core.structure.language import identify

CONVERT: Final = "convert"
CONVERTED: Final = "ingest.converted"
TRADITIONAL: Final = "ingest.traditional"
OTHER_LANGUAGE: Final = "ingest.other_language"

# Taiwan's forms of characters too, but its words as they are: a term of law is no other term.
_CONVERSION = "tw2s"


class LanguagePolicy(NamedTuple):
    """``traditional``: keep, drop or convert; ``other_languages``: keep or drop. By default everything is kept as it is."""

    traditional: Literal["keep", "drop", "convert"] = "keep"
    other_languages: Literal["keep", "drop"] = "keep"

    def judge(self, text: str) -> str | None:
        """CONVERT, or the rule by which ``text`` leaves, or None where it stays as it is."""
        if self == KEEP_ALL:
            return None
        (found,) = identify(pa.array([text]))
        if found.language not in ("zh", "und"):
            return OTHER_LANGUAGE if self.other_languages == "drop" else None
        if found.script != "Hant" or self.traditional == "keep":
            return None
        return CONVERT if self.traditional == "convert" else TRADITIONAL


KEEP_ALL: Final = LanguagePolicy()


@cache
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC(_CONVERSION)


def to_simplified(text: str) -> str:
    """``text`` in simplified characters (OpenCC, configuration tw2s: characters, chosen by the words they stand in)."""
    converted: str = _converter().convert(text)
    return converted
