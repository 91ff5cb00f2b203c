"""Addresses: province, city and county stay (法释〔2016〕19号 art. 11 (1)), the rest is masked."""

import re
from collections.abc import Iterator, Sequence

from lexmill.core.deid.lexer import matches_at
from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import Address, DeidTables
from lexmill.core.deid.tagger import Mention
from lexmill.core.deid.words import ADDRESS, DOOR, DOOR_PLACES, HALF_MASKED, IMPRINT, all_words
from lexmill.core.deid.zones import Stretches, Zones, join

_NOTHING = Stretches((), ())
_MODEL_RULE = "model.address"
# Who says where he is from names a county first; what else he is is no place.
_SELF = "address.self"
_SEAT_REACH = 24
_PLACE_REACH = 24
_OWN_CITY = "本市"
# What only the model takes for an address needs so many nats, and a number or the end of a place where people live: streets and
# townships stand in stories for the scene.
_SURE = 2.0
# No address holds what people do there.
_ACT = re.compile("[缴查抓]获|[，。；]|贩卖|盗窃|购买")
_HOME = re.compile(r"[0-9０-９]|(?:[村组号室幢栋弄巷苑屯寨社]|单元|小区|公寓|大厦|宿舍)\Z")
_HAN = "\u4e00-\u9fa5"
_STOP = '，,。；;、\n\x1e（()）“”"《》：:'
_BLOCK = re.compile(f"[：:]?[ \u3000]?(?:于|在|地为|地是|为)?(?P<body>[^{_STOP}]{{3,64}})")
_HINT = re.compile(r"[省市区县镇乡村路街道巷弄号室幢栋组旗州盟苑园庄寨屯里楼厦]")
# A cue that goes on so is another word (住所, 住院).
_NO_CUE = frozenset("所址院宅房建")
# Where an address in a sentence ends.
_END = re.compile(
    r"[的内将被与和及向对并后时]|(?<=[村组屯庄镇乡])(?:人|村民|农民|居民)"
    r"|(?<![0-9０-９])至|附近|家中|住处|楼下|门口|登记|房屋"
)
# Words after which 区 is no county.
_NO_COUNTY = "小社园街片厂校库矿景辖地住"
_DOOR = re.compile(
    rf"[0-9０-９](?:(?<=[{DOOR_PLACES}].)|(?<=[{DOOR_PLACES}]第.))[0-9０-９]{{0,4}}(?:号|弄|幢|栋|座|单元|组|室)"
    r"(?:[0-9０-９A-Za-z一二三四五六七八九十]{1,5}(?:号楼|号|弄|幢|栋|座|单元|室|房|楼|层|户|门)|[-－][0-9０-９]{1,4}){0,5}[0-9０-９]{0,5}(?:[-－][0-9０-９]{1,4})?(?![令文])"
)
# A township whose village the court masked, and a village whose township: 夏邑县泽沛镇某村, 某泽沛村.
_TOWN = re.compile(f"[省市区县州旗盟](?P<rest>(?:(?![市区县旗盟])[{_HAN}]){{2,6}}?(?:镇|乡|街道|村))\\Z")
_VILLAGE = re.compile(f"[市区县镇乡道]某(?P<rest>[{_HAN}]{{2,6}}?(?:村|镇|乡|街道))")
_TOWN_REACH = 10
# A street, a lane or a house whose number the court masked: 泽沛路XXX号, 泽沛弄某号.
_HALF_DOOR = re.compile("[路街弄巷道号幢](?:某|[×*＊]{1,6}|[XＸ]{2,6})(?:号|弄|幢|栋|座|单元|室|房)")
_STREET = re.compile(f"[{_HAN}]{{3,12}}(?<!公路)(?<!铁路)(?<!国道)(?<!省道)(?<!街道)(?<!通道)(?<!渠道)(?<!管道)")
# The seat of a press in the imprint of a book.
_BEFORE_POSTCODE = re.compile(f"(?P<place>[{_HAN}]{{3,20}}[0-9]{{1,4}}号)(?:[ 　\n]|邮寄地址|[（(]){{0,4}}邮(?:政编码|编)")
_COMMON = re.compile("[某×]|自然|行政|居民|移民|城中|农|该|的|在|到|与|和|于|往|经|从|辖区|工业|开发|社区|小区")
_MASK = re.compile(r"某[0-9０-９甲-癸]*|[×*＊_＿]+|[XxＸ]{2,}")
# 技术市场管理机构２份 counts copies.
_DIGIT = re.compile(r"[0-9０-９](?![0-9０-９]*份)")
_UNIT = re.compile(r"(?:[镇乡村路街巷组苑园庄寨屯里厦社号室幢栋]|街道|小区|社区|农场|大道|公寓|广场)\Z")
# A floor in words.
_FLOOR = re.compile(r"(?:中心|大厦|大楼|商厦|广场|公寓|[路街园城座号])[^了]{0,4}?[一二三四五六七八九十百]{1,4}[楼层室号]\Z")
_ONLY_FLOOR = re.compile(r"第?[0-9０-９一二三四五六七八九十]{1,3}[楼层]")
# 地址：　运单编号, 住在小区内, 住在这个院子里.
_NO_PLACE = re.compile(r"\s|[这该本那各]|小区\Z|.{0,3}[编区证]号\Z")
_SEX = re.compile(r"[，,（( ][男女](?![\u4e00-\u9fa5])")
_LEFT = re.compile(f"[^{_HAN}0-9A-Za-z]|[在于到至从的将与和经由往向对是为有住给把被]|位于|来到|前往")


_DATE = re.compile("[12][0-9]{3}年[0-9]{1,2}月[0-9]{1,2}日")


def _stretches(spans: list[Span]) -> Stretches:
    return Stretches(*join((span.start, span.end) for span in spans)) if spans else _NOTHING


def _joined(text: str, spans: list[Span]) -> list[Span]:
    """Sorted spans; those that overlap become one, named as the first that a rule found; dates inside stay."""
    if not spans:
        return []
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start < joined[-1].end:
            name = span if joined[-1].rule == _MODEL_RULE else joined[-1]
            joined[-1] = name._replace(start=joined[-1].start, end=max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return [piece for span in joined for piece in _without_dates(text, span)]


def _without_dates(text: str, span: Span) -> Iterator[Span]:
    """The pieces of ``span`` before, between and after the dates in it; a piece tells of a place by a figure or a unit."""
    start = span.start
    dates = [*(date.span() for date in _DATE.finditer(text, span.start, span.end)), (span.end, span.end)]
    for low, high in dates:
        if len(dates) == 1 or _DIGIT.search(text, start, low) or _UNIT.search(text, start, low):
            yield span._replace(start=start, end=low)
        start = high


def is_home(name: str, margin: float) -> bool:
    """Whether what the model takes for an address by ``margin`` nats is one where people live, without any rule."""
    return margin > _SURE and _HOME.search(name) is not None


class AddressScanner:
    """Finds addresses by the words before them (``address`` rules) and by streets with numbers."""

    def __init__(self, rules: DeidTables) -> None:
        provinces = "|".join(rules.words("province"))
        self._cues: dict[str, Address] = {}
        for table in rules.address:
            for cue in table.cues.split():
                self._cues.setdefault(cue, table)
        self._door_rule = next((table.id for table in rules.address if not table.cues), "")
        self._tables = [self._cues.get(word) for word in all_words(rules)]
        seats = [cue for cue, table in self._cues.items() if table.entity == "ORG_ADDRESS"]
        self._seat = re.compile(
            f"(?:{'|'.join(sorted(seats, key=lambda cue: (-len(cue), cue)))})[^，。；\n]{{0,{_SEAT_REACH}}}\\Z"
        )
        self._county = re.compile(
            f"(?:(?:{provinces})(?:省|市|(?:壮族|回族|维吾尔)?自治区|特别行政区)?)?"
            f"(?:(?!小区|社区)[{_HAN}]{{2,7}}?(?:自治州|地区|市|盟))?"
            f"(?:[{_HAN}]{{1,8}}?(?:自治县|自治旗|(?<![{_NO_COUNTY}])区|县|旗|市))?"
        )

    def find(self, text: str, zones: Zones, mentions: Sequence[Mention]) -> list[Span]:
        """The masked parts of all addresses, sorted and disjoint; ``mentions`` are the model's."""
        spans: list[Span] = []
        streets: list[Span] = []
        last = 0
        for word, cue_start, cue_end in sorted(zones.hits.of(ADDRESS), key=lambda match: (match[1], -match[2])):
            if cue_start < last or text[cue_end : cue_end + 1] in _NO_CUE:
                continue
            last = cue_end
            table = self._tables[word]
            assert table is not None  # it is a word of this list
            block = _BLOCK.match(text, cue_end)
            if block is None or not _HINT.search(block["body"]):
                continue
            county = self._county_end(text, block.start("body"), block.end("body"))
            if table.id == _SELF and county == block.start("body"):
                continue
            stop = _END.search(text, county, block.end("body"))
            self._add(
                text,
                county,
                stop.start() if stop else block.end("body"),
                table.id,
                self._entity(text, cue_start, table),
                zones,
                spans,
            )
        if self._door_rule:
            known = _stretches(spans)
            for match in matches_at(_DOOR, text, (end - 1 for _, _, end in zones.hits.of(DOOR))):
                if known.overlap(match.start(), match.end()):
                    continue
                start = self._place_start(text, match.start(), match.end())
                self._add(text, start, match.end(), self._door_rule, "ADDRESS", zones, spans)
            for match in _BEFORE_POSTCODE.finditer(text) if zones.hits.has_any(IMPRINT, IMPRINT) else ():
                start = self._county_end(text, *match.span("place"))
                self._add(text, start, match.end("place"), self._door_rule, "ORG_ADDRESS", zones, spans)
            for _, at, _ in zones.hits.of(HALF_MASKED):
                if _HALF_DOOR.match(text, at):
                    self._add_street(text, at + 1, zones, streets)
                for place in (_TOWN.search(text, max(0, at + 1 - _TOWN_REACH), at + 1), _VILLAGE.match(text, at)):
                    if place is None:
                        continue
                    start, end = place.span("rest")
                    if not zones.overlap(start, end) and not _COMMON.search(text, start, end):
                        spans.append(Span(start, end, "ADDRESS", self._door_rule))
        known = _stretches(spans)
        for mention in mentions:
            if mention.label != "ADDRESS":
                continue
            start = self._county_end(text, mention.start, mention.end)
            stop = _ACT.search(text, start, mention.end)
            mention = mention._replace(end=stop.start() if stop else mention.end)
            if known.overlap(start, mention.end):
                # More of an address that a rule found.
                spans.append(Span(start, mention.end, "ADDRESS", _MODEL_RULE))
            elif mention.margin > _SURE and not text[start].isdigit() and _HOME.search(text, start, mention.end):
                entity = "ORG_ADDRESS" if self._seat.search(text, max(0, start - _SEAT_REACH), start) else "ADDRESS"
                self._add(text, start, mention.end, _MODEL_RULE, entity, zones, spans)
        return _joined(text, spans + streets)

    def _place_start(self, text: str, at: int, end: int) -> int:
        """Where, behind its county, the place begins that goes on at ``at`` and ends at ``end``."""
        start = low = max(0, at - _PLACE_REACH)
        for stop in _LEFT.finditer(text, low, at):
            start = stop.end()
        return self._county_end(text, start + len(_OWN_CITY) * text.startswith(_OWN_CITY, start), end)

    def _add_street(self, text: str, end: int, zones: Zones, spans: list[Span]) -> None:
        start = self._place_start(text, end - 1, end)
        if _STREET.fullmatch(text, start, end) and not _COMMON.search(text, start, end) and not zones.overlap(start, end):
            spans.append(Span(start, end, "ADDRESS", self._door_rule))

    @staticmethod
    def _entity(text: str, cue: int, table: Address) -> str:
        line = text[max(0, cue - 80, text.rfind("\n", 0, cue)) : cue]
        return "ADDRESS" if _SEX.search(line) else table.entity

    def _county_end(self, text: str, start: int, end: int) -> int:
        county = self._county.match(text, start, end)
        assert county is not None  # every part of it may be empty
        return county.end()

    @staticmethod
    def _add(text: str, start: int, end: int, rule: str, entity: str, zones: Zones, spans: list[Span]) -> None:
        rest = text[start:end].rstrip(" \u3000")
        shown = _MASK.sub("", rest)
        digits = _DIGIT.search(shown)
        if (
            len(rest) < 2
            or _ONLY_FLOOR.fullmatch(rest)
            or (shown != rest and not digits)
            or zones.overlap(start, start + len(rest))
        ):
            return
        if digits or ((_UNIT.search(rest) or _FLOOR.search(rest)) and not _NO_PLACE.match(rest)):
            spans.append(Span(start, start + len(rest), entity, rule))
