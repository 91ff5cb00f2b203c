"""Score de-identification on labelled texts as the Text Anonymization Benchmark does (Pilán et al. 2022, section 5).

    .venv/bin/python scripts/eval_deid.py LABELLED.jsonl [--part held-out] [--complete PERSON] [--json OUT] [--plot OUT.png]

A line is `{"text", "spans": [[start, end, type], …]}`, with `id`, `doc_type` and a field to group by if there are any; a span
without a type is a person's. An entity is one written form in one document and counts as masked only if every mention of it is
masked whole. Names are direct identifiers; organisations and addresses are quasi-identifiers. Of an address only what lies below
the county counts, of an organisation only what is no public body; characters that are masks already (某, ×, *) never leak.

Precision weighs each masked mention by its information content, the sum of -log2 p(c) of its characters, p(c) being the
frequency of the character in the scored texts (the benchmark takes a language model; nothing is downloaded here). It and the
over-masked characters are told only of types that `--complete` says are labelled completely.

Intervals are of 95 %: Wilson's for shares, the percentile bootstrap over documents (1,000 draws, fixed seed) for leaked
characters. `--part` takes the documents that `split` puts aside: half of all, by a hash of their id (else of their text).
What is trained or tuned must leave those alone.
"""

import argparse
import hashlib
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from lexmill.core.deid.mask import mask
from lexmill.jobs.resources import installed_detector

Part = Literal["all", "training", "held-out"]
# What the labels of the known sets are called here; None: no identifier. ANON and MASKED are masks that were there before.
TYPES = {
    "PER": "PERSON",
    "PERSON": "PERSON",
    "ORG": "ORGANISATION",
    "ORGANISATION": "ORGANISATION",
    "LOC": "ADDRESS",
    "ADDRESS": "ADDRESS",
    "ANON": None,
    "MASKED": None,
}
DIRECT = frozenset(("PERSON", "ID_CARD", "MOBILE", "PHONE", "BANK_CARD", "BANK_ACCOUNT", "PASSPORT", "EMAIL", "PLATE"))
# What the masks of the detector are compared with.
MASKED_AS = {"LAW_FIRM": "ORGANISATION", "ORG_ADDRESS": "ADDRESS"}
_PUBLIC = re.compile(
    r"(?:法院|检察院|公安局|公安厅|分局|派出所|政府|委员会|管理局|国土局|税务局|局|厅|院|大队|支队|看守所|监狱|戒毒所|医院|大学|学校|中心|协会|部|会|办)\n?\Z"
)
_COUNTY = re.compile(
    r"(?:[\u4e00-\u9fa5]{2,8}?(?:自治区|省))?(?:[\u4e00-\u9fa5]{1,8}?(?:自治州|地区|盟|市))?(?:[\u4e00-\u9fa5]{1,8}?(?:自治县|开发区|新区|区|县|旗|市))?"
)
_HIDDEN = frozenset("某×*＊XxＸ")
_DRAWS = 1000
_SEED = 2016


class Gold(NamedTuple):
    """One labelled mention; ``start:end`` is the part of it that must not be read."""

    start: int
    end: int
    entity: str
    key: str


@dataclass
class Tally:
    """What was counted of one entity type; ``leaks`` are the leaked characters by document."""

    mentions: int = 0
    covered: int = 0
    entities: int = 0
    hidden: int = 0
    characters: int = 0
    leaks: list[int] = field(default_factory=list)
    masked: int = 0
    masked_right: int = 0
    weight: float = 0.0
    weight_right: float = 0.0
    over_masked: int = 0


def split(record: dict[str, Any]) -> Part:
    """``held-out`` or ``training``, by a hash of the id (copies of one document share it), else of the text."""
    key = str(record.get("id") or record["text"])
    return "held-out" if hashlib.blake2b(key.encode(), digest_size=8).digest()[0] & 1 else "training"


def read_gold(record: dict[str, Any]) -> list[Gold]:
    """The mentions of one line that a reader must not see."""
    text = record["text"]
    found = []
    for start, end, *kind in record["spans"]:
        entity = TYPES.get(kind[0], kind[0]) if kind else "PERSON"
        key = text[start:end]
        if entity == "ORGANISATION" and _PUBLIC.search(key):
            continue
        if entity == "ADDRESS":
            county = _COUNTY.match(text, start, end)
            start = county.end() if county else start
        if entity and start < end and not _HIDDEN.issuperset(text[start:end]):
            found.append(Gold(start, end, entity, key))
    return found


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share (Wilson 1927)."""
    if not trials:
        return 0.0, 1.0
    z = 1.959964
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    return max(0.0, (centre - spread) / (1 + z * z / trials)), min(1.0, (centre + spread) / (1 + z * z / trials))


def bootstrap(leaks: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
    """The 95 % percentile interval of leaked characters per million, documents drawn with replacement."""
    if not leaks:
        return 0.0, 0.0
    draws = np.random.default_rng(_SEED).integers(0, len(leaks), (_DRAWS, len(leaks)))
    rates = np.asarray(leaks)[draws].sum(axis=1) / np.asarray(sizes)[draws].sum(axis=1)
    low, high = np.quantile(rates, (0.025, 0.975))
    return float(low * 1e6), float(high * 1e6)


def _information(texts: Iterable[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    total = sum(counts.values())
    return {char: -math.log2(count / total) for char, count in counts.items()}


class Score:
    """Collects documents and what was masked in them."""

    def __init__(self, information: dict[str, float]) -> None:
        self._information = information
        self.sizes: list[int] = []
        self.tallies: dict[str, Tally] = {}
        self.direct_leaks: list[int] = []
        self.changed = 0

    def _tally(self, entity: str) -> Tally:
        if entity not in self.tallies:
            self.tallies[entity] = Tally(leaks=[0] * (len(self.sizes) - 1))
        return self.tallies[entity]

    def add(self, text: str, gold: Sequence[Gold], masked: Sequence[tuple[int, int, str]]) -> None:
        """One document: its gold mentions, and (start, end, entity) of what was masked."""
        self.sizes.append(len(text))
        self.changed += bool(masked)
        cover = bytearray(len(text))
        for start, end, _ in masked:
            cover[start:end] = b"\1" * (end - start)
        for char_at, char in enumerate(text):
            if char in _HIDDEN:
                cover[char_at] = 1
        entities: dict[tuple[str, str], bool] = {}
        leaked: Counter[str] = Counter()
        labelled: dict[str, bytearray] = defaultdict(lambda: bytearray(len(text)))
        for item in gold:
            tally = self._tally(item.entity)
            shown = (item.end - item.start) - cover.count(1, item.start, item.end)
            tally.mentions += 1
            tally.characters += item.end - item.start
            tally.covered += not shown
            leaked[item.entity] += shown
            key = (item.entity, item.key)
            entities[key] = entities.get(key, True) and not shown
            labelled[item.entity][item.start : item.end] = b"\1" * (item.end - item.start)
        for (entity, _), hidden in entities.items():
            self._tally(entity).entities += 1
            self._tally(entity).hidden += hidden
        for start, end, entity in masked:
            tally = self._tally(entity)
            weight = sum(self._information.get(char, 0.0) for char in text[start:end])
            right = labelled[entity].count(1, start, end)
            tally.masked += 1
            tally.masked_right += right > 0
            tally.weight += weight
            tally.weight_right += weight * (right > 0)
            tally.over_masked += end - start - right
        for entity, tally in self.tallies.items():
            tally.leaks.append(leaked[entity])
        self.direct_leaks.append(sum(count for entity, count in leaked.items() if entity in DIRECT))

    def rows(self, complete: frozenset[str]) -> Iterator[dict[str, Any]]:
        """One row of figures an entity type that is labelled or complete."""
        size = sum(self.sizes)
        for entity, tally in sorted(self.tallies.items()):
            if not tally.mentions and entity not in complete:
                continue
            leaks = sum(tally.leaks)
            row: dict[str, Any] = {
                "entity": entity,
                "kind": "direct" if entity in DIRECT else "quasi",
                "mentions": tally.mentions,
                "mentions_covered": tally.covered,
                "mention_recall": _share(tally.covered, tally.mentions),
                "entities": tally.entities,
                "entity_recall": _share(tally.hidden, tally.entities),
                "entity_recall_interval": wilson(tally.hidden, tally.entities),
                "labelled_characters": tally.characters,
                "leaked_characters": leaks,
                "leaked_share": _share(leaks, tally.characters),
                "leaked_per_million": leaks / size * 1e6,
                "leaked_per_million_interval": bootstrap(tally.leaks, self.sizes),
            }
            if entity in complete:
                row |= {
                    "masked": tally.masked,
                    "precision": _share(tally.masked_right, tally.masked),
                    "precision_interval": wilson(tally.masked_right, tally.masked),
                    "weighted_precision": _share(tally.weight_right, tally.weight),
                    "wrong_per_million": (tally.masked - tally.masked_right) / size * 1e6,
                    "over_masked_per_million": tally.over_masked / size * 1e6,
                }
            yield row

    def summary(self) -> dict[str, Any]:
        """Figures of whole documents."""
        clean = sum(not leak for leak in self.direct_leaks)
        return {
            "documents": len(self.sizes),
            "characters": sum(self.sizes),
            "documents_changed": self.changed,
            "documents_without_direct_leak": clean,
            "share_without_direct_leak": _share(clean, len(self.sizes)),
            "share_without_direct_leak_interval": wilson(clean, len(self.sizes)),
        }


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.2f} %"


def table(name: str, score: Score, complete: frozenset[str]) -> str:
    """The figures as text, one line an entity type."""
    whole = score.summary()
    low, high = whole["share_without_direct_leak_interval"]
    clean = f"{whole['documents_without_direct_leak']:,} = {_percent(whole['share_without_direct_leak'])}"
    lines = [
        f"{name}: {whole['documents']:,} documents, {whole['characters']:,} characters; without a direct leak {clean} "
        f"({_percent(low)} to {_percent(high)})"
    ]
    for row in score.rows(complete):
        low, high = row["leaked_per_million_interval"]
        line = (
            f"  {row['entity']:<13}{row['kind']:<7}mentions {row['mentions_covered']:,}/{row['mentions']:,} = "
            f"{_percent(row['mention_recall'])}; entities {_percent(row['entity_recall'])} of {row['entities']:,}; leaked "
            f"{row['leaked_characters']:,}/{row['labelled_characters']:,} characters = {_percent(row['leaked_share'])}, "
            f"{row['leaked_per_million']:.0f} per million ({low:.0f} to {high:.0f})"
        )
        if "precision" in row:
            line += (
                f"; precision {_percent(row['precision'])} of {row['masked']:,} (weighted "
                f"{_percent(row['weighted_precision'])}), {row['wrong_per_million']:.1f} wrong masks and "
                f"{row['over_masked_per_million']:.0f} over-masked characters per million"
            )
        lines.append(line)
    return "\n".join(lines)


def plot(path: Path, rows: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Recall of entities and leaked characters per million with their intervals, one bar a set and entity type."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows = [(name, row) for name, row in rows if row["mentions"]]
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 1.2 + 0.4 * len(rows)), sharey=True)
    places = range(len(rows))
    for axis, key, title in (
        (axes[0], "entity_recall", "entities masked in every mention"),
        (axes[1], "leaked_per_million", "leaked characters per million"),
    ):
        values = np.array([row[key] for _, row in rows])
        bounds = np.array([row[f"{key}_interval"] for _, row in rows]).T.reshape(2, -1)
        spread = np.abs(bounds - values)
        axis.barh(places, values, xerr=spread, color=["#34618c" if row["kind"] == "direct" else "#9db8d2" for _, row in rows])
        axis.set_title(title)
    axes[0].set_xlim(0, 1)
    axes[0].set_yticks(places, [f"{name} {row['entity']}" for name, row in rows])
    axes[0].invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> int:
    """Score the files and print the table; exit code 2 where a document failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="LABELLED.jsonl")
    parser.add_argument("--part", choices=("all", "training", "held-out"), default="all")
    parser.add_argument("--doc-type", default="judgment", help="how lines without a doc_type are read")
    parser.add_argument("--policy", default="train-strict")
    parser.add_argument("--complete", nargs="*", default=[], metavar="ENTITY", help="types that are labelled completely")
    parser.add_argument("--group-by", default="", metavar="FIELD", help="score the values of this field apart")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--plot", type=Path, help="draw the figures here (.png, .svg)")
    arguments = parser.parse_args()
    complete = frozenset(arguments.complete)
    detector = installed_detector(arguments.policy)
    figures: dict[str, Any] = {}
    bars: list[tuple[str, dict[str, Any]]] = []
    failed = 0
    for path in arguments.files:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        records = [record for record in records if arguments.part in ("all", split(record))]
        information = _information(record["text"] for record in records)
        scores: dict[str, Score] = {}
        for record in records:
            name = f"{path.stem} {record[arguments.group_by]}" if arguments.group_by else path.stem
            score = scores.setdefault(name, Score(information))
            try:
                spans = mask(record["text"], record.get("doc_type") or arguments.doc_type, detector).spans
            except Exception as error:
                print(f"{path.name}: a document failed: {error}", file=sys.stderr)
                failed += 1
                continue
            masked = [(span.start, span.end, MASKED_AS.get(span.entity, span.entity)) for span in spans]
            score.add(record["text"], read_gold(record), masked)
        for name, score in scores.items():
            print(table(name, score, complete))
            rows = list(score.rows(complete))
            bars += [(name, row) for row in rows]
            figures[name] = {"part": arguments.part, **score.summary(), "entities": rows}
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if arguments.plot:
        plot(arguments.plot, bars)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
