"""Planning keeps a file in its part, splitting does not change documents, and what cannot be read leaves a row that says why."""

import gzip
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexmill import rules
from lexmill.config import Config, load
from lexmill.core.ingest.limits import Limits
from lexmill.errors import ConfigError
from lexmill.jobs.ingest import doc_id, ingest_part, plan
from lexmill.jobs.pieces import Piece, Weights
from lexmill.schema import DOCUMENT_RAW, LEDGER, LINEAGE
from lexmill.store.stages import Receipt, StageFolder, Target, imbalance
from lexmill.store.workspace import Workspace
from tests.made import source


def question(number: int) -> str:
    return f"问：第{number}个问题，租房合同到期后押金怎么退？\n答：按照约定退还，扣除欠付的费用{number}元。"


def make(folder: Path, part_mb: float, *names: str) -> tuple[Config, Workspace]:
    path = folder / "run.toml"
    text = f'version = 1\nworkspace = "w"\n[ingest]\npart_mb = {part_mb}\nmax_record_mb = 0.001\n'
    path.write_text(text + "".join(source(name, "qa", f"{name}/**/*") for name in names or ("a",)))
    return load(path), Workspace(folder / "w", "main")


def put(path: Path, data: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def jsonl(*numbers: int) -> str:
    return "".join(json.dumps({"text": question(n)}, ensure_ascii=False) + "\n" for n in numbers)


def by_file(parts: Mapping[int, Sequence[Piece]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, pieces in parts.items():
        for piece in pieces:
            found.setdefault(piece.relative, []).append(number)
    return found


def read_all(
    config: Config, workspace: Workspace, folder: Path
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Receipt]]:
    """Documents, ledger rows and receipts of all parts, made without a cluster."""
    loaded = rules.load()
    limits = Limits.of(config.ingest)
    stage = StageFolder(folder)
    documents, ledger, receipts = [], [], []
    sources = {source.name: source for source in config.source}
    for number, pieces in plan(config, workspace).items():
        source = sources[pieces[0].source] if pieces else None
        receipt = ingest_part(
            Target(stage, number, "k"), pieces, source, limits, (), "fp", workspace.lineage, (), loaded.digests, ""
        )
        assert imbalance(receipt.counts) == []
        receipts.append(receipt)
        documents += pq.read_table(stage.part(number), schema=DOCUMENT_RAW).to_pylist()
        ledger += pq.read_table(stage.ledger(number), schema=LEDGER).to_pylist()
    return documents, ledger, receipts


def test_doc_ids_are_the_same_on_every_machine() -> None:
    assert doc_id("s", "a/b.jsonl", "", "7", "") == "bd7a8e53891fb7f26b43669872a2e602"
    assert doc_id("s", "a", "b", "", "") != doc_id("s", "ab", "", "", "")


def test_a_place_is_no_id(tmp_path: Path) -> None:
    put(
        tmp_path / "a/x.json", json.dumps([{"id": 1, "text": question(1)}, {"text": question(2)}, {"id": 1, "text": question(3)}])
    )
    config, workspace = make(tmp_path, 1.0)
    documents, _, _ = read_all(config, workspace, tmp_path / "stage")
    assert [document["record_id"] for document in documents] == ["1", "1", "1"]
    own, row, again = (document["doc_id"] for document in documents)
    assert own == doc_id("a", "x.json", "", "1", "")
    assert row == doc_id("a", "x.json", "", "", "1") != own
    # What uses an id for the second time is for dedup to tell, which sees all parts: ``dedup.id_used_twice``, or ``dedup.exact``.
    assert again == own


def test_small_files_are_packed_and_big_ones_split(tmp_path: Path) -> None:
    config, workspace = make(tmp_path, 0.01)
    for number in range(40):
        put(tmp_path / f"a/{number:02d}.txt", question(number))
    put(tmp_path / "a/big.jsonl", jsonl(*range(300)))
    put(tmp_path / "a/packed.jsonl.gz", gzip.compress(jsonl(*range(300)).encode()))
    parts = by_file(plan(config, workspace))
    assert 1 <= len({part for name, found in parts.items() if name.endswith(".txt") for part in found}) <= 3
    assert len(parts["big.jsonl"]) >= 4
    assert len(parts["packed.jsonl.gz"]) >= len(parts["big.jsonl"]) - 1


@pytest.mark.parametrize("part_mb", [0.002, 0.01, 1.0])
def test_splitting_does_not_change_documents(tmp_path: Path, part_mb: float) -> None:
    put(tmp_path / "a/big.jsonl", jsonl(*range(200)))
    put(tmp_path / "a/packed.jsonl.gz", gzip.compress(jsonl(*range(200, 300)).encode()))
    config, workspace = make(tmp_path, part_mb)
    documents, ledger, _ = read_all(config, workspace, tmp_path / "stage")
    assert sorted(document["text"] for document in documents) == sorted(question(number) for number in range(300))
    assert ledger == []
    line = jsonl(0).encode()
    assert documents[0]["doc_id"] == doc_id("a", "big.jsonl", "", "", "0")
    assert documents[1]["record_id"] == str(len(line))
    assert len({document["doc_id"] for document in documents}) == 300


def test_a_files_part_is_fixed_when_it_is_first_seen(tmp_path: Path) -> None:
    config, workspace = make(tmp_path, 0.005)
    for name in ("b", "d", "f"):
        put(tmp_path / f"a/{name}.txt", question(1))
    put(tmp_path / "a/e.jsonl", jsonl(*range(100)))
    before = by_file(plan(config, workspace))
    put(tmp_path / "a/a.txt", question(2))
    put(tmp_path / "a/c.txt", question(3))
    put(tmp_path / "a/d.txt", question(4) + "改")
    after = by_file(plan(config, workspace))
    assert {name: after[name] for name in before} == before
    assert min(after["a.txt"] + after["c.txt"]) > max(part for found in before.values() for part in found)
    (tmp_path / "a/b.txt").unlink()
    assert {name: found for name, found in after.items() if name != "b.txt"} == by_file(plan(config, workspace))


def test_compressed_lines_are_unpacked_once(tmp_path: Path) -> None:
    put(tmp_path / "a/packed.jsonl.gz", gzip.compress(jsonl(*range(300)).encode()))
    put(tmp_path / "a/small.jsonl.gz", gzip.compress(jsonl(1).encode()))
    config, workspace = make(tmp_path, 0.01)
    parts = plan(config, workspace)
    stretches = sorted(workspace.lineage.glob("unpacked/*/*"))
    assert len(stretches) == len(by_file(parts)["packed.jsonl.gz"]) >= 4
    expected, _, _ = read_all(config, workspace, tmp_path / "stage")
    stretches[1].unlink()
    put(workspace.lineage / "unpacked/000007/0.zst", b"of a file that is gone")
    assert plan(config, workspace) == parts, "a stretch that was lost is made again, and its parts stay"
    assert sorted(workspace.lineage.glob("unpacked/*/*")) == stretches
    assert read_all(config, workspace, tmp_path / "again")[0] == expected
    assert {document["uri"] for document in expected} == {
        f"{tmp_path}/a/{document['uri'].rpartition('/')[2]}" for document in expected
    }, "documents name the raw file, not what was unpacked of it"


def test_the_weights_of_a_files_pieces_are_its_size(tmp_path: Path) -> None:
    put(tmp_path / "a/big.jsonl", jsonl(*range(300)))
    pq.write_table(pa.table({"text": [question(n) * 20 for n in range(300)]}), tmp_path / "a/rows.parquet", row_group_size=50)
    config, workspace = make(tmp_path, 0.01)
    weights = Weights()
    sizes: dict[int, int] = {}
    weighed: dict[int, int] = {}
    parts = plan(config, workspace)
    for number, pieces in parts.items():
        weights.add(number, pieces)
    for number, (piece,) in parts.items():
        sizes[piece.file_number] = piece.size
        weighed[piece.file_number] = weighed.get(piece.file_number, 0) + weights.of(number)
    assert len(parts) > len(sizes) + 4
    assert all(0 <= sizes[number] - weighed[number] < len(parts) for number in sizes)


def test_the_order_in_which_the_file_system_lists_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        put(tmp_path / f"a/{number % 3}/{number}.txt", question(number))
    config, workspace = make(tmp_path, 0.001)
    expected = plan(config, workspace)
    real = os.scandir

    @contextmanager
    def shuffled(path: str) -> Iterator[list[os.DirEntry[str]]]:
        with real(path) as entries:
            found = list(entries)
        random.Random(5).shuffle(found)
        yield found

    monkeypatch.setattr(os, "scandir", shuffled)
    assert plan(config, Workspace(tmp_path / "other", "main")) == expected


def test_a_damaged_plan_is_made_anew(tmp_path: Path) -> None:
    put(tmp_path / "a/x.txt", question(1))
    config, workspace = make(tmp_path, 1)
    expected = plan(config, workspace)
    (path,) = workspace.lineage.glob("plan-*.parquet")
    path.write_bytes(path.read_bytes()[:50])
    assert plan(config, workspace) == expected


def test_what_cannot_be_read_leaves_a_row(tmp_path: Path) -> None:
    put(tmp_path / "a/binary.txt", bytes(range(256)) * 4)
    put(tmp_path / "a/empty.txt", b"")
    put(tmp_path / "a/blank.txt", " \n\n\t ")
    put(tmp_path / "a/good.txt", question(1))
    put(tmp_path / "a/picture.png", b"\x89PNG\r\n")
    put(tmp_path / "a/cut.jsonl.gz", gzip.compress(jsonl(*range(50)).encode())[:-40])
    put(tmp_path / "a/lines.jsonl", jsonl(1) + "{broken\n" + json.dumps({"text": "长" * 5000}) + "\n" + jsonl(2))
    config, workspace = make(tmp_path, 1)
    documents, ledger, receipts = read_all(config, workspace, tmp_path / "stage")
    rules_of: dict[str, list[str]] = {}
    lineage = pa.concat_tables(
        [pq.read_table(path, schema=LINEAGE) for path in sorted(workspace.lineage.glob("part-*"))]
    ).to_pylist()
    names = {row["doc_id"]: row["uri"].rpartition("/")[2].partition("#")[0] for row in lineage}
    for row in ledger:
        rules_of.setdefault(names[row["doc_id"]], []).append(f"{row['action']}:{row['rule']}")
    assert rules_of["binary.txt"] == ["quarantine:ingest.binary"]
    assert rules_of["picture.png"] == ["quarantine:ingest.needs_ocr"]
    assert rules_of["cut.jsonl.gz"][-1] == "quarantine:ingest.broken_compression"
    assert sorted(rules_of["lines.jsonl"]) == ["quarantine:ingest.bad_json", "quarantine:ingest.max_record_mb"]
    assert all(found.startswith(("drop:", "quarantine:", "edit:")) for found in rules_of["empty.txt"] + rules_of["blank.txt"])
    assert {"good.txt", "lines.jsonl"} <= {document["uri"].rpartition("/")[2].partition("#")[0] for document in documents}
    came = sum(receipt.counts["in"]["a/qa"]["docs"] for receipt in receipts)
    assert came == len(lineage) == len(documents) + sum(row["action"] != "edit" for row in ledger)


def test_no_ledger_row_or_receipt_holds_a_path_or_a_text(tmp_path: Path) -> None:
    put(tmp_path / "a/张三的案子.txt", question(1))
    put(tmp_path / "a/张三.bin", b"\0\1\2")
    config, workspace = make(tmp_path, 1)
    read_all(config, workspace, tmp_path / "stage")
    for path in (tmp_path / "stage").rglob("*"):
        if path.suffix == ".json":
            assert "张三" not in path.read_text()
    for path in (tmp_path / "stage" / "ledger").glob("*"):
        assert "张三" not in json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)


def test_sources_are_never_mixed_in_a_part(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / f"{name}/x.txt", question(1))
    config, workspace = make(tmp_path, 1, "a", "b")
    assert [[piece.source for piece in pieces] for pieces in plan(config, workspace).values()] == [["a"], ["b"]]


MIXED = {
    "judgment": "甲县人民法院\n民事判决书\n（2079）京0199民初1号\n原告：张某，女。\n本院认为，应当还款。判决如下：",
    "contract": "房屋租赁合同\n出租方（甲方）：____\n承租方（乙方）：____\n第一条 租赁物\n第二条 租金\n甲方（盖章）：",
    "exam": "甲公司与乙公司签订合同，下列说法正确的是？\nA. 合同有效\nB. 合同无效\n答案：A",
    "qa": "房东不退押金怎么办？\n可以先与房东协商，协商不成的，可以向人民法院起诉。",
}


def test_auto_tells_the_type_of_each_document(tmp_path: Path) -> None:
    for name, text in MIXED.items():
        put(tmp_path / f"a/{name}.txt", text.replace("本院认为", "本院\u200b认为"))
    put(tmp_path / "a/none.txt", bytes(range(256)) * 20)
    put(tmp_path / "a/glyphs.txt", question(1) + "\ue004\ue005")
    _, workspace = make(tmp_path, 1)
    run_file = tmp_path / "run.toml"
    run_file.write_text(run_file.read_text().replace('doc_type = "qa"', 'doc_type = "auto"'))
    documents, ledger, (receipt,) = read_all(load(run_file), workspace, tmp_path / "stage")
    told = {document["uri"].rpartition("/")[2].removesuffix(".txt"): document["doc_type"] for document in documents}
    assert told == {name: name for name in MIXED} | {"glyphs": "qa"}
    assert [(row["doc_type"], row["action"]) for row in ledger] == [("judgment", "edit"), ("auto", "quarantine")]
    assert {group: counted["docs"] for group, counted in receipt.counts["in"].items()} == {
        "a/judgment": 1,
        "a/contract": 1,
        "a/exam": 1,
        "a/qa": 2,
        "a/auto": 1,
    }
    assert receipt.tallies["characters.private_use"] == 2


def test_empty_files_and_odd_names_leave_a_row(tmp_path: Path) -> None:
    put(tmp_path / "a/good.txt", question(1))
    put(tmp_path / "a/empty.jsonl", b"")
    put(tmp_path / "a/blank.jsonl", b"\n\n")
    put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/a/\xff.txt")), question(2))
    (tmp_path / "a/nowhere.txt").symlink_to(tmp_path / "gone")
    config, workspace = make(tmp_path, 1)
    documents, ledger, _ = read_all(config, workspace, tmp_path / "stage")
    assert len(documents) == 1
    assert sorted(row["rule"] for row in ledger) == ["ingest.bad_file_name", "ingest.empty", "ingest.empty", "ingest.not_a_file"]


def test_the_workspace_is_not_read_as_input(tmp_path: Path) -> None:
    put(tmp_path / "a/x.txt", question(1))
    config, _ = make(tmp_path, 1)
    inside = Workspace(tmp_path / "a" / "w", "main")
    put(inside.root / "runs/x.txt", question(2))
    with pytest.raises(ConfigError, match="workspace"):
        plan(config, inside)


def test_a_removed_file_leaves_no_part_behind_at_the_end(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / f"a/{name}.txt", question(1) * 20)
    config, workspace = make(tmp_path, 0.001)
    assert len(plan(config, workspace)) == 2
    (tmp_path / "a/b.txt").unlink()
    assert plan(config, workspace) == plan(config, workspace)
    assert len(plan(config, workspace)) == 1
