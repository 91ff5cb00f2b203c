"""Commands for rule files."""

from pathlib import Path
from typing import Annotated

import typer

from lexmill.cli.base import app

rules_app = typer.Typer(help="Rule files.", no_args_is_help=True)
app.add_typer(rules_app, name="rules")


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
