"""Atomic files: written beside their target, synced, renamed; read back only if their digest is right.

In object storage (``config.at`` gives such paths) a file is put: it is there whole when that is done. There are no folders,
no modes and nothing to sync; what is renamed elsewhere is copied by the store, then deleted.
"""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from lexmill.errors import EXIT_INPUT, ConfigError, LexmillError, StoppedError

Shape = TypeVar("Shape")

# What the operating system says when the workspace cannot take a file: a person must act, then the same command goes on.
_STOPPING = {
    errno.ENOSPC: "no space left on the device that holds the workspace; free some and run the same command again",
    errno.EDQUOT: "the disk quota of the workspace is used up; free some and run the same command again",
    errno.EROFS: "the workspace is on a read-only file system; make it writable and run the same command again",
    errno.EACCES: "the workspace may not be written by this user; mend its permissions and run the same command again",
    errno.EPERM: "the workspace may not be written by this user; mend its permissions and run the same command again",
}


class DamagedFile(LexmillError):
    """A file of the workspace is not what its manifest or receipt says; a run makes it again, other commands end."""

    exit_code = EXIT_INPUT


# By the code that the store answers with (the status where an answer has no body); the rest is told by the kind of its error.
_SLOW = "it asks for fewer requests; run the same command again later, or with fewer workers"
_NO_BUCKET = {
    "NoSuchBucket": "there is no such bucket; make it, or mend the URL",
    "InvalidBucketName": "no bucket may have this name; mend the URL",
}
_REFUSALS = {
    "SlowDown": _SLOW,
    "503": _SLOW,
}
_NOTHING_WRONG = frozenset({"NoSuchKey", "404", "PreconditionFailed", "412"})


def stopping(error: BaseException) -> StoppedError | ConfigError | None:
    """What to raise for an error of the operating system or of object storage that only a person can mend, else None.

    A ConfigError where the run file names a bucket that is none, else a StoppedError.
    """
    answer = getattr(error.__cause__, "response", None)
    if isinstance(answer, dict):
        code = str(answer.get("Error", {}).get("Code"))
        if code in _NOTHING_WRONG:
            return None
        if code in _NO_BUCKET:
            return ConfigError(f"object storage answers {code}: {_NO_BUCKET[code]}")
        refused = "it refuses access; look at the credentials in the environment or ~/.aws, and at the bucket's policy"
        failed = "it fails; run the same command again later"
        reason = _REFUSALS.get(code, refused if isinstance(error, PermissionError) else failed)
        return StoppedError(f"object storage answers {code}: {reason}")
    if type(error).__name__ == "ParamValidationError":  # before anything is sent, of which only bucket and key are not ours
        return ConfigError(f"object storage: {_NO_BUCKET['InvalidBucketName']}")
    if type(error).__module__.partition(".")[0] in ("botocore", "aiobotocore", "aiohttp"):
        # Its message may quote a request.
        return StoppedError(
            f"object storage cannot be reached ({type(error).__name__}): look at the network, [storage] endpoint_url and the "
            "credentials in the environment or ~/.aws, and run the same command again"
        )
    said = _STOPPING.get(error.errno or 0) if isinstance(error, OSError) else None
    return StoppedError(said) if said else None


def store_of(path: Path) -> Any:
    """The fsspec file system of a path in object storage; None for a path of this machine."""
    return getattr(path, "fs", None)


def _key(path: Path) -> str:
    """A path in object storage as its file system names it: bucket and key."""
    return str(getattr(path, "path", path))


_PUT_CHUNK = 32 << 20  # up to twice as much goes in one request, more in parts of so much
_GET_WHOLE = 64 << 20  # so much of a table is read in one request, a larger one in blocks
_GET_SMALL = 1 << 20  # the same, where only some of it is needed: a request takes as long as so many bytes do
_GET_BLOCK = 8 << 20
_KEYS_AT_ONCE = 1000  # S3 deletes so many in one request


def _sync_folder(folder: Path) -> None:
    # Some network file systems refuse to sync a folder; the rename itself is still atomic there.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class _Hashing:
    """A binary file that digests what is written to it."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._hash = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self._hash.update(view)
        self._raw.write(view)
        self.size += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        self._raw.flush()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


@contextmanager
def atomic(path: Path, mode: int = 0o600) -> Iterator[_Hashing]:
    """Open ``path`` for writing so that it appears whole or not at all; ``.sha256`` and ``.size`` tell what was written.

    Raises StoppedError where the disk is full or may not be written.
    """
    if store_of(path):
        with _put(path) as hashing:
            yield hashing
        return
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as raw:
            hashing = _Hashing(raw)
            yield hashing
            raw.flush()
            os.fchmod(raw.fileno(), mode)
            os.fsync(raw.fileno())
        temporary.replace(path)
        temporary = None
        _sync_folder(path.parent)
    except OSError as error:
        raise stopping(error) or error from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def _put(path: Path) -> Iterator[_Hashing]:
    """The same in object storage: kept here until it is whole, because an upload under way would be ended by a close."""
    try:
        with tempfile.NamedTemporaryFile(prefix="put-") as kept:
            hashing = _Hashing(kept.file)
            yield hashing
            kept.flush()
            # It ends the upload itself where that fails.
            store_of(path).put_file(kept.name, _key(path), chunksize=_PUT_CHUNK, max_concurrency=2)
    except Exception as error:
        raise stopping(error) or error from None


def write_bytes(path: Path, data: bytes, mode: int = 0o600) -> str:
    """Write a small file; returns its sha256."""
    with atomic(path, mode) as out:
        out.write(data)
    return out.sha256


def json_bytes(value: Any) -> bytes:
    """``value`` as JSON with sorted keys and two-space indents, so that equal values are equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def write_json(path: Path, value: Any, mode: int = 0o600) -> str:
    """Write ``value`` as ``json_bytes`` gives it; returns the file's sha256."""
    return write_bytes(path, json_bytes(value), mode)


def read_json(path: Path) -> Any:
    """The JSON value of a file, or None where there is no such file; raises DamagedFile where it is cut or garbled."""
    data = _read(path)
    try:
        return None if data is None else orjson.loads(data)
    except orjson.JSONDecodeError:
        raise DamagedFile(f"{path.name} is damaged (not JSON)") from None


def read_bytes(path: Path) -> bytes:
    """All bytes of a file; of an object in one request, so that they are of one version of it."""
    store = store_of(path)
    return path.read_bytes() if store is None else bytes(store.cat_file(_key(path)))


def _read(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_shaped(path: Path, shape: TypeAdapter[Shape]) -> Shape | None:
    """The JSON value of a file as ``shape`` has it, or None where there is no file; raises DamagedFile where it does not fit.

    The message names the first field that is wrong, and no value.
    """
    data = _read(path)
    if data is None:
        return None
    try:
        return shape.validate_python(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise DamagedFile(f"{path.name} is damaged (not JSON)") from None
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "the whole"
        raise DamagedFile(f"{path.parent.name}/{path.name} is damaged, or of another version of lexmill (at {place})") from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Let what Arrow says of a cut or garbled file, or of one that lacks a column, be a DamagedFile that names it."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        if store_of(path) and (stop := stopping(error)):
            raise stop from None
        raise DamagedFile(f"{path.parent.name}/{path.name} is damaged (it cannot be read as a table)") from None


@contextmanager
def open_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; raises DamagedFile where it, or what is read of it while it is open, is damaged."""
    with reading(path), pq.ParquetFile(_source(path)) as file:
        yield file


def parquet_file(path: Path) -> pq.ParquetFile:
    """A Parquet file of which some row groups or columns will be read; of an object, no more than these are fetched."""
    return pq.ParquetFile(_source(path, _GET_SMALL), pre_buffer=store_of(path) is not None)


def _source(path: Path, whole: int = _GET_WHOLE) -> Any:
    """What Arrow reads a file from: its path, or the bytes of an object where it has less than ``whole``."""
    store = store_of(path)
    if store is None:
        return path
    data = store.cat_file(_key(path), start=0, end=whole)
    if len(data) < whole:
        return pa.BufferReader(data)
    cache = {"cache_type": "readahead", "block_size": _GET_BLOCK} if whole == _GET_WHOLE else {"cache_type": "none"}
    return store.open(_key(path), "rb", **cache)


def read_columns(
    path: Path, columns: Sequence[str] | None = None, schema: pa.Schema | None = None, filters: Any = None
) -> pa.Table:
    """A Parquet file, or some columns (and rows) of it, whose digest nobody knows; raises DamagedFile."""
    with reading(path):
        chosen = None if columns is None else list(columns)
        return pq.read_table(_source(path), columns=chosen, schema=schema, filters=filters, use_threads=False)


@contextmanager
def parquet(
    path: Path,
    schema: pa.Schema,
    mode: int = 0o600,
    *,
    compression: Mapping[str, str] | None = None,
    encoding: Mapping[str, str] | None = None,
) -> Iterator[tuple[pq.ParquetWriter, _Hashing]]:
    """Open an atomic Parquet file (zstd and plain, where none is named for a column) for row groups of ``schema``."""
    with (
        atomic(path, mode) as out,
        pq.ParquetWriter(
            out,
            schema,
            compression=dict(compression) if compression else "zstd",
            compression_level=None if compression else 3,
            use_dictionary=False,
            column_encoding=dict(encoding) if encoding else None,
        ) as writer,
    ):
        yield writer, out


def write_table(path: Path, table: pa.Table, row_group_size: int = 4096) -> tuple[str, int]:
    """Write one table; returns (sha256, bytes)."""
    with parquet(path, table.schema) as (writer, out):
        writer.write_table(table, row_group_size=row_group_size)
    return out.sha256, out.size


def read_table(path: Path, sha256: str, schema: pa.Schema, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a Parquet file, or some columns of it, whose digest and schema must be those given; raises DamagedFile otherwise."""
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DamagedFile(f"{path.parent.name}/{path.name} is damaged (its sha256 is not the recorded one)")
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        if not file.schema_arrow.equals(schema):
            raise DamagedFile(f"{path.parent.name}/{path.name} has another schema than this version of lexmill writes")
        return file.read(columns=None if columns is None else list(columns), use_threads=False)


def copy(source: Path, target: Path) -> None:
    """Give ``target`` the bytes of ``source``: a hard link where the file system has them, else an atomic copy.

    Files of the workspace are never changed in place, so a link is as good as a copy. In object storage, the store copies.
    """
    store = store_of(target)
    if store is not None and store is store_of(source):
        store.copy(_key(source), _key(target))
        return
    if store is not None or store_of(source):
        _copy_bytes(source, target)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            target.unlink()
        os.link(source, target)
    except OSError as error:
        if stop := (stopping(error) if error.errno not in (errno.EPERM, errno.EACCES) else None):
            raise stop from None
        _copy_bytes(source, target)


def _copy_bytes(source: Path, target: Path) -> None:
    with source.open("rb") as raw, atomic(target) as out:
        shutil.copyfileobj(raw, out, 1 << 20)


def listing(folder: Path) -> dict[str, int]:
    """Bytes of every file below ``folder`` by its path there (with ``/``); of nothing where there is no such folder."""
    found: dict[str, int] = {}
    if store := store_of(folder):
        below = f"{_key(folder)}/"
        return {key[len(below) :]: about["size"] for key, about in store.find(below, detail=True).items()}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode):
                found[path.relative_to(folder).as_posix()] = about.st_size
    return found


def read_all(folder: Path, names: Iterable[str]) -> Iterator[bytes]:
    """The bytes of small files by their names in ``folder``, in no order; one that is gone meanwhile is left out."""
    if store := store_of(folder):
        for some in _batches(sorted(names)):
            # ``cat`` would look whether each is there first, ``cat_ranges`` asks for it at once.
            keys = [_key(folder / name) for name in some]
            for data in store.cat_ranges(keys, 0, _GET_WHOLE, on_error="return"):
                if isinstance(data, bytes):
                    yield data
                elif not isinstance(data, FileNotFoundError):
                    raise data
        return
    for name in names:
        with suppress(FileNotFoundError):
            yield (folder / name).read_bytes()


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), _KEYS_AT_ONCE):
        yield names[first : first + _KEYS_AT_ONCE]


def move(names: Iterable[str], source: Path, target: Path) -> None:
    """Move files by their names from one folder to another, over what is there; a name that is gone was moved before.

    File by file: not every store renames folders, and none of those that do not tells half of them from all.
    """
    folders = set()
    if store := store_of(target):
        for some in _batches(list(names)):
            old = [_key(source / name) for name in some]
            store.copy(old, [_key(target / name) for name in some])
            store.rm(old)
        return
    try:
        for name in names:
            to = target / name
            to.parent.mkdir(parents=True, exist_ok=True)
            folders.add(to.parent)
            with suppress(FileNotFoundError):
                (source / name).replace(to)
    except OSError as error:
        raise stopping(error) or error from None
    for folder in sorted(folders):
        _sync_folder(folder)


def remove_all(folder: Path, names: Iterable[str]) -> None:
    """Remove files by their names in ``folder``; it is no error if one is not there."""
    if store := store_of(folder):
        for some in _batches(list(names)):
            store.rm([_key(folder / name) for name in some])
        return
    for name in names:
        remove(folder / name)


def protect(path: Path, mode: int) -> None:
    """Give a file its mode, where files have one."""
    if not store_of(path):
        path.chmod(mode)


def put_new(path: Path, data: bytes) -> str | None:
    """Make an object if there is none of its name; returns its version, None where there is one."""
    try:
        return str(store_of(path).pipe_file(_key(path), data, mode="create")["ETag"])
    except FileExistsError:
        return None


def version_of(path: Path) -> str:
    """The version of an object; raises FileNotFoundError."""
    return str(store_of(path).info(_key(path))["ETag"])


def put_over(path: Path, data: bytes, version: str) -> str | None:
    """Replace this version of an object; returns the new one, None where it is another's by now, or gone."""
    bucket, _, key = _key(path).partition("/")
    try:
        return str(store_of(path).call_s3("put_object", Bucket=bucket, Key=key, Body=data, IfMatch=version)["ETag"])
    except FileNotFoundError:
        return None
    except OSError as error:
        answer = getattr(error.__cause__, "response", {})
        if answer.get("Error", {}).get("Code") in ("PreconditionFailed", "412", "ConditionalRequestConflict", "409"):
            return None
        raise


def sweep(folder: Path) -> None:
    """Remove half-written files that killed processes left in ``folder`` and below it; call it when nobody writes there."""
    if store := store_of(folder):
        # Nothing half is seen there, but what was sent of it is kept, and paid for, until its upload is ended.
        bucket, _, prefix = f"{_key(folder)}/".partition("/")
        for upload in store.call_s3("list_multipart_uploads", Bucket=bucket, Prefix=prefix).get("Uploads", ()):
            store.call_s3("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
        return
    for path in folder.rglob(".*.tmp"):
        remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it; it is no error if there is none."""
    if store := store_of(path):
        remove_all(path, listing(path))
        store.rm_file(_key(path))
        return
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise stopping(error) or error from None


def sizes(root: Path) -> dict[str, int]:
    """Bytes of the files below ``root`` by folder, relative to it; a file that has several names counts once, at the first."""
    seen: set[tuple[int, int]] = set()
    found: dict[str, int] = {}
    if store_of(root):
        for name, size in listing(root).items():
            folder = str(PurePosixPath(name).parent)
            found[folder] = found.get(folder, 0) + size
        return found
    for path in sorted(root.rglob("*")):
        with suppress(FileNotFoundError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode) and (about.st_dev, about.st_ino) not in seen:
                seen.add((about.st_dev, about.st_ino))
                folder = str(path.parent.relative_to(root))
                found[folder] = found.get(folder, 0) + about.st_size
    return found


PRIVATE = 0o700
PUBLIC = 0o644


def make_folder(folder: Path, mode: int) -> Path:
    """Make ``folder``; one that is there keeps its mode unless ``mode`` is PRIVATE. Raises ConfigError where none can be."""
    if store_of(folder):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
        if mode == PRIVATE and folder.stat().st_mode & 0o077:
            folder.chmod(mode)
    except OSError as error:
        raise stopping(error) or ConfigError(
            f"workspace: no folder {folder.name!r} can be made there ({error.strerror}); name another folder"
        ) from None
    except ValueError:
        raise ConfigError("workspace: is no path; name a folder") from None
    return folder


def make_private(folder: Path) -> Path:
    """Make ``folder`` (mode 0700), which may hold personal data."""
    return make_folder(folder, PRIVATE)
