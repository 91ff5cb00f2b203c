"""Stages on disk: parts, their ledgers and receipts, and the manifest that makes a stage exist.

::

    <stage>/part-00000.parquet        what the stage made of one part
    <stage>/ledger/part-00000.parquet why documents or characters left
    <stage>/receipts/part-00000.json  written last: this part is finished, and this is what it depended on
    <stage>/manifest.json             written when all parts are finished: the stage exists
    <stage>.next/                     the parts that are made anew; moved in when the manifest of the whole stands here

Receipts and manifests hold digests and counts only, so equal work gives equal bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from lexmill.core.batch import Batch
from lexmill.errors import GateError
from lexmill.schema import LEDGER
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.fingerprint import digest, file_digest

Counts = dict[str, dict[str, dict[str, int]]]  # kind (in, out, drop, quarantine, edit) → "source/type" → unit → number

UNITS = ("docs", "chars", "bytes")
_MANIFEST_NAME = "manifest.json"
_RECEIPTS = "receipts/"
_LEDGER = "ledger/"


def part_name(number: int) -> str:
    """The file name of part ``number``."""
    return f"part-{number:05d}.parquet"


@dataclass(frozen=True)
class Receipt:
    """What one finished part is and what it came from.

    ``key`` says whether it must be made again (it may depend on sizes and times of raw files); ``fingerprint`` says what
    it was made of (content only) and goes into the manifest. ``sketches`` (see ``Batch``) stay here.
    """

    number: int
    key: str
    fingerprint: str
    sha256: str
    size: int
    rows: int
    ledger_sha256: str | None
    ledger_size: int
    ledger_rows: int
    counts: Counts
    tallies: dict[str, int]
    extra: dict[str, Any] = field(default_factory=dict)
    sketches: dict[str, str] = field(default_factory=dict)

    def entry(self) -> dict[str, Any]:
        """This part as the manifest lists it."""
        return {
            "name": part_name(self.number),
            "fingerprint": self.fingerprint,
            "sha256": self.sha256,
            "bytes": self.size,
            "rows": self.rows,
            "ledger_sha256": self.ledger_sha256,
            "ledger_rows": self.ledger_rows,
        }


class _Part(TypedDict):
    name: str
    fingerprint: str
    sha256: str
    bytes: int
    rows: int
    ledger_sha256: str | None
    ledger_rows: int


class _Manifest(TypedDict):
    """What every stage's manifest has; a stage adds its own."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # what pydantic reads
    fingerprint: str
    parts: list[_Part]
    counts: dict[str, dict[str, dict[str, int]]]
    tallies: dict[str, int]


_RECEIPT = TypeAdapter(Receipt)
_MANIFEST = TypeAdapter(_Manifest)


@dataclass(frozen=True)
class StageFolder:
    """One stage's folder (see the module's picture)."""

    path: Path

    @property
    def next(self) -> "StageFolder":
        """Where this stage is built again."""
        return StageFolder(self.path.with_name(self.path.name + ".next"))

    def part(self, number: int) -> Path:
        """The part's data file."""
        return self.path / part_name(number)

    def parts(self) -> list[Path]:
        """The data files of the stage, in order; none where it does not exist."""
        manifest = self.manifest()
        return [self.path / entry["name"] for entry in (manifest["parts"] if manifest else [])]

    def ledger(self, number: int) -> Path:
        """The part's ledger."""
        return self.path / "ledger" / part_name(number)

    def receipt_path(self, number: int) -> Path:
        """The part's receipt."""
        return self.path / "receipts" / f"part-{number:05d}.json"

    def receipt(self, number: int) -> Receipt | None:
        """The receipt of a finished part whose files are there in full length, else None."""
        try:
            receipt = files.read_shaped(self.receipt_path(number), _RECEIPT)
        except DamagedFile:
            return None
        found = {}
        for name in _part_files(receipt) if receipt else ():
            with suppress(OSError):
                found[name] = (self.path / name).stat().st_size
        return receipt if receipt and _part_files(receipt).items() <= found.items() else None

    def receipts(self) -> dict[int, Receipt]:
        """``receipt`` of every part that has one, by its number; what lies in the folder is listed once for all."""
        sizes = files.listing(self.path)
        found = {}
        for data in files.read_all(self.path, [name for name in sizes if name.startswith(_RECEIPTS)]):
            try:
                receipt = _RECEIPT.validate_json(data)
            except ValidationError:
                continue
            if _part_files(receipt).items() <= sizes.items():
                found[receipt.number] = receipt
        return found

    def manifest(self) -> dict[str, Any] | None:
        """The manifest, or None where the stage does not exist; raises DamagedFile where it is cut or garbled."""
        found = files.read_shaped(self.path / "manifest.json", _MANIFEST)
        return None if found is None else dict(found)

    def read(self, entry: Mapping[str, Any], schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
        """The table of one part, or some columns of it, as its manifest entry says it must be; raises DamagedFile."""
        return files.read_table(self.path / str(entry["name"]), str(entry["sha256"]), schema, columns)

    def read_ledger(self, entry: Mapping[str, Any]) -> pa.Table:
        """The ledger rows of one part, as its manifest entry says they must be; raises DamagedFile."""
        if not entry["ledger_sha256"] or not entry["ledger_rows"]:
            return LEDGER.empty_table()
        return files.read_table(self.path / "ledger" / str(entry["name"]), str(entry["ledger_sha256"]), LEDGER)

    def ledgers(self) -> pa.Table:
        """All ledger rows of the finished stage, in part order."""
        manifest = self.manifest()
        return pa.concat_tables([LEDGER.empty_table(), *map(self.read_ledger, manifest["parts"] if manifest else ())])


def count_documents(table: pa.Table) -> dict[str, dict[str, int]]:
    """Documents, characters and UTF-8 bytes of ``text`` by ``source/type``."""
    if not table.num_rows:
        return {}
    grouped = (
        pa.table(
            {
                "source": table["source"],
                "doc_type": table["doc_type"],
                "chars": pc.cast(pc.utf8_length(table["text"]), pa.int64()),
                "bytes": pc.cast(pc.binary_length(table["text"]), pa.int64()),
            }
        )
        .group_by(["source", "doc_type"])
        .aggregate([("chars", "sum"), ("bytes", "sum"), ([], "count_all")])
    )
    return {
        f"{row['source']}/{row['doc_type']}": {"docs": row["count_all"], "chars": row["chars_sum"], "bytes": row["bytes_sum"]}
        for row in sorted(grouped.to_pylist(), key=lambda row: (row["source"], row["doc_type"]))
    }


def count_ledger(ledger: pa.Table) -> Counts:
    """Ledger rows by action and ``source/type``; ``docs`` counts rows, which for edits may be several a document."""
    counts: Counts = {}
    if not ledger.num_rows:
        return counts
    grouped = ledger.group_by(["action", "source", "doc_type"]).aggregate(
        [("n_chars", "sum"), ("n_bytes", "sum"), ([], "count_all")]
    )
    for row in sorted(grouped.to_pylist(), key=lambda row: (row["action"], row["source"], row["doc_type"])):
        counts.setdefault(row["action"], {})[f"{row['source']}/{row['doc_type']}"] = {
            "docs": row["count_all"],
            "chars": row["n_chars_sum"],
            "bytes": row["n_bytes_sum"],
        }
    return counts


def rule_tallies(ledger: pa.Table) -> dict[str, int]:
    """Ledger rows by ``action:rule``."""
    if not ledger.num_rows:
        return {}
    rows = ledger.group_by(["action", "rule"]).aggregate([([], "count_all")]).to_pylist()
    return {f"{row['action']}:{row['rule']}": row["count_all"] for row in sorted(rows, key=lambda r: (r["action"], r["rule"]))}


def add_counts(total: Counts, more: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Add ``more`` into ``total``."""
    for kind, groups in more.items():
        for group, units in groups.items():
            at = total.setdefault(kind, {}).setdefault(group, {})
            for unit, number in units.items():
                at[unit] = at.get(unit, 0) + number


def imbalance(counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> list[str]:
    """Where in ≠ out + dropped + quarantined (+ edited, for characters and bytes); empty when all adds up."""
    faults = []
    groups = sorted({group for kind in counts.values() for group in kind})
    for group in groups:
        for unit in UNITS:
            came = counts.get("in", {}).get(group, {}).get(unit, 0)
            leaving = ("out", "drop", "quarantine") if unit == "docs" else ("out", "drop", "quarantine", "edit")
            went = sum(counts.get(kind, {}).get(group, {}).get(unit, 0) for kind in leaving)
            if came != went:
                faults.append(f"{group}: {came} {unit} in, {went} accounted for")
    return faults


@dataclass(frozen=True)
class Target:
    """Where a task writes its one part, and what that part is made of.

    ``left`` are ledger rows of documents of the part that were kept from the task; what it writes accounts for them, too.
    """

    folder: StageFolder
    number: int
    key: str
    fingerprint: str = ""
    left: pa.Table | None = None

    def write(
        self,
        batch: Batch,
        given: Mapping[str, Mapping[str, int]],
        *,
        fingerprint: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Write part, ledger and receipt of a batch of documents; ``given`` is ``count_documents`` of what came in.

        Raises GateError where kept and ledger do not account for what came in.
        """
        counts: Counts = {"in": {group: dict(units) for group, units in given.items()}, "out": count_documents(batch.kept)}
        ledger, came = self._with_left(batch.ledger)
        add_counts(counts, {"in": came})
        add_counts(counts, count_ledger(ledger))
        if faults := imbalance(counts):
            raise GateError(f"{self.folder.path.name} part {self.number} does not balance: " + "; ".join(faults))
        written = self._write_ledger(ledger)
        sha256, size = files.write_table(self.folder.part(self.number), batch.kept)
        tallies = {**rule_tallies(ledger), **{name: batch.counts[name] for name in sorted(batch.counts)}}
        data = _File(sha256, size, batch.kept.num_rows)
        return self._finish(data, written, counts, tallies, extra, fingerprint or "", batch.sketches)

    def forward(self, source: StageFolder) -> Receipt:
        """This part is that of ``source`` as it stands: nothing of it left."""
        came = source.receipt(self.number)
        if came is None:
            raise DamagedFile(f"{source.path.name}/{part_name(self.number)} is damaged or gone")
        files.copy(source.part(self.number), self.folder.part(self.number))
        counts: Counts = {}
        for kind in ("in", "out"):
            add_counts(counts, {kind: came.counts.get("out", {})})
        ledger, more = self._with_left(LEDGER.empty_table())
        add_counts(counts, {"in": more})
        add_counts(counts, count_ledger(ledger))
        written = self._write_ledger(ledger)
        return self._finish(_File(came.sha256, came.size, came.rows), written, counts, rule_tallies(ledger))

    def _with_left(self, ledger: pa.Table) -> tuple[pa.Table, dict[str, dict[str, int]]]:
        """The ledger with the rows of documents that were kept from the task, and these as part of what came in."""
        if self.left is None:
            return ledger, {}
        return pa.concat_tables([ledger, self.left]), count_ledger(self.left)["quarantine"]

    def write_work(
        self,
        table: pa.Table,
        row_group_size: int = 1 << 20,
        extra: Mapping[str, Any] | None = None,
        tallies: Mapping[str, int] | None = None,
    ) -> Receipt:
        """Write a part of intermediate work (no documents leave here, so there is no ledger)."""
        with self.writer(table.schema, extra, tallies=tallies) as (writer, done):
            writer.write_table(table, row_group_size=row_group_size)
        return done[0]

    @contextmanager
    def writer(
        self,
        schema: pa.Schema,
        extra: Mapping[str, Any] | None = None,
        counts: Counts | None = None,
        tallies: Mapping[str, int] | None = None,
        ledger: list[pa.Table] | None = None,
        compression: Mapping[str, str] | None = None,
        encoding: Mapping[str, str] | None = None,
    ) -> Iterator[tuple[Any, list[Receipt]]]:
        """Write a part row group by row group (``files.parquet``); after the block the list holds its receipt.

        ``extra``, ``counts`` and ``ledger`` (tables to be written one after the other) are read at the end, so that the block may
        fill them.
        """
        done: list[Receipt] = []
        rows = _RowCount()
        with files.parquet(self.folder.part(self.number), schema, compression=compression, encoding=encoding) as (
            writer,
            out,
        ):
            yield rows.counting(writer), done
        left = None if ledger is None else pa.concat_tables([LEDGER.empty_table(), *ledger])
        more = {**(rule_tallies(left) if left is not None else {}), **(tallies or {})}
        written = self._write_ledger(left) if left is not None else _File(None, 0, 0)
        done.append(self._finish(_File(out.sha256, out.size, rows.number), written, counts or {}, more, extra))

    def _write_ledger(self, ledger: pa.Table) -> "_File":
        return _File(*files.write_table(self.folder.ledger(self.number), ledger), ledger.num_rows)

    def _finish(
        self,
        data: "_File",
        ledger: "_File",
        counts: Counts,
        tallies: Mapping[str, int] | None = None,
        extra: Mapping[str, Any] | None = None,
        fingerprint: str = "",
        sketches: Mapping[str, str] | None = None,
    ) -> Receipt:
        receipt = Receipt(
            number=self.number,
            key=self.key,
            fingerprint=fingerprint or self.fingerprint or self.key,
            sha256=data.sha256 or "",
            size=data.size,
            rows=data.rows,
            ledger_sha256=ledger.sha256,
            ledger_size=ledger.size,
            ledger_rows=ledger.rows,
            counts=counts,
            tallies=dict(tallies or {}),
            extra=dict(extra or {}),
            sketches=dict(sketches or {}),
        )
        files.write_json(self.folder.receipt_path(self.number), receipt.__dict__)
        return receipt


class _File(NamedTuple):
    """A file that a task wrote; without a digest there is none."""

    sha256: str | None
    size: int
    rows: int


class _RowCount:
    def __init__(self) -> None:
        self.number = 0
        self._writer: Any = None

    def counting(self, writer: Any) -> "_RowCount":
        self._writer = writer
        return self

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        self.number += table.num_rows
        self._writer.write_table(table, row_group_size=row_group_size)


def make_manifest(stage: str, version: str, fingerprint: str, receipts: Sequence[Receipt]) -> dict[str, Any]:
    """The manifest of a finished stage; its fingerprint covers the stage's own and that of every part."""
    counts: Counts = {}
    tallies: dict[str, int] = {}
    for receipt in receipts:
        add_counts(counts, receipt.counts)
        for name, number in receipt.tallies.items():
            tallies[name] = tallies.get(name, 0) + number
    return {
        "stage": stage,
        "lexmill": version,
        "fingerprint": digest(fingerprint, [receipt.fingerprint for receipt in receipts]),
        "parts": [receipt.entry() for receipt in receipts],
        "counts": counts,
        "tallies": dict(sorted(tallies.items())),
        "extra": [receipt.extra for receipt in receipts],
    }


def swap(folder: StageFolder) -> None:
    """Move what the finished ``.next`` has into the stage, and the manifest last; a kill in between is mended by ``settle``.

    The stage does not exist while files move. What the new manifest lists and ``.next`` does not have is in the stage already.
    """
    building, standing = folder.next.path, folder.path
    manifest = files.read_bytes(building / _MANIFEST_NAME)
    entries = (folder.next.manifest() or {"parts": []})["parts"]
    wanted = {name for entry in entries for name in part_names(entry["name"], entry["ledger_sha256"] is not None)}
    files.remove_all(standing, [_MANIFEST_NAME])
    made = [name for name in files.listing(building) if name in wanted]
    receipts = {name for name in made if name.startswith(_RECEIPTS)}
    # A receipt goes before its part does, and comes after it: it never vouches for another part than its own.
    files.remove_all(standing, [name for name in files.listing(standing) if name not in wanted or name in receipts])
    files.move([name for name in made if name not in receipts], building, standing)
    files.move(sorted(receipts), building, standing)
    files.write_bytes(standing / _MANIFEST_NAME, manifest)
    files.remove_all(building, [name for name in files.listing(building) if name != _MANIFEST_NAME])
    files.remove(building)


def settle(folder: StageFolder) -> None:
    """Finish a swap that was cut; where the old manifest still stands, none had begun, and ``.next`` is left as it is."""
    try:
        finished = folder.next.manifest()
        if finished is not None and folder.manifest() in (None, finished):
            swap(folder)
    except DamagedFile:
        return


def part_names(name: str, has_ledger: bool) -> set[str]:
    """Every file of a part, by its path in the stage's folder."""
    return {name, f"{_RECEIPTS}{Path(name).stem}.json", *([f"{_LEDGER}{name}"] if has_ledger else ())}


def _part_files(receipt: Receipt) -> dict[str, int]:
    """The files that a receipt vouches for, and their bytes."""
    name = part_name(receipt.number)
    return {name: receipt.size, **({f"{_LEDGER}{name}": receipt.ledger_size} if receipt.ledger_sha256 is not None else {})}


def discard_damaged(folder: StageFolder) -> list[str]:
    """Read every finished part of a stage and take the receipts of those away whose digest is wrong; returns their names."""
    try:
        manifest = folder.manifest()
    except DamagedFile:
        return ["manifest.json"]
    damaged = []
    receipts = folder.receipts() if manifest else {}
    for number, entry in enumerate(manifest["parts"] if manifest else []):
        receipt = receipts.get(number)
        wanted = [(folder.part(number), entry["sha256"])]
        if entry["ledger_sha256"]:
            wanted.append((folder.ledger(number), entry["ledger_sha256"]))
        if receipt is None or any(not path.exists() or file_digest(path) != sha256 for path, sha256 in wanted):
            files.remove(folder.receipt_path(number))
            damaged.append(entry["name"])
    return damaged
