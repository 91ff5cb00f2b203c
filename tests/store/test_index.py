"""The index: what is added is found, merging and removing change nothing else."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.store import files, index
from lexmill.store.index import HELD, Entries, Index, NewRun, View, write_entries, write_merged

HASHES = st.lists(st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 3), st.integers(0, 2)), max_size=30)


def entries(rows: list[tuple[int, int]], first: int) -> Entries:
    hashes = np.array([row[0] for row in rows], np.uint64)
    keys = np.array([row[1] for row in rows], np.uint64)
    return Entries(hashes, keys, np.arange(first, first + len(rows), dtype=np.int64)).sorted()


def as_set(found: Entries) -> set[tuple[int, int, int]]:
    return set(zip(found.hashes.tolist(), found.keys.tolist(), found.ordinals.tolist(), strict=True))


def read(path: Path) -> list[dict[str, int]]:
    return pq.read_table(path).to_pylist()


@settings(max_examples=50, deadline=None)
@given(
    runs=st.lists(HASHES, min_size=1, max_size=4), wanted=st.sets(st.integers(0, 2**64 - 1) | st.integers(0, 3)), data=st.data()
)
def test_what_is_probed_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[tuple[int, int]]], wanted: set[int], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("index")
    all_of_them: set[tuple[int, int, int]] = set()
    first = 0
    for number, rows in enumerate(runs):
        made = entries(rows, first)
        all_of_them |= as_set(made)
        write_entries(root / "segments" / str(number) / "band-00.parquet", [made])
        first += len(rows)
    limit = data.draw(st.integers(0, first))
    hashes = np.array(sorted(wanted | {row[0] for rows in runs for row in rows[:3]}), np.uint64)
    view = View(root, limit, tuple(str(number) for number in range(len(runs))), (), "")
    expected = {row for row in all_of_them if row[0] in set(hashes.tolist()) and row[2] < limit}
    assert as_set(view.probe(0, hashes)) == expected

    sources = [root / "segments" / str(number) / "band-00.parquet" for number in range(len(runs))]
    without = np.array([0, 2], np.int64)
    write_merged(sources, root / "merged.parquet", without)
    merged = [tuple(row.values()) for row in read(root / "merged.parquet")]
    assert merged == sorted(row for row in all_of_them if row[2] not in (0, 2))


def test_a_merge_in_many_steps_is_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_MERGED_AT_ONCE", 50)
    monkeypatch.setattr(index, "_ROW_GROUP", 16)
    chance = np.random.default_rng(1)
    paths = []
    for number in range(5):
        rows = [(int(value), 0) for value in chance.integers(0, 2**64, 100, dtype=np.uint64)]
        paths.append(tmp_path / f"{number}.parquet")
        write_entries(paths[-1], [entries(rows, number * 100)])
    write_merged(paths, tmp_path / "merged.parquet")
    merged = [row["hash"] for row in read(tmp_path / "merged.parquet")]
    assert merged == sorted(row["hash"] for path in paths for row in read(path))


def test_an_index_of_nothing(tmp_path: Path) -> None:
    view = Index(tmp_path / "index").view("main")
    assert view.limit == 0
    assert view.probe(0, np.array([1], np.uint64)).ordinals.size == 0
    assert Index(tmp_path / "index").remove(["00"]).removed == ()
    assert not (tmp_path / "index").exists()


def test_a_kill_before_the_manifest_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a manifest are no history, and the next addition clears them away."""
    work = tmp_path / "work"
    write_entries(work / "band-00.parquet", [entries([(1, 0)], 0)])
    held, _ = files.write_table(work / "held.parquet", HELD.empty_table())
    run = NewRun("n1", 0, 1, (), ((work / "band-00.parquet", "x"),), (work / "held.parquet", held))
    history = Index(tmp_path / "index")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            history.add(run)
    assert history.view("n2").limit == 0
    history.add(NewRun("n1b", 0, 1, (), run.bands, run.held))
    assert [entry["name"] for entry in history.manifest()["runs"]] == ["n1b"]
    assert len(list((tmp_path / "index" / "held").iterdir())) == 1
