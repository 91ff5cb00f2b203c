import random
from pathlib import Path
from typing import Any

import fasttext
import pyarrow as pa
import pytest

from lexmill.config import Screen as Settings
from lexmill.core.quality.judge import filter_documents
from lexmill.core.quality.rules import QualityRules
from lexmill.core.quality.screen import load
from lexmill.errors import InputError
from tests.core.quality.conftest import documents

BAD, GOOD = "出售某某药，量大从优，加急发货。", "被告人贩卖某某药，其行为已构成犯罪。"


def words(folder: Path, text: str = "# 名单\n某某药\n量大从优\n", **more: Any) -> Any:
    (folder / "words.txt").write_text(text, encoding="utf-8")
    return load(Settings(name="list", words="words.txt", **more), folder / "words.txt")


def test_a_list_tags_and_counts_by_source_and_removes_nothing(tmp_path: Path) -> None:
    table = documents(("qa", BAD), ("qa", GOOD), ("judgment", BAD))
    screen = words(tmp_path, min_count=2, doc_types=("qa", "exam"))
    batch = filter_documents(table, QualityRules(), screens=(screen,))
    assert batch.kept["tags"].to_pylist() == [["screen.list"], [], []]
    assert batch.counts == {"screen.any:demo/qa": 1, "screen.list:demo/qa": 1}
    assert batch.ledger.num_rows == 0


def test_two_screens_count_a_document_once_in_all(tmp_path: Path) -> None:
    screen = words(tmp_path)
    other = load(Settings(name="other", words="words.txt"), tmp_path / "words.txt")
    batch = filter_documents(documents(("qa", BAD), ("qa", "依法。")), QualityRules(), screens=(screen, other))
    assert batch.counts == {"screen.any:demo/qa": 1, "screen.list:demo/qa": 1, "screen.other:demo/qa": 1}
    assert screen.digest != other.digest


def test_a_model_tags_by_its_label(tmp_path: Path) -> None:
    rng = random.Random(1)
    lines = [f"__label__{'illegal' if n % 2 else 'legal'} {' '.join(BAD if n % 2 else GOOD)}\n" for n in range(400)]
    rng.shuffle(lines)
    (tmp_path / "train.txt").write_text("".join(lines), encoding="utf-8")
    model = fasttext.train_supervised(input=str(tmp_path / "train.txt"), dim=4, minCount=1, thread=1, seed=1, verbose=0)
    model.save_model(str(tmp_path / "model.bin"))
    settings = Settings(name="model", model="model.bin", label="illegal", threshold=0.9)
    screen = load(settings, tmp_path / "model.bin")
    assert screen.hits(pa.array([BAD, GOOD, BAD]), ["qa", "qa", "judgment"]).tolist() == [True, False, True]
    with pytest.raises(InputError, match="no label gone"):
        load(settings.model_copy(update={"label": "gone"}), tmp_path / "model.bin")


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_list_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="holds no term"):
        words(tmp_path, text)


@pytest.mark.parametrize("more", [{}, {"words": "a", "model": "b", "label": "c"}, {"model": "b"}, {"words": "a", "label": "c"}])
def test_a_screen_is_a_list_or_a_model(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give `words`, or `model` and `label`"):
        Settings(name="x", **more)
