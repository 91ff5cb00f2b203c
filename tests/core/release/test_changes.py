"""Two manifests say in which rules they differ, summed over their sets, and keep silent about what is equal."""

from typing import Any

from lexmill.core.release.changes import changes

CAUSES = ("policy", "tokenizer", "rules", "models", "config", "code", "versions", "inputs")


def body(*sets: dict[str, dict[str, int]]) -> dict[str, Any]:
    made_of: dict[str, Any] = {name: {} for name in CAUSES}
    return {
        "sets": [
            {
                "set": str(number),
                "stages": {stage: {"counts": {}, "tallies": tallies} for stage, tallies in stages.items()},
                **made_of,
            }
            for number, stages in enumerate(sets)
        ],
        "sources": {},
        "tokens": {"a/qa": 5},
        "shards": [],
    }


def test_rules_are_counted_over_all_sets_and_equal_ones_left_out() -> None:
    old = body(
        {
            "filter": {"drop:quality.menu": 3, "edit:x.same": 2, "n_sentences": 9, "length.qa:13": 4},
            "ingest": {"quarantine:ingest.empty": 1},
        }
    )
    new = body(
        {"filter": {"drop:quality.menu": 2, "edit:x.same": 1}},
        {"filter": {"drop:quality.menu": 6, "edit:x.same": 1, "n_sentences": 1}},
    )
    assert changes(old, new)["rules"] == {
        "ingest quarantine:ingest.empty": (1, 0),
        "filter drop:quality.menu": (3, 8),
    }
    assert changes(old, old)["rules"] == {}
