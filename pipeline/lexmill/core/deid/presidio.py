"""Presidio without spaCy, which it imports for its language engines: we use the one that needs none.

spaCy takes 40 MB in every process and half a second of its start. While Presidio is imported, stand-ins are in its place; what
uses one later (an engine of Presidio's that a user's recogniser runs) gets the real thing then.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = [
    "AnalyzerEngine",
    "ContextAwareEnhancer",
    "EntityRecognizer",
    "LocalRecognizer",
    "NlpArtifacts",
    "NoOpNlpEngine",
    "Pattern",
    "PatternRecognizer",
    "RecognizerRegistry",
    "RecognizerResult",
    "RemoteRecognizer",
]

_PACKAGES = ("spacy", "thinc")


class _StandIn(type):
    """The class of what stands for an object of a module that is not imported yet."""

    _home: tuple[str, str]

    def real(cls) -> Any:
        """The object itself."""
        module, name = cls._home
        return getattr(importlib.import_module(module), name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.real()(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real())

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if isinstance(sys.modules.get(cls._home[0]), _Module):
            # Presidio is being imported, and registers a component with a decorator.
            return lambda *_, **__: lambda decorated: decorated
        return getattr(cls.real(), name)


class _Module(ModuleType):
    """Has everything that is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn(name, (), {"_home": (self.__name__, name)})


class _Finder(MetaPathFinder, Loader):
    """Finds a stand-in for every module of the packages."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        return ModuleSpec(fullname, self, is_package=True) if fullname.partition(".")[0] in _PACKAGES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


@contextmanager
def _stand_ins() -> Iterator[None]:
    if any(package in sys.modules for package in (*_PACKAGES, "presidio_analyzer")):
        yield  # somebody has loaded it already
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
            del sys.modules[name]


with _stand_ins():
    from presidio_analyzer import (
        AnalyzerEngine,
        EntityRecognizer,
        LocalRecognizer,
        Pattern,
        PatternRecognizer,
        RecognizerRegistry,
        RecognizerResult,
        RemoteRecognizer,
    )
    from presidio_analyzer.context_aware_enhancers import ContextAwareEnhancer
    from presidio_analyzer.nlp_engine import NlpArtifacts, NoOpNlpEngine
