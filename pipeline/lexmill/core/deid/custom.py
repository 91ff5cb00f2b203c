"""Recognisers of users: a base class whose timeouts raise, and the check that refuses such as swallow them.

Presidio's ``PatternRecognizer`` logs a pattern that ran out of time and goes on, which reads like "no personal data here".
"""

import ast
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, TextIO

import regex

from lexmill.core.deid.presidio import (
    EntityRecognizer,
    LocalRecognizer,
    Pattern,
    PatternRecognizer,
    RecognizerResult,
    RemoteRecognizer,
)
from lexmill.core.deid.recognizers import LANGUAGE

_PROBE = "0"
# What catches a TimeoutError (it is an OSError).
_CATCHES = frozenset({"TimeoutError", "OSError", "IOError", "EnvironmentError", "Exception", "BaseException"})
_FRAMEWORK = (EntityRecognizer, LocalRecognizer, PatternRecognizer, object)


class RaisingPatternRecognizer(PatternRecognizer):
    """Presidio's ``PatternRecognizer``, but a pattern that takes longer than ``seconds`` raises TimeoutError.

    Put it before a recogniser of Presidio's to give that one the same conduct: ``class Mail(RaisingPatternRecognizer,
    EmailRecognizer)``. The document is then quarantined as ``deid.detector_failed``.
    """

    seconds = 20.0

    def analyze(
        self,
        text: str,
        entities: list[str],  # noqa: ARG002
        nlp_artifacts: Any = None,  # noqa: ARG002
        regex_flags: int | None = None,
    ) -> list[RecognizerResult]:
        """All matches of all patterns, but those that ``validate_result`` or ``invalidate_result`` denies."""
        flags = regex_flags or self.global_regex_flags
        results = []
        for pattern in self.patterns:
            if not pattern.compiled_regex or pattern.compiled_with_flags != flags:
                pattern.compiled_with_flags = flags
                pattern.compiled_regex = regex.compile(pattern.regex, flags)
            for match in pattern.compiled_regex.finditer(text, timeout=self.seconds):
                score = self._score(pattern, match.group())
                if score > EntityRecognizer.MIN_SCORE:
                    metadata = {
                        RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                        RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
                    }
                    results.append(RecognizerResult(self.supported_entities[0], *match.span(), score, None, metadata))
        return EntityRecognizer.remove_duplicates(results)

    def _score(self, pattern: Pattern, found: str) -> float:
        if not found or self.invalidate_result(found):
            return float(EntityRecognizer.MIN_SCORE)
        valid = self.validate_result(found)
        return float(pattern.score if valid is None else EntityRecognizer.MAX_SCORE if valid else EntityRecognizer.MIN_SCORE)


@contextmanager
def unheard() -> Iterator[None]:
    """What Python code prints meanwhile, or a log handler that it makes then writes at any time, goes nowhere: it may be text."""
    with redirect_stdout(_nowhere()), redirect_stderr(_nowhere()):
        yield


@lru_cache(maxsize=1)
def _nowhere() -> TextIO:
    # Whatever a text holds can be printed, halves of characters too.
    return Path(os.devnull).open("w", encoding="utf-8", errors="replace")


class _TimedOut:
    """Stands for a compiled pattern: whatever is asked of it takes too long."""

    def __init__(self) -> None:
        self.asked = False

    def finditer(self, *_: Any, timeout: float | None = None) -> Iterator[Any]:
        self.asked = True
        raise TimeoutError(timeout)


def fault(recognizer: Any) -> str | None:
    """Why a user's recogniser may not be used, with the remedy; None where it may."""
    if not isinstance(recognizer, EntityRecognizer):
        return "is no presidio_analyzer.EntityRecognizer"
    if isinstance(recognizer, RemoteRecognizer):
        return "asks another machine; nothing leaves this one"
    if recognizer.supported_language != LANGUAGE:
        return f'is for {recognizer.supported_language!r}; give it supported_language="{LANGUAGE}"'
    if isinstance(recognizer, PatternRecognizer):
        if not isinstance(recognizer, RaisingPatternRecognizer):
            return (
                "swallows timeouts, as presidio_analyzer.PatternRecognizer does; derive it from "
                f"{RaisingPatternRecognizer.__module__}.RaisingPatternRecognizer first: class Mine(RaisingPatternRecognizer, …)"
            )
        if _swallows(recognizer):
            return "swallows timeouts: a pattern that timed out did not raise; let TimeoutError pass in `analyze`"
    for cls in type(recognizer).__mro__:
        if cls in _FRAMEWORK or cls.__module__.startswith("lexmill."):
            continue
        where = _catching_line(cls)
        if where is not None:
            return f"swallows timeouts, or may ({where}); catch what you expect, or raise again"
    return None


def _swallows(recognizer: PatternRecognizer) -> bool:
    """Whether patterns that all run out of time leave no TimeoutError; they are as they were afterwards."""
    probe = _TimedOut()
    before = [(pattern, pattern.compiled_regex, pattern.compiled_with_flags) for pattern in recognizer.patterns]
    try:
        for pattern in recognizer.patterns:
            pattern.compiled_regex, pattern.compiled_with_flags = probe, recognizer.global_regex_flags
        try:
            recognizer.analyze(_PROBE, recognizer.supported_entities, None)
        except TimeoutError:
            return False
        return probe.asked
    finally:
        for pattern, compiled, flags in before:
            pattern.compiled_regex, pattern.compiled_with_flags = compiled, flags


def _catching_line(cls: type) -> str | None:
    """The first handler in a class's module (of Presidio's: in the class) that ends a TimeoutError; source that is hid counts."""
    module = inspect.getmodule(cls)
    assert module is not None
    whole: type | ModuleType = cls if cls.__module__.startswith("presidio_analyzer.") else module
    try:
        source = inspect.getsource(whole)
    except (OSError, TypeError):
        return f"the source of {cls.__module__} cannot be read"
    for node in ast.walk(ast.parse(dedent(source))):
        if isinstance(node, ast.ExceptHandler) and _catches(node.type):
            if not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                return f"{cls.__module__}, line {node.lineno}"
        elif isinstance(node, ast.Call) and _name(node.func) == "suppress" and any(_catches(item) for item in node.args):
            return f"{cls.__module__}, line {node.lineno}"
    return None


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    if isinstance(kind, ast.Tuple):
        return any(_catches(item) for item in kind.elts)
    return _name(kind) in _CATCHES


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
