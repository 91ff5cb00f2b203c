"""What workers elsewhere must have in common with this process: versions, code, rules, files; and what of it differs."""

import os
import platform
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import distributed
import structlog

from lexmill import rules
from lexmill.config import Cluster, Config
from lexmill.core.ruleset import RuleSet
from lexmill.errors import ConfigError, LexmillError, StoppedError
from lexmill.jobs.resources import model_files
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest, installed_versions, package_digest

log = structlog.get_logger()

_SHOWN = 5  # of what differs of one kind
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Common:
    """Where the driver wrote what workers must have in common with it, and the digest of that file."""

    path: Path
    digest: str
    environment: tuple[tuple[str, str], ...] = ()  # where object storage is; no credentials, which every worker has of its own


def write_common(config: Config, rule_set: RuleSet, scratch: Path) -> Common:
    """Write what this process has, into the workspace: who reads it there sees the workspace."""
    content = {
        "nonce": uuid4().hex,
        "python": _python(),
        "package": package_digest(),
        "versions": installed_versions("lexmill"),
        "overlays": [str(folder) for folder in config.rule_folders],
        "rules": dict(rule_set.digests),
        "files": {str(path): file_digest(path) for path in _files(config)},
        "raw": {path: _size(path) for path in _raw(config)},
    }
    path = files.make_private(scratch) / "common.json"
    return Common(path, files.write_json(path, content), tuple(config.storage.environment.items()))


def _python() -> str:
    # Tables of Unicode change with the second number, nothing that lexmill looks at with the third.
    return ".".join(platform.python_version_tuple()[:2])


def _files(config: Config) -> Iterator[Path]:
    """Files of the run file that workers read, whose content counts."""
    tokenizer = config.tokenize.tokenizer
    yield from model_files(config).values()
    yield from (Path(config.resolve(screen.file)) for screen in config.screen)
    if not tokenizer.isidentifier():
        yield Path(config.resolve(tokenizer))


def _raw(config: Config) -> Iterator[str]:
    """Of the paths of each source, and of the benchmarks, what comes before the first wildcard."""
    for pattern in (*(path for source in config.source for path in source.paths), *config.decontaminate.benchmarks):
        path = config.resolve(pattern)
        if "://" not in path:
            glob = _GLOB.search(path)
            yield path if glob is None else path[: path.rindex("/", 0, glob.start())] or "/"


def _size(path: str) -> int:
    """Bytes of a file, 0 for a folder, -1 for what may not be read or is not there."""
    try:
        if os.access(path, os.R_OK):
            return os.stat(path).st_size if os.path.isfile(path) else 0  # noqa: PTH113, PTH116
    except OSError:
        pass
    return -1


@lru_cache(maxsize=2)
def differences(common: Common) -> tuple[str, ...]:
    """What differs in this process from what the driver wrote, a sentence each; looked up once a process."""
    os.environ.update(common.environment)
    seen = ""
    try:
        expected = files.read_json(common.path)
        seen = file_digest(common.path) if expected is not None else ""
    except Exception as error:
        if stop := files.stopping(error):
            return (f"cannot read the workspace: {stop}",)
        if not isinstance(error, OSError | DamagedFile | ImportError):
            raise
    if seen != common.digest:
        return (f"does not see the workspace at {common.path.parent.parent}; mount the same file system there",)
    return tuple(_differences(expected))


def _differences(expected: Mapping[str, Any]) -> Iterator[str]:
    if _python() != expected["python"]:
        yield f"has Python {_python()}, not {expected['python']}"
    found = installed_versions("lexmill")
    others = [
        f"{name} {found.get(name, 'missing')}, not {version}"
        for name, version in expected["versions"].items()
        if found.get(name) != version
    ]
    if others:
        yield f"has other packages: {_some(others)}; install the versions of requirements.lock"
    if package_digest() != expected["package"]:
        yield "has other code or models of lexmill; install the same build"
    try:
        mine = rules.load(tuple(Path(folder) for folder in expected["overlays"])).digests
        families = sorted(family for family, value in expected["rules"].items() if mine.get(family) != value)
        if families:
            yield f"has other rules: {_some(families)}; install the same build, and share the folders of `rules`"
    except LexmillError as error:
        yield f"cannot load the rules ({error})"
    missing = [path for path in expected["files"] if not os.access(path, os.R_OK)]
    missing += [path for path, size in expected["raw"].items() if size >= 0 and _size(path) < 0]
    if missing:
        yield f"does not see {_some(missing)}; mount them at the same place"
    changed = [path for path, value in expected["files"].items() if path not in missing and file_digest(Path(path)) != value]
    changed += [path for path, size in expected["raw"].items() if path not in missing and _size(path) != size]
    if changed:
        yield f"sees other files at {_some(changed)}; mount the same at the same place"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def refusal(common: Common) -> str | None:
    """Why this process must not work for the driver, or None."""
    found = differences(common)
    return f"the worker on {socket.gethostname()} {'; it '.join(found)}; run the same command again" if found else None


def look(common: Common, name: str) -> tuple[str, ...]:
    """``differences`` on a worker, which leaves a file ``name`` beside what the driver wrote."""
    found = differences(common)
    if not found:
        try:
            files.write_bytes(common.path.with_name(name), b"")
        except (LexmillError, OSError, ImportError) as error:
            return (f"may not write the workspace ({error})",)
    return found


def check_workers(client: distributed.Client, cluster: Cluster, common: Common) -> None:
    """Wait for a first worker and look at all that are there; raises ConfigError with what differs, worker by worker.

    Raises StoppedError where no worker comes within ``wait_seconds``. Who comes later is looked at before its first task.
    """
    try:
        # A task, because a cluster that scales from zero starts workers for tasks only.
        client.submit(os.getpid, pure=False).result(timeout=cluster.wait_seconds)
    except Exception as error:
        raise StoppedError(
            f"no worker came within cluster.wait_seconds = {cluster.wait_seconds} ({type(error).__name__}); "
            "start workers, or look at Slurm's queue and at tmp/slurm in the workspace, and run the same command again"
        ) from None
    name = f".worker-{uuid4().hex}.tmp"
    probe = common.path.with_name(name)
    answers = client.run(look, common, name, on_error="return")
    faults = []
    # A worker that left meanwhile is no fault: one that comes back is looked at before its first task.
    answers = {worker: answer for worker, answer in answers.items() if not isinstance(answer, OSError)}
    for worker, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            # Dask wraps what a worker could not even unpickle.
            said = str(answer) if type(answer) is Exception else repr(answer)
            faults.append(f"worker {worker} cannot load lexmill: {said}; install the same build")
        else:
            faults += [f"worker {worker} {fault}" for fault in answer]
    threads = {worker: number for worker, number in client.nthreads().items() if number != 1}
    faults += [f"worker {worker} has {number} threads; start it with --nthreads 1" for worker, number in threads.items()]
    if answers and not faults and not probe.exists():
        faults.append(f"what workers write into {probe.parent} does not arrive here; mount the same file system there")
    files.remove(probe)
    if faults:
        raise ConfigError("\n".join(f"cluster: {fault}" for fault in faults))
    log.info("workers checked", workers=len(answers))
