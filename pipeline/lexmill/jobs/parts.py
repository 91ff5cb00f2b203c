"""The one place that submits work: a bounded window of part tasks, one retry, progress, and the swap of a finished stage."""

import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import distributed
import structlog

from lexmill import errors
from lexmill.errors import LexmillError, StoppedError
from lexmill.jobs.call import Failure, Outcome, PartFunction, Terms, call
from lexmill.jobs.isolate import Split, holds, isolated_part
from lexmill.jobs.loaded import LOAD_S
from lexmill.jobs.progress import Progress
from lexmill.store import files
from lexmill.store.files import DamagedFile
from lexmill.store.stages import Receipt, StageFolder, Target, make_manifest, part_name, part_names, settle, swap

log = structlog.get_logger()

KILLED = "KilledWorker"
# A part whose workers die is tried so often, from the second time on in a process of its own: what dies then died by chance.
_TRIES = 4
# A search for documents that hang may take so many times as long as a part.
_SEARCH = 24
# How often it is looked whether there are workers, in seconds.
_LOOK_S = 5.0


@dataclass(frozen=True)
class PartTask:
    """One part to make: ``function(target, *arguments)``.

    ``key`` says what it depends on, down to the byte; ``fingerprint`` what it is made of, the same wherever the raw files
    lie (empty: the key); ``weight`` is its input in bytes. ``split`` tells the documents of a part apart, where one that ends its
    worker may be quarantined by the task itself.
    """

    number: int
    key: str
    arguments: tuple[Any, ...]
    weight: int = 0
    fingerprint: str = ""
    split: Split | None = None


class DamagedInput(LexmillError):
    """A finished part turned out to be damaged when a later stage read it."""

    exit_code = errors.EXIT_STOPPED


@dataclass
class Timing:
    """What the tasks of a stage cost in this run of the command (it goes to run.json, never into a manifest)."""

    tasks: int = 0
    reused: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_rss: int = 0


def _raise(stage: str, number: int, failure: Failure) -> None:
    where = f"{stage}, part {number}"
    known: dict[str, type[LexmillError]] = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, LexmillError) and kind is not errors.DocumentError
    }
    if failure.kind == DamagedFile.__name__:
        raise DamagedInput(failure.message)
    if failure.kind in known:
        raise known[failure.kind](f"{where}: {failure.message}")
    if failure.kind == KILLED:
        raise StoppedError(f"{where}: {failure.message}")
    if failure.kind == "OSError":
        raise StoppedError(f"{where}: {failure.message} ({'; '.join(failure.places)}); run the same command again")
    raise RuntimeError(f"{where} failed twice with {failure.kind} at {'; '.join(failure.places) or failure.message}")


@dataclass
class Runner:
    """Runs stages on a client; ``open_client`` is called when a task must run, so that a finished run starts no cluster.

    ``observe`` is told of every task that came back; ``check`` is asked before a stage is swapped in, and raises where this run
    may not write any more; ``close`` ends the cluster, so that what it took can be told. ``workers`` is how many there may be at
    work, 0 all that there are. No task is bound to a worker, so none waits for one that is gone. ``memory_limit`` gives what each
    may take, in bytes, and is asked only where a document died for want of it.
    """

    open_client: Callable[[], distributed.Client]
    workers: int
    version: str
    progress: Progress
    observe: Callable[[str, PartTask, Outcome], None]
    check: Callable[[], None]
    close: Callable[[], None]
    terms: Terms = field(default_factory=Terms)
    memory_limit: Callable[[], float | None] = lambda: None
    most_workers: int = 0
    timings: dict[str, Timing] = field(default_factory=dict)

    def run_stage(
        self, name: str, folder: StageFolder, function: PartFunction, tasks: Sequence[PartTask], fingerprint: str
    ) -> dict[str, Any]:
        """Bring a stage to the state that ``tasks`` describe and return its manifest.

        Finished parts with the right key are kept (also those of an earlier, changed or stopped build); the rest is made in
        ``<stage>.next`` and swapped in when all is there. Raises what the tasks raise; nothing half-made ever stands in the
        place of a stage.
        """
        timing = self.timings.setdefault(name, Timing())
        settle(folder)
        try:
            manifest = folder.manifest()
        except DamagedFile as error:
            log.warning("damaged manifest: its parts are checked and it is written again", stage=name, reason=str(error))
            manifest = None
        numbers = {task.number for task in tasks}
        current = {number: receipt for number, receipt in folder.receipts().items() if number in numbers}
        if manifest is not None:
            fresh = [current[task.number] for task in tasks if self._holds(current.get(task.number), task)]
            if len(fresh) == len(tasks) and manifest == make_manifest(name, self.version, fingerprint, fresh):
                timing.reused += len(tasks)
                return manifest
            names = [entry["name"] for entry in manifest["parts"]]
            lost = [name for number, name in enumerate(names) if number in numbers and number not in current]
            for part in lost:
                log.warning("a finished part is damaged or gone: it is made again", stage=name, part=part)
        receipts = self._reuse(folder, tasks, current)
        timing.reused += len(receipts)
        missing = [task for task in tasks if task.number not in receipts]
        receipts |= self._run(name, folder.next, function, missing, timing)
        done = make_manifest(name, self.version, fingerprint, [receipts[task.number] for task in tasks])
        self.check()
        files.sweep(folder.next.path)
        files.write_json(folder.next.path / "manifest.json", done)
        swap(folder)
        return done

    def _holds(self, found: Receipt | None, task: PartTask) -> bool:
        """Whether a finished part is what the task would make now."""
        return found is not None and holds(found.key, task.key, self.memory_limit, self.terms.part_seconds)

    def _reuse(self, folder: StageFolder, tasks: Sequence[PartTask], current: dict[int, Receipt]) -> dict[int, Receipt]:
        """Receipts of the parts that need not be made: those of the stage stay where they are until the swap, and after it."""
        files.remove_all(folder.next.path, ["manifest.json"])
        receipts: dict[int, Receipt] = {}
        stale = set(files.listing(folder.next.path))
        made = folder.next.receipts() if stale else {}
        for task in tasks:
            found, building = current.get(task.number), made.get(task.number)
            if building is not None and building.key == task.key:
                receipts[task.number] = building
                stale -= part_names(part_name(task.number), building.ledger_sha256 is not None)
            elif found is not None and found.key == task.key:
                receipts[task.number] = found
        files.remove_all(folder.next.path, sorted(stale))
        return receipts

    def _run(
        self, name: str, folder: StageFolder, function: PartFunction, tasks: Sequence[PartTask], timing: Timing
    ) -> dict[int, Receipt]:
        receipts: dict[int, Receipt] = {}
        if not tasks:
            return receipts
        started = time.monotonic()
        client = self.open_client()
        present = _Present(client, self.workers, self.terms.wait_seconds)
        waiting = iter(tasks)
        tried: dict[int, int] = {}
        running: dict[distributed.Future, PartTask] = {}
        finished: queue.SimpleQueue[distributed.Future] = queue.SimpleQueue()
        self.progress.start(name, len(tasks), sum(task.weight for task in tasks))

        def submit(task: PartTask, *, isolated: bool) -> None:
            tried[task.number] = tried.get(task.number, 0) + 1
            target = Target(folder, task.number, task.key, task.fingerprint)
            # Dask takes an equal key for the same result, so every try has one of its own.
            key = f"{name}-{task.number}-{uuid4().hex}"
            what: tuple[Any, ...] = (function, target, task.arguments, self.terms)
            if isolated:
                search = (function, task.arguments, task.split, self.terms)
                what = (
                    isolated_part,
                    target,
                    search,
                    replace(self.terms, part_seconds=_SEARCH * self.terms.part_seconds + LOAD_S),
                )
            future = client.submit(call, *what, pure=False, key=key)
            running[future] = task
            future.add_done_callback(finished.put)

        try:
            while True:
                self.most_workers = max(self.most_workers, present.look())
                while len(running) < 2 * present.number and (following := next(waiting, None)) is not None:
                    submit(following, isolated=False)
                if not running:
                    break
                try:
                    future = finished.get(timeout=_LOOK_S)
                except queue.Empty:
                    continue
                task = running.pop(future)
                failure = self._collect(name, future, task, receipts, timing)
                future.release()
                if failure is None:
                    self.progress.advance(name, task.weight)
                elif tried[task.number] < _TRIES and failure.kind in (KILLED, MemoryError.__name__):
                    log.warning("a part's worker died: it is made in a process of its own", stage=name, part=task.number)
                    submit(task, isolated=True)
                elif tried[task.number] < 2 and failure.kind not in ("StoppedError", "GateError", DamagedFile.__name__):
                    log.warning("a part failed and is tried once more", stage=name, part=task.number, kind=failure.kind)
                    submit(task, isolated=False)
                else:
                    _raise(name, task.number, failure)
        finally:
            for future in running:
                future.cancel()
            self.progress.stop(name)
            timing.wall_seconds += time.monotonic() - started
        return receipts

    def _collect(
        self, name: str, future: distributed.Future, task: PartTask, receipts: dict[int, Receipt], timing: Timing
    ) -> Failure | None:
        try:
            outcome: Outcome = future.result()
        except distributed.KilledWorker:
            return Failure(
                KILLED, "its workers died again and again (out of memory?); give [cluster] memory or fewer workers, run again"
            )
        except Exception as error:
            # ``call`` lets nothing through, so this is the cluster: no workers in time, a lost scheduler, a cancelled task.
            return Failure("StoppedError", f"the cluster failed ({type(error).__name__}); run the same command again")
        self.observe(name, task, outcome)
        timing.cpu_seconds += outcome.cpu_seconds
        timing.peak_rss = max(timing.peak_rss, outcome.peak_rss)
        if outcome.receipt is not None:
            timing.tasks += 1
            receipts[task.number] = outcome.receipt
            for tally, number in outcome.receipt.tallies.items():
                if tally.startswith("quarantine:worker."):
                    log.warning("documents are quarantined", stage=name, part=task.number, rule=tally[11:], documents=number)
        return outcome.failure


class _Present:
    """How many workers tasks may be submitted for; raises StoppedError where for ``wait_seconds`` there is none."""

    def __init__(self, client: distributed.Client, workers: int, wait_seconds: int) -> None:
        self._client = client
        self._workers = workers
        self._wait_seconds = wait_seconds
        self._looked = -_LOOK_S
        self._seen = time.monotonic()
        # A cluster that scales from zero needs tasks to start workers for.
        self.number = workers or 1

    def look(self) -> int:
        """Look again, if the last look is some seconds ago; returns how many workers there may be."""
        now = time.monotonic()
        if now - self._looked < _LOOK_S:
            return self.number
        self._looked = now
        try:
            present = len(self._client.nthreads())
        except OSError:
            present = 0  # the scheduler does not answer; if it is lost, every task comes back as cancelled
        if present:
            self._seen = now
        elif now - self._seen > self._wait_seconds:
            raise StoppedError(
                f"for {self._wait_seconds} seconds (cluster.wait_seconds) there was no worker; run the same command again"
            )
        if not self._workers:
            self.number = max(1, present)
        return self.number
