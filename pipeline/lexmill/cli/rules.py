"""Commands for rule files."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app, out

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


@rules_app.command("try")
def try_rules(
    config: ConfigFile,
    settings: Settings = None,
    sample: Annotated[int, typer.Option(min=1, help="Documents of every source and type to look at.")] = 5000,
    seed: Annotated[int, typer.Option(min=0, help="Which documents.")] = 0,
    examples: Annotated[int, typer.Option(min=0, max=20, help="Masked excerpts a rule to print.")] = 0,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with 20 masked excerpts a rule.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what every quality rule would drop from a run that is de-identified; nothing is dropped.

    Example: lexmill rules try data-samples/demo.toml --html rules.html
    """
    from lexmill.jobs import trial
    from lexmill.report import trial as report
    from lexmill.store import files

    found = trial.dry_run(configuration.load(config, tuple(settings or ())), sample, seed)
    if html:
        files.write_bytes(html.absolute(), report.page(found).encode())
    if as_json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
    else:
        report.show(found, out(), examples)


@app.command("calibrate")
def calibrate_command(
    config: ConfigFile,
    target: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of rules to write quality/calibrated.toml into.")],
    settings: Settings = None,
    sample: Annotated[int, typer.Option(min=1, help="Documents of every source and type to look at.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Which documents.")] = 0,
    tail: Annotated[float, typer.Option(min=0, max=0.5, help="Share of a type that may lie beyond a bound.")] = 0.001,
) -> None:
    """Propose bounds for the quality rules from a run that is de-identified, as an overlay with its evidence.

    Example: lexmill calibrate data-samples/demo.toml --out my-rules
    """
    from lexmill.core.quality.calibrate import left_alone
    from lexmill.jobs import trial

    found = trial.calibrate(configuration.load(config, tuple(settings or ())), target.absolute(), sample, seed, tail)
    table = Table(title="Proposed bounds")
    for column in ("type", "rule", "metric", "before", "proposed", "is", "does", "beyond", "of"):
        table.add_column(column, justify="right" if column in ("beyond", "of") else "left")
    for proposal in found:
        before, rule = proposal.replaces, proposal.rule
        if rule is not None:
            table.add_row(
                proposal.doc_type,
                rule.id,
                before.metric,
                before.interval,
                rule.interval,
                "wider" if proposal.is_wider else "narrower",
                rule.action,
                f"{proposal.hits:,}",
                f"{proposal.n:,}",
            )
    if table.row_count:
        out().print(table)
    for line in left_alone(found):
        typer.echo(f"left alone: {line}")
    if table.row_count:
        typer.echo(f"written: {target}/quality/calibrated.toml; read it, then name the folder in `rules` of the run file")
    else:
        typer.echo("nothing to propose, nothing written")
