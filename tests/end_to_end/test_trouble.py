"""Full disks, read-only workspaces, bad run files, missing input and gates: a clear error, the right exit code, nothing lost."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Reference, digests, make_site

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.smoke
def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(small_disk: Path, reference: Reference) -> None:
    site = make_site(small_disk)
    done = site.run(code=6)
    assert "no space left" in done.stderr
    assert not (site.workspace / "releases" / "latest.json").exists()
    subprocess.run(["mount", "-o", "remount,size=300m", small_disk], check=True)
    site.run()
    assert digests(site) == reference.digests


@pytest.mark.smoke
def test_a_read_only_workspace_is_an_error_and_changes_nothing(small_disk: Path) -> None:
    site = make_site(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = site.run(code=6)
    assert "read-only" in done.stderr
    assert not site.workspace.exists()


def test_a_file_in_the_place_of_the_workspace(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    site.workspace.write_text("mine")
    done = site.run(code=2)
    assert "workspace" in done.stderr
    assert site.workspace.read_text() == "mine"


@pytest.mark.smoke
def test_bad_settings_are_told_before_any_work(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    for setting, said in (
        ("deidentify.policy='nobody'", "train-strict"),
        ("tokenize.tokenizer='nothing'", "tokenize.tokenizer"),
        ("rules=['no/such/folder']", "no/such/folder"),
        ("cluster.memory='much'", "cluster.memory"),
    ):
        done = site.run(settings=(setting,), code=2)
        assert said in done.stderr
        assert not (site.run_folder / "ingest").exists(), setting


def test_missing_input_exits_3(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    site.config.write_text(site.config.read_text().replace("/judgments/", "/nowhere/"))
    assert "nowhere" in site.run(code=3).stderr


def test_only_unreadable_input_exits_3(tmp_path: Path) -> None:
    site = make_site(tmp_path / "site")
    text = site.config.read_text()
    (tmp_path / "site" / "bad.txt").write_bytes(bytes(range(256)) * 10)
    first = text.index("[[source]]")
    second = text.index("[[source]]", first + 1)
    source = text[first:second]
    lines = ['paths = ["bad.txt"]' if line.startswith("paths") else line for line in source.splitlines()]
    site.config.write_text(text[:first] + "\n".join(lines) + "\n")
    assert "nothing in any source is readable" in site.run(code=3).stderr


def test_a_rule_that_does_not_prove_itself_stops_before_it_starts(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    folder = tmp_path / "rules" / "ingest"
    folder.mkdir(parents=True)
    (folder / "x.toml").write_text("[[nothing]]\nid = 'ingest.x'\nwhy = 'x'\n")
    assert "nothing" in site.run(settings=("rules=['rules']",), code=2).stderr
    assert not site.run_folder.exists() or not (site.run_folder / "ingest").exists()


def test_a_damaged_release_is_published_again(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path)
    shutil.copytree(reference.site.workspace, site.workspace)
    shutil.rmtree(site.workspace / "releases")
    site.run()
    assert digests(site) == reference.digests
