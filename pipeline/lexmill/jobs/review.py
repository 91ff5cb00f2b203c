"""Human review of a lot (what stage filter keeps and what was dropped on the way): draw, hand out, take in, decide.

Reviewers see masked text only. What was dropped before de-identification is masked for them here; what cannot be masked, and what
ingest could not read, is counted and not shown.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lexmill.config import Config, Ingest, Review
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.shown import Shown, mask_for_people, with_masks
from lexmill.core.ingest.items import Broken
from lexmill.core.ingest.limits import Limits
from lexmill.core.review import labelstudio, statistics, workbook
from lexmill.core.review.planted import plant
from lexmill.core.review.sampling import CANDIDATE, Chosen, choose, count_by_stratum, least, place, stratum
from lexmill.core.review.verdicts import BAD, ITEM, Terms, Verdict, assign, decide
from lexmill.errors import ConfigError, DocumentError, GateError, InputError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.recognizers import RecognizerKey, recognizer_key
from lexmill.jobs.resources import detector_for, load_tagger
from lexmill.schema import DOCUMENT, DOCUMENT_JUDGED, DOCUMENT_RAW, STAGES
from lexmill.store import audit, files, reviews
from lexmill.store.confined import read_confined
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.releases import Releases, read_manifest
from lexmill.store.reviews import ReviewFolder
from lexmill.store.stages import Receipt, StageFolder, Target
from lexmill.store.workspace import Workspace

_KEPT, _DROPPED, _SPAN = "kept", "dropped", "span"
_CONTEXT = 120  # characters on either side of a masked span that a reviewer is shown
_DEIDENTIFY = STAGES.index("deidentify")
_REVIEWED = STAGES[: STAGES.index("filter") + 1]


def terms(settings: Review) -> Terms:
    """What a lot must prove."""
    return Terms(settings.confidence, settings.max_identifiers, settings.min_pass, settings.min_recall)


def plan(config: Config) -> dict[str, Any]:
    """What samples of this lot would prove, and what they cost; raises InputError before stage filter exists."""
    settings = config.review
    workspace = Workspace(config.workspace_dir, config.run)
    n_lot = sum(int(entry["rows"]) for entry in _manifest(workspace, "filter")["parts"])
    core = min(settings.sample, n_lot)
    left = sum(
        units["docs"]
        for stage in _REVIEWED[1:]
        for kind in ("drop", "quarantine")
        for units in _manifest(workspace, stage)["counts"].get(kind, {}).values()
    )
    extra = min(settings.dropped, left) + min(settings.spans, core) + ceil(settings.planted * core)
    lines = []
    for name, n in (
        ("零缺陷证明", statistics.size_without_defects(settings.max_identifiers, settings.confidence)),
        ("标准抽样", 4000),  # TC260-003 and GB/T 45654-2025: at least 4,000 by hand, at least 96 % of them good
        ("全量的 5%", ceil(n_lot / 20)),
        ("本次核心样本", core),
    ):
        size = min(n, n_lot)
        lines.append(
            {
                "name": name,
                "n": size,
                "bound_without_defects": 0.0 if size == n_lot else statistics.upper_bound(0, size, settings.confidence),
                "allowed": _allowed(size, n_lot, settings),
                **_cost(size, settings),
            }
        )
    whole = {"name": "本次合计（含分层、删除、遮盖处、埋设、复审）", "n": core + extra}
    whole |= {"bound_without_defects": None, "allowed": None, **_cost(ceil((core + extra) * (1 + settings.double)), settings)}
    return {"lot": n_lot, "confidence": settings.confidence, "lines": [*lines, whole]}


def _allowed(n: int, n_lot: int, settings: Review) -> int:
    if n == n_lot:
        return int(n * (1 - settings.min_pass))
    return statistics.acceptance_number(n, 1 - settings.min_pass, settings.confidence)


def _cost(items: int, settings: Review) -> dict[str, float]:
    hours = items * settings.minutes_per_item / 60
    return {"hours": round(hours, 1), "price": round(hours * settings.price_per_hour, 2)}


def sample(job: Job) -> dict[str, Any]:
    """Draw the sample of the lot that stage filter holds, or find it drawn; returns its plan."""
    settings = job.config.review
    manifests = {name: _manifest(job.workspace, name) for name in _REVIEWED}
    lot = reviews.lot_of(manifests["filter"])
    where = reviews.folder(job.workspace.root, lot)
    # Terms are part of what was drawn: nobody may loosen them when the verdicts are in.
    asked = digest(lot, settings.model_dump(mode="json", exclude={"required", "double", "minutes_per_item", "price_per_hour"}))
    drawn = files.read_json(where.plan)
    if drawn is not None and drawn["asked"] == asked and where.items.exists():
        return dict(drawn)
    if (where.path / "verdicts").exists():
        raise ConfigError(
            f"[review] changed after verdicts on lot {lot} came in; set it back, or remove reviews/{lot} to start anew"
        )
    fingerprint = digest("review", code_digest(__name__), asked, job.rules.digests["deid"])
    candidates = _survey(job, manifests, fingerprint)
    kept, dropped = (candidates.filter(pc.equal(candidates["pile"], pile)) for pile in (_KEPT, _DROPPED))
    chosen = choose(kept, settings.sample, settings.per_stratum)
    n_planted = ceil(settings.planted * len(chosen))
    taken = {item.doc_id for item in chosen}
    spare = [item for item in choose(kept, settings.sample + n_planted, settings.per_stratum) if item.doc_id not in taken]
    # Where the whole lot is read there is no other document to spoil: a second copy of some must do.
    spare += sorted(chosen, key=lambda item: place(item.doc_id, settings.seed, "plant"))[: max(0, n_planted - len(spare))]
    pile = choose(dropped, settings.dropped, settings.per_rule)
    texts = _collect(job, manifests, [*chosen, *spare[:n_planted], *pile], fingerprint)
    items = [_item(each, texts, lot, settings.seed) for each in (*chosen, *pile)]
    items += [_plant(each, texts, lot, settings.seed) for each in spare[:n_planted]]
    shown = [item for item in items if item is not None]
    shown += _spans([item for item in shown if item["kind"] == _KEPT and item["planted"] is None], lot, settings)
    shown.sort(key=lambda item: item["item"])
    files.make_private(where.path)
    files.write_table(where.items, pa.Table.from_pylist(shown, schema=ITEM))
    made = {
        "asked": asked,
        "lot": lot,
        "documents": sum(int(entry["rows"]) for entry in manifests["filter"]["parts"]),
        "seed": settings.seed,
        "terms": asdict(terms(settings)),
        "items": dict(sorted(Counter(item["kind"] if item["planted"] is None else "planted" for item in shown).items())),
        "not_shown": len(items) - sum(item is not None for item in items),
        "without_text": _without_text(manifests),
        "strata": count_by_stratum(pa.table({"stratum": [item["stratum"] for item in shown]})),
    }
    files.write_json(where.plan, made)
    return made


def _manifest(workspace: Workspace, stage: str) -> dict[str, Any]:
    found = workspace.stage(stage).manifest()
    if found is None:
        raise InputError(f"stage {stage} does not exist: `lexmill run CONFIG --until filter` makes what is reviewed")
    return found


def _without_text(manifests: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Documents that left with no text that may be shown, by stage."""
    counted = {}
    for stage in ("ingest", "deidentify"):
        kinds = ("drop", "quarantine") if stage == "ingest" else ("quarantine",)
        groups = (manifests[stage]["counts"].get(kind, {}).values() for kind in kinds)
        counted[stage] = sum(units["docs"] for group in groups for units in group)
    return counted


def _survey(job: Job, manifests: Mapping[str, Mapping[str, Any]], fingerprint: str) -> pa.Table:
    settings = job.config.review
    tasks = []
    for number, entry in enumerate(manifests["filter"]["parts"]):
        ledgers = tuple(
            (stage, job.workspace.stage(stage), manifests[stage]["parts"][number]) for stage in _REVIEWED if stage != "ingest"
        )
        arguments = (job.workspace.stage("filter"), entry, ledgers, settings)
        tasks.append(PartTask(number, digest(fingerprint, number), arguments, int(entry["bytes"])))
    folder = job.workspace.work("review.survey")
    manifest = job.runner.run_stage("review.survey", folder, survey_part, tasks, fingerprint)
    return pa.concat_tables([CANDIDATE.empty_table(), *(folder.read(entry, CANDIDATE) for entry in manifest["parts"])])


def survey_part(
    target: Target,
    kept: StageFolder,
    entry: Mapping[str, Any],
    ledgers: Sequence[tuple[str, StageFolder, Mapping[str, Any]]],
    settings: Review,
) -> Receipt:
    """The candidates of one part: documents that the least places of the lot or of their stratum may take."""
    left = {stage: folder.read_ledger(part) for stage, folder, part in ledgers}
    masked = set(left["deidentify"].filter(pc.equal(left["deidentify"]["action"], "edit"))["doc_id"].to_pylist())
    rows = [
        _candidate(_KEPT, stratum(row, row["doc_id"] in masked), row["doc_id"], "", "", target.number, settings.seed)
        for row in kept.read(entry, DOCUMENT_JUDGED).to_pylist()
    ]
    gone = [
        _candidate(_DROPPED, f"{stage}/{row['rule']}", row["doc_id"], stage, row["rule"], target.number, settings.seed)
        for stage, ledger in left.items()
        for row in ledger.to_pylist()
        if row["action"] == "drop" or (row["action"] == "quarantine" and stage != "deidentify")
    ]
    tables = [
        least(pa.Table.from_pylist(pile, schema=CANDIDATE), *sizes)
        for pile, sizes in (
            (rows, (settings.sample + ceil(settings.planted * settings.sample), settings.per_stratum)),
            (gone, (settings.dropped, settings.per_rule)),
        )
    ]
    return target.write_work(pa.concat_tables(tables))


def _candidate(pile: str, stratum: str, doc_id: str, stage: str, rule: str, part: int, seed: int) -> dict[str, Any]:
    at = place(doc_id, seed)
    return {"pile": pile, "stratum": stratum, "place": at, "doc_id": doc_id, "stage": stage, "rule": rule, "part": part}


def _collect(
    job: Job, manifests: Mapping[str, Mapping[str, Any]], chosen: Sequence[Chosen], fingerprint: str
) -> dict[tuple[str, str], dict[str, Any]]:
    """The chosen documents as reviewers may see them, by (stage that dropped it, doc_id)."""
    policy = job.config.deidentify.policy if job.config.deidentify.enabled else None
    recognizers = recognizer_key(job.config)
    tasks = []
    for part in sorted({item.part for item in chosen}):
        mine = tuple((item.stage, item.doc_id) for item in chosen if item.part == part)
        inputs = {stage: (job.workspace.stage(stage), manifests[stage]["parts"][part]) for stage in _REVIEWED}
        arguments = (mine, inputs, policy, recognizers, job.config.rule_folders, job.rules.digests)
        tasks.append(PartTask(part, digest(fingerprint, part, mine), arguments, len(mine)))
    folder = job.workspace.work("review.collect")
    # Parts that hold nothing of the sample have no task: the numbers of the others must follow one another.
    tasks = [PartTask(number, task.key, task.arguments, task.weight) for number, task in enumerate(tasks)]
    manifest = job.runner.run_stage("review.collect", folder, collect_part, tasks, fingerprint)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in manifest["parts"]:
        for row in folder.read(entry, ITEM).to_pylist():
            found.setdefault((row["stage"], row["doc_id"]), row)
    return found


def collect_part(
    target: Target,
    chosen: Sequence[tuple[str, str]],
    inputs: Mapping[str, tuple[StageFolder, Mapping[str, Any]]],
    policy: str | None,
    recognizers: RecognizerKey,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """The texts of the chosen documents of one part, masked, with the spans that were masked in them."""
    detector = None if policy is None else detector_for(overlays, digests, policy, load_tagger().digest, recognizers)
    before = _REVIEWED[_DEIDENTIFY - 1]
    rows: list[dict[str, Any]] = []
    for stage in sorted({stage for stage, _ in chosen}):
        wanted = pa.array([doc_id for gone, doc_id in chosen if gone == stage])
        source = "filter" if not stage else _REVIEWED[_REVIEWED.index(stage) - 1]
        table = _rows(inputs[source], source, wanted)
        raw = {row["doc_id"]: row for row in _rows(inputs[before], before, wanted).to_pylist()} if detector else {}
        for row in table.to_pylist():
            shown = _shown(row, raw.get(row["doc_id"], row), _REVIEWED.index(source) < _DEIDENTIFY, detector)
            if shown is not None:
                rows.append({**shown, "stage": stage})
    return target.write_work(pa.Table.from_pylist(rows, schema=ITEM))


def _rows(place: tuple[StageFolder, Mapping[str, Any]], stage: str, wanted: pa.Array) -> pa.Table:
    folder, entry = place
    number = _REVIEWED.index(stage)
    schema = DOCUMENT_RAW if number < _DEIDENTIFY else DOCUMENT if stage != "filter" else DOCUMENT_JUDGED
    table = folder.read(entry, schema)
    return table.filter(pc.is_in(table["doc_id"], wanted))


def _shown(row: Mapping[str, Any], raw: Mapping[str, Any], is_raw: bool, detector: Detector | None) -> dict[str, Any] | None:
    """The document as a reviewer may see it, or None where it cannot be masked."""
    if detector is None:
        shown = Shown(row, ())
    else:
        try:
            shown = mask_for_people(row, detector) if is_raw else with_masks(row, raw, detector)
        except DocumentError:
            return None
    found = {name: shown.document[name] for name in ("doc_id", "source", "doc_type", "title", "text")}
    return {**dict.fromkeys(ITEM.names), **found, "spans": [mask._asdict() for mask in shown.masks]}


def _name(lot: str, seed: int, *what: str) -> str:
    return blake2b("\0".join((lot, str(seed), *what)).encode(), digest_size=8).hexdigest()


def _item(each: Chosen, texts: Mapping[tuple[str, str], dict[str, Any]], lot: str, seed: int) -> dict[str, Any] | None:
    found = texts.get((each.stage, each.doc_id))
    if found is None:
        return None
    own = {"kind": each.pile, "stratum": each.stratum, "rule": each.rule, "weight": each.weight, "core": each.core}
    return {**found, **own, "stage": each.stage, "item": _name(lot, seed, each.pile, each.stage, each.doc_id)}


def _plant(each: Chosen, texts: Mapping[tuple[str, str], dict[str, Any]], lot: str, seed: int) -> dict[str, Any] | None:
    item = _item(each, texts, lot, seed)
    if item is None:
        return None
    planted = plant(item["text"], item["spans"], each.doc_id, seed)
    name = _name(lot, seed, "planted", each.doc_id)
    return {**item, "item": name, "text": planted.text, "spans": list(planted.spans), "planted": planted.defect, "core": False}


def _spans(kept: Sequence[Mapping[str, Any]], lot: str, settings: Review) -> list[dict[str, Any]]:
    """One masked span of each of ``settings.spans`` documents, in its context, marked with 【】."""
    having = [item for item in kept if item["spans"]]
    having.sort(key=lambda item: place(item["doc_id"], settings.seed, "span"))
    items = []
    for item in having[: settings.spans]:
        spans = item["spans"]
        span = spans[int(place(item["doc_id"], settings.seed, "which") * len(spans))]
        text, start, end = item["text"], span["start"], span["end"]
        before = text[max(0, start - _CONTEXT) : start]
        items.append(
            {
                **item,
                "item": _name(lot, settings.seed, "span", item["doc_id"]),
                "kind": _SPAN,
                "text": f"{before}【{text[start:end]}】{text[end : end + _CONTEXT]}",
                "spans": [{**span, "start": len(before) + 1, "end": len(before) + 1 + end - start}],
                "stratum": span["entity"],
                "rule": span["rule"],
                "weight": item["weight"] * len(spans),
                "core": False,
            }
        )
    return items


def _drawn(config: Config) -> tuple[ReviewFolder, dict[str, Any], list[dict[str, Any]]]:
    workspace = Workspace(config.workspace_dir, config.run)
    where = reviews.folder(workspace.root, reviews.lot_of(_manifest(workspace, "filter")))
    drawn = files.read_json(where.plan)
    if drawn is None or not where.items.exists():
        raise InputError("no sample of this lot: `lexmill review sample CONFIG` draws it")
    return where, drawn, pa.parquet.read_table(where.items).to_pylist()


def export(config: Config, reviewers: Sequence[str], form: str, out: Path) -> list[Path]:
    """Write each reviewer's file into ``out``; returns their paths (Label Studio's interface last).

    The reviewers of a lot are named once: another list is refused when verdicts are in.
    """
    where, drawn, items = _drawn(config)
    if len(set(reviewers)) != len(reviewers) or not reviewers:
        raise ConfigError("--reviewers: give each name once, such as --reviewers 甲,乙")
    known = files.read_json(where.assignments)
    if known is not None and [name for name, _ in known] != list(reviewers) and (where.path / "verdicts").exists():
        raise ConfigError(f"--reviewers: verdicts of {len(known)} other reviewers are in; name the same ones again")
    given = assign([item["item"] for item in items], reviewers, config.review.double, drawn["seed"])
    files.write_json(where.assignments, [[reviewer, mine] for reviewer, mine in given.items()])
    by_name = {item["item"]: item for item in items}
    policy = config.deidentify.policy if config.deidentify.enabled else "none"
    paths = []
    for number, (_, mine) in enumerate(given.items(), start=1):
        rows = [by_name[name] for name in mine]
        path = out / f"review-{drawn['lot']}-R{number}.{'xlsx' if form == 'xlsx' else 'json'}"
        files.write_bytes(path, workbook.write(rows) if form == "xlsx" else labelstudio.tasks(rows, policy))
        paths.append(path)
    if form != "xlsx":
        entities = sorted({span["entity"] for item in items for span in item["spans"]})
        path = out / "label-studio.xml"
        files.write_bytes(path, labelstudio.interface(entities).encode())
        paths.append(path)
    return paths


def take_in(config: Config, reviewer: str, returned: Sequence[Path]) -> tuple[int, int]:
    """Read a reviewer's files (XLSX or Label Studio's JSON); returns (verdicts, items of this reviewer without one).

    Raises InputError, naming row or task, for what no reviewer may say or was not asked.
    """
    where, _, _ = _drawn(config)
    given = files.read_json(where.assignments) or []
    names = [name for name, _ in given]
    if reviewer not in names:
        raise ConfigError(f"--reviewer: nobody of this name was given items; there are {', '.join(names) or 'none'}")
    number = names.index(reviewer)
    code, mine = f"R{number + 1}", set(given[number][1])
    verdicts: dict[str, Verdict] = {}
    for path in returned:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        # A sheet with one cell in its last corner has 17 thousand million of them: a process of its own tries it first.
        if data.startswith(b"PK") and any(isinstance(item, Broken) for item in read_confined(data, "xlsx", Limits.of(Ingest()))):
            raise InputError(f"{path}: is no workbook that can be read; send back the file that `review export` made")
        try:
            found = (workbook.read if data.startswith(b"PK") else labelstudio.read)(data, code)
        except InputError as error:
            raise InputError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None
        if strange := [verdict.item for verdict in found if verdict.item not in mine]:
            raise InputError(f"{path}: {len(strange)} items that {reviewer} was not given, the first is {strange[0][:16]!r}")
        verdicts.update((verdict.item, verdict) for verdict in found)
    files.write_json(where.verdicts(code), [verdict._asdict() for verdict in verdicts.values()])
    return len(verdicts), len(mine) - len(verdicts)


def settle(config: Config) -> dict[str, Any]:
    """Decide about the lot from all verdicts that are in; writes the decision, and the verdicts that teach the classifier.

    Raises GateError where the lot is not accepted: nothing of it is published.
    """
    where, drawn, items = _drawn(config)
    verdicts = [
        Verdict(**row) for path in sorted((where.path / "verdicts").glob("R*.json")) for row in files.read_json(path) or []
    ]
    decision = decide(items, verdicts, drawn["documents"], Terms(**drawn["terms"]))
    decision |= {"lot_id": drawn["lot"], "seed": drawn["seed"], "not_shown": drawn["not_shown"]}
    sealed = files.write_json(where.decision, decision)
    audit.record(where.path.parent.parent, "review", drawn["lot"], {f"reviews/{drawn['lot']}/decision.json": sealed})
    files.write_json(where.path / "verdicts.json", _lessons(items, verdicts))
    if not decision["accepted"]:
        said = [f"review: lot {drawn['lot']} is not accepted", *decision["reasons"], *_published(config, drawn["lot"])]
        raise GateError("\n".join(said))
    return decision


def _published(config: Config, lot: str) -> list[str]:
    """A line for each release that holds the lot already: the rejection stops the next one, and takes nothing back."""
    found = []
    for folder in Releases(Workspace(config.workspace_dir, config.run).releases).folders():
        body = read_manifest(folder)
        lots = [reviews.lot_of({"parts": [text for text in body["text"] if text["set"] == one["set"]]}) for one in body["sets"]]
        if lot in lots:
            found.append(f"it is already published as releases/{folder.name}, and stays so: take it back by hand")
    return found


def _lessons(items: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """What the verdicts say of real documents, for the training of the classifier: good or bad, by doc_id."""
    bad = {verdict.item for verdict in verdicts if verdict.verdict == BAD}
    read = {verdict.item for verdict in verdicts}
    lessons = []
    for item in items:
        if item["item"] in read and item["planted"] is None and item["kind"] != _SPAN:
            wrong = item["item"] in bad
            good = wrong if item["kind"] == _DROPPED else not wrong
            lessons.append({"doc_id": item["doc_id"], "doc_type": item["doc_type"], "verdict": "good" if good else "bad"})
    return lessons
