"""The command line: arguments, logging and exit codes; no logic."""

import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import orjson
import structlog
import typer
from rich.console import Console
from rich.table import Table
from typer.exceptions import TyperException

from lexmill import config as configuration
from lexmill import errors
from lexmill.errors import ConfigError, LexmillError
from lexmill.store.workspace import RELEASE, STAGES, Workspace

# What a command needs beyond this it imports itself: Presidio, Dask and numba take two seconds, and `--help` needs none of them.

app = typer.Typer(
    help="Turns raw Chinese legal text into de-identified, deduplicated, tokenised pretraining shards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
rules_app = typer.Typer(help="Rule files.", no_args_is_help=True)
app.add_typer(rules_app, name="rules")

_WIDTH_WITHOUT_TERMINAL = 160

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run file (TOML); see lexmill.example.toml.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the run file (TOML value).")
]


def _out() -> Console:
    # Without a terminal (a log, a mail, a pipe) rich would fold tables at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_WITHOUT_TERMINAL)


def _workspace(config: Path, settings: list[str] | None) -> Workspace:
    loaded = configuration.load(config, tuple(settings or ()))
    return Workspace(loaded.workspace_dir, loaded.run)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lexmill {version('lexmill')}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command("run")
def run_command(
    config: ConfigFile,
    until: Annotated[str, typer.Option(metavar="STAGE", help=f"Stop after this stage: {', '.join(STAGES)}.")] = RELEASE,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the balance as JSON.")] = False,
) -> None:
    """Run every stage that is not up to date, and print the balance.

    Example: lexmill run data-samples/demo.toml --set tokenize.dp_width=8
    """
    from lexmill.jobs.run import run
    from lexmill.report import balance

    if until not in (*STAGES, RELEASE):
        raise ConfigError(f"--until {until}: no such stage; there are {', '.join(STAGES)}")
    loaded = configuration.load(config, tuple(settings or ()))
    finished = run(loaded, until, Console(stderr=True))
    result = balance.balance(finished.manifests, finished.record)
    result["nothing_to_do"] = not finished.worked
    if as_json:
        typer.echo(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        return
    balance.show(result, _out())
    if not finished.worked:
        typer.echo("nothing to do: every stage is up to date")


@app.command("status")
def status_command(config: ConfigFile, settings: Settings = None) -> None:
    """Say which stages exist, how far an unfinished one is, and who holds the workspace.

    Example: lexmill status data-samples/demo.toml
    """
    from lexmill.report import status

    workspace = _workspace(config, settings)
    table = Table(title=f"run {workspace.run}")
    for column in ("stage", "state", "parts", "docs out", "dropped", "quarantined"):
        table.add_column(column, justify="left" if column in ("stage", "state") else "right")
    for row in status.stages(workspace):
        table.add_row(*row)
    _out().print(table)
    typer.echo(status.holder(workspace))


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

    workspace = _workspace(config, settings)
    for row in trace.resolve(workspace, document):
        table = Table(title=f"{row['doc_id']} (source {row['source']}, file {row['file_number']})")
        for column in ("stage", "action", "rule", "twin", "value", "characters removed"):
            table.add_column(column, justify="right" if column in ("value", "characters removed") else "left")
        for step in trace.trace(workspace, row["doc_id"]):
            value = "" if step["value"] is None else f"{step['value']:.3f}"
            table.add_row(step["stage"], step["action"], step["rule"], step["twin"] or "", value, f"{step['n_chars'] or ''}")
        _out().print(table)


@app.command("sources")
def sources_command(config: ConfigFile, settings: Settings = None) -> None:
    """List what would be read, source by source, and the first problem in each; nothing is written.

    Example: lexmill sources data-samples/demo.toml
    """
    from lexmill.jobs import preview

    table = Table(title="Sources")
    for column in ("source", "type", "files", "MB", "formats", "encodings", "first problem"):
        table.add_column(column, justify="right" if column in ("files", "MB") else "left")
    for found in preview.survey_sources(configuration.load(config, tuple(settings or ()))):
        formats, encodings = (
            ", ".join(f"{name} {number:,}" for name, number in sorted(counted.items()))
            for counted in (found.formats, found.encodings)
        )
        problem = f"{found.problem[0]} (file {found.problem[1]})" if found.problem else ""
        table.add_row(
            found.name, found.doc_type, f"{found.n_files:,}", f"{found.n_bytes / 1e6:,.1f}", formats, encodings, problem
        )
    _out().print(table)


@app.command("extract")
def extract_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A raw file in any format that ingest reads.")],
    doc_type: Annotated[str, typer.Option(help="judgment, contract, exam, qa, statute, or auto for each document.")] = "auto",
) -> None:
    """Print the documents of a file as JSON lines: text, title, metadata, segments, and what was cut by which rule.

    Example: lexmill extract contract.html --doc-type contract
    """
    from lexmill.jobs import preview

    for document in preview.extract(file, doc_type):
        typer.echo(orjson.dumps(document).decode())


@rules_app.command("check")
def check_rules(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A folder of rules that overlay the shipped ones.")] = None,
) -> None:
    """Load all rules and prove each on its own examples.

    Example: lexmill rules check my-rules/
    """
    from lexmill import rules

    found = rules.load([folder.absolute()] if folder else [])
    shipped, mine = rules.ids(rules.load()), rules.ids(found)
    for family, number in rules.count(found).items():
        typer.echo(f"{family}: {number} rules, all prove their examples")
        for rule in sorted(rule for rule in mine[family] if mine[family][rule] != shipped[family].get(rule)):
            typer.echo(f"  {rule}: {'replaced' if rule in shipped[family] else 'new'}")


@app.command("mask")
def mask_command(
    source: Annotated[str, typer.Argument(metavar="INPUT.jsonl", help="Lines of {id, text}; - for standard input.")],
    out: Annotated[str, typer.Option("--out", metavar="OUT.jsonl", help="Lines of {id, text, spans}; - for standard output.")],
    policy: Annotated[str, typer.Option(help="The masking policy.")] = "train-strict",
    doc_type: Annotated[str, typer.Option(help="judgment, contract, exam, qa, statute, or auto for each line.")] = "auto",
) -> None:
    """Mask lines of text; spans are code points of the input, and nothing outside them changes.

    Example: lexmill mask letters.jsonl --out masked.jsonl --policy spc2016
    """
    from lexmill.jobs import masking

    failed = masking.mask_file(source, out, policy, doc_type)
    if failed:
        typer.echo(f"{failed} lines failed: see `error` in the output", err=True)
        raise typer.Exit(errors.EXIT_STOPPED)


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Libraries log what they are given, which may be text: only ours speaks.
    logging.getLogger().addHandler(logging.NullHandler())


def main() -> None:
    """Run the command and exit as ``errors.py`` says."""
    _log_to_stderr()
    code = errors.EXIT_OK
    try:
        code = app(standalone_mode=False) or errors.EXIT_OK
    except LexmillError as error:
        typer.echo(f"lexmill: {error}", err=True)
        code = error.exit_code
    except typer.Abort:
        code = errors.EXIT_INTERRUPTED
    except KeyboardInterrupt:
        typer.echo("lexmill: interrupted; run the same command again to go on", err=True)
        code = errors.EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except TyperException as error:
        typer.echo(f"lexmill: {error.format_message()}", err=True)
        code = errors.EXIT_CONFIG
    sys.exit(code)


if __name__ == "__main__":
    main()
