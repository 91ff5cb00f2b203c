"""Commands for the quality classifier."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app, out

quality_app = typer.Typer(help="The quality classifier.", no_args_is_help=True)
app.add_typer(quality_app, name="quality")


@quality_app.command("train")
def train_command(
    config: ConfigFile,
    target: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for model, rules, curves and card.")],
    settings: Settings = None,
    sample: Annotated[int, typer.Option(min=1, help="Documents of every source and type to learn from.")] = 20_000,
) -> None:
    """Train a classifier on a de-identified run, good text being that of the sources in quality.positives.

    Example: lexmill quality train data-samples/demo.toml --set 'quality.positives=["judgments","qa","exams"]' --out my-model
    """
    from lexmill.jobs import train

    report = train.train(configuration.load(config, tuple(settings or ())), target.absolute(), sample)
    table = Table(title="Held-out examples that pass the rules")
    for column in ("type", "good", "bad", "average precision", "threshold", "precision", "recall", "good below"):
        table.add_column(column, justify="left" if column == "type" else "right")
    for doc_type, kept in report["thresholds"].items():
        curve = report["curves"][doc_type]
        numbers = (f"{kept['precision']:.1%}", f"{kept['recall']:.1%}", f"{kept['false_drop_rate']:.2%}")
        counts = (f"{curve['good']:,}", f"{curve['bad']:,}", f"{curve['average_precision']:.3f}", f"{kept['threshold']:.4g}")
        table.add_row(doc_type, *counts, *numbers)
    out().print(table)
    typer.echo(f'written: {target}; to use it, set filter.model = "{target}/model" and add "{target}/rules" to rules')
