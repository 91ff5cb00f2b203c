"""What a run adds to the history that later runs are compared to."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.compare import comparison_copies
from lexmill.jobs.dedup.bands import ALL_BANDS
from lexmill.jobs.dedup.families import read_families
from lexmill.jobs.dedup.lines import line_table
from lexmill.jobs.dedup.pairs import FAMILY_CAP
from lexmill.jobs.dedup.steps import between, open_run
from lexmill.jobs.job import Job
from lexmill.schema import DOCUMENT_RAW, SIGNATURE
from lexmill.store import files
from lexmill.store.index import ENTRY, ENTRY_COMPRESSION, ENTRY_ENCODING, HELD, INDEXED, Entries, Index, NewRun
from lexmill.store.stages import Receipt, StageFolder, Target


def publish(job: Job, ingested: Mapping[str, Any]) -> None:
    """Add what this run kept to the history that later runs are compared to; call it when the run's release stands.

    A run that is there already stays as it is. Raises ConfigError where it changed after later runs had been compared to it.
    """
    this = open_run(job, ingested)
    index = Index(job.workspace.index)
    pairs, firsts, base = this.step("pairs"), this.firsts, this.view.limit
    signatures, families = this.step("signatures"), this.step("families")
    decided = pairs.manifest() or {}
    signed = signatures.manifest() or {}
    needs = [decided["fingerprint"], base]
    kept: list[Any] = [
        ((this.ingest, entry, signatures, about, pairs, families, first, base), [entry["sha256"], *needs], 0)
        for entry, about, first in zip(this.entries, signed["parts"], firsts, strict=False)
    ]
    documents = this.go("documents", index_part, kept)
    bands: list[Any] = [((this.step("bands"), pairs, firsts, band, base), [*needs, band], 0) for band in range(ALL_BANDS)]
    entries = this.go("entries", sort_band, bands)
    lines = line_table(this) if job.config.dedup.lines != "off" else None
    held = this.go("held", collect_held, [((pairs,), needs, 0)])
    files = this.step("documents").parts()
    index.add(
        NewRun(
            job.workspace.run,
            base,
            firsts[-1],
            tuple(
                (path, entry["sha256"], base + low, base + high)
                for path, entry, (low, high) in zip(files, documents["parts"], pairwise(firsts), strict=True)
            ),
            tuple((path, entry["sha256"]) for path, entry in zip(this.step("entries").parts(), entries["parts"], strict=True)),
            (this.step("held").parts()[0], held["parts"][0]["sha256"]),
            (lines.path, lines.sha256) if lines else None,
        )
    )


def _gone(pairs: StageFolder, low: int, high: int) -> Any:
    """Ordinals of those that left; one that its family had no room for still stands for its copies."""
    found = between(pairs, low, high)
    left = pc.and_(found["gone"], pc.not_equal(found["rule"], FAMILY_CAP))
    return found["ordinal"].to_numpy()[left.to_numpy()]


def index_part(
    target: Target,
    ingest: StageFolder,
    entry: Mapping[str, Any],
    signatures: StageFolder,
    signed: Mapping[str, Any],
    pairs: StageFolder,
    found: StageFolder,
    first: int,
    base: int,
) -> Receipt:
    """What the index says of the documents of one part that stay."""
    table = ingest.read(entry, DOCUMENT_RAW, ["text"])
    stays = np.setdiff1d(np.arange(table.num_rows), _gone(pairs, first, first + table.num_rows) - first)
    documents = table.take(pa.array(stays))
    about = signatures.read(signed, SIGNATURE).take(pa.array(stays))
    columns = {
        **{name: about[name] for name in SIGNATURE.names},
        "ordinal": pa.array(base + first + stays),
        "family": pa.array(base + _leaders(found, first + stays)),
        "text": comparison_copies(documents["text"]).cast(pa.string()),
    }
    return target.write_work(pa.table([columns[name] for name in INDEXED.names], schema=INDEXED), row_group_size=256)


def _leaders(found: StageFolder, ordinals: Any) -> Any:
    """The ordinal of the leader of each document's family; of most their own."""
    kin = read_families(found, int(ordinals.min(initial=0)), int(ordinals.max(initial=0)) + 1)
    leaders = ordinals.copy()
    at = pc.index_in(pa.array(ordinals), kin["ordinal"].combine_chunks())
    some = pc.is_valid(at).to_numpy(zero_copy_only=False)
    leaders[some] = kin["leader"].take(at.drop_null()).to_numpy()
    return leaders


def sort_band(target: Target, bands: StageFolder, pairs: StageFolder, firsts: list[int], band: int, base: int) -> Receipt:
    """The entries of one band of the documents that stay, sorted."""
    gone = _gone(pairs, 0, firsts[-1])
    found = [Entries.none()]
    for first, path in zip(firsts, bands.parts(), strict=False):
        table = files.parquet_file(path).read_row_group(band, use_threads=False)
        ordinals = first + table["row"].to_numpy().astype(np.int64)
        entries = Entries(table["hash"].to_numpy(), table["key"].to_numpy(), ordinals)
        found.append(entries.where(~np.isin(ordinals, gone)))
    entries = Entries.joined(found).before(-base).sorted()
    with target.writer(ENTRY, compression=ENTRY_COMPRESSION, encoding=ENTRY_ENCODING) as (writer, done):
        writer.write_table(entries.table(), row_group_size=1 << 16)
    return done[0]


def collect_held(target: Target, pairs: StageFolder) -> Receipt:
    """What left for a document that stays; a document that comes again is its own twin, and is not held down."""
    table = files.read_columns(pairs.parts()[0])
    held = table.filter(pc.and_(table["gone"], pc.not_equal(table["doc_id"], table["twin"])))
    return target.write_work(held.select(HELD.names).cast(HELD))
