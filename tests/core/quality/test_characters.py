import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.kernels import njit
from lexmill.core.quality import characters as c

# character, its class, its flags
CASES = [
    ("的", c.HAN, 0),
    ("們", c.HAN, c.TRADITIONAL),
    ("龘", c.HAN, c.RARE),
    ("\U00020bb7", c.HAN, c.RARE),
    ("〇", c.HAN, 0),
    ("锟", c.HAN, c.RARE | c.MOJIBAKE),
    ("锛", c.HAN, c.RARE | c.MOJIBAKE),
    ("7", c.DIGIT, 0),
    ("７", c.DIGIT, 0),
    ("a", c.LETTER, 0),
    ("Ｚ", c.LETTER, 0),
    ("é", c.LETTER, c.MOJIBAKE),
    ("。", c.PUNCT, c.CLAUSE),
    ("《", c.PUNCT, 0),
    ("＿", c.OTHER, 0),
    ("_", c.OTHER, 0),
    ("×", c.OTHER, 0),
    ("§", c.OTHER, 0),
    ("¤", c.OTHER, c.MOJIBAKE),
    ("\x03", c.OTHER, c.MOJIBAKE),
    ("|", c.OTHER, c.SEPARATOR),
    ("\ufffd", c.FFFD, 0),
    ("\ue18c", c.PRIVATE, 0),
    ("\u3000", c.SPACE, 0),
    ("\xa0", c.SPACE, 0),
    ("\r", c.SPACE, 0),
    ("\x85", c.SPACE, 0),
]


@pytest.mark.parametrize(("character", "kind", "flags"), CASES)
def test_class_and_flags(character: str, kind: int, flags: int) -> None:
    value = int(c.CHARACTERS[ord(character)])
    assert (value & c.CLASS_MASK, value & ~c.CLASS_MASK) == (kind, flags)


def test_what_python_strips_is_no_visible_character() -> None:
    spaces = [n for n in range(0x110000) if chr(n).isspace() and n >= 0x20]
    assert [hex(n) for n in spaces if c.CHARACTERS[n] & c.CLASS_MASK != c.SPACE] == []


@pytest.mark.parametrize("text", ["本院认为，被告人的行为已构成盗窃罪。", "原告訴請被告給付買賣價金及遲延利息。"])
def test_everyday_law_of_both_scripts_is_unsuspicious(text: str) -> None:
    flags = c.CHARACTERS[[ord(character) for character in text]]
    assert not np.any(flags & (c.MOJIBAKE | c.RARE))


@njit
def _decode_all(data, size):  # type: ignore[no-untyped-def]
    out = np.empty(size, np.uint32)
    i = n = 0
    while i < data.size:
        out[n], width = c.decode(data, i)
        i += width
        n += 1
    return out


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_decode_reads_utf8(text: str) -> None:
    data = np.frombuffer(text.encode("utf-8"), np.uint8)
    assert _decode_all(data, len(text)).tolist() == [ord(character) for character in text]
