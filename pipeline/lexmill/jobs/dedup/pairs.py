"""Every decision: copies, refused pairs, used ids and families, by ordinal."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.judge import EXACT, PAIRS
from lexmill.core.dedup.sizes import CLUSTERS, FAMILIES, sizes
from lexmill.jobs.dedup.families import read_families
from lexmill.jobs.dedup.identifiers import ID_USED_TWICE, read_repeated
from lexmill.jobs.dedup.steps import Run
from lexmill.store import files
from lexmill.store.fingerprint import digest
from lexmill.store.stages import Receipt, StageFolder, Target

FAMILY_CAP = "dedup.family_cap"
_FAMILY = "refused.family"


def collect(
    this: Run, repeated: Mapping[str, Any], verdicts: Mapping[str, Any] | None, families: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Step ``pairs``, of verdicts and families where documents were compared."""
    most = this.job.config.dedup.max_per_family
    needs = [made["fingerprint"] if made else None for made in (verdicts, repeated, families)]
    judged, found = (this.step(name) if made else None for name, made in (("verdicts", verdicts), ("families", families)))
    return this.go("pairs", collect_pairs, [((judged, this.step("ids"), found, most), needs, 0)])


def collect_pairs(
    target: Target, verdicts: StageFolder | None, ids: StageFolder, found: StageFolder | None, max_per_family: int
) -> Receipt:
    """Every decision, sorted by ordinal; of documents under a used id copies leave, and others are to be looked at.

    Tallies are the sizes of clusters (copies and the document that stays) and of families (of this run).
    """
    repeated = read_repeated(ids)
    same_text = repeated["same_text"]
    n = repeated.num_rows
    columns = {
        "ordinal": repeated["ordinal"],
        "doc_id": repeated["twin"],  # the id that both have
        "twin_ordinal": repeated["twin_ordinal"],
        "twin": repeated["twin"],
        "rule": pc.if_else(same_text, EXACT, ID_USED_TWICE),
        "jaccard": pc.if_else(same_text, 1.0, None),
        "value": pc.if_else(same_text, 1.0, None),
        "component": repeated["ordinal"],
        "gone": pa.array(np.ones(n, bool)),
    }
    tables = [pa.table([columns[name] for name in PAIRS.names], schema=PAIRS)]
    if verdicts is not None:
        tables += [files.read_columns(path) for path in verdicts.parts()]
    pairs = pa.concat_tables(tables)
    # What ended its worker leaves without a twin.
    copies = pairs.filter(pc.and_(pc.and_(pairs["gone"], pc.is_valid(pairs["twin"])), pc.not_equal(pairs["rule"], ID_USED_TWICE)))
    tallies = sizes(CLUSTERS, copies["twin_ordinal"].to_numpy(), outside=1)
    if found is not None:
        kin = read_families(found, 0)
        tallies |= sizes(FAMILIES, kin["leader"].to_numpy(), outside=0)
        pairs = _with_families(pairs, kin, max_per_family)
    return target.write_work(
        pairs.sort_by([("ordinal", "ascending"), ("gone", "descending")]), row_group_size=1 << 16, tallies=tallies
    )


def _with_families(pairs: pa.Table, kin: pa.Table, max_per_family: int) -> pa.Table:
    """The decisions with a row for each member of a family but its leader: it leaves where the family has enough."""
    members = kin.filter(pc.not_equal(kin["ordinal"], kin["leader"]))
    capped = pc.and_(pc.greater(members["rank"], max_per_family), pa.scalar(max_per_family > 0))
    said = pc.is_in(members["ordinal"], pairs["ordinal"])
    members, capped = members.filter(pc.or_(capped, pc.invert(said))), capped.filter(pc.or_(capped, pc.invert(said)))
    columns = {
        "ordinal": members["ordinal"],
        "doc_id": members["doc_id"],
        "twin_ordinal": members["leader"],
        "twin": members["family_id"],
        "rule": pc.if_else(capped, FAMILY_CAP, _FAMILY),
        "jaccard": pa.nulls(members.num_rows, pa.float64()),
        "value": members["estimate"],
        "component": members["leader"],
        "gone": capped,
    }
    more = pa.table([columns[name] for name in PAIRS.names], schema=PAIRS)
    # A document that leaves for its family is no more than that.
    left = pc.and_(pc.is_in(pairs["ordinal"], more.filter(more["gone"])["ordinal"]), pc.invert(pairs["gone"]))
    return pa.concat_tables([pairs.filter(pc.invert(left)), more])


def decision_digests(this: Run) -> list[str]:
    """What was decided about each part, so that a part is made again only if its own decisions changed."""
    (path,) = this.step("pairs").parts()
    table = files.read_columns(path, columns=["ordinal", "twin", "rule", "value"], filters=[("gone", "==", True)])
    edges = np.searchsorted(table["ordinal"].to_numpy(), this.firsts)
    digests = []
    for number, (low, high) in enumerate(pairwise(edges.tolist())):
        found = table.slice(low, high - low)
        rows = pc.subtract(found["ordinal"], this.firsts[number]).to_pylist()
        kin = read_families(this.step("families"), *this.firsts[number : number + 2]) if this.job.config.dedup.enabled else None
        named = kin.filter(pc.greater(kin["size"], 1)).select(["doc_id", "family_id", "size"]).to_pydict() if kin else None
        digests.append(digest(rows, found.drop_columns(["ordinal"]).to_pydict(), named))
    return digests
