"""What goes, what stays, and what the ledger says of it."""

from typing import Any

import pyarrow as pa
import pytest

from lexmill import rules
from lexmill.core.batch import Batch
from lexmill.core.contamination.index import Benchmark, build, units_of
from lexmill.core.contamination.items import Item
from lexmill.core.contamination.judge import Action, decontaminate
from lexmill.core.contamination.scan import quoted_grams, weigh
from lexmill.schema import DOCUMENT_RAW
from lexmill.store.stages import count_documents, count_ledger, imbalance
from tests.core.contamination.test_scan import column, invented

RULES = rules.load().contamination
STEM = invented(60, 1)
OPTIONS = tuple(invented(9, n) for n in range(2, 6))
SHORT = "关于担保下列说法正确的是"


def documents(*texts: str, doc_type: str = "exam", segments: list[dict[str, Any]] | None = None) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {"doc_id": f"{n:032x}", "source": "s", "doc_type": doc_type, "text": text, "segments": segments}
            for n, text in enumerate(texts)
        ],
        schema=DOCUMENT_RAW,
    )


def judged(table: pa.Table, *items: Item, action: Action = "drop", law: str = "") -> Batch | None:
    index = build([Benchmark("b.jsonl", "", len(items), 0)], units_of(items, 0))
    batch = decontaminate(table, index, weigh(index, quoted_grams(column(law), index)), RULES, action)
    if batch is not None:
        counts = {"in": count_documents(table), "out": count_documents(batch.kept), **count_ledger(batch.ledger)}
        assert imbalance(counts) == []
        assert batch.kept.schema.equals(table.schema)
    return batch


def test_a_document_with_an_item_goes_with_benchmark_item_and_share() -> None:
    batch = judged(documents("甲。", f"题：{STEM}？", "乙。"), Item("天地玄黄宇宙洪荒" * 4), Item(STEM, OPTIONS))
    assert batch is not None
    assert batch.kept["text"].to_pylist() == ["甲。", "乙。"]
    (row,) = batch.ledger.to_pylist()
    assert (row["doc_id"], row["action"], row["rule"]) == (f"{1:032x}", "drop", "contamination.stem")
    assert (row["twin"], row["value"], row["stage"]) == ("b.jsonl#2", 1.0, "decontaminate")
    assert batch.counts == {"benchmark.b.jsonl": 1}


def test_where_nothing_is_found_nothing_is_made() -> None:
    assert judged(documents("甲。", "乙。"), Item(STEM)) is None


@pytest.mark.parametrize(
    ("text", "goes"),
    [
        (f"{SHORT}：\nB. {OPTIONS[3]}\nA. {OPTIONS[0]}", True),
        (f"{SHORT}：\nA. {invented(9, 50)}\nB. {invented(9, 51)}", False),
        (f"{SHORT[1:]}：\nB. {OPTIONS[3]}\nA. {OPTIONS[0]}", False),
    ],
)
def test_a_short_stem_needs_all_of_itself_and_half_of_its_options_in_any_order(text: str, goes: bool) -> None:
    assert (judged(documents(text), Item(SHORT, OPTIONS)) is not None) == goes


def test_a_stem_as_everybody_asks_is_known_by_its_options() -> None:
    asked = "下列说法正确的是"
    items = [Item(asked, tuple(invented(9, 100 * n + k) for k in range(4))) for n in range(1, 60)]
    batch = judged(documents(f"{asked}\nA. {items[7].options[2]}\nB. {items[7].options[1]}", f"{asked}\nA. 甲"), *items)
    assert batch is not None
    assert [(row["doc_id"], row["twin"]) for row in batch.ledger.to_pylist()] == [(f"{0:032x}", "b.jsonl#8")]


def test_statutes_stay_and_so_does_who_quotes_the_same_law() -> None:
    law = invented(80, 7)
    item = Item(f"{law}据此应当如何处理本案")
    assert judged(documents(f"第一条　{law}", doc_type="statute"), item) is None
    assert judged(documents(f"本院认为，{law}。", doc_type="judgment"), item, law=law) is None
    assert judged(documents(f"本院认为，{law}。", doc_type="judgment"), item) is not None


def test_an_item_is_cut_in_whole_lines_and_segments_move() -> None:
    head, tail = "第一部分\n" + invented(90, 20) + "\n", "\n第二部分\n" + invented(90, 21)
    item = f"1. {STEM}？\nA. {OPTIONS[1]}\nB. {OPTIONS[0]}"
    text = head + item + tail
    spans = [("题干", 0, 5), ("题干", 5, len(head)), ("选项", len(head), len(head) + 70), ("答案", len(head) + 70, len(text))]
    segments = [{"kind": kind, "start": start, "end": end, "confidence": 1.0} for kind, start, end in spans]
    batch = judged(documents(text, segments=segments), Item(STEM, OPTIONS), action="cut")
    assert batch is not None
    (kept,) = batch.kept.to_pylist()
    assert kept["text"] == head + tail.removeprefix("\n")
    (row,) = batch.ledger.to_pylist()
    assert (row["action"], row["n_chars"]) == ("edit", len(item) + 1)
    moved = [(segment["kind"], kept["text"][segment["start"] : segment["end"]]) for segment in kept["segments"]]
    assert moved == [("题干", "第一部分\n"), ("题干", head[5:]), ("答案", tail[1:])]


def test_what_would_lose_half_of_itself_goes_whole() -> None:
    batch = judged(documents(f"1. {STEM}？\n答案：A"), Item(STEM), action="cut")
    assert batch is not None
    assert batch.kept.num_rows == 0
    assert [row["action"] for row in batch.ledger.to_pylist()] == ["drop"]


def test_items_that_share_a_line_are_one_cut() -> None:
    other = invented(60, 30)
    text = f"{invented(300, 31)}\n{STEM}；{other}\n{invented(300, 32)}"
    batch = judged(documents(text), Item(STEM), Item(other), action="cut")
    assert batch is not None
    assert [row["action"] for row in batch.ledger.to_pylist()] == ["edit"]
    assert batch.kept["text"].to_pylist() == [f"{invented(300, 31)}\n{invented(300, 32)}"]
