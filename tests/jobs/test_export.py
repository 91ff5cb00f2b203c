"""A release in other layouts holds the same tokens and texts; a damaged one is not exported."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from lexmill.errors import ConfigError, InputError
from lexmill.jobs import release
from lexmill.jobs.export import export
from tests.jobs.conftest import MakeJob
from tests.jobs.test_release import records, stages


@pytest.fixture
def published(make_job: MakeJob) -> Path:
    job = make_job("a", records(), "tokenize.seq_lens=[128,64]")
    release.run(job, stages(job))
    (manifest,) = job.workspace.releases.glob("*/manifest.json")
    return manifest.parent


def test_every_layout_holds_the_release(published: Path, tmp_path: Path) -> None:
    manifest = json.loads((published / "manifest.json").read_bytes())
    counted = export(published, "megatron", tmp_path / "m", 128)
    tokens = np.fromfile(tmp_path / "m/lexmill.bin", "<i4")
    in_shards = 0
    for entry in manifest["shards"]:
        if entry["seq_len"] == 128:
            table = pq.read_table(published / entry["path"])
            in_shards += sum(
                sum(lens) - sum(heads)
                for lens, heads in zip(table["doc_lens"].to_pylist(), table["head_lens"].to_pylist(), strict=True)
            )
    assert tokens.size == in_shards == counted["tokens"]
    texts = [text for entry in manifest["text"] for text in pq.read_table(published / entry["path"])["text"].to_pylist()]
    assert export(published, "pretrain", tmp_path / "p", None) == {"qa": len(texts)}
    lines = (tmp_path / "p/pretrain.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == texts
    export(published, "alpaca", tmp_path / "a", None)
    info = json.loads((tmp_path / "a/dataset_info.json").read_bytes())
    assert (tmp_path / "a" / info["lexmill_alpaca"]["file_name"]).exists()


def test_what_cannot_be_exported_is_said(published: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="64, 128"):
        export(published, "megatron", tmp_path / "m", None)
    with pytest.raises(InputError, match="is no release"):
        export(tmp_path, "pretrain", tmp_path / "p", None)
    text = next((published / "text").iterdir())
    text.chmod(0o644)
    text.write_bytes(text.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="damaged"):
        export(published, "pretrain", tmp_path / "p", None)
    assert not (tmp_path / "p/pretrain.jsonl").exists()
