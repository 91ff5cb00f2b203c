"""Read files as ingest does, in one process: MB/s per core of reading, of hygiene, of metadata and of segments, and peak memory.

    .venv/bin/python scripts/bench/ingest_bench.py PATH... [--doc-type auto] [--seconds 5]

A PATH is a file or a folder. MB are 10^6 bytes of what came in as UTF-8: the bytes of a file that is text, decoded and encoded
again, else the text of its records. Core seconds are user + system time of this process. Files are read again and again until
``--seconds`` are full, so that the rates of a few small files hold; rules are loaded before.
"""

import argparse
import resource
from collections.abc import Iterator
from pathlib import Path

from lexmill import rules
from lexmill.config import Fields, Ingest, Source
from lexmill.core.ingest.decode import decode
from lexmill.core.ingest.hygiene import clean
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import BadRecord, Record
from lexmill.core.structure.doctype import guess
from lexmill.core.structure.metadata import metadata
from lexmill.core.structure.segment import segment
from lexmill.jobs.reading import Extent, Reading, format_in
from lexmill.store.convert import installed_converters
from lexmill.store.memory import peak_rss
from lexmill.store.raw import ContentDigest, compression_of, read_file

TEXT = frozenset({"jsonl", "json", "csv", "tsv", "txt", "md", "html"})


def core_seconds() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def extents(paths: list[Path], source: Source) -> Iterator[Extent]:
    """All files below the paths, each whole."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                yield Extent(str(file), file.stat().st_size, format_in(source, file.name), compression_of(file.name), 0, -1)


def size_as_utf8(extent: Extent, limits: Limits, records: list[Record]) -> int:
    """Bytes of a file as UTF-8, or those of its texts."""
    if extent.fmt in TEXT:
        data = read_file(extent.uri, extent.compression, extent.size, limits)
        return len(decode(data).text.encode()) if extent.fmt != "jsonl" or extent.size < 1 << 20 else len(data)
    return sum(len(record.text.encode()) for record in records)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="+", type=Path)
    parser.add_argument("--doc-type", default="auto")
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()

    book = rules.load()
    source = Source.model_construct(
        name="bench", doc_type=arguments.doc_type, paths=("-",), format=None, records=None, query=None, fields=Fields()
    )
    limits = Limits.of(Ingest(max_file_mb=1024))
    todo = list(extents(arguments.path, source))
    converters = installed_converters()
    n_in = n_documents = n_bad = 0
    used = dict.fromkeys(("read", "hygiene", "metadata", "segments"), 0.0)
    is_first = True
    while is_first or sum(used.values()) < arguments.seconds:
        for extent in todo:
            reading = Reading(source, limits, converters, ContentDigest())
            start = core_seconds()
            records = [record for _, record in reading.records(extent)]
            at = core_seconds()
            used["read"] += at - start
            sound = [record for record in records if not isinstance(record, BadRecord)]
            n_bad += len(records) - len(sound)
            n_documents += len(sound)
            start = core_seconds()
            cleaned = [(record, clean(record.text, book.ingest).text) for record in sound]
            at = core_seconds()
            used["hygiene"] += at - start
            start = core_seconds()
            kinds = []
            for record, text in cleaned:
                kind = guess(text) if source.doc_type == "auto" else source.doc_type
                metadata(text, kind, record.title, record.given, "CN")
                kinds.append(kind)
            at = core_seconds()
            used["metadata"] += at - start
            start = at
            for (_, text), kind in zip(cleaned, kinds, strict=True):
                segment(text, kind, book.segment)
            used["segments"] += core_seconds() - start
            n_in += size_as_utf8(extent, limits, sound)
        is_first = False

    megabytes = n_in / 1e6
    peak = peak_rss() / (1 << 20)
    print(f"{len(todo)} files, {n_documents} documents, {n_bad} refused, {megabytes:.1f} MB read (some more than once)")
    for name, seconds in used.items():
        print(f"{name:10} {seconds:7.2f} core-s {megabytes / seconds:8.1f} MB/s per core")
    asked = sum(used[name] for name in ("read", "hygiene", "metadata"))
    print(f"{'first three':10} {asked:6.2f} core-s {megabytes / asked:8.1f} MB/s per core")
    print(f"peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()
