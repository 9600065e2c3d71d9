"""Run one function on all ranks of a Dask cluster at the same time (SPMD).

A call is one task per rank, each on its own worker and with the partition of that rank, as in cuML,
cuGraph and XGBoost. The tasks synchronize in the collectives of a communicator, which stays on the
workers between calls. Each task leaves the worker's thread pool when it starts, so that the tasks
of several calls never wait for each other's threads; a communicator serves one call at a time.

If a worker is lost, the other ranks fail within the timeouts of the communicator, and the call
starts again on the workers that are left: Dask computes the partitions again that were lost.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..progress import Report
from . import spmd_worker
from .communicator import RankLostError
from .monitor import cancel, check_open, get_events_topic, get_monitor

if TYPE_CHECKING:
    from .executor import DaskExecutor

MAX_ATTEMPTS = 4  # of a call whose workers are lost
ERROR_GRACE = 5.0  # seconds for all ranks to fail after the first one has
POLL_INTERVAL = 0.1  # seconds between polls of the progress and of the communicator
INFO_TIMEOUT = 30  # seconds for infos to arrive after their tasks have finished
CHECK_INTERVAL = 1.0  # seconds between checks that all workers exist
MAX_IDLE_GROUPS = 4  # of a client; each has a socket per pair of ranks, and memory of GPUs

_groups_lock = threading.Lock()
_calls: weakref.WeakValueDictionary[str, _Call] = weakref.WeakValueDictionary()


class Group:
    """A communicator on the workers of a cluster, as the client sees it.

    Attributes
    ----------
    workers : tuple of str
        The address of each rank's worker.
    on_gpu : bool
        Whether ranks may use NCCL.
    futures : list of Future
        Of each rank's communicator.
    call_numbers : iterator of int
        The number of each call; see `Communicator.serve`.
    """

    def __init__(self, executor: DaskExecutor, workers: Sequence[str], on_gpu: bool) -> None:
        self.workers, self.on_gpu = tuple(workers), on_gpu
        self.name, secret = uuid.uuid4().hex, uuid.uuid4().bytes
        self.call_numbers = itertools.count(1)
        self.futures: list[Any] = []
        self._client, size = executor.client, len(self.workers)
        listeners: list[Any] = []
        try:
            listeners += executor.submit_pinned(
                self.workers, spmd_worker.listen, [[on_gpu]] * size, name="listen"
            )
            own = [[self.name, rank, secret, *listeners] for rank in range(size)]
            self.futures += executor.submit_pinned(
                self.workers, spmd_worker.join_group, own, name="communicator"
            )
            _wait(executor, self.futures, self.workers)
        except BaseException:
            self.close()
            raise
        finally:
            for future in listeners:  # a traceback would keep them, and open sockets with them
                future.release()

    @property
    def is_alive(self) -> bool:
        """Whether no worker of the group is known to be lost."""
        return all(future.status == "finished" for future in self.futures)

    def close(self) -> None:
        """Close the communicator on all workers, so that no rank waits for another."""
        for future in self.futures:
            future.release()
        self.futures = []

        async def close_on_workers() -> None:
            with suppress(Exception):
                call = self._client._run(
                    spmd_worker.close_group, self.name,
                    workers=sorted(set(self.workers)), on_error="ignore",
                )  # fmt: skip
                await asyncio.wait_for(call, ERROR_GRACE)

        with suppress(Exception):  # the client is closed, and with it the futures
            self._client.loop.add_callback(close_on_workers)


def run(
    executor: DaskExecutor,
    function: Callable[..., tuple[Any, Any]],
    arguments: Sequence[Sequence[Any]],
    *,
    name: str,
    on_gpu: bool,
    report: Report | None = None,
) -> tuple[list, list]:
    """Run ``function(communicator, report, *arguments[rank])`` on every rank.

    Parameters
    ----------
    executor : DaskExecutor
    function : callable
        Returns (result, info). Results stay on their workers; infos are small and are returned.
    arguments : list of list
        Arguments of each rank, among them futures.
    name : str
        Prefix of the keys of tasks.
    on_gpu : bool
    report : callable, optional
        ``report(step, text)`` is called for some of the reports of rank 0.

    Returns
    -------
    results : list of future
    infos : list
    """
    size = len(arguments)
    for attempt in range(MAX_ATTEMPTS):
        workers = executor.workers
        if attempt:
            workers = executor.refresh_workers()
        addresses = [workers[rank % len(workers)] for rank in range(size)]
        try:
            return _run_once(executor, function, arguments, addresses, name, on_gpu, report)
        except RankLostError:
            # Arguments that are results of an earlier call are not computed again.
            if attempt == MAX_ATTEMPTS - 1 or not executor.are_valid(list(arguments)):
                raise
    raise AssertionError("unreachable")


def _run_once(
    executor: DaskExecutor,
    function: Callable[..., tuple[Any, Any]],
    arguments: Sequence[Sequence[Any]],
    addresses: Sequence[str],
    name: str,
    on_gpu: bool,
    report: Report | None,
) -> tuple[list, list]:
    group = _acquire(executor, addresses, on_gpu) if len(addresses) > 1 else None
    number = 1 if group is None else next(group.call_numbers)
    call = _Call(executor.client, report)
    try:
        own = [
            [function, (group and group.name, rank), number, call.key, *each]
            for rank, each in enumerate(arguments)
        ]
        tasks = executor.submit_pinned(addresses, spmd_worker.run_rank, own, name=name)
        _wait(executor, tasks, addresses, group.futures if group is not None else (), call)
    except BaseException:
        if group is not None:
            group.close()
        raise
    finally:
        _calls.pop(call.call_id, None)
    if group is not None:
        _release(executor, group)
    return tasks, [call.infos[rank] for rank in range(len(tasks))]


def _idle_groups(client: Any) -> list[Group]:
    """Return the groups that serve no call; the last one served last.

    The client itself has the list: groups refer to it, so a table of clients would never lose one.
    """
    return client.extensions.setdefault("rapidsgraph", [])


def _acquire(executor: DaskExecutor, workers: Sequence[str], on_gpu: bool) -> Group:
    """Return an idle group on these workers, or a new one."""
    groups = _idle_groups(executor.client)
    with _groups_lock:
        for group in groups[::-1]:
            if not group.is_alive:
                groups.remove(group)
                group.close()
            elif (group.workers, group.on_gpu) == (tuple(workers), on_gpu):
                groups.remove(group)
                return group
    return Group(executor, workers, on_gpu)


def _release(executor: DaskExecutor, group: Group) -> None:
    groups = _idle_groups(executor.client)
    with _groups_lock:
        groups.append(group)
        while len(groups) > MAX_IDLE_GROUPS:
            groups.pop(0).close()


class _Call:
    """A call as the client sees it: what its ranks have sent as events of Dask.

    Events travel on the same connections as the news that a task is finished, and before it.
    """

    def __init__(self, client: Any, report: Report | None) -> None:
        topic, self.call_id = get_events_topic(client.id), uuid.uuid4().hex
        self.key = topic, self.call_id, report is not None
        self.infos: dict[int, Any] = {}  # by rank
        self.is_answered = asyncio.Event()  # in the client's event loop: an event has arrived
        self.progress: tuple[int, str] | None = None  # not reported yet
        self.report = report
        _calls[self.call_id] = self
        if topic not in client._event_handlers:
            client.subscribe_topic(topic, _handle_event)

    def report_progress(self) -> None:
        """Call the callback with the last progress, if there is any."""
        if self.progress is not None and self.report is not None:
            progress, self.progress = self.progress, None
            self.report(*progress)


def _handle_event(event: tuple[float, tuple]) -> None:
    call_id, kind, *values = event[1]
    call = _calls.get(call_id)
    if call is None:
        return
    if kind == "progress":
        call.progress = tuple(values)
    else:
        call.infos[values[0]] = pickle.loads(values[1])
    call.is_answered.set()


def _wait(
    executor: DaskExecutor,
    futures: list,
    addresses: Sequence[str],
    communicators: Sequence[Any] = (),
    call: _Call | None = None,
) -> None:
    """Wait until all futures are finished, or all ranks of a call have sent their infos.

    A rank sends its info when its function has returned. That its task is finished becomes known
    some milliseconds later, because Dask collects messages.

    Raises
    ------
    RankLostError
        A worker was lost: one of `addresses` or `communicators` is gone, or ranks have failed for
        no other reason.
    Exception
        The error of a rank.
    """
    failed_at, checked_at = None, time.monotonic()

    def is_complete() -> bool:
        return call is not None and len(call.infos) == len(futures)

    async def wait_for_news() -> None:
        waiting = [asyncio.ensure_future(_wait_for_futures(futures))]
        if call is not None:
            call.is_answered.clear()
            waiting.append(asyncio.ensure_future(call.is_answered.wait()))
        first_completed = asyncio.FIRST_COMPLETED
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=POLL_INTERVAL, return_when=first_completed
            )
            for task in done:
                task.result()
        finally:  # also where an interrupted call is cancelled
            for task in waiting:
                cancel(task)

    async def wait() -> bool:
        """Return True when the call is over, False when there is progress to report."""
        nonlocal failed_at, checked_at
        while True:
            with suppress(FuturesCancelledError):
                await wait_for_news()
            if call is not None and call.progress is not None:
                return False
            if is_complete():
                return True
            if all(future.status == "finished" for future in futures):
                deadline = time.monotonic() + INFO_TIMEOUT
                while call is not None and not is_complete():
                    if time.monotonic() > deadline:
                        raise RankLostError("the scheduler did not forward the answer of a rank")
                    await asyncio.sleep(0.001)
                return True
            errors = [future._state.exception for future in futures if future.status == "error"]
            if any(not isinstance(error, RankLostError) for error in errors):
                return True  # `gather` raises it
            if errors and failed_at is None:
                failed_at = time.monotonic()
            is_over = all(future.status != "pending" for future in futures)
            if failed_at is not None and (is_over or time.monotonic() - failed_at > ERROR_GRACE):
                raise RankLostError(str(errors[0]))
            is_lost = any(future.status != "finished" for future in communicators)
            if time.monotonic() - checked_at > CHECK_INTERVAL:
                workers = await get_monitor(executor.client).ask("ncores")
                is_lost |= not workers.keys() >= set(addresses)
                checked_at = time.monotonic()
            if is_lost:
                raise RankLostError("a worker of the call is lost")
            if any(future.status in ("cancelled", "lost") for future in futures):
                return True  # `gather` explains it

    from distributed.client import FuturesCancelledError
    from distributed.client import _wait as _wait_for_futures

    check_open(executor.client)
    while not executor.supervise(wait):
        assert call is not None
        call.report_progress()  # in the thread of the caller, whose callback may use the client
    if is_complete():
        check_open(executor.client)  # the callback may have closed it
        return
    failed = [future for future in futures if future.status != "finished"]
    if failed:
        # Ranks that still compute, or that lost another rank, do not tell the cause.
        failed.sort(
            key=lambda future: (
                future.status == "pending", isinstance(future._state.exception, RankLostError),
            )
        )  # fmt: skip
        executor.gather(failed[:1])  # raises the error of a rank
