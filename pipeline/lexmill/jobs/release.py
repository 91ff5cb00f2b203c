"""Release: the shards are scanned once more as a trainer would read them, then published; ``latest.json`` is written last."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lexmill.core.deid.residual import find_valid_identifiers
from lexmill.core.tokens.mixture import plan_epochs
from lexmill.core.tokens.tokenizer import Tokenizer
from lexmill.errors import GateError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import DamagedInput, PartTask, Timing
from lexmill.jobs.resources import TokenizerKey, load_tokenizer, tokenizer_for, tokenizer_key
from lexmill.store import benchmarks, files, reviews
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import code_digest, digest, file_digest
from lexmill.store.stages import Receipt, StageFolder, Target

ROW_GROUP = 256  # sequences decoded at a time
_SCAN = pa.schema([("doc_id_low63", pa.int64()), ("kind", pa.string())])
# What the tokens that stand for no text are counted as when documents are tokenised.
UNKNOWN = "tokenizer.unknown"
UNPACKED = "documents"  # where the shards with a document a row stand
_SUMS = ("documents", "tokens", "headings", "sequences", "padding", "cut")
IMMUTABLE = 0o444  # what is published is never changed in place


def run(job: Job, manifests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Scan the shards and publish them; returns the release's manifest. Raises GateError where an identifier survived."""
    review = _reviewed(job, manifests["filter"])
    tokenizer = load_tokenizer(job.config)
    tokenized = manifests["tokenize"]
    if job.config.deidentify.enabled:
        _scan(job, tokenized, tokenizer)
    shards = [
        {
            "path": f"tokens/{extra['seq_len'] or UNPACKED}/shard-{extra['shard']:05d}-of-{extra['shards']:05d}.parquet",
            **{name: entry[name] for name in ("sha256", "bytes", "rows")},
            **{name: extra[name] for name in ("seq_len", *_SUMS, "cuts")},
        }
        for entry, extra in zip(tokenized["parts"], tokenized["extra"], strict=True)
    ]
    texts = [
        {"path": f"text/{entry['name']}", **{name: entry[name] for name in ("sha256", "bytes", "rows")}}
        for entry in manifests["filter"]["parts"]
    ]
    mix = _mix(job, tokenized, manifests["filter"])
    body = {
        "lexmill": job.runner.version,
        "policy": job.config.deidentify.policy if job.config.deidentify.enabled else None,
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
        "review": review,
        "sources": {
            source.name: {"doc_type": source.doc_type, **source.card.model_dump(mode="json")} for source in job.config.source
        },
        "stages": {
            name: {"fingerprint": manifest["fingerprint"], "counts": manifest["counts"], "tallies": manifest["tallies"]}
            for name, manifest in manifests.items()
        },
        "benchmarks": _benchmarks(job, manifests["decontaminate"]),
        "tokens": {group: row["tokens"] for group, row in mix["groups"].items()},
        "windows": _windows(shards),
        "shards": shards,
        "text": texts,
    }
    body["mix"] = {"path": "mix.json", "sha256": hashlib.sha256(files.json_bytes(mix)).hexdigest()}
    release = digest(body)[:16]
    body["release"] = release
    folder = job.workspace.releases / release
    if not _is_published(folder, body, [*shards, *texts]):
        _publish(job, folder, body, shards, texts, mix)
    latest = job.workspace.releases / "latest.json"
    if files.read_json(latest) != {"release": release}:
        files.write_json(latest, {"release": release}, files.PUBLIC)
    return body


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
    return {"lot": lot, "sha256": digest(decision), **{name: decision[name] for name in ("terms", "core", "bounds", "planted")}}


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


def _mix(job: Job, tokenized: Mapping[str, Any], filtered: Mapping[str, Any]) -> dict[str, Any]:
    """What mix.json says: what there was and what is written, copies included, by source/type."""
    pool = _pool(job)
    epochs = plan_epochs(pool, job.config.mix)
    written: dict[str, dict[str, int]] = {group: dict.fromkeys(("docs", "chars", "bytes", "tokens"), 0) for group in pool}
    for extra in tokenized["extra"]:
        for group, sums in extra["groups"].items():
            for unit, number in sums.items():
                written[group][unit] += number
    total = max(1, sum(sums["tokens"] for sums in written.values()))
    return {
        "settings": job.config.mix.model_dump(mode="json"),
        "groups": {
            group: {
                "pool_docs": filtered["counts"]["out"][group]["docs"],
                "pool_tokens": tokens,
                "epochs": round(epochs[group], 6),
                **written[group],
                "share": round(written[group]["tokens"] / total, 6),
            }
            for group, tokens in pool.items()
        },
    }


def _windows(shards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row a window length (``seq_len`` null: a document a row): sums over its shards, and rates."""
    rows = []
    for seq_len in dict.fromkeys(shard["seq_len"] for shard in shards):
        mine = [shard for shard in shards if shard["seq_len"] == seq_len]
        sums = {name: sum(shard[name] for shard in mine) for name in _SUMS}
        positions = sums["tokens"] + sums["padding"]
        rows.append(
            {
                "seq_len": seq_len,
                "shards": len(mine),
                **sums,
                "cuts": {kind: sum(shard["cuts"][kind] for shard in mine) for kind in mine[0]["cuts"]},
                "padding_share": round(sums["padding"] / positions, 6) if positions else 0.0,
                "cut_share": round(sums["cut"] / sums["documents"], 6) if sums["documents"] else 0.0,
            }
        )
    return rows


def _is_published(folder: Path, body: Mapping[str, Any], entries: list[dict[str, Any]]) -> bool:
    """Whether a release stands there with the same manifest and all its files in full length."""
    try:
        if files.read_json(folder / "manifest.json") != body:
            return False
        return file_digest(folder / "mix.json") == body["mix"]["sha256"] and all(
            (folder / entry["path"]).stat().st_size == entry["bytes"] for entry in entries
        )
    except (DamagedFile, OSError):
        return False


def _publish(
    job: Job,
    folder: Path,
    body: Mapping[str, Any],
    shards: list[dict[str, Any]],
    texts: list[dict[str, Any]],
    mix: Mapping[str, Any],
) -> None:
    building = folder.with_name(f".{folder.name}.next")
    files.remove(building)
    for stage, entries in (("tokenize", shards), ("filter", texts)):
        source = job.workspace.stage(stage)
        for number, entry in enumerate(entries):
            # The stage's own file may be the same one; its folder keeps it private.
            files.copy(source.part(number), building / entry["path"])
            if file_digest(building / entry["path"]) != entry["sha256"]:
                raise DamagedInput(f"{stage}/{source.part(number).name} is damaged (its sha256 is not the recorded one)")
            (building / entry["path"]).chmod(IMMUTABLE)
    files.write_json(building / "mix.json", mix, files.PUBLIC)
    files.write_json(building / "manifest.json", body, files.PUBLIC)
    files.remove(folder)  # only a damaged one stands here: the name is a digest of what it holds
    building.rename(folder)
    job.runner.timings.setdefault("release", Timing()).tasks += 1


def _scan(job: Job, tokenized: Mapping[str, Any], tokenizer: Tokenizer) -> None:
    masked = next(tuple(table.mask) for table in job.rules.deid.policy if table.name == job.config.deidentify.policy)
    fingerprint = digest("scan", code_digest(__name__), tokenizer.digest, masked)
    source = job.workspace.stage("tokenize")
    key = tokenizer_key(job.config, tokenizer, "reference")
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
    with pq.ParquetFile(path) as shard:
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
