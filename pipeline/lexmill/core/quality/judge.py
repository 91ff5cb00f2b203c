"""A batch of documents judged: the kept ones with tags and score, a ledger row for each that goes."""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lexmill.core.batch import Batch, Ledger
from lexmill.core.quality.classifier import Classifier
from lexmill.core.quality.metrics import measure
from lexmill.core.quality.rules import Judgement, QualityRules
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


def judge(table: pa.Table, rules: QualityRules, classifier: Classifier | None) -> Opinion:
    """Ask every rule about every document (schema DOCUMENT) of its types; nothing is decided here."""
    doc_types = np.array(table["doc_type"].to_pylist(), dtype=object)
    metrics = measure(table["text"])
    scores = None if classifier is None else classifier.score(table["text"])
    verdicts = [
        *_bound_verdicts(rules, metrics, doc_types),
        *_phrase_verdicts(rules, table["text"].to_pylist(), metrics["n_visible"].to_numpy(), doc_types),
        *_score_verdicts(rules, scores, doc_types),
    ]
    return Opinion(verdicts, metrics, scores)


def first_removing(verdicts: list[Verdict], n: int) -> NDArray[np.int64]:
    """Which of ``verdicts`` each of ``n`` documents leaves by, in their order: int64[n], -1 where it stays."""
    leaves_by = np.full(n, -1)
    for number in reversed(range(len(verdicts))):
        leaves_by[verdicts[number].hits] = number
    return leaves_by


def filter_documents(table: pa.Table, rules: QualityRules, classifier: Classifier | None, forced: Collection[str] = ()) -> Batch:
    """Judge documents (schema DOCUMENT): kept ones come back in schema DOCUMENT_JUDGED, in their order.

    A document leaves by the first removing rule that hits it, in the order of ``rules``; the ledger row holds that rule's
    measured value. Kept documents carry the sorted ids of all rules that hit them, and the classifier's score: null without one,
    and then the rules of kind ``classifier`` hit nothing. The rules whose ids are ``forced`` act without evidence. ``counts``
    holds documents by ``tag.<rule>``, ``drop.<rule>`` and ``quarantine.<rule>``.
    """
    verdicts, metrics, scores = judge(table, rules, classifier)
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
        ledger.add(**document, action=rule.effect(forced), rule=rule.id, n_chars=chars, n_bytes=size, value=float(value[row]))

    stays = leaves_by < 0
    kept = table.filter(pa.array(stays))
    judged = {
        **{name: kept[name] for name in table.column_names},
        "tags": pa.array([sorted(tags[row]) for row in np.flatnonzero(stays)], pa.list_(pa.string())),
        "quality": pa.nulls(len(kept), pa.float32()) if scores is None else pa.array(scores[stays]),
    }
    counts = Counter(f"tag.{rule_id}" for row in np.flatnonzero(stays) for rule_id in tags[row])
    counts.update(f"{removing[number].rule.effect(forced)}.{removing[number].rule.id}" for number in leaves_by[gone])
    return Batch(
        kept=pa.table([judged[name] for name in DOCUMENT_JUDGED.names], schema=DOCUMENT_JUDGED),
        ledger=ledger.table(),
        counts=dict(sorted(counts.items())),
    )


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


def _score_verdicts(rules: QualityRules, scores: NDArray[np.float32] | None, doc_types: NDArray[np.object_]) -> list[Verdict]:
    if scores is None:
        return []
    values = scores.astype(np.float64)
    return [Verdict(rule, rule.hits(values) & _is_for(rule, doc_types), values) for rule in rules.classifier]
