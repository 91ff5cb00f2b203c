"""The dedup job: results do not depend on how work is cut, ids are used once, and every copy names its twin."""

import random
from typing import Any

import pytest

from lexmill.jobs import dedup, ingest
from lexmill.jobs.job import Job
from lexmill.schema import DOCUMENT_RAW
from tests.jobs.conftest import MakeJob

WORDS = [
    "租赁",
    "合同",
    "押金",
    "退还",
    "房屋",
    "交付",
    "违约",
    "责任",
    "赔偿",
    "期限",
    "通知",
    "解除",
    "费用",
    "承担",
    "证据",
    "诉讼",
    "请求",
    "法院",
    "判决",
    "履行",
    "义务",
    "当事人",
    "约定",
    "书面",
]


def article(seed: int) -> str:
    chance = random.Random(seed)
    return "。".join("".join(chance.choice(WORDS) for _ in range(12)) for _ in range(25))


def edited(text: str, seed: int) -> str:
    chance = random.Random(seed)
    chars = list(text)
    for at in chance.sample(range(len(chars)), max(1, len(chars) // 150)):
        chars[at] = "某"
    return "".join(chars)


def run(job: Job) -> tuple[dict[str, Any], list[dict[str, Any]], set[str]]:
    """(manifest, ledger rows, texts kept) of dedup over a fresh ingest."""
    manifest = dedup.run(job, ingest.run(job))
    folder = job.workspace.stage("dedup")
    kept = [row["text"] for entry in manifest["parts"] for row in folder.read(entry, DOCUMENT_RAW).to_pylist()]
    return manifest, folder.ledgers().to_pylist(), set(kept)


def corpus() -> list[dict[str, Any]]:
    texts = [article(seed) for seed in range(60)]
    copies = [texts[3], texts[3], texts[10]] + [edited(texts[number], number) for number in range(20, 40)]
    order = random.Random(1)
    records = [{"id": f"r{number}", "text": text} for number, text in enumerate([*texts, *copies, "短文", "短文", "另一短"])]
    order.shuffle(records)
    return records


def test_copies_go_and_name_a_twin_that_stays(make_job: MakeJob) -> None:
    manifest, ledger, kept = run(make_job("a", corpus()))
    assert sum(entry["rows"] for entry in manifest["parts"]) == 62
    assert len(ledger) == 24
    ids = {row["doc_id"] for row in ledger}
    assert all(row["twin"] and row["twin"] not in ids for row in ledger)
    assert {row["rule"] for row in ledger} == {"dedup.exact", "dedup.near"}
    assert {"短文", "另一短"} <= kept


def test_nothing_depends_on_how_the_work_is_cut(make_job: MakeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected, kept = run(make_job("a", corpus()))
    monkeypatch.setattr(dedup, "_HASHES_A_TASK", 13)
    monkeypatch.setattr(dedup, "_CANDIDATES_A_TASK", 4)
    job = make_job("b", corpus(), "ingest.part_mb=0.005")
    _, ledger, cut = run(job)
    assert cut == kept
    key = ("doc_id", "twin", "rule", "value")
    assert sorted(tuple(row[name] for name in key) for row in ledger) == sorted(
        tuple(row[name] for name in key) for row in expected
    )
    assert len(list(job.workspace.work("dedup.edges").path.glob("part-*"))) > 60
    assert len(list(job.workspace.work("dedup.verdicts").path.glob("part-*"))) > 5


def test_an_id_is_used_once(make_job: MakeJob) -> None:
    records = [
        {"id": "same", "text": article(1)},
        {"id": "other", "text": article(2)},
        {"id": "same", "text": article(3)},
        {"id": "other", "text": article(2)},
        {"id": "copy of the third", "text": article(3)},
    ]
    manifest, ledger, kept = run(make_job("a", records))
    assert sorted((row["action"], row["rule"]) for row in ledger) == [
        ("drop", "dedup.exact"),
        ("quarantine", "dedup.id_used_twice"),
    ]
    assert kept == {article(1), article(2), article(3)}, "the text under the used id stays under its other one"
    assert manifest["counts"]["out"]["q/qa"]["docs"] == 3


def test_switched_off_an_id_is_still_used_once(make_job: MakeJob) -> None:
    records = [{"id": "same", "text": article(1)}, {"id": "same", "text": article(2)}, {"id": "b", "text": article(1)}]
    _, ledger, kept = run(make_job("a", [*records, records[0]], "dedup.enabled=false"))
    assert sorted(row["rule"] for row in ledger) == ["dedup.exact", "dedup.id_used_twice"]
    assert kept == {article(1)}


def test_switched_off_it_passes_everything_on(make_job: MakeJob) -> None:
    manifest, ledger, _ = run(make_job("a", corpus(), "dedup.enabled=false"))
    assert ledger == []
    assert manifest["counts"]["in"] == manifest["counts"]["out"]


def test_a_corpus_without_copies(make_job: MakeJob) -> None:
    manifest, ledger, _ = run(make_job("a", [{"text": article(seed)} for seed in range(5)]))
    assert ledger == []
    assert manifest["counts"]["out"]["q/qa"]["docs"] == 5
