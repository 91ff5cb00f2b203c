"""Publication: identifiers that survived block it, what is published is named by its content, and the pointer is written last."""

import datetime
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lexmill.config import Config
from lexmill.errors import GateError
from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest, release, tokenize
from lexmill.jobs.job import Job
from lexmill.jobs.parts import DamagedInput
from lexmill.schema import TOKENS
from lexmill.store import audit
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import Releases
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article


def check_digit(body: str) -> str:
    """GB 11643-1999: the check character of seventeen digits."""
    return "10X98765432"[sum(pow(2, 17 - place, 11) * int(digit) for place, digit in enumerate(body)) % 11]


ID_CARD = "11010120790304123" + check_digit("11010120790304123")
PLANTED = f"问：登记的身份证号是{ID_CARD}，需要变更吗？{article(99)}\n答：不需要。{article(98)}"


def stages(job: Job) -> dict[str, dict[str, Any]]:
    done: dict[str, dict[str, Any]] = {"ingest": ingest.run(job)}
    done["dedup"] = dedup.run(job, done["ingest"])
    done["decontaminate"] = decontaminate.run(job, done["dedup"])
    done["deidentify"] = deidentify.run(job, done["decontaminate"])
    done["filter"] = filter.run(job, done["deidentify"])
    done["tokenize"] = tokenize.run(job, done["filter"])
    return done


def folder_of(job: Job, release_id: str) -> Path:
    found = Releases(job.workspace.releases).find(release_id)
    assert found is not None
    return found


def records(*more: str) -> list[dict[str, Any]]:
    return [{"id": str(n), "text": text} for n, text in enumerate([*(article(n) for n in range(20)), *more])]


def test_an_identifier_that_survived_blocks_publication(make_job: MakeJob) -> None:
    # The text goes through unmasked, and the release is told that it was masked: only the scan stands between.
    job = make_job("a", records(PLANTED), "deidentify.enabled=false")
    done = stages(job)
    masking: Config = job.config.model_copy(update={"deidentify": job.config.deidentify.model_copy(update={"enabled": True})})
    with pytest.raises(GateError, match="ID_CARD 1") as caught:
        release.run(replace(job, config=masking), done)
    assert ID_CARD not in str(caught.value)
    assert not job.workspace.releases.exists()


def test_masked_documents_pass_the_scan(make_job: MakeJob) -> None:
    job = make_job("a", records(PLANTED))
    body = release.run(job, stages(job))
    assert body["policy"] == "train-strict"
    assert body["sets"][0]["stages"]["deidentify"]["tallies"]["masked.ID_CARD"] == 1


def test_what_is_published_is_what_the_manifest_says(make_job: MakeJob) -> None:
    job = make_job("a", records())
    body = release.run(job, stages(job))
    folder = folder_of(job, body["release"])
    assert json.loads((job.workspace.releases / "latest.json").read_text()) == {"release": folder.name}
    assert datetime.date.fromisoformat(folder.name.removesuffix(f"-{body['release']}"))
    assert json.loads((folder / "manifest.json").read_text()) == body
    assert {"names.npz", "quality/model.bin"} <= set(body["sets"][0]["models"])
    entries, faults = audit.verify(job.workspace.root, None)
    assert ([entry["kind"] for entry in entries], faults) == (["release"], [])
    for entry in [*body["shards"], *body["text"]]:
        assert file_digest(folder / entry["path"]) == entry["sha256"]
        assert pq.read_metadata(folder / entry["path"]).num_rows == entry["rows"]
    listed = {entry["path"] for entry in [*body["shards"], *body["text"]]}
    beside = {
        "manifest.json",
        "SHA256SUMS",
        "DATACARD.md",
        "DATACARD.zh.md",
        "croissant.json",
        "mix.json",
        "report.html",
        "run.json",
    }
    present = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    proof = {path for path in present if path.startswith("evidence/")}
    assert present == listed | beside | proof
    assert {"evidence/clauses.json", "evidence/index.html", "evidence/pipl.csv"} <= proof
    # Everything but the data files, which may be deleted later, is sealed.
    assert {name.partition("/")[2].partition("/")[2] for name in entries[-1]["files"]} == beside | proof
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    assert pq.read_schema(folder / body["shards"][0]["path"]).equals(TOKENS)
    assert sum(body["tokens"].values()) == sum(shard["tokens"] for shard in body["shards"])
    assert body["sources"]["q"]["origin"] == "open"
    (window,) = body["windows"]
    assert (window["shards"], window["documents"]) == (2, body["sets"][0]["stages"]["filter"]["counts"]["out"]["q/qa"]["docs"])
    assert window["padding_share"] == round(window["padding"] / (128 * window["sequences"]), 6)
    assert sum(window["cuts"].values()) >= window["cut"] > 0


def test_the_audit_chain_finds_what_was_changed_in_a_release(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records())
    folder = folder_of(job, release.run(job, stages(job))["release"])
    for name in ("report.html", "run.json", "evidence/clauses.json", "evidence/index.html", "SHA256SUMS"):
        root = tmp_path / name.replace("/", "-")
        for part in ("audit", "releases"):
            shutil.copytree(job.workspace.root / part, root / part)
        changed = root / "releases" / folder.name / name
        changed.chmod(0o644)
        changed.write_bytes(changed.read_bytes().replace(b"a", b"b", 1))
        _, faults = audit.verify(root, None)
        assert faults == [f"releases/{folder.name}/{name}: is not the file that was sealed"]


def test_another_content_is_another_release_and_the_old_one_stays(make_job: MakeJob) -> None:
    job = make_job("a", records())
    first = release.run(job, stages(job))["release"]
    again = make_job("a", records("新的一条：" + article(50)))
    second = release.run(again, stages(again))["release"]
    assert first != second
    assert json.loads((job.workspace.releases / "latest.json").read_text()) == {"release": folder_of(job, second).name}
    assert (folder_of(job, first) / "manifest.json").exists()


def test_the_same_content_is_published_once(make_job: MakeJob) -> None:
    job = make_job("a", records())
    done = stages(job)
    body = release.run(job, done)
    path = folder_of(job, body["release"]) / "manifest.json"
    before = path.stat().st_mtime_ns
    assert release.run(job, done) == body
    assert path.stat().st_mtime_ns == before


def test_a_damaged_shard_is_not_published(make_job: MakeJob) -> None:
    job = make_job("a", records())
    done = stages(job)
    release.run(job, done)
    path = job.workspace.stage("tokenize").part(1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(bytes(data))
    shutil.rmtree(job.workspace.releases)
    with pytest.raises(DamagedInput, match="part-00001"):
        release.run(job, done)
    assert not (job.workspace.releases / "latest.json").exists()


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_release_that_lost_a_file_is_published_again(make_job: MakeJob, damage: str) -> None:
    job = make_job("a", records())
    done = stages(job)
    body = release.run(job, done)
    path = folder_of(job, body["release"]) / body["text"][0]["path"]
    path.unlink()
    if damage == "cut":
        path.write_bytes(b"PAR1")
    assert release.run(job, done) == body
    assert file_digest(path) == body["text"][0]["sha256"]


def test_the_folder_of_the_raw_files_does_not_name_the_release(make_job: MakeJob) -> None:
    one, other = make_job("a", records()), make_job("elsewhere", records())
    assert release.run(one, stages(one)) == release.run(other, stages(other))
