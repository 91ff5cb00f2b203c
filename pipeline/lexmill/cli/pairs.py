"""A command that shows what dedup took for copies, and what it did not."""

from typing import Annotated

import typer

from lexmill.cli.base import ConfigFile, Settings, app, out, workspace_of


@app.command("pairs")
def pairs_command(
    config: ConfigFile,
    rule: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Only pairs of this rule, such as dedup.near, or refused for all that stay."),
    ] = None,
    sample: Annotated[int, typer.Option(metavar="N", min=0, help="How many pairs; the same ones every time.")] = 10,
    settings: Settings = None,
) -> None:
    """Print merged or refused pairs side by side, differences marked, and the number of pairs by rule.

    It shows raw text: keep its output where the workspace is.

    Example: lexmill pairs data-samples/demo.toml --rule dedup.near --sample 3
    """
    from lexmill.report import pairs

    found, counts = pairs.find(workspace_of(config, settings), rule, sample)
    console = out()
    for pair in found:
        console.print(pairs.show(pair))
    for name, number in sorted(counts.items()):
        typer.echo(f"{number:>10,}  {name}")
