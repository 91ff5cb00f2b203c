"""What the pages of ``lexmill browse`` show: lists of documents, one document at one stage, two copies side by side.

Text is shown as it was de-identified in the run, or masked here as stage deidentify does it; what cannot be masked is not shown.
Only functions that are told ``original`` give raw text, titles, paths or case numbers: who calls them must write that down first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.shown import Placed, mask_for_people, masks_of, with_masks
from lexmill.errors import DocumentError, InputError
from lexmill.report.balance import totals
from lexmill.report.differences import Piece, in_context, pieces
from lexmill.report.trace import parts_of, resolve, trace
from lexmill.schema import ACTIONS, DOCUMENT, DOCUMENT_JUDGED, DOCUMENT_RAW, STAGES
from lexmill.store.workspace import Workspace

ROWS = 50  # of a list, on a page
KEPT = "kept"
WITH_TEXT = STAGES[: STAGES.index("filter") + 1]
_DEIDENTIFY = STAGES.index("deidentify")
# Characters of one text on a page, and of one changed stretch; a browser is slow at more.
_MOST, _CHANGED = 200_000, 4000
_COPIES = 20
_HUES = 12
_RAW = ("case_number", "uri", "record_id")


@dataclass(frozen=True)
class Desk:
    """What is looked at, and what masks text that was never de-identified."""

    workspace: Workspace
    detector: Detector

    def manifests(self) -> dict[str, dict[str, Any]]:
        """The stages that exist, in order; raises DamagedFile."""
        found = {}
        for stage in STAGES:
            manifest = self.workspace.stage(stage).manifest()
            if manifest is None:
                break
            found[stage] = manifest
        return found


class Wanted(NamedTuple):
    """Which documents a list holds; an empty string stands for any."""

    stage: str
    action: str
    rule: str
    source: str


class Run(NamedTuple):
    """A stretch of text, and the mask that it is (empty: none)."""

    text: str
    entity: str
    rule: str


@dataclass(frozen=True)
class Section:
    """A segment of a text; ``hue`` is the number of its kind's colour."""

    kind: str
    path: str
    confidence: float
    hue: int
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class Text:
    """A document as one stage left it; where it may not be shown, ``reason`` says why and the rest is empty."""

    reason: str
    row: Mapping[str, Any]
    masks: tuple[Placed, ...]


def overview(desk: Desk) -> dict[str, Any]:
    """Every stage with what came and went, every rule with its number of rows, every source."""
    manifests = desk.manifests()
    if not manifests:
        raise InputError("nothing has been run in this workspace yet; `lexmill run CONFIG` does")
    stages = [
        {"stage": stage, **{kind: totals(manifest["counts"], kind)["docs"] for kind in ("in", "out", "drop", "quarantine")}}
        for stage, manifest in manifests.items()
    ]
    return {"stages": stages, "rules": _rules(manifests), "groups": _groups(manifests)}


def _rules(manifests: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for stage, manifest in manifests.items():
        for tally, number in manifest["tallies"].items():
            action, _, rule = tally.partition(":")
            if action in ACTIONS and rule:
                rows.append({"stage": stage, "action": action, "rule": rule, "n": number})
    return rows


def _groups(manifests: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Documents of each source and type that came, and that the last stage kept."""
    last = [stage for stage in manifests if stage in WITH_TEXT][-1]
    came, kept = manifests["ingest"]["counts"].get("in", {}), manifests[last]["counts"].get("out", {})
    rows = []
    for group in sorted({*came, *kept}):
        source, _, doc_type = group.rpartition("/")
        numbers = (counts.get(group, {}).get("docs", 0) for counts in (came, kept))
        rows.append(dict(zip(("came", "kept"), numbers, strict=True), source=source, doc_type=doc_type, last=last))
    return rows


def choices(desk: Desk) -> dict[str, list[str]]:
    """What a list can be narrowed to."""
    manifests = desk.manifests()
    rules = sorted({row["rule"] for row in _rules(manifests)})
    sources = sorted({row["source"] for row in _groups(manifests)}) if manifests else []
    return {"stage": list(manifests), "action": [KEPT, *ACTIONS], "rule": rules, "source": sources}


def listing(desk: Desk, wanted: Wanted, page: int) -> dict[str, Any]:
    """One page (from 1) of the documents wanted, whether there are more behind it, and how many in all where that is known."""
    manifests = desk.manifests()
    action = wanted.action or ("" if wanted.rule else KEPT)
    if action == KEPT and wanted.rule:
        raise InputError("rules are of documents that left or were edited; choose no rule, or another action")
    if wanted.stage and wanted.stage not in manifests:
        raise InputError("this stage does not exist in this run")
    skip = (page - 1) * ROWS
    if action == KEPT:
        stage = wanted.stage if wanted.stage in WITH_TEXT else next(iter(reversed([s for s in manifests if s in WITH_TEXT])), "")
        found, total = _kept_rows(desk, manifests, stage, wanted.source, skip), _kept_total(manifests, stage, wanted.source)
    else:
        stages = [wanted.stage] if wanted.stage else list(manifests)
        asked = wanted._replace(action=action)
        left = _ledger_rows(desk, manifests, stages, asked)
        found, total = islice(left, skip, None), _ledger_total(manifests, stages, asked)
    rows = list(islice(found, ROWS + 1))
    return {"rows": rows[:ROWS], "more": len(rows) > ROWS, "total": total, "page": page, "action": action}


def _kept_rows(
    desk: Desk, manifests: Mapping[str, Mapping[str, Any]], stage: str, source: str, skip: int
) -> Iterator[dict[str, Any]]:
    columns = ["doc_id", "source", "doc_type", "text", *(["title"] if _is_masked(manifests, stage) else [])]
    for entry in manifests[stage]["parts"] if stage else ():
        if not source and skip >= entry["rows"]:
            skip -= entry["rows"]
            continue
        table = _read(desk, stage, entry, columns)
        if source:
            table = table.filter(pc.equal(table["source"], source))
        here = table.slice(skip)
        skip = max(0, skip - table.num_rows)
        lengths = pc.utf8_length(here["text"]).to_pylist()
        for row, n_chars in zip(here.drop_columns(["text"]).to_pylist(), lengths, strict=True):
            yield {
                "title": None,
                **row,
                "stage": stage,
                "action": KEPT,
                "rule": "",
                "twin": None,
                "value": None,
                "n_chars": n_chars,
            }


def _kept_total(manifests: Mapping[str, Mapping[str, Any]], stage: str, source: str) -> int | None:
    groups = manifests[stage]["counts"].get("out", {}) if stage else {}
    return sum(units["docs"] for group, units in groups.items() if not source or group.rpartition("/")[0] == source)


def _ledger_rows(
    desk: Desk, manifests: Mapping[str, Mapping[str, Any]], stages: Sequence[str], wanted: Wanted
) -> Iterator[dict[str, Any]]:
    names = ["doc_id", "source", "doc_type", "stage", "action", "rule", "twin", "value", "n_chars"]
    for stage in stages:
        folder = desk.workspace.stage(stage)
        for entry in manifests[stage]["parts"]:
            table = folder.read_ledger(entry)
            for name in ("action", "rule", "source"):
                if value := getattr(wanted, name):
                    table = table.filter(pc.equal(table[name], value))
            yield from ({"title": None, **row} for row in table.select(names).to_pylist())


def _ledger_total(manifests: Mapping[str, Mapping[str, Any]], stages: Sequence[str], wanted: Wanted) -> int | None:
    if wanted.source:
        return None
    rows = _rules({stage: manifests[stage] for stage in stages})
    return sum(row["n"] for row in rows if wanted.action in ("", row["action"]) and wanted.rule in ("", row["rule"]))


def _is_masked(manifests: Mapping[str, Mapping[str, Any]], stage: str) -> bool:
    """Whether stage deidentify masked what this stage holds, whatever the run file says by now."""
    if STAGES.index(stage) < _DEIDENTIFY or "deidentify" not in manifests:
        return False
    return any(name.startswith("masked.") for name in manifests["deidentify"]["tallies"])


def _read(desk: Desk, stage: str, entry: Mapping[str, Any], columns: Sequence[str] | None) -> pa.Table:
    """A part of a stage; raises InputError where the retention deleted it."""
    number = WITH_TEXT.index(stage)
    schema = DOCUMENT_RAW if number < _DEIDENTIFY else DOCUMENT if stage == "deidentify" else DOCUMENT_JUDGED
    try:
        return desk.workspace.stage(stage).read(entry, schema, columns)
    except FileNotFoundError:
        raise InputError(f"{stage} 的文本已按保留期删除（no longer in the workspace；lexmill purge）") from None


def _row(desk: Desk, manifests: Mapping[str, Mapping[str, Any]], stage: str, doc_id: str) -> dict[str, Any] | None:
    if stage not in manifests:
        return None
    parts = manifests[stage]["parts"]
    for number in parts_of(desk.workspace, doc_id):
        if number < len(parts):
            table = _read(desk, stage, parts[number], None)
            if rows := table.filter(pc.equal(table["doc_id"], doc_id)).to_pylist():
                found: dict[str, Any] = rows[0]
                return found
    return None


def text_at(desk: Desk, doc_id: str, stage: str, original: bool) -> Text:
    """The document as ``stage`` left it: raw and with what would be masked (``original``), or masked, or the reason why not."""
    manifests = desk.manifests()
    try:
        row = _row(desk, manifests, stage, doc_id)
    except InputError as error:
        return Text(str(error), {}, ())
    if row is None:
        return Text(f"这一步之后没有它（not in the text of stage {stage}）", {}, ())
    if not _is_masked(manifests, stage):
        if original:
            return Text("", row, masks_of(row, desk.detector))
        try:
            return Text("", *mask_for_people(row, desk.detector))
        except DocumentError as error:
            return Text(f"无法遮盖（cannot be masked）：{error.rule}；原文只在 --show-originals 下显示", {}, ())
    try:
        raw = _row(desk, manifests, "decontaminate", doc_id)
    except InputError:
        raw = None
    shown = with_masks(row, raw, desk.detector)
    if not shown.masks and stage == "filter":
        # The filter cut something: the masks are where they were in what is left.
        before = text_at(desk, doc_id, "deidentify", False)
        return Text("", row, _moved(before.masks, str(before.row.get("text", "")), row["text"]))
    return Text("", row, shown.masks)


def _moved(masks: Sequence[Placed], before: str, after: str) -> tuple[Placed, ...]:
    """The masks of a text at their places in what was left of it."""
    if not masks or before == after:
        return ()
    found = []
    left = right = 0
    for piece in pieces(before, after):
        if piece.same:
            inside = (mask for mask in masks if left <= mask.start and mask.end <= left + len(piece.left))
            found += [mask._replace(start=mask.start - left + right, end=mask.end - left + right) for mask in inside]
        left, right = left + len(piece.left), right + len(piece.right)
    return tuple(found)


def sections(
    text: str, segments: Sequence[Mapping[str, Any]], masks: Sequence[Placed], hues: Mapping[str, int]
) -> Iterator[Section]:
    """The text in order and whole, cut where segments and masks begin and end."""
    at = 0
    for part in sorted(segments, key=lambda part: part["start"]):
        start, end = max(at, part["start"]), min(len(text), part["end"])
        if start > at:
            yield Section("", "", 1.0, 0, _runs(text, at, start, masks))
        if end > start:
            yield Section(part["kind"], part["path"], part["confidence"], hues[part["kind"]], _runs(text, start, end, masks))
        at = max(at, end)
    if at < len(text):
        yield Section("", "", 1.0, 0, _runs(text, at, len(text), masks))


def _runs(text: str, start: int, end: int, masks: Sequence[Placed]) -> tuple[Run, ...]:
    runs = []
    at = start
    for mask in masks:
        low, high = max(mask.start, at), min(mask.end, end)
        if low < high:
            if low > at:
                runs.append(Run(text[at:low], "", ""))
            runs.append(Run(text[low:high], mask.entity, mask.rule))
            at = high
    if at < end:
        runs.append(Run(text[at:end], "", ""))
    return tuple(runs)


def find(desk: Desk, wanted: str) -> list[dict[str, Any]]:
    """doc_id and source of the documents of a doc_id or case number; raises InputError where there is none."""
    rows = {row["doc_id"]: {"doc_id": row["doc_id"], "source": row["source"]} for row in resolve(desk.workspace, wanted)}
    return list(rows.values())


def document(desk: Desk, doc_id: str, stage: str, original: bool) -> dict[str, Any]:
    """A document's way, and its text as ``stage`` (empty: the last one that has it) left it, with what that stage changed."""
    lineage = resolve(desk.workspace, doc_id)[0]
    way = trace(desk.workspace, doc_id)
    reached = [step["stage"] for step in way if step["action"] == KEPT and step["stage"] in WITH_TEXT]
    if stage and stage not in reached:
        raise InputError("this document is not in the text of that stage; its way says where it left")
    here = stage or next(reversed(reached), "")
    text = text_at(desk, doc_id, here, original) if here else Text("没有成为文本就离开了（left before it had a text）", {}, ())
    before = reached[reached.index(here) - 1] if here in reached[1:] else ""
    row = text.row
    whole = str(row.get("text", ""))
    return {
        "doc_id": doc_id,
        "source": lineage["source"],
        "way": way,
        "reached": reached,
        "stage": here,
        "before": before,
        "text": text,
        "shown": list(_cut(whole, row.get("segments") or (), text.masks)),
        "cut": max(0, len(whole) - _MOST),
        "kinds": _hues(row.get("segments") or ()),
        "masked": _count(text.masks),
        "changes": _changes(desk, doc_id, before, original, text) if before and not text.reason else None,
        "copies": _copies(desk, doc_id),
        "raw": {name: lineage[name] for name in _RAW} if original else None,
        "original": original,
    }


def _cut(whole: str, segments: Sequence[Mapping[str, Any]], masks: Sequence[Placed]) -> Iterator[Section]:
    return sections(whole[:_MOST], segments, masks, _hues(segments))


def _hues(segments: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The number of a colour for each kind of segment, in the order of the text."""
    return {kind: number % _HUES + 1 for number, kind in enumerate(dict.fromkeys(part["kind"] for part in segments))}


def _count(masks: Sequence[Placed]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for mask in masks:
        counted[mask.entity] = counted.get(mask.entity, 0) + 1
    return dict(sorted(counted.items()))


def _changes(desk: Desk, doc_id: str, before: str, original: bool, text: Text) -> dict[str, Any]:
    """What is other in ``text`` than it was after stage ``before``."""
    earlier = text_at(desk, doc_id, before, original)
    left, right = str(earlier.row.get("text", "")), str(text.row["text"])
    return {
        "reason": earlier.reason,
        "same": left == right,
        "pieces": [] if earlier.reason or left == right else _marked(left, right),
    }


def _marked(left: str, right: str) -> list[Piece]:
    return list(in_context(pieces(left[:_MOST], right[:_MOST]), _CHANGED))


def _copies(desk: Desk, doc_id: str) -> list[str]:
    """Documents that left for this one; the first of them."""
    folder = desk.workspace.stage("dedup")
    manifest = folder.manifest()
    found: list[str] = []
    for entry in manifest["parts"] if manifest else ():
        ledger = folder.read_ledger(entry)
        found += ledger.filter(pc.equal(ledger["twin"], doc_id))["doc_id"].to_pylist()
        if len(found) >= _COPIES:
            break
    return list(dict.fromkeys(found))[:_COPIES]


def twins(desk: Desk, doc_id: str, twin: str, original: bool) -> dict[str, Any]:
    """Two copies as ingest left them, with what differs in them."""
    sides = [_side(desk, name, original) for name in (twin, doc_id)]
    texts = [str(side.row.get("text", "")) for side in sides]
    step = next((step for step in trace(desk.workspace, doc_id) if step["twin"] == twin), None)
    return {
        "doc_id": doc_id,
        "twin": twin,
        "step": step,
        "reasons": [side.reason for side in sides],
        "titles": [side.row.get("title") for side in sides],
        "lengths": [len(text) for text in texts],
        "same": texts[0] == texts[1],
        "pieces": [] if any(side.reason for side in sides) else _marked(*texts),
        "original": original,
    }


def _side(desk: Desk, doc_id: str, original: bool) -> Text:
    if not parts_of(desk.workspace, doc_id):
        return Text("属于以前的一次运行（an earlier run），这里不显示；lexmill pairs 可以", {}, ())
    return text_at(desk, doc_id, "ingest", original)
