"""The tables of the evidence, from the body of a manifest with two sets: known sums, and nothing said that was not measured."""

import copy
from typing import Any

import pytest

from lexmill.core.evidence.figures import described, figures
from lexmill.core.evidence.tables import deidentification, people, sampling, sources, takedowns
from lexmill.core.release.body import compose

CARD = {
    "doc_type": "qa",
    "origin": "open",
    "licence": "CC0",
    "contract": None,
    "collected": "2026-01-02",
    "legal_basis": "published",
    "foreign": False,
    "jurisdiction": "CN",
    "confidentiality": "public",
    "consent": None,
    "rights": None,
    "generated_by": "no model",
}


def units(docs: int, size: int) -> dict[str, int]:
    return {"docs": docs, "chars": size, "bytes": 3 * size}


def review(n: int, k: int, bound: float) -> dict[str, Any]:
    rate = {"n": n, "k": k, "estimate": k / n, "low": 0.0, "high": 1.0}
    return {
        "lot": "ab12",
        "sha256": "0" * 64,
        "terms": {"confidence": 0.95},
        "core": {"n": n, "defects": rate, "identifiers": {**rate, "k": 0}},
        "bounds": {"identifiers": bound, "defects": 2 * bound},
        "planted": {**rate, "n": 10, "k": 9},
    }


def one_set(name: str, reviewed: dict[str, Any] | None = None, screens: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A set of 100 questions and 50 judgments read, of which 80 and 40 stay."""
    masks = {"version": "1", "mask": ["ID_CARD", "PERSON"], "keep": [], "mask_roles": ["party"], "keep_roles": []}
    came = {"a/qa": units(100, 1000), "b/judgment": units(50, 5000)}
    deduped = {"a/qa": units(90, 900), "b/judgment": units(40, 4000)}
    masked = {"a/qa": units(90, 900), "b/judgment": units(40, 3600)}
    kept = {"a/qa": units(80, 800), "b/judgment": units(40, 3600)}
    stages: dict[str, dict[str, Any]] = {
        "ingest": {"counts": {"in": came, "out": came}, "tallies": {}},
        "dedup": {
            "counts": {"in": came, "out": deduped, "drop": {"a/qa": units(10, 100), "b/judgment": units(10, 1000)}},
            "tallies": {"drop:dedup.exact": 20, "clusters:01": 18, "clusters:02": 1, "families:03": 2},
        },
        "decontaminate": {"counts": {"in": deduped, "out": deduped}, "tallies": {}},
        "deidentify": {
            "counts": {"in": deduped, "out": masked, "edit": {"b/judgment": units(40, 400)}},
            "tallies": {
                "edit:deid.mask": 40,
                "masked.PERSON": 300,
                "masked.ID_CARD": 5,
                "documents.masked": 40,
                "documents.sensitive.health": 7,
                "people.masked": 80,
                "people.names": 60,
            },
        },
        "filter": {
            "counts": {"in": masked, "out": kept, "drop": {"a/qa": units(10, 100)}},
            "tallies": {
                "drop:quality.qa.short": 10,
                "screen.any:a/qa": 3,
                "screen.drugs:a/qa": 3,
                "length.qa:08": 80,
                "length.judgment:14": 40,
                "quality.qa:03": 20,
                "quality.qa:19": 60,
            },
        },
    }
    for stage in stages.values():
        stage["fingerprint"] = "0"
    stages["tokenize"] = {"counts": {"in": kept, "out": kept}, "tallies": {}, "fingerprint": "0"}
    groups = {
        group: {"pool_docs": docs, "pool_tokens": tokens, "epochs": 1.0, "docs": docs, "tokens": tokens, "share": 0.5}
        | {"chars": kept[group]["chars"], "bytes": kept[group]["bytes"]}
        for group, docs, tokens in (("a/qa", 80, 600), ("b/judgment", 40, 2400))
    }
    return {
        "set": name,
        "policy": "train-strict",
        "deidentification": {**masks, "article_4": True, "recognizers": 0},
        "residual": {"kinds": ["ID_CARD"], "shards": 2, "documents": 120, "found": 0},
        "screens": screens if screens is not None else [{"name": "drugs", "doc_types": ["qa"], "sha256": "1" * 64}],
        "tokenizer": {"name": "t", "sha256": "2" * 64, "vocab_size": 9, "unknown_tokens": 0, "unknown_share": 0.0},
        "rules": {"quality": "r1"},
        "models": {},
        "config": {},
        "code": {},
        "versions": {},
        "review": reviewed,
        "sources": {"a": CARD, "b": {**CARD, "doc_type": "judgment", "foreign": True, "generated_by": "a model"}},
        "inputs": {source: {"files": 2, "docs": docs, "sha256": "3" * 64} for source, docs in (("a", 100), ("b", 50))},
        "stages": stages,
        "benchmarks": [{"name": "exam", "sha256": "4" * 64, "items": 10, "documents": 4}],
        "mix": {"settings": {}, "groups": groups},
        "tokens": {"a/qa": 600, "b/judgment": 2400},
    }


def body(*sets: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    """The body of a release of these sets, with a shard and a text part each."""
    counts = {"documents": 120, "tokens": 3000, "headings": 0, "sequences": 8, "padding": 72, "cut": 0, "cuts": {"sentence": 0}}
    shards = [{"path": f"tokens/{one['set']}", "sha256": one["set"], "seq_len": 384, "rows": 8, **counts} for one in sets]
    texts = [{"path": f"text/{one['set']}", "sha256": one["set"], "rows": 120, "bytes": 999} for one in sets]
    return {**compose("1.0", parent, sets, shards, texts), "release": "f" * 16}


def test_sums_and_shares_over_two_sets() -> None:
    found = body(one_set("s1"), one_set("s2"))
    a, b = sources(found)
    assert (a["docs_read"], a["docs_kept"], a["bytes_kept"], a["tokens"], a["files"]) == (200, 160, 4800, 1200, 4)
    assert (a["screened"], a["flagged"], a["flagged_share"]) == (180, 6, round(6 / 180, 6))
    assert (b["screened"], b["flagged_share"], b["is_generated"], a["is_generated"]) == (0, None, True, False)
    value = figures(found, {"2026-01-01": 3})
    assert value["release.documents"] == 240
    assert value["sources.judgments"] == 80
    assert (value["sources.open"], value["sources.commercial"], value["sources.commercial_with_contract"]) == (2, 0, None)
    assert value["sources.foreign_open_share"] == value["sources.generated_share"] == 0.8
    assert (value["screen.documents"], value["screen.coverage"]) == (180, round(180 / 260, 6))
    assert value["screen.pass_rate"] == round(1 - 6 / 180, 6)
    assert (value["deid.masked"], value["deid.documents"], value["deid.sensitive_documents"]) == (610, 80, 14)
    assert (value["residual.documents"], value["residual.found"]) == (240, 0)
    assert (value["people.in_documents"], value["people.names_low"], value["people.names_high"]) == (160, 60, 120)
    assert (value["takedown.tombstones"], value["takedown.removed"]) == (3, 0)
    assert (value["deid.masks.ID_CARD"], value["deid.masks_role.party"], value["deid.keeps_roles"]) == (1, 1, 0)
    for name in value:
        assert all(described(name)), name


def test_what_was_not_looked_at_is_not_said() -> None:
    value = figures(body(one_set("s1", screens=[])), {})
    for name in ("screen.coverage", "screen.pass_rate", "screen.worst_source_share", "review.sample", "review.identifier_bound"):
        assert value[name] is None, name
    half = body(one_set("s1", review(1000, 10, 0.003)), one_set("s2"))
    assert sampling(half)["manual"]["sample"] is None
    assert [lot["set"] for lot in sampling(half)["lots"]] == ["s1"]
    assert people(half)["after"]["documents_at_most"] is None


def test_a_reviewed_release_has_bounds() -> None:
    found = body(one_set("s1", review(1000, 10, 0.003)), one_set("s2", review(3000, 30, 0.001)))
    manual = sampling(found)["manual"]
    assert (manual["sample"], manual["pass_rate"], manual["planted_recall"]) == (4000, 0.99, 0.9)
    assert (manual["identifier_bound"], manual["defect_bound"]) == (0.003, 0.006)
    after = people(found)["after"]
    assert (after["documents_at_most"], after["people_at_most"]) == (round(0.003 * 240, 1), round(0.003 * 240 * 2, 1))


@pytest.mark.parametrize("policy", [None, "spc2016"])
def test_what_may_be_claimed_follows_the_masking(policy: str | None) -> None:
    one = one_set("s1", review(1000, 0, 0.003))
    one["policy"] = policy
    if policy is None:
        one |= {"deidentification": None, "residual": None}
    else:
        one["deidentification"] |= {"mask": ["ID_CARD"], "keep": ["PERSON"], "mask_roles": [], "keep_roles": ["party"]}
    said = deidentification(body(one))
    assert bool(said["may_be_claimed"]) == (policy is not None)
    assert any("匿名化" in claim for claim in said["may_not_be_claimed"])
    assert not any("匿名化" in claim for claim in said["may_be_claimed"])
    assert people(body(one))["after"]["documents_at_most"] is None
    value = figures(body(one), {})
    assert (value.get("deid.masks.PERSON"), value["deid.enabled"]) == ((None, 0) if policy is None else (0, 1))


def test_takedowns_are_told_by_day_and_by_reason() -> None:
    one = copy.deepcopy(one_set("s1"))
    one["removed"] = {"takedown": 2, "withdrawn": 5}
    assert takedowns(body(one, one_set("s2")), {"2026-02-02": 1, "2026-01-01": 1}) == {
        "tombstones": {"2026-01-01": 1, "2026-02-02": 1},
        "removed": {"takedown": 2, "withdrawn": 5},
    }


def test_a_release_of_an_earlier_version_is_told_of() -> None:
    one = one_set("s1")
    for name in ("deidentification", "residual", "screens"):
        del one[name]
    del one["stages"]["deidentify"]["tallies"]["people.names"]
    value = figures(body(one), {})
    assert (value["residual.found"], value["people.names_low"], value["screen.documents"]) == (None, None, None)
