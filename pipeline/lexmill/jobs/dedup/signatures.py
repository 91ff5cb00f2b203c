"""Signatures and digests: what later steps know of a document but its text."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.describe import READ, describe, exact_digests
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.utf8 import buffers
from lexmill.jobs.dedup.steps import Run, blanked, without_them
from lexmill.jobs.isolate import Others, Refused
from lexmill.schema import DOCUMENT_RAW, SIGNATURE
from lexmill.store.stages import Receipt, StageFolder, Target

_DIGEST = pa.schema([SIGNATURE.field("doc_id"), SIGNATURE.field("exact")])


def sign(this: Run) -> dict[str, Any]:
    """Step ``signatures``."""
    rules = this.job.rules.dedup
    tasks = [((this.ingest, entry, rules), entry["sha256"], int(entry["bytes"])) for entry in this.entries]
    return this.go("signatures", sign_part, tasks, Others())


def digest_texts(this: Run) -> dict[str, Any]:
    """Step ``digests``."""
    tasks = [((this.ingest, entry), entry["sha256"], int(entry["bytes"])) for entry in this.entries]
    return this.go("digests", digest_part, tasks, Others())


def sign_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any], rules: DedupRules, refused: Refused = ()) -> Receipt:
    """Signatures of the documents of one ingest part, in its row order; of refused ones their ids are signed."""
    table = blanked(ingest.read(entry, DOCUMENT_RAW, READ), refused)
    return target.write_work(describe(table, rules), extra=without_them(refused))


def digest_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any], refused: Refused = ()) -> Receipt:
    """Ids and digests of the documents of one ingest part, in its row order; of refused ones their ids are digested."""
    table = blanked(ingest.read(entry, DOCUMENT_RAW, ["doc_id", "doc_type", "text"]), refused)
    exact = exact_digests(buffers(comparison_copies(table["text"])))
    return target.write_work(pa.table([table["doc_id"], exact], schema=_DIGEST), extra=without_them(refused))
