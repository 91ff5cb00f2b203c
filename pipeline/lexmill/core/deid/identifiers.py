"""Numbers that identify: one scan for runs of letters and digits, then forms, check digits and the cue words before each run."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from lexmill.core.deid.checks import CHECKS
from lexmill.core.deid.lexer import matches_at
from lexmill.core.deid.runs import RunFinder
from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import DeidTables, Entity, Identifier
from lexmill.core.deid.words import ID_CUE, trigger, word_lists
from lexmill.core.deid.zones import Zones


def _spell(ranges: str) -> str:
    """All characters of a class of characters and ranges."""
    return "".join(
        chr(code) for first, last in re.findall(r"(.)(?:-(.))?", ranges) for code in range(ord(first), ord(last or first) + 1)
    )


# Full width to half width, every dash and every blank to one; nothing changes its length.
_DASHES = "\u2010-\u2015\u2212\uff0d"
_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_FOLD = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(char): fold for chars, fold in ((_spell(_DASHES), "-"), (_spell(_BLANKS), " ")) for char in chars
}
_CONFUSED = str.maketrans("OoQDlI|ZSB", "0000111258")
_ALNUM = "0-9A-Za-z０-９Ａ-Ｚａ-ｚ"
_RUN_STARTS = f"{_ALNUM}+＋"
_RUN_GOES_ON = f"{_ALNUM}×*＊@＠._．+＋~ ·•\\-{_DASHES}{_BLANKS}"
# A cue in Latin letters that runs into its number.
_LATIN_CUE = re.compile("(?:QQ|IMEI|VIN|TEL|IP|ＱＱ)(?=[0-9０-９OoIl])", re.IGNORECASE)
# What a book or a journal is known by, whatever its digits read as.
_BOOK = ("ISBN", "ISSN")
# Points and plus signs belong to a number only inside it (a sentence may end with an ASCII point), the plus of +86 apart.
_TOKEN = re.compile(r"\+?[^\s·•\-+._](?:[^\s·•\-]*[^\s·•\-+._])?")
_GAPS = re.compile(r"[\s·•\-]")
_UNITS = ("元", "万", "亿", "%", "％")
_NO_CUES = np.empty(0, np.int32)
_DIGITS = re.compile(r"[0-9０-９OoIl]")
# The last character of a number that ends in parentheses.
_CLOSING = re.compile("[(（][0-9０-９AＡ][)）]")
_OPENING = frozenset("(（")
# Two X among other letters belong to a name (wxxing01); three, or two among digits alone, are a mask.
_MASK = re.compile(r"[×*＊]|X{3}|\A[^A-WYZ]*XX[^A-WYZ]*\Z")
_BETWEEN = re.compile(r"[\s、,，/;；和及或与]{1,3}")
_LIST_GAP = 3
# The shortest number that is known without a cue and without a character before it: a mobile.
_MIN_UNCUED = 11
# The longest, with a country code; and the longest number of all, its gaps included.
_MAX_UNCUED = 24
_MAX_LENGTH = 80
_MIN_FIGURES = 4
_NOWHERE = [-1]
_CUE_REACH = 16
_MAX_TOKENS = 8
_MIN_VISIBLE = 6
_MIN_ROW = 3
# The shortest number of all rules: five digits of a QQ number, or a plate of letters with two digits.
_MIN_DIGITS = 2
# What may stand between the digits of one number, written as escapes where it cannot be seen: blanks of any width, hyphens and
# dashes, points, parentheses, and one line break. Two breaks, or the border of a field (U+001E), end every number.
_LINK = (
    "[ \\t\\u00a0\\u00ad\\u1680\\u2000-\\u200d\\u202f\\u205f\\u2060\\u3000\\ufeff()\\uff08\\uff09"
    "\\-\\u2010-\\u2015\\u2212\\uff0d.\\uff0e\\u00b7\\u2022\\u2027\\u2219\\u30fb]"
)
# The first look ahead is a plain run of such characters, which the engine tells fast; most figures end at a Chinese character.
_SCATTERED = re.compile(
    f"[0-9０-９](?=[0-9０-９XxＸｘ\r\n{_LINK[1:-1]}]{{10}})(?>(?>{_LINK}{{0,3}}(?:\r?\n{_LINK}{{0,3}})?)[0-9０-９XxＸｘ]){{10,}}"
)
_GROUP = re.compile("[0-9０-９XxＸｘ]+")
_BREAK = re.compile(f"{_LINK}*\r?\n{_LINK}*")
_FIGURE = re.compile("[0-9０-９XxＸｘ]")
_DIALLED = re.compile("(?:00)?86")
# An amount goes on with a point and one or two digits.
_DECIMALS = re.compile("[.．][0-9０-９]{1,2}(?![0-9０-９])")
_AMOUNT = re.compile(r"[0-9０-９]{3}[.．][0-9０-９]{1,2}\Z")
_ZERO_POINT = re.compile("(?<![0-9０-９])[0０][.．]\\Z")
# The kinds that are known by their digits alone, and how many these are, the longest first.
_ID_LENGTH = 18
_CARD_LENGTHS = (19, 18, 17, 16)
_MOBILE_LENGTH = 11
# Groups of a number written in groups; a shorter one shows an amount, or figures of a table.
_MIN_GROUP = 3
_MIN_GROUPS = 2


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


class _Figures(NamedTuple):
    """The digits (and X) of a scattered run, folded, with the offset of each in the text."""

    text: str
    digits: str
    places: tuple[int, ...]

    def begins(self, at: int) -> bool:
        """Whether no digit stands right before figure ``at``."""
        return at == 0 or self.places[at - 1] + 1 < self.places[at] or self.digits[at - 1] == "X"

    def ends(self, at: int) -> bool:
        """Whether no digit stands right after the figure before ``at``."""
        return at == len(self.digits) or self.places[at - 1] + 1 < self.places[at] or self.digits[at] == "X"

    def span(self, low: int, high: int) -> tuple[int, int]:
        """Where the figures ``low:high`` stand in the text, with a parenthesis before them that closes among them."""
        start, end = self.places[low], self.places[high - 1] + 1
        inside = self.text[start:end]
        for opening, closing in ("()", "（）"):
            if inside.count(closing) > inside.count(opening) and self.text[start - 1 : start] == opening:
                return start - 1, end
        return start, end

    def is_one_number(self, low: int, high: int) -> bool:
        """Whether the figures are grouped as one number is: not at all, each apart, or by three and more but for the last.

        A line break counts for nothing, but a number broken by it does not begin its line: that would be a column of figures.
        """
        start, end = self.places[low], self.places[high - 1] + 1
        written = self.text[start:end]
        line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
        if ("\n" in written and not line.strip()) or _AMOUNT.search(written):
            return False
        return _is_grouped(written) or _is_grouped(_BREAK.sub("", written))


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
            if not table.closed
        ]
        self._closed = [
            (table, re.compile(f"(?<![0-9A-Za-z])(?:{table.form})\\Z"), re.compile(table.cue))
            for table in rules.identifier
            if table.closed
        ]
        self._rules_at = list(enumerate(self._rules))
        self._uncued = [(0, compiled) for compiled in self._rules if compiled.rule.decision != "cue"]
        # The same words stand before all parts of a number, and before all of a list.
        self._last_cues = lru_cache(maxsize=256)(self._find_last_cues)
        cues = "|".join(f"(?:{table.cue})" for table in rules.identifier if table.cue) or "(?!)"
        # One look at a character spares most comparisons with all the cues.
        firsts = "".join(sorted({cue[0] for table in rules.identifier for cue in table.cue.split("|") if cue}))
        self._any_cue = re.compile(f"(?=[{re.escape(firsts)}])(?:{cues})" if re.fullmatch(r"[\w]*", firsts) else cues)
        self._leading = frozenset("".join(table.before for table in rules.identifier))
        self._by_digits = {
            table.entity: (table, re.compile(table.form))
            for table in reversed(rules.identifier)
            if table.entity in ("ID_CARD", "BANK_CARD", "MOBILE") and table.decision != "cue"
        }
        lists = word_lists(rules)
        self._cues_are_listed = ID_CUE in lists
        self._runs = RunFinder(
            starts=_RUN_STARTS,
            goes_on=_RUN_GOES_ON,
            leading="".join(map(re.escape, sorted(self._leading))),
            figures=_FIGURE.pattern[1:-1],
            linked=f"{_FIGURE.pattern[1:-1]}\r\n{_LINK[1:-1]}",
            digits="0-9０-９",
            uncued=_MIN_UNCUED if self._cues_are_listed else 0,
            reach=_CUE_REACH,
        )
        self._any_by_digits = re.compile("|".join(f"(?:{form.pattern})" for _, form in self._by_digits.values()) or "(?!)")
        self._certificates = [
            (
                table,
                # What is listed stands there.
                ("",) if trigger(table.id) in lists else tuple(table.trigger.split()),
                re.compile(table.pattern),
                next((name for name in (table.id, trigger(table.id)) if name in lists), None),
            )
            for table in rules.certificate
        ]
        # In most texts stands no word of any list.
        self._not_listed = [item for item in self._certificates if item[3] is None]
        listed = {name for *_, name in self._certificates if name is not None}
        ordered = [name for name in lists if name in listed]
        self._listed = (ordered[0], ordered[-1]) if ordered else None

    def find(self, text: str, zones: Zones) -> list[Span]:
        """All identifiers, sorted and disjoint; then certificates, which may overlap them."""
        spans: list[Span] = []
        last: _Hit | None = None
        runs, scattered = self._runs.find(zones.hits.codes, zones.hits.array(ID_CUE) if self._cues_are_listed else _NO_CUES)
        for start, end in runs:
            run = text[start:end]
            if run.startswith(_BOOK):
                continue
            mail = "@" in run or "＠" in run
            if text[end : end + 1] in _OPENING:
                closed = self._closed_by_parenthesis(text, start, end)
                if closed is not None and not zones.overlap(closed.start, closed.end):
                    spans.append(closed)
                    continue
            head = None if mail or run[0].isdigit() else _LATIN_CUE.match(run)
            if head is not None:
                start += head.end()
            # Most runs are dates and amounts: too short for what is known without a cue, and without one.
            if end - start < _MIN_UNCUED and not mail and not self._may_be_cued(text, start, last):
                continue
            digits = len(_DIGITS.findall(run))
            if not mail and digits < _MIN_DIGITS and not (digits and self._any_cue.search(text, *_reach(start))):
                continue
            if zones.overlap(start, end):
                continue
            for hit in self._in_run(text, start, end, last):
                spans.append(Span(hit.start, hit.end, hit.rule.entity, hit.rule.id))
                last = hit
        for match in matches_at(_SCATTERED, text, scattered):
            figures = _figures(text, *match.span())
            if self._any_by_digits.search(figures.digits):
                spans += self._in_figures(figures, zones)
        spans = _join(spans)
        certificates = self._certificates
        if self._listed is None or not zones.hits.has_any(*self._listed):
            certificates = self._not_listed
        for table, triggers, pattern, shown in certificates:
            starts = zones.hits.starts(shown) if shown else None
            if starts == [] or not _holds(text, triggers):
                continue
            spans += [
                Span(*found.span("id"), table.entity, table.id)
                for found in (matches_at(pattern, text, starts) if starts and shown == table.id else pattern.finditer(text))
                if not zones.overlap(*found.span("id")) and (not table.check or CHECKS[table.check](found["id"]))
            ]
        return spans

    def _find_last_cues(self, before: str) -> list[int]:
        """Where the last cue of each rule in ``before`` ends, or -1."""
        return [_last(compiled.cue, before) for compiled in self._rules]

    def _may_be_cued(self, text: str, start: int, last: _Hit | None) -> bool:
        """Whether a cue, a number of the same list, a mask or the first character of a plate stands before ``start``."""
        if (last is not None and start - last.end <= _LIST_GAP) or text[start - 1 : start] in self._leading:
            return True
        low, high = _reach(start)
        return self._any_cue.search(text, low, high) is not None or text.find("×", low, high) >= 0

    def _closed_by_parenthesis(self, text: str, start: int, end: int) -> Span | None:
        """The number at the end of the run ``start:end`` whose last character stands in parentheses behind it: A123456(3)."""
        closing = _CLOSING.match(text, end)
        if closing is None:
            return None
        folded = f"{text[start:end]}{closing.group()[1]}".translate(_FOLD)
        for table, form, cue in self._closed:
            number = form.search(folded)
            if number is not None and (
                CHECKS[table.check](number.group()) or cue.search(text, *_reach(start + number.start())) is not None
            ):
                return Span(start + number.start(), closing.end(), table.entity, table.id)
        return None

    def _in_figures(self, figures: _Figures, zones: Zones) -> Iterator[Span]:
        """Identity numbers anywhere; cards and mobiles from a border to a border, a border being also another number."""
        size = len(figures.digits)
        hits: list[tuple[int, int, Entity]] = []
        at = 0
        while at <= size - _ID_LENGTH:
            if self._is_valid("ID_CARD", figures, at, at + _ID_LENGTH):
                hits.append((at, at + _ID_LENGTH, "ID_CARD"))
                at += _ID_LENGTH
            else:
                at += 1
        starts = {at for at in range(size) if figures.begins(at)} | {high for _, high, _ in hits}
        starts |= {match.end() for match in _DIALLED.finditer(figures.digits) if match.start() in starts}
        ends = {at for at in range(1, size + 1) if figures.ends(at)} | {low for low, _, _ in hits}
        free = 0
        for low in sorted(starts):
            chain = self._chain(figures, low, ends, zones) if low >= free else ()
            if any(entity == "BANK_CARD" for _, _, entity in chain):
                hits += chain
                free = chain[-1][1]
        taken = bytearray(size + _MOBILE_LENGTH)
        for low, high, _ in hits:
            taken[low:high] = b"\1" * (high - low)
        starts |= {high for _, high, _ in hits}
        ends |= {low for low, _, _ in hits}
        for low in sorted(starts):
            high = low + _MOBILE_LENGTH
            if high in ends and taken.find(1, low, high) < 0 and self._is_mobile(figures, low, high, zones):
                hits.append((low, high, "MOBILE"))
                taken[low:high] = b"\1" * _MOBILE_LENGTH
        for low, high, entity in sorted(hits):
            # Digits that cling to an identity number are no number of their own, a country code apart.
            first, last = low, high
            while first and not taken[first - 1] and not figures.begins(first):
                first -= 1
            while last < size and not taken[last] and not figures.ends(last):
                last += 1
            if _DIALLED.fullmatch(figures.digits, first, low):
                first = low
            yield Span(*figures.span(first, last), entity, self._by_digits[entity][0].id)

    def _is_mobile(self, figures: _Figures, low: int, high: int, zones: Zones) -> bool:
        if not self._is_valid("MOBILE", figures, low, high) or not figures.is_one_number(low, high):
            return False
        start, end = figures.span(low, high)
        before = figures.text[max(0, start - 3) : start]
        return not (before.endswith("第") or _ZERO_POINT.search(before) or zones.overlap(start, end))

    def _chain(self, figures: _Figures, low: int, ends: set[int], zones: Zones) -> tuple[tuple[int, int, Entity], ...]:
        """The cards and mobiles that stand one right after another from ``low`` to one of ``ends``; none if they do not."""
        for length in (*_CARD_LENGTHS, _MOBILE_LENGTH):
            high = low + length
            if length == _MOBILE_LENGTH:
                entity, fits = "MOBILE", self._is_mobile(figures, low, high, zones)
            else:
                entity, fits = "BANK_CARD", self._is_card(figures, low, high, zones)
            if not fits:
                continue
            more = () if high in ends else self._chain(figures, high, ends, zones)
            if more or high in ends:
                return ((low, high, entity), *more)
        return ()

    def _is_card(self, figures: _Figures, low: int, high: int, zones: Zones) -> bool:
        return (
            self._is_valid("BANK_CARD", figures, low, high)
            and figures.is_one_number(low, high)
            and not zones.overlap(*figures.span(low, high))
        )

    def _is_valid(self, entity: Entity, figures: _Figures, low: int, high: int) -> bool:
        """Whether the figures have the form and the check digit of ``entity`` and are no amount."""
        if entity not in self._by_digits or high > len(figures.digits):
            return False
        rule, form = self._by_digits[entity]
        digits = figures.digits[low:high]
        if form.fullmatch(digits) is None or (rule.check and not CHECKS[rule.check](digits)):
            return False
        end = figures.places[high - 1] + 1
        return _DECIMALS.match(figures.text, end) is None and not figures.text.startswith(_UNITS, end)

    def _in_run(self, text: str, start: int, end: int, last: _Hit | None) -> Iterator[_Hit]:
        folded = text[start:end].translate(_FOLD)
        tokens = _joined_singles([token.span() for token in _TOKEN.finditer(folded)][:64])
        shows = [_DIGITS.search(folded, low, high) is not None or "@" in folded[low:high] for low, high in tokens]
        # How many figures stand before each token; running text has none.
        figures = [0, *accumulate(sum(map(str.isdigit, folded[low:high])) for low, high in tokens)]
        mail = "@" in folded
        at = 0
        while at < len(tokens):
            if True not in shows[at : at + _MAX_TOKENS]:
                at += 1
                continue
            best: _Hit | None = None
            taken = at + 1
            low = tokens[at][0]
            before = self._before(text, start + low, last)
            cued = self._any_cue.search(before) is not None
            known = cued or mail or text[start + low - 1 : start + low] in self._leading
            for stop in range(min(len(tokens), at + _MAX_TOKENS), at, -1):
                high = tokens[stop - 1][1]
                if not known and figures[stop] - figures[at] < _MIN_FIGURES:
                    break
                if high - low > _MAX_LENGTH or True not in shows[at:stop]:
                    continue
                hit = self._judge(text, start + low, start + high, folded[low:high], before, cued)
                if hit is not None and (best is None or hit.rank > best.rank):
                    best, taken = hit, stop
            if best is not None:
                yield best
                last = best
            at = taken

    def _judge(self, text: str, start: int, end: int, folded: str, before: str, cued: bool) -> _Hit | None:
        """What ``text[start:end]`` is, by the cues ``before`` it, if there are any."""
        squeezed = _GAPS.sub("", folded)
        mail = "@" in folded
        visible = sum(map(str.isdigit, squeezed))
        known = (visible >= _MIN_FIGURES and _MIN_UNCUED <= len(squeezed) <= _MAX_UNCUED) or mail
        if not (cued or known or text[start - 1 : start] in self._leading):
            return None
        upper = squeezed.upper()
        best: _Hit | None = None
        nearest = -1
        digits = squeezed.translate(_CONFUSED).upper() if 2 * visible > len(squeezed) else upper
        masked = _MASK.search(upper) is not None
        dotted = folded.upper() if mail or "." in folded else None
        # Without a cue only a form or a check digit decides.
        cues = self._last_cues(before) if cued else _NOWHERE
        for place, compiled in self._rules_at if cued else self._uncued:
            rule = compiled.rule
            cue = cues[place]
            if cue < 0 and rule.decision == "cue":
                continue
            for raw in (dotted,) if dotted is not None else (upper,) if upper == digits else (upper, digits):
                strict = compiled.form.fullmatch(raw) is not None
                loose = strict or compiled.loose.fullmatch(raw) is not None
                if loose:
                    break
            if masked:
                strict, loose = False, visible >= _MIN_VISIBLE
            if not loose:
                continue
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
            if rank == 1 and digits.removeprefix("+").isdigit() and not _is_grouped(folded):
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


def _holds(text: str, words: Sequence[str]) -> bool:
    """Whether one of ``words`` stands in ``text``."""
    for word in words:  # noqa: SIM110 - a generator takes twice as long
        if word in text:
            return True
    return False


def _is_grouped(written: str) -> bool:
    """Whether figures are grouped as one number is: not at all, each apart, or by three and more but for the last."""
    groups = [len(group) for group in _GROUP.findall(written)]
    return len(groups) < _MIN_GROUPS or set(groups) == {1} or min(groups[:-1]) >= _MIN_GROUP


def _reach(start: int) -> tuple[int, int]:
    """Where cues for what begins at ``start`` may stand."""
    return max(0, start - _CUE_REACH), start


def _joined_singles(tokens: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Tokens of one character, three and more in a row, as one: a number whose digits stand apart."""
    joined: list[tuple[int, int]] = []
    row = 0
    for start, end in tokens:
        row = row + 1 if end - start == 1 else 0
        if row < _MIN_ROW:
            joined.append((start, end))
        elif row == _MIN_ROW:
            joined[-2:] = [(joined[-2][0], end)]
        else:
            joined[-1] = (joined[-1][0], end)
    return joined


def _figures(text: str, start: int, end: int) -> _Figures:
    places = tuple(match.start() for match in _FIGURE.finditer(text, start, end))
    return _Figures(text, "".join(text[place] for place in places).translate(_FOLD).upper(), places)


def _join(spans: list[Span]) -> list[Span]:
    """Sorted, disjoint spans: those that overlap become one, with the entity and rule of the longest, or of the first."""
    joined: list[Span] = []
    longest = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        length = span.end - span.start
        if joined and span.start < joined[-1].end:
            last = joined[-1]
            label = span if length > longest else last
            joined[-1] = Span(last.start, max(last.end, span.end), label.entity, label.rule)
            longest = max(longest, length)
        else:
            joined.append(span)
            longest = length
    return joined


def _last(cue: re.Pattern[str] | None, before: str) -> int:
    """Where the last cue in ``before`` ends, or -1."""
    if cue is None:
        return -1
    end = -1
    for match in cue.finditer(before):
        end = match.end()
    return end
