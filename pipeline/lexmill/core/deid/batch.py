"""De-identifies a batch of documents; what fails in any way is quarantined, never passed on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lexmill.core.batch import Batch, Ledger, n_bytes
from lexmill.core.deid import residual
from lexmill.core.deid.article4 import Article4
from lexmill.core.deid.detector import Detector
from lexmill.core.deid.mask import Masked, mask_fields
from lexmill.core.deid.people import Names, names_of
from lexmill.core.deid.persons import Introduced
from lexmill.core.structure.parties import parties
from lexmill.core.structure.segment import Segment
from lexmill.errors import DocumentError
from lexmill.schema import DOCUMENT

STAGE = "deidentify"
RULE = "deid.mask"
# What those are called who speak for a party in court.
_IN_COURT = ("代理人", "辩护人")
_BORDER = "\n\x1e\n"
# Fields of the metadata that may name a person or hold a serial.
_META_FIELDS = ("case_number", "court", "cause")


def deidentify(table: pa.Table, detector: Detector, article4: Article4 | None) -> Batch:
    """Mask text, title and metadata of every document of ``table`` (DOCUMENT_RAW); ``kept`` is in DOCUMENT.

    A judgment of the mainland that ``article4`` keeps offline is dropped (None drops nothing). A document is quarantined if its
    detection fails, or if the second look (``residual``) still finds a masked name or a valid identifier in it.

    One ``edit`` row a changed document says how many characters and bytes its text lost (negative: gained); the row of a
    quarantined document carries those of its whole text. ``counts`` also tell how many kept documents hold sensitive information,
    and how many people were masked (``people.masked``, each counted in every document); ``sketches`` estimate their names.
    """
    ledger = Ledger(STAGE)
    counts: Counter[str] = Counter()
    names = Names()
    kept = []
    for row in table.to_pylist():
        text = row["text"]
        account = (row["doc_id"], row["source"], row["doc_type"])
        try:
            rule = article4.rule(*_heading(row), text) if article4 is not None and _is_of_the_mainland(row) else None
            if rule is not None:
                ledger.add(*account, "drop", rule, len(text), n_bytes(text))
                continue
            document, fields, people = mask_document(row, detector)
        except Exception as error:
            # Fail closed: whatever goes wrong, this document stays behind and the others go on; its message might quote the text.
            rule = error.rule if isinstance(error, DocumentError) else "deid.failed"
            ledger.add(*account, "quarantine", rule, len(text), n_bytes(text))
            continue
        kept.append(document)
        counts.update(f"masked.{span.entity}" for field in fields for span in field.spans)
        if people:
            counts["people.masked"] += len(people)
            names.add(sorted(people.values()))
        counts.update(f"documents.{what}" for what in detector.sensitive.find(document["text"], row["doc_type"]))
        if document["text"] != text:
            counts["documents.masked"] += 1
            lost_chars = len(text) - len(document["text"])
            ledger.add(*account, "edit", RULE, lost_chars, n_bytes(text) - n_bytes(document["text"]))
    return Batch(pa.Table.from_pylist(kept, schema=DOCUMENT), ledger.table(), counts, {"names": names.packed()})


def _is_of_the_mainland(row: dict[str, Any]) -> bool:
    return row["doc_type"] == "judgment" and (row["meta"] or {}).get("jurisdiction") in (None, "CN")


def _heading(row: dict[str, Any]) -> tuple[str, str]:
    return row["title"] or "", (row["meta"] or {}).get("cause") or ""


def mask_document(row: Mapping[str, Any], detector: Detector) -> tuple[dict[str, Any], tuple[Masked, ...], dict[str, str]]:
    """The masked document (DOCUMENT) of a row of DOCUMENT_RAW, its masked fields (the text first), its people (surrogate → name).

    Raises DocumentError where it cannot be masked, or where something of it is left.
    """
    meta = row["meta"] or {}
    fields = [row["text"], row["title"] or "", *(meta.get(name) or "" for name in _META_FIELDS)]
    masked = mask_fields(fields, row["doc_type"], detector, list(_introduced(row)))
    look_again(fields, masked, detector)
    text, title, *rest = masked
    document = {name: row[name] for name in ("doc_id", "source", "doc_type", "family_id", "family_size")}
    document["text"] = text.text
    document["title"] = None if row["title"] is None else title.text
    changed = {name: part.text for name, part in zip(_META_FIELDS, rest, strict=True) if meta.get(name) is not None}
    document["meta"] = None if row["meta"] is None else {**meta, **changed}
    document["segments"] = _remap(row["segments"], text)
    people = names_of((field, part.spans) for field, part in zip(fields, masked, strict=True))
    return document, masked, people


def look_again(fields: Sequence[str], masked: Sequence[Masked], detector: Detector) -> None:
    """The second look at a masked document: ``fields`` as they came and ``masked``, in one order.

    Raises DocumentError ``residual.name`` where a name that was masked still stands in it, ``residual.identifier`` where a valid
    identifier does that the policy masks.
    """
    names = {
        field[span.start : span.end]
        for field, part in zip(fields, masked, strict=True)
        for span in part.spans
        if span.entity == "PERSON"
    }
    if residual.has_name(sorted(names), [part.text for part in masked], detector.is_read_as_name):
        raise DocumentError("residual.name")
    # All fields in one search: no number goes on across the border between two.
    together = _BORDER.join(part.text for part in masked)
    if any(item.kind in detector.policy.mask for item in residual.find_valid_identifiers(together)):
        raise DocumentError("residual.identifier")


def _introduced(row: Mapping[str, Any]) -> Iterator[Introduced]:
    """Whom the parsed party block names, and their part in the case; a procuratorate is nobody."""
    segments = [Segment(part["kind"], part["start"], part["end"], 1.0, "") for part in row["segments"] or ()]
    for party in parties(row["text"], segments):
        if "机关" not in party.role:
            yield Introduced(*party.name, "party")
        for agent in party.agents:
            yield Introduced(*agent.name, "lawyer" if agent.firm or agent.role.endswith(_IN_COURT) else "agent")


def _remap(segments: list[dict[str, Any]] | None, masked: Masked) -> list[dict[str, Any]] | None:
    """The segments at the offsets of the masked text; a border inside a mention moves to the mention's end."""
    if segments is None:
        return None
    borders = sorted({segment[side] for segment in segments for side in ("start", "end")})
    moved = {}
    shift = 0
    spans = iter(masked.spans)
    span = next(spans, None)
    for border in borders:
        while span is not None and span.end <= border:
            shift += len(span.replacement) - (span.end - span.start)
            span = next(spans, None)
        inside = span is not None and span.start < border
        moved[border] = border + shift if not inside or span is None else span.start + shift + len(span.replacement)
    return [{**segment, "start": moved[segment["start"]], "end": moved[segment["end"]]} for segment in segments]
