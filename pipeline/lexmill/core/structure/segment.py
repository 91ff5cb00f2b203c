"""Cut a document into segments that tile it: code decides the order, the cues are data in ``rules/segment``."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from lexmill.core.structure.numerals import values
from lexmill.core.structure.outline import Cut, cut_clauses, cut_statute
from lexmill.core.structure.rules import Mark, Marks, SegmentRules


class Segment(NamedTuple):
    """A ``kind`` of text from ``start`` to ``end`` (code points, half-open); ``confidence`` (0 to 1) that it is that.

    ``path``: its number, from the outermost: 编1/章2/条120-1/款2/项3, 题4, 问2; empty where nothing is numbered.
    """

    kind: str
    start: int
    end: int
    confidence: float
    path: str


# Where no cue says what a stretch of text is.
_GUESS = 0.3
_LIKELY = 0.8
# Cues as sure as this outrank weaker ones for the same place.
_STRONG = 0.9
# Headings that databases and published cases print above the parts.
_PRINTED = "judgment.line_"
# Facts of a judgment: who claims, who answers, what the court found.
_FACTS = ("诉称", "辩称", "查明")


# Numbered lines of an exam: the next question, where that number is due, and the next essay, in a paper of essays.
_STEMS = ("题干", "题干弱")
_ESSAY = "题干论"

# Headings of Taiwan, where the order stands before the facts, and the segments under them.
_TAIWAN_PARTS = {"事实段": "查明", "理由段": "理由", "论结": "依据", "署名": "落款"}


_start = itemgetter(Cut._fields.index("start"))
# Segments by the thousand: their own constructor takes three times as long.
_segment = partial(tuple.__new__, Segment)


def _tile(text: str, cuts: Iterable[Cut]) -> list[Segment]:
    """Segments from cuts: the first is moved to 0, and a blank stretch goes to the segment after it."""
    kept: list[Cut] = []
    before = 0
    for cut in sorted(cuts, key=_start):
        start = cut.start
        if start >= len(text):
            break
        # The first character nearly always says that a segment is not blank, and spares a copy of it.
        if kept and (start == before or (text[before].isspace() and text[before:start].isspace())):
            kept[-1] = cut._replace(start=before)
        else:
            kept.append(cut)
            before = start
    if not kept:
        return []
    starts, kinds, confidences, paths = zip(*kept, strict=True)
    starts = (0, *starts[1:])
    return list(map(_segment, zip(kinds, starts, (*starts[1:], len(text)), confidences, paths, strict=True)))


def _joined(cuts: Sequence[Cut]) -> list[Cut]:
    """Cuts without those that only repeat the kind before."""
    return [cut for i, cut in enumerate(cuts) if i == 0 or cuts[i - 1].kind != cut.kind]


def _cut(mark: Mark, kind: str | None = None) -> Cut:
    return Cut(mark.start, kind or mark.kind, mark.confidence)


def _reason(marks: Marks, end: int) -> Mark | None:
    """The court's own reasons: the first strong 本院认为 after the last finding of facts.

    An appeal quotes the lower court's reasons before it states its own findings. Without a strong cue: the last weak one.
    """
    last = marks.last("理由", 0, end)
    if last is None:
        return marks.last("理由弱", 0, end)
    finding = marks.last("查明", 0, last.start)
    return marks.first("理由", finding.start if finding else 0, end)


def _basis(text: str, marks: Marks, start: int, order: int) -> Mark | None:
    """The first citation in the sentence that ends with the order (依照《…》第…条之规定，判决如下：)."""
    begin = max(text.rfind("。", start, order) + 1, start)
    return marks.first("依据", begin, order)


def _facts(marks: Marks, start: int, end: int) -> list[Cut]:
    """Who claims, who answers and what the court found; weak signs of others do not interrupt a finding (供认不讳)."""
    cuts: list[Cut] = []
    for mark in marks.all(_FACTS, start, end):
        if cuts and cuts[-1].start == mark.start and cuts[-1].confidence > mark.confidence:
            continue
        if not (cuts and cuts[-1].kind == "查明" and mark.kind != "查明" and mark.confidence < _STRONG):
            cuts.append(_cut(mark))
    return _joined(cuts)


def _head(text: str, marks: Marks, end: int) -> list[Cut]:
    """Title, party block, history and facts: all that stands before ``end``, where the reasons begin."""
    heard = marks.first("审结", 0, end + 1)
    facts = _facts(marks, heard.start if heard else 0, end)
    if not heard:
        heard = marks.last("开庭", 0, (facts[0].start if facts else end) + 1)
    head_end = heard.start if heard else facts[0].start if facts else end
    party = marks.first("当事人", 0, head_end)
    history = marks.first("经过", party.start if party else 0, head_end)

    headed = party or history or heard
    if not headed:
        first = marks.all(_FACTS, 0, head_end + 1)
        headed = first[0] if first and first[0].rule_id.startswith(_PRINTED) else None
    cuts = [Cut(0, "首部", _STRONG) if headed else Cut(0, "查明", _GUESS)]
    cuts += [_cut(party)] if party else []
    cuts += [_cut(history, "审理经过" if party else "首部")] if history else []
    if heard and text[heard.start : facts[0].start if facts else end].strip():
        # What stands before a cued answer or finding is the claim; with no cue at all it is what the court found.
        cuts.append(Cut(heard.start, "诉称" if facts else "查明", _GUESS))
    return _joined([*cuts, *facts])


def _order_first(marks: Marks, order: Mark, end: int) -> list[Cut]:
    """A judgment of Taiwan: 當事人, 主文, 事實, 理由, 據上論結, signatures; each part under its own heading."""
    party = marks.first("具名", 0, order.start)
    rest = [mark for kind in ("事实段", "理由段", "论结") for mark in marks.all([kind], order.start + 1, end)]
    last = max((mark.start for mark in rest), default=order.start)
    signature = marks.first("署名", last, end)
    appendix = marks.first("附录", signature.start, end) if signature else None
    cuts = [Cut(0, "首部", _STRONG), *([_cut(party, "当事人")] if party else []), _cut(order, "主文")]
    cuts += [_cut(mark, _TAIWAN_PARTS[mark.kind]) for mark in rest]
    return _joined(sorted([*cuts, *(_cut(mark, _TAIWAN_PARTS.get(mark.kind)) for mark in (signature, appendix) if mark)]))


def _as_printed(marks: Marks, end: int) -> list[Cut]:
    """A published case that tells the result before the reasons: its own headings are the cuts."""
    printed = marks.named(_PRINTED, 0, end)
    kinds = [mark.kind for mark in printed]
    if "主文" not in kinds or "理由" not in kinds[kinds.index("主文") :]:
        return []
    return _joined([Cut(0, "首部", _STRONG), *(_cut(mark, "审理经过" if mark.kind == "经过" else None) for mark in printed)])


def _judgment(text: str, rules: SegmentRules) -> list[Cut]:
    marks = rules.marks(text, "judgment")
    end = len(text)
    order_first = marks.first("主文段", 0, end)
    if order_first:
        return _order_first(marks, order_first, end)
    opinion = marks.first("意见书", 0, end)
    if opinion:
        appendix = marks.last("附录", opinion.start, end)
        return [Cut(0, "首部", _STRONG), _cut(opinion, "理由"), *([_cut(appendix)] if appendix else [])]
    if printed := _as_printed(marks, end):
        return printed
    order = marks.last("主文", 0, end)
    signature = marks.first("落款", order.start if order else end // 2, end)
    closing = marks.first("尾部", order.start, signature.start if signature else end) if order else None
    tail = next((mark for mark in (order, closing, signature) if mark), None)
    body = tail.start if tail else end
    reason = _reason(marks, body)
    basis = _basis(text, marks, reason.start if reason else 0, order.start) if order else None
    last = signature or closing or order
    appendix = marks.first("附录", last.start, end) if last else None
    before = next((mark.start for mark in (reason, basis) if mark), body)
    parts = (reason, basis, order, closing, signature, appendix)
    return [*_head(text, marks, before), *(_cut(mark, "理由" if mark is reason else None) for mark in parts if mark)]


def _contract(text: str, rules: SegmentRules) -> list[Cut]:
    marks = rules.marks(text, "contract")
    clauses = cut_clauses(text, marks.all(("编", "章", "节", "条款"), 0, len(text)))
    cuts = [Cut(0, "首部", _STRONG)]
    signed = [mark.start for mark in marks.all(("签署",), 0, len(text))]
    for i, clause in enumerate(clauses):
        if cuts[-1].kind == "附录" and (clause.confidence < _LIKELY or not clause.path.startswith("条") or "/" in clause.path):
            # An annex counts its clauses anew; clauses that go on counting are those of the text.
            continue
        cuts.append(clause)
        following = clauses[i + 1].start if i + 1 < len(clauses) else len(text)
        is_last = i + 1 == len(clauses)
        if is_last or bisect_left(signed, clause.start) < bisect_left(signed, following):
            cuts += _signed(marks, clause.start, following, is_last=is_last)
    if not clauses:
        cuts += _signed(marks, len(text) // 2, len(text), is_last=True) or _signed(marks, 1, len(text), is_last=False)
    return _joined_ends(cuts)


def _signed(marks: Marks, start: int, end: int, *, is_last: bool) -> list[Cut]:
    """The signature page between ``start`` and ``end``, and what is annexed to it; between clauses only where it is sure."""
    signatures = marks.all(("签署",), start, end)
    signature = next((mark for mark in signatures if is_last or mark.confidence >= _STRONG), None)
    appendix = marks.first("附录", signature.start if signature else start, end) if signature or is_last else None
    return [_cut(mark) for mark in (signature, appendix) if mark]


def _joined_ends(cuts: Sequence[Cut]) -> list[Cut]:
    """``cuts`` without a signature page or annex that only goes on."""
    return [cut for i, cut in enumerate(cuts) if i == 0 or cut.kind not in ("签署", "附录") or cuts[i - 1].kind != cut.kind]


def _statute(text: str, rules: SegmentRules) -> list[Cut]:
    return cut_statute(text, rules.lines(text, "statute"))


def _exam(text: str, rules: SegmentRules) -> list[Cut]:
    if text.isspace():
        return [Cut(0, "题干", _GUESS, "题1")]
    marks = rules.marks(text, "exam")
    begin = len(text) - len(text.lstrip()) if text[0].isspace() else 0
    parts = marks.all([kind for kind in marks.kinds if kind != _ESSAY], 0, len(text))
    essays = marks.all((_ESSAY,), 0, len(text))
    if len(essays) > 1 and not any(mark.kind in ("选项", "答案") for mark in parts):
        due: list[Mark] = []
        for mark in essays:
            if _numbers(text, mark)[0] == len(due) + 1:
                due.append(mark)
        if len(due) > 1:
            stems = [Cut(mark.start, "题干", mark.confidence, f"题{number}") for number, mark in enumerate(due, 1)]
            return [*([Cut(0, "首部", _LIKELY)] if due[0].start > begin else []), *stems]
    first = next((mark.start for mark in parts if mark.kind in _STEMS and _numbers(text, mark) == (1,)), 0)
    if first > begin:
        # What stands above question 1 is the heading of the paper; without a question 2 the number counts something else.
        cuts = _questions(text, parts, first)
        if any(cut.path == "题2" for cut in cuts):
            return [Cut(0, "首部", _LIKELY), *cuts]
    return _questions(text, parts, begin)


def _numbers(text: str, mark: Mark) -> tuple[int, ...]:
    return values(text[mark.start : mark.end])


def _questions(text: str, found: Sequence[Mark], begin: int) -> list[Cut]:
    """The cuts from the stem at ``begin`` on; a numbered line is the next question only if its number is due."""
    cuts = [Cut(begin, "题干", _STRONG, "题1")]
    kind, path = "题干", "题1"
    number = 0
    for mark in found:
        if mark.start < begin:
            continue
        if mark.kind not in _STEMS:
            if kind != mark.kind:
                kind = mark.kind
                cuts.append(Cut(mark.start, kind, mark.confidence, path))
        elif mark.start == begin:
            number = _numbers(text, mark)[0]
            path = f"题{number}"
            cuts[0] = cuts[0]._replace(path=path)
        elif number and kind != "题干" and _numbers(text, mark)[0] == number + 1:
            number += 1
            kind, path = "题干", f"题{number}"
            cuts.append(Cut(mark.start, kind, mark.confidence, path))
    return cuts


def _qa(text: str, rules: SegmentRules) -> list[Cut]:
    marks = rules.marks(text, "qa")
    told = marks.all(marks.kinds, 0, len(text))
    if told:
        cuts = _joined([Cut(0, "问", _GUESS), *(_cut(mark) for mark in told)])
        if told[0].kind == "问" and not text[: told[0].start].strip():
            cuts = _joined([_cut(mark) for mark in told])
        numbers = accumulate(int(cut.kind == "问") for cut in cuts)
        return [cut._replace(path=f"问{max(number, 1)}") for cut, number in zip(cuts, numbers, strict=True)]
    begin = len(text) - len(text.lstrip())
    line_end = text.find("\n", begin)
    if line_end < 0:
        return [Cut(0, "问", _GUESS, "问1")]
    sure = _STRONG if text[begin:line_end].rstrip().endswith(("？", "?")) else 0.6
    return [Cut(0, "问", sure, "问1"), Cut(line_end + 1, "答", sure, "问1")]


_CUTTERS = {"judgment": _judgment, "contract": _contract, "exam": _exam, "qa": _qa, "statute": _statute}


def segment(text: str, doc_type: str, rules: SegmentRules) -> list[Segment]:
    """Segments that tile ``text``: the first starts at 0, each starts where the one before ends, the last ends at ``len(text)``.

    Judgments (order of 法〔2016〕221号, each as far as it is there): 首部, 当事人, 审理经过 (how the case came and was heard),
    诉称, 辩称, 查明, 理由, 依据, 主文, 尾部, 落款, 附录; in Taiwan 主文 first. Contracts: 首部, 编, 章, 节, 条款 (one a numbered
    clause or step of one), 签署, 附录. Exams: 首部, 题干, 选项, 答案, 解析. Q&A: 问, 答. Statutes: 首部, 编, 章, 节, 条 (with its
    first paragraph), 款, 项, 目, 点, 理由, 附录. An empty text has no segments. Raises KeyError for an unknown ``doc_type``.
    """
    cutter = _CUTTERS[doc_type]
    return _tile(text, cutter(text, rules)) if text else []
