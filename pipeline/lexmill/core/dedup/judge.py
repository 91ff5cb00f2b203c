"""The verdicts: which documents of a component are copies of one that stays, by exact Jaccard against the kept ones."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexmill.core.dedup.identity import NO_DATE, NO_KEY, NO_VERSION
from lexmill.core.dedup.refine import rare_bands
from lexmill.core.dedup.rules import DedupRules, Guard, Value
from lexmill.core.dedup.shingles import Shingles, containment, in_common, jaccard
from lexmill.core.dedup.signature import NUM_PERM, SHINGLE, band_hashes, unpack
from lexmill.core.dedup.utf8 import buffers
from lexmill.schema import SIGNATURE

Array = np.ndarray[Any, np.dtype[Any]]

CANDIDATES = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("component", pa.int64()),
        ("past", pa.bool_()),  # an earlier night kept it: it stays, and is only compared with
        ("source_order", pa.int32()),
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
        ("rule", pa.string()),  # dedup.…; refused.below or refused.<guard>; refused.family: another case on the same form
        ("jaccard", pa.float64()),  # of the sets of character 5-grams of the comparison copies
        ("value", pa.float64()),  # what the rule measured: containment, share of options; else the Jaccard index
        ("component", pa.int64()),
        ("gone", pa.bool_()),
    ]
)

EXACT: Final = "dedup.exact"
SAME_CASE: Final = "dedup.same_case"
SAME_ITEM: Final = "dedup.same_item"
OLDER_VERSION: Final = "dedup.older_version"
NEAR: Final = "dedup.near"
BELOW: Final = "refused.below"

# Two prints of one paper of one case: nearly all of the shorter stands in the longer, and the one that goes is not the whole of
# which the other is a stub.
CONTAINED: Final = 0.9
LONGEST_LEFT: Final = 2.0
# Two items with one stem: an option may be misprinted, but not two of four.
SAME_OPTIONS: Final = 0.75
# Laws of one title that share less are of two places or two times (a law made anew is a law of its own).
VERSION_SHARES: Final = 0.3

# Documents of more than this in one bucket (one form, many cases) meet by their rare shingles, too; a list of any kind names
# only its first documents.
MAX_BUCKET: Final = 512
MAX_VERIFIED: Final = 64
# Tallies: documents of hot buckets that were looked up by their rare shingles, and those that could not be compared to all.
HOT_REFINED: Final = "hot_refined"
HOT_CAPPED: Final = "hot_capped"
# The estimate from 128 permutations has a standard error of .035 at Jaccard .8: this is 3.5 of them.
MARGIN: Final = 0.125

Keep = Literal["all", "latest"]
Prefer = Literal["best", "first"]
Identity = tuple[tuple[str, Value], ...]  # ids of the guards that hold for exact copies, and what they compare


class _Verdict(NamedTuple):
    row: int
    twin: int
    rule: str
    jaccard: float
    value: float
    gone: bool


@dataclass(frozen=True)
class _Bucket:
    """The candidates, column by column; a row is a document."""

    doc_types: list[str]
    past: list[bool]
    keys: list[int]
    identities: list[tuple[tuple[Guard, Value], ...]]  # what each guard of its type compares
    apart: list[Identity]  # the identities by which even exact copies stay; empty: none is known
    exact: list[bytes]
    same: list[int]
    options: list[list[int]]
    dates: list[int]
    n_chars: list[int]
    signatures: Array
    shingles: Shingles

    def estimate(self, row: int, others: list[int] | Array) -> Array:
        """The Jaccard similarities that the signatures of ``row`` and ``others`` let expect."""
        return np.count_nonzero(self.signatures[others] == self.signatures[row], axis=1) / NUM_PERM

    def refusing(self, row: int, other: int) -> Guard | None:
        """The first guard that keeps two documents of one type apart."""
        pairs = zip(self.identities[row], self.identities[other], strict=True)
        return next((guard for (guard, left), (_, right) in pairs if guard.refuses(left, right)), None)


def _read(candidates: pa.Table, rules: DedupRules) -> _Bucket:
    doc_types = candidates["doc_type"].to_pylist()
    values: dict[str, list[Value]] = {
        "case_number": candidates["case_key"].to_pylist(),
        "trial_level": candidates["trial"].to_pylist(),
        "version_date": [
            (str(date), figures or str(date)) if date != NO_DATE else NO_VERSION
            for date, figures in zip(candidates["date"].to_pylist(), candidates["version"].to_pylist(), strict=True)
        ],
        **dict.fromkeys(("title", "question", "answer"), pc.fill_null(candidates["title"], "").to_pylist()),
    }
    guards = {doc_type: rules.guards(doc_type) for doc_type in set(doc_types)}
    identities = [
        tuple((guard, values[guard.identity][row]) for guard in guards[doc_type]) for row, doc_type in enumerate(doc_types)
    ]
    return _Bucket(
        doc_types=doc_types,
        past=candidates["past"].to_pylist(),
        keys=candidates["key"].to_pylist(),
        identities=identities,
        apart=[
            tuple((guard.id, value) for guard, value in known if guard.exact_copies == "apart" and guard.knows(value))
            for known in identities
        ],
        exact=candidates["exact"].to_pylist(),
        same=candidates["same"].to_pylist(),
        options=candidates["options"].to_pylist(),
        dates=candidates["date"].to_pylist(),
        n_chars=candidates["n_chars"].to_pylist(),
        signatures=unpack(candidates["signature"]),
        shingles=Shingles(buffers(candidates["text"])),
    )


def _in_order(candidates: pa.Table, bucket: _Bucket, keep: Keep, prefer: Prefer) -> Iterator[list[int]]:
    """The rows of each component in the order in which they are judged: what comes earlier stays.

    What an earlier night kept comes first, as it arrived. Of the rest, with ``best``, documents of known identity come first, and
    before all those whose exact copies must stay apart: so a document without one goes to them, and never stands between two
    that must stay apart. With ``first`` all come as they arrived.
    """
    arrival = candidates["ordinal"].to_numpy()
    past = np.array(bucket.past, np.bool_)
    columns: dict[str, tuple[Any, str]] = {
        "component": (candidates["component"], "ascending"),
        "past": (pa.array(past.astype(np.int8)), "descending"),
    }
    if prefer == "best":
        unknown = [
            (not apart) + any(not guard.knows(value) for guard, value in known[:1])
            for apart, known in zip(bucket.apart, bucket.identities, strict=True)
        ]
        is_version = pc.equal(candidates["doc_type"], "statute") if keep == "latest" else pa.scalar(False)
        columns |= {
            "arrival": (pa.array(np.where(past, arrival, 0)), "ascending"),
            "unknown": (pa.array(unknown, pa.int8()), "ascending"),
            "version": (pc.if_else(is_version, candidates["date"], NO_DATE), "descending"),
            "n_fffd": (candidates["n_fffd"], "ascending"),
            "n_text": (candidates["n_text"], "descending"),
            "date": (candidates["date"], "descending"),
            "source_order": (candidates["source_order"], "ascending"),
            "doc_id": (candidates["doc_id"], "ascending"),
        }
    columns["ordinal"] = (candidates["ordinal"], "ascending")
    table = pa.table({name: column for name, (column, _) in columns.items()})
    order = pc.sort_indices(table, sort_keys=[(name, way) for name, (_, way) in columns.items()]).to_pylist()
    component = candidates["component"].to_pylist()
    for _, rows in groupby(order, key=component.__getitem__):
        yield list(rows)


def _shared(hashes: Array) -> list[list[int]]:
    """Of the band hashes of each document those that another one has, too; most have none, and propose nobody."""
    flat = hashes.ravel()
    order = np.argsort(flat, kind="stable")
    same = flat[order[1:]] == flat[order[:-1]]
    shared = np.zeros(flat.size, np.bool_)
    shared[order[1:]] = same
    shared[order[:-1]] |= same
    found = shared.reshape(hashes.shape)
    return [row[own].tolist() for row, own in zip(hashes, found, strict=True)]


def _rare_bands(bucket: _Bucket, rows: list[int], bands: list[list[int]]) -> dict[int, list[int]]:
    """The bands of the rare shingles of the documents of a component, of the types that have a hot bucket in it."""
    if len(rows) <= MAX_BUCKET or all(bucket.keys[row] != NO_KEY for row in rows):
        return {}  # where all say which case they are, only documents of one case are compared
    sizes = Counter((bucket.doc_types[row], band) for row in rows for band in bands[row])
    hot = {doc_type for (doc_type, _), size in sizes.items() if size > MAX_BUCKET}
    own = [row for row in rows if bucket.doc_types[row] in hot]
    return dict(zip(own, rare_bands(bucket.shingles, own), strict=True))


class _Component:
    """Judges the documents of one component in turn, each against those that were kept before it."""

    def __init__(
        self, bucket: _Bucket, threshold: float, keep: Keep, rare: Mapping[int, list[int]], counts: Counter[str]
    ) -> None:
        self.bucket = bucket
        self.rare = rare
        self.counts = counts
        self.threshold = threshold
        self.same_rules: dict[str, Callable[[int, int], _Verdict | None]] = {
            "judgment": self._same_case,
            "exam": self._same_item,
        }
        if keep == "latest":
            self.same_rules["statute"] = self._older_version
        self.by_exact: dict[tuple[bytes, Identity], int] = {}
        self.by_same: dict[tuple[str, int], list[int]] = {}
        self.by_band: dict[tuple[int, str], list[int]] = {}
        self.by_key: dict[tuple[int, str, int], list[int]] = {}
        self.by_rare: dict[tuple[int, str], list[int]] = {}
        self.sets: dict[int, Array] = {}

    def judge(self, row: int, bands: list[int]) -> _Verdict | None:
        """The verdict on one document, which is kept unless it is gone: its twin, the best refused pair, or None without any."""
        if self.bucket.past[row]:
            self._keep(row, bands)
            return None
        twin = self._exact_twin(row)
        if twin is not None:
            return _Verdict(row, twin, EXACT, 1.0, 1.0, gone=True)
        verdict = self._same_twin(row) or self._near_twin(row, bands)
        if verdict and verdict.gone:
            self.sets.pop(row, None)
        else:
            self._keep(row, bands)
        return verdict

    def _exact_twin(self, row: int) -> int | None:
        return self.by_exact.get((self.bucket.exact[row], self.bucket.apart[row]))

    def _keep(self, row: int, bands: list[int]) -> None:
        bucket = self.bucket
        # Under no identity stands the first of all, for those whom no guard keeps apart.
        self.by_exact.setdefault((bucket.exact[row], ()), row)
        self.by_exact.setdefault((bucket.exact[row], bucket.apart[row]), row)
        doc_type, key, same = bucket.doc_types[row], bucket.keys[row], bucket.same[row]
        groups = [self.by_same.setdefault((doc_type, same), [])] if same != NO_KEY else []
        for band in bands:
            groups.append(self.by_band.setdefault((band, doc_type), []))
            if key != NO_KEY:
                groups.append(self.by_key.setdefault((band, doc_type, key), []))
        groups += [self.by_rare.setdefault((band, doc_type), []) for band in self.rare.get(row, ())]
        for rows in groups:
            if len(rows) < MAX_BUCKET:
                rows.append(row)

    def _same_twin(self, row: int) -> _Verdict | None:
        """The copy that says of itself to be the same paper, item or law."""
        rule = self.same_rules.get(self.bucket.doc_types[row])
        if rule is None or self.bucket.same[row] == NO_KEY:
            return None
        twins = self.by_same.get((self.bucket.doc_types[row], self.bucket.same[row]), [])
        return next((verdict for twin in twins[:MAX_VERIFIED] if (verdict := rule(row, twin))), None)

    def _same_case(self, row: int, twin: int) -> _Verdict | None:
        if self.bucket.n_chars[row] > LONGEST_LEFT * self.bucket.n_chars[twin] or self.bucket.refusing(row, twin):
            return None
        shares = containment(self._set(row), self._set(twin))
        return self._gone(row, twin, SAME_CASE, shares) if shares >= CONTAINED else None

    def _same_item(self, row: int, twin: int) -> _Verdict | None:
        own, other = (np.array(self.bucket.options[at], np.uint64) for at in (row, twin))
        shares = in_common(own, other) / max(own.size, other.size) if own.size or other.size else 1.0
        return self._gone(row, twin, SAME_ITEM, shares) if shares >= SAME_OPTIONS else None

    def _older_version(self, row: int, twin: int) -> _Verdict | None:
        if not NO_DATE < self.bucket.dates[row] < self.bucket.dates[twin]:
            return None
        shares = containment(self._set(row), self._set(twin))
        return self._gone(row, twin, OLDER_VERSION, shares) if shares >= VERSION_SHARES else None

    def _gone(self, row: int, twin: int, rule: str, value: float) -> _Verdict:
        return _Verdict(row, twin, rule, jaccard(self._set(row), self._set(twin)), value, gone=True)

    def _candidates(self, row: int, bands: list[int]) -> list[int]:
        """At most ``MAX_BUCKET`` kept documents with a band in common that no key keeps apart, those of small buckets first."""
        doc_type, key = self.bucket.doc_types[row], self.bucket.keys[row]
        if key != NO_KEY:
            buckets = [self.by_key.get((band, doc_type, key), []) for band in bands]
        else:
            buckets = [self.by_band.get((band, doc_type), []) for band in bands]
        found: dict[int, None] = {}
        for rows in sorted(buckets, key=len):
            found.update(dict.fromkeys(rows))
            if len(found) >= MAX_BUCKET:
                self.counts[HOT_CAPPED] += 1
                break
        return list(found)[:MAX_BUCKET]

    def _in_turn(self, row: int, bands: list[int]) -> Iterator[int]:
        """The candidates to verify: those that share rare shingles, most bands first, then those that the signatures let expect.

        The first is looked at in any case, so that the pair table says how near the nearest was.
        """
        rare: Counter[int] = Counter()
        if self.bucket.keys[row] == NO_KEY:
            for band in self.rare.get(row, ()):
                rare.update(self.by_rare.get((band, self.bucket.doc_types[row]), ()))
        least = self.threshold - MARGIN
        kin = np.array([other for other, _ in rare.most_common(MAX_BUCKET)], np.int64)
        likely = kin[self.bucket.estimate(row, kin) >= least].tolist()
        yield from likely
        others = [other for other in self._candidates(row, bands) if other not in rare]
        if others:
            estimates = self.bucket.estimate(row, others)
            for rank, at in enumerate(np.argsort(-estimates, kind="stable").tolist()):
                if (rank or likely) and estimates[at] < least:
                    break
                yield others[at]

    def _near_twin(self, row: int, bands: list[int]) -> _Verdict | None:
        best: _Verdict | None = None
        for candidate in islice(self._in_turn(row, bands), MAX_VERIFIED):
            verdict = self._verify(row, candidate)
            if verdict.gone:
                return verdict
            best = verdict if best is None or verdict.jaccard > best.jaccard else best
        refused = self._refused(row, bands)
        return refused if refused and (best is None or refused.jaccard > best.jaccard) else best

    def _verify(self, row: int, twin: int) -> _Verdict:
        similarity = jaccard(self._set(row), self._set(twin))
        rule = BELOW
        if similarity >= self.threshold:
            guard = self.bucket.refusing(row, twin)
            rule = guard.verdict if guard else NEAR
        return _Verdict(row, twin, rule, similarity, similarity, gone=rule == NEAR)

    def _refused(self, row: int, bands: list[int]) -> _Verdict | None:
        """The nearest of the first documents in each band that a key keeps apart from this one."""
        key = self.bucket.keys[row]
        firsts = (self.by_band[found][0] for band in bands if (found := (band, self.bucket.doc_types[row])) in self.by_band)
        others = [first for first in dict.fromkeys(firsts) if self.bucket.keys[first] != key != NO_KEY]
        return (
            self._verify(row, others[int(np.argmax(self.bucket.estimate(row, others)))])._replace(gone=False) if others else None
        )

    def _set(self, row: int) -> Array:
        if row not in self.sets:
            self.sets[row] = self.bucket.shingles.of(row)
        return self.sets[row]


def judge(
    candidates: pa.Table,
    threshold: float,
    rules: DedupRules,
    keep: Keep = "all",
    prefer: Prefer = "best",
    counts: Counter[str] | None = None,
) -> pa.Table:
    """The PAIRS of whole components of CANDIDATES: one row a document that goes, and the nearest refused pair of the others.

    What an earlier night kept stays. The other documents of a component are taken in order of preference (``best``: known
    identity, fewest U+FFFD, longest text, newest, source order, least ``doc_id``) or of arrival (``first``). Each is compared to
    those kept before it, never along a chain, layer by layer: equal comparison copies (``dedup.exact``); the same paper of the
    same case, where one holds ``CONTAINED`` of the other (``dedup.same_case``); exam items with one stem and ``SAME_OPTIONS`` of
    their options (``dedup.same_item``); with ``keep`` latest an older version of a statute of the same title
    (``dedup.older_version``); two of one type with a band in common and a Jaccard index of at least ``threshold``
    (``dedup.near``), unless a guard of ``rules`` keeps them apart. Work is bounded per document, not per pair: at most
    ``MAX_BUCKET`` estimates and ``MAX_VERIFIED`` exact comparisons a layer, and one more to name the pair that a guard refused.
    Where more than ``MAX_BUCKET`` documents share a band, theirs meet by rare shingles, too (``refine``). ``counts`` is told how
    many these are (``HOT_REFINED``), and how many were not compared to all that they share a bucket with (``HOT_CAPPED``).
    """
    counts = Counter() if counts is None else counts
    bucket = _read(candidates, rules)
    shared = _shared(band_hashes(bucket.signatures))
    bands = [own if n_chars >= SHINGLE else [] for own, n_chars in zip(shared, bucket.n_chars, strict=True)]
    verdicts: list[_Verdict] = []
    for rows in _in_order(candidates, bucket, keep, prefer):
        rare = _rare_bands(bucket, rows, bands)
        counts[HOT_REFINED] += len(rare)
        component = _Component(bucket, threshold, keep, rare, counts)
        for row in rows:
            verdict = component.judge(row, bands[row])
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
        "value": [verdict.value for verdict in verdicts],
        "component": own["component"],
        "gone": [verdict.gone for verdict in verdicts],
    }
    return pa.table(columns, schema=PAIRS)
