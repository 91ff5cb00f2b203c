"""Who a judgment is between: the party block as spans, each party with its role, birth date, address and representatives."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lexmill.core.structure.segment import Segment


class Span(NamedTuple):
    """``text[start:end]``; code points, half-open."""

    start: int
    end: int


class Agent(NamedTuple):
    """Who acts for a party: ``role`` is 法定代表人, 委托诉讼代理人, 辩护人 or the like; ``firm`` is the lawyer's."""

    role: str
    name: Span
    firm: Span | None


class Party(NamedTuple):
    """``role`` as printed, without blanks and without what follows in brackets (上诉人, 被告人, 公诉机关 …).

    ``also``: the bracketed roles (原审被告); ``birth``: the date alone; ``address``: behind 住, 住所地 and the like up to a stop.
    """

    role: str
    also: str
    name: Span
    birth: Span | None
    address: Span | None
    agents: tuple[Agent, ...]


_GAP = r"[ \u3000]{0,6}"
_EARLIER = "原审 一审 二审 再审 原一审 附带民事诉讼 附带民事 反诉 原審 反訴"
_PARTIES = (
    "公诉机关 抗诉机关 执行机关 赔偿义务机关 复议机关 自诉人 原告人 原告 被告单位 被告人 被告 第三人 上诉人 被上诉人 申请人"
    " 被申请人 申请执行人 被执行人 再审申请人 申请再审人 复议申请人 申请复议人 异议人 案外人 利害关系人 申诉人 被申诉人"
    " 赔偿请求人 起诉人 被起诉人 罪犯 被害人 债权人 债务人"
    " 公訴人 自訴人 上訴人 被上訴人 聲請人 相對人 抗告人 債權人 債務人 參加人"
)
_AGENTS = (
    "法定代表人 代表人 负责人 主要负责人 经营者 诉讼代表人 法定代理人 指定代理人 委托代理人 委托诉讼代理人 共同委托代理人"
    " 共同委托诉讼代理人 诉讼代理人 特别授权代理人 辩护人 指定辩护人 委托辩护人 执行事务合伙人"
    " 訴訟代理人 選任辯護人 指定辯護人 辯護人 複代理人"
)


def _words(words: str) -> str:
    # 被告人民医院 and 被告人寿保险公司 are no 被告人; the characters of a role may be spaced to one width.
    longest_first = sorted(words.split(), key=lambda word: (-len(word), word))
    return "|".join(_GAP.join(word) + ("(?![民寿保力才])" if word.endswith("告人") else "") for word in longest_first)


_ENTRY = re.compile(
    rf"(?:(?<=[。；;\n\u3000 ])|\A)(?:(?P<party>(?:{_words(_EARLIER)})?(?:{_words(_PARTIES)}))|(?P<agent>{_words(_AGENTS)}))"
    r"(?P<also>[ \u3000]*[（(][^（）()\n]{1,40}[）)])?(?:[：:]|[一二三四五六七八九十]?、)?[ \u3000]*"
    r"(?P<name>[^，。,；;：:（(\s\u3000][^，。,；;：:（(\n\u3000]{0,59})"
)
# What may follow a role where no name does: 被告辩称, 原告与被告.
_NO_NAME = re.compile(
    r"[与和及诉辩不在因对提未均系的为称]|认为|请求|向|到庭|.*(?:因(?:涉嫌|本案|犯|有)|于[0-9]{4}|被(?:刑事|逮捕|抓获|取保)|曾因)"
)
_DAY = r"[0-9一二三四五六七八九十×xX*＊]{1,3}"
_BIRTH = re.compile(
    rf"(?:(?:19|20)[0-9]{{2}}|[×xX*＊]{{2,4}}|[一二三四五六七八九〇○零]{{4}})年[ ]?{_DAY}月(?:[ ]?{_DAY}日)?(?=出?生)"
    r"|(?<=生于)[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日|(?<=出生日期[：:])[0-9]{4}[年.-][0-9]{1,2}[月.-][0-9]{1,2}日?"
)
_ADDRESS = re.compile(
    r"(?<=[，,。；;\s\u3000])(?:户籍所在地|户籍住址|户籍地|经常居住地|现居住地|居住地|现住址|住所地|住所|住址|现住|地址|营业地|住)"
    r"(?:[及、和](?:户籍地|现住址|现住地|住址|经常居住地))?[：:]?[ \u3000]*均?[为在于]?(?P<place>[^，。,；;（(\n]{2,60})"
)
_FIRM = re.compile(r"(?:系|均系)?([^，。,；;、\n]{1,30}?(?:律师事务所|法律服务所|法律援助中心|律師事務所))")
_NAMES = re.compile(r"[^、和及]+")


def parties(text: str, segments: Sequence[Segment]) -> list[Party]:
    """The parties in the segments 当事人 of ``text``, in their order; none where there is no such segment.

    For de-identification: every ``name`` of a party, and of an agent, is the first mention of a person or an organisation, whose
    later mentions are the same string or its short form; ``birth`` and ``address`` identify by themselves. The spans hold for
    ``text`` as it is: take them before masking. A procuratorate (公诉机关, 抗诉机关) and an authority are parties too.
    """
    return [party for part in segments if part.kind == "当事人" for party in _block(text, part.start, part.end)]


def _block(text: str, start: int, end: int) -> Iterator[Party]:
    entries = [entry for entry in _ENTRY.finditer(text, start, end) if not _NO_NAME.match(entry["name"])]
    party: Party | None = None
    for i, entry in enumerate(entries):
        limit = entries[i + 1].start() if i + 1 < len(entries) else end
        if entry["party"]:
            if party:
                yield party
            begin, stop = entry.span("name")
            party = Party(
                role=_plain(entry["party"]),
                also=_plain(entry["also"] or "").strip("（）()"),
                name=Span(begin, begin + len(text[begin:stop].rstrip())),
                birth=_span(_BIRTH.search(text, stop, limit), 0),
                address=_span(_ADDRESS.search(text, stop, limit), "place"),
                agents=(),
            )
        elif party:
            party = party._replace(agents=(*party.agents, *_agents(text, entry, limit)))
    if party:
        yield party


def _agents(text: str, entry: re.Match[str], limit: int) -> Iterator[Agent]:
    start = entry.start("name")
    firm = _span(_FIRM.search(text, entry.end("name"), limit), 1)
    for name in _NAMES.finditer(entry["name"].rstrip()):
        if name[0].strip():
            blank = len(name[0]) - len(name[0].lstrip())
            span = Span(start + name.start() + blank, start + name.start() + len(name[0].rstrip()))
            yield Agent(_plain(entry["agent"]), span, firm)


def _plain(words: str) -> str:
    return re.sub(r"[ \u3000]", "", words)


def _span(match: re.Match[str] | None, group: int | str) -> Span | None:
    return Span(*match.span(group)) if match else None
