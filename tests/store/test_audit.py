"""Any later change to the chain, or to a file that it seals, is found."""

import errno
import json
from pathlib import Path

import pytest

from lexmill.store import audit, fingerprint
from lexmill.store.fingerprint import file_digest


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    for name in ("r1", "r2"):
        folder = tmp_path / "releases" / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(f'{{"release": "{name}"}}')
        sealed = {f"releases/{name}/manifest.json": file_digest(folder / "manifest.json")}
        audit.record(tmp_path, "release", name, sealed)
    audit.record(tmp_path, "takedown", "t1", {})
    return tmp_path


def test_an_untouched_chain_verifies(chain: Path) -> None:
    entries, faults = audit.verify(chain, None)
    assert [entry["kind"] for entry in entries] == ["release", "release", "takedown"]
    assert faults == []
    assert audit.verify(chain, entries[-1]["digest"])[1] == []


def test_a_repeated_event_is_one_entry(chain: Path) -> None:
    head = audit.record(chain, "takedown", "t1", {})
    entries, faults = audit.verify(chain, head)
    assert len(entries) == 3
    assert faults == []


def test_every_kind_of_tampering_is_found(chain: Path) -> None:
    first, last = chain / "audit/000001.json", chain / "audit/000003.json"
    head = json.loads(last.read_bytes())["digest"]
    kept = {path: path.read_bytes() for path in (first, last)}

    def restored() -> None:
        for path, data in kept.items():
            path.write_bytes(data)

    first.write_bytes(kept[first].replace(b"r1", b"r9"))
    assert any("changed after" in fault for fault in audit.verify(chain, None)[1])
    restored()
    first.unlink()
    assert audit.verify(chain, None)[1]
    restored()
    last.unlink()
    assert audit.verify(chain, None)[1] == []  # the chain alone cannot tell that its end is missing
    assert any("taken away" in fault for fault in audit.verify(chain, head)[1])
    restored()
    first.write_bytes(b"{")
    assert any("damaged" in fault for fault in audit.verify(chain, None)[1])
    restored()
    assert audit.verify(chain, head)[1] == []


def test_a_changed_or_lost_file_is_found(chain: Path) -> None:
    manifest = chain / "releases/r1/manifest.json"
    manifest.write_text("{}")
    assert audit.verify(chain, None)[1] == ["releases/r1/manifest.json: is not the file that was sealed"]
    manifest.unlink()
    assert len(audit.verify(chain, None)[1]) == 1


def test_a_store_that_does_not_answer_accuses_no_file(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path) -> str:
        raise OSError(errno.EIO, "no answer", str(path))

    monkeypatch.setattr(fingerprint, "file_digest", fails)
    with pytest.raises(OSError, match="no answer"):
        audit.verify(chain, None)


def test_what_was_taken_down_must_stay_away(chain: Path) -> None:
    manifest = chain / "releases/r1/manifest.json"
    audit.record(chain, "takedown", "t2", {"releases/r1/manifest.json": ""})
    assert audit.verify(chain, None)[1] == ["releases/r1/manifest.json: was taken down and is there again"]
    manifest.unlink()
    assert audit.verify(chain, None)[1] == []
