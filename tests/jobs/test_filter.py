"""The filter job cuts the sections that the run file names: each cut is an edit, and what stays is what is released."""

from typing import Any

import pyarrow.parquet as pq
import pytest

from lexmill.jobs import decontaminate, dedup, deidentify, filter, ingest, release
from lexmill.jobs.job import Job
from lexmill.schema import DOCUMENT, DOCUMENT_JUDGED
from lexmill.store.stages import imbalance
from tests.jobs.conftest import MakeJob
from tests.jobs.test_release import folder_of, stages

APPENDIX = "附：相关法律条文\n《中华人民共和国民法典》第六百七十五条　借款人应当按照约定的期限返还借款。"
TAIL = "如不服本判决，可以在判决书送达之日起十五日内向本院递交上诉状。"
NUMBER = 24
PURPOSES = ("扩建厂房", "购买钢材", "偿还货款", "支付运费", "更换设备")


def judgments(number: int) -> list[dict[str, Any]]:
    """Judgments that differ in their facts, each with a tail; all but every fourth with an appendix."""
    texts = []
    for n in range(number):
        sum_, month, rate = n + 3, n % 12 + 1, n % 5 + 6
        facts = (
            f"2077年{month}月{n % 27 + 1}日，被告因{PURPOSES[n % 5]}向原告借款{sum_}万元，"
            f"约定借期{n % 7 + 2}个月，年利率{rate}%，被告出具借条一张。"
        )
        texts.append(
            f"甲市乙区人民法院\n民事判决书\n（2078）京0101民初{n + 1}号\n原告：某某公司，住所地甲市。\n"
            f"被告：某某厂，住所地乙市。\n原告某某公司诉称，{facts}到期后被告没有偿还，请求判令被告返还借款并支付利息。\n"
            f"经审理查明，{facts}被告此后偿还利息{n * 100 + 250}元，其余款项至今没有偿还。\n"
            f"本院认为，双方的借款合同合法有效，被告没有按期还款，应当承担返还借款{sum_}万元并按年利率{rate}%支付利息的责任。"
            "依照《中华人民共和国民法典》第六百七十五条之规定，判决如下：\n"
            f"被告自本判决生效之日起十日内返还原告借款{sum_}万元。\n{TAIL}\n"
            f"审判员　×××\n二〇七八年五月一日\n书记员　×××\n{APPENDIX if n % 4 else ''}"
        )
    return [{"id": str(n), "text": text} for n, text in enumerate(texts)]


def rows_of(job: Job, stage: str, manifest: dict[str, Any], schema: Any) -> dict[str, dict[str, Any]]:
    folder = job.workspace.stage(stage)
    rows = [row for entry in manifest["parts"] for row in folder.read(entry, schema).to_pylist()]
    return {row["doc_id"]: row for row in rows}


def filtered(job: Job) -> dict[str, dict[str, Any]]:
    """The manifests of the last two stages."""
    masked = deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
    return {"deidentify": masked, "filter": filter.run(job, masked)}


CUT = "filter.sections=['section.judgment_appendix','section.judgment_tail']"


def test_what_the_run_file_names_goes_and_is_accounted_for(make_job: MakeJob) -> None:
    job = make_job("a", judgments(NUMBER), CUT, doc_type="judgment")
    done = filtered(job)
    before = rows_of(job, "deidentify", done["deidentify"], DOCUMENT)
    after = rows_of(job, "filter", done["filter"], DOCUMENT_JUDGED)
    assert len(before) == len(after) == NUMBER
    edits = [row for row in job.workspace.stage("filter").ledgers().to_pylist() if row["action"] == "edit"]
    lost: dict[str, int] = dict.fromkeys(after, 0)
    for edit in edits:
        lost[edit["doc_id"]] += edit["n_chars"]
    n_tails = 0
    for doc_id, row in after.items():
        text = before[doc_id]["text"]
        assert len(row["text"]) + lost[doc_id] == len(text)
        assert "附：相关法律条文" not in row["text"]
        n_tails += "如不服本判决" in row["text"]
        assert all(words in row["text"] for words in ("诉称", "经审理查明", "本院认为", "判决如下", "返还原告借款"))
        starts = [part["start"] for part in row["segments"]]
        assert starts == [0, *(part["end"] for part in row["segments"][:-1])]
        assert row["segments"][-1]["end"] == len(row["text"])
        kept = [(part["kind"], row["text"][part["start"] : part["end"]]) for part in row["segments"]]
        given = [(part["kind"], text[part["start"] : part["end"]]) for part in before[doc_id]["segments"]]
        assert kept == [part for part in given if part in kept]
    assert {row["rule"] for row in edits} == {"section.judgment_appendix", "section.judgment_tail"}
    assert sum(row["rule"] == "section.judgment_appendix" for row in edits) == NUMBER - NUMBER // 4
    # A share of .1 keeps its tail, whichever these are.
    assert NUMBER // 2 < sum(row["rule"] == "section.judgment_tail" for row in edits) == NUMBER - n_tails
    assert not imbalance(done["filter"]["counts"])
    assert done["filter"]["counts"]["edit"]["q/judgment"]["chars"] == sum(lost.values())


@pytest.mark.slow
def test_the_release_holds_what_stays(make_job: MakeJob) -> None:
    job = make_job("a", judgments(12), CUT, doc_type="judgment")
    done = stages(job)
    body = release.run(job, done)
    texts = pq.read_table(folder_of(job, body["release"]) / "text")["text"].to_pylist()
    kept = rows_of(job, "filter", done["filter"], DOCUMENT_JUDGED)
    assert len(texts) == 12
    assert sorted(texts) == sorted(row["text"] for row in kept.values())
    assert not any("附：相关法律条文" in text for text in texts)


def test_other_sections_make_the_stage_again_and_none_leave_it_as_it_was(make_job: MakeJob) -> None:
    job = make_job("a", judgments(6), doc_type="judgment")
    plain = filtered(job)
    texts = {doc_id: row["text"] for doc_id, row in rows_of(job, "filter", plain["filter"], DOCUMENT_JUDGED).items()}
    before = rows_of(job, "deidentify", plain["deidentify"], DOCUMENT)
    assert texts == {doc_id: row["text"] for doc_id, row in before.items()}
    assert not [row for row in job.workspace.stage("filter").ledgers().to_pylist() if row["action"] == "edit"]
    cut = filtered(make_job("a", judgments(6), CUT, doc_type="judgment"))
    assert cut["deidentify"] == plain["deidentify"]
    assert cut["filter"]["parts"] != plain["filter"]["parts"]
    assert filtered(make_job("a", judgments(6), doc_type="judgment"))["filter"] == plain["filter"]
