"""The proof of a release: every file by its digest, every count by counting again, the manifest against itself and its files."""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from lexmill.core.evidence.pages import CLAUSES
from lexmill.core.release.body import SHARD_COUNTS, UNPACKED, compose
from lexmill.core.tokens.ids import low63
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import digest, digest_if_there, file_digest
from lexmill.store.releases import MANIFEST, SUMS, WITHDRAWN, Releases, read_manifest, read_mark, read_sums
from lexmill.store.stages import imbalance

_BALANCED = ("ingest", "dedup", "decontaminate", "deidentify", "filter")


def verify(folder: Path) -> list[str]:
    """Faults of the release in ``folder``, each a line that names a file or a count; empty when all is proven.

    Of a release that lost data files (``withdrawn.json``) it proves that none of these is left, and that the others
    are whole. Raises InputError where there is no release.
    """
    try:
        body = read_manifest(folder)
    except DamagedFile as error:
        return [str(error)]
    listed = [*body["shards"], *body["text"]]
    faults = _of_manifest(folder, body)
    mark = read_mark(folder)
    gone = set(mark["deleted"]) if mark else set()
    faults += [f"{name}: is still there though it was deleted" for name in sorted(gone) if (folder / name).exists()]
    faults += _of_evidence(folder)
    faults += _of_files(folder, {entry["path"]: entry["sha256"] for entry in listed if entry["path"] not in gone}, gone)
    if mark:
        return faults
    if not faults:
        faults = _of_content(folder, body)
    return faults


def is_withdrawn(folder: Path) -> bool:
    """Whether data files of the release were deleted."""
    return (folder / WITHDRAWN).exists()


def _of_manifest(folder: Path, body: Mapping[str, Any]) -> list[str]:
    faults = []
    named = {key: value for key, value in body.items() if key != "release"}
    if digest(named)[:16] != body["release"]:
        faults.append(f"{MANIFEST}: its content is not the one that names the release")
    if not folder.name.endswith(body["release"]):
        faults.append(f"{MANIFEST}: the folder has another release's name")
    if compose(body["lexmill"], body["parent"], body["sets"], body["shards"], body["text"]) != named:
        faults.append(f"{MANIFEST}: its totals are not those of its sets and files")
    if body["parent"] and Releases(folder.parent).find(body["parent"]) is None:
        faults.append(f"{MANIFEST}: the parent {body['parent']} is not beside it")
    faults += [
        f"{MANIFEST}: the tokens of its sources are not those of its shards in tokens/{window['seq_len'] or UNPACKED}"
        for window in body["windows"]
        if sum(body["tokens"].values()) != window["tokens"] - window["headings"]
    ]
    for one in body["sets"]:
        for stage in _BALANCED:
            if stage in one["stages"]:
                faults += [
                    f"set {one['set']}: {stage} does not balance: {fault}" for fault in imbalance(one["stages"][stage]["counts"])
                ]
    return faults


def _of_evidence(folder: Path) -> list[str]:
    """Whether the files that clauses lead to are the ones that they were judged by."""
    try:
        said = files.read_json(folder / CLAUSES) or {"standards": []}
    except DamagedFile as error:
        return [str(error)]
    wanted = {
        one["path"]: one["sha256"]
        for standard in said["standards"]
        for clause in standard["clauses"]
        for one in clause["evidence"]
    }
    return [
        f"{CLAUSES}: {path} is not the file that clauses were judged by"
        for path, sha256 in sorted(wanted.items())
        if digest_if_there(folder / path) != sha256
    ]


def _of_files(folder: Path, listed: Mapping[str, str], gone: Set[str]) -> list[str]:
    try:
        sums = {name: sha256 for name, sha256 in read_sums(folder).items() if name not in gone}
    except DamagedFile as error:
        return [str(error)]
    present = set(files.listing(folder))
    faults = [f"{name}: is in no list" for name in sorted(present - sums.keys() - gone - {SUMS, WITHDRAWN})]
    faults += [f"{name}: is not in {SUMS}" for name in sorted(listed.keys() - sums.keys())]
    faults += [
        f"{name}: {MANIFEST} and {SUMS} differ" for name in sorted(listed.keys() & sums.keys()) if listed[name] != sums[name]
    ]
    for name, sha256 in sorted(sums.items()):
        if name not in present:
            faults.append(f"{name}: is missing")
        elif file_digest(folder / name) != sha256:
            faults.append(f"{name}: its sha256 is not the recorded one")
    return faults


def _of_content(folder: Path, body: Mapping[str, Any]) -> list[str]:
    """Counts of shards and text, and that both hold the same documents; one file at a time."""
    faults = []
    ids: list[str] = []
    for text in body["text"]:
        with files.open_parquet(folder / text["path"]) as file:
            if not file.schema_arrow.equals(DOCUMENT_JUDGED):
                faults.append(f"{text['path']}: has another schema")
                continue
            found = file.read(columns=["doc_id"], use_threads=False)["doc_id"].to_pylist()
        if len(found) != text["rows"]:
            faults.append(f"{text['path']}: {len(found)} rows, {text['rows']} listed")
        ids.extend(found)
    if len(set(ids)) != len(ids):
        faults.append(f"text: {len(ids) - len(set(ids))} documents are there twice")
    wanted = np.sort(np.array([low63(doc_id) for doc_id in ids], np.int64))
    for seq_len in (window["seq_len"] for window in body["windows"]):
        held: list[Any] = []
        for shard in body["shards"]:
            if shard["seq_len"] == seq_len:
                documents, wrong = _of_shard(folder / shard["path"], shard)
                held.append(documents)
                faults += [f"{shard['path']}: {fault}" for fault in wrong]
        if not np.array_equal(np.sort(np.concatenate(held)), wanted):
            faults.append(f"tokens/{seq_len or UNPACKED}: the shards do not hold the documents of the text, each once")
    return faults


def _of_shard(path: Path, entry: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """(documents, faults) of one shard, read by row groups; a document that was written several times is one."""
    count = dict.fromkeys(SHARD_COUNTS, 0)
    pieces: list[Any] = []
    faults = []
    columns = ["input_ids", "doc_ids", "doc_lens", "head_lens", "repeats", "n_pad"]
    with files.open_parquet(path) as file:
        if not file.schema_arrow.equals(TOKENS):
            return np.array([], np.int64), ["has another schema"]
        for batch in file.iter_batches(batch_size=1024, columns=columns, use_threads=False):
            lengths, pads = pc.list_value_length(batch["input_ids"]).to_numpy(), batch["n_pad"].to_numpy()
            owner, sizes = pc.list_parent_indices(batch["doc_lens"]).to_numpy(), pc.list_flatten(batch["doc_lens"]).to_numpy()
            tokens = np.bincount(owner, sizes, batch.num_rows).astype(np.int64)
            filled = lengths if entry["seq_len"] is None else entry["seq_len"]
            if not ((lengths == filled) & (tokens + pads == lengths)).all():
                faults.append("a sequence does not fill its window")
            count["sequences"] += batch.num_rows
            count["padding"] += int(pads.sum())
            count["tokens"] += int(tokens.sum())
            count["headings"] += int(pc.sum(pc.list_flatten(batch["head_lens"])).as_py() or 0)
            ids, repeats = (pc.list_flatten(batch[name]).to_numpy().astype(np.int64) for name in ("doc_ids", "repeats"))
            pieces.append(np.stack([ids, repeats], axis=1))
    written = np.unique(np.concatenate(pieces), axis=0) if pieces else np.zeros((0, 2), np.int64)
    count["documents"] = len(written)
    faults += [
        f"{count[name]} {name}, {entry[name]} listed" for name in SHARD_COUNTS if name != "cut" and count[name] != entry[name]
    ]
    if count["sequences"] != entry["rows"]:
        faults.append(f"{count['sequences']} rows, {entry['rows']} listed")
    return np.unique(written[:, 0]), faults
