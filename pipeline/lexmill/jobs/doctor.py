"""Whether this machine can run lexmill, and a run file: machine, versions, tokenisers, models, rules, converters, disk, cluster.

Nothing is written but a probe file in the workspace; every finding says what to do about it.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import psutil

from lexmill import rules
from lexmill.cluster import cluster_of, open_client, worker_count
from lexmill.config import Cluster, Config
from lexmill.core.quality import classifier
from lexmill.core.tokens.tokenizer import INSTALLED, load
from lexmill.errors import LexmillError
from lexmill.jobs.preview import survey_sources
from lexmill.jobs.resources import CLASSIFIER, NAMES_MODEL
from lexmill.jobs.run import check_settings
from lexmill.jobs.workers import check_workers, write_common
from lexmill.store import files
from lexmill.store.convert import installed_converters
from lexmill.store.workspace import Workspace

State = Literal["ok", "warn", "fail"]

# What a worker takes at most (measured: 0.9 GB at the default part size); what a workspace takes of the raw size (estimate).
_WORKER_BYTES = 1.5e9
_WORKSPACE_SHARE = 2.5


@dataclass(frozen=True)
class Finding:
    """One check: what was looked at, how it stands, what was found, and what to do where it is not well."""

    subject: str
    state: State
    found: str
    remedy: str = ""


def examine(config: Config | None) -> list[Finding]:
    """All findings about this machine and, where one is given, about a run file and its workspace."""
    checks: list[Callable[[], Iterator[Finding]]] = [_python, _machine, _packages, _models, _tokenizers, _converters]
    findings = [finding for check in checks for finding in _guarded(check)]
    findings += _guarded(lambda: _rules(config))
    if config is not None:
        findings += _guarded(lambda: _settings(config))
        findings += _guarded(lambda: _disk(config))
    findings += _guarded(lambda: _cluster(config))
    return findings


def _guarded(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check())
    except LexmillError as error:
        found.append(Finding("", "fail", str(error)))
    return found


def _python() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{platform.python_version()} ({sys.executable}), {platform.system()} {platform.machine()}")


def _machine() -> Iterator[Finding]:
    cores, memory = len(os.sched_getaffinity(0)), psutil.virtual_memory().total
    need = cores * _WORKER_BYTES
    state: State = "ok" if memory >= need else "warn"
    remedy = "" if state == "ok" else f"set cluster.workers = {max(1, int(memory / _WORKER_BYTES))}: a worker takes up to 1.5 GB"
    yield Finding("machine", state, f"{cores} cores, {memory / 1e9:.0f} GB of memory", remedy)


def _packages() -> Iterator[Finding]:
    """Every package that this version of lexmill requires is there."""
    missing = []
    found = 0
    for line in requires("lexmill") or ():
        if "extra ==" in line:
            continue
        name = re.split(r"[^A-Za-z0-9_.-]", line, maxsplit=1)[0]
        try:
            version(name)
            found += 1
        except PackageNotFoundError:
            missing.append(name)
    remedy = "install lexmill again, with the versions of requirements.lock"
    if missing:
        yield Finding("packages", "fail", f"missing: {', '.join(sorted(missing))}", remedy)
    else:
        yield Finding("packages", "ok", f"lexmill {version('lexmill')} and the {found} packages that it requires")


def _models() -> Iterator[Finding]:
    for path in sorted([NAMES_MODEL, *CLASSIFIER.glob("*.bin")]):
        yield Finding("model", "ok", f"{path.name}, {path.stat().st_size / 1e6:.1f} MB")
    digest = classifier.load(CLASSIFIER).digest
    yield Finding("classifier", "ok", f"loads; sha256 {digest[:12]}…")


def _tokenizers() -> Iterator[Finding]:
    text = "本院认为，原告的诉讼请求成立。"
    for name in INSTALLED:
        tokenizer = load(name)
        if tokenizer.decode(tokenizer.encode_batch([text]).ids) == text:
            yield Finding("tokenizer", "ok", f"{name}: {tokenizer.vocab_size:,} entries, gives a text back as it was")
        else:
            yield Finding("tokenizer", "fail", f"{name} does not give a text back as it was", "install lexmill again")


def _converters() -> Iterator[Finding]:
    names = [converter.name for converter in installed_converters()]
    if names:
        yield Finding("converters", "ok", ", ".join(names))
    else:
        yield Finding("converters", "warn", "none for .doc, .wps, .rtf: such files are quarantined", "install LibreOffice Writer")


def _rules(config: Config | None) -> Iterator[Finding]:
    found = rules.load(config.rule_folders if config else ())
    counted = ", ".join(f"{family} {number}" for family, number in rules.count(found).items())
    yield Finding("rules", "ok", f"all prove their examples: {counted}")


def _settings(config: Config) -> Iterator[Finding]:
    check_settings(config, rules.load(config.rule_folders))
    yield Finding("run file", "ok", f"{config.path.name}: {len(config.source)} sources")


def _disk(config: Config) -> Iterator[Finding]:
    root = config.workspace_dir
    if files.store_of(root) is None:
        yield _free(config, root)
    files.make_private(root)
    probe = root / ".doctor"
    files.write_bytes(probe, b"probe")
    files.remove(probe)
    yield Finding("workspace", "ok", "may be written")


def _free(config: Config, root: Path) -> Finding:
    at = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(at).free
    raw = _local_bytes(config)
    need = raw * _WORKSPACE_SHARE
    found = f"{free / 1e9:,.1f} GB free for the workspace; the raw files have {raw / 1e9:,.1f} GB"
    if free < need:
        return Finding("disk", "warn", found, f"a run may need {need / 1e9:,.1f} GB: free some, or name another workspace")
    return Finding("disk", "ok", found)


def _local_bytes(config: Config) -> int:
    return sum(source.n_bytes for source in survey_sources(config))


def _cluster(config: Config | None) -> Iterator[Finding]:
    settings = Cluster() if config is None else cluster_of(config)
    if config is not None and settings.kind != "local":
        scratch = Workspace(config.workspace_dir, config.run).scratch
        common = write_common(config, rules.load(config.rule_folders), scratch)
        with open_client(settings, scratch) as client:
            check_workers(client, settings, common)
            yield Finding("cluster", "ok", f"{len(client.nthreads())} workers have the same versions, code, rules and files")
        return
    one = settings.model_copy(update={"workers": 1})
    with tempfile.TemporaryDirectory() as folder, open_client(one, Path(folder)) as client:
        answer = client.submit(os.getpid, pure=False).result(timeout=120)
    yield Finding("cluster", "ok", f"a worker answered (process {answer}); a run would start {worker_count(settings)}")
