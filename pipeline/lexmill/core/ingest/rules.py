"""The rules of hygiene: which characters, spaced words, runs and lines of a text go or become one form, each with its proof."""

import re
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Annotated

from pydantic import Field, StringConstraints

from lexmill.core.ingest import glance
from lexmill.core.ingest.glance import Glancer
from lexmill.core.rulebook import Fault, Pattern, Rule, Rulebook

_Texts = Annotated[tuple[str, ...], Field(strict=False)]
_SomeTexts = Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(strict=False, min_length=1)]
_Changes = Annotated[tuple[Annotated[tuple[str, str], Field(strict=False)], ...], Field(strict=False)]
_CodePoint = Annotated[str, StringConstraints(pattern=r"^[0-9A-F]{4,6}$")]
_CodePoints = Annotated[str, StringConstraints(pattern=r"^[0-9A-F]{4,6}(-[0-9A-F]{4,6})?$")]

# Ends of sentences and of rows: a line that ends so is no sign that a text is wrapped.
_STOPS = "。！？；：…!?;:.│┃|┤┘┐_＿”）)】"
_LONGEST_CLOSE = 20
_MAX_LONGER_SHARE = 0.05
_MIN_INSIDE_SHARE = 0.6

PRIVATE_USE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
"""The private-use areas, as they stand between the brackets of a regular expression (Unicode, 23.5)."""

_BLANKS = " \u3000\u00a0\u2002\u2003"


class HygieneRule(Rule):
    """A rule that changes some texts (``changes``: pairs of before and after) and leaves others alone (``keep``)."""

    keep: _Texts
    changes: _Changes

    @abstractmethod
    def apply(self, text: str) -> str:
        """The text after this rule alone."""

    def proofs(self) -> Iterator[tuple[str, str]]:
        """Every example as the text before and the text after."""
        yield from self.changes
        yield from zip(self.keep, self.keep, strict=True)


class Character(HygieneRule):
    """Characters that are replaced, mostly by nothing; ``chars`` are code points or ranges in hexadecimal (``200B-200D``)."""

    chars: Annotated[tuple[_CodePoints, ...], Field(strict=False, min_length=1)]
    replace: str

    @property
    def char_class(self) -> str:
        """The characters as they stand between the brackets of a regular expression."""
        return "".join("-".join(f"\\U{end:0>8}" for end in span.split("-")) for span in self.chars)

    def every(self) -> Iterator[str]:
        """The characters one by one."""
        for span in self.chars:
            first, _, last = span.partition("-")
            yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"[{self.char_class}]")

    def apply(self, text: str) -> str:
        return self._pattern.sub(self.replace, text)


class SpacedWord(HygieneRule):
    """Words that are printed with blanks between all their characters (审 判 长), and are closed up."""

    words: Annotated[tuple[Annotated[str, StringConstraints(min_length=2)], ...], Field(strict=False, min_length=1)]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.words, key=lambda word: (-len(word), word))
        return re.compile("|".join(f"[{_BLANKS}]+".join(map(re.escape, word)) for word in longest_first))

    @cached_property
    def _beginnings(self) -> list[tuple[str, re.Pattern[str]]]:
        # Many times as fast as the words themselves: each begins with one character, and blanks are rare.
        first, second = (re.escape("".join(sorted({word[at] for word in self.words}))) for at in (0, 1))
        return [(blank, re.compile(f"{blank}(?<=[{first}]{blank})[{_BLANKS}]*[{second}]")) for blank in _BLANKS]

    def apply(self, text: str) -> str:
        if not any(blank in text and beginning.search(text) for blank, beginning in self._beginnings):
            return text
        return self._pattern.sub(lambda word: "".join(word[0].split()), text)


class Run(HygieneRule):
    """A pattern and its replacement, tried on texts that hold one of ``needs``."""

    needs: _SomeTexts
    pattern: Pattern
    replace: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def apply(self, text: str) -> str:
        return self._compiled.sub(self.replace, text) if holds_any(text, self.needs) else text


class Mapping(HygieneRule):
    """Characters or short runs that stand for others (``map``), in texts that hold at least ``at_least`` different ones."""

    map: Annotated[dict[Annotated[str, StringConstraints(min_length=1)], str], Field(min_length=1)]
    at_least: Annotated[int, Field(ge=1)] = 1

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self.map, key=lambda key: (-len(key), key)))))

    @property
    def beginnings(self) -> str:
        """The first characters of what is mapped."""
        return "".join(sorted({key[0] for key in self.map}))

    def apply(self, text: str) -> str:
        if self.at_least > 1 and sum(key in text for key in self.map) < self.at_least:
            return text
        return self._pattern.sub(lambda found: self.map[found[0]], text)


class LineEnd(HygieneRule):
    """Characters that are taken from the ends of all lines; ``chars`` are code points in hexadecimal."""

    chars: Annotated[tuple[_CodePoint, ...], Field(strict=False, min_length=1)]

    @cached_property
    def joined(self) -> str:
        """The characters in one string."""
        return "".join(chr(int(char, 16)) for char in self.chars)

    @cached_property
    def _at_end(self) -> re.Pattern[str]:
        return re.compile(f"\n(?<=[{re.escape(self.joined)}]\n)")

    def apply(self, text: str) -> str:
        if not text.endswith(tuple(self.joined)) and not self._at_end.search(text):
            return text
        return "\n".join(line.rstrip(self.joined) for line in text.split("\n"))


class TextEnd(LineEnd):
    """Characters that are taken from both ends of a text."""

    def apply(self, text: str) -> str:
        return text.strip(self.joined)


class Line(HygieneRule):
    """Whole lines that go, matched from end to end: those that hold one of ``needs`` and are no longer than ``max_chars``."""

    needs: _SomeTexts
    pattern: Pattern
    max_chars: Annotated[int, Field(ge=1, le=200)]
    drop: _SomeTexts
    changes: _Changes = ()

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def matches(self, line: str) -> bool:
        """Whether this rule takes the line out."""
        if len(line) > self.max_chars:
            return False
        # A generator costs more than the search.
        for need in self.needs:
            if need in line:
                return self._compiled.fullmatch(line) is not None
        return False

    def apply(self, text: str) -> str:
        return "\n".join(line for line in text.split("\n") if not self.matches(line))

    def proofs(self) -> Iterator[tuple[str, str]]:
        yield from super().proofs()
        for line in self.drop:
            yield f"前文。\n{line}\n后文。", "前文。\n后文。"


class WrappedLine(HygieneRule):
    """Lines that a typewriter, a mail or a page broke at its width, joined where the sentence runs on.

    A text is wrapped if at least ``min_lines`` of its lines end within ``slack`` columns below one width between ``min_columns``
    and ``max_columns`` (a Han character fills two), most of these lines stop inside a sentence, and hardly any line is longer.
    Such a line is joined with the next one unless it ends as ``closes`` says, the next begins as ``opens`` says, or either holds
    what ``never`` finds.
    """

    min_columns: Annotated[int, Field(ge=20)]
    max_columns: Annotated[int, Field(le=400)]
    slack: Annotated[int, Field(ge=0)]
    min_lines: Annotated[int, Field(ge=2)]
    closes: Pattern
    opens: Pattern
    never: Pattern

    @cached_property
    def _stopping(self) -> re.Pattern[str]:
        # The second condition is asked where the first holds, which is seldom.
        return re.compile(f"\n(?<=[^{re.escape(_STOPS)}\n]\n)(?<=[^\n]{{{self.min_columns // 2}}}\n)")

    @cached_property
    def _closes(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.closes})\\Z")

    @cached_property
    def _opens(self) -> re.Pattern[str]:
        return re.compile(self.opens)

    @cached_property
    def _never(self) -> re.Pattern[str]:
        return re.compile(self.never)

    def apply(self, text: str) -> str:
        # Joined lines may lay bare a second width.
        while (joined := self._join(text)) != text:
            text = joined
        return text

    def _join(self, text: str) -> str:
        # What is rare is asked first: sound text has hardly a long line that stops inside a sentence.
        ends = [end.start() for end in self._stopping.finditer(text)]
        if len(ends) < self.min_lines:
            return text
        inside = self._inside([text[text.rfind("\n", 0, end) + 1 : end] for end in ends])
        lines = text.split("\n") if inside else []
        width = self._width(lines, inside)
        if width is None:
            return text
        parts = [lines[0]]
        for before, line in pairwise(lines):
            runs_on = width - self.slack <= _columns(before) <= width and line and self._stops_inside(before)
            if runs_on and not self._opens.match(line) and not self._never.search(line):
                parts.append(" " if _is_latin(before[-1]) and _is_latin(line[0]) else "")
            else:
                parts.append("\n")
            parts.append(line)
        return "".join(parts)

    def _stops_inside(self, line: str) -> bool:
        return not self._closes.search(line[-_LONGEST_CLOSE:]) and not self._never.search(line)

    def _inside(self, stopping: list[str]) -> list[int]:
        """The columns of lines that stop inside a sentence, sorted; none where no width is common to enough of them."""
        inside = sorted(_columns(line) for line in stopping if len(line) <= self.max_columns and self._stops_inside(line))
        least = self.min_lines - 1
        return inside if any(high - low <= self.slack for low, high in zip(inside, inside[least:], strict=False)) else []

    def _width(self, lines: list[str], inside: list[int]) -> int | None:
        """The columns at which the text is wrapped, or None where it is not."""
        for width in sorted(set(inside), reverse=True):
            low = width - self.slack
            n_inside = _between(inside, low, width)
            if not self.min_columns <= width <= self.max_columns or n_inside < self.min_lines:
                continue
            if sum(_is_longer(line, width) for line in lines) > _MAX_LONGER_SHARE * len(lines):
                return None
            near = sum(2 * len(line) >= low and low <= _columns(line) <= width and not self._never.search(line) for line in lines)
            if n_inside >= _MIN_INSIDE_SHARE * near:
                return width
        return None


def _is_longer(line: str, width: int) -> bool:
    return len(line) > width or (2 * len(line) > width and _columns(line) > width)


def _between(numbers: list[int], low: int, high: int) -> int:
    """How many of sorted numbers lie in [low, high]."""
    return bisect_right(numbers, high) - bisect_left(numbers, low)


def _columns(line: str) -> int:
    """Columns that a line fills where a Han character fills two: its bytes in GB18030."""
    return len(line.encode("gb18030", "replace"))


def _is_latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def holds_any(text: str, needs: tuple[str, ...]) -> bool:
    """Whether any of ``needs`` occurs in the text."""
    # A generator costs more than the search, and one character is found six times as fast as three.
    for need in needs:  # noqa: SIM110
        if need[0] in text and need in text:
            return True
    return False


class IngestRules(Rulebook):
    """All hygiene, in the order in which it is done."""

    character: tuple[Character, ...] = ()
    mapping: tuple[Mapping, ...] = ()
    run: tuple[Run, ...] = ()
    spaced_word: tuple[SpacedWord, ...] = ()
    line_end: tuple[LineEnd, ...] = ()
    line: tuple[Line, ...] = ()
    wrapped_line: tuple[WrappedLine, ...] = ()
    blank_line: tuple[Run, ...] = ()
    text_end: tuple[TextEnd, ...] = ()

    @cached_property
    def glancer(self) -> Glancer:
        """Tells which rules have something to look at in a text."""
        characters = [char for rule in self.character for char in rule.every()]
        characters += [char for rule in self.mapping for char in rule.beginnings]
        characters += map(chr, range(0xE000, 0xF900))
        needs = [need for rule in self.line for need in rule.needs]
        classes = {
            glance.CHARACTER: characters,
            glance.RUN: [need[0] for rule in self.run for need in rule.needs],
            glance.BLANK: _BLANKS,
            glance.LINE_END: "".join(rule.joined for rule in self.line_end),
            glance.WORD: [word[0] for rule in self.spaced_word for word in rule.words],
            glance.STOP: f"{_STOPS}\n",
        }
        return Glancer(classes, needs, min((rule.min_columns // 2 for rule in self.wrapped_line), default=0))

    @cached_property
    def any_line_need(self) -> re.Pattern[str]:
        """Finds what a line must hold for any rule to take it out."""
        needs = dict.fromkeys(need for rule in self.line for need in rule.needs)
        return re.compile("|".join(map(re.escape, needs)) or r"(?!)")

    @cached_property
    def longest_line(self) -> int:
        """Characters of the longest line that any rule may take out."""
        return max((rule.max_chars for rule in self.line), default=0)

    def faults(self) -> list[Fault]:
        """Each rule must turn its examples into what they say, and find nothing more to do in them."""
        faults = []
        kinds: list[tuple[HygieneRule, ...]] = [self.character, self.mapping, self.run, self.spaced_word]
        kinds += [self.line_end, self.line, self.wrapped_line, self.blank_line, self.text_end]
        for rule in (rule for kind in kinds for rule in kind):
            proofs = list(rule.proofs())
            if all(before == after for before, after in proofs):
                faults.append(Fault(rule.id, "no example shows a change: add one to `changes` (a line to `drop`)"))
            for number, (before, after) in enumerate(proofs):
                if rule.apply(before) != after:
                    faults.append(Fault(rule.id, f"example {number} does not come out as it says: mend the rule or the example"))
                elif rule.apply(after) != after:
                    faults.append(Fault(rule.id, f"example {number} changes again when the rule runs twice: mend the rule"))
        return faults
