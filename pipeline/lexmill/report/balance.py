"""The balance of a run: documents, characters, bytes and tokens in → out of every stage, and why the rest left."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from lexmill.store.stages import UNITS

# Bytes of UTF-8 a token stands for in legal Chinese with the default vocabulary (measured: 4.3 in judgments, 5.6 in statutes);
# before tokenising, tokens are an estimate and marked so.
_BYTES_A_TOKEN = 4.4


def totals(counts: Mapping[str, Mapping[str, Mapping[str, int]]], kind: str) -> dict[str, int]:
    """Documents, characters and bytes of one kind (in, out, drop, quarantine, edit) over all sources."""
    return {unit: sum(units.get(unit, 0) for units in counts.get(kind, {}).values()) for unit in UNITS}


def balance(manifests: Mapping[str, Mapping[str, Any]], record: Mapping[str, Any]) -> dict[str, Any]:
    """The balance as plain values, a row a stage; ``record`` is what run.json holds."""
    stages = []
    for name, manifest in manifests.items():
        if name == "release":
            continue
        counts = manifest["counts"]
        timings = [took for step, took in record["stages"].items() if step == name or step.startswith(f"{name}.")]
        cpu = sum(took["cpu_seconds"] for took in timings)
        worked = sum(took["tasks"] for took in timings)
        came = totals(counts, "in")
        stages.append(
            {
                "stage": name,
                "in": came,
                "out": totals(counts, "out"),
                "drop": totals(counts, "drop"),
                "quarantine": totals(counts, "quarantine"),
                "edit": totals(counts, "edit"),
                "seconds": round(sum(took["wall_seconds"] for took in timings), 1),
                "cpu_seconds": round(cpu, 1),
                "mb_per_core_second": round(came["bytes"] / 1e6 / cpu, 2) if worked and cpu else None,
                "peak_rss_mb": round(max((took["peak_rss"] for took in timings), default=0) / 1e6),
            }
        )
    rules = {
        name: {
            rule: number
            for rule, number in sorted(manifest["tallies"].items())
            if rule.startswith(("drop:", "quarantine:", "edit:"))
        }
        for name, manifest in manifests.items()
        if name != "release"
    }
    result: dict[str, Any] = {"stages": stages, "sources": _sources(manifests), "rules": rules, "run": dict(record)}
    if "release" in manifests:
        body = manifests["release"]
        result["release"] = body["release"]
        result["tokens"] = body["tokens"]
        result["windows"] = body["windows"]
    elif stages:
        result["tokens_estimated"] = round(stages[-1]["out"]["bytes"] / _BYTES_A_TOKEN)
    return result


def _sources(manifests: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a source and type: documents that came in, left by each stage, and are there at the end."""
    stages = [manifest["counts"] for name, manifest in manifests.items() if name != "release"]
    groups = sorted({group for counts in stages for units in counts.values() for group in units})
    return [
        {
            "source": group.rpartition("/")[0],
            "doc_type": group.rpartition("/")[2],
            "in": stages[0].get("in", {}).get(group, {}).get("docs", 0),
            "drop": sum(counts.get("drop", {}).get(group, {}).get("docs", 0) for counts in stages),
            "quarantine": sum(counts.get("quarantine", {}).get(group, {}).get("docs", 0) for counts in stages),
            "out": stages[-1].get("out", {}).get(group, {}).get("docs", 0),
        }
        for group in groups
    ]


def show(result: Mapping[str, Any], console: Console) -> None:
    """Print the balance as tables."""
    table = Table(title="Balance")
    for column in ("stage", "docs in", "docs out", "dropped", "quarantined", "chars in", "chars out", "MB in", "MB out"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for column in ("seconds", "MB/s/core", "peak MB"):
        table.add_column(column, justify="right")
    for row in result["stages"]:
        rate = row["mb_per_core_second"]
        table.add_row(
            row["stage"],
            *(
                f"{number:,}"
                for number in (row["in"]["docs"], row["out"]["docs"], row["drop"]["docs"], row["quarantine"]["docs"])
            ),
            *(f"{number:,}" for number in (row["in"]["chars"], row["out"]["chars"])),
            *(f"{number / 1e6:,.2f}" for number in (row["in"]["bytes"], row["out"]["bytes"])),
            f"{row['seconds']:.1f}",
            "–" if rate is None else f"{rate:.2f}",
            "–" if rate is None else f"{row['peak_rss_mb']:,}",
        )
    console.print(table)
    sources = Table(title="By source, in documents")
    for column in ("source", "type", "in", "dropped", "quarantined", "out"):
        sources.add_column(column, justify="left" if column in ("source", "type") else "right")
    for row in result["sources"]:
        numbers = (f"{row[name]:,}" for name in ("in", "drop", "quarantine", "out"))
        sources.add_row(row["source"], row["doc_type"], *numbers)
    console.print(sources)
    reasons = Table(title="Why documents left, and edits")
    for column in ("stage", "action", "rule", "rows"):
        reasons.add_column(column, justify="right" if column == "rows" else "left")
    for stage, rules in result["rules"].items():
        for name, number in rules.items():
            action, _, rule = name.partition(":")
            reasons.add_row(stage, action, rule, f"{number:,}")
    console.print(reasons)
    if "release" in result:
        for row in result["windows"]:
            length = f"sequences of {row['seq_len']}" if row["seq_len"] else "documents"
            console.print(
                f"release {result['release']}: {row['tokens']:,} tokens in {row['sequences']:,} {length}, "
                f"{row['shards']} shards, padding {row['padding_share']:.1%}, "
                f"{row['cut']:,} documents cut ({row['cut_share']:.1%})"
            )
    elif "tokens_estimated" in result:
        console.print(f"about {result['tokens_estimated']:,} tokens (estimated: nothing is tokenised yet)")
