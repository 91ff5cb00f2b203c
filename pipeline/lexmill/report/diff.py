"""What changed between two releases, and why: made from their manifests and the ids and digests of their documents."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexmill.core.release.changes import changes
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import WITHDRAWN, read_manifest


def diff(before: Path, after: Path) -> dict[str, Any]:
    """Causes, sets and documents in which two releases differ.

    ``documents`` is by source and type: added, removed, and changed (the same id with another text); it is None where the data of
    one of them was deleted. Raises InputError where a folder is no release.
    """
    old, new = read_manifest(before), read_manifest(after)
    withdrawn = [name for name, folder in (("A", before), ("B", after)) if (folder / WITHDRAWN).exists()]
    return {
        "a": old["release"],
        "b": new["release"],
        "b_follows_a": new["parent"] == old["release"],
        "withdrawn": withdrawn,
        **changes(old, new),
        "documents": None if withdrawn else _documents(before, old, after, new),
    }


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
