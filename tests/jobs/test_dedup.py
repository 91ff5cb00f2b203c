"""The dedup job: results do not depend on how work is cut, ids are used once, and every copy names its twin."""

import random
from itertools import pairwise
from typing import Any

import pytest

from lexmill.errors import ConfigError
from lexmill.jobs import dedup, ingest
from lexmill.jobs.dedup import bands, verdicts
from lexmill.jobs.job import Job
from lexmill.schema import DOCUMENT_RAW
from lexmill.store.index import FAN, Index
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
    return "".join("".join(chance.choice(WORDS) for _ in range(12)) + "。" for _ in range(25))


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
    monkeypatch.setattr(bands, "HASHES_A_TASK", 13)
    monkeypatch.setattr(verdicts, "_CANDIDATES_A_TASK", 4)
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


def night(make_job: MakeJob, name: str, run_name: str, records: list[dict[str, Any]], *settings: str) -> tuple[Job, set[str]]:
    """One run of its own name in the workspace of ``name``, added to the history: the job, and the record ids that it kept."""
    job = make_job(name, records, "dedup.history=true", 'dedup.prefer="first"', f"run={run_name}", *settings)
    ingested = ingest.run(job)
    manifest = dedup.run(job, ingested)
    dedup.publish(job, ingested)
    folder = job.workspace.stage("dedup")
    ids = [row["record_id"] for entry in manifest["parts"] for row in folder.read(entry, DOCUMENT_RAW).to_pylist()]
    return job, set(ids)


@pytest.mark.parametrize("cuts", [[0, 86], [0, 30, 86], [0, 1, 40, 41, 86], [0, 10, 20, 30, 40, 50, 60, 70, 74, 78, 82, 86]])
def test_any_cutting_into_nights_keeps_the_same(make_job: MakeJob, cuts: list[int]) -> None:
    records = corpus()
    assert len(records) == 86
    whole = make_job("whole", records, 'dedup.prefer="first"')
    manifest = dedup.run(whole, ingest.run(whole))
    folder = whole.workspace.stage("dedup")
    expected = {row["record_id"] for entry in manifest["parts"] for row in folder.read(entry, DOCUMENT_RAW).to_pylist()}
    kept: set[str] = set()
    for number, (start, end) in enumerate(pairwise(cuts)):
        job, new = night(make_job, "nights", f"n{number}", records[start:end])
        kept |= new
    assert kept == expected
    index = Index(job.workspace.index)
    assert index.damaged() == []
    assert len(index.manifest()["segments"]) <= FAN + 1
    assert sum(table["rows"] for table in index.manifest()["runs"]) == 86


def test_a_night_names_the_historical_twin_and_the_same_again_adds_nothing(make_job: MakeJob) -> None:
    job, first = night(make_job, "a", "n1", [{"id": "a", "text": article(1)}, {"id": "b", "text": article(2)}])
    assert first == {"a", "b"}
    before = Index(job.workspace.index).manifest()
    ingested = ingest.run(job)
    dedup.run(job, ingested)
    dedup.publish(job, ingested)
    assert Index(job.workspace.index).manifest() == before, "the same run again changes nothing"
    known = {row["record_id"]: row["doc_id"] for row in read_kept(job)}

    job, second = night(
        make_job,
        "a",
        "n2",
        [
            {"id": "a", "text": article(1)},  # the same document
            {"id": "b", "text": article(3)},  # another text under its id
            {"id": "c", "text": edited(article(1), 7)},
            {"id": "d", "text": article(4)},
        ],
    )
    assert second == {"d"}
    rows = {row["doc_id"]: row for row in job.workspace.stage("dedup").ledgers().to_pylist()}
    assert (rows[known["a"]]["rule"], rows[known["a"]]["twin"]) == ("dedup.exact", known["a"])
    assert (rows[known["b"]]["action"], rows[known["b"]]["rule"]) == ("quarantine", "dedup.id_used_twice")
    (copy,) = [row for row in rows.values() if row["rule"] == "dedup.near"]
    assert copy["twin"] == known["a"]

    # Taken back, it is in no file, and its copy is free to come in.
    index = Index(job.workspace.index)
    removal = index.remove([known["a"]])
    assert removal.removed == (known["a"],)
    assert removal.freed == (copy["doc_id"],)
    everything = b"".join(path.read_bytes() for path in sorted(job.workspace.index.rglob("*.parquet")))
    assert known["a"].encode() not in everything
    assert index.remove([known["a"]]).removed == ()
    job, third = night(make_job, "a", "n3", [{"id": "c", "text": edited(article(1), 7)}, {"id": "x", "text": article(2)}])
    assert third == {"c"}


def test_history_that_others_were_compared_to_does_not_change(make_job: MakeJob) -> None:
    night(make_job, "a", "n1", [{"id": "a", "text": article(1)}])
    job, _ = night(make_job, "a", "n2", [{"id": "b", "text": article(2)}])
    # The last run may be made again from other input.
    job, kept = night(make_job, "a", "n2", [{"id": "c", "text": article(3)}, {"id": "d", "text": article(1)}])
    assert kept == {"c"}
    assert [run["rows"] for run in Index(job.workspace.index).manifest()["runs"]] == [1, 2]
    with pytest.raises(ConfigError, match="name of its own"):
        night(make_job, "a", "n1", [{"id": "e", "text": article(5)}])


def read_kept(job: Job) -> list[dict[str, Any]]:
    folder = job.workspace.stage("dedup")
    manifest = folder.manifest()
    assert manifest is not None
    return [row for entry in manifest["parts"] for row in folder.read(entry, DOCUMENT_RAW).to_pylist()]


def series(numbers: range) -> list[dict[str, Any]]:
    """Judgments on one form, each of another case, and every fourth a copy of the one before."""
    form = article(1)
    records = []
    for number in numbers:
        case = number - (number % 4 == 3)
        text = f"某市人民法院\n民事判决书\n（2081）沪0115民初{1000 + case}号\n原告甲公司。{edited(form, case)}"
        records.append({"id": f"c{number}", "text": text})
    return records


@pytest.mark.parametrize("cuts", [[0, 16], [0, 5, 9, 16]])
def test_a_family_is_named_and_capped_in_order_of_arrival(make_job: MakeJob, cuts: list[int]) -> None:
    kept: list[dict[str, Any]] = []
    rules: list[str] = []
    for number, (start, end) in enumerate(pairwise(cuts)):
        settings = ("dedup.history=true", 'dedup.prefer="first"', "dedup.max_per_family=5", f"run=n{number}")
        job = make_job("a", series(range(start, end)), *settings, doc_type="judgment")
        ingested = ingest.run(job)
        dedup.run(job, ingested)
        dedup.publish(job, ingested)
        kept += read_kept(job)
        rules += [row["rule"] for row in job.workspace.stage("dedup").ledgers().to_pylist()]
    assert [row["record_id"] for row in kept] == ["c0", "c1", "c2", "c4", "c5"]
    assert {row["family_id"] for row in kept[-2:]} == {kept[0]["doc_id"]}
    assert kept[-1]["family_size"] == (12 if len(cuts) == 2 else 7)
    assert sorted(set(rules)) == ["dedup.exact", "dedup.family_cap"]
    assert rules.count("dedup.exact") == 4


def test_recurring_lines_are_cut_by_the_table_of_the_first_night(make_job: MakeJob) -> None:
    menu = "首页 > 裁判文书 > 正文\n"
    kept: list[str] = []
    edits = 0
    for name, numbers in (("n1", range(30)), ("n2", range(30, 32))):
        records = [
            {"id": f"{n}", "text": f"{menu}某市人民法院\n民事判决书\n（2081）沪0115民初{n}号\n原告甲公司。{article(n)}"}
            for n in numbers
        ]
        settings = ("dedup.history=true", 'dedup.lines="cut"', f"run={name}")
        job = make_job("a", records, *settings, doc_type="judgment")
        ingested = ingest.run(job)
        manifest = dedup.run(job, ingested)
        dedup.publish(job, ingested)
        kept += [row["text"] for row in read_kept(job)]
        edits += manifest["counts"]["edit"]["q/judgment"]["docs"]
    assert edits == len(kept) == 32
    assert not any("首页" in text for text in kept)
