import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lexmill.core.dedup.describe import describe
from lexmill.core.dedup.identity import NO_CASE, NO_DATE, case_key
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.signature import signatures, unpack
from lexmill.schema import DOCUMENT_RAW, SIGNATURE


def document(doc_id: str, text: str, **meta: Any) -> dict[str, Any]:
    return {"doc_id": doc_id, "source": "s", "doc_type": "judgment", "text": text, "meta": meta}


def test_a_row_tells_all_but_the_text(rules: DedupRules) -> None:
    text = "上海市浦东新区\n李某某\ufffd\ufffd诉王ＸＸ"
    copy = "上海市浦东新区李某\ufffd\ufffd诉王某"
    rows = describe(
        pa.Table.from_pylist(
            [
                document("a", text, case_number="（2081）沪0115民初1号", judgment_date=datetime.date(1970, 1, 11)),
                document("b", "短文", version_date=datetime.date(1969, 12, 31)),
                document("c", ""),
            ],
            schema=DOCUMENT_RAW,
        ),
        rules,
    )
    assert rows.schema == SIGNATURE
    assert rows["doc_id"].to_pylist() == ["a", "b", "c"]
    assert rows["exact"][0].as_py() == blake2b(copy.encode(), digest_size=16).digest()
    assert rows["case_key"].to_pylist() == [case_key("（2081）沪0115民初1号"), NO_CASE, NO_CASE]
    assert rows["n_chars"].to_pylist() == [len(copy), 2, 0]
    assert rows["n_fffd"].to_pylist() == [2, 0, 0]
    assert rows["n_text"].to_pylist() == [len(text), 2, 0]
    assert rows["date"].to_pylist() == [10, -1, NO_DATE]
    assert np.array_equal(unpack(rows["signature"]), signatures(pa.array([copy, "短文", ""])))


def test_only_a_judgment_has_a_case_number_of_its_own(rules: DedupRules) -> None:
    exam = document("a", "某案", case_number="（2081）沪0115民初1号") | {"doc_type": "exam"}
    assert describe(pa.Table.from_pylist([exam], schema=DOCUMENT_RAW), rules)["case_key"].to_pylist() == [NO_CASE]


def test_an_empty_part_has_no_rows(rules: DedupRules) -> None:
    rows = describe(DOCUMENT_RAW.empty_table(), rules)
    assert rows.schema == SIGNATURE
    assert rows.num_rows == 0


def test_equal_copies_have_equal_hashes_however_they_are_spaced_and_masked(rules: DedupRules) -> None:
    table = [document("a", "被告 张某某，"), document("b", "被告张××,"), document("c", "被告张某某。")]
    exact = describe(pa.Table.from_pylist(table, schema=DOCUMENT_RAW), rules)["exact"].to_pylist()
    assert exact[0] == exact[1] != exact[2]


@pytest.mark.parametrize(
    "number",
    [
        None,
        "",
        "无",
        "（2081）沪0115民初×号",
        "（208\ufffd）沪0115民初1号",
        "（2081）看0115民初1号",  # no such province
        "（2081）沪01以15民初1号",  # a misread digit
    ],
)
def test_no_masked_or_garbled_number_is_a_key(number: str | None) -> None:
    assert case_key(number) == NO_CASE


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("（2081）沪0115民初1号", "(2081)沪０１１５民初1号", True),
        ("（2081）最高法民终1号", "〔2081〕最高法民终1号", True),
        ("（2011）浦民一（民）初字第1号", "(2011)浦民一(民)初字第1号", True),
        ("（2081）沪0115民初1号", "（2081）沪0115民初2号", False),
        ("（2081）沪0115民初1号", "（2081）沪01民终1号", False),
    ],
)
def test_keys(left: str, right: str, same: bool) -> None:
    assert NO_CASE not in (case_key(left), case_key(right))
    assert (case_key(left) == case_key(right)) is same


def test_what_is_asked_and_the_key_of_an_item_are_identities(rules: DedupRules) -> None:
    asked, answered = "问：专利权能设立质权吗？", "\n答：民法典第四百四十条：可以出质。"
    item = "下列说法正确的是？\nA．甲\nB．乙\n答案：B"
    raw = [
        {
            "doc_id": "q",
            "doc_type": "qa",
            "text": asked + answered,
            "meta": {},
            "segments": [
                {"kind": "问", "start": 0, "end": len(asked)},
                {"kind": "答", "start": len(asked) + 1, "end": len(asked + answered)},
            ],
        },
        {"doc_id": "e", "doc_type": "exam", "text": item, "meta": {"answer": "B"}, "segments": []},
        {"doc_id": "f", "doc_type": "exam", "text": item, "meta": {}, "segments": []},
        {
            "doc_id": "l",
            "doc_type": "qa",
            "text": asked * 20 + answered,
            "meta": {},
            "segments": [
                {"kind": "问", "start": 0, "end": 20 * len(asked)},
                {"kind": "答", "start": 20 * len(asked) + 1, "end": 20 * len(asked) + len(answered)},
            ],
        },
        {"doc_id": "s", "doc_type": "qa", "text": asked, "meta": {}, "segments": [{"kind": "问", "start": 0, "end": len(asked)}]},
        {"doc_id": "r", "doc_type": "qa", "text": answered, "meta": {}, "segments": None},
    ]
    rows = describe(pa.Table.from_pylist(raw, schema=DOCUMENT_RAW), rules)
    assert rows["title"].to_pylist() == ["专利权能设立质权吗", "B", None, "", "", ""]
