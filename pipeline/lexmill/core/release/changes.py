"""What two releases differ in by their manifests alone: sets, tokens, rules, and what their newest sets were made from."""

from collections.abc import Mapping
from typing import Any

from lexmill.core.evidence.tables import total
from lexmill.schema import STAGES

# What a set is made from; a difference in one of these is a reason for a difference in the documents.
_CAUSES = ("policy", "tokenizer", "rules", "models", "config", "code", "versions", "sources", "inputs")


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """From the bodies of two manifests; ``tokens`` and ``rules`` hold the differences that are not zero.

    ``tokens`` is by ``source/type``; ``rules`` holds (ledger rows in ``old``, in ``new``) by ``stage action:rule``.
    """
    sets = [{one["set"]: one for one in body["sets"]} for body in (old, new)]
    return {
        "sets_added": sorted(sets[1].keys() - sets[0].keys()),
        "sets_removed": sorted(sets[0].keys() - sets[1].keys()),
        "removed_because": {
            one: body["removed"] for one, body in sorted(sets[1].items()) if body.get("removed") and one not in sets[0]
        },
        "causes": _causes(_made_of(old), _made_of(new)),
        "tokens": {
            group: new["tokens"].get(group, 0) - old["tokens"].get(group, 0)
            for group in sorted(old["tokens"].keys() | new["tokens"].keys())
            if new["tokens"].get(group, 0) != old["tokens"].get(group, 0)
        },
        "rules": _rules(old, new),
        "shards_shared": len({shard["sha256"] for shard in old["shards"]} & {shard["sha256"] for shard in new["shards"]}),
    }


def _rules(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    found = {}
    for stage in STAGES:
        one, other = (total(body, stage)[1] for body in (old, new))
        for name in sorted(one.keys() | other.keys()):
            # What is tallied by another name is no row of a ledger.
            if name.partition(":")[0] in ("drop", "edit", "quarantine") and one.get(name, 0) != other.get(name, 0):
                found[f"{stage} {name}"] = (one.get(name, 0), other.get(name, 0))
    return found


def _made_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the newest set is made from; sources and inputs are those of all sets, since a night names only what it read."""
    inputs: dict[str, list[Any]] = {}
    for one in body["sets"]:
        for source, given in one["inputs"].items():
            inputs.setdefault(source, []).append(given)
    return {**body["sets"][-1], "sources": body["sources"], "inputs": inputs}


def _causes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names in each part of what the newest sets are made from whose values differ."""
    causes = {}
    for name in _CAUSES:
        one, other = old[name], new[name]
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            causes[name] = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
        else:
            causes[name] = [f"{one} → {other}"]
    return causes
