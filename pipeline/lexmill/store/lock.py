"""One writer a workspace: a lock file that names its owner and shows that it lives, broken when that owner is dead.

It needs an exclusive create, no hard links and no ``flock``. An owner on this machine is looked up by its process;
of one elsewhere (another machine, another container) only the heartbeat tells: it is dead when its lock has not changed for
``_DEAD_S`` under this process's eyes, so that no clocks are compared. Should a breaker be wrong (an owner that slept longer than
that), the old owner learns it from ``Held.check`` before it swaps in a stage or publishes.

In object storage the lock is made, beaten and taken over by conditional puts: a version of it is only ever replaced by one who
saw that version (AWS, MinIO and moto have them). It is given up by a delete after a look.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import psutil

from lexmill.errors import LockError, StoppedError
from lexmill.store import files
from lexmill.store.files import DamagedFile, make_folder, read_json, stopping

_LOCK = "lock.json"
_WRITING_S = 10  # a lock without content is taken for one that is being written for so long
_BEAT_S = 10.0
_DEAD_S = 60.0  # six heartbeats missed
_LOOK_S = 1.0
_TRIES = 40  # of taking the lock, while others try as well
_SIZE = 512  # bytes; a heartbeat is one write of this size in place


def _me() -> dict[str, Any]:
    # The start time tells this process from a later one with the same number, the namespace from one in another container.
    process = psutil.Process()
    return {
        "host": socket.gethostname(),
        "namespace": _namespace(),
        "pid": process.pid,
        "started": process.create_time(),
        "since": time.time(),
        "holder": uuid4().hex,
        "beat": 0,
    }


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _is_here(owner: dict[str, Any]) -> bool:
    """Whether this process can look the owner's process up."""
    return (owner.get("host"), owner.get("namespace")) == (socket.gethostname(), _namespace())


def _runs(owner: dict[str, Any]) -> bool:
    try:
        process = psutil.Process(int(owner["pid"]))
        return abs(process.create_time() - float(owner["started"])) < 2 and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, KeyError, ValueError, TypeError):
        return False


def _found(path: Path) -> dict[str, Any] | None:
    """Who the lock names: nobody (None), or one who is just writing it (empty)."""
    try:
        found = read_json(path)
    except DamagedFile:
        # Made a moment ago and not yet written, or left empty by a death in that moment.
        try:
            return {} if time.time() - path.stat().st_mtime < _WRITING_S else None
        except FileNotFoundError:
            return None
    return found if isinstance(found, dict) else None


def owner(workspace: Path) -> dict[str, Any] | None:
    """Who holds the workspace (host, pid, since), or None; one elsewhere is believed until a run watches its lock."""
    found = _found(workspace / _LOCK)
    return found if found is not None and (not found or not _is_here(found) or _runs(found)) else None


def _beats(path: Path, seen: dict[str, Any]) -> bool:
    """Whether the lock of an owner elsewhere changes within ``_DEAD_S``; not if it is given up meanwhile."""
    until = time.monotonic() + _DEAD_S
    while time.monotonic() < until and path.exists():
        time.sleep(_LOOK_S)
        if _found(path) not in (None, seen):
            return True
    return False


def _break(path: Path, seen: dict[str, Any] | None) -> None:
    """Take a stale lock away, if it is still the one that was ``seen``.

    Only one at a time may do so, and it looks once more before: so nobody takes away the lock that a faster one has just made.
    """
    breaking = path.with_name(f".{path.name}.breaking")
    try:
        os.close(os.open(breaking, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        with suppress(FileNotFoundError):
            if time.time() - breaking.stat().st_mtime > _DEAD_S:
                breaking.unlink()  # somebody died while at it
        time.sleep(0.05)
        return
    try:
        if _found(path) == seen:
            path.unlink(missing_ok=True)
    finally:
        breaking.unlink(missing_ok=True)


@dataclass
class Held:
    """A lock that is held; it shows that its owner lives by changing every ``_BEAT_S``."""

    path: Path
    identity: dict[str, Any]
    file: "_File | _Object"
    _end: threading.Event = field(default_factory=threading.Event)

    def is_mine(self) -> bool:
        """Whether the lock file still names this holder."""
        try:
            found = read_json(self.path)
        except DamagedFile:
            return False
        return isinstance(found, dict) and found.get("holder") == self.identity["holder"]

    def check(self) -> None:
        """Raise StoppedError where another run has taken the workspace meanwhile."""
        if not self.is_mine():
            raise StoppedError(
                "another run took the workspace while this one did not show that it lives; run the same command again"
            )

    def write(self) -> None:
        """One heartbeat: in place through the handle, so that it never touches a lock that another made under the same name."""
        self.file.write(orjson.dumps(self.identity).ljust(_SIZE))

    def beat(self) -> None:
        """Write heartbeats until the lock is given up; a full disk, or a store that is down for a while, must not end them."""
        while not self._end.wait(_BEAT_S):
            self.identity["beat"] += 1
            with suppress(Exception):
                self.write()

    def release(self, beating: threading.Thread) -> None:
        """Give the lock up, if it is still this one's."""
        self._end.set()
        if beating.ident is not None:
            beating.join()  # else its last write could go to another file that got the same number
        if self.is_mine():
            self.path.unlink(missing_ok=True)
        self.file.close()


class _File:
    """A lock of a file system: its heartbeats go through a handle, so that they never touch a lock that another made since."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def write(self, data: bytes) -> None:
        os.pwrite(self._handle, data, 0)
        os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


class _Object:
    """A lock of object storage, by its version."""

    def __init__(self, path: Path, version: str) -> None:
        self._path = path
        self._version: str | None = version

    def write(self, data: bytes) -> None:
        if self._version is None:
            return
        # Where it is not taken, it is another's by now; or it arrived, but its answer was lost, and it was tried once more.
        self._version = files.put_over(self._path, data, self._version) or _version_of_mine(self._path, data)

    def close(self) -> None:
        self._version = None


def _version_of_mine(path: Path, data: bytes) -> str | None:
    """The version of the lock, if it names the holder that ``data`` names."""
    try:
        version = files.version_of(path)
        found = orjson.loads(files.read_bytes(path))
    except (FileNotFoundError, orjson.JSONDecodeError):
        return None
    return version if found.get("holder") == orjson.loads(data)["holder"] else None


def _taken_over(path: Path, seen: dict[str, Any] | None, data: bytes) -> "_Object | None":
    """A stale lock of object storage, now this process's: ``data`` in the place of the very version that was ``seen``."""
    try:
        version = files.version_of(path)
    except FileNotFoundError:
        return None
    new = files.put_over(path, data, version) if _found(path) == seen else None
    return _Object(path, new) if new else None


def _created(path: Path, data: bytes) -> "_File | _Object | None":
    """The lock, new; None where there is one."""
    if files.store_of(path):
        try:
            version = files.put_new(path, data)
        except Exception as error:
            raise stopping(error) or error from None
        version = version or _version_of_mine(path, data)
        return _Object(path, version) if version else None
    try:
        return _File(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return None
    except OSError as error:
        raise stopping(error) or error from None


def _refusal(live: dict[str, Any]) -> LockError:
    return LockError(
        f"workspace is held by process {live.get('pid')} on {live.get('host')}; wait for it to end, or stop it and run the same "
        "command again (the lock of a dead run is broken by itself)"
    )


@contextmanager
def held(workspace: Path) -> Iterator[Held]:
    """Hold the workspace's lock; raises LockError while another live run holds it."""
    make_folder(workspace, 0o755)  # others may read releases/; everything else in it is private
    path = workspace / _LOCK
    me = _me()
    for _ in range(_TRIES):
        data = orjson.dumps(me).ljust(_SIZE)
        made = _created(path, data)
        if made is None:
            live = _found(path)
            if live is not None and (not live or (_runs(live) if _is_here(live) else _beats(path, live))):
                raise _refusal(live)
            if files.store_of(path):
                made = _taken_over(path, live, data)
            else:
                _break(path, live)
        if made is not None:
            mine = Held(path, me, made)
            break
    else:
        raise LockError("workspace lock changes hands too fast; run the same command again")
    beating = threading.Thread(target=mine.beat, daemon=True)
    try:
        mine.write()
        beating.start()
        yield mine
    finally:
        mine.release(beating)
