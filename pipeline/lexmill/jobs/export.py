"""Write a release in another trainer's layout; what is read is checked against the release's manifest first."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import orjson
import pyarrow as pa

from lexmill.core.export import llamafactory, megatron
from lexmill.errors import ConfigError, InputError
from lexmill.store import files
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import read_manifest

Layout = Literal["megatron", "pretrain", "alpaca"]
LAYOUTS: tuple[Layout, ...] = ("megatron", "pretrain", "alpaca")

_ROWS = 256  # sequences or documents held at a time
_TEXT_COLUMNS = ["text", "doc_type", "segments"]


def export(release: Path, layout: Layout, out: Path, seq_len: int | None) -> dict[str, int]:
    """Write ``release`` into the folder ``out``; returns how many records of each kind, and how many documents gave none.

    ``megatron`` writes the pieces of the shards of one window length; the others the text. Raises InputError where there is no
    release or a file of it is damaged, ConfigError where the window length must be named.
    """
    manifest = read_manifest(release)
    if layout == "megatron":
        return _megatron(release, manifest, out, seq_len)
    return _jsonl(release, manifest, out, layout)


def _checked(release: Path, entry: Mapping[str, Any]) -> Path:
    path = release / str(entry["path"])
    if not path.is_file():
        raise InputError(f"{entry['path']}: is missing from the release")
    if file_digest(path) != entry["sha256"]:
        raise InputError(f"{entry['path']}: is damaged (its sha256 is not the recorded one)")
    return path


def _megatron(release: Path, manifest: Mapping[str, Any], out: Path, seq_len: int | None) -> dict[str, int]:
    lengths = sorted({entry["seq_len"] for entry in manifest["shards"] if entry["seq_len"]})
    if seq_len is None and len(lengths) == 1:
        seq_len = lengths[0]
    if seq_len not in lengths:
        raise ConfigError(f"--seq-len: name one of the release's window lengths: {', '.join(map(str, lengths))}")
    index = megatron.Index()
    with files.atomic(out / "lexmill.bin", 0o644) as stream:
        for entry in manifest["shards"]:
            if entry["seq_len"] == seq_len:
                for batch in _batches(_checked(release, entry)):
                    stream.write(index.add(batch))
    files.write_bytes(out / "lexmill.idx", index.to_bytes(), 0o644)
    return {"pieces": sum(sizes.size for sizes in index.sizes), "tokens": int(sum(sizes.sum() for sizes in index.sizes))}


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    with files.open_parquet(path) as file:
        yield from file.iter_batches(_ROWS, columns=columns, use_threads=False)


def _jsonl(release: Path, manifest: Mapping[str, Any], out: Path, layout: Layout) -> dict[str, int]:
    records: Callable[[Mapping[str, Any]], Iterator[dict[str, str]]]
    records, columns = (
        (llamafactory.pretrain, llamafactory.PRETRAIN) if layout == "pretrain" else (llamafactory.alpaca, llamafactory.ALPACA)
    )
    counted: dict[str, int] = {}
    with files.atomic(out / f"{layout}.jsonl", 0o644) as stream:
        for entry in manifest["text"]:
            for batch in _batches(_checked(release, entry), _TEXT_COLUMNS):
                for row in batch.to_pylist():
                    found = list(records(row))
                    for record in found:
                        stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
                    kind = row["doc_type"] if found else "without a question and an answer"
                    counted[kind] = counted.get(kind, 0) + max(1, len(found))
    files.write_json(out / "dataset_info.json", llamafactory.info({layout: columns}), 0o644)
    return dict(sorted(counted.items()))
