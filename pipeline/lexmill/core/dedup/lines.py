"""Lines that recur across documents (mottos, furniture of websites, appended statutes): found by frequency, tagged or cut.

Only whole lines within the segments that a rule names (headings, tails, annexes) count, never facts, reasons or articles.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lexmill.core.batch import Ledger, n_bytes
from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.identity import hash64
from lexmill.core.dedup.rules import DedupRules, LineRule

Array = np.ndarray[Any, np.dtype[Any]]


class _Line(NamedTuple):
    row: int
    start: int
    end: int  # with its line break
    rule: LineRule


def _lines(table: pa.Table, rules: DedupRules) -> tuple[list[_Line], Array]:
    """The lines of the segments that count, and the hash of each one's comparison copy; short and protected lines do not."""
    by_type = {doc_type: rule for rule in rules.lines for doc_type in rule.doc_types}
    found: list[_Line] = []
    texts: list[str] = []
    for row, doc_type in enumerate(table["doc_type"].to_pylist()):
        rule = by_type.get(doc_type)
        if rule is None:
            continue
        text: str = table["text"][row].as_py()
        for segment in table["segments"][row].as_py() or ():
            if segment["kind"] not in rule.kinds:
                continue
            start = segment["start"]
            for line in text[start : segment["end"]].splitlines(keepends=True):
                if rule.counts(line):
                    found.append(_Line(row, start, start + len(line), rule))
                    texts.append(line)
                start += len(line)
    copies = comparison_copies(pa.array(texts, pa.string())).to_pylist()
    hashes = [hash64(line.rule.id, copy) for line, copy in zip(found, copies, strict=True)]
    return found, np.array(hashes, np.uint64)


def count_lines(table: pa.Table, rules: DedupRules) -> tuple[Array, Array]:
    """In how many documents each line stands: distinct hashes (uint64, sorted) and counts (int64)."""
    found, hashes = _lines(table, rules)
    rows = np.array([line.row for line in found], np.int64)
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    new = np.ones(hashes.size, np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
    return add_counts(hashes[new], np.ones(int(new.sum()), np.int64))


def add_counts(hashes: Array, counts: Array) -> tuple[Array, Array]:
    """Counts added up by hash, in order of the hashes."""
    distinct, inverse = np.unique(hashes, return_inverse=True)
    total = np.zeros(distinct.size, np.int64)
    np.add.at(total, inverse, counts)
    return distinct, total


def treat_lines(table: pa.Table, rules: DedupRules, frequent: Array, mode: str) -> tuple[pa.Table, pa.Table]:
    """The documents and a ledger row for each that holds frequent lines: ``cut``, they are out; ``tag``, nothing changes.

    ``frequent`` are the hashes (uint64, sorted) of lines that stand in enough documents. The value of a row is the number of
    lines; it has no characters where nothing was cut.
    """
    found, hashes = _lines(table, rules)
    at = np.searchsorted(frequent, hashes)
    at[at == frequent.size] = 0
    recurs = (frequent[at] == hashes) if frequent.size else np.zeros(hashes.size, np.bool_)
    spans: dict[int, list[_Line]] = {}
    for line, recurring in zip(found, recurs.tolist(), strict=True):
        if recurring:
            spans.setdefault(line.row, []).append(line)
    ledger = Ledger("dedup")
    texts, segments = table["text"].to_pylist(), table["segments"].to_pylist() if spans else []
    for row, lines in spans.items():
        out = "".join(texts[row][line.start : line.end] for line in lines) if mode == "cut" else ""
        doc_id, source, doc_type = (table[name][row].as_py() for name in ("doc_id", "source", "doc_type"))
        ledger.add(doc_id, source, doc_type, "edit", lines[0].rule.id, len(out), n_bytes(out), value=float(len(lines)))
        if mode == "cut":
            texts[row], segments[row] = _cut(texts[row], segments[row], lines)
    if mode == "cut" and spans:
        for name, values in (("text", texts), ("segments", segments)):
            field = table.schema.field(name)
            table = table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))
    return table, ledger.table()


def _cut(text: str, segments: list[dict[str, Any]], lines: Sequence[_Line]) -> tuple[str, list[dict[str, Any]]]:
    kept, at = [], 0
    for line in lines:
        kept.append(text[at : line.start])
        at = line.end
    kept.append(text[at:])

    def moved(border: int) -> int:
        return border - sum(min(line.end, border) - line.start for line in lines if line.start < border)

    shifted = [{**segment, "start": moved(segment["start"]), "end": moved(segment["end"])} for segment in segments]
    return "".join(kept), [segment for segment in shifted if segment["start"] < segment["end"]]
