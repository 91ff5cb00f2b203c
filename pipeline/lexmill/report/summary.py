"""A run in brief: what fits one screen, or a mail."""

from collections.abc import Mapping
from typing import Any

_WIDTH = 76
_REASONS = 8


def summary(run: str, result: Mapping[str, Any]) -> str:
    """Plain text of at most 24 lines of 76 characters from a balance (``balance.balance``): no name, no path, no text."""
    record = result["run"]
    lines = [f"lexmill run {run}: {record['seconds']:,.0f} s, {record['cpu_seconds']:,.0f} core-s on {record['workers']} workers"]
    if "release" in result:
        lines.append(f"release {result['release']}: {sum(result['tokens'].values()):,} tokens")
    else:
        lines.append("no release was published")
    if result["stages"]:
        lines += ["", f"{'stage':<16}{'docs in':>12}{'out':>12}{'dropped':>12}{'quarantined':>14}"]
        for row in result["stages"]:
            numbers = (row[kind]["docs"] for kind in ("in", "out", "drop", "quarantine"))
            lines.append(f"{row['stage']:<16}" + "".join(f"{n:>{w},}" for n, w in zip(numbers, (12, 12, 12, 14), strict=True)))
    reasons = [
        (number, f"{stage} {rule}")
        for stage, rules in result["rules"].items()
        for rule, number in rules.items()
        if "edit:" not in rule
    ]
    if reasons:
        lines += ["", "most frequent reasons"]
        lines += [f"{number:>12,}  {name}" for number, name in sorted(reasons, key=lambda one: (-one[0], one[1]))[:_REASONS]]
    lines.append(f"disk of the workspace: {record['disk_bytes'] / 1e9:,.2f} GB")
    return "\n".join(line[:_WIDTH] for line in lines[:24]) + "\n"
