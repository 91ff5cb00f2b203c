"""Walking finds what ``Path.glob`` finds, and links to nothing, each path once and in order, whatever the patterns are."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.store.walk import shown, walk

NAMES = ("a", "a-b", "a.txt", "b", ".h", "法", "x[1]", "b!")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders and files of names that sort before and behind a slash, links to some of them, and bytes that are no UTF-8."""
    root = tmp_path_factory.mktemp("walk")
    chance = random.Random(3)
    folders = [root]
    for _ in range(30):
        folder = chance.choice(folders) / chance.choice(NAMES)
        if not folder.exists():
            folder.mkdir()
            folders.append(folder)
    for folder in folders:
        for name in chance.sample(NAMES, 4):
            if not (folder / name).exists():
                (folder / name).write_text("")
    (folders[5] / "up").symlink_to(root)
    (folders[2] / "nowhere").symlink_to(root / "gone")
    (folders[1] / "circle").symlink_to(folders[1] / "circle")
    Path(os.fsdecode(os.fsencode(folders[3]) + b"/\xff.txt")).write_text("")
    return root


def is_no_folder(path: Path) -> bool:
    try:
        return not path.is_dir()
    except OSError:
        return True  # in a circle


SEGMENT = st.sampled_from([*NAMES, "*", "**", "a*", "*.txt", "?", "[ab]", "up", "nowhere", "none"])


@given(patterns=st.lists(st.lists(SEGMENT, min_size=1, max_size=4).filter(lambda p: p[-1] != "**"), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_what_glob_finds_is_found_in_order(tree: Path, patterns: list[list[str]]) -> None:
    wanted: dict[str, set[int]] = {}
    for number, segments in enumerate(patterns):
        for path in filter(is_no_folder, tree.glob("/".join(segments))):
            wanted.setdefault(str(path.relative_to(tree)), set()).add(number)
    found = list(walk(f"{tree}/", patterns))
    names = [shown(match.path) for match in found]
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    told = {match.path: match.patterns for match in found}
    assert all(numbers <= told[path] for path, numbers in wanted.items())
    # Where a folder is listed, a name in a pattern also finds a link to nothing, which `glob` does not.
    assert {path: numbers for path, numbers in told.items() if (tree / path).exists()} == {
        path: numbers for path, numbers in wanted.items() if (tree / path).exists()
    }
    assert all(os.path.lexists(tree / path) for path in told)


def test_a_folder_that_may_not_be_read_is_passed_over(tmp_path: Path) -> None:
    for name in ("a/x", "b/x"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    (tmp_path / "a").chmod(0)
    try:
        found = [match.path for match in walk(f"{tmp_path}/", [("**", "*")]) if match.path.endswith("x")]
    finally:
        (tmp_path / "a").chmod(0o700)
    assert found == (["b/x"] if os.geteuid() else ["a/x", "b/x"])


def test_the_folder_above_is_entered_by_its_name_only(tmp_path: Path) -> None:
    for name in ("a/x.txt", "a/b/y.txt", "z.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    root = f"{tmp_path}/a/"
    assert [match.path for match in walk(root, [["*", "..", "x.txt"]])] == ["b/../x.txt"]
    assert [match.path for match in walk(root, [["*.txt"], ["..", "z.txt"]])] == ["../z.txt", "x.txt"]
    assert [match.path for match in walk(root, [["**", "*.txt"], ["..", "*.md"]])] == ["b/y.txt", "x.txt"]
