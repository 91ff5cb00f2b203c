"""The summary fits a screen, says what was asked, and is what a notification gets."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lexmill.cli.base import notified
from lexmill.errors import GateError
from lexmill.report.summary import summary


def result(n_stages: int) -> dict[str, Any]:
    counts = {"docs": 12_345_678, "chars": 1, "bytes": 1}
    return {
        "run": {"seconds": 3600.4, "cpu_seconds": 7000.0, "workers": 2, "disk_bytes": 5e9},
        "release": "0123456789abcdef",
        "tokens": {"q/qa": 5, "j/judgment": 7},
        "stages": [{"stage": f"stage{n}", **dict.fromkeys(("in", "out", "drop", "quarantine"), counts)} for n in range(n_stages)],
        "rules": {"filter": {f"drop:quality.rule{n}": n for n in range(40)} | {"edit:ingest.much": 10**9}},
    }


@pytest.mark.parametrize("n_stages", [0, 6, 30])
def test_it_fits_one_screen(n_stages: int) -> None:
    lines = summary("2026-01-02", result(n_stages)).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 76
    assert "0123456789abcdef: 12 tokens" in lines[1]
    assert not any("edit:" in line for line in lines)


def test_the_most_frequent_reasons_come_first() -> None:
    text = summary("r", result(2))
    assert text.index("rule39") < text.index("rule38") < text.index("rule33")
    assert "rule31" not in text


def test_a_notification_gets_the_summary_or_what_went_wrong(tmp_path: Path) -> None:
    said = tmp_path / "said"
    with notified(f"cat > {said}", Path("my-run.toml")) as told:
        told.text = "all well\n"
    assert said.read_text() == "all well\n"
    with pytest.raises(GateError), notified(f"cat > {said}", Path("my-run.toml")):
        raise GateError("release: nothing is published")
    assert said.read_text() == "lexmill my-run.toml: exit code 4\n\nrelease: nothing is published\n"
    with pytest.raises(KeyError), notified(f"cat > {said}", Path("my-run.toml")):
        raise KeyError("张三")
    assert "张三" not in said.read_text()
    with notified("exit 3", Path("my-run.toml")):
        pass  # a mail that cannot be sent fails no run


def test_json_logs_are_one_object_a_line() -> None:
    code = (
        "import structlog; from lexmill.cli.base import log_to_stderr; log_to_stderr('json');"
        "log = structlog.get_logger(); b = structlog.contextvars.bound_contextvars(run='r');"
        "b.__enter__(); log.info('cluster started', dashboard='http://127.0.0.1:1/status'); log.debug('part', stage='s', part=3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = (json.loads(line) for line in done.stderr.splitlines())
    assert (first["run"], first["level"], first["dashboard"]) == ("r", "info", "http://127.0.0.1:1/status")
    assert (second["run"], second["stage"], second["part"]) == ("r", "s", 3)
    assert second["timestamp"].endswith("Z")
