"""One writer a workspace: a lock file that names its owner, and is broken when that owner is dead."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import psutil

from lexmill.errors import LockError
from lexmill.store.files import DamagedFile, make_folder, read_json, remove, stopping

_LOCK = "lock.json"
_WRITING_S = 10  # a lock without content is taken for one that is being written for so long


def _me() -> dict[str, Any]:
    # The start time tells this process from a later one with the same number, the namespace from one in another container.
    process = psutil.Process()
    return {
        "host": socket.gethostname(),
        "namespace": _namespace(),
        "pid": process.pid,
        "started": process.create_time(),
        "since": time.time(),
    }


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _alive(owner: dict[str, Any]) -> bool:
    if (owner.get("host"), owner.get("namespace")) != (socket.gethostname(), _namespace()):
        return True  # cannot be told from here
    try:
        process = psutil.Process(int(owner["pid"]))
        return abs(process.create_time() - float(owner["started"])) < 2 and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, KeyError, ValueError, TypeError):
        return False


def _live_owner(path: Path) -> dict[str, Any] | None:
    try:
        found = read_json(path)
    except DamagedFile:
        # Made a moment ago and not yet written, or left empty by a death in that moment.
        try:
            return {} if time.time() - path.stat().st_mtime < _WRITING_S else None
        except FileNotFoundError:
            return None
    return found if isinstance(found, dict) and _alive(found) else None


def owner(workspace: Path) -> dict[str, Any] | None:
    """The live owner of the workspace (host, pid, since), or None."""
    return _live_owner(workspace / _LOCK)


def _is_mine(path: Path) -> bool:
    try:
        found = read_json(path)
    except DamagedFile:
        return False
    mine = _me()
    return isinstance(found, dict) and all(found.get(name) == mine[name] for name in ("host", "namespace", "pid", "started"))


def _break(path: Path) -> None:
    """Take a stale lock away; of several that find its owner dead, one gets to rename it."""
    stale = path.with_name(f".{path.name}.{os.getpid()}.stale")
    try:
        path.rename(stale)
    except FileNotFoundError:
        return
    if _live_owner(stale) is not None:
        # Another breaker was faster, and this is its new lock: put it back, unless a third one has taken the place meanwhile.
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            remove(stale)
            return
        os.close(handle)
        stale.rename(path)
        return
    remove(stale)


@contextmanager
def held(workspace: Path) -> Iterator[None]:
    """Hold the workspace's lock; raises LockError while another live run holds it."""
    make_folder(workspace, 0o755)  # others may read releases/; everything else in it is private
    path = workspace / _LOCK
    for _ in range(8):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            live = owner(workspace)
            if live is not None:
                raise LockError(
                    f"workspace is held by process {live.get('pid')} on {live.get('host')}; wait for it to end, or stop it and "
                    "run the same command again (if you know that it is dead, on another machine or in another container, "
                    "remove lock.json in the workspace)"
                ) from None
            _break(path)
            continue
        except OSError as error:
            raise stopping(error) or error from None
        with os.fdopen(handle, "wb") as raw:
            raw.write(orjson.dumps(_me()))
        break
    else:
        raise LockError("workspace lock changes hands too fast; run the same command again")
    try:
        yield
    finally:
        if _is_mine(path):
            path.unlink(missing_ok=True)
