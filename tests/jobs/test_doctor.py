"""A fit machine passes; what is wrong is named with its remedy, and nothing else is hidden by it."""

from pathlib import Path

import pytest

from lexmill import config as configuration
from lexmill.core.tokens import tokenizer
from lexmill.jobs import doctor
from lexmill.jobs.doctor import Finding
from tests.made import source


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_cluster", lambda _: iter([Finding("cluster", "ok", "")]))


def examined(folder: Path, more: str = "") -> dict[str, Finding]:
    (folder / "a.jsonl").write_text('{"id": 1, "text": "问题"}\n')
    (folder / "run.toml").write_text(f'version = 1\nworkspace = "w"\n{more}\n' + source("q", "qa", "*.jsonl"))
    return {finding.subject: finding for finding in doctor.examine(configuration.load(folder / "run.toml"))}


def test_a_fit_machine_passes_and_leaves_no_trace(tmp_path: Path) -> None:
    found = examined(tmp_path)
    assert {"python", "machine", "packages", "model", "classifier", "tokenizer", "rules", "run file", "disk", "workspace"} <= set(
        found
    )
    assert [finding for finding in found.values() if finding.state == "fail"] == []
    assert list((tmp_path / "w").iterdir()) == []


def test_a_wrong_run_file_is_said_beside_the_rest(tmp_path: Path) -> None:
    found = examined(tmp_path, '[deidentify]\npolicy = "none-such"')
    failed = [finding for finding in found.values() if finding.state == "fail"]
    assert len(failed) == 1
    assert "deidentify.policy" in failed[0].found
    assert found["disk"].state == "ok"


def test_a_small_disk_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_local_bytes", lambda _: 10**18)
    assert examined(tmp_path)["disk"].state == "warn"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda _: ["no-such-package>=1", 'pytest>=8; extra == "dev"'])
    found = {finding.subject: finding for finding in doctor.examine(None)}
    assert found["packages"].state == "fail"
    assert "no-such-package" in found["packages"].found


def test_a_tokeniser_that_lost_its_file_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokenizer.INSTALLED, "deepseek", ("no_such_package", "tokenizer.json"))
    monkeypatch.setattr(doctor, "INSTALLED", tokenizer.INSTALLED)
    states = [finding.state for finding in doctor.examine(None)]
    assert states.count("fail") == 1
