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

    Every masked text is looked at again by other code, as in a run: where a masked name or a valid number is left, the line holds
    `residual.name` or `residual.identifier` as its `error` and no text. Exit code 6 where lines failed; the others are written.

    Example: lexmill mask letters.jsonl --out masked.jsonl --policy spc2016
    """
    from lexmill.jobs import masking

    told = masking.mask_file(source, out, policy, doc_type)
    done = told.pop("", 0)
    held = sum(count for error, count in told.items() if error.startswith("residual."))
    typer.echo(f"{done} lines masked, and clean to the second look; it held back {held}", err=True)
    if told:
        why = ", ".join(f"{error} {count}" for error, count in sorted(told.items()))
        typer.echo(f"{told.total()} lines failed: {why}; see `error` in the output", err=True)
        raise typer.Exit(errors.EXIT_STOPPED)
