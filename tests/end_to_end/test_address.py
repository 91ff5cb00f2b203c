"""A scheduler and workers elsewhere, over TCP: the same bytes, what differs is told, and the scheduler is left running."""

import shutil
import subprocess
import time
from pathlib import Path

import distributed
import pyarrow.parquet as pq
import pytest

from tests.end_to_end.conftest import LEXMILL, SETTINGS, Reference, Site, digests, make_site
from tests.end_to_end.elsewhere import elsewhere
from tests.end_to_end.test_kills import wait_for_parts

pytestmark = pytest.mark.slow


def at(address: str, *more: str) -> tuple[str, ...]:
    return ("cluster.kind='address'", "cluster.workers=0", f"cluster.address='{address}'", *more)


def test_four_workers_end_with_the_bytes_of_a_local_run(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path / "site")
    with elsewhere(tmp_path / "dask", 4) as dask:
        site.run(settings=at(dask.address))
        assert dask.scheduler is not None
        assert dask.scheduler.poll() is None, "a scheduler that is not ours is left running"
        assert len(dask.workers()) == 4
        assert site.json(settings=at(dask.address))["nothing_to_do"] is True
    assert digests(site) == reference.digests


def certified(folder: Path) -> tuple[str, str, str]:
    """An authority's certificate, and one that it signed with its key, as a site would make them with openssl."""
    folder.mkdir()
    ca, ca_key, cert, key, request = (str(folder / name) for name in ("ca.pem", "ca.key", "own.pem", "own.key", "own.csr"))
    new = ("openssl", "req", "-newkey", "rsa:2048", "-nodes")
    for command in (
        (*new, "-x509", "-days", "1", "-subj", "/CN=authority", "-keyout", ca_key, "-out", ca),
        (*new, "-subj", "/CN=cluster", "-keyout", key, "-out", request),
        ("openssl", "x509", "-req", "-days", "1", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", cert),
    ):
        subprocess.run(command, check=True, capture_output=True)
    return ca, cert, key


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl on this machine")
def test_over_tls_the_bytes_are_those_of_a_local_run(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path / "site")
    own, strange = certified(tmp_path / "own"), certified(tmp_path / "strange")

    def named(files: tuple[str, str, str]) -> tuple[str, ...]:
        return tuple(f"cluster.tls.{name}='{file}'" for name, file in zip(("ca", "cert", "key"), files, strict=True))

    with elsewhere(tmp_path / "dask", 2, tls=own) as dask:
        assert dask.address.startswith("tls://")
        site.run(settings=at(dask.address, *named(own)))
        said = make_site(tmp_path / "other").run(settings=at(dask.address, *named(strange)), code=6).stderr
    assert digests(site) == reference.digests
    assert "no scheduler answers" in said
    names = {Path(file).name for file in own}
    kept = [path for path in site.workspace.rglob("*") if path.is_file() and path.suffix in {".json", ".html", ".txt"}]
    assert not [path for path in kept if any(name in path.read_text(errors="replace") for name in names)]


def test_all_workers_go_in_the_middle_and_others_come(tmp_path: Path, reference: Reference) -> None:
    """What an adaptive cluster does between steps, at the worst moments: down to none while parts are at work, and up again."""
    site = make_site(tmp_path / "site")
    with distributed.LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50, local_directory=str(tmp_path)
    ) as cluster:
        cluster.scale(2)
        process = site.start(settings=at(cluster.scheduler_address))
        for moment in (3, 30, 60):
            wait_for_parts(site, process, moment)
            cluster.scale(0)
            time.sleep(6)  # a look at who is there is made every five seconds
            assert process.poll() is None, "a run waits for workers"
            cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=3)
            time.sleep(1)
            cluster.adapt(minimum=2, maximum=2)
        cluster.adapt(minimum=0, maximum=2, interval="300ms", wait_count=3)
        _, err = process.communicate(timeout=570)
    assert process.returncode == 0, err[-3000:]
    assert digests(site) == reference.digests


def test_workers_end_by_lifetime_and_others_come(tmp_path: Path, reference: Reference) -> None:
    """As under a wall time: one starts again of itself, another ends with its nanny and a new one is started for it."""
    site = make_site(tmp_path / "site")
    ends = ("--lifetime", "16s", "--lifetime-stagger", "4s")
    with elsewhere(tmp_path / "dask", 0) as dask:
        dask.start_worker("2GiB", *ends, "--lifetime-restart")
        dask.start_worker("2GiB", *ends)
        process = site.start(settings=at(dask.address))
        seen: set[int] = set()
        while process.poll() is None:
            seen.update(worker.pid for worker in dask.workers())
            if dask.nannies[-1].poll() is not None:
                dask.start_worker("2GiB", *ends)
            time.sleep(0.3)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err[-3000:]
    assert len(dask.nannies) > 2
    assert len(seen) > len(dask.nannies), "the first one was started again by its nanny"
    assert digests(site) == reference.digests


def nights(site: Site, *settings: str) -> dict[str, str]:
    """A night, a takedown of the first document, and what they leave."""

    def lexmill(*arguments: str) -> str:
        chosen = [part for setting in (*SETTINGS, *settings) for part in ("--set", setting)]
        done = subprocess.run([str(LEXMILL), *arguments, *chosen], capture_output=True, text=True, check=False, timeout=570)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    lexmill("nightly", str(site.config))
    (text,) = sorted(site.workspace.glob("releases/*/text"))
    shard = pq.read_table(sorted(text.rglob("*.parquet"))[0], columns=["doc_id"])
    said = lexmill("takedown", str(site.config), "--doc-id", shard["doc_id"][0].as_py(), "--yes")
    assert "taken down" in said
    return {name: value for name, value in digests(site).items() if name.startswith("releases/")}


def test_a_night_and_a_takedown_leave_what_they_leave_locally(tmp_path: Path) -> None:
    local = nights(make_site(tmp_path / "local"))
    with elsewhere(tmp_path / "dask", 2) as dask:
        assert nights(make_site(tmp_path / "site"), *at(dask.address)) == local


@pytest.mark.smoke
def test_a_worker_without_lexmill_is_refused(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    (tmp_path / "other" / "lexmill").mkdir(parents=True)
    (tmp_path / "other" / "lexmill" / "__init__.py").write_text("")
    with elsewhere(tmp_path / "dask", 1) as dask:
        dask.start_worker(PYTHONPATH=str(tmp_path / "other"))
        dask.wait_for_workers(2)
        said = site.run(settings=at(dask.address), code=2).stderr
    assert "cannot load lexmill: ModuleNotFoundError" in said
    assert said.count("cluster: worker tcp://") == 1
    assert not (site.run_folder / "ingest").exists(), "nothing was done"


def test_no_scheduler_and_no_worker_stop_the_run(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    with elsewhere(tmp_path / "dask", 0) as dask:
        said = site.run(settings=at(dask.address, "cluster.wait_seconds=2"), code=6).stderr
        assert "no worker came within cluster.wait_seconds = 2" in said
        gone = dask.address
    assert "no scheduler answers" in site.run(settings=at(gone), code=6).stderr
