"""How far a run is: finished stages, parts of the one being built, and who holds the workspace."""

from rich.console import Group
from rich.table import Table

from lexmill.report.balance import totals
from lexmill.schema import STAGES
from lexmill.store import files, lock, reviews
from lexmill.store.files import DamagedFile
from lexmill.store.history import History
from lexmill.store.releases import Releases
from lexmill.store.stages import StageFolder
from lexmill.store.workspace import RELEASE, Workspace


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
    latest = Releases(workspace.releases).latest()
    rows.append((RELEASE, f"published: {latest.name}" if latest else "none", "", "", "", ""))
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
    present = files.listing(folder.path)
    gone = sum(entry["name"] not in present for entry in manifest["parts"])
    state = f"{gone} {'part' if gone == 1 else 'parts'} deleted" if gone else "finished"
    counts = manifest["counts"]
    numbers = [totals(counts, kind)["docs"] for kind in ("out", "drop", "quarantine")]
    return (name, state, str(len(manifest["parts"])), *(f"{number:,}" for number in numbers))


def newest_night(workspace: Workspace) -> Workspace:
    """The workspace's night under way, or its last one, where the run itself was never made; else the workspace as it is."""
    nights = History(workspace.root / "lineage").nights()
    name = nights.under_way or next(reversed(nights.done), None)
    if name is None or (workspace.run_folder / "ingest").exists():
        return workspace
    return Workspace(workspace.root, name)


def is_held(workspace: Workspace) -> bool:
    """Whether a run holds the workspace."""
    return lock.owner(workspace.root) is not None


def view(workspace: Workspace) -> Group:
    """All of it, to be printed: stages, plan beside record where there are both, the review, who holds the workspace."""
    table = Table(title=f"run {workspace.run}")
    for column in ("stage", "state", "parts", "docs out", "dropped", "quarantined"):
        table.add_column(column, justify="left" if column in ("stage", "state") else "right")
    for row in stages(workspace):
        table.add_row(*row)
    return Group(table, *plan_and_record(workspace), *review(workspace), holder(workspace))


def review(workspace: Workspace) -> list[str]:
    """One line on the review of what stage filter holds now; none where nothing was drawn of it."""
    try:
        filtered = workspace.stage("filter").manifest()
        where = reviews.folder(workspace.root, reviews.lot_of(filtered)) if filtered else None
        if where is None or not where.plan.exists():
            return []
        decided, given = where.decided(), files.read_json(where.assignments) or []
    except DamagedFile as error:
        return [f"review: {error}"]
    lot = where.path.name
    if decided:
        return [f"review: lot {lot} is {'accepted' if decided['accepted'] else 'not accepted'}"]
    back = len(list(where.verdicts("R1").parent.glob("R*.json")))
    return [f"review: lot {lot} is drawn; verdicts of {back} of {len(given)} reviewers are in"]


def plan_and_record(workspace: Workspace) -> list[Table]:
    """What was planned and what the last run took, where both are known: a list of one table, or of none."""
    plan, record = (files.read_json(workspace.run_folder / name) for name in ("plan.json", "run.json"))
    if not plan or not record:
        return []
    peak = max((took["peak_rss"] for took in record["stages"].values()), default=0)
    table = Table(title=f"plan for {plan['cores']} cores, and the last run on {record['workers']}")
    for column in ("what", "planned", "low", "high", "took"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, label, took, unit in (
        ("seconds", "seconds", record["seconds"], 1),
        ("core_seconds", "core-seconds", record["cpu_seconds"], 1),
        ("memory_bytes", "memory, MB", peak * record["workers"] + record["peak_rss_driver"], 1e6),
        ("disk_bytes", "disk, MB", record["disk_bytes"], 1e6),
    ):
        planned = (f"{plan[name][bound] / unit:,.1f}" for bound in ("value", "low", "high"))
        table.add_row(label, *planned, f"{took / unit:,.1f}")
    return [table]


def holder(workspace: Workspace) -> str:
    """One line on the lock."""
    owner = lock.owner(workspace.root)
    if owner is None:
        return "no run holds the workspace"
    return f"held by process {owner.get('pid')} on {owner.get('host')}"
