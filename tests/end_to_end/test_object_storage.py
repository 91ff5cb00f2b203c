"""A workspace in object storage, against a real HTTP endpoint: the bytes of a local one, whatever is killed or refuses."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lexmill.config import at
from lexmill.store import files
from tests.end_to_end.conftest import LEXMILL, Site, digests, make_site
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


def only(site: Site, source: str) -> Site:
    """The same with one source."""
    head, *tables = re.split(r"(?=\[\[source\]\]\n)", site.config.read_text(encoding="utf-8"))
    chosen = [table for table in tables if f'name = "{source}"' in table]
    site.config.write_text(head + "".join(chosen), encoding="utf-8")
    return site


@pytest.mark.smoke
def test_a_small_run_has_the_bytes_of_a_local_one_and_no_credentials_anywhere(tmp_path: Path, url: str) -> None:
    local = only(make_site(tmp_path), "statutes")
    remote = in_objects(local, "small", url)
    local.run("--set", "cluster.workers=1")
    done = remote.run("--log-format", "json", "--set", "cluster.workers=1")
    assert digests(remote) == digests(local)
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
