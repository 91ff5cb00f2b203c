"""A converter is called as it wants; none, a failure and a hang are reasons."""

import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lexmill.config import Ingest
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.word import word_format
from lexmill.errors import DocumentError
from lexmill.store.convert import convert_to_text, installed_converters

LIMITS = replace(Limits.of(Ingest()), record=1000, seconds=1)


def install(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is looked in first, and one with nothing but the shell's own tools after it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "sleep", "head"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tools}")
    return tmp_path / "bin"


@pytest.mark.usefixtures("path")
def test_none_installed() -> None:
    assert installed_converters() == ()
    with pytest.raises(DocumentError, match="needs_converter"):
        convert_to_text(b"x", "doc", (), LIMITS)


@pytest.mark.parametrize("fmt", ["doc", "rtf"])
def test_it_is_called_as_it_wants(path: Path, fmt: str) -> None:
    install(path, "soffice", 'echo "判决 $(cat "$7")" > "$6/document.txt"')
    assert convert_to_text("书".encode(), fmt, installed_converters(), LIMITS) == "判决 书\n".encode()


def test_another_version_is_told_apart(path: Path) -> None:
    install(path, "soffice", "echo a")
    (before,) = installed_converters()
    install(path, "soffice", "echo b")
    (after,) = installed_converters()
    assert before.version != after.version


@pytest.mark.parametrize("script", ["exit 1", "true", 'head -c 2000 /dev/zero > "$6/document.txt"'])
def test_failures(path: Path, script: str) -> None:
    install(path, "soffice", script)
    with pytest.raises(DocumentError, match="conversion_failed"):
        convert_to_text(b"x", "doc", installed_converters(), LIMITS)


def test_one_that_hangs_is_ended_with_all_that_it_started(path: Path, tmp_path: Path) -> None:
    install(path, "soffice", f"(sleep 3; echo late > {tmp_path}/late) & sleep 30")
    with pytest.raises(DocumentError, match="max_seconds"):
        convert_to_text(b"x", "doc", installed_converters(), LIMITS)
    time.sleep(3)
    assert not (tmp_path / "late").exists()


CONTRACT = (
    "<p>房屋租赁合同</p><p>甲方：某某公司，租金￥1,234.50元。</p><ol><li>房屋坐落</li><li>租赁期限</li></ol>"
    "<table border=1><tr><td>水费</td><td>3元</td></tr></table>"
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice, which writes the file to be read")
@pytest.mark.parametrize("fmt", ["doc", "rtf"])
def test_a_real_file_is_read_by_the_real_program(tmp_path: Path, fmt: str) -> None:
    (tmp_path / "a.html").write_text(f'<meta charset="utf-8">{CONTRACT}', "utf-8")
    filters = {"doc": "doc:MS Word 97", "rtf": "rtf:Rich Text Format"}
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation=file://{tmp_path}/profile",
            "--headless",
            "--infilter=HTML (StarWriter)",
            "--convert-to",
            filters[fmt],
            "--outdir",
            str(tmp_path),
            str(tmp_path / "a.html"),
        ],
        check=True,
        capture_output=True,
    )
    data = (tmp_path / f"a.{fmt}").read_bytes()
    assert word_format(data) == fmt
    limits = replace(LIMITS, record=1 << 20, seconds=120)
    text = convert_to_text(data, fmt, installed_converters(), limits).decode("utf-8-sig")
    for part in ("房屋租赁合同", "甲方：某某公司，租金￥1,234.50元。", "1.", "房屋坐落", "2.", "租赁期限", "水费", "3元"):
        assert part in text
        text = text[text.index(part) + len(part) :]
