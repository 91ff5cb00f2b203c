"""One task on a worker: what it is given, what holds for it, and what comes back."""

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lexmill.errors import LexmillError, StoppedError
from lexmill.jobs.loaded import alarm
from lexmill.store import files
from lexmill.store.memory import peak_rss
from lexmill.store.stages import Receipt, Target

PartFunction = Callable[..., Receipt]


@dataclass(frozen=True)
class Terms:
    """What holds for every task: how many seconds a part may take, loading apart, and the run waits for a worker.

    ``refuses`` is asked on the worker, and says why it must not work for this run. (Not called by its name here: what this module
    imports counts as code of every stage.)
    """

    part_seconds: float = 1800
    wait_seconds: int = 600
    refuses: Callable[[], str | None] | None = None


@dataclass(frozen=True)
class Failure:
    """A task's failure without any of the text it worked on: a class, a safe message, and places in the code."""

    kind: str
    message: str
    places: tuple[str, ...] = ()


class Relayed(LexmillError):
    """The failure of a task that ran in a process of its own."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.kind)
        self.failure = failure


@dataclass(frozen=True)
class Outcome:
    """What comes back from a worker: a few hundred bytes."""

    receipt: Receipt | None
    failure: Failure | None
    cpu_seconds: float
    peak_rss: int
    pid: int


def call(function: PartFunction, target: Target, arguments: tuple[Any, ...], terms: Terms) -> Outcome:
    """Run one task on a worker; no exception leaves it, because its message might quote a document."""
    before = time.process_time()
    receipt, failure = None, None
    try:
        refused = terms.refuses() if terms.refuses else None
        if refused:
            raise StoppedError(refused)
        with alarm(terms.part_seconds):
            receipt = function(target, *arguments)
    except Relayed as error:
        failure = error.failure
    except LexmillError as error:
        failure = Failure(type(error).__name__, str(error))
    except Exception as error:
        if stop := files.stopping(error):
            failure = Failure(type(stop).__name__, str(stop))
        elif isinstance(error, OSError):
            failure = Failure("OSError", error.strerror or "", _places(error))
        else:
            failure = Failure(type(error).__name__, "", _places(error))
    return Outcome(
        receipt,
        failure,
        time.process_time() - before,
        peak_rss(),
        os.getpid(),
    )


def _places(error: BaseException) -> tuple[str, ...]:
    frames = traceback.extract_tb(error.__traceback__)
    return tuple(f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-6:])
