import random
from pathlib import Path

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.quality import classifier as module
from lexmill.core.quality.classifier import (
    HEAD,
    MODEL,
    PAIR_BITS,
    PAIRS,
    Classifier,
    digest_of,
    features,
    learn_pairs,
    load,
    network_of,
    spaced,
)
from lexmill.core.quality.corrupt import CORRUPTIONS
from lexmill.core.quality.judge import filter_documents
from lexmill.core.quality.rules import QualityRules
from lexmill.errors import InputError
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import GOOD, MENU

FOLDER = Path(__file__).parents[3] / "pipeline" / "lexmill" / "models" / "quality"


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load(FOLDER)


def none_known() -> np.ndarray:
    return np.zeros(1 << (PAIR_BITS - 3), np.uint8)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" \n\u3000", ""),
        ("甲 12３\nb。", "甲 0 0 0 b 。"),
        ("𠮷é", "𠮷 é"),
        ("甲" * 2500, " ".join("甲" * 2000)),
    ],
)
def test_what_the_classifier_reads(text: str, line: str) -> None:
    assert spaced(pa.array(["前", text, "后"]), none_known())[0].to_pylist() == ["前", line, "后"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="甲1a \n𠮷é。", max_size=30), max_size=5))
def test_spacing_agrees_with_plain_python(texts: list[str]) -> None:
    expected = [" ".join("0" if c == "1" else c for c in "".join(text.split())) for text in texts]
    assert spaced(pa.array(texts, pa.string()), none_known())[0].to_pylist() == expected


def test_pairs_are_those_of_adjacent_ideographs() -> None:
    known = none_known()
    learn_pairs(pa.array(["合同法", "合 同", "甲。乙"]), known)
    assert int(np.unpackbits(known).sum()) == 2  # 合同, 同法; a mark parts, white space does not
    texts = ["合同法", "法同合", "合同合同", "合1同", "", "甲。乙"]
    assert spaced(pa.array(texts), known)[1].tolist() == [0, 1, pytest.approx(1 / 3), 0, 0, 0]


def test_scores_are_probabilities_and_do_not_depend_on_the_batch(classifier: Classifier) -> None:
    texts = [*GOOD.values(), "", MENU, "\n"] * 50
    scores = classifier.score(pa.array(texts))
    assert (scores.dtype, len(scores)) == (np.dtype(np.float32), len(texts))
    assert np.all((scores >= 0) & (scores <= 1))
    assert np.array_equal(scores, np.tile(scores[:8], 50))
    assert scores[5] == scores[7] == 0
    assert classifier.score(pa.chunked_array([texts[:3], texts[3:8]])).tolist() == scores[:8].tolist()
    assert len(classifier.score(pa.array([], pa.string()))) == 0


def test_scores_rest_on_the_probabilities_of_fasttext_itself(classifier: Classifier) -> None:
    rng = random.Random(2)
    texts = [ruin(text * rng.randint(1, 9), rng) for text in GOOD.values() for ruin in CORRUPTIONS.values()]
    texts += [*GOOD.values(), "", "甲\0乙", "\U00020bb7é１２ a。", "龘" * 3000]
    lines = spaced(pa.array(texts), none_known())[0].to_pylist()
    names, chances = fasttext.load_model(str(FOLDER / MODEL)).predict(lines, k=2)
    expected = [float(dict(zip(*row, strict=True))[module.GOOD]) for row in zip(names, chances, strict=True)]
    logits = features(classifier.network, classifier.pairs, pa.array(texts))[0][:, 0]
    assert logits.tolist() == [np.log((p + 1e-6) / (max(0.0, 1 - p) + 1e-6)) for p in expected]


def test_a_model_of_another_kind_is_no_network(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("__label__good 甲 乙\n__label__bad 丙 丁\n", encoding="utf-8")
    model = fasttext.train_supervised(str(lines), minCount=1, wordNgrams=3, bucket=10, thread=1, verbose=0)
    with pytest.raises(ValueError, match="pairs of characters"):
        network_of(model)


@pytest.mark.parametrize("doc_type", GOOD)
def test_the_shipped_model_tells_good_text_from_ruined(classifier: Classifier, shipped: QualityRules, doc_type: str) -> None:
    rng = random.Random(1)
    kinds = ("shuffled", "locally_shuffled", "menu", "sales", "misread_latin", "misread_gbk")
    ruined = [CORRUPTIONS[kind](GOOD[doc_type], rng) for kind in kinds]
    good, *bad = classifier.score(pa.array([GOOD[doc_type], *ruined])).tolist()
    (rule,) = [rule for rule in shipped.classifier if rule.doc_types == (doc_type,)]
    assert good >= rule.min_score
    assert max(bad) < good


def test_shipped_score_rules_speak_of_the_shipped_model(classifier: Classifier, shipped: QualityRules) -> None:
    assert shipped.classifier
    assert {rule.model for rule in shipped.classifier} == {classifier.digest}
    assert {rule.doc_types for rule in shipped.classifier} == {(doc_type,) for doc_type in GOOD}


def test_a_low_score_removes_and_the_ledger_says_by_which_model(classifier: Classifier) -> None:
    rule = {"id": "quality.test.score", "why": "Ruined.", "min_score": 0.5, "action": "drop", "false_drop_rate": 0.01}
    mine = QualityRules.model_validate({"classifier": [{**rule, "model": classifier.digest}]})
    table = documents(("qa", MENU), ("qa", GOOD["judgment"]))
    batch = filter_documents(table, mine, classifier)
    assert batch.kept["text"].to_pylist() == [GOOD["judgment"]]
    row = batch.ledger.to_pylist()[0]
    assert row["rule"] == "quality.test.score"
    assert (row["model"], row["threshold"]) == (classifier.digest, 0.5)
    assert row["value"] == pytest.approx(float(classifier.score(pa.array([MENU]))[0]))


@pytest.mark.parametrize(("model", "tags"), [(None, ["quality.test.score"]), ("0" * 64, [])])
def test_what_was_measured_with_another_model_removes_nothing(classifier: Classifier, model: str | None, tags: list[str]) -> None:
    rule = {
        "id": "quality.test.score",
        "why": "Ruined.",
        "min_score": 0.5,
        "action": "drop",
        "false_drop_rate": 0.01,
        "model": model,
    }
    batch = filter_documents(documents(("qa", MENU)), QualityRules.model_validate({"classifier": [rule]}), classifier)
    assert batch.kept["tags"].to_pylist() == [tags]


def test_the_card_describes_the_shipped_model(classifier: Classifier) -> None:
    files = [(FOLDER / name).read_bytes() for name in (MODEL, PAIRS, HEAD)]
    assert digest_of(files) == classifier.digest
    assert sum(map(len, files)) < 9_000_000
    assert classifier.digest in (FOLDER / "card.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [None, b"no model"])
def test_an_unreadable_model_is_an_input_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        for name in (MODEL, PAIRS, HEAD):
            (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="holds no quality model"):
        load(tmp_path)
