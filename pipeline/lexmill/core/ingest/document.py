"""A record becomes a document: cleaned, its type told, its metadata and segments found."""

from typing import Any, NamedTuple

from lexmill.core.batch import n_bytes
from lexmill.core.ingest.hygiene import Edit, clean
from lexmill.core.ingest.language import CONVERT, CONVERTED, KEEP_ALL, LanguagePolicy, to_simplified
from lexmill.core.ingest.records import Record
from lexmill.core.ruleset import RuleSet
from lexmill.core.structure.doctype import guess
from lexmill.core.structure.metadata import metadata
from lexmill.core.structure.segment import Segment, segment


class Document(NamedTuple):
    """``meta`` has the fields of schema.META; of a text that is blank once cleaned nothing is known, and it has no segments."""

    doc_type: str
    title: str | None
    text: str
    meta: dict[str, Any]
    segments: list[Segment]
    edits: tuple[Edit, ...]
    n_private_use: int
    refused: str | None = None

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing left to read."""
        return not self.text or self.text.isspace()


def make_document(
    record: Record, doc_type: str, jurisdiction: str, rules: RuleSet, languages: LanguagePolicy = KEEP_ALL
) -> Document:
    """What ingest makes of a record of a source of ``doc_type``, which may be ``auto``; a blank text keeps that type.

    A text that ``languages`` does not want comes back without metadata and segments, and ``refused`` says by which rule. One that
    is converted is converted here, before anything reads it: metadata, segments and names are then found by the cues of one
    script, and dedup compares both scripts' copies.
    """
    text, edits, n_private_use = clean(record.text, rules.ingest)
    title = " ".join(clean(record.title, rules.ingest).text.split()) if record.title else None
    if not text or text.isspace():
        return Document(doc_type, title, text, {}, [], edits, n_private_use)
    verdict = languages.judge(text)
    if verdict == CONVERT:
        after = to_simplified(text)
        edits = (*edits, Edit(CONVERTED, len(text) - len(after), n_bytes(text) - n_bytes(after)))
        text, title = after, to_simplified(title) if title else None
    elif verdict:
        return Document(doc_type, title, text, {}, [], edits, n_private_use, verdict)
    if doc_type == "auto":
        doc_type = guess(text)
    meta = metadata(text, doc_type, title, record.given, jurisdiction)
    return Document(doc_type, title, text, meta, segment(text, doc_type, rules.segment), edits, n_private_use)
