"""Citations of law in running text: which law, which article, where; and whether they hold at a date.

Found are titles in brackets (《民法典》第五百条), names of known laws without (刑法第67条), short names that a text
introduces (以下简称), 该法 and 同法, and numbers of interpretations (法释〔2020〕17号), with runs of articles, paragraphs, items.
"""

import datetime
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import ahocorasick_rs

from lexmill.core.rulebook import Fault, Rulebook
from lexmill.core.structure.laws import Law, LawIndex, fold
from lexmill.core.structure.numerals import NUMERAL, value

VERDICTS: Final = ("cites_repealed", "citation_out_of_range", "placeholder_citation")
"""What may be wrong with a citation: the law was repealed, it never had the article, or a blank stands for law or article."""


class Citation(NamedTuple):
    """``text[start:end]`` cites ``law`` (the title as the table has it, else as printed; empty for 第X条 alone).

    ``law_id``: its rule id in the table, or None. ``path``: 条67/款3/项2 as of segments (Taiwan's 項 and 款 are 款 and 项 here
    too), empty where the law is cited as a whole. ``article``: its number, 0 without one. ``is_placeholder``: 第X条, 《XX法》.
    ``is_historic``: the text itself says that the law is an old one (原《合同法》, 已废止). Offsets are code points, half-open.
    """

    law: str
    law_id: str | None
    path: str
    article: int
    start: int
    end: int
    is_placeholder: bool
    is_historic: bool


_BLANK = r"[ \t\u3000\xa0]{0,3}"
_BLANKS = "XxＸｘ×某*＊_＿□△"
_TITLE = re.compile(
    r"《((?:[^《》\n]|《[^《》\n]{1,60}》){2,90})》|〈([\u4e00-\u9fff][^〈〉\n]{1,60})〉|[<＜﹤]([\u4e00-\u9fff][^<>＜＞﹤﹥《》\n]{1,60})[>＞﹥]"
)
_ISSUERS = ("法释", "法发", "高检发释字", "高检发", "国发", "国办发", "法办发", "公通字")
_NUMBER = re.compile(
    rf"(?:{'|'.join(_ISSUERS)}){_BLANK}[〔\[（(【﹝〈［]{_BLANK}(?:19|20)[0-9]{{2}}{_BLANK}[〕\]）)】﹞〉］]"
    rf"{_BLANK}第?{_BLANK}[0-9]{{1,3}}{_BLANK}号"
)
_ASIDE = rf"(?:{_BLANK}[（(](?:[^（）()\n]|[（(][^（）()\n]{{0,30}}[）)]){{1,90}}[）)]){{0,2}}"
_TO_ARTICLE = re.compile(
    rf"({_ASIDE}){_BLANK}(?:之|中|的|里)?{_BLANK}"
    rf"(?=第{_BLANK}[{NUMERAL}{_BLANKS}]{{1,9}}(?:[-、,，和及与至]第?[{NUMERAL}]{{1,9}}|{_BLANK}){{0,9}}{_BLANK}[条條]|[0-9]{{1,4}}{_BLANK}[条條])"
)
_PART = re.compile(
    rf"{_BLANK}(以及|及其|[、,，；;和及与與或至到～~—–-]|)(?:的|中|之|其中)?{_BLANK}(第?){_BLANK}"
    rf"([（(]?){_BLANK}([{NUMERAL}]{{1,9}}(?:-[0-9]{{1,2}})?|[{_BLANKS}]{{1,4}}){_BLANK}[）)]?{_BLANK}"
    rf"(?:([条條款项項目])(?:之{_BLANK}([一二三四五六七八九十0-9]{{1,2}})(?![百千年月日元]))?)?"
)
_WEAK = frozenset(",，；;")
_ARTICLE = frozenset("条條")
_LEVEL = {"条": 0, "條": 0, "款": 1, "项": 2, "項": 2, "目": 3}
# Taiwan: 第184條第1項第2款 is article, paragraph, item.
_LEVEL_TAIWAN = {"条": 0, "條": 0, "項": 1, "项": 1, "款": 2, "目": 3}
_STEPS = ("条", "款", "项", "目")

_SHORT = re.compile(
    r"(?:以下|下文|下|后)(?:简|统|均|合|通)?称(?:为|作)?[：:]?[《“\"‘「『〈<]?([^《》“”\"’「」『』〈〉<>（）()，,。；;\n]{1,24}(?:（[一二三四五]）)?)"
)
_SAME = tuple(
    f"{that}{law}第" for that in "该該同此" for law in ("法典", "法", "解释", "规定", "条例", "條例", "办法", "细则", "批复")
)
_PLACEHOLDER_TITLE = re.compile(rf"[{_BLANKS}]{{2,}}|\A[{_BLANKS}](?=法|条例)|\A(?:某|相关)(?=法)")
# A blank in a form (本合同第____条) is no citation.
_PLACEHOLDER_ARTICLE = re.compile(rf"(?<![同议约款程])第{_BLANK}[{_BLANKS}…]{{1,4}}{_BLANK}[条條]")
# A title in brackets that the table does not know is a law if it is called one.
_LAW = re.compile(
    r"(?:法|法典|条例|條例|通则|细则|細則|解释|解釋|办法|辦法|规则|規則|规定|規定|决定|批复|意见|通知|答复|公约|议定书|修正案|纲要|标准|复函|纪要)"
    r"(?:[（(][^（）()]{1,16}[）)])?\Z"
)
_WEAK_LAW = re.compile(r"(?:办法|规则|规定|决定|批复|意见|通知|答复|标准|复函|细则|纲要|纪要)(?:[（(][^（）()]{1,16}[）)])?\Z")
_NOTICE = re.compile(r"(?:决定|批复|意见|通知|答复|标准|复函|纪要|纲要)\Z")
_HIGH = re.compile(r"最高人民|国务院|全国人|全国法院")
_PUBLIC = re.compile(
    r"中华人民共和国|最高人民|国务院|全国|[省市区县州]|高级人民法院|部|委员会|总局|关于|管理|登记|鉴定|认定|标准|征收|补偿|实施|若干"
)
_PRIVATE = re.compile(
    r"公司|员工|集团|本院|学校|小区|业主|考勤|奖惩|内部|章程|合同|协议|约定|手册|制度|起诉意见|鉴定意见|审核意见|意见书|通知书|决定书|评估|医院|银行"
    r"|方法|说法|办案|事故认定|做法|用法|书法|语法|句法|兵法|食疗|想法|看法"
)
_FOREIGN = re.compile(
    r"(?:(?<![我中和])国|(?<![我中民])國|[移军軍]|日本|瑞士|台湾|臺灣|香港|澳门|意大利|俄罗斯|罗马|欧盟|联邦)(?:的|现行|刑事|民事)?\Z"
)
_STATE = "中华人民共和国"
_OLD = re.compile(r"(?:原|旧|原来的|废止的|失效的|当时的|修订前的|修正前的)[《〈]?\Z")
_GONE = re.compile(r"废止|失效|已被|取代|旧法|原法")
# What says that a law is meant where no article follows its bare name: 根据合同法的规定.
_CITED = re.compile(r"(?:的|中|之|对此)?(?:有关|相关|明确)?规定")
# Or what stands before and after it: 根据中国的继承法，; 依照合同法规定.
_INTRODUCING = re.compile(r"(?:根据|依据|按照|依照)(?:中国|我国)?(?:的|现行)?\Z")
_INTRODUCED = re.compile(r"规定|[，,]")
# An article in force, quoted, may name a law that is gone: 保险法第四十二条：……依照继承法的规定.
_QUOTED = re.compile(r"第[^第\n]{1,12}[条條][：:][^\n]*\Z")
_QUOTATION = 300
_EXAMPLE = re.compile(r"(\d{4}-\d{2}-\d{2}) (.+)", re.DOTALL)
# What may not follow a bare name: 合同法律, 婚姻法庭, 公司法人.
_WORD_GOES_ON = frozenset("律院庭学人理则规")


class _Anchor(NamedTuple):
    start: int
    end: int
    title: str
    law: Law | None
    is_bare: bool


class CitationFinder:
    """Finds citations with the tables of one run; compiled once, not to be pickled."""

    def __init__(self, laws: LawIndex) -> None:
        self._laws = laws
        self._names = [*laws.names, *_SAME, *_ISSUERS]
        self._words = ahocorasick_rs.AhoCorasick(
            self._names,
            matchkind=ahocorasick_rs.MatchKind.LeftmostLongest,
            implementation=ahocorasick_rs.Implementation.DFA,
        )

    def find(self, text: str) -> list[Citation]:
        """All citations in ``text``, sorted by start; a run of articles gives one each, a range its two ends."""
        anchors = self._anchors(text)
        citations: list[Citation] = []
        short: dict[str, tuple[str, Law | None]] = {}
        done = 0
        queue = sorted(anchors)
        i = 0
        while i < len(queue):
            anchor = queue[i]
            i += 1
            if anchor.start < done:
                continue
            title, law = short.get(fold(anchor.title), (anchor.title, anchor.law))
            if anchor.title == "":
                # 该条例 is no 法: what it stands for was not found.
                kind = text[anchor.start + 1 : anchor.end]
                last = citations[-1].law.rstrip("典）（一二三四五") if citations else ""
                if not last.endswith(kind.rstrip("典")) or (kind == "法" and last.endswith(("办法", "辦法"))):
                    continue
                title, law = citations[-1].law, self._laws.by_id.get(citations[-1].law_id or "")
            found = self._at(text, anchor, title, law)
            if not found:
                continue
            citations += found
            done = found[-1].end
            aside = _TO_ARTICLE.match(text, anchor.end)
            introduced = _SHORT.search(aside[1] if aside else text[anchor.end : anchor.end + 60].split("。")[0].split("《")[0])
            introduced = introduced or _SHORT.match(text, anchor.end)
            if introduced and fold(introduced[1]) not in short:
                name = introduced[1]
                short[fold(name)] = (found[0].law, self._laws.by_id.get(found[0].law_id or ""))
                if fold(name) not in self._names:
                    more = self._short(text, name, done)
                    queue = queue[:i] + sorted([*queue[i:], *more])
        return _with_placeholders(text, citations)

    def _anchors(self, text: str) -> list[_Anchor]:
        anchors = []
        inside: list[int] = []
        ends: list[int] = []
        for match in _TITLE.finditer(text):
            title = match[match.lastindex or 1]
            inside.append(match.start())
            ends.append(match.end())
            anchors.append(_Anchor(match.start(), match.end(), title, None, is_bare=False))
        for index, start, end in self._words.find_matches_as_indexes(text):
            at = bisect_right(inside, start) - 1
            if at >= 0 and ends[at] > start:
                continue
            name = self._names[index]
            if name in _SAME:
                anchors.append(_Anchor(start, end - 1, "", None, is_bare=True))
            elif name in _ISSUERS:
                number = _NUMBER.match(text, start)
                if number:
                    anchors.append(_Anchor(start, number.end(), number[0], None, is_bare=False))
            else:
                start -= len(_STATE) if text.endswith(_STATE, 0, start) else 0
                anchors.append(_Anchor(start, end, name, None, is_bare=True))
        return anchors

    def _short(self, text: str, name: str, begin: int) -> list[_Anchor]:
        found = []
        at = text.find(name + "第", begin)
        while at >= 0:
            found.append(_Anchor(at, at + len(name), name, None, is_bare=True))
            at = text.find(name + "第", at + 1)
        return found

    def _at(self, text: str, anchor: _Anchor, title: str, law: Law | None) -> list[Citation]:
        """The citations that start at ``anchor``: none where it is no law after all."""
        to_article = _TO_ARTICLE.match(text, anchor.end)
        run = _run(text, to_article.end()) if to_article else []
        taiwan = any("條" in text[start:end] for start, end, _, _ in run) or "條例" in title
        folded = fold(title)
        known = law or self._laws.by_title.get("TW" if taiwan else "CN", {}).get(folded) or self._laws.by_number.get(folded)
        is_number = bool(_NUMBER.fullmatch(anchor.title))
        is_placeholder = not anchor.is_bare and bool(_PLACEHOLDER_TITLE.search(title)) and bool(_LAW.search(title))
        is_placeholder = is_placeholder and not _PRIVATE.search(title)
        before = text[max(0, anchor.start - 8) : anchor.start]
        if anchor.is_bare:
            if not run and (known is None or not _is_cited(text, anchor.end, before)):
                return []
            if _FOREIGN.search(before):
                return []
        elif known is None and not is_number and not is_placeholder and title == anchor.title and not _is_law(title, bool(run)):
            return []
        historic = bool(_OLD.search(before)) or bool(to_article and _GONE.search(to_article[1]))
        historic = historic or bool(re.match(rf"{_BLANK}[（(][^）)]{{0,12}}(?:废止|失效)", text[anchor.end : anchor.end + 20]))
        name = known.title if known else title
        law_id = known.id if known else None
        if not run:
            historic = historic or bool(_QUOTED.search(text[max(0, anchor.start - _QUOTATION) : anchor.start]))
            return [Citation(name, law_id, "", 0, anchor.start, anchor.end, is_placeholder, historic)]
        first = run[0]
        run = [(anchor.start, first[1], first[2], first[3]), *run[1:]]
        return [
            Citation(name, law_id, path, article, start, end, is_placeholder or article < 0, historic)
            for start, end, path, article in run
        ]


def _is_cited(text: str, end: int, before: str) -> bool:
    """Whether the bare name of a law that ends at ``end`` is meant as one, where no article follows it."""
    if _INTRODUCING.search(before) and _INTRODUCED.match(text, end):
        return True
    return text[end : end + 1] not in _WORD_GOES_ON and bool(_CITED.match(text, end))


def _is_law(title: str, has_article: bool) -> bool:
    if not _LAW.search(title) or _PRIVATE.search(title):
        return False
    if _NOTICE.search(title) and not has_article:
        return bool(_HIGH.search(title))
    return not _WEAK_LAW.search(title) or bool(_PUBLIC.search(title)) or (has_article and len(title) > 4)


def _run(text: str, begin: int) -> list[tuple[int, int, str, int]]:
    """Start, end, path and article (-1: a blank) of each article, paragraph or item cited in the run that starts at ``begin``."""
    found: list[tuple[int, int, str, int]] = []
    path: list[str] = []
    pending: list[tuple[int, int, str]] = []
    article = 0
    joins = False
    levels = _LEVEL
    at = begin
    while True:
        match = _PART.match(text, at)
        if not match:
            break
        separator, ordinal, bracket, numeral, unit, suffix = match.groups()
        if unit is None:
            # A number without its unit shares that of the next one: 第六十七、七十二条.
            if not (ordinal or pending) or match.end() == at or (found and not separator and not ordinal):
                break
            if not pending:
                joins = bool(found) and not separator
            pending.append((match.start(4), match.end(4), numeral))
            at = match.end()
            continue
        if not found and not pending and unit not in _ARTICLE:
            break
        if unit == "條":
            levels = _LEVEL_TAIWAN
        level = levels[unit]
        if found and not separator and not pending and level < len(path):
            break
        if separator in _WEAK and not ordinal:
            break
        if found and not ordinal and not bracket and not pending and (level == 0) and separator in _WEAK:
            break
        if not pending:
            joins = bool(found) and not separator
        for start, end, number in [*pending, (match.start(2) if ordinal else match.start(4), match.end(), numeral)]:
            label = _label(number, suffix if end == match.end() else None)
            if level == 0:
                article = value(number.split("-")[0]) or -1
            if level > len(path) and level > 1 and len(path) == 1:
                path.append("款1")
            step = f"{_STEPS[level]}{label}"
            path = [*path[:level], step]
            if joins:
                found[-1] = (found[-1][0], end, "/".join(path), article)
            else:
                found.append((start, end, "/".join(path), article))
            joins = False
        pending = []
        at = match.end()
    return found


def _label(numeral: str, suffix: str | None) -> str:
    main, _, dashed = numeral.partition("-")
    number = value(main)
    more = suffix or dashed
    return f"{'?' if number is None else number}{f'-{value(more)}' if more else ''}"


def _with_placeholders(text: str, citations: Sequence[Citation]) -> list[Citation]:
    """``citations`` and every 第X条 that belongs to none of them."""
    starts = [citation.start for citation in citations]
    alone = []
    for match in _PLACEHOLDER_ARTICLE.finditer(text):
        at = bisect_right(starts, match.start()) - 1
        if at < 0 or citations[at].end <= match.start():
            alone.append(Citation("", None, "条?", -1, match.start(), match.end(), True, False))
    return sorted([*citations, *alone], key=lambda citation: citation.start)


class StatuteTables(Rulebook):
    """The laws of ``rules/statutes``; the compiled finder is kept with it, so it does not pickle once used."""

    law: tuple[Law, ...] = ()

    @cached_property
    def laws(self) -> LawIndex:
        """The laws by id, title and number."""
        return LawIndex(self.law)

    @cached_property
    def finder(self) -> CitationFinder:
        """Finds citations of these laws, and of others by the form of their titles."""
        return CitationFinder(self.laws)

    def faults(self) -> list[Fault]:
        """Dates in order, names of one law only, successors that exist, and every example with its verdict."""
        owners: dict[tuple[str, str], str] = {}
        faults = []
        for law in self.law:
            for name in (law.title, *law.aliases):
                owner = owners.setdefault((law.jurisdiction, fold(name)), law.id)
                if owner != law.id:
                    faults.append(Fault(law.id, f"{name} is a name of {owner} too; a name belongs to one law"))
            dates = [version.since for version in law.versions]
            if dates != sorted(set(dates)) or (law.repealed and law.repealed <= dates[-1]):
                faults.append(Fault(law.id, "give versions from the oldest to the newest, and repealed after the newest"))
            if law.replaced_by and law.replaced_by not in self.laws.by_id:
                faults.append(Fault(law.id, f"replaced_by: there is no {law.replaced_by}"))
            faults += self._unproven(law)
        return faults

    def _unproven(self, law: Law) -> list[Fault]:
        faults = []
        for kind, examples in (("keep", law.keep), ("drop", law.drop)):
            for number, example in enumerate(examples, 1):
                match = _EXAMPLE.fullmatch(example)
                if not match:
                    faults.append(Fault(law.id, f"{kind} example {number}: write a date, a blank and a text"))
                    continue
                cited = [citation for citation in find(match[2], self) if citation.law_id == law.id]
                found = next(filter(None, (verdict(one, datetime.date.fromisoformat(match[1]), self) for one in cited)), None)
                if not cited:
                    faults.append(Fault(law.id, f"{kind} example {number}: does not cite this law"))
                elif (found is None) == (kind == "drop"):
                    faults.append(Fault(law.id, f"{kind} example {number}: the verdict is {found or 'that all is well'}"))
        return faults


def find(text: str, tables: StatuteTables) -> list[Citation]:
    """All citations in ``text``, sorted by start; for many texts keep a ``CitationFinder``, or use ``tables.finder``."""
    return tables.finder.find(text)


def verdict(citation: Citation, date: datetime.date | None, tables: StatuteTables) -> str | None:
    """One of VERDICTS, or None where the citation holds at ``date`` (None: by all that the tables know, as of today's law)."""
    if citation.is_placeholder:
        return "placeholder_citation"
    law = tables.laws.by_id.get(citation.law_id or "")
    if law is None:
        return None
    if law.repealed and (date is None or date >= law.repealed):
        return None if citation.is_historic else "cites_repealed"
    last = law.last_article(date)
    return "citation_out_of_range" if last is not None and citation.article > last else None


def judge(citations: Sequence[Citation], date: datetime.date | None, tables: StatuteTables) -> Mapping[str, int]:
    """How many citations a text has (``citations``), and how many got each verdict of VERDICTS at ``date`` (None: today's law).

    ``date`` is that of the document (``meta.judgment_date``, ``version_date``); questions and forms have none.
    """
    counts = dict.fromkeys(("citations", *VERDICTS), 0)
    counts["citations"] = len(citations)
    for citation in citations:
        found = verdict(citation, date, tables)
        if found:
            counts[found] += 1
    return counts
