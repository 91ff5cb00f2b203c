"""The command that serves a run to a browser on this machine."""

from contextlib import suppress
from typing import Annotated

import typer

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app


@app.command("browse")
def browse_command(
    config: ConfigFile,
    show_originals: Annotated[
        bool,
        typer.Option(
            "--show-originals", help="Also raw text, titles, paths and case numbers; each such view is logged in audit/views."
        ),
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    settings: Settings = None,
) -> None:
    """Look at a run in a browser: documents by id, rule, source or stage, what was masked and cut, and copies side by side.

    The address that it prints works on this machine only, and ends with the command (Ctrl-C).

    Example: lexmill browse data-samples/demo.toml
    """
    from lexmill.jobs.resources import detector_of
    from lexmill.report import server
    from lexmill.report.browse import Desk
    from lexmill.report.status import newest_night
    from lexmill.store.views import ViewLog
    from lexmill.store.workspace import Workspace

    loaded = configuration.load(config, tuple(settings or ()))
    workspace = newest_night(Workspace(loaded.workspace_dir, loaded.run))
    log = ViewLog(workspace.root) if show_originals else None
    with suppress(KeyboardInterrupt):
        server.serve(Desk(workspace, detector_of(loaded)), port, log, typer.echo)
