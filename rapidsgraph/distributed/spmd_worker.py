"""Tasks of SPMD calls on the workers of a Dask cluster; see `spmd`."""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .. import device
from . import nccl
from .communicator import LOST_RESULT, Communicator, LocalCommunicator, RankLostError
from .host import HostCommunicator, close_all, connect, open_listener
from .shared_memory import get_machine_id

REPORT_INTERVAL = 0.25  # seconds between two reports of progress
POLL_INTERVAL = 5e-4  # seconds between two polls of UCX while a rank runs
SWITCH_INTERVAL = 2e-5  # seconds that a thread may hold the interpreter while another one waits

R = TypeVar("R")

_communicators: weakref.WeakValueDictionary[tuple[str, int], Communicator] = (
    weakref.WeakValueDictionary()
)


class WorkerResource:
    """The result of a task that has sockets of its worker.

    Dask copies results to other workers, for example before a worker retires. A copy has the
    description only. The resource is released with the original, which Dask drops when the futures
    of the client are released or the client is gone.
    """

    def __init__(self, description: Any, resource: Any = None) -> None:
        self.description, self.resource = description, resource

    def __reduce__(self) -> tuple:
        return WorkerResource, (self.description,)


def listen(on_gpu: bool) -> WorkerResource:
    """Open the listeners of a rank, with the description that other ranks need to connect."""
    from distributed import get_worker

    host = urlsplit(get_worker().address).hostname
    if get_worker().address.startswith("inproc"):
        host = "127.0.0.1"
    gpu = nccl.find_gpu() if on_gpu and nccl.import_nccl() is not None else None
    listeners = [open_listener(host or "127.0.0.1") for _ in range(2 if on_gpu else 1)]
    addresses = [listener.getsockname()[:2] for listener in listeners]
    description = {"addresses": addresses, "gpu": gpu and (host, get_machine_id(), gpu)}
    result = WorkerResource(description, listeners)
    weakref.finalize(result, close_all, listeners)
    return result


def join_group(name: str, rank: int, secret: bytes, *members: WorkerResource) -> WorkerResource:
    """Create the communicator of a rank from the results of `listen` of all ranks."""
    from distributed import secede

    secede()  # several ranks may be on a worker with one thread
    listeners, ranks = members[rank].resource, [member.description for member in members]
    if listeners is None:
        raise RankLostError("the communicator was on a worker that is lost")
    connections = [
        connect(listener, rank, [description["addresses"][number] for description in ranks], secret)
        for number, listener in enumerate(listeners)
    ]
    host = HostCommunicator(rank, connections[0])
    gpus = [description["gpu"] for description in ranks]
    communicator: Communicator = host
    if None not in gpus and len(set(gpus)) == len(gpus):
        communicator = nccl.NcclCommunicator(host, connections[1], gpus)
    _communicators[name, rank] = communicator
    return WorkerResource(None, communicator)


def close_group(name: str) -> None:
    """Close the communicators of this process that belong to a group."""
    for (other, _), communicator in list(_communicators.items()):
        if other == name:
            communicator.close()


def run_rank(
    function: Callable[..., tuple[Any, Any]],
    member: tuple[str | None, int],
    number: int,
    on_gpu: bool,
    call: tuple[str, str, bool],
    *arguments: Any,
) -> Any:
    """Run one rank of a call, and send its info to the client.

    `member` is the name of the group, or None for a single rank, and the rank; `number` is that of
    the call in the group. With `on_gpu` results are complete when the call returns.
    """
    from distributed import get_worker, secede

    worker, (name, rank), (topic, call_id, is_reporting) = get_worker(), member, call
    communicator = LocalCommunicator() if name is None else _communicators.get((name, rank))
    if communicator is None:
        raise RankLostError(LOST_RESULT)
    last, unsent = -REPORT_INTERVAL, None

    def report(step: int, text: str) -> None:
        nonlocal last, unsent
        now, unsent = time.monotonic(), (step, text)
        if now - last >= REPORT_INTERVAL:
            last, unsent = now, None
            worker.log_event(topic, (call_id, "progress", step, text))

    secede()
    rank_report = report if is_reporting and rank == 0 else ignore_report
    with throttle_event_loop(worker), shorten_switch_interval(), communicator.serve(number):
        result, info = run_on_worker(function, communicator, rank_report, *arguments)
        if on_gpu:
            device.synchronize(device.import_cupy())
    if unsent is not None:
        worker.log_event(topic, (call_id, "progress", *unsent))
    worker.log_event(topic, (call_id, "info", rank, pickle.dumps(info)))
    return result


@contextmanager
def throttle_event_loop(worker: Any) -> Iterator[None]:
    """Make the event loop of a worker sleep between two polls while a rank runs.

    With UCX it polls without a pause, and holds the interpreter whenever the thread of a rank
    needs it. Other protocols wait for messages in the kernel.
    """
    if urlsplit(worker.address).scheme != "ucx":
        yield
        return
    is_running = True

    async def sleep() -> None:
        while is_running:
            time.sleep(POLL_INTERVAL)
            await asyncio.sleep(0)

    worker.loop.add_callback(sleep)
    try:
        yield
    finally:
        is_running = False


_switch_lock = threading.Lock()
_num_active_ranks, _default_interval = 0, 0.0


@contextmanager
def shorten_switch_interval() -> Iterator[None]:
    """Shorten the thread switch interval of the interpreter, for fast collectives.

    Whenever a rank has waited for a message or for the GPU, it would otherwise wait for other
    threads of a busy worker for Python's default of 5 ms.
    """
    global _num_active_ranks, _default_interval  # noqa: PLW0603
    with _switch_lock:  # several ranks may share a process
        if not _num_active_ranks:
            _default_interval = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_INTERVAL, _default_interval))
        _num_active_ranks += 1
    try:
        yield
    finally:
        with _switch_lock:
            _num_active_ranks -= 1
            if not _num_active_ranks:
                sys.setswitchinterval(_default_interval)


def ignore_report(step: int, text: str) -> None:
    """Report nothing."""


def run_on_worker(function: Callable[..., R], *arguments: Any) -> R:
    """Call a function on a worker; its kernels use as many threads as the worker has."""
    import numba
    from distributed.worker import Worker

    # Workers may share a process, where one kernel runs at a time.
    num_threads = sum(worker.state.nthreads for worker in Worker._instances)
    max_threads = vars(numba.config)["NUMBA_NUM_THREADS"]
    numba.set_num_threads(max(1, min(num_threads, max_threads)))
    return function(*arguments)
