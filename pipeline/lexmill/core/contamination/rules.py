"""The rules of decontamination: how much of an item makes a document a copy of it, and what is never taken for one."""

from typing import Annotated

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lexmill.config import DocType
from lexmill.core.contamination.index import Benchmark, build, units_of
from lexmill.core.contamination.items import Item
from lexmill.core.contamination.scan import quoted_grams, weigh
from lexmill.core.rulebook import Fault, Rule, Rulebook


class Example(BaseModel):
    """An item and a document, both invented; ``statute`` is law that the run knows, where the item quotes some."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    stem: str
    options: Annotated[tuple[str, ...], Field(strict=False)] = ()
    text: str
    statute: str = ""


Examples = Annotated[tuple[Example, ...], Field(strict=False, min_length=1)]


class Overlap(Rule):
    """Stems and passages with ``least`` to ``most`` telling letters are in a document from ``coverage`` of these on.

    Telling are those that stand neither in a statute nor in many items; ``overall`` is the least share of all letters.
    ``coverage`` 1 asks for the whole stem in one piece. ``options`` is the share of the item's options that must be there as
    well, in any order; an item without options is found all the same, unless ``options_needed``. ``match`` and ``no_match``
    prove it.
    """

    least: Annotated[int, Field(ge=0)]
    most: Annotated[int, Field(ge=0)]
    coverage: Annotated[float, Field(ge=0, le=1)]
    overall: Annotated[float, Field(ge=0, le=1)] = 0.0
    options: Annotated[float, Field(ge=0, le=1)] = 0.0
    options_needed: bool = False
    match: Examples
    no_match: Examples

    @model_validator(mode="after")
    def _asks_for_something(self) -> "Overlap":
        # Less than this is not looked for (see ``scan``).
        if max(self.coverage, self.overall) < 0.3:
            raise ValueError("coverage or overall must be at least 0.3")
        return self


class Spared(Rule):
    """Documents of these types stay, whatever quotes them."""

    doc_types: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]
    match: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]
    no_match: Annotated[tuple[DocType, ...], Field(strict=False, min_length=1)]


class ContaminationRules(Rulebook):
    """All rules of the contamination family; of overlaps the first that finds an item names it."""

    overlap: tuple[Overlap, ...] = ()
    spared: tuple[Spared, ...] = ()

    def for_length(self, counted: int) -> list[Overlap]:
        """The rules for a stem with so many telling letters."""
        return [rule for rule in self.overlap if rule.least <= counted <= rule.most]

    def spares(self, doc_type: str) -> bool:
        """Whether documents of this type always stay."""
        return any(doc_type in rule.doc_types for rule in self.spared)

    def _found(self, example: Example) -> set[str]:
        # The judge needs the rules, and their proof needs the judge.
        from lexmill.core.contamination.judge import find_items

        units = units_of([Item(example.stem, example.options)], 0)
        index = build([Benchmark("example", "", 1, 0)], units)
        quoted = quoted_grams(pa.chunked_array([[example.statute]], pa.string()), index)
        found = find_items(pa.chunked_array([[example.text]], pa.string()), index, weigh(index, quoted), self)
        return {item.rule for item in found}

    def faults(self) -> list[Fault]:
        """Try every rule on its own examples."""
        faults = []
        for rule in self.overlap:
            for field, examples, expected in (("match", rule.match, True), ("no_match", rule.no_match, False)):
                for number, example in enumerate(examples, 1):
                    found = rule.id in self._found(example)
                    if found != expected:
                        does = "finds" if found else "does not find"
                        faults.append(Fault(rule.id, f"{field}, example {number}: the rule {does} the item; mend or move it"))
        for spared in self.spared:
            wrong = [kind for kind in spared.match if kind not in spared.doc_types]
            wrong += [kind for kind in spared.no_match if kind in spared.doc_types]
            faults += [Fault(spared.id, f"match or no_match: {kind} stands on the wrong side; move it") for kind in wrong]
        return faults
