"""Rule files: shipped ones prove themselves, overlays replace by id, and every fault names file, rule and remedy."""

import shutil
from pathlib import Path

import pytest

from lexmill import rules
from lexmill.errors import RuleError


def overlay(folder: Path, family: str, text: str) -> Path:
    (folder / family).mkdir(parents=True, exist_ok=True)
    (folder / family / "mine.toml").write_text(text, encoding="utf-8")
    return folder


def test_the_shipped_rules_prove_themselves() -> None:
    counts = rules.count(rules.load())
    assert set(counts) == set(rules.FAMILIES)
    assert all(number >= 2 for number in counts.values())


BOUND = """
[[bound]]
id = "{id}"
why = "a test"
doc_types = ["qa"]
metric = "n_visible"
min = {least}
action = "{action}"
{rate}
keep = ["问：租房合同到期后押金怎么退？\\n答：应当按照约定退还。"]
drop = ["问"]
"""


def test_an_overlay_replaces_a_rule_by_its_id_and_changes_one_digest(tmp_path: Path) -> None:
    shipped = rules.load()
    text = BOUND.format(id="quality.qa.short", least=3, action="tag", rate="")
    found = rules.load([overlay(tmp_path, "quality", text)])
    mine = [rule for rule in found.quality.bound if rule.id == "quality.qa.short"]
    assert [rule.why for rule in mine] == ["a test"]
    assert len(found.quality.bound) == len(shipped.quality.bound)
    assert {family for family in rules.FAMILIES if found.digests[family] != shipped.digests[family]} == {"quality"}


def test_comments_and_file_names_do_not_change_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = rules.load().digests
    copied = tmp_path / "rules"
    shutil.copytree(rules.shipped(), copied)
    for path in copied.rglob("*.toml"):
        path.write_text("# a comment\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(rules, "shipped", lambda: copied)
    assert rules.load().digests == before


@pytest.mark.parametrize(
    ("family", "text", "said"),
    [
        ("quality", BOUND.format(id="quality.x", least=100, action="drop", rate=""), "quality.x"),
        ("quality", BOUND.format(id="quality.x", least=3, action="explode", rate=""), "quality.x: action"),
        ("quality", BOUND.format(id="quality.x", least=3, action="tag", rate="extra = 1"), "quality.x: extra"),
        ("quality", "[[bound]]\nwhy = 'no id'", "without `id`"),
        ("quality", "bound = 3", "write every rule as a table"),
        ("quality", "[[bound]\n", "is not TOML"),
        ("qualitty", "", "no such rule family"),
    ],
)
def test_every_fault_names_its_file(tmp_path: Path, family: str, text: str, said: str) -> None:
    folder = overlay(tmp_path, family, text)
    with pytest.raises(RuleError) as caught:
        rules.load([folder])
    assert said in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_missing_folder_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such folder"):
        rules.load([tmp_path / "none"])


def test_a_rule_file_beside_the_family_folders_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(BOUND.format(id="quality.x", least=3, action="tag", rate=""), encoding="utf-8")
    with pytest.raises(RuleError, match="stand in a folder of their family"):
        rules.load([tmp_path])


def test_an_empty_folder_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="holds no rule file"):
        rules.load([tmp_path])


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    folder = overlay(tmp_path, "quality", BOUND.format(id="quality.x", least=100, action="drop", rate=""))
    overlay(folder, "dedup", "[[guard]]\nid = 'dedup.y'\nwhy = 'x'\n")
    with pytest.raises(RuleError) as caught:
        rules.load([folder])
    assert "quality.x" in str(caught.value)
    assert "dedup.y" in str(caught.value)


def test_a_worker_reads_the_same_rules_without_their_proofs() -> None:
    proven, read = rules.load(), rules.load_proven()
    assert read.digests == proven.digests
    assert read.deid == proven.deid == rules.load_deid()


def test_a_worker_refuses_rules_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="mine\\.toml"):
        rules.load_proven([overlay(tmp_path, "quality", "[[metric]]\nid = 1")])
