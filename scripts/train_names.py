"""Train the names model (pipeline/lexmill/models/names.npz) and write its card; the same inputs give the same bytes.

    .venv/bin/python scripts/train_names.py DATA [--out FOLDER]

DATA holds the inputs that scripts/train_names.toml lists; each must have the hash given there. Every text is read several
times, each time with other names in place of those it had: rare, compound, minority, transliterated and Japanese ones and
such as are words, so that the model learns where names stand rather than which there are. Nothing of the held-out half
(scripts/eval_deid.py) is read.
"""

import argparse
import csv
import hashlib
import json
import math
import random
import re
import sys
import time
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eval_deid import split
from join_labels import joined
from join_labels import texts as compressed_texts
from lexmill import rules as rule_files
from lexmill.core.deid.addresses import AddressScanner
from lexmill.core.deid.decode import KIND_PLACES, N_FEATURES, OFFSETS, PLACES, hash_features
from lexmill.core.deid.organisations import OrganisationScanner
from lexmill.core.deid.persons import PersonScanner
from lexmill.core.deid.tables import DeidTables
from lexmill.core.deid.tagger import LABELS, N_TAGS, Tagger, fold, kinds_of, write_model
from lexmill.core.deid.zones import ZoneScanner
from lexmill.core.kernels import njit

ROOT = Path(__file__).parents[1]
INPUTS = ROOT / "scripts" / "train_names.toml"
FORMS = ROOT / "tests" / "core" / "deid" / "labels"
OWN = ROOT / "scripts" / "train_names_own.txt"
SEED = 20161001
BITS = 18
FIRST_EPOCHS, EPOCHS = 2, 7
# Nats by which a mention of the first model must win to become a label.
SURE = 2.0
RATE = 0.15
# The weights are the mean of those after every part of the last epochs: the last texts read would weigh too much.
PARTS, AVERAGED = 8, 4
# How often a text is read, each time with other names, by its use.
COPIES = {"spc": 2, "judge": 12, "masked": 2, "own": 120, "stories": 12}
STATUTE_CHARS = 4_000_000
FREE_CHARS = 900_000
UNIT = 700
# A training text that shares more of its windows with a held-out one is a copy of it.
WINDOW, SHARED = 24, 0.4
_HAN = "\u4e00-\u9fa5"
_SENTENCE = re.compile(r"[^。\n]*[。\n]|[^。\n]+")
_UNIT_OF_PLACE = re.compile(r"[路街号村镇乡组室幢栋弄巷苑园屯庄场厦区社]")
_COUNTY = re.compile(
    f"(?:[{_HAN}]{{2,8}}?(?:自治区|省))?(?:[{_HAN}]{{1,8}}?(?:自治州|地区|盟|市))?(?:[{_HAN}]{{1,8}}?(?:自治县|区|县|旗|市))?"
)
_MASKED_FIRM = re.compile(
    "(?<![\u4e00-\u9fa5某×])某{1,3}(?:(?:商贸|科技|实业|物流|建筑|房地产|汽车)?(?:有限)?公司|网吧|宾馆|酒店|旅馆|旅社|招待所|超市|商店|商行|饭店|餐厅|饭馆|酒吧"
    "|歌厅|浴场|浴室|洗浴中心|足浴店|发廊|理发店|药店|诊所|小卖部|便利店|修理厂|加工厂|砖厂|面馆|茶楼|会所|驾校|酒楼|火锅店|服装店|手机店)"
)
# 甲, 乙 and 丙 of exams where they are people, and what shows that they are not (甲公司, 甲国, 甲级, 园丁).
_STEMS = "甲乙丙丁戊"
_NO_STEM_BEFORE = "[指装铠园壮盔布某]"
_NO_STEM_BEHIND = "[男女公国市县省州银厂方级地村镇店企医学校商书栋座楼幢班组队部单社站所院局型类烷醇苯肝板骨午某]"
_STEM = re.compile(f"(?<!{_NO_STEM_BEFORE})[{_STEMS}](?!{_NO_STEM_BEHIND})")
_NO_STEM = re.compile(f"{_NO_STEM_BEFORE}[{_STEMS}]|[{_STEMS}]{_NO_STEM_BEHIND}")
_STATES = re.compile("[两二三四各][国公市县厂方]")
# An answer (A. to D.) is no address.
_OPTION = re.compile("[A-D]\\. ")
# What follows the court code of a case number that a machine took for a name.
_TORN_NUMBER = re.compile(r"[0-9〕）)\]][\u4e00-\u9fa5]{2,6}[0-9一二三四五]{0,3}[刑民行执商知终初再申破提监复字]{1,4}[0-9]*字?第")


class Labelled(NamedTuple):
    """A text and its mentions: sorted, disjoint (start, end, label)."""

    text: str
    spans: tuple[tuple[int, int, str], ...]


class Names:
    """Draws names of all kinds that people in Chinese legal text have."""

    def __init__(
        self,
        book: DeidTables,
        given: Counter[str],
        japanese: Sequence[str],
        firms: Sequence[str],
        words: Sequence[str],
        never: set[str],
    ) -> None:
        self._surnames = list(book.characters("surname"))
        self._weak = set(book.characters("weak_surname"))
        # The list goes from the most frequent on; ranks are flattened so that rare ones are seen.
        self._surname_weights = [1 / (rank + 15) for rank in range(len(self._surnames))]
        self._rare = list(book.characters("rare_surname"))
        self._compound = list(book.words("compound_surname"))
        self._parts = list(book.words("name_part"))
        self._sounds = list(book.characters("transliteration"))
        self._given = sorted(given)
        self._given_weights = [given[char] ** 0.6 for char in self._given]
        # GB 2312's first level: the characters in common use.
        self._any = [bytes((high, low)).decode("gb2312") for high in range(0xB0, 0xD7) for low in range(0xA1, 0xFA)]
        self._japanese, self._firms, self._words = japanese, firms, words
        self._never = never

    def draw(self, rng: random.Random) -> str:
        """One name; none that a held-out set holds."""
        while True:
            name = self._draw(rng)
            if name not in self._never:
                return name

    def draw_for_exam(self, rng: random.Random) -> str:
        """One name as exams have them: often foreign without a dot, and short."""
        while True:
            kind = rng.random()
            name = self._sound(rng, 2, 4) if kind < 0.15 else self._surname(rng) + self._characters(rng, 1) if kind < 0.45 else ""
            name = name or self._draw(rng)
            if name not in self._never:
                return name

    def draw_firm(self, rng: random.Random) -> str:
        """The trade name of a shop: one of the list, or a person's."""
        return rng.choice(self._firms) if rng.random() < 0.6 else self.draw(rng)

    def draw_brand(self, rng: random.Random) -> str:
        """What a shop, a brand or a platform calls itself, without a word for what it is."""
        return rng.choice(self._firms)

    def _characters(self, rng: random.Random, count: int) -> str:
        if rng.random() < 0.15:
            return "".join(rng.choices(self._any, k=count))
        return "".join(rng.choices(self._given, self._given_weights, k=count))

    def _surname(self, rng: random.Random) -> str:
        if rng.random() < 0.25:
            return rng.choice(self._surnames)
        return rng.choices(self._surnames, self._surname_weights)[0]

    def _sound(self, rng: random.Random, low: int, high: int) -> str:
        return "".join(rng.choices(self._sounds, k=rng.randint(low, high)))

    def _draw(self, rng: random.Random) -> str:
        kind = rng.random()
        if kind < 0.58:
            name = self._surname(rng) + self._characters(rng, 2 if rng.random() < 0.68 else 1)
        elif kind < 0.64:
            name = rng.choice(self._compound) + self._characters(rng, rng.choice((1, 2, 2)))
        elif kind < 0.70:
            name = rng.choice(self._rare) + self._characters(rng, rng.choice((1, 2, 2)))
        elif kind < 0.755:
            # No list holds every surname.
            name = rng.choice(self._any) + self._characters(rng, rng.choice((1, 2, 2, 3)))
        elif kind < 0.805:
            name = self._surname(rng) + self._surname(rng) + self._characters(rng, rng.choice((1, 2, 2)))
        elif kind < 0.87:
            name = "".join(rng.sample(self._parts, rng.choice((2, 2, 3)))) if rng.random() < 0.78 else self._sound(rng, 3, 6)
        elif kind < 0.91:
            first = rng.choice(self._parts) if rng.random() < 0.4 else self._sound(rng, 2, 5)
            name = first + "·" + (rng.choice(self._parts) if rng.random() < 0.3 else self._sound(rng, 2, 5))
        elif kind < 0.96:
            name = rng.choice(self._japanese)
        else:
            name = rng.choice(self._words)
        return name


# --- reading the inputs ------------------------------------------------------------------------------------------------------


def read_inputs(folder: Path) -> list[dict[str, str]]:
    """The rows of train_names.toml; raises SystemExit where a file is missing or another than was listed."""
    rows: list[dict[str, str]] = tomllib.loads(INPUTS.read_text(encoding="utf-8"))["input"]
    for row in rows:
        path = folder / row["path"]
        if not path.exists():
            raise SystemExit(f"{row['path']}: is not there; give the folder that holds the inputs of {INPUTS.name}")
        if content_hash(path) != row["sha256"]:
            raise SystemExit(f"{row['path']}: is not the file that {INPUTS.name} lists")
    return rows


def content_hash(path: Path) -> str:
    """sha256 of a file; of a folder: over the names and hashes of its Markdown files."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    total = hashlib.sha256()
    for file in sorted(path.rglob("*.md")):
        total.update(file.relative_to(path).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _json_lines(path: Path, encoding: str = "utf-8") -> Iterator[Any]:
    with path.open(encoding=encoding) as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def read_texts(path: Path) -> Iterator[str]:
    """The texts of an input without labels, one a document."""
    if path.is_dir():
        for file in sorted(path.rglob("*.md")):
            yield file.read_text(encoding="utf-8", errors="replace")
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for member in sorted(archive.namelist()):
                for line in archive.read(member).decode("utf-8").splitlines():
                    if line.strip():
                        row = json.loads(line)
                        yield f"{row['Q']}\n{row['A']}"
    elif path.suffix == ".zst":
        yield from (text for _, text in compressed_texts(path))
    elif path.name.startswith("cail2021"):
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                yield "\n".join([row["sc"], *(row[key] for key in "ABCDE")])
    elif path.name.startswith("cail2018"):
        for row in _json_lines(path, "gb18030"):
            yield row["fact"]
    elif path.name.startswith("cail2019_scm"):
        seen: set[str] = set()
        for row in _json_lines(path):
            for key in "ABC":
                if row[key] not in seen:
                    seen.add(row[key])
                    yield row[key]
    elif path.name.startswith("cail2019_element"):
        for row in _json_lines(path):
            yield "".join(sentence["sentence"] for sentence in row)
    elif path.name.startswith("cail2020"):
        for row in _json_lines(path):
            yield "\n".join(sentence["sentence"] for sentence in row["text"])
    else:
        for row in json.loads(path.read_text(encoding="utf-8")):
            yield "\n".join(_strings(row))


# --- labels ------------------------------------------------------------------------------------------------------------------


class Labeller:
    """Gives texts their labels: those that came with them, what the rules find, and what an earlier model is sure of."""

    def __init__(self, book: DeidTables, tagger: Tagger | None) -> None:
        self._tagger = tagger
        self._zones = ZoneScanner(book)
        self._persons = PersonScanner(book)
        self._organisations = OrganisationScanner(book)
        self._addresses = AddressScanner(book)
        weak = set(book.characters("weak_surname"))
        clear = "".join(char for char in book.characters("surname") if char not in weak)
        self._clear = frozenset(clear)
        compound = "|".join(book.words("compound_surname"))
        number = "(?:[甲乙丙丁戊己庚辛壬癸]|[0-9０-９]{1,2}(?![0-9０-９年月日时元万.]))"
        marks = "(?:某{1,3}|[×＊*]{1,3}|[XxＸ]{2,3})"
        self._masked = re.compile(f"(?:(?:{compound}|[{clear}]){marks}{number}?|[{''.join(sorted(weak))}]{marks}{number})")

    def label(self, text: str, given: Iterable[tuple[int, int, str]]) -> Labelled:
        """``given`` spans first, then every other mention of the same name, then what the rules say, as far as they are apart."""
        zones = self._zones.scan(text)
        found = [span for span in given if not zones.overlap(span[0], span[1])]
        persons = {text[start:end] for start, end, label in found if label == "PERSON"}
        people = self._persons.find(text, zones, "story", ())
        found += [(span.start, span.end, span.entity) for span in people]
        persons |= {text[span.start : span.end] for span in people if span.entity == "PERSON"}
        if self._tagger is not None:
            sure = [item for item in self._tagger.decode(text, 0.0) if item.label == "PERSON" and item.margin > SURE]
            mentions = [(item.start, item.end, item.label) for item in sure if not zones.overlap(item.start, item.end)]
            persons |= {text[start:end] for start, end, _ in mentions if text[end : end + 1] not in ("某", "×", "*")}
        for name in sorted(persons):
            if len(name) > 1 and re.fullmatch(f"[{_HAN}·]+", name):
                found += [(match.start(), match.end(), "PERSON") for match in re.finditer(re.escape(name), text)]
        found += [(span.start, span.end, "ORGANISATION") for span in self._organisations.find(text, zones, "story", ())]
        found += [(span.start, span.end, "ADDRESS") for span in self._addresses.find(text, zones, ())]
        return Labelled(text, _disjoint(found))

    def names_somebody(self, text: str) -> bool:
        """Whether an exam or advice, which mostly name nobody, does, by the rules for such or by the earlier model."""
        zones = self._zones.scan(text)
        sure = self._tagger.decode(text, 0.0) if self._tagger is not None else ()
        return bool(self._persons.find(text, zones, "cue", ())) or any(
            item.label == "PERSON" and item.margin > SURE and text[item.start] in self._clear for item in sure
        )

    def story(self, text: str) -> Labelled | None:
        """An exam that tells of 甲 and 乙 or of 张某: these are its mentions, and whom the earlier model is sure of."""
        stems = {char for char in _STEMS if char in text}
        stems -= {char for match in _NO_STEM.findall(text) for char in match}
        found = [(match.start(), match.end(), "PERSON") for match in _STEM.finditer(text) if match.group() in stems]
        if len({text[start] for start, _, _ in found}) < 2 or _STATES.search(text):
            found = []
        found += [span for span in self.masks(text) if span[2] == "PERSON"]
        if not found:
            return None
        sure = self._tagger.decode(text, 0.0) if self._tagger is not None else ()
        found += [
            (item.start, item.end, "PERSON")
            for item in sure
            if item.label == "PERSON" and item.margin > SURE and text[item.start] in self._clear
        ]
        return Labelled(text, _disjoint(found, 1))

    def masks(self, text: str) -> list[tuple[int, int, str]]:
        """The masked names of a text as mentions: 张某某, 李×1, 王某甲, 某某网吧."""
        found = [(match.start(), match.end(), "PERSON") for match in self._masked.finditer(text)]
        return found + [(match.start(), match.end(), "ORGANISATION") for match in _MASKED_FIRM.finditer(text)]


def _disjoint(spans: Iterable[tuple[int, int, str]], shortest: int = 2) -> tuple[tuple[int, int, str], ...]:
    kept: list[tuple[int, int, str]] = []
    rank = {"PERSON": 0, "ORGANISATION": 1, "ADDRESS": 2}
    for span in sorted(set(spans), key=lambda span: (span[0] - span[1], rank[span[2]], span)):
        if span[1] - span[0] >= shortest and all(span[1] <= other[0] or other[1] <= span[0] for other in kept):
            kept.append(span)
    return tuple(sorted(kept))


def silver_spans(text: str, spans: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int, str]]:
    """Machine labels of Supreme Court text as ours: torn case numbers out, pieces of an address joined, its county left."""
    torn = [match.span() for match in _TORN_NUMBER.finditer(text)]
    run: tuple[int, int] | None = None
    for start, end, kind in [*spans, (len(text) + 1, len(text) + 1, "")]:
        if kind == "LOC" and run is not None and start == run[1]:
            run = (run[0], end)
            continue
        if run is not None:
            county = _COUNTY.match(text, *run)
            low = county.end() if county else run[0]
            if run[1] - low > 2 and _UNIT_OF_PLACE.search(text, low, run[1]):
                yield low, run[1], "ADDRESS"
            run = None
        if kind == "LOC":
            run = (start, end)
        elif kind in ("PER", "ORG") and "\n" not in text[start:end]:
            label = "PERSON" if kind == "PER" else "ORGANISATION"
            yield from [(start, end, label)] if not any(low < end and start < high for low, high in torn) else []


def swapped(labelled: Labelled, names: Names, rng: random.Random, of_exam: bool = False) -> Labelled:
    """The text with another name for every person, the same wherever the old one was the same."""
    draw = names.draw_for_exam if of_exam else names.draw
    chosen: dict[str, str] = {}
    pieces: list[str] = []
    spans: list[tuple[int, int, str]] = []
    at = length = 0
    for start, end, label in labelled.spans:
        between = labelled.text[at:start]
        if between == "、" and rng.random() < 0.02:
            between = ""  # names that run together are one of the faults of published texts
        pieces.append(between)
        length += len(between)
        value = labelled.text[start:end]
        if label == "PERSON":
            if value not in chosen:
                chosen[value] = draw(rng)
            value = chosen[value]
        elif label == "ORGANISATION" and value[0] == "某":
            if value not in chosen:
                chosen[value] = names.draw_firm(rng) + value.lstrip("某")
            value = chosen[value]
        pieces.append(value)
        spans.append((length, length + len(value), label))
        length += len(value)
        at = end
    pieces.append(labelled.text[at:])
    return Labelled("".join(pieces), tuple(spans))


def masked(labelled: Labelled, rng: random.Random) -> Labelled:
    """The text as de-identification leaves it (张某1, 某某公司2, ×××): there is nothing to find in it."""
    chosen: dict[str, str] = {}
    pieces: list[str] = []
    at = 0
    for start, end, label in labelled.spans:
        value = labelled.text[start:end]
        if value not in chosen:
            number = str(len(chosen) % 12 + 1) if rng.random() < 0.8 else rng.choice(("", "甲", "乙", "丙"))
            first = value[:2] if rng.random() < 0.5 and len(value) > 3 else value[0]
            company = "某某律师事务所" if value.endswith("事务所") else "某某公司"
            person = f"某某{number}" if rng.random() < 0.2 else f"{first}某{number}"
            chosen[value] = {"PERSON": person, "ORGANISATION": f"{company}{number}", "ADDRESS": "×××"}[label]
        pieces += (labelled.text[at:start], chosen[value])
        at = end
    return Labelled("".join([*pieces, labelled.text[at:]]), ())


def units(labelled: Labelled) -> Iterator[Labelled]:
    """Runs of whole sentences of about UNIT characters, none torn inside a mention."""
    low = high = 0
    for match in [*_SENTENCE.finditer(labelled.text), None]:
        if match is not None:
            inside = any(start < match.end() < end for start, end, _ in labelled.spans)
            if match.end() - low < UNIT or inside:
                high = match.end()
                continue
            high = match.end()
        if high > low:
            spans = tuple((start - low, end - low, label) for start, end, label in labelled.spans if low <= start < high)
            yield Labelled(labelled.text[low:high], spans)
        low = high


def own_sentences(names: Names, places: Sequence[str], firms: Sequence[str], rng: random.Random) -> Iterator[Labelled]:
    """The sentences of train_names_own.txt with names put in, several to a unit."""
    lines = [line for line in OWN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for _ in range(COPIES["own"]):
        rng.shuffle(lines)
        for first in range(0, len(lines), 6):
            text, spans = "", []
            for line in lines[first : first + 6]:
                chosen = {slot: names.draw(rng) for slot in "PQR"}
                option = _OPTION.match(line)
                text += option.group() if option else ""
                for piece in re.split("([PQROAT])", line[option.end() if option else 0 :]):
                    value, label = piece, ""
                    if piece in chosen:
                        value, label = chosen[piece], "PERSON"
                    elif piece == "O":
                        value, label = rng.choice(firms), "ORGANISATION"
                    elif piece == "A":
                        value, label = rng.choice(places), "ADDRESS"
                    elif piece == "T":
                        value, label = names.draw_brand(rng), "ORGANISATION"
                    if label:
                        spans.append((len(text), len(text) + len(value), label))
                    text += value
                text += "\n"
            yield Labelled(text, tuple(spans))


def word_list(texts: Sequence[str], book: DeidTables) -> list[str]:
    """Words of two characters that could be a name: those of the rules, and pairs that stand together more than by chance."""
    singles: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    for text in texts:
        singles.update(text)
        pairs.update(text[at : at + 2] for at in range(len(text) - 1))
    total = sum(singles.values())
    words = {
        pair
        for pair, count in pairs.items()
        if count >= 60
        and re.fullmatch(f"[{_HAN}]{{2}}", pair)
        and math.log2(count * total / (singles[pair[0]] * singles[pair[1]])) > 5
    }
    words |= {word for name in ("not_a_name", "follower") for word in book.words(name) if re.fullmatch(f"[{_HAN}]{{2}}", word)}
    never = set(book.characters("never_name"))
    return sorted(word for word in words if never.isdisjoint(word))


# --- the corpus --------------------------------------------------------------------------------------------------------------


def build_corpus(
    folder: Path, rows: Sequence[dict[str, str]], book: DeidTables, tagger: Tagger | None
) -> tuple[list[Labelled], Counter[str]]:
    """All training units in order, and the characters by use; ``tagger`` is the model of the round before."""
    rng = random.Random(SEED)
    labeller = Labeller(book, tagger)
    by_use: dict[str, list[Path]] = {}
    for row in rows:
        by_use.setdefault(row["use"], []).append(folder / row["path"])
    labelled_rows = {path.name: list(_json_lines(path)) for path in (*by_use["labelled"], *by_use["exclude"])}
    held_out = [
        row
        for path in by_use["labelled"]
        for row in labelled_rows[path.name]
        if path.name.startswith("judge") and split(row) == "held-out"
    ]
    aside = [*held_out, *(row for path in by_use["exclude"] for row in labelled_rows[path.name])]
    never = {row["text"][span[0] : span[1]] for row in aside for span in row["spans"]}
    # The hand-labelled forms, both halves: neither they nor texts like them are read.
    forms = [record["text"] for labels in sorted(FORMS.glob("*.jsonl")) for record in joined(folder, labels)]
    windows = {
        text[at : at + WINDOW]
        for text in (*(row["text"] for row in aside if len(row["text"]) > 300), *forms)
        for at in range(max(1, len(text) - WINDOW))
    }

    def is_fresh(text: str) -> bool:
        places = range(0, max(1, len(text) - WINDOW), 8)
        return sum(text[at : at + WINDOW] in windows for at in places) <= SHARED * len(places)

    statutes = [text for path in by_use["statutes"] for text in read_texts(path) if split({"text": text}) == "training"]
    rng.shuffle(statutes)
    statutes = _first(statutes, STATUTE_CHARS)
    free = [
        text for path in by_use["free"] for text in read_texts(path) if split({"text": text}) == "training" and is_fresh(text)
    ]
    rng.shuffle(free)
    stories = [story for story in map(labeller.story, free) if story is not None]
    free = _first(free, FREE_CHARS)

    spc, judge, courts = [], [], []
    for path in by_use["labelled"]:
        for row in labelled_rows[path.name]:
            if path.name.startswith("spc"):
                if is_fresh(row["text"]):
                    given = [*silver_spans(row["text"], row["spans"]), *labeller.masks(row["text"])]
                    spc.append(labeller.label(row["text"], given))
            elif split(row) == "training":
                given = [(start, end, "PERSON") for start, end, *_ in row["spans"]]
                judge.append(labeller.label(row["text"], given))
    for path in by_use["masked"]:
        courts += [labeller.label(text, labeller.masks(text)) for text in read_texts(path) if is_fresh(text)]
    print(f"{len(spc)} + {len(judge)} + {len(courts)} labelled texts", flush=True)

    given_chars: Counter[str] = Counter()
    for path in by_use["labelled"]:
        if path.name.startswith("spc"):
            for row in labelled_rows[path.name]:
                for start, end, kind in row["spans"]:
                    if kind == "PER" and 2 <= end - start <= 3:
                        given_chars.update(char for char in row["text"][start + 1 : end] if re.match(f"[{_HAN}]", char))
    japanese = [
        name for path in by_use["names"] for name in path.read_text(encoding="utf-8-sig").splitlines() if _is_japanese(name)
    ]
    trades = [
        name
        for path in by_use["firms"]
        for name in path.read_text(encoding="utf-8-sig").splitlines()
        if re.fullmatch(f"[{_HAN}]{{2,4}}", name)
    ]
    words = word_list(statutes, book)
    names = Names(book, given_chars, japanese, trades, words, never)
    places = sorted(
        {text[start:end] for text, spans in (*spc, *judge, *courts) for start, end, label in spans if label == "ADDRESS"}
    )
    firms = sorted(
        {
            text[start:end]
            for text, spans in (*spc, *judge, *courts)
            for start, end, label in spans
            if label == "ORGANISATION" and text[start] != "某"
        }
    )
    print(f"{len(japanese)} Japanese names, {len(words)} words, {len(places)} addresses, {len(firms)} organisations", flush=True)

    corpus: list[Labelled] = []
    sizes: Counter[str] = Counter()

    def add(use: str, items: Iterable[Labelled]) -> None:
        for item in items:
            corpus.append(item)
            sizes[use] += len(item.text)

    for use, texts in (("spc", spc), ("judge", judge), ("masked", courts)):
        for _ in range(COPIES[use]):
            for text in texts:
                add(use, units(swapped(text, names, rng)))
    for text in (*spc, *judge, *courts[::2]):
        add("surrogates", units(masked(text, rng)))
    for _ in range(COPIES["stories"]):
        for text in stories:
            add("stories", units(swapped(text, names, rng, of_exam=True)))
    add("own", own_sentences(names, places, firms, rng))
    for nameless in statutes:
        add("free", units(Labelled(nameless, ())))
    for mostly_nameless in free:
        add("free", (unit for unit in units(Labelled(mostly_nameless, ())) if not labeller.names_somebody(unit.text)))
    return corpus, sizes


def _first(texts: Sequence[str], size: int) -> list[str]:
    kept = []
    for text in texts:
        if size <= 0:
            break
        kept.append(text)
        size -= len(text)
    return kept


def _is_japanese(name: str) -> bool:
    if not 3 <= len(name) <= 6 or not re.fullmatch(f"[{_HAN}]+", name):
        return False
    try:
        name.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


# --- training ----------------------------------------------------------------------------------------------------------------


@njit(cache=True, fastmath=True)
def _epoch(
    codes: Any, kinds: Any, tags: Any, starts: Any, order: Any, allowed: Any, shift: int, rate: float,
    weights: Any, squares: Any, moves: Any, move_squares: Any, places: Any, kind_places: Any, offsets: Any,
) -> float:  # fmt: skip
    """One pass of AdaGrad over the negative log-likelihood; returns its sum."""
    loss = 0.0
    count = moves.shape[1]
    longest = 0
    for unit in range(starts.shape[0] - 1):
        longest = max(longest, starts[unit + 1] - starts[unit])
    rows = np.zeros((longest, 22), dtype=np.uint32)
    emit = np.zeros((longest, count), dtype=np.float32)
    forward = np.zeros((longest, count), dtype=np.float32)
    backward = np.zeros((longest, count), dtype=np.float32)
    scale = np.zeros(longest, dtype=np.float32)
    exp_moves = np.zeros((count + 1, count), dtype=np.float32)
    for unit in order:
        low, high = starts[unit], starts[unit + 1]
        n = high - low
        part_codes, part_kinds = codes[low:high], kinds[low:high]
        for i in range(count + 1):
            for j in range(count):
                exp_moves[i, j] = np.exp(moves[i, j]) if allowed[i, j] else 0.0
        for i in range(n):
            hash_features(part_codes, part_kinds, i, shift, places, kind_places, offsets, rows[i])
            for k in range(count):
                emit[i, k] = 0.0
            for f in range(22):
                row = rows[i, f]
                for k in range(count):
                    emit[i, k] += weights[row, k]
            loss -= emit[i, tags[low + i]]
            top = emit[i].max()
            loss += top
            for k in range(count):
                emit[i, k] = np.exp(emit[i, k] - top)
        for i in range(n):
            total = np.float32(0.0)
            for k in range(count):
                value = np.float32(0.0)
                if i == 0:
                    value = exp_moves[count, k]
                else:
                    for j in range(count):
                        value += forward[i - 1, j] * exp_moves[j, k]
                value *= emit[i, k]
                forward[i, k] = value
                total += value
            total = max(total, np.float32(1e-30))
            scale[i] = total
            loss += np.log(total)
            for k in range(count):
                forward[i, k] /= total
        total = np.float32(0.0)
        for k in range(count):
            # A text ends outside or at the end of a mention.
            backward[n - 1, k] = 1.0 if k % 3 == 0 else 0.0
            total += forward[n - 1, k] * backward[n - 1, k]
        total = max(total, np.float32(1e-30))
        loss += np.log(total)
        for k in range(count):
            backward[n - 1, k] /= total
        for i in range(n - 2, -1, -1):
            for j in range(count):
                value = np.float32(0.0)
                for k in range(count):
                    value += exp_moves[j, k] * emit[i + 1, k] * backward[i + 1, k]
                backward[i, j] = value / scale[i + 1]
        for i in range(n):
            gold = tags[low + i]
            before = count if i == 0 else tags[low + i - 1]
            loss -= moves[before, gold]
            for k in range(count):
                slope = forward[i, k] * backward[i, k] - (1.0 if k == gold else 0.0)
                if abs(slope) > 1e-4:
                    for f in range(22):
                        row = rows[i, f]
                        squares[row, k] += slope * slope
                        weights[row, k] -= rate * slope / np.sqrt(squares[row, k])
            for j in range(count + 1):
                if (j == count) != (i == 0):
                    continue
                for k in range(count):
                    if allowed[j, k]:
                        share = (exp_moves[j, k] if i == 0 else forward[i - 1, j] * exp_moves[j, k]) * emit[i, k]
                        slope = share * backward[i, k] / scale[i] - (1.0 if j == before and k == gold else 0.0)
                        if abs(slope) > 1e-4:
                            move_squares[j, k] += slope * slope
                            moves[j, k] -= rate * slope / np.sqrt(move_squares[j, k])
    return loss


def allowed_moves() -> NDArray[np.bool_]:
    """Which tag may follow which; the last row is the start of a text."""
    table = np.zeros((N_TAGS + 1, N_TAGS), dtype=np.bool_)
    for before in range(N_TAGS + 1):
        closed = before == N_TAGS or before % 3 == 0
        for after in range(N_TAGS):
            opens = after == 0 or after % 3 == 1
            table[before, after] = opens if closed else not opens and (after - 1) // 3 == (before - 1) // 3
    return table


def tag_array(item: Labelled) -> NDArray[np.int8]:
    """The tag of each character: 0 outside, then begin, inside and end of each label."""
    tags = np.zeros(len(item.text), dtype=np.int8)
    for start, end, label in item.spans:
        first = 1 + 3 * LABELS.index(label)
        tags[start], tags[start + 1 : end - 1], tags[end - 1] = first, first + 1, first + 2
    return tags


def train(corpus: Sequence[Labelled], surnames: str, epochs: int) -> bytes:
    """The bytes of the model file."""
    codes = np.concatenate([fold(item.text) for item in corpus])
    tags = np.concatenate([tag_array(item) for item in corpus])
    starts = np.cumsum([0, *(len(item.text) for item in corpus)])
    kinds = kinds_of(codes, surnames)
    weights = np.zeros((1 << BITS, N_TAGS), dtype=np.float32)
    squares = np.full(weights.shape, 0.1, dtype=np.float32)
    moves = np.zeros((N_TAGS + 1, N_TAGS), dtype=np.float32)
    move_squares = np.full(moves.shape, 0.1, dtype=np.float32)
    allowed = allowed_moves()
    mean_weights, mean_moves, taken = np.zeros_like(weights), np.zeros_like(moves), 0
    generator = np.random.default_rng(SEED)
    for epoch in range(epochs):
        began = time.process_time()
        rate = RATE * (1 - epoch / epochs / 1.25)
        loss = 0.0
        for part in np.array_split(generator.permutation(len(corpus)), PARTS):
            loss += _epoch(
                codes, kinds, tags, starts, part, allowed, 64 - BITS, rate,
                weights, squares, moves, move_squares, PLACES, KIND_PLACES, OFFSETS,
            )  # fmt: skip
            if epoch >= epochs - AVERAGED:
                mean_weights += weights
                mean_moves += moves
                taken += 1
        spent = time.process_time() - began
        print(f"epoch {epoch + 1}: {loss / len(codes):.5f} nats a character, {spent:.0f} s", flush=True)
    return write_model(mean_weights / np.float32(taken), mean_moves / np.float32(taken), allowed, surnames)


def card(data: bytes, rows: Sequence[dict[str, str]], sizes: Counter[str]) -> str:
    """The model card."""
    inputs = "\n".join(f"| `{row['path']}` | {row['use']} | `{row['sha256'][:16]}…` | {row['licence']} |" for row in rows)
    read = ", ".join(f"{use} {size:,}" for use, size in sizes.items())
    return f"""# Names model

`names.npz`, {len(data):,} bytes, written by `scripts/train_names.py`; sha256
`{hashlib.sha256(data).hexdigest()}`. The same inputs, rules and seed give the same bytes with the same numpy and numba, on
the same kind of processor; it comes from the rules and the code that it stands beside, as far as neither was changed since.

A linear-chain conditional random field over {N_FEATURES} hashed features a character ({1 << BITS:,} rows of {N_TAGS} weights
of 8 bits): the characters up to four places away, alone and in runs of two to four, and the kinds of the nearest ones. Tags:
begin, inside and end of {", ".join(LABELS)}, and none. It tells names from the characters around them, within one document;
`core/deid/persons.py` weighs what it says with the rules and follows each name through the document.

- **For**: finding what de-identification masks in Chinese legal text in simplified characters.
- **Settings**: AdaGrad, rate {RATE} falling to a third, {FIRST_EPOCHS} epochs for a first model, which labels what rules and
  given labels left out (margin above {SURE} nats), then {EPOCHS}; seed {SEED}. The weights are the mean of those after every
  eighth of the last {AVERAGED} epochs.
- **Characters read in one epoch**: {read}.
- **Names**: every person's name is replaced by a drawn one in every copy of a text: surnames of the rules' list with flattened
  frequencies, compound and rare ones, any first character, two surnames, Tibetan, Mongolian, Uyghur and Yi morphemes,
  transliterations, Japanese names, and words. Exams that tell of 甲 and 乙 or of 张某 are read with names in their place
  (`stories`) besides as they are.

## Inputs

Full hashes in `scripts/train_names.toml`. `exclude`: only their names and texts are kept out. None of this is shipped.

| file | use | sha256 | by what right |
|---|---|---|---|
{inputs}

## Held out

Half of the lower-court judgments and of the statutes, by a hash (`split` of `scripts/eval_deid.py`); the hand-labelled Supreme
Court texts, the hard names and the hand-labelled forms (`tests/core/deid/labels`, all three parts), whole. No name of the first
three is drawn, and no text is read that shares {SHARED:.0%} of its windows of {WINDOW} characters with them.
Figures: `BENCHMARKS.md`.

## Limits

- Margins and rules were set while looking at the sets that the figures are of: other text will do worse, how much is not known.
- Machine labels teach it their mistakes: a name that no rule, label or first model found taught it that it is none.
- Traditional characters, classical text, English and tables are foreign to it. Names that are words are found only where the
  place says so.
- Organisations and addresses are learnt mostly from what the rules find; the rules bear the weight there.
"""


def train_rounds(folder: Path, rows: Sequence[dict[str, str]], epochs: int) -> tuple[bytes, Counter[str]]:
    """The model file from the inputs in ``folder``, and how many characters of each use it read in one epoch."""
    book = rule_files.load().deid
    tagger = None
    data, sizes = b"", Counter[str]()
    # What the texts' own labels and the rules leave out teaches that names are none: a first model finds most of that.
    for count in (FIRST_EPOCHS, epochs):
        corpus, sizes = build_corpus(folder, rows, book, tagger)
        print({use: f"{size:,}" for use, size in sizes.items()}, f"{len(corpus):,} units", flush=True)
        data = train(corpus, book.characters("surname"), count)
        tagger = Tagger(data)
    return data, sizes


def main() -> int:
    """Train and write model and card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with the inputs of train_names.toml")
    parser.add_argument("--out", type=Path, default=ROOT / "pipeline" / "lexmill" / "models", help="folder to write to")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    rows = read_inputs(arguments.data)
    data, sizes = train_rounds(arguments.data, rows, arguments.epochs)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "names.npz").write_bytes(data)
    (arguments.out / "names.md").write_text(card(data, rows, sizes), encoding="utf-8")
    print(f"{len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
