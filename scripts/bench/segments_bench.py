"""Cut documents into segments, find their citations, and print MB/s per core and peak memory by document type.

    .venv/bin/python scripts/bench/segments_bench.py FILE.jsonl[.zst] ...

Files hold `{source, text}` lines; the document type is the part of the source, or of the file's name, before the first dash or
underscore. MB are 10^6 bytes of UTF-8 text; core seconds are user + system time of this process, the best of three passes.
"""

import argparse
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import zstandard

from lexmill import rules
from lexmill.core.structure.citations import find
from lexmill.core.structure.segment import segment
from lexmill.schema import DOC_TYPES
from lexmill.store.memory import peak_rss

_PASSES = 3
_MOST = 30_000_000


def _lines(path: Path) -> IO[str]:
    raw: Any = path.open("rb")
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().stream_reader(raw)
    return io.TextIOWrapper(raw, encoding="utf-8")


def read(paths: list[Path]) -> dict[str, list[str]]:
    """Texts by document type, at most 30 MB of each."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    sizes: defaultdict[str, int] = defaultdict(int)
    for path in paths:
        with _lines(path) as lines:
            for line in lines:
                record = json.loads(line)
                names = (name.replace("_", "-").partition("-")[0] for name in (record["source"], path.name))
                kind = next((name for name in names if name in DOC_TYPES), "judgment")
                if sizes[kind] < _MOST:
                    texts[kind].append(record["text"])
                    sizes[kind] += len(record["text"].encode())
    return texts


def rate(texts: list[str], work: Callable[[str], object]) -> float:
    """MB/s per core of ``work`` over ``texts``."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    best = float("inf")
    for _ in range(_PASSES):
        begin = time.process_time()
        for text in texts:
            work(text)
        best = min(best, time.process_time() - begin)
    return size / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    texts = read(parser.parse_args().files)
    book = rules.load()
    print(f"{'type':<10} {'documents':>9} {'MB':>6} {'segments MB/s':>14} {'citations MB/s':>15}")
    for kind, found in sorted(texts.items()):
        size = sum(len(text.encode()) for text in found) / 1e6
        cut = rate(found, lambda text, kind=kind: segment(text, kind, book.segment))  # type: ignore[misc]
        cited = rate(found, lambda text: find(text, book.statutes))
        print(f"{kind:<10} {len(found):>9,} {size:>6.1f} {cut:>14.1f} {cited:>15.1f}")
    print(f"peak memory {peak_rss() / (1 << 20):.0f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
