"""Stage dedup: signatures, candidates from sorted bands, verdicts by exact Jaccard, a ledger row with the twin for every copy.

Steps, each a folder of Parquet parts (``Workspace.work``)::

    dedup.signatures   one a part      comparison copy → exact hash, keys of its identity, MinHash signature
    dedup.bands        one a part      (band, hash, key, row), sorted, a row group a band
    dedup.ids          one a range     documents whose doc_id was seen before
    dedup.edges        one a (band, range)  star edges between documents of a bucket; ``hot_bucket`` counts those beyond the cap
    dedup.components   one             union-find over all edges
    dedup.candidates   one a part      the texts of documents in a component of two or more, sorted by bucket of components
    dedup.verdicts     one a bucket    exact Jaccard against kept representatives; ``hot_refined`` and ``hot_capped`` of ``judge``
    dedup.kin          one a part      the signatures of documents that share a bucket, sorted by bucket of kin
    dedup.families     one a bucket    template families: different cases on one form
    dedup.pairs        one             every decision by ordinal: kept, gone, Jaccard, rule; refused pairs, too
    dedup.lines        one a part      in how many documents lines of headings, tails and annexes stand (only with ``lines``)
    dedup.frequencies  one             those that stand in enough, frozen with the first run of a history
    dedup              one a part      kept documents and ledger

A document that ends the process which signs it, judges it or applies the verdicts is quarantined at the end and compared with
none; of two that end it when they are compared, the first. ``candidates`` and the others do nothing with a text but copy it, or
know signatures only: what ends them is the number of documents, of which none is to blame, and the run stops.

With ``history`` what earlier runs kept is compared with, too (``store.index``), and ``publish`` adds this run to it::

    dedup.history      one for some parts of earlier runs: what ``candidates`` is of this run
    dedup.past_kin     the same for ``kin``
    dedup.documents    one a part      what the run kept, with comparison copies
    dedup.entries      one a band      its hashes, sorted
    dedup.held         one             what left as a copy, and of whom

Without comparison (``enabled = false``) only used ids are looked for: ``dedup.digests``, ``dedup.ids``, ``dedup.pairs``.
An ordinal is a document's number over all ingest parts, in order of part and row; what earlier runs kept has negative ones.
"""

from collections.abc import Mapping
from typing import Any

from lexmill.jobs.dedup import bands, edges, families, identifiers, pairs, signatures, verdicts
from lexmill.jobs.dedup.apply import apply_part
from lexmill.jobs.dedup.history import publish
from lexmill.jobs.dedup.lines import line_table
from lexmill.jobs.dedup.steps import REFUSED, Run, open_run
from lexmill.jobs.isolate import Others
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.store.fingerprint import digest

__all__ = ["publish", "run"]


def run(job: Job, ingested: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage dedup up to date with the manifest of stage ingest."""
    this = open_run(job, ingested)
    read = _compare(this) if job.config.dedup.enabled else _check_ids(this)
    return _apply(this, [extra.get(REFUSED, []) for extra in read["extra"]])


def _compare(this: Run) -> dict[str, Any]:
    """Find out what leaves: all steps up to ``dedup.pairs``; returns the manifest of the step that reads all documents."""
    signed = signatures.sign(this)
    banded = bands.hash_bands(this, signed)
    repeated = identifiers.find_used_ids(this, "signatures", signed)
    joined = edges.join(this, banded, repeated)
    judged = verdicts.decide(this, signed, joined)
    grouped = families.group(this, signed, joined, judged)
    pairs.collect(this, repeated, judged, grouped)
    return signed


def _check_ids(this: Run) -> dict[str, Any]:
    """Find documents under a used id, and nothing else; returns the manifest of the step that reads all documents."""
    digested = signatures.digest_texts(this)
    pairs.collect(this, identifiers.find_used_ids(this, "digests", digested), None, None)
    return digested


def _apply(this: Run, refused: list[list[list[Any]]]) -> dict[str, Any]:
    """Split every part into what stays and what leaves; ``refused`` rows of each end the process that reads them."""
    settings = this.job.config.dedup
    about = pairs.decision_digests(this)
    lines = line_table(this) if settings.lines != "off" else None
    frozen = lines.sha256 if lines else None
    found = this.step("families") if settings.enabled else None
    tasks = [
        PartTask(
            number,
            digest(this.fingerprint, entry["sha256"], decided, frozen, *dead),
            (this.ingest, entry, first, this.step("pairs"), found, lines, tuple((row, rule) for row, rule in dead)),
            int(entry["bytes"]),
            digest(this.fingerprint, entry["fingerprint"], decided, frozen, *dead),
            Others(),
        )
        for number, (entry, first, decided, dead) in enumerate(zip(this.entries, this.firsts, about, refused, strict=False))
    ]
    return this.job.runner.run_stage("dedup", this.job.workspace.stage("dedup"), apply_part, tasks, this.fingerprint)
