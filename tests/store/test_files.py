"""Files appear whole or not at all, and are read back only if their digest is right."""

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

from lexmill.errors import ConfigError, StoppedError
from lexmill.store import files
from lexmill.store.files import DamagedFile

TABLE = pa.table({"a": pa.array([1, 2, 3], pa.int64()), "text": pa.array(["甲", "乙", None])})


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    files.write_json(path, {"a": 1})
    with pytest.raises(ZeroDivisionError), files.atomic(path) as out:
        out.write(b"half" * (1 // 0))
    assert files.read_json(path) == {"a": 1}
    assert [found.name for found in tmp_path.iterdir()] == ["x.json"]


def test_equal_tables_are_equal_bytes_and_read_back(tmp_path: Path) -> None:
    first, size = files.write_table(tmp_path / "1.parquet", TABLE)
    second, _ = files.write_table(tmp_path / "2.parquet", TABLE)
    assert first == second
    assert (tmp_path / "1.parquet").stat().st_size == size
    assert files.read_table(tmp_path / "1.parquet", first, TABLE.schema).equals(TABLE)


@pytest.mark.parametrize("damage", [lambda data: data[:-7], lambda data: data[:10] + b"\0" + data[11:], lambda _: b""])
def test_damage_is_found(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "1.parquet"
    sha256, _ = files.write_table(path, TABLE)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DamagedFile):
        files.read_table(path, sha256, TABLE.schema)


def test_another_schema_is_refused(tmp_path: Path) -> None:
    sha256, _ = files.write_table(tmp_path / "1.parquet", TABLE)
    with pytest.raises(DamagedFile, match="schema"):
        files.read_table(tmp_path / "1.parquet", sha256, pa.schema([("a", pa.int64())]))


def test_cut_json_is_damage_and_missing_json_is_none(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"a": 1')
    with pytest.raises(DamagedFile):
        files.read_json(tmp_path / "m.json")
    assert files.read_json(tmp_path / "none.json") is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_disk_that_cannot_take_it_stops_the_run(tmp_path: Path, number: int) -> None:
    with pytest.raises(StoppedError, match="run the same command again"), files.atomic(tmp_path / "x"):
        raise OSError(number, os.strerror(number))
    assert not list(tmp_path.iterdir())


def test_copies_have_the_same_bytes_and_replace(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "b").write_bytes(b"old")
    files.copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"new"
    files.copy(tmp_path / "a", tmp_path / "deep/er/c")
    assert (tmp_path / "deep/er/c").read_bytes() == b"new"


def test_private_folders_are_private(tmp_path: Path) -> None:
    assert files.make_private(tmp_path / "p").stat().st_mode & 0o777 == 0o700
    (tmp_path / "open").mkdir(mode=0o755)
    assert files.make_private(tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_is_a_fault_of_the_run_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for impossible in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nope")):
        with pytest.raises(ConfigError, match="name another folder"):
            files.make_private(impossible)
