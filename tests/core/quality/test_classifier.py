import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.core.quality.classifier import Classifier, load, spaced
from lexmill.core.quality.judge import filter_documents
from lexmill.core.quality.rules import QualityRules
from lexmill.errors import InputError
from tests.core.quality.conftest import documents
from tests.core.quality.test_judge import GOOD, MENU

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "pipeline" / "lexmill" / "models"


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load(MODELS / "quality.bin")


@pytest.fixture(scope="module")
def training() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_quality", ROOT / "scripts" / "train_quality.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["train_quality"] = module
    spec.loader.exec_module(module)
    return module


def samples(folder: Path) -> Path:
    """A small folder of samples in every form that is read, one of them garbage."""
    texts = list(GOOD.values())
    (folder / "qa").mkdir()
    (folder / "qa" / "a.csv").write_text("\ufeffid,question,answer\r\n1,能退吗？,可以。\r\n", encoding="utf-8", newline="")
    (folder / "qa" / "b.json").write_text(json.dumps([{"id": "1", "text": MENU}, {"id": "2", "text": texts[0]}]))
    (folder / "qa" / "c.jsonl").write_text("".join(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(texts)))
    (folder / "qa" / "d.md").write_text(texts[4], encoding="utf-8")
    (folder / "qa" / "e.html").write_text("<p>不读</p>", encoding="utf-8")
    garbage = [{"ref": {"source": "qa", "path": "qa/b.json", "record": "1"}, "reason": "menu only"}]
    (folder / "truth.json").write_text(json.dumps({"garbage": garbage}), encoding="utf-8")
    return folder


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
    assert spaced(pa.array(["前", text, "后"])).to_pylist() == ["前", line, "后"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="甲1a \n𠮷é。", max_size=30), max_size=5))
def test_spacing_agrees_with_plain_python(texts: list[str]) -> None:
    expected = [" ".join("0" if c == "1" else c for c in "".join(text.split())) for text in texts]
    assert spaced(pa.array(texts, pa.string())).to_pylist() == expected


def test_scores_are_probabilities_and_do_not_depend_on_the_batch(classifier: Classifier) -> None:
    texts = [*GOOD.values(), "", MENU, "\n"] * 50
    scores = classifier.score(pa.array(texts))
    assert (scores.dtype, len(scores)) == (np.dtype(np.float32), len(texts))
    assert np.all((scores >= 0) & (scores <= 1))
    assert np.array_equal(scores, np.tile(scores[:8], 50))
    assert scores[5] == scores[7] == 0
    assert classifier.score(pa.chunked_array([texts[:3], texts[3:8]])).tolist() == scores[:8].tolist()
    assert len(classifier.score(pa.array([], pa.string()))) == 0


@pytest.mark.parametrize("text", GOOD.values())
def test_the_shipped_model_tells_good_text_from_ruined(classifier: Classifier, training: ModuleType, text: str) -> None:
    rng = training.random.Random(1)
    ruined = [training.menu(text, rng), training.misread_latin(text, rng), training.misread_gbk(text, rng)]
    good, *bad = classifier.score(pa.array([text, *ruined])).tolist()
    assert good > 0.05
    assert max(bad) < good


def test_the_score_is_kept_and_judged_by_the_shipped_rule(classifier: Classifier, shipped: QualityRules) -> None:
    assert [(rule.id, rule.effect(())) for rule in shipped.classifier] == [("quality.any.score", "tag")]
    odd = "，".join("的在了之为以于中者所" * 4)
    batch = filter_documents(documents(("judgment", GOOD["judgment"]), ("exam", odd)), shipped, classifier)
    scores = batch.kept["quality"].to_pylist()
    assert scores == classifier.score(batch.kept["text"]).tolist()
    tagged = ["quality.any.score" in tags for tags in batch.kept["tags"].to_pylist()]
    assert tagged == [score < shipped.classifier[0].min_score for score in scores]


def test_a_low_score_removes_only_on_evidence(classifier: Classifier) -> None:
    rule = {"id": "quality.test.score", "why": "Ruined.", "min_score": 0.5, "action": "drop", "false_drop_rate": 0.01}
    table = documents(("qa", MENU), ("qa", GOOD["judgment"]))
    batch = filter_documents(table, QualityRules.model_validate({"classifier": [rule]}), classifier)
    assert batch.kept["text"].to_pylist() == [GOOD["judgment"]]
    row = batch.ledger.to_pylist()[0]
    assert (row["rule"], row["value"]) == ("quality.test.score", float(classifier.score(pa.array([MENU]))[0]))
    unmeasured = QualityRules.model_validate({"classifier": [{**rule, "false_drop_rate": None}]})
    assert filter_documents(table, unmeasured, classifier).kept["tags"].to_pylist() == [["quality.test.score"], []]


def test_the_card_describes_the_shipped_model(classifier: Classifier) -> None:
    data = (MODELS / "quality.bin").read_bytes()
    assert len(data) <= 700_000
    assert classifier.digest == hashlib.sha256(data).hexdigest()
    card = (MODELS / "quality.md").read_text(encoding="utf-8")
    assert classifier.digest in card
    assert f"{len(data):,} bytes" in card


def test_training_gives_the_same_bytes(training: ModuleType, tmp_path: Path) -> None:
    read = training.read_samples(samples(tmp_path))
    assert [(sample.path, sample.record) for sample in read] == [
        ("qa/a.csv", "1"),
        ("qa/b.json", "2"),
        *(("qa/c.jsonl", str(n)) for n in range(5)),
        ("qa/d.md", None),
    ]
    assert read[0].text == "能退吗？\n可以。"
    first, _ = training.examples(read)
    again, _ = training.examples(list(reversed(read)))
    assert first == again
    model = training.train(first)
    assert model == training.train(again)


def test_copies_of_a_document_stand_on_one_side(training: ModuleType, tmp_path: Path) -> None:
    read = training.read_samples(samples(tmp_path))
    sides = training.examples([*read, *read])
    kept, held = ({example.text for example in side if example.kind == "good"} for side in sides)
    assert not kept & held


@pytest.mark.parametrize("content", [None, b"no model"])
def test_an_unreadable_model_is_an_input_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.bin"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="not a fastText model"):
        load(path)
