"""A document as people may see it outside of the private folders: masked, or not at all."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lexmill.core.deid.batch import mask_document
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.spans import Replacement
from lexmill.errors import DocumentError


class Placed(NamedTuple):
    """One mask where it stands in the masked text: half-open code points, the entity behind it, the rule that found it."""

    start: int
    end: int
    entity: str
    rule: str


class Shown(NamedTuple):
    """A document that may be shown (in DOCUMENT's columns) and the masks of its text, where they are known."""

    document: Mapping[str, Any]
    masks: tuple[Placed, ...]


def mask_for_people(raw: Mapping[str, Any], detector: Detector) -> Shown:
    """A row of DOCUMENT_RAW masked as stage deidentify does it; raises DocumentError where that cannot be done."""
    try:
        document, fields, _ = mask_document(raw, detector)
    except Exception as error:
        # Fail closed, as the stage does; the message might quote the text.
        raise DocumentError(error.rule if isinstance(error, DocumentError) else "deid.failed") from None
    return Shown(document, placed(fields[0].spans))


def with_masks(row: Mapping[str, Any], raw: Mapping[str, Any] | None, detector: Detector) -> Shown:
    """A row that was masked in the run, with its masks: those of ``raw``, of which it was made, if that still gives its text."""
    masks: tuple[Placed, ...] = ()
    if raw is not None:
        try:
            again = mask_for_people(raw, detector)
        except DocumentError:
            return Shown(row, ())
        masks = again.masks if again.document["text"] == row["text"] else ()
    return Shown(row, masks)


def masks_of(raw: Mapping[str, Any], detector: Detector) -> tuple[Placed, ...]:
    """What would be masked in the text of a row of DOCUMENT_RAW, where it stands there; nothing where it cannot be told."""
    try:
        _, fields, _ = mask_document(raw, detector)
    except Exception:
        return ()
    return tuple(Placed(span.start, span.end, span.entity, span.rule) for span in fields[0].spans)


def placed(spans: Sequence[Replacement]) -> tuple[Placed, ...]:
    """Where the replacements stand in the masked text."""
    found = []
    shift = 0
    for span in spans:
        start = span.start + shift
        end = start + len(span.replacement)
        shift += len(span.replacement) - (span.end - span.start)
        found.append(Placed(start, end, span.entity, span.rule))
    return tuple(found)
