from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.dedup.lines import add_counts, count_lines, treat_lines
from lexmill.core.dedup.rules import DedupRules, LineRule
from lexmill.schema import DOCUMENT_RAW

MENU = "首页 > 裁判文书 > 正文\n"
COURT = "某市某区人民法院\n"
FACTS = "原告甲公司与被告乙公司签订了一份买卖合同。\n"
FOOT = "关于我们 | 网站地图 | 联系我们\n"


def judgment(number: int, *parts: tuple[str, str]) -> dict[str, Any]:
    segments, text = [], ""
    for kind, part in parts:
        segments.append({"kind": kind, "start": len(text), "end": len(text) + len(part), "confidence": 1.0})
        text += part
    return {"doc_id": f"{number:032x}", "source": "s", "doc_type": "judgment", "text": text, "segments": segments}


def documents() -> pa.Table:
    rows = [judgment(n, ("首部", MENU + COURT + f"第{n}件的标题很长很长\n"), ("查明", FACTS), ("附录", FOOT)) for n in range(5)]
    return pa.Table.from_pylist([*rows, judgment(9, ("首部", COURT), ("查明", FACTS + MENU))], schema=DOCUMENT_RAW)


def frequent(table: pa.Table, rules: DedupRules, least: int) -> Any:
    hashes, docs = count_lines(table, rules)
    return hashes[docs >= least]


def test_only_lines_of_headings_tails_and_annexes_count(rules: DedupRules) -> None:
    table = documents()
    hashes, docs = count_lines(table, rules)
    assert sorted(docs.tolist()) == [1] * 5 + [5, 5], "five titles, the menu and the foot; no court, no facts"
    assert np.all(hashes[1:] > hashes[:-1])
    twice = pa.concat_tables([table, table])
    assert sorted(count_lines(twice, rules)[1].tolist()) == [2] * 5 + [10, 10]
    added = add_counts(np.concatenate([hashes, hashes]), np.concatenate([docs, docs]))
    assert np.array_equal(added[1], 2 * docs)


@pytest.mark.parametrize("mode", ["tag", "cut"])
def test_frequent_lines_are_tagged_or_cut_and_the_balance_adds_up(rules: DedupRules, mode: str) -> None:
    table = documents()
    kept, ledger = treat_lines(table, rules, frequent(table, rules, 5), mode)
    rows = ledger.to_pylist()
    assert [row["doc_id"] for row in rows] == [f"{n:032x}" for n in range(5)]
    assert {(row["action"], row["rule"], row["value"]) for row in rows} == {("edit", "dedup.line", 2.0)}
    for before, after in zip(table.to_pylist(), kept.to_pylist(), strict=True):
        cut = {row["doc_id"]: row for row in rows}.get(before["doc_id"], {"n_chars": 0, "n_bytes": 0})
        assert len(before["text"]) - len(after["text"]) == cut["n_chars"]
        assert len(before["text"].encode()) - len(after["text"].encode()) == cut["n_bytes"]
    if mode == "tag":
        assert kept.equals(table)
        return
    first = kept.to_pylist()[0]
    assert first["text"] == COURT + "第0件的标题很长很长\n" + FACTS
    parts = {s["kind"]: first["text"][s["start"] : s["end"]] for s in first["segments"]}
    assert parts == {"首部": COURT + "第0件的标题很长很长\n", "查明": FACTS}, "an empty segment is none"
    assert kept.to_pylist()[5] == table.to_pylist()[5], "a menu within the facts stays"
    # What was cut is not found again.
    assert treat_lines(kept, rules, frequent(table, rules, 5), mode)[1].num_rows == 0


def test_nothing_is_frequent(rules: DedupRules) -> None:
    table = documents()
    kept, ledger = treat_lines(table, rules, np.empty(0, np.uint64), "cut")
    assert kept.equals(table)
    assert ledger.num_rows == 0


def test_a_rule_that_does_not_prove_its_lines_is_a_fault(rules: DedupRules) -> None:
    rule = rules.lines[0]
    swapped = LineRule.model_validate({**rule.model_dump(), "drop": rule.keep, "keep": rule.drop})
    assert len(DedupRules(lines=(swapped,)).faults()) == len(rule.keep) + len(rule.drop)
    double = rule.model_copy(update={"id": "dedup.other"})
    assert [fault.rule_id for fault in DedupRules(lines=(rule, double)).faults()] == ["dedup.other"]
