"""Birth dates keep the year, wherever the words that tell them stand."""

import pytest

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask


@pytest.mark.parametrize("gap", range(40))
@pytest.mark.parametrize(("word", "masked"), [("生育长女", 2), ("生效", 1)])
def test_what_follows_a_date_decides_wherever_the_next_trigger_stands(strict: Detector, word: str, masked: int, gap: int) -> None:
    text = f"2078年4月26日{word}{'，' * gap}2080年1月23日生育次女，读初中。"
    assert mask(text, "judgment", strict).text.count("×月×日") == masked
