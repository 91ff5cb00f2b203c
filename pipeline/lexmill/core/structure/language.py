"""Language and script of a text, told by its characters: Chinese or not, and in which of its scripts."""

from functools import cache
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.kernels import njit
from lexmill.core.quality.characters import CHARACTERS, CLASS_MASK, HAN, TRADITIONAL, decode
from lexmill.core.quality.metrics import buffers

LANGUAGES: Final = ("zh", "ja", "ko", "ug", "bo", "mn", "en", "und")
"""BCP 47 tags. ``ug`` and ``mn`` stand for Arabic and Mongolian script in Chinese documents, ``und`` for what is not told."""

SCRIPTS: Final = ("Hans", "Hant", "Jpan", "Hang", "Arab", "Tibt", "Mong", "Cyrl", "Latn", "Zyyy")
"""ISO 15924 codes; ``Zyyy`` is a text without letters."""

_HANS_ONLY: Final = 1
_HANT_ONLY: Final = 2
_KINDS = ("han", "hans", "hant", "kana", "hangul", "arabic", "tibetan", "mongolian", "cyrillic", "latin", "english")
# Of the ideographs that only one script has, the share from which the text is in that script: quotations of the other occur.
_MAJORITY = 0.5
# Shares of kana among ideographs and kana: Japanese has a third and more, a Chinese text that names Japanese firms a few.
_JAPANESE = 0.1


class Language(NamedTuple):
    """``language`` of LANGUAGES and ``script`` of SCRIPTS."""

    language: str
    script: str


@cache
def _sides() -> NDArray[np.uint8]:
    """By code point, whether only the simplified or only the traditional everyday set has it (GB 2312, Big5 level 1)."""

    def decoded(encoding: str, leads: range, trails: range) -> set[int]:
        texts = (bytes((lead, trail)).decode(encoding, "ignore") for lead in leads for trail in trails)
        return {ord(text) for text in texts if len(text) == 1 and ord(text) > 0xFF}

    simplified = decoded("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF)) - decoded("big5", range(0xA4, 0xFA), range(0x40, 0xFF))
    sides = np.zeros(CHARACTERS.size, np.uint8)
    sides[sorted(simplified)] = _HANS_ONLY
    sides[(CHARACTERS & TRADITIONAL) > 0] = _HANT_ONLY
    return sides


def identify(texts: pa.Array | pa.ChunkedArray) -> list[Language]:
    """Language and script of every text (string array).

    By the script that most letters are in; Latin letters are ``en`` where common English words stand among them.
    """
    offsets, data = buffers(texts)
    counts = np.zeros((len(offsets) - 1, len(_KINDS)), np.int64)
    _count(data, offsets, CHARACTERS, _sides(), counts)
    return [_tell(dict(zip(_KINDS, row, strict=True))) for row in counts.tolist()]


def _tell(n: dict[str, int]) -> Language:
    east = n["han"] + n["kana"]
    rivals: dict[Language, int] = {
        Language("zh", "Hans"): east,
        Language("ko", "Hang"): n["hangul"],
        Language("ug", "Arab"): n["arabic"],
        Language("bo", "Tibt"): n["tibetan"],
        Language("mn", "Mong"): n["mongolian"],
        Language("und", "Cyrl"): n["cyrillic"],
        # A word of Latin letters says what two or three ideographs say.
        Language("und", "Latn"): n["latin"] // 3,
    }
    best = max(rivals, key=lambda key: rivals[key])
    if rivals[best] == 0:
        return Language("und", "Latn" if n["latin"] else "Zyyy")
    if best.language == "zh":
        if n["kana"] > _JAPANESE * east:
            return Language("ja", "Jpan")
        return Language("zh", "Hant" if n["hant"] > _MAJORITY * (n["hant"] + n["hans"]) else "Hans")
    return Language("en", "Latn") if best.script == "Latn" and n["english"] * 40 >= n["latin"] else best


@njit(cache=True, nogil=True)
def _count(data, offsets, characters, sides, counts):  # type: ignore[no-untyped-def]
    for d in range(offsets.size - 1):
        row = counts[d]
        i = offsets[d]
        end = offsets[d + 1]
        while i < end:
            c, size = decode(data, i)
            if characters[c] & CLASS_MASK == HAN:
                row[0] += 1
                row[1] += sides[c] == _HANS_ONLY
                row[2] += sides[c] == _HANT_ONLY
            elif c < 0x250:
                lower = c | 0x20
                if 0x61 <= lower <= 0x7A or c >= 0xC0:
                    row[9] += 1
                    # " the ", " of ", " and ", " to " by their first letters: enough, and cheap.
                    if i > offsets[d] and data[i - 1] == 32 and i + 3 < end:
                        two = data[i + 1] | 0x20
                        row[10] += (
                            (lower == 0x74 and two == 0x68 and (data[i + 2] | 0x20) == 0x65)
                            or (lower == 0x6F and two == 0x66 and data[i + 2] == 32)
                            or (lower == 0x61 and two == 0x6E and (data[i + 2] | 0x20) == 0x64)
                            or (lower == 0x74 and two == 0x6F and data[i + 2] == 32)
                        )
            elif 0x3041 <= c <= 0x30FF and c != 0x30FB and c != 0x30FC:
                row[3] += 1
            elif 0xAC00 <= c <= 0xD7A3:
                row[4] += 1
            elif 0x600 <= c <= 0x6FF or 0xFB50 <= c <= 0xFEFC:
                row[5] += 1
            elif 0xF00 <= c <= 0xFFF:
                row[6] += 1
            elif 0x1800 <= c <= 0x18AF:
                row[7] += 1
            elif 0x400 <= c <= 0x52F:
                row[8] += 1
            i += size
