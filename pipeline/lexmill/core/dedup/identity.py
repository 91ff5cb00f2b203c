"""What a document says it is: the case of a judgment, the item of an exam, the title of a statute, each as a key."""

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

from lexmill.core.dedup.compare import comparison_copy
from lexmill.core.structure import casenumber

NO_KEY: Final = 0
NO_CASE: Final = NO_KEY
NO_DATE: Final = -(2**31)
NO_TITLE: Final = ""
NO_TRIAL: Final = 0
NO_VERSION: Final = ("", "")

# Levels that tell one paper of a dispute from another; 执行 and 其他 say too little.
TRIALS: Final = ("一审", "二审", "三审", "再审")

# A court code with figures is the short name of a province and up to four of them (法〔2015〕137号); another one is misread.
_COURT_WITH_FIGURES = re.compile(r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙内陕吉闽贵黔粤青藏川宁琼军兵][0-9]{1,4}")
_TAIWAN = re.compile(r"([0-9]{2,3})年度?([\u4e00-\u9fff]{1,8}?)字第([0-9]{1,7})號")

# Before a stem: its number, and the year and paper it was set in.
_ITEM_NUMBER = re.compile(
    r"\A(?:\s|第?[0-9０-９]{1,4}\s*[.．、:：题]|[（(【\[][^（()）【】\[\]\n]{0,24}?(?:[12][0-9]{3}|[单多]选|题)[^（()）【】\[\]\n]{0,24}?[)）】\]])+"
)
_OPTION = re.compile(r"(?:\A|(?<=\s))[（(]?\s?[A-HＡ-Ｈ]\s?[.．、:：,，)）]")
_ASKED = re.compile(r"^\s*(?:问题?|提问|[Qq])\s*[0-9０-９]{0,3}\s*[:：]", re.MULTILINE)
# A longer question weighs enough in the Jaccard index of the whole.
_QUESTION: Final = 100
_NOT_WORDS = re.compile(r"[\W_]+")
_FIRST_ARTICLE = re.compile(r"^[ \t#*\u3000]*第\s*(?:一|1)\s*[条條]", re.MULTILINE)
PREAMBLE: Final = 3000
HEADING: Final = 300
_FIGURES: Final = 400
_NOT_FIGURES = re.compile("[^0-9]+")
# Shorter stems (下列说法正确的是) name no item by themselves.
_STEM = 12


def hash64(*values: object) -> int:
    """64 bits of blake2b over values; never ``NO_KEY``."""
    joined = "\x1f".join(str(value) for value in values)
    return int.from_bytes(blake2b(joined.encode(), digest_size=8).digest(), "little") or 1


def case_key(number: str | None, court: str | None = None) -> int:
    """The identity of the case number that ``number`` prints; ``NO_CASE`` if there is none or it is masked or garbled.

    Taiwan's courts number each for itself, so there the name of the court counts, too.
    """
    if not number:
        return NO_CASE
    found = casenumber.find(number)
    if not found:
        taiwan = _TAIWAN.search(re.sub(r"\s", "", number))
        return hash64(court, *taiwan.groups()) if taiwan and court else NO_CASE
    key = casenumber.key(found[0])
    if key is None or (re.search("[0-9]", found[0].court) and not _COURT_WITH_FIGURES.fullmatch(found[0].court)):
        return NO_CASE
    return hash64(key)


def fold_title(title: str) -> str:
    """The comparison copy of a statute's title by its words alone, without the name of the state; ``NO_TITLE`` of nothing."""
    words = _NOT_WORDS.sub("", title)
    return words.removeprefix("中华人民共和国") or NO_TITLE


def fold_question(question: str) -> str:
    """A question by its words alone, without what announces it (问：); ``NO_TITLE`` of more than ``_QUESTION`` characters."""
    words = _words(_ASKED.sub("", question))
    return words if len(words) <= _QUESTION else NO_TITLE


def question(text: str, segments: Iterable[Mapping[str, Any]] | None) -> str:
    """All that is asked in a document of question and answer, folded; ``NO_TITLE`` where its segments name none, or no answer."""
    found = {
        kind: [text[each["start"] : each["end"]] for each in segments or () if each["kind"] == kind] for kind in ("问", "答")
    }
    return fold_question("\n".join(found["问"])) if found["答"] else NO_TITLE


def trial(level: str | None) -> int:
    """The trial level as a number from 1; ``NO_TRIAL`` where it is not known or no instance."""
    return TRIALS.index(level) + 1 if level in TRIALS else NO_TRIAL


def same_paper(case: int, kind: str | None, level: str | None, opening: str) -> int:
    """The key of one paper of one case: number (with 之一), kind, trial level, 补正 or not; ``NO_KEY`` without a number.

    ``opening`` is the first ``HEADING`` characters of the text.
    """
    return hash64(case, kind, level, "补正" in opening) if case != NO_CASE else NO_KEY


def same_item(text: str, segments: Iterable[Mapping[str, Any]] | None) -> tuple[int, list[int]]:
    """The key of the stem of an exam item, and of each option, sorted; ``NO_KEY`` where there is not one stem alone.

    Numbers, letters, spacing and punctuation do not count, so neither does the order of the options.
    """
    parts: dict[str, list[str]] = {}
    for segment in segments or ():
        parts.setdefault(segment["kind"], []).append(text[segment["start"] : segment["end"]])
    stems = parts.get("题干", [])
    if len(stems) != 1:
        return NO_KEY, []
    stem = _words(_ITEM_NUMBER.sub("", stems[0]))
    options = {word for block in parts.get("选项", []) for option in _OPTION.split(block) if (word := _words(option))}
    if not stem or (len(stem) < _STEM and not options):
        return NO_KEY, []
    return hash64(stem), sorted(hash64(option) for option in options)


def version(date: str | None, preamble: str) -> tuple[str, str]:
    """The version of a statute: its date, and the figures of all that stands before the first article; ``NO_VERSION`` undated."""
    return (date, _NOT_FIGURES.sub("", preamble)[:_FIGURES]) if date else NO_VERSION


def preamble(text: str) -> str:
    """What stands above the first article of a statute, of the first ``PREAMBLE`` characters of its text."""
    article = _FIRST_ARTICLE.search(text)
    return text[: article.start() if article else PREAMBLE]


def same_title(jurisdiction: str | None, title: str) -> int:
    """The key of a statute whatever its version: jurisdiction and folded title; ``NO_KEY`` without a title."""
    return hash64(jurisdiction, title) if title else NO_KEY


def _words(text: str) -> str:
    return _NOT_WORDS.sub("", comparison_copy(text))
