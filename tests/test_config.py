"""The run file: strict, complete, and clear about what is wrong."""

import datetime
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from lexmill.config import Card, Config, Fields, Screen, Source, at, load
from lexmill.errors import ConfigError

EXAMPLE = Path(__file__).parent.parent / "lexmill.example.toml"

MINIMAL = """
version = 1
workspace = "w"
[[source]]
name = "a"
doc_type = "judgment"
paths = ["../raw/*.jsonl"]
[source.card]
origin = "open"
licence = "none needed"
collected = "2026-01-02"
legal_basis = "published"
foreign = false
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def keys(model: type[BaseModel], prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, field in model.model_fields.items():
        at = f"{prefix}{name}"
        tables = {"source": Source, "fields": Fields, "card": Card, "screen": Screen}
        inner: type[BaseModel] | None = tables.get(name)  # type: ignore[assignment]
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            inner = field.annotation
        found |= keys(inner, f"{at}.") if inner else {at}
    return found


def keys_of(data: Any, prefix: str = "") -> set[str]:
    found: set[str] = set()
    for name, value in data.items():
        for one in value if name in ("source", "screen") else [value]:
            found |= keys_of(one, f"{prefix}{name}.") if isinstance(one, dict) and one else {f"{prefix}{name}"}
    return found


def test_the_example_names_every_key_and_loads() -> None:
    data = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert keys_of(data) == keys(Config) - {"path"}
    load(EXAMPLE)


def test_the_examples_values_are_the_defaults(tmp_path: Path) -> None:
    shown, default = load(EXAMPLE), load(write(tmp_path, MINIMAL))
    for section in ("run", "rules", "ingest", "dedup", "deidentify", "filter", "tokenize", "mix", "cluster", "storage"):
        assert getattr(shown, section) == getattr(default, section), section


def test_minimal_file_has_defaults_and_resolves_paths(tmp_path: Path) -> None:
    config = load(write(tmp_path, MINIMAL))
    assert config.run == "main"
    assert config.tokenize.seq_lens == (4096,)
    assert config.source[0].card.collected == datetime.date(2026, 1, 2)
    assert config.workspace_dir == tmp_path / "w"
    assert config.resolve("s3://bucket/x") == "s3://bucket/x"
    assert Path(config.resolve(config.source[0].paths[0])) == tmp_path / "../raw/*.jsonl"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('origin = "open"', 'origin = "stolen"', "source 'a'.card.origin"),
        ('licence = "none needed"\n', "", "licence"),
        ("foreign = false", 'foreign = false\nconfidentiality = "client-confidential"', "consent"),
        ("version = 1", "version = 2", "version"),
        ("version = 1", "version = 1\nwrokspace = 'x'", "wrokspace"),
        ('doc_type = "judgment"', 'doc_type = "verdict"', "doc_type"),
        ('collected = "2026-01-02"', 'collected = "last year"', "collected"),
        ('name = "a"', 'name = "a/b"', "name"),
        ("foreign = false", "foreign = false\n[tokenize]\nseq_lens = []", "tokenize.seq_lens"),
        ("foreign = false", 'foreign = false\n[dedup]\nenabled = "yes"', "dedup.enabled"),
        ("foreign = false", 'foreign = false\n[dedup]\nthreshold = "0.9"', "dedup.threshold"),
        ('collected = "2026-01-02"', 'collected = "yesterday"', "write such as 2026-11-30"),
    ],
)
def test_every_fault_names_file_and_key(tmp_path: Path, before: str, after: str, said: str) -> None:
    path = write(tmp_path, MINIMAL.replace(before, after))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


PLANTED = "planted-SECRET"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('workspace = "w"', f'workspace = "s3://AKIA:{PLANTED}@bucket/w"', "credentials never stand"),
        ('paths = ["../raw/*.jsonl"]', f'paths = ["https://user:{PLANTED}@host/*.jsonl"]', "credentials never stand"),
        ('paths = ["../raw/*.jsonl"]', f'paths = ["https://h/a.jsonl?X-Amz-Signature={PLANTED}"]', "credentials never stand"),
        ("foreign = false", f'foreign = false\n[storage]\nsecret = "{PLANTED}"', "storage: credentials never stand"),
        ("foreign = false", f'foreign = false\n[storage]\nkey = "{PLANTED}"', "storage: credentials never stand"),
        ("foreign = false", f'foreign = false\n[storage]\nendpoint_url = "http://u:{PLANTED}@h:1"', "credentials never stand"),
        ("foreign = false", 'foreign = false\n[storage]\nendpoint_url = "minio:9000"', "https://minio.example:9000"),
        ('workspace = "w"', 'workspace = "ftp://host/w"', "neither a path nor an s3:// URL"),
        ('workspace = "w"', 'workspace = "s3://bucket/w*"', "may not hold any of"),
        ('workspace = "w"', 'workspace = "s3://bucket/w[1]"', "may not hold any of"),
        ('workspace = "w"', 'workspace = "s3://bucket/../other/w"', "may not hold any of"),
    ],
)
def test_a_run_file_with_credentials_is_refused_and_not_repeated(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in MINIMAL
    path = write(tmp_path, MINIMAL.replace(before, after))
    with pytest.raises(ConfigError, match=said) as caught:
        load(path)
    assert PLANTED not in str(caught.value)


def test_where_object_storage_is_goes_to_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "before")
    text = MINIMAL.replace('workspace = "w"', 'workspace = "s3://bucket/w"')
    config = load(write(tmp_path, text + '\n[storage]\nendpoint_url = "http://127.0.0.1:9"\nregion = "cn-north-1"\n'))
    assert os.environ["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:9"
    assert (os.environ["AWS_DEFAULT_REGION"], os.environ["AWS_PROFILE"]) == ("cn-north-1", "before")
    assert str(config.workspace_dir / "runs") == "s3://bucket/w/runs"


def test_object_storage_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(ConfigError, match=r"install lexmill\[s3\]"):
        at("s3://bucket/w")


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path, MINIMAL.replace("version = 1", "version = 3").replace('"judgment"', '"x"') + "\n[cluster]\nworkers = -1\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(path, ("nonsense", "run.x=1"))
    for said in ("version", "doc_type", "workers", "nonsense"):
        assert said in str(caught.value)


def test_a_source_without_a_card_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"card"):
        load(write(tmp_path, MINIMAL[: MINIMAL.index("[source.card]")]))


def test_one_mistake_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, MINIMAL[: MINIMAL.index("[source.card]")]))
    assert str(caught.value).count("\n") == 0


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="given twice: a"):
        load(write(tmp_path, MINIMAL + MINIMAL[MINIMAL.index("[[source]]") :]))


def test_settings_change_keys(tmp_path: Path) -> None:
    config = load(
        write(tmp_path, MINIMAL), ("tokenize.dp_width=8", "run=night", "deidentify.policy='spc2016'", "ingest.part_mb=1")
    )
    assert (config.tokenize.dp_width, config.run, config.deidentify.policy, config.ingest.part_mb) == (8, "night", "spc2016", 1.0)


@pytest.mark.parametrize("text", ["= broken", "version = 1\nversion = 1"])
def test_what_is_not_toml_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        load(write(tmp_path, text))


def test_a_missing_or_misencoded_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.toml")
    path = tmp_path / "gb.toml"
    path.write_bytes("# 配置".encode("gb18030"))
    with pytest.raises(ConfigError, match="UTF-8"):
        load(path)


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ('kind = "address"', "needs address"),
        ('address = "tcp://h:1"', "is for kind"),
        ('kind = "address"\naddress = "h:1"', "cluster.address"),
        ('kind = "address"\naddress = "tls://h:1"', "go together"),
        ('kind = "address"\naddress = "tcp://h:1"\nmemory = "2GiB"', "started with"),
        ('kind = "address"\naddress = "tls://h:1"\ntls.ca = "a"', "all three"),
        ('tls = { ca = "a", cert = "b", key = "c" }', "loopback"),
        ('kind = "slurm"\nworkers = 4', "memory"),
        ('kind = "slurm"\nmemory = "2GiB"', "workers"),
        ('kind = "slurm"\nworkers = 4\nmemory = "2GiB"\nslurm.walltime = "1h"', "cluster.slurm.walltime"),
    ],
)
def test_a_cluster_says_what_its_kind_needs(tmp_path: Path, cluster: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load(write(tmp_path, f"{MINIMAL}\n[cluster]\n{cluster}\n"))


@pytest.mark.parametrize(
    "cluster",
    [
        'kind = "address"\naddress = "tcp://h:1"',
        'kind = "address"\naddress = "tls://h:1"\ntls = { ca = "a", cert = "b", key = "c" }',
        'kind = "slurm"\nworkers = 4\nmemory = "2GiB"\nslurm = { walltime = "1-00:00:00", directives = ["--qos=low"] }',
    ],
)
def test_a_cluster_elsewhere(tmp_path: Path, cluster: str) -> None:
    text = MINIMAL.replace('"2026-01-02"', "2026-01-02")
    assert load(write(tmp_path, f"{text}\n[cluster]\n{cluster}\n")).cluster.kind in cluster
