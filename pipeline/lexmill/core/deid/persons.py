"""Names of natural persons: introduced by their part in the case, then followed through the whole document.

The method is that of a reader: cue words (原告, 证人, 其妻, …的证言) point at names, each pointing is evidence for a
string, a string with enough evidence is a name, and every mention of a name is masked, the longest name first.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from lexmill.core.deid.lexer import find_names, matches_at
from lexmill.core.deid.tables import DeidTables, Evidence, PersonPattern, PersonRole
from lexmill.core.deid.tagger import Mention
from lexmill.core.deid.words import ALIAS, ALIAS_RULE, CUE, DOT, DOTS, all_words, trigger, word_lists
from lexmill.core.deid.zones import Zones

_HAN = "\u4e00-\u9fa5"
_DOT = DOTS
# Points of evidence; a string with ENOUGH of them is a name. Tuned on half of the labelled lower-court judgments.
_ENOUGH = 4
# The margins, in nats, from which a mention of the model is enough alone: for other names (0 at least where no known surname is
# their first character), and for words. Less gives points in a story, once a name, that need others. Set on the hand-labelled
# texts (of forms the half for tuning) and judgments.
LEAST_MARGIN = -1.5
_SURE: dict[Evidence, tuple[float, float]] = {"story": (LEAST_MARGIN, 0.3), "cue": (4.5, 10.0), "label": (0.0, 0.0)}
# In stories for what begins with no known surname.
_UNKNOWN = 0.0
# In forms for what begins with no surname, or with one that is a word.
_SURE_OF_OTHERS = 8.0
_DOUBTFUL = 2
# In forms: (mentions that the model prefers to none, their margins together, the share of all mentions) that make a full name
# sure; of a transliteration without a dot only the last. Set on the half for tuning of the hand-labelled forms, and their files.
_REPEATED = ((2, 5.0, 0.5), (3, 10.0, 0.0))
# The same where the form names somebody else beyond doubt: a made-up case has names for all its people or for none.
_IN_COMPANY = ((1, 1.5, 0.0),)
_OTHERS_REPEATED = ((2, 10.0, 0.5), (3, 15.0, 0.0))
# Words of one character that the model takes into a name before it: 如杰克, 若詹姆士.
_BEFORE = frozenset("如若可")
_BEFORE_NAMES = frozenset("与和及对向将把被由给跟为是在")
# Nats from which the model is right about a name of two characters where a public body's name or a title seems to stand.
_SURE_IN_ZONE = 5.0
# The same from fewer nats behind a function word, where no place ends.
_UNITS = ("省", "市", "县", "区", "镇", "乡", "州")
# So many different traditional function words show a traditional text. Of the model, which was trained on simplified ones, only
# names of three characters with a common surname count there, and only in stories.
_TRADITIONAL, _PLAIN = 4, 3
_REACH = 96
_HEADING = 1500
_RANK: dict[PersonRole, int] = {role: rank for rank, role in enumerate(get_args(PersonRole))}
_MASKS = frozenset("某×*＊")
_MARKS = "，,。；;、（( \u3000\n）)"
# A name of any kind after a sure cue: behind it a list goes on, or something is said of the person.
_OPEN_BLOCK = re.compile(f"[{_HAN}]{{1,12}}[{_DOT}、（(，,]|[^{_HAN}]")
_WEAK_NOTE = frozenset("：:（(")
_NOTE_START = _WEAK_NOTE | frozenset(" \u3000\t")
# A name may be written on the line of a form: 代表：____卞长庚____.
_NOTE = re.compile(r"(?:[（(][^（）()\n]{1,40}[）)])?[ \u3000\t]{0,4}[:：]?[ \u3000\t]{0,4}(?:(?<=[:： \u3000\t])[_＿]{1,20})?")
_LIST = re.compile(r"(?:[（(][^（）()\n]{1,20}[）)])?(?:[、]|以及|[和与及])")
_AND = frozenset("、和与及")
_GAP = re.compile(r"[ \u3000\t]{1,12}")
_MORE = frozenset("、（(")
_ITEM = re.compile(
    rf"([{_HAN}{_DOT}]{{2,4}}?|[{_HAN}]{{1,6}}(?:[{_DOT}][{_HAN}]{{1,8}}){{1,3}})(?:（[^（）\n]{{1,12}}）)?(?=、|等人|的证言|的供述|的陈述|证言|证实)"
)
# 张甲 is nobody, and no name goes on behind it.
_STEMS = frozenset("甲乙丙丁")
_BLANKS = (" ", "\u3000", "\t")
_SPACE = re.compile("[ \u3000]")
# What may follow the first character of a name that is written with blanks.
_SPREAD = re.compile(f"[ \u3000]{{1,4}}[{_HAN}](?P<more>[ \u3000]{{1,4}}[{_HAN}])?")
_DOTS = frozenset(_DOT)
_PARTS = re.compile(f"[{_DOT}]")
_MODEL_RULE = "model.person"
_PARTY_RULE = "parties.name"
GIVEN_RULE = "names.given"
# A part of a transliterated name that is shorter may be a word.
_DOTTED_PART = 3
# Words of one character that given names do not end with: without 未 a debt that is not paid reads as paid.
_ADVERBS = frozenset("未已并的了被把们是")
_DOTTED_RULE = "lexicon.transliteration"
_BLOCK = re.compile(f"[{_HAN}]{{2,12}}")
_ALIAS = re.compile(r"[^“”\"‘’、和]{2,}")
# The sex, or an identity number on the next line: what stands before is a person, whatever the name is made of.
_PERSON_FOLLOWS = re.compile(r"[，,（(][男女][，,。；;（()）]|[ \u3000]*\n[ \u3000]*(?:公民)?身份(?:证|号)")
# What stands in brackets behind a name of somebody from abroad is the same name: 德·贝兰库尔（de Balincourt）.
_BRACKETS = frozenset("（(")
_LATIN_NAME = re.compile("[（(](?:英文名|外文名|原名)?[：:]?(?P<name>[A-Za-z][A-Za-zÀ-ž .,·’'-]{2,48}[A-Za-zÀ-ž.])[）)]")
_MASK = re.compile(r"[某×*＊]|[XxＸ]{2}")
_PARTY_DATA = re.compile(
    r"[ \u3000]{1,8}(?:联系)?(?:电话|手机|方式)[：:]|"
    r"[，,][男女][，,。；;（(]|[（(，,](?:男|女|曾用名|又名|绰号|外号|别名|化名|系|原审|一审|反诉|下称|以下)"
)


class PersonSpan(NamedTuple):
    """One mention: ``role`` is the person's part in the whole document, ``rule`` what introduced the name.

    ``entity`` is ORGANISATION for what stands like a name but is the short form of a company (泽沛 where 泽沛公司 occurs).
    """

    start: int
    end: int
    entity: str
    rule: str
    role: PersonRole


class Introduced(NamedTuple):
    """Where the parsed party block names somebody, a person or not, and as what."""

    start: int
    end: int
    role: PersonRole


@dataclass(slots=True)
class _Evidence:
    """``tagged``: how many mentions the model took for a person; ``ruled``: a rule says so too."""

    points: int
    rule: str
    role: PersonRole
    tagged: int = 0
    ruled: bool = False

    def add(self, points: int, rule: str, role: PersonRole) -> None:
        if points > self.points:
            self.rule = rule
        self.points += points
        self.ruled |= rule != _MODEL_RULE
        if _RANK[role] > _RANK[self.role]:
            self.role = role


class _Cue(NamedTuple):
    rule: str
    role: PersonRole
    strength: str
    guardian: bool


class _Name(NamedTuple):
    """``clean``: what follows cannot belong to a name; ``known``: it begins with a surname that is not a common word."""

    end: int
    clean: bool
    known: bool


_Add = Callable[[int, int, int, str, PersonRole], None]


def _fill(
    table: PersonPattern, surnames: str, compounds: tuple[str, ...], given: str, sounds: str
) -> tuple[PersonPattern, re.Pattern[str]]:
    name = (
        f"(?:(?:{'|'.join(compounds)})(?:{given}){{1,2}}|[{surnames}](?:{given}){{1,2}}"
        f"|[{_HAN}]{{1,10}}(?:[{_DOT}][{_HAN}]{{1,12}}){{1,4}})"
    )
    pattern = table.pattern
    values = {"{NAMES}": f"{name}(?:、{name}){{0,9}}", "{NAME}": name, "{HAN}": _HAN, "{SURNAMES}": surnames, "{SOUNDS}": sounds}
    for mark, value in values.items():
        pattern = pattern.replace(mark, value)
    return table, re.compile(pattern)


def _is_han(text: str, at: int) -> bool:
    return "\u4e00" <= text[at : at + 1] <= "\u9fa5"


def _windows(hits: Iterable[re.Match[str]], text: str) -> list[tuple[int, int]]:
    """Stretches around the ``hits`` of a trigger, sorted and disjoint."""
    windows: list[tuple[int, int]] = []
    for hit in hits:
        low, high = max(0, hit.start() - _REACH), min(len(text), hit.end() + _REACH)
        if windows and low <= windows[-1][1]:
            low = windows.pop()[0]
        windows.append((low, high))
    return windows


def _is_enough(margins: Sequence[float], count: int, bounds: Sequence[tuple[int, float, float]]) -> bool:
    """Whether a name that stands ``count`` times in a form is one by what the model says of some of its mentions."""
    return any(
        len(margins) >= least and sum(margins) >= together and len(margins) >= share * count for least, together, share in bounds
    )


class PersonScanner:
    """Finds persons by the ``role``, ``person_pattern`` and ``alias`` rules and the lexicons."""

    def __init__(self, rules: DeidTables) -> None:
        surnames = rules.characters("surname")
        compounds = rules.words("compound_surname")
        non_name = rules.characters("non_name")
        # 都 and 得 write names only inside these two: alone they are words.
        sound = f"(?:阿[不布卜]都|彼得|[{rules.characters('transliteration')}])"
        backwards = f"(?:都[不布卜]阿|得彼|[{rules.characters('transliteration')}])"
        self._dotted = re.compile(f"[{_DOT}](?={sound}{{2}}|阿[不布卜]都|彼得)")
        self._before_dot = re.compile(f"{backwards}{{1,8}}")
        self._after_dot = re.compile(f"{sound}{{1,10}}(?:[{_DOT}]{sound}{{1,10}}){{0,3}}")
        self._protected_case = [re.compile(table.pattern) for table in rules.protected_case]
        self._alias_rule = next((table.id for table in rules.alias if table.id == ALIAS_RULE), "")
        aliases = [cue for table in rules.alias if table.id == ALIAS_RULE for cue in table.cues.split()]
        quoted, plain = '[“"‘][^“”"‘’\\n]{1,8}[”"’]', f"[{_HAN}{_DOT}]{{2,8}}"
        self._alias = re.compile(
            f"(?:{'|'.join(aliases)})[为叫是：:]?[ ]?"
            f"(?P<names>{quoted}(?:[、和]{quoted}){{0,4}}|{plain}(?:、{plain}){{0,4}}(?=[）)，,；;。]))"
        )
        never = rules.characters("never_name")
        self._never = frozenset(never)
        plain = f"(?![{never}])[{_HAN}]"
        self._surnames = frozenset(surnames)
        self._weak = frozenset(rules.characters("weak_surname"))
        self._compound = frozenset(compounds)
        self._not_names = frozenset(rules.words("not_a_name"))
        self._followers = frozenset(rules.words("follower"))
        self._non_name = frozenset(non_name)
        # No name begins so, whatever the cue; a colon or a bracket may stand between.
        self._no_start = (self._non_name | self._never) - self._surnames | frozenset("，。；、：,.;”》）)\n")
        self._no_cue = self._no_start - frozenset("：:")
        self._places = rules.words("place_end")
        # One look at a character spares most comparisons with all the words.
        self._place_starts = frozenset(word[0] for word in self._places)
        self._place_ends = frozenset(word[-1] for word in self._places)
        given = f"(?![{non_name}])[{_HAN}]"
        self._given = re.compile(f"(?:{given}){{1,7}}")
        self._body = re.compile("|".join(rules.words("org_end")))
        self._stretch = re.compile(f"(?:{plain}){{2,8}}[（(][{_HAN}]{{2,4}}[）)](?:{plain}){{2,20}}|(?:{plain}){{4,30}}")
        self._whole = re.compile(
            f"(?!.*公司|[一二三四五六七八九十百千零〇○两]+[条款项年月日号章节]?\\Z)(?:(?![及与])[{_HAN}]){{2,8}}|[{_HAN}]{{1,10}}(?:[{_DOT}][{_HAN}]{{1,12}}){{1,4}}"
        )
        self._foreign = re.compile(f"[{_HAN}]{{1,10}}(?:[{_DOT}][{_HAN}]{{1,12}}){{1,4}}")
        sounds = rules.characters("transliteration")
        self._patterns = [_fill(table, surnames, compounds, plain, sounds) for table in rules.person_pattern]
        lists = word_lists(rules)
        self._patterns_at = [
            (
                table,
                re.compile(table.trigger.replace("{HAN}", _HAN)),
                trigger(table.id) if trigger(table.id) in lists else None,
                pattern,
            )
            for table, pattern in self._patterns
        ]
        ordered = [name for name in lists if name in {trigger(table.id) for table, *_ in self._patterns_at}]
        self._listed = (ordered[0], ordered[-1]) if ordered else None
        self._not_listed = [item for item in self._patterns_at if item[2] is None]
        self._pattern_rules = frozenset(table.id for table in rules.person_pattern)
        after: dict[str, _Cue] = {}
        for role in rules.role:
            for word in role.cues.split():
                after.setdefault(word, _Cue(role.id, role.role, role.strength, word in ("法定代理人", "监护人")))
        self._cues = [after.get(word) for word in all_words(rules)]
        self._first = self._surnames | {word[0] for word in compounds}
        self._beside = frozenset(rules.characters("beside"))
        self._acts = frozenset(rules.words("act"))
        self._sounds = frozenset(rules.characters("transliteration"))
        self._titles = frozenset(rules.words("title"))
        self._nobody = frozenset(rules.words("nobody"))
        self._stand_ins = frozenset(rules.words("stand_in"))
        self._known_to_all = self._stand_ins | frozenset(rules.words("history"))
        self._nobody_part = frozenset(rules.characters("nobody_part"))
        self._given_words = frozenset(rules.words("given_word"))
        self._given_characters = frozenset(rules.characters("given_character"))

    # Reading one name

    def _is_known(self, text: str, start: int) -> bool:
        return text[start : start + 2] in self._compound or (text[start] in self._surnames and text[start] not in self._weak)

    def _is_word(self, name: str) -> bool:
        return (
            name[:2] in self._not_names
            or name[:3] in self._not_names
            or (name[-1:] in self._place_ends and name.endswith(self._places))
        )

    def _name_at(self, text: str, start: int) -> _Name | None:
        """The Chinese name that begins at ``start``, if one can."""
        foreign = None if _DOTS.isdisjoint(text[start + 1 : start + 11]) else self._foreign.match(text, start)
        if foreign:
            return _Name(self._foreign_end(text, foreign), clean=True, known=True)
        compound = text[start : start + 2] in self._compound
        if not compound and text[start] not in self._surnames:
            return None
        known = compound or text[start] not in self._weak
        given = self._given.match(text, start + 1 + compound)
        if given is None:
            return self._odd_name_at(text, start, known)
        shortest = start + 2 + compound
        for end in (shortest, shortest + 1):
            if end <= given.end() and text[end : end + 2] in self._followers:
                return _Name(end, clean=True, known=known)
        third = text[shortest : shortest + 1]
        if given.end() == shortest and third in self._non_name and third not in self._never and not _is_han(text, shortest + 1):
            return _Name(shortest + 1, clean=True, known=known)
        if given.end() <= shortest + 1:
            end = given.end()
            place = text[end : end + 1] in self._place_starts and text.startswith(self._places, end)
            return _Name(end, clean=not place, known=known)
        return _Name(shortest + 1, clean=False, known=known)

    def _odd_name_at(self, text: str, start: int, known: bool) -> _Name | None:
        """A name of three characters whose second mostly stands outside names (向, 前, 若)."""
        end = start + 3
        second = text[start + 1 : start + 2]
        if second not in self._non_name or second in self._never or second in _STEMS or text[start + 1 : end] in self._followers:
            return None
        given = self._given.match(text, start + 2)
        if given is None or given.end() != end or (_is_han(text, end) and text[end] not in self._non_name):
            return None
        return _Name(end, clean=True, known=known)

    def _foreign_end(self, text: str, match: re.Match[str]) -> int:
        # A transliteration may hold characters of non_name (提, 合); only such as also stand before names end it.
        last = max(match.group().rfind(dot) for dot in _DOT) + 1 + match.start()
        for at in range(last + 2, match.end()):
            if (text[at] in self._beside and text[at] in self._non_name) or text[at : at + 2] in self._followers:
                return at
        return match.end()

    def _sounds_at(self, text: str, start: int, length: int) -> _Name:
        """A transliteration of at most ``length`` characters: a word may begin with one of its characters."""
        ends = (at for at in range(start + 2, start + length) if text[at : at + 2] in self._followers)
        return _Name(next(ends, start + length), clean=True, known=True)

    def _name_before(self, text: str, end: int) -> int | None:
        """Where the Chinese name begins that ends at ``end`` before a mark of enumeration, if one can."""
        for length in (4, 3, 2):
            start = end - length
            if start < 1 or (text[start:end][:2] in self._compound) != (length == 4):
                continue
            if length < 4 and text[start] not in self._surnames:
                continue
            given = self._given.match(text, start + 1)
            if given is None or given.end() < end or self._is_word(text[start:end]):
                continue
            left = text[start - 1]
            if not "\u4e00" <= left <= "\u9fa5" or left in self._beside or left in "人员者":
                return start
        return None

    # Collecting evidence

    def _collect(self, text: str, zones: Zones, evidence: Evidence, mentions: Sequence[Mention]) -> dict[str, _Evidence]:
        found: dict[str, _Evidence] = {}

        def add(start: int, end: int, points: int, rule: str, role: PersonRole) -> None:
            if zones.overlap(start, end):
                return
            name = text[start:end]
            known = found.get(name)
            if evidence != "story" and name in self._stand_ins:
                return
            if known is not None:
                known.add(points, rule, role)
            elif not _MASK.search(name):
                found[name] = _Evidence(points, rule, role, ruled=rule != _MODEL_RULE)

        sure, doubtful = self._take_mentions(text, zones, evidence, mentions, found)
        patterns = self._patterns_at if evidence != "label" else ()
        if self._listed is not None and not zones.hits.has_any(*self._listed):
            patterns = self._not_listed if evidence != "label" else ()
        for table, shown, listed, pattern in patterns:
            starts = zones.hits.starts(listed) if listed is not None else None
            if starts is not None and not starts:
                continue
            hits = matches_at(shown, text, starts) if starts else shown.finditer(text)
            for low, high in _windows(hits, text):
                for match in pattern.finditer(text, low, high):
                    for group in match.groupdict():
                        at = match.start(group)
                        for name in match[group].split("、"):
                            known = table.foreign or self._is_known(text, at)
                            word = self._is_word(name)
                            if len(name) > 1 and ((known or not word) if evidence == "story" else (known and not word)):
                                # A pattern takes as much as a name may hold, so the crime or the dispute may begin inside it.
                                read = self._sounds_at(text, at, len(name)) if table.foreign else self._name_at(text, at)
                                length = min(len(name), read.end - at) if read is not None and read.clean else len(name)
                                add(at, at + length, _ENOUGH, table.id, table.role)
                            at += len(name) + 1
        party: str | None = None
        dotted = zones.hits.has_any(DOT, DOT)
        for which, _, cue_end in zones.hits.of(CUE):
            cue = self._cues[which]
            assert cue is not None  # it is a word of this list
            if evidence == "story":
                # Most of what stands behind a cue begins no name, or is masked already; that is seen fastest here.
                first = text[cue_end : cue_end + 1]
                possible = first not in self._no_cue
                masked = possible and text[cue_end + 1 : cue_end + 2] in _MASKS and first not in _NOTE_START
                if masked and cue_end not in sure:
                    party = None if cue.role == "party" else party
                elif (
                    possible
                    or cue_end in sure
                    or (self._begins_name(text, cue_end) if dotted else text[cue_end : cue_end + 2] in self._compound)
                ):
                    party = self._read_after(text, cue, cue_end, add, found, sure, party)
            else:
                self._read_strictly(text, cue, cue_end, evidence, add)
        if evidence == "label":
            return found
        if evidence == "story" and dotted:
            self._collect_foreign(text, zones.hits.starts(DOT), add)
        aliases = zones.hits.starts(ALIAS)
        for match in matches_at(self._alias, text, aliases) if aliases else ():
            for alias in _ALIAS.finditer(match["names"]):
                start = match.start("names") + alias.start()
                quoted = text[start - 1] in '“"‘'
                if (
                    (quoted or (evidence == "story" and self._never.isdisjoint(alias.group())))
                    and not _MASK.search(alias.group())
                    and not self._is_word(alias.group())
                ):
                    add(start, start + len(alias.group()), _ENOUGH, self._alias_rule, "mention")
        if doubtful:
            self._take_doubtful(text, doubtful, found)
        return found

    def _take_mentions(
        self, text: str, zones: Zones, evidence: Evidence, mentions: Sequence[Mention], found: dict[str, _Evidence]
    ) -> tuple[dict[int, int], dict[str, list[float]]]:
        """The model's persons as evidence into ``found``.

        Returns where those begin and end that are enough alone, and in forms the margins of all other names.
        """
        sure: dict[int, int] = {}
        needed: dict[str, float] = {}
        repeated: dict[str, list[float]] = {}
        traditional = zones.hits.marked >= _TRADITIONAL
        for start, end, label, margin in mentions:
            if label != "PERSON":
                continue
            start, end = self._bounds(text, start, end, evidence)
            name = text[start:end]
            if traditional and not self._is_plain(name, margin, evidence):
                continue
            need = needed.get(name)
            if need is None:
                need = needed[name] = self._need(text, name, evidence)
            if need == math.inf or self._touches_mask(text, start, end) or zones.overlap(start, end):
                continue
            item = found.get(name)
            if margin > need:
                sure[start] = end
                if item is None:
                    item = found[name] = _Evidence(0, _MODEL_RULE, "mention")
                item.points += _ENOUGH
            elif item is None:
                if evidence != "story":
                    repeated.setdefault(name, []).append(margin)
                    continue
                item = found[name] = _Evidence(_DOUBTFUL, _MODEL_RULE, "mention")
            item.tagged += 1
        return sure, repeated

    def may_take(self, text: str, start: int, end: int, margin: float, evidence: Evidence) -> bool:
        """Whether a mention of the model counts for anything in ``text``, but for the zones."""
        start, end = self._bounds(text, start, end, evidence)
        name = text[start:end]
        if self._need(text, name, evidence) == math.inf or self._touches_mask(text, start, end):
            return False
        if self._is_plain(name, margin, evidence):
            return True
        return sum(char in text for char in self._nobody_part) < _TRADITIONAL

    def _bounds(self, text: str, start: int, end: int, evidence: Evidence) -> tuple[int, int]:
        """Where a name begins and ends that the model found at ``start:end``."""
        # No adverb stands before a mark of enumeration, but a quilt may: 羊毛被、.
        while end - start > 2 and text[end - 1] in _ADVERBS and (text[end : end + 1] != "、" or text[end - 1] == "被"):
            end -= 1
        if evidence == "story":
            return self._mend(text, start, end)
        return (start + 1, end) if end - start > 2 and text[start] in _BEFORE else (start, end)

    def _is_plain(self, name: str, margin: float, evidence: Evidence) -> bool:
        """Whether a name counts in a traditional text."""
        return evidence == "story" and margin >= _DOUBTFUL and len(name) == _PLAIN and self._is_known(name, 0)

    def _need(self, text: str, name: str, evidence: Evidence) -> float:
        """The margin from which a mention of ``name`` is enough alone; infinite where nobody is called so."""
        known = self._is_known(name, 0)
        form = evidence != "story"
        # 丁 of 甲, 乙, 丙, 丁 begins no name.
        made_up = form and (
            name in self._known_to_all
            or not self._never.isdisjoint(name)
            or name[1:] in self._titles
            or (len(name) == 2 and name[1] in _STEMS)
            or (name[0] == "丁" and "丙" in text)
        )
        if made_up or not self._may_be_somebody(name):
            return math.inf
        need = _SURE[evidence][self._is_word(name)]
        return need if known else max(need, _SURE_OF_OTHERS if form else _UNKNOWN)

    @staticmethod
    def _touches_mask(text: str, start: int, end: int) -> bool:
        """Whether what stands there is the rest of a mask: 欧阳 of 欧阳某1."""
        return text[end : end + 1] in _MASKS or text[start - 1 : start] in _MASKS

    def _take_doubtful(self, text: str, doubtful: dict[str, list[float]], found: dict[str, _Evidence]) -> None:
        """Of a form the names that the model has doubts about in every place, as far as all places together are enough."""
        company = any(item.points >= _ENOUGH and self._is_full_name(name) for name, item in found.items())
        for name, margins in doubtful.items():
            if name in found:
                continue
            full = self._is_full_name(name)
            bounds = (*_REPEATED, *(_IN_COMPANY if company else ())) if full else _OTHERS_REPEATED
            if _is_enough(margins, text.count(name), bounds):
                found[name] = _Evidence(_ENOUGH, _MODEL_RULE, "mention", len(margins))

    def _mend(self, text: str, start: int, end: int) -> tuple[int, int]:
        """The bounds of a name that the model tore: it left off the last character, or took one from before or a word behind."""
        known, next_known = self._is_known(text, start), self._is_known(text, start + 1)
        if known and not next_known and end - start == _PLAIN and text[end - 1 : end + 1] not in self._followers:
            return start, end  # as most names are
        if end - start > 2 and next_known and not known:
            read = self._name_at(text, start + 1)
            torn = read is not None and read.clean and read.end == end + 1
            if torn or text[start] in _BEFORE_NAMES:
                return start + 1, end + torn
        if end - start > 5 or not known:
            return start, end
        read = self._name_at(text, start)
        clean = read.end if read is not None and read.clean else 0
        if start + 1 < clean < end and text[clean : clean + 2] in self._followers:
            return start, clean
        longer = end
        if end - start < 4 and not clean and self._has_two_surnames(text, start):
            longer = start + 4
        elif (clean == end + 1 and end - start == 2) or (clean and text[start:end] in self._compound):
            longer = clean
        # A name that also stands without the rest is whole.
        whole = longer > end and text.count(text[start:longer]) == text.count(text[start:end])
        return start, longer if whole else end

    def _is_full_name(self, name: str) -> bool:
        """Whether ``name`` is a surname with one or two characters that are no title (张女士, 王男)."""
        return len(name) in (2, 3) and self._is_known(name, 0) and name[1:] not in self._titles and not self._is_word(name)

    def _may_be_somebody(self, name: str) -> bool:
        return (
            self._whole.fullmatch(name) is not None
            and not _MASK.search(name)
            and name not in self._nobody
            and self._nobody_part.isdisjoint(name)
        )

    def _collect_foreign(self, text: str, dots: Iterable[int], add: _Add) -> None:
        """Transliterations around a dot; the shortest of those that begin alike: a word behind may sound like one (多, 通)."""
        found: list[tuple[int, int]] = []
        at = 0
        for dot in matches_at(self._dotted, text, dots):
            if dot.start() < at:
                continue
            before = self._before_dot.match(text[max(at, dot.start() - 8) : dot.start()][::-1])
            after = self._after_dot.match(text, dot.end())
            if before is None or after is None:
                continue
            at = after.end()
            found.append((dot.start() - before.end(), at))
        names = sorted({text[start:end] for start, end in found}, key=len)
        for start, end in found:
            name = text[start:end]
            shortest = next(known for known in names if name.startswith(known))
            add(start, start + len(shortest), _ENOUGH, _DOTTED_RULE, "mention")

    def _read_after(
        self,
        text: str,
        cue: _Cue,
        at: int,
        add: _Add,
        found: dict[str, _Evidence],
        sure: dict[int, int],
        party: str | None,
    ) -> str | None:
        """Reads the names after a cue, of those the model is ``sure`` of only the role; returns the party spoken of."""
        labelled = False
        if at not in sure and text[at : at + 1] in (_WEAK_NOTE if cue.strength == "weak" else _NOTE_START):
            note = _NOTE.match(text, at)
            assert note is not None  # every part of the pattern may be empty
            labelled = ":" in note.group() or "：" in note.group()
            at = note.end()
        if at not in sure:
            if text[at : at + 1] in self._no_start and not self._begins_name(text, at):
                return party
            if text[at + 1 : at + 2] in _MASKS:
                return None if cue.role == "party" else party
        first = True
        while at < len(text):
            if at in sure:
                end, points = sure[at], _ENOUGH
                found[text[at:end]].add(points, cue.rule, cue.role)
            else:
                end, points = self._judge(text, at, cue.strength, labelled if first else False, first)
                item = None if first else _ITEM.match(text, at)
                if item is not None and (not points or end != item.end(1)) and not self._is_body(text, at):
                    # A whole item of a list of names need not begin with a surname.
                    end, points = item.end(1), 0 if self._is_word(item.group(1)) else _ENOUGH
            if not points:
                return party
            if at not in sure:
                add(at, end, points, cue.rule, cue.role)
            if cue.guardian and party in found:
                found[party].role = "protected"
            if cue.role == "party":
                party = text[at:end]
            follow = _LIST.match(text, end)
            if follow is None and cue.role == "official" and text[end : end + 1] in _BLANKS:
                follow = self._next_official(text, end)
            if follow is None:
                return party
            at = follow.end()
            first = False
        return party

    def _next_official(self, text: str, end: int) -> re.Match[str] | None:
        """The blanks between two names of one line of signatures: 人民陪审员 X　Y."""
        blanks = _GAP.match(text, end)
        if blanks is None or blanks.end() >= len(text):
            return None
        name = self._name_at(text, blanks.end())
        alone = name is not None and name.clean and name.known and not _is_han(text, name.end)
        return blanks if name is not None and alone and not self._is_word(text[blanks.end() : name.end]) else None

    def _read_strictly(self, text: str, cue: _Cue, at: int, evidence: Evidence, add: _Add) -> None:
        """Names after a cue where most that stands there is a word: they begin with a surname, end cleanly and are no word."""
        note = _NOTE.match(text, at)
        assert note is not None  # every part of the pattern may be empty
        labelled = ":" in note.group() or "：" in note.group()
        signed = cue.role in ("agent", "official") and note.group()[-1:] in _BLANKS
        if not labelled and (cue.strength == "weak" or (evidence == "label" and not signed)):
            return
        at = note.end()
        while at < len(text):
            end = self._strict_end(text, at, labelled, signed)
            if end is None:
                return
            add(at, end, _ENOUGH, cue.rule, cue.role)
            follow = _LIST.match(text, end)
            if follow is None:
                return
            at = follow.end()

    def _strict_end(self, text: str, at: int, labelled: bool, signed: bool) -> int | None:
        """Where the name at ``at`` ends, if there is one beyond doubt."""
        block = _BLOCK.match(text, at)
        if block is not None and (self._is_body(text, at) or self._is_word(block.group())):
            return None
        if block is not None and len(block.group()) <= 6 and labelled and _PERSON_FOLLOWS.match(text, block.end()):
            return block.end()
        # 甲, 乙, 丙, 丁 of a made-up case.
        if text[at] == "丁" and "丙" in text:
            return None
        name = self._name_at(text, at)
        if name is None or not name.clean or self._is_word(text[at : name.end]):
            return None
        bare = not _is_han(text, name.end)
        if labelled or signed:
            return name.end if bare and (name.known or name.end - at > 2) else None
        follower = text[name.end : name.end + 2]
        return name.end if name.known and (bare or follower in self._acts or follower in self._followers) else None

    def _begins_name(self, text: str, at: int) -> bool:
        """Whether a name begins at ``at`` whose first character begins no other name: 令狐, 约翰·…"""
        if text[at : at + 2] in self._compound:
            return True
        return text[at] not in self._never and text[at] not in self._beside and self._foreign.match(text, at) is not None

    def _has_two_surnames(self, text: str, at: int) -> bool:
        """Whether the name at ``at`` is one of four characters with the surnames of both parents, and ends cleanly."""
        given = self._given.match(text, at + 1)
        return (
            self._is_known(text, at)
            and self._is_known(text, at + 1)
            and given is not None
            and (given.end() == at + 4 or (given.end() > at + 4 and text[at + 4 : at + 6] in self._followers))
            and not self._is_word(text[at + 1 : at + 4])
            and not self._is_word(text[at : at + 4])
        )

    def _is_body(self, text: str, start: int) -> bool:
        """Whether an organisation or a public body begins at ``start``: a stretch without function words that ends like one.

        Somebody who does something with one is none: 胡某某通过某银行转账.
        """
        stretch = self._stretch.match(text, start)
        if stretch is None or self._body.search(text, start + 2, stretch.end()) is None:
            return False
        name = self._name_at(text, start)
        return name is None or not (name.clean and name.known and text[name.end : name.end + 2] in self._acts)

    def _judge(self, text: str, at: int, strength: str, labelled: bool, first: bool) -> tuple[int, int]:
        """Where the name at ``at`` after a cue ends, and how many points it gets; none if it is no name."""
        if strength == "sure" and not labelled and text[at] not in self._first and not _OPEN_BLOCK.match(text, at):
            return at, 0
        name = self._name_at(text, at)
        if strength == "weak" and not labelled:
            return (name.end, 1) if name is not None and first and not self._is_word(text[at : name.end]) else (at, 0)
        word = _BLOCK.match(text, at)
        if word is None:
            return (name.end, _ENOUGH) if name is not None else (at, 0)
        block = word.end()
        length = block - at
        after = text[block : block + 1]
        if self._is_body(text, at):
            return at, 0
        if 2 <= length <= 8 and _PARTY_DATA.match(text, block) and (labelled or not self._is_word(text[at:block])):
            return block, _ENOUGH
        if name is not None and not name.clean and self._has_two_surnames(text, at):
            return at + 4, _ENOUGH
        if name is not None and (name.clean or not labelled) and (labelled or not self._is_word(text[at : name.end])):
            if name.clean and (
                name.known or labelled or text[name.end : name.end + 1] in _MARKS or text[name.end : name.end + 2] in self._acts
            ):
                return name.end, _ENOUGH
            return name.end, 2 if name.known else 1
        if self._is_word(text[at:block]) or self._is_word(text[at : at + 3]):
            return at, 0
        # Names of any kind (rare surnames, minorities, words), where the line leaves little doubt.
        ends_line = (
            (labelled and after in _MARKS)
            or after in "（("
            or (after == "、" and (text[at] in self._first or self._is_listed(text, block + 1)))
            or (strength == "likely" and after in "\n\u3000")
        )
        given = self._given.match(text, at)
        if ends_line and given is not None and given.end() == block and length <= 6:
            return block, _ENOUGH if labelled or length > 2 else 2
        return at, 0

    def _is_listed(self, text: str, at: int) -> bool:
        """Whether a list goes on at ``at`` with somebody: what stands before may be anybody, where 被告性格差、 is none."""
        if at >= len(text):
            return False
        name = self._name_at(text, at)
        return name is not None and name.clean and name.known and not self._is_word(text[at : name.end])

    # From evidence to mentions

    def is_protected_case(self, text: str) -> bool:
        """Whether the heading of ``text`` names a cause whose parties 法释〔2016〕19号 art. 8 hides."""
        return any(pattern.search(text, 0, _HEADING) for pattern in self._protected_case)

    def find(
        self,
        text: str,
        zones: Zones,
        evidence: Evidence,
        mentions: Sequence[Mention],
        introduced: Sequence[Introduced] = (),
    ) -> list[PersonSpan]:
        """All mentions of persons, sorted and disjoint.

        ``evidence`` says what introduces a name; ``mentions`` are the model's, ``introduced`` those of the party block.
        """
        found = self._collect(text, zones, evidence, mentions)
        if not found and not introduced:
            return []
        for start, end, role in introduced:
            if self._is_party(text, start, end) and not zones.overlap(start, end):
                known = found.setdefault(text[start:end], _Evidence(0, _PARTY_RULE, role))
                known.add(_ENOUGH, _PARTY_RULE, role)
        names = {name: evidence for name, evidence in found.items() if evidence.points >= _ENOUGH}
        names = self._spaced(text, names) | names
        overlong = self._overlong(text, names, evidence)
        if evidence == "story":
            overlong += self._across(text, names)
        if evidence == "cue":
            overlong += self._run_on(text, names)
        for name in overlong:
            names.pop(name, None)
        read = frozenset(
            item.start
            for item in mentions
            if item.label == "PERSON"
            and (
                item.margin > _SURE_IN_ZONE
                or (
                    item.margin > _DOUBTFUL
                    and text[item.start - 1 : item.start] in self._beside
                    and text[item.end : item.end + 1] not in _UNITS
                )
            )
        )
        spans: list[PersonSpan] = []
        for _ in range(12):
            if not names:
                return []
            spans = self._mentions(text, names, zones, read)
            more = self._neighbours(text, spans, names, zones, evidence) if evidence != "label" else {}
            if not more:
                break
            names.update(more)
        if evidence != "label":
            spans = self._with_given_names(text, spans, names, zones, mentions)
        if self.is_protected_case(text):
            return [span._replace(role="protected") if span.role == "party" else span for span in spans]
        return spans

    def _spaced(self, text: str, names: Mapping[str, _Evidence]) -> dict[str, _Evidence]:
        """Names that stand with blanks between their characters, as in columns (李　强): both forms of each are masked."""
        more = {closed: names[name] for name in names if (closed := _SPACE.sub("", name)) != name}
        for match in _SPREAD.finditer(text):
            first = match.start() - 1
            for end in {match.end(), match.start("more")} - {-1}:
                spread = text[first:end]
                closed = _SPACE.sub("", spread)
                if first >= 0 and (owner := names.get(closed) or more.get(closed)) and not self._is_word(closed):
                    more[spread] = owner
        return more

    def _is_party(self, text: str, start: int, end: int) -> bool:
        """Whether what stands in the party block is a person's name: up to four characters, or more with a dot."""
        name = text[start:end]
        return (
            (2 <= len(name) <= 4 or not _DOTS.isdisjoint(name))
            and self._may_be_somebody(name)
            and not self._is_word(name)
            and not self._is_body(text, start)
        )

    def _overlong(self, text: str, names: dict[str, _Evidence], evidence: Evidence) -> list[str]:
        """Names a title pattern made too long (X 妨 of X 妨害公务): they stand once, and another name begins them.

        Of a name with a dot only a rule knows better where it ends than a pattern: the model cuts 艾力·阿布都拉.
        """
        return [
            name
            for name, item in names.items()
            if (item.rule in self._pattern_rules or item.rule == _MODEL_RULE)
            and any(
                names[name[:length]].ruled or (_DOTS.isdisjoint(name) and (evidence == "story" or not item.ruled))
                for length in range(2, len(name))
                if name[:length] in names
            )
            and text.count(name) == 1
        ]

    @staticmethod
    def _across(text: str, names: dict[str, _Evidence]) -> list[str]:
        """Names of one place and one doubt that run into a name which stands elsewhere too: they hide only its beginning."""
        lengths = sorted({len(name) for name in names})
        across = []
        for name, evidence in names.items():
            if evidence.rule != _MODEL_RULE or evidence.tagged != 1 or evidence.points > _ENOUGH:
                continue
            start = text.find(name)
            end = start + len(name)
            later = [
                text[at : at + length]
                for at in range(start + 1, end)
                for length in lengths
                if at + length > end and text[at : at + length] in names
            ]
            if any(text.count(other) > 1 for other in later) and text.count(name) == 1:
                across.append(name)
        return across

    def _run_on(self, text: str, names: dict[str, _Evidence]) -> list[str]:
        """Names to which only the model gives the next word's first character: 王畅休 of 王畅, who mostly stands alone."""
        return [
            name
            for name, evidence in names.items()
            if evidence.rule == _MODEL_RULE and name[:-1] in names and text.count(name) * 2 < text.count(name[:-1])
        ]

    def _mentions(self, text: str, names: dict[str, _Evidence], zones: Zones, read: frozenset[int]) -> list[PersonSpan]:
        keys = list(names)
        mentions = find_names(zones.hits.codes, keys)
        companies = {index for index, _, end in mentions if text.startswith("公司", end)}
        # What the model takes for a name here and for a word or a place elsewhere in the text is none.
        words = {index for index, name in enumerate(keys) if not names[name].ruled and self._is_word(name)}
        if words:
            counts = Counter(index for index, _, _ in mentions)
            places = {index for index, _, end in mentions if text[end : end + 1] in _UNITS}
            words = {index for index in words if index in places or names[keys[index]].tagged * 2 < counts[index]}
        spans = []
        for index, start, end in mentions:
            # Two characters may stand in the name of a court (高明区人民法院) by chance, three hardly do.
            evidence = names[keys[index]]
            by_chance = start not in read and (end - start < 3 or not evidence.ruled)
            if index in words or (by_chance and zones.overlap(start, end)):
                continue
            entity = "ORGANISATION" if index in companies else "PERSON"
            spans.append(PersonSpan(start, end, entity, evidence.rule, evidence.role))
            latin = _LATIN_NAME.match(text, end) if text[end : end + 1] in _BRACKETS else None
            if latin is not None:
                spans.append(PersonSpan(*latin.span("name"), entity, evidence.rule, evidence.role))
        return spans

    def _neighbours(
        self, text: str, spans: list[PersonSpan], names: dict[str, _Evidence], zones: Zones, evidence: Evidence
    ) -> dict[str, _Evidence]:
        """Names in one list with a known name.

        In a story an item between two marks of enumeration need not begin with a surname; in forms it is a name beyond doubt.
        """
        more: dict[str, _Evidence] = {}
        if evidence == "cue":
            for span in spans:
                follow = _LIST.match(text, span.end) if span.entity == "PERSON" else None
                end = self._strict_end(text, follow.end(), False, False) if follow and follow.end() < len(text) else None
                if follow is not None and end is not None and text[follow.end() : end] not in self._known_to_all:
                    self._take(text, follow.end(), end, span, names, zones, more)
                if text[span.start - 1 : span.start] in _AND and span.start > 1:
                    begin = self._name_before(text, span.start - 1)
                    if begin is not None and self._is_full_name(text[begin : span.start - 1]):
                        self._take(text, begin, span.start - 1, span, names, zones, more)
            return more
        starts = {span.start for span in spans}
        for span in spans:
            follow = _LIST.match(text, span.end) if text[span.end : span.end + 1] in _MORE else None
            if follow is not None and follow.group()[-1] == "、" and follow.end() not in starts and follow.end() < len(text):
                start = follow.end()
                name = self._name_at(text, start)
                item = _ITEM.match(text, start)
                if (
                    item is not None
                    and (name is None or not name.clean or name.end == item.end(1))
                    and not self._is_body(text, start)
                ):
                    between = text[item.end(1) : item.end(1) + 1] == "、" and item.end(1) + 1 in starts
                    self._take(text, start, item.end(1), span, names, zones, more, between)
                elif name is not None and name.clean and name.known:
                    self._take(text, start, name.end, span, names, zones, more)
            if span.start and text[span.start - 1] == "、":
                begin = self._name_before(text, span.start - 1)
                if begin is not None and self._is_known(text, begin):
                    self._take(text, begin, span.start - 1, span, names, zones, more)
        return more

    def _given_names(self, name: str) -> Iterable[str]:
        """What people call somebody with this full name besides: 晓燕 of 令狐晓燕, 努尔买买提 of 努尔买买提·库尔班."""
        if not _DOTS.isdisjoint(name):
            return [part for part in _PARTS.split(name) if len(part) >= _DOTTED_PART]
        double = name[:2] in self._compound or (name[0] in self._surnames and name[1] in self._surnames)
        if len(name) == _PLAIN + double and (double or name[0] in self._surnames):
            return [name[-2:]]
        return []

    def _with_given_names(
        self, text: str, spans: list[PersonSpan], names: dict[str, _Evidence], zones: Zones, mentions: Sequence[Mention]
    ) -> list[PersonSpan]:
        """``spans`` and where the given name of somebody whose full name is known stands alone.

        It is one where the model reads one, or both its borders and its characters could be a name's and it is no word.
        """
        owners: dict[str, _Evidence] = {}
        for name, item in names.items():
            # One mention that only the model sees may be a clause.
            if (item.ruled or item.tagged > 1) and not _SPACE.search(name):
                for given in self._given_names(name):
                    known = owners.get(given)
                    if known is None or _RANK[item.role] > _RANK[known.role]:
                        owners[given] = item
        if not owners:
            return spans
        keys = list(owners)
        # Most stand at the end of the full name, which is found already.
        ends = {span.end for span in spans}
        rest = [row for row in find_names(zones.hits.codes, keys) if row[2] not in ends]
        if not rest:
            return spans
        found = []
        at = 0
        for index, start, end in rest:
            given = keys[index]
            while at < len(spans) and spans[at].end <= start:
                at += 1
            if (
                (at == len(spans) or spans[at].start >= end)
                and given not in names
                and self._may_be_somebody(given)
                and not self._is_common(given)
                and not zones.overlap(start, end)
            ):
                found.append(PersonSpan(start, end, "PERSON", GIVEN_RULE, owners[given].role))
        if not found:
            return spans
        read = {(item.start, item.end) for item in mentions if item.label == "PERSON" and item.margin > LEAST_MARGIN}
        cues = {end for _, _, end in zones.hits.of(CUE)}
        return sorted(
            [
                *spans,
                *(span for span in found if (span.start, span.end) in read or self._stands_alone(text, span, cues)),
            ]
        )

    def _is_common(self, word: str) -> bool:
        return self._is_word(word) or word in self._followers or word in self._acts or word in self._titles

    def _stands_alone(self, text: str, span: PersonSpan, cues: set[int]) -> bool:
        """Whether its characters are a given name's and no word, and what stands before and behind could stand beside a name."""
        given = text[span.start : span.end]
        if given in self._given_words or (len(given) == 2 and not self._given_characters.issuperset(given)):
            return False
        before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
        if not _MASKS.isdisjoint((before, after)):
            return False
        said = before in self._beside or before in self._non_name or before in self._never
        left = span.start == 0 or not _is_han(text, span.start - 1) or said or span.start in cues
        follower = text[span.end : span.end + 2]
        return left and (
            not _is_han(text, span.end)
            or after in self._non_name
            or after in self._beside
            or follower in self._acts
            or follower in self._followers
        )

    def _take(
        self,
        text: str,
        start: int,
        end: int,
        by: PersonSpan,
        names: dict[str, _Evidence],
        zones: Zones,
        more: dict[str, _Evidence],
        between: bool = False,
    ) -> None:
        """A word is a name only ``between`` two names of persons, where it begins with a surname."""
        name = text[start:end]
        a_word = self._is_word(name) and not (between and name[0] in self._first)
        if name not in names and not _MASK.search(name) and not a_word and not zones.overlap(start, end):
            more.setdefault(name, _Evidence(_ENOUGH, by.rule, by.role, ruled=between))
