"""Read a release in PyTorch: every sequence once an epoch over all ranks, whatever the workers, and resume at any batch.

A rank reads the shards whose number is ``rank`` modulo ``world_size``, in an order that seed and epoch decide. A batch of a rank
is the same whether 0 or 8 workers make it: a worker makes the batches whose number is its own modulo their number, which is the
order in which ``DataLoader`` asks for them. So a state is two numbers, the epoch and how many batches were taken.

::

    loader = Loader("releases/2026-11-30-…", seq_len=4096, batch_size=8, rank=3, world_size=16, workers=2)
    for batch in loader:            # input_ids, labels, position_ids, document_ids: int64 (batch, seq_len)
        ...
        checkpoint["data"] = loader.state_dict()
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import orjson
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

IGNORED = -100  # the label that torch's cross entropy leaves out

_COLUMNS = ("input_ids", "doc_lens", "head_lens", "n_pad")


def _opened(place: str) -> Any:
    """A file of a release, by path or URL: opened anew each time, as what fetches it does not outlive a fork."""
    if "://" not in place:
        return Path(place).open("rb")
    system, path = fsspec.core.url_to_fs(place)
    return system.open(path, "rb", cache_type="none")


def _parquet(place: str) -> pq.ParquetFile:
    return pq.ParquetFile(_opened(place), pre_buffer=True) if "://" in place else pq.ParquetFile(place)


def _shards(release: str, seq_len: int) -> tuple[list[tuple[str, int]], int]:
    """((path or URL, sequences) of every shard of a window length, the padding token)."""
    with _opened(f"{release}/manifest.json") as file:
        manifest = orjson.loads(file.read())
    found = [(f"{release}/{entry['path']}", int(entry["rows"])) for entry in manifest["shards"] if entry["seq_len"] == seq_len]
    if not found:
        lengths = sorted({entry["seq_len"] for entry in manifest["shards"] if entry["seq_len"]})
        raise ValueError(f"no shards of {seq_len} tokens in this release; there are {lengths}")
    tokenizer = manifest["tokenizer"] if "tokenizer" in manifest else manifest["sets"][0]["tokenizer"]
    return sorted(found), int(tokenizer["pad_id"])


class Shards(IterableDataset[dict[str, torch.Tensor]]):
    """The sequences of one rank, from sequence ``start`` of its epoch on; see ``Loader``, which counts and resumes.

    Each item holds int64 tensors of ``seq_len``: ``input_ids``; ``labels``, the same with padding and repeated headings as -100;
    ``position_ids``, which begin at 0 with every document; ``document_ids``, the piece's number in its sequence, -1 for padding.
    """

    def __init__(self, release: str | Path, seq_len: int, batch_size: int, rank: int, world_size: int, seed: int) -> None:
        shards, self._pad_id = _shards(str(release).rstrip("/"), seq_len)
        if not 0 <= rank < world_size:
            raise ValueError("0 <= rank < world_size")
        if len(shards) % world_size:
            raise ValueError(
                f"{len(shards)} shards do not divide by {world_size} ranks; set tokenize.dp_width to a multiple of it"
            )
        sizes = [sum(rows for _, rows in shards[first::world_size]) for first in range(world_size)]
        if len(set(sizes)) > 1:
            raise ValueError("ranks would read unequal numbers of sequences; `lexmill reshuffle` makes one even set")
        self._shards = shards[rank::world_size]
        self._batch_size = batch_size
        self._seed = seed
        self.n_sequences = sizes[rank]
        self.epoch = 0
        self.start = 0

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        # A worker is asked for every n-th batch, counted from where this epoch was taken up.
        at = 0
        for path, group, order in self._groups():
            if at + len(order) <= self.start:
                at += len(order)
                continue
            mine = [
                (number, row)
                for number, row in enumerate(order, start=at)
                if number >= self.start and (number - self.start) // self._batch_size % workers == worker
            ]
            at += len(order)
            if mine:
                table = _parquet(path).read_row_group(group, columns=list(_COLUMNS), use_threads=False)
                for _, row in mine:
                    yield self._item({name: table[name][int(row)] for name in _COLUMNS})

    def _groups(self) -> Iterator[tuple[str, int, NDArray[np.int64]]]:
        """(shard, row group, its rows in the order to read them), in this epoch's order."""
        found = []
        for path, _ in self._shards:
            metadata = _parquet(path).metadata
            found += [(path, group, metadata.row_group(group).num_rows) for group in range(metadata.num_row_groups)]
        random = np.random.default_rng((self._seed, self.epoch))
        for number in random.permutation(len(found)):
            path, group, rows = found[number]
            yield path, group, random.permutation(rows)

    def _item(self, row: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        ids = row["input_ids"].values.to_numpy().astype(np.int64)
        lengths = row["doc_lens"].values.to_numpy()
        heads = row["head_lens"].values.to_numpy()
        used = len(ids) - row["n_pad"].as_py()
        document = np.full(len(ids), -1, np.int64)
        position = np.zeros(len(ids), np.int64)
        document[:used] = np.repeat(np.arange(len(lengths)), lengths)
        begins = np.cumsum(lengths) - lengths
        position[:used] = np.arange(used) - np.repeat(begins, lengths)
        labels = ids.copy()
        labels[used:] = IGNORED
        labels[:used][position[:used] < np.repeat(heads, lengths)] = IGNORED
        arrays = {"input_ids": ids, "labels": labels, "position_ids": position, "document_ids": document}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


class Loader:
    """Batches of one rank; ``state_dict`` after any batch, and ``load_state_dict`` goes on with the next one.

    ``release`` is a folder, by path or URL (``s3://…`` needs lexmill[s3] and credentials in the environment or ~/.aws). A batch
    holds the tensors of ``Shards`` stacked to (batch_size, seq_len); the last of an epoch may be smaller. Iterating again
    begins the next epoch. Raises ValueError where ranks could not read equal numbers of sequences.
    """

    def __init__(
        self,
        release: str | Path,
        *,
        seq_len: int,
        batch_size: int,
        rank: int = 0,
        world_size: int = 1,
        workers: int = 0,
        seed: int = 0,
    ) -> None:
        self._data = Shards(release, seq_len, batch_size, rank, world_size, seed)
        self._batch_size = batch_size
        self._workers = workers
        self._epoch = 0
        self._taken = 0

    def __len__(self) -> int:
        """Batches of an epoch."""
        return -(-self._data.n_sequences // self._batch_size)

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        if self._taken >= len(self):
            self._epoch += 1
            self._taken = 0
        self._data.epoch = self._epoch
        self._data.start = self._taken * self._batch_size
        for batch in DataLoader(self._data, batch_size=self._batch_size, num_workers=self._workers):
            self._taken += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Where this rank stands: the epoch, and the batches taken of it."""
        return {"epoch": self._epoch, "batches": self._taken, "batch_size": self._batch_size}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from a state of the same rank and batch size; raises ValueError for one of another batch size."""
        if state["batch_size"] != self._batch_size:
            raise ValueError(f"the state is of batches of {state['batch_size']}, not {self._batch_size}")
        self._epoch, self._taken = state["epoch"], state["batches"]


def block_mask(document_ids: torch.Tensor) -> torch.Tensor:
    """Which positions may see which, (batch, seq_len, seq_len) bool: causal, within a document, never to or from padding."""
    same = document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)
    real = (document_ids >= 0).unsqueeze(-1)
    return (same & real).tril()
