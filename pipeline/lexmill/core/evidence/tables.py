"""What the evidence of a release says, as plain values: sources, samples, de-identification, people, takedowns.

Everything comes from the body of the manifest, whose sets carry their counts; nothing is read again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from lexmill.core.deid.people import ERROR

Row = dict[str, Any]

# What a source card may say where no model wrote the text.
_NO_MODEL = frozenset({"", "no", "none", "no model", "无", "否", "没有", "非模型生成"})


def total(body: Mapping[str, Any], stage: str) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, int]]:
    """(counts, tallies) of a stage over all sets of a release."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    tallies: dict[str, int] = {}
    for one in body["sets"]:
        found = one["stages"].get(stage, {"counts": {}, "tallies": {}})
        for kind, groups in found["counts"].items():
            for group, units in groups.items():
                at = counts.setdefault(kind, {}).setdefault(group, {})
                for unit, number in units.items():
                    at[unit] = at.get(unit, 0) + number
        for name, number in found["tallies"].items():
            tallies[name] = tallies.get(name, 0) + number
    return counts, tallies


def named(tallies: Mapping[str, int], prefix: str) -> dict[str, int]:
    """The tallies that begin with ``prefix``, without it."""
    return {name.removeprefix(prefix): number for name, number in sorted(tallies.items()) if name.startswith(prefix)}


def _by_source(groups: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """``source/type`` → value as source → type → value."""
    found: dict[str, dict[str, Any]] = {}
    for group, value in groups.items():
        source, _, doc_type = group.rpartition("/")
        found.setdefault(source, {})[doc_type] = value
    return found


def _screened(body: Mapping[str, Any]) -> dict[str, int]:
    """Documents that a screen looked at, by ``source/type``: those of stage filter whose type a screen of their set is for."""
    found: dict[str, int] = {}
    for one in body["sets"]:
        asked = {doc_type for screen in one.get("screens", []) for doc_type in screen["doc_types"]}
        for group, units in one["stages"].get("filter", {"counts": {}})["counts"].get("in", {}).items():
            if group.rpartition("/")[2] in asked:
                found[group] = found.get(group, 0) + units["docs"]
    return found


def sources(body: Mapping[str, Any]) -> list[Row]:
    """A row a source: its card, what was read and kept of it, and its shares of foreign, generated and flagged content."""
    came, _ = total(body, "ingest")
    kept, tallies = total(body, "filter")
    read, left = _by_source(came.get("in", {})), _by_source(kept.get("out", {}))
    tokens, screened = _by_source(body["tokens"]), _by_source(_screened(body))
    flagged = _by_source(named(tallies, "screen.any:"))
    files: dict[str, int] = {}
    for one in body["sets"]:
        for source, given in one["inputs"].items():
            files[source] = files.get(source, 0) + given["files"]
    rows = []
    for name, card in sorted(body["sources"].items()):
        looked_at, hit = sum(screened.get(name, {}).values()), sum(flagged.get(name, {}).values())
        rows.append(
            {
                "source": name,
                **card,
                "is_generated": (card["generated_by"] or "").strip().casefold() not in _NO_MODEL,
                "files": files.get(name, 0),
                **{
                    f"{unit}_read": sum(units.get(unit, 0) for units in read.get(name, {}).values()) for unit in ("docs", "bytes")
                },
                **{
                    f"{unit}_kept": sum(units.get(unit, 0) for units in left.get(name, {}).values()) for unit in ("docs", "bytes")
                },
                "documents_by_type": {doc_type: units["docs"] for doc_type, units in left.get(name, {}).items()},
                "tokens": sum(tokens.get(name, {}).values()),
                "screened": looked_at,
                "flagged": hit,
                "flagged_share": round(hit / looked_at, 6) if looked_at else None,
            }
        )
    return rows


def sampling(body: Mapping[str, Any]) -> Row:
    """Samples read by people, a line a set, and what screens looked at; totals are None where a set was not looked at."""
    counts, tallies = total(body, "filter")
    documents = sum(units["docs"] for units in counts.get("in", {}).values())
    looked_at, flagged = sum(_screened(body).values()), sum(named(tallies, "screen.any:").values())
    reviews = [one["review"] for one in body["sets"]]
    known = [review for review in reviews if review]
    whole = bool(known) and len(known) == len(reviews)
    read, bad = (sum(review["core"][of][key] for review in known) for of, key in (("defects", "n"), ("defects", "k")))
    planted = [review["planted"] for review in known]
    n_planted = sum(one["n"] for one in planted)
    return {
        "manual": {
            "sets": len(reviews),
            "sets_reviewed": len(known),
            "sample": read if whole else None,
            "pass_rate": round(1 - bad / read, 6) if whole and read else None,
            "defect_bound": max(review["bounds"]["defects"] for review in known) if whole else None,
            "identifier_bound": max(review["bounds"]["identifiers"] for review in known) if whole else None,
            "planted_recall": round(sum(one["k"] for one in planted) / n_planted, 6) if whole and n_planted else None,
        },
        "lots": [{"set": one["set"], **_lot(one["review"])} for one in body["sets"] if one["review"]],
        "technical": {
            "screens": [{"set": one["set"], **screen} for one in body["sets"] for screen in one.get("screens", [])],
            "documents": looked_at if looked_at else None,
            "of": documents,
            "coverage": round(looked_at / documents, 6) if looked_at else None,
            "flagged": flagged if looked_at else None,
            "pass_rate": round(1 - flagged / looked_at, 6) if looked_at else None,
        },
    }


def _lot(review: Mapping[str, Any]) -> Row:
    return {
        "lot": review["lot"],
        "lot_documents": review.get("documents"),
        "verdicts": review.get("verdicts"),
        "terms": review["terms"],
        "defects": review["core"]["defects"],
        "identifiers": review["core"]["identifiers"],
        "bounds": review["bounds"],
        "planted": review["planted"],
        "by_defect": {name: rate["k"] for name, rate in (review.get("by_defect") or {}).items()},
        "dropped": review.get("dropped"),
        "spans": review.get("spans"),
        "double": review.get("double"),
        "decision_sha256": review.get("decision_sha256"),
    }


def deidentification(body: Mapping[str, Any]) -> Row:
    """What was masked, by which policy, what was left out, what the last scan looked at, and what may be said of it."""
    _, tallies = total(body, "deidentify")
    enabled = bool(body["sets"]) and all(one["policy"] for one in body["sets"])
    policies: list[Row] = []
    for one in body["sets"]:
        said = one.get("deidentification")
        policy = {"policy": one["policy"], **said} if said else None
        if policy and policy not in policies:
            policies.append(policy)
    return {
        "enabled": enabled,
        "policies": policies,
        "masked": named(tallies, "masked."),
        "documents_masked": tallies.get("documents.masked", 0),
        "sensitive_documents": {name: n for name, n in named(tallies, "documents.").items() if name != "masked"},
        "quarantined": named(tallies, "quarantine:"),
        "article_4_dropped": named(tallies, "drop:"),
        "residual": _scanned(body["sets"]),
        **_claims(enabled),
    }


def _scanned(sets: Iterable[Mapping[str, Any]]) -> Row | None:
    each = [one.get("residual") for one in sets]
    known = [one for one in each if one]
    if not known or len(known) < len(each):
        return None
    kinds = set.intersection(*(set(one["kinds"]) for one in known))
    return {"kinds": sorted(kinds), **{name: sum(one[name] for one in known) for name in ("shards", "documents", "found")}}


def _claims(enabled: bool) -> Row:
    never = [
        "“匿名化”或“不含个人信息”：已公开的裁判文书可以凭内容找回原文（个人信息保护法第73条第4项）",
        "“没有遗漏”：识别由程序完成，漏失率由人工抽检给出上限，没有抽检就没有上限",
        "“符合某标准”：条款原文未核对，表中结论以律师意见为准",
    ]
    if not enabled:
        return {"may_be_claimed": [], "may_not_be_claimed": ["“去标识化”：至少一批文本没有经过遮盖", *never]}
    return {
        "may_be_claimed": [
            "已按所列策略去标识化：所列各类标识被替换，同一文档内同一人用同一代称",
            "程序不保存姓名与代称的对照表，也不使用可复原的密钥",
            "发布前以独立程序扫描过解码后的词元分片，未发现仍有效的身份证号、银行卡号、手机号、统一社会信用代码",
        ],
        "may_not_be_claimed": never,
    }


def people(body: Mapping[str, Any]) -> Row:
    """How many natural persons the texts named before masking, and how many may still be named after it.

    Before: people by document (an exact count of what was masked) and different names (HyperLogLog). Neither is the number of
    people: one stands in many documents, some share a name, and names that were missed or masked before are not counted. After:
    from the review's bound on documents with a direct identifier; None without one, and where a policy keeps names.
    """
    before = [one["stages"].get("deidentify", {"tallies": {}})["tallies"] for one in body["sets"]]
    names = [tallies["people.names"] for tallies in before if "people.names" in tallies]
    in_documents = sum(tallies.get("people.masked", 0) for tallies in before)
    masked = deidentification(body)
    documents = body["documents"]
    reviews = [one["review"] for one in body["sets"]]
    keeps = sorted({role for policy in masked["policies"] for role in policy["keep_roles"]})
    after: Row = {"documents_at_most": None, "people_at_most": None, "roles_kept": keeps}
    if masked["enabled"] and not keeps and all(reviews):
        at_most = max(review["bounds"]["identifiers"] for review in reviews) * documents
        each = in_documents / max(1, masked["documents_masked"])
        after |= {"documents_at_most": round(at_most, 1), "people_at_most": round(at_most * max(1.0, each), 1)}
    return {
        "before": {
            "in_documents": in_documents,
            "names_low": max(names, default=None),
            "names_high": sum(names) if names else None,
            "relative_standard_error": round(ERROR, 5),
            "sets": len(before),
        },
        "after": after,
        "documents": documents,
    }


def takedowns(body: Mapping[str, Any], tombstones: Mapping[str, int]) -> Row:
    """Documents taken down by day (tombstones of the workspace), and documents that left the sets of this release, by reason."""
    removed: dict[str, int] = {}
    for one in body["sets"]:
        for why, number in one.get("removed", {}).items():
            removed[why] = removed.get(why, 0) + number
    return {"tombstones": dict(sorted(tombstones.items())), "removed": dict(sorted(removed.items()))}
