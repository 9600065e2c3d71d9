"""Executors: run tasks on the workers of the active Dask client, or in this process without one.

`submit` returns a task at once, which other tasks take as an argument; `gather` waits for results.
`run_spmd` runs one task per worker at the same time. On a cluster a task is a future, and its
result stays on the worker that computed it until another task needs it.

Task functions are module-level functions that do not modify their arguments: the results of a lost
worker are computed again from the same arguments. The same functions run on both executors, as in
flox (https://flox.readthedocs.io).
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from ..errors import ClusterError, SchedulerLostError, WorkerLostError
from ..frames import Frame
from ..progress import Report
from . import monitor, spmd
from .local_ranks import run_ranks
from .monitor import check_open, get_address
from .spmd_worker import run_on_worker

WORKER_POLL_SECONDS = 0.2  # between two polls of the scheduler for a worker

P = ParamSpec("P")
R = TypeVar("R")

_clients_with_plugin: weakref.WeakSet = weakref.WeakSet()
_num_local_ranks: ContextVar[int | None] = ContextVar("num_local_ranks", default=None)
_call = threading.local()  # .futures: of the current call of this thread, as weak references


def get_executor(client: Any = None) -> Executor:
    """Return the executor of a client, of the active client, or of this process without one."""
    num_ranks = _num_local_ranks.get()
    if client is None and num_ranks is not None:
        return LocalExecutor(num_ranks)
    client = client or get_active_client()
    return LocalExecutor() if client is None else DaskExecutor(client)


@contextmanager
def local_ranks(count: int) -> Iterator[None]:
    """Give Dask frames within the context graphs of `count` partitions in this process."""
    token = _num_local_ranks.set(count)
    try:
        yield
    finally:
        _num_local_ranks.reset(token)


def get_active_client() -> Any:
    """Return the active Dask client, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client, secede
    from distributed.threadpoolexecutor import thread_state

    try:
        client = get_client()
    except ValueError:
        return None
    if client.asynchronous:
        raise ClusterError(
            "the active Dask client is asynchronous, and calls of rapidsgraph wait for their "
            "results; call from another thread, such as by asyncio.to_thread, or use a client "
            "without asynchronous=True",
            parameter="client",
            hint="call by asyncio.to_thread, or use a client without asynchronous=True",
        )
    if getattr(thread_state, "proceed", False):  # in a task, whose thread our tasks may need
        secede()
    return client


def release_on_error(function: Callable[P, R]) -> Callable[P, R]:
    """Release all futures of a call if it fails; see `releasing_on_error`."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if _get_futures() is not None:  # an outer call is decorated, too
            return function(*args, **kwargs)
        with releasing_on_error():
            return function(*args, **kwargs)

    return wrapper


@contextmanager
def releasing_on_error() -> Iterator[None]:
    """Release all futures that this thread creates within the context if it fails.

    Dask keeps the exceptions of tasks, whose tracebacks refer to the frames of our calls, which
    refer to the futures. Without the release the memory of workers would stay in use, and a failed
    task would return its old error instead of running again. Futures of an inner context that
    succeeds stay if the outer one fails: other calls may use them already.
    """
    outer = _get_futures()
    _call.futures = []
    try:
        yield
    except BaseException:
        for reference in _call.futures:
            future = reference()
            if future is not None:
                future.release()
        raise
    finally:
        _call.futures = outer


def _get_futures() -> list[weakref.ref] | None:
    return getattr(_call, "futures", None)


def _track(future: Any) -> Any:
    """Return the future, and record it, to be released if the call fails."""
    futures = _get_futures()
    if futures is not None:
        futures.append(weakref.ref(future))
    return future


class _LocalTask:
    """The result of a task that ran when it was submitted."""

    def __init__(self, result: Any) -> None:
        self.result = result


class LocalExecutor:
    """Run each task in this thread when it is submitted.

    Parameters
    ----------
    num_ranks : int, default 1
        Several ranks are threads; see `run_ranks`.
    """

    client = None

    def __init__(self, num_ranks: int = 1) -> None:
        self.workers = (None,) * num_ranks

    def submit(self, function: Callable[..., Any], *arguments: Any, name: str) -> _LocalTask:
        """Run a task now; see `DaskExecutor.submit`."""
        return _LocalTask(function(*map(_resolve, arguments)))

    def run_spmd(
        self,
        function: Callable[..., tuple[Any, Any]],
        arguments: Sequence[Sequence[Any]],
        *,
        report: Report | None = None,
        **options: Any,
    ) -> tuple[list, list]:
        """Run all ranks in this process; see `spmd.run`."""
        rank_arguments = [_resolve(list(values)) for values in arguments]
        results, infos = zip(*run_ranks(function, rank_arguments, report), strict=True)
        return [*map(_LocalTask, results)], [*infos]

    def compute_partitions(self, collection: Frame) -> list[_LocalTask]:
        """Return a task for each partition of a Dask frame."""
        import dask

        return [_LocalTask(frame) for frame in dask.compute(*collection.to_delayed())]

    def locate(self, tasks: Sequence[Any]) -> list[int | None]:
        """Return None for each task: all workers are this process."""
        return [None] * len(tasks)

    def gather(self, tasks: Iterable[_LocalTask]) -> list:
        """Return the results of tasks."""
        return [task.result for task in tasks]

    def are_valid(self, tasks: Any) -> bool:
        """Return True: a task that fails raises when it is submitted."""
        return True

    def to_keys(self, tasks: Sequence[Any]) -> list:
        """Return the tasks themselves, which have been computed."""
        return list(tasks)

    def from_keys(self, keys: Sequence[Any]) -> list:
        """Return the keys themselves, which are tasks."""
        return list(keys)

    def to_dask(self, tasks: Sequence[_LocalTask], meta: Frame, divisions: tuple) -> Frame:
        """Return a Dask frame whose partitions are the results of tasks."""
        from dask import delayed
        from dask.dataframe import from_delayed

        partitions = [delayed(task.result) for task in tasks]
        return from_delayed(partitions, meta=meta, divisions=divisions, verify_meta=False)


def _resolve(argument: Any) -> Any:
    if isinstance(argument, _LocalTask):
        return argument.result
    return [_resolve(value) for value in argument] if isinstance(argument, list) else argument


class DaskExecutor:
    """Run tasks on the workers of a Dask client.

    Attributes
    ----------
    client : distributed.Client
    workers : tuple of str
        Addresses of the workers.
    """

    run_spmd = spmd.run

    def __init__(self, client: Any) -> None:
        self.client = client
        self.workers = tuple(sorted(monitor.ask_scheduler(client, "ncores"))) or (None,)
        if client not in _clients_with_plugin:
            self._register_plugin()
            _clients_with_plugin.add(client)

    def _register_plugin(self) -> None:
        from distributed.protocol.pickle import dumps

        plugin = monitor.create_scheduler_plugin()
        options = {"plugin": dumps(plugin), "name": plugin.name, "idempotent": True}
        try:
            monitor.ask_scheduler(self.client, "register_scheduler_plugin", **options)
        except ClusterError:
            raise
        except Exception:  # a scheduler that may not unpickle the plugin
            # Without it, tasks fail by Dask's no-workers-timeout when all workers are replaced.
            return

    def submit(self, function: Callable[..., Any], *arguments: Any, name: str) -> Any:
        """Return the future of a function call.

        Futures among `arguments`, or in lists among them, are replaced by their results. `name` is
        the prefix of the key.
        """
        check_open(self.client)
        key = f"{name}-{uuid.uuid4().hex}"
        return _track(self.client.submit(run_on_worker, function, *arguments, key=key))

    def submit_pinned(
        self,
        workers: Sequence[str],
        function: Callable[..., Any],
        arguments: Sequence[Sequence[Any]],
        *,
        name: str,
    ) -> list:
        """Return futures of ``function(*arguments[i])``, which only ``workers[i]`` may run.

        Another worker runs it only if that one is removed.
        """
        client = self.client
        check_open(client)

        async def submit() -> list:
            # Dask sends what is submitted in one turn of its event loop as one message, and waits
            # for 10 ms before it sends the next one.
            return [
                client.submit(
                    function, *rank_arguments, workers=[worker],
                    key=f"{monitor.PINNED_PREFIX}{name}-{uuid.uuid4().hex}",
                )
                for worker, rank_arguments in zip(workers, arguments, strict=True)
            ]  # fmt: skip

        return [_track(future) for future in client.sync(submit)]

    def scatter(self, value: Any, worker: str) -> Any:
        """Return the future of a value that is sent to a worker, or None if it cannot be sent."""
        check_open(self.client)
        options: Any = {"workers": [worker], "hash": False, "asynchronous": True}
        try:
            [future] = self.supervise(lambda: self.client.scatter([value], **options))
        except (KeyError, OSError):  # the worker is lost, or paused
            return None
        return _track(future)

    def refresh_workers(self) -> tuple[str, ...]:
        """Update `workers`, and return it.

        Raises
        ------
        WorkerLostError
            There is no worker for the time limit.
        """
        timeout = monitor.get_monitor(self.client).timeout
        deadline = time.monotonic() + timeout
        while not (workers := monitor.ask_scheduler(self.client, "ncores")):
            if time.monotonic() > deadline:
                raise WorkerLostError(None, timeout)
            time.sleep(WORKER_POLL_SECONDS)
        self.workers = tuple(sorted(workers))
        return self.workers

    def compute_partitions(self, collection: Frame) -> list:
        """Return a future for each partition of a Dask frame."""
        futures = self.client.compute(collection.to_delayed())
        return [_track(future) for future in futures]

    def locate(self, tasks: Sequence[Any]) -> list[int | None]:
        """Wait for tasks, and return the index of a worker that has each result, if any has."""
        self._complete(tasks, fetch=False)
        holders = monitor.ask_scheduler(self.client, "who_has", keys=[task.key for task in tasks])
        indices = {address: index for index, address in enumerate(self.workers)}
        return [
            next(
                (indices[worker] for worker in holders.get(task.key, ()) if worker in indices), None
            )
            for task in tasks
        ]

    def gather(self, tasks: Iterable[Any]) -> list:
        """Return the results of tasks.

        Raises
        ------
        ClusterError
            The cluster cannot compute them; the message names the process that failed.
        """
        return self._complete(list(tasks), fetch=True)

    def _complete(self, tasks: Sequence[Any], fetch: bool) -> list:
        """Wait for tasks, or raise their error, and return their results if `fetch` is true."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        lost_errors = (KilledWorker, NoValidWorkerError, NoWorkerError)
        failed = self._failed_keys(lost_errors)
        try:
            try:
                return self._gather(tasks, fetch)
            except lost_errors as error:
                if cast(Any, error).task not in failed:
                    raise
                # The task failed in an earlier call, and was not tried in this one.
                self._retry(tasks)
                return self._gather(tasks, fetch)
        except KilledWorker as error:
            raise ClusterError(
                f"workers died repeatedly, the last one at {error.last_worker.address}; see their "
                "logs for the reason, which often is lack of memory",
                value=error.last_worker.address,
                hint="see the logs of the workers",
            ) from error
        except (NoValidWorkerError, NoWorkerError) as error:
            raise WorkerLostError(None, monitor.get_monitor(self.client).timeout) from error
        except CancelledError as error:
            check_open(self.client)
            if self.client.status != "running":
                raise SchedulerLostError(get_address(self.client), None) from error
            raise ClusterError(
                "the cluster has no data for a task that the call needs: it was restarted, or the "
                "frame or graph is of another cluster; load the frame and build the graph again "
                f"({error})",
                hint="load the frame and build the graph again",
            ) from error
        except CommClosedError as error:
            check_open(self.client)
            raise SchedulerLostError(get_address(self.client), None) from error

    def supervise(self, function: Callable[[], Any]) -> Any:
        """Run a coroutine function in the client's event loop; see `monitor.supervise`."""
        return self.client.sync(monitor.supervise, self.client, function)

    def _gather(self, tasks: Sequence[Any], fetch: bool) -> list:
        client = self.client

        async def gather() -> list:
            # If Client.gather is cancelled while it waits for tasks, it leaves errors of its own.
            await self.wait(tasks)
            fetched = tasks if fetch else [task for task in tasks if task.status != "finished"]
            return await client.gather(list(fetched), asynchronous=True)

        check_open(client)
        return self.supervise(gather)

    async def wait(self, tasks: Sequence[Any]) -> None:
        """Wait in the client's event loop until all tasks have finished, failed or been cancelled.

        `distributed.wait` would wait in the loop of the default client, which may be another one.

        Raises
        ------
        CancelledError
            Tasks were cancelled.
        """
        from distributed.client import _wait

        await _wait(tasks)

    def get_error(self, task: Any) -> BaseException | None:
        """Return the error of a task that is known to have failed, without waiting for it."""
        state = self.client.futures.get(task.key)
        return None if state is None else state.exception

    def _failed_keys(self, error_types: tuple[type[BaseException], ...]) -> set:
        """Return the keys of tasks that are known to have failed with errors of these types."""
        errors = [state.exception for state in list(self.client.futures.values())]
        return {cast(Any, error).task for error in errors if isinstance(error, error_types)}

    def _retry(self, tasks: Sequence[Any]) -> None:
        """Run failed tasks again, with the failed tasks that they depend on."""
        client, failed = self.client, [task.key for task in tasks if task.status == "error"]

        async def retry() -> None:
            cluster_monitor = monitor.get_monitor(client)
            for key in await cluster_monitor.ask("retry", keys=failed, client=client.id):
                state = client.futures.get(key)
                if state is not None and state.status == "error":
                    state.retry()

        client.sync(retry)

    def are_valid(self, tasks: Any) -> bool:
        """Return whether no task, in nested lists or by itself, has failed or been cancelled.

        Dask computes lost results again, except those of pinned tasks.
        """
        from distributed import Future

        if isinstance(tasks, (list, tuple)):
            return all(map(self.are_valid, tasks))
        if not isinstance(tasks, Future):
            return True
        is_pinned = str(tasks.key).startswith(monitor.PINNED_PREFIX)
        return tasks.status not in ("error", "cancelled", *(["lost"] if is_pinned else []))

    def to_keys(self, tasks: Sequence[Any]) -> list:
        """Return keys of futures, which unlike them do not keep the results in memory.

        The futures can be computed again for as long as one exists that depends on them.
        """
        return [task.key for task in tasks]

    def from_keys(self, keys: Sequence[Any]) -> list:
        """Return futures of keys."""
        from distributed import Future

        return [_track(Future(key, self.client)) for key in keys]

    def to_dask(self, tasks: Sequence[Any], meta: Frame, divisions: tuple) -> Frame:
        """Return a Dask frame whose partitions are the results of tasks."""
        from dask.dataframe import from_delayed

        return from_delayed(list(tasks), meta=meta, divisions=divisions, verify_meta=False)


Executor: TypeAlias = LocalExecutor | DaskExecutor
