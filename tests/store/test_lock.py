"""One writer a workspace; a dead owner's lock is broken at once, a live one's never."""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from lexmill.errors import LockError, StoppedError
from lexmill.store import lock


def test_a_held_lock_refuses_a_second_run_and_is_gone_after(tmp_path: Path) -> None:
    with lock.held(tmp_path):
        assert (lock.owner(tmp_path) or {})["pid"] == os.getpid()
        with pytest.raises(LockError, match=str(os.getpid())), lock.held(tmp_path):
            pass
    assert lock.owner(tmp_path) is None
    with lock.held(tmp_path):
        pass


def stale(**changes: object) -> str:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    owner = {"host": socket.gethostname(), "namespace": lock._namespace(), "pid": dead.pid, "started": time.time(), **changes}
    return json.dumps(owner)


def test_a_dead_owners_lock_is_broken(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text(stale())
    with lock.held(tmp_path):
        assert (lock.owner(tmp_path) or {})["pid"] == os.getpid()


def test_a_later_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text(stale(pid=os.getpid(), started=1.0))
    with lock.held(tmp_path):
        pass


ELSEWHERE = ({"host": "elsewhere"}, {"namespace": "pid:[1]"})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("_DEAD_S", 0.6), ("_LOOK_S", 0.05), ("_BEAT_S", 0.1)):
        monkeypatch.setattr(lock, name, seconds)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("where", ELSEWHERE)
def test_an_owner_elsewhere_that_shows_no_life_is_dead(tmp_path: Path, where: dict[str, str]) -> None:
    (tmp_path / "lock.json").write_text(stale(**where))
    with lock.held(tmp_path):
        assert (lock.owner(tmp_path) or {})["pid"] == os.getpid()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("where", ELSEWHERE)
def test_an_owner_elsewhere_that_shows_life_keeps_its_lock(tmp_path: Path, where: dict[str, str]) -> None:
    with lock.held(tmp_path) as mine:
        # Its own lock, as one elsewhere would see it.
        mine.identity.update(where)
        mine.write()
        with pytest.raises(LockError, match="held by process"), lock.held(tmp_path):
            pass
        mine.check()


@pytest.mark.usefixtures("impatient")
def test_heartbeats_go_on_and_never_touch_anothers_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    with lock.held(tmp_path) as mine:
        before = json.loads(path.read_text())["beat"]
        time.sleep(0.5)
        assert json.loads(path.read_text())["beat"] > before
        path.rename(tmp_path / "taken")
        other = stale(host="elsewhere")
        path.write_text(other)
        time.sleep(0.3)
        assert path.read_text() == other
        with pytest.raises(StoppedError, match="another run took the workspace"):
            mine.check()
    assert path.read_text() == other


def test_a_lock_that_became_anothers_is_left_alone(tmp_path: Path) -> None:
    with lock.held(tmp_path):
        (tmp_path / "lock.json").write_text(stale(host="elsewhere"))
    assert (lock.owner(tmp_path) or {})["host"] == "elsewhere"


def test_an_empty_lock_is_broken_only_when_it_is_old(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_text("")
    with pytest.raises(LockError), lock.held(tmp_path):
        pass
    os.utime(path, (time.time() - 60, time.time() - 60))
    with lock.held(tmp_path):
        pass


def _take(folder: Path, results: "Queue[str]", start: float, all_said: Event) -> None:
    time.sleep(max(0.0, start - time.time()))
    try:
        with lock.held(folder):
            results.put("held")
            all_said.wait(60)
    except LockError:
        results.put("refused")


def test_of_several_that_find_a_dead_owner_one_wins(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text(stale())
    context = multiprocessing.get_context("fork")
    results: Queue[str] = context.Queue()
    all_said = context.Event()
    start = time.time() + 0.3
    processes = [context.Process(target=_take, args=(tmp_path, results, start, all_said)) for _ in range(6)]
    for process in processes:
        process.start()
    said = sorted(results.get(timeout=60) for _ in processes)
    all_said.set()
    for process in processes:
        process.join()
    assert said == ["held"] + ["refused"] * 5
