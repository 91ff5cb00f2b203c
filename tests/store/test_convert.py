"""Converters: the first that reads a format is used; none, a failure and a hang are reasons."""

import shutil
from pathlib import Path

import pytest

from lexmill.errors import DocumentError
from lexmill.store import convert
from lexmill.store.convert import convert_to_text, installed_converters


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
        convert_to_text(b"x", "doc", (), 1000)


@pytest.mark.parametrize(
    ("name", "script", "fmt"),
    [
        ("antiword", 'echo "判决 $(cat "$5")"', "doc"),
        ("wvText", 'echo "判决 $(cat "$1")" > "$2"', "doc"),
        ("soffice", 'echo "判决 $(cat "$7")" > "$6/document.txt"', "rtf"),
    ],
)
def test_each_is_called_as_it_wants(path: Path, name: str, script: str, fmt: str) -> None:
    install(path, name, script)
    assert convert_to_text("书".encode(), fmt, installed_converters(), 1000) == "判决 书\n".encode()


def test_the_best_comes_first_and_rtf_needs_libreoffice(path: Path) -> None:
    install(path, "antiword", "echo a")
    assert [one.name for one in installed_converters()] == ["antiword"]
    with pytest.raises(DocumentError, match="needs_converter"):
        convert_to_text(b"x", "rtf", installed_converters(), 1000)
    install(path, "soffice", "exit 1")
    assert [one.name for one in installed_converters()] == ["soffice", "antiword"]


def test_rows_that_antiword_draws_are_rows_of_cells(path: Path) -> None:
    install(path, "antiword", "echo '项目\n| 水费  | 3元 |  |\n|x|'")
    assert convert_to_text(b"x", "doc", installed_converters(), 1000) == "项目\n水费\t3元\nx\n".encode()


def test_another_version_is_told_apart(path: Path) -> None:
    install(path, "antiword", "echo a")
    (before,) = installed_converters()
    install(path, "antiword", "echo b")
    (after,) = installed_converters()
    assert before.version != after.version


@pytest.mark.parametrize("script", ["exit 1", "true", "sleep 5", "head -c 2000 /dev/zero"])
def test_failures(path: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "_TIMEOUT", 0.5)
    install(path, "antiword", script)
    with pytest.raises(DocumentError, match="conversion_failed"):
        convert_to_text(b"x", "doc", installed_converters(), 1000)
