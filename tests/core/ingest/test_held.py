"""What one look-up says of a text is what searching it says."""

from hypothesis import given
from hypothesis import strategies as st

from lexmill.core.ingest.held import CharacterClasses

CLASSES = ["锟", " \u3000\t", "页頁", "\ue000\uf8ff"]
HELD = CharacterClasses(CLASSES, pair=(0, 2))
HELD.held_by("compiles the kernel, which no example has time for")


@given(st.text(st.sampled_from("锟 \u3000\t页頁\ue000\uf8ff甲乙a\n\ud800\U000f0001")))
def test_a_bit_is_set_where_the_text_holds_one_of_its_class(text: str) -> None:
    held = HELD.held_by(text)
    beyond = any(ord(char) > 0xFFFF or 0xD800 <= ord(char) < 0xE000 for char in text)
    for bit, characters in enumerate(CLASSES):
        assert bool(held & 1 << bit) == (beyond or any(char in text for char in characters))
    if not beyond:
        assert bool(held & 1 << len(CLASSES)) == ("锟页" in text or "锟頁" in text)
