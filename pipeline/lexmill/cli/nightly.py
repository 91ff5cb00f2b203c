"""Commands of every night, and of what is taken back."""

import datetime
from typing import Annotated

import typer
from rich.console import Console

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, LogFormat, Notify, Settings, app, log_to_stderr, notified, workspace_of

Yes = Annotated[bool, typer.Option("--yes", help="Do it; without, it is only shown.")]


@app.command("nightly")
def nightly_command(
    config: ConfigFile, settings: Settings = None, log_format: LogFormat = "text", notify_command: Notify = None
) -> None:
    """Read what is new or changed since the last night, and publish a release after the last one; 99 where nothing is new.

    Example: lexmill nightly my-run.toml --notify-command "mail -s lexmill ops@example.org"
    """
    from lexmill.jobs import nightly
    from lexmill.report import balance, summary

    log_to_stderr(log_format)
    with notified(notify_command, config) as told:
        loaded = configuration.load(config, tuple(settings or ()))
        finished = nightly.nightly(loaded, Console(stderr=True), datetime.date.today())
        told.text = summary.summary(finished.run, balance.balance(finished.manifests, finished.record))
        typer.echo(told.text, nl=False)


@app.command("purge")
def purge_command(config: ConfigFile, settings: Settings = None, yes: Yes = False) -> None:
    """Show what the retention lets go (old releases' data, raw text of old nights, old history), and delete it with --yes.

    Example: lexmill purge my-run.toml --set nightly.keep_nights=0 --yes
    """
    from lexmill.store import lock, purge
    from lexmill.store.history import History

    loaded = configuration.load(config, tuple(settings or ()))
    workspace = workspace_of(config, settings)
    with lock.held(workspace.root):
        what = purge.due(workspace, History(workspace.root / "lineage").nights(), loaded.nightly)
        for kind, names in (
            ("data files of release", [folder.name for folder in what.releases]),
            ("raw text of night", [folder.name for folder in what.runs]),
            ("history of night", what.indexed),
        ):
            for name in names:
                typer.echo(f"{kind} {name}")
        if not what:
            typer.echo("nothing is older than the retention")
        elif yes:
            purge.purge(workspace, what)
            typer.echo("deleted")
        else:
            typer.echo("nothing was deleted: give --yes")


DocIds = Annotated[list[str] | None, typer.Option("--doc-id", help="A document by its id; may be given again.")]
CaseNumbers = Annotated[list[str] | None, typer.Option("--case-number", help="All documents of a case, as they print it.")]
Persons = Annotated[list[str] | None, typer.Option("--person", help="All documents whose raw text has this name.")]


@app.command("takedown")
def takedown_command(
    config: ConfigFile,
    case_number: CaseNumbers = None,
    doc_id: DocIds = None,
    person: Persons = None,
    settings: Settings = None,
    yes: Yes = False,
) -> None:
    """Show which documents are meant, copies included; with --yes delete them everywhere and keep copies out for good.

    Example: lexmill takedown my-run.toml --case-number （2016）苏01民终123号 --yes
    """
    from lexmill.jobs import takedown

    loaded = configuration.load(config, tuple(settings or ()))
    targets = takedown.resolve(workspace_of(config, settings), doc_id or (), case_number or (), person or ())
    for target in targets:
        typer.echo(f"{target.doc_id}  source {target.source}, run {target.run}, file {target.file_number}  ({target.why})")
    if not yes:
        typer.echo(f"{len(targets)} documents; nothing was deleted: give --yes")
        return
    successor = takedown.take_down(loaded, Console(stderr=True), targets, datetime.date.today())
    typer.echo(f"{len(targets)} documents taken down; {f'release {successor} stands' if successor else 'no release stands'}")


@app.command("prove-absent")
def prove_absent_command(
    config: ConfigFile,
    case_number: CaseNumbers = None,
    doc_id: DocIds = None,
    person: Persons = None,
    settings: Settings = None,
) -> None:
    """Search every release, stage, index and the lineage for what was taken down and what is named here; 4 where it is found.

    Example: lexmill prove-absent my-run.toml --person 张三
    """
    from lexmill.errors import GateError
    from lexmill.jobs import takedown

    found = takedown.prove_absent(workspace_of(config, settings), doc_id or (), case_number or (), person or ())
    for kind, number in sorted(found.looked_at.items()):
        typer.echo(f"{kind}: {number:,} rows searched")
    for place, hits in sorted(found.places.items()):
        typer.echo(f"found {hits:,} times in {place}")
    if found.places:
        raise GateError(f"it is still in {len(found.places)} files of the workspace")
    typer.echo("absent: in none of them")


@app.command("reshuffle")
def reshuffle_command(config: ConfigFile, settings: Settings = None) -> None:
    """Publish the release that stands once more, as one even set of all its sets.

    Example: lexmill reshuffle my-run.toml
    """
    from lexmill.jobs import reshuffle

    made = reshuffle.reshuffle(configuration.load(config, tuple(settings or ())), Console(stderr=True), datetime.date.today())
    typer.echo(f"release {made['release']}: {made['documents']:,} documents in one set of {len(made['shards'])} shards")
