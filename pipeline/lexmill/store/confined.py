"""PDF files and workbooks are parsed in a process of its own: what hangs or crashes is one document, not the worker.

python -m lexmill.store.confined    (started by ``read_confined``; speaks pickle over its standard streams)
"""

import atexit
import functools
import pickle
import resource
import signal
import subprocess
import sys
from typing import Any

from lexmill.core.ingest.items import Broken, Item
from lexmill.core.ingest.limits import Limits
from lexmill.core.ingest.pdf import read_pdf
from lexmill.core.ingest.sheet import read_sheets

# Address space of the process: it maps 0.4 GB before it reads anything.
_MAX_BYTES = 3 << 29
_READERS = {"pdf": (read_pdf, "ingest.broken_pdf"), "xlsx": (read_sheets, "ingest.broken_workbook")}
CONFINED = frozenset(_READERS)
"""Formats that are read here."""


def read_confined(data: bytes, fmt: str, limits: Limits) -> list[Item]:
    """What the format's reader finds, within ``limits.seconds`` of processor time; else the rule ``ingest.max_seconds``.

    A file at which the parser crashes, or asks for more than 1.5 GB, is ``ingest.broken_pdf`` or ``ingest.broken_workbook``.
    PDFium cannot be interrupted, and a few hundred bytes of forms within forms keep it busy for years; a sheet with one cell in
    its last corner has 17 thousand million of them.
    """
    child = _child()
    try:
        pickle.dump((data, fmt, limits), child.stdin)
        child.stdin.flush()
        found: list[Item] = pickle.load(child.stdout)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        _child.cache_clear()
        rule = "ingest.max_seconds" if child.wait() == -signal.SIGXCPU else _READERS[fmt][1]
        return [Broken(None, rule, 0, len(data))]
    return found


@functools.lru_cache(maxsize=1)
def _child() -> Any:
    """The one child of this process; it ends with its standard input."""
    child = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(child.communicate)
    return child


def _serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            data, fmt, limits = pickle.load(source)
        except EOFError:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + 1 + limits.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        reader, broken = _READERS[fmt]
        try:
            found = list(reader(data, limits))
        except MemoryError:
            found = [Broken(None, broken, 0, len(data))]
        pickle.dump(found, target)
        target.flush()


if __name__ == "__main__":
    _serve()
