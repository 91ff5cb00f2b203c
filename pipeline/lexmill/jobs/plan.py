"""What a run would take: a stratified sample of the raw files goes through the real stages, and the rest is inferred from it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from lexmill.cluster import worker_count
from lexmill.config import Cluster, Config
from lexmill.core.forecast import (
    MODEL_ERROR,
    Z95,
    Estimate,
    Stratum,
    copies_at_scale,
    cores_for,
    line,
    part_estimate,
    wall_seconds,
)
from lexmill.core.ingest.records import SPLITTABLE
from lexmill.jobs import ingest
from lexmill.jobs.call import Outcome
from lexmill.jobs.ingest import MB
from lexmill.jobs.parts import PartTask
from lexmill.jobs.pieces import Parts, Piece
from lexmill.jobs.prices import Prices
from lexmill.jobs.run import STAGES, bring_up_to, open_job, usage
from lexmill.store import files
from lexmill.store.memory import peak_rss
from lexmill.store.workspace import RELEASE, Workspace

# Parts of the sample: small, so that many can be drawn from each source; the memory is measured on one of full size.
_SAMPLE_PART_MB = 0.5
_LEAST_PARTS = 4
# Steps whose tasks are one a part; the others work on all parts at once and grow with them.
_BY_PART = {
    "ingest",
    "dedup.signatures",
    "dedup.bands",
    "dedup.candidates",
    "dedup",
    "decontaminate",
    "deidentify",
    "filter",
    "tokenize.scatter",
}
_AFTER_DEDUP = ("decontaminate", "deidentify", "filter", "tokenize", "release")


@dataclass
class _Seen:
    """The cost of every task of the sample, (stage, part, worker, core-seconds), and the peak memory of a worker in bytes."""

    peak: int = 0
    tasks: list[tuple[str, int, int, float]] = field(default_factory=list)

    def __call__(self, stage: str, task: PartTask, outcome: Outcome) -> None:
        self.peak = max(self.peak, outcome.peak_rss)
        self.tasks.append((stage, task.number, outcome.pid, outcome.cpu_seconds))


def choose(parts: Mapping[int, Sequence[Piece]], sample_bytes: int) -> dict[str, list[int]]:
    """Parts of every source in the order of their hashes: as many as its share of the bytes, and no fewer than four."""
    by_source: dict[str, list[int]] = {}
    for number, pieces in parts.items():
        if pieces:
            by_source.setdefault(pieces[0].source, []).append(number)
    total = sum(_size(pieces) for pieces in parts.values())
    chosen = {}
    for source, numbers in by_source.items():
        mine = sum(_size(parts[number]) for number in numbers)
        drawn: list[int] = []
        for number in sorted(numbers, key=lambda number: hashlib.blake2b(f"{source} {number}".encode()).digest()):
            if len(drawn) >= _LEAST_PARTS and sum(_size(parts[one]) for one in drawn) >= sample_bytes * mine / max(1, total):
                break
            drawn.append(number)
        chosen[source] = sorted(drawn)
    return chosen


def joined(parts: Sequence[Sequence[Piece]]) -> list[list[Piece]]:
    """The same pieces in parts of one, two, four, eight of these, and so on, to tell what a part costs whatever its size."""
    found: list[list[Piece]] = []
    at = 0
    while at < len(parts):
        number = 1 << len(found) % 4
        found.append([piece for part in parts[at : at + number] for piece in part])
        at += number
    return found


def _size(pieces: Sequence[Piece]) -> int:
    return sum(piece.size if piece.end < 0 or piece.fmt not in SPLITTABLE else piece.end - piece.start for piece in pieces)


@dataclass(frozen=True)
class _Took:
    """What a run over some parts made and took; disk in bytes by folder, memory in bytes."""

    sizes: list[int]  # bytes of each part
    sources: list[str]
    manifests: Mapping[str, Mapping[str, Any]]
    seen: _Seen
    wall: float
    wall_stages: float
    cpu_self: float
    cpu_children: float
    disk: dict[str, int]

    def cpu(self, stage: str) -> float:
        """Core-seconds of a stage's tasks."""
        return sum(took for name, _, _, took in self.seen.tasks if name == stage)


def plan(
    config: Config, console: Console, sample_mb: float, cores: int, prices: Prices | None, target_hours: float | None
) -> dict[str, Any]:
    """The forecast of a run on ``cores``, with 95 % intervals; it is left in the run's folder for the run to be compared with.

    Raises what the stages raise: a run that could not start is not planned either.
    """
    try:
        return _plan(config, console, sample_mb, cores, prices, target_hours)
    finally:
        for scratch in _scratch(config).glob("plan-*"):
            files.remove(scratch)


def _plan(
    config: Config, console: Console, sample_mb: float, cores: int, prices: Prices | None, target_hours: float | None
) -> dict[str, Any]:
    imports = usage().cpu_self
    # This one also compiles what is compiled at first use, which is no part of what the others are to tell.
    full = _planned(config, config.ingest.part_mb)
    largest = max(full.values(), key=_size)
    peak = _measure(config, config.ingest.part_mb, console, [largest], 1).seen.peak
    part_mb = min(config.ingest.part_mb, _SAMPLE_PART_MB)
    parts = _planned(config, part_mb)
    chosen = choose(parts, int(sample_mb * MB)).values()
    drawn = [part for numbers in chosen for part in joined([parts[number] for number in numbers])]
    workers = worker_count(_local(config))
    quarter = _measure(config, part_mb, console, drawn[::4], workers)
    whole = _measure(config, part_mb, console, drawn, workers)
    totals: dict[str, int] = {}
    for pieces in parts.values():
        if pieces:
            totals[pieces[0].source] = totals.get(pieces[0].source, 0) + _size(pieces)
    n_parts = sum(bool(pieces) for pieces in full.values())
    forecast = _forecast(totals, n_parts, quarter, whole, imports, peak, cores, target_hours)
    if prices is not None:
        forecast["cost"] = cost(forecast, prices)
    workspace = Workspace(config.workspace_dir, config.run)
    files.make_private(workspace.root / "runs")
    files.write_json(files.make_private(workspace.run_folder) / "plan.json", forecast)
    return forecast


def _scratch(config: Config) -> Path:
    return Workspace(config.workspace_dir, config.run).scratch


def _in_scratch(config: Config, part_mb: float, workers: int) -> Config:
    scratch = _scratch(config) / f"plan-{part_mb}"
    for folder in ("runs", "releases", "index"):
        files.remove(scratch / folder)  # but not the lineage: what was unpacked lies there
    return config.model_copy(
        update={
            "workspace": str(scratch),
            "run": "plan",
            "ingest": config.ingest.model_copy(update={"part_mb": part_mb}),
            "cluster": _local(config).model_copy(update={"workers": workers}),
        }
    )


def _local(config: Config) -> Cluster:
    """A sample is tried on this machine, wherever the whole is to run."""
    return config.cluster if config.cluster.kind == "local" else Cluster()


def _planned(config: Config, part_mb: float) -> Parts:
    """All raw files in parts of this size."""
    scratch = _in_scratch(config, part_mb, 1)
    files.make_private(_scratch(config))
    workspace = Workspace(scratch.workspace_dir, scratch.run)
    files.make_private(workspace.root)
    files.make_private(workspace.root / "lineage")
    return ingest.plan(scratch, workspace)


def _measure(config: Config, part_mb: float, console: Console, parts: Sequence[Sequence[Piece]], workers: int) -> _Took:
    """Run all stages over these parts only, in a scratch workspace that is gone afterwards."""
    scratch = _in_scratch(config, part_mb, workers)
    numbered = {number: [replace(piece, part=number) for piece in pieces] for number, pieces in enumerate(parts)}
    seen = _Seen()
    before = usage()
    files.make_private(_scratch(config))
    files.make_private(scratch.workspace_dir)
    with open_job(scratch, console) as job:
        job.runner.observe = seen
        manifests = bring_up_to(job, RELEASE, {**STAGES, "ingest": lambda job, _: ingest.run(job, numbered)})
        job.runner.close()
        disk = files.sizes(job.workspace.root)
        seconds = sum(timing.wall_seconds for timing in job.runner.timings.values())
    took = usage()
    return _Took(
        sizes=[_size(pieces) for pieces in parts],
        sources=[pieces[0].source for pieces in parts],
        manifests=manifests,
        seen=seen,
        wall=took.wall - before.wall,
        wall_stages=seconds,
        cpu_self=took.cpu_self - before.cpu_self,
        cpu_children=took.cpu_children - before.cpu_children,
        disk=disk,
    )


def _by_part(took: _Took, stage: str, totals: Mapping[str, int], n_parts: int) -> tuple[float, float, float]:
    """(core-seconds of the whole, their standard error, what a process pays at its first task) of a stage with a task a part."""
    mine = [(number, pid, spent) for name, number, pid, spent in took.seen.tasks if name == stage]
    firsts = {pid: index for index, (_, pid, _) in reversed(list(enumerate(mine)))}
    rest = [one for index, one in enumerate(mine) if index not in firsts.values()] or mine

    def sampled(tasks: list[tuple[int, int, float]], source: str) -> list[tuple[int, float]]:
        return [(took.sizes[number], spent) for number, _, spent in tasks if took.sources[number] == source]

    # Where a source has no task but first ones, their cost stands, loading and all.
    strata = [Stratum(size, sampled(rest, source) or sampled(mine, source)) for source, size in totals.items()]
    value, error = part_estimate(strata, n_parts)
    mean = sum(spent for *_, spent in rest) / max(1, sum(took.sizes[number] for number, *_ in rest))
    loading = sum(max(0.0, mine[index][2] - mean * took.sizes[mine[index][0]]) for index in firsts.values())
    return value, error, loading / max(1, len(firsts))


def _forecast(
    totals: Mapping[str, int],
    n_parts: int,
    quarter: _Took,
    whole: _Took,
    imports: float,
    peak: int,
    cores: int,
    target_hours: float | None,
) -> dict[str, Any]:
    total, drawn = sum(totals.values()), sum(whole.sizes)
    share = drawn / total
    counts = whole.manifests["dedup"]["counts"]
    came, copies = (sum(units["docs"] for units in counts.get(kind, {}).values()) for kind in ("in", "drop"))
    found = copies / came if came else 0.0
    expected = copies_at_scale(found, share)
    kept = (1 - expected) / (1 - found) if found < 1 else 1.0
    stages: dict[str, tuple[float, int]] = {}
    variance = loading = 0.0
    for stage in dict.fromkeys(stage for stage, *_ in whole.seen.tasks):
        after = kept if stage.partition(".")[0] in _AFTER_DEDUP else 1.0
        if stage in _BY_PART:
            value, error, first = _by_part(whole, stage, totals, n_parts)
            stages[stage] = (value * after, n_parts)
            variance += (error * after) ** 2
            loading += first
        else:
            value = line(sum(quarter.sizes), quarter.cpu(stage), drawn, whole.cpu(stage), total * after)
            stages[stage] = (value, cores)
    workers = max(1, len({pid for _, _, pid, _ in whole.seen.tasks}))
    outside = max(0.0, whole.cpu_children - sum(spent for *_, spent in whole.seen.tasks)) / workers
    cpu = sum(value for value, _ in stages.values()) + imports + whole.cpu_self + cores * (outside + loading)
    relative = ((Z95 * variance**0.5 / cpu) ** 2 + MODEL_ERROR**2) ** 0.5
    fixed = max(0.0, whole.wall - whole.wall_stages) + imports + loading
    text = sum(units["bytes"] for units in whole.manifests["ingest"]["counts"].get("out", {}).values())
    tokens = sum(whole.manifests["release"]["tokens"].values()) / share * kept
    driver = peak_rss()
    forecast: dict[str, Any] = {
        "raw_bytes": total,
        "sampled_bytes": drawn,
        "sampled_parts": len(whole.sizes),
        "copies_in_sample": copies,
        "text_bytes": asdict(Estimate.around(text / share, relative)),
        "tokens": asdict(Estimate.around(tokens, relative)),
        "core_seconds": asdict(Estimate.around(cpu, relative)),
        "seconds": asdict(Estimate.around(wall_seconds(stages, fixed, cores), relative)),
        "cores": cores,
        "memory_bytes": asdict(Estimate.around(peak * cores + driver, MODEL_ERROR)),
        "memory_bytes_a_worker": peak,
        "disk_bytes": asdict(Estimate.around(_disk(whole.disk, share, kept), relative)),
        "stages": {name: round(value, 2) for name, (value, _) in stages.items()},
    }
    if target_hours is not None:
        forecast["target_hours"] = target_hours
        forecast["cores_for_target"] = cores_for(stages, fixed, target_hours * 3600)
    return forecast


def _disk(sizes: Mapping[str, int], share: float, kept: float) -> float:
    """Bytes of the whole workspace: releases hold hard links to the stages, and are counted in them."""
    late = ("deidentify", "filter", "tokenize")
    return sum(
        size / share * (kept if folder.rpartition("/")[2].startswith(late) or folder.startswith("releases") else 1.0)
        for folder, size in sizes.items()
    )


def cost(forecast: Mapping[str, Any], prices: Prices) -> dict[str, Any]:
    """Money for compute, storage and people apart; compute is cores and memory for the time that the run takes."""
    hours = forecast["seconds"]["value"] / 3600
    spread = forecast["seconds"]["high"] / forecast["seconds"]["value"] - 1
    gib = forecast["memory_bytes"]["value"] / (1 << 30)
    compute = (
        hours * prices.compute.spot_price_ratio * (forecast["cores"] * prices.compute.vcpu_hour + gib * prices.compute.gib_hour)
    )
    gigabytes = forecast["disk_bytes"]["value"] / 1e9
    storage = gigabytes * prices.storage.gb_month * prices.storage.months
    human = prices.human.documents * prices.human.minutes_per_document / 60
    tokens = forecast["tokens"]["value"]
    return {
        "currency": prices.currency,
        "prices_of": prices.date.isoformat(),
        "prices_from": prices.source,
        "spot_price_ratio": prices.compute.spot_price_ratio,
        "compute": asdict(Estimate.around(compute, spread)),
        "storage": asdict(Estimate.around(storage, spread)),
        "human": human * prices.human.hour,
        "human_hours": human,
        "compute_a_gb_raw": compute / (forecast["raw_bytes"] / 1e9),
        "compute_a_billion_tokens": compute / (tokens / 1e9) if tokens else None,
    }
