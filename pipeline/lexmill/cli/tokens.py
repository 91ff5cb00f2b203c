"""Commands about benchmarks, and about what is in a release."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table

from lexmill.cli.base import app, out
from lexmill.config import at
from lexmill.errors import ConfigError

ReleaseFolder = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release, or a workspace: its newest.", parser=at)]


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


@app.command("decode")
def decode_command(
    release: ReleaseFolder,
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="Which sequence, from 0 over all shards.")],
    seq_len: Annotated[int | None, typer.Option(help="The window length, where the release has several.")] = None,
    unpacked: Annotated[bool, typer.Option("--unpacked", help="Count in the shards with a document a row.")] = False,
    tokenizer: Annotated[str | None, typer.Option(help="The vocabulary's file, where it is no installed one.")] = None,
) -> None:
    """Print a sequence as text, document by document, with the tokens and characters that each piece is.

    Example: lexmill decode data-samples/workspace 0
    """
    from lexmill.core.tokens import tokenizer as tokenizers
    from lexmill.report import release as reader
    from lexmill.store.releases import read_manifest

    folder = reader.find(release)
    manifest = read_manifest(folder)
    lengths = [row["seq_len"] for row in manifest["windows"]]
    wanted = None if unpacked else seq_len or lengths[0]
    if wanted not in lengths:
        raise ConfigError(f"the release has no such shards; there are {', '.join(str(n or 'unpacked ones') for n in lengths)}")
    vocabulary = tokenizers.load(tokenizer or manifest["tokenizer"]["name"])
    for piece in reader.read_sequence(folder, manifest, wanted, number, vocabulary):
        copy = f", copy {piece.repeat + 1}" if piece.repeat else ""
        typer.echo(
            f"== {piece.doc_id} {piece.source}/{piece.doc_type}{copy}: tokens {piece.tokens[0]}-{piece.tokens[1]}, "
            f"characters {piece.chars[0]}-{piece.chars[1]}" + (f": {piece.title}" if piece.title else "")
        )
        if piece.heading:
            typer.echo(f"[{piece.heading.strip()}]")
        typer.echo(piece.text)


@app.command("tokens")
def tokens_command(
    release: ReleaseFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count a release: documents and tokens by source and type, characters a token, padding and cuts by window length.

    Example: lexmill tokens data-samples/workspace
    """
    from lexmill.report import release as reader
    from lexmill.store.releases import read_manifest

    manifest = read_manifest(reader.find(release))
    rows = reader.token_rows(manifest)
    if as_json:
        found = {"groups": rows, "windows": manifest["windows"], "tokenizer": manifest["tokenizer"]}
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    table = Table(title=f"release {manifest['release']}, tokeniser {manifest['tokenizer']['name']}")
    for column in ("source", "type", "docs", "epochs", "chars", "tokens", "share", "chars/token"):
        table.add_column(column, justify="left" if column in ("source", "type") else "right")
    for row in rows:
        rate = row["chars_per_token"]
        numbers = (f"{row['docs']:,}", f"{row['epochs']:g}", f"{row['chars']:,}", f"{row['tokens']:,}", f"{row['share']:.1%}")
        table.add_row(row["source"], row["doc_type"], *numbers, "" if rate is None else f"{rate:.2f}")
    out().print(table)
    windows = Table(title="Shards")
    for column in ("window", "shards", "sequences", "tokens", "padding", "documents cut", "at segments", "at sentences", "else"):
        windows.add_column(column, justify="right")
    for row in manifest["windows"]:
        cuts = [f"{row['cuts'][kind]:,}" for kind in ("segment", "sentence", "token")]
        counts = [f"{row[name]:,}" for name in ("shards", "sequences", "tokens")]
        windows.add_row(
            str(row["seq_len"] or "none"),
            *counts,
            f"{row['padding_share']:.2%}",
            f"{row['cut']:,} ({row['cut_share']:.1%})",
            *cuts,
        )
    out().print(windows)
    unknown = manifest["tokenizer"]["unknown_tokens"]
    typer.echo(
        f"{unknown:,} tokens stand for text that the vocabulary has none for ({manifest['tokenizer']['unknown_share']:.4%})"
    )
