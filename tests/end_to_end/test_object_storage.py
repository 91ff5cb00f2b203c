"""A workspace in object storage, against a real HTTP endpoint: the bytes of a local one, whatever is killed or refuses."""

import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from lexmill.config import at
from lexmill.store import files
from tests.end_to_end.conftest import LEXMILL, SETTINGS, Site, digests, make_site
from tests.end_to_end.elsewhere import elsewhere
from tests.objects import BUCKET, KEY, SECRET, TOKEN, give_credentials, make_bucket, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(autouse=True)
def credentials(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has the credentials; where the store is, the run file alone says to the processes that are started."""
    give_credentials(monkeypatch, url)
    make_bucket()
    at(f"s3://{BUCKET}").exists()
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")


@dataclass(frozen=True)
class ObjectSite(Site):
    """A run file whose workspace is in object storage."""

    url: str = ""

    @property
    def workspace(self) -> Path:
        return at(self.url)


def in_objects(site: Site, name: str, endpoint: str) -> ObjectSite:
    """The same run file with a workspace of this name in the bucket."""
    url = f"s3://{BUCKET}/{name}"
    text = site.config.read_text(encoding="utf-8").replace('workspace = "workspace"', f'workspace = "{url}"')
    assert url in text
    config = site.config.with_name(f"{name}.toml")
    config.write_text(f'{text}\n[storage]\nendpoint_url = "{endpoint}"\n', encoding="utf-8")
    return ObjectSite(config, url)


def only(site: Site, *sources: str) -> Site:
    """The same with some of its sources."""
    head, *tables = re.split(r"(?=\[\[source\]\]\n)", site.config.read_text(encoding="utf-8"))
    chosen = [table for table in tables if any(f'name = "{source}"' in table for source in sources)]
    site.config.write_text(head + "".join(chosen), encoding="utf-8")
    return site


@dataclass(frozen=True)
class Local:
    """A run on a disk, and what it left."""

    site: Site
    digests: dict[str, str]

    def until_dedup(self) -> dict[str, str]:
        """What a run until stage dedup leaves of it."""
        ours = ("runs/main/ingest/", "runs/main/dedup/", "runs/main/work/dedup.")
        return {name: sha256 for name, sha256 in self.digests.items() if name.startswith(ours)}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Local:
    site = only(make_site(tmp_path_factory.mktemp("local")), "statutes", "exams")
    site.run()
    return Local(site, digests(site))


@pytest.mark.smoke
def test_a_small_run_has_the_bytes_of_a_local_one_and_no_credentials_anywhere(local: Local, url: str) -> None:
    remote = in_objects(local.site, "small", url)
    done = remote.run("--log-format", "json")
    assert digests(remote) == local.digests
    said = [
        done.stdout.encode(),
        done.stderr.encode(),
        *(files.read_bytes(remote.workspace / name) for name in files.listing(remote.workspace)),
    ]
    assert len(said) > 50
    assert not [secret for secret in (KEY, SECRET, TOKEN) if any(secret.encode() in one for one in said)]
    latest = files.read_json(remote.workspace / "releases" / "latest.json")["release"]
    proof = command("verify", f"{remote.url}/releases/{latest}", environment={"AWS_ENDPOINT_URL_S3": url})
    assert "as recorded" in proof.stdout


def command(*arguments: str, code: int = 0, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Another command of lexmill, whose exit code is required."""
    done = subprocess.run(
        [str(LEXMILL), *arguments], capture_output=True, text=True, check=False, env={**os.environ, **(environment or {})}
    )
    assert done.returncode == code, f"{arguments}: exit {done.returncode}, not {code}:\n{done.stderr[-3000:]}"
    assert not [secret for secret in (KEY, SECRET, TOKEN) if secret in done.stdout + done.stderr]
    return done


def parts_done(site: Site) -> int:
    return sum("/receipts/" in f"/{name}" for name in files.listing(site.run_folder))


@pytest.mark.parametrize("moment", [1, 6])
def test_a_run_killed_in_the_middle_goes_on_and_two_at_a_time_are_refused(local: Local, url: str, moment: int) -> None:
    site = in_objects(local.site, f"killed{moment}", url)
    process = site.start()
    while process.poll() is None and parts_done(site) < moment:
        time.sleep(0.5)
    assert "held by process" in site.run(code=5).stderr
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    site.run()
    assert digests(site) == local.digests


class Gate:
    """A way to the endpoint that can be shut."""

    def __init__(self, behind: str) -> None:
        self._behind = int(behind.rpartition(":")[2])
        self._open = True
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                came, _ = self._socket.accept()
                if not self._open:
                    came.close()
                    continue
                there = socket.create_connection(("127.0.0.1", self._behind))
                self._pairs += [came, there]
                threading.Thread(target=self._pass_on, args=(came, there), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError, ValueError), one, other:
            while True:
                for ready in select.select([one, other], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if not data:
                        return
                    (other if ready is one else one).sendall(data)

    def shut(self) -> None:
        self._open = False
        for one in self._pairs:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        self.shut()
        self._socket.close()


@contextmanager
def gate_to(url: str) -> Iterator[Gate]:
    gate = Gate(url)
    try:
        yield gate
    finally:
        gate.close()


def test_a_store_that_goes_away_stops_the_run_and_the_same_command_goes_on(
    local: Local, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    with gate_to(url) as gate:
        site = in_objects(local.site, "gate", gate.url)
        process = site.start("--until", "dedup")
        while process.poll() is None and parts_done(site) < 4:
            time.sleep(0.5)
        gate.shut()
        _, err = process.communicate(timeout=300)
        assert process.returncode == 6, err[-3000:]
        assert "object storage cannot be reached" in err
        assert not [secret for secret in (KEY, SECRET, TOKEN) if secret in err]
        gate.open()
        # The dead run's lock still stands: its process is gone, so it is taken over at once.
        site.run("--until", "dedup")
        assert digests(site) == local.until_dedup()


def test_workers_elsewhere_need_the_store_and_no_common_file_system(
    tmp_path: Path, local: Local, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = in_objects(local.site, "cluster", url)
    with elsewhere(tmp_path / "dask", 2) as dask:
        settings = ("cluster.kind=address", f"cluster.address={dask.address}", "cluster.workers=0")
        site.run("--until", "dedup", settings=settings)
        assert digests(site) == local.until_dedup()
        log = (tmp_path / "dask" / "dask.log").read_bytes()
        assert not [secret for secret in (KEY, SECRET, TOKEN) if secret.encode() in log]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setitem(os.environ, name, "")
    with elsewhere(tmp_path / "dask2", 1) as dask:
        give_credentials(monkeypatch, url)
        settings = ("cluster.kind=address", f"cluster.address={dask.address}", "cluster.workers=0")
        done = site.run("--set", "run='again'", settings=settings, code=2)
        assert "cannot read the workspace" in done.stderr


def nights(site: Site) -> list[str]:
    """Two nights, a takedown and a reshuffle; the releases after each."""
    chosen = [part for setting in (*SETTINGS, "dedup.history=true") for part in ("--set", setting)]
    found = []

    def then(*arguments: str) -> None:
        command(*arguments, *chosen)
        found.append(str(files.read_json(site.workspace / "releases" / "latest.json")["release"])[len("2026-11-30-") :])

    raw = site.config.parent / "raw"
    then("nightly", str(site.config))
    (raw / "new.txt").write_text(
        "劳动合同\n甲方：南山机械厂\n乙方：李四\n" + "第一条 乙方在车间工作，每月工资伍仟元。\n" * 20, encoding="utf-8"
    )
    then("nightly", str(site.config))
    command("nightly", str(site.config), *chosen, code=99)
    text = min((site.workspace / "releases").glob("*/text/*.parquet"), key=str)
    doc_id = files.read_columns(text, ["doc_id"])["doc_id"][0].as_py()
    then("takedown", str(site.config), "--doc-id", doc_id, "--yes")
    assert "absent" in command("prove-absent", str(site.config), "--doc-id", doc_id, *chosen).stdout
    then("reshuffle", str(site.config))
    command("purge", str(site.config), "--yes", *chosen)
    return found


def test_nights_a_takedown_and_a_reshuffle_publish_what_they_do_on_a_disk(tmp_path: Path, url: str) -> None:
    found = []
    for kind in ("local", "remote"):
        site = only(make_site(tmp_path / kind), "statutes")
        raw = site.config.parent / "raw"
        raw.mkdir()
        text = site.config.read_text(encoding="utf-8")
        pattern = next(line for line in text.splitlines() if line.startswith("paths"))
        for path in sorted(Path("/").glob(pattern.split('"')[1].lstrip("/"))):
            (raw / path.name).write_bytes(path.read_bytes())
        text = text.replace(pattern, 'paths = ["raw/*"]')
        site.config.write_text(text, encoding="utf-8")
        found.append(nights(in_objects(site, "nights", url) if kind == "remote" else site))
    assert found[0] == found[1]
    assert len(set(found[0])) == 4
