"""The rules of de-identification, and the proof that each finds its own examples."""

from collections.abc import Callable, Iterator

from lexmill.core.deid.addresses import AddressScanner
from lexmill.core.deid.article4 import Article4, SensitiveScanner
from lexmill.core.deid.births import BirthScanner
from lexmill.core.deid.checks import CHECKS
from lexmill.core.deid.identifiers import IdentifierScanner
from lexmill.core.deid.organisations import OrganisationScanner
from lexmill.core.deid.persons import PersonScanner
from lexmill.core.deid.tables import AUTO, DeidTables, Example, PersonRole
from lexmill.core.deid.zones import ZoneScanner
from lexmill.core.rulebook import Fault
from lexmill.schema import DOC_TYPES

_Found = Iterator[tuple[int, int, str]]
# Lists whose words are run together: every character is one.
_CHARACTER_LISTS = (
    "surname",
    "weak_surname",
    "rare_surname",
    "non_name",
    "given_character",
    "never_name",
    "nobody_part",
    "beside",
    "org_verb",
    "transliteration",
)
_ROLES: tuple[PersonRole, ...] = ("party", "agent", "lawyer", "official", "mention", "protected")


def read_marks(example: str) -> tuple[str, list[tuple[int, int]]]:
    """The text of an example without its marks ⟦ ⟧, and the spans they enclose."""
    text = ""
    spans = []
    start = 0
    for char in example:
        if char == "⟦":
            start = len(text)
        elif char == "⟧":
            spans.append((start, len(text)))
        else:
            text += char
    return text, spans


class DeidRules(DeidTables):
    """All rules of ``rules/deid``; ``faults`` tries each on its examples."""

    def faults(self) -> list[Fault]:
        """What is wrong, rule by rule; empty if every rule proves its examples."""
        faults = [*self._lexicon_faults(), *self._policy_faults(), *self._reading_faults()]
        checks = [(table.id, table.check) for table in self.identifier] + [(table.id, table.check) for table in self.certificate]
        faults += [
            Fault(rule, f"check: no such check; choose one of {', '.join(sorted(CHECKS))}")
            for rule, check in checks
            if check and check not in CHECKS
        ]
        if faults:
            return faults
        zones = ZoneScanner(self)
        identifiers, persons, organisations = IdentifierScanner(self), PersonScanner(self), OrganisationScanner(self)
        addresses, births = AddressScanner(self), BirthScanner(self)

        def find(text: str) -> _Found:
            at = zones.scan(text)
            for span in identifiers.find(text, at):
                yield span.start, span.end, span.rule
            for person in persons.find(text, at, "story", ()):
                yield person.start, person.end, person.rule
            for span in (*organisations.find(text, at, "story", ()), *addresses.find(text, at, ()), *births.find(text, at)):
                yield span.start, span.end, span.rule

        tables: tuple[Example, ...] = (
            *self.identifier,
            *self.certificate,
            *self.role,
            *self.person_pattern,
            *self.alias,
            *self.organisation,
            *self.address,
            *self.birth_date,
        )
        for table in tables:
            faults += _example_faults(table, find)
        for case in self.protected_case:
            faults += [
                Fault(case.id, f"match: is not found in {text!r}") for text in case.match if not persons.is_protected_case(text)
            ]
            faults += [
                Fault(case.id, f"no_match: is found in {text!r}") for text in case.no_match if persons.is_protected_case(text)
            ]
        for law in self.withheld:
            article = Article4(self.model_copy(update={"withheld": (law,)}))
            faults += [Fault(law.id, f"drop: {text!r} is kept") for text in law.drop if article.rule("", "", text) is None]
            faults += [Fault(law.id, f"keep: {text!r} is dropped") for text in law.keep if article.rule("", "", text)]
        for what in self.sensitive:
            sensitive = SensitiveScanner(self.model_copy(update={"sensitive": (what,)}))
            kind = what.doc_types[0] if what.doc_types else ""
            faults += [
                Fault(what.id, f"match: is not found in {text!r}") for text in what.match if not sensitive.find(text, kind)
            ]
            faults += [Fault(what.id, f"no_match: is found in {text!r}") for text in what.no_match if sensitive.find(text, kind)]
            faults += [Fault(what.id, f"doc_types: there is no {name}") for name in what.doc_types if name not in DOC_TYPES]
        for body in self.public_body:
            faults += [
                Fault(body.id, f"match: {text!r} is no whole zone")
                for text in body.match
                if zones.scan(text).ends != (len(text),)
            ]
            faults += [
                Fault(body.id, f"no_match: there is a zone in {text!r}") for text in body.no_match if zones.scan(text).ends
            ]
        return faults

    def _lexicon_faults(self) -> Iterator[Fault]:
        for table in self.lexicon:
            words = set(table.words.split())
            known = words | set("".join(words)) if table.name in _CHARACTER_LISTS else words
            for word in table.has:
                if word not in known:
                    yield Fault(table.id, f"has: {word!r} is not in the list; add it or mend the example")
            for word in table.lacks:
                if word in known:
                    yield Fault(table.id, f"lacks: {word!r} is in the list; remove it or mend the example")

    def _entities(self) -> set[str]:
        entities = {table.entity for table in self.identifier} | {table.entity for table in self.certificate}
        entities |= {table.entity for table in self.organisation}
        return entities | {"PERSON", "ADDRESS", "ORG_ADDRESS", "BIRTH_DATE", "CASE_NUMBER"}

    def _reading_faults(self) -> Iterator[Fault]:
        entities = self._entities()
        needed = sorted((AUTO, *DOC_TYPES))
        given = sorted(doc_type for table in self.reading for doc_type in table.doc_types)
        for table in self.reading:
            unknown = [entity for entity in table.ignore if entity not in entities]
            if unknown:
                yield Fault(table.id, f"ignore: there is no {', '.join(unknown)}")
            if given != needed:
                yield Fault(table.id, f"doc_types: all readings together must name each once: {', '.join(needed)}")

    def _policy_faults(self) -> Iterator[Fault]:
        entities = self._entities()
        for policy in self.policy:
            roles: list[str] = [*policy.mask_roles, *policy.keep_roles]
            for what, given, needed in (
                ("mask, keep", [*policy.mask, *policy.keep], sorted(entities)),
                ("mask_roles, keep_roles", roles, sorted(_ROLES)),
            ):
                if sorted(given) != needed:
                    odd = sorted(set(given) ^ set(needed)) or sorted({item for item in given if given.count(item) > 1})
                    yield Fault(policy.id, f"{what}: must name each exactly once; mend {', '.join(odd)}")


def _example_faults(table: Example, find: Callable[[str], _Found]) -> Iterator[Fault]:
    for example in table.match:
        text, spans = read_marks(example)
        found = [(start, end) for start, end, rule in find(text) if rule == table.id]
        if sorted(found) != spans:
            yield Fault(table.id, f"match: in {example!r} it finds {[text[start:end] for start, end in sorted(found)]}")
    for example in table.no_match:
        found = [(start, end) for start, end, rule in find(example) if rule == table.id]
        if found:
            yield Fault(table.id, f"no_match: in {example!r} it finds {[example[start:end] for start, end in sorted(found)]}")
