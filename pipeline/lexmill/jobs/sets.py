"""The shard sets of a release, and what is left of them when documents are taken back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.batch import Ledger, n_bytes
from lexmill.core.release.body import SHARD_COUNTS, named, shared
from lexmill.core.release.removal import count, spent_by_document, without
from lexmill.core.tokens.ids import low63
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.release import ShardSet
from lexmill.jobs.tokenize import ROW_GROUP
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from lexmill.store import files
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.releases import DataFile
from lexmill.store.stages import Receipt, Target, part_name
from lexmill.store.workspace import RELEASE


def sets_of(folder: Path, body: Mapping[str, Any]) -> list[ShardSet]:
    """The sets that a release lists, with their files in its folder."""
    return [
        ShardSet(
            one,
            *(
                [DataFile(folder / entry["path"], entry) for entry in body[kind] if entry["set"] == one["set"]]
                for kind in ("shards", "text")
            ),
        )
        for one in body["sets"]
    ]


def documents_in(texts: Sequence[DataFile], doc_ids: frozenset[str]) -> dict[int, list[str]]:
    """Which of the documents stand in which text parts."""
    wanted = pa.array(sorted(doc_ids), pa.string())
    found = {}
    for number, text in enumerate(texts):
        ids = files.read_columns(text.source, columns=["doc_id"])["doc_id"]
        mine = ids.filter(pc.is_in(ids, wanted)).to_pylist()
        if mine:
            found[number] = mine
    return found


def take_back(job: Job, sets: Sequence[ShardSet], reasons: Mapping[str, str]) -> list[ShardSet]:
    """The sets without these documents (doc_id → why); files that hold none of them are the same files, under the new set's name.

    A set that holds nothing any more is left out.
    """
    tasks: list[PartTask] = []
    places: list[tuple[int, str, int]] = []
    fingerprint = digest("take back", code_digest(__name__))
    doc_ids = frozenset(reasons)
    gone_of = [documents_in(one.texts, doc_ids) for one in sets]
    for at, (one, gone) in enumerate(zip(sets, gone_of, strict=True)):
        ids = sorted(doc_id for mine in gone.values() for doc_id in mine)
        if not ids:
            continue
        short = np.array([low63(doc_id) for doc_id in ids], np.int64)
        pad_id = int(one.entry["tokenizer"]["pad_id"])
        for kind, held in (("shards", one.shards), ("texts", one.texts)):
            for number, file in enumerate(held):
                if (kind == "texts" and number not in gone) or (kind == "shards" and not _holds(file.source, short)):
                    continue
                places.append((at, kind, number))
                tasks.append(
                    PartTask(
                        len(tasks),
                        digest(fingerprint, file.entry["sha256"], ids),
                        (file.source, dict(file.entry), ids, pad_id),
                        int(file.entry["bytes"]),
                    )
                )
    if not tasks:
        return list(sets)
    step = job.workspace.work("release.taken_back")
    manifest = job.runner.run_stage("release.taken_back", step, rebuild, tasks, fingerprint)
    made = {
        place: (step.part(number), manifest["parts"][number], manifest["extra"][number]) for number, place in enumerate(places)
    }
    _write_ledger(job, [made[place][2]["gone"] for place in places if place[1] == "texts"], reasons)
    left = []
    for at, (one, gone) in enumerate(zip(sets, gone_of, strict=True)):
        left.append(_renewed(one, at, gone, made, reasons) if gone else one)
    return [one for one in left if sum(int(text.entry["rows"]) for text in one.texts)]


def _write_ledger(job: Job, left: Sequence[Mapping[str, Any]], reasons: Mapping[str, str]) -> None:
    """A ledger row for every document that a set lost, in the folder ``taken_back`` of the run."""
    ledger = Ledger(RELEASE)
    for gone in left:
        for doc_id, (source, doc_type, n_chars, size) in gone.items():
            ledger.add(doc_id, source, doc_type, "drop", f"release.{reasons[doc_id]}", n_chars, size)
    files.write_table(job.workspace.run_folder / "taken_back" / "ledger" / part_name(0), ledger.table())


def _holds(path: Path, short: Any) -> bool:
    with files.open_parquet(path) as shard:
        return any(
            bool(np.isin(pc.list_flatten(batch["doc_ids"]).to_numpy(), short).any())
            for batch in shard.iter_batches(batch_size=ROW_GROUP, columns=["doc_ids"], use_threads=False)
        )


def rebuild(target: Target, path: Path, entry: Mapping[str, Any], doc_ids: list[str], pad_id: int) -> Receipt:
    """Write one shard, or one text part, without these documents; ``extra`` holds its new counts and what left by group."""
    if "seq_len" not in entry:
        table = files.read_table(path, str(entry["sha256"]), DOCUMENT_JUDGED)
        leaves = pc.is_in(table["doc_id"], pa.array(doc_ids, pa.string()))
        gone = table.filter(leaves).select(["doc_id", "source", "doc_type", "text"]).to_pylist()
        return target.write_work(
            table.filter(pc.invert(leaves)),
            row_group_size=4096,
            extra={
                "gone": {row["doc_id"]: [row["source"], row["doc_type"], len(row["text"]), n_bytes(row["text"])] for row in gone}
            },
        )
    table = files.read_table(path, str(entry["sha256"]), TOKENS)
    short = np.array([low63(doc_id) for doc_id in doc_ids], np.int64)
    spent = spent_by_document(table, short)
    left = without(table, short, entry["seq_len"], pad_id)
    before, after = count(table), count(left)
    counts = {name: int(entry[name]) - before[name] + after[name] for name in SHARD_COUNTS}
    return target.write_work(
        left, row_group_size=ROW_GROUP, extra={"counts": counts, "spent": {str(k): v for k, v in spent.items()}}
    )


def _renewed(
    one: ShardSet,
    at: int,
    gone: Mapping[int, list[str]],
    made: Mapping[tuple[int, str, int], tuple[Path, Mapping[str, Any], Mapping[str, Any]]],
    reasons: Mapping[str, str],
) -> ShardSet:
    gone_docs: dict[int, list[Any]] = {}  # source, type, characters, bytes
    groups = {group: dict(row) for group, row in one.entry["mix"]["groups"].items()}
    removed = dict(one.entry.get("removed", {}))
    kinds: dict[str, tuple[list[Path], list[dict[str, Any]]]] = {}
    for number in gone:
        gone_docs |= {low63(doc_id): about for doc_id, about in made[at, "texts", number][2]["gone"].items()}
        for doc_id in gone[number]:
            removed[reasons[doc_id]] = removed.get(reasons[doc_id], 0) + 1
    first = one.shards[0].entry["seq_len"] if one.shards else None
    for kind, held in (("shards", one.shards), ("texts", one.texts)):
        paths, entries = kinds.setdefault(kind, ([], []))
        for number, file in enumerate(held):
            entry = {name: value for name, value in file.entry.items() if name != "set"}
            entry["path"] = _unnamed(str(entry["path"]))
            path = file.source
            if (at, kind, number) in made:
                path, part, extra = made[at, kind, number]
                entry |= {name: part[name] for name in ("sha256", "bytes", "rows")} | extra.get("counts", {})
                if kind == "shards" and entry["seq_len"] == first:
                    for short, (copies, tokens) in extra["spent"].items():
                        _take_out(groups, gone_docs[int(short)], copies, tokens)
            paths.append(path)
            entries.append(entry)
    about = {name: value for name, value in one.entry.items() if name != "set"}
    about["mix"] = {**about["mix"], "groups": shared(groups)}
    about["tokens"] = {group: row["tokens"] for group, row in groups.items()}
    about["removed"] = dict(sorted(removed.items()))
    shards, texts = kinds["shards"], kinds["texts"]
    set_id = digest(about, shards[1], texts[1])[:12]
    return ShardSet(
        {"set": set_id, **about},
        *(
            [DataFile(path, entry) for path, entry in zip(paths, named(set_id, entries), strict=True)]
            for paths, entries in (shards, texts)
        ),
    )


def _take_out(groups: Mapping[str, dict[str, Any]], gone: Sequence[Any], copies: int, tokens: int) -> None:
    """Take a document, written ``copies`` times with ``tokens`` in all, out of what the mixture says of its group."""
    source, doc_type, n_chars, size = gone
    row = groups[f"{source}/{doc_type}"]
    for unit, number in (("docs", 1), ("chars", n_chars), ("bytes", size)):
        row[unit] -= copies * number
    row["tokens"] -= tokens
    row["pool_docs"] -= 1
    row["pool_tokens"] -= tokens // copies


def _unnamed(path: str) -> str:
    """The path without the name of its set."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{name.partition('-')[2]}"
