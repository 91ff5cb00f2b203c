"""Stage tokenize: text becomes token ids, scattered by hash so that every shard is an even mixture, and packed into windows.

Steps::

    tokenize.scatter   one a part             ids of every document, sorted by hash(doc_id, seed)
    tokenize           one a (window, shard)  the documents of one range of hashes, packed best-fit
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import structlog

from lexmill.core.tokens.ids import low63, shard_key
from lexmill.core.tokens.packing import pack
from lexmill.core.tokens.shard import build_shard
from lexmill.core.tokens.tokenizer import Tokenizer, parity_sample
from lexmill.errors import GateError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import TokenizerKey, load_tokenizer, tokenizer_for, tokenizer_key
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Counts, Receipt, StageFolder, Target, add_counts, imbalance

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

_SCATTER = pa.schema(
    [
        ("key", pa.uint64()),
        ("doc_id", pa.string()),
        ("group", pa.string()),  # source/type
        ("chars", pa.int64()),
        ("bytes", pa.int64()),
        ("ids", pa.list_(pa.int32())),
    ]
)


def run(job: Job, filtered: Mapping[str, Any]) -> dict[str, Any]:
    """Bring stage tokenize up to date: ``dp_width`` × n shards for every window length."""
    settings = job.config.tokenize
    tokenizer = load_tokenizer(job.config)
    bos_id = tokenizer.bos_id if settings.bos else None
    code = code_digest(__name__)
    # The backend is no part of what the ids depend on: that is what encode_proved is for.
    scatter_fingerprint = digest("scatter", code, tokenizer.digest, bos_id, settings.seed)
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
                (source, entry, key, bos_id, settings.seed),
                int(entry["bytes"]),
            )
            for number, entry in enumerate(filtered["parts"])
        ],
        scatter_fingerprint,
    )
    if fallbacks := scattered["tallies"].get(FALLBACK, 0):
        log.warning("parts were encoded by the reference: the fast encoder does not give its ids there", parts=fallbacks)
    tokens = sum(extra["tokens"] for extra in scattered["extra"])
    size = sum(int(entry["bytes"]) for entry in scattered["parts"])
    fingerprint = digest("tokenize", code, tokenizer.digest, bos_id, list(settings.seq_lens), settings.dp_width, settings.seed)
    shards = settings.dp_width * max(1, -(-size // (settings.dp_width * MAX_SHARD_BYTES)))
    while True:
        manifest = _pack(job, scattered, tokenizer, shards, tokens, fingerprint)
        if max(int(entry["bytes"]) for entry in manifest["parts"]) <= MAX_SHARD_BYTES:
            break
        shards += settings.dp_width  # the estimate from the scattered ids was too small
    _balance(filtered, manifest)
    return manifest


def _pack(
    job: Job, scattered: Mapping[str, Any], tokenizer: Tokenizer, shards: int, tokens: int, fingerprint: str
) -> dict[str, Any]:
    folder = job.workspace.work("tokenize.scatter")
    blocks = max(1, -(-tokens // (shards * _BLOCK_TOKENS)))
    tasks: list[PartTask] = []
    for window, seq_len in enumerate(job.config.tokenize.seq_lens):
        for shard in range(shards):
            needs = [scattered["fingerprint"], seq_len, shard, shards, blocks, window]
            arguments = (folder, seq_len, shard, shards, blocks, window == 0, tokenizer.pad_id)
            tasks.append(PartTask(len(tasks), digest(fingerprint, needs), arguments, tokens * 4 // shards))
    return job.runner.run_stage("tokenize", job.workspace.stage("tokenize"), pack_shard, tasks, fingerprint)


def _balance(filtered: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    """Every document that the filter kept is in the shards of the first window length, once."""
    counts: Counts = {}
    add_counts(counts, {"in": filtered["counts"].get("out", {}), "out": manifest["counts"].get("out", {})})
    if faults := imbalance(counts):
        raise GateError("tokenize does not balance: " + "; ".join(faults))


def scatter_part(
    target: Target, source: StageFolder, entry: Mapping[str, Any], key: TokenizerKey, bos_id: int | None, seed: int
) -> Receipt:
    """Tokenise the documents of one part, each framed by its control tokens, in the order of their hashes."""
    table = source.read(entry, DOCUMENT_JUDGED).select(["doc_id", "source", "doc_type", "text"])
    doc_ids = table["doc_id"].to_pylist()
    keys = np.array([shard_key(doc_id, seed) for doc_id in doc_ids], np.uint64)
    order = np.lexsort((np.array(doc_ids, np.bytes_), keys))
    first = order.tolist().index(0) if doc_ids else 0
    table = table.take(pa.array(order)).combine_chunks()
    texts = pa.concat_arrays(table["text"].chunks) if doc_ids else pa.array([], pa.string())
    sizes = pc.binary_length(texts).cast(pa.int64())
    tokenizer = tokenizer_for(key)
    # In the order of the hashes the leading documents are a random sample.
    encoded = tokenizer.encode_proved(texts, parity_sample(sizes.to_numpy(), first))
    tokens = encoded.tokens.framed(bos_id, tokenizer.eos_id)
    groups = pc.binary_join_element_wise(table["source"], table["doc_type"], "/")
    scattered = pa.table(
        [
            pa.array(keys[order]),
            table["doc_id"],
            groups,
            pc.utf8_length(texts).cast(pa.int64()),
            sizes,
            pa.ListArray.from_arrays(pa.array(tokens.offsets.astype(np.int32)), pa.array(tokens.ids)),
        ],
        schema=_SCATTER,
    )
    lengths = np.diff(tokens.offsets)
    by_group = pa.table({"group": groups, "tokens": lengths}).group_by("group").aggregate([("tokens", "sum")]).to_pylist()
    extra = {
        "tokens": int(lengths.sum()),
        "tokens_by_group": {row["group"]: row["tokens_sum"] for row in sorted(by_group, key=lambda row: row["group"])},
    }
    tallies = {FALLBACK: int(encoded.fell_back), UNKNOWN: tokenizer.unknown(encoded.tokens)}
    return target.write_work(scattered, row_group_size=_SCATTER_ROW_GROUP, extra=extra, tallies=tallies)


def _range(number: int, of: int) -> tuple[int, int]:
    return (number << 64) // of, ((number + 1) << 64) // of - 1


def pack_shard(
    target: Target,
    scatter: StageFolder,
    seq_len: int,
    shard: int,
    shards: int,
    blocks: int,
    counted: bool,
    pad_id: int,
) -> Receipt:
    """Pack the documents of one range of hashes into one shard, in ``blocks`` steps of bounded memory.

    ``counted`` says whether this window length is the one that the balance is drawn over. Raises GateError where two documents
    share their low 63 bits.
    """
    manifest = scatter.manifest()
    paths = [scatter.path / entry["name"] for entry in (manifest["parts"] if manifest else [])]
    extra: dict[str, Any] = {"seq_len": seq_len, "shard": shard, "shards": shards}
    totals = {"documents": 0, "tokens": 0, "cut": 0, "sequences": 0, "padding": 0}
    counts: Counts = {}
    seen: dict[int, str] = {}
    with target.writer(TOKENS, extra, counts) as (writer, done):
        for block in range(blocks):
            table = _read_range(paths, *_range(shard * blocks + block, shards * blocks))
            doc_ids = table["doc_id"].to_pylist()
            short = np.array([low63(doc_id) for doc_id in doc_ids], np.int64)
            for doc_id, number in zip(doc_ids, short.tolist(), strict=True):
                if seen.setdefault(number, doc_id) != doc_id:
                    raise GateError(f"documents {seen[number]} and {doc_id} share the low 63 bits of their ids")
            # The documents are put in order by number, and their ids copied once, into the windows.
            order = np.lexsort((np.array(doc_ids, np.bytes_), table["key"].to_numpy()))
            ids = table["ids"].combine_chunks()
            offsets = ids.offsets.to_numpy().astype(np.int64)
            packing = pack(np.diff(offsets)[order], seq_len)
            packed = build_shard(ids.values.to_numpy(), offsets[:-1][order], short[order], packing, seq_len, pad_id)
            writer.write_table(packed, row_group_size=ROW_GROUP)
            totals["documents"] += len(doc_ids)
            totals["tokens"] += packing.n_tokens
            totals["cut"] += packing.n_cut
            totals["sequences"] += packing.n_sequences
            totals["padding"] += packing.n_sequences * seq_len - packing.n_tokens
            if counted:
                _count(counts, table)
        extra.update(totals)
    return done[0]


def _read_range(paths: list[Path], low: int, high: int) -> pa.Table:
    """The documents whose key is from ``low`` to ``high``, part by part; every part is sorted by key."""
    tables = [_SCATTER.empty_table()]
    for path in paths:
        with pq.ParquetFile(path) as part:
            # Column 0 is the key; Parquet's statistics of unsigned integers are right, and pyarrow always writes them.
            bounds = [part.metadata.row_group(group).column(0).statistics for group in range(part.metadata.num_row_groups)]
            groups = [n for n, bound in enumerate(bounds) if bound is not None and bound.min <= high and bound.max >= low]
            table = part.read_row_groups(groups, use_threads=False)
        keys = table["key"].to_numpy()
        start, stop = np.searchsorted(keys, np.uint64(low)), np.searchsorted(keys, np.uint64(high), "right")
        tables.append(table.slice(start, stop - start))
    return pa.concat_tables(tables).combine_chunks()


def _count(counts: Counts, table: pa.Table) -> None:
    grouped = table.group_by("group").aggregate([("chars", "sum"), ("bytes", "sum"), ([], "count_all")])
    out = {
        row["group"]: {"docs": row["count_all"], "chars": row["chars_sum"], "bytes": row["bytes_sum"]}
        for row in grouped.to_pylist()
    }
    # What a shard is made of is what is in it: documents cannot leave here.
    add_counts(counts, {"in": out, "out": out})
