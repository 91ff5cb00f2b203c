"""Numbers of every kind, written with noise, are masked whole; law texts and case numbers hold none."""

from collections import Counter
from pathlib import Path

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.identifiers import IdentifierScanner
from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.zones import ZoneScanner
from lexmill.core.structure import casenumber
from tests.core.deid.noise import KINDS, NOISE, samples

SHARED = Path(__file__).parents[4] / "shared"
MIN_RECALL = 0.999
MAX_FALSE = 1.0
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_KEPT = {"PLATE": 2}  # the province and the letter of the place


def missed(seed: int, number: int, detector: Detector) -> tuple[int, Counter[tuple[str, str]]]:
    """How many samples there are, and how many of each kind and noise show a character."""
    total = 0
    shown: Counter[tuple[str, str]] = Counter()
    for sample in samples(seed, number):
        total += 1
        cover = bytearray(len(sample.text))
        for span in detector.detect(sample.text, "judgment"):
            cover[span.start : span.end] = b"\1" * (span.end - span.start)
        places = [at for at in range(sample.start, sample.end) if sample.text[at] not in _INVISIBLE]
        if not all(cover[at] for at in places[_KEPT.get(sample.kind, 0) :]):
            shown[sample.kind, sample.noise] += 1
    return total, shown


@pytest.mark.parametrize("seed", [1, 2])
def test_recall_with_noise(seed: int, strict: Detector) -> None:
    total, shown = missed(seed, 2 * len(NOISE), strict)
    assert total == 2 * len(NOISE) * len(KINDS)
    assert sum(shown.values()) <= (1 - MIN_RECALL) * total, shown


@pytest.mark.slow
def test_recall_with_noise_over_ten_thousand(strict: Detector) -> None:
    total, shown = missed(7, 40 * len(NOISE), strict)
    assert total > 10_000
    assert sum(shown.values()) <= (1 - MIN_RECALL) * total, shown


def test_every_number_of_the_generator_is_invented_anew() -> None:
    assert [sample.text for sample in samples(3, 2)] == [sample.text for sample in samples(3, 2)]
    assert {sample.text for sample in samples(3, 2)}.isdisjoint(sample.text for sample in samples(4, 2))


@pytest.mark.slow
def test_law_texts_and_case_numbers_hold_no_identifier(rules: DeidRules) -> None:
    folder = SHARED / "corpus" / "statutes" / "lawrefbook_md"
    if not folder.is_dir():
        pytest.skip("the shared corpus is not there")
    scanner, zones = IdentifierScanner(rules), ZoneScanner(rules)
    characters = found = 0
    numbers: set[str] = set()
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        characters += len(text)
        found += len(scanner.find(text, zones.scan(text)))
        numbers.update(text[number.start : number.end] for number in casenumber.find(text))
    for number in sorted(numbers):
        text = f"不服{number}民事判决"
        characters += len(text)
        found += len(scanner.find(text, zones.scan(text)))
    assert characters > 1_000_000
    assert found / characters * 1e6 <= MAX_FALSE
