"""All proven rules of a run, and a digest of each family."""

from collections.abc import Mapping
from dataclasses import dataclass

from lexmill.core.contamination.rules import ContaminationRules
from lexmill.core.dedup.rules import DedupRules
from lexmill.core.deid.rules import DeidRules
from lexmill.core.evidence.rules import StandardsRules
from lexmill.core.ingest.rules import IngestRules
from lexmill.core.quality.rules import QualityRules
from lexmill.core.structure.citations import StatuteTables
from lexmill.core.structure.rules import SegmentRules


@dataclass(frozen=True)
class RuleSet:
    """One rulebook a family; ``digests`` maps the family's name to the sha256 of its tables (comments do not count)."""

    ingest: IngestRules
    segment: SegmentRules
    dedup: DedupRules
    contamination: ContaminationRules
    deid: DeidRules
    quality: QualityRules
    statutes: StatuteTables
    standards: StandardsRules
    digests: Mapping[str, str]
