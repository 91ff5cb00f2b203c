"""People are counted once a document, whatever they are called there; names are estimated, and sketches add up."""

import base64

from datasketch import HyperLogLogPlusPlus

from lexmill.core.deid.people import ERROR, Names, names_of
from lexmill.core.deid.spans import Replacement


def test_one_surrogate_is_one_person_known_by_the_longest_name() -> None:
    text = "章若岚与卞长庚，若岚、章若岚，手机13800000000"
    spans = [
        Replacement(0, 3, "PERSON", "r", "章某"),
        Replacement(4, 7, "PERSON", "r", "卞某"),
        Replacement(8, 10, "PERSON", "r", "章某"),
        Replacement(16, 27, "MOBILE", "r", "×××"),
    ]
    title = ("卞长庚案", [Replacement(0, 3, "PERSON", "r", "卞某")])
    assert names_of([(text, spans), title]) == {
        "章某": "章若岚",
        "卞某": "卞长庚",
    }


def test_the_estimate_is_near_and_the_order_does_not_matter() -> None:
    for true in (0, 1, 50, 3_000, 40_000):
        whole, halves = Names(), [Names(), Names()]
        names = [f"名{number}" for number in range(true)]
        whole.add(names)
        for at, half in enumerate(halves):
            half.add(reversed(names[at::2] + names[: true // 3]))
        merged = Names()
        for half in reversed(halves):
            merged.merge(half.packed())
        assert merged.packed() == whole.packed()
        assert abs(whole.count() - true) <= 4 * ERROR * true


def test_registers_are_those_of_datasketch() -> None:
    names = [f"名{number}" for number in range(2_000)]
    ours, theirs = Names(), HyperLogLogPlusPlus(12)
    ours.add(names)
    for name in names:
        theirs.update(name.encode())
    assert ours.packed() == base64.b64encode(theirs.reg.tobytes()).decode()
