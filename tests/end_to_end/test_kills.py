"""Any process may be killed at any moment: the same command ends with the same bytes, and finished parts are left alone."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.conftest import Reference, Site, digests, make_site

pytestmark = pytest.mark.slow


def finished_parts(site: Site) -> dict[tuple[str, str], int]:
    """(stage, part) → time stamp of every part that has its receipt, in finished and half-built stages."""
    found: dict[tuple[str, str], int] = {}
    for receipt in site.run_folder.rglob("receipts/part-*.json"):
        folder = receipt.parent.parent
        part = folder / f"{receipt.stem}.parquet"
        if part.exists():
            found[(folder.name.removesuffix(".next"), part.name)] = part.stat().st_mtime_ns
    return found


def progress(site: Site) -> int:
    """Parts with a receipt; folders may be renamed away while they are counted, which os.walk takes as it is."""
    return sum(len(names) for folder, _, names in os.walk(site.run_folder) if folder.endswith("/receipts"))


def kill(process: "subprocess.Popen[str]", victim: str, chance: random.Random) -> None:
    if victim == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif victim == "driver":
        process.kill()
    else:
        workers = [child for child in psutil.Process(process.pid).children(recursive=True) if child.is_running()]
        if workers:
            chance.choice(workers).kill()


def wait_for_parts(site: Site, process: "subprocess.Popen[str]", number: int) -> None:
    while process.poll() is None and progress(site) < number:
        time.sleep(0.02)


def disturbed(site: Site, victim: str, moments: list[int], chance: random.Random) -> None:
    """Run, and kill the victim each time so many parts are finished; run again after each kill, and at last to the end."""
    for moment in moments:
        process = site.start()
        wait_for_parts(site, process, moment)
        if process.poll() is None:
            time.sleep(chance.random() * 0.3)
            kill(process, victim, chance)
        if victim == "worker":
            process.communicate(timeout=400)
            assert process.returncode == 0, "a worker's death costs at most its parts"
        else:
            process.communicate(timeout=60)
            before = finished_parts(site)
            time.sleep(0.5)  # orphaned workers die when their driver does
            site.run("--until", "ingest")
            after = finished_parts(site)
            untouched = [key for key in before if key[0] == "ingest"]
            assert {key: after[key] for key in untouched} == {key: before[key] for key in untouched}
    site.run()


@pytest.mark.parametrize(
    ("victim", "moment"),
    [pytest.param("worker", 5, marks=pytest.mark.smoke), ("driver", 8), pytest.param("group", 70, marks=pytest.mark.smoke)],
)
def test_one_kill(tmp_path: Path, reference: Reference, victim: str, moment: int) -> None:
    site = make_site(tmp_path)
    disturbed(site, victim, [moment], random.Random(moment))
    assert digests(site) == reference.digests


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("victim", ["worker", "driver", "group"])
def test_kills_at_random_moments(tmp_path: Path, reference: Reference, victim: str, seed: int) -> None:
    chance = random.Random(f"{victim}{seed}")
    whole = progress(reference.site)
    moments = sorted(chance.randrange(0, whole) for _ in range(3))
    site = make_site(tmp_path)
    disturbed(site, victim, moments, chance)
    assert digests(site) == reference.digests


@pytest.mark.smoke
def test_an_interrupt_exits_130_and_goes_on(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path)
    process = site.start()
    wait_for_parts(site, process, 6)
    started = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "lexmill: interrupted; run the same command again to go on"
    assert "Traceback" not in err
    assert "Process" not in err
    assert len(started) > 2
    assert not psutil.wait_procs(started, timeout=10)[1]
    site.run()
    assert digests(site) == reference.digests


@pytest.mark.smoke
def test_a_second_run_at_the_same_time_is_refused(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    process = site.start()
    while process.poll() is None and not (site.workspace / "lock.json").exists():
        time.sleep(0.02)
    time.sleep(0.2)
    done = site.run(code=5)
    assert "held by process" in done.stderr
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
