"""The scanners as Presidio recognisers, and the engine that gives them the zones of a text.

Presidio ships nothing for China and no Chinese model, so its NoOp engine is the base: it loads and downloads nothing.
"""

from collections.abc import Sequence
from typing import Any

import tldextract

from lexmill.core.deid.addresses import AddressScanner
from lexmill.core.deid.births import BirthScanner
from lexmill.core.deid.identifiers import IdentifierScanner
from lexmill.core.deid.organisations import OrganisationScanner
from lexmill.core.deid.persons import Introduced, PersonScanner
from lexmill.core.deid.presidio import (
    AnalyzerEngine,
    ContextAwareEnhancer,
    EntityRecognizer,
    NlpArtifacts,
    NoOpNlpEngine,
    RecognizerRegistry,
    RecognizerResult,
)
from lexmill.core.deid.spans import Span
from lexmill.core.deid.tables import DeidTables, Evidence
from lexmill.core.deid.tagger import Mention, Tagger
from lexmill.core.deid.zones import Zones, ZoneScanner

LANGUAGE = "zh"
RULE_KEY = "rule"
ROLE_KEY = "role"
CASE_NUMBER_RULE = "case_number.serial"
_DIGITS = frozenset("0123456789０１２３４５６７８９")


# How much is taken from what speaks against a name, in nats, by the evidence that a name needs; set on the training half.
BIAS: dict[Evidence, float] = {"story": 1.0, "cue": -1.0}


class LegalArtifacts(NlpArtifacts):
    """Presidio's artifacts with the zones of the text, the evidence that a name needs in it, and the model's mentions."""

    def __init__(self, empty: NlpArtifacts, zones: Zones, tagger: Tagger) -> None:
        self.__dict__.update(empty.__dict__)
        self.zones = zones
        self.evidence: Evidence = "story"
        self.introduced: Sequence[Introduced] = ()
        self._tagger = tagger
        self._mentions: Sequence[Mention] | None = None

    @property
    def mentions(self) -> Sequence[Mention]:
        """What the model says; nothing where only a label shows a name."""
        # A cached property would lock.
        if self._mentions is None:
            self._mentions = (
                [] if self.evidence == "label" else self._tagger.decode_codes(self.zones.hits.codes, BIAS[self.evidence])
            )
        return self._mentions


class LegalNlpEngine(NoOpNlpEngine):
    """Presidio's NoOp engine with our model and zones (case numbers, statutes, public bodies), once for all recognisers."""

    def __init__(self, zones: ZoneScanner, tagger: Tagger) -> None:
        # Its own beginning makes a vocabulary and an empty document of spaCy's, which nobody looks at.
        self.models = self._validate_models([{"lang_code": LANGUAGE, "model_name": "no_op"}])
        self._zones = zones
        self._tagger = tagger
        self.load()
        self._empty = NlpArtifacts([], [], [], [], self, LANGUAGE, scores=[])

    def process_text(self, text: str, language: str) -> LegalArtifacts:
        """The zones and names of ``text``; no tokens, no lemmas."""
        self._validate_loaded_language(language)
        return LegalArtifacts(self._empty, self._zones.scan(text), self._tagger)


class PassThrough(ContextAwareEnhancer):
    """Returns the results as they are: cue words are judged inside the recognisers (the default enhancer copies every result)."""

    def __init__(self) -> None:
        super().__init__(
            context_similarity_factor=0, min_score_with_context_similarity=0, context_prefix_count=0, context_suffix_count=0
        )

    def enhance_using_context(
        self,
        text: str,  # noqa: ARG002
        raw_results: list[RecognizerResult],
        nlp_artifacts: NlpArtifacts,  # noqa: ARG002
        recognizers: list[EntityRecognizer],  # noqa: ARG002
        context: list[str] | None = None,  # noqa: ARG002
    ) -> list[RecognizerResult]:
        """``raw_results``, unchanged."""
        return raw_results


class _Result(RecognizerResult):
    """Presidio's result with a hash of its fields instead of one of a formatted string: its engine hashes every result."""

    def __hash__(self) -> int:
        return hash((self.start, self.end, self.entity_type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecognizerResult) and (self.start, self.end, self.entity_type, self.score) == (
            other.start,
            other.end,
            other.entity_type,
            other.score,
        )


class _Recognizer(EntityRecognizer):
    """What ours have in common: Chinese, nothing to load, one shared metadata table a rule."""

    def __init__(self, entities: list[str]) -> None:
        self._metadata: dict[tuple[str, str], dict[str, str]] = {}
        super().__init__(supported_entities=entities, supported_language=LANGUAGE)

    def load(self) -> None:
        """Nothing to load."""

    def _result(self, start: int, end: int, entity: str, rule: str, role: str = "") -> RecognizerResult:
        metadata = self._metadata.get((rule, role))
        if metadata is None:
            metadata = {
                RecognizerResult.RECOGNIZER_NAME_KEY: self.name,
                RecognizerResult.RECOGNIZER_IDENTIFIER_KEY: self.id,
                RULE_KEY: rule,
                ROLE_KEY: role,
            }
            self._metadata[(rule, role)] = metadata
        return _Result(entity, start, end, 1.0, None, metadata)

    def _results(self, spans: list[Span]) -> list[RecognizerResult]:
        return [self._result(span.start, span.end, span.entity, span.rule) for span in spans]


class CaseNumberRecognizer(_Recognizer):
    """The serials of case numbers, own and cited; a serial without digits is masked already."""

    def __init__(self) -> None:
        super().__init__(["CASE_NUMBER"])

    def analyze(self, text: str, entities: list[str], nlp_artifacts: LegalArtifacts) -> list[RecognizerResult]:  # noqa: ARG002
        """All serials that still show a digit."""
        return [
            self._result(number.serial_start, number.serial_end, "CASE_NUMBER", CASE_NUMBER_RULE)
            for number in nlp_artifacts.zones.case_numbers
            if not _DIGITS.isdisjoint(text[number.serial_start : number.serial_end])
        ]


class IdentifierRecognizer(_Recognizer):
    """Numbers and codes."""

    def __init__(self, rules: DeidTables) -> None:
        self._scanner = IdentifierScanner(rules)
        super().__init__(sorted({table.entity for table in rules.identifier} | {table.entity for table in rules.certificate}))

    def analyze(self, text: str, entities: list[str], nlp_artifacts: LegalArtifacts) -> list[RecognizerResult]:  # noqa: ARG002
        """All identifiers."""
        return self._results(self._scanner.find(text, nlp_artifacts.zones))


class PersonRecognizer(_Recognizer):
    """Names of natural persons, with their role in the metadata, and short forms of companies that look like names."""

    def __init__(self, rules: DeidTables) -> None:
        self._scanner = PersonScanner(rules)
        super().__init__(["PERSON", "ORGANISATION"])

    def analyze(self, text: str, entities: list[str], nlp_artifacts: LegalArtifacts) -> list[RecognizerResult]:  # noqa: ARG002
        """All mentions of persons."""
        return [
            self._result(span.start, span.end, span.entity, span.rule, span.role if span.entity == "PERSON" else "")
            for span in self._scanner.find(
                text, nlp_artifacts.zones, nlp_artifacts.evidence, nlp_artifacts.mentions, nlp_artifacts.introduced
            )
        ]


class OrganisationRecognizer(_Recognizer):
    """Trade names of organisations."""

    def __init__(self, rules: DeidTables) -> None:
        self._scanner = OrganisationScanner(rules)
        super().__init__(sorted({table.entity for table in rules.organisation}))

    def analyze(self, text: str, entities: list[str], nlp_artifacts: LegalArtifacts) -> list[RecognizerResult]:  # noqa: ARG002
        """All mentions of organisations."""
        return self._results(self._scanner.find(text, nlp_artifacts.zones, nlp_artifacts.evidence, nlp_artifacts.mentions))


class PlaceAndBirthRecognizer(_Recognizer):
    """Addresses and birth dates: what a party header says of a person."""

    def __init__(self, rules: DeidTables) -> None:
        self._addresses = AddressScanner(rules)
        self._births = BirthScanner(rules)
        super().__init__(["ADDRESS", "ORG_ADDRESS", "BIRTH_DATE"])

    def analyze(self, text: str, entities: list[str], nlp_artifacts: LegalArtifacts) -> list[RecognizerResult]:  # noqa: ARG002
        """All addresses and birth dates."""
        return self._results(
            self._addresses.find(text, nlp_artifacts.zones, nlp_artifacts.mentions) + self._births.find(text, nlp_artifacts.zones)
        )


class _Registry(RecognizerRegistry):
    """Presidio's registry, which looks through its recognisers again only when they are others than before."""

    _known: tuple[list[EntityRecognizer], str, list[EntityRecognizer]] | None = None

    def get_recognizers(
        self,
        language: str,
        entities: list[str] | None = None,
        all_fields: bool = False,
        ad_hoc_recognizers: list[EntityRecognizer] | None = None,
    ) -> list[EntityRecognizer]:
        if not all_fields or entities or ad_hoc_recognizers:
            found: list[EntityRecognizer] = super().get_recognizers(language, entities, all_fields, ad_hoc_recognizers)
            return found
        if self._known is None or self._known[:2] != (self.recognizers, language):
            self._known = (list(self.recognizers), language, super().get_recognizers(language, all_fields=True))
        return list(self._known[2])


class LegalAnalyzerEngine(AnalyzerEngine):
    """Presidio's engine, which asks only those recognisers for their context that have a method of their own for it.

    The base sorts all results by recogniser, once a recogniser, to hand them to methods that return them unchanged; and it asks
    all recognisers for their entities at every call.
    """

    _entities: tuple[list[EntityRecognizer], list[str]] | None = None

    def get_supported_entities(self, language: str | None = None) -> list[str]:
        """The entities of all recognisers; they are asked again when there are others than before."""
        recognizers = self.registry.get_recognizers(language=language or LANGUAGE, all_fields=True)
        if self._entities is None or self._entities[0] != recognizers:
            self._entities = (recognizers, super().get_supported_entities(language))
        return list(self._entities[1])

    def _enhance_using_context(
        self,
        text: str,
        raw_results: list[RecognizerResult],
        nlp_artifacts: NlpArtifacts,
        recognizers: list[EntityRecognizer],
        context: list[str] | None = None,
    ) -> list[RecognizerResult]:
        base = EntityRecognizer.enhance_using_context
        if all(type(recognizer).enhance_using_context is base for recognizer in recognizers):
            return raw_results
        return super()._enhance_using_context(text, raw_results, nlp_artifacts, recognizers, context)


def build_engine(rules: DeidTables, tagger: Tagger, more: Sequence[EntityRecognizer] = ()) -> Any:
    """Presidio's ``AnalyzerEngine`` for Chinese with our recognisers and ``more`` of a user's, and nothing to download."""
    # Presidio's recogniser of e-mails asks tldextract, which would fetch a newer list of domains than the one it comes with.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
    recognizers: list[EntityRecognizer] = [
        CaseNumberRecognizer(),
        IdentifierRecognizer(rules),
        PersonRecognizer(rules),
        OrganisationRecognizer(rules),
        PlaceAndBirthRecognizer(rules),
        *more,
    ]
    return LegalAnalyzerEngine(
        registry=_Registry(recognizers=recognizers, supported_languages=[LANGUAGE]),
        nlp_engine=LegalNlpEngine(ZoneScanner(rules), tagger),
        supported_languages=[LANGUAGE],
        context_aware_enhancer=PassThrough(),
    )
