"""The verdicts: which documents of a component are copies of one that stays, by exact Jaccard against the kept ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from lexmill.core.dedup.compare import comparison_copies
from lexmill.core.dedup.rules import DedupRules, Guard
from lexmill.core.dedup.signature import NUM_PERM, SHINGLE, band_hashes, hash_shingles, unpack
from lexmill.core.dedup.utf8 import Utf8, buffers, decode
from lexmill.schema import SIGNATURE

Array = np.ndarray[Any, np.dtype[Any]]

CANDIDATES = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("component", pa.int64()),
        ("source_order", pa.int32()),
        ("doc_type", pa.string()),
        ("text", pa.string()),
        *SIGNATURE,
    ]
)

PAIRS = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("doc_id", pa.string()),
        ("twin_ordinal", pa.int64()),
        ("twin", pa.string()),  # doc_id of a document that stays
        ("rule", pa.string()),  # dedup.exact, dedup.near; refused.below or refused.<guard>
        ("jaccard", pa.float64()),  # of the sets of character 5-grams of the comparison copies
        ("component", pa.int64()),
        ("gone", pa.bool_()),
    ]
)

EXACT: Final = "dedup.exact"
NEAR: Final = "dedup.near"
BELOW: Final = "refused.below"

# A hot bucket (one form, many cases) names only its first documents; a copy meets its original in bands of its own, too.
MAX_BUCKET: Final = 512
MAX_VERIFIED: Final = 64
# The estimate from 128 permutations has a standard error of .035 at Jaccard .8: this is 3.5 of them.
MARGIN: Final = 0.125

Identity = tuple[str, int]  # id of the guard, and what it compares


class _Verdict(NamedTuple):
    row: int
    twin: int
    rule: str
    jaccard: float
    gone: bool


def shingle_set(copies: Utf8, row: int) -> Array:
    """The distinct 64-bit hashes of the 5-grams of one comparison copy, sorted."""
    start, end = copies.offsets[row], copies.offsets[row + 1]
    points = np.empty(end - start, np.uint32)
    hashes = np.empty(end - start, np.uint64)
    m = hash_shingles(points, decode(copies.data, start, end, points), hashes)
    hashes = np.sort(hashes[:m])  # np.unique hashes first, which takes four times as long
    distinct = np.ones(m, np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=distinct[1:])
    return hashes[distinct]


@njit(cache=True, nogil=True)
def jaccard(left: Any, right: Any) -> float:
    """The Jaccard similarity of two sorted arrays without repeats; 0 for two empty ones."""
    i = j = both = 0
    while i < left.size and j < right.size:
        a, b = left[i], right[j]
        both += a == b
        i += a <= b
        j += b <= a
    return both / max(left.size + right.size - both, 1)


@dataclass(frozen=True)
class _Bucket:
    """The candidates, column by column; a row is a document."""

    doc_types: list[str]
    guards: list[Guard | None]
    identities: list[Identity | None]  # None: not guarded, or not known
    apart: list[Identity | None]  # the identity where even exact copies of another one stay
    exact: list[bytes]
    has_shingles: list[bool]
    signatures: Array
    copies: Utf8

    def estimate(self, row: int, others: list[int]) -> Array:
        """The Jaccard similarities that the signatures of ``row`` and ``others`` let expect."""
        return np.count_nonzero(self.signatures[others] == self.signatures[row], axis=1) / NUM_PERM


def _read(candidates: pa.Table, rules: DedupRules) -> _Bucket:
    by_type = {doc_type: guard for guard in rules.guard for doc_type in guard.doc_types}
    doc_types = candidates["doc_type"].to_pylist()
    guards: list[Guard | None] = [by_type.get(doc_type) for doc_type in doc_types]
    values: dict[str, list[int]] = {
        "case_number": candidates["case_key"].to_pylist(),
        "version_date": candidates["date"].to_pylist(),
    }
    identities: list[Identity | None] = []
    for row, guard in enumerate(guards):
        known = guard is not None and values[guard.identity][row] != guard.unknown
        identities.append((guard.id, values[guard.identity][row]) if guard and known else None)
    strict = [guard is not None and guard.exact_copies == "apart" for guard in guards]
    return _Bucket(
        doc_types=doc_types,
        guards=guards,
        identities=identities,
        apart=[identity if is_strict else None for identity, is_strict in zip(identities, strict, strict=True)],
        exact=candidates["exact"].to_pylist(),
        has_shingles=pc.greater_equal(candidates["n_chars"], SHINGLE).to_pylist(),
        signatures=unpack(candidates["signature"]),
        copies=buffers(comparison_copies(candidates["text"])),
    )


def _by_preference(candidates: pa.Table, bucket: _Bucket) -> Iterator[list[int]]:
    """The rows of each component, the copy that one would rather keep first.

    Documents of known identity come first, and before all those whose exact copies must stay apart: so a document without one
    goes to them, and never stands between two that must stay apart.
    """
    descending = {"n_text", "date"}
    columns = ["component", "anonymity", "n_fffd", "n_text", "date", "source_order", "doc_id"]
    anonymity = [(apart is None) + (identity is None) for apart, identity in zip(bucket.apart, bucket.identities, strict=True)]
    table = candidates.append_column("anonymity", pa.array(anonymity, pa.int8()))
    keys = [(name, "descending" if name in descending else "ascending") for name in columns]
    order = pc.sort_indices(table.select(columns), sort_keys=keys).to_pylist()
    component = candidates["component"].to_pylist()
    for _, rows in groupby(order, key=component.__getitem__):
        yield list(rows)


class _Component:
    """Judges the documents of one component in turn, each against those that were kept before it."""

    def __init__(self, bucket: _Bucket, threshold: float) -> None:
        self.bucket = bucket
        self.threshold = threshold
        self.by_exact: dict[tuple[bytes, Identity | None], int] = {}
        self.by_band: dict[tuple[int, str], list[int]] = {}
        self.by_identity: dict[tuple[int, str, Identity], list[int]] = {}
        self.sets: dict[int, Array] = {}

    def judge(self, row: int, bands: list[int]) -> _Verdict | None:
        """The verdict on one document, which is kept unless it is gone: its twin, the best refused pair, or None without any."""
        twin = self._exact_twin(row)
        if twin is not None:
            return _Verdict(row, twin, EXACT, 1.0, gone=True)
        verdict = self._near_twin(row, bands)
        if verdict and verdict.gone:
            self.sets.pop(row, None)
        else:
            self._keep(row, bands)
        return verdict

    def _exact_twin(self, row: int) -> int | None:
        return self.by_exact.get((self.bucket.exact[row], self.bucket.apart[row]))

    def _keep(self, row: int, bands: list[int]) -> None:
        exact = self.bucket.exact[row]
        # Under None stands the first of all, for those whom no guard keeps apart.
        self.by_exact.setdefault((exact, None), row)
        self.by_exact.setdefault((exact, self.bucket.apart[row]), row)
        doc_type, identity = self.bucket.doc_types[row], self.bucket.identities[row]
        for band in bands:
            buckets = [self.by_band.setdefault((band, doc_type), [])]
            if identity:
                buckets.append(self.by_identity.setdefault((band, doc_type, identity), []))
            for rows in buckets:
                if len(rows) < MAX_BUCKET:
                    rows.append(row)

    def _candidates(self, row: int, bands: list[int]) -> list[int]:
        """At most ``MAX_BUCKET`` kept documents with a band in common that no guard keeps apart, those of small buckets first."""
        doc_type, identity = self.bucket.doc_types[row], self.bucket.identities[row]
        if identity:
            buckets = [self.by_identity.get((band, doc_type, identity), []) for band in bands]
        else:
            buckets = [self.by_band.get((band, doc_type), []) for band in bands]
        found: dict[int, None] = {}
        for rows in sorted(buckets, key=len):
            found.update(dict.fromkeys(rows))
            if len(found) >= MAX_BUCKET:
                break
        return list(found)[:MAX_BUCKET]

    def _near_twin(self, row: int, bands: list[int]) -> _Verdict | None:
        best: _Verdict | None = None
        candidates = self._candidates(row, bands)
        if candidates:
            estimates = self.bucket.estimate(row, candidates)
            for rank, at in enumerate(np.argsort(-estimates, kind="stable")[:MAX_VERIFIED].tolist()):
                # The first is looked at in any case, so that the pair table says how near the nearest was.
                if rank and estimates[at] < self.threshold - MARGIN:
                    break
                verdict = self._verify(row, candidates[at])
                if verdict.gone:
                    return verdict
                best = verdict if best is None or verdict.jaccard > best.jaccard else best
        refused = self._refused(row, bands)
        return refused if refused and (best is None or refused.jaccard > best.jaccard) else best

    def _verify(self, row: int, twin: int) -> _Verdict:
        similarity = jaccard(self._set(row), self._set(twin))
        gone = similarity >= self.threshold
        return _Verdict(row, twin, NEAR if gone else BELOW, similarity, gone)

    def _refused(self, row: int, bands: list[int]) -> _Verdict | None:
        """The nearest of the first documents in each band that a guard keeps apart from this one."""
        guard, identity = self.bucket.guards[row], self.bucket.identities[row]
        if not guard or not identity:
            return None
        firsts = (self.by_band[key][0] for band in bands if (key := (band, self.bucket.doc_types[row])) in self.by_band)
        others = [first for first in dict.fromkeys(firsts) if self.bucket.identities[first] != identity]
        if not others:
            return None
        verdict = self._verify(row, others[int(np.argmax(self.bucket.estimate(row, others)))])
        return verdict._replace(rule=guard.verdict if verdict.gone else BELOW, gone=False)

    def _set(self, row: int) -> Array:
        if row not in self.sets:
            self.sets[row] = shingle_set(self.bucket.copies, row)
        return self.sets[row]


def judge(candidates: pa.Table, threshold: float, rules: DedupRules) -> pa.Table:
    """The PAIRS of whole components of CANDIDATES: one row a document that goes, and the nearest refused pair of the others.

    Within a component documents are taken in order of preference: known identity (case number, version date), fewest U+FFFD,
    longest text, newest, source order, least ``doc_id``. Each is compared to those kept before it, never along a chain: equal
    comparison copies are one (``dedup.exact``), so are two of one type with a band in common and a Jaccard of at least
    ``threshold`` (``dedup.near``), unless a guard of ``rules`` keeps them apart. Work is bounded per document, not per pair: at
    most ``MAX_BUCKET`` estimates and ``MAX_VERIFIED`` exact comparisons, and one more to name the pair that a guard refused.
    """
    bucket = _read(candidates, rules)
    bands = band_hashes(bucket.signatures)
    verdicts: list[_Verdict] = []
    for rows in _by_preference(candidates, bucket):
        component = _Component(bucket, threshold)
        for row in rows:
            verdict = component.judge(row, bands[row].tolist() if bucket.has_shingles[row] else [])
            if verdict:
                verdicts.append(verdict)
    rows_, twins = [verdict.row for verdict in verdicts], [verdict.twin for verdict in verdicts]
    named = candidates.select(["ordinal", "doc_id", "component"])
    own, other = named.take(pa.array(rows_, pa.int64())), named.take(pa.array(twins, pa.int64()))
    columns = {
        "ordinal": own["ordinal"],
        "doc_id": own["doc_id"],
        "twin_ordinal": other["ordinal"],
        "twin": other["doc_id"],
        "rule": [verdict.rule for verdict in verdicts],
        "jaccard": [verdict.jaccard for verdict in verdicts],
        "component": own["component"],
        "gone": [verdict.gone for verdict in verdicts],
    }
    return pa.table(columns, schema=PAIRS)
