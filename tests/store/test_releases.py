"""A folder is a release when its manifest stands in it, which is the last file to come."""

import datetime
import hashlib
from pathlib import Path
from typing import Any

import pytest

from lexmill.store import files
from lexmill.store.releases import DataFile, Releases, read_sums
from tests.store.test_stages import Countdown, Killed

DAY = datetime.date(2026, 11, 30)


def prepared(folder: Path) -> tuple[dict[str, Any], list[DataFile]]:
    data = {f"text/part-{number}.parquet": b"data of %d" % number for number in range(2)}
    entries = [{"path": path, "sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)} for path, raw in data.items()]
    for path, raw in data.items():
        files.write_bytes(folder / path, raw)
    body = {"release": "0123456789abcdef", "shards": [], "text": entries}
    return body, [DataFile(folder / str(entry["path"]), entry) for entry in entries]


def test_a_publication_killed_at_any_moment_is_no_release_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, data = prepared(tmp_path / "stage")
    pages = {"DATACARD.md": b"card", "evidence/index.html": b"page"}
    countdown = Countdown(monkeypatch)
    for moment in range(100):
        releases = Releases(tmp_path / str(moment))
        countdown.left = moment
        try:
            folder = releases.publish(body, data, pages, DAY)
        except Killed:
            countdown.left = None
            assert releases.folders() == []
            assert releases.find(body["release"]) is None
            assert len(releases.unfinished()) <= 1
            folder = releases.publish(body, data, pages, DAY)
            assert releases.unfinished() == []
        finished = countdown.left is not None
        countdown.left = None
        assert releases.folders() == [folder]
        assert releases.is_whole(folder, body)
        assert sorted(files.listing(folder)) == sorted([*read_sums(folder), "SHA256SUMS"])
        if finished:
            break
    assert moment > 8
