"""Numbers that identify: one scan for runs of letters and digits, then forms, check digits and the cue words before each run."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lexmill.core.deid.checks import CHECKS
from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import DeidTables, Identifier
from lexmill.core.deid.zones import Zones

# Full width to half width, and every dash to one; nothing changes its length.
_FOLD = (
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {ord(dash): "-" for dash in "—–‐‑‒―－"} | {0x3000: " ", 0xA0: " "}
)
_CONFUSED = str.maketrans("OoQDlI|ZSB", "0000111258")
_ALNUM = "0-9A-Za-z０-９Ａ-Ｚａ-ｚ"
_RUN = re.compile(f"[{_ALNUM}+＋][{_ALNUM}×*＊@＠._．+＋\\-－—–~ \u3000·•]{{4,}}")
# Points and plus signs belong to a number only inside it (a sentence may end with an ASCII point), the plus of +86 apart.
_TOKEN = re.compile(r"\+?[^\s·•\-+._](?:[^\s·•\-]*[^\s·•\-+._])?")
_GAPS = re.compile(r"[\s·•\-]")
_UNITS = ("元", "万", "亿", "%", "％")
_DIGITS = re.compile(r"[0-9０-９OoIl]")
# Two X among other letters belong to a name (wxxing01); three, or two among digits alone, are a mask.
_MASK = re.compile(r"[×*＊]|X{3}|\A[^A-WYZ]*XX[^A-WYZ]*\Z")
_BETWEEN = re.compile(r"[\s、,，/;；和及或与]{1,3}")
_CUE_REACH = 16
_MAX_TOKENS = 8
_MIN_VISIBLE = 6
# The shortest number of all rules: five digits of a QQ number, or a plate of letters with two digits.
_MIN_DIGITS = 2


class _Hit(NamedTuple):
    start: int
    end: int
    rule: Identifier
    rank: int  # 3 cue and form, 2 check digit, 1 form alone
    before: str  # where its cue was looked for


class _Compiled(NamedTuple):
    rule: Identifier
    form: re.Pattern[str]
    loose: re.Pattern[str]
    cue: re.Pattern[str] | None
    before: str
    after: str


class IdentifierScanner:
    """Finds numbers by the ``identifier`` rules and certificates by the ``certificate`` rules."""

    def __init__(self, rules: DeidTables) -> None:
        self._rules = [
            _Compiled(
                rule=table,
                form=re.compile(table.form),
                loose=re.compile(table.loose or table.form),
                cue=re.compile(f"(?:{table.cue})") if table.cue else None,
                before=table.before,
                after=table.after,
            )
            for table in rules.identifier
        ]
        self._uncued = [compiled for compiled in self._rules if compiled.rule.decision != "cue"]
        self._any_cue = re.compile("|".join(f"(?:{table.cue})" for table in rules.identifier if table.cue) or "(?!)")
        self._certificates = [(table, re.compile(table.pattern)) for table in rules.certificate]

    def find(self, text: str, zones: Zones) -> list[Span]:
        """All identifiers, in order of their start; certificates may overlap them."""
        spans: list[Span] = []
        last: _Hit | None = None
        for match in _RUN.finditer(text):
            run = match.group()
            if ("@" not in run and "＠" not in run and len(_DIGITS.findall(run)) < _MIN_DIGITS) or zones.overlap(*match.span()):
                continue
            for hit in self._in_run(text, match.start(), match.end(), last):
                spans.append(Span(hit.start, hit.end, hit.rule.entity, hit.rule.id))
                last = hit
        for table, pattern in self._certificates:
            if table.trigger in text:
                spans += [
                    Span(*found.span("id"), table.entity, table.id)
                    for found in pattern.finditer(text)
                    if not zones.overlap(*found.span("id"))
                ]
        return spans

    def _in_run(self, text: str, start: int, end: int, last: _Hit | None) -> Iterator[_Hit]:
        folded = text[start:end].translate(_FOLD)
        tokens = [token.span() for token in _TOKEN.finditer(folded)][:64]
        at = 0
        while at < len(tokens):
            best: _Hit | None = None
            taken = at + 1
            for stop in range(min(len(tokens), at + _MAX_TOKENS), at, -1):
                low, high = tokens[at][0], tokens[stop - 1][1]
                hit = self._judge(text, start + low, start + high, folded[low:high], last)
                if hit is not None and (best is None or hit.rank > best.rank):
                    best, taken = hit, stop
            if best is not None:
                yield best
                last = best
            at = taken

    def _judge(self, text: str, start: int, end: int, folded: str, last: _Hit | None) -> _Hit | None:
        squeezed = _GAPS.sub("", folded)
        upper = squeezed.upper()
        before = self._before(text, start, last)
        best: _Hit | None = None
        nearest = -1
        visible = sum(char.isdigit() for char in squeezed)
        digits = squeezed.translate(_CONFUSED).upper() if 2 * visible > len(squeezed) else upper
        masked = _MASK.search(upper) is not None
        dotted = folded.upper() if "@" in folded or "." in folded else None
        # Without a cue only a form or a check digit decides.
        for compiled in self._rules if self._any_cue.search(before) else self._uncued:
            rule = compiled.rule
            for raw in (dotted,) if dotted is not None else (upper,) if upper == digits else (upper, digits):
                strict = compiled.form.fullmatch(raw) is not None
                loose = strict or compiled.loose.fullmatch(raw) is not None
                if loose:
                    break
            if masked:
                strict, loose = False, visible >= _MIN_VISIBLE
            if not loose:
                continue
            cue = _last(compiled.cue, before)
            if cue < 0 and not strict:
                continue
            low, high = start, end
            if compiled.before:
                if not start or text[start - 1] not in compiled.before:
                    continue
                low -= 1
            if compiled.after and text[end : end + 1] and text[end] in compiled.after:
                high += 1
            valid = bool(rule.check) and CHECKS[rule.check](raw)
            rank = 3 if cue >= 0 else 2 if valid and rule.decision != "cue" else 1 if strict and rule.decision == "form" else 0
            if text[end : end + 1] in _UNITS or (rank < 3 and text[start - 1 : start] == "第"):
                continue
            if rank == 3 and best is not None and best.rank == 3 and (cue, valid) <= (nearest, False):
                continue
            if rank and (best is None or rank > best.rank or (rank == best.rank == 3)):
                best = _Hit(low, high, rule, rank, before)
                nearest = cue
        return best

    @staticmethod
    def _before(text: str, start: int, last: _Hit | None) -> str:
        """Where cues are looked for: up to 16 characters, not past another number, found now or masked before.

        In a list the cue of the first number holds for all; so that a masked list reads like the list it was, masks are passed
        over in the same way.
        """
        if last is not None and last.end < start:
            if _BETWEEN.fullmatch(text, last.end, start):
                return last.before
            low = max(last.end, start - _CUE_REACH)
        else:
            low = max(0, start - _CUE_REACH)
        before = text[low:start]
        while "×" in before:
            head, _, tail = before.rpartition("×")
            if not _BETWEEN.fullmatch(tail):
                return tail
            low = low + len(head.rstrip("×"))
            before = text[max(0, low - _CUE_REACH) : low]
        return before


def _last(cue: re.Pattern[str] | None, before: str) -> int:
    """Where the last cue in ``before`` ends, or -1."""
    if cue is None:
        return -1
    end = -1
    for match in cue.finditer(before):
        end = match.end()
    return end
