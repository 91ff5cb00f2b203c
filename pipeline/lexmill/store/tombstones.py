"""The tombstones of a workspace on disk, and its secret: both private, and both needed to keep out what was taken down."""

import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa

from lexmill.core.release.tombstones import TOMBSTONE, Tombstones
from lexmill.errors import StoppedError
from lexmill.store import files
from lexmill.store.fingerprint import file_digest

_SECRET_BYTES = 32


def _folder(root: Path) -> Path:
    return root / "tombstones"


def secret_of(root: Path) -> bytes:
    """The workspace's secret; made at its first use. Raises StoppedError where tombstones are there and their secret is lost."""
    path = root / "lineage" / "secret"
    if path.exists():
        return path.read_bytes()
    if (_folder(root) / "tombstones.parquet").exists():
        raise StoppedError(
            "the secret of the workspace is lost (lineage/secret): without it nobody knows again what was taken down"
        )
    files.make_private(path.parent)
    secret = secrets.token_bytes(_SECRET_BYTES)
    files.write_bytes(path, secret)
    return secret


def read(root: Path) -> Tombstones | None:
    """The tombstones of a workspace, or None where nothing was ever taken down."""
    path = _folder(root) / "tombstones.parquet"
    return Tombstones.of(files.read_columns(path, schema=TOMBSTONE), secret_of(root)) if path.exists() else None


def days(root: Path) -> dict[str, int]:
    """How many documents were taken down on each day (ISO 8601)."""
    path = _folder(root) / "tombstones.parquet"
    found: dict[str, int] = {}
    for day in files.read_columns(path, schema=TOMBSTONE)["day"].to_pylist() if path.exists() else []:
        found[day.isoformat()] = found.get(day.isoformat(), 0) + 1
    return dict(sorted(found.items()))


def digest_of(root: Path) -> str:
    """A digest of the tombstones; empty where there are none."""
    path = _folder(root) / "tombstones.parquet"
    return file_digest(path) if path.exists() else ""


def add(root: Path, rows: list[dict[str, Any]]) -> None:
    """Add tombstones to those that are there."""
    path = files.make_private(_folder(root)) / "tombstones.parquet"
    old = files.read_columns(path, schema=TOMBSTONE).to_pylist() if path.exists() else []
    known = {row["document"]: row for row in old}
    for row in rows:
        # What was known of a document before is not forgotten when its text is not there any more.
        before = known.get(row["document"], {})
        known[row["document"]] = {name: value if value is not None else before.get(name) for name, value in row.items()}
    ordered = [known[key] for key in sorted(known)]
    files.write_table(path, pa.Table.from_pylist(ordered, schema=TOMBSTONE))
