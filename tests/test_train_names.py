"""Training of the names model: labels stay where they belong, and the same corpus gives the same bytes."""

import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from lexmill.core.deid.tagger import Tagger

SCRIPTS = Path(__file__).parents[1] / "scripts"
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="module")
def training() -> ModuleType:
    sys.path.insert(0, str(SCRIPTS))
    try:
        import train_names

        return train_names
    finally:
        sys.path.remove(str(SCRIPTS))


class Drawn:
    """Draws the names it was given, in order."""

    def __init__(self, *names: str) -> None:
        self._names = list(names)

    def draw(self, _: random.Random) -> str:
        return self._names.pop(0)

    draw_firm = draw_for_exam = draw


def test_swapping_keeps_spans_on_the_same_people(training: ModuleType) -> None:
    text = "王某诉李四，王某胜。在某某网吧。"
    labelled = training.Labelled(text, ((0, 2, "PERSON"), (3, 5, "PERSON"), (6, 8, "PERSON"), (11, 15, "ORGANISATION")))
    swapped = training.swapped(labelled, Drawn("欧阳修远", "丁一", "青禾"), random.Random(1))
    assert swapped.text == "欧阳修远诉丁一，欧阳修远胜。在青禾网吧。"
    assert [swapped.text[start:end] for start, end, _ in swapped.spans] == ["欧阳修远", "丁一", "欧阳修远", "青禾网吧"]


def test_a_masked_copy_holds_nothing_to_find(training: ModuleType) -> None:
    labelled = training.Labelled("卞长庚住泽沛路9号。", ((0, 3, "PERSON"), (4, 9, "ADDRESS")))
    masked = training.masked(labelled, random.Random(1))
    assert masked.spans == ()
    assert "长庚" not in masked.text
    assert masked.text.endswith("住×××。")


def test_an_exam_of_placeholders_becomes_a_story_of_people(training: ModuleType) -> None:
    labeller = training.Labeller(training.rule_files.load().deid, None)
    told = labeller.story("甲将房屋卖给乙，甲公司担保。被害人丙、丁的证言，园丁在场。")
    # 甲公司 and 园丁 show that 甲 and 丁 are no people there.
    assert [told.text[start:end] for start, end, _ in told.spans] == ["乙", "丙"]
    swapped = training.swapped(told, Drawn("卞长庚", "佟雨薇"), random.Random(1), of_exam=True)
    assert swapped.text == "甲将房屋卖给卞长庚，甲公司担保。被害人佟雨薇、丁的证言，园丁在场。"
    assert labeller.story("甲、乙两国为邻国，甲与乙发生争议。") is None
    assert labeller.story("下列关于合同的说法，正确的是哪些？") is None


def test_answers_of_own_sentences_are_no_addresses(training: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.txt"
    own.write_text("A. P住A\nT已注册商标\n", encoding="utf-8")
    monkeypatch.setattr(training, "OWN", own)
    monkeypatch.setattr(training, "COPIES", {"own": 1})

    class Names(Drawn):
        draw_brand = Drawn.draw

        def draw(self, _: random.Random) -> str:
            return "卞长庚"

    (unit,) = training.own_sentences(Names("青禾"), ["泽沛路9号"], [], random.Random(1))
    assert sorted(unit.text.splitlines()) == ["A. 卞长庚住泽沛路9号", "青禾已注册商标"]
    assert {(unit.text[start:end], label) for start, end, label in unit.spans} == {
        ("卞长庚", "PERSON"), ("泽沛路9号", "ADDRESS"), ("青禾", "ORGANISATION"),
    }  # fmt: skip


def test_units_join_to_the_text_and_tear_no_mention(training: ModuleType) -> None:
    text = "被告卞长庚未到庭。" * 300
    spans = tuple((at + 2, at + 5, "PERSON") for at in range(0, len(text), 9))
    units = list(training.units(training.Labelled(text, spans)))
    assert "".join(unit.text for unit in units) == text
    assert {unit.text[start:end] for unit in units for start, end, _ in unit.spans} == {"卞长庚"}
    assert sum(len(unit.spans) for unit in units) == 300


def test_inputs_other_than_listed_are_refused(training: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is not there"):
        training.read_inputs(tmp_path)
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "spc_swapped_silver.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match="is not the file"):
        training.read_inputs(tmp_path)


def test_training_learns_and_repeats(training: ModuleType) -> None:
    corpus = [
        training.Labelled(f"原告{one}{two}诉称，被告{two}{one}欠款。", ((2, 4, "PERSON"), (9, 11, "PERSON")))
        for one in "王李张刘陈杨"
        for two in "伟芳明强磊军"
    ]
    data = training.train(corpus, "王李张刘陈杨", 3)
    assert data == training.train(corpus, "王李张刘陈杨", 3)
    found = Tagger(data).decode("原告赵敏诉称，被告周密欠款。", 0.0)
    assert [(item.start, item.end, item.label) for item in found] == [(2, 4, "PERSON"), (9, 11, "PERSON")]


LINES = 24
RUN = """
import hashlib, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import train_names as training
rows = training.tomllib.loads(training.INPUTS.read_text(encoding="utf-8"))["input"]
training.STATUTE_CHARS = training.FREE_CHARS = 60_000
training.COPIES = {"spc": 1, "judge": 1, "masked": 1, "own": 3, "stories": 1}
data, sizes = training.train_rounds(Path(sys.argv[2]), rows, 2)
assert all(sizes[use] for use in ("spc", "judge", "masked", "own", "stories", "free", "surrogates"))
print(hashlib.sha256(data).hexdigest())
"""


def shorten(source: Path, target: Path) -> None:
    """The beginning of an input, in its own format."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        for file in sorted(source.rglob("*.md"))[:LINES]:
            (target / file.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target / file.relative_to(source))
    elif source.suffix == ".zip":
        with zipfile.ZipFile(source) as whole, zipfile.ZipFile(target, "w") as part:
            for member in whole.namelist():
                part.writestr(member, b"\n".join(whole.read(member).splitlines()[:LINES]))
    elif source.name.startswith("lawyerllama"):
        target.write_text(json.dumps(json.loads(source.read_text(encoding="utf-8"))[:LINES]), encoding="utf-8")
    else:
        most = 2_000 if source.suffix == ".txt" and "names" in source.name else LINES
        target.write_bytes(b"\n".join(source.read_bytes().splitlines()[:most]))


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "names").is_dir(), reason="needs the corpus of real texts beside the checkout")
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for row in tomllib.loads((SCRIPTS / "train_names.toml").read_text(encoding="utf-8"))["input"]:
        if not row["path"].startswith("bench/"):
            shorten(SHARED / row["path"], tmp_path / row["path"])
    (tmp_path / "bench").symlink_to(SHARED / "bench")
    told = [
        subprocess.run(
            [sys.executable, "-c", RUN, str(SCRIPTS), str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()[-1]
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
