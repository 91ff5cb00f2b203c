"""Stage tokenize: text becomes token ids, scattered by hash so that every shard is an even mixture, and packed into windows.

Steps::

    tokenize.scatter   one a part             ids of every document, sorted by hash(doc_id, seed), and where it would be cut
    tokenize.plan      one a (window, shard)  how many sequences the documents of one range of hashes fill
    tokenize           one a (window, shard)  those documents, packed best-fit into as many sequences as every other shard has

The ranges hold the same number of tokens, or as nearly as whole documents allow. Copies of a document, where the mixture asks for
some, are in one shard.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog
from numpy.typing import NDArray

from lexmill.core.batch import Ledger
from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.cutting import KINDS, cut, find_places, heading
from lexmill.core.tokens.ids import low63, shard_key
from lexmill.core.tokens.mixture import plan_epochs, repeat_keys, repeats
from lexmill.core.tokens.packing import Packing, Pieces, divide, one_each, pack
from lexmill.core.tokens.shard import Documents, build_shard
from lexmill.core.tokens.tokenizer import Tokenizer, parity_sample
from lexmill.errors import GateError
from lexmill.jobs.isolate import Others, Refused, quarantined, without_refused
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import TokenizerKey, load_tokenizer, tokenizer_for, tokenizer_key
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from lexmill.store import files
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import UNITS, Counts, Receipt, StageFolder, Target, add_counts, count_ledger, imbalance

log = structlog.get_logger()

# Tallies of the scattered parts: those that the reference encoded because the fast encoder could not be shown to agree with it,
# and tokens that stand for text which the vocabulary has none for.
FALLBACK = "tokenizer.fallback"
UNKNOWN = "tokenizer.unknown"

MAX_SHARD_BYTES = 512 * (1 << 20)
ROW_GROUP = 1024  # sequences
# A task holds this many tokens at a time: 256 MB of ids, as much again while they are packed.
_BLOCK_TOKENS = 64_000_000
_SCATTER_ROW_GROUP = 64  # documents: a shard reads little besides its own
# Hashes are divided into so many equal ranges to find where a shard ends: 8 MB of counts in the driver.
_BUCKET_BITS = 20
# The ledger's rule for documents that the mixture leaves out.
LEFT_OUT = "mix.epochs"

Epochs = tuple[tuple[str, float], ...]  # by source/type; a group that is not named is written once

_CUT = pa.struct([("window", pa.int32()), ("token", pa.int32()), ("char", pa.int32()), ("kind", pa.int8())])
_SCATTER = pa.schema(
    [
        ("key", pa.uint64()),
        ("doc_id", pa.string()),
        ("source", pa.string()),
        ("doc_type", pa.string()),
        ("chars", pa.int64()),
        ("bytes", pa.int64()),
        ("tokens", pa.int32()),
        ("head", pa.int32()),  # tokens of the heading, if later pieces repeat it
        ("cuts", pa.list_(_CUT)),  # where the later pieces begin, by window length
        ("ids", pa.list_(pa.int32())),
    ]
)
# What the receipt of a scattered part says of a document that ended the process: these columns of the ledger.
REFUSED = "refused"
_LEFT = ("doc_id", "source", "doc_type", "rule", "n_chars", "n_bytes")
_PLAN = pa.schema([("sequences", pa.int64())])


@dataclass(frozen=True)
class Framing:
    """What of the settings the scattered parts depend on."""

    bos_id: int | None
    seed: int
    seq_lens: tuple[int, ...]
    repeat_heading: int

    @property
    def n_before(self) -> int:
        """Control tokens before a document."""
        return 0 if self.bos_id is None else 1


@dataclass(frozen=True)
class Control:
    """What the footer of a shard says of its vocabulary, for who has the file alone."""

    tokenizer: str
    eos_id: int
    pad_id: int
    bos_id: int | None


@dataclass(frozen=True)
class Shard:
    """One shard: the documents of consecutive ranges of hashes, packed into windows or (``seq_len`` None) a sequence each.

    ``epochs`` says how often documents are written, ``counted`` whether the balance is drawn over this set of shards;
    ``quarantined`` are rows for its ledger, of documents that ended the process which tokenised them.
    """

    seq_len: int | None
    number: int
    of: int
    ranges: tuple[tuple[int, int], ...]
    n_before: int
    epochs: Epochs
    counted: bool
    quarantined: tuple[tuple[Any, ...], ...] = ()

    def pack(self, documents: "Range") -> Packing:
        """The packing of one range."""
        pieces = documents.pieces(self.seq_len)
        return one_each(pieces) if self.seq_len is None else pack(pieces, self.seq_len)


def run(job: Job, filtered: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage tokenize up to date: ``dp_width`` × n shards for every window length."""
    settings = job.config.tokenize
    tokenizer = load_tokenizer(job.config)
    framing = Framing(
        tokenizer.bos_id if settings.bos else None, settings.seed, tuple(sorted(settings.seq_lens)), settings.repeat_heading
    )
    code = code_digest(__name__)
    # The backend is no part of what the ids depend on: that is what encode_proved is for.
    depends = (code, tokenizer.digest, framing.bos_id, framing.seed, framing.seq_lens, framing.repeat_heading)
    scatter_fingerprint = digest("scatter", *depends)
    source = job.workspace.stage("filter")
    key = tokenizer_key(job.config, tokenizer, settings.backend)
    scattered = job.runner.run_stage(
        "tokenize.scatter",
        job.workspace.work("tokenize.scatter"),
        scatter_part,
        [
            PartTask(
                number,
                digest(scatter_fingerprint, entry["sha256"]),
                (source, entry, key, framing),
                int(entry["bytes"]),
                split=Others(),
            )
            for number, entry in enumerate(filtered["parts"])
        ],
        scatter_fingerprint,
    )
    if fallbacks := scattered["tallies"].get(FALLBACK, 0):
        log.warning("parts were encoded by the reference: the fast encoder does not give its ids there", parts=fallbacks)
    size = sum(int(entry["bytes"]) for entry in scattered["parts"])
    pool: dict[str, int] = {}
    for extra in scattered["extra"]:
        for group, number in extra["tokens_by_group"].items():
            pool[group] = pool.get(group, 0) + number
    epochs = tuple(sorted((group, value) for group, value in plan_epochs(pool, job.config.mix).items() if value != 1))
    fingerprint = digest("tokenize", *depends, settings.dp_width, settings.unpacked, epochs)
    tokens = round(sum(number * dict(epochs).get(group, 1) for group, number in pool.items()))
    size = round(size * tokens / max(1, sum(pool.values())))
    shards = settings.dp_width * max(1, -(-size // (settings.dp_width * MAX_SHARD_BYTES)))
    while True:
        manifest = _pack(job, scattered, tokenizer, framing, shards, epochs, tokens, fingerprint)
        if max(int(entry["bytes"]) for entry in manifest["parts"]) <= MAX_SHARD_BYTES:
            break
        shards += settings.dp_width  # the estimate from the scattered ids was too small
    _balance(filtered, manifest)
    return manifest


def _pack(
    job: Job,
    scattered: Mapping[str, Any],
    tokenizer: Tokenizer,
    framing: Framing,
    shards: int,
    epochs: Epochs,
    tokens: int,
    fingerprint: str,
) -> dict[str, Any]:
    folder = job.workspace.work("tokenize.scatter")
    blocks = max(1, -(-tokens // (shards * _BLOCK_TOKENS)))
    ranges = _even_ranges([folder.path / entry["name"] for entry in scattered["parts"]], shards * blocks, epochs)
    windows = (*job.config.tokenize.seq_lens, *([None] if job.config.tokenize.unpacked else []))
    dead = tuple(tuple(row) for extra in scattered["extra"] for row in extra.get(REFUSED, ()))
    planned = [
        Shard(
            seq_len,
            number,
            shards,
            ranges[number * blocks : (number + 1) * blocks],
            framing.n_before,
            epochs,
            window == 0,
            dead if window == number == 0 else (),
        )
        for window, seq_len in enumerate(windows)
        for number in range(shards)
    ]
    weight = tokens * 4 // shards
    control = Control(tokenizer.digest, tokenizer.eos_id, tokenizer.pad_id, framing.bos_id)
    keys = [digest(fingerprint, scattered["fingerprint"], shard.seq_len, shard.ranges, shard.counted) for shard in planned]
    packed = [number for number, shard in enumerate(planned) if shard.seq_len is not None]
    plan = job.runner.run_stage(
        "tokenize.plan",
        job.workspace.work("tokenize.plan"),
        plan_shard,
        [PartTask(task, keys[number], (folder, planned[number]), weight // 8) for task, number in enumerate(packed)],
        fingerprint,
    )
    more = dict.fromkeys(range(len(planned)), 0)
    for seq_len in job.config.tokenize.seq_lens:
        found = {number: extra for number, extra in zip(packed, plan["extra"], strict=True) if planned[number].seq_len == seq_len}
        most = max(extra["sequences"] for extra in found.values())
        for number, extra in found.items():
            more[number] = min(most - extra["sequences"], extra["divisible"])
        if any(extra["sequences"] + more[number] < most for number, extra in found.items()):
            log.warning("too few documents to give every shard as many sequences", seq_len=seq_len, shards=shards)
    return job.runner.run_stage(
        "tokenize",
        job.workspace.stage("tokenize"),
        pack_shard,
        [
            PartTask(
                number,
                digest(keys[number], more[number], tokenizer.pad_id, tokenizer.eos_id),
                (folder, shard, more[number], control),
                weight,
            )
            for number, shard in enumerate(planned)
        ],
        fingerprint,
    )


def _even_ranges(paths: Sequence[Path], number: int, epochs: Epochs) -> tuple[tuple[int, int], ...]:
    """So many consecutive ranges of hashes (both ends included) that hold about as many tokens each."""
    tokens = np.zeros(1 << _BUCKET_BITS, np.int64)
    for path in paths:
        with files.open_parquet(path) as part:
            for rows in part.iter_batches(columns=["key", "source", "doc_type", "tokens"]):
                buckets = (rows["key"].to_numpy() >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
                np.add.at(tokens, buckets, rows["tokens"].to_numpy() * _times(rows, epochs))
    upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(tokens)])
    wanted = np.arange(1, number) * int(upto[-1]) / number
    behind = np.searchsorted(upto, wanted)
    # Of the two bounds of the bucket that the range ends in, the nearer one.
    ends = np.where(wanted - upto[np.maximum(behind - 1, 0)] < upto[behind] - wanted, np.maximum(behind - 1, 0), behind)
    bounds = [0, *(int(end) << (64 - _BUCKET_BITS) for end in ends), 1 << 64]
    return tuple((low, high - 1) for low, high in pairwise(bounds))


def _times(rows: pa.Table | pa.RecordBatch, epochs: Epochs) -> NDArray[np.int64]:
    """How often each document is written."""
    if not epochs:
        return np.ones(rows.num_rows, np.int64)
    groups = pc.binary_join_element_wise(rows["source"], rows["doc_type"], "/")
    asked = dict(epochs)
    wanted = np.array([asked.get(group, 1.0) for group in groups.to_pylist()], np.float64)
    return repeats(rows["key"].to_numpy(), wanted)


def _balance(filtered: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Every document that the filter kept is in the shards of the first window length, or the mixture left it out."""
    counts: Counts = {}
    add_counts(counts, {**manifest["counts"], "in": filtered["counts"].get("out", {})})
    if faults := imbalance(counts):
        raise GateError("tokenize does not balance: " + "; ".join(faults))


def scatter_part(
    target: Target,
    source: StageFolder,
    entry: Mapping[str, Any],
    key: TokenizerKey,
    framing: Framing,
    refused: Refused = (),
) -> Receipt:
    """Tokenise the documents of one part, each framed by its control tokens, in the order of their hashes.

    Of ``refused`` ones the receipt says what the ledger of the shards is to say.
    """
    table = source.read(entry, DOCUMENT_JUDGED).select(["doc_id", "source", "doc_type", "text", "segments"])
    dead = [[row[name] for name in _LEFT] for row in quarantined(table, "tokenize", refused).to_pylist()]
    table = without_refused(table, refused)
    doc_ids = table["doc_id"].to_pylist()
    keys = np.array([shard_key(doc_id, framing.seed) for doc_id in doc_ids], np.uint64)
    order = np.lexsort((np.array(doc_ids, np.bytes_), keys))
    first = order.tolist().index(0) if doc_ids else 0
    table = table.take(pa.array(order)).combine_chunks()
    texts = pa.concat_arrays(table["text"].chunks) if doc_ids else pa.array([], pa.string())
    sizes = pc.binary_length(texts).cast(pa.int64())
    tokenizer = tokenizer_for(key)
    # In the order of the hashes the leading documents are a random sample.
    encoded = tokenizer.encode_proved(texts, parity_sample(sizes.to_numpy(), first))
    tokens = encoded.tokens.framed(framing.bos_id, tokenizer.eos_id)
    heads, cuts = _cuts(tokenizer, encoded.tokens, texts, table["segments"], framing)
    lengths = np.diff(tokens.offsets)
    scattered = pa.table(
        [
            pa.array(keys[order]),
            table["doc_id"],
            table["source"],
            table["doc_type"],
            pc.utf8_length(texts).cast(pa.int64()),
            sizes,
            pa.array(lengths.astype(np.int32)),
            pa.array(heads, pa.int32()),
            cuts,
            pa.ListArray.from_arrays(pa.array(tokens.offsets.astype(np.int32)), pa.array(tokens.ids)),
        ],
        schema=_SCATTER,
    )
    by_group = scattered.group_by(["source", "doc_type"]).aggregate([("tokens", "sum")]).to_pylist()
    extra = {
        "tokens": int(lengths.sum()),
        "tokens_by_group": dict(sorted((f"{row['source']}/{row['doc_type']}", row["tokens_sum"]) for row in by_group)),
    }
    if dead:
        extra[REFUSED] = dead
    tallies = {FALLBACK: int(encoded.fell_back), UNKNOWN: tokenizer.unknown(encoded.tokens)}
    return target.write_work(scattered, row_group_size=_SCATTER_ROW_GROUP, extra=extra, tallies=tallies)


def _cuts(
    tokenizer: Tokenizer, tokens: TokenBatch, texts: pa.Array, segments: pa.ChunkedArray, framing: Framing
) -> tuple[list[int], pa.Array]:
    """Tokens of the heading, and the cuts at every window length, of each document; most fit and have none."""
    after = 1  # end-of-text
    heads = [0] * len(texts)
    cuts: list[list[dict[str, int]]] = [[] for _ in heads]
    framed = np.diff(tokens.offsets) + framing.n_before + after
    for index in np.flatnonzero(framed > framing.seq_lens[0]).tolist():
        text = texts[index].as_py()
        starts = [segment["start"] for segment in (segments[index].as_py() or [])[1:]]
        places = find_places(text, starts, tokenizer.char_starts(tokens.document(index), text))
        heads[index] = heading(places, text, framing.repeat_heading)
        cuts[index] = [
            {"window": window, "token": found.token, "char": found.char, "kind": found.kind}
            for window in framing.seq_lens
            for found in cut(places, window, framing.n_before, after, heads[index])
        ]
    return heads, pa.array(cuts, pa.list_(_CUT))


@dataclass(frozen=True)
class Range:
    """The documents of one range of hashes: ``order`` numbers the rows as they are written, ``repeat`` the copies of each."""

    table: pa.Table
    order: NDArray[np.int64]
    repeat: NDArray[np.int64]

    def pieces(self, window: int | None) -> Pieces:
        """The pieces of all documents at one window length; without one, every document whole."""
        rows = self.table.select(["tokens", "chars", "head", "cuts"]).take(pa.array(self.order)).combine_chunks()
        lists = pa.concat_arrays(rows["cuts"].chunks) if rows.num_rows else pa.array([], pa.list_(_CUT))
        counts = np.diff(lists.offsets.to_numpy())
        found, owner = lists.flatten(), np.repeat(np.arange(rows.num_rows), counts)
        mine = found.field("window").to_numpy() == (-1 if window is None else window)
        upto = np.concatenate([[0], np.cumsum(np.bincount(owner[mine], minlength=rows.num_rows))]).astype(np.int64)
        return divide(
            rows["tokens"].to_numpy().astype(np.int64),
            rows["chars"].to_numpy(),
            rows["head"].to_numpy(),
            upto,
            found.field("token").to_numpy()[mine],
            found.field("char").to_numpy()[mine],
        )

    def cut_kinds(self, window: int | None) -> dict[str, int]:
        """Cuts at one window length, by kind."""
        found = self.table["cuts"].take(pa.array(self.order)).combine_chunks().flatten()
        kinds = found.field("kind").to_numpy()[found.field("window").to_numpy() == (-1 if window is None else window)]
        return dict(zip(KINDS, np.bincount(kinds, minlength=len(KINDS)).tolist(), strict=True))

    def documents(self, n_before: int) -> Documents:
        """What the pieces are cut out of. The ids stay where they are: they are copied once, into the sequences."""
        ids = pa.concat_arrays(self.table["ids"].chunks) if self.table.num_rows else pa.array([], pa.list_(pa.int32()))
        first = ids.offsets.to_numpy().astype(np.int64)[:-1][self.order]
        named = self.table.select(["source", "doc_type"]).take(pa.array(self.order)).combine_chunks()
        short = [low63(doc_id) for doc_id in self.table["doc_id"].take(pa.array(self.order)).to_pylist()]
        return Documents(
            ids.values.to_numpy(),
            first,
            first + n_before,
            np.array(short, np.int64),
            self.repeat.astype(np.int32),
            pa.array(named["source"].to_pylist(), pa.string()),
            pa.array(named["doc_type"].to_pylist(), pa.string()),
        )


def plan_shard(target: Target, scatter: StageFolder, shard: Shard) -> Receipt:
    """How many sequences one shard fills, and how many more it could."""
    totals = {"sequences": 0, "divisible": 0}
    for low, high in shard.ranges:
        packing = shard.pack(_read_range(scatter, low, high, [name for name in _SCATTER.names if name != "ids"], shard.epochs))
        totals["sequences"] += packing.n_sequences
        totals["divisible"] += packing.n_divisible
    return target.write_work(pa.table([[totals["sequences"]]], schema=_PLAN), extra=totals)


def pack_shard(target: Target, scatter: StageFolder, shard: Shard, more: int, control: Control) -> Receipt:
    """Pack the documents of one shard, range by range in bounded memory, into ``more`` sequences more than they need.

    Raises GateError where two documents share their low 63 bits.
    """
    extra: dict[str, Any] = {"seq_len": shard.seq_len, "shard": shard.number, "shards": shard.of}
    totals = {"documents": 0, "tokens": 0, "headings": 0, "cut": 0, "sequences": 0, "padding": 0}
    kinds = dict.fromkeys(KINDS, 0)
    counts: Counts = {}
    seen: dict[int, str] = {}
    schema = TOKENS.with_metadata({"lexmill": json.dumps({"seq_len": shard.seq_len, **asdict(control)}, sort_keys=True)})
    ledger: list[pa.Table] | None = [] if shard.counted else None
    groups: dict[str, dict[str, int]] = {}
    with target.writer(schema, extra, counts, ledger=ledger) as (writer, done):
        for low, high in shard.ranges:
            found = _read_range(scatter, low, high, _SCATTER.names, shard.epochs)
            packing = shard.pack(found)
            divided = min(more, packing.n_divisible)
            packing, more = packing.divided(divided), more - divided
            documents = found.documents(shard.n_before)
            for doc_id, number in zip(
                found.table["doc_id"].take(pa.array(found.order)).to_pylist(), documents.short_id.tolist(), strict=True
            ):
                if seen.setdefault(number, doc_id) != doc_id:
                    raise GateError(f"documents {seen[number]} and {doc_id} share the low 63 bits of their ids")
            packed = build_shard(documents, packing, shard.seq_len, control.pad_id)
            writer.write_table(packed.replace_schema_metadata(schema.metadata), row_group_size=ROW_GROUP)
            totals["documents"] += len(found.order)
            totals["tokens"] += packing.n_tokens
            totals["headings"] += int(packing.pieces.head.sum())
            totals["cut"] += packing.n_cut
            totals["sequences"] += packing.n_sequences
            totals["padding"] += packing.n_sequences * (shard.seq_len or 0) - packing.n_tokens if shard.seq_len else 0
            for kind, number in found.cut_kinds(shard.seq_len).items():
                kinds[kind] += number
            if ledger is not None:
                ledger.append(_left_out(found, shard.epochs))
                add_counts(counts, {**_counted(found), **count_ledger(ledger[-1])})
                _add_groups(groups, found)
        if ledger is not None and shard.quarantined:
            dead = Ledger("tokenize")
            for doc_id, source, doc_type, rule, chars, size in shard.quarantined:
                dead.add(doc_id, source, doc_type, "quarantine", rule, chars, size)
            ledger.append(dead.table())
            left = count_ledger(ledger[-1])
            add_counts(counts, {**left, "in": left["quarantine"]})
        extra.update(totals, cuts=kinds, groups=groups)
    return done[0]


def _read_range(scatter: StageFolder, low: int, high: int, columns: Sequence[str], epochs: Epochs) -> Range:
    """The documents whose key is from ``low`` to ``high``, part by part; every part is sorted by key."""
    manifest = scatter.manifest()
    tables = [_SCATTER.empty_table().select(columns)]
    for entry in manifest["parts"] if manifest and low <= high else []:
        with files.open_parquet(scatter.path / entry["name"]) as part:
            # Column 0 is the key; Parquet's statistics of unsigned integers are right, and pyarrow always writes them.
            bounds = [part.metadata.row_group(group).column(0).statistics for group in range(part.metadata.num_row_groups)]
            groups = [n for n, bound in enumerate(bounds) if bound is not None and bound.min <= high and bound.max >= low]
            table = part.read_row_groups(groups, columns=list(columns), use_threads=False)
        keys = table["key"].to_numpy()
        start, stop = np.searchsorted(keys, np.uint64(low)), np.searchsorted(keys, np.uint64(high), "right")
        tables.append(table.slice(start, stop - start))
    table = pa.concat_tables(tables).combine_chunks()
    times = _times(table, epochs)
    row = np.repeat(np.arange(table.num_rows), times)
    repeat = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    doc_ids = np.array(table["doc_id"].to_pylist(), np.bytes_)
    order = np.lexsort((repeat, doc_ids[row], repeat_keys(table["key"].to_numpy()[row], repeat)))
    return Range(table, row[order], repeat[order])


def _by_group(table: pa.Table) -> list[tuple[str, dict[str, int]]]:
    """Documents, characters, bytes and tokens by ``source/type``."""
    sums = table.group_by(["source", "doc_type"]).aggregate(
        [(name, "sum") for name in ("chars", "bytes", "tokens")] + [([], "count_all")]
    )
    rows = sorted((f"{row['source']}/{row['doc_type']}", row) for row in sums.to_pylist())
    return [
        (group, {"docs": row["count_all"], "chars": row["chars_sum"], "bytes": row["bytes_sum"], "tokens": row["tokens_sum"]})
        for group, row in rows
    ]


def _counted(found: Range) -> Counts:
    """Documents that came into a range, and those that are written at all."""
    table = found.table.drop_columns(["cuts", "ids"])
    return {
        kind: {group: {unit: sums[unit] for unit in UNITS} for group, sums in _by_group(rows)}
        for kind, rows in (("in", table), ("out", table.take(pa.array(found.order[found.repeat == 0]))))
    }


def _add_groups(groups: dict[str, dict[str, int]], found: Range) -> None:
    """Add what is written, copies included, by ``source/type``."""
    written = found.table.drop_columns(["cuts", "ids"]).take(pa.array(found.order))
    for group, sums in _by_group(written):
        total = groups.setdefault(group, dict.fromkeys(sums, 0))
        for unit, number in sums.items():
            total[unit] += number


def _left_out(found: Range, epochs: Epochs) -> pa.Table:
    """The ledger of documents that are written no time."""
    left = np.setdiff1d(np.arange(found.table.num_rows), found.order)
    asked = dict(epochs)
    ledger = Ledger("tokenize")
    for row in found.table.select(["doc_id", "source", "doc_type", "chars", "bytes"]).take(pa.array(left)).to_pylist():
        value = asked.get(f"{row['source']}/{row['doc_type']}")
        ledger.add(row["doc_id"], row["source"], row["doc_type"], "drop", LEFT_OUT, row["chars"], row["bytes"], value=value)
    return ledger.table()
