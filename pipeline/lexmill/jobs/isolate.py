"""A part whose worker died is made in a process of its own; documents that end it are found by halving, and quarantined.

python -m lexmill.jobs.isolate    (started by a worker; speaks pickle over its standard streams)

The worker outlives them, whatever its scheduler makes of workers that die.
"""

import ctypes
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import distributed
import numpy as np
import psutil
import pyarrow as pa

from lexmill.core.batch import Batch, Ledger, n_bytes
from lexmill.errors import StoppedError
from lexmill.jobs.call import Outcome, PartFunction, Relayed, Terms, call
from lexmill.jobs.loaded import LOAD_S, alarm, forget
from lexmill.schema import LEDGER
from lexmill.store import files
from lexmill.store.fingerprint import digest
from lexmill.store.stages import Receipt, StageFolder, Target, count_documents, part_name

DIED = "worker.died"
MEMORY = "worker.memory"
SECONDS = "worker.part_seconds"
"""The ledger's rules for a document that ends its process, takes more than a worker's memory, or longer than ``part_seconds``."""

Unit = tuple[int, ...]
Refused = tuple[tuple[int, str], ...]
"""Rows that a task leaves out, each with the rule that it is quarantined by."""
Ask = Callable[[Callable[..., Any], tuple[Any, ...]], Any]

# Where Dask's nanny ends a worker: share of its memory limit.
_TERMINATE = 0.95
_LOOK_S = 0.05
# A few documents may take this share of the time of a whole part: one of them may be most of it.
_LEAST_SHARE = 0.25
# Memory that is more by less than this is the same as before: what a scheduler calls 1.21 GiB may be a little more or less.
_MORE = 1.02
# Where more documents than these end the process, it is not they who are to blame: none is quarantined.
_MOST, _MOST_SHARE = 3, 0.1


class Split(Protocol):
    """How a task is cut into documents; ``compares``: it looks at several at once, so that one may end it beside another only."""

    compares: ClassVar[bool]

    def units(self, arguments: tuple[Any, ...]) -> Sequence[Unit]:
        """All that may be left out, in order."""

    def inside(self, arguments: tuple[Any, ...], unit: Unit, ask: Ask) -> Sequence[Unit]:
        """What a unit consists of; ``ask`` runs a function in the process that may die, and gives None if it does."""

    def only(self, target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], folder: Path) -> tuple[Any, ...]:
        """The arguments of the task over these units alone; ``folder`` may hold its input."""

    def without(
        self, target: Target, arguments: tuple[Any, ...], refused: Mapping[Unit, str], folder: Path
    ) -> tuple[Target, tuple[Any, ...]]:
        """The task without the refused units, which it quarantines by the rule given for each."""


@dataclass(frozen=True)
class Rows:
    """For tasks whose first two arguments are a stage's folder and a part's entry in its manifest: a row is a document."""

    compares: ClassVar[bool] = False

    def units(self, arguments: tuple[Any, ...]) -> Sequence[Unit]:
        """Row numbers."""
        return [(row,) for row in range(int(arguments[1]["rows"]))]

    def inside(self, _arguments: tuple[Any, ...], _unit: Unit, _ask: Ask) -> Sequence[Unit]:
        """A row has no parts."""
        return []

    def only(self, target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], folder: Path) -> tuple[Any, ...]:
        """The same over a part with these rows."""
        table = self._table(target, arguments).take(pa.array([row for (row,) in units], pa.int64()))
        source = StageFolder(folder / "given")
        receipt = Target(source, target.number, "").write(Batch(table, LEDGER.empty_table(), {}), count_documents(table))
        return (source, receipt.entry(), *arguments[2:])

    def without(
        self, target: Target, arguments: tuple[Any, ...], refused: Mapping[Unit, str], folder: Path
    ) -> tuple[Target, tuple[Any, ...]]:
        """The same over a part without these rows; the target adds them to the ledger."""
        table = self._table(target, arguments)
        stage = target.folder.path.name.removesuffix(".next")
        left = quarantined(table, stage, tuple((row, rule) for (row,), rule in sorted(refused.items())))
        rest = [unit for unit in self.units(arguments) if unit not in refused]
        made_of = digest(target.fingerprint or target.key, [(row["doc_id"], row["rule"]) for row in left.to_pylist()])
        return replace(target, left=left, fingerprint=made_of), self.only(target, arguments, rest, folder)

    def _table(self, target: Target, arguments: tuple[Any, ...]) -> pa.Table:
        return files.read_columns(arguments[0].path / part_name(target.number))


@dataclass(frozen=True)
class Others:
    """For tasks whose second argument is a part's entry and whose last one takes rows that they leave out, as ``Refused``.

    Their results line up with the part's rows, or they say themselves what becomes of a document without them.
    """

    compares: ClassVar[bool] = False

    def units(self, arguments: tuple[Any, ...]) -> Sequence[Unit]:
        """Row numbers."""
        return [(row,) for row in range(int(arguments[1]["rows"]))]

    def inside(self, _arguments: tuple[Any, ...], _unit: Unit, _ask: Ask) -> Sequence[Unit]:
        """A row has no parts."""
        return []

    def only(self, _target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], _folder: Path) -> tuple[Any, ...]:
        """The same with all other rows left out."""
        chosen = set(units)
        return (*arguments, tuple((unit[0], DIED) for unit in self.units(arguments) if unit not in chosen))

    def without(
        self, target: Target, arguments: tuple[Any, ...], refused: Mapping[Unit, str], _folder: Path
    ) -> tuple[Target, tuple[Any, ...]]:
        """The same with these rows left out."""
        rows = tuple((row, rule) for (row,), rule in sorted(refused.items()))
        return replace(target, fingerprint=digest(target.fingerprint or target.key, rows)), (*arguments, rows)


def quarantined(table: pa.Table, stage: str, refused: Refused) -> pa.Table:
    """The ledger's rows for what is left out."""
    ledger = Ledger(stage)
    for row, rule in refused:
        (one,) = table.slice(row, 1).select(["doc_id", "source", "doc_type", "text"]).to_pylist()
        ledger.add(one["doc_id"], one["source"], one["doc_type"], "quarantine", rule, len(one["text"]), n_bytes(one["text"]))
    return ledger.table()


def without_refused(table: pa.Table, refused: Refused) -> pa.Table:
    """The rows that are not left out."""
    if not refused:
        return table
    stays = np.ones(table.num_rows, bool)
    stays[[row for row, _ in refused]] = False
    return table.filter(pa.array(stays))


def limited_key(key: str, rules: Iterable[str], memory: float, seconds: float) -> str:
    """The key of a part that was made without documents that died under these limits (bytes, seconds)."""
    found = set(rules)
    return ".".join(
        [
            key,
            *([f"m{int(memory)}"] if found & {DIED, MEMORY} else []),
            *([f"s{int(seconds)}"] if SECONDS in found else []),
        ]
    )


def holds(found: str, key: str, memory: Callable[[], float | None], seconds: float) -> bool:
    """Whether a part of the key ``found`` is what ``key`` asks for under the limits of now: higher ones may let more live."""
    mine, *limits = found.split(".")
    if mine != key:
        return False
    for limit in limits:
        now = seconds if limit[0] == "s" else memory()
        if now is not None and now > _MORE * float(limit[1:]):
            return False
    return True


def isolated_part(
    target: Target, function: PartFunction, arguments: tuple[Any, ...], split: Split | None, terms: Terms
) -> Receipt:
    """Make a part in a process of its own, without the documents that end it; raises StoppedError where these cannot be found."""
    forget()  # what this process has loaded is in the way of the other one, and one job of a scheduler holds both
    with tempfile.TemporaryDirectory(prefix="isolated-") as folder, _Search(function, split, terms, Path(folder)) as search:
        return search.make(target, arguments)


class _Search:
    def __init__(self, function: PartFunction, split: Split | None, terms: Terms, folder: Path) -> None:
        self._function = function
        self._split = split
        self._seconds = terms.part_seconds
        self._folder = folder
        self._memory = _memory_limit()
        self._child: Any = None

    def __enter__(self) -> "_Search":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def make(self, target: Target, arguments: tuple[Any, ...]) -> Receipt:
        reason = self._run(target, arguments, 1.0)
        if isinstance(reason, Outcome):
            return _receipt(reason)
        if self._split is None:
            raise StoppedError(f"it ends the process that works on it ({reason}); give [cluster] more memory, or report it")
        units = self._split.units(arguments)
        found = self._find(self._split, target, arguments, units, len(units), reason)
        refused = {unit: rule for unit, rule in found.items() if self._is_to_blame(self._split, target, arguments, unit, rule)}
        if not refused:
            whole = self._run(target, arguments, 1.0)  # what was slow was compiled meanwhile
            if isinstance(whole, Outcome):
                return _receipt(whole)
            # What memory or time runs out for is the number of documents; without any one of them there might be enough.
            refused = self._beside_others(self._split, target, arguments, units) if whole == DIED and self._split.compares else {}
        if not refused:
            raise StoppedError(f"it ends the process that works on it ({reason}), but no single document does: give more memory")
        if len(refused) > max(_MOST, _MOST_SHARE * len(units)):
            raise StoppedError(f"{len(refused)} of its documents end the process that works on them ({reason}); mend [cluster]")
        chosen, rest = self._split.without(target, arguments, refused, self._folder)
        chosen = replace(chosen, key=limited_key(target.key, refused.values(), self._memory / _TERMINATE, self._seconds))
        again = self._run(chosen, rest, 1.0)
        if not isinstance(again, Outcome):
            raise StoppedError(f"it ends the process that works on it ({again}), also without {len(refused)} documents")
        return _receipt(again)

    def _is_to_blame(self, split: Split, target: Target, arguments: tuple[Any, ...], unit: Unit, rule: str) -> bool:
        """Whether a unit dies alone also where it has all the time of a part, and found compiled what can be."""
        if rule != SECONDS:
            return True
        probe = replace(target, folder=StageFolder(self._folder / "made"))
        return not isinstance(self._run(probe, split.only(target, arguments, [unit], self._folder), 1.0), Outcome)

    def _find(
        self, split: Split, target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], of: int, reason: str
    ) -> dict[Unit, str]:
        """The smallest units among ``units``, which together end the process, that do so alone."""
        if len(units) == 1:
            inner = split.inside(arguments, units[0], self._ask)
            return self._halves(split, target, arguments, inner, len(inner)) if inner else {units[0]: reason}
        return self._halves(split, target, arguments, units, of)

    def _halves(
        self, split: Split, target: Target, arguments: tuple[Any, ...], units: Sequence[Unit], of: int
    ) -> dict[Unit, str]:
        middle = max(1, len(units) // 2)
        found: dict[Unit, str] = {}
        for half in (units[:middle], units[middle:]):
            if not half:
                continue
            probe = replace(target, folder=StageFolder(self._folder / "made"))
            reason = self._run(probe, split.only(target, arguments, half, self._folder), max(_LEAST_SHARE, len(half) / of))
            if isinstance(reason, str):
                found |= self._find(split, target, arguments, half, of, reason)
        return found

    def _beside_others(self, split: Split, target: Target, arguments: tuple[Any, ...], units: Sequence[Unit]) -> dict[Unit, str]:
        """The one unit without which the others do not end the process, if there is one: the first of two that must not meet."""
        suspected = units
        while len(suspected) > 1:
            middle = len(suspected) // 2
            for half in (suspected[:middle], suspected[middle:]):
                out = set(half)
                probe = replace(target, folder=StageFolder(self._folder / "made"))
                rest = split.only(target, arguments, [unit for unit in units if unit not in out], self._folder)
                if isinstance(self._run(probe, rest, 1.0), Outcome):
                    suspected = half
                    break
            else:
                return {}
        return dict.fromkeys(suspected, DIED)

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        answer = self._send((_timed, (function, arguments, self._seconds)), self._seconds)
        return None if isinstance(answer, str) else answer[0]

    def _run(self, target: Target, arguments: tuple[Any, ...], share: float) -> Outcome | str:
        """What the process gives back, or the rule that names why it died."""
        seconds = self._seconds * share
        answer = self._send((call, (self._function, target, arguments, Terms(part_seconds=seconds))), seconds)
        if isinstance(answer, str):
            return answer
        outcome: Outcome = answer[0]
        return MEMORY if outcome.failure is not None and outcome.failure.kind == "MemoryError" else outcome

    def _send(self, request: tuple[Callable[..., Any], tuple[Any, ...]], seconds: float) -> "tuple[Any] | str":
        """What the process gives back; it looks at its own clock, which stands still while it loads."""
        if self._child is None:
            # Nothing of what a crashing library prints may be kept: it may quote a document.
            self._child = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        started = time.monotonic()
        try:
            pickle.dump(request, self._child.stdin)
            self._child.stdin.flush()
            begun = self._receive(LOAD_S)  # what it imports is none of a part's time
            started = time.monotonic()
            return begun if isinstance(begun, str) else self._receive(seconds + LOAD_S)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError, psutil.NoSuchProcess):
            took = time.monotonic() - started
            with suppress(subprocess.TimeoutExpired):  # one that says nonsense may live on
                self._child.wait(_LOOK_S * 100)
            # Its alarm ends it with 1; so may a library, but not at that time.
            return self._end(SECONDS if self._child.returncode == 1 and took >= seconds else DIED)

    def _receive(self, seconds: float) -> "tuple[Any] | str":
        until = time.monotonic() + seconds
        process = psutil.Process(self._child.pid)
        while not select.select([self._child.stdout], [], [], _LOOK_S)[0]:
            if time.monotonic() > until:
                return self._end(SECONDS)  # its own alarm did not come
            if process.memory_info().rss > self._memory:
                return self._end(MEMORY)
        return (pickle.load(self._child.stdout),)

    def _end(self, reason: str = "") -> str:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for stream in (self._child.stdin, self._child.stdout):
                with suppress(BrokenPipeError):
                    stream.close()
            self._child = None
        return reason


def _receipt(outcome: Outcome) -> Receipt:
    if outcome.failure is not None:
        raise Relayed(outcome.failure)
    if outcome.receipt is None:
        raise ValueError("a task without failure has a receipt")
    return outcome.receipt


def _memory_limit() -> float:
    """Bytes that the process may take: what a worker may."""
    try:
        limit = distributed.get_worker().memory_manager.memory_limit
    except (ValueError, AttributeError):
        limit = None  # not on a worker, or on one without a nanny
    return _TERMINATE * (limit or psutil.virtual_memory().total)


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
    with alarm(seconds):
        return function(*arguments)


def _serve() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it must not hang on when its worker is gone
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not come between
    while True:
        try:
            function, arguments = pickle.load(source)
        except EOFError:
            return
        pickle.dump("begun", target)
        target.flush()
        pickle.dump(function(*arguments), target)
        target.flush()


if __name__ == "__main__":
    _serve()
