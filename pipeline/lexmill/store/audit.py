"""The audit chain: releases, reviews and takedowns, each entry sealed with the digest of the one before.

::

    audit/000001.json   {number, time, kind, subject, files: {path: sha256}, previous, digest}

An entry's ``digest`` covers everything else in it, ``previous`` is that of the entry before (64 zeros for the first). Whoever
keeps the last digest elsewhere (``audit verify`` prints it) can prove later that no entry was changed, added or taken away.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import digest, digest_if_there

Kind = Literal["release", "review", "takedown"]
_FIRST = "0" * 64


def record(root: Path, kind: Kind, subject: str, sealed: Mapping[str, str]) -> str:
    """Seal that ``kind`` happened to ``subject`` (a release, a lot, a tombstone); returns the new head of the chain.

    ``sealed`` maps paths, relative to the workspace ``root``, to the sha256 of files that must not change from now on. The same
    event recorded twice in a row is one entry, so that a run that goes on after a kill adds nothing.
    """
    entries = _entries(root)
    last = files.read_json(entries[-1]) if entries else None
    same = last is not None and (last["kind"], last["subject"], last["files"]) == (kind, subject, dict(sealed))
    if last is not None and same:
        return str(last["digest"])
    body = {
        "number": len(entries) + 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "kind": kind,
        "subject": subject,
        "files": dict(sealed),
        "previous": last["digest"] if last else _FIRST,
    }
    sealed_body = {**body, "digest": digest(body)}
    files.make_private(root / "audit")
    files.write_json(root / "audit" / f"{body['number']:06d}.json", sealed_body)
    return str(sealed_body["digest"])


def _entries(root: Path) -> list[Path]:
    return sorted((root / "audit").glob("[0-9]*.json"))


def verify(root: Path, head: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The entries in order, and what is wrong with them or with the files they seal; ``head`` is a digest kept elsewhere.

    A file that a later takedown sealed anew, or sealed as gone (an empty digest), is judged by its last seal.
    """
    entries: list[dict[str, Any]] = []
    faults: list[str] = []
    previous = _FIRST
    for number, path in enumerate(_entries(root), start=1):
        try:
            entry = files.read_json(path)
            body = {name: value for name, value in entry.items() if name != "digest"}
            sealed = digest(body)
        except (DamagedFile, AttributeError, TypeError):
            faults.append(f"audit/{path.name}: is damaged")
            continue
        if entry.get("digest") != sealed:
            faults.append(f"audit/{path.name}: was changed after it was sealed")
        if entry.get("number") != number or path.name != f"{number:06d}.json":
            faults.append(f"audit/{path.name}: an entry before it is missing")
        if entry.get("previous") != previous:
            faults.append(f"audit/{path.name}: does not follow the entry before it")
        previous = str(entry.get("digest"))
        entries.append(entry)
    if head is not None and head not in {entry.get("digest") for entry in entries}:
        faults.append("the digest that was kept elsewhere is not in the chain: entries were taken away or replaced")
    last_seal: dict[str, str] = {}
    for entry in entries:
        last_seal.update(entry.get("files", {}))
    for name, sha256 in sorted(last_seal.items()):
        found = digest_if_there(root / name)
        if sha256 and found != sha256:
            faults.append(f"{name}: is not the file that was sealed")
        if not sha256 and found is not None:
            faults.append(f"{name}: was taken down and is there again")
    return entries, faults
