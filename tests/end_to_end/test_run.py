"""The whole way over the samples: it balances, is deterministic, finds nothing to do twice, and leaks nothing beside the text."""

import json
import subprocess
import textwrap
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.end_to_end.conftest import LEXMILL, ROOT, SAMPLES, Reference, digests, make_site, stamps

pytestmark = pytest.mark.slow


@pytest.mark.smoke
def test_every_stage_balances(reference: Reference) -> None:
    stages = reference.balance["stages"]
    assert [row["stage"] for row in stages] == ["ingest", "dedup", "decontaminate", "deidentify", "filter", "tokenize"]
    for row in stages:
        assert row["in"]["docs"] == row["out"]["docs"] + row["drop"]["docs"] + row["quarantine"]["docs"]
        for unit in ("chars", "bytes"):
            assert row["in"][unit] == sum(row[kind][unit] for kind in ("out", "drop", "quarantine", "edit"))
    for before, after in pairwise(stages):
        assert before["out"] == after["in"]
    assert stages[-1]["out"]["docs"] > 300
    sources = reference.balance["sources"]
    assert all(row["in"] == row["drop"] + row["quarantine"] + row["out"] for row in sources)
    assert sum(row["in"] for row in sources) == stages[0]["in"]["docs"]
    assert sum(row["out"] for row in sources) == stages[-1]["out"]["docs"]
    truth = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))
    assert stages[0]["in"]["docs"] == truth["documents"]


@pytest.mark.smoke
def test_planted_is_found(reference: Reference) -> None:
    done = subprocess.run(
        [str(LEXMILL.with_name("python")), str(ROOT / "scripts/check_demo.py"), str(reference.site.workspace)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.smoke
def test_a_second_run_has_nothing_to_do(reference: Reference) -> None:
    before = stamps(reference.site)
    result = reference.site.json()
    assert result["nothing_to_do"] is True
    assert stamps(reference.site) == before
    assert digests(reference.site) == reference.digests


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_change_a_byte(tmp_path: Path, reference: Reference, workers: int) -> None:
    site = make_site(tmp_path)
    site.run(settings=(f"cluster.workers={workers}",))
    assert digests(site) == reference.digests


@pytest.mark.smoke
def test_nothing_personal_beside_the_text(reference: Reference) -> None:
    truth = json.loads((SAMPLES / "truth.json").read_text(encoding="utf-8"))
    planted = {entry["written"] for entry in truth["personal"]} | {entry["value"] for entry in truth["personal"]}
    assert len(planted) > 100
    site = reference.site
    said = {
        "log": reference.log,
        "status": subprocess.run([LEXMILL, "status", site.config], capture_output=True, text=True, check=True).stdout,
    }
    published = [path for path in (site.workspace / "releases").rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert {"report.html", "index.html", "clauses.json", "pipl.csv"} <= {path.name for path in published}
    for path in [*site.run_folder.rglob("*.json"), *published]:
        said[path.name] = path.read_text(encoding="utf-8")
    for path in site.run_folder.rglob("ledger/*.parquet"):
        said[f"{path.parent.parent.name}/{path.name}"] = json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)
    for name, text in said.items():
        found = [value for value in planted if value in text]
        assert not found, f"{name} holds {len(found)} planted values"
        assert "data-samples" not in text or name == "log", f"{name} holds a path"


@pytest.mark.smoke
def test_private_folders_are_private(reference: Reference) -> None:
    workspace = reference.site.workspace
    for path in (
        workspace / "runs",
        reference.site.run_folder,
        workspace / "lineage",
        workspace / "lineage/main",
        workspace / "tmp",
    ):
        assert path.stat().st_mode & 0o077 == 0, path.name
    assert workspace.stat().st_mode & 0o055 == 0o055, "a trainer's account reads releases/"
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in (workspace / "releases").rglob("*"))


@pytest.mark.smoke
def test_trace_says_why(reference: Reference) -> None:
    rows = pq.read_table(reference.site.run_folder / "dedup" / "ledger").to_pylist()
    dropped = next(row for row in rows if row["action"] == "drop")
    done = subprocess.run(
        [LEXMILL, "trace", reference.site.config, dropped["doc_id"]],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "200", "PATH": ""},
    )
    assert dropped["rule"] in done.stdout
    assert dropped["twin"] in done.stdout
    unknown = subprocess.run([LEXMILL, "trace", reference.site.config, "0" * 32], capture_output=True, text=True, check=False)
    assert unknown.returncode == 3


def test_shards_hold_every_document_once_and_are_even(reference: Reference) -> None:
    site = reference.site
    release = next((site.workspace / "releases").glob(f"*-{reference.balance['release']}"))
    manifest = json.loads((release / "manifest.json").read_text())
    texts = pq.read_table(release / "text")
    tables = [pq.read_table(release / shard["path"]) for shard in manifest["shards"]]
    assert len(tables) % 2 == 0
    ids = {int(doc_id, 16) & (2**63 - 1) for doc_id in texts["doc_id"].to_pylist()}
    seen = [doc_id for table in tables for row in table["doc_ids"].to_pylist() for doc_id in row]
    assert set(seen) == ids
    assert all(len(row) == 512 for table in tables for row in table["input_ids"].to_pylist())


def test_a_second_window_length_gets_its_own_shards(tmp_path: Path, reference: Reference) -> None:
    site = make_site(tmp_path)
    result = site.json(settings=("tokenize.seq_lens=[256, 512]",))
    assert [row["seq_len"] for row in result["windows"]] == [256, 512]
    assert result["windows"][0]["tokens"] == result["windows"][1]["tokens"]
    assert {**result["windows"][1]} == {**reference.balance["windows"][0]}
    assert result["stages"][-1]["out"] == reference.balance["stages"][-1]["out"]


@pytest.mark.smoke
def test_readme_snippets_run(reference: Reference) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    snippets = [textwrap.dedent(part.partition("```")[0]) for part in readme.split("```python\n")[1:]]
    assert len(snippets) == 2
    for snippet in snippets:
        code = snippet.replace("data-samples/workspace", str(reference.site.workspace))
        done = subprocess.run([LEXMILL.with_name("python"), "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
