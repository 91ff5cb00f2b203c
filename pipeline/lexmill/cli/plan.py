"""The command that says beforehand what a run takes."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app, out


@app.command("plan")
def plan_command(
    config: ConfigFile,
    cores: Annotated[int | None, typer.Option(min=1, help="Cores of the run; not given, those of the run file.")] = None,
    price: Annotated[Path | None, typer.Option(metavar="FILE", help="A price list; see prices.example.toml.")] = None,
    target_hours: Annotated[float | None, typer.Option(min=0, help="Say how many cores finish within this time.")] = None,
    sample_mb: Annotated[float, typer.Option(min=0.1, help="Megabytes of raw files to try.")] = 24.0,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try a sample of every source in the real stages and say what the whole would take: time, memory, disk, tokens, money.

    Example: lexmill plan data-samples/demo.toml --cores 32 --price prices.example.toml --target-hours 4
    """
    from lexmill.cluster import worker_count
    from lexmill.jobs import plan
    from lexmill.jobs.prices import load_prices

    loaded = configuration.load(config, tuple(settings or ()))
    prices = load_prices(price) if price else None
    found = plan.plan(loaded, Console(stderr=True), sample_mb, cores or worker_count(loaded.cluster), prices, target_hours)
    if as_json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    table = Table(title=f"Plan for {found['cores']} cores")
    for column in ("what", "value", "low", "high"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for name, label, unit in (
        ("seconds", "time, hours", 3600),
        ("core_seconds", "core-hours", 3600),
        ("memory_bytes", "memory, GB", 1e9),
        ("disk_bytes", "disk, GB", 1e9),
        ("text_bytes", "text, GB", 1e9),
        ("tokens", "tokens, millions", 1e6),
    ):
        table.add_row(label, *(f"{found[name][bound] / unit:,.3f}" for bound in ("value", "low", "high")))
    for row in _costs(found):
        table.add_row(*row)
    out().print(table)
    typer.echo(
        f"from {found['sampled_bytes'] / 1e6:,.1f} of {found['raw_bytes'] / 1e6:,.1f} MB in {found['sampled_parts']} parts; "
        f"{found['copies_in_sample']} copies found in them"
    )
    if target_hours is not None:
        fit = found["cores_for_target"]
        typer.echo(f"{target_hours} hours: {f'{fit} cores' if fit else 'no number of cores is enough'}")


def _costs(found: dict[str, Any]) -> list[tuple[str, ...]]:
    cost = found.get("cost")
    if cost is None:
        return []
    money = cost["currency"]
    rows = [
        (f"{name}, {money}", *(f"{cost[name][bound]:,.2f}" for bound in ("value", "low", "high")))
        for name in ("compute", "storage")
    ]
    rows.append((f"people, {money} ({cost['human_hours']:,.0f} hours)", f"{cost['human']:,.2f}", "", ""))
    rows.append((f"compute for a GB of raw files, {money}", f"{cost['compute_a_gb_raw']:,.2f}", "", ""))
    if cost["compute_a_billion_tokens"] is not None:
        rows.append((f"compute for a billion tokens, {money}", f"{cost['compute_a_billion_tokens']:,.2f}", "", ""))
    rows.append((f"prices of {cost['prices_of']}, paid at a ratio of {cost['spot_price_ratio']}", "", "", ""))
    return rows
