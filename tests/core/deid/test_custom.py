"""Recognisers of users: timeouts raise, and what swallows them is refused."""

import logging
import sys
from contextlib import suppress
from typing import Any

import pytest
from presidio_analyzer import EntityRecognizer, Pattern, PatternRecognizer, RecognizerResult, RemoteRecognizer
from presidio_analyzer.predefined_recognizers import EmailRecognizer

from lexmill.core.deid.custom import RaisingPatternRecognizer, fault
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import mask
from lexmill.core.deid.rules import DeidRules
from lexmill.errors import DocumentError
from lexmill.jobs.resources import load_tagger

SEAL = [Pattern("seal", "印鉴[A-Z]{4}", 0.6)]


class Mail(RaisingPatternRecognizer, EmailRecognizer):
    """Presidio's recogniser of e-mails, whose timeouts raise."""


class Seal(RaisingPatternRecognizer):
    """Numbers of seals, but not the one of the court."""

    def __init__(self, supported_language: str) -> None:
        super().__init__("SEAL", patterns=SEAL, supported_language=supported_language)

    def invalidate_result(self, pattern_text: str) -> bool:
        return pattern_text.endswith("AAAA")


class Slow(RaisingPatternRecognizer):
    """A pattern that takes for ever on a text of many a."""

    seconds = 0.05

    def __init__(self) -> None:
        super().__init__("SLOW", patterns=[Pattern("slow", "(?:a|aa)+(?<!a)", 1.0)], supported_language="zh")


class Swallowing(Seal):
    """Catches what its base raises."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any = None, regex_flags: int | None = None) -> Any:
        with suppress(OSError):
            return super().analyze(text, entities, nlp_artifacts, regex_flags)
        return []


class Remote(RemoteRecognizer):
    """Asks somebody else."""

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any) -> list[RecognizerResult]:  # noqa: ARG002
        return []

    def get_supported_entities(self) -> list[str]:
        return []


class Beyond(EntityRecognizer):
    """Finds what is not there."""

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any) -> list[RecognizerResult]:  # noqa: ARG002
        return [RecognizerResult("BEYOND", 0, len(text) + 1, 1.0)]


class Loud(EntityRecognizer):
    """Says what it reads."""

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any) -> list[RecognizerResult]:  # noqa: ARG002
        print(text, "\ud800")
        print(text, file=sys.stderr)
        sys.stdout.buffer.write(text.encode())
        logging.getLogger("loud").warning(text)
        return [RecognizerResult("LOUD", 0, 2, 1.0)]


def test_presidio_swallows_what_our_base_raises(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presidio_analyzer.pattern_recognizer.REGEX_TIMEOUT_SECONDS", 0.05)
    theirs = PatternRecognizer("SLOW", patterns=[Pattern("slow", "(?:a|aa)+(?<!a)", 1.0)], supported_language="zh")
    assert theirs.analyze("a" * 60, ["SLOW"]) == []
    assert "timed out" in caplog.text
    with pytest.raises(TimeoutError):
        Slow().analyze("a" * 60, ["SLOW"])


def test_a_timeout_quarantines_the_document(rules: DeidRules) -> None:
    detector = Detector(rules, "train-strict", load_tagger(), (Slow(),))
    assert detector.detect("原告：章若岚，女。", "judgment")
    with pytest.raises(DocumentError, match=r"deid\.detector_failed"):
        detector.detect("原告：章若岚，女。" + "a" * 60, "judgment")


def test_what_they_find_is_masked_and_stays_masked(rules: DeidRules) -> None:
    detector = Detector(rules, "train-strict", load_tagger(), (Mail(supported_language="zh"), Seal("zh")))
    masked = mask("原告章若岚，印鉴BCDE，印鉴AAAA，寄至 no!body@example.com 。", "judgment", detector)
    assert [(item.entity, item.rule) for item in masked.spans if item.entity == "SEAL"] == [("SEAL", "recognizer")]
    assert "×××，印鉴AAAA" in masked.text
    assert "body@" not in masked.text
    assert mask(masked.text, "judgment", detector).text == masked.text


def test_a_span_beyond_the_text_fails_the_document(rules: DeidRules) -> None:
    detector = Detector(rules, "train-strict", load_tagger(), (Beyond(["BEYOND"], supported_language="zh"),))
    with pytest.raises(DocumentError, match=r"deid\.detector_failed"):
        detector.detect("章若岚", "judgment")


def test_what_they_say_is_unheard(rules: DeidRules, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a worker: nobody handles what is logged.
    monkeypatch.setattr(logging.getLogger("loud"), "propagate", False)
    before = sys.stdout, sys.stderr
    recognizer = Loud(["LOUD"], supported_language="zh")
    recognizer.analyze("声张", [], None)
    heard = capfd.readouterr()
    assert (heard.out.count("声张"), heard.err.count("声张")) == (2, 2), "it does speak"
    detector = Detector(rules, "train-strict", load_tagger(), (recognizer,))
    assert [span.entity for span in detector.detect("声张，印鉴。", "judgment")] == ["LOUD"]
    assert capfd.readouterr() == ("", "")
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(
    ("recognizer", "said"),
    [
        (EmailRecognizer(supported_language="zh"), "RaisingPatternRecognizer"),
        (PatternRecognizer("SEAL", patterns=SEAL, supported_language="zh"), "RaisingPatternRecognizer"),
        (Swallowing("zh"), "did not raise"),
        (Seal("en"), "supported_language"),
        (Remote(["X"], "remote", "zh", "1"), "another machine"),
        (object(), "EntityRecognizer"),
    ],
)
def test_refused(recognizer: Any, said: str) -> None:
    assert said in str(fault(recognizer))


def test_accepted_and_left_as_they_were() -> None:
    pattern = EmailRecognizer.PATTERNS[0]
    before = (pattern.compiled_regex, pattern.compiled_with_flags)
    # This module suppresses errors in a class of its own, so only such as stand elsewhere are asked here.
    assert fault(RaisingPatternRecognizer("SEAL", patterns=SEAL, supported_language="zh")) is None
    assert "may" in str(fault(Mail(supported_language="zh")))
    assert (pattern.compiled_regex, pattern.compiled_with_flags) == before
