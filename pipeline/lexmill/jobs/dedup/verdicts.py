"""The texts of documents that may have a copy, brought together by component and judged."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.judge import CANDIDATES, PAIRS, Keep, Prefer, judge
from lexmill.core.dedup.rules import DedupRules
from lexmill.jobs.dedup.steps import Run, between
from lexmill.jobs.isolate import Others, Refused, Unit
from lexmill.schema import DOCUMENT_RAW, SIGNATURE
from lexmill.store import files
from lexmill.store.index import INDEXED, View
from lexmill.store.stages import Receipt, StageFolder, Target

# 8,000 texts of 7 KB are 60 MB.
_CANDIDATES_A_TASK = 8_000

_CANDIDATE = pa.schema([("bucket", pa.int32()), *CANDIDATES])


def decide(this: Run, signed: Mapping[str, Any], joined: Mapping[str, Any]) -> dict[str, Any]:
    """Steps ``candidates``, ``history`` and ``verdicts``."""
    settings, rules = this.job.config.dedup, this.job.rules.dedup
    buckets = -(-int(joined["extra"][0]["copies"]) // _CANDIDATES_A_TASK)
    order = {source.name: number for number, source in enumerate(this.job.config.source)}
    components, signatures = this.step("components"), this.step("signatures")
    mine: list[Any] = [
        (
            (this.ingest, entry, signatures, about, components, first, buckets, order),
            [entry["sha256"], joined["fingerprint"], first, buckets, order],
            int(entry["bytes"]),
        )
        for entry, about, first in zip(this.entries, signed["parts"], this.firsts, strict=False)
    ]
    past: list[Any] = [
        ((view, components, buckets), [view.fingerprint, number, joined["fingerprint"], buckets], 0)
        for number, view in enumerate(this.past_parts())
    ]
    candidates = this.go("candidates", collect_candidates, mine)
    history = this.go("history", collect_past, past)
    weight = sum(int(entry["bytes"]) for entry in candidates["parts"])
    tasks: list[Any] = [
        (
            ((this.step("candidates"), this.step("history")), bucket, settings.threshold, settings.keep, settings.prefer, rules),
            [candidates["fingerprint"], history["fingerprint"], bucket],
            weight // buckets,
        )
        for bucket in range(buckets)
    ]
    return this.go("verdicts", judge_bucket, tasks, Judged())


@dataclass(frozen=True)
class Judged(Others):
    """Cuts the task of a bucket into the documents of this run, (ordinal,)."""

    compares: ClassVar[bool] = True

    def units(self, arguments: tuple[Any, ...]) -> Sequence[Unit]:
        """Ordinals; what earlier runs kept has negative ones, and stays."""
        candidates, bucket, *_ = arguments
        ordinals = _of_bucket(candidates, bucket, ["ordinal"])["ordinal"].to_pylist()
        return [(ordinal,) for ordinal in sorted(ordinals) if ordinal >= 0]


def collect_candidates(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    signatures: StageFolder,
    signed: Mapping[str, Any],
    joined: StageFolder,
    first: int,
    buckets: int,
    order: Mapping[str, int],
) -> Receipt:
    """The documents of one part that may have a copy, with their texts, sorted by bucket."""
    found = between(joined, first, first + int(entry["rows"]))
    found = found.filter(pc.is_valid(found["component"]))
    if not found.num_rows:
        return target.write_work(_CANDIDATE.empty_table())
    rows = pa.array(found["ordinal"].to_numpy() - first)
    documents = ingest.read(entry, DOCUMENT_RAW, ["source", "text"]).take(rows)
    about = signatures.read(signed, SIGNATURE).take(rows)
    component = found["component"].to_numpy()
    columns = {
        "bucket": pa.array((component % buckets).astype(np.int32)),
        "ordinal": found["ordinal"],
        "component": found["component"],
        "past": pa.array(np.zeros(found.num_rows, bool)),
        "source_order": pa.array([order[name] for name in documents["source"].to_pylist()], pa.int32()),
        "text": documents["text"],
        **{name: about[name] for name in SIGNATURE.names},
    }
    return _write_candidates(target, columns)


def collect_past(target: Target, view: View, joined: StageFolder, buckets: int) -> Receipt:
    """The documents of earlier runs to which new ones are compared, sorted by bucket."""
    found = between(joined, *view.ordinals)
    found = found.filter(pc.is_valid(found["component"]))
    past = view.documents(found["ordinal"].to_numpy() + view.limit, INDEXED.names)
    component = found["component"].to_numpy()
    columns = {
        **{name: past[name] for name in INDEXED.names},
        "bucket": pa.array((component % max(buckets, 1)).astype(np.int32)),
        "ordinal": found["ordinal"],
        "component": found["component"],
        "past": pa.array(np.ones(found.num_rows, bool)),
        "source_order": pa.array(np.zeros(found.num_rows, np.int32)),
    }
    return _write_candidates(target, columns)


def _write_candidates(target: Target, columns: Mapping[str, Any]) -> Receipt:
    table = pa.table([columns[name] for name in _CANDIDATE.names], schema=_CANDIDATE)
    table = table.sort_by([("bucket", "ascending"), ("component", "ascending"), ("ordinal", "ascending")])
    with target.writer(_CANDIDATE, compression=dict.fromkeys(_CANDIDATE.names, "lz4")) as (writer, done):
        writer.write_table(table, row_group_size=512)
    return done[0]


def judge_bucket(
    target: Target,
    candidates: tuple[StageFolder, ...],
    bucket: int,
    threshold: float,
    keep: Keep,
    prefer: Prefer,
    rules: DedupRules,
    refused: Refused = (),
) -> Receipt:
    """The verdicts on all components of one bucket; ``refused`` ordinals are gone, by the rule given, and compared with none."""
    table = _of_bucket(candidates, bucket, None)
    counts: Counter[str] = Counter()
    is_out = pc.is_in(table["ordinal"], pa.array([ordinal for ordinal, _ in refused], pa.int64()))
    pairs = judge(table.filter(pc.invert(is_out)).drop_columns(["bucket"]), threshold, rules, keep, prefer, counts)
    out = table.filter(is_out).select(["ordinal", "doc_id", "component"]).to_pylist()
    gone = [{**row, "rule": dict(refused)[row["ordinal"]], "gone": True} for row in out]
    return target.write_work(pa.concat_tables([pairs, pa.Table.from_pylist(gone, PAIRS)]), tallies=counts)


def _of_bucket(candidates: tuple[StageFolder, ...], bucket: int, columns: list[str] | None) -> pa.Table:
    filters = [("bucket", "==", bucket)]
    paths = [path for folder in candidates for path in folder.parts()]
    return pa.concat_tables([files.read_columns(path, columns, filters=filters) for path in paths])
