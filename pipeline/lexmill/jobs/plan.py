"""What a run would take: a stratified sample of the raw files goes through the real stages, and the rest is inferred from it."""

import hashlib
import resource
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console

from lexmill.config import Config
from lexmill.core.forecast import (
    MODEL_ERROR,
    Z95,
    Estimate,
    Stratum,
    copies_at_scale,
    cores_for,
    ratio_estimate,
    wall_seconds,
)
from lexmill.errors import ConfigError
from lexmill.jobs import ingest
from lexmill.jobs.ingest import MB, Piece
from lexmill.jobs.parts import Outcome, PartTask
from lexmill.jobs.run import STAGES, bring_up_to, open_job, usage
from lexmill.store import files
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
_OF_COPIES = ("dedup.candidates", "dedup.verdicts", "dedup.decisions")


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Compute(_Section):
    """Prices of an hour of a virtual core and of a GiB of memory, and what is paid of them (0.18 = 18 % of the price)."""

    vcpu_hour: float = Field(ge=0)
    gib_hour: float = Field(ge=0)
    spot_price_ratio: float = Field(default=1.0, gt=0, le=1)


class Storage(_Section):
    """The price of a GB for a month, and how many months it is kept."""

    gb_month: float = Field(ge=0)
    months: float = Field(ge=0)


class Human(_Section):
    """What people look at: documents, minutes for each, the price of an hour."""

    hour: float = Field(ge=0)
    documents: int = Field(ge=0)
    minutes_per_document: float = Field(ge=0)


class Prices(_Section):
    """A price file: a price list with its day and where it was read."""

    currency: str
    date: date
    source: str
    compute: Compute
    storage: Storage
    human: Human


def load_prices(path: Path) -> Prices:
    """Read a price file (TOML); raises ConfigError with every fault at once."""
    try:
        return Prices.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); see prices.example.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML in UTF-8: {error}") from None
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
        raise ConfigError("\n".join(faults)) from None


@dataclass
class _Seen:
    """The cost of every task of the sample, (stage, part, worker, core-seconds), and the peak memory of a worker in bytes."""

    peak: int = 0
    tasks: list[tuple[str, int, int, float]] = field(default_factory=list)

    def __call__(self, stage: str, task: PartTask, outcome: Outcome) -> None:
        self.peak = max(self.peak, outcome.peak_rss)
        self.tasks.append((stage, task.number, outcome.pid, outcome.cpu_seconds))


def choose(parts: Mapping[int, list[Piece]], sample_bytes: int) -> dict[str, list[int]]:
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


def _size(pieces: Sequence[Piece]) -> int:
    return sum(piece.weight for piece in pieces)


@dataclass(frozen=True)
class _Sampled:
    """What the sample is and took."""

    parts: list[list[Piece]]
    strata: dict[str, int]  # bytes of all parts of each source
    manifests: Mapping[str, Mapping[str, Any]]
    seen: _Seen
    wall: float
    wall_stages: float
    cpu_self: float
    cpu_children: float
    disk: dict[str, int]
    peak_driver: int
    workers: int


def plan(
    config: Config, console: Console, sample_mb: float, cores: int, prices: Prices | None, target_hours: float | None
) -> dict[str, Any]:
    """The forecast of a run on ``cores``, with 95 % intervals; it is left in the run's folder for the run to be compared with.

    Raises what the stages raise: a run that could not start is not planned either.
    """
    sampled = _sample(config, console, sample_mb)
    peak = _peak_of_a_full_part(config, console)
    forecast = _forecast(config, sampled, peak, cores, target_hours)
    if prices is not None:
        forecast["cost"] = cost(forecast, prices)
    workspace = Workspace(config.workspace_dir, config.run)
    files.make_private(workspace.root / "runs")
    files.write_json(files.make_private(workspace.run_folder) / "plan.json", forecast)
    return forecast


def _in_scratch(config: Config, part_mb: float) -> Config:
    scratch = config.workspace_dir / "tmp" / "plan"
    files.remove(scratch)
    return config.model_copy(
        update={"workspace": scratch, "run": "plan", "ingest": config.ingest.model_copy(update={"part_mb": part_mb})}
    )


def _run_parts(config: Config, console: Console, parts: list[list[Piece]], seen: _Seen) -> tuple[Any, dict[str, int], float]:
    """(manifests, bytes by folder, seconds within stages) of a run over these parts only."""
    numbered = {number: [replace(piece, part=number) for piece in pieces] for number, pieces in enumerate(parts)}
    with open_job(config, console) as job:
        job.runner.observe = seen
        manifests = bring_up_to(job, RELEASE, {**STAGES, "ingest": lambda job, _: ingest.run(job, numbered)})
        job.runner.close()
        disk = files.sizes(job.workspace.root)
        seconds = sum(timing.wall_seconds for timing in job.runner.timings.values())
    return manifests, disk, seconds


def _sample(config: Config, console: Console, sample_mb: float) -> _Sampled:
    small = _in_scratch(config, min(config.ingest.part_mb, _SAMPLE_PART_MB))
    before = usage()
    seen = _Seen()
    try:
        workspace = Workspace(small.workspace_dir, small.run)
        files.make_private(workspace.root)
        files.make_private(workspace.root / "lineage")
        parts = ingest.plan(small, workspace)
        drawn = [parts[number] for numbers in choose(parts, int(sample_mb * MB)).values() for number in numbers]
        strata: dict[str, int] = {}
        for pieces in parts.values():
            if pieces:
                strata[pieces[0].source] = strata.get(pieces[0].source, 0) + _size(pieces)
        manifests, disk, seconds = _run_parts(small, console, drawn, seen)
    finally:
        files.remove(small.workspace_dir)
    took = usage()
    return _Sampled(
        parts=drawn,
        strata=strata,
        manifests=manifests,
        seen=seen,
        wall=took.wall - before.wall,
        wall_stages=seconds,
        cpu_self=took.cpu_self,
        cpu_children=took.cpu_children - before.cpu_children,
        disk=disk,
        peak_driver=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        workers=max(1, len({pid for _, _, pid, _ in seen.tasks})),
    )


def _peak_of_a_full_part(config: Config, console: Console) -> int:
    """The peak memory of a worker (bytes) over the largest part that the whole run will have."""
    full = _in_scratch(config, config.ingest.part_mb)
    try:
        workspace = Workspace(full.workspace_dir, full.run)
        files.make_private(workspace.root)
        files.make_private(workspace.root / "lineage")
        largest = max(ingest.plan(full, workspace).values(), key=_size)
        peaks = _Seen()
        _run_parts(full.model_copy(update={"cluster": full.cluster.model_copy(update={"workers": 1})}), console, [largest], peaks)
    finally:
        files.remove(full.workspace_dir)
    return peaks.peak


def _forecast(config: Config, sampled: _Sampled, peak: int, cores: int, target_hours: float | None) -> dict[str, Any]:
    sizes = [_size(pieces) for pieces in sampled.parts]
    total, drawn = sum(sampled.strata.values()), sum(sizes)
    share = drawn / total
    counts = sampled.manifests["dedup"]["counts"]
    came, copies = (sum(units["docs"] for units in counts.get(kind, {}).values()) for kind in ("in", "drop"))
    found = copies / came if came else 0.0
    whole = copies_at_scale(found, share)
    kept = (1 - whole) / (1 - found) if found < 1 else 1.0

    def factor(stage: str) -> float:
        if stage.startswith(_OF_COPIES):
            return whole / found if found else 1.0
        return kept if stage.partition(".")[0] in _AFTER_DEDUP else 1.0

    stages: dict[str, tuple[float, int]] = {}
    cpu = variance = loading = 0.0
    for stage in dict.fromkeys(stage for stage, *_ in sampled.seen.tasks):
        mine = [(number, pid, took) for name, number, pid, took in sampled.seen.tasks if name == stage]
        if stage not in _BY_PART:
            stages[stage] = (sum(took for *_, took in mine) / share * factor(stage), cores)
            continue
        first = {pid: index for index, (_, pid, _) in reversed(list(enumerate(mine)))}
        rest = [one for index, one in enumerate(mine) if index not in first.values()] or mine
        strata = {
            source: Stratum(size, [(sizes[n], took) for n, _, took in rest if sampled.parts[n][0].source == source])
            for source, size in sampled.strata.items()
        }
        # A source whose only tasks were first ones: their cost stands, loading and all.
        for source, stratum in strata.items():
            if not stratum.sampled:
                strata[source] = Stratum(
                    stratum.total, [(sizes[n], took) for n, _, took in mine if sampled.parts[n][0].source == source]
                )
        value, error = ratio_estimate(list(strata.values()))
        mean = sum(took for *_, took in rest) / max(1, sum(sizes[n] for n, *_ in rest))
        loading += sum(max(0.0, mine[index][2] - mean * sizes[mine[index][0]]) for index in first.values()) / len(first)
        tasks = max(1, round(total / (config.ingest.part_mb * MB)))
        stages[stage] = (value * factor(stage), tasks)
        variance += (error * factor(stage)) ** 2
    in_tasks = sum(took for *_, took in sampled.seen.tasks)
    outside = max(0.0, sampled.cpu_children - in_tasks) / sampled.workers
    cpu = sum(value for value, _ in stages.values()) + sampled.cpu_self + cores * (outside + loading)
    relative = ((Z95 * variance**0.5 / cpu) ** 2 + MODEL_ERROR**2) ** 0.5
    fixed = max(0.0, sampled.wall - sampled.wall_stages) + loading
    wall = wall_seconds(stages, fixed, cores)
    text = sum(units["bytes"] for units in sampled.manifests["ingest"]["counts"].get("out", {}).values())
    tokens = sum(sampled.manifests["release"]["tokens"].values()) / share * kept
    forecast: dict[str, Any] = {
        "raw_bytes": total,
        "sampled_bytes": drawn,
        "sampled_parts": len(sampled.parts),
        "copies_in_sample": copies,
        "text_bytes": asdict(Estimate.around(text / share, relative)),
        "tokens": asdict(Estimate.around(tokens, relative)),
        "core_seconds": asdict(Estimate.around(cpu, relative)),
        "seconds": asdict(Estimate.around(wall, relative)),
        "cores": cores,
        "memory_bytes": asdict(Estimate.around(peak * cores + sampled.peak_driver, 0.15)),
        "memory_bytes_a_worker": peak,
        "disk_bytes": asdict(Estimate.around(_disk(sampled.disk, share, kept), relative)),
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
