"""Retention lets raw text go, that of compressed files too, and keeps what says what happened."""

from pathlib import Path

from lexmill.config import Nightly
from lexmill.store import purge
from lexmill.store.history import Nights
from lexmill.store.workspace import Workspace

WORK = "work/dedup.pairs"


def night(root: Path, name: str) -> None:
    for path in (
        f"runs/{name}/ingest/part-00000.parquet",
        f"runs/{name}/ingest/ledger/part-00000.parquet",
        f"runs/{name}/ingest/receipts/part-00000.json",
        f"runs/{name}/ingest/manifest.json",
        f"runs/{name}/{WORK}/part-00000.parquet",
        f"lineage/{name}/unpacked/0/0.zst",
        f"lineage/{name}/part-00000.parquet",
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x")


def left(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_old_nights_lose_their_text_and_keep_their_account(tmp_path: Path) -> None:
    names = ("2026-01-01", "2026-01-02", "2026-01-03")
    for name in names:
        night(tmp_path, name)
    workspace = Workspace(tmp_path, names[-1])
    keep = Nightly(keep_nights=1, keep_releases=1)
    before = left(tmp_path)
    what = purge.due(workspace, Nights(names, None, None), keep)
    assert [run.name for run in what.runs] == list(names[:2])
    assert left(tmp_path) == before  # nothing goes before it is asked for
    purge.purge(workspace, what)
    gone = {path.split(f"{name}/")[1] for name in names[:2] for path in before - left(tmp_path) if name in path}
    receipt = "ingest/receipts/part-00000.json"  # it holds a sketch of the names
    assert gone == {"ingest/part-00000.parquet", receipt, f"{WORK}/part-00000.parquet", "unpacked/0/0.zst"}
    assert {path for path in before if names[2] in path} <= left(tmp_path)
    assert not purge.due(workspace, Nights(names, None, None), keep)
