"""The proof of a release fails on every damage, the comparison says what changed and why, and the metadata is valid Croissant."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lexmill.errors import InputError
from lexmill.jobs import release
from lexmill.jobs.export import export
from lexmill.report.diff import diff
from lexmill.report.verify import verify
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import file_digest
from lexmill.store.releases import Releases, read_manifest
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article
from tests.jobs.test_release import folder_of, records, stages


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def published(make_job: MakeJob, kept: Path, tmp_path: Path) -> Path:
    """A copy of a release that may be damaged; it is made once."""
    made = list(kept.glob("releases/*-*"))
    if not made:
        job = make_job("a", records(), "tokenize.seq_lens=[64, 128]")
        release.run(job, stages(job))
        shutil.copytree(job.workspace.releases, kept / "releases")
        made = list(kept.glob("releases/*-*"))
    folder = tmp_path / "releases" / made[0].name
    shutil.copytree(made[0], folder)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def test_a_release_proves_itself(published: Path) -> None:
    assert verify(published) == []


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _shard(folder: Path) -> Path:
    return sorted(folder.glob("tokens/64/*.parquet"))[0]


def _sum_again(folder: Path, *names: str) -> None:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    lines = [line for line in lines if line.partition("  ")[2] not in names]
    lines += [f"{file_digest(folder / name)}  {name}" for name in names]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n")


def _set(folder: Path, change: Callable[[dict[str, object]], None]) -> None:
    body = json.loads((folder / "manifest.json").read_text())
    change(body)
    (folder / "manifest.json").write_text(json.dumps(body))


SHAPES = ["[]", "null", "7", '{"release": 1}', '{"release": "a", "sets": [], "shards": {}, "text": 0}']


@pytest.mark.parametrize("shape", SHAPES)
def test_a_manifest_of_another_shape_is_told_by_every_reader(published: Path, shape: str, tmp_path: Path) -> None:
    whole = published.parent / "2026-01-01-0000000000000000"
    shutil.copytree(published, whole)
    (published / "manifest.json").write_text(shape)
    assert verify(published) != []
    readers: list[Callable[[], object]] = [
        lambda: diff(whole, published),
        lambda: read_manifest(published),
        lambda: export(published, "pretrain", tmp_path / "out", None),
    ]
    for read in readers:
        with pytest.raises((DamagedFile, InputError), match="manifest"):
            read()
    body = json.loads((whole / "manifest.json").read_text())
    for name in ("sets", "shards", "text", "tokens", "windows", "tokenizer", "documents"):
        (published / "manifest.json").write_text(json.dumps({**body, name: "x"}))
        with pytest.raises(DamagedFile, match=rf"at {name}"):
            read_manifest(published)


def test_a_flipped_text_is_not_compared(published: Path) -> None:
    whole = published.parent / "2026-01-01-0000000000000000"
    shutil.copytree(published, whole)
    body = json.loads((published / "manifest.json").read_text())
    body["text"][0]["sha256"] = "0" * 64  # else it is known to be the same
    (published / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(DamagedFile, match=r"text/"):
        diff(whole, published)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a flipped bit in a shard": lambda folder: _flip(_shard(folder)),
    "a shard is gone": lambda folder: _shard(folder).unlink(),
    "a text part is gone": lambda folder: next(folder.glob("text/*.parquet")).unlink(),
    "a file too many": lambda folder: (folder / "tokens" / "extra.parquet").write_bytes(b""),
    "another report": lambda folder: (folder / "report.html").write_text("x"),
    "another clause": lambda folder: (folder / "evidence/clauses.json").write_text("{}"),
    "another card": lambda folder: (folder / "DATACARD.zh.md").write_text("x"),
    "no sums": lambda folder: (folder / "SHA256SUMS").unlink(),
    "another name": lambda folder: folder.rename(folder.with_name("2026-01-01-0000000000000000")),
    "a changed count": lambda folder: _set(folder, lambda body: body["shards"][0].update(tokens=1)),  # type: ignore[index]
    "a changed licence": lambda folder: _set(folder, lambda body: body["sources"]["q"].update(licence="x")),  # type: ignore[index]
    "a cut manifest": lambda folder: (folder / "manifest.json").write_bytes((folder / "manifest.json").read_bytes()[:-40]),
    "a parent that is not there": lambda folder: _set(folder, lambda body: body.update(parent="0" * 16)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_found(published: Path, damage: str) -> None:
    DAMAGES[damage](published)
    (folder,) = published.parent.iterdir()
    assert verify(folder)


def test_a_wrong_count_is_found_though_all_digests_agree(published: Path) -> None:
    # A manifest that is consistent with itself and its sums, and wrong about what is in the shards.
    from lexmill.core.release.body import compose
    from lexmill.store.fingerprint import digest

    body = json.loads((published / "manifest.json").read_text())
    body["shards"][0]["documents"] += 1
    body = compose(body["lexmill"], None, body["sets"], body["shards"], body["text"])
    body["release"] = digest(body)[:16]
    before = file_digest(published / "manifest.json")
    (published / "manifest.json").write_text(json.dumps(body))
    folder = published.rename(published.with_name(f"2026-01-01-{body['release']}"))
    clauses = folder / "evidence/clauses.json"
    clauses.write_text(clauses.read_text().replace(before, file_digest(folder / "manifest.json")))
    _sum_again(folder, "manifest.json", "evidence/clauses.json")
    (fault,) = verify(folder)
    assert "documents" in fault


def test_evidence_that_a_clause_was_not_judged_by_is_found_though_all_sums_agree(published: Path) -> None:
    people = published / "evidence/people.json"
    people.write_text(people.read_text().replace('"documents"', '"papers"'))
    _sum_again(published, "evidence/people.json")
    (fault,) = verify(published)
    assert fault.startswith("evidence/clauses.json: evidence/people.json is not")


def test_the_comparison_says_what_changed_and_why(make_job: MakeJob) -> None:
    job = make_job("a", records())
    first = release.run(job, stages(job))["release"]
    again = make_job("a", records("新的一条：" + article(50)), "dedup.threshold=0.9")
    second = release.run(again, stages(again))["release"]
    found = diff(folder_of(job, first), folder_of(job, second))
    assert found["documents"] == {"q/qa": {"added": 1, "removed": 0, "changed": 0}}
    assert found["causes"] == {"config": ["dedup"], "inputs": ["q"]}
    assert found["tokens"]["q/qa"] > 0
    assert diff(folder_of(job, first), folder_of(job, first))["documents"] == {}


def test_the_card_says_what_the_manifest_says(published: Path) -> None:
    body = json.loads((published / "manifest.json").read_text())
    for name, said in (("DATACARD.md", "not** anonymised"), ("DATACARD.zh.md", "不构成匿名化")):
        card = (published / name).read_text(encoding="utf-8")
        assert said in card
        assert f"{sum(body['tokens'].values()):,}" in card
        assert body["sources"]["q"]["licence"] in card
        assert body["tokenizer"]["sha256"] in card


def test_croissant_is_valid_and_reads_the_shards(published: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(published / "croissant.json")
    assert dataset.metadata.ctx.issues.errors == set()
    assert dataset.metadata.ctx.issues.warnings == set()
    texts = {row["text-records/text"].decode() for row in dataset.records("text-records")}
    assert texts == set(pq.read_table(published / "text")["text"].to_pylist())
    rows = list(dataset.records("tokens-64-records"))
    assert len(rows) == sum(pq.read_metadata(path).num_rows for path in published.glob("tokens/64/*.parquet"))
    assert all(len(row["tokens-64-records/input_ids"]) == 64 for row in rows)


def test_releases_are_found_by_either_name(published: Path) -> None:
    releases = Releases(published.parent)
    assert releases.find(published.name) == releases.find(published.name[11:]) == published
    assert releases.find("0" * 16) is None
