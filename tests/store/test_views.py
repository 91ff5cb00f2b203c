"""The log of views: whole lines, chained, and any later change is found."""

from pathlib import Path

from lexmill.store import views
from lexmill.store.views import ViewLog


def test_a_changed_line_of_the_log_is_found(tmp_path: Path) -> None:
    log = ViewLog(tmp_path)
    for number in range(3):
        log.add(f"{number:032x}", "doc")
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + lines[2])
    assert len(views.verify(tmp_path)[1]) == 1
    log.path.write_bytes(lines[0] + lines[1].replace(b'"doc"', b'"cod"') + b"\n")
    assert len(views.verify(tmp_path)[1]) == 2


def test_sessions_do_not_share_a_file(tmp_path: Path) -> None:
    for _ in range(2):
        ViewLog(tmp_path).add("0" * 32, "doc")
    assert len(list((tmp_path / "audit" / "views").iterdir())) == 2
    assert len(views.verify(tmp_path)[0]) == 2
