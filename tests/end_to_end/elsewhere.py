"""A scheduler and workers in processes of their own, over TCP, as somebody else would have started them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import distributed
import psutil

DASK = Path(sys.executable).with_name("dask")

# One thread a worker and no spilling, as README says; quick to notice who is gone.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
}


@dataclass
class Elsewhere:
    """A scheduler and its workers; each worker is a nanny and the process that it watches."""

    folder: Path
    environment: dict[str, str]
    port: int
    host: str = "127.0.0.1"
    prefixes: tuple[tuple[str, ...], ...] = ((),)  # commands before each process: the scheduler's, then the workers'
    scheduler: "subprocess.Popen[bytes] | None" = None
    nannies: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://{self.host}:{self.port}"

    def _start(self, place: int, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
        log = (self.folder / "dask.log").open("ab")
        return subprocess.Popen(
            [*self.prefixes[place % len(self.prefixes)], str(DASK), *arguments],
            stdout=log,
            stderr=log,
            env={**os.environ, **self.environment, **environment},
            cwd=self.folder,
            start_new_session=True,
        )

    def start_scheduler(self) -> None:
        self.scheduler = self._start(0, "scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard")

    def start_worker(self, memory: str = "2GiB", **environment: str) -> None:
        scratch = self.folder / f"scratch{len(self.nannies)}"
        arguments = (self.address, "--nthreads", "1", "--memory-limit", memory, "--local-directory", str(scratch))
        options = ("--no-dashboard", "--death-timeout", "120")
        self.nannies.append(self._start(1 + len(self.nannies), "worker", *arguments, *options, **environment))

    def wait_for_workers(self, number: int) -> None:
        """Until the scheduler knows so many."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=120)

    def workers(self) -> list[psutil.Process]:
        """The processes that run tasks."""
        found = []
        for nanny in self.nannies:
            try:
                children = psutil.Process(nanny.pid).children()
            except psutil.NoSuchProcess:
                continue
            found += [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]
        return found

    def stop(self) -> None:
        for process in (*self.nannies, self.scheduler):
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def elsewhere(folder: Path, workers: int, memory: str = "2GiB", **environment: str) -> Iterator[Elsewhere]:
    """A scheduler with so many workers, on this machine's loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Elsewhere(folder, {**ENVIRONMENT, **environment}, free_port())
    try:
        made.start_scheduler()
        for _ in range(workers):
            made.start_worker(memory)
        yield made
    finally:
        made.stop()
