"""Supervision of a Dask cluster: bound how long a call waits for a process that does not answer.

Dask notices a connection that breaks, but not a process that is stopped: its sockets stay open. The
client therefore asks the scheduler at regular intervals and checks the heartbeats of the workers. A
worker without a heartbeat for `rapidsgraph.timeout` is restarted by its nanny, or removed where it
has none; Dask then computes its tasks again on the other workers. A long task is no reason to
restart a worker: kernels release the GIL, so its heartbeats go on.
"""

import asyncio
import logging
import threading
import time
import uuid
import warnings
import weakref
from contextlib import contextmanager, suppress
from copy import copy

from dask import config
from dask.utils import parse_timedelta
from distributed import SchedulerPlugin
from distributed.scheduler import heartbeat_interval

from ..errors import ClusterError, GraphError, SchedulerLost, WorkerLost
from .executor import address_of, check_open

TIMEOUT = "rapidsgraph.timeout"  # key of the time limit in Dask's configuration
DEFAULT_TIMEOUT = "60 s"
MIN_TIMEOUT = 1  # seconds; connections alone take milliseconds
MAX_INTERVAL = 5  # seconds between two looks at the cluster
MISSED_HEARTBEATS = 4  # of a worker that counts as silent, at least

_log = logging.getLogger(__name__)
_monitors = weakref.WeakKeyDictionary()
_create_monitor = threading.Lock()


def get_timeout():
    """Return the time limit in seconds.

    Raises
    ------
    GraphError
        The configured value is no positive time.
    """
    return check_timeout(config.get(TIMEOUT, DEFAULT_TIMEOUT), f"dask.config key {TIMEOUT!r}")


def check_timeout(value, name="timeout"):
    """Convert a number of seconds, or a text like "30 s", to seconds."""
    seconds = 0.0
    with suppress(ValueError, TypeError, KeyError, AttributeError, OverflowError):
        seconds = float(parse_timedelta(value, default="s"))
    if isinstance(value, bool) or not MIN_TIMEOUT <= seconds < float("inf"):
        raise GraphError(
            f"{name} is {value!r}; it must be a time of {MIN_TIMEOUT} s or more, in seconds or as "
            "a text like '30 s'"
        )
    return seconds


def monitor_of(client):
    """Return the ClusterMonitor that all calls on a client share."""
    with _create_monitor:
        if client not in _monitors:
            _monitors[client] = ClusterMonitor(client)
        return _monitors[client]


class ClusterMonitor:
    """Detect a scheduler or workers that no longer answer.

    Its coroutines run on the event loop of the client. Several may run at a time: each failure of
    a check reaches all of them.
    """

    def __init__(self, client):
        self._client = weakref.ref(client)  # or the client would be its own key's value
        self._checking = asyncio.Lock()
        self._checked = time.monotonic()
        self._last_seen, self._silence = {}, {}  # by address: a time, seconds since it changed
        self._without_workers, self._lost = 0.0, None  # seconds, and the last worker restarted
        self._failed_at, self._failure = -float("inf"), None  # of the last check that failed

    @property
    def interval(self):
        """Seconds between two checks."""
        return min(MAX_INTERVAL, get_timeout() / 4)

    async def run(self, check=None):
        """Check the cluster at intervals until it can no longer complete a call.

        Parameters
        ----------
        check : callable, optional
            Called after each check; may raise, too.

        Raises
        ------
        ClusterError
            See `ask` and `check`. The check may be that of another coroutine.
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
            if check is not None:
                check()

    async def _record_check(self):
        """Check the cluster and keep the error for the other coroutines, too."""
        try:
            await self.check()
        except Exception as error:
            # A copy has no traceback, whose frames would keep the client and results alive.
            self._failed_at, self._failure = time.monotonic(), copy(error)
            raise

    async def ask(self, method, **arguments):
        """Call a method of the scheduler, for the time limit at most.

        Raises
        ------
        SchedulerLost
            It does not answer in time, or the connection is closed.
        """
        client, timeout = self._client(), get_timeout()
        check_open(client)
        if client.status != "running":
            raise SchedulerLost(address_of(client), None)
        try:
            call = getattr(client.scheduler, method)(**arguments)
            return await asyncio.wait_for(call, timeout)
        except TimeoutError as error:
            raise SchedulerLost(address_of(client), timeout) from error
        except OSError as error:
            check_open(client)
            raise SchedulerLost(address_of(client), None) from error

    async def check(self):
        """Restart or remove workers without heartbeats.

        Time is counted in steps of at most two intervals, so that a client which was suspended
        itself does not take that for silence of the workers.

        Raises
        ------
        SchedulerLost
        WorkerLost
            There was no worker for the time limit.
        """
        now, interval, timeout = time.monotonic(), self.interval, get_timeout()
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
            self._lost = silent[0]
            await self._restart(silent, workers, limit)
            if len(silent) == len(workers) and not any(workers[each]["nanny"] for each in silent):
                self._raise_lost(limit)
        elif workers:
            self._lost = None
        self._without_workers = 0.0 if workers else self._without_workers + step
        if self._without_workers >= timeout:
            self._raise_lost(timeout)

    def _raise_lost(self, timeout):
        lost, self._without_workers = self._lost, 0.0
        raise WorkerLost(lost, timeout)

    async def _restart(self, silent, workers, limit):
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
                timeout=min(30, get_timeout() / 2),  # for a nanny that does not answer, either
                wait_for_workers=False,
                on_error="return",
                stimulus_id=f"rapidsgraph-timeout-{uuid.uuid4().hex}",
            )


def ask_scheduler(client, method, **arguments):
    """Call a method of the scheduler from another thread; see `ClusterMonitor.ask`."""
    check_open(client)
    return client.sync(monitor_of(client).ask, method, **arguments)


async def supervise(client, function, check=None):
    """Await a coroutine function for as long as the cluster can complete it.

    Parameters
    ----------
    client : distributed.Client
    function : coroutine function
        Without parameters.
    check : callable, optional
        Called after each check of the cluster; what it raises ends the wait.

    Raises
    ------
    ClusterError
        See `ClusterMonitor`.
    """
    monitor = monitor_of(client)
    tasks = asyncio.ensure_future(function()), asyncio.ensure_future(monitor.run(check))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        work, guard = tasks
        if guard.done() and not (work.done() and not work.cancelled() and not work.exception()):
            return guard.result()  # raises; what the work raised is a consequence
        return work.result()
    finally:
        for task in tasks:
            task.cancel()
            task.add_done_callback(_retrieve)


def _retrieve(task):
    """Take the error of a task that nobody awaits, or asyncio would print it."""
    if not task.cancelled():
        task.exception()


@contextmanager
def watching(client, close=False):
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
        Why the client was closed, if it was.
    """
    errors = []

    async def watch():
        while not errors and client.status not in ("closing", "closed"):
            try:
                await monitor_of(client).run()
            except ClusterError as error:
                if close:
                    errors.append(error)
                    with suppress(Exception):
                        await client._close(fast=True)
            except Exception:
                _log.exception("A check of the Dask cluster failed; the next one follows")
                await asyncio.sleep(MAX_INTERVAL)  # where not even the interval can be computed

    async def start():
        task = asyncio.ensure_future(watch())
        task.add_done_callback(_retrieve)
        return task

    task = client.sync(start)
    try:
        yield errors
    finally:
        client.loop.add_callback(task.cancel)


class ReleaseRestrictions(SchedulerPlugin):
    """Let new workers take tasks whose preferred workers are all gone.

    Dask keeps a task in the state "no-worker" if no worker was left when it became ready, even if
    `allow_other_workers` was given: a worker that joins later is compared with its restrictions.
    """

    name, idempotent = "rapidsgraph-release-restrictions", True

    def add_worker(self, scheduler, worker):
        for task in scheduler.unrunnable:
            preferred = task.worker_restrictions
            if task.loose_restrictions and preferred and preferred.isdisjoint(scheduler.workers):
                task.worker_restrictions = None
