"""Commands about benchmarks, and about what is in a release."""

from pathlib import Path
from typing import Annotated

import typer

from lexmill.cli.base import app
from lexmill.errors import ConfigError


@app.command("benchmark-index")
def benchmark_index_command(
    target: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="The index to write.")],
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Benchmarks: .json .jsonl .csv .tsv.")],
    stem: Annotated[str | None, typer.Option(help="The field of the question, in layouts that are not recognised.")] = None,
    options: Annotated[list[str] | None, typer.Option("--option", help="A field with an option, or with all of them.")] = None,
    passage: Annotated[str | None, typer.Option(help="The field of what the question is asked about.")] = None,
) -> None:
    """Write benchmarks as hashes that `[decontaminate] benchmarks` takes in their place: it can be shared without the questions.

    Example: lexmill benchmark-index index.parquet data-samples/benchmark.jsonl
    """
    from lexmill.config import BenchmarkFields
    from lexmill.store import benchmarks
    from lexmill.store.files import PUBLIC

    if target.suffix != ".parquet":
        raise ConfigError(f"{target}: an index is a .parquet file; name it so")
    fields = BenchmarkFields(stem=stem, options=tuple(options or ()), passage=passage)
    found, units = benchmarks.read(benchmarks.find([str(path) for path in paths]), fields)
    sha256 = benchmarks.write_index(target, found, units, PUBLIC)
    for benchmark in found:
        typer.echo(f"{benchmark.name}: {benchmark.items:,} items, {benchmark.too_short:,} too short; sha256 {benchmark.sha256}")
    typer.echo(f"{target}: sha256 {sha256}")
