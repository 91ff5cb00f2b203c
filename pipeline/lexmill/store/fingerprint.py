"""Fingerprints: what a result depends on, as digests of content, never of time."""

import ast
import hashlib
import importlib.metadata
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import orjson

_PACKAGE = Path(__file__).parent.parent


def digest(*values: Any) -> str:
    """64 hex digits of sha256 over JSON values (keys sorted)."""
    return hashlib.sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def _source_of(module: str) -> Path | None:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path.parent / f"{path.name}.py", path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(module: str) -> tuple[frozenset[str], frozenset[str]]:
    """(modules of lexmill, third-party top-level packages) that a module imports, at any depth of its code."""
    own: set[str] = set()
    foreign: set[str] = set()
    path = _source_of(module)
    if path is None:
        return frozenset(), frozenset()
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            top = name.partition(".")[0]
            if top == "lexmill":
                own.add(name)
            elif top not in sys.stdlib_module_names:
                foreign.add(top)
    return frozenset(own), frozenset(foreign)


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in importlib.metadata.packages_distributions().items()}


def installed_versions(*names: str) -> dict[str, str]:
    """Installed versions of distributions and of all that they require, by name."""
    versions: dict[str, str] = {}
    waiting = sorted(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in versions:
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra, or a requirement of another platform
        versions[name] = found.version
        for requirement in found.requires or ():
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])
    return dict(sorted(versions.items()))


@cache
def code_digest(module: str) -> str:
    """Digest of a module's import closure within lexmill, and of the installed versions of what that imports."""
    waiting, seen, foreign = [module], dict[str, str](), set[str]()
    while waiting:
        name = waiting.pop()
        path = _source_of(name)
        if name in seen or path is None:
            continue
        seen[name] = file_digest(path)
        own, others = _imports(name)
        waiting.extend(sorted(own))
        foreign |= others
    installed = _distributions()
    names = {distribution for top in foreign for distribution in installed.get(top, [])}
    return digest(seen, installed_versions(*names))
