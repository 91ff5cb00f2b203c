"""The table of laws: titles, versions with their dates and last articles, and what was repealed when and by what."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from lexmill.core.rulebook import Rule, RuleId
from lexmill.core.structure.rules import Word, Words

_MARKS = re.compile(r"[《》〈〉<>＜＞﹤﹥“”\"「」『』\s\u3000]")
_WIDTH = str.maketrans("()[]【】", "（）〔〕〔〕")
_VERSION = re.compile(r"（[^（）]{0,8}(?:修正|修订|修改|版|年)[^（）]{0,4}）\Z")
_ISSUER = re.compile(
    r"\A(?:(?:最高人民法院|最高人民检察院|公安部|司法部|国家安全部|全国人民代表大会常务委员会)[、,，]?)+(?=关于)"
)


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def fold(title: str) -> str:
    """What two ways of printing one title share: no brackets, blanks, issuer, 中华人民共和国 or year of the version."""
    folded = _MARKS.sub("", title).translate(_WIDTH).replace("中华人民共和国", "")
    return _ISSUER.sub("", _VERSION.sub("", folded)) or folded


class Version(BaseModel):
    """One wording of a law: in force since ``since``; ``articles`` is the number of its last article, where it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    since: datetime.date
    articles: Annotated[int, Field(gt=0)] | None = None
    number: str | None = None


class Law(Rule):
    """A law with all its versions; ``keep`` and ``drop`` examples are a date, a blank and a text that cites it.

    At that date the text of a ``keep`` example gets no verdict, that of a ``drop`` example gets one.
    """

    title: Word
    aliases: Annotated[tuple[Word, ...], BeforeValidator(_tuple)] = ()
    jurisdiction: Literal["CN", "TW"] = "CN"
    versions: Annotated[tuple[Version, ...], BeforeValidator(_tuple), Field(min_length=1)]
    repealed: datetime.date | None = None
    replaced_by: RuleId | None = None
    keep: Words
    drop: Words

    def last_article(self, date: datetime.date | None) -> int | None:
        """The highest article of any version in force up to ``date`` (None: of all); None where one of them is unknown.

        An older version may have more articles, and old facts are judged by it: only what no version had is out of range.
        """
        known = [version for version in self.versions if date is None or version.since <= date]
        counts = [version.articles for version in known]
        return None if not counts or None in counts else max(count for count in counts if count is not None)


class LawIndex:
    """Laws by rule id, by jurisdiction and folded title or alias, and by the folded number of a version (法释〔2020〕28号)."""

    def __init__(self, laws: Iterable[Law]) -> None:
        self.by_id: dict[str, Law] = {}
        self.by_title: defaultdict[str, dict[str, Law]] = defaultdict(dict)
        self.by_number: dict[str, Law] = {}
        for law in laws:
            self.by_id[law.id] = law
            for name in (law.title, *law.aliases):
                self.by_title[law.jurisdiction][fold(name)] = law
            for version in law.versions:
                if version.number:
                    self.by_number[fold(version.number)] = law

    @property
    def names(self) -> list[str]:
        """All folded titles and aliases, sorted."""
        return sorted({name for titles in self.by_title.values() for name in titles})
