"""Records of benchmark files as items: the stem, its options in any order, and the passage it is asked about."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexmill.config import BenchmarkFields
from lexmill.core.ingest.fields import role_of

# 题面后的选项：“A. …”“（A）…”“A、…”，各占一行或以空格隔开
_INLINE = re.compile(r"(?:(?<=[\n\s。？！?!：:）)])|^)[(（]?([A-HＡ-Ｈ])\s*[)）.．、:：]\s*")
_MARK = re.compile(r"^\s*[(（]?[A-Ha-hＡ-Ｈ]\s*[)）.．、:：]\s*")
_LETTER = re.compile(r"(?:option|choice|选项|選項)?[\s_-]*([a-h])", re.IGNORECASE)
# The same prompt stands before every item of a task where a record has a question beside it.
_PROMPTS = ("instruction", "prompt")


@dataclass(frozen=True)
class Item:
    """One item: ``stem`` is the question without options; ``options`` without their letters; ``passage`` may be empty."""

    stem: str
    options: tuple[str, ...] = ()
    passage: str = ""


def read_item(record: Any, fields: BenchmarkFields) -> Item | None:
    """The item in a record of a benchmark file, or None where it has no question.

    Known by their fields, in any case: C-Eval and CMMLU (``question``, ``A`` to ``D``), AGIEval's JEC-QA (``passage``,
    ``question``, ``options``), JEC-QA and CAIL (``statement``, ``option_list``), LawBench (``instruction``, ``question``) and
    LexEval (``instruction``, ``input``); the options may stand within the question. Others by ``fields``.
    """
    if not isinstance(record, Mapping):
        return None
    if fields.stem is not None:
        stem = _text(record.get(fields.stem))
        options = _options([record.get(name) for name in fields.options])
        passage = _text(record.get(fields.passage)) if fields.passage else ""
    else:
        stem, options, passage = _by_name(record)
    stem, inline = _split(stem)
    return Item(stem, tuple(dict.fromkeys((*options, *inline))), passage) if stem else None


def read_items(value: Any, fields: BenchmarkFields) -> Iterator[Item]:
    """The items in a JSON value, which is a record, a list of records, or wraps such lists."""
    item = read_item(value, fields)
    if item is not None:
        yield item
        return
    inner = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else ()
    for each in inner:
        if isinstance(each, (list, Mapping)):
            yield from read_items(each, fields)


def _by_name(record: Mapping[str, Any]) -> tuple[str, list[str], str]:
    questions: dict[str, str] = {}
    letters: dict[str, Any] = {}
    options: list[str] = []
    passage: list[str] = []
    for name, value in record.items():
        plain = str(name).strip()
        role = role_of(plain) or ("passage" if plain.casefold() == "passage" else None)
        letter = _LETTER.fullmatch(plain)
        if role == "options":
            options += _options([value])
        elif letter:
            letters[letter[1].upper()] = value
        elif role in ("question", "input") and _text(value):
            questions[plain.casefold()] = _text(value)
        elif role in ("passage", "context", "piece") and _text(value):
            passage.append(_text(value))
    asked = {name: text for name, text in questions.items() if name not in _PROMPTS} or questions
    # A lone letter is no list of options: {Q, A} is a question and its answer.
    options += _options([letters[letter] for letter in sorted(letters)]) if len(letters) > 1 else []
    return "\n".join(asked.values()), options, "\n".join(passage)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _options(values: Sequence[Any]) -> list[str]:
    """Option texts without their letters, whether they come as texts, lists or a table by letter."""
    found: list[str] = []
    for value in values:
        if isinstance(value, Mapping):
            found += _options([value[key] for key in sorted(value, key=str)])
        elif isinstance(value, (list, tuple)):
            found += _options(value)
        elif text := _text(value):
            parts = [part.strip() for part in text.split("\n")] if len(_INLINE.findall(text)) > 1 else [text]
            found += [option for part in parts if (option := _MARK.sub("", part).strip())]
    return found


def _split(text: str) -> tuple[str, list[str]]:
    """A question whose options stand behind it, A first, taken apart."""
    marks = list(_INLINE.finditer(text))
    first = next((n for n, mark in enumerate(marks) if mark[1] in "AＡ"), None)
    if first is None or len(marks) - first < 2:
        return text.strip(), []
    marks = marks[first:]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    options = [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    return text[: marks[0].start()].strip(), [option for option in options if option]
