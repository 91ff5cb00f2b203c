"""Rows of Parquet, Arrow and SQLite: ranges tile them, values are as JSON has them, and bombs end at a limit."""

import datetime
import decimal
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from lexmill.config import Ingest
from lexmill.core.ingest.items import Broken, Item, Row
from lexmill.core.ingest.limits import Limits
from lexmill.errors import DocumentError
from lexmill.store.tables import query_rows, read_rows, row_ranges

LIMITS = Limits.of(Ingest())
QUERY = "SELECT id, text FROM doc ORDER BY id;"
ROWS = [{"id": number, "text": f"第{number}份文书" * 20} for number in range(1000)]


def write(path: Path, fmt: str, rows: list[dict[str, Any]]) -> Path:
    table = pa.Table.from_pylist(rows)
    if fmt == "parquet":
        pq.write_table(table, path, row_group_size=130)
    elif fmt == "arrow":
        pyarrow.feather.write_feather(table, path, chunksize=130)
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE doc (id INTEGER PRIMARY KEY, text TEXT)")
            connection.executemany("INSERT INTO doc VALUES (:id, :text)", rows)
        connection.close()
    return path


def rows_of(
    path: Path, fmt: str, start: int = 0, end: int = -1, limits: Limits = LIMITS, query: str | None = QUERY
) -> Iterator[Item]:
    if fmt == "sqlite":
        yield from query_rows(str(path), query, start, end, limits)
    else:
        with path.open("rb") as file:
            yield from read_rows(file, fmt, start, end, limits)


FORMATS = ["arrow", "parquet", "sqlite"]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("part_bytes", [2_000, 20_000, 60_000, 1 << 30])
def test_ranges_tile_the_rows(tmp_path: Path, fmt: str, part_bytes: int) -> None:
    path = write(tmp_path / "x", fmt, ROWS)
    ranges = row_ranges(str(path), fmt, path.stat().st_size, QUERY, part_bytes, LIMITS)
    assert [row for start, end in ranges for row in rows_of(path, fmt, start, end)] == list(rows_of(path, fmt))
    assert [item.value for item in rows_of(path, fmt) if isinstance(item, Row)] == ROWS
    assert [item.place for item in rows_of(path, fmt) if isinstance(item, Row)] == [str(number) for number in range(1000)]
    assert len(ranges) == 1 if part_bytes == 1 << 30 else len(ranges) > 1


def test_small_row_groups_share_a_range(tmp_path: Path) -> None:
    path = write(tmp_path / "x", "parquet", ROWS)
    metadata = pq.ParquetFile(path).metadata
    largest = max(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    ranges = row_ranges(str(path), "parquet", 0, None, 2 * largest, LIMITS)
    assert ranges[:2] == [(0, 260), (260, 520)]
    assert ranges[-1][1] == 1000


def test_values_are_as_json_has_them(tmp_path: Path) -> None:
    path = tmp_path / "x"
    row = {
        "date": datetime.date(2020, 1, 2),
        "sum": decimal.Decimal("1200.50"),
        "raw": "判决".encode("gb18030"),
        "bad": bytes(range(40)),
        "in": {"list": [datetime.datetime(2020, 1, 2, 3)]},
    }
    pq.write_table(pa.Table.from_pylist([row]), path)
    (item,) = rows_of(path, "parquet")
    assert item == Row(
        "0", {"date": "2020-01-02", "sum": "1200.50", "raw": "判决", "bad": None, "in": {"list": ["2020-01-02T03:00:00"]}}
    )


def test_arrow_streams_are_read_too(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(tmp_path / "x"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    assert len(list(rows_of(tmp_path / "x", "arrow"))) == 1000


def test_a_dictionary_bomb_ends_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    pq.write_table(pa.table({"text": pa.array(["长" * 10_000] * 5000)}), path)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DocumentError, match="max_file_mb"):
        list(rows_of(path, "parquet", limits=replace(LIMITS, file=1 << 20)))


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_long_row_is_left_out(tmp_path: Path, fmt: str) -> None:
    path = write(tmp_path / "x", fmt, [{"id": 0, "text": "甲"}, {"id": 1, "text": "长" * 200}])
    assert list(rows_of(path, fmt, limits=replace(LIMITS, record=100))) == [
        Row("0", {"id": 0, "text": "甲"}),
        Broken("1", "ingest.max_record_mb", 200, 600),
    ]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize(
    "data", [b"not a table at all", b"PAR1", b"SQLite format 3\0" + b"x" * 200, b"ARROW1\0\0" + b"\xff" * 60]
)
def test_what_is_no_table(tmp_path: Path, fmt: str, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(DocumentError, match="broken_table"):
        list(rows_of(tmp_path / "x", fmt))


def test_queries(tmp_path: Path) -> None:
    path = write(tmp_path / "x", "sqlite", ROWS)
    with pytest.raises(DocumentError, match="needs_query"):
        list(rows_of(path, "sqlite", query=None))
    with pytest.raises(DocumentError, match="bad_query"):
        list(rows_of(path, "sqlite", query="SELECT x FROM nothing"))
    with pytest.raises(DocumentError, match="bad_query"):
        list(rows_of(path, "sqlite", query="SELECT 1); DELETE FROM doc; --"))
    before = sorted(tmp_path.iterdir())
    assert list(query_rows(path.read_bytes(), QUERY, 0, 3, LIMITS)) == list(rows_of(path, "sqlite", 0, 3))
    assert sorted(tmp_path.iterdir()) == before
    (tmp_path / "x-wal").write_bytes(b"x")
    with pytest.raises(DocumentError, match="open_database"):
        list(rows_of(path, "sqlite"))


def test_text_of_a_database_in_gb18030(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x") as connection:
        connection.execute("CREATE TABLE doc (id, text)")
        connection.execute("INSERT INTO doc VALUES (1, CAST(? AS TEXT))", ("判决书".encode("gb18030"),))
    connection.close()
    assert list(rows_of(tmp_path / "x", "sqlite")) == [Row("0", {"id": 1, "text": "判决书"})]
