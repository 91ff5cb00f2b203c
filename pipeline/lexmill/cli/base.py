"""The application that commands register with, and the arguments and output they share."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import structlog
import typer
from rich.console import Console

from lexmill import config as configuration
from lexmill.errors import LexmillError
from lexmill.store.workspace import Workspace

# What a command needs beyond this it imports itself: Presidio, Dask and numba take two seconds, and `--help` needs none of them.

app = typer.Typer(
    help="Turns raw Chinese legal text into de-identified, deduplicated, tokenised pretraining shards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)

_WIDTH_WITHOUT_TERMINAL = 160

LogFormat = Annotated[
    Literal["text", "json"], typer.Option("--log-format", help="Lines for people, or a JSON object a line, on standard error.")
]
Notify = Annotated[
    str | None,
    typer.Option(
        "--notify-command", metavar="COMMAND", help="Run at the end, whatever the end: the summary is its standard input."
    ),
]
ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run file (TOML); see lexmill.example.toml.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the run file (TOML value).")
]


def log_to_stderr(log_format: str) -> None:
    """Log to standard error, for people (``text``) or as JSON, a line each with run, stage and part where they are known."""
    shared = [structlog.contextvars.merge_contextvars, structlog.processors.add_log_level]
    form: list[Any] = (
        [structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.JSONRenderer(ensure_ascii=False)]
        if log_format == "json"
        else [
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ]
    )
    structlog.configure(
        processors=[*shared, *form],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if log_format == "json" else logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # whatever stands there when something is said
        cache_logger_on_first_use=False,
    )


def out() -> Console:
    """A console for results."""
    # Without a terminal (a log, a mail, a pipe) rich would fold tables at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_WITHOUT_TERMINAL)


@dataclass
class Told:
    """What the notification says."""

    text: str = ""


@contextmanager
def notified(command: str | None, config: Path) -> Iterator[Told]:
    """Give the end of a command, good or bad, to ``command`` as its standard input; that one's failure is only logged.

    Its first line says the exit code where that is not 0.
    """
    told = Told()
    try:
        yield told
    except LexmillError as error:
        told.text = f"lexmill {config.name}: exit code {error.exit_code}\n\n{error}\n"
        raise
    except BaseException as error:
        # A bug's message may quote text: only its kind is told.
        told.text = f"lexmill {config.name}: stopped by {type(error).__name__}\n"
        raise
    finally:
        if command is not None:
            done = subprocess.run(command, shell=True, input=told.text, text=True, check=False)
            if done.returncode:
                structlog.get_logger().warning("the notify command failed", exit_code=done.returncode)


def workspace_of(config: Path, settings: list[str] | None) -> Workspace:
    """The workspace that a run file names."""
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
