"""Stage dedup: signatures, candidates from sorted bands, verdicts by exact Jaccard, a ledger row with the twin for every copy.

Steps, each a folder of Parquet parts (``Workspace.work``)::

    dedup.signatures   one a part      comparison copy → exact hash, keys of its identity, MinHash signature
    dedup.bands        one a part      (band, hash, key, row), sorted, a row group a band
    dedup.ids          one a range     documents whose doc_id was seen before
    dedup.edges        one a (band, range)  star edges between documents of a bucket; ``hot_bucket`` counts those beyond the cap
    dedup.components   one             union-find over all edges
    dedup.candidates   one a part      the texts of documents in a component of two or more, sorted by bucket of components
    dedup.verdicts     one a bucket    exact Jaccard against kept representatives
    dedup.kin          one a part      the signatures of documents that share a bucket, sorted by bucket of kin
    dedup.families     one a bucket    template families: different cases on one form
    dedup.pairs        one             every decision by ordinal: kept, gone, Jaccard, rule; refused pairs, too
    dedup.lines        one a part      in how many documents lines of headings, tails and annexes stand (only with ``lines``)
    dedup.frequencies  one             those that stand in enough, frozen with the first run of a history
    dedup              one a part      kept documents and ledger

With ``history`` what earlier runs kept is compared with, too (``store.index``), and ``publish`` adds this run to it::

    dedup.documents    one a part      what the run kept, with comparison copies
    dedup.entries      one a band      its hashes, sorted
    dedup.held         one             what left as a copy, and of whom

Without comparison (``enabled = false``) only used ids are looked for: ``dedup.digests``, ``dedup.ids``, ``dedup.pairs``.
An ordinal is a document's number over all ingest parts, in order of part and row; what earlier runs kept has negative ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lexmill.core.batch import Batch
from lexmill.core.dedup.cluster import components, count_hot, distinct, sorted_order, star_edges
from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.describe import describe, exact_digests
from lexmill.core.dedup.family import families, ranks
from lexmill.core.dedup.identity import NO_KEY, hash64
from lexmill.core.dedup.judge import CANDIDATES, EXACT, MAX_BUCKET, PAIRS, Keep, Prefer, judge
from lexmill.core.dedup.lines import add_counts, count_lines, treat_lines
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.signature import BANDS, SHINGLE, band_hashes, exact_hashes, unpack
from lexmill.core.dedup.sizes import CLUSTERS, FAMILIES, sizes
from lexmill.core.dedup.utf8 import buffers
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.schema import DOC_TYPES, DOCUMENT_RAW, LEDGER, SIGNATURE
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.index import ENTRY, ENTRY_COMPRESSION, ENTRY_ENCODING, HELD, INDEXED, NO_VIEW, Entries, Index, NewRun, View
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents

# Bounds on what one task holds: 8 million hashes are 200 MB with their keys and sort; 8,000 texts of 7 KB are 60 MB;
# 200,000 signatures are 100 MB.
HASHES_A_TASK = 8_000_000
_CANDIDATES_A_TASK = 8_000
_KIN_A_TASK = 200_000

# After the bands of the signature come two of one hash a document: equal texts, and what a document says it is.
_EXACT_BAND = BANDS
_SAME_BAND = BANDS + 1
_ID_BAND = BANDS + 2
_ALL_BANDS = BANDS + 3
_PAST_PARTS_A_TASK = 64
_ALL = 1 << 62  # beyond every ordinal

_SALTS = {doc_type: hash64(doc_type) for doc_type in DOC_TYPES}

ID_USED_TWICE = "dedup.id_used_twice"
FAMILY_CAP = "dedup.family_cap"
_FAMILY = "refused.family"

# A row group a band.
_BAND = pa.schema([("hash", pa.uint64()), ("key", pa.uint64()), ("row", pa.int32())])
# Sorted hashes: differences are shorter, and zstd finds nothing in them, nor in rows; keys are often 0.
_BAND_ENCODING = {"hash": "DELTA_BINARY_PACKED", "key": "PLAIN", "row": "PLAIN"}
_BAND_COMPRESSION = {"hash": "none", "key": "zstd", "row": "none"}
_DIGEST = pa.schema([SIGNATURE.field("doc_id"), SIGNATURE.field("exact")])
_REPEATED = pa.schema([("ordinal", pa.int64()), ("twin_ordinal", pa.int64()), ("twin", pa.string()), ("same_text", pa.bool_())])
_EDGE = pa.schema([("low", pa.int64()), ("high", pa.int64()), ("apart", pa.int64())])
# ``component``: whom it may be a copy of, null if of nobody; ``kin``: whom it shares a bucket with.
_COMPONENT = pa.schema([("ordinal", pa.int64()), ("component", pa.int64()), ("kin", pa.int64())])
_LINE = pa.schema([("hash", pa.uint64()), ("docs", pa.int64())])
_KIN = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kin", pa.int64()),
        ("ordinal", pa.int64()),
        ("doc_id", pa.string()),
        ("doc_type", pa.string()),
        ("n_chars", pa.int32()),
        ("leader", pa.int64()),  # of an earlier run: the ordinal of the first of its family; else null
        ("signature", SIGNATURE.field("signature").type),
    ]
)
_KIN_ROW = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("leader", pa.int64()),
        ("doc_id", pa.string()),
        ("family_id", pa.string()),
        ("rank", pa.int64()),  # how manieth of its family, counted over all runs
        ("size", pa.int64()),  # of the family up to this run
        ("estimate", pa.float64()),  # of the Jaccard index with the leader
    ]
)
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
    lines = _count_lines(this) if settings.lines != "off" else None
    frozen = lines.sha256 if lines else None
    tasks = [
        PartTask(
            number,
            digest(this.fingerprint, entry["sha256"], about[number], frozen),
            (this.ingest, entry, firsts[number], this.step("pairs"), this.step("families") if settings.enabled else None, lines),
            int(entry["bytes"]),
            digest(this.fingerprint, entry["fingerprint"], about[number], frozen),
        )
        for number, entry in enumerate(entries)
    ]
    return job.runner.run_stage("dedup", job.workspace.stage("dedup"), apply_part, tasks, this.fingerprint)


@dataclass(frozen=True)
class _Lines:
    """What is done with recurring lines, and the table of those that recur."""

    mode: str
    rules: DedupRules
    path: Path
    sha256: str


def _count_lines(this: _Run) -> _Lines:
    """The table of recurring lines: that of the history where it has one, else one counted over this run."""
    rules, mode = this.job.rules.dedup, this.job.config.dedup.lines
    if this.view.lines:
        return _Lines(mode, rules, this.view.root / this.view.lines[0], this.view.lines[1])
    counted = this.go(
        "lines", count_part, [((this.ingest, entry, rules), entry["sha256"], int(entry["bytes"])) for entry in this.entries]
    )
    least = min((rule.min_docs for rule in rules.lines), default=0)
    made = this.go("frequencies", collect_lines, [((this.step("lines"), least), [counted["fingerprint"], least], 0)])
    return _Lines(mode, rules, _part_files(this.step("frequencies"))[0], made["parts"][0]["sha256"])


def count_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any], rules: DedupRules) -> Receipt:
    """In how many documents of one part each line stands."""
    return target.write_work(pa.table(list(count_lines(ingest.read(entry, DOCUMENT_RAW), rules)), schema=_LINE))


def collect_lines(target: Target, lines: StageFolder, least: int) -> Receipt:
    """The lines that stand in at least ``least`` documents of all parts, sorted by hash."""
    table = pa.concat_tables([_LINE.empty_table(), *(pq.read_table(path, use_threads=False) for path in _part_files(lines))])
    hashes, docs = add_counts(table["hash"].to_numpy(), table["docs"].to_numpy())
    return target.write_work(pa.table([hashes[docs >= least], docs[docs >= least]], schema=_LINE))


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
        kin = _families(this.step("families"), *this.firsts[number : number + 2]) if this.job.config.dedup.enabled else None
        named = kin.filter(pc.greater(kin["size"], 1)).select(["doc_id", "family_id", "size"]).to_pydict() if kin else None
        digests.append(digest(rows, found.drop_columns(["ordinal"]).to_pydict(), named))
    return digests


def _find_repeated(this: _Run, digests: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    ranges = max(1, -(-this.firsts[-1] // HASHES_A_TASK))
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
    this.go("pairs", collect_pairs, [((None, this.step("ids"), None, 0), [None, repeated["fingerprint"]], 0)])


def _decide(this: _Run) -> None:
    """Find out what leaves: all steps up to ``dedup.pairs``."""
    entries, firsts, settings = this.entries, this.firsts, this.job.config.dedup
    rules = this.job.rules.dedup
    signed = this.go(
        "signatures",
        sign_part,
        [((this.ingest, entry, rules), entry["sha256"], int(entry["bytes"])) for entry in entries],
    )
    banded = this.go(
        "bands",
        band_part,
        [((this.step("signatures"), entry), entry["sha256"], int(entry["bytes"])) for entry in signed["parts"]],
    )
    repeated = _find_repeated(this, "signatures", signed)
    ranges = max(1, -(-firsts[-1] // HASHES_A_TASK))
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
    buckets = -(-int(joined["extra"][0]["copies"]) // _CANDIDATES_A_TASK)
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
                    rules,
                ),
                [candidates["fingerprint"], history["fingerprint"], bucket],
                sum(int(entry["bytes"]) for entry in candidates["parts"]) // buckets,
            )
            for bucket in range(buckets)
        ],
    )
    families = _find_families(this, signed, joined, verdicts)
    this.go(
        "pairs",
        collect_pairs,
        [
            (
                (this.step("verdicts"), this.step("ids"), this.step("families"), settings.max_per_family),
                [verdicts["fingerprint"], repeated["fingerprint"], families["fingerprint"]],
                0,
            )
        ],
    )


def _find_families(
    this: _Run, signed: Mapping[str, Any], joined: Mapping[str, Any], verdicts: Mapping[str, Any]
) -> dict[str, Any]:
    """Find the families of the documents that the verdicts leave."""
    buckets = max(1, -(-int(joined["parts"][0]["rows"]) // _KIN_A_TASK))
    sources: list[Any] = [
        ((this.step("signatures"), entry, None, first), entry["sha256"])
        for entry, first in zip(signed["parts"], this.firsts, strict=False)
    ]
    parts = this.view.parts
    sources += [
        ((None, None, replace(this.view, parts=parts[at : at + _PAST_PARTS_A_TASK]), 0), [this.view.fingerprint, at])
        for at in range(0, len(parts), _PAST_PARTS_A_TASK)
    ]
    kin = this.go(
        "kin",
        collect_kin,
        [
            ((*source, this.step("components"), buckets), [needs, joined["fingerprint"], source[-1], buckets], 0)
            for source, needs in sources
        ],
    )
    return this.go(
        "families",
        find_families,
        [
            (
                (this.step("kin"), this.step("verdicts"), this.step("ids"), bucket, this.view),
                [kin["fingerprint"], verdicts["fingerprint"], bucket, this.view.fingerprint],
                0,
            )
            for bucket in range(buckets)
        ],
    )


def sign_part(target: Target, ingest: StageFolder, entry: Mapping[str, Any], rules: DedupRules) -> Receipt:
    """Signatures of the documents of one ingest part, in its row order."""
    return target.write_work(describe(ingest.read(entry, DOCUMENT_RAW), rules))


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
    return write_bands(target, bands)


def write_bands(target: Target, bands: Sequence[tuple[Any, Any, Any]]) -> Receipt:
    """Write (rows ascending, hashes, keys) of each band as one row group, sorted by hash."""
    with target.writer(_BAND, compression=_BAND_COMPRESSION, encoding=_BAND_ENCODING) as (writer, done):
        for rows, values, own in bands:
            order, hashes = sorted_order(values)
            columns = [hashes, own[order], rows[order].astype(np.int32)]
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
    past = view.probe(_ID_BAND, distinct(np.concatenate(heads))).by_ordinal()
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
        table = pq.ParquetFile(path).read_row_group(band, use_threads=False)
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
    table = pa.table([edges[:, 0], edges[:, 1], edges[:, 2]], schema=_EDGE)
    return target.write_work(table, tallies={"hot_bucket": count_hot(both.hashes, MAX_BUCKET)})


def _past_of(view: View, band: int, new: Entries) -> Entries:
    """The entries of earlier runs that ``new`` ones may be compared to, the first of each bucket, with negative ordinals.

    A document without a key is compared to all of its bucket, one with a key to those of the same key; and the very first of a
    bucket leads to its family.
    """
    if not view.segments:
        return Entries.none()
    found = view.probe(band, distinct(new.hashes)).sorted()
    if not found.ordinals.size:
        return found
    open_ = np.isin(found.hashes, new.hashes[new.keys == NO_KEY])
    by_arrival = np.lexsort((found.ordinals, found.hashes))
    first_of_all = np.empty(found.hashes.size, bool)
    first_of_all[by_arrival] = _firsts(found.hashes[by_arrival], MAX_BUCKET)
    mixed = found.hashes ^ (found.keys * np.uint64(0x9E3779B97F4A7C15))
    of_key = np.isin(mixed, new.hashes ^ (new.keys * np.uint64(0x9E3779B97F4A7C15))) & _firsts(mixed, MAX_BUCKET)
    very_first = np.empty(found.hashes.size, bool)
    very_first[by_arrival] = _firsts(found.hashes[by_arrival], 1)
    return found.where((open_ & first_of_all) | of_key | very_first).before(view.limit)


def _firsts(groups: Any, number: int) -> Any:
    """Which of a run of equal neighbours are among its first ``number``."""
    at = np.arange(groups.size)
    starts = np.maximum.accumulate(np.where(np.concatenate([[True], groups[1:] != groups[:-1]]), at, 0))
    return at - starts < number


def join_edges(target: Target, edges: StageFolder) -> Receipt:
    """Components of two or more documents over the edges of all bands: of possible copies, and of kin."""
    tables = pa.concat_tables([pq.read_table(path, use_threads=False) for path in _part_files(edges)])
    low, high, near = tables["low"].to_numpy(), tables["high"].to_numpy(), tables["apart"].to_numpy() == 0
    nodes, kin = components(low, high)
    copies, labels = components(low[near], high[near])
    at = np.searchsorted(nodes, copies)
    component, alone = np.zeros(nodes.size, np.int64), np.ones(nodes.size, bool)
    component[at], alone[at] = labels, False
    table = pa.table([nodes, pa.array(component, mask=alone), kin], schema=_COMPONENT)
    return target.write_work(table, row_group_size=1 << 16, extra={"copies": int(copies.size)})


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
    found = found.filter(pc.is_valid(found["component"]))
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
    found = found.filter(pc.is_valid(found["component"]))
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
    rules: DedupRules,
) -> Receipt:
    """The verdicts on all components of one bucket."""
    table = pa.concat_tables(
        [
            pq.read_table(path, filters=[("bucket", "==", bucket)], use_threads=False)
            for folder in candidates
            for path in _part_files(folder)
        ]
    )
    return target.write_work(judge(table.drop_columns(["bucket"]), threshold, rules, keep, prefer))


def collect_kin(
    target: Target,
    signatures: StageFolder | None,
    entry: Mapping[str, Any] | None,
    past: View | None,
    first: int,
    joined: StageFolder,
    buckets: int,
) -> Receipt:
    """Signatures of the documents that share a bucket, of one part of this run or of some of earlier runs, sorted by bucket."""
    if past is not None:
        low, high = min(low for _, low, _ in past.parts) - past.limit, max(high for *_, high in past.parts) - past.limit
        found = _between(joined, low, high)
        about = past.documents(found["ordinal"].to_numpy() + past.limit, INDEXED.names)
        leaders = pc.subtract(about["family"], past.limit)
    else:
        assert signatures is not None
        assert entry is not None
        found = _between(joined, first, first + int(entry["rows"]))
        about = signatures.read(entry, SIGNATURE).take(pa.array(found["ordinal"].to_numpy() - first))
        leaders = pa.nulls(found.num_rows, pa.int64())
    columns = {
        **{name: about[name] for name in ("doc_id", "doc_type", "n_chars", "signature")},
        "bucket": pa.array((found["kin"].to_numpy() % buckets).astype(np.int32)),
        "kin": found["kin"],
        "ordinal": found["ordinal"],
        "leader": leaders,
    }
    table = pa.table([columns[name] for name in _KIN.names], schema=_KIN)
    return target.write_work(table.sort_by([("bucket", "ascending"), ("ordinal", "ascending")]), row_group_size=1 << 14)


def find_families(target: Target, kin: StageFolder, verdicts: StageFolder, ids: StageFolder, bucket: int, view: View) -> Receipt:
    """The families of one bucket of kin, without those that leave as copies."""
    filters = [("bucket", "==", bucket)]
    table = pa.concat_tables([pq.read_table(path, filters=filters, use_threads=False) for path in _part_files(kin)])
    gone = [_repeated(ids)["ordinal"].to_numpy()]
    left = [("gone", "==", True)]
    gone += [
        pq.read_table(path, columns=["ordinal"], filters=left, use_threads=False)["ordinal"].to_numpy()
        for path in _part_files(verdicts)
    ]
    stays = ~np.isin(table["ordinal"].to_numpy(), np.concatenate(gone)) & (table["n_chars"].to_numpy() >= SHINGLE)
    table = _with_leaders(table.filter(pa.array(stays)).sort_by("ordinal"), view)
    ordinals, types = table["ordinal"].to_numpy(), table["doc_type"].to_pylist()
    known = pc.fill_null(pc.index_in(table["leader"], table["ordinal"].combine_chunks()), -1).to_numpy()
    signatures = unpack(table["signature"])
    salts = np.array([_SALTS[doc_type] for doc_type in types], np.uint64)
    leaders = families(band_hashes(signatures) ^ salts[:, None], signatures, known)
    new = np.flatnonzero(ordinals >= 0)
    led = leaders[new]
    counted = _count_past(view, np.unique(ordinals[led][ordinals[led] < 0]))
    before = np.array([counted.get(ordinal, 0) for ordinal in ordinals[led].tolist()], np.int64)
    estimates = np.count_nonzero(signatures[new] == signatures[led], axis=1) / signatures.shape[1]
    doc_ids = table["doc_id"]
    columns = [
        ordinals[new],
        ordinals[led],
        doc_ids.take(pa.array(new)),
        doc_ids.take(pa.array(led)),
        *ranks(led, before),
        estimates,
    ]
    return target.write_work(pa.table(columns, schema=_KIN_ROW))


def _with_leaders(table: pa.Table, view: View) -> pa.Table:
    """The same documents with the leaders of their families, where those are of earlier runs and share no bucket themselves."""
    named = np.unique(table["leader"].drop_null().to_numpy())
    missing = np.setdiff1d(named, table["ordinal"].to_numpy())
    if not missing.size:
        return table
    about = view.documents(missing + view.limit, INDEXED.names)
    columns = {
        **{name: about[name] for name in ("doc_id", "doc_type", "n_chars", "signature")},
        "bucket": pa.nulls(about.num_rows, pa.int32()),
        "kin": pa.nulls(about.num_rows, pa.int64()),
        "ordinal": pc.subtract(about["ordinal"], view.limit),
        "leader": pc.subtract(about["family"], view.limit),
    }
    more = pa.table([columns[name] for name in _KIN.names], schema=_KIN)
    return pa.concat_tables([table, more]).sort_by("ordinal")


def _count_past(view: View, leaders: Any) -> dict[int, int]:
    """How many documents of earlier runs each family has, by the (negative) ordinal of its leader."""
    counts: dict[int, int] = {}
    if leaders.size:
        wanted = pa.array(leaders + view.limit)
        for name, *_ in view.parts:
            column = pq.read_table(view.root / "documents" / name, columns=["family"], use_threads=False)["family"]
            for row in column.filter(pc.is_in(column, wanted)).value_counts().to_pylist():
                at = row["values"] - view.limit
                counts[at] = counts.get(at, 0) + row["counts"]
    return counts


def collect_pairs(
    target: Target, verdicts: StageFolder | None, ids: StageFolder, found: StageFolder | None, max_per_family: int
) -> Receipt:
    """Every decision, sorted by ordinal; of documents under a used id copies leave, and others are to be looked at.

    Tallies are the sizes of clusters (copies and the document that stays) and of families (of this run).
    """
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
    pairs = pa.concat_tables(tables)
    copies = pairs.filter(pc.and_(pairs["gone"], pc.not_equal(pairs["rule"], ID_USED_TWICE)))
    tallies = sizes(CLUSTERS, copies["twin_ordinal"].to_numpy(), outside=1)
    if found is not None:
        kin = _families(found, 0, _ALL)
        tallies |= sizes(FAMILIES, kin["leader"].to_numpy(), outside=0)
        pairs = _with_families(pairs, kin, max_per_family)
    return target.write_work(
        pairs.sort_by([("ordinal", "ascending"), ("gone", "descending")]), row_group_size=1 << 16, tallies=tallies
    )


def _families(found: StageFolder, low: int, high: int) -> pa.Table:
    """The rows of all buckets whose ordinal lies in [low, high), by ordinal."""
    within = [("ordinal", ">=", low), ("ordinal", "<", high)]
    return pa.concat_tables([pq.read_table(path, filters=within, use_threads=False) for path in _part_files(found)]).sort_by(
        "ordinal"
    )


def _with_families(pairs: pa.Table, kin: pa.Table, max_per_family: int) -> pa.Table:
    """The decisions with a row for each member of a family but its leader: it leaves where the family has enough."""
    members = kin.filter(pc.not_equal(kin["ordinal"], kin["leader"]))
    capped = pc.and_(pc.greater(members["rank"], max_per_family), pa.scalar(max_per_family > 0))
    said = pc.is_in(members["ordinal"], pairs["ordinal"])
    members, capped = members.filter(pc.or_(capped, pc.invert(said))), capped.filter(pc.or_(capped, pc.invert(said)))
    columns = {
        "ordinal": members["ordinal"],
        "doc_id": members["doc_id"],
        "twin_ordinal": members["leader"],
        "twin": members["family_id"],
        "rule": pc.if_else(capped, FAMILY_CAP, _FAMILY),
        "jaccard": pa.nulls(members.num_rows, pa.float64()),
        "value": members["estimate"],
        "component": members["leader"],
        "gone": capped,
    }
    more = pa.table([columns[name] for name in PAIRS.names], schema=PAIRS)
    # A document that leaves for its family is no more than that.
    left = pc.and_(pc.is_in(pairs["ordinal"], more.filter(more["gone"])["ordinal"]), pc.invert(pairs["gone"]))
    return pa.concat_tables([pairs.filter(pc.invert(left)), more])


def apply_part(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    first: int,
    pairs: StageFolder,
    found: StageFolder | None,
    lines: _Lines | None,
) -> Receipt:
    """Split one part into the documents that stay and the ledger of those that leave."""
    table = ingest.read(entry, DOCUMENT_RAW)
    given = count_documents(table)
    decided = _between(pairs, first, first + table.num_rows)
    gone = decided.filter(decided["gone"])
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
        "model": pa.nulls(len(rows), pa.string()),
        "threshold": pa.nulls(len(rows), pa.float64()),
    }
    ledger = pa.table([columns[name] for name in LEDGER.names], schema=LEDGER)
    if found is not None:
        table = _name_families(table, found, first)
    kept = table.filter(pa.array(stays))
    if lines is not None:
        frequent = pq.read_table(lines.path, use_threads=False)["hash"].to_numpy()
        kept, edits = treat_lines(kept, lines.rules, frequent, lines.mode)
        ledger = pa.concat_tables([ledger, edits])
    return target.write(Batch(kept, ledger, {}), given)


def _name_families(table: pa.Table, found: StageFolder, first: int) -> pa.Table:
    """The documents of a part with the id and size of their families, where those have two or more."""
    kin = _families(found, first, first + table.num_rows)
    kin = kin.filter(pc.greater(kin["size"], 1))
    at = pc.index_in(pa.array(np.arange(first, first + table.num_rows)), kin["ordinal"].combine_chunks())
    for name, values in (("family_id", kin["family_id"]), ("family_size", kin["size"].cast(pa.int32()))):
        table = table.set_column(table.schema.get_field_index(name), name, values.take(at))
    return table


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
                (
                    this.ingest,
                    entry,
                    this.step("signatures"),
                    signed["parts"][number],
                    pairs,
                    this.step("families"),
                    firsts[number],
                    base,
                ),
                [entry["sha256"], *needs],
                0,
            )
            for number, entry in enumerate(this.entries)
        ],
    )
    entries = this.go(
        "entries", sort_band, [((this.step("bands"), pairs, firsts, band, base), [*needs, band], 0) for band in range(_ALL_BANDS)]
    )
    lines = _count_lines(this) if job.config.dedup.lines != "off" else None
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
            (lines.path, lines.sha256) if lines else None,
        )
    )


def _gone(pairs: StageFolder, low: int, high: int) -> Any:
    """Ordinals of those that left; one that its family had no room for still stands for its copies."""
    found = _between(pairs, low, high)
    left = pc.and_(found["gone"], pc.not_equal(found["rule"], FAMILY_CAP))
    return found["ordinal"].to_numpy()[left.to_numpy()]


def index_part(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    signatures: StageFolder,
    signed: Mapping[str, Any],
    pairs: StageFolder,
    found: StageFolder,
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
        "family": pa.array(base + _leaders(found, first + stays)),
        "text": comparison_copies(documents["text"]).cast(pa.string()),
    }
    return target.write_work(pa.table([columns[name] for name in INDEXED.names], schema=INDEXED), row_group_size=256)


def _leaders(found: StageFolder, ordinals: Any) -> Any:
    """The ordinal of the leader of each document's family; of most their own."""
    kin = _families(found, int(ordinals.min(initial=0)), int(ordinals.max(initial=0)) + 1)
    leaders = ordinals.copy()
    at = pc.index_in(pa.array(ordinals), kin["ordinal"].combine_chunks())
    some = pc.is_valid(at).to_numpy(zero_copy_only=False)
    leaders[some] = kin["leader"].take(at.drop_null()).to_numpy()
    return leaders


def sort_band(target: Target, bands: StageFolder, pairs: StageFolder, firsts: list[int], band: int, base: int) -> Receipt:
    """The entries of one band of the documents that stay, sorted."""
    gone = _gone(pairs, 0, firsts[-1])
    found = [Entries.none()]
    for first, path in zip(firsts, _part_files(bands), strict=False):
        table = pq.ParquetFile(path).read_row_group(band, use_threads=False)
        ordinals = first + table["row"].to_numpy().astype(np.int64)
        entries = Entries(table["hash"].to_numpy(), table["key"].to_numpy(), ordinals)
        found.append(entries.where(~np.isin(ordinals, gone)))
    entries = Entries.joined(found).before(-base).sorted()
    with target.writer(ENTRY, compression=ENTRY_COMPRESSION, encoding=ENTRY_ENCODING) as (writer, done):
        writer.write_table(entries.table(), row_group_size=1 << 16)
    return done[0]


def collect_held(target: Target, pairs: StageFolder) -> Receipt:
    """What left for a document that stays; a document that comes again is its own twin, and is not held down."""
    table = pq.read_table(_part_files(pairs)[0], use_threads=False)
    held = table.filter(pc.and_(table["gone"], pc.not_equal(table["doc_id"], table["twin"])))
    return target.write_work(held.select(HELD.names).cast(HELD))
