"""Sixteen ranks read every sequence once an epoch, whatever the workers, and resume to the same stream."""

from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexmill.schema import TOKENS

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lexmill[torch]'")

from lexmill.torch import IGNORED, Loader, block_mask  # noqa: E402 (imports torch)

RANKS = 16
WINDOW = 8
A_SHARD = 20


def sequence(number: int) -> dict[str, Any]:
    """Two documents of three tokens, the second the rest of a cut one with a token of its heading repeated; two of padding."""
    shape = {"doc_lens": [3, 3], "head_lens": [0, 1], "doc_starts": [0, 3], "doc_ids": [number, number + 1]}
    named = {"char_starts": [0, 0], "char_ends": [1, 1], "repeats": [0, 0], "sources": ["s", "s"], "doc_types": ["qa", "qa"]}
    return {"input_ids": [number, 7, 1, 9, number, 1, 0, 0], "n_pad": 2, **shape, **named}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    shards = []
    for shard in range(2 * RANKS):
        rows = [sequence(100 + shard * A_SHARD + n) for n in range(A_SHARD)]
        pq.write_table(pa.Table.from_pylist(rows, schema=TOKENS), folder / f"shard-{shard:05d}.parquet", row_group_size=6)
        shards.append({"path": f"shard-{shard:05d}.parquet", "rows": A_SHARD, "seq_len": WINDOW})
    (folder / "manifest.json").write_bytes(orjson.dumps({"shards": shards, "tokenizer": {"pad_id": 0}}))
    return folder


def numbers(batches: Any) -> list[int]:
    return [int(row[0]) for batch in batches for row in batch["input_ids"]]


def loader(release: Path, rank: int = 0, world_size: int = RANKS, workers: int = 0, batch_size: int = 3, seed: int = 5) -> Loader:
    return Loader(release, seq_len=WINDOW, batch_size=batch_size, rank=rank, world_size=world_size, workers=workers, seed=seed)


def test_sixteen_ranks_read_every_sequence_once_an_epoch(release: Path) -> None:
    epochs: list[list[int]] = []
    loaders = [loader(release, rank) for rank in range(RANKS)]
    for _ in range(2):
        read = [numbers(one) for one in loaders]
        assert sorted(n for mine in read for n in mine) == list(range(100, 100 + 2 * RANKS * A_SHARD))
        assert {len(mine) for mine in read} == {2 * A_SHARD}
        epochs.append(read[0])
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1])


def test_workers_and_world_change_who_reads_but_not_what(release: Path) -> None:
    alone = numbers(loader(release))
    assert numbers(loader(release, workers=2)) == alone
    assert numbers(loader(release, workers=3)) == alone
    assert numbers(loader(release, seed=6)) != alone
    everything = numbers(loader(release, world_size=1, batch_size=7))
    assert sorted(everything) == list(range(100, 100 + 2 * RANKS * A_SHARD))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_of_the_middle_of_an_epoch_goes_on_with_the_same_stream(release: Path, workers: int) -> None:
    whole = loader(release, rank=3)
    expected = [numbers([batch]) for batch in whole] + [numbers([batch]) for batch in whole]
    stopped = loader(release, rank=3, workers=workers)
    read = []
    for batch in stopped:
        read.append(numbers([batch]))
        if len(read) == 5:
            break
    state = orjson.loads(orjson.dumps(stopped.state_dict()))
    resumed = loader(release, rank=3, workers=2 - workers)
    resumed.load_state_dict(state)
    read += [numbers([batch]) for batch in resumed]
    read += [numbers([batch]) for batch in resumed]
    assert read == expected


def test_labels_positions_and_masks_are_those_of_the_documents(release: Path) -> None:
    batch = next(iter(loader(release, batch_size=1)))
    number = int(batch["input_ids"][0, 0])
    assert batch["labels"][0].tolist() == [number, 7, 1, IGNORED, number, 1, IGNORED, IGNORED]
    assert batch["position_ids"][0].tolist() == [0, 1, 2, 0, 1, 2, 0, 0]
    assert batch["document_ids"][0].tolist() == [0, 0, 0, 1, 1, 1, -1, -1]
    mask = block_mask(batch["document_ids"])[0]
    assert mask[2].tolist() == [True, True, True, False, False, False, False, False]
    assert mask[5].tolist() == [False, False, False, True, True, True, False, False]
    assert not mask[6:].any()
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_what_cannot_be_read_evenly_is_refused(release: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="dp_width"):
        loader(release, world_size=5)
    with pytest.raises(ValueError, match=r"there are \[8\]"):
        Loader(release, seq_len=16, batch_size=1)
    with pytest.raises(ValueError, match="rank"):
        loader(release, rank=RANKS)
    manifest = orjson.loads((release / "manifest.json").read_bytes())
    manifest["shards"][0]["rows"] += 1
    (tmp_path / "manifest.json").write_bytes(orjson.dumps(manifest))
    with pytest.raises(ValueError, match="unequal"):
        loader(tmp_path)
    state = loader(release).state_dict()
    with pytest.raises(ValueError, match="batches of 3"):
        loader(release, batch_size=4).load_state_dict(state)
