"""Judgments that may not be online at all, and sensitive information that is counted: both by rules about whole documents."""

import re
from typing import NamedTuple

from lexmill.core.deid.lexer import Lexer
from lexmill.core.deid.tables import DeidTables
from lexmill.core.deid.words import openings

_HEADING = 1500


class _Rule(NamedTuple):
    id: str
    triggers: tuple[str, ...]
    headed: bool
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


class Article4:
    """Tells by the ``withheld`` rules which judgments 法释〔2016〕19号 art. 4 keeps offline."""

    def __init__(self, rules: DeidTables) -> None:
        self._rules = [
            _Rule(
                table.id,
                tuple(table.trigger.split()),
                table.within == "heading",
                re.compile(table.pattern),
                re.compile(table.unless) if table.unless else None,
            )
            for table in rules.withheld
        ]

    def rule(self, title: str, cause: str, text: str) -> str | None:
        """The id of the first rule that holds for a judgment of this title, cause and text; None if it may be online."""
        heading = "\n".join((title, cause, text[:_HEADING]))
        for rule in self._rules:
            where = heading if rule.headed else text
            if (
                any(word in where for word in rule.triggers)
                and rule.pattern.search(where)
                and not (rule.unless and rule.unless.search(heading))
            ):
                return rule.id
        return None


class SensitiveScanner:
    """Tells by the ``sensitive`` rules what a document speaks of."""

    def __init__(self, rules: DeidTables) -> None:
        self._rules = [(table.id, frozenset(table.doc_types), re.compile(table.pattern)) for table in rules.sensitive]
        starts = {table.id: openings(table.pattern) for table in rules.sensitive}
        self._lexer = Lexer({id_: ("starts", words) for id_, words in starts.items() if words is not None})

    def find(self, text: str, doc_type: str) -> list[str]:
        """The ids of all rules that hold for a text of this type, in order."""
        rules = [(id_, pattern) for id_, types, pattern in self._rules if doc_type in types]
        if not rules:
            return []
        hits = self._lexer.scan(text)
        return [
            id_
            for id_, pattern in rules
            if (any(pattern.match(text, at) for at in hits.starts(id_)) if id_ in self._lexer.lists else pattern.search(text))
        ]
