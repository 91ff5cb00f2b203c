"""A batch of documents judged: the kept ones with tags and score, a ledger row for each that goes."""

import datetime
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lexmill.core.batch import Batch, Ledger
from lexmill.core.quality.classifier import Classifier
from lexmill.core.quality.metrics import measure
from lexmill.core.quality.rules import Judgement, QualityRules, Score
from lexmill.core.quality.screen import Screen
from lexmill.core.structure.citations import StatuteTables, find
from lexmill.core.structure.citations import judge as judge_citations
from lexmill.core.structure.language import identify
from lexmill.schema import DOCUMENT_JUDGED

STAGE = "filter"


class Verdict(NamedTuple):
    """What one rule says of a batch: whether it hits each document (bool[n]), and the value it measured (float64[n])."""

    rule: Judgement
    hits: NDArray[np.bool_]
    values: NDArray[np.float64]


class Opinion(NamedTuple):
    """Everything that all rules say of a batch, in the order of the rules; ``scores`` is None without a classifier."""

    verdicts: list[Verdict]
    metrics: pa.Table
    scores: NDArray[np.float32] | None


def judge(
    table: pa.Table, rules: QualityRules, classifier: Classifier | None = None, statutes: StatuteTables | None = None
) -> Opinion:
    """Ask every rule about every document (schema DOCUMENT) of its types; nothing is decided here.

    Without a classifier, or without the tables of statutes, the rules that need one are not asked.
    """
    doc_types = np.array(table["doc_type"].to_pylist(), dtype=object)
    metrics = measure(table["text"])
    scores = None if classifier is None else classifier.score(table["text"])
    verdicts = [
        *_bound_verdicts(rules, metrics, doc_types),
        *_phrase_verdicts(rules, table["text"].to_pylist(), metrics["n_visible"].to_numpy(), doc_types),
        *_citation_verdicts(rules, statutes, table, doc_types),
        *_score_verdicts(rules, classifier, scores, doc_types),
    ]
    return Opinion(verdicts, metrics, scores)


def first_removing(verdicts: list[Verdict], n: int) -> NDArray[np.int64]:
    """Which of ``verdicts`` each of ``n`` documents leaves by, in their order: int64[n], -1 where it stays."""
    leaves_by = np.full(n, -1)
    for number in reversed(range(len(verdicts))):
        leaves_by[verdicts[number].hits] = number
    return leaves_by


def filter_documents(
    table: pa.Table,
    rules: QualityRules,
    classifier: Classifier | None = None,
    statutes: StatuteTables | None = None,
    forced: Collection[str] = (),
    screens: Sequence[Screen] = (),
) -> Batch:
    """Judge documents (schema DOCUMENT): kept ones come back in schema DOCUMENT_JUDGED, in their order.

    A document leaves by the first removing rule that hits it, in the order of ``rules``; the ledger row holds that rule's
    measured value. Kept documents carry the sorted ids of all rules that hit them, and the classifier's score: null without one,
    and then the rules of kind ``classifier`` hit nothing. The rules whose ids are ``forced`` act without evidence. ``screens``
    only tag. ``counts`` holds documents by ``tag.<rule>``, ``drop.<rule>`` and ``quarantine.<rule>``.
    """
    verdicts, metrics, scores = judge(table, rules, classifier, statutes)
    removing = [verdict for verdict in verdicts if verdict.rule.effect(forced) != "tag"]
    leaves_by = first_removing(removing, len(table))
    tags: list[list[str]] = [[] for _ in range(len(table))]
    for rule, hit, _ in verdicts:
        for row in np.flatnonzero(hit & (leaves_by < 0)):
            tags[row].append(rule.id)

    gone = np.flatnonzero(leaves_by >= 0)
    ledger = Ledger(STAGE)
    leaving = table.select(["doc_id", "source", "doc_type"]).take(gone).to_pylist()
    n_chars = metrics["n_chars"].take(gone).to_pylist()
    n_bytes = pc.binary_length(table["text"].take(gone)).to_pylist()
    for row, document, chars, size in zip(gone, leaving, n_chars, n_bytes, strict=True):
        rule, _, value = removing[leaves_by[row]]
        ledger.add(
            **document,
            action=rule.effect(forced),
            rule=rule.id,
            n_chars=chars,
            n_bytes=size,
            value=float(value[row]),
            model=classifier.digest if classifier and isinstance(rule, Score) else None,
            threshold=rule.min_score if isinstance(rule, Score) else None,
        )

    screened = _screen(table, screens, tags)
    stays = leaves_by < 0
    kept = table.filter(pa.array(stays))
    spoken = identify(kept["text"])
    judged = {
        **{name: kept[name] for name in table.column_names},
        "tags": pa.array([sorted(tags[row]) for row in np.flatnonzero(stays)], pa.list_(pa.string())),
        "quality": pa.nulls(len(kept), pa.float32()) if scores is None else pa.array(scores[stays]),
        "language": pa.array([one.language for one in spoken], pa.string()),
        "script": pa.array([one.script for one in spoken], pa.string()),
    }
    counts = Counter(
        f"tag.{rule_id}" for row in np.flatnonzero(stays) for rule_id in tags[row] if not rule_id.startswith("screen.")
    )
    counts.update(f"{removing[number].rule.effect(forced)}.{removing[number].rule.id}" for number in leaves_by[gone])
    return Batch(
        kept=pa.table([judged[name] for name in DOCUMENT_JUDGED.names], schema=DOCUMENT_JUDGED),
        ledger=ledger.table(),
        counts=dict(sorted((counts + screened).items())),
    )


def _screen(table: pa.Table, screens: Sequence[Screen], tags: list[list[str]]) -> Counter[str]:
    """Tag what the screens hit; counts all documents, by ``screen.<name>:<source>/<type>`` and ``screen.any:…``."""
    counts: Counter[str] = Counter()
    if not screens:
        return counts
    doc_types, sources = table["doc_type"].to_pylist(), table["source"].to_pylist()
    hits = [(screen.settings.name, screen.hits(table["text"], doc_types)) for screen in screens]
    for row, (source, doc_type) in enumerate(zip(sources, doc_types, strict=True)):
        names = [name for name, hit in hits if hit[row]]
        tags[row] += [f"screen.{name}" for name in names]
        counts.update(f"screen.{name}:{source}/{doc_type}" for name in (*names, *(["any"] if names else [])))
    return counts


def _is_for(rule: Judgement, doc_types: NDArray[np.object_]) -> NDArray[np.bool_]:
    return np.isin(doc_types, np.array(rule.doc_types, dtype=object))


def _bound_verdicts(rules: QualityRules, metrics: pa.Table, doc_types: NDArray[np.object_]) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for rule in rules.bound:
        values = metrics[rule.metric].to_numpy().astype(np.float64)
        verdicts.append(Verdict(rule, rule.hits(values) & _is_for(rule, doc_types), values))
    return verdicts


def _phrase_verdicts(
    rules: QualityRules, texts: list[str], n_visible: NDArray[np.int64], doc_types: NDArray[np.object_]
) -> list[Verdict]:
    hits = np.zeros((len(rules.phrase), len(texts)), np.bool_)
    values = np.zeros((len(rules.phrase), len(texts)), np.float64)
    for row, (text, doc_type) in enumerate(zip(texts, doc_types, strict=True)):
        for number, (count, covered) in rules.find_phrases(text, doc_type).items():
            rule = rules.phrase[number]
            share = covered / max(1, int(n_visible[row]))
            hits[number, row] = rule.hits(count, share)
            values[number, row] = rule.value(count, share)
    return [Verdict(*row) for row in zip(rules.phrase, hits, values, strict=True)]


def _citation_verdicts(
    rules: QualityRules, statutes: StatuteTables | None, table: pa.Table, doc_types: NDArray[np.object_]
) -> list[Verdict]:
    if statutes is None or not rules.citation:
        return []
    hits = np.zeros((len(rules.citation), len(table)), np.bool_)
    values = np.zeros((len(rules.citation), len(table)), np.float64)
    asked = np.flatnonzero(np.logical_or.reduce([_is_for(rule, doc_types) for rule in rules.citation]))
    documents = table.select(["text", "meta", "doc_type"]).take(pa.array(asked)).to_pylist()
    for row, document in zip(asked, documents, strict=True):
        cited = find(document["text"], statutes)
        counts = judge_citations(cited, _date_of(document["meta"] or {}), statutes) if cited else {}
        for number, rule in enumerate(rules.citation):
            if document["doc_type"] in rule.doc_types:
                values[number, row] = counts.get(rule.verdict, 0)
                hits[number, row] = rule.hits(int(values[number, row]))
    return [Verdict(*row) for row in zip(rules.citation, hits, values, strict=True)]


def _date_of(meta: Mapping[str, Any]) -> datetime.date | None:
    """The day whose law a document goes by; an exam goes by that of the end of its year."""
    year = meta.get("exam_year")
    return meta.get("judgment_date") or meta.get("version_date") or (datetime.date(year, 12, 31) if year else None)


def _score_verdicts(
    rules: QualityRules, classifier: Classifier | None, scores: NDArray[np.float32] | None, doc_types: NDArray[np.object_]
) -> list[Verdict]:
    if scores is None or classifier is None:
        return []
    values = scores.astype(np.float64)
    return [
        Verdict(rule, rule.hits(values) & _is_for(rule, doc_types), values)
        for rule in rules.classifier
        if rule.is_of(classifier.digest)
    ]
