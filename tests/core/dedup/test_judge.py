"""The verdicts: properties over random families of look-alikes, and cases with known right answers."""

import datetime
import itertools
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.dedup import judge as judging
from lexmill.core.dedup import shingles
from lexmill.core.dedup.cluster import Components, shared_buckets, star_edges
from lexmill.core.dedup.compare import comparison_copy
from lexmill.core.dedup.describe import describe
from lexmill.core.dedup.judge import CANDIDATES, PAIRS, judge
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.dedup.signature import BANDS, SHINGLE, band_hashes, exact_hashes, unpack
from lexmill.schema import DOCUMENT_RAW
from tests.core.dedup.conftest import RULES

CASE_A, CASE_B, CASE_C = "（2081）沪0115民初1号", "（2081）沪0115民初2号", "（2081）沪01民终3号"


class Doc(NamedTuple):
    doc_id: str
    text: str
    case: str | None = None
    date: datetime.date | None = None
    doc_type: str = "judgment"
    source_order: int = 0
    kind: str = "判决书"
    trial: str | None = None
    title: str | None = None
    segments: list[dict[str, Any]] | None = None


def prose(seed: int, n: int = 300) -> str:
    """Characters without sense; two seeds have hardly a 5-gram in common."""
    chance = random.Random(seed)
    return "".join(chr(chance.randrange(0x4E00, 0x4E00 + 2000)) for _ in range(n))


def edited(text: str, n: int, seed: int = 0) -> str:
    """``n`` characters replaced at random places; each takes at most five 5-grams away."""
    chance = random.Random(seed)
    chars = list(text)
    for at in chance.sample(range(len(chars)), n):
        chars[at] = chr(chance.randrange(0x4E00 + 2000, 0x4E00 + 4000))
    return "".join(chars)


def candidates(docs: list[Doc], component: int = 0, past: int = 0) -> pa.Table:
    """All documents as one component, whatever the bands say; the first ``past`` were kept earlier."""
    raw = [
        {
            "doc_id": doc.doc_id,
            "doc_type": doc.doc_type,
            "text": doc.text,
            "meta": {
                "case_number": doc.case,
                "version_date" if doc.doc_type == "statute" else "judgment_date": doc.date,
                "document_kind": doc.kind,
                "trial_level": doc.trial,
                "statute_title": doc.title,
                "jurisdiction": "CN",
            },
            "segments": doc.segments,
        }
        for doc in docs
    ]
    rows = describe(pa.Table.from_pylist(raw, schema=DOCUMENT_RAW), RULES)
    columns = {name: rows[name] for name in rows.column_names} | {
        "ordinal": np.arange(len(docs), dtype=np.int64),
        "component": np.full(len(docs), component, np.int64),
        "past": np.arange(len(docs)) < past,
        "source_order": np.array([doc.source_order for doc in docs], np.int32),
        "doc_type": [doc.doc_type for doc in docs],
        "text": [doc.text for doc in docs],
    }
    return pa.table({name: columns[name] for name in CANDIDATES.names}, schema=CANDIDATES)


def gone(pairs: pa.Table) -> dict[str, tuple[str, str]]:
    """doc_id of each document that goes: rule and twin."""
    return {row["doc_id"]: (row["rule"], row["twin"]) for row in pairs.to_pylist() if row["gone"]}


def refused(pairs: pa.Table) -> dict[str, tuple[str, str]]:
    return {row["doc_id"]: (row["rule"], row["twin"]) for row in pairs.to_pylist() if not row["gone"]}


def similarity(left: str, right: str) -> float:
    a, b = ({copy[i : i + 5] for i in range(len(copy) - 4)} for copy in (comparison_copy(left), comparison_copy(right)))
    return len(a & b) / max(len(a | b), 1)


FORM = prose(1)


def asked(doc_id: str, question: str) -> Doc:
    """A question that is answered by one article for all."""
    text = f"{question}\n{FORM}"
    segments = [("问", 0, len(question)), ("答", len(question) + 1, len(text))]
    return Doc(
        doc_id, text, doc_type="qa", segments=[dict(zip(("kind", "start", "end"), each, strict=True)) for each in segments]
    )


CASES: list[tuple[str, list[Doc], dict[str, tuple[str, str]]]] = [
    ("alone", [Doc("a", FORM)], {}),
    (
        "exact, but for spacing and masks",
        [Doc("a", FORM + "李某某"), Doc("b", FORM[:9] + " \n" + FORM[9:] + "李××")],
        {"a": ("dedup.exact", "b")},
    ),
    ("edited", [Doc("a", FORM), Doc("b", edited(FORM, 3))], {"b": ("dedup.near", "a")}),
    ("too far", [Doc("a", FORM), Doc("b", edited(FORM, 20))], {}),
    (
        "one article of a law for two questions, and for one that is asked twice",
        [asked("a", "留置物能直接变卖吗？"), asked("b", "如何确定留置财产的折价？"), asked("c", "问：留置物能直接变卖吗")],
        {"a": ("dedup.near", "c")},
    ),
    (
        "a case, and its text as a dated statute",
        [
            Doc("a", FORM, date=datetime.date(2081, 1, 1), doc_type="statute"),
            Doc("b", FORM + "\ufeff", CASE_A),
            Doc("c", FORM, CASE_B),
        ],
        {"a": ("dedup.exact", "b")},
    ),
    ("edited, of another type", [Doc("a", FORM), Doc("b", edited(FORM, 3), doc_type="qa")], {}),
    ("exact, of another type", [Doc("a", FORM), Doc("b", FORM, doc_type="qa")], {"b": ("dedup.exact", "a")}),
    ("two cases on one form", [Doc("a", FORM, CASE_A), Doc("b", edited(FORM, 1), CASE_B)], {}),
    ("an appeal that quotes all", [Doc("a", FORM, CASE_A), Doc("b", FORM + prose(2, 20), CASE_C)], {}),
    ("two cases, one text", [Doc("a", FORM, CASE_A), Doc("b", FORM, CASE_B)], {}),
    ("one case", [Doc("a", FORM, CASE_A), Doc("b", edited(FORM, 3), CASE_A.replace("（", "("))], {"b": ("dedup.same_case", "a")}),
    (
        "a case and a masked number",
        [Doc("a", FORM, CASE_A), Doc("b", edited(FORM, 3), "（2081）沪0115民初×号")],
        {"b": ("dedup.near", "a")},
    ),
    (
        "one without a number never stands between two cases",
        [Doc("a", FORM, CASE_A), Doc("b", edited(FORM, 2), CASE_B), Doc("c", edited(FORM, 1) + "更长", None)],
        {"c": ("dedup.near", "a")},
    ),
    (
        "one without a number and two cases of its very text",
        [Doc("a", FORM, CASE_A), Doc("b", FORM, CASE_B), Doc("c", FORM)],
        {"c": ("dedup.exact", "a")},
    ),
    (
        "never along a chain",
        # a-b and b-c are copies, a-c are not; a is the longest, c the shortest.
        [Doc("a", FORM + "甲甲"), Doc("b", edited(FORM, 4, 1) + "乙"), Doc("c", edited(edited(FORM, 4, 1), 6, 2))],
        {"b": ("dedup.near", "a")},
    ),
    (
        "versions of a statute",
        [
            Doc("a", FORM, date=datetime.date(2081, 1, 1), doc_type="statute"),
            Doc("b", edited(FORM, 1), date=datetime.date(2085, 1, 1), doc_type="statute"),
        ],
        {},
    ),
    (
        "a statute printed under two dates",
        [
            Doc("a", FORM, date=datetime.date(2081, 1, 1), doc_type="statute"),
            Doc("b", FORM, date=datetime.date(2085, 1, 1), doc_type="statute"),
        ],
        {"a": ("dedup.exact", "b")},
    ),
    (
        "a statute without a date may be another version",
        [Doc("a", FORM + "更长", doc_type="statute"), Doc("b", FORM, date=datetime.date(2081, 1, 1), doc_type="statute")],
        {},
    ),
    (
        "statutes without a date, of one title and of another",
        [
            Doc("a", FORM + "更长", doc_type="statute", title="某省物业管理条例"),
            Doc("b", FORM, doc_type="statute", title="某省物业管埋条例"),
            Doc("c", FORM + "长", doc_type="statute", title="某省住房公积金条例"),
        ],
        {"b": ("dedup.near", "a")},
    ),
    (
        "a first instance and an appeal under masked numbers",
        [Doc("a", FORM, trial="一审"), Doc("b", edited(FORM, 2), trial="二审")],
        {},
    ),
    (
        "a case, and a cut of it",
        [Doc("a", prose(1, 2000), CASE_A), Doc("b", prose(1, 2000)[300:1000], CASE_A)],
        {"b": ("dedup.same_case", "a")},
    ),
    (
        "a case, and the correction of it",
        [Doc("a", prose(1, 2000), CASE_A), Doc("b", "补正" + prose(1, 2000)[300:1000], CASE_A)],
        {},
    ),
    (
        "a case, and another kind of paper of it",
        [Doc("a", prose(1, 2000), CASE_A), Doc("b", prose(1, 2000)[300:1000], CASE_A, kind="裁定书")],
        {},
    ),
    (
        "a masked number is no key",
        [Doc("a", prose(1, 2000), "（2081）沪0115民初×号"), Doc("b", prose(1, 2000)[300:1000], "（2081）沪0115民初×号")],
        {},
    ),
    (
        "dates of judgments are no versions",
        [Doc("a", FORM, date=datetime.date(2081, 1, 1)), Doc("b", edited(FORM, 3), date=datetime.date(2081, 1, 2))],
        {"a": ("dedup.near", "b")},
    ),
    ("short and equal", [Doc("a", "同意"), Doc("b", "同 意"), Doc("c", "不同意")], {"a": ("dedup.exact", "b")}),
    ("short and different", [Doc("a", "同意"), Doc("b", "驳回"), Doc("c", "")], {}),
    ("empty", [Doc("a", ""), Doc("b", "\n")], {"a": ("dedup.exact", "b")}),
]


@pytest.mark.parametrize(("docs", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_cases(rules: DedupRules, docs: list[Doc], expected: dict[str, tuple[str, str]]) -> None:
    pairs = judge(candidates(docs), 0.8, rules)
    assert pairs.schema == PAIRS
    assert gone(pairs) == expected
    assert gone(judge(candidates(docs[::-1]), 0.8, rules)) == expected


ITEM = "甲公司与乙公司签订买卖合同后，下列哪些选项是正确的？"


def item(doc_id: str, options: str, answer: str, stem: str = ITEM) -> Doc:
    text = f"{stem}\n{options}\n答案：{answer}"
    borders = [0, len(stem) + 1, len(stem) + len(options) + 2, len(text)]
    parts = zip(["题干", "选项", "答案"], borders, borders[1:], strict=False)
    segments = [{"kind": kind, "start": start, "end": end, "confidence": 1.0} for kind, start, end in parts]
    return Doc(doc_id, text, doc_type="exam", segments=segments)


@pytest.mark.parametrize(
    ("other", "rule"),
    [
        (item("b", "A. 乙公司有权解除\nB. 合同已经生效\nC. 甲公司应当赔偿\nD. 以上都不对", "B"), "dedup.same_item"),
        (
            item("b", "A.合同已经生效 B.以上都不对 C.乙公司有权解除 D.甲公司应当赔偿", "A", "12．（2080年单选）" + ITEM),
            "dedup.same_item",
        ),
        (item("b", "A. 合同已经生效\nB. 甲公司应当倍偿\nC. 乙公司有权解除\nD. 以上都不对", "A"), "dedup.same_item"),
        (item("b", "A. 合同无效\nB. 合同可撤销\nC. 乙公司有权解除\nD. 以上都不对", "A"), None),
    ],
    ids=["another order", "in one line, with a number", "a misprint", "other options"],
)
def test_items_by_stem(rules: DedupRules, other: Doc, rule: str | None) -> None:
    mine = item("a", "A. 合同已经生效\nB. 甲公司应当赔偿\nC. 乙公司有权解除\nD. 以上都不对", "A" * 9)
    found = gone(judge(candidates([mine, other]), 0.99, rules))
    assert [verdict[0] for verdict in found.values()] == ([rule] if rule else [])


LAW = prose(3, 600)
VERSIONS = [
    Doc(f"v{year}", edited(LAW, 40, year), date=datetime.date(year, 1, 1), doc_type="statute", title="某省物业管理条例")
    for year in (2083, 2081, 2085)
]


def test_the_latest_version_of_a_statute(rules: DedupRules) -> None:
    assert gone(judge(candidates(VERSIONS), 0.8, rules)) == {}
    older = ("dedup.older_version", "v2085")
    assert gone(judge(candidates(VERSIONS), 0.8, rules, keep="latest")) == {"v2081": older, "v2083": older}
    # As they arrive, a version goes if a newer one came before it.
    first = gone(judge(candidates(VERSIONS), 0.8, rules, keep="latest", prefer="first"))
    assert first == {"v2081": ("dedup.older_version", "v2083")}
    past = gone(judge(candidates(VERSIONS, past=2), 0.8, rules, keep="latest"))
    assert past == {}, "what an earlier night kept stays"
    made_anew = Doc("w", prose(9, 600), date=datetime.date(2089, 1, 1), doc_type="statute", title="某省物业管理条例")
    assert "v2085" not in gone(judge(candidates([*VERSIONS, made_anew]), 0.8, rules, keep="latest"))


def test_what_came_first_stays(rules: DedupRules) -> None:
    docs = [Doc("c", edited(FORM, 3, 1) + "\ufffd"), Doc("b", FORM), Doc("a", FORM)]
    assert gone(judge(candidates(docs), 0.8, rules, prefer="first")) == {"b": ("dedup.near", "c"), "a": ("dedup.near", "c")}
    assert gone(judge(candidates(docs, past=1), 0.8, rules)) == {"b": ("dedup.near", "c"), "a": ("dedup.near", "c")}
    assert gone(judge(candidates(docs), 0.8, rules)) == {"c": ("dedup.near", "a"), "b": ("dedup.exact", "a")}
    # A document without a number that came first takes in no case, or it would stand between two.
    series = [Doc("x", FORM), Doc("y", FORM, CASE_A), Doc("z", FORM, CASE_B), Doc("w", edited(FORM, 1), CASE_A)]
    assert gone(judge(candidates(series), 0.8, rules, prefer="first")) == {"w": ("dedup.same_case", "y")}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cutting_into_nights_keeps_the_same(rules: DedupRules, data: st.DataObject) -> None:
    docs = data.draw(families())
    keep: judging.Keep = data.draw(st.sampled_from(["all", "latest"]))
    whole = gone(judge(candidates(docs), 0.8, rules, keep=keep, prefer="first"))
    cuts = sorted({0, len(docs), *data.draw(st.lists(st.integers(0, len(docs)), max_size=3))})
    kept: list[Doc] = []
    for start, end in itertools.pairwise(cuts):
        night = docs[start:end]
        table = candidates([*kept, *night], past=len(kept))
        away = gone(judge(table, 0.8, rules, keep=keep, prefer="first"))
        assert away == {doc.doc_id: whole[doc.doc_id] for doc in night if doc.doc_id in whole}
        kept += [doc for doc in night if doc.doc_id not in away]


def test_the_chain_is_one(rules: DedupRules) -> None:
    a, b, c = next(docs for name, docs, _ in CASES if name == "never along a chain")
    assert similarity(a.text, b.text) >= 0.8
    assert similarity(b.text, c.text) >= 0.8
    assert similarity(a.text, c.text) < 0.8
    assert refused(judge(candidates([a, b, c]), 0.8, rules)) == {"c": ("refused.below", "a")}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Doc("b", FORM + "短"), Doc("a", FORM + "更长更长\ufffd")),
        (Doc("b", FORM + "更长"), Doc("a", FORM, date=datetime.date(2081, 1, 1))),
        (Doc("b", FORM, date=datetime.date(2081, 1, 2)), Doc("a", FORM, date=datetime.date(2081, 1, 1))),
        (Doc("b", FORM, date=datetime.date(1969, 1, 1), source_order=1), Doc("a", FORM)),
        (Doc("b", FORM, source_order=0), Doc("a", FORM, source_order=1)),
        (Doc("a", FORM), Doc("b", FORM)),
        (Doc("b", FORM + "\ufffd", CASE_A), Doc("a", FORM + "更长")),
    ],
    ids=["fewest U+FFFD", "longest", "newest", "dated", "source order", "doc_id", "known case"],
)
def test_which_copy_stays(rules: DedupRules, better: Doc, worse: Doc) -> None:
    for docs in ([better, worse], [worse, better]):
        assert {worse.doc_id: better.doc_id} == {
            doc: twin for doc, (_, twin) in gone(judge(candidates(docs), 0.8, rules)).items()
        }


def test_refused_pairs_are_named(rules: DedupRules) -> None:
    one, other = Doc("a", FORM, CASE_A), Doc("b", edited(FORM, 1), CASE_B)
    (row,) = judge(candidates([one, other], component=7), 0.8, rules).to_pylist()
    assert row == {
        "ordinal": 1,
        "doc_id": "b",
        "twin_ordinal": 0,
        "twin": "a",
        "rule": "refused.other_case",
        "jaccard": pytest.approx(similarity(one.text, other.text)),
        "value": pytest.approx(similarity(one.text, other.text)),
        "component": 7,
        "gone": False,
    }
    versions = [Doc(name, FORM[i:], date=datetime.date(2081 + i, 1 + i, 1), doc_type="statute") for i, name in enumerate("ab")]
    assert refused(judge(candidates(versions), 0.8, rules)) == {"b": ("refused.other_version", "a")}


def test_components_do_not_see_each_other(rules: DedupRules) -> None:
    table = pa.concat_tables([candidates([Doc("a", FORM)], 1), candidates([Doc("b", FORM), Doc("c", FORM)], 2)])
    assert gone(judge(table, 0.8, rules)) == {"c": ("dedup.exact", "b")}


def test_nothing_to_judge(rules: DedupRules) -> None:
    pairs = judge(CANDIDATES.empty_table(), 0.8, rules)
    assert pairs.schema == PAIRS
    assert pairs.num_rows == 0


@st.composite
def families(draw: st.DrawFn) -> list[Doc]:
    """Up to 14 documents out of two forms, edited more or less, with or without a case, a date, U+FFFD, of several types."""
    docs = []
    for i in range(draw(st.integers(1, 14))):
        form = prose(draw(st.integers(1, 2)))
        text = edited(form, draw(st.sampled_from([0, 0, 1, 3, 8, 30])), draw(st.integers(0, 3))) + draw(
            st.sampled_from(["", "完", "\ufffd"])
        )
        docs.append(
            Doc(
                doc_id=f"d{i}",
                text=draw(st.sampled_from([text, text, text, "同意"])),
                case=draw(st.sampled_from([None, CASE_A, CASE_B])),
                date=draw(st.sampled_from([None, datetime.date(2081, 1, 1), datetime.date(2082, 1, 1)])),
                doc_type=draw(st.sampled_from(["judgment", "judgment", "statute", "qa"])),
                source_order=draw(st.integers(0, 1)),
                trial=draw(st.sampled_from([None, None, "一审", "二审"])),
                title=draw(st.sampled_from([None, "某省物业管理条例", "某省住房公积金条例"])),
            )
        )
    return docs


@settings(max_examples=60, deadline=None)
@given(docs=families(), chance=st.randoms(use_true_random=False))
def test_verdicts(rules: DedupRules, docs: list[Doc], chance: random.Random) -> None:
    table = candidates(docs)
    pairs = judge(table, 0.8, rules)
    by_id = {doc.doc_id: doc for doc in docs}
    key = dict(zip(table["doc_id"].to_pylist(), table["case_key"].to_pylist(), strict=True))
    away = gone(pairs)
    assert len(pairs) == len(set(pairs["doc_id"].to_pylist()))

    for row in pairs.to_pylist():
        doc, twin = by_id[row["doc_id"]], by_id[row["twin"]]
        assert twin.doc_id not in away
        assert row["rule"] == "dedup.exact" or row["jaccard"] == pytest.approx(similarity(doc.text, twin.text))
        if row["rule"] == "dedup.exact":
            assert comparison_copy(doc.text) == comparison_copy(twin.text)
        if row["rule"] == "dedup.near":
            assert doc.doc_type == twin.doc_type
            assert row["jaccard"] >= 0.8
            assert doc.doc_type != "statute" or doc.date == twin.date
        if row["rule"] == "dedup.same_case":
            assert key[doc.doc_id] == key[twin.doc_id] != 0
            assert row["value"] >= 0.9
        if row["gone"] and doc.doc_type == twin.doc_type == "judgment":
            assert key[doc.doc_id] == key[twin.doc_id] or 0 in (key[doc.doc_id], key[twin.doc_id])

    # No kept document holds two cases.
    for kept in {twin for _, twin in away.values()}:
        group = [kept, *(doc for doc, (_, twin) in away.items() if twin == kept)]
        assert len({key[doc] for doc in group if by_id[doc].doc_type == "judgment"} - {0}) <= 1

    # Equal texts that nothing keeps apart are one.
    stay = [doc for doc in docs if doc.doc_id not in away]
    for i, doc in enumerate(stay):
        for other in stay[:i]:
            if comparison_copy(doc.text) == comparison_copy(other.text):
                assert doc.doc_type == other.doc_type == "judgment"
                assert 0 != key[doc.doc_id] != key[other.doc_id] != 0

    # Neither the order of the rows nor that of the ordinals matters.
    shuffled = list(range(len(docs)))
    chance.shuffle(shuffled)
    assert judge(table.take(pa.array(shuffled)), 0.8, rules).equals(pairs)
    assert gone(judge(candidates([docs[i] for i in shuffled]), 0.8, rules)) == away

    # Judged again, all that stay stay.
    assert gone(judge(candidates(stay), 0.8, rules)) == {}


@settings(max_examples=40, deadline=None)
@given(docs=families())
def test_bands_bring_together_what_is_near(rules: DedupRules, docs: list[Doc]) -> None:
    """The whole chain: what is judged in the components that the bands propose goes as if all were judged together."""
    table = candidates(docs)
    ordinals, keys = table["ordinal"].to_numpy(), table["key"].to_numpy()
    hashes = band_hashes(unpack(table["signature"]))
    long = table["n_chars"].to_numpy() >= SHINGLE
    bands = [(exact_hashes(table["exact"]), keys, ordinals)]
    bands += [(hashes[long, band], keys[long], ordinals[long]) for band in range(BANDS)]
    proposed_edges = np.concatenate([star_edges(*(column[shared_buckets(*band)] for column in band)) for band in bands])
    found = Components(0, len(docs))
    left, right, apart = proposed_edges.T.copy()
    found.add(left, right, apart == 0)
    nodes, labels = found.labels()
    proposed = table.take(pa.array(nodes)).set_column(1, "component", pa.array(labels))
    assert gone(judge(proposed, 0.8, rules)) == gone(judge(table, 0.8, rules))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls = [0]
    exact = shingles.in_common

    def count(left: Any, right: Any) -> int:
        calls[0] += 1
        return int(exact(left, right))

    monkeypatch.setattr(shingles, "in_common", count)
    monkeypatch.setattr(judging, "in_common", count)
    return calls


def test_many_copies_cost_one_comparison_each(rules: DedupRules, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    docs = [Doc(f"d{i:05}", edited(FORM, 1, i)) for i in range(4000)]
    assert len(gone(judge(candidates(docs), 0.8, rules))) == 3999
    assert calls[0] <= 4000


def test_a_series_and_one_without_a_number_cost_little(rules: DedupRules, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    docs = [Doc(f"d{i:05}", edited(FORM, 5, i), f"（2081）沪0115民初{i + 1}号") for i in range(4000)]
    assert set(gone(judge(candidates([*docs, Doc("x", FORM)]), 0.8, rules))) == {"x"}
    assert calls[0] <= 4000 + judging.MAX_VERIFIED


def test_look_alikes_below_the_threshold_are_capped(rules: DedupRules, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MAX_BUCKET", 16)
    monkeypatch.setattr(judging, "MAX_VERIFIED", 4)
    calls = counted(monkeypatch)
    docs = [Doc(f"d{i:05}", edited(FORM, 6, i)) for i in range(600)]  # about .69 to each other
    copy = Doc("x", edited(docs[300].text, 1) + "完")
    assert set(gone(judge(candidates([*docs, copy]), 0.8, rules))) >= {"d00300"}
    assert calls[0] <= 4 * 601


def on_one_form(n: int, slots: int = 30, width: int = 4) -> list[Doc]:
    """Forms filled in: different contracts at a Jaccard index of about .79 to each other, none of which says which it is."""
    form = prose(5, 2000)
    places = sorted(random.Random(5).sample(range(0, len(form) - width, 2 * width), slots))
    docs = []
    for number in range(n):
        chars = list(form)
        for place, filled in zip(places, range(slots), strict=True):
            chars[place : place + width] = prose(1000 * number + filled + 7, width)
        docs.append(Doc(f"d{number:05}", "".join(chars), doc_type="contract"))
    return docs


@pytest.mark.parametrize("prefer", ["best", "first"])
def test_a_hot_bucket_loses_no_copy(rules: DedupRules, monkeypatch: pytest.MonkeyPatch, prefer: judging.Prefer) -> None:
    monkeypatch.setattr(judging, "MAX_BUCKET", 64)
    monkeypatch.setattr(judging, "MAX_VERIFIED", 16)
    docs = on_one_form(2000)
    chance = random.Random(1)
    originals = chance.sample(docs, 60)
    copies = [Doc(f"x{n}", edited(doc.text, 36 + n % 6, n), doc_type="contract") for n, doc in enumerate(originals)]
    assert all(similarity(doc.text, copy.text) >= 0.8 for doc, copy in zip(originals, copies, strict=True))
    table = candidates(chance.sample([*docs, *copies], len(docs) + len(copies)))
    pairs = {frozenset((doc.doc_id, copy.doc_id)) for doc, copy in zip(originals, copies, strict=True)}
    calls, counts = counted(monkeypatch), Counter[str]()
    found = {frozenset((away, twin)) for away, (_, twin) in gone(judge(table, 0.8, rules, "all", prefer, counts)).items()}
    assert found == pairs
    assert counts[judging.HOT_REFINED] == table.num_rows
    assert counts[judging.HOT_CAPPED] > 0
    assert calls[0] <= judging.MAX_VERIFIED * table.num_rows

    monkeypatch.setattr(judging, "rare_bands", lambda _, rows: [[] for _ in rows])
    assert len(gone(judge(table, 0.8, rules, "all", prefer))) < len(pairs), "without the second key some are not found"
