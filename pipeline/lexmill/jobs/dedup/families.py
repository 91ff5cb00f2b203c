"""Template families: the documents that share a bucket, brought together, and each led by the first that came."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.family import families, ranks
from lexmill.core.dedup.signature import SHINGLE, band_hashes, unpack
from lexmill.jobs.dedup.bands import SALTS
from lexmill.jobs.dedup.identifiers import read_repeated
from lexmill.jobs.dedup.steps import Run, between
from lexmill.schema import SIGNATURE
from lexmill.store import files
from lexmill.store.index import INDEXED, View
from lexmill.store.stages import Receipt, StageFolder, Target

# 200,000 signatures are 100 MB.
_KIN_A_TASK = 200_000
_ALL = 1 << 62  # beyond every ordinal

_KIN = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kin", pa.int64()),
        ("ordinal", pa.int64()),
        ("doc_id", pa.string()),
        ("doc_type", pa.string()),
        ("n_chars", pa.int32()),
        ("leader", pa.int64()),  # of an earlier run: the ordinal of the first of its family; else null
        ("signature", SIGNATURE.field("signature").type),
    ]
)
_KIN_ROW = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("leader", pa.int64()),
        ("doc_id", pa.string()),
        ("family_id", pa.string()),
        ("rank", pa.int64()),  # how manieth of its family, counted over all runs
        ("size", pa.int64()),  # of the family up to this run
        ("estimate", pa.float64()),  # of the Jaccard index with the leader
    ]
)


def group(this: Run, signed: Mapping[str, Any], joined: Mapping[str, Any], verdicts: Mapping[str, Any]) -> dict[str, Any]:
    """Steps ``kin`` and ``families``: the families of the documents that the verdicts leave."""
    buckets = max(1, -(-int(joined["parts"][0]["rows"]) // _KIN_A_TASK))
    components, signatures = this.step("components"), this.step("signatures")
    tasks: list[Any] = [
        ((signatures, entry, first, components, buckets), [entry["sha256"], joined["fingerprint"], first, buckets], 0)
        for entry, first in zip(signed["parts"], this.firsts, strict=False)
    ]
    past: list[Any] = [
        ((view, components, buckets), [view.fingerprint, number, joined["fingerprint"], buckets], 0)
        for number, view in enumerate(this.past_parts())
    ]
    kin = this.go("kin", collect_kin, tasks)
    past_kin = this.go("past_kin", collect_past_kin, past)
    tasks = [
        (
            ((this.step("kin"), this.step("past_kin")), this.step("verdicts"), this.step("ids"), bucket, this.view),
            [kin["fingerprint"], past_kin["fingerprint"], verdicts["fingerprint"], bucket, this.view.fingerprint],
            0,
        )
        for bucket in range(buckets)
    ]
    return this.go("families", find_families, tasks)


def collect_kin(
    target: Target, signatures: StageFolder, entry: Mapping[str, Any], first: int, joined: StageFolder, buckets: int
) -> Receipt:
    """Signatures of the documents of one part that share a bucket, sorted by bucket."""
    found = between(joined, first, first + int(entry["rows"]))
    about = signatures.read(entry, SIGNATURE).take(pa.array(found["ordinal"].to_numpy() - first))
    return _write_kin(target, _kin(about, found, pa.nulls(found.num_rows, pa.int64()), buckets))


def collect_past_kin(target: Target, view: View, joined: StageFolder, buckets: int) -> Receipt:
    """The same of some parts of earlier runs."""
    found = between(joined, *view.ordinals)
    about = view.documents(found["ordinal"].to_numpy() + view.limit, INDEXED.names)
    return _write_kin(target, _kin(about, found, pc.subtract(about["family"], view.limit), buckets))


def _kin(about: pa.Table, found: pa.Table, leaders: Any, buckets: int) -> pa.Table:
    columns = {
        **{name: about[name] for name in ("doc_id", "doc_type", "n_chars", "signature")},
        "bucket": pa.array((found["kin"].to_numpy() % buckets).astype(np.int32)),
        "kin": found["kin"],
        "ordinal": found["ordinal"],
        "leader": leaders,
    }
    return pa.table([columns[name] for name in _KIN.names], schema=_KIN)


def _write_kin(target: Target, table: pa.Table) -> Receipt:
    return target.write_work(table.sort_by([("bucket", "ascending"), ("ordinal", "ascending")]), row_group_size=1 << 14)


def find_families(
    target: Target, kin: tuple[StageFolder, ...], verdicts: StageFolder, ids: StageFolder, bucket: int, view: View
) -> Receipt:
    """The families of one bucket of kin, without those that leave as copies."""
    filters = [("bucket", "==", bucket)]
    paths = [path for folder in kin for path in folder.parts()]
    table = pa.concat_tables([files.read_columns(path, filters=filters) for path in paths])
    gone = [read_repeated(ids)["ordinal"].to_numpy()]
    left = [("gone", "==", True)]
    gone += [files.read_columns(path, columns=["ordinal"], filters=left)["ordinal"].to_numpy() for path in verdicts.parts()]
    stays = ~np.isin(table["ordinal"].to_numpy(), np.concatenate(gone)) & (table["n_chars"].to_numpy() >= SHINGLE)
    table = _with_leaders(table.filter(pa.array(stays)).sort_by("ordinal"), view)
    ordinals, types = table["ordinal"].to_numpy(), table["doc_type"].to_pylist()
    known = pc.fill_null(pc.index_in(table["leader"], table["ordinal"].combine_chunks()), -1).to_numpy()
    signatures = unpack(table["signature"])
    salts = np.array([SALTS[doc_type] for doc_type in types], np.uint64)
    leaders = families(band_hashes(signatures) ^ salts[:, None], signatures, known)
    new = np.flatnonzero(ordinals >= 0)
    led = leaders[new]
    counted = _count_past(view, np.unique(ordinals[led][ordinals[led] < 0]))
    before = np.array([counted.get(ordinal, 0) for ordinal in ordinals[led].tolist()], np.int64)
    estimates = np.count_nonzero(signatures[new] == signatures[led], axis=1) / signatures.shape[1]
    doc_ids = table["doc_id"]
    columns = [
        ordinals[new],
        ordinals[led],
        doc_ids.take(pa.array(new)),
        doc_ids.take(pa.array(led)),
        *ranks(led, before),
        estimates,
    ]
    return target.write_work(pa.table(columns, schema=_KIN_ROW))


def _with_leaders(table: pa.Table, view: View) -> pa.Table:
    """The same documents with the leaders of their families, where those are of earlier runs and share no bucket themselves."""
    named = np.unique(table["leader"].drop_null().to_numpy())
    missing = np.setdiff1d(named, table["ordinal"].to_numpy())
    if not missing.size:
        return table
    about = view.documents(missing + view.limit, INDEXED.names)
    found = pa.table({"ordinal": pc.subtract(about["ordinal"], view.limit), "kin": np.zeros(about.num_rows, np.int64)})
    more = _kin(about, found, pc.subtract(about["family"], view.limit), 1)
    return pa.concat_tables([table, more]).sort_by("ordinal")


def _count_past(view: View, leaders: Any) -> dict[int, int]:
    """How many documents of earlier runs each family has, by the (negative) ordinal of its leader."""
    counts: dict[int, int] = {}
    if leaders.size:
        wanted = pa.array(leaders + view.limit)
        for name, *_ in view.parts:
            column = files.read_columns(view.root / "documents" / name, columns=["family"])["family"]
            for row in column.filter(pc.is_in(column, wanted)).value_counts().to_pylist():
                at = row["values"] - view.limit
                counts[at] = counts.get(at, 0) + row["counts"]
    return counts


def read_families(found: StageFolder, low: int, high: int = _ALL) -> pa.Table:
    """The rows of all buckets whose ordinal lies in [low, high), by ordinal."""
    within = [("ordinal", ">=", low), ("ordinal", "<", high)]
    return pa.concat_tables([files.read_columns(path, filters=within) for path in found.parts()]).sort_by("ordinal")
