"""The run file (TOML) as frozen, strict models; every fault is reported at once with file, key and remedy."""

import datetime
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from lexmill.errors import ConfigError

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
DocType = Literal["judgment", "contract", "exam", "qa", "statute"]
SourceType = Literal[DocType, "auto"]
Format = Literal[
    "7z",
    "arrow",
    "csv",
    "doc",
    "docx",
    "html",
    "json",
    "jsonl",
    "md",
    "parquet",
    "pdf",
    "sqlite",
    "tar",
    "tsv",
    "txt",
    "xlsx",
    "zip",
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def at(place: str | Path) -> Path:
    """A folder or file by its path or its URL; what has a URL (``s3://…``) has pathlib's methods, too.

    Raises ConfigError for a URL that holds credentials, that names no object storage, or where that is not installed.
    """
    url = str(place)
    if "://" not in url:
        return Path(place)
    if fault := url_fault(url):
        raise ConfigError(fault)
    if urlsplit(url).scheme != "s3":
        raise ConfigError(f"{url}: is neither a path nor an s3:// URL")
    if _PATTERN & set(url) or ".." in url.split("/"):
        # The store's own commands would take them for a pattern, and find other people's files.
        raise ConfigError(f"{url}: a place in object storage may not hold any of * ? [ ], nor ..; name another")
    import fsspec
    from upath import UPath

    try:
        fsspec.get_filesystem_class("s3")
    except ImportError:
        raise ConfigError(f"{url}: object storage needs s3fs; install lexmill[s3]") from None
    # It is no pathlib.Path, but has every method of it that is used here. Others write there too, so no listing is remembered.
    return cast(Path, UPath(url, use_listings_cache=False))


_PATTERN = frozenset("*?[]")
_CREDENTIALS = (
    "credentials never stand in a run file or a URL: put them into the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or "
    "~/.aws, or give the machine a role"
)


def url_fault(url: str) -> str | None:
    """What is wrong with a URL that says a secret; the answer does not repeat it."""
    parts = urlsplit(url)
    return _CREDENTIALS if "@" in parts.netloc or "x-amz-" in parts.query.lower() else None


class Storage(_Section):
    """Where object storage is; who may use it is said by the environment, ``~/.aws`` or the machine's role, never here."""

    endpoint_url: str = ""
    region: str = ""
    profile: str = ""

    @model_validator(mode="before")
    @classmethod
    def _no_credentials(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(word in str(name) for name in value for word in ("key", "secret", "token", "pass")):
            raise ValueError(_CREDENTIALS)
        return value

    @field_validator("endpoint_url")
    @classmethod
    def _is_an_endpoint(cls, value: str) -> str:
        if value and (fault := url_fault(value)):
            raise ValueError(fault)
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("write such as https://minio.example:9000")
        return value

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which S3's clients, here and on workers, learn of it."""
        said = {
            "AWS_ENDPOINT_URL_S3": self.endpoint_url,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_PROFILE": self.profile,
        }
        return {name: value for name, value in said.items() if value}


class Card(_Section):
    """Where a source comes from and by what right it may be used (GB/T 45652-2025 asks for both): no card, no ingest."""

    origin: Literal["open", "self-collected", "commercial", "user"]
    licence: str | None = None
    contract: str | None = None
    collected: datetime.date
    legal_basis: Annotated[str, StringConstraints(min_length=1)]
    foreign: bool
    jurisdiction: Literal["CN", "TW", "HK", "MO"] = "CN"
    confidentiality: Literal["public", "internal", "client-confidential"] = "public"
    consent: str | None = None
    rights: str | None = None
    generated_by: str | None = None

    @field_validator("collected", mode="before")
    @classmethod
    def _quoted_date(cls, value: Any) -> Any:
        try:
            return datetime.date.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            raise ValueError("no date; write such as 2026-11-30") from None

    @model_validator(mode="after")
    def _may_be_used(self) -> "Card":
        if not (self.licence or self.contract):
            raise ValueError("give `licence` or `contract`: a source without either may not be used")
        if self.confidentiality == "client-confidential" and not self.consent:
            raise ValueError("client-confidential material needs `consent` (who agreed, when, to what)")
        return self


class Fields(_Section):
    """Which fields of a record hold what; a list of fields is joined with line breaks. The rest is detected."""

    text: tuple[str, ...] | None = None
    id: str | None = None
    title: str | None = None
    case_number: str | None = None
    court: str | None = None
    cause: str | None = None
    date: str | None = None

    @field_validator("text", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else _tuple(value)


class Source(_Section):
    """One named collection of raw files of one document type, or of several that are told apart (``auto``)."""

    name: Name
    doc_type: SourceType
    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    format: Format | None = None
    records: str | None = None
    query: str | None = None
    traditional: Literal["keep", "drop", "convert"] = "keep"
    other_languages: Literal["keep", "drop"] = "keep"
    fields: Fields = Fields()
    card: Card

    _paths = field_validator("paths", mode="before")(_tuple)

    @field_validator("paths")
    @classmethod
    def _say_no_secret(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for fault in filter(None, map(url_fault, value)):
            raise ValueError(fault)
        return value


class Ingest(_Section):
    """How raw files become parts, and the limits beyond which the ledger's rule ``ingest.<key>`` names the key."""

    part_mb: Annotated[float, Field(gt=0, le=512)] = 32.0
    max_file_mb: Annotated[float, Field(gt=0, le=1_000_000)] = 96.0
    max_record_mb: Annotated[float, Field(gt=0, le=1_000_000)] = 16.0
    max_unpacked_mb: Annotated[float, Field(gt=0, le=1_000_000)] = 65536.0
    max_ratio: Annotated[float, Field(gt=1, le=1_000_000)] = 200.0
    max_depth: Annotated[int, Field(ge=0, le=16)] = 3
    max_members: Annotated[int, Field(ge=1)] = 100_000
    max_pages: Annotated[int, Field(ge=1)] = 10_000
    max_seconds: Annotated[int, Field(ge=1, le=86_400)] = 120


class Dedup(_Section):
    """When two documents are one."""

    enabled: bool = True
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.8
    prefer: Literal["best", "first"] = "best"
    keep: Literal["all", "latest"] = "all"
    lines: Literal["off", "tag", "cut"] = "off"
    max_per_family: Annotated[int, Field(ge=0)] = 0
    history: bool = False

    @model_validator(mode="after")
    def _history_is_compared(self) -> "Dedup":
        if self.history and not self.enabled:
            raise ValueError("history needs enabled = true: without comparison there is nothing to compare it with")
        return self


class BenchmarkFields(_Section):
    """Which fields of a benchmark's records hold what, for layouts that are not recognised."""

    stem: str | None = None
    options: tuple[str, ...] = ()
    passage: str | None = None

    _options = field_validator("options", mode="before")(_tuple)


class Decontaminate(_Section):
    """Which benchmarks the release is to be clean of, and whether a document that holds an item goes or the item alone."""

    benchmarks: tuple[str, ...] = ()
    action: Literal["drop", "cut"] = "drop"
    fields: BenchmarkFields = BenchmarkFields()

    _benchmarks = field_validator("benchmarks", mode="before")(_tuple)


class Deidentify(_Section):
    """Which policy masks, and how much residue stops a release."""

    enabled: bool = True
    policy: str = "train-strict"
    recognizers: tuple[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")], ...] = ()
    article_4: bool = True
    max_residual_rate: Annotated[float, Field(ge=0, le=1)] = 0.01

    _recognizers = field_validator("recognizers", mode="before")(_tuple)


class Screen(_Section):
    """A list of terms (``words``) or a fastText model (``model``, ``label``, ``threshold``) that marks illegal content."""

    name: Name
    words: str | None = None
    min_count: Annotated[int, Field(ge=1)] = 1
    model: str | None = None
    label: str | None = None
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5
    doc_types: Annotated[tuple[DocType, ...], Field(min_length=1)] = get_args(DocType)

    _types = field_validator("doc_types", mode="before")(_tuple)

    @model_validator(mode="after")
    def _one_kind(self) -> "Screen":
        if (self.words is None) == (self.model is None) or (self.model is None) != (self.label is None):
            raise ValueError("give `words`, or `model` and `label`")
        return self

    @property
    def file(self) -> str:
        """The list or the model."""
        return self.words or self.model or ""


class Filter(_Section):
    """Rules per document type, and the quality classifier; ``force``: rules that act unmeasured; ``sections``: what is cut."""

    enabled: bool = True
    model: str = "installed"
    force: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()

    _lists = field_validator("force", "sections", mode="before")(_tuple)


class Quality(_Section):
    """What ``lexmill quality train`` learns from; no stage of a run depends on it."""

    positives: tuple[Name, ...] = ()
    verdicts: tuple[str, ...] = ()
    precision: Annotated[float, Field(gt=0, lt=1)] = 0.99
    seed: Annotated[int, Field(ge=0)] = 0

    _lists = field_validator("positives", "verdicts", mode="before")(_tuple)


class Review(_Section):
    """How many items people read, what they must prove, and what their time costs."""

    required: bool = False
    seed: Annotated[int, Field(ge=0)] = 0
    sample: Annotated[int, Field(ge=1, le=1_000_000)] = 2995
    per_stratum: Annotated[int, Field(ge=0, le=10_000)] = 5
    dropped: Annotated[int, Field(ge=0, le=100_000)] = 200
    per_rule: Annotated[int, Field(ge=0, le=10_000)] = 10
    spans: Annotated[int, Field(ge=0, le=100_000)] = 200
    planted: Annotated[float, Field(ge=0, le=0.5)] = 0.03
    double: Annotated[float, Field(ge=0, le=1)] = 0.1
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    max_identifiers: Annotated[float, Field(gt=0, lt=1)] = 0.001
    min_pass: Annotated[float, Field(gt=0, lt=1)] = 0.96
    min_recall: Annotated[float, Field(ge=0, le=1)] = 0.8
    minutes_per_item: Annotated[float, Field(gt=0)] = 1.75
    price_per_hour: Annotated[float, Field(ge=0)] = 100.0


class Tokenize(_Section):
    """Tokeniser, window lengths, and the number of readers that shards must divide by."""

    tokenizer: str = "deepseek"
    scheme: Literal["qwen", "cl100k"] = "qwen"
    backend: Literal["auto", "reference"] = "auto"
    bos: bool = False
    seq_lens: Annotated[tuple[Annotated[int, Field(ge=16, le=1 << 20)], ...], Field(min_length=1)] = (4096,)
    unpacked: bool = False
    repeat_heading: Annotated[int, Field(ge=0)] = 0
    dp_width: Annotated[int, Field(ge=1, le=65536)] = 16
    seed: Annotated[int, Field(ge=0)] = 0

    _lens = field_validator("seq_lens", mode="before")(_tuple)

    @field_validator("seq_lens")
    @classmethod
    def _distinct(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(value)) != len(value):
            raise ValueError("every window length may stand once")
        return value

    @model_validator(mode="after")
    def _room_behind_heading(self) -> "Tokenize":
        if self.repeat_heading > min(self.seq_lens) // 4:
            raise ValueError(f"repeat_heading may be at most {min(self.seq_lens) // 4}, a quarter of the shortest window")
        return self


class Mix(_Section):
    """How often the documents of each source and type are written. Keys are ``source/type``; either may be ``*``."""

    epochs: dict[str, Annotated[float, Field(ge=0, le=1000, strict=False)]] = {}
    weights: dict[str, Annotated[float, Field(ge=0, strict=False)]] = {}
    max_epochs: Annotated[float, Field(gt=0, le=1000)] = 4.0
    tokens: Annotated[int, Field(ge=0)] = 0
    caps: dict[str, Annotated[int, Field(ge=0)]] = {}

    @model_validator(mode="after")
    def _one_way(self) -> "Mix":
        if self.epochs and self.weights:
            raise ValueError("give `epochs` or `weights`: a weight says how many epochs there are")
        for key in (*self.epochs, *self.weights, *self.caps):
            if key.count("/") != 1 or not all(key.split("/")):
                raise ValueError(f"{key!r} names no source and type; write such as 'qa-site/qa', 'qa-site/*' or '*/qa'")
        return self


class Report(_Section):
    """What a release's report says beyond the release: ``prices`` is a price file (``prices.example.toml``)."""

    prices: str | None = None


class Nightly(_Section):
    """What a night does with files that are gone, and how long data is kept."""

    missing: Literal["withdraw", "keep"] = "withdraw"
    max_missing: Annotated[float, Field(ge=0, le=1)] = 0.1
    keep_releases: Annotated[int, Field(ge=1)] = 7
    keep_nights: Annotated[int, Field(ge=0)] = 7
    keep_history: Annotated[int, Field(ge=0)] = 0


class Tls(_Section):
    """Files by which driver, scheduler and workers know each other; all three or none."""

    ca: str = ""
    cert: str = ""
    key: str = ""


class Slurm(_Section):
    """What every job of a worker is submitted with; empty: what the site has as its default."""

    partition: str = ""
    account: str = ""
    walltime: Annotated[str, StringConstraints(pattern=r"^(\d+-)?\d{1,2}:\d{2}:\d{2}$")] = "04:00:00"
    interface: str = ""
    directives: Annotated[tuple[str, ...], BeforeValidator(_tuple)] = ()


class Cluster(_Section):
    """Where tasks run: single-threaded worker processes here, behind a scheduler that runs, or as Slurm jobs."""

    kind: Literal["local", "address", "slurm"] = "local"
    workers: Annotated[int, Field(ge=0, le=4096)] = 0
    memory: str = "auto"
    part_seconds: Annotated[int, Field(ge=1, le=86400)] = 1800
    wait_seconds: Annotated[int, Field(ge=1, le=2_592_000)] = 600
    address: Annotated[str, StringConstraints(pattern=r"^([a-z]+://.+)?$")] = ""
    tls: Tls = Tls()
    slurm: Slurm = Slurm()

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Cluster":
        files = [self.tls.ca, self.tls.cert, self.tls.key]
        if self.kind == "address" and not self.address:
            raise ValueError('kind = "address" needs address, such as "tcp://10.0.0.1:8786"')
        if self.kind != "address" and self.address:
            raise ValueError(f'address is for kind = "address", not {self.kind!r}')
        if any(files) and not all(files):
            raise ValueError("tls needs ca, cert and key, all three")
        if any(files) and self.kind == "local":
            raise ValueError("tls is for kinds address and slurm: local workers talk over the loopback only")
        if self.kind == "address" and self.address.startswith("tls://") != any(files):
            raise ValueError("an address tls://… and the files of [cluster.tls] go together")
        if self.kind == "address" and self.memory != "auto":
            raise ValueError('memory is what the workers were started with; leave it "auto" with kind = "address"')
        if self.kind == "slurm" and (not self.workers or self.memory == "auto"):
            raise ValueError('kind = "slurm" needs workers (the most jobs at a time) and memory (of each)')
        return self


class Config(_Section):
    """A whole run file. ``path`` is where it was read from; relative paths in it start there."""

    version: Literal[1]
    workspace: str
    run: Name = "main"
    rules: tuple[Path, ...] = ()
    source: Annotated[tuple[Source, ...], Field(min_length=1)]
    ingest: Ingest = Ingest()
    dedup: Dedup = Dedup()
    decontaminate: Decontaminate = Decontaminate()
    deidentify: Deidentify = Deidentify()
    filter: Filter = Filter()
    screen: tuple[Screen, ...] = ()
    quality: Quality = Quality()
    review: Review = Review()
    tokenize: Tokenize = Tokenize()
    mix: Mix = Mix()
    report: Report = Report()
    nightly: Nightly = Nightly()
    cluster: Cluster = Cluster()
    storage: Storage = Storage()
    path: Path

    _tables = field_validator("source", "screen", mode="before")(_tuple)

    @field_validator("rules", mode="before")
    @classmethod
    def _rule_folders(cls, value: Any) -> Any:
        return tuple(Path(v) if isinstance(v, str) else v for v in value) if isinstance(value, list) else value

    @field_validator("workspace", mode="before")
    @classmethod
    def _workspace(cls, value: Any) -> Any:
        return str(value) if isinstance(value, Path) else value

    @field_validator("workspace")
    @classmethod
    def _is_local_or_s3(cls, value: str) -> str:
        if "://" in value:
            try:
                at(value)
            except ConfigError as error:
                raise ValueError(str(error)) from None
        return value

    @model_validator(mode="after")
    def _distinct_sources(self) -> "Config":
        names = [source.name for source in self.source]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"source names must differ; given twice: {', '.join(twice)}")
        return self

    def resolve(self, path: str | Path) -> str:
        """An absolute path or a URL for a path of the run file, which may be relative to the file."""
        if "://" in str(path) and urlsplit(str(path)).scheme:
            return str(path)
        return str((self.path.parent / Path(path).expanduser()).absolute())

    @property
    def rule_folders(self) -> tuple[Path, ...]:
        """The overlay folders of rules as absolute paths, in order."""
        return tuple(Path(self.resolve(folder)) for folder in self.rules)

    @property
    def workspace_dir(self) -> Path:
        """The workspace as an absolute path."""
        return at(self.resolve(self.workspace))


def _apply(data: dict[str, Any], setting: str) -> str | None:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        return f"--set {setting}: write key=value, such as --set tokenize.dp_width=8"
    try:
        parsed = tomllib.loads(f"v = {value}")["v"]
    except (ValueError, RecursionError):
        parsed = value  # a bare word is a string
    *parents, last = key.strip().split(".")
    at: Any = data
    for parent in parents:
        at = at.setdefault(parent, {}) if isinstance(at, dict) else None
    if not isinstance(at, dict):
        return f"--set {setting}: {'.'.join(parents)} is not a table of the run file"
    at[last] = parsed
    return None


def _remedy(error: Any) -> str:
    kind = error["type"]
    if kind == "missing":
        return "add it; lexmill.example.toml shows every key"
    if kind == "extra_forbidden":
        return "no such key: remove it or mend its spelling; lexmill.example.toml names every key"
    if kind == "tuple_type":
        return "write a list such as [4096]"
    if kind == "too_short":
        return "give at least one"
    message = error["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}; lexmill.example.toml shows what may stand here"


def _faults(path: Path, data: dict[str, Any], error: ValidationError) -> list[str]:
    """One line a fault, sources by their names; a list is not blamed for what is wrong inside one of its items."""
    items = error.errors()
    inner = {item["loc"][0] for item in items if len(item["loc"]) > 1}
    faults = []
    for item in items:
        where = list(item["loc"])
        if len(where) == 1 and where[0] in inner:
            continue
        if len(where) > 1 and where[0] == "source" and isinstance(where[1], int):
            source = data["source"][where[1]]
            name = source.get("name") if isinstance(source, dict) else None
            where[:2] = [f"source {name!r}" if name else f"source number {where[1] + 1}"]
        faults.append(f"{path}: {'.'.join(str(part) for part in where) or 'the whole file'}: {_remedy(item)}")
    return faults


def load(path: Path, settings: tuple[str, ...] = ()) -> Config:
    """Read a run file and apply ``--set key=value`` settings (TOML values); raises ConfigError with every fault at once."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give the path of a run file") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8; save it as UTF-8") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in brackets without end
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    faults = [fault for fault in (_apply(data, setting) for setting in settings) if fault]
    if "path" in data:
        faults.append(f"{path}: path: no such key: remove it")
    try:
        config = Config.model_validate({**data, "path": path.absolute()})
    except ValidationError as error:
        raise ConfigError("\n".join([*faults, *_faults(path, data, error)])) from None
    if faults:
        raise ConfigError("\n".join(faults))
    os.environ.update(config.storage.environment)
    return config
