"""Code digests follow imports; digests do not depend on the order of keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lexmill.store import fingerprint


def test_digests_depend_on_values_not_on_key_order() -> None:
    assert fingerprint.digest({"a": 1, "b": 2}) == fingerprint.digest({"b": 2, "a": 1})
    assert fingerprint.digest({"a": 1}) != fingerprint.digest({"a": 2})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in {
        "a.py": "from lexmill import b\nimport numpy",
        "b.py": "import lexmill.sub.c\n",
        "sub/__init__.py": "",
        "sub/c.py": "X = 1\n",
        "d.py": "Y = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(fingerprint, "_PACKAGE", tmp_path)
    yield tmp_path
    forget()


def forget() -> None:
    fingerprint._module.cache_clear()
    fingerprint.code_digest.cache_clear()


def fresh(module: str) -> str:
    forget()
    return fingerprint.code_digest(module)


@pytest.mark.parametrize(("changed", "matters"), [("a.py", True), ("b.py", True), ("sub/c.py", True), ("d.py", False)])
def test_a_change_matters_where_it_is_imported(package: Path, changed: str, matters: bool) -> None:
    before = fresh("lexmill.a")
    (package / changed).write_text((package / changed).read_text() + "# changed\n")
    assert (fresh("lexmill.a") != before) == matters


def test_versions_of_what_is_imported_count(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert package.is_dir()
    before = fresh("lexmill.a")
    monkeypatch.setattr(fingerprint, "_with_requirements", lambda names: dict.fromkeys(sorted(names), "999"))
    assert fresh("lexmill.a") != before
