"""What the retention lets go: data files of old releases, raw text of nights long done. Manifests, ledgers and records stay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexmill.config import Nightly
from lexmill.store import files
from lexmill.store.history import Nights
from lexmill.store.index import Index
from lexmill.store.releases import MANIFEST, PUBLIC, WITHDRAWN, Releases, published_on, read_manifest, read_mark
from lexmill.store.workspace import Workspace


@dataclass(frozen=True)
class Purge:
    """What would be deleted.

    ``releases`` lose their data files, ``runs`` everything but ledgers, manifests and run.json; the history that nights
    are compared with loses the documents of the runs ``indexed``.
    """

    releases: tuple[Path, ...]
    runs: tuple[Path, ...]
    indexed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.releases or self.runs or self.indexed)


def due(workspace: Workspace, nights: Nights, keep: Nightly) -> Purge:
    """What is beyond the retention; the release that stands is always kept."""
    releases = Releases(workspace.releases)
    latest = releases.latest()
    whole = [folder for folder in releases.folders() if folder != latest and next(folder.glob("t*/**/*.parquet"), None)]
    whole.sort(key=lambda folder: (published_on(folder), (folder / MANIFEST).stat().st_mtime))
    old = whole[: max(0, len(whole) - keep.keep_releases + 1)]
    done = [workspace.root / "runs" / name for name in nights.done[: max(0, len(nights.done) - keep.keep_nights)]]
    forgotten = set(nights.done[: len(nights.done) - keep.keep_history]) if keep.keep_history else set()
    runs = Index(workspace.index).manifest()["runs"]
    indexed = [run["name"] for run in runs if run["name"] in forgotten and _documents(workspace, run)]
    return Purge(tuple(old), tuple(folder for folder in done if _data_of(folder)), tuple(indexed))


def _documents(workspace: Workspace, run: Mapping[str, Any]) -> list[str]:
    """The doc_ids that the index has of a run."""
    found: list[str] = []
    for part in run["documents"]:
        found += files.read_columns(workspace.index / "documents" / part["path"], ["doc_id"])["doc_id"].to_pylist()
    return found


def _data_of(run: Path) -> list[Path]:
    unpacked = run.parent.parent / "lineage" / run.name / "unpacked"
    return [
        *run.glob("*/part-*.parquet"),
        *run.glob("*/receipts"),
        *run.glob("work"),
        *([unpacked] if unpacked.exists() else []),
    ]


def mark(folder: Path, why: str, successor: str | None, paths: Sequence[str]) -> None:
    """Delete data files of a release and say so in it, with those that went before; a kill in between leaves the mark."""
    before = read_mark(folder)
    deleted = sorted({*(before["deleted"] if before else ()), *paths})
    files.write_json(folder / WITHDRAWN, {"why": why, "successor": successor, "deleted": deleted}, PUBLIC)
    for path in deleted:
        files.remove(folder / path)


def purge(workspace: Workspace, what: Purge) -> None:
    """Delete it."""
    latest = Releases(workspace.releases).latest()
    for folder in what.releases:
        body = read_manifest(folder)
        listed = [entry["path"] for entry in [*body["shards"], *body["text"]]]
        mark(folder, "retention", read_manifest(latest)["release"] if latest else None, listed)
    for run in what.runs:
        for path in _data_of(run):
            files.remove(path)
    index = Index(workspace.index)
    old = [run for run in index.manifest()["runs"] if run["name"] in what.indexed]
    if doc_ids := [doc_id for run in old for doc_id in _documents(workspace, run)]:
        index.remove(doc_ids)
