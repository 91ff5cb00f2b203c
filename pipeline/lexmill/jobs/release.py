"""Release: the shards are scanned once more as a trainer would read them, then published; ``latest.json`` is written last."""

import datetime
import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.deid.people import Names
from lexmill.core.deid.residual import KINDS, find_valid_identifiers
from lexmill.core.evidence import pages as evidence
from lexmill.core.release import report
from lexmill.core.release.body import SHARD_COUNTS, UNPACKED, compose, mixed, named, shared
from lexmill.core.release.card import render
from lexmill.core.release.croissant import metadata
from lexmill.core.tokens.mixture import plan_epochs
from lexmill.core.tokens.tokenizer import Tokenizer
from lexmill.errors import GateError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import DamagedInput, PartTask, Timing
from lexmill.jobs.prices import load_prices
from lexmill.jobs.resources import TokenizerKey, load_tokenizer, model_files, screen_keys, tokenizer_for, tokenizer_key
from lexmill.store import audit, benchmarks, files, reviews, tombstones
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import code_digest, digest, file_digest, installed_versions
from lexmill.store.releases import MANIFEST, SUMS, DataFile, Releases, published_on, read_manifest, read_sums
from lexmill.store.stages import Receipt, StageFolder, Target, part_name

ROW_GROUP = 256  # sequences decoded at a time
_SCAN = pa.schema([("doc_id_low63", pa.int64()), ("kind", pa.string())])
# What the tokens that stand for no text are counted as when documents are tokenised.
UNKNOWN = "tokenizer.unknown"
_TEMPLATES = Path(__file__).parent.parent / "templates"
CARDS = ("DATACARD.md", "DATACARD.zh.md")

# What of the run file shapes no byte of a release, or stands in it in words.
_NOT_HASHED = {"version", "workspace", "run", "rules", "source", "review", "report", "nightly", "cluster", "storage", "path"}

# Files stand in the manifest by their digests: where they lie, and how the run file spells that, shapes no byte either.
_FILES: Any = {
    "decontaminate": {"benchmarks"},
    "filter": {"model"},
    "screen": {"__all__": {"words", "model"}},
    "tokenize": {"tokenizer"},
}


@dataclass(frozen=True)
class ShardSet:
    """A shard set: its entry in a manifest, and its files with their bytes and entries."""

    entry: Mapping[str, Any]
    shards: Sequence[DataFile]
    texts: Sequence[DataFile]


def run(job: Job, manifests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Scan the shards and publish them; returns the release's manifest. Raises GateError where an identifier survived."""
    return publish(job, [own_set(job, manifests)], None)


def publish(job: Job, sets: Sequence[ShardSet], parent: str | None) -> dict[str, Any]:
    """Publish a release of these sets and let ``latest.json`` name it; returns its manifest."""
    data = [file for one in sets for file in one.shards], [file for one in sets for file in one.texts]
    shards, texts = ([dict(file.entry) for file in some] for some in data)
    body = compose(job.runner.version, parent, [one.entry for one in sets], shards, texts)
    body["release"] = digest(body)[:16]
    releases = Releases(job.workspace.releases)
    today = datetime.date.today()
    folder = releases.find(body["release"])
    if folder is None or not releases.is_whole(folder, body):
        date = published_on(folder) if folder else today.isoformat()
        pages = _pages(job, body, releases.find(parent) if parent else None, date)
        try:
            job.runner.check()
            folder = releases.publish(body, [*data[0], *data[1]], pages, today)
        except DamagedFile as error:
            raise DamagedInput(str(error)) from None
        job.runner.timings.setdefault("release", Timing()).tasks += 1
    releases.point_to(folder)
    data_files = {entry["path"] for entry in [*body["shards"], *body["text"]]}
    # Data files may be deleted later, by retention or a takedown; the manifest, which is sealed, has their digests.
    sealed = {name: sha256 for name, sha256 in read_sums(folder).items() if name not in data_files}
    sealed[SUMS] = file_digest(folder / SUMS)
    at = f"{releases.root.name}/{folder.name}"
    audit.record(job.workspace.root, "release", body["release"], {f"{at}/{name}": sealed[name] for name in sorted(sealed)})
    return body


def _pages(job: Job, body: Mapping[str, Any], parent: Path | None, date: str) -> dict[str, bytes]:
    """Everything that a release holds beside its data and its manifest, by file name."""
    templates = {path.name: path.read_text(encoding="utf-8") for path in sorted(_TEMPLATES.iterdir()) if path.is_file()}
    cards = {name: render(templates[f"{name}.j2"], body, date).encode() for name in CARDS}
    beside = {MANIFEST: hashlib.sha256(files.json_bytes(body)).hexdigest()}
    proof = evidence.build(body, tombstones.days(job.workspace.root), job.rules.standards, beside, templates, date)
    ran = _ran(job)
    verdicts = evidence.verdicts(proof[evidence.CLAUSES])
    facts = report.facts(body, date, read_manifest(parent) if parent else None, verdicts, ran)
    return {
        **cards,
        **proof,
        "mix.json": evidence.json_bytes(mixed(body["sets"])),
        "croissant.json": orjson.dumps(metadata(body, date), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
        report.RUN: files.json_bytes(ran),
        report.REPORT: report.render(templates, facts).encode(),
    }


def _ran(job: Job) -> dict[str, Any]:
    """What the command took until now, and the prices that the run file names."""
    prices = job.config.report.prices
    return {
        "workers": job.runner.workers,
        "stages": {name: asdict(timing) for name, timing in job.runner.timings.items()},
        "prices": load_prices(Path(job.config.resolve(prices))).model_dump(mode="json") if prices else None,
    }


def own_set(job: Job, manifests: Mapping[str, Mapping[str, Any]]) -> ShardSet:
    """The set that this run made; raises GateError where an identifier survived in its shards, or its review forbids it."""
    review = _reviewed(job, manifests["filter"])
    tokenizer = load_tokenizer(job.config)
    residual = _scan(job, manifests["tokenize"], tokenizer) if job.config.deidentify.enabled else None
    tokenized, filtered = manifests["tokenize"], manifests["filter"]
    shards = shard_entries(tokenized)
    texts = [
        {"path": f"text/{entry['name']}", **{name: entry[name] for name in ("sha256", "bytes", "rows")}}
        for entry in filtered["parts"]
    ]
    mix = written_mix(job, tokenized, filtered)
    config = job.config.model_dump(mode="json", exclude=_FILES)
    about: dict[str, Any] = {
        "policy": job.config.deidentify.policy if job.config.deidentify.enabled else None,
        "deidentification": _deidentification(job) if job.config.deidentify.enabled else None,
        "residual": residual,
        "screens": [
            {"name": settings.name, "doc_types": list(settings.doc_types), "sha256": sha256}
            for settings, _, sha256 in screen_keys(job.config)
        ],
        "tokenizer": {
            "name": Path(tokenizer.name).name,
            "sha256": tokenizer.digest,
            "vocab_size": tokenizer.vocab_size,
            "eos_id": tokenizer.eos_id,
            "pad_id": tokenizer.pad_id,
            "bos_id": tokenizer.bos_id if job.config.tokenize.bos else None,
            # Of the text before the mixture: tokens that stand for text which the vocabulary has none for.
            "unknown_tokens": _scattered(job)["tallies"].get(UNKNOWN, 0),
            "unknown_share": round(_scattered(job)["tallies"].get(UNKNOWN, 0) / max(1, sum(_pool(job).values())), 9),
        },
        "rules": dict(job.rules.digests),
        "models": {name: file_digest(path) for name, path in model_files(job.config).items()},
        "config": {section: digest(value) for section, value in config.items() if section not in _NOT_HASHED},
        "code": {stage: code_digest(f"lexmill.jobs.{stage}") for stage in manifests},
        "versions": {"python": platform.python_version(), **installed_versions("lexmill")},
        "review": review,
        "sources": {
            source.name: {"doc_type": source.doc_type, **source.card.model_dump(mode="json")} for source in job.config.source
        },
        "inputs": _inputs(job, manifests["ingest"]),
        "stages": {
            name: {
                "fingerprint": manifest["fingerprint"],
                "counts": manifest["counts"],
                "tallies": {**manifest["tallies"], **_beside(job, name)},
            }
            for name, manifest in manifests.items()
        },
        "benchmarks": _benchmarks(job, manifests["decontaminate"]),
        "mix": mix,
        "tokens": {group: row["tokens"] for group, row in mix["groups"].items()},
    }
    set_id = digest(about, shards, texts)[:12]
    return ShardSet(
        {"set": set_id, **about},
        [DataFile(job.workspace.stage("tokenize").part(n), entry) for n, entry in enumerate(named(set_id, shards))],
        [DataFile(job.workspace.stage("filter").part(n), entry) for n, entry in enumerate(named(set_id, texts))],
    )


def shard_entries(tokenized: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a manifest says of the shards of a tokenize stage, without a set's name."""
    return [
        {
            "path": f"tokens/{extra['seq_len'] or UNPACKED}/shard-{extra['shard']:05d}-of-{extra['shards']:05d}.parquet",
            **{name: entry[name] for name in ("sha256", "bytes", "rows")},
            **{name: extra[name] for name in ("seq_len", *SHARD_COUNTS, "cuts")},
        }
        for entry, extra in zip(tokenized["parts"], tokenized["extra"], strict=True)
    ]


def _inputs(job: Job, ingested: Mapping[str, Any]) -> dict[str, Any]:
    """By source: raw files that gave a record, records, and a digest over the content of its parts."""
    files_of: dict[str, set[int]] = {}
    parts_of: dict[str, set[int]] = {}
    for number in range(len(ingested["parts"])):
        rows = files.read_columns(job.workspace.lineage / part_name(number), columns=["source", "file_number"])
        for row in rows.group_by(["source", "file_number"]).aggregate([]).to_pylist():
            files_of.setdefault(row["source"], set()).add(row["file_number"])
            parts_of.setdefault(row["source"], set()).add(number)
    came: dict[str, int] = {}
    for group, units in ingested["counts"].get("in", {}).items():
        came[group.rpartition("/")[0]] = came.get(group.rpartition("/")[0], 0) + units["docs"]
    return {
        source: {
            "files": len(numbers),
            "docs": came.get(source, 0),
            "sha256": digest([ingested["parts"][number]["fingerprint"] for number in sorted(parts_of[source])]),
        }
        for source, numbers in sorted(files_of.items())
    }


def _beside(job: Job, stage: str) -> dict[str, int]:
    """Tallies of a stage that no part of it can make alone: sizes of clusters and families, about how many names there were."""
    if stage == "dedup":
        return dict((job.workspace.work("dedup.pairs").manifest() or {"tallies": {}})["tallies"])
    if stage != "deidentify":
        return {}
    names, folder = Names(), job.workspace.stage(stage)
    listed = len((folder.manifest() or {"parts": []})["parts"])
    for number, receipt in folder.receipts().items():
        if number < listed and "names" in receipt.sketches:
            names.merge(receipt.sketches["names"])
    return {"people.names": names.count()} if job.config.deidentify.enabled else {}


def _deidentification(job: Job) -> dict[str, Any]:
    """What the policy masks and keeps, and whether judgments that 法释〔2016〕19号 art. 4 keeps offline were dropped."""
    policy = next(table for table in job.rules.deid.policy if table.name == job.config.deidentify.policy)
    said = policy.model_dump(mode="json", include={"version", "mask", "keep", "mask_roles", "keep_roles"})
    return {**said, "article_4": job.config.deidentify.article_4, "recognizers": len(job.config.deidentify.recognizers)}


def _benchmarks(job: Job, decontaminated: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The benchmarks that the release is clean of: name and sha256 of each file, its items, and documents that held one."""
    index = job.workspace.work("decontaminate.index")
    manifest = index.manifest() if job.config.decontaminate.benchmarks else None
    if manifest is None:
        return []
    found = benchmarks.load_index(index.part(0), manifest["parts"][0]["sha256"]).benchmarks
    return [
        {**benchmark._asdict(), "documents": decontaminated["tallies"].get(f"benchmark.{benchmark.name}", 0)}
        for benchmark in found
    ]


def _reviewed(job: Job, filtered: Mapping[str, Any]) -> dict[str, Any] | None:
    """The lot's review in brief, or None where there was none; GateError where it was rejected, or is required and missing."""
    lot = reviews.lot_of(filtered)
    decision = reviews.folder(job.workspace.root, lot).decided()
    if decision is None:
        if job.config.review.required:
            raise GateError(
                f"release: lot {lot} has not been reviewed, and review.required says it must; nothing is published. "
                f"`lexmill review sample`, `export`, `import` and `decide` review it"
            )
        return None
    if not decision["accepted"]:
        raise GateError(f"release: the review rejected lot {lot}; nothing is published: " + "; ".join(decision["reasons"]))
    said = {name: decision[name] for name in ("terms", "core", "bounds", "planted", "by_defect", "dropped", "spans", "double")}
    decided = file_digest(reviews.folder(job.workspace.root, lot).decision)
    return {
        "lot": lot,
        "sha256": digest(decision),
        "decision_sha256": decided,
        "documents": decision["lot"],
        "verdicts": decision["verdicts"],
        **said,
    }


def _scattered(job: Job) -> Mapping[str, Any]:
    """The manifest of the documents' tokens before they were mixed and packed."""
    return job.workspace.work("tokenize.scatter").manifest() or {"extra": [], "tallies": {}}


def _pool(job: Job) -> dict[str, int]:
    """Tokens before the mixture, by source/type."""
    tokens: dict[str, int] = {}
    for extra in _scattered(job)["extra"]:
        for group, number in extra["tokens_by_group"].items():
            tokens[group] = tokens.get(group, 0) + number
    return dict(sorted(tokens.items()))


def written_mix(job: Job, tokenized: Mapping[str, Any], filtered: Mapping[str, Any]) -> dict[str, Any]:
    """What mix.json says: what there was and what is written, copies included, by source/type."""
    pool = _pool(job)
    epochs = plan_epochs(pool, job.config.mix)
    written: dict[str, dict[str, int]] = {group: dict.fromkeys(("docs", "chars", "bytes", "tokens"), 0) for group in pool}
    for extra in tokenized["extra"]:
        for group, sums in extra["groups"].items():
            for unit, number in sums.items():
                written[group][unit] += number
    return {
        "settings": job.config.mix.model_dump(mode="json"),
        "groups": shared(
            {
                group: {
                    "pool_docs": filtered["counts"]["out"][group]["docs"],
                    "pool_tokens": tokens,
                    "epochs": round(epochs[group], 6),
                    **written[group],
                }
                for group, tokens in pool.items()
            }
        ),
    }


def _scan(job: Job, tokenized: Mapping[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """Look for valid identifiers in the decoded shards; returns what was looked at, raises GateError where one was found."""
    masked = next(tuple(table.mask) for table in job.rules.deid.policy if table.name == job.config.deidentify.policy)
    fingerprint = digest("scan", code_digest(__name__), tokenizer.digest, masked)
    source = job.workspace.stage("tokenize")
    key = tokenizer_key(job.config, tokenizer, job.config.tokenize.backend)  # which workers have at hand
    tasks = [
        PartTask(number, digest(fingerprint, entry["sha256"]), (source, entry, key, masked), int(entry["bytes"]))
        for number, entry in enumerate(tokenized["parts"])
    ]
    manifest = job.runner.run_stage("release.scan", job.workspace.work("release.scan"), scan_shard, tasks, fingerprint)
    found = sum(int(entry["rows"]) for entry in manifest["parts"])
    if found:
        kinds: dict[str, int] = {}
        for extra in manifest["extra"]:
            for kind, number in extra["kinds"].items():
                kinds[kind] = kinds.get(kind, 0) + number
        listed = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
        raise GateError(
            f"release: {found} valid identifiers are left in the decoded shards ({listed}); nothing is published; "
            f"their documents are listed in work/release.scan"
        )
    documents = sum(int(extra["documents"]) for extra in tokenized["extra"])
    return {"kinds": sorted({*masked} & {*KINDS}), "shards": len(tokenized["parts"]), "documents": documents, "found": found}


def scan_shard(
    target: Target, source: StageFolder, entry: Mapping[str, Any], key: TokenizerKey, masked: tuple[str, ...]
) -> Receipt:
    """Decode one shard document by document and list what still looks like a valid identifier of a ``masked`` kind."""
    tokenizer = tokenizer_for(key)
    rows: list[dict[str, Any]] = [
        {"doc_id_low63": doc_id, "kind": kind}
        for doc_id, ids in _documents(source.path / str(entry["name"]), str(entry["sha256"]), tokenizer.eos_id)
        for _, _, kind in find_valid_identifiers(tokenizer.decode(ids))
        if kind in masked
    ]
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    return target.write_work(pa.Table.from_pylist(rows, schema=_SCAN), extra={"kinds": dict(sorted(kinds.items()))})


def _documents(path: Path, sha256: str, eos_id: int) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """(low 63 bits, ids) of the documents of a shard, read piecemeal; the pieces of cut ones are held until the end."""
    if file_digest(path) != sha256:
        raise DamagedFile(f"{path.parent.name}/{path.name} is damaged (its sha256 is not the recorded one)")
    cut: dict[tuple[int, int], list[tuple[int, NDArray[np.int32]]]] = {}
    with files.open_parquet(path) as shard:
        for group in shard.iter_batches(batch_size=ROW_GROUP):
            names = ("input_ids", "doc_ids", "repeats", "doc_lens", "head_lens", "doc_starts")
            for ids, *pieces in zip(*(group[name] for name in names), strict=True):
                tokens = ids.values.to_numpy()
                at = 0
                for doc_id, repeat, length, head, start in zip(*(piece.as_py() for piece in pieces), strict=True):
                    piece = tokens[at + head : at + length]
                    at += length
                    if start == 0 and piece[-1] == eos_id:  # no token of a text is a control token
                        yield doc_id, piece
                    else:
                        cut.setdefault((doc_id, repeat), []).append((start, piece.copy()))
    for (doc_id, _), parts in cut.items():
        yield doc_id, np.concatenate([piece for _, piece in sorted(parts, key=lambda part: part[0])])
