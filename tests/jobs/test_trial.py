"""The dry run of the rules and the calibration, over a run that is de-identified."""

import json
from pathlib import Path

import pytest

from lexmill import rules
from lexmill.errors import ConfigError, InputError
from lexmill.jobs import decontaminate, dedup, deidentify, ingest, sample, trial
from lexmill.jobs.job import Job
from lexmill.report import trial as report
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article

PHONE = "13900001111"


def deidentified(make_job: MakeJob, *settings: str) -> Job:
    texts = [*(article(n) for n in range(60)), f"能退吗？可以，电话{PHONE}。第X条。{article(99)}", "哈" * 90 + "。"]
    job = make_job("a", [{"id": str(n), "text": text} for n, text in enumerate(texts)], *settings)
    deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
    return job


def test_a_dry_run_counts_all_and_shows_masked_examples_only(make_job: MakeJob) -> None:
    job = deidentified(make_job)
    found = trial.dry_run(job.config, 1000, 0)
    assert found["groups"]["q/qa"]["docs"] == found["totals"]["q/qa"]["docs"] == 62
    hits = {rule["rule"]: rule["hits"]["q/qa"]["docs"] for rule in found["rules"] if rule["effect"] != "tag"}
    assert hits["quality.any.character_loop"] == 1
    assert hits["quality.qa.placeholder_citation"] == 1
    assert found["leaving"]["q/qa"]["docs"] == 2
    assert "quality.qa.short" in found["silent"]
    assert not set(found["silent"]) & {rule["rule"] for rule in found["rules"]}
    assert PHONE not in json.dumps(found, ensure_ascii=False)
    page = report.page(found)
    assert "quality.qa.placeholder_citation" in page
    assert "第X条" in page
    assert not (job.workspace.run_folder / "filter").exists()


def test_a_sample_stands_for_all_and_is_drawn_the_same_again(make_job: MakeJob) -> None:
    job = deidentified(make_job)
    drawn = sample.draw(job.workspace, 20, 7)
    assert 20 <= len(drawn.documents) < 62
    assert drawn.weights.sum() == pytest.approx(62)
    assert drawn.documents.equals(sample.draw(job.workspace, 20, 7).documents)
    assert not drawn.documents.equals(sample.draw(job.workspace, 20, 8).documents)


def test_a_run_without_masks_is_not_shown(make_job: MakeJob) -> None:
    job = make_job("a", [{"id": "1", "text": article(1)}], "deidentify.enabled=false")
    with pytest.raises(ConfigError, match=r"deidentify\.enabled"):
        trial.dry_run(job.config, 10, 0)
    with pytest.raises(InputError, match="--until deidentify"):
        sample.draw(job.workspace, 10, 0)


def test_calibration_writes_an_overlay_that_loads_once(
    make_job: MakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = deidentified(make_job)
    assert not any(one.rule for one in trial.calibrate(job.config, tmp_path / "mine", 1000, 0, 0.05))
    assert not (tmp_path / "mine").exists()
    monkeypatch.setattr("lexmill.core.quality.calibrate.MIN_DOCUMENTS", 50)
    proposals = trial.calibrate(job.config, tmp_path / "mine", 1000, 0, 0.05)
    proposed = {one.rule.id for one in proposals if one.rule}
    assert "quality.qa.short_calibrated" in proposed
    loaded = rules.load((tmp_path / "mine",)).quality
    assert proposed <= {rule.id for rule in loaded.bound}
    assert PHONE not in (tmp_path / "mine" / "quality" / "calibrated.toml").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="is there already"):
        trial.calibrate(job.config, tmp_path / "mine", 1000, 0, 0.05)
