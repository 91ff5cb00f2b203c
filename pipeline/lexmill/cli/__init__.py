"""The command line: arguments, logging and exit codes; no logic. One module per group of commands."""

import logging
import os
import sys

import structlog
import typer
from typer.exceptions import TyperException

from lexmill import errors

# Importing a module registers its commands.
from lexmill.cli import mask, plan, raw, releases, review, rules, run  # noqa: F401
from lexmill.cli.base import app
from lexmill.errors import LexmillError


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
