"""Exchange between workers: actors, one per partition of a graph, that run supersteps together.

In a superstep each member computes and fetches the results of all others from their workers. Only
the first call and the last answer pass through the scheduler, which takes longer than most
supersteps do (bulk-synchronous parallel: L. G. Valiant, "A bridging model for parallel
computation", Communications of the ACM 33(8), 1990, https://doi.org/10.1145/79173.79181).

Members are actors of Dask, whose state cannot be recomputed. If one is lost, `MemberLostError`
is raised and the caller computes the result by tasks instead.

A request waits at its target until the result is ready, so a broken connection ends it. The buffer
of superstep t may be overwritten in superstep t+2, when every member has read it.
"""

from __future__ import annotations

import asyncio
import math
import time
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..device.arrays import Array, ArrayModule
from ..progress import Report
from . import shared_memory
from .executor import DaskExecutor, get_executor
from .shared_memory import Shape
from .spmd import run_on_worker

FIRST_BATCH = 4  # supersteps of the first call
MAX_BATCH_SECONDS = 0.25  # the number is doubled while calls take less
CONNECTION_ERRORS = OSError, RuntimeError  # what Dask raises for lost workers and actors
HANDLER_NAME = "rapidsgraph_member"  # of the workers' handler for calls of members
STOP_TIMEOUT = 5  # seconds for members to hear that a call failed; nobody waits for it

_local_members: weakref.WeakValueDictionary[str, GroupMember] = weakref.WeakValueDictionary()


class MemberLostError(Exception):
    """Report that a member is gone, or stopped because another one is."""


class GroupMember:
    """Base class of members. Coroutines run on the event loop of the worker."""

    def __init__(self, rank: int, name: str) -> None:
        from distributed import get_worker

        _local_members[name] = self
        self.rank, self._worker = rank, get_worker()
        self._worker.handlers.setdefault(HANDLER_NAME, _handle_call)
        self._superstep, self._is_stopped = 0, False
        self._results: dict[int, Any] = {}  # by superstep
        self._is_ready: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)
        self._peers: list[tuple[str, str]] = []

    async def run(self, members: Sequence[tuple[str, str]], method: str, *arguments: Any) -> Any:
        """Call a method; `members` are the addresses and names of all members, by rank."""
        self._peers = [each for rank, each in enumerate(members) if rank != self.rank]
        return await getattr(self, method)(*arguments)

    async def send(self, superstep: int, rank: int) -> Any:
        """Return this member's message to another rank, once the superstep is computed."""
        if not self._is_stopped:
            await self._is_ready[superstep].wait()
        if self._is_stopped:
            raise MemberLostError("the member was stopped")
        return self.message_for(rank, self._results[superstep])

    def message_for(self, rank: int, result: Any) -> Any:
        """Return what member `rank` needs of the result of a superstep."""
        return result

    async def stop(self) -> None:
        """End all waits for this member."""
        self._is_stopped = True
        for event in self._is_ready.values():
            event.set()

    async def superstep(self, compute: Callable[..., Any], *arguments: Any) -> list:
        """Return the results of all members, by rank; this member runs ``compute(*arguments)``."""
        if self._is_stopped:
            raise MemberLostError("the member was stopped")
        self._superstep += 1
        step = self._superstep
        requests = [asyncio.ensure_future(self._receive(peer, step)) for peer in self._peers]
        try:
            result = await asyncio.to_thread(run_on_worker, compute, *arguments)
            self._results[step] = result
            self._is_ready[step].set()
            results = list(await asyncio.gather(*requests))
        except BaseException:
            for request in requests:
                request.cancel()
                request.add_done_callback(_retrieve_exception)
            await self.stop()
            raise
        finally:
            requests = []  # or errors would refer to this frame, and with it to this member
        for per_superstep in (self._results, self._is_ready):
            per_superstep.pop(step - 1, None)
        results.insert(self.rank, result)
        return results

    async def _receive(self, peer: tuple[str, str], superstep: int) -> Any:
        address, name = peer
        try:
            call = getattr(self._worker.rpc(address), HANDLER_NAME)
            answer = await call(member=name, method="send", arguments=(superstep, self.rank))
        except OSError as error:
            raise MemberLostError(f"{address} does not answer: {error}") from error
        if answer["status"] != "OK":
            raise MemberLostError(f"{address} has failed")
        return answer["result"]


async def _handle_call(member: str, method: str, arguments: tuple) -> dict[str, Any]:
    """Answer a call of a member of this process: the workers' handler `HANDLER_NAME`.

    Dask's own handler of calls to actors logs an error with a traceback where the actor is gone,
    as members are whose client has ended.
    """
    from distributed.protocol import to_serialize

    instance = get_local_member(member)
    if instance is None:
        return {"status": "gone"}
    try:
        return {"status": "OK", "result": to_serialize(await getattr(instance, method)(*arguments))}
    except Exception as error:
        return {"status": "error", "exception": to_serialize(error)}


def _retrieve_exception(task: asyncio.Future) -> None:
    """Retrieve an exception that is a consequence of another, or asyncio would print it."""
    if not task.cancelled():
        task.exception()


class SharedMemoryMember(GroupMember):
    """A member with a buffer that other members of its machine read.

    On a CPU all of them may use one buffer. `is_read_by` tells which members cannot attach to it.

    Attributes
    ----------
    buffer : array
        What this member writes.
    peer_buffers : dict of int to array
        Buffers of other members that this one reads, by rank, except its own `buffer`.
    """

    buffer: Array
    peer_buffers: dict[int, Array]

    async def allocate_buffer(
        self, shape: Shape, dtype: Any, xp: ArrayModule, one_per_machine: bool = False
    ) -> None:
        """Set `buffer`, zeros, and `peer_buffers`; optionally members of a machine share one."""
        self._allocation, self._one_per_machine = (shape, dtype, xp), one_per_machine
        self._own_buffer: Array | None = None
        self.peer_buffers = {}
        machines = await self.superstep(shared_memory.get_machine_id)
        addresses = await self.superstep(self._offer_buffer, machines)
        # By rank: the rank whose buffer it writes, and the ranks whose buffers it reads.
        self._access = await self.superstep(self._attach_buffers, machines, addresses)

    def _offer_buffer(self, machines: list[str | None]) -> Any:
        """Return the address of a shared buffer of this member, or None without one."""
        machine = machines[self.rank]
        if machine is None or machines.count(machine) == 1:
            return None
        if self._one_per_machine and machines.index(machine) != self.rank:
            return None  # the first member of the machine allocates
        try:
            self._own_buffer, address = shared_memory.allocate(*self._allocation)
        except shared_memory.ALLOCATION_ERRORS:
            return None
        return address

    def _attach_buffers(
        self, machines: list[str | None], addresses: list[Any]
    ) -> tuple[int, set[int]]:
        (shape, dtype, xp), own_machine, owner = self._allocation, machines[self.rank], self.rank
        for rank, (machine, address) in enumerate(zip(machines, addresses, strict=True)):
            if rank != self.rank and machine == own_machine and address is not None:
                array = shared_memory.attach(address, *self._allocation)
                if array is not None:
                    self.peer_buffers[rank] = array
        readable = {self.rank, *self.peer_buffers}
        if self._one_per_machine and self.peer_buffers:
            [(owner, self._own_buffer)] = self.peer_buffers.items()
            self.peer_buffers, readable = {}, {owner}
        if self._own_buffer is None:
            self._own_buffer = xp.zeros(shape, dtype)
        self.buffer = self._own_buffer
        return owner, readable

    def is_read_by(self, rank: int) -> bool:
        """Return whether member `rank` reads the buffer that this one writes."""
        return self._access[self.rank][0] in self._access[rank][1]


def get_local_member(name: str) -> GroupMember | None:
    """Return the member of a name if it is in this process."""
    return _local_members.get(name)


class ActorGroup:
    """The members as the client sees them, as a context manager.

    Parameters
    ----------
    executor : DaskExecutor
    member_type : type
        Subclass of GroupMember.
    arguments : list of tuple
        Constructor arguments of each member; its rank and its name precede them.
    name : str
        Prefix of the keys of tasks.
    """

    def __init__(
        self, executor: DaskExecutor, member_type: type, arguments: Sequence[tuple], name: str
    ) -> None:
        self._executor = executor
        self._actors: list[Any] = []
        self._result_markers: list[Any] = []
        self.names = [uuid.uuid4().hex for _ in arguments]
        self.futures = [
            executor.submit(
                member_type, rank, member_name, *own, name=name, worker=rank, actor=True
            )
            for rank, (member_name, own) in enumerate(zip(self.names, arguments, strict=True))
        ]
        try:
            with executor.client.as_current():
                self._actors = executor.gather(self.futures)
            addresses = [actor._address for actor in self._actors]
            self._members = list(zip(addresses, self.names, strict=True))
        except BaseException as error:
            self.close()
            if isinstance(error, CONNECTION_ERRORS):
                raise MemberLostError(str(error)) from error
            raise

    def __enter__(self) -> ActorGroup:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        try:
            if error_type is None:
                self._executor.gather(self._result_markers)
        finally:
            self.close()

    def close(self) -> None:
        """Release the members, so that workers forget them."""
        # Dask's actor proxies have futures of their own.
        actor_futures = [vars(actor).get("_future") for actor in self._actors]
        for future in [*self.futures, *actor_futures]:
            if future is not None:
                future.release()
        self.futures, self._actors = [], []

    def call(self, method: str, *arguments: Any) -> list:
        """Return the results of a method, by rank."""
        request = (self._members, method, *arguments)

        async def ask_all() -> list:
            return await asyncio.gather(
                *(self._ask(each, "run", request) for each in self._members)
            )

        try:
            return self._executor.supervise(ask_all, self._check_members)
        except BaseException as error:
            self._stop()
            if isinstance(error, CONNECTION_ERRORS):
                raise MemberLostError(str(error)) from error
            raise

    async def _ask(self, member: tuple[str, str], method: str, arguments: tuple) -> Any:
        from distributed.protocol import to_serialize

        address, name = member
        message: dict[str, Any] = {"op": HANDLER_NAME, "member": name, "method": method}
        message["arguments"] = to_serialize(arguments)
        try:
            answer = await self._executor.client.scheduler.proxy(worker=address, msg=message)
        except Exception as error:  # of the connections; errors of members are answers
            raise MemberLostError(f"{address} does not answer: {error}") from error
        if answer["status"] == "gone":
            raise MemberLostError(f"{address} does not have its member any more")
        if answer["status"] != "OK":
            raise answer["exception"]
        return answer["result"]

    def result_tasks(self, recomputation: Recomputation, name: str) -> list:
        """Return a task per member of its ``result()``, or of a recomputation if it is gone.

        The context ends only when these tasks have run.
        """
        submit = self._executor.submit
        tasks = [
            submit(
                _get_result, own, rank, recomputation, *recomputation.markers, name=name,
                worker=rank,
            )
            for rank, own in enumerate(self.names)
        ]  # fmt: skip
        self._result_markers = self._executor.map(_mark, tasks, name="result-marker")
        return tasks

    def _check_members(self) -> None:
        if any(future.status != "finished" for future in self.futures):
            raise MemberLostError("a worker is gone")

    def _stop(self) -> None:
        """Stop all members in the background, so that none waits for another."""

        async def stop(futures: list) -> None:  # `futures` keep members alive until they stop
            requests = [self._ask(each, "stop", ()) for each in self._members]
            with suppress(TimeoutError):
                await asyncio.wait_for(
                    asyncio.gather(*requests, return_exceptions=True), STOP_TIMEOUT
                )

        with suppress(RuntimeError):  # the loop is closed, and the members with it
            self._executor.client.loop.add_callback(stop, list(self.futures))


class BatchSize:
    """Number of supersteps per call: few at first, doubled while calls are short."""

    def __init__(self, maximum: float = math.inf) -> None:
        self._maximum, self._size = maximum, FIRST_BATCH
        self._started: float | None = None

    def next(self, num_done: int) -> int:
        """Return the number for the next call; 0 if `num_done` is the maximum."""
        now = time.monotonic()
        if self._started is not None and now - self._started < MAX_BATCH_SECONDS:
            self._size *= 2
        self._started = now
        return int(min(self._size, self._maximum - num_done))


def report_increases(report: Callable[[int, str], Any]) -> Report:
    """Return a progress callback that skips what was reported before a restart."""
    maximum = 0

    def forward(num_done: int, text: str) -> None:
        nonlocal maximum
        if num_done > maximum:
            maximum = num_done
            report(num_done, text)

    return forward


class Recomputation:
    """Computes the results of members by tasks, also within a task of another worker.

    Parameters
    ----------
    executor : DaskExecutor
    function : callable
        ``function(executor, tasks, *arguments)`` returns a task per partition.
    tasks : list
        What the results are computed from.

    Attributes
    ----------
    arguments : tuple
        Further arguments of `function`, set before the results are needed.
    """

    def __init__(
        self, executor: DaskExecutor, function: Callable[..., list], tasks: Sequence[Any]
    ) -> None:
        self._function, self._keys = function, [task.key for task in tasks]
        self.arguments: tuple = ()
        # One lost result may need all tasks again: dependents keep the scheduler from forgetting.
        self.markers: list[Any] = executor.map(_mark, tasks, name="marker")

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"markers": []}

    def compute(self, rank: int) -> Any:
        """Return the result of one partition."""
        from distributed import Future

        executor = get_executor()
        tasks: list[Any] = [Future(key, executor.client) for key in self._keys]
        return executor.gather([self._function(executor, tasks, *self.arguments)[rank]])[0]


def _mark(result: Any) -> None:
    """Return nothing: the task depends on another one, and its result is small."""


def _get_result(name: str, rank: int, recomputation: Recomputation, *markers: None) -> Any:
    member: Any = get_local_member(name)
    return recomputation.compute(rank) if member is None else member.result()
