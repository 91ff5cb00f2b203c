"""The data card: a release's manifest as a page for people, in Chinese and in English."""

from collections.abc import Mapping
from typing import Any

import jinja2

from lexmill.schema import STAGES

_ESCAPED = {ord("|"): "\\|", ord("\n"): " ", ord("<"): "&lt;", ord("&"): "&amp;"}
UNITS = ("docs", "chars", "bytes")
_LEFT = ("drop", "quarantine", "edit")


def facts(body: Mapping[str, Any], date: str) -> dict[str, Any]:
    """What the templates fill in, from the manifest only: ``date`` is the day of publication (ISO 8601)."""
    stages: dict[str, dict[str, int]] = {}
    rules: dict[tuple[str, str, str], int] = {}
    masked: dict[str, int] = {}
    for one in body["sets"]:
        for name, stage in one["stages"].items():
            row = stages.setdefault(name, {})
            for kind, groups in stage["counts"].items():
                for units in groups.values():
                    for unit in UNITS:
                        row[f"{kind}_{unit}"] = row.get(f"{kind}_{unit}", 0) + units.get(unit, 0)
            for tally, number in stage["tallies"].items():
                action, _, rule = tally.partition(":")
                if rule and action in _LEFT:
                    rules[name, action, rule] = rules.get((name, action, rule), 0) + number
                elif tally.startswith("masked."):
                    kind = tally.removeprefix("masked.")
                    masked[kind] = masked.get(kind, 0) + number
    removed: dict[str, int] = {}
    for one in body["sets"]:
        for why, number in one.get("removed", {}).items():
            removed[why] = removed.get(why, 0) + number
    inputs: dict[str, dict[str, int]] = {}
    for one in body["sets"]:
        for source, given in one["inputs"].items():
            row = inputs.setdefault(source, {"files": 0, "docs": 0})
            row["files"] += given["files"]
            row["docs"] += given["docs"]
    return {
        "body": body,
        "date": date,
        # A manifest that was read from its file has its names in the order of letters.
        "stages": {name: stages[name] for name in STAGES if name in stages},
        "rules": sorted((*key, number) for key, number in rules.items()),
        "masked": dict(sorted(masked.items())),
        "removed": dict(sorted(removed.items())),
        "inputs": inputs,
        "n_tokens": sum(body["tokens"].values()),
    }


def _cell(value: object) -> str:
    """A value in a cell of a table in Markdown, which would take marks of a table or of a page for its own."""
    return "–" if value is None else str(value).translate(_ESCAPED)


def render(template: str, body: Mapping[str, Any], date: str) -> str:
    """A card from its template (Jinja2); a name that the facts do not hold is an error, never an empty place."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    environment.filters["n"] = lambda number: f"{number:,}"
    # A card's free text may hold what a table takes for its own.
    environment.filters["cell"] = _cell
    return environment.from_string(template).render(facts(body, date))
