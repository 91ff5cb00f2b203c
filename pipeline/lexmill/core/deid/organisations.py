"""Trade names of organisations: found by how they end, and by their short forms; then followed through the whole document."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lexmill.core.deid.lexer import find_names, matches_at
from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import DeidTables, Evidence
from lexmill.core.deid.tagger import Mention
from lexmill.core.deid.words import (
    BRAND,
    BRAND_RULE,
    IMPRINT,
    ORGANISATION,
    OWNED,
    SHORT_FORM,
    SHORT_FORM_RULE,
    SITES,
    USED,
    all_words,
)
from lexmill.core.deid.zones import Zones

_HAN = "\u4e00-\u9fa5"
_REACH = 40
# What no brand is named, whoever has one: 我们, 别人, 公司.
_NO_BRAND = re.compile("[我你他她它们人谁本该各自己方厂店]|公司|企业|品牌|商标|产品|名字|什么|没有|互联|[官内外型电联上]网|网络")
_MODEL_RULE = "model.organisation"
# Nats by which the model must prefer an organisation.
_SURE: dict[Evidence, float] = {"story": 0.5, "cue": 9.0, "label": math.inf}
# Read backwards: what a name is made of, with at most closed brackets in it.
_BACKWARDS = re.compile(rf"(?:[{_HAN}A-Za-zＡ-Ｚａ-ｚ0-9·&＆]|[）)][{_HAN}A-Za-z]{{1,12}}[（(]){{1,{_REACH}}}")
_BRANCH = re.compile(rf"(?:（[{_HAN}]{{2,8}}）)?[{_HAN}]{{0,14}}?(?:分公司|支公司|支行|分行|营业部|分理处|营业所)")
# What stands before 公司 where no name does: 该公司, 本公司, …，公司.
_NO_TRADE = frozenset("该本贵各的与和向对由将为在至是，。；、：（\n1234567890某×")
# 商行政管理, 厂区, 厂房, 公司法, 厂级 are no ends of names.
_NO_END = frozenset("政区房家长商址法级")
_MASKED = re.compile(r"某|×|[XxＸ]{2}|[*＊]")
_PLACE = re.compile(rf"[{_HAN}]{{2,8}}?(?:省|市|区|县|镇|乡|州)")
# A date, an amount or an article ends before a name.
_FACT = re.compile(
    r"(?:[0-9]{4})?年[0-9]{1,2}月(?:[0-9]{1,2}日)?|[0-9](?:万|亿)?元|[0-9][万亿]|第?[一二三四五六七八九十百零]+[条款项]"
)
# A character of each.
_FACT_ENDS = frozenset("月元万亿条款项")
_LEADS = frozenset("0123456789年（(一二两三四五六七八九十几")
# 一箱 of 一箱泽沛食品有限公司.
_WARES = "[一二两三四五六七八九十几][箱台辆件批份瓶袋盒套]"
_LEADING = re.compile(
    rf"(?:[0-9]+(?:[年月日时分]|万?元)|年(?=[0-9]))*[0-9]*(?:{_WARES})?(?:[（(](?:[{_HAN}]{{1,12}}|[A-Za-z])[）)])?"
)
_REGISTERED = "有限"
_COUNTRY = "中国"
_BRAND_REACH = 24
_BRACKETS = ("（", "(")
# Where the imprint of a book stands, its press; lines of a printed page break anywhere.
_PRESS = re.compile(f"(?:[\n：:，, 　]|\\A)(?P<name>[{_HAN}]{{2,8}}出版社)(?=[\n，,（( 　]|\\Z)")
_REGISTERED_FORM = "有限公司"
_NOTED = re.compile(f"[（(][{_HAN}A-Za-z]{{1,12}}[）)]")
# What is longer is no trade name alone, but names a trade that no list holds.
_LONG_CORE = 5
# Two verbs that are a trade.
_TRADE = "进出口"
# Places that hold a character which elsewhere ends what stands before a name (和, 内, 大).
_PLACES = frozenset(("加拿大", "内蒙古", "以色列", "土耳其", "埃及", "呼和浩特", "内江", "即墨", "从化", "应城", "如皋", "如东"))
# What stands left of a name that is masked or left out in part: 中国××实业有限公司.
_BLANKED = ("×", "*", "＊", "_", "＿")
_LATIN = "A-Za-zＡ-Ｚａ-ｚ"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_STAND_IN = re.compile("[甲乙丙丁戊](?:国|市|县|公司|银行|厂|店)")
_NOTE = "(?:（[^（）\n]{1,20}）)?[：:]?[ \u3000]?"
_ROLE_REACH = 36
# Whose name is followed by its part in the contract is a party: 泽沛进口总公司（以下简称甲方）.
_CALLED = re.compile(
    "[（(](?:以下|下)(?:均|统|简)?称[为：:]?[ ]?[“\"‘']?"
    "(?:[甲乙丙丁]方|[买卖]方|[供需]方|[发承]包[人方]|[出承]租[人方]|[委受]托[人方])"
)
# What stands behind the name of a party that fills its line.
_FILLED = re.compile(
    "[ \u3000\t]*(?:\n|\\Z|[（(](?:盖章|公章|签章|签字|章|以下|简称|甲方|乙方)|[ \u3000]{2}|，(?:以下简称|地址|住所|法定代表))"
)


class _Kind(NamedTuple):
    rule: str
    entity: str


class OrganisationScanner:
    """Finds organisations by the ``organisation`` and ``alias`` rules."""

    def __init__(self, rules: DeidTables) -> None:
        self._kinds: dict[str, _Kind] = {}
        for table in rules.organisation:
            for suffix in (*table.suffixes.split(), *table.doubtful.split()):
                self._kinds.setdefault(suffix, _Kind(table.id, table.entity))
        self._doubtful = frozenset(suffix for table in rules.organisation for suffix in table.doubtful.split())
        self._suffixes = tuple(sorted(self._kinds, key=lambda word: (-len(word), word)))
        self._words = all_words(rules)
        boundary = (*rules.words("org_boundary"), *rules.words("org_role"))
        self._single = re.compile(f"[{''.join(word for word in boundary if len(word) == 1)}]")
        self._boundary = re.compile(
            "|".join(sorted((word for word in boundary if len(word) > 1), key=lambda word: (-len(word), word)))
        )
        generic = sorted(rules.words("org_generic"), key=lambda word: (-len(word), word))
        words = f"(?:{'|'.join(generic)}|[一二三四五六七八九十两几]+[家个])*\\Z"
        self._generic = re.compile(words)
        # 租 of 融资租赁, 系 of 系统集成: what such a word holds ends no name if trades follow it; where it stands there.
        trades, inner = rules.words("org_trade"), rules.words("org_inner")
        self._inner = frozenset(inner)
        self._holders: dict[str, list[tuple[str, int]]] = {}
        for holder in (*trades, *inner):
            for word in dict.fromkeys(boundary):
                if word in holder and word != holder:
                    self._holders.setdefault(word, []).append((holder, holder.index(word)))
        held = sorted(
            {holder for holders in self._holders.values() for holder, _ in holders}, key=lambda word: (-len(word), word)
        )
        self._held = re.compile("|".join(held))
        tail = sorted({*trades, *generic}, key=lambda word: (-len(word), word))
        self._tail = re.compile(f"(?:{'|'.join(tail)})*\\Z")
        self._form = re.compile(f"(?:{'|'.join(tail)}){{0,4}}?(?:{'|'.join(self._suffixes)})")
        # 甲公司, A公司, A食品股份有限公司 of exams and examples.
        self._placeholder = re.compile(f"^[{_STEMS}]{words}|(?<![{_LATIN}])[{_LATIN}](?![{_LATIN}0-9])")
        roles = sorted(rules.words("org_role"), key=lambda word: (-len(word), word))
        self._part = re.compile(f"(?:{'|'.join(roles)}){_NOTE}\\Z")
        self._role = re.compile(f"(?:(?:{'|'.join(roles)}){_NOTE}|[：:“][ \u3000]?)\\Z")
        self._verbs = frozenset(rules.characters("org_verb"))
        provinces = "|".join(rules.words("province"))
        self._province = re.compile(f"(?:{provinces})(?:省|市|自治区)?")
        self._city = re.compile(f"(?:{'|'.join(rules.words('city'))})市?")
        forms = [cue for table in rules.alias if table.id == SHORT_FORM_RULE for cue in table.cues.split()]
        self._short = re.compile(
            f"(?:{'|'.join(sorted(forms, key=lambda cue: (-len(cue), cue)))})[为：:]?[ ]?[“\"‘']?"
            f"(?P<name>[{_HAN}A-Za-z]{{2,14}})[”\"’']?(?=[）)，,；;。、])"
        )

        brands = [cue for table in rules.alias if table.id == BRAND_RULE for cue in table.cues.split()]
        cues = "|".join(sorted(brands, key=lambda cue: (-len(cue), cue)))
        name = f"(?:(?![的我了是在有])[{_HAN}A-Za-z]){{2,8}}"
        self._named = re.compile(
            f"(?:{cues})[：:]?[ ]?[“\"‘']?(?P<name>{name}?)[”\"’']?(?=[）)，,。；;？?\n、]|[和与的]|算|是否|\\Z)"
        )
        self._owned = re.compile(
            f"(?:^|[\n。，？！ 的])(?P<name>{name}?)早?已经?(?:注册|注)了?[0-9一二三四五六七八九、]{{0,6}}类?[{_HAN}]{{0,2}}商标"
        )
        self._site = re.compile(f"(?:在|从|到|通过)(?P<name>{name}?网)\\Z")
        self._used = re.compile(f"用(?P<name>{name}?)(?:算|会|是否)(?:不算|不会)?(?:构成)?侵权")

    def kind(self, name: str) -> _Kind:
        """The rule and entity that the end of ``name`` tells; a name without such an end is taken for a company's."""
        for suffix in self._suffixes:
            if name.endswith(suffix):
                return self._kinds[suffix]
        return next(iter(self._kinds.values()))

    def find(self, text: str, zones: Zones, evidence: Evidence, mentions: Sequence[Mention]) -> list[Span]:
        """All mentions of organisations with a trade name, sorted and disjoint.

        Where a name needs more than its place in the story, only a company form shows one.
        """
        names: dict[str, _Kind] = {}
        full: dict[str, _Kind] = {}
        ends: set[int] = set()
        for word, suffix_start, suffix_end in zones.hits.of(ORGANISATION):
            suffix = self._words[word]
            if text[suffix_end : suffix_end + 1] in _NO_END:
                continue
            start = self._start(text, suffix_start, suffix, evidence)
            if start is None or not self._is_shown(text, start, suffix_start, suffix, evidence):
                continue
            end = suffix_end
            branch = _BRANCH.match(text, end)
            if branch is not None and not self._single.search(branch.group()) and not self._boundary.search(branch.group()):
                end = branch.end()
            name = text[start:end]
            if not zones.overlap(start, end):
                full.setdefault(name, self._kinds[suffix])
                ends.add(end)
        tried = set(full)
        for start, end, label, margin in mentions:
            if label != "ORGANISATION" or margin <= _SURE[evidence] or text[start:end] in tried or zones.overlap(start, end):
                continue
            # The unit of an amount begins no name.
            if text[start] == "元" and text[start - 1 : start].isdigit():
                start += 1
            if evidence != "story":
                start += max((word.end() for word in self._boundary.finditer(text[start:end])), default=0)
            name = text[start:end]
            tried.add(name)
            if self.is_trade_name(name) and (evidence == "story" or not self._is_placeholder(name, text)):
                names[name] = _Kind(_MODEL_RULE, self.kind(name).entity)
        shorts = zones.hits.starts(SHORT_FORM)
        for match in matches_at(self._short, text, shorts) if shorts else ():
            name = match["name"]
            if self._is_short_form(text, match.start(), name, ends) and not zones.overlap(*match.span("name")):
                names.setdefault(name, _Kind(SHORT_FORM_RULE, self.kind(name).entity))
        for word, at, _ in zones.hits.of(BRAND):
            brand = self._brand(text, self._words[word], at)
            if brand is None:
                continue
            start, end = brand.span("name")
            name = text[start:end]
            plain = self._verbs.isdisjoint(name) and not self._single.search(name) and not self._boundary.search(name)
            common = self._generic.match(name) or _NO_BRAND.search(name) or _MASKED.search(name)
            if plain and not common and not zones.overlap(start, end):
                names.setdefault(name, _Kind(BRAND_RULE, self.kind(name).entity))
        if evidence != "story":
            for press in _PRESS.finditer(text) if zones.hits.has_any(IMPRINT, IMPRINT) else ():
                names.setdefault(press["name"], self._kinds[_REGISTERED_FORM])
            # What a form calls a firm after it gave its whole name: 泽沛公司, 泽沛茶 of 某市泽沛茶叶有限公司.
            for name, kind in list(full.items()):
                core = self._core(name)
                for short in (f"{core}公司", f"{core}集团", core):
                    if len(short) > 2 and len(core) > 1 and short in text:
                        names.setdefault(short, kind)
                # 泽沛茶叶公司, another form of it or another firm of the same people.
                for other in self._with_trade(text, core) if len(core) > 1 else ():
                    names.setdefault(other, kind)
        names = {**full, **names}
        if not names:
            return []
        self._shorten(text, names)
        keys = list(names)
        spans = []
        for index, start, end in find_names(zones.hits.codes, keys):
            if not zones.overlap(start, end):
                spans.append(Span(start, end, names[keys[index]].entity, names[keys[index]].rule))
        return spans

    def _with_trade(self, text: str, core: str) -> Iterator[str]:
        """What stands in ``text`` as ``core`` with trades and a company form behind it."""
        at = text.find(core)
        while at >= 0:
            form = self._form.match(text, at + len(core))
            if form:
                yield text[at : form.end()]
            at = text.find(core, at + 1)

    def _shorten(self, text: str, names: dict[str, _Kind]) -> None:
        """Take what stands before the province from names that mostly stand without it: 一旦 of 一旦辽宁泽沛外贸公司."""
        for name in list(names):
            province = self._province.search(name, 1) if _REGISTERED not in name else None
            if province is None or province.group() == _COUNTRY or name[province.start() - 1] in "（(":
                continue
            rest = name[province.start() :]
            if name[province.end() :] in self._suffixes:
                continue  # 泽沛财险安徽分公司
            if text.count(rest) > text.count(name) * (1 if rest in names else 2):
                names.setdefault(rest, names[name])
                del names[name]

    def _is_shown(self, text: str, start: int, suffix_start: int, suffix: str, evidence: Evidence) -> bool:
        """Whether the name at ``start`` is one by its suffix, its place or the words before it."""
        if _REGISTERED in suffix or (
            evidence != "story"
            and text[suffix_start + len(suffix) : suffix_start + len(suffix) + 1] in _BRACKETS
            and _CALLED.match(text, suffix_start + len(suffix))
        ):
            return True
        if not self._verbs.isdisjoint(text[start:suffix_start]) and not self._verbs.isdisjoint(
            self._held.sub("", text[start:suffix_start].replace(_TRADE, ""))
        ):
            return False
        if evidence != "story":
            # A party of a form fills its line: 甲方：蓝天工业进出口公司.
            part = self._part.search(text, max(0, start - _ROLE_REACH), start)
            colon = part is not None and text[start - 1] in "：: \u3000" and ("：" in part.group() or ":" in part.group())
            if colon and _FILLED.match(text, suffix_start + len(suffix)) is not None:
                return True
            # 上海泽沛印刷厂: a place, a name, a trade.
            province = self._province.match(text, start, suffix_start)
            trade = text[province.end() : suffix_start] if province is not None and province.group() != _COUNTRY else ""
            tail = self._tail.search(trade)
            if tail is not None and len(trade) > tail.start() > 1:
                return True
            # 泉州卷烟厂: a city and a trade.
            city = self._city.match(text, start, suffix_start)
            return (
                city is not None
                and suffix_start - city.end() > 1
                and self._tail.match(text[city.end() : suffix_start]) is not None
            )
        if suffix not in self._doubtful:
            return True
        name = text[start:suffix_start]
        return (
            self._province.match(name) is not None
            or _PLACE.match(name) is not None
            or self._role.search(text, max(0, start - _ROLE_REACH), start) is not None
        )

    def _start(self, text: str, suffix: int, ending: str, evidence: Evidence) -> int | None:
        """Where the name begins that ends with ``ending`` at ``suffix``; None if there is no trade name."""
        if suffix == 0 or text[suffix - 1] in _NO_TRADE:
            return None
        run = _BACKWARDS.match(text[max(0, suffix - _REACH) : suffix][::-1])
        if run is None:
            return None
        before = run.group()[::-1]
        start = suffix - len(before)
        if text[start - 1 : start] in _BLANKED:
            return None
        labelled = start > 0 and text[start - 1] in "：:“"
        if evidence != "story" and labelled:
            labelled = self._part.search(text, max(0, start - _ROLE_REACH), start) is not None
        registered = _REGISTERED in ending
        cut, held = self._last(self._boundary, before, 0, registered)
        if not _FACT_ENDS.isdisjoint(before):
            for fact in _FACT.finditer(before, cut):
                cut = fact.end()
        if evidence != "story":
            cut = max(cut, before.rfind("公司") + len("公司")) if "公司" in before else cut
        if not labelled:
            cut, more = self._last(self._single, before, cut, registered)
            held |= more
        before = before[cut:]
        if before[:1] in _LEADS:
            before = _LEADING.sub("", before, count=1)
        province = self._province.search(before)
        trade = before[: province.start()] + before[province.end() :] if province else before
        place = _PLACE.match(trade)
        if place:
            trade = trade[place.end() :]
        placed = place or (province and province.group() != _COUNTRY)
        if len(trade) < 2 or self._placeholder.search(trade) or _MASKED.search(before):
            return None
        # A registered company of a place may have no other name: 某市能源投资有限公司.
        if self._generic.match(trade) and not (placed and registered):
            return None
        # 来租赁公司, 车辆租赁公司.
        if held and not placed:
            tail = self._tail.search(trade)
            core = trade[: tail.start()] if tail else trade
            if len(core) < 2 or not self._verbs.isdisjoint(self._held.sub("", core)):
                return None
        return suffix - len(before)

    def _last(self, words: re.Pattern[str], before: str, cut: int, registered: bool) -> tuple[int, bool]:
        """Where the last of the ``words`` in ``before`` ends that no trade holds, and whether one holds any behind that."""
        held = False
        for word in words.finditer(before, cut):
            holders = self._holders.get(word.group())
            inside = holders is not None and any(
                before.startswith(holder, word.start() - place)
                and (registered or holder not in self._inner or holder in _PLACES)
                and (holder in _PLACES or self._tail.match(before, word.start() - place + len(holder)))
                for holder, place in holders
                if place <= word.start()
            )
            held = held or inside
            if not inside:
                cut = word.end()
        return cut, held

    def _brand(self, text: str, word: str, at: int) -> re.Match[str] | None:
        """The name that stands near one of the words of ``BRAND``, which begins ``at``."""
        low = max(0, at - _BRAND_REACH)
        if word == OWNED:
            return self._owned.search(text, low, at + len(word)) if "注" in text[low:at] else None
        if word == USED:
            return self._used.search(text, low, at + len(word)) if "用" in text[low:at] else None
        if word in SITES:
            return self._site.search(text, low, at + 1)
        return self._named.match(text, at)

    def _core(self, name: str) -> str:
        """The name of a registered company without its place, its trade and its form; empty where what is left is a word."""
        trade = _NOTED.sub("", name[: name.rfind(_REGISTERED)].removesuffix("股份")) if _REGISTERED in name else ""
        # What stands before the province is no part of it: 一箱 of 一箱上海泽沛食品有限公司.
        province = self._province.search(trade)
        trade = trade[province.end() :] if province else trade
        place = _PLACE.match(trade)
        trade = trade[place.end() :] if place else trade
        common = self._tail.search(trade)
        core = trade[: common.start()] if common else trade
        plain = self._verbs.isdisjoint(core) and not self._boundary.search(core) and not self._single.search(core)
        return core if plain and len(core) < _LONG_CORE and not self._placeholder.search(f"{core}公司") else ""

    def is_trade_name(self, name: str) -> bool:
        """Whether what the model takes for an organisation ends like one and has a name of its own."""
        if not name.endswith(self._suffixes) or _MASKED.search(name) or "\n" in name:
            return False
        suffix = next(suffix for suffix in self._suffixes if name.endswith(suffix))
        trade = name.removesuffix(suffix)
        clause = self._single.search(trade) or self._boundary.search(trade) or _FACT.search(trade)
        return len(trade) > 1 and not (clause or self._generic.match(trade) or self._placeholder.search(trade))

    @staticmethod
    def _is_placeholder(name: str, text: str) -> bool:
        """Whether a made-up case names a place or a letter (the 广州公司 that somebody founded in 广州, 香港甲公司)."""
        trade = name.removesuffix("公司")
        return bool(_STAND_IN.search(name)) or f"在{trade}" in text.replace(name, "") or f"{trade}市" in text

    def _is_generic_company(self, name: str) -> bool:
        """Whether ``name`` is a kind of company or a placeholder (项目公司, A公司): no short form leads to anybody."""
        trade = name.removesuffix("公司")
        return self._generic.match(trade) is not None or self._placeholder.search(trade) is not None

    def _is_short_form(self, text: str, cue: int, name: str, ends: set[int]) -> bool:
        if _MASKED.search(name) or self._generic.match(name) or self._is_generic_company(name):
            return False
        opening = max(text.rfind("（", max(0, cue - 24), cue), text.rfind("(", max(0, cue - 24), cue))
        return opening in ends or (name.endswith("公司") and len(name) > 3)
