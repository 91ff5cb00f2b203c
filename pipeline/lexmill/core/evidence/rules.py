"""The standards that a release is held against: clauses in our own words, the figures they ask for, what a person must check."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lexmill.core.evidence.figures import is_figure
from lexmill.core.rulebook import Fault, Rule, Rulebook, RuleId

Verdict = Literal["符合", "不符合", "不适用", "需人工"]

Figures = Mapping[str, float | None]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Requirement(_Table):
    """A figure and the bounds, both included, that it must keep."""

    figure: str
    min: Annotated[float | None, Field(strict=False)] = None
    max: Annotated[float | None, Field(strict=False)] = None

    @model_validator(mode="after")
    def _bounds(self) -> "Requirement":
        if self.min is None and self.max is None:
            raise ValueError("give min or max")
        return self

    def holds(self, value: float) -> bool:
        """Whether a value keeps the bounds."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)


class Example(_Table):
    """Figures, and what must be said of them; a figure that is not named was not measured."""

    figures: dict[str, Annotated[float, Field(strict=False)]]
    verdict: Verdict


class Standard(Rule):
    """A standard in one version; ``wording`` says what of its text is known to be right."""

    title: str
    version: str
    in_force: str
    wording: str


class Judged(NamedTuple):
    """What is said of a clause, and why: requirements that are not kept, and figures that nobody measured."""

    verdict: Verdict
    unmet: tuple[Requirement, ...]
    unmeasured: tuple[str, ...]


class Clause(Rule):
    """One clause: ``requires`` is what code can tell, ``ask`` what a person must, ``shows`` are figures that help them.

    Where the figure ``applies`` is 0 the clause does not apply. A clause with an ``ask`` is never met by figures alone; one that
    breaks its bounds is not met, whatever a person finds. ``number`` is empty where it is not known.
    """

    standard: RuleId
    number: str
    topic: str
    applies: str | None = None
    requires: Annotated[tuple[Requirement, ...], Field(strict=False)] = ()
    shows: Annotated[tuple[str, ...], Field(strict=False)] = ()
    ask: str = ""
    example: Annotated[tuple[Example, ...], Field(strict=False, min_length=1)]

    @property
    def figures(self) -> tuple[str, ...]:
        """Every figure that it names, in order, each once."""
        named = ([self.applies] if self.applies else []) + [each.figure for each in self.requires] + list(self.shows)
        return tuple(dict.fromkeys(named))

    def judge(self, figures: Figures) -> Judged:
        """The verdict on some figures."""
        if self.applies is not None and figures.get(self.applies) == 0:
            return Judged("不适用", (), ())
        values = [(each, figures.get(each.figure)) for each in self.requires]
        unmet = tuple(each for each, value in values if value is not None and not each.holds(value))
        unmeasured = tuple(each.figure for each, value in values if value is None)
        if unmet:
            return Judged("不符合", unmet, unmeasured)
        return Judged("需人工" if unmeasured or self.ask or not self.requires else "符合", (), unmeasured)


class StandardsRules(Rulebook):
    """All standards, each with its clauses."""

    standard: tuple[Standard, ...] = ()
    clause: tuple[Clause, ...] = ()

    def clauses_of(self, standard: Standard) -> Sequence[Clause]:
        """The clauses of one standard, in the order of the files."""
        return [clause for clause in self.clause if clause.standard == standard.id]

    def faults(self) -> list[Fault]:
        """Every clause must belong to a standard, name figures that there are, and say of its examples what they say."""
        known = {standard.id for standard in self.standard}
        faults = [
            Fault(standard.id, "has no clause; write one that names it")
            for standard in self.standard
            if not self.clauses_of(standard)
        ]
        for clause in self.clause:
            if clause.standard not in known:
                faults.append(Fault(clause.id, f"standard: {clause.standard}: there is no such [[standard]]"))
            named = [*clause.figures, *(name for example in clause.example for name in example.figures)]
            faults += [
                Fault(clause.id, f"{name}: no such figure; figures.json of a release names those there are")
                for name in sorted({name for name in named if not is_figure(name)})
            ]
            for example in clause.example:
                found = clause.judge(example.figures).verdict
                if found != example.verdict:
                    faults.append(Fault(clause.id, f"example {dict(example.figures)}: is {found}, not {example.verdict}"))
            if clause.requires and not any(example.verdict == "不符合" for example in clause.example):
                faults.append(Fault(clause.id, "no example breaks its bounds: give one with verdict = 不符合"))
        return faults
