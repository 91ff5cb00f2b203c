"""Fingerprints: what a result depends on, as digests of content, never of time."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NamedTuple

import orjson

_PACKAGE = Path(__file__).parent.parent
_SITE = sysconfig.get_path("purelib")


def digest(*values: Any) -> str:
    """64 hex digits of sha256 over JSON values (keys sorted)."""
    return hashlib.sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def digest_if_there(path: Path) -> str | None:
    """The same, None where there is no such file; an error of the store is raised, and no answer to that question."""
    try:
        return file_digest(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _source_of(module: str) -> Path | None:
    path = _PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path.parent / f"{path.name}.py", path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


class _Module(NamedTuple):
    """The digest of a module's source; what it imports at any depth of its code: modules of lexmill, others' top packages."""

    digest: str
    own: frozenset[str]
    foreign: frozenset[str]


@cache
def _module(name: str) -> _Module | None:
    """A module of lexmill; None for the name of anything else."""
    own: set[str] = set()
    foreign: set[str] = set()
    path = _source_of(name)
    if path is None:
        return None
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for imported in names:
            top = imported.partition(".")[0]
            if top == "lexmill":
                own.add(imported)
            elif top not in sys.stdlib_module_names:
                foreign.add(top)
    return _Module(file_digest(path), frozenset(own), frozenset(foreign))


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(found) for name, found in importlib.metadata.packages_distributions().items()}


@cache
def _installed(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Installed version of a distribution, and the distributions that it requires; None for one that is not there."""
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None  # an extra, or a requirement of another platform
    required = [requirement for requirement in found.requires or () if "extra ==" not in requirement]
    return found.version, tuple(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0] for requirement in required)


def _with_requirements(names: set[str]) -> dict[str, str]:
    """Installed versions of distributions and of all that they require."""
    versions: dict[str, str] = {}
    waiting = sorted(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in versions or (found := _installed(name)) is None:
            continue
        versions[name] = found[0]
        waiting += found[1]
    return versions


def installed_versions(name: str) -> dict[str, str]:
    """Installed versions of a distribution and of all that it requires, by name."""
    return dict(sorted(_with_requirements({name}).items()))


@cache
def code_digest(module: str) -> str:
    """Digest of a module's import closure within lexmill, and of the installed versions of what that imports."""
    waiting, seen, foreign = [module], dict[str, str](), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or (found := _module(name)) is None:
            continue
        seen[name] = found.digest
        waiting.extend(sorted(found.own))
        foreign |= found.foreign
    installed = _distributions()
    names = {distribution for top in foreign for distribution in installed.get(top, [])}
    return digest(seen, _with_requirements(names))


@cache
def package_digest() -> str:
    """Digest of every file of this package, code and models; rules have digests of their own."""
    files = sorted(path for path in _PACKAGE.rglob("*") if path.is_file() and not {"__pycache__", "_rules"} & set(path.parts))
    return digest([(str(path.relative_to(_PACKAGE)), file_digest(path)) for path in files])


def user_code_digest(names: Sequence[str]) -> str:
    """Digest of ``module:Class`` names, of the source of their modules and of what these import, at any depth.

    Installed packages count by their versions. Raises ModuleNotFoundError for a module that is none; what a module reads from
    other files is not seen.
    """
    installed = _distributions()
    sources: dict[str, str | None] = {}
    distributions: set[str] = set()
    waiting = [name.partition(":")[0] for name in names]
    wanted = frozenset(waiting)
    while waiting:
        module = waiting.pop()
        top = module.partition(".")[0]
        if module in sources or top in sys.stdlib_module_names or top == "lexmill":
            continue
        sources[module] = None
        spec = _spec(module)
        if spec is None:
            if module in wanted:
                raise ModuleNotFoundError(module, name=module)
            continue  # a name of a module, not one; or a module that only another platform has
        origin = Path(spec.origin) if spec.origin and spec.has_location else None
        if top in installed and (origin is None or origin.is_relative_to(_SITE)):
            distributions.update(installed[top])
            continue
        if origin is not None:
            sources[module] = file_digest(origin)
            if origin.suffix == ".py":
                waiting += _named_modules(module if origin.name == "__init__.py" else module.rpartition(".")[0], origin)
        waiting += [top] if "." in module else []
    found = {module: source for module, source in sources.items() if source is not None}
    return digest(list(names), found, _with_requirements(distributions))


def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError):
        return None


def _named_modules(package: str, path: Path) -> list[str]:
    """What a source file of ``package`` imports, with names that may be modules or not."""
    modules = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            modules += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [module for module in modules if module]
