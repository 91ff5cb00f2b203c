"""A lot is drawn, read and decided; what reviewers get holds no planted name, and a rejected lot is not published."""

import datetime
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import xlsxwriter
from rich.console import Console

from lexmill.core.review import labelstudio
from lexmill.core.review.planted import DIRECT
from lexmill.core.review.verdicts import BAD, GOOD
from lexmill.errors import ConfigError, GateError, InputError
from lexmill.jobs import release, review, takedown
from lexmill.jobs.job import Job
from lexmill.report import status
from lexmill.store import audit, files, reviews
from lexmill.store.fingerprint import file_digest
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article
from tests.jobs.test_release import stages

NAMES = ("慕容筱棠", "尉迟砚舟")
SMALL = ("review.sample=10", "review.planted=0.2", "review.dropped=5", "review.spans=5", "review.per_stratum=2")


def records() -> list[dict[str, Any]]:
    texts = [f"问：{article(n)}联系人：{NAMES[n % 2]}，电话：139{n:08d}，怎么办？\n答：{article(n + 500)}" for n in range(20)]
    texts += [texts[3], texts[4] + "。"]  # two copies are dropped
    return [{"id": str(n), "text": text} for n, text in enumerate(texts)]


def answers(job: Job, path: Path, say: Callable[[dict[str, Any]], tuple[str, str]]) -> Path:
    """Label Studio's export of a reviewer's tasks, each answered as ``say`` says of its hidden row."""
    rows = review._drawn(job.config)[2]
    hidden = {row["item"]: row for row in rows}
    exported = []
    for task in json.loads(path.read_bytes()):
        verdict, defect = say(hidden[task["data"]["item"]])
        result = [{"from_name": "verdict", "value": {"choices": [verdict]}}]
        if defect:
            result.append({"from_name": "defect", "value": {"choices": [defect]}})
        exported.append({"data": task["data"], "annotations": [{"result": result}]})
    returned = path.with_name(f"back-{path.name}")
    returned.write_text(json.dumps(exported))
    return returned


def truth(row: dict[str, Any]) -> tuple[str, str]:
    return (BAD, str(row["planted"])) if row["planted"] else (GOOD, "")


def read_by(job: Job, folder: Path, *reviewers: str, say: Callable[[dict[str, Any]], tuple[str, str]] = truth) -> None:
    paths = review.export(job.config, reviewers, "label-studio", folder)
    assert len(paths) == len(reviewers) + 1
    for reviewer, path in zip(reviewers, paths, strict=False):
        taken, missing = review.take_in(job.config, reviewer, [answers(job, path, say)])
        assert taken > 0
        assert missing == 0


def test_the_whole_way_of_a_lot(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records(), *SMALL, "review.sample=100", "review.required=true")
    done = stages(job)
    with pytest.raises(GateError, match="has not been reviewed"):
        release.run(job, done)
    assert status.review(job.workspace) == []
    drawn = review.sample(job)
    assert status.review(job.workspace) == [f"review: lot {drawn['lot']} is drawn; verdicts of 0 of 0 reviewers are in"]
    assert drawn["documents"] == 20
    assert drawn["items"]["kept"] == 20
    assert drawn["items"]["dropped"] == 2
    assert drawn["items"]["planted"] == 4
    assert review.sample(job) == drawn
    read_by(job, tmp_path / "out", "甲", "乙")
    assert status.review(job.workspace) == [f"review: lot {drawn['lot']} is drawn; verdicts of 2 of 2 reviewers are in"]
    shown = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert not any(name.encode() in shown for name in NAMES)
    assert b"13900000007" not in shown
    decision = review.settle(job.config)
    assert decision["accepted"]
    assert status.review(job.workspace) == [f"review: lot {drawn['lot']} is accepted"]
    assert decision["bounds"] == {"identifiers": 0.0, "defects": 0.0}  # the lot was read whole
    assert decision["planted"]["k"] == decision["planted"]["n"] == 4
    assert set(decision["reviewers"]) == {"R1", "R2"}
    body = release.run(job, done)
    assert body["sets"][0]["review"]["lot"] == drawn["lot"]
    (proof,) = job.workspace.releases.glob("*/evidence")
    sampling = json.loads((proof / "sampling.json").read_text(encoding="utf-8"))
    (lot,) = sampling["lots"]
    assert lot["decision_sha256"] == file_digest(job.workspace.root / "reviews" / drawn["lot"] / "decision.json")
    assert (lot["lot_documents"], lot["defects"]["n"], lot["planted"]["k"]) == (20, 20, 4)
    assert sampling["manual"] | {"sample": 20, "pass_rate": 1.0, "identifier_bound": 0.0} == sampling["manual"]
    assert json.loads((proof / "people.json").read_text(encoding="utf-8"))["after"]["documents_at_most"] == 0.0
    page = (proof.parent / "report.html").read_text(encoding="utf-8") + (proof / "index.html").read_text(encoding="utf-8")
    assert "没有人工抽检" not in page
    assert not any(name in page for name in NAMES)
    entries, faults = audit.verify(job.workspace.root, None)
    assert ([entry["kind"] for entry in entries], faults) == (["review", "release"], [])


def test_a_direct_identifier_rejects_and_nothing_is_published(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records(), *SMALL, "review.sample=100")
    done = stages(job)
    review.sample(job)
    bad = min(row["item"] for row in review._drawn(job.config)[2] if row["kind"] == "kept" and not row["planted"])
    read_by(job, tmp_path / "out", "甲", say=lambda row: (BAD, DIRECT) if row["item"] == bad else truth(row))
    with pytest.raises(GateError, match=DIRECT):
        review.settle(job.config)
    assert "is not accepted" in status.review(job.workspace)[0]
    with pytest.raises(GateError, match="rejected"):
        release.run(job, done)
    assert not job.workspace.releases.exists()
    lessons = files.read_json(review._drawn(job.config)[0].path / "verdicts.json")
    assert [lesson["verdict"] for lesson in lessons].count("bad") == 1 + 2  # and the two copies, rightly dropped


def test_a_sample_proves_less_than_the_whole(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records(), *SMALL)
    release.run(job, stages(job))
    assert review.sample(job)["items"]["kept"] < 20
    read_by(job, tmp_path / "out", "甲")
    with pytest.raises(GateError, match=r"上限[\s\S]*already published as releases/"):
        review.settle(job.config)


def test_the_sample_does_not_depend_on_how_the_lot_is_cut(make_job: MakeJob) -> None:
    drawn = []
    for name, size in (("a", "ingest.part_mb=0.02"), ("b", "ingest.part_mb=0.005")):
        job = make_job(name, records(), *SMALL, size)
        stages(job)
        review.sample(job)
        rows = review._drawn(job.config)[2]
        drawn.append(sorted((row["kind"], row["doc_id"], row["weight"], row["text"]) for row in rows))
    assert drawn[0] == drawn[1]


def test_changed_terms_after_verdicts_are_refused(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records(), *SMALL)
    stages(job)
    review.sample(job)
    read_by(job, tmp_path / "out", "甲")
    looser = make_job("a", records(), *SMALL, "review.min_pass=0.5")
    with pytest.raises(ConfigError, match="changed after verdicts"):
        review.sample(looser)
    with pytest.raises(ConfigError, match="other reviewers"):
        review.export(job.config, ["丙"], "xlsx", tmp_path / "out")


def test_what_was_not_asked_is_refused(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job("a", records(), *SMALL)
    with pytest.raises(InputError, match="--until filter"):
        review.plan(job.config)
    stages(job)
    with pytest.raises(InputError, match="review sample"):
        review.export(job.config, ["甲"], "xlsx", tmp_path)
    review.sample(job)
    review.export(job.config, ["甲"], "xlsx", tmp_path / "out")
    strange = tmp_path / "strange.json"
    result = [{"from_name": "verdict", "value": {"choices": [GOOD]}}]
    strange.write_text(json.dumps([{"data": {"item": "ffff"}, "annotations": [{"result": result}]}]))
    with pytest.raises(InputError, match="not given"):
        review.take_in(job.config, "甲", [strange])
    far = tmp_path / "far.xlsx"
    with xlsxwriter.Workbook(far) as book:
        sheet = book.add_worksheet("审核")
        sheet.write(0, 0, "编号")
        sheet.write(1048575, 16383, "x")
    with pytest.raises(InputError, match="no workbook that can be read"):
        review.take_in(job.config, "甲", [far])
    (sent,) = review.export(job.config, ["甲"], "xlsx", tmp_path / "out")
    assert review.take_in(job.config, "甲", [sent])[0] == 0
    assert review.export(job.config, ["甲"], "xlsx", tmp_path / "out") == [sent]  # a lost workbook is written again
    with pytest.raises(ConfigError, match="nobody of this name"):
        review.take_in(job.config, "丁", [strange])
    with pytest.raises(InputError, match="cannot be read"):
        review.take_in(job.config, "甲", [tmp_path / "none.xlsx"])


def test_spans_that_reviewers_see_are_those_of_the_masked_text(make_job: MakeJob) -> None:
    job = make_job("a", records(), *SMALL)
    stages(job)
    review.sample(job)
    where, _, _ = review._drawn(job.config)
    rows = pq.read_table(where.items).to_pylist()
    kept = [row for row in rows if row["kind"] == "kept" and not row["planted"]]
    assert kept
    for row in kept:
        phones = [row["text"][span["start"] : span["end"]] for span in row["spans"] if span["entity"] == "PHONE"]
        assert phones or row["spans"]
    spans = [row for row in rows if row["kind"] == "span"]
    assert spans
    for row in spans:
        (span,) = row["spans"]
        assert row["rule"]
        assert f"【{row['text'][span['start'] : span['end']]}】" in row["text"]
    assert all(row["spans"] for row in rows if row["planted"])  # a lack of marks would tell
    assert labelstudio.tasks(kept, "train-strict")


def test_a_lot_is_named_by_its_texts(make_job: MakeJob) -> None:
    lots = []
    for name, more in (("a", []), ("b", []), ("c", [{"id": "x", "text": article(900) + article(901)}])):
        job = make_job(name, [*records(), *more])
        lots.append(reviews.lot_of(stages(job)["filter"]))
    assert lots[0] == lots[1] != lots[2]


def test_the_plan_says_what_five_percent_would_cost(make_job: MakeJob) -> None:
    job = make_job("a", records(), *SMALL, "review.price_per_hour=60", "review.minutes_per_item=2")
    stages(job)
    found = review.plan(job.config)
    lines = {line["name"]: line for line in found["lines"]}
    assert found["lot"] == 20
    assert lines["全量的 5%"]["n"] == 1
    assert lines["全量的 5%"]["price"] == 2.0  # 1 item of 2 minutes at 60 an hour
    assert lines["本次核心样本"]["n"] == 10
    assert lines["零缺陷证明"]["bound_without_defects"] == 0.0


def test_a_takedown_reaches_what_was_drawn(make_job: MakeJob) -> None:
    job = make_job("a", records(), *SMALL)
    stages(job)
    review.sample(job)
    where, _, rows = review._drawn(job.config)
    doc_id = next(row["doc_id"] for row in rows if row["kind"] == "kept")
    target = takedown.Target(doc_id, "q", "main", 0, "doc-id")
    takedown.take_down(job.config, Console(file=StringIO()), [target], datetime.date(2026, 1, 2))
    left = pq.read_table(where.items)["doc_id"].to_pylist()
    assert doc_id not in left
    assert set(left) == {row["doc_id"] for row in rows} - {doc_id}
    entries, faults = audit.verify(job.workspace.root, None)
    assert ([entry["kind"] for entry in entries], faults) == (["takedown"], [])
