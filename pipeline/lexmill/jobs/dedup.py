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

With ``history`` what earlier runs kept is compared with, too (``store.index``), and ``publish`` adds this run to it::

    dedup.documents    one a part      what the run kept, with comparison copies
    dedup.entries      one a band      its hashes, sorted
    dedup.held         one             what left as a copy, and of whom

Without comparison (``enabled = false``) only used ids are looked for: ``dedup.digests``, ``dedup.ids``, ``dedup.pairs``.
An ordinal is a document's number over all ingest parts, in order of part and row; what earlier runs kept has negative ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from lexmill.core.dedup.identity import NO_KEY, hash64
from lexmill.core.dedup.judge import CANDIDATES, EXACT, MAX_BUCKET, PAIRS, Keep, Prefer, judge
from lexmill.core.dedup.signature import BANDS, SHINGLE, band_hashes, exact_hashes, unpack
from lexmill.core.dedup.utf8 import buffers
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import rules_for
from lexmill.schema import DOC_TYPES, DOCUMENT_RAW, LEDGER, SIGNATURE
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.index import ENTRY, ENTRY_ENCODING, HELD, INDEXED, NO_VIEW, Entries, Index, NewRun, View
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents

# Bounds on what one task holds: 8 million hashes are 200 MB with their keys and sort; 8,000 texts of 7 KB are 60 MB.
_HASHES_A_TASK = 8_000_000
_CANDIDATES_A_TASK = 8_000

# After the bands of the signature come two of one hash a document: equal texts, and what a document says it is.
_EXACT_BAND = BANDS
_SAME_BAND = BANDS + 1
_ID_BAND = BANDS + 2
_ALL_BANDS = BANDS + 3
_PAST_PARTS_A_TASK = 64

_SALTS = {doc_type: hash64(doc_type) for doc_type in DOC_TYPES}

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
    view: View

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
    this = _open(job, ingested)
    settings, entries, firsts = job.config.dedup, this.entries, this.firsts
    if settings.enabled:
        _decide(this)
    else:
        _check_ids(this)
    about = _decision_digests(this)
    tasks = [
        PartTask(
            number,
            digest(this.fingerprint, entry["sha256"], about[number]),
            (this.ingest, entry, firsts[number], this.step("pairs")),
            int(entry["bytes"]),
            digest(this.fingerprint, entry["fingerprint"], about[number]),
        )
        for number, entry in enumerate(entries)
    ]
    return job.runner.run_stage("dedup", job.workspace.stage("dedup"), apply_part, tasks, this.fingerprint)


def _open(job: Job, ingested: Mapping[str, Any]) -> _Run:
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
    index = Index(job.workspace.index)
    view = index.view(job.workspace.run) if settings.history else NO_VIEW
    return _Run(job, fingerprint, job.workspace.stage("ingest"), entries, firsts, view)


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
            (
                (this.step(digests), this.firsts, number, ranges, this.view),
                [manifest["fingerprint"], number, ranges, this.view.fingerprint],
                this.firsts[-1] * 16,
            )
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
                (this.step("bands"), this.step("ids"), firsts, band, number, ranges, this.view),
                [banded["fingerprint"], repeated["fingerprint"], band, number, ranges, this.view.fingerprint],
                firsts[-1] * 20 // ranges,
            )
            for band in range(_ID_BAND)
            for number in range(ranges)
        ],
    )
    joined = this.go("components", join_edges, [((this.step("edges"),), edges["fingerprint"], 0)])
    nodes = int(joined["parts"][0]["rows"])
    buckets = -(-nodes // _CANDIDATES_A_TASK)
    order = {source.name: number for number, source in enumerate(this.job.config.source)}
    mine: list[Any] = [
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
    ]
    parts = this.view.parts
    past: list[Any] = [
        (
            (this.view, parts[at : at + _PAST_PARTS_A_TASK], this.step("components"), buckets),
            [this.view.fingerprint, at, joined["fingerprint"], buckets],
            0,
        )
        for at in range(0, len(parts), _PAST_PARTS_A_TASK)
    ]
    candidates = this.go("candidates", collect_candidates, mine)
    history = this.go("history", collect_past, past)
    verdicts = this.go(
        "verdicts",
        judge_bucket,
        [
            (
                (
                    (this.step("candidates"), this.step("history")),
                    bucket,
                    settings.threshold,
                    settings.keep,
                    settings.prefer,
                    *rules,
                ),
                [candidates["fingerprint"], history["fingerprint"], bucket],
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


def _id_halves(doc_ids: pa.ChunkedArray) -> tuple[Any, Any]:
    raw = np.frombuffer(bytes.fromhex("".join(doc_ids.to_pylist())), np.dtype(">u8")).reshape(-1, 2).astype(np.uint64)
    return raw[:, 0], raw[:, 1]


def band_part(target: Target, signatures: StageFolder, entry: Mapping[str, Any]) -> Receipt:
    """The band entries of one part: one sorted row group for each band."""
    table = signatures.read(entry, SIGNATURE)
    keys, same = table["key"].to_numpy(), table["same"].to_numpy()
    signed = np.flatnonzero(table["n_chars"].to_numpy() >= SHINGLE)
    hashes = band_hashes(unpack(table["signature"])[signed])
    everyone, named = np.arange(table.num_rows), np.flatnonzero(same != NO_KEY)
    # Near copies and the same paper are of one type: the others need not meet.
    salts = np.array([_SALTS[doc_type] for doc_type in table["doc_type"].to_pylist()], np.uint64)
    bands = [(signed, hashes[:, band] ^ salts[signed], keys[signed]) for band in range(BANDS)]
    bands.append((everyone, exact_hashes(table["exact"]), keys))
    bands.append((named, same[named] ^ salts[named], keys[named]))
    heads, tails = _id_halves(table["doc_id"])
    bands.append((everyone, heads, tails))
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


def find_repeated(target: Target, signatures: StageFolder, firsts: list[int], number: int, ranges: int, view: View) -> Receipt:
    """Documents whose doc_id an earlier document has too: a record id that is not unique in its file, or one of another night."""
    heads, tails, exacts, ordinals = [], [], [], []
    for first, path in zip(firsts, _part_files(signatures), strict=False):
        table = pq.read_table(path, columns=["doc_id", "exact"], use_threads=False)
        head, tail = _id_halves(table["doc_id"])
        exact = np.frombuffer(b"".join(table["exact"].to_pylist()), np.dtype("<u8")).reshape(-1, 2)
        mine = np.flatnonzero(_in_range(head, number, ranges))
        heads.append(head[mine])
        tails.append(tail[mine])
        exacts.append(exact[mine])
        ordinals.append(first + mine)
    past = view.probe(_ID_BAND, np.unique(np.concatenate(heads))).by_ordinal()
    known = view.documents(past.ordinals, ["ordinal", "exact"])
    heads.append(past.hashes)
    tails.append(past.keys)
    exacts.append(np.frombuffer(b"".join(known["exact"].to_pylist()), np.dtype("<u8")).reshape(-1, 2))
    ordinals.append(past.ordinals - view.limit)
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
    target: Target, bands: StageFolder, ids: StageFolder, firsts: list[int], band: int, number: int, ranges: int, view: View
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
    new = Entries(np.concatenate(hashes)[~gone], np.concatenate(keys)[~gone], ordinal[~gone])
    both = Entries.joined([_past_of(view, band, new), new])
    edges = star_edges(both.hashes, both.keys, both.ordinals)
    return target.write_work(pa.table([edges[:, 0], edges[:, 1]], schema=_EDGE))


def _past_of(view: View, band: int, new: Entries) -> Entries:
    """The entries of earlier runs that ``new`` ones may be compared to, the first of each bucket, with negative ordinals.

    A document without a key is compared to all of its bucket, one with a key to those of the same key.
    """
    found = view.probe(band, np.unique(new.hashes)).sorted()
    if not found.ordinals.size:
        return found
    open_ = np.isin(found.hashes, new.hashes[new.keys == NO_KEY])
    by_arrival = np.lexsort((found.ordinals, found.hashes))
    first_of_all = np.empty(found.hashes.size, bool)
    first_of_all[by_arrival] = _firsts(found.hashes[by_arrival], MAX_BUCKET)
    mixed = found.hashes ^ (found.keys * np.uint64(0x9E3779B97F4A7C15))
    of_key = np.isin(mixed, new.hashes ^ (new.keys * np.uint64(0x9E3779B97F4A7C15))) & _firsts(mixed, MAX_BUCKET)
    return found.where((open_ & first_of_all) | of_key).before(view.limit)


def _firsts(groups: Any, number: int) -> Any:
    """Which of a run of equal neighbours are among its first ``number``."""
    at = np.arange(groups.size)
    starts = np.maximum.accumulate(np.where(np.concatenate([[True], groups[1:] != groups[:-1]]), at, 0))
    return at - starts < number


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
        "text": documents["text"],
        **{name: about[name] for name in SIGNATURE.names},
    }
    table = pa.table([columns[name] for name in _CANDIDATE.names], schema=_CANDIDATE)
    table = table.sort_by([("bucket", "ascending"), ("component", "ascending"), ("ordinal", "ascending")])
    return target.write_work(table, row_group_size=512)


def collect_past(
    target: Target, view: View, parts: tuple[tuple[str, int, int], ...], joined: StageFolder, buckets: int
) -> Receipt:
    """The documents of earlier runs to which new ones are compared, sorted by bucket."""
    found = _between(joined, min(low for _, low, _ in parts) - view.limit, max(high for *_, high in parts) - view.limit)
    past = replace(view, parts=parts).documents(found["ordinal"].to_numpy() + view.limit, INDEXED.names)
    component = found["component"].to_numpy()
    columns = {
        **{name: past[name] for name in INDEXED.names},
        "bucket": pa.array((component % max(buckets, 1)).astype(np.int32)),
        "ordinal": found["ordinal"],
        "component": found["component"],
        "past": pa.array(np.ones(found.num_rows, bool)),
        "source_order": pa.array(np.zeros(found.num_rows, np.int32)),
    }
    table = pa.table([columns[name] for name in _CANDIDATE.names], schema=_CANDIDATE)
    table = table.sort_by([("bucket", "ascending"), ("component", "ascending"), ("ordinal", "ascending")])
    return target.write_work(table, row_group_size=512)


def judge_bucket(
    target: Target,
    candidates: tuple[StageFolder, ...],
    bucket: int,
    threshold: float,
    keep: Keep,
    prefer: Prefer,
    overlays: tuple[Path, ...],
    digests: Mapping[str, str],
) -> Receipt:
    """The verdicts on all components of one bucket."""
    table = pa.concat_tables(
        [
            pq.read_table(path, filters=[("bucket", "==", bucket)], use_threads=False)
            for folder in candidates
            for path in _part_files(folder)
        ]
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


def publish(job: Job, ingested: Mapping[str, Any]) -> None:
    """Add what this run kept to the history that later runs are compared to; call it when the run's release stands.

    A run that is there already stays as it is. Raises ConfigError where it changed after later runs had been compared to it.
    """
    this = _open(job, ingested)
    index = Index(job.workspace.index)
    pairs, firsts, base = this.step("pairs"), this.firsts, this.view.limit
    decided = pairs.manifest() or {}
    signed = this.step("signatures").manifest() or {}
    needs = [decided["fingerprint"], base]
    documents = this.go(
        "documents",
        index_part,
        [
            (
                (this.ingest, entry, this.step("signatures"), signed["parts"][number], pairs, firsts[number], base),
                [entry["sha256"], *needs],
                0,
            )
            for number, entry in enumerate(this.entries)
        ],
    )
    entries = this.go(
        "entries", sort_band, [((this.step("bands"), pairs, firsts, band, base), [*needs, band], 0) for band in range(_ALL_BANDS)]
    )
    held = this.go("held", collect_held, [((pairs,), needs, 0)])
    index.add(
        NewRun(
            job.workspace.run,
            base,
            firsts[-1],
            tuple(
                (path, entry["sha256"], base + low, base + high)
                for path, entry, (low, high) in zip(
                    _part_files(this.step("documents")), documents["parts"], pairwise(firsts), strict=True
                )
            ),
            tuple(
                (path, entry["sha256"]) for path, entry in zip(_part_files(this.step("entries")), entries["parts"], strict=True)
            ),
            (_part_files(this.step("held"))[0], held["parts"][0]["sha256"]),
        )
    )


def _gone(pairs: StageFolder, low: int, high: int) -> Any:
    found = _between(pairs, low, high)
    return found["ordinal"].to_numpy()[found["gone"].to_numpy()]


def index_part(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    signatures: StageFolder,
    signed: Mapping[str, Any],
    pairs: StageFolder,
    first: int,
    base: int,
) -> Receipt:
    """What the index says of the documents of one part that stay."""
    table = ingest.read(entry, DOCUMENT_RAW)
    stays = np.setdiff1d(np.arange(table.num_rows), _gone(pairs, first, first + table.num_rows) - first)
    documents = table.take(pa.array(stays))
    about = signatures.read(signed, SIGNATURE).take(pa.array(stays))
    columns = {
        **{name: about[name] for name in SIGNATURE.names},
        "ordinal": pa.array(base + first + stays),
        "text": comparison_copies(documents["text"]).cast(pa.string()),
    }
    return target.write_work(pa.table([columns[name] for name in INDEXED.names], schema=INDEXED), row_group_size=256)


def sort_band(target: Target, bands: StageFolder, pairs: StageFolder, firsts: list[int], band: int, base: int) -> Receipt:
    """The entries of one band of the documents that stay, sorted."""
    gone = _gone(pairs, 0, firsts[-1])
    found = [Entries.none()]
    for first, path in zip(firsts, _part_files(bands), strict=False):
        table = pq.read_table(path, filters=[("band", "==", band)], use_threads=False)
        ordinals = first + table["row"].to_numpy().astype(np.int64)
        entries = Entries(table["hash"].to_numpy(), table["key"].to_numpy(), ordinals)
        found.append(entries.where(~np.isin(ordinals, gone)))
    entries = Entries.joined(found).before(-base).sorted()
    with target.writer(ENTRY, compression_level=1, encoding=ENTRY_ENCODING) as (writer, done):
        writer.write_table(entries.table(), row_group_size=1 << 16)
    return done[0]


def collect_held(target: Target, pairs: StageFolder) -> Receipt:
    """What left for a document that stays; a document that comes again is its own twin, and is not held down."""
    table = pq.read_table(_part_files(pairs)[0], use_threads=False)
    held = table.filter(pc.and_(table["gone"], pc.not_equal(table["doc_id"], table["twin"])))
    return target.write_work(held.select(HELD.names).cast(HELD))
