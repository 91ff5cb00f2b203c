"""What is in a release: a sequence with its documents, and tokens by source and type."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill.core.release.body import mixed
from lexmill.core.tokens.ids import low63
from lexmill.core.tokens.tokenizer import Tokenizer
from lexmill.errors import InputError
from lexmill.store import files
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import Releases

_BATCH = 64  # sequences decoded from Parquet at a time


@dataclass(frozen=True)
class Piece:
    """A piece of a sequence: its document, tokens and characters as (start, end), and its text, a repeated heading apart."""

    doc_id: str
    title: str | None
    source: str
    doc_type: str
    repeat: int
    tokens: tuple[int, int]
    chars: tuple[int, int]
    heading: str
    text: str


def find(path: Path) -> Path:
    """The folder of a release: that itself, or the newest one of a folder of releases or a workspace. Raises InputError."""
    for folder in (path, path / "releases"):
        latest = Releases(folder).latest()
        if latest is not None:
            return latest
    if not (path / "manifest.json").is_file():
        raise InputError(f"{path}: no release; give the folder of one, or a workspace")
    return path


def read_sequence(
    release: Path, manifest: Mapping[str, Any], seq_len: int | None, number: int, tokenizer: Tokenizer
) -> list[Piece]:
    """The pieces of sequence ``number``, counted from 0 over the shards of one window length.

    Raises InputError where there is none, or where the vocabulary is not the release's.
    """
    if tokenizer.digest != manifest["tokenizer"]["sha256"]:
        raise InputError(f"the release was made with another vocabulary than {tokenizer.name}; give its file as --tokenizer")
    shards = [shard for shard in manifest["shards"] if shard["seq_len"] == seq_len]
    left = number
    for shard in shards:
        if left < shard["rows"]:
            return _pieces(release, manifest, _row(_checked(release, shard), left), tokenizer)
        left -= shard["rows"]
    raise InputError(f"there is no sequence {number}: those of this window length are 0 to {number - left - 1}")


def _checked(release: Path, entry: Mapping[str, Any]) -> Path:
    path = release / str(entry["path"])
    if not path.is_file() or file_digest(path) != entry["sha256"]:
        raise InputError(f"{entry['path']} is missing or damaged (its sha256 is not the recorded one)")
    return path


def _row(path: Path, number: int) -> dict[str, Any]:
    with files.open_parquet(path) as shard:
        for batch in shard.iter_batches(batch_size=_BATCH):
            if number < batch.num_rows:
                return dict(batch.slice(number, 1).to_pylist()[0])
            number -= batch.num_rows
    raise InputError(f"{path.name} has fewer rows than its manifest says: it is damaged")


def _pieces(release: Path, manifest: Mapping[str, Any], row: Mapping[str, Any], tokenizer: Tokenizer) -> list[Piece]:
    known = _documents(release, manifest, set(row["doc_ids"]))
    pieces, at = [], 0
    names = ("doc_ids", "doc_lens", "head_lens", "char_starts", "char_ends", "repeats", "sources", "doc_types")
    for short, length, head, start, end, repeat, source, doc_type in zip(*(row[name] for name in names), strict=True):
        doc_id, title = known.get(short, (f"(ends in {short:016x})", None))
        ids = row["input_ids"][at : at + length]
        heading, text = tokenizer.decode(ids[:head]), tokenizer.decode(ids[head:])
        pieces.append(Piece(doc_id, title, source, doc_type, repeat, (at, at + length), (start, end), heading, text))
        at += length
    return pieces


def _documents(release: Path, manifest: Mapping[str, Any], short_ids: set[int]) -> dict[int, tuple[str, str | None]]:
    """doc_id and title by short id."""
    found = {}
    for entry in manifest["text"]:
        for doc_id, title in _titles(files.read_columns(_checked(release, entry), columns=["doc_id", "title"])):
            if low63(doc_id) in short_ids:
                found[low63(doc_id)] = (doc_id, title)
    return found


def _titles(table: pa.Table) -> Iterator[tuple[str, str | None]]:
    return zip(table["doc_id"].to_pylist(), table["title"].to_pylist(), strict=True)


def token_rows(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Documents, characters and tokens (copies included), share, epochs and characters a token, by source and type."""
    return [
        {
            "source": group.rpartition("/")[0],
            "doc_type": group.rpartition("/")[2],
            **row,
            "chars_per_token": round(row["chars"] / row["tokens"], 3) if row["tokens"] else None,
        }
        for group, row in mixed(manifest["sets"])["groups"].items()
    ]
