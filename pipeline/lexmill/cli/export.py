"""The command that writes a release in another trainer's layout."""

from pathlib import Path
from typing import Annotated

import typer

from lexmill.cli.base import app
from lexmill.config import at
from lexmill.errors import ConfigError


@app.command("export")
def export_command(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A folder below releases/, or its s3:// URL.", parser=at)],
    layout: Annotated[str, typer.Option("--to", metavar="LAYOUT", help="megatron, pretrain or alpaca (LLaMA-Factory).")],
    folder: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")],
    seq_len: Annotated[int | None, typer.Option(help="megatron: the window length whose shards to write.")] = None,
) -> None:
    """Write a release for Megatron-LM (.bin, .idx) or LLaMA-Factory (text; Alpaca records of questions, exams, judgments).

    Example: lexmill export workspace/releases/2026-11-30-0123456789abcdef --to alpaca --out sft
    """
    from lexmill.jobs import export

    known = {name: name for name in export.LAYOUTS}
    if layout not in known:
        raise ConfigError(f"--to {layout}: no such layout; there are {', '.join(known)}")
    for name, number in export.export(release, known[layout], folder, seq_len).items():
        typer.echo(f"{name}: {number:,}")
