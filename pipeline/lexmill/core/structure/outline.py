"""Texts that are an outline, each step with its number path: statutes by 编, 章, 节, 条, 款, 项, 目 and contracts by clauses."""

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from lexmill.core.structure.numerals import values
from lexmill.core.structure.rules import Line, Mark

_STRONG = 0.9
_LIKELY = 0.8
_GUESS = 0.6
# What the steps below a clause or article are called, whatever their numbers look like.
_STEPS = ("条", "款", "项", "目", "点")
_DIVISIONS = ("编", "章", "节")
# A paragraph is a 款 of its own where the one before is finished.
_FINISHED = "。！？.”」』】〕）)"
_BLANK = " \t\r\n\u3000\xa0"
_MAX_DIVISION = 40


class Cut(NamedTuple):
    """Where a segment of ``kind`` begins; it ends where the next one does."""

    start: int
    kind: str
    confidence: float
    path: str = ""


# Named tuples by the thousand: their own constructor takes three times as long.
_cut = partial(tuple.__new__, Cut)


@lru_cache(maxsize=1 << 12)
def _label(kind: str, numbers: tuple[int, ...]) -> str:
    return kind + "-".join(map(str, numbers[:2]))


class _Steps:
    """Numbered steps below one clause: each style of number that appears first below another is one step deeper."""

    def __init__(self, floor: int) -> None:
        self._floor = floor
        self._styles: list[int] = []
        self._paths: list[str] = []
        self._last: list[int] = []

    def reset(self) -> None:
        if self._styles:
            del self._styles[:], self._paths[:], self._last[:]

    def take(self, style: int, number: int) -> tuple[str, str, bool]:
        """Kind and path below the clause of the step numbered ``number``, and whether that number was due."""
        if style in self._styles:
            depth = self._styles.index(style)
            due = number == self._last[depth] + 1
            del self._styles[depth:], self._paths[depth:], self._last[depth:]
        else:
            depth = len(self._styles)
            due = number == 1
        kind = _STEPS[min(self._floor + depth, len(_STEPS) - 1)]
        path = f"{self._paths[-1]}/{kind}{number}" if depth else f"{kind}{number}"
        self._styles.append(style)
        self._last.append(number)
        self._paths.append(path)
        return kind, path, due


def _is_finished(text: str, before: int) -> bool:
    """Whether the paragraph that ends at ``before`` ends with a sentence."""
    end = before - 1
    while end >= 0 and text[end] in _BLANK:
        end -= 1
    return end >= 0 and text[end] in _FINISHED


def _own_text(lines: Sequence[Line]) -> int:
    """The line where the text itself begins: after title, dates and a table of contents that lists the same headings.

    The last run of divisions that starts with 第一编 or 第一章 before the first article is the text's own.
    """
    article = next((i for i, line in enumerate(lines) if line.opener and line.opener.kind == "条"), len(lines))
    firsts = [i for i in range(article) if (opener := lines[i].opener) and opener.rule_id.endswith("_first")]
    if article == len(lines) and not firsts:
        return article
    own = firsts[-1] if firsts else article
    while own > 0 and (opener := lines[own - 1].opener) and (opener.rule_id.endswith("_first") or opener.kind == "数"):
        own -= 1
    # 第六编 right above 第一章 is no table of contents.
    above = lines[own - 1].opener if own > 0 else None
    below = lines[own].opener if own < len(lines) else None
    if above and below and above.kind in _DIVISIONS and above.level < below.level:
        own -= 1
    return own


def _is_division(text: str, lines: Sequence[Line], i: int) -> bool:
    """Whether 一、 opens a division (interpretations of the Supreme Court have 一、管辖 above their articles)."""
    if i + 1 == len(lines) or not (following := lines[i + 1].opener) or following.kind != "条":
        return False
    title = text[lines[i].start : lines[i + 1].before].strip()
    return len(title) <= _MAX_DIVISION and title[-1] not in "。；;：:，,"


def cut_statute(text: str, lines: Sequence[Line]) -> list[Cut]:
    """The cuts of a statute; ``path`` such as 编1/章2/条120-1/款2/项3, a 款 named from the second on.

    Taiwan calls the paragraph of an article 項 and the numbered step 款: here they are 款 and 项 there too.
    """
    cuts = [Cut(0, "首部", _STRONG)]
    own = _own_text(lines)
    if own == len(lines):
        return cuts + _cut_numbered(text, lines)
    divisions: dict[str, str] = {}
    above = article = clause = ""
    paragraph = 0
    steps = _Steps(2)
    for i, (before, start, words, opener) in enumerate(islice(lines, own, None), own):
        if opener is None:
            if article and _is_finished(text, before):
                paragraph += 1
                clause = f"{article}/款{paragraph}"
                steps.reset()
                cuts.append(_cut((start, "款", _LIKELY, clause)))
            continue
        kind = opener.kind
        if kind == "条":
            article = clause = above + _label("条", values(words))
            paragraph = 1
            steps.reset()
            cuts.append(_cut((start, kind, opener.confidence, article)))
        elif kind in _DIVISIONS or (kind == "数" and _is_division(text, lines, i)):
            kind = "章" if kind == "数" else kind
            divisions[kind] = _label(kind, values(words))
            for lower in _DIVISIONS[_DIVISIONS.index(kind) + 1 :]:
                divisions.pop(lower, None)
            above = "".join(f"{divisions[name]}/" for name in _DIVISIONS if name in divisions)
            article = ""
            cuts.append(Cut(start, kind, opener.confidence, above[:-1]))
        elif kind in ("附录", "理由"):
            article = ""
            if cuts[-1].kind != kind:
                cuts.append(Cut(start, kind, opener.confidence))
        elif article:
            numbers = values(words)
            if paragraph == 1 and clause == article:
                clause = f"{article}/款1"
            kind, path, due = steps.take(opener.level, numbers[0] if numbers else 0)
            cuts.append(_cut((start, kind, opener.confidence if due else _GUESS, f"{clause}/{path}")))
    return cuts


def _cut_numbered(text: str, lines: Sequence[Line]) -> list[Cut]:
    """A decision or reply without articles, in steps 一、 （一） 1."""
    steps = _Steps(0)
    cuts: list[Cut] = []
    top = next((line.opener.level for line in lines if line.opener and line.opener.kind == "数"), None)
    clause = ""
    paragraph = 1
    for i, line in enumerate(lines):
        opener = line.opener
        if opener is None:
            end = lines[i + 1].before if i + 1 < len(lines) else len(text)
            if clause and _is_finished(text, line.before) and _is_finished(text, end):
                paragraph += 1
                cuts.append(Cut(line.start, "款", _GUESS, f"{clause}/款{paragraph}"))
        elif opener.kind == "附录":
            cuts.append(Cut(line.start, "附录", opener.confidence))
            break
        elif (clause or opener.level == top) and opener.kind in ("数", "项", "目"):
            numbers = values(line.words)
            kind, path, due = steps.take(opener.level, numbers[0] if numbers else 0)
            cuts.append(Cut(line.start, kind, _LIKELY if due else _GUESS, path))
            if opener.level == top:
                clause, paragraph = path, 1
    return cuts


def cut_clauses(text: str, marks: Sequence[Mark]) -> list[Cut]:
    """The cuts of a contract's clauses; ``path`` such as 章1/条3/款2/项1, each step named by its depth, not by its number's form.

    ``marks``: kinds 编, 章, 节 and 条款, whose level is the style of the number; the highest style that counts at least two is
    the clause.
    """
    levels = [mark.level for mark in marks if mark.kind == "条款"]
    top = next((level for level in sorted(set(levels)) if levels.count(level) > 1), min(levels, default=0))
    cuts: list[Cut] = []
    divisions: dict[str, str] = {}
    above = clause = ""
    current = 0
    steps = _Steps(1)
    for start, mark_kind, level, confidence, _, end in marks:
        numbers = values(text[start:end])
        number = numbers[0] if numbers else 0
        if mark_kind in _DIVISIONS:
            divisions[mark_kind] = _label(mark_kind, numbers)
            for lower in _DIVISIONS[_DIVISIONS.index(mark_kind) + 1 :]:
                divisions.pop(lower, None)
            above = "".join(f"{divisions[name]}/" for name in _DIVISIONS if name in divisions)
            cuts.append(Cut(start, mark_kind, confidence, above[:-1]))
        elif level == top:
            clause = above + _label("条", numbers)
            steps.reset()
            cuts.append(_cut((start, "条款", confidence if number == current + 1 else _GUESS, clause)))
            current = number
        elif clause and level > top:
            if len(numbers) > 1:
                # 3.2 belongs to clause 3: 1.5 in a table of prices does not.
                if number != current:
                    continue
                number = numbers[-1]
            _, path, due = steps.take(level, number)
            cuts.append(_cut((start, "条款", confidence if due else _GUESS, f"{clause}/{path}")))
    return cuts
