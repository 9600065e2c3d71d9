"""Supervision of a Dask cluster: bound how long a call waits for a process that does not answer.

Dask notices a connection that breaks, but not a process that is stopped: its sockets stay open. The
client therefore asks the scheduler at regular intervals and checks the heartbeats of the workers. A
worker without a heartbeat for `rapidsgraph.timeout` is restarted by its nanny, or removed where it
has none; Dask then computes its tasks again on the other workers. A long task is no reason to
restart a worker: kernels release the GIL, so its heartbeats go on.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, NoReturn, TypeVar

from ..errors import ClusterError, GraphError, SchedulerLostError, WorkerLostError

TIMEOUT = "rapidsgraph.timeout"  # key of the time limit in Dask's configuration
DEFAULT_TIMEOUT = "60 s"
MIN_TIMEOUT = 1  # seconds; connections alone take milliseconds
MAX_INTERVAL = 5  # seconds between two checks of the cluster
PINNED_PREFIX = "rapidsgraph-"  # of the keys of tasks that run on one worker only
MISSED_HEARTBEATS = 4  # a worker is silent after at least so many

T = TypeVar("T")

_log = logging.getLogger(__name__)
_monitors: weakref.WeakKeyDictionary[Any, ClusterMonitor] = weakref.WeakKeyDictionary()
_monitors_lock = threading.Lock()


def get_events_topic(client_id: str) -> str:
    """Return the topic of the events that ranks send to a client."""
    return f"{PINNED_PREFIX}{client_id}"


def check_open(client: Any) -> None:
    """Raise ClusterError if a client is closed."""
    if client.status in ("closing", "closed"):
        raise ClusterError(
            "the client is closed, and the data on its workers is gone; call .compute() on "
            "results, or write them, while the client is open",
            parameter="client",
        )


def get_address(client: Any) -> str:
    """Return the address of a client's scheduler, for messages and comparisons."""
    return getattr(client.scheduler, "address", None) or "an unknown address"


def get_timeout() -> float:
    """Return the time limit in seconds.

    Raises
    ------
    GraphError
        The configured value is not a valid time.
    """
    from dask import config

    return check_timeout(config.get(TIMEOUT, DEFAULT_TIMEOUT), f"dask.config key {TIMEOUT!r}")


def check_timeout(value: Any, name: str = "timeout") -> float:
    """Convert a number of seconds, or a string such as ``"30 s"``, to seconds."""
    from dask.utils import parse_timedelta

    seconds = 0.0
    with suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError):
        seconds = float(parse_timedelta(value, default="s"))
    if isinstance(value, bool) or not MIN_TIMEOUT <= seconds < float("inf"):
        raise GraphError(
            f"{name} is {value!r}; it must be a time of {MIN_TIMEOUT} s or more, in seconds or as "
            "a string such as '30 s'",
            parameter=name,
            value=value,
        )
    return seconds


def get_monitor(client: Any) -> ClusterMonitor:
    """Return the ClusterMonitor that all calls on a client share."""
    with _monitors_lock:
        if client not in _monitors:
            _monitors[client] = ClusterMonitor(client)
        return _monitors[client]


class ClusterMonitor:
    """Detect a scheduler or workers that no longer answer.

    Its coroutines run on the event loop of the client. Several may run at a time: each failure of
    a check reaches all of them.
    """

    def __init__(self, client: Any) -> None:
        self.time_limit: float | None = None  # seconds, if the cluster has one of its own
        self._client = weakref.ref(client)  # _monitors must not keep its own keys alive
        self._checking = asyncio.Lock()
        self._checked = time.monotonic()
        # By address: the time of the last heartbeat, and the seconds since it changed.
        self._last_seen: dict[str, float] = {}
        self._silence: dict[str, float] = {}
        self._seconds_without_workers = 0.0
        self._lost_worker: str | None = None  # the last one that was restarted
        self._failed_at = -float("inf")  # of the last check that failed
        self._failure: Exception = ClusterError("no check has failed")

    @property
    def timeout(self) -> float:
        """The time limit in seconds: that of the cluster, or that of Dask's configuration."""
        return get_timeout() if self.time_limit is None else self.time_limit

    @property
    def interval(self) -> float:
        """Seconds between two checks."""
        return min(MAX_INTERVAL, self.timeout / 4)

    async def run(self) -> NoReturn:
        """Check the cluster at intervals until it can no longer complete a call.

        Raises
        ------
        ClusterError
            See `ask` and `check`. The failed check may be one of another coroutine.
        """
        started = time.monotonic()
        while True:
            await asyncio.sleep(self.interval)
            async with self._checking:
                is_due = time.monotonic() - self._checked > self.interval / 2
                if is_due and self._failed_at <= started:
                    await self._record_check()
            if self._failed_at > started:
                raise copy(self._failure)

    async def _record_check(self) -> None:
        """Check the cluster, and record its error for the other coroutines."""
        try:
            await self.check()
        except Exception as error:
            # A copy has no traceback, whose frames would keep the client and its results alive.
            self._failed_at, self._failure = time.monotonic(), copy(error)
            raise

    async def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of the scheduler and wait for the time limit at most.

        Raises
        ------
        SchedulerLostError
            The scheduler does not answer in time, or the connection is closed.
        """
        client: Any = self._client()  # exists: the caller has it
        timeout = self.timeout
        check_open(client)
        if client.status != "running":
            raise SchedulerLostError(get_address(client), None)
        try:
            call = getattr(client.scheduler, method)(**arguments)
            return await asyncio.wait_for(call, timeout)
        except TimeoutError as error:
            raise SchedulerLostError(get_address(client), timeout) from error
        except OSError as error:
            check_open(client)
            raise SchedulerLostError(get_address(client), None) from error

    async def check(self) -> None:
        """Restart or remove workers without heartbeats.

        A step counts for two intervals at most: if this client itself was suspended, it must not
        take the gap for silence of the workers.

        Raises
        ------
        SchedulerLostError
            The scheduler does not answer.
        WorkerLostError
            There was no worker for the time limit.
        """
        from distributed.scheduler import heartbeat_interval

        now, interval, timeout = time.monotonic(), self.interval, self.timeout
        step, self._checked = min(now - self._checked, 2 * interval), now
        workers = (await self.ask("identity"))["workers"]
        last_seen = {address: worker["last_seen"] for address, worker in workers.items()}
        self._silence = {
            address: self._silence.get(address, 0.0) + step
            if self._last_seen.get(address) == seen
            else 0.0
            for address, seen in last_seen.items()
        }
        self._last_seen = last_seen
        limit = max(timeout, MISSED_HEARTBEATS * heartbeat_interval(len(workers)))
        silent = [address for address, seconds in self._silence.items() if seconds >= limit]
        if silent:
            self._lost_worker = silent[0]
            await self._restart(silent, workers, limit)
            if len(silent) == len(workers) and not any(
                workers[address]["nanny"] for address in silent
            ):
                self._raise_worker_lost(limit)
        elif workers:
            self._lost_worker = None
        self._seconds_without_workers = 0.0 if workers else self._seconds_without_workers + step
        if self._seconds_without_workers >= timeout:
            self._raise_worker_lost(timeout)

    def _raise_worker_lost(self, timeout: float) -> NoReturn:
        self._seconds_without_workers = 0.0
        raise WorkerLostError(self._lost_worker, timeout)

    async def _restart(self, silent: list[str], workers: dict, limit: float) -> None:
        """Restart workers that have a nanny, and remove the others from the scheduler."""
        try:
            for address in silent:
                self._silence.pop(address)
                action = "restarted" if workers[address]["nanny"] else "removed from the cluster"
                warnings.warn(
                    f"Dask worker {address} did not answer for {limit:g} s and is {action}; its "
                    f"tasks are computed again. The dask.config key {TIMEOUT!r} sets this time "
                    "limit",
                    RuntimeWarning,
                    stacklevel=2,
                )
        finally:  # also where filters turn the warning into an error
            await self.ask(
                "restart_workers",
                workers=silent,
                timeout=min(30, self.timeout / 2),  # a nanny may not answer, either
                wait_for_workers=False,
                on_error="return",
                stimulus_id=f"rapidsgraph-timeout-{uuid.uuid4().hex}",
            )


def ask_scheduler(client: Any, method: str, **arguments: Any) -> Any:
    """Call a method of the scheduler from another thread; see `ClusterMonitor.ask`."""
    check_open(client)
    return client.sync(get_monitor(client).ask, method, **arguments)


async def supervise(client: Any, function: Callable[[], Awaitable[T]]) -> T:
    """Await a coroutine function for as long as the cluster can complete it.

    Parameters
    ----------
    client : distributed.Client
    function : coroutine function
        Without parameters.

    Raises
    ------
    ClusterError
        See `ClusterMonitor`.
    """
    monitor = get_monitor(client)
    work = asyncio.ensure_future(function())
    guard = asyncio.ensure_future(monitor.run())
    try:
        await asyncio.wait((work, guard), return_when=asyncio.FIRST_COMPLETED)
        if guard.done() and not (work.done() and not work.cancelled() and not work.exception()):
            return guard.result()  # raises; an error of the work is a consequence
        return work.result()
    finally:
        for task in (work, guard):
            cancel(task)


def cancel(task: asyncio.Future) -> None:
    """Cancel a task that nobody awaits, and discard its exception."""
    task.cancel()
    task.add_done_callback(_retrieve_exception)


def _retrieve_exception(task: asyncio.Future) -> None:
    """Retrieve the exception of a task that nobody awaits, or asyncio would print it."""
    if not task.cancelled():
        task.exception()


@contextmanager
def watching(client: Any, close: bool = False) -> Iterator[list[ClusterError]]:
    """Check a cluster in the background, also while Dask's own functions wait.

    Parameters
    ----------
    client : distributed.Client
    close : bool
        Close the client when the cluster can no longer complete a call, so that nobody waits for
        its futures. Not needed where nannies start new workers.

    Yields
    ------
    list of ClusterError
        The error that closed the client, if any.
    """
    errors: list[ClusterError] = []

    async def watch() -> None:
        while not errors and client.status not in ("closing", "closed"):
            try:
                await get_monitor(client).run()
            except ClusterError as error:
                if close:
                    errors.append(error)
                    with suppress(Exception):
                        await client._close(fast=True)
            except Exception:
                _log.exception("A check of the Dask cluster failed; retrying")
                await asyncio.sleep(MAX_INTERVAL)  # the interval itself may be invalid

    async def start() -> asyncio.Task:
        task = asyncio.ensure_future(watch())
        task.add_done_callback(_retrieve_exception)
        return task

    task = client.sync(start)
    try:
        yield errors
    finally:
        client.loop.add_callback(task.cancel)


def create_scheduler_plugin() -> Any:
    """Return a scheduler plugin that releases what tasks and clients of rapidsgraph leave behind.

    Other workers take tasks whose own workers are gone, and the events of a closed client are
    deleted.

    Pinned tasks, whose keys begin with `PINNED_PREFIX`, would wait forever for a worker that is
    removed. On another worker they fail with an error that says what was lost.

    The class is local, since importing rapidsgraph must not import distributed, and is therefore
    pickled by value, so that the scheduler does not need rapidsgraph.
    """
    from distributed import SchedulerPlugin

    pinned_prefix = PINNED_PREFIX

    class ReleasePlugin(SchedulerPlugin):
        name, idempotent = "rapidsgraph-release", True

        async def start(self, scheduler: Any) -> None:
            self._scheduler = scheduler

        def add_worker(self, scheduler: Any, worker: str) -> None:
            self._release(scheduler)

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            # The input of a pinned task may be computed again before the task becomes ready.
            if finish == "no-worker" and str(key).startswith(pinned_prefix):
                self._scheduler.loop.add_callback(self._schedule, kwargs.get("stimulus_id", ""))

        def remove_worker(
            self, scheduler: Any, worker: str, *, stimulus_id: str, **kwargs: Any
        ) -> None:
            self._schedule(stimulus_id)

        def remove_client(self, scheduler: Any, client: str) -> None:
            topic = f"{pinned_prefix}{client}"  # as in `get_events_topic`
            scheduler.unsubscribe_topic(topic, client)
            scheduler._broker.truncate(topic)

        def _schedule(self, stimulus_id: str) -> None:
            keys = self._release(self._scheduler)
            self._scheduler.transitions(dict.fromkeys(keys, "processing"), stimulus_id)

        def _release(self, scheduler: Any) -> list:
            workers, keys = scheduler.workers, []
            for task in scheduler.unrunnable:
                allowed_workers = task.worker_restrictions
                is_pinned = str(task.key).startswith(pinned_prefix)
                if is_pinned and allowed_workers and allowed_workers.isdisjoint(workers):
                    task.worker_restrictions = None
                    keys.append(task.key)
            return keys

    return ReleasePlugin()
