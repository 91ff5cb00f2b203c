"""Documents that hold items of benchmarks are dropped, or the items are cut out of them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.batch import Batch, Ledger, n_bytes
from lexmill.core.contamination.index import OPTION, Index
from lexmill.core.contamination.letters import letters_of
from lexmill.core.contamination.rules import ContaminationRules
from lexmill.core.contamination.scan import Matches, Weights, scan, stands

Action = Literal["drop", "cut"]

STAGE = "decontaminate"
# An option counts as there if so much of it is.
_OPTION_SHARE = 0.8
# Options stand at most so many characters from their stem.
_NEAR = 2000
# A document that would keep less than this share of its characters is dropped.
_LEAST_LEFT = 0.5


class Found(NamedTuple):
    """An item in a document: by which rule, how much of its stem, and from where to where in the document's letters."""

    doc: int
    benchmark: int
    item: int
    rule: str
    share: float
    start: int
    end: int


def find_items(texts: pa.ChunkedArray, index: Index, weights: Weights, rules: ContaminationRules) -> list[Found]:
    """Every item that a rule finds in one of ``texts``, text by text, the largest share first."""
    matches = scan(texts, index, weights)
    rows: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
    for row, (doc, unit) in enumerate(zip(matches.doc.tolist(), matches.unit.tolist(), strict=True)):
        mine = rows[doc, int(index.benchmark[unit]), int(index.item[unit])]
        best = mine.get(unit)
        if best is None or _quality(matches, row) > _quality(matches, best):
            mine[unit] = row

    @lru_cache(maxsize=1)
    def points(doc: int) -> NDArray[np.uint32]:
        return letters_of(texts[doc].as_py())

    found = [
        item._replace(doc=doc, benchmark=benchmark, item=number)
        for (doc, benchmark, number), mine in rows.items()
        if (item := _judge(mine, index.units_of(benchmark, number), matches, index, weights, rules, partial(points, doc)))
    ]
    return sorted(found, key=lambda item: (item.doc, -item.share, item.benchmark, item.item))


def _quality(matches: Matches, row: int) -> tuple[bool, float, float]:
    return bool(matches.whole[row]), float(matches.share[row]), float(matches.overall[row])


def _judge(
    mine: Mapping[int, int],
    units: Sequence[int],
    matches: Matches,
    index: Index,
    weights: Weights,
    rules: ContaminationRules,
    points: Callable[[], NDArray[np.uint32]],
) -> Found | None:
    """The item whose units are ``units``, of which those in ``mine`` were matched by the rows there."""

    def is_whole(unit: int) -> bool:
        row = mine.get(unit)
        if row is None and not index.searched[unit]:
            # What has no gram of its own is not looked for, so it is looked up.
            return bool(stands(points(), int(index.length[unit]), index.whole[unit]))
        return row is not None and bool(matches.whole[row])

    def is_option_there(unit: int) -> bool:
        row = mine.get(unit)
        return is_whole(unit) or (row is not None and bool(matches.overall[row] >= _OPTION_SHARE))

    options = [unit for unit in units if index.kind[unit] == OPTION]
    for unit in units:
        if index.kind[unit] == OPTION:
            continue
        row = mine.get(unit)
        share, overall = (float(matches.share[row]), float(matches.overall[row])) if row is not None else (0.0, 0.0)
        for rule in rules.for_length(int(weights.counted[unit])):
            if rule.coverage == 1:
                if not is_whole(unit):
                    continue
            elif share < rule.coverage or overall < rule.overall:
                continue
            wanted = rule.options * len(options)
            if (rule.options_needed and not options) or (wanted and sum(map(is_option_there, options)) < wanted):
                continue
            at = [hit for hit in mine.values() if row is None or abs(int(matches.start[hit] - matches.start[row])) <= _NEAR]
            start, end = min(int(matches.start[hit]) for hit in at), max(int(matches.end[hit]) for hit in at)
            return Found(0, 0, 0, rule.id, max(share, overall) if row is not None else 1.0, start, end)
    return None


def decontaminate(table: pa.Table, index: Index, weights: Weights, rules: ContaminationRules, action: Action) -> Batch | None:
    """What is left of documents (any schema that has DOCUMENT's columns); None where nothing of them goes.

    The ledger names rule, benchmark and item (``twin``) and the share of the stem that was found. Document types that a rule
    spares stay as they are.
    """
    found: dict[int, list[Found]] = defaultdict(list)
    for item in find_items(table["text"], index, weights, rules):
        found[item.doc].append(item)
    types = table["doc_type"].to_pylist()
    found = {doc: items for doc, items in found.items() if not rules.spares(types[doc])}
    if not found:
        return None
    ledger = Ledger(STAGE)
    counts: dict[str, int] = {}
    dropped: set[int] = set()
    changed: dict[int, dict[str, Any]] = {}
    for doc, items in sorted(found.items()):
        row = table.slice(doc, 1).to_pylist()[0]
        for name in sorted({index.benchmarks[item.benchmark].name for item in items}):
            counts[f"benchmark.{name}"] = counts.get(f"benchmark.{name}", 0) + 1
        spans = _spans(row["text"], items) if action == "cut" else []
        if sum(end - start for start, end, _ in spans) <= (1 - _LEAST_LEFT) * len(row["text"]) and spans:
            for start, end, item in spans:
                gone = row["text"][start:end]
                _enter(ledger, row, "edit", item, index, len(gone), n_bytes(gone))
            changed[doc] = {**row, **_without(row, [(start, end) for start, end, _ in spans])}
        else:
            _enter(ledger, row, "drop", items[0], index, len(row["text"]), n_bytes(row["text"]))
            dropped.add(doc)
    kept = [pa.Table.from_pylist([changed[doc]], table.schema) if doc in changed else doc for doc in range(table.num_rows)]
    return Batch(_joined(table, [each for doc, each in enumerate(kept) if doc not in dropped]), ledger.table(), counts)


def _joined(table: pa.Table, rows: Sequence[pa.Table | int]) -> pa.Table:
    """Rows by number, or given themselves, in order."""
    tables: list[pa.Table] = []
    run: list[int] = []
    for row in [*rows, None]:
        if isinstance(row, int):
            run.append(row)
            continue
        if run:
            tables.append(table.take(pa.array(run)))
            run = []
        if row is not None:
            tables.append(row)
    return pa.concat_tables(tables) if tables else table.slice(0, 0)


def _enter(ledger: Ledger, row: Mapping[str, Any], action: str, item: Found, index: Index, n_chars: int, n_utf8: int) -> None:
    name = index.benchmarks[item.benchmark].name
    ledger.add(
        row["doc_id"],
        row["source"],
        row["doc_type"],
        action,
        item.rule,
        n_chars,
        n_utf8,
        twin=f"{name}#{item.item}",
        value=round(item.share, 4),
    )


def _spans(text: str, items: Sequence[Found]) -> list[tuple[int, int, Found]]:
    """Where the items stand in the text itself, in whole lines, sorted and disjoint; those that touch are the first one's."""
    lines = text.splitlines(keepends=True)
    ends = np.cumsum([0, *(len(line) for line in lines)])
    # A mask may stand on both sides of a line break, which the copies of the lines do not know: a character more or less.
    copied = np.cumsum([0, *(len(letters_of(line)) for line in lines)])
    spans: list[tuple[int, int, Found]] = []
    for item in sorted(items, key=lambda item: (item.start, -item.share)):
        first = int(np.searchsorted(copied, item.start, "right")) - 1
        last = int(np.searchsorted(copied, item.end, "left"))
        start, end = int(ends[first]), int(ends[min(last, len(lines))])
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((start, end, item))
    return spans


def _without(row: Mapping[str, Any], spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Text and segments of a document without ``spans``; a segment of which nothing is left goes too."""
    text = row["text"]
    bounds = [0, *(bound for span in spans for bound in span), len(text)]
    kept = "".join(text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))

    def moved(at: int) -> int:
        return at - sum(min(end, at) - start for start, end in spans if start < at)

    segments = [{**segment, "start": moved(segment["start"]), "end": moved(segment["end"])} for segment in row["segments"] or []]
    return {"text": kept, "segments": [segment for segment in segments if segment["start"] < segment["end"]]}
