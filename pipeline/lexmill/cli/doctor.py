"""The command that says whether this machine, and a run file, are fit."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import Settings, app, out
from lexmill.errors import ConfigError

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@app.command("doctor")
def doctor_command(
    config: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="A run file whose settings and disk to look at too.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Look at machine, versions, tokenisers, models, rules, converters, disk and cluster, and say what to mend (exit code 2).

    Example: lexmill doctor data-samples/demo.toml
    """
    from lexmill.jobs import doctor

    findings = doctor.examine(configuration.load(config, tuple(settings or ())) if config else None)
    table = Table(title="lexmill doctor")
    for column in ("what", "state", "found", "what to do"):
        table.add_column(column)
    for finding in findings:
        state = f"[{_COLOURS[finding.state]}]{finding.state}[/]"
        table.add_row(finding.subject, state, finding.found, finding.remedy)
    out().print(table)
    if failed := sum(finding.state == "fail" for finding in findings):
        raise ConfigError(f"doctor: {failed} of {len(findings)} checks failed; see the table")
