"""Numbers as legal texts print them: 十二, 一百二十条之一, 壹, 〇, １２ and 12."""

import re
from functools import lru_cache

_DIGITS = {
    **dict(zip("零一二三四五六七八九", range(10), strict=True)),
    **dict(zip("〇壹贰叁肆伍陆柒捌玖", range(10), strict=True)),
    **dict(zip("○壹貳參肆伍陸柒捌玖", range(10), strict=True)),
    **dict(zip("0123456789", range(10), strict=True)),
    **dict(zip("０１２３４５６７８９", range(10), strict=True)),
    "两": 2,
    "兩": 2,
}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_CIRCLED = {chr(0x2460 + n): n + 1 for n in range(20)}

NUMERAL = "〇○零一二三四五六七八九十百千两兩0-9０-９"
"""For a character class: what a number of an article is written with."""

_RUNS = re.compile(f"[{NUMERAL}壹贰貳叁參肆伍陆陸柒捌玖拾佰仟①-⑳]+")


@lru_cache(maxsize=1 << 16)
def value(numeral: str) -> int | None:
    """The number that ``numeral`` writes (十二, 一二, 12, １２, ⑫); None where it writes none."""
    if numeral in _CIRCLED:
        return _CIRCLED[numeral]
    total = digits = 0
    pending = False
    for character in numeral:
        if character in _UNITS:
            total += (digits if pending else 1) * _UNITS[character]
            digits, pending = 0, False
        elif character in _DIGITS:
            digits = digits * 10 + _DIGITS[character]
            pending = True
        else:
            return None
    return total + digits if numeral else None


@lru_cache(maxsize=1 << 16)
def values(text: str) -> tuple[int, ...]:
    """All numbers in ``text``, in order: (120, 1) for 第一百二十条之一, (3, 2) for 3.2."""
    return tuple(number for run in _RUNS.findall(text) if (number := value(run)) is not None)
