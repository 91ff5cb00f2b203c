import random
import re

import numpy as np

from lexmill.core.deid import identifiers
from lexmill.core.deid.lexer import to_codes
from lexmill.core.deid.runs import RunFinder

CLASSES = {"starts": "0-9A-Z+", "goes_on": "0-9A-Z+×@ -", "leading": "京", "figures": "0-9X", "linked": "0-9X -", "digits": "0-9"}
NO_CUES = np.empty(0, np.int32)


def texts() -> list[str]:
    draw = random.Random(3)
    return ["".join(draw.choices("0123+AX×@ -号，京(𠮷", k=draw.randrange(90))) for _ in range(400)]


def test_all_runs_are_those_of_a_pattern() -> None:
    every = RunFinder(**CLASSES, uncued=0, reach=3)
    pattern = re.compile("[0-9A-Z+][0-9A-Z+×@ -]{4,}")
    for text in texts():
        assert every.find(to_codes(text), NO_CUES)[0] == [match.span() for match in pattern.finditer(text)]


def test_a_run_that_is_left_out_has_nothing_about_it() -> None:
    some, every = RunFinder(**CLASSES, uncued=8, reach=3), RunFinder(**CLASSES, uncued=0, reach=3)
    left = 0
    for text in texts():
        cues = [match.start() for match in re.finditer("号", text)]
        found, _ = some.find(to_codes(text), np.array(cues, np.int32))
        for start, end in every.find(to_codes(text), NO_CUES)[0]:
            before = text[max(0, start - 3) : start]
            near = any(start - 3 <= stop <= start for _, stop in found if stop <= start)
            worth = (
                end - start >= 8
                or not text[start].isdigit()
                or "@" in text[start:end]
                or text[end : end + 1] == "("
                or text[start - 1 : start] == "京"
                or "号" in before
                or "×" in before
                or near
            )
            assert ((start, end) in found) == worth
            left += not worth
    assert left > 40


def test_scattered_figures_may_begin_where_they_do() -> None:
    draw = random.Random(4)
    finder = RunFinder(
        starts="0-9",
        goes_on="0-9",
        leading="",
        figures="0-9XxＸｘ",
        linked=" \\-0-9XxＸｘ\r\n（）",
        digits="0-9０-９",
        uncued=9,
        reach=0,
    )
    number = 0
    for _ in range(400):
        text = "".join(draw.choices("0123456789X- \n（元", weights=[9] * 11 + [5, 5, 3, 2, 2], k=60))
        _, found = finder.find(to_codes(text), NO_CUES)
        matches = [match.start() for match in identifiers._SCATTERED.finditer(text)]
        assert set(matches) <= set(found)
        number += len(matches)
    assert number > 100
