"""Sections of documents that a run leaves out: which ones is data, chosen by id in the run file; every cut is an edit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lexmill.core.batch import Ledger, n_bytes
from lexmill.core.structure.rules import Section
from lexmill.schema import DOCUMENT

STAGE = "filter"


def cut_sections(table: pa.Table, sections: Iterable[Section], chosen: Collection[str]) -> tuple[pa.Table, pa.Table]:
    """``table`` (DOCUMENT) without the segments that the ``chosen`` rules leave out, and the ledger of the cuts.

    A row of the ledger is one rule's cut in one document: what it lost in characters and bytes. The segments that stay keep their
    order and follow the text. A rule with a ``share`` spares that share of the documents, told by their ``doc_id``, whatever else
    is in the run. A document that would be empty stays as it is.
    """
    ledger = Ledger(STAGE)
    rules = [rule for rule in sections if rule.id in chosen]
    rows = []
    for row in table.to_pylist():
        own = [rule for rule in rules if rule.doc_type == row["doc_type"] and not _spared(row["doc_id"], rule.share)]
        rows.append(_cut(row, own, ledger) if own and row["segments"] else row)
    return pa.Table.from_pylist(rows, schema=DOCUMENT), ledger.table()


def _spared(doc_id: str, share: float) -> bool:
    # 32 of the 128 random bits, and not those that the shards scatter by.
    return int(doc_id[:8], 16) < share * 2**32


def _cut(row: Mapping[str, Any], rules: Sequence[Section], ledger: Ledger) -> dict[str, Any]:
    text = row["text"]
    by_kind = {kind: rule.id for rule in rules for kind in rule.kinds}
    kept: list[str] = []
    segments = []
    lost: dict[str, list[int]] = {}
    at = 0
    for part in row["segments"]:
        words = text[part["start"] : part["end"]]
        if rule_id := by_kind.get(part["kind"]):
            tally = lost.setdefault(rule_id, [0, 0])
            tally[0] += len(words)
            tally[1] += n_bytes(words)
            continue
        kept.append(words)
        segments.append({**part, "start": at, "end": at + len(words)})
        at += len(words)
    if not "".join(kept).strip():
        return dict(row)
    for rule_id, (chars, size) in lost.items():
        if chars:
            ledger.add(row["doc_id"], row["source"], row["doc_type"], "edit", rule_id, chars, size)
    return {**row, "text": "".join(kept), "segments": segments}
