"""Stage deidentify: what may not be online is dropped, direct identifiers are masked by policy, what cannot be is quarantined."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexmill.core.batch import Batch
from lexmill.core.deid.article4 import Article4
from lexmill.core.deid.batch import deidentify
from lexmill.errors import GateError
from lexmill.jobs.isolate import Rows
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.recognizers import RecognizerKey, recognizer_key
from lexmill.jobs.resources import detector_for, load_tagger
from lexmill.schema import DOCUMENT, DOCUMENT_RAW, LEDGER
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents


def run(job: Job, decontaminated: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage deidentify up to date; raises GateError where more documents than allowed were quarantined."""
    settings = job.config.deidentify
    policy = settings.policy if settings.enabled else None
    model = load_tagger().digest
    recognizers = recognizer_key(job.config)
    fingerprint = digest(
        "deidentify", code_digest(__name__), job.rules.digests["deid"], policy, model, recognizers.digest, settings.article_4
    )
    source = job.workspace.stage("decontaminate")
    tasks = [
        PartTask(
            number,
            digest(fingerprint, entry["sha256"]),
            (source, entry, policy, settings.article_4, recognizers, job.config.rule_folders, job.rules.digests, model),
            int(entry["bytes"]),
            digest(fingerprint, entry["fingerprint"]),
            Rows(),
        )
        for number, entry in enumerate(decontaminated["parts"])
    ]
    manifest = job.runner.run_stage("deidentify", job.workspace.stage("deidentify"), deidentify_part, tasks, fingerprint)
    left = sum(number for name, number in manifest["tallies"].items() if name.startswith("quarantine:"))
    came = sum(units["docs"] for units in manifest["counts"].get("in", {}).values())
    if came and left / came > settings.max_residual_rate:
        raise GateError(
            f"deidentify: {left} of {came} documents kept a trace of what was masked or could not be masked, more than "
            f"deidentify.max_residual_rate = {settings.max_residual_rate}; nothing is published"
        )
    return manifest


def deidentify_part(
    target: Target,
    source: StageFolder,
    entry: Mapping[str, Any],
    policy: str | None,
    article_4: bool,
    recognizers: RecognizerKey,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
    model: str,
) -> Receipt:
    """Mask the documents of one part."""
    table = source.read(entry, DOCUMENT_RAW)
    if policy is None:
        batch = Batch(table.select(DOCUMENT.names), LEDGER.empty_table(), {})
    else:
        detector = detector_for(overlays, digests, policy, model, recognizers)
        batch = deidentify(table, detector, Article4(detector.rules) if article_4 else None)
    return target.write(batch, count_documents(table))
