"""Commands that look at releases; they write nothing."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from lexmill.cli.base import app, out
from lexmill.config import at
from lexmill.errors import GateError

_FOLDER = "The folder of a release, or its s3:// URL, such as workspace/releases/2026-11-30-0123456789abcdef."


@app.command("verify")
def verify_command(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help=_FOLDER, parser=at)],
) -> None:
    """Prove a release: every file's digest, every count, the manifest against its files, and nothing beside them.

    Example: lexmill verify data-samples/workspace/releases/2026-11-30-0123456789abcdef
    """
    from lexmill.report import verify

    faults = verify.verify(release)
    for fault in faults:
        typer.echo(fault)
    if faults:
        raise GateError(f"{release.name} is not what it says: {len(faults)} faults")
    if verify.is_withdrawn(release):
        typer.echo(
            f"{release.name}: withdrawn; the files that were deleted are gone, the others and the manifest are as recorded"
        )
    else:
        typer.echo(f"{release.name}: every file, every count and the manifest are as recorded")


@app.command("diff")
def diff_command(
    before: Annotated[Path, typer.Argument(metavar="A", help=_FOLDER, parser=at)],
    after: Annotated[Path, typer.Argument(metavar="B", help="The one to compare it with.", parser=at)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what changed from release A to release B, and why.

    Example: lexmill diff releases/2026-11-29-0123456789abcdef releases/2026-11-30-0123456789abcdef
    """
    from lexmill.report import diff

    found = diff.diff(before, after)
    if as_json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    console = out()
    console.print(f"{found['a']} → {found['b']}{' (its child)' if found['b_follows_a'] else ''}")
    if found["documents"] is None:
        console.print(f"the data of {' and '.join(found['withdrawn'])} was deleted: documents cannot be compared")
    else:
        table = Table(title="Documents")
        for column in ("source/type", "added", "removed", "changed", "tokens"):
            table.add_column(column, justify="left" if column == "source/type" else "right")
        for group in sorted(found["documents"].keys() | found["tokens"].keys()):
            row = found["documents"].get(group, {"added": 0, "removed": 0, "changed": 0})
            numbers = (f"{row[what]:,}" for what in ("added", "removed", "changed"))
            table.add_row(group, *numbers, f"{found['tokens'].get(group, 0):+,}")
        console.print(table)
    if found["rules"]:
        by_rule = Table(title="Rules that took more or less away")
        for column in ("stage action:rule", "A", "B", "difference"):
            by_rule.add_column(column, justify="left" if column == "stage action:rule" else "right")
        for name, (was, now) in found["rules"].items():
            by_rule.add_row(name, f"{was:,}", f"{now:,}", f"{now - was:+,}")
        console.print(by_rule)
    reasons = Table(title="Why")
    for column in ("what", "which"):
        reasons.add_column(column)
    for name in ("sets_added", "sets_removed"):
        if found[name]:
            reasons.add_row(name.replace("_", " "), ", ".join(found[name]))
    for one, removed in found["removed_because"].items():
        reasons.add_row(f"taken back in set {one}", ", ".join(f"{why} {number:,}" for why, number in removed.items()))
    for name, which in found["causes"].items():
        reasons.add_row(f"{name} changed", ", ".join(which))
    console.print(reasons)
