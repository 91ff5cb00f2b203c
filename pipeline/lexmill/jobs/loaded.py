"""What a process loads once and keeps: none of a part's time, and given back where another process needs the memory."""

import ctypes
import faulthandler
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

import pyarrow as pa

Args = ParamSpec("Args")
Result = TypeVar("Result")

# A process may take so many seconds to load what it needs.
LOAD_S = 600.0

_kept: list[Any] = []


class _Clock:
    """Ends the process when time is up: by a thread of C, as what hangs may hold the interpreter's lock."""

    def __init__(self) -> None:
        self.left = 0.0  # seconds; 0 while it does not run
        self._since = 0.0
        self._nowhere: Any = None

    def start(self, seconds: float) -> None:
        self._nowhere = self._nowhere or open(os.devnull, "w")  # noqa: PTH123, SIM115
        self.left, self._since = seconds, time.monotonic()
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._nowhere)

    def stop(self) -> float:
        """Returns the seconds that were left."""
        faulthandler.cancel_dump_traceback_later()
        left, self.left = self.left - (time.monotonic() - self._since), 0.0
        return left


_clock = _Clock()


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """End this process, with exit code 1, when the block takes longer, loading apart."""
    _clock.start(seconds)
    try:
        yield
    finally:
        _clock.stop()


@contextmanager
def _loading() -> Iterator[None]:
    if not _clock.left:
        yield
        return
    left = _clock.stop()
    _clock.start(LOAD_S)
    try:
        yield
    finally:
        _clock.stop()
        _clock.start(max(left, 0.001))


def loaded(maxsize: int) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """Keep the last results of a function that loads something; the clock of ``alarm`` stands still meanwhile."""

    def keeping(function: Callable[Args, Result]) -> Callable[Args, Result]:
        @wraps(function)
        def load(*args: Args.args, **kwargs: Args.kwargs) -> Result:
            with _loading():
                return function(*args, **kwargs)

        kept = lru_cache(maxsize)(load)
        _kept.append(kept)
        return cast(Callable[Args, Result], kept)  # what it is given must be hashable

    return keeping


def forget() -> None:
    """Let go of all that was loaded, and give its memory back to the system."""
    for kept in _kept:
        kept.cache_clear()
    give_back()


def give_back() -> None:
    """Give memory that nothing is in back to the system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
