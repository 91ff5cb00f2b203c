"""Nights: only the new is read, copies of any night leave, what is corrected or withdrawn is taken back, takedowns stay down."""

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import distributed
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from lexmill.config import Config, load
from lexmill.errors import GateError, InputError, NothingNew
from lexmill.jobs import nightly, reshuffle, run, takedown
from lexmill.jobs.ingest import doc_id
from lexmill.report.verify import verify
from lexmill.store.history import History, Nights
from lexmill.store.releases import Releases, read_manifest
from lexmill.store.workspace import Workspace
from tests.jobs.conftest import run_file
from tests.jobs.test_dedup import article, edited

pytestmark = pytest.mark.slow
DAY = datetime.date(2026, 1, 1)


class Site:
    """Raw files that change from night to night, and the workspace over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nights = 0
        (folder / "run.toml").write_text(run_file("qa"))

    def config(self, *settings: str) -> Config:
        return load(
            self.folder / "run.toml", ('dedup.prefer="first"', "filter.enabled=false", "nightly.max_missing=1.0", *settings)
        )

    def write(self, name: str, *texts: str) -> None:
        lines = (json.dumps({"id": str(n), "text": text}, ensure_ascii=False) + "\n" for n, text in enumerate(texts))
        (self.folder / name).write_text("".join(lines), encoding="utf-8")
        stamp = time.time_ns() + self.nights
        os.utime(self.folder / name, ns=(stamp, stamp))

    def night(self, *settings: str) -> dict[str, Any]:
        self.nights += 1
        day = DAY + datetime.timedelta(self.nights)
        return nightly.nightly(self.config(*settings), Console(file=StringIO()), day).manifests["release"]

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "w", "main")

    @property
    def latest(self) -> Path:
        found = Releases(self.workspace.releases).latest()
        assert found is not None
        return found

    def kept(self) -> set[str]:
        """The doc_ids of the release that stands, which must prove itself."""
        assert verify(self.latest) == []
        paths = [self.latest / text["path"] for text in read_manifest(self.latest)["text"]]
        return {one for path in paths for one in pq.read_table(path, columns=["doc_id"])["doc_id"].to_pylist()}


def ident(name: str, record: int) -> str:
    return doc_id("q", name, "", str(record), "")


@pytest.fixture
def site(tmp_path: Path, client: distributed.Client, monkeypatch: pytest.MonkeyPatch) -> Site:
    @contextmanager
    def opened(_cluster: object, _scratch: Path, _preload: object) -> Iterator[distributed.Client]:
        yield client

    monkeypatch.setattr(run, "open_client", opened)
    return Site(tmp_path)


@pytest.mark.smoke
def test_a_week(site: Site) -> None:
    copied = article(1)
    site.write("a.jsonl", article(0), copied)
    first = site.night()
    assert first["parent"] is None
    assert site.kept() == {ident("a.jsonl", 0), ident("a.jsonl", 1)}

    with pytest.raises(NothingNew):
        site.night()
    os.utime(site.folder / "a.jsonl")  # touched, not changed
    with pytest.raises(NothingNew):
        site.night()

    # A near copy of an earlier night's document leaves, with its twin named.
    site.write("b.jsonl", edited(copied, 5), article(2))
    second = site.night()
    assert second["parent"] == first["release"]
    assert len(second["sets"]) == 2
    assert site.kept() == {ident("a.jsonl", 0), ident("a.jsonl", 1), ident("b.jsonl", 1)}
    ledger = pq.read_table(site.folder / "w/runs" / History(site.folder / "w/lineage").nights().done[-1] / "dedup/ledger")
    assert ledger["twin"].to_pylist() == [ident("a.jsonl", 1)]

    # The document that held it down is withdrawn, another corrected: the copy comes up, the old text goes.
    site.write("a.jsonl", article(3))
    site.night()
    assert site.kept() == {ident("a.jsonl", 0), ident("b.jsonl", 0), ident("b.jsonl", 1)}
    shards = read_manifest(site.latest)["sets"]
    assert {why for one in shards for why in one.get("removed", {})} <= {"withdrawn", "corrected"}

    # A file that is gone takes its documents along.
    (site.folder / "b.jsonl").unlink()
    site.write("c.jsonl", article(4))
    with pytest.raises(GateError, match="max_missing"):
        site.night("nightly.max_missing=0.1")
    before = site.latest
    assert site.kept() == {ident("a.jsonl", 0), ident("b.jsonl", 0), ident("b.jsonl", 1)}
    site.night()
    assert site.latest != before
    assert site.kept() == {ident("a.jsonl", 0), ident("c.jsonl", 0)}

    made = reshuffle.reshuffle(site.config(), Console(file=StringIO()), DAY)
    assert len(made["sets"]) == 1
    assert site.kept() == {ident("a.jsonl", 0), ident("c.jsonl", 0)}
    site.write("d.jsonl", article(6))
    assert site.night()["parent"] == made["release"]


@pytest.mark.smoke
def test_a_night_stopped_at_its_very_end_is_done_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write("a.jsonl", article(0), article(1))
    site.night()
    site.write("b.jsonl", article(2))
    site.write("a.jsonl", article(0), article(3))
    commit = History.write_nights

    def killed(history: History, nights: Nights) -> None:
        if nights.under_way is None:
            raise KeyboardInterrupt
        commit(history, nights)

    with monkeypatch.context() as patch:
        patch.setattr(History, "write_nights", killed)
        with pytest.raises(KeyboardInterrupt):
            site.night()
    site.night()
    assert site.kept() == {ident("a.jsonl", 0), ident("a.jsonl", 1), ident("b.jsonl", 0)}
    with pytest.raises(NothingNew):
        site.night()


def test_a_takedown_without_the_pointer_takes_the_newest_release(site: Site) -> None:
    site.write("a.jsonl", article(0), article(1))
    site.night()
    (site.workspace.releases / "latest.json").unlink()
    targets = takedown.resolve(site.workspace, [ident("a.jsonl", 1)], (), ())
    takedown.take_down(site.config(), Console(file=StringIO()), targets, DAY)
    assert site.kept() == {ident("a.jsonl", 0)}


def test_a_takedown_stays_down(site: Site) -> None:
    name = "欧阳无名"
    text = article(1)[:120] + name + article(1)[120:]
    site.write("a.jsonl", article(0), text, article(2))
    site.night()
    site.write("b.jsonl", edited(text, 7), article(3))
    site.night()
    old = Releases(site.workspace.releases).folders()
    targets = takedown.resolve(site.workspace, (), (), [name])
    assert {target.doc_id for target in targets} == {ident("a.jsonl", 1), ident("b.jsonl", 0)}
    assert takedown.prove_absent(site.workspace, [ident("a.jsonl", 1)], (), [name]).places

    takedown.take_down(site.config(), Console(file=StringIO()), targets, DAY)
    assert site.kept() == {ident("a.jsonl", 0), ident("a.jsonl", 2), ident("b.jsonl", 1)}
    proof = takedown.prove_absent(site.workspace, [ident("a.jsonl", 1)], (), [name])
    assert proof.places == {}
    assert set(proof.looked_at) == {"releases", "stages", "index", "lineage"}
    for folder in old:
        assert (folder / "manifest.json").exists()
        assert json.loads((folder / "withdrawn.json").read_text())["why"] == "takedown"
        assert verify(folder) == []
    with pytest.raises(InputError):
        takedown.resolve(site.workspace, (), (), [name])
    with pytest.raises(InputError, match="no well-formed case number"):
        takedown.prove_absent(site.workspace, (), ["（2016）754号"], ())

    # The same again, nearly the same, and under other names.
    site.write("a.jsonl", article(0), text, article(2), article(4))
    site.write("c.jsonl", edited(text, 9), text)
    site.night()
    assert site.kept() == {ident("a.jsonl", number) for number in (0, 2, 3)} | {ident("b.jsonl", 1)}
    ledger = pq.read_table(site.folder / "w/runs" / History(site.folder / "w/lineage").nights().done[-1] / "ingest/ledger")
    assert ledger["rule"].to_pylist().count("ingest.takedown") == 3
    # An ordinary run reads all files again, and keeps them out as well.
    run.run(site.config(), "ingest", Console(file=StringIO()))
    assert takedown.prove_absent(site.workspace, [ident("a.jsonl", 1)], (), [name]).places == {}


@pytest.mark.smoke
def test_six_nights_are_one_run() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, str(root / "scripts/nightly/simulate.py"), "--nights", "6", "--kills", "1", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "only in nights 0, only in one run 0, withdrawn but there 0" in done.stdout
