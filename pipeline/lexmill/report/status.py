"""How far a run is: finished stages, parts of the one being built, and who holds the workspace."""

from lexmill.report.balance import totals
from lexmill.store import files, lock
from lexmill.store.files import DamagedFile
from lexmill.store.stages import StageFolder
from lexmill.store.workspace import RELEASE, STAGES, Workspace


def stages(workspace: Workspace) -> list[tuple[str, ...]]:
    """Rows of (stage, state, parts, documents out, dropped, quarantined)."""
    rows: list[tuple[str, ...]] = []
    for name in STAGES:
        steps = [workspace.work(path.name) for path in sorted((workspace.run_folder / "work").glob(f"{name}.*.next"))]
        rows.extend(_building(StageFolder(step.path.with_suffix(""))) for step in steps)
        folder = workspace.stage(name)
        if folder.next.path.exists():
            rows.append(_building(folder))
        rows.append(_finished(name, folder))
    latest = files.read_json(workspace.releases / "latest.json")
    rows.append((RELEASE, f"published: {latest['release']}" if latest else "none", "", "", "", ""))
    return rows


def _building(folder: StageFolder) -> tuple[str, ...]:
    done = len(list((folder.next.path / "receipts").glob("part-*.json")))
    return (folder.path.name, "being built", str(done), "", "", "")


def _finished(name: str, folder: StageFolder) -> tuple[str, ...]:
    try:
        manifest = folder.manifest()
    except DamagedFile:
        return (name, "manifest damaged: run again", "", "", "", "")
    if manifest is None:
        return (name, "none", "", "", "", "")
    counts = manifest["counts"]
    numbers = [totals(counts, kind)["docs"] for kind in ("out", "drop", "quarantine")]
    return (name, "finished", str(len(manifest["parts"])), *(f"{number:,}" for number in numbers))


def holder(workspace: Workspace) -> str:
    """One line on the lock."""
    owner = lock.owner(workspace.root)
    if owner is None:
        return "no run holds the workspace"
    return f"held by process {owner.get('pid')} on {owner.get('host')}"
