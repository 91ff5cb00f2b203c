import json
from pathlib import Path

import pytest

from scripts.join_labels import joined

LABELS = sorted((Path(__file__).parent / "labels").glob("*.jsonl"))
SHARED = Path(__file__).parents[4] / "shared"


def test_there_are_three_kinds() -> None:
    assert [path.stem for path in LABELS] == ["contract", "exam", "qa"]


@pytest.mark.parametrize("path", LABELS, ids=lambda path: path.stem)
def test_labels_hold_offsets_alone(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(record["chars"] for record in records) >= 100_000
    assert len({record["sha256"] for record in records}) == len(records)
    for record in records:
        assert set(record) == {"file", "row", "sha256", "chars", "half", "spans"}
        assert record["half"] in ("dev", "test", "fresh")
        last = 0
        for start, end, kind in record["spans"]:
            assert last <= start < end <= record["chars"]
            assert kind.isascii()
            assert kind.isupper()
            last = end


@pytest.mark.skipif(not (SHARED / "bench").is_dir(), reason="needs the corpus of real texts beside the checkout")
@pytest.mark.parametrize("path", LABELS, ids=lambda path: path.stem)
def test_labels_fit_their_texts(path: Path) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for record, label in zip(joined(SHARED, path), records, strict=True):
        assert len(record["text"]) == label["chars"]
        # Names begin and end with what is written, not with a blank.
        assert all(record["text"][start:end] == record["text"][start:end].strip() for start, end, _ in record["spans"])


@pytest.mark.skipif(not (SHARED / "bench").is_dir(), reason="needs the corpus of real texts beside the checkout")
def test_another_text_is_refused(tmp_path: Path) -> None:
    record = json.loads(LABELS[0].read_text(encoding="utf-8").splitlines()[0])
    wrong = tmp_path / "contract.jsonl"
    wrong.write_text(json.dumps(record | {"row": record["row"] + 1}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not the text that was labelled"):
        list(joined(SHARED, wrong))
