"""Print how fast de-identification is on one core, through Presidio's engine, and what of it takes how long.

    .venv/bin/python scripts/bench/deid_bench.py FILE.jsonl[.zst] [--megabytes 3] [--doc-type judgment]

A line is `{"text"}`. MB are 10^6 bytes of UTF-8 text; seconds are user + system time of this process, the best of three passes.
"detect" is one call of `AnalyzerEngine.analyze` a text with the zones and the model; "mask" also chooses surrogates, puts them
in and looks again. Memory is the peak of this process, which is what a worker needs for it.
"""

import argparse
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zstandard

from lexmill.core.deid.mask import mask
from lexmill.core.deid.recognizers import LANGUAGE
from lexmill.jobs.resources import installed_detector, load_tagger
from lexmill.store.memory import peak_rss


def read(path: Path, size: float) -> list[str]:
    """The first texts of the file, ``size`` bytes in all."""
    raw: Any = path.open("rb")
    if path.suffix == ".zst":
        raw = zstandard.ZstdDecompressor().stream_reader(raw)
    found = []
    for line in io.TextIOWrapper(raw, encoding="utf-8"):
        found.append(json.loads(line)["text"])
        size -= len(found[-1].encode())
        if size <= 0:
            break
    return found


def seconds(texts: list[str], work: Callable[[str], Any]) -> float:
    """Processor time over all texts, the best of three passes."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for text in texts:
            work(text)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=3)
    parser.add_argument("--doc-type", default="judgment")
    parser.add_argument("--policy", default="train-strict")
    arguments = parser.parse_args()
    detector = installed_detector(arguments.policy)
    tagger = load_tagger()
    texts = read(arguments.file, arguments.megabytes * 1e6)
    size = sum(len(text.encode()) for text in texts) / 1e6
    engine = detector.engine
    detector.detect(texts[0], arguments.doc_type)
    print(f"{arguments.file.name}: {len(texts):,} texts, {size:.1f} MB, MB/s of one core")
    print(f"{'detect':<28}{size / seconds(texts, lambda text: detector.detect(text, arguments.doc_type)):8.1f}")
    print(f"{'mask':<28}{size / seconds(texts, lambda text: mask(text, arguments.doc_type, detector)):8.1f}")
    print(f"{'model':<28}{size / seconds(texts, lambda text: tagger.decode(text, 1.0)):8.1f}")
    artifacts = {text: engine.nlp_engine.process_text(text, LANGUAGE) for text in texts}
    for value in artifacts.values():
        len(value.mentions)
    for recognizer in engine.registry.recognizers:
        spent = seconds(texts, lambda text, one=recognizer: one.analyze(text, [], artifacts[text]))  # type: ignore[misc]
        print(f"{type(recognizer).__name__:<28}{size / max(spent, 1e-9):8.1f}")
    print(f"peak memory: {peak_rss() / (1 << 20):.0f} MiB")


if __name__ == "__main__":
    main()
