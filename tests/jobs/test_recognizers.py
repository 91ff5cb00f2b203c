"""Recognisers that the run file names: loaded from beside it, refused with a reason, known by their code, masked to the end."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import tldextract

from lexmill.core.deid.detector import Detector
from lexmill.errors import ConfigError, GateError, StoppedError
from lexmill.jobs import decontaminate, dedup, deidentify, ingest
from lexmill.jobs.recognizers import load_recognizers, recognizer_key
from lexmill.jobs.resources import load_tagger
from tests.jobs.conftest import MakeJob

MODULE = """
from presidio_analyzer import Pattern
from presidio_analyzer.predefined_recognizers import EmailRecognizer
from lexmill.core.deid.custom import RaisingPatternRecognizer
from {helper} import FORM

class Mail(RaisingPatternRecognizer, EmailRecognizer):
    pass

class Seal(RaisingPatternRecognizer):
    def __init__(self):
        super().__init__("SEAL", patterns=[Pattern("seal", FORM, 0.6)], supported_language="zh")

class Quiet(Seal):
    def analyze(self, text, entities, nlp_artifacts=None, regex_flags=None):
        try:
            return super().analyze(text, entities, nlp_artifacts, regex_flags)
        except TimeoutError:
            return []

class Broken:
    def __init__(self):
        raise RuntimeError("no table")
"""
HELPER = 'FORM = "印鉴[A-Z]{4}"\n'


@pytest.fixture
def beside(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Names for a module and its helper that no other test has imported."""
    name = f"mine_{abs(hash(request.node.name))}"
    path = list(sys.path)
    yield name, f"{name}_helper"
    sys.path[:] = path
    for module in (name, f"{name}_helper"):
        sys.modules.pop(module, None)


def write(folder: Path, names: tuple[str, str], helper: str = HELPER) -> None:
    folder.mkdir(exist_ok=True)
    source = MODULE.format(helper=names[1])
    quiet = source.index("class Quiet")
    (folder / f"{names[0]}.py").write_text(source[:quiet], encoding="utf-8")
    (folder / f"{names[0]}_quiet.py").write_text(source, encoding="utf-8")
    (folder / f"{names[1]}.py").write_text(helper, encoding="utf-8")


def test_they_are_masked_to_the_end_and_their_code_counts(make_job: MakeJob, tmp_path: Path, beside: tuple[str, str]) -> None:
    write(tmp_path / "a", beside)
    chosen = f'deidentify.recognizers=["{beside[0]}:Mail", "{beside[0]}:Seal"]'
    records = [
        {"id": "1", "question": "合同上盖的是印鉴BCDE，有效吗？", "answer": "写信给 mail+tag!x@example.com ，印鉴BCDE也要核对。"}
    ]
    job = make_job("a", records, chosen)
    done = deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
    (text,) = pq.read_table(job.workspace.stage("deidentify").part(0))["text"].to_pylist()
    assert [mark for mark in ("BCDE", "mail", "tag") if mark in text] == []
    assert done["tallies"]["masked.SEAL"] == 2
    assert done["tallies"]["masked.EMAIL_ADDRESS"] == 1
    before = recognizer_key(job.config)
    assert deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))["fingerprint"] == done["fingerprint"]
    write(tmp_path / "a", beside, 'FORM = "印鉴[A-Z]{5}"\n')
    assert recognizer_key(job.config).digest != before.digest
    with pytest.raises(StoppedError, match="changed"):
        load_recognizers(before)


def test_nothing_is_downloaded(
    make_job: MakeJob, tmp_path: Path, beside: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "b", beside)
    job = make_job("b", [], f'deidentify.recognizers=["{beside[0]}:Mail"]')

    def refuse(*_: object) -> None:
        raise AssertionError("network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    (mail,) = load_recognizers(recognizer_key(job.config))
    detector = Detector(job.rules.deid, "train-strict", load_tagger(), (mail,))
    assert detector.detect("(a!b@example.co.uk)", "auto")[0].entity == "EMAIL_ADDRESS"
    assert mail.analyze("a@example.notadomain", ["EMAIL_ADDRESS"]) == []
    assert tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls == ()


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        ("{quiet}:Quiet", "did not raise"),
        ("{quiet}:Broken", "RuntimeError"),
        ("{mine}:Absent", "AttributeError"),
        ("presidio_analyzer.predefined_recognizers:EmailRecognizer", "RaisingPatternRecognizer"),
        ("no_such_module_here:Seal", "no such module"),
    ],
)
def test_refused_before_any_work(make_job: MakeJob, tmp_path: Path, beside: tuple[str, str], cls: str, said: str) -> None:
    write(tmp_path / "c", beside)
    name = cls.format(mine=beside[0], quiet=f"{beside[0]}_quiet")
    job = make_job("c", [], f'deidentify.recognizers=["{name}"]')
    with pytest.raises(ConfigError, match=said):
        load_recognizers(recognizer_key(job.config))


def test_a_log_handler_of_theirs_is_unheard(
    make_job: MakeJob, tmp_path: Path, beside: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "f", beside, HELPER + "import logging\nHANDLER = logging.StreamHandler()\n")
    job = make_job("f", [], f'deidentify.recognizers=["{beside[0]}:Seal"]')
    load_recognizers(recognizer_key(job.config))
    sys.modules[beside[1]].HANDLER.emit(logging.makeLogRecord({"msg": "印鉴BCDE"}))
    assert capfd.readouterr() == ("", "")


def test_a_name_without_a_class_is_no_setting(make_job: MakeJob) -> None:
    with pytest.raises(ConfigError, match="recognizers"):
        make_job("d", [], 'deidentify.recognizers=["mine"]')


def test_a_recogniser_that_fails_everywhere_stops_the_run(make_job: MakeJob, tmp_path: Path, beside: tuple[str, str]) -> None:
    write(tmp_path / "e", beside, 'FORM = "(?:问|问问)+(?<!问)"\n')
    with (tmp_path / "e" / f"{beside[0]}.py").open("a") as out:
        out.write("\nSeal.seconds = 0.05\n")
    job = make_job("e", [{"id": "1", "question": "问" * 60, "answer": "答" * 20}], f'deidentify.recognizers=["{beside[0]}:Seal"]')
    with pytest.raises(GateError, match="deidentify"):
        deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
    assert pq.read_table(job.workspace.stage("deidentify").ledger(0))["rule"].to_pylist() == ["deid.detector_failed"]
