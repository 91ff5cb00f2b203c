"""Workers of this machine start, wherever their scratch files are, with what their tasks need in memory."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from lexmill.cluster import open_client
from lexmill.config import Cluster
from lexmill.jobs.run import usage

pytestmark = [pytest.mark.slow, pytest.mark.smoke]


def about() -> tuple[str, bool, int]:
    return tempfile.gettempdir(), "lexmill.jobs.preloaded" in sys.modules, os.getpid()


@pytest.mark.parametrize("long", [False, True])
def test_a_worker_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool) -> None:
    scratch = tmp_path / ("scratch" * 12)
    if long:  # no socket has so long a name
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        monkeypatch.setattr("multiprocessing.util.get_temp_dir", lambda: str(scratch))
    before, here = usage(), dict(os.environ)
    with open_client(Cluster(workers=1), scratch) as client:
        folder, preloaded, pid = client.submit(about, pure=False).result(timeout=120)
    took = usage()
    assert folder == str(scratch)
    assert preloaded != long
    assert pid != os.getpid()
    assert took.cpu_children - before.cpu_children > 0.1, "what workers take is counted when they have ended"
    assert {name: value for name, value in os.environ.items() if name in here} == here
