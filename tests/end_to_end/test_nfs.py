"""A file system as plain as NFS may be (no hard links, no kernel locks, no folder is renamed) gives the same bytes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Reference, digests, make_site

pytestmark = pytest.mark.slow

# Python imports it at the start of every process: of the driver, of its workers, and of what these start.
PLAIN = """
import errno, fcntl, os

def refuse(*_arguments, **_named):
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

def of_files_only(rename):
    def renamed(source, target, **named):
        if os.path.isdir(source):
            refuse()
        return rename(source, target, **named)
    return renamed

os.link = fcntl.flock = fcntl.lockf = refuse
os.rename, os.replace = of_files_only(os.rename), of_files_only(os.replace)
"""


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(PLAIN, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]))


@pytest.mark.smoke
@pytest.mark.usefixtures("plain")
def test_a_run_needs_no_links_locks_or_renamed_folders(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path)
    for call in ("os.link(f, f + '2')", "fcntl.flock(1, 2)", "os.rename(d, d + '2')"):
        code = f"import os, fcntl; f, d = {str(site.config)!r}, {str(tmp_path / 'site')!r}; {call}"
        refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "Operation not supported" in refused.stderr, "the test refuses nothing"
    site.run()
    assert digests(site) == reference.digests
    site.run("--set", "tokenize.seed=1")
    assert len(list((site.workspace / "releases").glob("*/manifest.json"))) == 2
