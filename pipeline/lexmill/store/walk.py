"""Files below a folder that match patterns, in the order of their names; the entries of a folder at a time are held."""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_WILD = frozenset("*?[")
_ANY_DEPTH = "**"
_DOTS = frozenset({".", ".."})  # in no listing, and no pattern's match: only who says them goes there

Places = frozenset[tuple[int, int]]
"""(pattern, which of its segments the next name is to match)."""


class Match(NamedTuple):
    """A path relative to the folder, and the numbers of the patterns that it matches."""

    path: str
    patterns: frozenset[int]


def is_wild(segment: str) -> bool:
    """Whether a segment of a path is a pattern."""
    return bool(_WILD & set(segment))


def shown(text: str) -> str:
    """A name as any table can hold it: bytes that are no UTF-8 are written out, the same on every machine."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class _Entry:
    name: str
    is_folder: bool
    is_link: bool


def walk(root: str, patterns: Sequence[Sequence[str]]) -> Iterator[Match]:
    """What is no folder and matches one of the patterns, given by their segments, sorted by whole path (as ``shown``), each once.

    Segments are names, patterns of ``fnmatch``, or ``**`` for any number of folders, hidden ones too; a folder that is a link is
    entered by name or pattern, but not by ``**``, so a loop of links ends. The last segment is not ``**``. Folders that may not
    be read are passed over. Memory: the names of one folder and of those above it.
    """
    found = _Walk(patterns)
    levels = [found.level(root, "", found.closed({(number, 0) for number in range(len(patterns))}))]
    while levels:
        step = next(levels[-1], None)
        if step is None:
            levels.pop()
        elif isinstance(step, Match):
            yield step
        else:
            levels.append(found.level(*step))


class _Walk:
    def __init__(self, patterns: Sequence[Sequence[str]]) -> None:
        self._patterns = patterns
        self._matches = {
            segment: re.compile(fnmatch.translate(segment)).fullmatch
            for segments in patterns
            for segment in segments
            if segment != _ANY_DEPTH and is_wild(segment)
        }

    def closed(self, places: set[tuple[int, int]]) -> Places:
        """The places with those behind a ``**``, which may stand for no folder at all."""
        waiting = list(places)
        while waiting:
            pattern, at = waiting.pop()
            if self._patterns[pattern][at] == _ANY_DEPTH and (pattern, at + 1) not in places:
                places.add((pattern, at + 1))
                waiting.append((pattern, at + 1))
        return frozenset(places)

    def level(self, folder: str, before: str, places: Places) -> Iterator[Match | tuple[str, str, Places]]:
        """What a folder has, in order: matches, and the folders to be entered, each with what is to be matched in it."""
        segments = {self._patterns[pattern][at] for pattern, at in places}
        is_listed = any(map(is_wild, segments))
        entries = [*_scan(folder), *_named(folder, segments & _DOTS)] if is_listed else _named(folder, segments)
        # With its slash a folder's name sorts as the paths below it do.
        for entry in sorted(entries, key=lambda entry: shown(entry.name) + "/" * entry.is_folder):
            below: set[tuple[int, int]] = set()
            patterns = set()
            for pattern, at in places:
                segment = self._patterns[pattern][at]
                if segment == _ANY_DEPTH:
                    if entry.is_folder and not entry.is_link and entry.name not in _DOTS:
                        below.add((pattern, at))
                elif self._fits(segment, entry.name):
                    is_last = at + 1 == len(self._patterns[pattern])
                    if is_last and not entry.is_folder:
                        patterns.add(pattern)
                    elif entry.is_folder and not is_last:
                        below.add((pattern, at + 1))
            path = before + entry.name
            if patterns:
                yield Match(path, frozenset(patterns))
            if below:
                yield os.path.join(folder, entry.name), path + "/", self.closed(below)  # noqa: PTH118

    def _fits(self, segment: str, name: str) -> bool:
        matches = self._matches.get(segment)
        return name == segment if matches is None else name not in _DOTS and matches(name) is not None


def _scan(folder: str) -> list[_Entry]:
    try:
        with os.scandir(folder or ".") as entries:
            return [_Entry(entry.name, _is_folder(entry), entry.is_symlink()) for entry in entries]
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return []  # may not be read, or went away


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link in a circle


def _named(folder: str, names: set[str]) -> list[_Entry]:
    paths = {name: os.path.join(folder, name) for name in names}  # noqa: PTH118
    return [
        _Entry(name, os.path.isdir(path), os.path.islink(path))  # noqa: PTH112, PTH114
        for name, path in paths.items()
        if os.path.exists(path)  # noqa: PTH110
    ]
