"""What every rule family has in common: strict frozen tables that carry their own proof."""

import re
from abc import abstractmethod
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]


def _compilable(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compilable)]
"""A regular expression."""


class Fault(NamedTuple):
    """One thing wrong with one rule: ``problem`` says what and how to mend it."""

    rule_id: str
    problem: str


class Rule(BaseModel):
    """One table of a rule file: an id (``family.name``), the reason it exists, and its proof in fields of its kind."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: RuleId
    why: str


class Rulebook(BaseModel):
    """All rules of one family: one field a kind (the ``[[kind]]`` of the files), each a tuple of ``Rule``."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    @abstractmethod
    def faults(self) -> list[Fault]:
        """Try every rule on its own examples; an empty list is the proof."""
