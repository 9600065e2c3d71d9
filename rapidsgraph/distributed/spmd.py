"""Run one function on all ranks of a Dask cluster at the same time (SPMD).

A call is one task per rank, each on its own worker and with the partition of that rank, as in cuML,
cuGraph and XGBoost. The tasks synchronize in the collectives of a communicator, which stays on the
workers between calls. Each task leaves the worker's thread pool when it starts, so that the tasks
of several calls never wait for each other's threads; a communicator serves one call at a time.

A call returns when all ranks have sent what the client needs of their results; see `spmd_call`. If
a worker is lost, the other ranks fail within the timeouts of the communicator, and the call starts
again on the workers that are left: Dask computes the partitions again that were lost.
"""

from __future__ import annotations

import asyncio
import itertools
import pickle
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import ClusterError, SchedulerLostError, WorkerLostError
from ..progress import Report
from . import spmd_worker
from .communicator import RankLostError
from .spmd_call import ERROR_GRACE, Call

if TYPE_CHECKING:
    from .executor import DaskExecutor

MAX_ATTEMPTS = 4  # of a call whose workers are lost
LARGE_BYTES = 2**20  # of an argument, which Dask would send as a part of the graph of tasks
MAX_IDLE_GROUPS = 4  # of a client; each has a socket per pair of ranks, and memory of GPUs

_groups_lock = threading.Lock()


class Group:
    """The client's handle of a communicator on the workers of a cluster.

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
            rank_arguments = [[self.name, rank, secret, *listeners] for rank in range(size)]
            self.futures += executor.submit_pinned(
                self.workers, spmd_worker.join_group, rank_arguments, name="communicator"
            )
            Call(executor).wait(self.futures, self.workers, sends_infos=False)
        except BaseException:
            self.close()
            raise
        finally:
            for future in listeners:  # a traceback would keep them, and open sockets with them
                future.release()

    @property
    def is_alive(self) -> bool:
        """Whether no worker of the group is known to be lost."""
        return _are_finished(self.futures)

    def close(self) -> None:
        """Close the communicator on all workers, so that no rank waits for another."""
        for future in self.futures:
            future.release()
        self.futures = []

        async def close_on_workers() -> None:
            with suppress(Exception):
                call = self._client.run(
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
        Arguments of each rank, among them futures. Large ones are scattered in every attempt, since
        Dask cannot compute them again if their worker is lost.
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
    scattered, sent = _scatter_large(executor, addresses, arguments)
    group = _acquire(executor, addresses, on_gpu) if len(addresses) > 1 else None
    number = 1 if group is None else next(group.call_numbers)
    call = Call(executor, report)
    try:
        rank_arguments = [
            [function, (group and group.name, rank), number, on_gpu, call.key, *values]
            for rank, values in enumerate(sent)
        ]
        tasks = executor.submit_pinned(addresses, spmd_worker.run_rank, rank_arguments, name=name)
        call.wait(tasks, addresses, group.futures if group is not None else ())
    except BaseException as error:
        if group is not None:
            group.close()
        has_cluster = not isinstance(error, (SchedulerLostError, WorkerLostError))
        if isinstance(error, ClusterError) and has_cluster and not _are_finished(scattered):
            # Dask has cancelled the tasks that need them.
            raise RankLostError("arguments of the call were on a worker that is lost") from error
        raise
    finally:
        call.close()
    if group is not None:
        _release(executor, group)
    return tasks, [pickle.loads(call.infos[rank]) for rank in range(len(tasks))]


def _scatter_large(
    executor: DaskExecutor, addresses: Sequence[str], arguments: Sequence[Sequence[Any]]
) -> tuple[list, list[list]]:
    """Scatter the large arguments of each rank to its worker.

    Returns
    -------
    scattered : list of future
    sent : list of list
        The arguments, with these futures in place of the large ones.
    """
    from dask.sizeof import sizeof

    scattered: list[Any] = []
    sent = [list(values) for values in arguments]
    for address, values in zip(addresses, sent, strict=True):
        for index, value in enumerate(values):
            if sizeof(value) > LARGE_BYTES and not _has_future(value):
                future = executor.scatter(value, address)
                if future is not None:
                    values[index] = future
                    scattered.append(future)
    return scattered, sent


def _are_finished(futures: Sequence[Any]) -> bool:
    return all(future.status == "finished" for future in futures)


def _has_future(argument: Any) -> bool:
    from distributed import Future

    return isinstance(argument, Future) or (
        isinstance(argument, (list, tuple)) and any(map(_has_future, argument))
    )


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
