import codecs
import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Fields, Ingest
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.records import SPLITTABLE, BadRecord, Record, format_of, read

JUDGMENT = "（2079）沪0000民初1号\n原告卓某诉称，被告未支付货款1,200元。"
FORMATS = ["jsonl", "json", "csv", "tsv", "txt", "md", "html", "docx", "pdf"]
LIMITS = Limits.of(Ingest())


def all_of(
    data: bytes | str,
    fmt: str,
    fields: Fields | None = None,
    doc_type: str = "judgment",
    base: int = 0,
    records: str | None = None,
) -> list[Record | BadRecord]:
    data = data.encode() if isinstance(data, str) else data
    return list(read(data, fmt, fields or Fields(), doc_type, base, LIMITS, records))


def summary(found: list[Record | BadRecord]) -> list[tuple[str | None, str]]:
    return [(record.record_id, record.text if isinstance(record, Record) else record.rule) for record in found]


@pytest.mark.parametrize(
    ("name", "fmt"),
    [
        ("a.jsonl", "jsonl"),
        ("a.NDJSON.gz", "jsonl"),
        ("dir/a.b.json.zst", "json"),
        ("文书.csv", "csv"),
        ("a.tsv.xz", "tsv"),
        ("a.txt.bz2", "txt"),
        ("a.markdown", "md"),
        ("a.HTM", "html"),
        ("a.docx", "docx"),
        ("卷宗.tar.gz", "tar"),
        ("a.TGZ", "tar"),
        ("a.png", "image"),
        ("a.et", "xlsx"),
        ("a.rar", "rar"),
        ("a.mp4", None),
        ("jsonl", None),
        (".gz", None),
    ],
)
def test_format_of(name: str, fmt: str | None) -> None:
    assert format_of(name) == fmt


def test_splittable_formats_are_read_with_an_offset() -> None:
    assert frozenset({"jsonl"}) == SPLITTABLE
    whole = b'{"text":"a"}\n\n{"text":"b"}\r\n{"text":"c"}'
    cut = whole.index(b'{"text":"b"}')
    assert all_of(whole[:cut], "jsonl") + all_of(whole[cut:], "jsonl", base=cut) == all_of(whole, "jsonl")
    assert summary(all_of(whole, "jsonl")) == [("0", "a"), ("14", "b"), ("28", "c")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_json_lines_in_any_encoding(encoding: str, end: str) -> None:
    data = end.join(orjson.dumps({"id": n, "text": f"{JUDGMENT}{n}"}).decode() for n in range(3)).encode(encoding)
    assert summary(all_of(data, "jsonl")) == [(str(n), f"{JUDGMENT}{n}") for n in range(3)]


def test_offsets_of_utf16_lines() -> None:
    data = codecs.BOM_UTF16_LE + '{"text":"甲"}\n{"text":"乙"}'.encode("utf-16-le")
    assert [record.record_id for record in all_of(data, "jsonl")] == ["0", str(data.index('{"text":"乙"}'.encode("utf-16-le")))]


def test_each_line_has_its_own_encoding() -> None:
    lines = [f'{{"text":"{JUDGMENT[17:]}{n}"}}'.encode(("utf-8", "gb18030")[n % 2]) for n in range(4)]
    assert [record.text for record in all_of(b"\n".join(lines), "jsonl") if isinstance(record, Record)] == [
        f"{JUDGMENT[17:]}{n}" for n in range(4)
    ]


def test_a_broken_line_is_passed_over_and_counted() -> None:
    bad = '{"text":"未完'
    found = all_of(f'{{"text":"甲"}}\n{bad}\n{{"text":"乙"}}\n', "jsonl")
    assert found[1] == BadRecord("15", "ingest.bad_json", len(bad), len(bad.encode()))
    assert summary(found) == [("0", "甲"), ("15", "ingest.bad_json"), (str(16 + len(bad.encode())), "乙")]


def test_a_broken_line_before_the_first_good_one_is_reported_once_in_order() -> None:
    assert summary(all_of('x\n{"text":"甲"}\n', "jsonl")) == [("0", "ingest.bad_json"), ("2", "甲")]
    many = all_of("x\n" * 1500 + '{"text":"甲"}', "jsonl")
    assert [record.record_id for record in many] == [str(2 * n) for n in range(1501)]


def test_a_line_with_a_few_bad_bytes_keeps_them_as_fffd() -> None:
    line = orjson.dumps({"text": JUDGMENT * 5})
    at = line.index("卓".encode())
    (record,) = all_of(line[: at + 1] + line[at + 2 :], "jsonl")
    assert isinstance(record, Record)
    assert record.n_fffd == record.text.count("\ufffd") > 0
    assert len(record.text) >= len(JUDGMENT) * 5 - 1


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "ingest.empty"),
        (b" \n\n", "ingest.empty"),
        (b"plain words\nand more\n", "ingest.bad_json"),
        (b"123\n456\n", "ingest.bad_json"),
        (bytes(range(256)) * 4, "ingest.binary"),
        (b"[" * 100_000, "ingest.bad_json"),
    ],
)
@pytest.mark.parametrize("fmt", ["jsonl", "json"])
def test_a_file_that_is_no_json_is_one_fault(data: bytes, rule: str, fmt: str) -> None:
    (bad,) = all_of(data, fmt)
    assert isinstance(bad, BadRecord)
    assert bad.rule == rule
    assert bad.n_bytes == len(data)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[{"text":"甲"},{"text":"乙"}]', [("0", "甲"), ("1", "乙")]),
        ('{"text":"甲"}', [("0", "甲")]),
        ('{"text":"甲"}\n{"text":"乙"}', [("0", "甲"), ("15", "乙")]),
        ('{"text":\n"甲"}\n{"text":\n"乙"}', [("0", "甲"), ("1", "乙")]),
        ('[{"text":"甲"},\n{"text":"乙"},\n{"tex', [("0", "甲"), ("1", "乙"), ("2", "ingest.bad_json")]),
        ('{"data":[{"id":7,"text":"甲"},{"text":"乙"}]}', [("7", "甲"), ("1", "乙")]),
        ('[{"of":"x","items":[{"id":1,"text":"甲"}]},{"items":[{"id":1,"text":"乙"}]}]', [("0.0", "甲"), ("1.0", "乙")]),
        ('{"k1":{"text":"甲"},"k2":{"text":"乙"}}', [("k1", "甲"), ("k2", "乙")]),
        ('[["甲","乙"],["丙"]]', [("0", "甲\n乙"), ("1", "丙")]),
        ('["甲","乙"]', [("0", "甲"), ("1", "乙")]),
        ('[[{"sentence":"甲。","labels":["X"]},{"sentence":"乙。","labels":[]}]]', [("0", "甲。\n乙。")]),
        ('[[{"text":"甲"},{"text":"乙"}]]', [("0.0", "甲"), ("0.1", "乙")]),
        ('[{"text":[{"sentence":"甲。","label":1},{"sentence":"乙。","label":0}]}]', [("0", "甲。\n乙。")]),
        ('[{"title":"某法","条文":[{"条号":"第1条","内容":"甲"},{"条号":"第2条","内容":"乙"}]}]', [("0", "第1条 甲\n第2条 乙")]),
        ("[]", [(None, "ingest.no_text")]),
        ('[{"text":""},{"text":null},{"text":"  "}]', [(str(n), "ingest.no_text") for n in range(3)]),
        ('[{"text":NaN},{"text":"a\tb"}]', [("0", "ingest.no_text"), ("1", "a\tb")]),
    ],
)
def test_json_values(text: str, found: list[tuple[str | None, str]]) -> None:
    assert summary(all_of(text, "json")) == found
    assert summary(all_of(text.encode("gb18030"), "json")) == [
        (str(len(text.split("\n")[0].encode("gb18030")) + 1), item[1]) if item[0] == "15" else item for item in found
    ]


def test_a_passage_of_questions_is_one_dialogue() -> None:
    data = json.dumps([[{"instruction": "甲", "input": "", "output": "乙"}, {"instruction": "丙", "input": "", "output": "丁"}]])
    assert summary(all_of(data, "json", doc_type="qa")) == [("0", "问：甲\n答：乙\n问：丙\n答：丁")]


def test_deep_json_ends() -> None:
    assert summary(all_of(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "json")) == [("0", "ingest.too_deep")]
    found = all_of(b"[" * 50_000 + b'\n{"text":"a"}', "jsonl")
    assert summary(found) == [("0", "ingest.too_deep"), ("50001", "a")]
    assert summary(all_of(b"[" * 900 + b'"x"' + b"]" * 900, "json"))[0][1] == "ingest.no_text"


def test_unpaired_surrogates_and_nul_become_fffd() -> None:
    (record,) = all_of(r'{"text":"甲\ud800乙\u0000丙\\ud800丁\ud840\udc00"}', "jsonl")
    assert record == Record("0", "甲\ufffd乙\ufffd丙\\ud800丁\U00020000", None, {}, 2)


def test_long_integers_are_ids_only_where_exact() -> None:
    found = all_of(
        '{"id":9007199254740993,"text":"甲"}\n{"id":99999999999999999999999,"text":"乙"}\n{"id":true,"text":"丙"}', "jsonl"
    )
    assert found[0].record_id == "9007199254740993"
    assert found[1].record_id not in (None, "1e+23")
    assert found[2].record_id not in ("True", "1")


@pytest.mark.parametrize(
    ("data", "fmt", "found"),
    [
        ('id,text\r\n1,甲\r\n2,"乙\n丙，""丁"""\r\n', "csv", [("1", "甲"), ("2", '乙\n丙，"丁"')]),
        ("text\tcourt\n甲\t某法院\n", "tsv", [("0", "甲")]),
        ("id;text\n1;甲\n", "csv", [("1", "甲")]),
        (",text\n0,甲\n\n1,乙\n", "csv", [("0", "甲"), ("1", "乙")]),
        ("text\n甲,多\n乙\n", "csv", [("0", "ingest.bad_row"), ("1", "乙")]),
        ('text\n"甲"x\n乙\n"丙\n丁', "csv", [("0", "ingest.bad_row"), ("1", "乙"), ("2", "ingest.bad_row")]),
        ("name,age\n甲,1\n", "csv", [("0", "ingest.no_text")]),
        ("id,text\n", "csv", [(None, "ingest.empty")]),
        ('{"text":1}\n', "csv", [(None, "ingest.not_table")]),
        ("<html><body>404", "csv", [(None, "ingest.not_table")]),
        ("text\n" + "长" * 200_000 + "\n", "csv", [("0", "长" * 200_000)]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_tables(data: str, fmt: str, found: list[tuple[str | None, str]], encoding: str) -> None:
    assert summary(all_of(data.encode(encoding), fmt)) == found


def test_the_size_of_a_bad_row_is_that_of_its_lines() -> None:
    (bad,) = all_of('text\n"甲\n乙', "csv")
    assert bad == BadRecord("0", "ingest.bad_row", 4, 8)


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (JUDGMENT, Record(None, JUDGMENT, None, {}, 0)),
        (
            f"title: 某判决书\n案号：（2079）沪0000民初1号\n{JUDGMENT}",
            Record(None, JUDGMENT, "某判决书", {"case_number": "（2079）沪0000民初1号"}, 0),
        ),
        (f"标题：某判决书\r\n来源：某网\r\n\r\n{JUDGMENT}\r\n", Record(None, JUDGMENT, "某判决书", {}, 0)),
        (
            f"案号：甲1号\n法院: 某法院\n\n{JUDGMENT}",
            Record(None, JUDGMENT, None, {"case_number": "甲1号", "court": "某法院"}, 0),
        ),
        (f"案号：甲1号\n{JUDGMENT}", Record(None, f"案号：甲1号\n{JUDGMENT}", None, {}, 0)),
        ("原告：卓某\n\n被告：章某", Record(None, "原告：卓某\n\n被告：章某", None, {}, 0)),
        ("<!DOCTYPE html><title>题</title><p>甲<p>乙", Record(None, "甲\n乙", "题", {}, 0)),
        ('{"id":5,"text":"甲"}', Record("5", "甲", None, {}, 0, has_own_id=True)),
        ("<html>" + "<div>" * 600, BadRecord(None, "ingest.too_deep", 0, 3006)),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_plain_text(data: str, record: Record | BadRecord, encoding: str) -> None:
    assert all_of(data.encode(encoding), "txt") == [record]


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (
            '---\ntitle: "某法"\ndate: 2079-01-01\nsidebar: auto\n---\n\n# 某法\n\n正文',
            Record(None, "某法\n\n正文", "某法", {"date": "2079-01-01"}, 0),
        ),
        (
            "# 某法 #\n\n<!-- 注\n释 -->\n## 第一章　总则\n**第一条**　甲\n",
            Record(None, "某法\n\n\n第一章　总则\n第一条　甲", "某法", {}, 0),
        ),
        (
            "某法\n====\n第一条\n---\n　　甲\n> 引 [第二条](../a.md#二) 和 ![图](x.png)\n",
            Record(None, "某法\n第一条\n　　甲\n引 第二条 和 ", "某法", {}, 0),
        ),
        ("- 甲\n1. 乙\n* * *\n```\n丙\n```\n", Record(None, "- 甲\n1. 乙\n丙", None, {}, 0)),
        ("| 项目 | 金额 |\n|---|:--:|\n| 货款 | 5元 |", Record(None, "项目\t金额\n货款\t5元", None, {}, 0)),
        (
            "张**与李**于2079年；__年__月；[甲](乙)；a\\*b",
            Record(None, "张**与李**于2079年；__年__月；[甲](乙)；a*b", None, {}, 0),
        ),
        ("---\n甲方", Record(None, "甲方", None, {}, 0)),
    ],
)
def test_markdown(data: str, record: Record) -> None:
    assert all_of(data, "md") == [record]


def test_html_whose_charset_lies() -> None:
    page = f'<html><head><meta charset="iso-8859-1"><title>题</title></head><body><p>{JUDGMENT}</p>'
    expected = [Record(None, JUDGMENT, "题", {}, 0)]
    assert all_of(page.encode("gb18030"), "html") == all_of(page, "html") == expected


def test_markup_and_references_inside_fields() -> None:
    data = (
        orjson.dumps({"text": "<p>甲&nbsp;乙</p><p>丙</p>"})
        + b"\n"
        + orjson.dumps({"text": "3&permil;、&lt;丁&gt; AT&T a<b &amp;amp;ldquo;"})
        + b"\n"
        + orjson.dumps({"text": "&#49&#48;&#x4e01 A&#B"})
    )
    assert [record.text for record in all_of(data, "jsonl") if isinstance(record, Record)] == [
        "甲 乙\n丙",
        "3‰、<丁> AT&T a<b “",
        "10丁 A&#B",
    ]


def test_mojibake_is_mended_or_refused() -> None:
    text = "被告支付货款，承担违约责任。" * 3
    lost = text.encode().decode("gbk", "replace")
    data = orjson.dumps({"text": text.encode().decode("latin-1")}) + b"\n" + orjson.dumps({"text": lost})
    found = all_of(data, "jsonl")
    assert isinstance(found[0], Record)
    assert found[0].text == text
    assert found[1] == BadRecord(found[1].record_id, "ingest.mojibake", len(lost), len(lost.encode()))


@pytest.mark.parametrize("fmt", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_end_in_records(fmt: str, data: bytes) -> None:
    for record in read(data, fmt, Fields(), "qa", 0, LIMITS, None):
        if isinstance(record, Record):
            assert record.text.strip()
            assert record.n_fffd == record.text.count("\ufffd")
            assert "\0" not in record.text
            record.text.encode()
        else:
            assert record.rule.startswith("ingest.")
            assert record.n_chars >= 0
            assert record.n_bytes >= 0


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["text", "content", "id", "title", "question", "answer", "options", "A", "B", "sentence", "data", "date", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(value=JSON_VALUES, doc_type=st.sampled_from(["judgment", "exam", "qa"]))
def test_any_json_value_ends_in_records(value: Any, doc_type: str) -> None:
    found = all_of(json.dumps(value), "json", doc_type=doc_type)
    assert found
    for record in found:
        assert record.text.strip() if isinstance(record, Record) else record.rule
