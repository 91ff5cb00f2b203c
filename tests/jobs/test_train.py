"""Training on a run that is de-identified: the same bytes again, and an overlay that loads and acts."""

import json
from pathlib import Path

import pytest

from lexmill import rules
from lexmill.config import Config
from lexmill.core.quality.classifier import load
from lexmill.errors import ConfigError, InputError
from lexmill.jobs import decontaminate, dedup, deidentify, ingest, train
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article

SETTINGS = ("quality.positives=['q']",)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "SETTINGS", {**train.SETTINGS, "bucket": 2000, "epoch": 2})


def deidentified(make_job: MakeJob, number: int, *settings: str) -> Config:
    job = make_job("a", [{"id": str(n), "text": article(n)} for n in range(number)], *settings)
    deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
    return job.config


@pytest.mark.usefixtures("small")
def test_a_model_is_the_same_from_the_same_seed_and_its_rules_load(make_job: MakeJob, tmp_path: Path) -> None:
    config = deidentified(make_job, 300, *SETTINGS)
    report = train.train(config, tmp_path / "one", 1000)
    again = train.train(config, tmp_path / "two", 1000)
    assert report == again
    names = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert [str(name) for name in names] == [
        *("card.md", "curves.json", "model/model.bin", "model/model.json", "model/pairs.bin"),
        *("precision-recall.svg", "roc.svg", "rules/quality/score.toml"),
    ]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)
    model = load(tmp_path / "one" / "model")
    assert model.digest == report["digest"]
    (rule,) = [rule for rule in rules.load((tmp_path / "one" / "rules",)).quality.classifier if rule.model == model.digest]
    assert rule.min_score == pytest.approx(model.thresholds["qa"])
    curve = json.loads((tmp_path / "one" / "curves.json").read_text())["curves"]["qa"]
    assert curve["good"] > 20
    assert curve["average_precision"] > 0.6, "shuffled words of an invented language are told from words"
    with pytest.raises(ConfigError, match="is there already"):
        train.train(config, tmp_path / "one", 1000)


def test_what_is_missing_is_told(make_job: MakeJob, tmp_path: Path) -> None:
    config = deidentified(make_job, 10, "quality.positives=['gone']")
    with pytest.raises(ConfigError, match="no source is called gone"):
        train.train(config, tmp_path / "out", 100)
    with pytest.raises(InputError, match="too few"):
        train.train(
            config.model_copy(update={"quality": config.quality.model_copy(update={"positives": ("q",)})}), tmp_path / "o", 9
        )


@pytest.mark.parametrize(("line", "problem"), [("{", "line 1"), ('{"verdict": "good"}', "line 1"), ("[]", "line 1")])
def test_a_broken_file_of_verdicts_is_told(make_job: MakeJob, tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "verdicts.jsonl").write_text(line, encoding="utf-8")
    config = deidentified(make_job, 10, *SETTINGS, f"quality.verdicts=['{tmp_path}/verdicts.jsonl']")
    with pytest.raises(InputError, match=problem):
        train.train(config, tmp_path / "out", 100)
