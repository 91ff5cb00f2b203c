"""Commands for the audit chain."""

from typing import Annotated

import typer
from rich.table import Table

from lexmill.cli.base import ConfigFile, Settings, app, out, workspace_of
from lexmill.errors import GateError

audit_app = typer.Typer(help="The chain of releases, reviews and takedowns.", no_args_is_help=True)
app.add_typer(audit_app, name="audit")


@audit_app.command("verify")
def verify_command(
    config: ConfigFile,
    head: Annotated[str | None, typer.Option(help="A digest that was kept elsewhere: it must still be in the chain.")] = None,
    settings: Settings = None,
) -> None:
    """Prove that no entry of the chain, no file that it seals, and no logged view was changed later (exit code 4 otherwise).

    Example: lexmill audit verify data-samples/demo.toml
    """
    from lexmill.store import audit, views

    root = workspace_of(config, settings).root
    entries, faults = audit.verify(root, head)
    seen, changed = views.verify(root)
    table = Table(title="Audit chain")
    for column in ("number", "time", "kind", "subject", "digest"):
        table.add_column(column)
    for entry in entries:
        table.add_row(*(str(entry.get(column, "")) for column in ("number", "time", "kind", "subject", "digest")))
    out().print(table)
    if faults or changed:
        raise GateError("audit: " + "\n".join([*faults, *changed]))
    typer.echo(f"{len(seen)} views of originals, none changed")
    typer.echo(f"{len(entries)} entries, none changed; keep the last digest elsewhere")
