"""The decontaminate job: benchmarks of any layout, statutes as what tells nothing, and parts passed on as they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from lexmill.config import BenchmarkFields, load
from lexmill.core.contamination.index import Benchmark
from lexmill.errors import ConfigError
from lexmill.jobs import decontaminate, dedup, ingest
from lexmill.jobs.job import Job
from lexmill.jobs.run import check_settings
from lexmill.schema import DOCUMENT_RAW
from lexmill.store import benchmarks
from lexmill.store.fingerprint import file_digest
from tests.core.contamination.test_scan import invented
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article

QUESTIONS = [invented(50, 1000 + n) for n in range(6)]


def benchmark(folder: Path, name: str = "bench.json") -> Path:
    folder.mkdir(exist_ok=True)
    records = [{"question": question, "A": "甲", "B": "乙", "answer": "A"} for question in QUESTIONS]
    (folder / name).write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    return folder / name


def records(*planted: str) -> list[dict[str, Any]]:
    texts = [*(article(n) for n in range(40)), *(f"{article(100 + n)}\n{text}" for n, text in enumerate(planted))]
    return [{"id": str(n), "text": text} for n, text in enumerate(texts)]


def deduplicated(job: Job) -> dict[str, Any]:
    return dedup.run(job, ingest.run(job))


def kept(job: Job, manifest: dict[str, Any]) -> list[str]:
    folder = job.workspace.stage("decontaminate")
    return [text for entry in manifest["parts"] for text in folder.read(entry, DOCUMENT_RAW)["text"].to_pylist()]


def test_documents_with_an_item_leave_and_the_ledger_says_which(make_job: MakeJob, tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    job = make_job("a", records(QUESTIONS[3], QUESTIONS[5]), f"decontaminate.benchmarks=['{path.parent}']")
    manifest = decontaminate.run(job, deduplicated(job))
    rows = job.workspace.stage("decontaminate").ledgers().to_pylist()
    assert sorted(row["twin"] for row in rows) == ["bench.json#4", "bench.json#6"]
    assert {row["rule"] for row in rows} == {"contamination.stem"}
    assert manifest["tallies"] == {"benchmark.bench.json": 2, "drop:contamination.stem": 2}
    assert not any(question in text for question in QUESTIONS for text in kept(job, manifest))


def test_an_index_does_what_its_benchmark_does(make_job: MakeJob, tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    index = tmp_path / "index.parquet"
    benchmarks.write_index(index, *benchmarks.read([path], BenchmarkFields()), 0o644)
    assert not any(question[:8].encode() in index.read_bytes() for question in QUESTIONS)
    (found,), _ = benchmarks.read([index], BenchmarkFields())
    assert found == Benchmark("bench.json", file_digest(path), 6, 0)
    manifests, texts = [], []
    for name, given in (("a", path), ("b", index)):
        job = make_job(name, records(QUESTIONS[0]), f"decontaminate.benchmarks=['{given}']")
        manifests.append(decontaminate.run(job, deduplicated(job)))
        texts.append(kept(job, manifests[-1]))
    assert manifests[0]["counts"] == manifests[1]["counts"]
    assert texts[0] == texts[1]


def test_without_benchmarks_and_without_hits_parts_are_those_of_dedup(make_job: MakeJob, tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    for name, setting in (("a", "decontaminate.action=drop"), ("b", f"decontaminate.benchmarks=['{path}']")):
        job = make_job(name, records(), setting)
        before = deduplicated(job)
        manifest = decontaminate.run(job, before)
        assert [entry["sha256"] for entry in manifest["parts"]] == [entry["sha256"] for entry in before["parts"]]
        assert manifest["counts"]["in"] == manifest["counts"]["out"] == before["counts"]["out"]
        assert job.workspace.stage("decontaminate").ledgers().num_rows == 0


def test_statutes_stay_and_excuse_who_quotes_them(make_job: MakeJob, tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    setting = f"decontaminate.benchmarks=['{path}']"
    job = make_job("a", records(QUESTIONS[2]), setting, doc_type="statute")
    manifest = decontaminate.run(job, deduplicated(job))
    assert manifest["counts"]["in"] == manifest["counts"]["out"]
    assert job.workspace.work("decontaminate.law").part(0).exists()


def test_what_changes_runs_again_and_nothing_else(make_job: MakeJob, tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    job = make_job("a", records(QUESTIONS[0]), f"decontaminate.benchmarks=['{path}']")
    before = deduplicated(job)
    first = decontaminate.run(job, before)
    tasks = job.runner.timings["decontaminate"].tasks
    assert decontaminate.run(job, before) == first
    assert job.runner.timings["decontaminate"].tasks == tasks
    path.write_text(json.dumps([{"question": invented(40, 9)}], ensure_ascii=False), encoding="utf-8")
    again = decontaminate.run(job, before)
    assert again["counts"]["out"] == before["counts"]["out"]


def test_a_benchmark_that_cannot_be_read_is_told_before_any_work(make_job: MakeJob, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.jsonl").write_text('{"x": "y"}\n', encoding="utf-8")
    (tmp_path / "no.parquet").write_bytes(b"PAR1")
    named = ["none.json", "empty", "other.jsonl", "no.parquet"]
    job = make_job("a", records())
    for name in named:
        paths = tuple(str(tmp_path / part) for part in (name,))
        settings = job.config.decontaminate.model_copy(update={"benchmarks": paths})
        with pytest.raises(ConfigError, match=rf"decontaminate\.benchmarks: .*{name}: .*(no such|give|name its fields|make one)"):
            check_settings(job.config.model_copy(update={"decontaminate": settings}), job.rules)


def test_the_example_names_the_fields_of_other_layouts(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "bench")
    path.write_text(json.dumps([{"tm": QUESTIONS[0], "x": "甲"}], ensure_ascii=False), encoding="utf-8")
    with pytest.raises(ConfigError):
        benchmarks.check([str(path)], BenchmarkFields())
    benchmarks.check([str(path)], BenchmarkFields(stem="tm", options=("x",)))
    assert load(Path(__file__).parents[2] / "lexmill.example.toml").decontaminate.fields.stem == "question"
