"""Plans are held as columns: whatever the blocks are, the pieces are the same, and they travel as a list."""

import pickle
import random
from pathlib import Path

import pytest

from lexmill.config import Ingest, Source
from lexmill.core.ingest.limits import Limits
from lexmill.jobs import pieces
from lexmill.jobs.pieces import Parts, Piece, assign
from lexmill.store.raw import RawFile

LIMITS = Limits.of(Ingest())


def source(name: str) -> Source:
    return Source.model_construct(name=name, format=None, query=None)


def listing(seed: int, changed: float = 0.0) -> list[tuple[Source, RawFile]]:
    """Files of two sources; some lie where their path does not say, some cannot be read."""
    chance, other = random.Random(1), random.Random(seed)
    found = []
    for name in ("a", "b"):
        for number in range(150):
            relative = f"{number % 7}/法{number:03d}.{chance.choice(['txt', 'md', 'html', 'zip'])}"
            uri = f"/elsewhere/{number}" if number % 31 == 0 else f"/raw/{name}/{relative}"
            rule = "ingest.not_a_file" if number % 29 == 0 else ""
            if other.random() >= changed:
                stamp = "2" if other.random() < changed else "1"
                found.append((source(name), RawFile(relative, uri, chance.randrange(90), stamp, rule)))
    return found


def everything(parts: Parts) -> dict[int, list[Piece]]:
    return {number: list(found) for number, found in parts.items()}


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_blocks_do_not_change_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    plans = []
    for name in ("large", "small"):
        if name == "small":
            monkeypatch.setattr(pieces, "_ROWS", rows)
        plans.append([everything(assign(listing(night, night / 10), 800, LIMITS, tmp_path / name)) for night in range(4)])
        files = sorted((tmp_path / name).glob("plan-*"))
        assert len(files) == 1
    assert plans[0] == plans[1]
    first, after = plans[0][:2]
    assert {(piece.source, piece.relative, piece.uri, piece.rule) for found in first.values() for piece in found} == {
        (one.name, raw.relative, raw.uri, raw.rule) for one, raw in listing(0)
    }
    place = {(piece.source, piece.relative): number for number, found in first.items() for piece in found}
    assert all(place.get((piece.source, piece.relative), number) == number for number, found in after.items() for piece in found)


def test_an_unchanged_plan_is_not_written_again(tmp_path: Path) -> None:
    assign(listing(0), 800, LIMITS, tmp_path)
    (path,) = tmp_path.glob("plan-*")
    before = path.stat().st_ino
    assert everything(assign(listing(0), 800, LIMITS, tmp_path))
    assert path.stat().st_ino == before
    assign(listing(0)[1:], 800, LIMITS, tmp_path)
    assert path.stat().st_ino != before


def test_pieces_are_a_sequence_and_travel_as_a_list(tmp_path: Path) -> None:
    parts = assign(listing(0), 8000, LIMITS, tmp_path)
    found = parts[0]
    assert found == list(found)
    assert len(found) == len(list(found)) > 3
    assert found[-1] == list(found)[-1]
    assert found[1:3] == list(found)[1:3]
    sent = pickle.loads(pickle.dumps(found))
    assert type(sent) is list
    assert sent == list(found)
    with pytest.raises(KeyError):
        parts[len(parts)]
