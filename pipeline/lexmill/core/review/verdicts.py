"""Who reads which item, and what all verdicts together decide about the lot."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from lexmill.core.review import statistics
from lexmill.core.review.planted import DAMAGED, DIRECT
from lexmill.core.review.sampling import place

GOOD, BAD = "合格", "不合格"
# What a reviewer may say is wrong; the order is that of the drop-down.
DEFECTS = (
    DIRECT,
    "间接标识残留",
    "误遮盖",
    DAMAGED,
    "分段或标题错误",
    "与文书类型不符",
    "重复",
    "违法不良信息",
    "不应删除",
    "其他",
)

ITEM = pa.schema(
    [
        ("item", pa.string()),  # 16 hex digits; says nothing about the document
        ("kind", pa.string()),  # kept | dropped | span
        ("doc_type", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        (
            "spans",
            pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("entity", pa.string()), ("rule", pa.string())])),
        ),
        ("doc_id", pa.string()),
        ("source", pa.string()),
        ("stratum", pa.string()),
        ("stage", pa.string()),
        ("rule", pa.string()),
        ("weight", pa.float64()),
        ("core", pa.bool_()),
        ("planted", pa.string()),  # the class of the defect put in, else null
    ]
)


class Verdict(NamedTuple):
    """What one reviewer says of one item."""

    item: str
    reviewer: str
    verdict: str
    defect: str
    note: str


@dataclass(frozen=True)
class Terms:
    """What a lot must prove, each at ``confidence``."""

    confidence: float
    max_identifiers: float  # share of documents with a direct identifier
    min_pass: float  # share of documents without any defect
    min_recall: float  # share of planted defects that the reviewers find


def assign(items: Sequence[str], reviewers: Sequence[str], double: float, seed: int) -> dict[str, list[str]]:
    """The items of each reviewer, in the order of ``items``; a share ``double`` of them goes to two who do not know it."""
    given: dict[str, list[str]] = {reviewer: [] for reviewer in reviewers}
    for item in items:
        first = int(place(item, seed, "reviewer") * len(reviewers))
        given[reviewers[first]].append(item)
        if len(reviewers) > 1 and place(item, seed, "double") < double:
            other = 1 + int(place(item, seed, "second") * (len(reviewers) - 1))
            given[reviewers[(first + other) % len(reviewers)]].append(item)
    return given


def decide(items: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict], n_lot: int, terms: Terms) -> dict[str, Any]:
    """Accept or reject a lot of ``n_lot`` documents; ``reasons`` says why not, and every number carries its denominator.

    ``items`` are rows of ITEM. An item is defective if any of its reviewers says so: two readers miss less than one.
    """
    by_item: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_item.setdefault(verdict.item, []).append(verdict)
    kept = [item for item in items if item["kind"] == "kept" and item["planted"] is None]
    planted = [item for item in items if item["planted"] is not None]
    core = [item for item in kept if item["core"]]

    def read(group: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [item for item in group if item["item"] in by_item]

    def has(item: Mapping[str, Any], *defects: str) -> bool:
        said = [verdict for verdict in by_item[item["item"]] if verdict.verdict == BAD]
        return any(not defects or verdict.defect in defects for verdict in said)

    def rate(group: Sequence[Mapping[str, Any]], *defects: str) -> dict[str, Any]:
        judged = read(group)
        return asdict(statistics.rate(sum(has(item, *defects) for item in judged), len(judged), terms.confidence))

    def weighted(group: Sequence[Mapping[str, Any]], *defects: str) -> dict[str, Any]:
        judged = read(group)
        found = [has(item, *defects) for item in judged]
        return asdict(statistics.weighted_rate(found, [item["weight"] for item in judged], terms.confidence))

    def bound(*defects: str) -> float:
        judged = read(core)
        k = sum(has(item, *defects) for item in judged)
        # Nothing is left to infer where the whole lot was read.
        return k / n_lot if n_lot and len(judged) == n_lot else statistics.upper_bound(k, len(judged), terms.confidence)

    recall = rate(planted)
    identifiers, defects = bound(DIRECT), bound()
    unread = len(items) - len(read(items))
    reasons = _reasons(
        unread,
        [(f"{DIRECT}：已检出的文书", sum(has(item, DIRECT) for item in read(kept)), 0.0)],
        [
            (f"{DIRECT}率的上限", identifiers, terms.max_identifiers),
            ("缺陷率的上限", defects, 1 - terms.min_pass),
        ],
        recall,
        terms,
    )
    dropped = [item for item in items if item["kind"] == "dropped"]
    spans = [item for item in items if item["kind"] == "span"]
    pairs = [said[:2] for said in by_item.values() if len(said) > 1]
    return {
        "accepted": not reasons,
        "reasons": reasons,
        "terms": asdict(terms),
        "lot": n_lot,
        "items": len(items),
        "unread": unread,
        "verdicts": len(verdicts),
        "core": {"n": len(read(core)), "defects": rate(core), "identifiers": rate(core, DIRECT)},
        "bounds": {"identifiers": identifiers, "defects": defects},
        "weighted": {
            "defects": weighted(kept),
            "identifiers": weighted(kept, DIRECT),
            "corrected_defects": statistics.corrected(weighted(kept)["estimate"], recall["estimate"]) if planted else None,
        },
        "by_defect": {name: rate(core, name) for name in DEFECTS},
        "dropped": weighted(dropped),
        "spans": weighted(spans),
        "planted": recall,
        "double": {"n": len(pairs), "kappa": statistics.kappa([a.verdict for a, _ in pairs], [b.verdict for _, b in pairs])},
        "reviewers": _by_reviewer(planted, by_item),
        "suspected_rules": _suspects([*dropped, *spans], by_item, terms),
    }


def _reasons(
    unread: int,
    counts: Sequence[tuple[str, int, float]],
    bounds: Sequence[tuple[str, float, float]],
    recall: Mapping[str, Any],
    terms: Terms,
) -> list[str]:
    reasons = [f"{name} {number} 份，应为 {limit:.0f}" for name, number, limit in counts if number > limit]
    reasons += [
        f"{name} {value:.4%} 高于 {limit:.4%}（置信度 {terms.confidence:.0%}）" for name, value, limit in bounds if value > limit
    ]
    if recall["n"] and recall["estimate"] < terms.min_recall:
        reasons.append(f"埋设缺陷检出 {recall['k']}/{recall['n']}，低于 {terms.min_recall:.0%}")
    if unread:
        reasons.append(f"尚有 {unread} 项未审")
    return reasons


def _by_reviewer(planted: Sequence[Mapping[str, Any]], by_item: Mapping[str, Sequence[Verdict]]) -> dict[str, dict[str, int]]:
    """Verdicts of each reviewer, and how many planted defects were met and found."""
    known = {item["item"] for item in planted}
    counted: dict[str, dict[str, int]] = {}
    for said in by_item.values():
        for verdict in said:
            mine = counted.setdefault(verdict.reviewer, {"verdicts": 0, "planted": 0, "found": 0})
            mine["verdicts"] += 1
            if verdict.item in known:
                mine["planted"] += 1
                mine["found"] += verdict.verdict == BAD
    return dict(sorted(counted.items()))


def _suspects(
    items: Sequence[Mapping[str, Any]], by_item: Mapping[str, Sequence[Verdict]], terms: Terms
) -> dict[str, dict[str, Any]]:
    """Rules that were wrong for certain more often than they may be: the lower bound of their errors is above the limit."""
    judged: dict[str, list[bool]] = {}
    for item in items:
        if item["item"] in by_item:
            wrong = any(verdict.verdict == BAD for verdict in by_item[item["item"]])
            judged.setdefault(item["rule"], []).append(wrong)
    found = {}
    for rule, errors in sorted(judged.items()):
        if statistics.lower_bound(sum(errors), len(errors), terms.confidence) > 1 - terms.min_pass:
            found[rule] = {"judged": len(errors), "wrong": sum(errors)}
    return found
