"""Masks one document: detect, choose surrogates, splice, and look again until nothing is left to find."""

from collections.abc import Sequence
from dataclasses import dataclass

from lexmill.core.deid.detector import Detector
from lexmill.core.deid.persons import Introduced
from lexmill.core.deid.spans import Replacement, Span, splice
from lexmill.errors import DocumentError

# Fields of one document are read as one text, so that a name of the text is known in the title. No rule reads across this.
_BORDER = "\n\x1e\n"
_ROUNDS = 4


@dataclass(frozen=True)
class Masked:
    """The masked ``text``, and ``spans``: sorted, disjoint, offsets into the input; splicing them into it gives ``text``."""

    text: str
    spans: tuple[Replacement, ...]


def mask(text: str, doc_type: str, detector: Detector) -> Masked:
    """``text`` with everything replaced that the detector's policy masks; masking the result again changes nothing.

    Raises DocumentError ``deid.detector_failed`` or ``deid.unstable``.
    """
    return mask_fields((text,), doc_type, detector)[0]


def mask_fields(
    fields: Sequence[str], doc_type: str, detector: Detector, introduced: Sequence[Introduced] = ()
) -> tuple[Masked, ...]:
    """All ``fields`` of one document masked with the same surrogates, in the order given (which is that of the numbers).

    ``introduced`` is whom the party block in the first field names.
    """
    text = _BORDER.join(fields)
    replacements = _settle(text, doc_type, detector, introduced)
    masked = []
    start = at = 0
    for field in fields:
        end = start + len(field)
        first = at
        while at < len(replacements) and replacements[at].end <= end:
            at += 1
        inside = replacements[first:at]
        if inside and inside[0].start < start:
            raise DocumentError("deid.field_border")
        if start:
            inside = tuple(item._replace(start=item.start - start, end=item.end - start) for item in inside)
        masked.append(Masked(splice(field, inside), inside))
        start = end + len(_BORDER)
    if at != len(replacements):
        raise DocumentError("deid.field_border")
    return tuple(masked)


def _settle(text: str, doc_type: str, detector: Detector, introduced: Sequence[Introduced]) -> tuple[Replacement, ...]:
    """The replacements after which the detector finds nothing more.

    A surrogate is other context than the name it stands for, so a second look may see more than the first; what it sees is mapped
    back to the input and masked there.
    """
    spans = detector.detect(text, doc_type, introduced)
    replacements = detector.surrogates.choose(text, spans)
    for _ in range(_ROUNDS):
        output = splice(text, replacements)
        if not detector.may_show_more(output, doc_type, replacements):
            return replacements
        more = detector.surrogates.choose(output, detector.detect(output, doc_type))
        if not more:
            return replacements
        spans = _merge([*replacements, *(_map_back(item, replacements) for item in more)])
        replacements = detector.surrogates.choose(text, spans)
    raise DocumentError("deid.unstable")


def _map_back(found: Replacement, replacements: tuple[Replacement, ...]) -> Span:
    """The stretch of the input that became the stretch ``found`` of the output; a surrogate it touches is taken whole."""
    shift = 0
    start: int | None = None
    end: int | None = None
    for item in replacements:
        low = item.start + shift
        high = low + len(item.replacement)
        if start is None and found.start < high:
            start = item.start if found.start >= low else found.start - shift
        if end is None and found.end <= high:
            end = item.end if found.end > low else found.end - shift
        shift += len(item.replacement) - (item.end - item.start)
    return Span(
        found.start - shift if start is None else start, found.end - shift if end is None else end, found.entity, found.rule
    )


def _merge(spans: Sequence[Span | Replacement]) -> list[Span]:
    """Sorted, disjoint spans; where some overlap, their union with the entity and rule of the longest."""
    merged: list[Span] = []
    longest = 0
    for item in sorted(spans, key=lambda item: (item.start, -item.end, item.entity, item.rule)):
        if merged and item.start < merged[-1].end:
            last = merged[-1]
            name = item if item.end - item.start > longest else last
            longest = max(longest, item.end - item.start)
            merged[-1] = Span(last.start, max(last.end, item.end), name.entity, name.rule)
        else:
            merged.append(Span(item.start, item.end, item.entity, item.rule))
            longest = item.end - item.start
    return merged
