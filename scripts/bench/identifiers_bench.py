"""Print how fast identifiers are looked for, and how much of that the parts of the scan take.

    .venv/bin/python scripts/bench/identifiers_bench.py FILE.jsonl[.zst] …

A line is `{"text"}`. MB are 10^6 bytes of UTF-8 text; seconds are user + system time of this process, the best of three.
"""

import argparse
import io
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import zstandard

from lexmill import rules
from lexmill.core.deid.identifiers import IdentifierScanner
from lexmill.core.deid.words import ID_CUE
from lexmill.core.deid.zones import ZoneScanner
from lexmill.store.memory import peak_rss


def read(path: Path) -> list[str]:
    """The texts of a file."""
    raw: Any = path.open("rb")
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().stream_reader(raw)
    return [json.loads(line)["text"] for line in io.TextIOWrapper(raw, encoding="utf-8")]


def rate(texts: Sequence[str], work: Callable[[], Any]) -> float:
    """MB a second of processor time."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return size / best


def report(path: Path, zone_scanner: ZoneScanner, whole: IdentifierScanner, without: IdentifierScanner) -> None:
    """Measure one file."""
    texts = read(path)
    zones = [zone_scanner.scan(text) for text in texts]

    def scan(scanner: IdentifierScanner) -> int:
        return sum(len(scanner.find(text, zone)) for text, zone in zip(texts, zones, strict=True))

    rates = {
        "whole": rate(texts, lambda: scan(whole)),
        "without certificates": rate(texts, lambda: scan(without)),
        "candidates alone": rate(texts, lambda: [whole._runs.find(zone.hits.codes, zone.hits.array(ID_CUE)) for zone in zones]),
        "zones": rate(texts, lambda: [zone_scanner.scan(text) for text in texts]),
    }
    print(f"{path.name}: {len(texts):,} texts, {sum(map(len, texts)):,} characters, {scan(whole):,} found")
    for name, value in rates.items():
        print(f"  {name:<24}{value:8.1f} MB/s per core")


def main() -> None:
    """Measure every file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    book = rules.load().deid
    zone_scanner = ZoneScanner(book)
    without = IdentifierScanner(book.model_copy(update={"certificate": ()}))
    whole = IdentifierScanner(book)
    for path in parser.parse_args().files:
        report(path, zone_scanner, whole, without)
    print(f"peak memory {peak_rss() / (1 << 20):.0f} MB")


if __name__ == "__main__":
    main()
