"""Workers of this machine start, wherever their scratch files are, with what their tasks need in memory."""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest

from lexmill.cluster import open_client
from lexmill.config import Cluster
from lexmill.jobs.run import usage

pytestmark = [pytest.mark.slow, pytest.mark.smoke]


def hears_interrupts() -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def about() -> tuple[str, bool, int, bool]:
    return tempfile.gettempdir(), "lexmill.jobs.preloaded" in sys.modules, os.getpid(), hears_interrupts()


@pytest.mark.parametrize("long", [False, True])
def test_a_worker_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool) -> None:
    scratch = tmp_path / ("scratch" * 12)
    if long:  # no socket has so long a name
        monkeypatch.setattr(tempfile, "tempdir", str(scratch))
        monkeypatch.setattr("multiprocessing.util.get_temp_dir", lambda: str(scratch))
    before, here = usage(), dict(os.environ)
    with open_client(Cluster(workers=1), scratch) as client:
        folder, preloaded, pid, hears = client.submit(about, pure=False).result(timeout=120)
    took = usage()
    assert folder == str(scratch)
    assert preloaded != long
    assert pid != os.getpid()
    assert hears_interrupts()
    assert not hears, "its driver ends it"
    assert took.cpu_children - before.cpu_children > 0.1, "what workers take is counted when they have ended"
    assert {name: value for name, value in os.environ.items() if name in here} == here


def test_an_interrupt_while_workers_start_leaves_none(tmp_path: Path) -> None:
    here = psutil.Process()
    before = set(here.children(recursive=True))
    soon = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        soon.start()
        with open_client(Cluster(workers=1), tmp_path / "scratch"):
            soon.join()
    left = [
        child for child in here.children(recursive=True) if child not in before and "resource_tracker" not in str(child.cmdline())
    ]
    assert not psutil.wait_procs(left, timeout=10)[1]
