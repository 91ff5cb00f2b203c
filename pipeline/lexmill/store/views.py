"""Who looked at originals: a log for each ``lexmill browse --show-originals``, a line for each view, chained line to line.

::

    audit/views/<time>-<random>.jsonl   {number, time, user, doc_id, view, previous, digest}

A line is there, whole and on disk, before the view is shown. ``previous`` is the digest of the line before (64 zeros for the
first), so that a line that was changed, or taken out of the middle, is found by ``audit verify``.
"""

import os
import pwd
import secrets
import time
from pathlib import Path
from typing import Any

import orjson

from lexmill.store import files
from lexmill.store.fingerprint import digest

_FIRST = "0" * 64


class ViewLog:
    """The log of one session; its file is written with the first view."""

    def __init__(self, root: Path) -> None:
        self._root = root
        name = f"{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(4)}.jsonl"
        self.path = root / "audit" / "views" / name
        self._lines: list[bytes] = []
        self._previous = _FIRST

    def add(self, doc_id: str, view: str) -> None:
        """Write down that this user looks at ``view`` of a document; raises StoppedError where it cannot be written."""
        body = {
            "number": len(self._lines) + 1,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "user": _user(),
            "doc_id": doc_id,
            "view": view,
            "previous": self._previous,
        }
        sealed = digest(body)
        lines = [*self._lines, orjson.dumps({**body, "digest": sealed}, option=orjson.OPT_APPEND_NEWLINE)]
        files.make_private(self._root / "audit")
        files.make_private(self.path.parent)
        # The whole file anew: a session has few views, and a file that is written so is never half there.
        files.write_bytes(self.path, b"".join(lines))
        self._lines, self._previous = lines, sealed


def _user() -> str:
    """Who the operating system says this is: the environment may say anything."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def verify(root: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Every line of every session's log, and what is wrong with them."""
    entries: list[dict[str, Any]] = []
    faults: list[str] = []
    for path in sorted((root / "audit" / "views").glob("*.jsonl")):
        previous = _FIRST
        for number, line in enumerate(files.read_bytes(path).splitlines(), start=1):
            where = f"audit/views/{path.name}: line {number}"
            try:
                entry = orjson.loads(line)
                sealed = digest({name: value for name, value in entry.items() if name != "digest"})
            except (orjson.JSONDecodeError, AttributeError, TypeError):
                faults.append(f"{where} is damaged")
                continue
            if entry.get("digest") != sealed:
                faults.append(f"{where} was changed after it was written")
            if entry.get("previous") != previous or entry.get("number") != number:
                faults.append(f"{where} does not follow the one before")
            previous = str(entry.get("digest"))
            entries.append(entry)
    return entries, faults
