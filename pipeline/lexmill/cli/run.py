"""Commands that run the stages, and say how a run stands and what it did."""

import time
from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, LogFormat, Notify, Settings, app, log_to_stderr, notified, out, workspace_of
from lexmill.errors import ConfigError
from lexmill.schema import STAGES
from lexmill.store.workspace import RELEASE

_WATCH_S = 2.0


@app.command("run")
def run_command(
    config: ConfigFile,
    until: Annotated[str, typer.Option(metavar="STAGE", help=f"Stop after this stage: {', '.join(STAGES)}.")] = RELEASE,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the balance as JSON.")] = False,
    log_format: LogFormat = "text",
    notify_command: Notify = None,
) -> None:
    """Run every stage that is not up to date, and print the balance.

    Example: lexmill run data-samples/demo.toml --set tokenize.dp_width=8
    """
    from lexmill.jobs.run import run
    from lexmill.report import balance, summary

    if until not in (*STAGES, RELEASE):
        raise ConfigError(f"--until {until}: no such stage; there are {', '.join(STAGES)}")
    log_to_stderr(log_format)
    with notified(notify_command, config) as told:
        loaded = configuration.load(config, tuple(settings or ()))
        finished = run(loaded, until, Console(stderr=True))
        result = balance.balance(finished.manifests, finished.record)
        result["nothing_to_do"] = not finished.worked
        told.text = summary.summary(finished.run, result)
    if as_json:
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        return
    balance.show(result, out())
    if not finished.worked:
        typer.echo("nothing to do: every stage is up to date")


@app.command("status")
def status_command(
    config: ConfigFile,
    settings: Settings = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every two seconds until the run has ended.")] = False,
) -> None:
    """Say which stages exist, how far an unfinished one is, who holds the workspace, and how a run compares with its plan.

    Example: lexmill status data-samples/demo.toml --watch
    """
    from lexmill.report import status

    workspace = status.newest_night(workspace_of(config, settings))
    console = out()
    if not watch:
        console.print(status.view(workspace))
        return
    with Live(status.view(workspace), console=console, auto_refresh=False) as live:
        while status.is_held(workspace):
            time.sleep(_WATCH_S)
            workspace = status.newest_night(workspace_of(config, settings))
            live.update(status.view(workspace), refresh=True)


@app.command("trace")
def trace_command(
    config: ConfigFile,
    document: Annotated[str, typer.Argument(metavar="DOC_ID|CASE_NUMBER", help="A doc_id, or a case number as printed.")],
    settings: Settings = None,
) -> None:
    """Say what each stage did to a document, and why.

    Example: lexmill trace data-samples/demo.toml 0123456789abcdef0123456789abcdef
    """
    from lexmill.report import trace

    workspace = workspace_of(config, settings)
    for row in trace.resolve(workspace, document):
        table = Table(title=f"{row['doc_id']} (source {row['source']}, file {row['file_number']})")
        for column in ("stage", "action", "rule", "twin", "value", "characters removed"):
            table.add_column(column, justify="right" if column in ("value", "characters removed") else "left")
        for step in trace.trace(workspace, row["doc_id"]):
            value = "" if step["value"] is None else f"{step['value']:.3f}"
            table.add_row(step["stage"], step["action"], step["rule"], step["twin"] or "", value, f"{step['n_chars'] or ''}")
        out().print(table)
