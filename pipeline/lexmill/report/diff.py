"""What changed between two releases, and why: made from their manifests and the ids and digests of their documents."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import WITHDRAWN, read_manifest

# What a set is made from; a difference in one of these is a reason for a difference in the documents.
_CAUSES = ("policy", "tokenizer", "rules", "models", "config", "code", "versions", "sources", "inputs")


def diff(before: Path, after: Path) -> dict[str, Any]:
    """Causes, sets and documents in which two releases differ.

    ``documents`` is by source and type: added, removed, and changed (the same id with another text); it is None where the data of
    one of them was deleted. Raises InputError where a folder is no release.
    """
    old, new = read_manifest(before), read_manifest(after)
    sets = [{one["set"]: one for one in body["sets"]} for body in (old, new)]
    withdrawn = [name for name, folder in (("A", before), ("B", after)) if (folder / WITHDRAWN).exists()]
    return {
        "a": old["release"],
        "b": new["release"],
        "b_follows_a": new["parent"] == old["release"],
        "withdrawn": withdrawn,
        "sets_added": sorted(sets[1].keys() - sets[0].keys()),
        "sets_removed": sorted(sets[0].keys() - sets[1].keys()),
        "removed_because": {
            one: body["removed"] for one, body in sorted(sets[1].items()) if body.get("removed") and one not in sets[0]
        },
        "causes": _causes(_made_of(old), _made_of(new)),
        "tokens": {
            group: new["tokens"].get(group, 0) - old["tokens"].get(group, 0)
            for group in sorted(old["tokens"].keys() | new["tokens"].keys())
            if new["tokens"].get(group, 0) != old["tokens"].get(group, 0)
        },
        "documents": None if withdrawn else _documents(before, old, after, new),
        "shards_shared": len({shard["sha256"] for shard in old["shards"]} & {shard["sha256"] for shard in new["shards"]}),
    }


def _made_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the newest set is made from; sources and inputs are those of all sets, since a night names only what it read."""
    inputs: dict[str, list[Any]] = {}
    for one in body["sets"]:
        for source, given in one["inputs"].items():
            inputs.setdefault(source, []).append(given)
    return {**body["sets"][-1], "sources": body["sources"], "inputs": inputs}


def _causes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names in each part of what the newest sets are made from whose values differ."""
    causes = {}
    for name in _CAUSES:
        one, other = old[name], new[name]
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            causes[name] = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        else:
            causes[name] = [f"{one} → {other}"]
    return causes


def _documents(before: Path, old: Mapping[str, Any], after: Path, new: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    shared = {text["sha256"] for text in old["text"]} & {text["sha256"] for text in new["text"]}
    one, other = (_texts(folder, body, shared) for folder, body in ((before, old), (after, new)))
    changes: dict[str, dict[str, int]] = {}

    def count(group: str, what: str) -> None:
        row = changes.setdefault(group, {"added": 0, "removed": 0, "changed": 0})
        row[what] += 1

    for doc_id in sorted(one.keys() | other.keys()):
        if doc_id not in one:
            count(other[doc_id][0], "added")
        elif doc_id not in other:
            count(one[doc_id][0], "removed")
        elif one[doc_id][1] != other[doc_id][1]:
            count(other[doc_id][0], "changed")
    return dict(sorted(changes.items()))


def _texts(folder: Path, body: Mapping[str, Any], shared: set[str]) -> dict[str, tuple[str, bytes]]:
    """(source/type, digest of the text) by doc_id, of the parts that the other release has not."""
    found = {}
    for text in body["text"]:
        if text["sha256"] in shared:
            continue
        path = folder / text["path"]
        if not path.is_file() or file_digest(path) != text["sha256"]:
            raise DamagedFile(f"{folder.name}/{text['path']} is missing or damaged (its sha256 is not the recorded one)")
        with files.open_parquet(path) as file:
            for batch in file.iter_batches(batch_size=4096, columns=["doc_id", "source", "doc_type", "text"], use_threads=False):
                for row in batch.to_pylist():
                    digested = hashlib.blake2b(row["text"].encode(), digest_size=16).digest()
                    found[row["doc_id"]] = (f"{row['source']}/{row['doc_type']}", digested)
    return found
