"""The command that masks lines of text."""

from typing import Annotated

import typer

from lexmill import errors
from lexmill.cli.base import app


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
