"""Start a local Dask cluster that is configured for rapidsgraph: `rg.cluster`.

A CPU worker is a process whose kernels use as many threads as it has cores, since a process runs
one parallel kernel at a time. A GPU worker is a process with one GPU and one RMM pool for cuDF and
CuPy.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import forkserver, spawn
from typing import Any

from .. import device as devices
from ..device import Device
from ..errors import GpuUnavailableError, GraphError
from ..validation import check_count, parse_bytes, suggest_parameters
from . import monitor

CORES_PER_WORKER = 8  # more workers with fewer cores would exchange more messages
# Initial size of a GPU worker's pool as a fraction of the free memory; the pool grows. Up to 16
# clusters that start at the same moment and see the same free memory fit.
INITIAL_POOL_FRACTION = 1 / 16
MIN_CPU_MEMORY = 300 * 10**6  # bytes of a worker process
MIN_GPU_MEMORY = 2**30  # bytes; the CUDA context takes half of it
RMM_ALIGNMENT = 256  # bytes; pool sizes must be multiples
DASK_SETTINGS = {  # while any cluster is open
    # After this time Dask gives up a worker that has not restarted. Its check is unreliable if
    # several workers die at the same moment or while they start.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Supersteps allocate and free arrays over all vertices. With Dask's default thresholds every
    # allocation would be mapped anew, and its page faults take time.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": str(2**28),
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": str(2**28),
}
WORKER_PREFIX = "Dask Worker process"  # of the names of worker processes

_start_lock = threading.Lock()  # held while the settings of one cluster are those of the process
_settings_lock = threading.Lock()
_num_open_clusters = 0
_dask_settings: Any = None  # the context in which DASK_SETTINGS are set
_original_preparation_data: Callable[[str], dict[str, Any]] = spawn.get_preparation_data


@suggest_parameters
@contextmanager
def cluster(
    device: Device = "auto",
    workers: int | None = None,
    memory_limit: int | str | None = None,
    *,
    protocol: str | None = None,
    timeout: float | str | None = None,
) -> Iterator[Any]:
    """Start a local Dask cluster and connect a client, as a context manager.

    Within the block, every call on a Dask frame runs on this cluster. Leaving it closes both.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        "gpu" starts one worker process per GPU and needs Dask-CUDA. "auto" uses GPUs if they and
        Dask-CUDA are available.
    workers : int, optional
        Number of worker processes. By default one per GPU, or one per 8 CPU cores. CPU workers
        divide the cores among them: threads of one process are cheaper than messages between
        processes.
    memory_limit : int or str, optional
        Limit for each worker, in bytes or as a string such as "4GB". On a GPU this is the maximum
        size of the memory pool, which is reserved at the start; nothing is spilled. By default the
        pool starts with a sixteenth of the free memory and grows. On a CPU, Dask spills results to
        disk at 60 % of the limit and restarts the worker at 95 %; by default the workers divide the
        memory of the machine among them.
    protocol : str, optional
        Protocol between workers. By default "ucx", which uses NVLink, between GPUs if
        distributed-ucxx is installed, and "tcp" otherwise.
    timeout : number or str, optional
        How long a worker or the scheduler may be unresponsive, in seconds or as a string such
        as "30 s". By default the dask.config value ``rapidsgraph.timeout``, or 60 s. A worker that
        is unresponsive for longer is restarted, and its tasks run again. The duration of a
        computation is not limited.

    Yields
    ------
    distributed.Client
        The active client. `client.cluster` is the cluster.

    Raises
    ------
    GpuUnavailableError
        If ``device="gpu"`` and no GPU or no Dask-CUDA is available; the message says what to
        install.
    GraphError
        If Dask is not installed, a parameter is invalid, a GPU has less free memory than
        `memory_limit`, or the workers do not start.

    Notes
    -----
    Results are stored on the workers: call ``.compute()`` on them, or write them, within the block.
    In a notebook, where cells share a cluster, ``stack = contextlib.ExitStack()`` and ``client =
    stack.enter_context(rg.cluster())`` open it, and ``stack.close()`` closes it.

    Workers do not import the calling script, so it needs no ``if __name__ == "__main__"``.
    `client.dashboard_link` is the address of the dashboard, if Bokeh is installed. Logs of Dask
    below level "critical" are disabled while the cluster is open; errors are raised where results
    are used.

    Examples
    --------
    >>> import dask.dataframe, pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 0, 0]})
    >>> with rg.cluster("cpu", workers=1):  # doctest: +SKIP
    ...     result = rg.pagerank(dask.dataframe.from_pandas(edges, npartitions=2)).compute()
    """
    use_gpu = _choose_device(device) == "gpu"
    if workers is not None:
        check_count("workers", workers)
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    seconds = monitor.get_timeout() if timeout is None else monitor.check_timeout(timeout)
    settings = {  # that the scheduler and the workers read when they start
        monitor.TIMEOUT: seconds,
        # Tasks without a worker fail after this time; by default they would wait forever.
        "distributed.scheduler.no-workers-timeout": seconds,
    }
    create = _gpu_cluster(workers, limit) if use_gpu else _cpu_cluster(workers, limit)
    from dask import config
    from distributed import Client, SpecCluster

    with ExitStack() as stack:
        environment = dict(os.environ)
        changed_names: set[str] = set()
        stack.callback(_restore_environment, environment, changed_names)
        stack.enter_context(_process_settings())
        clusters, processes = set(SpecCluster._instances), multiprocessing.active_children()
        try:
            with _start_lock, config.set(settings):
                _start_fork_server()
                local_cluster = create(
                    protocol=_choose_protocol(protocol, use_gpu),
                    dashboard_address="127.0.0.1:0",  # any free port: several clusters may be open
                    silence_logs=logging.CRITICAL,
                    preload=[__name__],
                )
        except Exception as error:  # the error of a worker is at the end of the chain
            raise GraphError(
                f"the cluster did not start: {_root_cause(error)}",
                hint="check workers, memory_limit and protocol",
            ) from error
        except KeyboardInterrupt:
            _abort_start(clusters, processes)
            raise
        finally:
            names = {*environment, *os.environ}
            changed_names |= {n for n in names if environment.get(n) != os.environ.get(n)}
        stack.callback(_close, local_cluster)
        client = stack.enter_context(Client(local_cluster, timeout=seconds))
        if timeout is not None:
            monitor.get_monitor(client).time_limit = seconds
        stack.enter_context(monitor.watching(client))
        yield client


def _choose_device(device: Device) -> str:
    """Return "cpu" or "gpu", after checking that its packages are installed."""
    problem = _import_problem("distributed") or _import_problem("dask.dataframe")
    if problem:
        raise GraphError(
            f"a cluster needs Dask, but {problem}; install rapidsgraph[dask]",
            hint="install rapidsgraph[dask]",
        )
    chosen = devices.choose(device)
    if chosen == "gpu" and (problem := _import_problem("dask_cuda")):
        if device == "auto":
            return "cpu"
        raise GpuUnavailableError(
            f"device='gpu' was requested, but {problem}; install rapidsgraph[cu13] or "
            "rapidsgraph[cu12]",
            parameter="device",
            value=device,
            hint="install rapidsgraph[cu13] or rapidsgraph[cu12]",
        )
    return chosen


def _choose_protocol(protocol: str | None, use_gpu: bool) -> str | None:
    """Return "ucx" for GPUs if its packages are installed, unless the caller passed a protocol."""
    if protocol is None and use_gpu and not _import_problem("distributed_ucxx"):
        protocol = "ucx"
    if protocol == "ucx":
        # UCX prints a warning on standard output about a variable that Dask-CUDA sets.
        os.environ.setdefault("UCX_WARN_UNUSED_ENV_VARS", "n")
    return protocol


def _import_problem(module: str) -> str | None:
    """Return the reason why a module cannot be imported, or None."""
    try:
        importlib.import_module(module)
    except Exception as error:  # importing Dask-CUDA queries the drivers
        return f"{module} cannot be imported ({error})"
    return None


def _cpu_cluster(workers: int | None, limit: int | None) -> Callable[..., Any]:
    """Return a function that starts a LocalCluster whose workers divide the cores among them."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    if limit is not None and limit < MIN_CPU_MEMORY:
        raise GraphError(
            f"memory_limit is {limit:,} bytes; an idle worker takes about 200 MB, so it must be at "
            f"least {MIN_CPU_MEMORY // 10**6} MB",
            parameter="memory_limit",
            value=limit,
        )
    workers = max(1, CPU_COUNT // CORES_PER_WORKER) if workers is None else workers
    threads = max(1, CPU_COUNT // workers)
    return functools.partial(
        LocalCluster,
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        memory_limit="auto" if limit is None else limit,
        env={"NUMBA_NUM_THREADS": str(threads)},
        # A worker that is paused for lack of memory may wait forever; one that ends is noticed.
        config={"distributed.worker.memory.pause": False},
    )


def _gpu_cluster(workers: int | None, limit: int | None) -> Callable[..., Any]:
    """Return a function that starts a LocalCUDACluster on the first GPUs.

    Spilling is off, since it does not apply to CuPy arrays.
    """
    from dask_cuda import LocalCUDACluster

    num_gpus = devices.import_cupy().cuda.runtime.getDeviceCount()
    if workers is not None and workers > num_gpus:
        raise GraphError(
            f"workers is {workers}; it can be up to {num_gpus}, the number of GPUs",
            parameter="workers",
            value=workers,
        )
    workers = num_gpus if workers is None else workers
    limit = None if limit is None else _align(limit)
    if limit == 0:
        raise GraphError(
            f"memory_limit must be {RMM_ALIGNMENT} bytes or more on a GPU",
            parameter="memory_limit",
            value=limit,
        )
    free = _free_bytes(workers)
    hint = "end other processes on the GPU (nvidia-smi lists them)"
    if limit is None and free is not None and free < MIN_GPU_MEMORY:
        raise GraphError(
            f"a GPU has {free:,} bytes of free memory, but a worker needs {MIN_GPU_MEMORY:,}; "
            f"{hint}",
            hint=hint,
        )
    if limit is not None and free is not None and limit > free:
        raise GraphError(
            f"memory_limit is {limit:,} bytes per GPU, but a GPU has only {free:,} bytes of free "
            f"memory; reduce the limit, or {hint}",
            parameter="memory_limit",
            value=limit,
            hint=f"reduce the limit, or {hint}",
        )
    initial = INITIAL_POOL_FRACTION if free is None else _align(int(INITIAL_POOL_FRACTION * free))
    return functools.partial(
        LocalCUDACluster,
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=None,
        device_memory_limit=None,
        rmm_pool_size=limit or initial,
        rmm_maximum_pool_size=limit,
        rmm_allocator_external_lib_list=["cupy"],
    )


def _align(num_bytes: int) -> int:
    """Round a size down to a multiple of `RMM_ALIGNMENT`."""
    return num_bytes // RMM_ALIGNMENT * RMM_ALIGNMENT


def _free_bytes(num_gpus: int) -> int | None:
    """Return the smallest free memory of the first GPUs in bytes; None if it is not known.

    NVML is used because CUDA would create a context of this process on each GPU.
    """
    try:
        import pynvml
        from dask_cuda import utils

        visible = utils.cuda_visible_devices(0)
        handles = [
            utils.get_gpu_handle(utils.nvml_device_index(index, visible))
            for index in range(num_gpus)
        ]
        return min(pynvml.nvmlDeviceGetMemoryInfo(handle).free for handle in handles)
    except Exception:  # GPUs that share the memory of the host, or other versions of the packages
        return None


def _close(local_cluster: Any) -> None:
    with suppress(KeyError):  # raised last, by a cluster that has lost track of its workers
        local_cluster.close()


def _abort_start(clusters: set, processes: list) -> None:
    """Discard the clusters and worker processes of an interrupted start, all but the given ones.

    Dask would close them at exit, which fails for a cluster that has not started completely. At
    exit only the thread of its event loop is stopped. Otherwise the interpreter could end that
    thread after it has unlinked a semaphore of a worker process and before it tells the resource
    tracker, which would print a warning.
    """
    from distributed import SpecCluster

    for local_cluster in set(SpecCluster._instances) - clusters:
        SpecCluster._instances.discard(local_cluster)
        runner = getattr(local_cluster, "_loop_runner", None)
        if runner is not None and runner.is_started():
            # Its only further errors are about the processes that are terminated below.
            runner.loop.asyncio_loop.set_exception_handler(lambda *_: None)
            atexit.register(runner.stop)
    for process in set(multiprocessing.active_children()) - set(processes):
        if process.name.startswith(WORKER_PREFIX):
            process.terminate()


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def dask_setup(worker: Any) -> None:
    """Ignore SIGINT in a worker; Dask calls this when the worker starts.

    Ctrl-C reaches all processes of a terminal; the calling process ends the workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _restore_environment(environment: dict[str, str], names: set[str]) -> None:
    """Reset the variables that Dask and Dask-CUDA set in this process for their workers."""
    for name in names:
        if name in environment:
            os.environ[name] = environment[name]
        else:
            os.environ.pop(name, None)


@contextmanager
def _process_settings() -> Iterator[None]:
    """Change settings of the process while clusters are open, from the first one to the last.

    New worker processes must not import the main script: Dask sends functions by value, so workers
    do not need it, and a script without an `if __name__ == "__main__"` would start clusters again.
    """
    global _num_open_clusters, _original_preparation_data, _dask_settings  # noqa: PLW0603 - these are process-wide, too
    from dask import config

    with _settings_lock:
        if not _num_open_clusters:
            _original_preparation_data = spawn.get_preparation_data
            spawn.get_preparation_data = _preparation_data_without_main
            _dask_settings = config.set(DASK_SETTINGS)
        _num_open_clusters += 1
    try:
        yield
    finally:
        with _settings_lock:
            _num_open_clusters -= 1
            if not _num_open_clusters:
                setattr(spawn, "get_preparation_data", _original_preparation_data)  # noqa: B010
                _dask_settings.__exit__(None, None, None)


def _start_fork_server() -> None:
    """Start the process that Dask may be configured to fork workers from, unless it runs.

    Started with the first worker, it would inherit the blocked SIGINT and pass that on to all
    processes that the caller forks from it.
    """
    from distributed.utils import get_mp_context

    if get_mp_context().get_start_method() == "forkserver":
        forkserver.ensure_running()


def _preparation_data_without_main(name: str) -> dict[str, Any]:
    data = _original_preparation_data(name)
    if name.startswith(WORKER_PREFIX):
        in_main_thread = threading.current_thread() is threading.main_thread()
        if not in_main_thread and hasattr(signal, "pthread_sigmask"):  # not on Windows
            # The new process inherits the mask, so that Ctrl-C cannot end it before `dask_setup`.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for entry in ("init_main_from_name", "init_main_from_path"):
            data.pop(entry, None)
    return data
