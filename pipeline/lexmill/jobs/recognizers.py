"""Recognisers that the run file names: found, checked, and known by a digest of their code."""

import importlib
import inspect
import sys
from dataclasses import dataclass
from typing import Any

from lexmill.config import Config
from lexmill.core.deid import custom
from lexmill.core.deid.presidio import EntityRecognizer
from lexmill.core.deid.recognizers import LANGUAGE
from lexmill.errors import ConfigError, StoppedError
from lexmill.store.fingerprint import user_code_digest


@dataclass(frozen=True)
class RecognizerKey:
    """What a worker needs to load a user's recognisers: their ``module:Class`` names, where the run file lies, their digest."""

    names: tuple[str, ...]
    folder: str
    digest: str


def recognizer_key(config: Config) -> RecognizerKey:
    """The recognisers of the run file; raises ConfigError where a module is not found."""
    names = config.deidentify.recognizers
    folder = str(config.path.parent)
    return RecognizerKey(names, folder, _digest(names, folder))


def load_recognizers(key: RecognizerKey) -> tuple[EntityRecognizer, ...]:
    """One object a class, each able to fail loudly; raises ConfigError with every fault at once.

    Raises StoppedError where this process finds other code than the one that made the key.
    """
    if not key.names:
        return ()
    if _digest(key.names, key.folder) != key.digest:
        raise StoppedError("the code of a recogniser changed during the run, or is another on this worker: run it again")
    faults, found = [], []
    for name in key.names:
        try:
            with custom.unheard():
                recognizer = _make(name)
        except Exception as error:
            # Whatever a user's module raises when it is imported is a fault of the run file.
            faults.append(f"deidentify.recognizers: {name}: cannot be made ({type(error).__name__}: {error})")
            continue
        problem = custom.fault(recognizer)
        if problem is not None:
            faults.append(f"deidentify.recognizers: {name}: {problem}")
        found.append(recognizer)
    if faults:
        raise ConfigError("\n".join(faults))
    return tuple(found)


def _make(name: str) -> Any:
    module, _, cls = name.partition(":")
    made = getattr(importlib.import_module(module), cls)
    # Presidio's own are for English unless they are told; a user's class may know its language itself.
    return made(supported_language=LANGUAGE) if "supported_language" in inspect.signature(made).parameters else made()


def _digest(names: tuple[str, ...], folder: str) -> str:
    if names and folder not in sys.path:
        sys.path.append(folder)
    try:
        with custom.unheard():  # to find what a module imports may import it
            return user_code_digest(names)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"deidentify.recognizers: {error.name}: no such module; it must be installed, or lie beside the run file"
        ) from None
