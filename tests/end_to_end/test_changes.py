"""What changed runs again, and nothing else."""

import shutil
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Reference, Site, digests, make_site, stamps

pytestmark = pytest.mark.slow

RULE = f"""
[[bound]]
id = "quality.only_long"
why = "a test: only long texts"
metric = "n_chars"
min = 900
doc_types = ["qa", "judgment"]
action = "drop"
false_drop_rate = 0.0
keep = ["{"本院认为，" * 300}"]
drop = ["本院认为，"]
"""


def changed_stages(before: dict[str, str], after: dict[str, str]) -> set[str]:
    different = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {Path(path).parts[2] for path in different if path.startswith("runs/") and Path(path).parts[2] != "work"}


@pytest.fixture
def copied(tmp_path: Path, reference: Reference) -> Site:
    """The finished reference run in a workspace that may be changed."""
    site = make_site(tmp_path)
    shutil.copytree(reference.site.workspace, site.workspace)
    return site


@pytest.mark.smoke
def test_a_changed_rule_runs_its_stage_and_what_follows(tmp_path: Path, copied: Site, reference: Reference) -> None:
    rules = tmp_path / "rules" / "quality"
    rules.mkdir(parents=True)
    (rules / "mine.toml").write_text(RULE)
    before = stamps(copied)
    result = copied.json(settings=('rules=["rules"]',))
    assert result["rules"]["filter"]["drop:quality.only_long"] > 10
    assert changed_stages(reference.digests, digests(copied)) == {"filter", "tokenize"}
    after = stamps(copied)
    kept = {path for path in before if path.split("/")[2] in ("ingest", "dedup", "decontaminate", "deidentify")}
    assert {path: after[path] for path in kept} == {path: before[path] for path in kept}
    # and back again: the same bytes as before
    copied.run()
    assert {path: sha for path, sha in digests(copied).items() if path.startswith("runs/")} == {
        path: sha for path, sha in reference.digests.items() if path.startswith("runs/")
    }


def test_cluster_settings_change_nothing(copied: Site, reference: Reference) -> None:
    assert copied.json(settings=("cluster.workers=1",))["nothing_to_do"] is True
    assert digests(copied) == reference.digests


def test_a_new_window_length_runs_packing_only(copied: Site, reference: Reference) -> None:
    copied.run(settings=("tokenize.seq_lens=[256]",))
    assert changed_stages(reference.digests, digests(copied)) == {"tokenize"}


@pytest.mark.parametrize(
    "victim", ["runs/main/ingest/part-00001.parquet", "runs/main/filter/part-00000.parquet", "runs/main/dedup/manifest.json"]
)
@pytest.mark.parametrize("damage", ["cut", "empty", "flip"])
def test_damage_is_mended(copied: Site, reference: Reference, victim: str, damage: str) -> None:
    path = copied.workspace / victim
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "empty":
        data = bytearray()
    else:
        data[len(data) // 2] ^= 255
    path.unlink()  # published files are read-only
    path.write_bytes(bytes(data))
    # A flipped byte leaves the size as it was: it is seen when a later stage reads the part, which a changed setting makes it do.
    read_again = {"ingest": ("dedup.threshold=0.81",), "filter": ("tokenize.seed=1",)}
    done = copied.run(settings=read_again.get(path.parent.name, ()) if damage == "flip" else ())
    assert "damaged" in done.stderr
    copied.run()
    assert {path: sha for path, sha in digests(copied).items() if path.startswith("runs/")} == {
        path: sha for path, sha in reference.digests.items() if path.startswith("runs/")
    }
