"""The detector: policies, conflicts, failure, and no network."""

import socket
from itertools import pairwise
from typing import Any, NoReturn

import pytest
from presidio_analyzer import EntityRecognizer, RecognizerResult

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.rules import DeidRules
from lexmill.core.deid.tagger import Tagger
from lexmill.errors import DocumentError


class Raising(EntityRecognizer):
    """Fails on documents that say so, with their text in its message."""

    def load(self) -> None:
        """Nothing to load."""

    def analyze(self, text: str, entities: list[str], nlp_artifacts: Any) -> list[RecognizerResult]:  # noqa: ARG002
        if "故障" in text:
            raise TimeoutError(text)
        return []


def failing(rules: DeidRules, tagger: Tagger) -> Detector:
    detector = Detector(rules, "train-strict", tagger)
    detector.engine.registry.add_recognizer(Raising(["RAISING"], supported_language="zh"))
    return detector


def test_unknown_policy_names_the_known_ones(rules: DeidRules, tagger: Tagger) -> None:
    with pytest.raises(ValueError, match="spc2016, train-strict"):
        Detector(rules, "none", tagger)


def test_unknown_document_type(strict: Detector) -> None:
    with pytest.raises(ValueError, match="auto, judgment"):
        strict.detect("", "poem")


def test_spans_are_sorted_and_disjoint_and_the_longest_wins(strict: Detector) -> None:
    text = "原告：卞长庚，住杭州市西湖区泽沛路12号，电话13800001111。被告：卞长庚商贸有限公司。"
    spans = strict.detect(text, "judgment")
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert "卞长庚商贸有限公司" in [text[span.start : span.end] for span in spans]


def test_a_failing_recogniser_fails_the_document_without_its_text(rules: DeidRules, tagger: Tagger) -> None:
    with pytest.raises(DocumentError) as caught:
        failing(rules, tagger).detect("故障：卞长庚", "auto")
    assert caught.value.rule == "deid.detector_failed"
    assert caught.value.__cause__ is None
    assert "卞长庚" not in str(caught.value)


def test_nothing_touches_the_network(rules: DeidRules, tagger: Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> NoReturn:
        raise AssertionError("network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Detector(rules, "train-strict", tagger).detect("邮箱nobody@example.com", "auto")


def test_an_empty_text_has_no_spans(strict: Detector) -> None:
    assert strict.detect("", "auto") == []
