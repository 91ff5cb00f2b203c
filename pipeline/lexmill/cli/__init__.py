"""The command line: arguments, logging and exit codes; no logic. One module per group of commands."""

import logging
import os
import sys

import typer
from typer.exceptions import TyperException

from lexmill import errors

# Importing a module registers its commands.
from lexmill.cli import (  # noqa: F401
    audit,
    browse,
    doctor,
    export,
    mask,
    nightly,
    pairs,
    plan,
    quality,
    raw,
    releases,
    review,
    rules,
    run,
    tokens,
)
from lexmill.cli.base import app, log_to_stderr
from lexmill.errors import LexmillError


def _stopping(error: Exception) -> LexmillError | None:
    """What a person must mend, for an error that came up anywhere: a full disk, object storage that does not answer."""
    from lexmill.store.files import stopping

    return stopping(error)


def main() -> None:
    """Run the command and exit as ``errors.py`` says."""
    log_to_stderr("text")
    # Libraries log what they are given, which may be text: only ours speaks.
    logging.getLogger().addHandler(logging.NullHandler())
    code = errors.EXIT_OK
    try:
        # Typer gives the code of an interrupt and says nothing.
        code = app(standalone_mode=False) or errors.EXIT_OK
        if code == errors.EXIT_INTERRUPTED:
            raise KeyboardInterrupt
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
    except Exception as error:
        stopped = _stopping(error)
        if stopped is None:
            raise
        typer.echo(f"lexmill: {stopped}", err=True)
        code = stopped.exit_code
    sys.exit(code)
