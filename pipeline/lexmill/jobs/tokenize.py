"""Stage tokenize: text becomes token ids, scattered by hash so that every shard is an even mixture, and packed into windows.

Steps::

    tokenize.scatter   one a part             ids of every document, sorted by hash(doc_id, seed)
    tokenize           one a (window, shard)  the documents of one range of hashes, packed best-fit
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lexmill.core.tokens.ids import low63, shard_key
from lexmill.core.tokens.packing import pack
from lexmill.core.tokens.shard import build_shard
from lexmill.core.tokens.tokenizer import TokenBatch, Tokenizer
from lexmill.errors import GateError
from lexmill.jobs.job import Job
from lexmill.jobs.parts import PartTask
from lexmill.jobs.resources import load_tokenizer, tokenizer_for
from lexmill.schema import DOCUMENT_JUDGED, TOKENS
from lexmill.store.fingerprint import code_digest, digest
from lexmill.store.stages import Counts, Receipt, StageFolder, Target, add_counts, imbalance

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
    code = code_digest(__name__)
    scatter_fingerprint = digest("scatter", code, tokenizer.digest, settings.seed)
    source = job.workspace.stage("filter")
    scattered = job.runner.run_stage(
        "tokenize.scatter",
        job.workspace.work("tokenize.scatter"),
        scatter_part,
        [
            PartTask(
                number,
                digest(scatter_fingerprint, entry["sha256"]),
                (source, entry, tokenizer.name, tokenizer.digest, settings.seed),
                int(entry["bytes"]),
            )
            for number, entry in enumerate(filtered["parts"])
        ],
        scatter_fingerprint,
    )
    tokens = sum(extra["tokens"] for extra in scattered["extra"])
    size = sum(int(entry["bytes"]) for entry in scattered["parts"])
    fingerprint = digest("tokenize", code, tokenizer.digest, list(settings.seq_lens), settings.dp_width, settings.seed)
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


def scatter_part(target: Target, source: StageFolder, entry: Mapping[str, Any], name: str, digest_: str, seed: int) -> Receipt:
    """Tokenise the documents of one part, each with its end-of-text, and sort them by hash."""
    table = source.read(entry, DOCUMENT_JUDGED)
    tokenizer = tokenizer_for(name, digest_)
    texts = table["text"].to_pylist()
    batch = tokenizer.encode_batch(texts).ended_by(tokenizer.eos_id)
    doc_ids = table["doc_id"].to_pylist()
    keys = np.array([shard_key(doc_id, seed) for doc_id in doc_ids], np.uint64)
    groups = [f"{name}/{kind}" for name, kind in zip(table["source"].to_pylist(), table["doc_type"].to_pylist(), strict=True)]
    lengths = np.diff(batch.offsets)
    tokens: dict[str, int] = {}
    for group, length in zip(groups, lengths.tolist(), strict=True):
        tokens[group] = tokens.get(group, 0) + length
    scattered = pa.table(
        [
            pa.array(keys),
            table["doc_id"],
            pa.array(groups, pa.string()),
            pa.array([len(text) for text in texts], pa.int64()),
            pa.array([len(text.encode()) for text in texts], pa.int64()),
            pa.ListArray.from_arrays(pa.array(batch.offsets.astype(np.int32)), pa.array(batch.ids)),
        ],
        schema=_SCATTER,
    ).sort_by([("key", "ascending"), ("doc_id", "ascending")])
    extra = {"tokens": int(lengths.sum()), "tokens_by_group": dict(sorted(tokens.items()))}
    return target.write_work(scattered, row_group_size=_SCATTER_ROW_GROUP, extra=extra)


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
            ids = table["ids"].combine_chunks()
            tokens = TokenBatch(ids.values.to_numpy(), ids.offsets.to_numpy().astype(np.int64))
            packing = pack(np.diff(tokens.offsets), seq_len)
            packed = build_shard(tokens, short, packing, seq_len, pad_id)
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


def _read_range(paths: list[Any], low: int, high: int) -> pa.Table:
    bounds = [("key", ">=", pa.scalar(low, pa.uint64())), ("key", "<=", pa.scalar(high, pa.uint64()))]
    tables = [pq.read_table(path, filters=bounds, use_threads=False) for path in paths]
    return pa.concat_tables(tables).sort_by([("key", "ascending"), ("doc_id", "ascending")]).combine_chunks()


def _count(counts: Counts, table: pa.Table) -> None:
    grouped = table.group_by("group").aggregate([("chars", "sum"), ("bytes", "sum"), ([], "count_all")])
    out = {
        row["group"]: {"docs": row["count_all"], "chars": row["chars_sum"], "bytes": row["bytes_sum"]}
        for row in grouped.to_pylist()
    }
    # What a shard is made of is what is in it: documents cannot leave here.
    add_counts(counts, {"in": out, "out": out})
