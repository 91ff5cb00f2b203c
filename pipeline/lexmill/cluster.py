"""Open a Dask client: worker processes on this machine, workers behind a scheduler that runs already, or Slurm jobs."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any

import dask
import distributed
from distributed.utils import get_mp_context
from distributed.worker_memory import parse_memory_limit

from lexmill.config import Cluster, Config, Tls
from lexmill.errors import ConfigError, StoppedError
from lexmill.store.files import make_private, stopping

# Documents are processed one a core: no library may start threads of its own, and no worker logs what a task was given.
_WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "PYTHONHASHSEED": "0",
}
# Receipts are a few hundred bytes: there is nothing to spill, and what a task holds is none of Dask's. Its profiler,
# which looks at a task a hundred times a second, has no reader.
_WORKERS: dict[str, Any] = {
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.profile.enabled": False,
}
_PRELOADED = "lexmill.jobs.preloaded"
# A worker that had nothing to do at so many looks, two seconds apart, is let go: steps of a stage may have a pause between them.
_IDLE_LOOKS = 30
# Of the wall time of a Slurm job: workers end in order before it, and not all at once.
_LIFETIME, _STAGGER = 0.9, 0.05


# Memory of a nanny and of a worker that has let go of what it had loaded: measured 120 and 490 MiB.
_BESIDE = 768 << 20


def worker_count(cluster: Cluster) -> int:
    """Workers that the run file asks for; 0 stands for one a core that this process may use."""
    return cluster.workers or len(os.sched_getaffinity(0))


def memory_limit(cluster: Cluster) -> int | str:
    """Bytes a worker may use, or ``auto``; raises ConfigError for what is no size."""
    if cluster.memory == "auto":
        return "auto"
    try:
        size = int(dask.utils.parse_bytes(cluster.memory))
    except ValueError:
        size = 0
    if size <= 0:
        raise ConfigError(f"cluster.memory: {cluster.memory!r} is no size; write such as '4GiB', or 'auto'")
    return size


def job_memory(cluster: Cluster) -> int:
    """Bytes that are asked of Slurm for each worker: with its nanny's, and its own while a process apart works for it."""
    return int(memory_limit(cluster)) + _BESIDE


def worker_memory(cluster: Cluster, client: Callable[[], distributed.Client]) -> float | None:
    """Bytes that each worker may use; those of a scheduler by address are asked, None where it has none."""
    if cluster.kind == "address":
        workers = client().scheduler_info(n_workers=-1)["workers"].values()
        return min((worker["memory_limit"] for worker in workers if worker["memory_limit"]), default=None)
    limit = parse_memory_limit(memory_limit(cluster), 1, logger=logging.getLogger(__name__))
    return None if limit is None else float(limit)


def cluster_of(config: Config) -> Cluster:
    """The cluster of the run file, the files of TLS as absolute paths."""
    files = {name: file and config.resolve(file) for name, file in config.cluster.tls.model_dump().items()}
    return config.cluster.model_copy(update={"tls": Tls(**files)})


def check_cluster(cluster: Cluster) -> None:
    """Raise ConfigError where memory is no size, a file of TLS is not there, or Slurm's commands are not."""
    memory_limit(cluster)
    for name, file in cluster.tls.model_dump().items():
        if file and not Path(file).is_file():
            raise ConfigError(f"cluster.tls.{name}: no such file: {file}")
    if cluster.kind == "slurm" and not shutil.which("sbatch"):
        raise ConfigError("cluster.kind: sbatch is not on the path of this machine; start the run where jobs are submitted")


@contextmanager
def open_client(cluster: Cluster, scratch: Path, preload: Mapping[str, str] | None = None) -> Iterator[distributed.Client]:
    """A client on a cluster; what was started for it ends with it, a scheduler by address goes on.

    Scratch files of the workers that are started here are in ``scratch``; ``preload`` is added to the environment of what
    those on this machine are forked from. Raises StoppedError where there is no cluster.
    """
    make_private(scratch)
    opened = {"local": _local, "address": _by_address, "slurm": _slurm}[cluster.kind]
    with opened(cluster, scratch, preload or {}) as client:
        yield client


@contextmanager
def _local(cluster: Cluster, scratch: Path, preload: Mapping[str, str]) -> Iterator[distributed.Client]:
    with (
        _fork_server({**_WORKER_ENVIRONMENT, **preload}) as method,
        dask.config.set(_WORKERS),
        dask.config.set(
            {
                # One worker's death may be chance, a second one with the same part is not.
                "distributed.scheduler.allowed-failures": 1,
                "distributed.nanny.pre-spawn-environ": _WORKER_ENVIRONMENT,
                # What libraries put into temporary files (a sort of SQLite, a document being converted) stays in the workspace.
                "distributed.nanny.environ": {"TMPDIR": str(scratch)},
                "distributed.worker.multiprocessing-method": method,
                "temporary-directory": str(scratch),
            }
        ),
        ExitStack() as opened,
    ):
        try:
            with _uninterrupted():
                local = opened.enter_context(_local_cluster(cluster, scratch))
            yield opened.enter_context(distributed.Client(local, set_as_default=False))
        finally:
            with _uninterrupted():
                opened.close()


def _local_cluster(cluster: Cluster, scratch: Path) -> distributed.LocalCluster:
    try:
        return distributed.LocalCluster(
            n_workers=worker_count(cluster),
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_limit(cluster),
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            local_directory=str(scratch),
        )
    except OSError as error:
        raise stopping(error) or StoppedError(f"no local cluster could be started ({error.strerror}); run again") from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """SIGINT is for the driver alone, and later: the processes that are started meanwhile, and all that these start, get none.

    A terminal sends it to all. Workers that got it would each print where they stood; the driver ends them in order, and they
    end by themselves when it is gone. Dask leaves workers behind, and waits for them, where it is stopped as it starts them.
    """
    resource_tracker.ensure_running()  # its start lets SIGINT through again
    came: list[int] = []
    here = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if here else None
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _fork_server(environment: Mapping[str, str]) -> Iterator[str]:
    """The process that workers are forked from, each with all that it needs in memory; gives how they are started.

    By spawn on systems where a process that has loaded so much may not be forked, and where $TMPDIR is too long for a socket.
    """
    if sys.platform != "linux":
        yield "spawn"
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload([_PRELOADED])
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        with _uninterrupted():
            try:
                forkserver.ensure_running()
                method = "forkserver"
            except OSError:
                method = "spawn"
            finally:
                os.environ.clear()
                os.environ.update(before)
        yield method
    finally:
        # What it took counts as this process's only when it was waited for.
        with suppress(ChildProcessError), _uninterrupted():
            forkserver._forkserver._stop()  # type: ignore[attr-defined]


def _security(tls: Tls) -> distributed.Security | None:
    if not tls.ca:
        return None
    roles = {
        f"tls_{role}_{kind}": file
        for role in ("client", "scheduler", "worker")
        for kind, file in (("cert", tls.cert), ("key", tls.key))
    }
    return distributed.Security(tls_ca_file=tls.ca, require_encryption=True, **roles)


@contextmanager
def _by_address(cluster: Cluster, _scratch: Path, _preload: Mapping[str, str]) -> Iterator[distributed.Client]:
    try:
        client = distributed.Client(cluster.address, security=_security(cluster.tls), set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        # One that speaks TLS only says nothing at all to whom does not.
        tls = "" if cluster.tls.ca else " (one with TLS is named tls://, and its files in [cluster.tls])"
        raise StoppedError(
            f"cluster.address: no scheduler answers at {cluster.address} ({type(error).__name__}); start it, or mend the "
            f"address{tls}, and run the same command again"
        ) from None
    with client:
        yield client


@contextmanager
def _slurm(cluster: Cluster, scratch: Path, _preload: Mapping[str, str]) -> Iterator[distributed.Client]:
    from dask_jobqueue import SLURMCluster

    slurm = cluster.slurm
    seconds = _seconds(slurm.walltime)
    environment = {
        **_WORKER_ENVIRONMENT,
        "TMPDIR": str(scratch),
        **{f"DASK_{name.upper().replace('.', '__')}": str(value) for name, value in _WORKERS.items()},
    }
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        # A part of unknown length is taken for a long one, so that the first parts already ask for all the workers they can use.
        "distributed.scheduler.unknown-task-duration": "60s",
        "distributed.adaptive.target-duration": "5s",
    }
    with dask.config.set(settings):
        jobs = SLURMCluster(
            cores=1,
            processes=1,
            memory=f"{memory_limit(cluster)}B",
            job_mem=f"{job_memory(cluster) >> 20}M",
            queue=slurm.partition or None,
            account=slurm.account or None,
            walltime=slurm.walltime,
            interface=slurm.interface or None,
            security=_security(cluster.tls),
            scheduler_options={"dashboard_address": None},
            silence_logs=logging.CRITICAL,
            job_extra_directives=list(slurm.directives),
            job_script_prologue=[f"export {name}='{value}'" for name, value in environment.items()],
            worker_extra_args=[
                *("--lifetime", f"{int(seconds * _LIFETIME)}s"),
                *("--lifetime-stagger", f"{int(seconds * _STAGGER)}s"),
            ],
            local_directory=str(scratch),
            log_directory=str(make_private(scratch / "slurm")),
        )
        with jobs:
            _try_script(jobs.job_script())
            jobs.adapt(minimum=0, maximum=cluster.workers, interval="2s", wait_count=_IDLE_LOOKS)
            with distributed.Client(jobs, set_as_default=False) as client:
                yield client


def _seconds(walltime: str) -> int:
    days, _, rest = walltime.rpartition("-")
    hours, minutes, seconds = (int(part) for part in rest.split(":"))
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def _try_script(script: str) -> None:
    """Ask Slurm whether it would take the job: a refusal at every later submission would be seen by nobody."""
    tried = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True, check=False)
    if tried.returncode:
        raise ConfigError(f"cluster.slurm: sbatch refuses a worker's job: {' '.join(tried.stderr.split())}")
