#!/usr/bin/env python3
"""Write data-samples/: invented legal documents with planted copies, personal data and junk, and the truth about them.

Every sentence is composed from data-samples/templates/*.toml with a fixed seed, so that every run writes the same bytes.
"""

import argparse
import csv
import datetime
import gzip
import io
import json
import random
import re
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "data-samples"
SEED = 20240607
SHINGLE = 5
# Documents that are not planted copies of each other stay below this character 5-gram Jaccard.
UNRELATED = 0.55
MAX_FILE_BYTES = 700_000
JUDGMENT_LENGTH = (800, 3000)
HAN = re.compile(r"[\u4e00-\u9fff]")

WORDS: Mapping[str, list[str]] = {
    key: value.split() for key, value in tomllib.loads((SAMPLES / "templates" / "words.toml").read_text(encoding="utf-8")).items()
}

Slots = dict[str, str]
Templates = dict[str, Any]


def normalise(text: str) -> str:
    """Width folded, spaces, dashes and middle dots left out, upper case: the form in which planted values are compared."""
    return re.sub(r"[\s\-‐-―−·•・‧]", "", unicodedata.normalize("NFKC", text)).upper()


def shingles(text: str) -> frozenset[str]:
    """The character 5-grams of a text without its white space."""
    squeezed = "".join(text.split())
    return frozenset(squeezed[at : at + SHINGLE] for at in range(len(squeezed) - SHINGLE + 1))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of two sets' elements that are in both."""
    return len(one & other) / max(1, len(one | other))


def random_for(*key: object) -> random.Random:
    """A generator of its own for every document, so that more documents leave the others as they are."""
    return random.Random("/".join(str(part) for part in (SEED, *key)))


_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


def choose(rng: random.Random, template: str) -> str:
    """Resolve every ``[a|b|c]`` of a template, innermost first."""
    while _CHOICE.search(template):
        template = _CHOICE.sub(lambda found: rng.choice(found[1].split("|")), template)
    return template


def compose(rng: random.Random, template: str, slots: Mapping[str, str]) -> str:
    """Resolve the choices of a template and fill its ``{slots}``, whose values may be templates themselves."""
    text = template.strip("\n")
    while _SLOT.search(text) or _CHOICE.search(text):
        text = _SLOT.sub(lambda found: slots[found[1]].strip("\n"), choose(rng, text))
    return text


def word(rng: random.Random, kind: str) -> str:
    """A word of templates/words.toml."""
    return rng.choice(WORDS[kind])


# --- identifiers -----------------------------------------------------------------------------------------------------------

# Division codes end in 99 and births lie a century ahead: such numbers pass every check and belong to nobody.
PROVINCE_CODES = ("11", "21", "32", "33", "35", "37", "41", "42", "44", "51")
# No operator and no exchange uses these prefixes.
MOBILE_PREFIXES = ("140", "141", "142", "143", "154", "160", "161", "163", "164", "168", "169", "179")
AREA_CODES = ("0365", "0442", "0485", "0509", "0589", "0615", "0625", "0655")
# City letters that these provinces have not given out.
PLATE_HEADS = ("宁K", "宁M", "青M", "青N", "琼K", "琼M", "吉P", "吉R")
USCC_ALPHABET = "0123456789ABCDEFGHJKLMNPQRTUWXY"
_BASE36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def id_check(body: str) -> str:
    """Check digit of the first 17 digits of an 居民身份证 number (GB 11643-1999, ISO 7064 MOD 11-2)."""
    return "10X98765432"[sum(int(digit) * (2 ** (17 - at) % 11) for at, digit in enumerate(body)) % 11]


def luhn_check(body: str) -> str:
    """Luhn check digit (ISO/IEC 7812-1 annex B) to append to ``body``."""
    total = 0
    for at, digit in enumerate(reversed(body)):
        doubled = int(digit) * (2 if at % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def organisation_check(body: str) -> str:
    """Check character of the 8 characters of an organisation code (GB 11714-1997)."""
    remainder = 11 - sum(weight * _BASE36.index(c) for weight, c in zip((3, 7, 9, 10, 5, 8, 4, 2), body, strict=True)) % 11
    return {10: "X", 11: "0"}.get(remainder, str(remainder))


def uscc_check(body: str) -> str:
    """Check character of the first 17 characters of a 统一社会信用代码 (GB 32100-2015, MOD 31-3)."""
    total = sum(pow(3, at, 31) * USCC_ALPHABET.index(character) for at, character in enumerate(body))
    return USCC_ALPHABET[-total % 31]


def digits(rng: random.Random, count: int) -> str:
    """``count`` random digits."""
    return "".join(rng.choice("0123456789") for _ in range(count))


def wide(text: str) -> str:
    """ASCII as full-width characters."""
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def grouped(text: str, sizes: Iterable[int], mark: str = " ") -> str:
    """``text`` in groups of the given sizes."""
    groups, at = [], 0
    for size in sizes:
        groups.append(text[at : at + size])
        at += size
    return mark.join(groups)


def id_card(rng: random.Random, birth: datetime.date) -> str:
    """An 居民身份证 number, sometimes spaced, full-width or with a small x."""
    body = f"{rng.choice(PROVINCE_CODES)}99{rng.randrange(10, 100)}{birth.year + 100}{birth:%m%d}"
    style = rng.choice(("plain",) * 7 + ("wide", "spaced", "small"))
    sequence = rng.randrange(1000)
    while style == "small" and id_check(f"{body}{sequence:03}") != "X":
        sequence = (sequence + 1) % 1000
    number = f"{body}{sequence:03}"
    number += id_check(number)
    if style == "wide":
        return wide(number)
    if style == "spaced":
        return grouped(number, (6, 8, 4))
    return number.lower() if style == "small" else number


def mobile(rng: random.Random) -> str:
    """A mobile number, sometimes 3-4-4 or full-width."""
    number = rng.choice(MOBILE_PREFIXES) + digits(rng, 8)
    style = rng.choice(("plain",) * 6 + ("spaced", "dashed", "wide"))
    if style == "spaced":
        return grouped(number, (3, 4, 4))
    if style == "dashed":
        return grouped(number, (3, 4, 4), "-")
    return wide(number) if style == "wide" else number


def bank_card(rng: random.Random) -> str:
    """A 19-digit card number that passes Luhn, sometimes 4-4-4-4-3 or full-width."""
    body = "6299" + digits(rng, 14)
    number = body + luhn_check(body)
    style = rng.choice(("plain",) * 5 + ("spaced", "wide"))
    if style == "spaced":
        return grouped(number, (4, 4, 4, 4, 3))
    return wide(number) if style == "wide" else number


def plate(rng: random.Random) -> str:
    """A vehicle plate (GA 36-2018), old or new-energy, with or without the middle dot."""
    head = rng.choice(PLATE_HEADS)
    tail = rng.choice("DF") + digits(rng, 5) if rng.random() < 0.3 else digits(rng, 2) + rng.choice("EGHLQT") + digits(rng, 2)
    return head + ("·" if rng.random() < 0.3 else "") + tail


def landline(rng: random.Random) -> str:
    """A landline number of an area code that does not exist."""
    return rng.choice(AREA_CODES) + rng.choice("-- ") + rng.choice("5678") + digits(rng, 6)


def uscc(rng: random.Random) -> str:
    """A 统一社会信用代码 whose two check characters are right."""
    organisation = "".join(rng.choice(USCC_ALPHABET) for _ in range(8))
    body = f"91{rng.choice(PROVINCE_CODES)}99{digits(rng, 2)}{organisation}{organisation_check(organisation)}"
    return body + uscc_check(body)


def passport(rng: random.Random) -> str:
    """A passport number."""
    return rng.choice("EG") + rng.choice("JKL") + digits(rng, 7)


def email(rng: random.Random) -> str:
    """An address below a domain reserved for examples."""
    return f"{word(rng, 'mail_names')}{rng.choice(('_', '.', ''))}{digits(rng, 4)}@example.{rng.choice(('com', 'cn', 'org'))}"


# --- people, places, things -------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """An invented county with the city, province and court code that it belongs to."""

    province: str
    city: str
    county: str
    code: str  # of its court in case numbers

    @property
    def full(self) -> str:
        return self.province + self.city + self.county


PLACES = tuple(
    Place(province, city, county, f"{short}99{number:02}")
    for province, short, city, counties in (
        ("江苏省", "苏", "澄阳市", ("望湖区", "柳塘县", "东岭区")),
        ("浙江省", "浙", "云岫市", ("观潮区", "青泽县")),
        ("山东省", "鲁", "沂原市", ("历岩区", "岱南县")),
        ("四川省", "川", "锦渡市", ("浣花溪区", "沱湾县")),
        ("河南省", "豫", "嵩原市", ("伊滨区", "汝源县")),
        ("湖北省", "鄂", "荆台市", ("楚望区", "漳口县")),
        ("福建省", "闽", "榕浦市", ("鼓石区", "樟坑县")),
        ("辽宁省", "辽", "浑滨市", ("北坨区", "桓岭县")),
    )
    for number, county in enumerate(counties, 1)
)
_NUMERALS = "〇一二三四五六七八九"


def _numeral(number: int) -> str:
    tens, ones = divmod(number, 10)
    return ("" if tens == 0 else "十" if tens == 1 else _NUMERALS[tens] + "十") + (_NUMERALS[ones] if ones or not tens else "")


def date_in_numerals(date: datetime.date) -> str:
    """A date as a judgment signs it: 二〇二二年五月二十日."""
    year = "".join(_NUMERALS[int(digit)] for digit in str(date.year))
    return f"{year}年{_numeral(date.month)}月{_numeral(date.day)}日"


def date_in_text(date: datetime.date) -> str:
    """A date as the narrative writes it: 2022年5月20日."""
    return f"{date.year}年{date.month}月{date.day}日"


def article_number(number: int) -> str:
    """An article's number below 100: 第二十一条."""
    return f"第{_numeral(number)}条"


class Planted(NamedTuple):
    """One piece of personal data as it stands in a text."""

    kind: str
    written: str


class Party(NamedTuple):
    """A party to a case: its name, and what the party block says of it."""

    name: str
    line: str


@dataclass
class Cast:
    """The people and values of one document, and which of them are personal data; ``masked``: its source had masked them."""

    rng: random.Random
    place: Place
    masked: bool = False
    planted: list[Planted] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)

    def plant(self, kind: str, written: str) -> str:
        """Remember a value as personal data and return it; in a masked document it is crossed out instead."""
        if self.masked:
            return "×××"
        self.planted.append(Planted(kind, written))
        return written

    def name(self) -> str:
        """A name that is part of no other name of the document."""
        while True:
            name = self._masked_name() if self.masked else self._new_name()
            if not any(name in other or other in name for other in self._names):
                break
        self._names.append(name)
        if self.masked:
            self.masks.append(name)
        else:
            self.planted.append(Planted("name", name))
        return name

    def _masked_name(self) -> str:
        surname = word(self.rng, "surnames")
        return surname + self.rng.choice(("某某", "某", "×", "××", "某1", "某2", "某甲", "1"))

    def _new_name(self) -> str:
        rng = self.rng
        kind = rng.choices(("common", "fine", "short", "compound", "minority", "dotted", "foreign"), (46, 22, 11, 8, 5, 4, 4))[0]
        if kind == "common":
            return word(rng, "surnames") + word(rng, "given")
        if kind == "fine":
            return word(rng, "surnames") + "".join(rng.sample(WORDS["given_characters"], 2))
        if kind == "short":
            return word(rng, "surnames") + word(rng, "given_single")
        if kind == "compound":
            return word(rng, "compound_surnames") + rng.choice(
                ("".join(rng.sample(WORDS["given_characters"], 2)), word(rng, "given_after_compound"))
            )
        if kind == "minority":
            return word(rng, "minority_names")
        if kind == "dotted":
            return f"{word(rng, 'minority_first')}·{word(rng, 'minority_last')}"
        return f"{word(rng, 'foreign_first')}·{word(rng, 'foreign_last')}"

    def official(self) -> str:
        """The name of a judge, clerk or lawyer: Han."""
        while True:
            name = self.name()
            if "·" not in name and name not in WORDS["minority_names"]:
                return name

    def birth(self) -> datetime.date:
        """A birth date of 1978–1999 (its century is moved ahead in the id number)."""
        return datetime.date(self.rng.randrange(1978, 2000), self.rng.randrange(1, 13), self.rng.randrange(1, 29))

    def home(self) -> str:
        """A home address from the province down; the part below the county is what must go."""
        rng = self.rng
        if rng.random() < 0.3:
            below = f"{word(rng, 'rural_towns')}{word(rng, 'villages')}{rng.randrange(1, 12)}组{rng.randrange(1, 99)}号"
        else:
            below = (
                f"{word(rng, 'roads')}{rng.randrange(2, 400)}号{word(rng, 'estates')}{rng.randrange(1, 30)}幢"
                f"{rng.randrange(1, 5)}单元{rng.randrange(1, 25)}{rng.randrange(1, 5):02}室"
            )
        return rng.choice((self.place, *PLACES)).full + self.plant("address", below)

    def person(self) -> Party:
        """A natural person with the line of a party block."""
        rng = self.rng
        name = self.name()
        sex = rng.choice(("男", "女"))
        birth = self.birth()
        if not self.masked and any(name.startswith(f"{first}·") for first in WORDS["foreign_first"]):
            number = self.plant("passport", passport(rng))
            return Party(name, f"{name}，{sex}，{date_in_text(birth)}出生，外国籍，护照号码：{number}，现住{self.home()}")
        parts = [name, sex, f"{date_in_text(birth)}{rng.choice(('出生', '生'))}", word(rng, "ethnicities")]
        if rng.random() < 0.5:
            parts.append(word(rng, "occupations"))
        parts.append(rng.choice(("住", "住所地", "户籍地", "现住")) + self.home())
        if rng.random() < 0.75:
            cue = rng.choice(("公民身份号码", "公民身份号码：", "身份证号码：", "身份证号："))
            parts.append(cue + self.plant("id_card", id_card(rng, birth)))
        if rng.random() < 0.35:
            parts.append(rng.choice(("联系电话：", "电话", "手机号：")) + self.plant("mobile", mobile(rng)))
        return Party(name, "，".join(parts))

    def trade_name(self) -> str:
        """A company's full name."""
        if self.masked:
            return self.place.city + self.rng.choice(("××公司", "某某公司", "某建材公司"))
        return f"{self.place.city}{word(self.rng, 'trade_names')}{word(self.rng, 'trades')}有限公司"

    def company(self) -> Party:
        """A company with the lines of a party block."""
        rng = self.rng
        name = self.trade_name()
        if self.masked:
            self.masks.append(name)
        code = f"，统一社会信用代码：{self.plant('uscc', uscc(rng))}" if rng.random() < 0.7 else ""
        phone = f"，电话：{self.plant('landline', landline(rng))}" if rng.random() < 0.4 else ""
        line = f"{name}，住所地{self.place.full}{word(rng, 'roads')}产业园{rng.choice('ABCD')}座{code}{phone}"
        head = f"法定代表人：{self.name()}，{rng.choice(('总经理', '执行董事', '经理', '董事长'))}"
        return Party(name, f"{line}。\n{head}")

    def party(self, side: str) -> Party:
        """A party of a cause: ``person``, ``company`` or ``either``."""
        if side == "either":
            side = self.rng.choice(("person", "company"))
        return self.person() if side == "person" else self.company()

    def values(self) -> Slots:
        """The values that any template may use; personal ones count only where the text turns out to hold them."""
        rng, place = self.rng, self.place
        style = rng.choice(("{}元", "{:,}元", "wan"))

        def money(low: int, high: int, step: int) -> str:
            amount = rng.randrange(low, high, step)
            return (
                f"{amount / 10000:g}万元" if style == "wan" and amount >= 10000 else style.replace("wan", "{}元").format(amount)
            )

        # The facts fall under the Civil Code, the trial under the procedure law in force since 2022.
        days = [datetime.date(2021, 1, 4) + datetime.timedelta(rng.randrange(400))]
        for gap in ((20, 200), (30, 260), (20, 120), (60, 200), (15, 60), (10, 45)):
            days.append(days[-1] + datetime.timedelta(rng.randrange(*gap)))
        for at in (4, 5, 6):
            days[at] = max(days[at], datetime.date(2022, 1, 10) + datetime.timedelta(rng.randrange(30) + 30 * at))
        exhibits = rng.sample(WORDS["exhibits"], 3)
        return {
            **{f"d{at}": date_in_text(day) for at, day in enumerate(days[:6], 1)},
            "y1": str(days[3].year),
            "signed": days[6].isoformat(),
            "m1": money(110_000, 900_000, 500),
            "m2": money(30_000, 100_000, 300),
            "m3": money(8_000, 30_000, 100),
            "m4": money(3_000, 8_000, 50),
            "m5": money(2_500, 7_000, 50),
            "m6": money(300, 2_900, 5),
            "m7": money(50, 500, 5),
            "n1": str(rng.randrange(3, 10)),
            "n2": str(rng.randrange(10, 31)),
            "pct": _numeral(rng.randrange(3, 10) * 5),
            "rate": rng.choice(("百分之一", "1.2%", "1.5%", "百分之二", "0.8%")),
            "alcohol": f"{rng.randrange(820, 2400) / 10}",
            "goods": word(rng, "goods"),
            "need": word(rng, "needs"),
            "basis": word(rng, "bases"),
            "clock": word(rng, "clocks"),
            "county": place.county,
            "city": place.city,
            "town": word(rng, "towns"),
            "site": f"{word(rng, 'towns')}{word(rng, 'sites')}"
            f"{rng.choice('东西南北')}侧{rng.choice(('', f'{rng.randrange(2, 60)}号', '第一排'))}",
            "road": f"{word(rng, 'roads')}{word(rng, 'stretches')}",
            "hospital": f"{rng.choice((place.city, place.county))}{word(rng, 'hospitals')}",
            "bank": f"{place.city[:-1]}{rng.choice(('农商银行', '商业银行'))}{place.county[:-1]}支行",
            "insurer": f"{word(rng, 'trade_names')}财产保险股份有限公司{place.city[:-1]}中心支公司",
            "firm": f"{place.province}{word(rng, 'trade_names')}律师事务所",
            "co": self.trade_name(),
            "ev1": exhibits[0],
            "ev2": exhibits[1],
            "ev3": exhibits[2],
            "delay": "二百六十" if days[6].year < 2024 else "二百六十四",
            "card": self.plant("bank_card", bank_card(rng)),
            "tel": self.plant("mobile", mobile(rng)),
            "wx": self.plant("wechat", f"wx{rng.choice(('_', ''))}{word(rng, 'mail_names')}{digits(rng, 5)}"),
            "qq": self.plant("qq", "97" + digits(rng, 8)),
            "mail": self.plant("email", email(rng)),
            "plate1": self.plant("plate", plate(rng)),
            "plate2": self.plant("plate", plate(rng)),
        }

    def planted_in(self, text: str) -> tuple[Planted, ...]:
        """The personal data that a text really holds, each once."""
        return tuple(dict.fromkeys(planted for planted in self.planted if planted.written in text))

    def masks_in(self, text: str) -> tuple[str, ...]:
        """The masks that a text really holds, each once."""
        return tuple(dict.fromkeys(mask for mask in self.masks if mask in text))


# --- documents --------------------------------------------------------------------------------------------------------------


class Ref(NamedTuple):
    """Where a document is: its source, the file's path below the samples, and the record's own id."""

    source: str
    path: str
    record: str | None


# Fields that are about a document and not its text.
ABOUT = frozenset({"title", "case_number", "court", "cause", "date", "answered"})


@dataclass(frozen=True)
class Document:
    """One document: ``record`` holds its fields in writing order; a document that is a whole file has only ``text``."""

    source: str
    topic: str
    record: Mapping[str, str]
    planted: tuple[Planted, ...] = ()
    masks: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()  # what an edited copy leaves as it is
    repealed: str | None = None  # the law that it cites as if it were in force
    junk: str | None = None  # why it is none

    @property
    def text(self) -> str:
        """What dedup compares."""
        return "\n".join(value for key, value in self.record.items() if key not in ABOUT)


def spread(make: Callable[[int, int], Document], number: int, others: list[frozenset[str]], length: tuple[int, int]) -> Document:
    """The first of 60 attempts at document ``number`` whose length fits and that is unlike ``others``, else the least alike."""
    least: tuple[float, Document, frozenset[str]] | None = None
    for attempt in range(60):
        document = make(number, attempt)
        if not length[0] <= len(document.text) <= length[1]:
            continue
        grams = shingles(document.text)
        nearest = max((jaccard(grams, other) for other in others), default=0.0)
        if least is None or nearest < least[0]:
            least = (nearest, document, grams)
        if nearest < UNRELATED:
            break
    if least is None:
        raise ValueError(f"no attempt at document {number} is {length[0]} to {length[1]} characters long")
    others.append(least[2])
    return least[1]


def family(make: Callable[[int, int], Document], count: int, length: tuple[int, int]) -> list[Document]:
    """``count`` documents of one topic that are unlike each other; ``make`` takes a number and an attempt."""
    others: list[frozenset[str]] = []
    return [spread(make, number, others, length) for number in range(count)]


def bench(cast: Cast, signed: datetime.date, judges: int) -> str:
    """The tail of a judgment: one judge or three, the date, the clerk; names of two characters are spaced, as courts do."""
    rng = cast.rng

    def line(role: str) -> str:
        name = cast.official()
        if len(name) == 2 and not cast.masked:
            name = cast.plant("name", f"{name[0]}\u3000{name[1]}")
        return f"{role}\u3000\u3000{name}"

    judge = "审\u3000判\u3000员"
    lines = [line(judge)] if judges == 1 else [line("审\u3000判\u3000长"), line(judge), line(rng.choice((judge, "人民陪审员")))]
    lines.append(date_in_numerals(signed))
    if rng.random() < 0.4:
        lines.append(line("法官助理"))
    return "\n".join([*lines, line("书\u3000记\u3000员")])


class Judgments:
    """Composes judgments from their templates."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self.causes: list[Templates] = templates["cause"]

    def _start(self, masked: bool, *key: object) -> tuple[Cast, Slots]:
        """The cast of a case, and the values that every kind of case has."""
        rng = random_for("judgment", *key)
        cast = Cast(rng, rng.choice(PLACES), masked)
        slots = cast.values() | {role: cast.official() for role in "AWVL"}
        return cast, slots | self._court(cast.place) | {"serial": str(rng.randrange(101, 9999))}

    def _court(self, place: Place) -> Slots:
        return {
            "court": f"{place.city}{place.county}人民法院",
            "upper": f"{place.province}{place.city}中级人民法院",
            "code": place.code,
            "place": place.full,
        }

    def _parties(self, cast: Cast, plaintiff: Party, defendant: Party, chances: tuple[float, float]) -> Slots:
        """Both sides, each with a lawyer by its chance; ``P_with`` is his mention in the procedure."""
        slots = {"P": plaintiff.name, "P_line": plaintiff.line, "D": defendant.name, "D_line": defendant.line}
        for side, chance in zip("PD", chances, strict=True):
            lawyer = cast.official() if cast.rng.random() < chance else ""
            slots[f"{side}_lawyer"] = f"委托诉讼代理人：{lawyer}，{{firm}}律师。" if lawyer else ""
            slots[f"{side}_with"] = choose(cast.rng, f"[及其委托诉讼代理人{lawyer}|的委托诉讼代理人{lawyer}]") if lawyer else ""
        return slots

    def _write(self, cast: Cast, kind: str, texts: Templates, slots: Slots) -> Document:
        """Fill a kind's layout; ``texts`` are the templates of the cause."""
        form = self._templates[kind]
        signed = datetime.date.fromisoformat(slots["signed"])
        number = f"（{signed.year}）{slots['code']}{form['number']}{slots['serial']}号"
        alone = kind == "series" or (kind in ("civil", "criminal") and cast.rng.random() < 0.5)
        values = {key: value for key, value in (form | texts).items() if isinstance(value, str)}
        values |= {"bench": bench(cast, signed, 1 if alone else 3), "case_number": number} | slots
        body = compose(cast.rng, form["layout"], values)
        text = "\n".join([slots["court"], form["heading"], number, *filter(None, body.split("\n"))])
        record = {
            "title": compose(cast.rng, form["title"], values),
            "case_number": number,
            "court": slots["court"],
            "cause": values["name"],
            "date": slots["signed"],
            "text": text,
        }
        fixed = (slots["court"], form["heading"], number)
        return Document("judgments", f"{kind}/{values['name']}", record, cast.planted_in(text), cast.masks_in(text), fixed)

    def civil(self, cause: Templates, number: int, attempt: int) -> Document:
        """A first-instance civil judgment; the last of a cause came masked."""
        cast, slots = self._start(number == cause["count"] - 1, cause["name"], number, attempt)
        plaintiff, defendant = cause["sides"]
        slots |= self._parties(cast, cast.party(plaintiff), cast.party(defendant), (0.6, 0.3))
        came = bool(slots["D_lawyer"]) or cast.rng.random() < 0.5
        insured = "insurer" in cause
        slots |= {
            "third": f"被告：{slots['insurer']}，住所地{cast.place.full}。" if insured else "",
            "third_name": f"、{slots['insurer']}" if insured else "",
            "appearance": "{present}" if came else "{absent}",
            "reply": "{answered}" if came else "{no_defence}",
            "default": "" if came else "、第一百四十七条",
        }
        return self._write(cast, "civil", cause, slots)

    def second(self, cause: Templates, number: int, attempt: int) -> Document:
        """A second-instance civil judgment, which quotes the first instance."""
        cast, slots = self._start(False, "second", cause["name"], number, attempt)
        plaintiff, defendant = cause["sides"]
        slots |= self._parties(cast, cast.party(plaintiff), cast.party(defendant), (0.4, 0.7))
        slots |= {"first_court": slots["court"], "court": slots["upper"], "first_serial": digits(cast.rng, 4)}
        return self._write(cast, "second", cause, slots)

    def criminal(self, cause: Templates, number: int, attempt: int) -> Document:
        """A first-instance criminal judgment; the last of a crime came masked."""
        cast, slots = self._start(number == cause["count"] - 1, cause["name"], number, attempt)
        accused = cast.person()
        suspended = cast.rng.random() < 0.5
        slots |= {
            "D": accused.name,
            "D_line": accused.line,
            "V": cast.name(),
            "crime": f"{cause['name']}罪",
            "term": word(cast.rng, "terms"),
            "schooling": word(cast.rng, "schooling"),
            "probation": "{suspended}" if suspended else "",
            "counting": "{counting_suspended}" if suspended else "{counting_served}",
            "kind_articles": "第七十二条、第七十三条" if suspended else "第四十五条",
            "prosecutor": cast.official(),
            "prosecution": f"{cast.place.county[0]}检刑诉〔{slots['signed'][:4]}〕{cast.rng.randrange(11, 600)}",
        }
        return self._write(cast, "criminal", cause, slots)

    def administrative(self, cause: Templates, number: int, attempt: int) -> Document:
        """A first-instance administrative judgment."""
        cast, slots = self._start(False, cause["name"], number, attempt)
        office = f"{cast.place.city}{cast.place.county}{cause['body']}"
        slots |= self._parties(cast, cast.party("either"), Party(office, office), (0.6, 0.0))
        slots |= {"head": cast.official(), "official": cast.official()}
        return self._write(cast, "administrative", cause, slots)

    def enforcement(self, cause: Templates, number: int, attempt: int) -> Document:
        """A ruling that ends an enforcement procedure."""
        cast, slots = self._start(False, cause["name"], number, attempt)
        slots |= self._parties(cast, cast.party("either"), cast.party("either"), (0.0, 0.0))
        return self._write(cast, "enforcement", cause, slots)

    def series(self, name: str, number: int) -> Document:
        """A case of a series: one plaintiff, one form, one bench, one person after another."""
        form = self._templates["series"][name]
        shared = Cast(random_for("series", name), PLACES[0])
        signed = datetime.date(2023, 6, 20)
        common = {
            "head": shared.official(),
            "L": shared.official(),
            "bench": bench(shared, signed, 1),
            "signed": signed.isoformat(),
        }
        rng = random_for("series", name, number)
        cast = Cast(rng, PLACES[0], planted=shared.planted)
        debt = rng.randrange(1800, 46000)
        own = {
            "serial": str(form["first_serial"] + number),
            "code": PLACES[0].code,
            "county": PLACES[0].county,
            "D": cast.official(),
            "id_number": cast.plant("id_card", id_card(rng, cast.birth())),
            "d1": date_in_text(datetime.date(2021, 1, 1) + datetime.timedelta(rng.randrange(600))),
            "m1": f"{debt}.{rng.randrange(10, 99)}元",
            "m2": f"{debt // 9}元",
            "m6": f"{rng.randrange(50, 700)}元",
            "area": f"{rng.randrange(60, 190)}.{rng.randrange(10, 99)}",
        }
        return self._write(cast, "series", form, self._court(PLACES[0]) | common | own)

    def all(self, scale: int) -> list[Document]:
        """Every judgment but the series: ``scale`` times as many as the templates say."""
        makers = {
            "civil": self.civil,
            "criminal": self.criminal,
            "administrative": self.administrative,
            "enforcement": self.enforcement,
        }
        documents: list[Document] = []
        for cause in self.causes:
            documents += family(partial(makers[cause["class"]], cause), cause["count"] * scale, JUDGMENT_LENGTH)
        for cause in self.causes:
            if cause["class"] == "civil" and "insurer" not in cause:
                documents += family(partial(self.second, cause), 3 * scale, JUDGMENT_LENGTH)
        return documents


def contract(templates: Templates, form: Templates, number: int, attempt: int) -> Document:
    """A contract form; every third is blank."""
    rng = random_for("contract", form["title"], number, attempt)
    cast = Cast(rng, rng.choice(PLACES))
    filled = number % 3 != 2
    slots = cast.values() | {"blank": rng.choice(("____", "______", "【　】"))}
    slots |= {"year": str(rng.randrange(2019, 2025)), "serial": f"{rng.randrange(1, 400):03}"}

    def text(template: str, more: Slots) -> str:
        return compose(rng, template, slots | more).strip("\n")

    parties = []
    for label in (form["party_a"], form["party_b"]):
        own = {
            "label": label,
            "name": cast.name(),
            "id_number": cast.plant("id_card", id_card(rng, cast.birth())),
            "home": cast.home(),
            "phone": cast.plant("mobile", mobile(rng)),
        }
        parties.append(text(templates["filled_in" if filled else "left_blank"], own))
    if filled:
        parties += [text(templates[key], {}) for key, chance in (("account", 0.7), ("contact", 0.4)) if rng.random() < chance]
    clauses = [clause for clause in form["clauses"] if rng.random() < 0.85] + rng.sample(templates["common"], rng.randrange(5, 8))
    numbered = [f"{article_number(at)}　{text(clause, {})}" for at, clause in enumerate(clauses, 1)]
    head = [form["title"], text(templates["number"], {})]
    foot = text(templates["signature"], {}).split("\n")
    whole = "\n".join([*head, *parties, rng.choice(templates["preambles"]), *numbered, *foot])
    return Document("contracts", form["title"], {"text": whole}, cast.planted_in(whole), (), (*head, *foot))


def exam(topic: Templates, number: int, attempt: int) -> Document:
    """A multiple-choice item: one right statement among four."""
    rng = random_for("exam", topic["name"], number, attempt)
    cast = Cast(rng, rng.choice(PLACES), masked=True)
    slots = cast.values() | dict(zip("XYZ", rng.choice(("甲乙丙", "丁戊己", "王李赵", "孙周吴")), strict=True))
    if slots["X"] in WORDS["surnames"]:
        slots |= {key: f"{slots[key]}某" for key in "XYZ"}
    picked = [(rng.choice(topic["right"]), True), *((wrong, False) for wrong in rng.sample(topic["wrong"], 3))]
    rng.shuffle(picked)
    options, reasons, answer = [], [], ""
    for letter, (statement, is_right) in zip("ABCD", picked, strict=True):
        claim, _, reason = statement.partition("//")
        options.append(f"{letter}. {claim}")
        reasons.append(f"{letter}项{'正确' if is_right else '错误'}，{reason}。")
        answer = letter if is_right else answer
    record = {
        "question": compose(rng, rng.choice(topic["stems"]) + topic["ask"], slots),
        "options": "\n".join(options),
        "answer": f"答案：{answer}",
        "explanation": f"【解析】本题考查{topic['name']}。{''.join(reasons)}",
    }
    return Document("exams", topic["name"], record)


def question(templates: Templates, at: int, number: int, attempt: int) -> Document:
    """A question put to a lawyer, with its answer; every fourth says who asks."""
    topic = templates["topic"][at]
    rng = random_for("qa", at, number, attempt)
    cast = Cast(rng, rng.choice(PLACES))
    slots = cast.values() | {
        "name": cast.name(),
        "id_number": cast.plant("id_card", id_card(rng, cast.birth())),
        "home": cast.home(),
        "landline": cast.plant("landline", landline(rng)),
    }
    asker = rng.choice(templates["asker"]) if number % 4 == 1 else ""
    asked = compose(rng, asker + rng.choice(topic["questions"]), slots)
    law = rng.sample(topic["law"], rng.choice((1, 2)))
    advice = rng.sample(templates["advice"], rng.choice((1, 2)))
    answer = compose(rng, "".join([rng.choice(templates["opening"]), *law, *advice]), slots)
    date = datetime.date(2022, 1, 5) + datetime.timedelta(rng.randrange(1000))
    record = {"question": asked, "answer": answer, "answered": date.isoformat()}
    return Document("qa", f"topic {at}", record, cast.planted_in(f"{asked}\n{answer}"))


def repealed(entry: Templates, number: int) -> Document:
    """An answer given after 2021-01-01 that cites a law repealed on that day (民法典 art. 1260) as if it were in force."""
    date = datetime.date(2022 + number, 3, 11)
    record = {"question": entry["question"], "answer": entry["answer"], "answered": date.isoformat()}
    return Document("qa", "repealed", record, repealed=entry["law"])


def _statute_articles(templates: Templates, topic: Templates, city: str, rng: random.Random) -> list[tuple[str, list[str]]]:
    slots = {
        **{key: topic[key] for key in ("subject", "object", "definition", "authority", "other")},
        "city": city,
        "n2": str(rng.randrange(5, 31)),
    }

    def framed(frames: str, items: list[str]) -> list[str]:
        made = []
        for item in items:
            fine = rng.randrange(1, 9)
            sums = {"x": item, "low": f"{_numeral(fine)}百元", "high": f"{_numeral(fine + rng.randrange(1, 3))}千元"}
            made.append(compose(rng, rng.choice(templates[frames]), slots | sums))
        return made

    general = [compose(rng, article, slots) for article in templates["general"][:5]]
    general += [compose(rng, article, slots) for article in rng.sample(templates["general"][5:], 1)]
    return [
        ("总则", general),
        (rng.choice(("管理与服务", "建设与维护", "规范与保障")), framed("duty_frames", topic["duties"])),
        (rng.choice(("禁止行为", "行为规范")), framed("ban_frames", topic["bans"])),
        (
            "法律责任",
            [*framed("penalty_frames", topic["bans"]), *(compose(rng, article, slots) for article in templates["closing"])],
        ),
    ]


def statute(templates: Templates, topic: Templates, version: int, attempt: int) -> Document:
    """An invented local regulation; version 1 is its revision years later, with about half of the articles rewritten."""
    first = random_for("statute", topic["subject"], 0)
    place = first.choice(PLACES)
    adopted = datetime.date(2015, 1, 20) + datetime.timedelta(first.randrange(1500))
    chapters = _statute_articles(templates, topic, place.city, first)
    title = f"{place.city}{topic['subject']}条例"
    history = f"（{date_in_text(adopted)}{place.city}人民代表大会常务委员会通过）"
    in_force = adopted + datetime.timedelta(70)
    if version:
        rng = random_for("statute", topic["subject"], version, attempt)
        redrafted = _statute_articles(templates, topic, place.city, rng)
        chapters = [
            (heading, [new if rng.random() < 0.5 else old for old, new in zip(articles, drafts, strict=True)])
            for (heading, articles), (_, drafts) in zip(chapters, redrafted, strict=True)
        ]
        revised = adopted + datetime.timedelta(1600 + rng.randrange(400))
        history = f"{history[:-1]}　{date_in_text(revised)}修订）"
        in_force = revised + datetime.timedelta(60)
    lines, number = [f"# {title}", "", history, ""], 0
    chapters = [*chapters, ("附则", [f"本条例自{date_in_text(in_force)}起施行。"])]
    for at, (heading, articles) in enumerate(chapters, 1):
        lines += [f"## 第{_numeral(at)}章　{heading}", ""]
        for article in articles:
            number += 1
            lines += [f"{article_number(number)}　{article}", ""]
    front = [
        "---",
        f"title: {title}",
        f"date: {in_force.isoformat()}",
        f"issuer: {place.city}人民代表大会常务委员会",
        "---",
        "",
    ]
    return Document("statutes", title, {"text": "\n".join([*front, *lines])})


# --- copies and junk --------------------------------------------------------------------------------------------------------


def edited_copy(document: Document, rng: random.Random) -> Document:
    """A copy with 0.6 to 1.2 % of its characters changed, deleted or inserted; names, numbers, head and tail are spared."""
    text = document.record["text"]
    spared = [False] * len(text)
    tail = text.find("\n审\u3000判")
    for at in range(tail if tail >= 0 else len(text), len(text)):
        spared[at] = True
    for written in (*(planted.written for planted in document.planted), *document.masks, *document.fixed):
        for found in re.finditer(re.escape(written), text):
            # With the word before it, by which the value is recognised.
            for at in range(max(0, found.start() - 6), min(len(text), found.end() + 1)):
                spared[at] = True
    places = [at for at, character in enumerate(text) if HAN.match(character) and not spared[at]]
    # Two dumps of one collection differ in a few lost characters; other copies were typed or corrected.
    garbled = rng.random() < 0.3
    characters = list(text)
    for at in rng.sample(places, round(len(text) * rng.uniform(0.006, 0.012))):
        action = "change" if garbled else rng.choices(("change", "delete", "insert"), (6, 2, 2))[0]
        other = "\ufffd" if garbled else rng.choice([c for c in "的了在是为以上中不一于与其所之后" if c != text[at]])
        characters[at] = {"change": other, "delete": "", "insert": text[at] + other}[action]
    return replace(document, record={**document.record, "text": "".join(characters)})


def reworked(item: Document) -> Document:
    """A benchmark's item as question banks pass it on: options in another order, numbered, a character mistyped, no reasons."""
    question, options = item.record["question"], [option[3:] for option in item.record["options"].split("\n")]
    at = len(question) // 2
    order = [2, 0, 3, 1]
    key = order.index("ABCD".index(item.record["answer"][-1]))
    record = {
        "question": f"{question[:at]}是{question[at + 1 :]}",
        "options": "\n".join(f"（{letter}）{options[old]}" for letter, old in zip("ABCD", order, strict=True)),
        "answer": f"答案：{'ABCD'[key]}",
        "explanation": "",
    }
    return replace(item, record=record)


LOOPS = ("的" * 900, "判决如下：" * 160, "哈哈哈哈呵呵" * 90, "请登录后查看全文。" * 110)


def junk_judgments(judgments: Judgments, number: int) -> list[Document]:
    """What a dump of judgments holds besides judgments, each with the reason why it is none."""
    garbled = [judgments.civil({**cause, "count": 1}, 0, 7000 + number).text.encode() for cause in judgments.causes[:4]]
    # Control characters are stripped and undecodable bytes replaced: such texts are lost for good.
    latin = ["".join(c for c in data.decode("latin-1") if c == "\n" or not 0x7F <= ord(c) < 0xA0) for data in garbled[:2]]
    gbk = [data.decode("gbk", errors="replace") for data in garbled[2:]]
    texts = [
        ("", "empty"),
        ("", "empty"),
        (" \n\u3000\u3000\n\t \n", "white space only"),
        ("\u3000" * 40, "white space only"),
        *((loop, "repeated characters") for loop in LOOPS),
        *((text, "mojibake: UTF-8 read as Latin-1") for text in latin),
        *((text, "mojibake: UTF-8 read as GBK") for text in gbk),
    ]
    return [Document("judgments", "junk", {"title": "民事判决书", "text": text}, junk=reason) for text, reason in texts]


def junk_questions(templates: Templates) -> list[Document]:
    """Advertisements and an entry without words."""
    entries = [(entry["question"], entry["answer"], "advertisement") for entry in templates["advertisement"]]
    entries.append((" ", "\u3000", "white space only"))
    return [
        Document("qa", "junk", {"question": asked, "answer": answer, "answered": "2023-05-05"}, junk=reason)
        for asked, answer, reason in entries
    ]


def binary(number: int) -> bytes:
    """Bytes that are no text, under the head of a picture."""
    rng = random_for("binary", number)
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(rng.randrange(256) for _ in range(3000))


# --- files ------------------------------------------------------------------------------------------------------------------


MENUS = (
    ("首页", "合同范本", "文书大全", "法律法规", "律师在线", "会员登录"),
    ("网站地图", "劳动合同", "租房合同", "购销合同", "借条模板", "友情链接", "返回顶部"),
    ("全部分类", "最新上传", "下载排行", "热门标签", "意见反馈", "手机版"),
    ("登录", "注册", "找回密码", "帮助中心", "关于我们", "联系我们", "招聘信息"),
)


def page(frame: str, title: str, text: str, number: int) -> bytes:
    """A contract as a web page of the old sort: GB18030 under a gb2312 label, with menus and a footer around the text."""
    menu = "".join(f'<li><a href="/{at}/">{entry}</a></li>' for at, entry in enumerate(MENUS[number % len(MENUS)]))
    content = "".join(f"<p>\u3000\u3000{line}</p>\n" for line in text.split("\n")) if text else ""
    filled = frame.replace("{menu}", menu).replace("{title}", title).replace("{content}", content)
    return filled.encode("gb18030")


def _json_lines(records: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _packed_lines(records: list[dict[str, str]]) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as stream:
        stream.write(_json_lines(records))
    return packed.getvalue()


def _json_array(records: list[dict[str, str]]) -> bytes:
    return (json.dumps(records, ensure_ascii=False, indent=1) + "\n").encode()


def _csv(records: list[dict[str, str]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode("utf-8-sig")


WRITERS: Mapping[str, Callable[[list[dict[str, str]]], bytes]] = {
    "jsonl": _json_lines,
    "jsonl.gz": _packed_lines,
    "json": _json_array,
    "csv": _csv,
}


@dataclass
class Shelf:
    """Files being filled; ``placed`` says where every document went."""

    files: dict[str, bytes] = field(default_factory=dict)
    placed: list[tuple[Ref, Document]] = field(default_factory=list)

    def records(self, stem: str, ending: str, documents: list[Document]) -> list[Ref]:
        """Place documents as records of ``stem-N.ending``, in an order that says nothing, in files of bounded size."""
        order = list(range(len(documents)))
        random_for("order", stem).shuffle(order)
        refs: dict[int, Ref] = {}
        rows: list[dict[str, str]] = []
        size, number = 0, 1

        def flush() -> None:
            self.files[f"{stem}-{number}.{ending}"] = WRITERS[ending](rows)

        for position, at in enumerate(order, 1):
            document = documents[at]
            row = {"id": f"{Path(stem).name}-{position:05}", **document.record}
            row_bytes = sum(len(value.encode()) + 16 for value in row.values())
            if rows and size + row_bytes > MAX_FILE_BYTES:
                flush()
                rows, size, number = [], 0, number + 1
            rows.append(row)
            size += row_bytes
            refs[at] = Ref(document.source, f"{stem}-{number}.{ending}", row["id"])
            self.placed.append((refs[at], document))
        flush()
        return [refs[at] for at in range(len(documents))]

    def file(self, path: str, data: bytes, document: Document) -> Ref:
        """Place a document that is a whole file."""
        self.files[path] = data
        ref = Ref(document.source, path, None)
        self.placed.append((ref, document))
        return ref


@dataclass
class Truth:
    """What was planted, filled while the documents are placed."""

    exact: list[tuple[Ref, Ref]] = field(default_factory=list)
    edited: list[tuple[Ref, Ref]] = field(default_factory=list)
    series: list[Ref] = field(default_factory=list)
    versions: list[tuple[Ref, Ref]] = field(default_factory=list)
    benchmark: list[tuple[Ref, str]] = field(default_factory=list)

    def table(self, placed: list[tuple[Ref, Document]]) -> dict[str, Any]:
        """The content of truth.json."""
        placed = sorted(placed, key=lambda pair: (pair[0].path, pair[0].record or ""))

        def pairs(found: list[tuple[Ref, Ref]]) -> list[dict[str, Any]]:
            return [{"copy": copy._asdict(), "of": of._asdict()} for copy, of in found]

        return {
            "documents": len(placed),
            "exact": pairs(self.exact),
            "edited": pairs(self.edited),
            "series": [ref._asdict() for ref in self.series],
            "versions": [[older._asdict(), newer._asdict()] for older, newer in self.versions],
            "personal": [
                {"ref": ref._asdict(), "kind": kind, "value": normalise(written), "written": written}
                for ref, document in placed
                for kind, written in document.planted
            ],
            "masked_already": [{"ref": ref._asdict(), "written": mask} for ref, document in placed for mask in document.masks],
            "garbage": [{"ref": ref._asdict(), "reason": document.junk} for ref, document in placed if document.junk],
            "benchmark": [{"ref": ref._asdict(), "item": item} for ref, item in self.benchmark],
            "repealed": [{"ref": ref._asdict(), "law": document.repealed} for ref, document in placed if document.repealed],
        }


def truth_bytes(table: Mapping[str, Any]) -> bytes:
    """truth.json, one planted thing a line."""
    parts = []
    for key, value in table.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in value)
            parts.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


# Where the judgments of a kind stand; a part of them, and most copies, come from another dump in another format.
HOMES = {"civil": "civil", "second": "civil", "criminal": "criminal", "administrative": "other", "enforcement": "other"}
OTHER = ("judgments/other", "jsonl")
DUMP = ("judgments/dump", "jsonl.gz")


def _place_judgments(shelf: Shelf, truth: Truth, judgments: Judgments, scale: int) -> None:
    documents = judgments.all(scale)
    copied = random_for("copies").sample(range(len(documents)), 47 * scale)
    n_exact = 13 * scale
    copies = [documents[at] for at in copied[:n_exact]]
    copies += [edited_copy(documents[at], random_for("edit", at)) for at in copied[n_exact:]]
    shelves: dict[tuple[str, str], list[tuple[str, int, Document]]] = {}
    for at, document in enumerate(documents):
        home = (f"judgments/{HOMES[document.topic.split('/')[0]]}", "jsonl")
        shelves.setdefault(DUMP if at % 7 == 6 else home, []).append(("original", at, document))
    for at, document in enumerate(copies):
        shelves[OTHER if at % 3 == 2 else DUMP].append(("copy", at, document))
    junk = [document for number in range(scale) for document in junk_judgments(judgments, number)]
    shelves[DUMP] += [("junk", at, document) for at, document in enumerate(junk)]
    refs: dict[tuple[str, int], Ref] = {}
    for (stem, ending), entries in shelves.items():
        placed = shelf.records(stem, ending, [document for _, _, document in entries])
        refs |= {(role, at): ref for (role, at, _), ref in zip(entries, placed, strict=True)}
    pairs = [(refs["copy", at], refs["original", original]) for at, original in enumerate(copied)]
    truth.exact += pairs[:n_exact]
    truth.edited += pairs[n_exact:]
    series = [judgments.series(name, number) for name in ("property", "card") for number in range(11 * scale)]
    truth.series += shelf.records("judgments/series", "jsonl", series)


def _place_contracts(shelf: Shelf, truth: Truth, templates: Templates, frame: str, scale: int) -> None:
    documents: list[Document] = []
    for form in templates["form"]:
        documents += family(partial(contract, templates, form), 7 * scale, (500, 3000))
    refs = []
    for at, document in enumerate(documents):
        if at % 2:
            refs.append(shelf.file(f"contracts/form-{at:04}.txt", document.text.encode(), document))
        else:
            refs.append(shelf.file(f"contracts/page-{at:04}.html", page(frame, document.topic, document.text, at), document))
    pages = range(0, len(documents), 2)
    for number, at in enumerate(random_for("contract copies").sample(pages, 8 * scale)):
        is_exact = number < 2 * scale
        document = documents[at] if is_exact else edited_copy(documents[at], random_for("contract edit", at))
        ref = shelf.file(f"contracts/copy-{number:04}.txt", document.text.encode(), document)
        (truth.exact if is_exact else truth.edited).append((ref, refs[at]))

    def junk(path: str, data: bytes, reason: str) -> None:
        shelf.file(path, data, Document("contracts", "junk", {"text": ""}, junk=reason))

    for number in range(4 * scale):
        junk(f"contracts/menu-{number:04}.html", page(frame, "合同范本", "", number), "menu only")
    for number in range(2 * scale):
        junk(f"contracts/scan-{number:04}.txt", binary(number), "binary bytes")
    for number in range(scale):
        junk(f"contracts/empty-{number:04}.txt", b"", "empty")


def _place_exams(shelf: Shelf, truth: Truth, templates: Templates, scale: int) -> None:
    documents: list[Document] = []
    benchmark: list[Document] = []
    for topic in templates["topic"]:
        *items, last = family(partial(exam, topic), 7 * scale + 1, (150, 900))
        documents += items
        benchmark.append(last)
    rows = [{"id": f"bench-{at:03}", **document.record} for at, document in enumerate(benchmark, 1)]
    shelf.files["benchmark.jsonl"] = _json_lines(rows)
    first, second = documents[0::2], documents[1::2]
    copies, leaked = first[: 3 * scale], [*benchmark[:3], *map(reworked, benchmark[3:6])]
    refs = shelf.records("exams/bank-a", "json", first)
    others = shelf.records("exams/bank-b", "json", [*copies, *leaked, *second])
    truth.exact += list(zip(others[: len(copies)], refs[: len(copies)], strict=True))
    truth.benchmark += [(ref, row["id"]) for ref, row in zip(others[len(copies) :], rows[: len(leaked)], strict=False)]


def _place_questions(shelf: Shelf, truth: Truth, templates: Templates, scale: int) -> None:
    documents: list[Document] = []
    for at in range(len(templates["topic"])):
        documents += family(partial(question, templates, at), 6 * scale, (60, 900))
    half = len(documents) // 2
    copies = documents[: 2 * scale]
    outdated = [repealed(entry, number) for number, entry in enumerate(templates["repealed"])]
    refs = shelf.records("qa/site-a", "csv", documents[:half])
    others = shelf.records("qa/site-b", "csv", [*copies, *documents[half:], *outdated, *junk_questions(templates) * scale])
    truth.exact += list(zip(others[: len(copies)], refs[: len(copies)], strict=True))


def _place_statutes(shelf: Shelf, truth: Truth, templates: Templates) -> None:
    for at, topic in enumerate(templates["topic"]):
        document = statute(templates, topic, 0, 0)
        ref = shelf.file(f"statutes/regulation-{at:02}.md", document.text.encode(), document)
        if at % 4 == 0:
            # A revision is like its predecessor, but below what counts as the same document.
            original = shingles(document.text)
            attempts = (statute(templates, topic, 1, attempt) for attempt in range(200))
            newer = next(made for made in attempts if 0.5 < jaccard(original, shingles(made.text)) < 0.7)
            truth.versions.append((ref, shelf.file(f"statutes/regulation-{at:02}-revised.md", newer.text.encode(), newer)))


def make(scale: int) -> dict[str, bytes]:
    """Every file of the samples by its path; ``scale`` multiplies judgments, contracts, exam items and questions."""
    folder = SAMPLES / "templates"
    templates = {
        name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        for name in ("judgments", "contracts", "exams", "qa", "statutes")
    }
    shelf, truth = Shelf(), Truth()
    _place_judgments(shelf, truth, Judgments(templates["judgments"]), scale)
    _place_contracts(shelf, truth, templates["contracts"], (folder / "page.html").read_text(encoding="utf-8"), scale)
    _place_exams(shelf, truth, templates["exams"], scale)
    _place_questions(shelf, truth, templates["qa"], scale)
    _place_statutes(shelf, truth, templates["statutes"])
    shelf.files["truth.json"] = truth_bytes(truth.table(shelf.placed))
    # Written by hand, and taken along so that the samples can be run wherever they are written.
    shelf.files["demo.toml"] = (SAMPLES / "demo.toml").read_bytes()
    return shelf.files


def _content(path: Path, data: bytes) -> bytes:
    """What must not differ: of a packed file its content, since builds of zlib pack differently."""
    return gzip.decompress(data) if path.suffix == ".gz" else data


def differences(out: Path, files: Mapping[str, bytes]) -> list[str]:
    """Paths that are missing, changed or left over under ``out``, sorted."""
    folders = {path.split("/")[0] for path in files if "/" in path}
    found = {str(path.relative_to(out)) for folder in folders for path in (out / folder).rglob("*") if path.is_file()}
    changed = {
        path
        for path, data in files.items()
        if not (out / path).is_file() or _content(out / path, (out / path).read_bytes()) != _content(out / path, data)
    }
    return sorted(changed | (found - set(files)))


def write(out: Path, files: Mapping[str, bytes]) -> None:
    """Write the files below ``out`` and remove what an earlier run left there."""
    for path in differences(out, files):
        if path not in files:
            (out / path).unlink()
    for path, data in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(data)


def main() -> int:
    """Write or check the samples; 1 if ``--check`` finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=SAMPLES, help="folder to write (default: data-samples)")
    parser.add_argument("--scale", type=int, default=1, help="multiplies the number of documents")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if what is there differs")
    arguments = parser.parse_args()
    files = make(arguments.scale)
    if arguments.check:
        wrong = differences(arguments.out, files)
        for path in wrong:
            print(f"{path} differs: run scripts/make_samples.py")
        return 1 if wrong else 0
    write(arguments.out, files)
    print(f"{len(files)} files, {sum(len(data) for data in files.values()) / 1e6:.2f} MB in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
