"""The pairs that a person looks at: both texts, with what differs in them, of this run and of earlier ones."""

from io import StringIO

import pytest
from rich.console import Console

from lexmill.errors import InputError
from lexmill.jobs import dedup, ingest
from lexmill.report import pairs
from tests.jobs.conftest import MakeJob
from tests.jobs.test_dedup import article, edited


def shown(found: list[pairs.Pair]) -> str:
    console = Console(file=StringIO(), width=200)
    for pair in found:
        console.print(pairs.show(pair))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_pairs_of_this_run_and_of_an_earlier_one(make_job: MakeJob) -> None:
    history = ("dedup.history=true",)
    first = make_job("a", [{"id": "a", "text": article(1) + "旧"}], *history, "run=n1")
    ingested = ingest.run(first)
    dedup.run(first, ingested)
    dedup.publish(first, ingested)
    records = [{"id": "b", "text": edited(article(1), 3)}, {"id": "c", "text": article(2)}, {"id": "d", "text": article(2)}]
    job = make_job("a", records, *history, "run=n2")
    with pytest.raises(InputError, match="compared nothing"):
        pairs.find(job.workspace, None, 5)
    dedup.run(job, ingest.run(job))
    found, counts = pairs.find(job.workspace, None, 5)
    assert counts == {"dedup.exact": 1, "dedup.near": 1}
    near, _ = pairs.find(job.workspace, "dedup.near", 5)
    assert [pair.row["rule"] for pair in near] == ["dedup.near"]
    assert near[0].other == edited(article(1), 3)
    assert near[0].stays.endswith("旧"), "the twin of the earlier run"
    assert len(pairs.find(job.workspace, "dedup", 5)[0]) == 2
    assert len(pairs.find(job.workspace, None, 1)[0]) == 1
    with pytest.raises(InputError, match=r"there are dedup\.exact, dedup\.near"):
        pairs.find(job.workspace, "dedup.same_case", 5)
    page = shown(found)
    assert near[0].row["doc_id"] in page
    assert "某" in page
    assert "…" in page, "long equal stretches are not shown"
    assert "{+某+}" in page
    assert "[-旧-]" in page
