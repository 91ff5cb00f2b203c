"""Open a Dask client: single-threaded worker processes on this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import distributed

from lexmill.config import Cluster
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


@contextmanager
def open_client(cluster: Cluster, scratch: Path) -> Iterator[distributed.Client]:
    """A client on a new local cluster, whose scratch files are in ``scratch``; raises StoppedError where none can be started."""
    make_private(scratch)
    settings = {
        # One worker's death may be chance, a second one with the same part is not.
        "distributed.scheduler.allowed-failures": 1,
        "distributed.scheduler.no-workers-timeout": "600s",
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        # What libraries put into temporary files (a sort of SQLite, a document being converted) stays in the workspace.
        "distributed.nanny.pre-spawn-environ": {**_WORKER_ENVIRONMENT, "TMPDIR": str(scratch)},
        "distributed.nanny.environ": {},
        "temporary-directory": str(scratch),
    }
    with dask.config.set(settings):
        try:
            local = distributed.LocalCluster(
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
        with local, distributed.Client(local, set_as_default=False) as client:
            yield client
