"""Benchmarks on disk: their own files, and indexes of them that hold hashes only."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from lexmill.config import BenchmarkFields
from lexmill.core.contamination.index import INDEX, Benchmark, Index, build, units_of
from lexmill.core.contamination.items import Item, read_items
from lexmill.core.ingest.items import Row
from lexmill.core.ingest.jsonl import read_jsonl
from lexmill.core.ingest.table import read_table
from lexmill.errors import ConfigError
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest

_INDEX = ".parquet"
_TABLES = (".csv", ".tsv")
SUFFIXES = (".json", ".jsonl", *_TABLES, _INDEX)
_FORMAT = 1


def find(paths: Sequence[str]) -> list[Path]:
    """The benchmark files that paths and folders name, in order of name; raises ConfigError, with every fault at once."""
    found: list[Path] = []
    faults = []
    for path in map(Path, paths):
        inside = sorted(file for file in path.rglob("*") if file.suffix.casefold() in SUFFIXES) if path.is_dir() else [path]
        if not path.exists():
            faults.append(f"decontaminate.benchmarks: {path}: no such file or folder")
        elif not inside or inside[0].suffix.casefold() not in SUFFIXES:
            faults.append(f"decontaminate.benchmarks: {path}: no benchmark; give {' '.join(SUFFIXES)} files or a folder of such")
        else:
            found += inside
    if faults:
        raise ConfigError("\n".join(faults))
    return list(dict.fromkeys(found))


def check(paths: Sequence[str], fields: BenchmarkFields) -> None:
    """Raise ConfigError, with every fault at once, for benchmarks that cannot be read."""
    read(find(paths), fields)


def digests(paths: Sequence[Path]) -> list[str]:
    """sha256 of every file."""
    return [file_digest(path) for path in paths]


def read(paths: Sequence[Path], fields: BenchmarkFields) -> tuple[list[Benchmark], pa.Table]:
    """Benchmarks and units (INDEX schema) of benchmark files and indexes; raises ConfigError, with every fault at once."""
    benchmarks: list[Benchmark] = []
    tables = [INDEX.empty_table()]
    faults = []
    for path in paths:
        try:
            found, units = _read_index(path) if path.suffix.casefold() == _INDEX else _read_file(path, fields)
        except ConfigError as error:
            faults.append(str(error))
            continue
        numbers = pa.array(units["benchmark"].to_numpy() + len(benchmarks), pa.int32())
        tables.append(units.set_column(0, INDEX.field("benchmark"), numbers))
        benchmarks += found
    if faults:
        raise ConfigError("\n".join(faults))
    return benchmarks, pa.concat_tables(tables)


def _read_file(path: Path, fields: BenchmarkFields) -> tuple[list[Benchmark], pa.Table]:
    data = path.read_bytes()
    items = list(_items(path, data, fields))
    if not items:
        raise ConfigError(
            f"decontaminate.benchmarks: {path}: no question is found in it; name its fields in [decontaminate.fields]"
        )
    units = units_of(items, 0)
    known = units.filter(pa.array([len(grams) > 0 for grams in units["grams"].to_pylist()], pa.bool_()))
    short = len(items) - len(set(known["item"].to_pylist()))
    return [Benchmark(path.name, hashlib.sha256(data).hexdigest(), len(items), short)], units


def _items(path: Path, data: bytes, fields: BenchmarkFields) -> Iterator[Item]:
    rows = read_table(data) if path.suffix.casefold() in _TABLES else read_jsonl(data, 0)
    for row in rows:
        if isinstance(row, Row):
            yield from read_items(row.value, fields)


def as_index(benchmarks: Sequence[Benchmark], units: pa.Table) -> pa.Table:
    """Units with the benchmarks in the footer: hashes, lengths, names and item numbers, and no text."""
    footer = {"format": _FORMAT, "benchmarks": [benchmark._asdict() for benchmark in benchmarks]}
    return units.replace_schema_metadata({"lexmill": json.dumps(footer, sort_keys=True, ensure_ascii=False)})


def write_index(path: Path, benchmarks: Sequence[Benchmark], units: pa.Table, mode: int) -> str:
    """Write an index file, as a run file may name it; returns its sha256."""
    table = as_index(benchmarks, units)
    with files.parquet(path, table.schema, mode) as (writer, out):
        writer.write_table(table)
    return out.sha256


def _read_index(path: Path) -> tuple[list[Benchmark], pa.Table]:
    try:
        table = files.read_columns(path)
        footer = json.loads((table.schema.metadata or {})[b"lexmill"])
        if footer["format"] != _FORMAT or not table.schema.equals(INDEX):
            raise ValueError
        return [Benchmark(**benchmark) for benchmark in footer["benchmarks"]], table
    except (DamagedFile, OSError, KeyError, TypeError, ValueError):
        raise ConfigError(
            f"decontaminate.benchmarks: {path}: is no index of this version; make one with `lexmill benchmark-index`"
        ) from None


def load_index(path: Path, sha256: str) -> Index:
    """The index of a file with this digest; raises DamagedFile."""
    if file_digest(path) != sha256:
        raise DamagedFile(f"{path.parent.name}/{path.name} is damaged (its sha256 is not the recorded one)")
    return build(*_read_index(path))


def read_keys(path: Path, sha256: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """The column ``key`` of a part of a step of stage decontaminate."""
    return files.read_table(path, sha256, KEYS)["key"].to_numpy()


KEYS = pa.schema([("key", pa.uint64())])
