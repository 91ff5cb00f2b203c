"""Commands that look at raw files; they write nothing."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape
from rich.table import Table

from lexmill import config as configuration
from lexmill.cli.base import ConfigFile, Settings, app, out


@app.command("sources")
def sources_command(config: ConfigFile, settings: Settings = None) -> None:
    """List what would be read, source by source, and the first problem in each; nothing is written.

    A field of the records that is longer than all that would be read is named: map it if it is their text.

    Example: lexmill sources data-samples/demo.toml
    """
    from lexmill.jobs import preview

    table = Table(title="Sources")
    for column in ("source", "type", "files", "MB", "formats", "encodings", "longer field left out", "first problem"):
        table.add_column(column, justify="right" if column in ("files", "MB") else "left")
    for found in preview.survey_sources(configuration.load(config, tuple(settings or ()))):
        formats, encodings = (
            ", ".join(f"{name} {number:,}" for name, number in sorted(counted.items()))
            for counted in (found.formats, found.encodings)
        )
        problem = f"{found.problem[0]} (file {found.problem[1]})" if found.problem else ""
        table.add_row(
            found.name,
            found.doc_type,
            f"{found.n_files:,}",
            f"{found.n_bytes / 1e6:,.1f}",
            formats,
            encodings,
            escape(", ".join(found.unread)),
            problem,
        )
    out().print(table)


@app.command("extract")
def extract_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A raw file in any format that ingest reads.")],
    doc_type: Annotated[str, typer.Option(help="judgment, contract, exam, qa, statute, or auto for each document.")] = "auto",
) -> None:
    """Print the documents of a file as JSON lines: text, title, metadata, segments, and what was cut by which rule.

    Example: lexmill extract contract.html --doc-type contract
    """
    from lexmill.jobs import preview

    for document in preview.extract(file, doc_type):
        typer.echo(orjson.dumps(document).decode())


@app.command("segment")
def segment_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A raw file in any format that ingest reads.")],
    doc_type: Annotated[str, typer.Option(help="judgment, contract, exam, qa, statute, or auto for each document.")] = "auto",
    html: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write a page that needs no other file instead.")] = None,
) -> None:
    """Show the documents of a file with their segments and citations in colour.

    Example: lexmill segment judgment.docx --html judgment.html
    """
    from lexmill import rules
    from lexmill.jobs import preview
    from lexmill.report import segments
    from lexmill.store.files import write_bytes

    tables = rules.load().statutes
    documents = (document for document in preview.extract(file, doc_type) if "text" in document)
    if html:
        write_bytes(html, segments.as_html(documents, tables).encode())
        return
    console = out()
    for shown in segments.in_terminal(documents, tables):
        console.print(shown, soft_wrap=True)
