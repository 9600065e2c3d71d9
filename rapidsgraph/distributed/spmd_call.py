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
    """The client's state of an SPMD call.

    Parameters
    ----------
    executor : DaskExecutor
    report : callable, optional
        ``report(step, text)`` is called for some of the reports of rank 0.

    Attributes
    ----------
    key : tuple
        Topic, id of the call and whether rank 0 reports progress: what ranks send events with.
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
        # Set by `wait`:
        self._futures: Sequence[Any] = ()
        self._addresses: Sequence[str] = ()
        self._communicators: Sequence[Any] = ()
        self._sends_infos, self._checked_at = True, 0.0
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
        self._futures, self._addresses, self._communicators = futures, addresses, communicators
        self._sends_infos, self._checked_at = sends_infos, time.monotonic()
        client = self._executor.client
        check_open(client)
        try:
            while not self._executor.supervise(self._wait_for_ranks):
                self._report_progress()  # in this thread, since a callback may use the client
        finally:
            if self._completion is not None:
                client.loop.add_callback(cancel, self._completion)
        if self._has_all_infos():
            check_open(client)  # the callback may have closed it
        else:
            self._raise_root_cause()

    def _has_all_infos(self) -> bool:
        return self._sends_infos and len(self.infos) == len(self._futures)

    async def _wait_for_ranks(self) -> bool:
        """Return True when the call is over, False when there is progress to report."""
        while not self._has_all_infos():
            await self._wait_for_event()
            if self._progress is not None:
                return False
            if self._has_all_infos():
                break
            if all(future.status == "finished" for future in self._futures):
                await self._wait_for_infos()
                break
            if self._has_error():
                break  # `_raise_root_cause` raises it
            await self._check_workers()
            if any(future.status in ("cancelled", "lost") for future in self._futures):
                break  # `_raise_root_cause` explains it
        return True

    async def _wait_for_infos(self) -> None:
        """Wait for the infos of finished tasks, if ranks send them."""
        deadline = time.monotonic() + INFO_TIMEOUT
        while self._sends_infos and not self._has_all_infos():
            if time.monotonic() > deadline:
                raise RankLostError("the scheduler did not forward the info of a rank")
            await asyncio.sleep(0.001)

    async def _check_workers(self) -> None:
        """Raise RankLostError if a communicator or, every `CHECK_INTERVAL`, a worker is gone."""
        is_lost = any(future.status != "finished" for future in self._communicators)
        if time.monotonic() - self._checked_at > CHECK_INTERVAL:
            workers = await get_monitor(self._executor.client).ask("ncores")
            is_lost |= not workers.keys() >= set(self._addresses)
            self._checked_at = time.monotonic()
        if is_lost:
            raise RankLostError("a worker of the call is lost")

    def _raise_root_cause(self) -> None:
        """Raise the error of the rank that failed first, if one has not finished."""
        failed = [future for future in self._futures if future.status != "finished"]
        # Ranks that still compute, or that lost another rank, do not have the root cause.
        failed.sort(
            key=lambda future: (
                future.status == "pending",
                isinstance(self._executor.get_error(future), RankLostError),
            )
        )
        if failed:
            self._executor.gather(failed[:1])

    async def _wait_for_event(self) -> None:
        """Wait for an event, the end of all tasks, or `POLL_INTERVAL`."""
        from distributed import CancelledError

        if self._completion is None:
            self._completion = asyncio.ensure_future(self._executor.wait(self._futures))
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

    def _has_error(self) -> bool:
        """Return whether a rank has failed, but not because it lost another one.

        Raises
        ------
        RankLostError
            All ranks had `ERROR_GRACE` to fail for another reason.
        """
        failed = [future for future in self._futures if future.status == "error"]
        errors = [*map(self._executor.get_error, failed)]
        if any(not isinstance(error, RankLostError) for error in errors):
            return True
        if errors and self._failed_at is None:
            self._failed_at = time.monotonic()
        is_over = all(future.status != "pending" for future in self._futures)
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
