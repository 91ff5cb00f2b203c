"""Commands for human review: how many to read, which, and what the verdicts decide."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app, out
from lexmill.errors import ConfigError

review_app = typer.Typer(help="Human review: plan, sample, export, import, decide.", no_args_is_help=True)
app.add_typer(review_app, name="review")

FORMS = ("xlsx", "label-studio")


@review_app.command("plan")
def plan_command(config: ConfigFile, settings: Settings = None) -> None:
    """Say what samples of this lot would prove and what they cost, beside the "5 %" that is often asked for.

    Example: lexmill review plan data-samples/demo.toml
    """
    from lexmill.jobs import review

    found = review.plan(configuration.load(config, tuple(settings or ())))
    table = Table(title=f"审核方案：{found['lot']:,} 份文书，置信度 {found['confidence']:.0%}")
    for column in ("方案", "审读项数", "零缺陷时的缺陷率上限", "合格率达标时允许的缺陷数", "工时（小时）", "费用（元）"):
        table.add_column(column, justify="left" if column == "方案" else "right")
    for line in found["lines"]:
        bound = "" if line["bound_without_defects"] is None else f"{line['bound_without_defects']:.4%}"
        allowed = "" if line["allowed"] is None else "无法证明" if line["allowed"] < 0 else f"{line['allowed']:,}"
        table.add_row(line["name"], f"{line['n']:,}", bound, allowed, f"{line['hours']:,}", f"{line['price']:,.0f}")
    out().print(table)


@review_app.command("sample")
def sample_command(config: ConfigFile, settings: Settings = None) -> None:
    """Draw the sample of what stage filter keeps and of what was dropped, and plant known defects in it.

    Example: lexmill review sample data-samples/demo.toml --set review.sample=300
    """
    from lexmill.jobs import review
    from lexmill.jobs.run import open_job

    with open_job(configuration.load(config, tuple(settings or ())), Console(stderr=True)) as job:
        drawn = review.sample(job)
    shown = ", ".join(f"{kind} {number:,}" for kind, number in drawn["items"].items())
    typer.echo(f"lot {drawn['lot']} of {drawn['documents']:,} documents: {shown} items")
    if drawn["not_shown"]:
        typer.echo(f"{drawn['not_shown']:,} could not be masked and are not shown")


@review_app.command("export")
def export_command(
    config: ConfigFile,
    reviewers: Annotated[str, typer.Option(metavar="A,B", help="The reviewers' names, separated by commas.")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write a file for each reviewer.")],
    form: Annotated[str, typer.Option("--format", help=f"{' or '.join(FORMS)}.")] = "xlsx",
    settings: Settings = None,
) -> None:
    """Write each reviewer's items: a workbook with drop-downs, or Label Studio tasks and the project's interface.

    Example: lexmill review export data-samples/demo.toml --reviewers 甲,乙 --out to-review
    """
    from lexmill.jobs import review

    if form not in FORMS:
        raise ConfigError(f"--format {form}: no such format; there are {', '.join(FORMS)}")
    names = [name.strip() for name in reviewers.replace("，", ",").split(",") if name.strip()]
    paths = review.export(configuration.load(config, tuple(settings or ())), names, form, folder)
    for number, path in enumerate(paths):
        typer.echo(f"{path}  {names[number]}" if number < len(names) else str(path))


@review_app.command("import")
def import_command(
    config: ConfigFile,
    returned: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Filled workbooks, or Label Studio's JSON exports.")],
    reviewer: Annotated[str, typer.Option(help="Whose verdicts these are: a name given to `review export`.")],
    settings: Settings = None,
) -> None:
    """Take in what a reviewer sent back.

    Example: lexmill review import data-samples/demo.toml to-review/review-R1.xlsx --reviewer 甲
    """
    from lexmill.jobs import review

    taken, missing = review.take_in(configuration.load(config, tuple(settings or ())), reviewer, returned)
    typer.echo(f"{taken:,} verdicts; {missing:,} items are still without one")


@review_app.command("decide")
def decide_command(config: ConfigFile, settings: Settings = None) -> None:
    """Accept or reject the lot from the verdicts that are in; a rejected one is not published (exit code 4).

    Example: lexmill review decide data-samples/demo.toml
    """
    from lexmill.jobs import review

    decision = review.settle(configuration.load(config, tuple(settings or ())))
    bounds, planted = decision["bounds"], decision["planted"]
    typer.echo(f"lot {decision['lot_id']} accepted: {decision['core']['n']:,} of {decision['lot']:,} documents read at random")
    typer.echo(f"直接标识符残留率 ≤ {bounds['identifiers']:.4%}，缺陷率 ≤ {bounds['defects']:.4%}")
    typer.echo(f"埋设缺陷检出 {planted['k']}/{planted['n']}；复审一致性 kappa = {decision['double']['kappa']}")
    for rule, judged in decision["suspected_rules"].items():
        typer.echo(f"规则存疑：{rule}（{judged['judged']} 项中 {judged['wrong']} 项有误）")
