"""The application that commands register with, and the arguments and output they share."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lexmill import config as configuration
from lexmill.store.workspace import Workspace

# What a command needs beyond this it imports itself: Presidio, Dask and numba take two seconds, and `--help` needs none of them.

app = typer.Typer(
    help="Turns raw Chinese legal text into de-identified, deduplicated, tokenised pretraining shards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)

_WIDTH_WITHOUT_TERMINAL = 160

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run file (TOML); see lexmill.example.toml.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the run file (TOML value).")
]


def out() -> Console:
    """A console for results."""
    # Without a terminal (a log, a mail, a pipe) rich would fold tables at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_WITHOUT_TERMINAL)


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
