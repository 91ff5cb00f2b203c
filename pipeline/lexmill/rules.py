"""Load rule files, shipped ones first and then the overlays of the run file, and prove every rule on its own examples."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lexmill.core.contamination.rules import ContaminationRules
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.deid.rules import DeidRules
from lexmill.core.evidence.rules import StandardsRules
from lexmill.core.ingest.rules import IngestRules
from lexmill.core.quality.rules import QualityRules
from lexmill.core.rulebook import Rulebook
from lexmill.core.ruleset import RuleSet
from lexmill.core.structure.citations import StatuteTables
from lexmill.core.structure.rules import SegmentRules
from lexmill.errors import RuleError
from lexmill.store.fingerprint import digest

FAMILIES: dict[str, type[Rulebook]] = {
    "ingest": IngestRules,
    "segment": SegmentRules,
    "dedup": DedupRules,
    "contamination": ContaminationRules,
    "deid": DeidRules,
    "quality": QualityRules,
    "statutes": StatuteTables,
    "standards": StandardsRules,
}


def shipped() -> Path:
    """The folder of the shipped rules: inside the wheel, or the checkout's ``rules/``."""
    inside = Path(__file__).parent / "_rules"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "rules"


class _Family:
    """The merged tables of one family, and the file that each rule came from."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, Path] = {}

    def merge(self, path: Path, faults: list[str]) -> None:
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or more than the parser bears
            faults.append(f'{path}: is not TOML in UTF-8: {error}; quotation marks, commas and brackets must be ASCII (" , [ ])')
            return
        except OSError as error:
            faults.append(f"{path}: cannot be read ({error.strerror})")
            return
        for kind, tables in data.items():
            if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
                faults.append(f"{path}: {kind}: write every rule as a table [[{kind}]]")
                continue
            for table in tables:
                self._put(kind, table, path, faults)

    def _put(self, kind: str, table: dict[str, Any], path: Path, faults: list[str]) -> None:
        rule_id = table.get("id")
        if not isinstance(rule_id, str):
            faults.append(f"{path}: [[{kind}]]: a rule without `id`; give it one such as 'family.name'")
            return
        if self.files.get(rule_id) == path:
            faults.append(f"{path}: {rule_id}: the id stands twice; every rule needs its own")
        rules = self.kinds.setdefault(kind, [])
        at = next((index for index, rule in enumerate(rules) if rule["id"] == rule_id), None)
        if at is None:
            rules.append(table)
        else:
            rules[at] = table
        self.files[rule_id] = path

    def where(self, location: Sequence[Any]) -> str:
        """File, rule and key of a pydantic error location such as ("role", 3, "pattern")."""
        if len(location) >= 2 and isinstance(location[1], int):
            rule_id = self.kinds[str(location[0])][location[1]]["id"]
            return f"{self.files[rule_id]}: {rule_id}: {'.'.join(str(part) for part in location[2:]) or 'rule'}"
        return ".".join(str(part) for part in location)

    def build(self, model: type[Rulebook], faults: list[str]) -> Rulebook | None:
        try:
            return model.model_validate(self.kinds)
        except ValidationError as error:
            faults.extend(f"{self.where(item['loc'])}: {item['msg']}" for item in error.errors())
            return None

    def prove(self, book: Rulebook) -> list[str]:
        """What is wrong with the rules of ``book``, tried on their own examples."""
        return [f"{self.files.get(fault.rule_id, '?')}: {fault.rule_id}: {fault.problem}" for fault in book.faults()]


def load(overlays: Sequence[Path] = ()) -> RuleSet:
    """The proven rules: the shipped ones, and the overlay folders' rules in their place where the id is the same.

    Raises RuleError with every fault at once, each naming file, rule and remedy.
    """
    faults: list[str] = []
    for overlay in overlays:
        if not overlay.is_dir():
            faults.append(
                f"{overlay}: no such folder; `rules` names folders that hold {', '.join(f'{name}/' for name in FAMILIES)}"
            )
        inside = sorted(overlay.glob("*")) if overlay.is_dir() else []
        for path in inside:
            if path.is_dir() and path.name not in FAMILIES:
                faults.append(f"{path}: no such rule family; there are {', '.join(FAMILIES)}")
            elif path.suffix == ".toml":
                faults.append(f"{path}: rule files stand in a folder of their family: move it to one of {', '.join(FAMILIES)}")
        if overlay.is_dir() and not any(overlay.glob("*/*.toml")):
            faults.append(f"{overlay}: holds no rule file; put one such as quality/mine.toml there, or take the folder out")
    books, families = _read(overlays, faults)
    for family, book in books.items():
        if book is not None:
            faults += families[family].prove(book)
    if not faults:
        faults += [f"quality: {fault.rule_id}: {fault.problem}" for fault in books["quality"].citation_faults(books["statutes"])]
    if faults:
        raise RuleError("\n".join(faults))
    return _rule_set(books, families)


def load_proven(overlays: Sequence[Path] = ()) -> RuleSet:
    """The same rules without trying their examples, which takes a process 115 MiB and a second.

    For a worker, whose driver has proven the rules of the same digests. Raises RuleError.
    """
    faults: list[str] = []
    books, families = _read(overlays, faults)
    if faults:
        raise RuleError("\n".join(faults))
    return _rule_set(books, families)


def load_deid() -> DeidRules:
    """The shipped rules of de-identification alone, proven; raises RuleError."""
    faults: list[str] = []
    merged = _merge("deid", (), faults)
    book = merged.build(DeidRules, faults)
    faults += merged.prove(book) if book is not None else []
    if faults:
        raise RuleError("\n".join(faults))
    assert isinstance(book, DeidRules)
    return book


def _merge(family: str, overlays: Sequence[Path], faults: list[str]) -> _Family:
    merged = _Family()
    for root in (shipped(), *overlays):
        for path in sorted((root / family).glob("*.toml")):
            merged.merge(path, faults)
    return merged


def _read(overlays: Sequence[Path], faults: list[str]) -> tuple[dict[str, Any], dict[str, _Family]]:
    families = {family: _merge(family, overlays, faults) for family in FAMILIES}
    return {family: merged.build(FAMILIES[family], faults) for family, merged in families.items()}, families


def _rule_set(books: dict[str, Any], families: dict[str, _Family]) -> RuleSet:
    return RuleSet(**books, digests={family: digest(merged.kinds) for family, merged in families.items()})


def ids(rules: RuleSet) -> dict[str, dict[str, str]]:
    """By family, a digest of every rule by its id: what two rule sets differ in."""
    return {
        family: {
            rule.id: digest(rule.model_dump(mode="json"))
            for kind in model.model_fields
            for rule in getattr(getattr(rules, family), kind)
        }
        for family, model in FAMILIES.items()
    }


def count(rules: RuleSet) -> dict[str, int]:
    """Number of rules by family."""
    return {
        family: sum(len(getattr(getattr(rules, family), kind)) for kind in model.model_fields)
        for family, model in FAMILIES.items()
    }
