"""Clean a text by the rules: nothing that a lawyer would miss goes, and every cut is accounted for."""

import re
from typing import NamedTuple

from lexmill.core.batch import n_bytes
from lexmill.core.ingest.glance import Glance
from lexmill.core.ingest.rules import PRIVATE_USE, HygieneRule, IngestRules

_PRIVATE_USE = re.compile(f"[{PRIVATE_USE}]+")


class Edit(NamedTuple):
    """What one rule took from a text: characters and bytes of UTF-8, in - out (less than 0 where its marks are longer)."""

    rule: str
    n_chars: int
    n_bytes: int


class Cleaned(NamedTuple):
    """``edits`` add up to what the text lost; ``n_private_use`` glyphs are left to which no rule gave a meaning."""

    text: str
    edits: tuple[Edit, ...]
    n_private_use: int


def clean(text: str, rules: IngestRules) -> Cleaned:
    """Take out what the rules name; a text with nothing of it is scanned and comes back as it is.

    Never done: compatibility normalisation (NFKC), other brackets, other digits.
    """
    edits: list[Edit] = []
    n_private_use = 0
    looked_at, seen = text, rules.glancer.at(text)

    def glance() -> Glance:
        nonlocal looked_at, seen
        if text is not looked_at:
            looked_at, seen = text, rules.glancer.at(text)
        return seen

    if glance().has_characters:
        for rule in (*rules.character, *rules.mapping):
            text = _apply(rule, text, edits)
        n_private_use = sum(map(len, _PRIVATE_USE.findall(text)))
    if glance().has_runs:
        for rule in rules.run:
            text = _apply(rule, text, edits)
    if glance().is_spaced:
        for rule in rules.spaced_word:
            text = _apply(rule, text, edits)
    if glance().has_trailing:
        for rule in rules.line_end:
            text = _apply(rule, text, edits)
    if glance().hits != []:
        text = _without_lines(text, rules, glance().hits, edits)
    for wrapped in rules.wrapped_line:
        if glance().n_stopping >= wrapped.min_lines:
            text = _apply(wrapped, text, edits)
    for rule in (*rules.blank_line, *rules.text_end):
        text = _apply(rule, text, edits)
    return Cleaned(text, tuple(edits), n_private_use)


def _apply(rule: HygieneRule, text: str, edits: list[Edit]) -> str:
    after = rule.apply(text)
    if after is not text and after != text:
        edits.append(Edit(rule.id, len(text) - len(after), n_bytes(text) - n_bytes(after)))
    return after


def _without_lines(text: str, rules: IngestRules, hits: list[int] | None, edits: list[Edit]) -> str:
    """The text without the lines that a rule takes out, looked for where the ``hits`` are (None: not told)."""
    taken: dict[str, list[str]] = {}
    kept = []
    done = end = 0
    by_limit = [(rule.max_chars, rule) for rule in rules.line]
    for at in [hit.start() for hit in rules.any_line_need.finditer(text)] if hits is None else hits:
        if at < end:
            continue
        begin = text.rfind("\n", end, at) + 1 or end
        end = text.find("\n", at) + 1 or len(text) + 1
        if end - 1 - begin > rules.longest_line:
            continue
        line = text[begin : end - 1]
        length = len(line)
        rule = next((rule for limit, rule in by_limit if length <= limit and rule.matches(line)), None)
        if rule is not None:
            taken.setdefault(rule.id, []).append(line)
            kept.append(text[done:begin])
            done = end
    if not taken:
        return text
    kept.append((text + "\n")[done:])
    after = "".join(kept)
    # Each line goes with its break; the last line of a text that goes whole has none.
    for number, (rule_id, lines) in enumerate(taken.items(), start=1):
        n_breaks = len(lines) - (not after and number == len(taken))
        edits.append(Edit(rule_id, sum(map(len, lines)) + n_breaks, sum(map(n_bytes, lines)) + n_breaks))
    return after[:-1]
