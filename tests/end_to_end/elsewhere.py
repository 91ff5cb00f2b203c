"""A scheduler and workers in processes of their own, over TCP, as somebody else would have started them."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import distributed
import psutil
import pytest

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
    prefixes: tuple[tuple[str, ...], ...] = ((),)  # what each process is started by: the scheduler, then the workers
    tls: tuple[str, str, str] | None = None  # the authority's certificate, then one's own and its key
    scheduler: "subprocess.Popen[bytes] | None" = None
    nannies: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{'tls' if self.tls else 'tcp'}://{self.host}:{self.port}"

    @property
    def _secure(self) -> tuple[str, ...]:
        if self.tls is None:
            return ()
        ca, cert, key = self.tls
        return ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)

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
        where = ("--host", self.address.rpartition(":")[0] if self.tls else self.host, "--port", str(self.port))
        self.scheduler = self._start(0, "scheduler", *where, "--no-dashboard", *self._secure)

    def start_worker(self, memory: str = "2GiB", *more: str, **environment: str) -> None:
        scratch = self.folder / f"scratch{len(self.nannies)}"
        arguments = (self.address, "--nthreads", "1", "--memory-limit", memory, "--local-directory", str(scratch))
        options = ("--no-dashboard", "--death-timeout", "120", *self._secure, *more)
        self.nannies.append(self._start(1 + len(self.nannies), "worker", *arguments, *options, **environment))

    def wait_for_workers(self, number: int) -> None:
        """Until the scheduler knows so many."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=120)

    def workers(self) -> list[psutil.Process]:
        """The processes that run tasks."""
        found = []
        for nanny in self.nannies:
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(nanny.pid).children():
                    with suppress(psutil.NoSuchProcess):  # a zombie, too
                        if "resource_tracker" not in " ".join(child.cmdline()):
                            found.append(child)
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
def elsewhere(
    folder: Path,
    workers: int,
    memory: str = "2GiB",
    *more: str,
    tls: tuple[str, str, str] | None = None,
    **environment: str,
) -> Iterator[Elsewhere]:
    """A scheduler with so many workers, started with ``more`` options, on this machine's loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Elsewhere(folder, {**ENVIRONMENT, **environment}, free_port(), tls=tls)
    try:
        made.start_scheduler()
        for _ in range(workers):
            made.start_worker(memory, *more)
        yield made
    finally:
        made.stop()


@dataclass(frozen=True)
class Network:
    """A bridge with hosts, each a network namespace that one command cuts off."""

    name: str
    hosts: int

    def enter(self, host: int) -> tuple[str, ...]:
        """What a command on that host begins with."""
        return ("ip", "netns", "exec", f"{self.name}{host}")

    def address(self, host: int) -> str:
        """Its address; host 0 is this machine itself."""
        return f"10.71.0.{host + 1}"

    def cut(self, host: int) -> None:
        """Nothing reaches the host any more, and nobody is told."""
        self._ip("link", "set", f"{self.name}v{host}", "down")

    def mend(self, host: int) -> None:
        """The host is there again."""
        self._ip("link", "set", f"{self.name}v{host}", "up")

    def lay(self) -> None:
        """Make bridge and hosts."""
        bridge = f"{self.name}br"
        self._ip("link", "add", bridge, "type", "bridge")
        self._ip("addr", "add", f"{self.address(0)}/24", "dev", bridge)
        self._ip("link", "set", bridge, "up")
        for host in range(1, self.hosts + 1):
            space, cable = f"{self.name}{host}", f"{self.name}v{host}"
            self._ip("netns", "add", space)
            self._ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            self._ip("link", "set", cable, "master", bridge, "up")
            self._ip("-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
            self._ip("-n", space, "link", "set", "lo", "up")
            self._ip("-n", space, "link", "set", "eth0", "up")

    def remove(self) -> None:
        """Take all of it away."""
        for host in range(1, self.hosts + 1):
            subprocess.run(["ip", "netns", "del", f"{self.name}{host}"], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", f"{self.name}br"], check=False, capture_output=True)

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def network(hosts: int) -> Iterator[Network]:
    """A network of so many hosts; skips the test where this user or kernel has none."""
    made = Network(f"lm{os.getpid() % 10000}", hosts)
    try:
        try:
            made.lay()
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no network namespaces: they need iproute2 and root")
        yield made
    finally:
        made.remove()


@contextmanager
def apart(folder: Path, laid: Network, **environment: str) -> Iterator[Elsewhere]:
    """A scheduler on this machine's side of the bridge, and a worker on every host."""
    folder.mkdir(parents=True, exist_ok=True)
    prefixes = ((), *(laid.enter(host) for host in range(1, laid.hosts + 1)))
    made = Elsewhere(folder, {**ENVIRONMENT, **environment}, free_port(), laid.address(0), prefixes)
    try:
        made.start_scheduler()
        for _ in range(laid.hosts):
            made.start_worker()
        yield made
    finally:
        made.stop()
