"""A Dask cluster of this machine, ready for what rapidsgraph runs on it: `rg.cluster`.

Means: processes, since one parallel kernel runs at a time in each; on a CPU as many threads for
  the kernels of a process as it has cores, on GPUs one process a GPU, with one RMM pool for cuDF
  and CuPy.
Reference: LocalCluster of Dask, LocalCUDACluster of Dask-CUDA 26.10.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import spawn
from typing import Any

from .. import device as devices
from ..errors import GpuUnavailableError, GraphError
from ..validation import check_count, parse_bytes
from . import monitor

CORES = 8  # of a process: more processes have more to tell each other
# Fraction of a GPU's free memory that its pool starts with; the pool grows. Clusters that start at
# the same moment all see the same memory as free, so this leaves it to 16 of them.
POOL = 1 / 16
LEAST = 300 * 10**6  # bytes of a worker's process
LEAST_ON_GPU = 2**30  # bytes: CUDA itself takes half of that
SETTINGS = {  # of Dask, as long as a cluster is open
    # Dask looks so long after a death whether the worker is back, and else gives it up: it may look
    # in the moment of another death, or when it has lost count of workers that died as they came.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Arrays of vertices come and go in each round of a search. As Dask has it, each would be fresh
    # pages of the system, whose faults take their time.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(2**28),
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": str(2**28),
}
WORKER = "Dask Worker process"  # how names of worker processes begin

_one_at_a_time = threading.Lock()
_open = 0  # clusters
_with_main: Callable[[str], dict[str, Any]] = spawn.get_preparation_data


@contextmanager
def cluster(
    device: str = "auto",
    workers: int | None = None,
    memory_limit: int | str | None = None,
    *,
    protocol: str | None = None,
    timeout: float | str | None = None,
) -> Iterator[Any]:
    """Open a Dask client of a local cluster as a context; both are closed at its end.

    Within it, every call on a Dask frame runs on this cluster.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        On GPUs a worker is a process with a GPU of its own; it needs Dask-CUDA. "auto" takes GPUs
        where they and Dask-CUDA work.
    workers : int, optional
        Processes. By default one for each GPU, or for each 8 cores of a CPU, among which the
        cores are shared out: threads within a process are cheaper than messages between them.
    memory_limit : int or str, optional
        For each worker, in bytes, or a text like "4GB". On a GPU all that its pool may hold, of
        which nothing goes elsewhere: it is reserved at once. By default the pool starts with a
        sixteenth of what is free and grows. On a CPU Dask moves results to disk from 60 % of it on
        and ends a worker at 95 %; by default workers share the machine's memory.
    protocol : str, optional
        How workers talk: "tcp" by default; "ucx", with distributed-ucxx installed, takes NVLink
        between GPUs.
    timeout : number or str, optional
        How long to wait for a worker or the scheduler without a sign of life, in seconds or as a
        text like "30 s"; by default the dask.config key ``rapidsgraph.timeout``, which is 60 s
        where nobody sets it. A worker that is silent for longer is restarted, and its tasks run
        again. It does not limit how long a call may compute.

    Yields
    ------
    distributed.Client
        The active one. `client.cluster` is the cluster.

    Raises
    ------
    GpuUnavailableError
        GPUs were asked for, and they or Dask-CUDA are missing; the message says what to install.
    GraphError
        Dask is not installed, a parameter cannot be used, a GPU has less free than `memory_limit`,
        or workers do not start.

    Notes
    -----
    Results live on the workers: call ``.compute()`` on them, or write them, within the block. In a
    notebook, where cells share a cluster, ``stack = contextlib.ExitStack()`` and ``client =
    stack.enter_context(rg.cluster())`` open it, and ``stack.close()`` closes it.

    Workers do not run the calling script again, so it needs no ``if __name__ == "__main__"``.
    `client.dashboard_link` is where the dashboard is, if Bokeh is installed. Logs of Dask below
    critical are off as long as the cluster is open: errors are raised where results are asked for.

    Examples
    --------
    >>> import dask.dataframe, pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 0, 0]})
    >>> with rg.cluster("cpu", workers=1):  # doctest: +SKIP
    ...     ranks = rg.pagerank(dask.dataframe.from_pandas(edges, npartitions=2)).compute()
    """
    on_gpu = _chosen(device) == "gpu"
    if workers is not None:
        check_count("workers", workers)
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    seconds = monitor.get_timeout() if timeout is None else monitor.check_timeout(timeout)
    settings = SETTINGS | {
        monitor.TIMEOUT: seconds,
        # Tasks that find no worker for so long fail; they would wait forever.
        "distributed.scheduler.no-workers-timeout": seconds,
    }
    if not on_gpu and limit is not None and limit < LEAST:
        raise GraphError(
            f"memory_limit is {memory_limit!r}; a worker takes some 200 MB before it has any "
            f"work, so give {LEAST // 10**6} MB or more"
        )
    make = _of_gpus(workers, limit) if on_gpu else _of_processes(workers, limit)
    from dask import config
    from distributed import Client, SpecCluster

    with ExitStack() as stack:
        before = dict(os.environ)
        names: set[str] = set()
        stack.callback(_put_back, before, names)
        stack.enter_context(config.set(settings))
        stack.enter_context(_workers_without_main())
        there, running = set(SpecCluster._instances), multiprocessing.active_children()
        try:
            local = make(
                protocol=protocol,
                dashboard_address="127.0.0.1:0",  # any port: two clusters do not fight
                silence_logs=logging.CRITICAL,
                preload=[__name__],
            )
        except Exception as error:  # whatever a worker stumbled over, at the end of a chain
            raise GraphError(f"the cluster did not start: {_cause(error)}") from error
        except KeyboardInterrupt:
            _abandon(there, running)
            raise
        finally:
            names |= _changed(before)
        stack.callback(_close, local)
        client = stack.enter_context(Client(local, timeout=seconds))
        stack.enter_context(monitor.watching(client))
        yield client


def _chosen(device):
    """Return "cpu" or "gpu", after checking that its packages are installed."""
    missing = _missing("distributed") or _missing("dask.dataframe")
    if missing:
        raise GraphError(f"a cluster needs Dask, and {missing}; install rapidsgraph[dask]")
    chosen = devices.choose(device)
    if chosen == "gpu" and (missing := _missing("dask_cuda")):
        if device == "auto":
            return "cpu"
        raise GpuUnavailableError(
            f"device='gpu' was requested, but {missing}; install rapidsgraph[cu13] or "
            "rapidsgraph[cu12]"
        )
    return chosen


def _missing(name):
    """Why a module cannot be imported, or None."""
    try:
        importlib.import_module(name)
    except Exception as error:  # Dask-CUDA looks for drivers while it is imported
        return f"{name} cannot be imported ({error})"
    return None


def _of_processes(workers, limit):
    """Makes a LocalCluster whose kernels take all cores, each once."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    workers = max(1, CPU_COUNT // CORES) if workers is None else workers
    threads = max(1, CPU_COUNT // workers)

    def make(**options):
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            memory_limit="auto" if limit is None else limit,
            env={"NUMBA_NUM_THREADS": str(threads)},
            # A worker that pauses for want of memory may wait forever; one that ends is noticed.
            config={"distributed.worker.memory.pause": False},
            **options,
        )

    return make


def _of_gpus(workers, limit):
    """Makes a LocalCUDACluster of the first GPUs; nothing spills, since CuPy's arrays cannot."""
    from dask_cuda import LocalCUDACluster

    there = devices.import_cupy().cuda.runtime.getDeviceCount()
    if workers is not None and workers > there:
        raise GraphError(f"workers is {workers}; it can be up to {there}, the GPUs of this machine")
    workers = there if workers is None else workers
    limit = None if limit is None else _whole(limit)
    if limit == 0:
        raise GraphError("memory_limit must be 256 bytes or more on a GPU")
    free = _free_bytes(workers)
    if limit is None and free is not None and free < LEAST_ON_GPU:
        raise GraphError(
            f"of a GPU {free:,} bytes are free, which is too little for a worker; end what holds "
            "the rest (nvidia-smi lists it)"
        )
    if limit is not None and free is not None and limit > free:
        raise GraphError(
            f"memory_limit is {limit:,} bytes a GPU, and of one of them {free:,} are free; give "
            "less, or end what holds the rest (nvidia-smi lists it)"
        )

    def make(**options):
        return LocalCUDACluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=None,
            device_memory_limit=None,
            rmm_pool_size=limit or (POOL if free is None else _whole(int(POOL * free))),
            rmm_maximum_pool_size=limit,
            rmm_allocator_external_lib_list=["cupy"],
            **options,
        )

    return make


def _whole(size):
    """A size as RMM takes it."""
    return size // 256 * 256


def _free_bytes(gpus):
    """Bytes that are free on the fullest of the first GPUs; None where the driver does not tell.

    NVML says so; CUDA would have this process hold a context on each of them.
    """
    try:
        import pynvml
        from dask_cuda import utils

        visible = utils.cuda_visible_devices(0)
        handles = [
            utils.get_gpu_handle(utils.nvml_device_index(place, visible)) for place in range(gpus)
        ]
        return min(pynvml.nvmlDeviceGetMemoryInfo(handle).free for handle in handles)
    except Exception:  # GPUs that share the machine's memory, and other releases of these two
        return None


def _close(local):
    """Close a cluster, also one that has lost count of its workers: then all is closed but that."""
    with suppress(KeyError):
        local.close()


def _abandon(before, running):
    """End what an interrupted start leaves; Dask would close it at exit, and fail at one so young.

    `before` and `running` are the clusters and processes that were there.
    """
    from distributed import SpecCluster

    for local in set(SpecCluster._instances) - before:
        SpecCluster._instances.discard(local)
        # What it still has to say is that its processes, which end below, did not start.
        local.loop.asyncio_loop.set_exception_handler(lambda *_: None)
    for process in set(multiprocessing.active_children()) - set(running):
        if process.name.startswith(WORKER):
            process.terminate()


def _cause(error):
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def dask_setup(worker):
    """What Dask calls in a worker that starts.

    Ctrl-C reaches all processes of a terminal. The one that called ends the others.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _changed(before):
    """Names of what in the environment of this process is not as it was."""
    now = dict(os.environ)
    return {name for name in {*before, *now} if before.get(name) != now.get(name)}


def _put_back(before, names):
    """Undo what Dask and Dask-CUDA put into the environment of this process for their workers."""
    for name in names:
        if name in before:
            os.environ[name] = before[name]
        else:
            os.environ.pop(name, None)


@contextmanager
def _workers_without_main():
    """Have new worker processes not import the script that runs here, while clusters are open.

    They need nothing of it, since Dask sends its functions by value, and one without an
    `if __name__ == "__main__"` would start clusters again.
    """
    global _open, _with_main  # noqa: PLW0603 - the patch of spawn is process-wide, too
    with _one_at_a_time:
        if not _open:
            _with_main = spawn.get_preparation_data
            spawn.get_preparation_data = _without_main
        _open += 1
    try:
        yield
    finally:
        with _one_at_a_time:
            _open -= 1
            if not _open:
                setattr(spawn, "get_preparation_data", _with_main)  # noqa: B010


def _without_main(name):
    data = _with_main(name)
    if name.startswith(WORKER):
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main and hasattr(signal, "pthread_sigmask"):  # not on Windows
            # The process takes this over, and Ctrl-C finds it before `dask_setup` can be called.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for entry in ("init_main_from_name", "init_main_from_path"):
            data.pop(entry, None)
    return data
