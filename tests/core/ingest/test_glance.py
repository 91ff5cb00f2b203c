"""What one pass says that a text does not hold, searching it does not find."""

from hypothesis import given
from hypothesis import strategies as st

from lexmill.core.ingest import glance
from lexmill.core.ingest.glance import Glancer

NEEDS = ["页", "有领域", "版权", "有版", "\U00020000x"]
LONG = 5
GLANCER = Glancer(
    {
        glance.CHARACTER: "\u200b\x00",
        glance.RUN: "\r",
        glance.BLANK: " \u3000",
        glance.LINE_END: " \t",
        glance.WORD: "审书",
        glance.STOP: "。\n",
    },
    NEEDS,
    LONG,
)
GLANCER.at("compiles the kernel, which no example has time for")
TEXTS = st.text(st.sampled_from("审书判 \u3000\t\n\r。页有领域版权\u200b甲"), max_size=60)


@given(TEXTS)
def test_every_answer_is_what_searching_says(text: str) -> None:
    seen = GLANCER.at(text)
    lines = text.split("\n")
    assert seen.has_characters == any(char in text for char in "\u200b\x00")
    assert seen.has_runs == ("\r" in text)
    assert seen.is_spaced == any(f"{first}{blank}" in text for first in "审书" for blank in " \u3000")
    assert seen.has_trailing == any(line.endswith((" ", "\t")) for line in lines)
    assert seen.n_stopping == sum(len(line) >= LONG and not line.endswith("。") for line in lines[:-1])
    assert seen.hits is not None
    assert seen.hits == sorted(seen.hits)
    found = {at for need in NEEDS for at in range(len(text)) if text.startswith(need, at)}
    assert found <= set(seen.hits)
    # Of longer needs the first two characters are looked at.
    assert set(seen.hits) == {at for need in NEEDS for at in range(len(text)) if text.startswith(need[:2], at)}


@given(TEXTS, st.sampled_from("\U00020000\ud800"))
def test_nothing_is_certain_of_a_text_beyond_the_first_plane(text: str, char: str) -> None:
    seen = GLANCER.at(text + char + text)
    assert seen.hits is None
    assert all((seen.has_characters, seen.has_runs, seen.is_spaced, seen.has_trailing))
    assert seen.n_stopping >= sum(len(line) >= LONG and not line.endswith("。") for line in (text + char + text).split("\n")[:-1])


def test_more_first_characters_than_numbers_hide_no_need() -> None:
    needs = [f"{chr(0x4E00 + number)}{chr(0x5E00 + number)}" for number in range(200)]
    text = "".join(needs)
    hits = Glancer({}, needs, LONG).at(text).hits
    assert hits is not None
    assert set(range(0, 400, 2)) <= set(hits)
