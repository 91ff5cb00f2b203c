"""What goes wrong on clusters, on a real scheduler with real workers: nothing is lost or comes twice, the bytes are the same."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from lexmill.store.stages import StageFolder
from tests.end_to_end.conftest import Reference, Site, digests, make_site
from tests.end_to_end.elsewhere import Elsewhere, apart, elsewhere, network
from tests.end_to_end.test_address import at
from tests.end_to_end.test_kills import progress, wait_for_parts

pytestmark = pytest.mark.slow

# Where a fault is the same at every stage, one is enough; where there must be time for many, more.
FIRST = ("--until", "ingest")
MANY = ("--until", "filter")


def leave(folder: Path, until: tuple[str, ...]) -> dict[str, str]:
    """What a local run leaves."""
    site = make_site(folder)
    site.run(*until)
    return digests(site)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a local run of the first stage leaves."""
    return leave(tmp_path_factory.mktemp("undisturbed"), FIRST)


@contextmanager
def running(site: Site, dask: Elsewhere, code: int = 0, until: tuple[str, ...] = FIRST) -> "Iterator[subprocess.Popen[str]]":
    """A run on that cluster, which must end with ``code`` after the block."""
    process = site.start(*until, settings=at(dask.address))
    try:
        yield process
        _, err = process.communicate(timeout=570)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == code, f"exit {process.returncode}, not {code}:\n{err[-3000:]}"


def hit(process: psutil.Process, what: signal.Signals) -> bool:
    try:
        process.send_signal(what)
    except psutil.NoSuchProcess:
        return False
    return True


@pytest.mark.parametrize("kills", [pytest.param(4, id="four"), pytest.param(30, id="thirty")])
def test_workers_are_killed(tmp_path: Path, kills: int) -> None:
    undisturbed = leave(tmp_path / "undisturbed", MANY)
    site, chance, done = make_site(tmp_path / "site"), random.Random(kills), 0
    with elsewhere(tmp_path / "dask", 4) as dask:
        with running(site, dask, until=MANY) as process:
            wait_for_parts(site, process, 1)
            while done < kills and process.poll() is None:
                before = progress(site)
                workers = dask.workers()
                done += bool(workers) and hit(chance.choice(workers), signal.SIGKILL)
                until = time.monotonic() + 3  # at least a part between two of them, if that takes no longer
                while progress(site) == before and time.monotonic() < until and process.poll() is None:
                    time.sleep(0.02)
        assert done == kills
    assert digests(site) == undisturbed


def test_a_worker_is_killed_in_every_step_of_every_stage(tmp_path: Path, reference: Reference) -> None:
    site, chance = make_site(tmp_path / "site"), random.Random(7)
    hits: set[str] = set()
    with elsewhere(tmp_path / "dask", 3) as dask, running(site, dask, until=()) as process:
        while process.poll() is None:
            # Folders may be renamed away meanwhile, which os.walk takes as it is.
            folders = {name for _, names, _ in os.walk(site.run_folder) for name in names if name.endswith(".next")}
            for name in folders - hits:
                workers = dask.workers()
                if workers and hit(chance.choice(workers), signal.SIGKILL):
                    hits.add(name)
            time.sleep(0.02)
    wanted = ("ingest", "dedup.signatures", "dedup.edges", "dedup", "decontaminate", "deidentify", "filter", "tokenize.scatter")
    assert {f"{name}.next" for name in (*wanted, "tokenize", "release.scan")} <= hits
    assert digests(site) == reference.digests


def test_the_scheduler_is_killed_and_restarted(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    site = make_site(tmp_path / "site")
    with elsewhere(tmp_path / "dask", 4) as dask:
        with running(site, dask, code=6) as process:
            wait_for_parts(site, process, 6)
            assert dask.scheduler is not None
            os.killpg(dask.scheduler.pid, signal.SIGKILL)
            dask.scheduler.wait()
            dask.start_scheduler()
        for _ in range(2):
            dask.start_worker()  # those that were there may have given up
        with running(site, dask):
            pass
    assert digests(site) == undisturbed


def test_a_worker_is_cut_off_for_30_seconds(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    site = make_site(tmp_path / "site")
    with network(4) as laid, apart(tmp_path / "dask", laid) as dask, running(site, dask) as process:
        wait_for_parts(site, process, 4)
        laid.cut(1)
        laid.cut(2)
        time.sleep(30)
        laid.mend(1)
        laid.mend(2)
    assert digests(site) == undisturbed


def test_a_worker_hangs_for_good(tmp_path: Path, undisturbed: dict[str, str]) -> None:
    site = make_site(tmp_path / "site")
    with elsewhere(tmp_path / "dask", 4, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="15s") as dask, running(site, dask) as process:
        wait_for_parts(site, process, 4)
        assert hit(dask.workers()[0], signal.SIGSTOP)
    assert digests(site) == undisturbed


@pytest.mark.parametrize("days", [-400, 400])
def test_the_clock_of_a_worker_is_wrong(tmp_path: Path, undisturbed: dict[str, str], days: int) -> None:
    site = make_site(tmp_path / "site")
    skewed = tmp_path / "skewed"
    skewed.mkdir()
    (skewed / "sitecustomize.py").write_text(f"import time\nreal = time.time\ntime.time = lambda: real() + {days * 86400}\n")
    paths = os.pathsep.join(filter(None, [str(skewed), os.environ.get("PYTHONPATH")]))
    with elsewhere(tmp_path / "dask", 1) as dask:
        dask.start_worker(PYTHONPATH=paths)
        dask.wait_for_workers(2)
        with running(site, dask):
            pass
    assert digests(site) == undisturbed


@pytest.mark.parametrize("full", ["workspace", "scratch"])
def test_the_disk_is_full(tmp_path: Path, undisturbed: dict[str, str], full: str) -> None:
    site = make_site(tmp_path / "site")
    disk = site.workspace if full == "workspace" else tmp_path / "small"
    disk.mkdir(parents=True, exist_ok=True)
    size = "200k" if full == "workspace" else "64k"
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("no small disk: mounting one needs root")
    try:
        with elsewhere(tmp_path / "dask", 2, TMPDIR=str(disk)) as dask:
            if full == "workspace":
                with running(site, dask, code=6):
                    pass
                subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
            else:
                (disk / "filling").write_bytes(b"x" * (60 << 10))
            with running(site, dask):
                pass
        assert digests(site) == undisturbed
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


DEADLY = """
import os, signal
from presidio_analyzer import EntityRecognizer, RecognizerResult


class Deadly(EntityRecognizer):
    def __init__(self, supported_language="zh"):
        super().__init__(["DEADLY"], supported_language=supported_language)

    def load(self):
        pass

    def analyze(self, text, entities, nlp_artifacts=None):
        if "甲毒乙" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        held = []
        while "甲胀乙" in text:
            held.append(b"x" * (64 << 20))
        return []
"""


@pytest.mark.parametrize("where", ["local", "address"])
def test_deadly_documents_are_quarantined_and_the_run_goes_on(tmp_path: Path, where: str) -> None:
    """One kills its worker and one takes more memory than it has: the others are what they are without the two."""
    settings = ("deidentify.max_residual_rate=0.5", "deidentify.recognizers=['deadly:Deadly']")
    found = {}
    for name in ("with", "without"):
        site = make_site(tmp_path / name, '[[source]]\nname = "poison"\ndoc_type = "qa"\npaths = ["p.jsonl"]\n' + CARD)
        (site.config.parent / "deadly.py").write_text(DEADLY)
        texts = [f"问：第{number}种情形下合同是否有效？答：视约定而定，第{number}条另有规定。" for number in range(12)]
        for place, word in ((3, "甲毒乙"), (8, "甲胀乙")):
            texts[place] = texts[place] + word if name == "with" else ""
        lines = [f'{{"id": "{number}", "text": "{text}"}}\n' for number, text in enumerate(texts) if text]
        (site.config.parent / "p.jsonl").write_text("".join(lines))
        if where == "local" or name == "without":
            site.run(*MANY, settings=(*settings, "cluster.memory='1200MiB'"))
        else:
            with elsewhere(tmp_path / "dask", 2, memory="1200MiB") as dask:
                site.run(*MANY, settings=(*settings, *at(dask.address)))
        found[name] = site
    ledger = StageFolder(found["with"].run_folder / "deidentify").ledgers().to_pylist()
    mine = [row for row in ledger if row["rule"].startswith("worker.")]
    assert [row["rule"] for row in mine] == ["worker.died", "worker.memory"]
    assert {row["source"] for row in mine} == {"poison"}
    kept = [
        {(row["doc_id"], row["text"]) for row in read_stage(site.run_folder / "filter")}
        for site in (found["with"], found["without"])
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) > 100


CARD = """[source.card]
origin = "open"
licence = "none needed"
collected = 2026-01-02
legal_basis = "published"
foreign = false

"""


def read_stage(folder: Path) -> list[dict[str, str]]:
    import pyarrow.parquet as pq

    return [
        row
        for path in sorted(folder.glob("part-*.parquet"))
        for row in pq.read_table(path, columns=["doc_id", "text"]).to_pylist()
    ]


SLURM = Path(__file__).parents[1] / "slurm"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment that leads to a Slurm on this machine."""
    folder = tmp_path_factory.mktemp("slurm")
    for parent in folder.parents[:2]:
        parent.chmod(0o755)  # munge's user goes through them
    started = subprocess.run([str(SLURM / "start"), str(folder)], capture_output=True, text=True, check=False, timeout=300)
    try:
        if started.returncode == 77:
            pytest.skip(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        yield {"SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([str(SLURM / "stop"), str(folder)], check=False, timeout=60, capture_output=True)


def test_jobs_of_slurm_are_cancelled(tmp_path: Path, slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    site = make_site(tmp_path / "site")
    settings = ("cluster.kind='slurm'", "cluster.workers=3", "cluster.memory='1300MiB'", "cluster.slurm.interface='lo'")
    process = site.start(*MANY, settings=(*settings, "cluster.slurm.walltime='00:20:00'"))
    cancelled = 0
    try:
        for moment in (2, 12, 25):
            wait_for_parts(site, process, moment)
            jobs = subprocess.run(
                ["squeue", "-h", "-t", "R", "-o", "%A"], capture_output=True, text=True, check=True
            ).stdout.split()
            for job in jobs[: 1 if moment == 2 else 3]:
                cancelled += not subprocess.run(["scancel", job], check=False).returncode
        _, err = process.communicate(timeout=570)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, err[-3000:]
    assert cancelled >= 2
    assert digests(site) == leave(tmp_path / "undisturbed", MANY)
    left = subprocess.run(["squeue", "-h", "-o", "%A"], capture_output=True, text=True, check=True).stdout.split()
    assert not left, "no job outlives the run"
