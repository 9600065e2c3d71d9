"""The client's side of an SPMD call: wait for its ranks, report their progress, raise their errors.

A rank sends its progress and, when its function has returned, its info as events of Dask. That its
task is finished becomes known some milliseconds later, because Dask collects such messages.
"""

from __future__ import annotations

import asyncio
import time
import uuid
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..progress import Report
from .communicator import RankLostError
from .monitor import cancel, check_open, get_events_topic, get_monitor

if TYPE_CHECKING:
    from .executor import DaskExecutor

ERROR_GRACE = 5.0  # seconds for all ranks to fail after the first one has
POLL_INTERVAL = 0.1  # seconds between polls of the communicator
INFO_TIMEOUT = 30  # seconds for infos to arrive after their tasks have finished
CHECK_INTERVAL = 1.0  # seconds between checks that all workers exist

_calls: weakref.WeakValueDictionary[str, Call] = weakref.WeakValueDictionary()
_subscribers: weakref.WeakSet = weakref.WeakSet()  # clients whose events are handled


class Call:
    """A call as the client sees it.

    Parameters
    ----------
    executor : DaskExecutor
    report : callable, optional
        ``report(step, text)`` is called for some of the reports of rank 0.

    Attributes
    ----------
    key : tuple
        What ranks need to send events.
    infos : dict of int to bytes
        The pickled info of each rank that has sent it.
    """

    def __init__(self, executor: DaskExecutor, report: Report | None = None) -> None:
        client = executor.client
        topic, self._id = get_events_topic(client.id), uuid.uuid4().hex
        self.key = topic, self._id, report is not None
        self.infos: dict[int, bytes] = {}
        self._executor, self._report = executor, report
        self._progress: tuple[int, str] | None = None  # not reported yet
        self._event_arrived = asyncio.Event()  # of the client's event loop
        self._completion: asyncio.Future | None = None  # of all tasks
        self._failed_at: float | None = None
        _calls[self._id] = self
        if client not in _subscribers:
            _subscribers.add(client)
            client.subscribe_topic(topic, _handle_event)

    def close(self) -> None:
        """Ignore further events."""
        _calls.pop(self._id, None)

    def wait(
        self,
        futures: Sequence[Any],
        addresses: Sequence[str],
        communicators: Sequence[Any] = (),
        *,
        sends_infos: bool = True,
    ) -> None:
        """Wait until all ranks have sent their infos, or their tasks are finished.

        Parameters
        ----------
        futures : sequence of Future
            Of each rank's task.
        addresses : sequence of str
            The worker of each rank.
        communicators : sequence of Future
            Of each rank's communicator.
        sends_infos : bool
            Whether ranks send infos.

        Raises
        ------
        RankLostError
            A worker was lost: one of `addresses` or `communicators` is gone, or ranks have failed
            for no other reason.
        Exception
            The error of a rank.
        """
        client, checked_at = self._executor.client, time.monotonic()

        def is_complete() -> bool:
            return sends_infos and len(self.infos) == len(futures)

        async def wait() -> bool:
            """Return True when the call is over, False when there is progress to report."""
            nonlocal checked_at
            while not is_complete():
                await self._wait_for_event(futures)
                if self._progress is not None:
                    return False
                if is_complete():
                    break
                if all(future.status == "finished" for future in futures):
                    deadline = time.monotonic() + INFO_TIMEOUT
                    while sends_infos and not is_complete():
                        if time.monotonic() > deadline:
                            raise RankLostError("the scheduler did not forward the info of a rank")
                        await asyncio.sleep(0.001)
                    break
                if self._has_error(futures):
                    break  # `gather` raises it
                is_lost = any(future.status != "finished" for future in communicators)
                if time.monotonic() - checked_at > CHECK_INTERVAL:
                    workers = await get_monitor(client).ask("ncores")
                    is_lost |= not workers.keys() >= set(addresses)
                    checked_at = time.monotonic()
                if is_lost:
                    raise RankLostError("a worker of the call is lost")
                if any(future.status in ("cancelled", "lost") for future in futures):
                    break  # `gather` explains it
            return True

        check_open(client)
        try:
            while not self._executor.supervise(wait):
                self._report_progress()  # in this thread, since a callback may use the client
        finally:
            if self._completion is not None:
                client.loop.add_callback(cancel, self._completion)
        if is_complete():
            check_open(client)  # the callback may have closed it
            return
        failed = [future for future in futures if future.status != "finished"]
        if failed:
            # Ranks that still compute, or that lost another rank, do not have the root cause.
            failed.sort(
                key=lambda future: (
                    future.status == "pending",
                    isinstance(self._executor.get_error(future), RankLostError),
                )
            )
            self._executor.gather(failed[:1])  # raises the error of a rank

    async def _wait_for_event(self, futures: Sequence[Any]) -> None:
        """Wait for an event, the end of all tasks, or `POLL_INTERVAL`."""
        from distributed import CancelledError

        if self._completion is None:
            self._completion = asyncio.ensure_future(self._executor.wait(futures))
        event = asyncio.ensure_future(self._event_arrived.wait())
        tasks = [event] if self._completion.done() else [event, self._completion]
        try:
            await asyncio.wait(tasks, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
        finally:  # also where an interrupted call is cancelled
            cancel(event)
        self._event_arrived.clear()
        if self._completion.done():
            with suppress(CancelledError):
                self._completion.result()

    def _has_error(self, futures: Sequence[Any]) -> bool:
        """Return whether a rank has failed, but not because it lost another one.

        Raises
        ------
        RankLostError
            All ranks had `ERROR_GRACE` to fail for another reason.
        """
        failed = [future for future in futures if future.status == "error"]
        errors = [*map(self._executor.get_error, failed)]
        if any(not isinstance(error, RankLostError) for error in errors):
            return True
        if errors and self._failed_at is None:
            self._failed_at = time.monotonic()
        is_over = all(future.status != "pending" for future in futures)
        if self._failed_at is not None and (
            is_over or time.monotonic() - self._failed_at > ERROR_GRACE
        ):
            raise RankLostError(str(errors[0]))
        return False

    def _report_progress(self) -> None:
        """Call the callback with the last progress, if there is any."""
        progress, self._progress = self._progress, None
        if progress is not None and self._report is not None:
            self._report(*progress)

    def handle_event(self, kind: str, *values: Any) -> None:
        """Store the progress or the info of a rank."""
        if kind == "progress":
            step, text = values
            self._progress = step, text
        else:
            rank, info = values
            self.infos[rank] = info
        self._event_arrived.set()


def _handle_event(event: tuple[float, tuple]) -> None:
    call_id, *values = event[1]
    call = _calls.get(call_id)
    if call is not None:
        call.handle_event(*values)
