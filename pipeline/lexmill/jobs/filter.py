"""Stage filter: rules per document type and a small classifier tag or drop documents."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill.config import Filter
from lexmill.core.batch import Batch
from lexmill.core.quality.distribution import distributions
from lexmill.core.quality.judge import filter_documents
from lexmill.core.structure.sections import cut_sections
from lexmill.jobs.isolate import Rows
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import ScreenKey, classifier_for, classifier_key, rules_for, screen_keys, screens_for
from lexmill.schema import DOCUMENT, DOCUMENT_JUDGED, LEDGER
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents


def run(job: Job, masked: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage filter up to date."""
    settings = job.config.filter
    folder, classifier = classifier_key(job.config)
    screens = screen_keys(job.config)
    rules = [job.rules.digests[family] for family in ("quality", "statutes", *(["segment"] if settings.sections else []))]
    chosen = (settings.enabled, settings.force, settings.sections, [key[2] for key in screens])
    fingerprint = digest("filter", code_digest(__name__), rules, classifier, chosen)
    source = job.workspace.stage("deidentify")
    tasks = [
        PartTask(
            number,
            digest(fingerprint, entry["sha256"]),
            (source, entry, settings, (folder, classifier), screens, job.config.rule_folders, job.rules.digests),
            int(entry["bytes"]),
            split=Rows(),
        )
        for number, entry in enumerate(masked["parts"])
    ]
    return job.runner.run_stage("filter", job.workspace.stage("filter"), filter_part, tasks, fingerprint)


def filter_part(
    target: Target,
    source: StageFolder,
    entry: Mapping[str, Any],
    settings: Filter,
    classifier: tuple[Path, str],
    screens: tuple[ScreenKey, ...],
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """Leave out the sections chosen, and judge the documents of one part."""
    given = source.read(entry, DOCUMENT)
    table, cuts = given, LEDGER.empty_table()
    if settings.sections:
        table, cuts = cut_sections(given, rules_for(overlays, digests).segment.section, settings.sections)
    if settings.enabled:
        found = rules_for(overlays, digests)
        batch = filter_documents(
            table, found.quality, classifier_for(*classifier), found.statutes, settings.force, screens_for(screens)
        )
    else:
        nulls = [pa.nulls(table.num_rows, DOCUMENT_JUDGED.field(name).type) for name in ("quality", "language", "script")]
        unjudged = [pa.array([[]] * table.num_rows, pa.list_(pa.string())), *nulls]
        batch = Batch(pa.table([*table.columns, *unjudged], schema=DOCUMENT_JUDGED), LEDGER.empty_table(), {})
    batch = Batch(batch.kept, pa.concat_tables([cuts, batch.ledger]), {**batch.counts, **distributions(batch.kept)})
    return target.write(batch, count_documents(given))
