"""Stage dedup: signatures, candidates from sorted bands, verdicts by exact Jaccard, a ledger row with the twin for every copy.

Steps, each a folder of Parquet parts (``Workspace.work``)::

    dedup.signatures   one a part      comparison copy → exact hash, keys of its identity, MinHash signature
    dedup.bands        one a part      (band, hash, key, row), sorted, a row group a band
    dedup.ids          one a range     documents whose doc_id was seen before
    dedup.edges        one a (band, range)  star edges between documents of a bucket
    dedup.components   one             union-find over all edges
    dedup.candidates   one a part      the texts of documents in a component of two or more, sorted by bucket of components
    dedup.verdicts     one a bucket    exact Jaccard against kept representatives
    dedup.pairs        one             every decision by ordinal: kept, gone, Jaccard, rule; refused pairs, too
    dedup              one a part      kept documents and ledger

Without comparison (``enabled = false``) only used ids are looked for: ``dedup.digests``, ``dedup.ids``, ``dedup.pairs``.
An ordinal is a document's number over all ingest parts, in order of part and row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lexmill.core.batch import Batch
from lexmill.core.dedup.cluster import components, star_edges
from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.describe import describe, exact_digests
from lexmill.core.dedup.identity import NO_KEY
from lexmill.core.dedup.judge import CANDIDATES, EXACT, PAIRS, Keep, Prefer, judge
from lexmill.core.dedup.signature import BANDS, SHINGLE, band_hashes, exact_hashes, unpack
from lexmill.core.dedup.utf8 import buffers
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import rules_for
from lexmill.schema import DOCUMENT_RAW, LEDGER, SIGNATURE
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents

# Bounds on what one task holds: 8 million hashes are 200 MB with their keys and sort; 8,000 texts of 7 KB are 60 MB.
_HASHES_A_TASK = 8_000_000
_CANDIDATES_A_TASK = 8_000

# After the bands of the signature come two of one hash a document: equal texts, and what a document says it is.
_EXACT_BAND = BANDS
_SAME_BAND = BANDS + 1
_ALL_BANDS = BANDS + 2

ID_USED_TWICE = "dedup.id_used_twice"

_BAND = pa.schema([("band", pa.int32()), ("hash", pa.uint64()), ("key", pa.uint64()), ("row", pa.int32())])
_DIGEST = pa.schema([SIGNATURE.field("doc_id"), SIGNATURE.field("exact")])
_REPEATED = pa.schema([("ordinal", pa.int64()), ("twin_ordinal", pa.int64()), ("twin", pa.string()), ("same_text", pa.bool_())])
_EDGE = pa.schema([("low", pa.int64()), ("high", pa.int64())])
_COMPONENT = pa.schema([("ordinal", pa.int64()), ("component", pa.int64())])
_CANDIDATE = pa.schema([("bucket", pa.int32()), *CANDIDATES])


@dataclass(frozen=True)
class _Run:
    """What all steps share: the job, the stage's fingerprint, and the ingest parts with the ordinal each begins at."""

    job: Job
    fingerprint: str
    ingest: StageFolder
    entries: list[dict[str, Any]]
    firsts: list[int]

    def step(self, name: str) -> StageFolder:
        return self.job.workspace.work(f"dedup.{name}")

    def go(self, name: str, function: Any, tasks: list[tuple[tuple[Any, ...], Any, int]]) -> dict[str, Any]:
        """Run a step; each task is (arguments, what it depends on, input bytes)."""
        parts = [
            PartTask(number, digest(self.fingerprint, name, needs), arguments, weight)
            for number, (arguments, needs, weight) in enumerate(tasks)
        ]
        return self.job.runner.run_stage(f"dedup.{name}", self.step(name), function, parts, self.fingerprint)


def run(job: Job, ingested: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage dedup up to date with the manifest of stage ingest."""
    settings = job.config.dedup
    fingerprint = digest(
        "dedup",
        code_digest(__name__),
        job.rules.digests["dedup"],
        settings.model_dump(),
        [source.name for source in job.config.source],
    )
    entries = list(ingested["parts"])
    rows = [int(entry["rows"]) for entry in entries]
    firsts = [0, *accumulate(rows)]
    this = _Run(job, fingerprint, job.workspace.stage("ingest"), entries, firsts)
    if settings.enabled:
        _decide(this)
    else:
        _check_ids(this)
    about = _decision_digests(this)
    tasks = [
        PartTask(
            number,
            digest(fingerprint, entry["sha256"], about[number]),
            (this.ingest, entry, firsts[number], this.step("pairs")),
            int(entry["bytes"]),
            digest(fingerprint, entry["fingerprint"], about[number]),
        )
        for number, entry in enumerate(entries)
    ]
    return job.runner.run_stage("dedup", job.workspace.stage("dedup"), apply_part, tasks, fingerprint)


def _decision_digests(this: _Run) -> list[str]:
    """What was decided about each part, so that a part is made again only if its own decisions changed."""
    (path,) = _part_files(this.step("pairs"))
    table = pq.read_table(path, columns=["ordinal", "twin", "rule", "value"], filters=[("gone", "==", True)], use_threads=False)
    edges = np.searchsorted(table["ordinal"].to_numpy(), this.firsts)
    digests = []
    for number, (low, high) in enumerate(pairwise(edges.tolist())):
        found = table.slice(low, high - low)
        rows = pc.subtract(found["ordinal"], this.firsts[number]).to_pylist()
        digests.append(digest(rows, found.drop_columns(["ordinal"]).to_pydict()))
    return digests


def _find_repeated(this: _Run, digests: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    ranges = max(1, -(-this.firsts[-1] // _HASHES_A_TASK))
    return this.go(
        "ids",
        find_repeated,
        [
            ((this.step(digests), this.firsts, number, ranges), [manifest["fingerprint"], number, ranges], this.firsts[-1] * 16)
            for number in range(ranges)
        ],
    )


def _check_ids(this: _Run) -> None:
    """Find documents under a used id, and nothing else."""
    digests = this.go(
        "digests", digest_part, [((this.ingest, entry), entry["sha256"], int(entry["bytes"])) for entry in this.entries]
    )
    repeated = _find_repeated(this, "digests", digests)
    this.go("pairs", collect_pairs, [((None, this.step("ids")), [None, repeated["fingerprint"]], 0)])


def _decide(this: _Run) -> None:
    """Find out what leaves: all steps up to ``dedup.pairs``."""
    entries, firsts, settings = this.entries, this.firsts, this.job.config.dedup
    rules = (this.job.config.rule_folders, this.job.rules.digests)
    signed = this.go(
        "signatures",
        sign_part,
        [((this.ingest, entry, *rules), entry["sha256"], int(entry["bytes"])) for entry in entries],
    )
    banded = this.go(
        "bands",
        band_part,
        [((this.step("signatures"), entry), entry["sha256"], int(entry["bytes"])) for entry in signed["parts"]],
    )
    repeated = _find_repeated(this, "signatures", signed)
    ranges = max(1, -(-firsts[-1] // _HASHES_A_TASK))
    edges = this.go(
        "edges",
        find_edges,
        [
            (
                (this.step("bands"), this.step("ids"), firsts, band, number, ranges),
                [banded["fingerprint"], repeated["fingerprint"], band, number, ranges],
                firsts[-1] * 20 // ranges,
            )
            for band in range(_ALL_BANDS)
            for number in range(ranges)
        ],
    )
    joined = this.go("components", join_edges, [((this.step("edges"),), edges["fingerprint"], 0)])
    nodes = int(joined["parts"][0]["rows"])
    buckets = -(-nodes // _CANDIDATES_A_TASK)
    order = {source.name: number for number, source in enumerate(this.job.config.source)}
    candidates = this.go(
        "candidates",
        collect_candidates,
        [
            (
                (
                    this.ingest,
                    entry,
                    this.step("signatures"),
                    signed["parts"][number],
                    this.step("components"),
                    firsts[number],
                    buckets,
                    order,
                ),
                [entry["sha256"], joined["fingerprint"], firsts[number], buckets, order],
                int(entry["bytes"]),
            )
            for number, entry in enumerate(entries)
        ],
    )
    verdicts = this.go(
        "verdicts",
        judge_bucket,
        [
            (
                (this.step("candidates"), bucket, settings.threshold, settings.keep, settings.prefer, *rules),
                [candidates["fingerprint"], bucket],
                sum(int(entry["bytes"]) for entry in candidates["parts"]) // buckets,
            )
            for bucket in range(buckets)
        ],
    )
    this.go(
        "pairs",
        collect_pairs,
        [((this.step("verdicts"), this.step("ids")), [verdicts["fingerprint"], repeated["fingerprint"]], 0)],
    )


def sign_part(
    target: Target, ingest: StageFolder, entry: Mapping[str, Any], overlays: tuple[Path, ...], digests: Mapping[str, str]
) -> Receipt:
    """Signatures of the documents of one ingest part, in its row order."""
    return target.write_work(describe(ingest.read(entry, DOCUMENT_RAW), rules_for(overlays, digests).dedup))


def digest_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any]) -> Receipt:
    """Ids and digests of the documents of one ingest part, in its row order."""
    table = ingest.read(entry, DOCUMENT_RAW)
    exact = exact_digests(buffers(comparison_copies(table["text"])))
    return target.write_work(pa.table([table["doc_id"], exact], schema=_DIGEST))


def band_part(target: Target, signatures: StageFolder, entry: Mapping[str, Any]) -> Receipt:
    """The band entries of one part: one sorted row group for each band."""
    table = signatures.read(entry, SIGNATURE)
    keys, same = table["key"].to_numpy(), table["same"].to_numpy()
    signed = np.flatnonzero(table["n_chars"].to_numpy() >= SHINGLE)
    hashes = band_hashes(unpack(table["signature"])[signed])
    everyone, named = np.arange(table.num_rows), np.flatnonzero(same != NO_KEY)
    bands = [(signed, hashes[:, band], keys[signed]) for band in range(BANDS)]
    bands.append((everyone, exact_hashes(table["exact"]), keys))
    bands.append((named, same[named], keys[named]))
    with target.writer(_BAND) as (writer, done):
        for band, (rows, values, own) in enumerate(bands):
            order = np.lexsort((rows, values))
            columns = [np.full(len(rows), band, np.int32), values[order], own[order], rows[order].astype(np.int32)]
            writer.write_table(pa.table([pa.array(column) for column in columns], schema=_BAND), row_group_size=1 << 30)
    return done[0]


def _range_bounds(number: int, ranges: int) -> tuple[int, int]:
    return (number << 64) // ranges, ((number + 1) << 64) // ranges


def _in_range(values: Any, number: int, ranges: int) -> Any:
    low, high = _range_bounds(number, ranges)
    mask = values >= np.uint64(low)
    return mask if number == ranges - 1 else mask & (values < np.uint64(high))


def _part_files(folder: StageFolder) -> list[Path]:
    manifest = folder.manifest()
    return [folder.path / entry["name"] for entry in (manifest["parts"] if manifest else [])]


def find_repeated(target: Target, signatures: StageFolder, firsts: list[int], number: int, ranges: int) -> Receipt:
    """Documents whose doc_id an earlier document has too: a record id that is not unique in its file."""
    heads, tails, exacts, ordinals = [], [], [], []
    for first, path in zip(firsts, _part_files(signatures), strict=False):
        table = pq.read_table(path, columns=["doc_id", "exact"], use_threads=False)
        raw = np.frombuffer(bytes.fromhex("".join(table["doc_id"].to_pylist())), np.dtype(">u8")).reshape(-1, 2)
        exact = np.frombuffer(b"".join(table["exact"].to_pylist()), np.dtype("<u8")).reshape(-1, 2)
        mine = np.flatnonzero(_in_range(raw[:, 0].astype(np.uint64), number, ranges))
        heads.append(raw[mine, 0].astype(np.uint64))
        tails.append(raw[mine, 1].astype(np.uint64))
        exacts.append(exact[mine])
        ordinals.append(first + mine)
    head, tail, ordinal = np.concatenate(heads), np.concatenate(tails), np.concatenate(ordinals)
    exact = np.concatenate(exacts)
    order = np.lexsort((ordinal, tail, head))
    head, tail, ordinal, exact = head[order], tail[order], ordinal[order], exact[order]
    again = np.flatnonzero((head[1:] == head[:-1]) & (tail[1:] == tail[:-1])) + 1
    starts = np.flatnonzero(np.concatenate([[True], (head[1:] != head[:-1]) | (tail[1:] != tail[:-1])]))
    first_of = starts[np.searchsorted(starts, again, side="right") - 1] if len(again) else again
    rows = sorted(
        (
            int(ordinal[at]),
            int(ordinal[first]),
            f"{int(head[at]):016x}{int(tail[at]):016x}",
            bool((exact[at] == exact[first]).all()),
        )
        for at, first in zip(again, first_of, strict=True)
    )
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_REPEATED)
    return target.write_work(pa.table([list(column) for column in columns], schema=_REPEATED))


def _repeated(folder: StageFolder) -> pa.Table:
    return pa.concat_tables([pq.read_table(path, use_threads=False) for path in _part_files(folder)])


def find_edges(
    target: Target, bands: StageFolder, ids: StageFolder, firsts: list[int], band: int, number: int, ranges: int
) -> Receipt:
    """Star edges of one band's buckets in one range of hashes."""
    hashes, keys, ordinals = [], [], []
    for first, path in zip(firsts, _part_files(bands), strict=False):
        table = pq.read_table(path, filters=[("band", "==", band)], use_threads=False)
        values = table["hash"].to_numpy()
        mine = _in_range(values, number, ranges)
        hashes.append(values[mine])
        keys.append(table["key"].to_numpy()[mine])
        ordinals.append(first + table["row"].to_numpy()[mine].astype(np.int64))
    ordinal = np.concatenate(ordinals)
    gone = np.isin(ordinal, _repeated(ids)["ordinal"].to_numpy())
    edges = star_edges(np.concatenate(hashes)[~gone], np.concatenate(keys)[~gone], ordinal[~gone])
    return target.write_work(pa.table([edges[:, 0], edges[:, 1]], schema=_EDGE))


def join_edges(target: Target, edges: StageFolder) -> Receipt:
    """Components of two or more documents over the edges of all bands."""
    tables = pa.concat_tables([pq.read_table(path, use_threads=False) for path in _part_files(edges)])
    pairs = np.stack([tables["low"].to_numpy(), tables["high"].to_numpy()], axis=1)
    nodes, labels = components(pairs)
    return target.write_work(pa.table([nodes, labels], schema=_COMPONENT), row_group_size=1 << 16)


def _between(folder: StageFolder, low: int, high: int) -> pa.Table:
    """The rows of a one-part step, sorted by ordinal, whose ordinal lies in [low, high)."""
    return pq.read_table(_part_files(folder)[0], filters=[("ordinal", ">=", low), ("ordinal", "<", high)], use_threads=False)


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
    found = _between(joined, first, first + int(entry["rows"]))
    if not found.num_rows:
        return target.write_work(_CANDIDATE.empty_table())
    rows = pa.array(found["ordinal"].to_numpy() - first)
    documents = ingest.read(entry, DOCUMENT_RAW).take(rows)
    about = signatures.read(signed, SIGNATURE).take(rows)
    component = found["component"].to_numpy()
    columns = {
        "bucket": pa.array((component % buckets).astype(np.int32)),
        "ordinal": found["ordinal"],
        "component": found["component"],
        "past": pa.array(np.zeros(found.num_rows, bool)),
        "source_order": pa.array([order[name] for name in documents["source"].to_pylist()], pa.int32()),
        "doc_type": documents["doc_type"],
        "text": documents["text"],
        **{name: about[name] for name in SIGNATURE.names},
    }
    table = pa.table([columns[name] for name in _CANDIDATE.names], schema=_CANDIDATE)
    table = table.sort_by([("bucket", "ascending"), ("component", "ascending"), ("ordinal", "ascending")])
    return target.write_work(table, row_group_size=512)


def judge_bucket(
    target: Target,
    candidates: StageFolder,
    bucket: int,
    threshold: float,
    keep: Keep,
    prefer: Prefer,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """The verdicts on all components of one bucket."""
    table = pa.concat_tables(
        [pq.read_table(path, filters=[("bucket", "==", bucket)], use_threads=False) for path in _part_files(candidates)]
    )
    return target.write_work(judge(table.drop_columns(["bucket"]), threshold, rules_for(overlays, digests).dedup, keep, prefer))


def collect_pairs(target: Target, verdicts: StageFolder | None, ids: StageFolder) -> Receipt:
    """Every decision, sorted by ordinal; of documents under a used id copies leave, and others are to be looked at."""
    repeated = _repeated(ids)
    same_text = repeated["same_text"]
    n = repeated.num_rows
    columns = {
        "ordinal": repeated["ordinal"],
        "doc_id": repeated["twin"],  # the id that both have
        "twin_ordinal": repeated["twin_ordinal"],
        "twin": repeated["twin"],
        "rule": pc.if_else(same_text, EXACT, ID_USED_TWICE),
        "jaccard": pc.if_else(same_text, 1.0, None),
        "value": pc.if_else(same_text, 1.0, None),
        "component": repeated["ordinal"],
        "gone": pa.array(np.ones(n, bool)),
    }
    tables = [pa.table([columns[name] for name in PAIRS.names], schema=PAIRS)]
    if verdicts is not None:
        tables += [pq.read_table(path, use_threads=False) for path in _part_files(verdicts)]
    return target.write_work(pa.concat_tables(tables).sort_by("ordinal"), row_group_size=1 << 16)


def apply_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any], first: int, pairs: StageFolder) -> Receipt:
    """Split one part into the documents that stay and the ledger of those that leave."""
    table = ingest.read(entry, DOCUMENT_RAW)
    given = count_documents(table)
    found = _between(pairs, first, first + table.num_rows)
    gone = found.filter(found["gone"])
    rows = gone["ordinal"].to_numpy() - first
    stays = np.ones(table.num_rows, bool)
    stays[rows] = False
    leaving = table.select(["doc_id", "source", "doc_type", "text"]).take(pa.array(rows))
    columns = {
        **{name: leaving[name] for name in ("doc_id", "source", "doc_type")},
        "stage": pa.array(["dedup"] * len(rows), pa.string()),
        "action": pc.if_else(pc.equal(gone["rule"], ID_USED_TWICE), "quarantine", "drop"),
        "rule": gone["rule"],
        "twin": gone["twin"],
        "value": gone["value"],
        "n_chars": pc.utf8_length(leaving["text"]).cast(pa.int64()),
        "n_bytes": pc.binary_length(leaving["text"]).cast(pa.int64()),
    }
    ledger = pa.table([columns[name] for name in LEDGER.names], schema=LEDGER)
    return target.write(Batch(table.filter(pa.array(stays)), ledger, {}), given)
