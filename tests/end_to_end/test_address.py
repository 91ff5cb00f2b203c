"""A scheduler and workers elsewhere, over TCP: the same bytes, what differs is told, and the scheduler is left running."""

from pathlib import Path

import pytest

from tests.end_to_end.conftest import Reference, digests, make_site
from tests.end_to_end.elsewhere import elsewhere

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
