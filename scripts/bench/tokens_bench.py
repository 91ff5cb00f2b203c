"""Tokenise and write a file of `{text}` lines with both backends: MB/s per core, peak memory, and whether the bytes are equal.

    .venv/bin/python scripts/bench/tokens_bench.py FILE.jsonl[.zst] [--megabytes 30] [--part 30] [--shards 16]

MB are 10^6 bytes of UTF-8 text; core seconds are user + system time of the one process of each backend. "scatter" encodes, sorts
and writes parts of `--part` MB, "pack" reads them and writes shards of 4,096-token sequences, "scan" decodes and searches those.
Loading (vocabulary, kernels, engine) is paid once a worker and shown apart.
"""

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard

from lexmill.core.tokens.tokenizer import load
from lexmill.jobs.release import scan_shard
from lexmill.jobs.resources import TokenizerKey
from lexmill.jobs.tokenize import Control, Framing, Shard, pack_shard, scatter_part
from lexmill.schema import DOCUMENT_JUDGED
from lexmill.store import files
from lexmill.store.memory import peak_rss
from lexmill.store.stages import Receipt, StageFolder, Target, make_manifest

SEQ_LEN = 4096
FRAMING = Framing(None, 0, (SEQ_LEN,), 0)


def texts(path: Path, size: float) -> Iterator[str]:
    """The texts of the file, up to ``size`` bytes in all."""
    with path.open("rb") as raw:
        lines: Any = zstandard.ZstdDecompressor().stream_reader(raw) if path.suffix == ".zst" else raw
        for line in io.TextIOWrapper(lines, encoding="utf-8"):
            text = json.loads(line)["text"]
            size -= len(text.encode())
            yield text
            if size <= 0:
                return


def table(documents: list[str], first: int) -> pa.Table:
    """A part as the filter would leave it."""
    count = len(documents)
    ids = [hashlib.blake2b(b"%d" % number, digest_size=16).hexdigest() for number in range(first, first + count)]
    given = {
        "doc_id": pa.array(ids, pa.string()),
        "source": pa.array(["bench"] * count, pa.string()),
        "doc_type": pa.array(["judgment"] * count, pa.string()),
        "text": pa.array(documents, pa.string()),
    }
    columns = [
        given[name] if name in given else pa.nulls(count, DOCUMENT_JUDGED.field(name).type) for name in DOCUMENT_JUDGED.names
    ]
    return pa.Table.from_arrays(columns, schema=DOCUMENT_JUDGED)


def write_parts(path: Path, folder: StageFolder, megabytes: float, part_megabytes: float) -> tuple[list[Receipt], int]:
    """Parts of the file's texts; returns their receipts and the bytes of text."""
    receipts: list[Receipt] = []
    documents: list[str] = []
    first = size = total = 0
    for text in texts(path, megabytes * 1e6):
        documents.append(text)
        size += len(text.encode())
        if size >= part_megabytes * 1e6:
            receipts.append(Target(folder, len(receipts), "bench").write_work(table(documents, first)))
            first, total, size = first + len(documents), total + size, 0
            documents.clear()
    if documents:
        receipts.append(Target(folder, len(receipts), "bench").write_work(table(documents, first)))
    return receipts, total + size


def shard_of(number: int, of: int) -> Shard:
    """One of ``of`` equal ranges of hashes."""
    return Shard(SEQ_LEN, number, of, (((number << 64) // of, ((number + 1) << 64) // of - 1),), 0, (), True)


def measure(path: Path, backend: Any, megabytes: float, part_megabytes: float, shards: int) -> dict[str, Any]:
    """Core seconds of every step, the peak memory of this process, and a digest of the shards."""
    with tempfile.TemporaryDirectory() as name:
        source, scatter, packed, scanned = (StageFolder(Path(name) / stage) for stage in ("filter", "scatter", "tokens", "scan"))
        warm = Target(StageFolder(Path(name) / "warm"), 0, "bench").write_work(table(["甲。"], 0))
        receipts, size = write_parts(path, source, megabytes, part_megabytes)
        spent = [time.process_time()]
        tokenizer = load("deepseek")
        key = TokenizerKey("deepseek", tokenizer.digest, backend, "qwen")
        control = Control(tokenizer.digest, tokenizer.eos_id, tokenizer.pad_id, None)
        scatter_part(Target(scatter, 0, "warm"), StageFolder(Path(name) / "warm"), warm.entry(), key, FRAMING)
        files.write_json(scatter.path / "manifest.json", make_manifest("scatter", "", "", [scatter.receipt(0)]))  # type: ignore[list-item]
        shard = pack_shard(Target(packed, 0, "warm"), scatter, shard_of(0, 1), 0, control)
        scan_key = TokenizerKey("deepseek", tokenizer.digest, "reference", "qwen")
        scan_shard(Target(scanned, 0, "warm"), packed, shard.entry(), scan_key, ("ID_CARD", "BANK_CARD", "MOBILE", "USCC"))
        spent.append(time.process_time())
        parts = [scatter_part(Target(scatter, r.number, "bench"), source, r.entry(), key, FRAMING) for r in receipts]
        files.write_json(scatter.path / "manifest.json", make_manifest("scatter", "", "", parts))
        spent.append(time.process_time())
        made = [pack_shard(Target(packed, n, "bench"), scatter, shard_of(n, shards), 0, control) for n in range(shards)]
        spent.append(time.process_time())
        peak = peak_rss()
        for shard in made:
            scan_shard(
                Target(scanned, shard.number, "bench"),
                packed,
                shard.entry(),
                scan_key,
                ("ID_CARD", "BANK_CARD", "MOBILE", "USCC"),
            )
        spent.append(time.process_time())
    steps = dict(zip(("load", "scatter", "pack", "scan"), (b - a for a, b in pairwise(spent)), strict=True))
    return {
        "megabytes": size / 1e6,
        "steps": steps,
        "peak": peak / (1 << 20),
        "fallbacks": sum(part.tallies["tokenizer.fallback"] for part in parts),
        "sha256": hashlib.sha256("".join(shard.sha256 for shard in made).encode()).hexdigest(),
    }


def main() -> None:
    """One process a backend, then both side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=30)
    parser.add_argument("--part", type=float, default=30)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--backend", choices=["auto", "reference"], help="measure this one only and print JSON")
    given = parser.parse_args()
    if given.backend:
        print(json.dumps(measure(given.file, given.backend, given.megabytes, given.part, given.shards)))
        return
    digests = set()
    for backend in ("reference", "auto"):
        command = [sys.executable, *sys.argv, "--backend", backend]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        size, steps = found["megabytes"], found["steps"]
        both = size / (steps["scatter"] + steps["pack"])
        rates = ", ".join(f"{name} {size / steps[name]:.1f}" for name in ("scatter", "pack", "scan"))
        print(f"{backend:<10} {size:.1f} MB: tokenise and write {both:.1f} MB/s per core ({rates})")
        print(
            f"{'':<10} loading {steps['load']:.1f} core-s; peak {found['peak']:.0f} MiB; fallen back: {found['fallbacks']} parts"
        )
        digests.add(found["sha256"])
    print("shards are byte for byte equal" if len(digests) == 1 else "SHARDS DIFFER")


if __name__ == "__main__":
    main()
