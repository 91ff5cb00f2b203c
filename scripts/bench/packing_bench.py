"""Best-fit packing against concatenate-and-chop over files of `{source, text}` lines: sequences, padding, documents cut.

    .venv/bin/python scripts/bench/packing_bench.py FILE.jsonl[.zst] ... [--megabytes 40] [--seq-lens 2048 4096 8192]

The first `--megabytes` (10^6 bytes of UTF-8 text) of every file are tokenised with the default vocabulary and put in the order
of a hash, as the shards have them. "best-fit" is what stage tokenize does: documents longer than the window are cut at segments,
else at sentences, else at tokens, then packed best-fit-decreasing. "chop" writes the same tokens one after the other and cuts
wherever a window ends. A document counts as cut needlessly if it would have fitted into one window.
"""

import argparse
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard

from lexmill import rules
from lexmill.core.structure.segment import segment
from lexmill.core.tokens.cutting import KINDS, Cut, cut, find_places
from lexmill.core.tokens.ids import shard_key
from lexmill.core.tokens.packing import divide, pack
from lexmill.core.tokens.tokenizer import load, parity_sample
from lexmill.schema import DOC_TYPES


def documents(path: Path, size: float) -> Iterator[tuple[str, str]]:
    """(type, text) of the file's documents, up to ``size`` bytes; the type is the part of the source before - _ or /."""
    with path.open("rb") as raw:
        lines: Any = zstandard.ZstdDecompressor().stream_reader(raw) if path.suffix == ".zst" else raw
        for line in io.TextIOWrapper(lines, encoding="utf-8"):
            record = json.loads(line)
            kind = record["source"].replace("_", "-").replace("/", "-").partition("-")[0]
            yield kind if kind in DOC_TYPES else "judgment", record["text"]
            size -= len(record["text"].encode())
            if size <= 0:
                return


def main() -> None:
    """Tokenise once, pack both ways at every length, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--seq-lens", type=int, nargs="+", default=[2048, 4096, 8192])
    given = parser.parse_args()
    found = [document for path in given.files for document in documents(path, given.megabytes * 1e6)]
    found = [found[n] for n in sorted(range(len(found)), key=lambda n: shard_key(f"{n:032x}", 0))]
    texts = pa.array([text for _, text in found], pa.string())
    tokenizer = load("deepseek", "auto")
    sizes = np.array([len(text.encode()) for _, text in found], np.int64)
    encoded = tokenizer.encode_proved(texts, parity_sample(sizes, 0))
    lengths = np.diff(encoded.tokens.offsets) + 1  # end-of-text
    print(f"{len(found):,} documents, {sizes.sum() / 1e6:.1f} MB, {lengths.sum():,} tokens, {lengths.mean():.0f} a document")

    shortest, rule_set = min(given.seq_lens), rules.load().segment
    cuts: dict[int, dict[int, list[Cut]]] = {seq_len: {} for seq_len in given.seq_lens}
    for n in np.flatnonzero(lengths > shortest).tolist():
        kind, text = found[n]
        starts = [part.start for part in segment(text, kind, rule_set)[1:]]
        places = find_places(text, starts, tokenizer.char_starts(encoded.tokens.document(n), text))
        for seq_len in given.seq_lens:
            cuts[seq_len][n] = cut(places, seq_len, 0, 1, 0)

    chars = np.array([len(text) for _, text in found], np.int64)
    ends = np.cumsum(lengths)
    print("| window | way | sequences | padding | documents cut | of them needlessly | cuts at segments, sentences, tokens |")
    print("|---|---|---|---|---|---|---|")
    for seq_len in given.seq_lens:
        flat = [each for n in range(len(found)) for each in cuts[seq_len].get(n, [])]
        upto = np.concatenate([[0], np.cumsum([len(cuts[seq_len].get(n, [])) for n in range(len(found))])]).astype(np.int64)
        pieces = divide(
            lengths,
            chars,
            np.zeros(len(found), np.int32),
            upto,
            np.array([each.token for each in flat], np.int32),
            np.array([each.char for each in flat], np.int32),
        )
        pack(pieces, seq_len)
        started = time.process_time()
        packing = pack(pieces, seq_len)
        spent = time.process_time() - started
        kinds = np.bincount([each.kind for each in flat], minlength=len(KINDS))
        shares = " / ".join(f"{100 * number / max(1, len(flat)):.1f} %" for number in kinds)
        long = int(np.count_nonzero(lengths > seq_len))
        print(
            f"| {seq_len} | best-fit | {packing.n_sequences:,} | {packing.padding_share(seq_len):.2%} | "
            f"{packing.n_cut:,} ({packing.n_cut / len(found):.1%}) | {packing.n_cut - long:,} | {shares} |"
        )
        n_chopped = -(-int(ends[-1]) // seq_len)
        apart = (ends - lengths) // seq_len != (ends - 1) // seq_len
        needless = int(np.count_nonzero(apart & (lengths <= seq_len)))
        padding = 1 - int(ends[-1]) / (n_chopped * seq_len)
        print(
            f"| {seq_len} | chop | {n_chopped:,} | {padding:.2%} | {int(apart.sum()):,} ({apart.mean():.1%}) | {needless:,} | "
            f"0 / 0 / 100 % |"
        )
        print(f"<!-- packed {len(pieces.doc) / max(spent, 1e-9):,.0f} pieces a core-second -->")


if __name__ == "__main__":
    main()
