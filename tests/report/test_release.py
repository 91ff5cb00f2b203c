"""What `lexmill decode` and `lexmill tokens` say of a release is what is in it."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lexmill import cli
from lexmill.errors import InputError
from lexmill.jobs import release
from lexmill.report import release as reader
from lexmill.store.files import DamagedFile
from lexmill.store.releases import read_manifest
from tests.jobs.conftest import MakeJob, client, make_job, runner  # noqa: F401 (fixtures)
from tests.jobs.test_release import stages
from tests.jobs.test_tokenize import records


def lexmill(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lexmill", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert isinstance(left.value.code, int)
    return left.value.code


def test_a_sequence_is_told_with_its_documents(
    make_job: MakeJob,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = make_job("a", records(40), "tokenize.unpacked=true", 'mix.epochs={"*/qa"=2}')
    body: dict[str, Any] = release.run(job, stages(job))
    (folder,) = job.workspace.releases.glob(f"*-{body['release']}")
    assert reader.find(job.workspace.root) == reader.find(job.workspace.releases) == reader.find(folder) == folder
    texts = {row["doc_id"]: row["text"] for row in pq.read_table(folder / "text").to_pylist()}
    rows = [row for shard in body["shards"] if shard["seq_len"] for row in pq.read_table(folder / shard["path"]).to_pylist()]
    capsys.readouterr()
    for number in (0, len(rows) - 1):
        assert lexmill(monkeypatch, "decode", str(job.workspace.root), str(number)) == 0
        said = capsys.readouterr().out.split("== ")[1:]
        assert len(said) == len(rows[number]["doc_ids"])
        for piece, start, end, repeat in zip(
            said, rows[number]["char_starts"], rows[number]["char_ends"], rows[number]["repeats"], strict=True
        ):
            heading, _, text = piece.partition("\n")
            assert text.removesuffix("\n").removesuffix("<｜end▁of▁sentence｜>") == texts[piece[:32]][start:end]
            assert f"characters {start}-{end}" in heading
            assert ("copy 2" in heading) == (repeat == 1)
    assert lexmill(monkeypatch, "decode", str(folder), "0", "--unpacked") == 0
    whole = capsys.readouterr().out
    assert whole.count("== ") == 1
    assert texts[whole[3:35]] in whole
    assert lexmill(monkeypatch, "decode", str(folder), str(len(rows))) == 3
    assert lexmill(monkeypatch, "decode", str(folder), "0", "--seq-len", "64") == 2

    shard = next(folder / entry["path"] for entry in body["shards"] if entry["seq_len"])
    sound = shard.read_bytes()
    shard.chmod(0o644)
    shard.write_bytes(sound[:40] + bytes([sound[40] ^ 1]) + sound[41:])
    assert lexmill(monkeypatch, "decode", str(folder), "0") == 3
    assert "damaged" in capsys.readouterr().err
    shard.write_bytes(sound)
    for pointer in ("{", "[]", '{"release": 5}'):
        (job.workspace.releases / "latest.json").write_text(pointer)
        assert lexmill(monkeypatch, "decode", str(job.workspace.root), "0") == 3

    assert lexmill(monkeypatch, "tokens", str(folder), "--json") == 0
    said_of = json.loads(capsys.readouterr().out)
    (group,) = said_of["groups"]
    assert (group["docs"], group["epochs"]) == (2 * len(texts), 2.0)
    assert group["chars"] == 2 * sum(map(len, texts.values()))
    assert group["chars_per_token"] == round(group["chars"] / group["tokens"], 3)
    assert said_of["windows"] == body["windows"]
    assert said_of["tokenizer"]["unknown_tokens"] == 0
    assert lexmill(monkeypatch, "tokens", str(folder)) == 0
    assert f"{group['tokens']:,}" in capsys.readouterr().out


def test_what_is_no_release_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no release"):
        reader.find(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(DamagedFile, match="another version"):
        read_manifest(reader.find(tmp_path))
