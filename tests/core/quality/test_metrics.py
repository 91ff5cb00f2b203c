import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.quality.metrics import METRICS, measure

SENTENCE = "经审理查明，被告人卓某于2078年3月5日盗窃电动自行车一辆。"

# text, metric, value
KNOWN = [
    ("甲 乙\n", "n_chars", 4),
    ("甲 乙\n", "n_visible", 2),
    ("甲乙12a，_\ufffd\ue000", "han", 2 / 9),
    ("甲乙12a，_\ufffd\ue000", "digit", 2 / 9),
    ("甲乙12a，_\ufffd\ue000", "letter", 1 / 9),
    ("甲乙12a，_\ufffd\ue000", "punct", 1 / 9),
    ("甲乙12a，_\ufffd\ue000", "other", 1 / 9),
    ("甲乙12a，_\ufffd\ue000", "fffd", 1 / 9),
    ("甲乙12a，_\ufffd\ue000", "private_use", 1 / 9),
    ("契约", "mojibake", 0),
    ("原告诉称".encode().decode("latin-1"), "mojibake", 10 / 12),  # § and ¨ are in use
    ("龘甲", "rare_han", 0.5),
    ("他們在", "traditional", 1 / 3),
    ("甲\n\n \n乙丙", "n_lines", 2),
    ("甲\n\n \n乙丙", "mean_line", 1.5),
    ("甲乙丙丁戊己庚辛壬\n甲乙丙丁戊己庚辛壬癸", "short_lines", 0.5),
    ("甲乙\n丙\n甲乙\n甲 乙", "duplicate_lines", 4 / 7),
    ("首页\n关于我们\n本院认为，原告胜诉。", "menu", 6 / 16),
    ("首页 > 法规库 > 地方性法规和规章全文检索 > 正文内容与附件", "menu", 1),
    ("一个没有任何标点但是超过二十个字符的长标题也不算", "menu", 0),
    ("见 https://a.cn/1 和 www.b.cn。", "links", 22 / 25),
    ("见http://a.cn。", "links", 11 / 13),
    (SENTENCE, "repetition", 0),
    ("甲乙丙丁戊己庚辛壬癸" * 2, "repetition", 1 / 11),
    ("甲方：" + "_" * 300 + "乙方：" + "_" * 400, "repetition", 0),
    ("短", "repetition", 0),
    ("哈哈哈呵呵", "max_run", 3),
    ("____，，，", "max_run", 0),
    ("000 0", "max_run", 4),
    ("甲甲乙", "distinct", 2 / 3),
    ("甲乙丙丁", "entropy", 2),
    ("甲甲甲", "entropy", 0),
    ("甲乙，", "broken_off", 1),
    ("原告诉称。被告于某日借款，后", "broken_off", 0.75),
    ("原告胜诉。被告甲", "broken_off", 0.75),
    ("原告胜诉。\n被告提起上诉，请求撤销原判，驳回全部诉讼", "broken_off", 0.5),
    ("原告胜诉。\n參考法條：民法第5條、第6條", "broken_off", 0.25),
    ("原告因故未到庭，被告亦未到庭", "broken_off", 0.25),
    ("原告因故未到庭，" * 20 + "被告亦未到庭", "broken_off", 0.75),
    ("判决如下。\n书记员　甲某", "broken_off", 0),
    ("判决如下。 书记员 甲某", "broken_off", 0),
    ("甲乙。\n", "broken_off", 0),
    ("甲乙。”", "broken_off", 0),
    ("哪一项正确？\nA. 甲有权，乙无权\nB. 乙有权，甲无权", "broken_off", 0),
    ("哪一项正确？\n答案：甲有权，乙无权", "broken_off", 0),
    ("xxxx，XX", "max_run", 1),
    ("何为合同？ | 首页 | 关于我们 | 更多", "menu", 10 / 16),
]


@pytest.mark.parametrize(("text", "metric", "value"), KNOWN)
def test_known_values(text: str, metric: str, value: float) -> None:
    assert measure(pa.array([text]))[metric].to_pylist() == [pytest.approx(value, abs=1e-12)]


def test_every_metric_is_known_somewhere() -> None:
    assert {metric for _, metric, _ in KNOWN} == set(METRICS)


@pytest.mark.parametrize("text", ["", " ", "\n\n\u3000\r\n", None])
def test_text_without_visible_characters_measures_zero(text: str | None) -> None:
    row = measure(pa.array([text], pa.string())).to_pylist()[0]
    assert row == {**dict.fromkeys(METRICS, 0), "n_chars": len(text or "")}


def test_columns_and_types() -> None:
    table = measure(pa.array(["甲"]))
    assert table.column_names == list(METRICS)
    integers = [field.name for field in table.schema if field.type == pa.int64()]
    assert integers == ["n_chars", "n_visible", "n_lines", "max_run"]
    assert all(field.type == pa.float64() for field in table.schema if field.name not in integers)


TEXTS = st.lists(st.text(alphabet="甲乙丙，。_a1 \n\u3000\ufffd𠮷|", max_size=80), max_size=6)


@settings(max_examples=60, deadline=None)
@given(TEXTS)
def test_agrees_with_plain_python(texts: list[str]) -> None:
    for text, row in zip(texts, measure(pa.array(texts, pa.string())).to_pylist(), strict=True):
        visible = "".join(text.split())
        lines = ["".join(line.split()) for line in text.split("\n") if line.strip()]
        n = max(1, len(visible))
        assert row["n_chars"] == len(text)
        assert row["n_visible"] == len(visible)
        assert row["n_lines"] == len(lines)
        repeated = sum(len(line) for k, line in enumerate(lines) if line in lines[:k])
        assert row["duplicate_lines"] == pytest.approx(repeated / n)
        kept = "".join(c for k, c in enumerate(visible) if c in "甲乙丙a1𠮷" or visible[k - 1 : k] != c)
        grams = [kept[k : k + 10] for k in range(len(kept) - 9)]
        assert row["repetition"] == pytest.approx(1 - len(set(grams)) / len(grams) if grams else 0)
        entropy = -sum(k / n * math.log2(k / n) for k in Counter(visible).values())
        assert row["entropy"] == pytest.approx(entropy, abs=1e-9)
        assert row["distinct"] == pytest.approx(len(set(visible)) / n)


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(0, 6), st.integers(0, 6))
def test_a_document_measures_the_same_wherever_it_stands(texts: list[str], before: int, after: int) -> None:
    column = pa.array([*["前文。"] * before, *texts, *["后文"] * after], pa.string())
    alone = [measure(pa.array([text])).to_pylist()[0] for text in texts]
    assert measure(column.slice(before, len(texts))).to_pylist() == alone
    chunked = pa.chunked_array([column.slice(0, before), column.slice(before)])
    assert measure(chunked).to_pylist()[before : before + len(texts)] == alone
    assert measure(column.cast(pa.large_string())).to_pylist()[before : before + len(texts)] == alone


def test_shares_of_characters_add_up() -> None:
    row = measure(pa.array([SENTENCE + "abc __ \ufffd\ue000 ☆"])).to_pylist()[0]
    kinds = ("han", "digit", "letter", "punct", "other", "fffd", "private_use")
    assert sum(row[kind] for kind in kinds) == pytest.approx(1)


def test_a_document_beyond_the_tables_is_still_measured() -> None:
    text = "".join(f"第{n}条\n" for n in range(140_000)) + "第0条\n" * 10_000
    row = measure(pa.array([text])).to_pylist()[0]
    assert row["n_lines"] == 150_000
    assert row["duplicate_lines"] == pytest.approx(30_000 / row["n_visible"])
    assert 0 < row["repetition"] < 1


def test_no_texts() -> None:
    assert measure(pa.array([], pa.string())).num_rows == 0
    assert measure(pa.chunked_array([], pa.string())).num_rows == 0
