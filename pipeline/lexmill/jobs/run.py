"""The way of a document, as the list of stages; and a whole run of it under the workspace's lock."""

import platform
import resource
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import distributed
import structlog
from rich.console import Console

from lexmill import rules
from lexmill.cluster import check_cluster, cluster_of, open_client, worker_count, worker_memory
from lexmill.config import Config
from lexmill.core.ruleset import RuleSet
from lexmill.errors import ConfigError
from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest, release, tokenize
from lexmill.jobs.call import Outcome, Terms
from lexmill.jobs.job import Job
from lexmill.jobs.parts import DamagedInput, PartTask, Runner
from lexmill.jobs.prices import load_prices
from lexmill.jobs.progress import Progress
from lexmill.jobs.recognizers import load_recognizers, recognizer_key
from lexmill.jobs.resources import classifier_key, load_tokenizer, preload_environment, screen_keys
from lexmill.jobs.workers import Common, check_workers, refusal, write_common
from lexmill.store import benchmarks, files, lock
from lexmill.store.memory import peak_rss
from lexmill.store.stages import discard_damaged
from lexmill.store.workspace import RELEASE, Workspace

log = structlog.get_logger()

Manifests = dict[str, dict[str, Any]]
Stage = Callable[[Job, Manifests], dict[str, Any]]

# In order; each is given the job and the manifests of the stages before it, and returns its own.
STAGES: dict[str, Stage] = {
    "ingest": lambda job, _: ingest.run(job),
    "dedup": lambda job, done: dedup.run(job, done["ingest"]),
    "decontaminate": lambda job, done: decontaminate.run(job, done["dedup"]),
    "deidentify": lambda job, done: deidentify.run(job, done["decontaminate"]),
    "filter": lambda job, done: filter.run(job, done["deidentify"]),
    "tokenize": lambda job, done: tokenize.run(job, done["filter"]),
    "release": lambda job, done: release.run(job, done),
}

# A damaged part is made again and the run goes on; a disk that damages what was just written is a matter for a person.
_MAX_REPAIRS = 3


@dataclass(frozen=True)
class Finished:
    """What a run ends with: the manifests by stage, whether anything had to be done, and what it took."""

    manifests: Manifests
    worked: bool
    record: Mapping[str, Any]
    run: str


class _Cluster:
    """A client that is opened when it is first asked for."""

    def __init__(self, config: Config, workspace: Workspace, stack: ExitStack, common: Common | None) -> None:
        self._config = config
        self._cluster = cluster_of(config)
        self._workspace = workspace
        self._stack = stack
        self._common = common

    @cached_property
    def client(self) -> distributed.Client:
        preload = preload_environment(self._config)
        client = self._stack.enter_context(open_client(self._cluster, self._workspace.scratch, preload))
        if self._common is not None:
            check_workers(client, self._cluster, self._common)
        workers = worker_count(self._cluster) if self._cluster.kind != "address" else len(client.nthreads())
        log.info("cluster started", workers=workers, dashboard=client.dashboard_link)
        return client


def check_settings(config: Config, rule_set: RuleSet) -> None:
    """Raise ConfigError, with every fault at once, for settings that only rules, tokeniser or cluster can tell to be wrong."""
    faults = []
    policies = sorted(policy.name for policy in rule_set.deid.policy)
    if config.deidentify.policy not in policies:
        faults.append(f"deidentify.policy: no such policy; there are {', '.join(policies)}")
    known = {rule.id for rule in rule_set.quality.all}
    faults += [
        f"filter.force: {name}: no such rule of quality; see rules/quality/" for name in config.filter.force if name not in known
    ]
    cuts = {rule.id for rule in rule_set.segment.section}
    faults += [
        f"filter.sections: {name}: no such rule; there are {', '.join(sorted(cuts))}"
        for name in config.filter.sections
        if name not in cuts
    ]
    for check in (
        lambda: load_tokenizer(config),
        lambda: check_cluster(cluster_of(config)),
        lambda: classifier_key(config),
        lambda: screen_keys(config),
        lambda: load_prices(Path(config.resolve(config.report.prices))) if config.report.prices else None,
        lambda: load_recognizers(recognizer_key(config)),
        lambda: benchmarks.check([config.resolve(path) for path in config.decontaminate.benchmarks], config.decontaminate.fields),
    ):
        try:
            check()
        except ConfigError as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(f"{config.path}: {fault}" for fault in faults))


@contextmanager
def open_job(config: Config, console: Console) -> Iterator[Job]:
    """Hold the workspace and give the job over it; its cluster starts with its first task.

    Raises LockError while a live run holds the workspace, RuleError and ConfigError before any work.
    """
    rule_set = rules.load(config.rule_folders)
    check_settings(config, rule_set)
    workspace = Workspace(config.workspace_dir, config.run)
    with lock.held(workspace.root) as mine, ExitStack() as stack:
        for folder in (workspace.root / "runs", workspace.run_folder, workspace.root / "lineage"):
            files.make_private(folder)
        stack.enter_context(structlog.contextvars.bound_contextvars(run=config.run))
        settings = config.cluster
        common = write_common(config, rule_set, workspace.shared) if settings.kind != "local" else None
        cluster = _Cluster(config, workspace, stack, common)
        workers = settings.workers if settings.kind == "address" else worker_count(settings)
        terms = Terms(settings.part_seconds, settings.wait_seconds, partial(refusal, common) if common else None)
        runner = Runner(
            lambda: cluster.client,
            workers,
            version("lexmill"),
            Progress(console),
            log_part,
            mine.check,
            stack.close,
            terms,
            lambda: worker_memory(settings, lambda: cluster.client),
        )
        yield Job(config, rule_set, workspace, runner)


def log_part(stage: str, task: PartTask, outcome: Outcome) -> None:
    """A line of the log for every part; as it is below ``info``, ``--log-format json`` alone shows it."""
    log.debug(
        "part", stage=stage, part=task.number, cpu_seconds=round(outcome.cpu_seconds, 2), failed=outcome.failure is not None
    )


@dataclass(frozen=True)
class Usage:
    """Seconds on the clock, and core-seconds of this process and of those that it started and that have ended."""

    wall: float
    cpu_self: float
    cpu_children: float


def usage() -> Usage:
    """What this process took until now."""
    mine, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Usage(time.monotonic(), mine.ru_utime + mine.ru_stime, children.ru_utime + children.ru_stime)


def run(config: Config, until: str, console: Console) -> Finished:
    """Bring every stage up to ``until`` up to date; raises the LexmillError that says how to go on."""
    started, before = time.time(), usage()
    with open_job(config, console) as job:
        try:
            manifests = bring_up_to(job, until, STAGES)
        finally:
            record, worked = finish(job, started, before)
    return Finished(manifests, worked, record, config.run)


def finish(job: Job, started: float, before: Usage) -> tuple[dict[str, Any], bool]:
    """Write run.json, if anything was done: what was taken since ``started`` (a time stamp) and ``before``."""
    record = _record(job, started, before)
    worked = any(timing.tasks for timing in job.runner.timings.values())
    if worked:
        files.write_json(job.workspace.run_folder / "run.json", record)
    return record, worked


def bring_up_to(job: Job, until: str, stages: Mapping[str, Stage]) -> Manifests:
    """Bring every stage up to ``until`` up to date; a damaged part is made again. Returns their manifests."""
    for _ in range(_MAX_REPAIRS):
        manifests: Manifests = {}
        try:
            for name, stage in stages.items():
                manifests[name] = stage(job, manifests)
                if name == "ingest":
                    for source, number in lost_sources(manifests[name]):
                        log.warning(
                            "nothing of this source could be read: look at its fields and formats",
                            source=source,
                            records=number,
                        )
                if name == until:
                    break
            if job.config.dedup.history and until == RELEASE:
                dedup.publish(job, manifests["ingest"])
        except DamagedInput as error:
            log.warning("a finished part is damaged: it is made again", reason=str(error))
            _discard(job.workspace)
            continue
        return manifests
    raise DamagedInput("finished parts are damaged again and again: check the disk that holds the workspace")


def lost_sources(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(source, records) of the sources of which not one record became a document."""
    counts = manifest["counts"]
    came: dict[str, int] = {}
    kept: dict[str, int] = {}
    for kind, total in (("in", came), ("out", kept)):
        for group, units in counts.get(kind, {}).items():
            name = group.rpartition("/")[0]
            total[name] = total.get(name, 0) + units["docs"]
    return [(name, number) for name, number in sorted(came.items()) if not kept.get(name)]


def _discard(workspace: Workspace) -> None:
    folders = [workspace.stage(name) for name in STAGES]
    folders += [workspace.work(path.name) for path in sorted((workspace.run_folder / "work").glob("*"))]
    for folder in folders:
        for part in discard_damaged(folder):
            log.warning("damaged", stage=folder.path.name, part=part)


def _record(job: Job, started: float, before: Usage) -> dict[str, Any]:
    """What this run of the command took: it changes from run to run, so no manifest holds it."""
    runner = job.runner
    runner.close()
    took = usage()
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(started)),
        "seconds": round(time.time() - started, 2),
        # With what the command took before it began: imports are a good part of a short run.
        "cpu_seconds": round(took.cpu_self + took.cpu_children - before.cpu_children, 2),
        "peak_rss_driver": peak_rss(),
        "disk_bytes": sum(files.sizes(job.workspace.root).values()),
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "lexmill": runner.version,
        "workers": runner.most_workers,
        "stages": {name: asdict(timing) for name, timing in runner.timings.items()},
    }
