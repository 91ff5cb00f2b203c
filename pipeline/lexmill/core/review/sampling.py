"""Which documents are read: a random core for the number, more of the risky strata, and a weight for each.

Every document has a place in (0, 1) that only its ``doc_id`` and the seed decide, so a sample can be drawn again by anyone, and
not be steered. The core are the least places of the lot; each stratum adds the least places of its own. A document's inclusion
probability is the greater of the two thresholds, the (k+1)-th places (bottom-k sampling with rank conditioning, Cohen and Kaplan,
VLDB 2008), and its weight is the inverse.
"""

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

CANDIDATE = pa.schema(
    [
        ("pile", pa.string()),  # kept | dropped
        ("stratum", pa.string()),
        ("place", pa.float64()),
        ("doc_id", pa.string()),
        ("stage", pa.string()),  # whose input holds the text: the stage that dropped it; empty for kept ones
        ("rule", pa.string()),  # that dropped it; empty for kept ones
        ("part", pa.int32()),
    ]
)

# Periods in which publication and masking differed (法释〔2013〕26号, 法释〔2016〕19号, practice since 2021 and 2024).
_PERIODS = ((2014, "≤2013"), (2021, "2014–2020"), (2024, "2021–2023"))
_LENGTHS = ((500, "<500字"), (5_000, "<5000字"), (20_000, "<20000字"))
_LOW_CONFIDENCE = 0.8


@dataclass(frozen=True)
class Chosen:
    """One document to read: ``weight`` is 1 / inclusion probability; ``core`` says whether it counts for the plain bound."""

    pile: str
    stratum: str
    place: float
    doc_id: str
    stage: str
    rule: str
    part: int
    weight: float
    core: bool


def place(doc_id: str, seed: int, purpose: str = "sample") -> float:
    """The place of a document in (0, 1) for a seed: 53 bits of blake2b, so no two machines differ."""
    digest = blake2b(f"{purpose}\0{seed}\0{doc_id}".encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "big") >> 11) + 0.5) / (1 << 53)


def stratum(row: Mapping[str, Any], masked: bool) -> str:
    """The stratum of a kept document: source, type, period, length, how sure its segments are, whether anything was masked."""
    meta = row["meta"] or {}
    date = meta.get("judgment_date") or meta.get("version_date")
    period = "不详" if not isinstance(date, datetime.date) else _band(date.year, _PERIODS, "≥2024")
    confidence = min((segment["confidence"] for segment in row["segments"] or ()), default=0.0)
    return "/".join(
        (
            row["source"],
            row["doc_type"],
            period,
            _band(len(row["text"]), _LENGTHS, "≥20000字"),
            "分段存疑" if confidence < _LOW_CONFIDENCE else "分段清楚",
            "有遮盖" if masked else "无遮盖",
        )
    )


def _band(value: int, bands: Iterable[tuple[int, str]], beyond: str) -> str:
    return next((name for limit, name in bands if value < limit), beyond)


def least(candidates: pa.Table, core: int, per_stratum: int) -> pa.Table:
    """The candidates that can still be chosen, and the first beyond each threshold: what a part has to pass on."""
    ordered = candidates.sort_by([("place", "ascending"), ("doc_id", "ascending")])
    taken: dict[str, int] = {}
    keep = []
    for number, name in enumerate(ordered["stratum"].to_pylist()):
        taken[name] = taken.get(name, 0) + 1
        keep.append(number <= core or taken[name] <= per_stratum + 1)
    return ordered.filter(pa.array(keep, pa.bool_()))


def choose(candidates: pa.Table, core: int, per_stratum: int) -> list[Chosen]:
    """The sample of one pile, by place; ``candidates`` are those of the whole lot, or what ``least`` left of them."""
    ordered = candidates.sort_by([("place", "ascending"), ("doc_id", "ascending")])
    rows = ordered.to_pylist()
    limit = rows[core]["place"] if core < len(rows) else 1.0
    own: dict[str, list[float]] = {}
    for row in rows:
        own.setdefault(row["stratum"], []).append(row["place"])
    limits = {name: places[per_stratum] if per_stratum < len(places) else 1.0 for name, places in own.items()}
    chosen = []
    for number, row in enumerate(rows):
        threshold = max(limit, limits[row["stratum"]])
        if row["place"] < threshold:
            chosen.append(Chosen(**row, weight=1 / threshold, core=number < core))
    return chosen


def count_by_stratum(candidates: pa.Table) -> dict[str, int]:
    """Documents of each stratum."""
    counted = candidates.group_by("stratum").aggregate([([], "count_all")])
    ordered = counted.take(pc.sort_indices(counted, [("stratum", "ascending")]))
    return dict(zip(ordered["stratum"].to_pylist(), ordered["count_all"].to_pylist(), strict=True))
