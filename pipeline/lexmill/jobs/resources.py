"""What a worker process loads once and keeps: rules, detector, classifier, tokeniser, each known by a digest, never by a name."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from lexmill import rules
from lexmill.config import Config, Screen
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.tagger import Tagger
from lexmill.core.quality import classifier, screen
from lexmill.core.ruleset import RuleSet
from lexmill.core.tokens.tokenizer import Backend, Scheme, Tokenizer, load, locate
from lexmill.errors import ConfigError, InputError, StoppedError
from lexmill.jobs.loaded import loaded
from lexmill.jobs.recognizers import RecognizerKey, load_recognizers, recognizer_key
from lexmill.store.fingerprint import file_digest

CLASSIFIER = Path(__file__).parent.parent / "models" / "quality"
NAMES_MODEL = Path(__file__).parent.parent / "models" / "names.npz"
_PRELOADED = "LEXMILL_PRELOADED_TOKENIZER"


Digests = tuple[tuple[str, str], ...]


@loaded(2)
def _rules(overlays: tuple[Path, ...], digests: Digests) -> RuleSet:
    found = rules.load_proven(overlays)
    if tuple(sorted(found.digests.items())) != digests:
        raise StoppedError("a worker found other rules than the driver; rule files changed during the run: run it again")
    return found


def rules_for(overlays: tuple[Path, ...], digests: Mapping[str, str]) -> RuleSet:
    """The rules of the run; raises StoppedError where this worker finds others than the driver did."""
    return _rules(overlays, tuple(sorted(digests.items())))


@loaded(1)
def load_tagger() -> Tagger:
    """The installed model of names."""
    return Tagger(NAMES_MODEL.read_bytes())


@loaded(2)
def _detector(overlays: tuple[Path, ...], digests: Digests, policy: str, model: str, recognizers: RecognizerKey) -> Detector:
    tagger = load_tagger()
    if tagger.digest != model:
        raise StoppedError("a worker has another names model than the driver: install the same version everywhere")
    return Detector(_rules(overlays, digests).deid, policy, tagger, load_recognizers(recognizers))


def detector_for(
    overlays: tuple[Path, ...], digests: Mapping[str, str], policy: str, model: str, recognizers: RecognizerKey
) -> Detector:
    """The detector for a policy of these rules, with the recognisers of the run file and the names model of that digest."""
    return _detector(overlays, tuple(sorted(digests.items())), policy, model, recognizers)


def detector_of(config: Config) -> Detector:
    """The detector of a run file whose rules a run has proven; raises ConfigError for an unknown policy."""
    found = rules.load_proven(config.rule_folders)
    policies = sorted(known.name for known in found.deid.policy)
    if config.deidentify.policy not in policies:
        raise ConfigError(f"{config.path}: deidentify.policy: no such policy; there are {', '.join(policies)}")
    return detector_for(
        config.rule_folders, found.digests, config.deidentify.policy, load_tagger().digest, recognizer_key(config)
    )


def installed_detector(policy: str) -> Detector:
    """The detector of the shipped rules; raises ValueError for an unknown policy."""
    return Detector(rules.load_deid(), policy, load_tagger())


@loaded(2)
def _classifier(folder: Path, digest: str) -> classifier.Classifier:
    found = classifier.load(folder)
    if found.digest != digest:
        raise StoppedError("a worker has another quality classifier than the driver: install the same version everywhere")
    return found


def classifier_for(folder: Path, digest: str) -> classifier.Classifier:
    """The quality classifier of a folder, which must have this digest."""
    return _classifier(folder, digest)


def classifier_key(config: Config) -> tuple[Path, str]:
    """The folder of the run's quality classifier, and its digest; raises ConfigError where there is none."""
    folder = Path(config.resolve(config.filter.model)) if config.filter.model != "installed" else CLASSIFIER
    try:
        return folder, classifier.load(folder).digest
    except InputError as error:
        raise ConfigError(f"filter.model: {error}; name a folder that `lexmill quality train` wrote") from None


def model_files(config: Config) -> dict[str, Path]:
    """The files of the models that a run uses, by name: of names, and of quality (the run file's, or the installed one)."""
    folder = Path(config.resolve(config.filter.model)) if config.filter.model != "installed" else CLASSIFIER
    return {NAMES_MODEL.name: NAMES_MODEL, **{f"quality/{path.name}": path for path in sorted(folder.glob("*.bin"))}}


ScreenKey = tuple[Screen, Path, str]


@loaded(8)
def _screen(settings: Screen, path: Path, digest: str) -> screen.Screen:
    found = screen.load(settings, path)
    if found.digest != digest:
        raise StoppedError(f"screen {settings.name}: its file changed during the run: run it again")
    return found


def screens_for(keys: tuple[ScreenKey, ...]) -> tuple[screen.Screen, ...]:
    """The screens of these keys; raises StoppedError where a worker's file is another than the driver's."""
    return tuple(_screen(*key) for key in keys)


def screen_keys(config: Config) -> tuple[ScreenKey, ...]:
    """Settings, file and digest of every screen of the run file; raises ConfigError."""
    try:
        files = [(settings, Path(config.resolve(settings.file))) for settings in config.screen]
        return tuple((settings, path, screen.load(settings, path).digest) for settings, path in files)
    except InputError as error:
        raise ConfigError(f"screen: {error}") from None


@dataclass(frozen=True)
class TokenizerKey:
    """Which tokeniser a task needs: what ``tokenizer.load`` takes, and the digest that it must have."""

    name: str
    digest: str
    backend: Backend
    scheme: Scheme


@loaded(2)
def _tokenizer(name: str, backend: Backend, scheme: Scheme, _file: str) -> Tokenizer:
    return load(name, backend, scheme)


def tokenizer_for(key: TokenizerKey) -> Tokenizer:
    """The tokeniser of this key; raises StoppedError where the worker's file is another than the driver's."""
    found = _tokenizer(key.name, key.backend, key.scheme, key.digest)
    if found.digest != key.digest:
        raise StoppedError("a worker has another tokeniser file than the driver: install the same version everywhere")
    return found


def load_tokenizer(config: Config) -> Tokenizer:
    """The tokeniser of the run file, its reference only: an installed one by its name, else a file; raises ConfigError."""
    name = config.tokenize.tokenizer
    name = name if name.isidentifier() else config.resolve(name)
    # Checked at the beginning of a run, needed by its last stages: a second each time.
    return _tokenizer(name, "reference", config.tokenize.scheme, file_digest(locate(name)))


def tokenizer_key(config: Config, tokenizer: Tokenizer, backend: Backend) -> TokenizerKey:
    """What a task needs to find ``tokenizer``, which the run file names, on its worker, with a backend of its own."""
    return TokenizerKey(tokenizer.name, tokenizer.digest, backend, config.tokenize.scheme)


def preload_environment(config: Config) -> dict[str, str]:
    """The environment of processes that are to begin with the run's tokeniser loaded."""
    key = tokenizer_key(config, load_tokenizer(config), config.tokenize.backend)
    return {_PRELOADED: orjson.dumps(asdict(key)).decode()}


def preloaded_tokenizer() -> TokenizerKey | None:
    """The tokeniser that this process is to begin with, if any."""
    found = os.environ.get(_PRELOADED)
    return TokenizerKey(**orjson.loads(found)) if found else None
