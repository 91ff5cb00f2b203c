"""What the quality rules would do to documents, rule by rule, before they do it."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lexmill.core.quality.classifier import Classifier
from lexmill.core.quality.judge import Verdict, first_removing, judge
from lexmill.core.quality.rules import Phrase, QualityRules
from lexmill.core.structure.citations import StatuteTables

EXAMPLES = 20
_EXCERPT = 160


def try_rules(
    documents: pa.Table,
    weights: NDArray[np.float64],
    tokens_a_byte: Mapping[str, float],
    rules: QualityRules,
    classifier: Classifier | None,
    statutes: StatuteTables | None,
    forced: Collection[str],
) -> dict[str, Any]:
    """Ask every rule about every document of a sample (schema DOCUMENT, masked); nothing is removed.

    ``weights`` (float64[n]) say for how many documents each stands, ``tokens_a_byte`` how many tokens a byte of each type makes.
    Returns plain values: ``groups`` (documents, characters, tokens by source/type), ``rules`` (every rule that hits: what by
    group, how many documents leave by no other rule, up to 20 excerpts), ``silent`` (the rules that hit nothing), ``overlap``
    (documents that two removing rules both hit) and ``leaving`` (what would leave in all, by group). Numbers are estimates
    wherever a weight is above 1.
    """
    verdicts, metrics, _ = judge(documents, rules, classifier, statutes)
    sources, doc_types = documents["source"].to_pylist(), documents["doc_type"].to_pylist()
    groups = np.array([f"{source}/{doc_type}" for source, doc_type in zip(sources, doc_types, strict=True)], dtype=object)
    sizes = np.array([len(text.encode()) for text in documents["text"].to_pylist()], np.float64)
    units = {
        "docs": weights,
        "chars": weights * metrics["n_chars"].to_numpy(),
        "tokens": weights * sizes * np.array([tokens_a_byte.get(doc_type, 0.0) for doc_type in doc_types]),
    }
    removing = [verdict for verdict in verdicts if verdict.rule.action != "tag"]
    effective = [verdict for verdict in removing if verdict.rule.effect(forced) != "tag"]
    n_removing = np.sum([verdict.hits for verdict in effective], axis=0) if effective else np.zeros(len(documents), np.int64)
    rows = []
    for verdict in verdicts:
        if not verdict.hits.any():
            continue
        rule = verdict.rule
        rows.append(
            {
                "rule": rule.id,
                "why": rule.why,
                "action": rule.action,
                "effect": rule.effect(forced),
                "false_drop_rate": rule.false_drop_rate,
                "hits": _by_group(groups, units, verdict.hits),
                "alone": _rounded(weights[verdict.hits & (n_removing == 1)].sum()) if rule.effect(forced) != "tag" else 0,
                "examples": _examples(documents, verdict, rules),
            }
        )
    leaves = first_removing(effective, len(documents)) >= 0
    return {
        "sampled": len(documents),
        "groups": _by_group(groups, units, np.ones(len(documents), np.bool_)),
        "rules": rows,
        "silent": [verdict.rule.id for verdict in verdicts if not verdict.hits.any()],
        "overlap": _overlap(removing, weights),
        "leaving": _by_group(groups, units, leaves),
    }


def _rounded(number: float) -> int:
    return round(float(number))


def _by_group(
    groups: NDArray[np.object_], units: Mapping[str, NDArray[np.float64]], rows: NDArray[np.bool_]
) -> dict[str, dict[str, int]]:
    return {
        str(group): {
            "sampled": int(np.sum(rows & (groups == group))),
            **{unit: _rounded(values[rows & (groups == group)].sum()) for unit, values in units.items()},
        }
        for group in sorted(set(groups[rows]))
    }


def _overlap(removing: list[Verdict], weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    pairs = []
    for number, first in enumerate(removing):
        for second in removing[number + 1 :]:
            both = weights[first.hits & second.hits].sum()
            if both:
                shares = [round(float(both / weights[verdict.hits].sum()), 4) for verdict in (first, second)]
                pairs.append({"rules": [first.rule.id, second.rule.id], "docs": _rounded(both), "shares": shares})
    return pairs


def _examples(documents: pa.Table, verdict: Verdict, rules: QualityRules) -> list[dict[str, Any]]:
    """The documents with the least doc_ids (which are hashes), one source after the other."""
    waiting: dict[str, list[int]] = defaultdict(list)
    sources = documents["source"].to_pylist()
    for row in np.flatnonzero(verdict.hits):
        waiting[sources[row]].append(int(row))
    rows: list[int] = []
    while len(rows) < EXAMPLES and any(waiting.values()):
        rows += [found.pop(0) for _, found in sorted(waiting.items()) if found]
    chosen = documents.take(rows[:EXAMPLES]).to_pylist()
    return [
        {
            "doc_id": document["doc_id"],
            "source": document["source"],
            "doc_type": document["doc_type"],
            "value": round(float(verdict.values[row]), 4),
            "text": _excerpt(document["text"], verdict, rules),
        }
        for row, document in zip(rows, chosen, strict=False)
    ]


def _excerpt(text: str, verdict: Verdict, rules: QualityRules) -> str:
    """Where a phrase was found, or the end of what breaks off, else the beginning."""
    at = 0
    if isinstance(verdict.rule, Phrase):
        at = max(0, (rules.first_phrase(text, verdict.rule) or 0) - _EXCERPT // 3)
    elif getattr(verdict.rule, "metric", None) == "broken_off":
        at = max(0, len(text) - _EXCERPT)
    excerpt = text[at : at + _EXCERPT].replace("\n", "⏎")
    return f"{'…' if at else ''}{excerpt}{'…' if at + _EXCERPT < len(text) else ''}"
