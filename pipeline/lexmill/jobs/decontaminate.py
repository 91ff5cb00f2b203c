"""Stage decontaminate: documents that hold items of the benchmarks named in the run file leave, or the items are cut out.

Steps::

    decontaminate.index    one                     the benchmarks as hashes
    decontaminate.quoted   one a part with law     grams of the index that stand in its statutes
    decontaminate.law      one                     these together: they tell no item from another
    decontaminate          one a part              the verdicts

Without benchmarks, parts are passed on as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.config import BenchmarkFields
from lexmill.core.contamination.index import Index
from lexmill.core.contamination.judge import Action, decontaminate
from lexmill.core.contamination.scan import Weights, quoted_grams, weigh
from lexmill.jobs.isolate import Others, Refused, Rows, without_refused
from lexmill.jobs.job import Job
from lexmill.jobs.loaded import loaded
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import rules_for
from lexmill.schema import DOCUMENT_RAW
from lexmill.store import benchmarks
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents

LAW = "statute"


@dataclass(frozen=True)
class LookUp:
    """Where a task finds the index, and the grams that statutes hold, each with its digest."""

    index: Path
    index_sha256: str
    law: Path
    law_sha256: str


def run(job: Job, deduplicated: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage decontaminate up to date."""
    settings = job.config.decontaminate
    paths = benchmarks.find([job.config.resolve(path) for path in settings.benchmarks])
    fingerprint = digest(
        "decontaminate",
        code_digest(__name__),
        job.rules.digests["contamination"],
        settings.action,
        settings.fields.model_dump(),
        benchmarks.digests(paths),
    )
    source = job.workspace.stage("dedup")
    entries = deduplicated["parts"]
    if not paths:
        forwarded = [
            PartTask(
                number,
                digest(fingerprint, entry["sha256"]),
                (source,),
                int(entry["bytes"]),
                digest(fingerprint, entry["fingerprint"]),
            )
            for number, entry in enumerate(entries)
        ]
        return job.runner.run_stage("decontaminate", job.workspace.stage("decontaminate"), Target.forward, forwarded, fingerprint)
    look_up = _look_up(job, paths, source, entries, fingerprint)
    tasks = [
        PartTask(
            number,
            digest(fingerprint, entry["sha256"], look_up.law_sha256),
            (source, entry, look_up, settings.action, job.config.rule_folders, job.rules.digests),
            int(entry["bytes"]),
            digest(fingerprint, entry["fingerprint"], look_up.law_sha256),
            Rows(),
        )
        for number, entry in enumerate(entries)
    ]
    return job.runner.run_stage("decontaminate", job.workspace.stage("decontaminate"), decontaminate_part, tasks, fingerprint)


def _look_up(job: Job, paths: list[Path], source: StageFolder, entries: list[dict[str, Any]], fingerprint: str) -> LookUp:
    """Bring the steps before the verdicts up to date."""

    def go(step: str, function: Any, tasks: list[PartTask]) -> tuple[StageFolder, list[dict[str, Any]]]:
        folder = job.workspace.work(f"decontaminate.{step}")
        return folder, job.runner.run_stage(f"decontaminate.{step}", folder, function, tasks, fingerprint)["parts"]

    folder, (index,) = go("index", index_part, [PartTask(0, fingerprint, (paths, job.config.decontaminate.fields))])
    path, sha256 = folder.path / index["name"], index["sha256"]
    law = [entry for number, entry in enumerate(entries) if _has_law(source, number)]
    quoted, parts = go(
        "quoted",
        quoted_part,
        [
            PartTask(
                at, digest(fingerprint, sha256, entry["sha256"]), (source, entry, path, sha256), int(entry["bytes"]), "", Others()
            )
            for at, entry in enumerate(law)
        ],
    )
    needs = digest(fingerprint, [entry["sha256"] for entry in parts])
    merged, (together,) = go("law", law_part, [PartTask(0, needs, (quoted, parts))])
    return LookUp(path, sha256, merged.path / together["name"], together["sha256"])


def _has_law(source: StageFolder, number: int) -> bool:
    receipt = source.receipt(number)
    return receipt is None or any(group.endswith(f"/{LAW}") for group in receipt.counts.get("out", {}))


def index_part(target: Target, paths: list[Path], fields: BenchmarkFields) -> Receipt:
    """The units of all benchmarks, with what the footer says of them."""
    return target.write_work(benchmarks.as_index(*benchmarks.read(paths, fields)))


@loaded(2)
def _index(path: Path, sha256: str) -> Index:
    return benchmarks.load_index(path, sha256)


@loaded(2)
def _weights(look_up: LookUp) -> Weights:
    index = _index(look_up.index, look_up.index_sha256)
    law = benchmarks.read_keys(look_up.law, look_up.law_sha256)
    return weigh(index, np.isin(index.keys, law))


def quoted_part(
    target: Target, source: StageFolder, entry: Mapping[str, Any], path: Path, sha256: str, refused: Refused = ()
) -> Receipt:
    """The grams of the index that stand in the statutes of one part; those of refused rows are not looked for."""
    table = without_refused(source.read(entry, DOCUMENT_RAW), refused)
    index = _index(path, sha256)
    seen = quoted_grams(table.filter(pc.equal(table["doc_type"], LAW))["text"], index)
    return target.write_work(pa.table([index.keys[seen]], schema=benchmarks.KEYS))


def law_part(target: Target, quoted: StageFolder, parts: list[dict[str, Any]]) -> Receipt:
    """The grams of all parts with law, sorted."""
    keys = [benchmarks.read_keys(quoted.path / entry["name"], entry["sha256"]) for entry in parts]
    return target.write_work(pa.table([np.unique(np.concatenate([np.zeros(0, np.uint64), *keys]))], schema=benchmarks.KEYS))


def decontaminate_part(
    target: Target,
    source: StageFolder,
    entry: Mapping[str, Any],
    look_up: LookUp,
    action: Action,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """Look through the documents of one part; one in which nothing is found is passed on as it is."""
    table = source.read(entry, DOCUMENT_RAW)
    index = _index(look_up.index, look_up.index_sha256)
    rules = rules_for(overlays, digests).contamination
    batch = decontaminate(table, index, _weights(look_up), rules, action)
    return target.forward(source) if batch is None else target.write(batch, count_documents(table))
