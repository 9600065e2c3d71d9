"""Objects on workers, one a part of a graph, that go through rounds in step.

Means: in a round each does its work and asks all others for what they made of theirs; so only the
  first call and the last answer pass the scheduler, whose turns cost more than most rounds.
Requires: a Dask client. Members are Dask's actors, which nobody can compute again: where one is
  lost, `Lost` is raised, and what they did is done another way.
Reference: the actors of Dask (distributed.actor); bulk-synchronous rounds: Valiant, "A bridging
  model for parallel computation", CACM 33(8), 1990.

A member's request waits at the other one until that has the answer, so a connection that breaks
ends it. What a round made may be changed two rounds later: by then all others have taken it.
"""
# Arrays that processes of one machine have in common, without messages between them.
#
# Means: one process makes an array and gives its address to others, which look at the same memory,
#   of the machine or of a GPU.
# Requires: Linux, and processes of one user that see each other; others get None, and send copies.
# Reference: memfd_create(2). Such a file has no name, so nothing is left of it when its processes
#   end, however they end; and unlike /dev/shm no container limits it but by its memory. On GPUs
#   cudaIpcGetMemHandle of CUDA's runtime, which takes no memory of a pool.

import asyncio
import math
import mmap
import os
import time
import uuid
import weakref
from collections import defaultdict
from contextlib import suppress

import numpy as np

from . import executor as engines

FEW, LASTING = 4, 0.25  # rounds at once at first; seconds from which on they are not doubled
GONE = OSError, RuntimeError  # what Dask raises of a worker and of an actor that are no more
OPERATION = "rapidsgraph_member"  # name of the handler that workers have for calls of members
STOPPING = 5  # seconds for members to hear that a call failed; nobody waits for it

_here = weakref.WeakValueDictionary()  # members in this process


class Lost(Exception):
    """A member is gone, or gave up since another one is."""


class Member:
    """What a member of any kind can do. Its coroutines run on the event loop of its worker."""

    def __init__(self, number, name):
        from distributed import get_worker

        _here[name] = self
        self.number, self._worker = number, get_worker()
        self._worker.handlers.setdefault(OPERATION, _call_member)
        self._round, self._made, self._is_there = 0, {}, defaultdict(asyncio.Event)
        self._stopped = False

    async def act(self, members, method, *arguments):
        """Call a method; `members` are the (address, name) of all, in the order of parts."""
        self._others = [each for at, each in enumerate(members) if at != self.number]
        return await getattr(self, method)(*arguments)

    async def give(self, round, other):
        """What this member made in a round for another one, as soon as it has."""
        if not self._stopped:
            await self._is_there[round].wait()
        if self._stopped:
            raise Lost("it was told to stop")
        return self.made_for(other, self._made[round])

    def made_for(self, other, made):
        """What of it is sent to member `other`."""
        return made

    async def stop(self):
        """Let nobody wait for this member."""
        self._stopped = True
        for event in self._is_there.values():
            event.set()

    async def round(self, work, *arguments):
        """What all made of a round, in the order of parts; this one makes work(*arguments)."""
        if self._stopped:
            raise Lost("it was told to stop")
        self._round += 1
        asked = [asyncio.ensure_future(self._ask(other, self._round)) for other in self._others]
        try:
            made = await asyncio.to_thread(engines.run_on_worker, work, *arguments)
            self._made[self._round] = made
            self._is_there[self._round].set()
            found = await asyncio.gather(*asked)
        except BaseException:
            for each in asked:
                each.cancel()
                each.add_done_callback(_looked_at)
            await self.stop()
            raise
        finally:
            asked = None  # or errors would hold the frame that holds them, and with it this member
        for memory in (self._made, self._is_there):
            memory.pop(self._round - 1, None)
        found.insert(self.number, made)
        return found

    async def _ask(self, other, round):
        address, name = other
        try:
            call = getattr(self._worker.rpc(address), OPERATION)
            answer = await call(member=name, method="give", arguments=(round, self.number))
        except OSError as error:
            raise Lost(f"{address} does not answer: {error}") from error
        if answer["status"] != "OK":
            raise Lost(f"{address} has failed")
        return answer["result"]


async def _call_member(member, method, arguments):
    """Answer a call of a member of this process: the handler of OPERATION on workers.

    Dask's own handler of calls to actors logs an error with a traceback where the actor is gone,
    which is what happens to members whose client ends.
    """
    from distributed.protocol import to_serialize

    own = here(member)
    if own is None:
        return {"status": "gone"}
    try:
        return {"status": "OK", "result": to_serialize(await getattr(own, method)(*arguments))}
    except Exception as error:
        return {"status": "error", "exception": to_serialize(error)}


def _looked_at(task):
    """What else went wrong needs no word on standard error."""
    if not task.cancelled():
        task.exception()


class Near(Member):
    """A member with an array that others of its machine read.

    On a CPU it may be one for all of them. Where others cannot reach it, `is_near` says so.
    """

    async def make_room(self, shape, dtype, xp, one_for_all=False):
        """Sets `room`, zeros, and `reached`: {member: its room}, without those that have this."""
        self._kind, self._one_for_all = (shape, dtype, xp), one_for_all
        self.room, self.reached = None, {}
        machines = await self.round(machine)
        addresses = await self.round(self._offer, machines)
        self._rooms = await self.round(self._settle, machines, addresses)

    def _offer(self, machines):
        """The address of a room that others reach, or None."""
        mine = machines[self.number]
        if mine is None or machines.count(mine) == 1:
            return None
        if self._one_for_all and machines.index(mine) != self.number:
            return None  # the first one's is for all
        try:
            self.room, address = make(*self._kind)
        except UNAVAILABLE:
            return None
        return address

    def _settle(self, machines, addresses):
        """(whose room this one writes, those whose it reads)."""
        (shape, dtype, xp), mine, owner = self._kind, machines[self.number], self.number
        for other, (machine, address) in enumerate(zip(machines, addresses)):
            if other != self.number and machine == mine and address is not None:
                array = reach(address, *self._kind)
                if array is not None:
                    self.reached[other] = array
        reads = {self.number, *self.reached}
        if self._one_for_all and self.reached:
            [(owner, self.room)] = self.reached.items()
            self.reached, reads = {}, {owner}
        if self.room is None:
            self.room = xp.zeros(shape, dtype)
        return owner, reads

    def is_near(self, other):
        """Whether member `other` reads what this one writes."""
        return self._rooms[self.number][0] in self._rooms[other][1]


def here(name):
    """The member of a name, if it is in this process."""
    return _here.get(name)


class Together:
    """The members as the client sees them, as a context.

    Parameters
    ----------
    engine : There
    kind : type
        A Member.
    arguments : list
        Of each member, as of a task; its number and its name come before them.
    """

    def __init__(self, engine, kind, arguments, name):
        self._engine, self._actors, self._taken = engine, [], []
        self.names = [uuid.uuid4().hex for _ in arguments]
        self.futures = [
            engine.submit(kind, number, own_name, *own, name=name, at=number, actor=True)
            for number, (own_name, own) in enumerate(zip(self.names, arguments))
        ]
        try:
            with engine.client.as_current():
                self._actors = engine.results(self.futures)
            addresses = [actor._address for actor in self._actors]
            self._members = list(zip(addresses, self.names))
        except BaseException as error:
            self.close()
            if isinstance(error, GONE):
                raise Lost(str(error)) from error
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self._engine.results(self._taken)
        finally:
            self.close()

    def close(self):
        """Let go of the members, so that workers forget them."""
        own = [vars(actor).get("_future") for actor in self._actors]  # Dask's, of each
        for future in [*self.futures, *own]:
            if future is not None:
                future.release()
        self.futures, self._actors = [], []

    def call(self, method, *arguments):
        """What a method gives, by member; raises what one of them raised, or Lost."""
        given = (self._members, method, *arguments)

        async def answers():
            return await asyncio.gather(*(self._ask(each, "act", given) for each in self._members))

        try:
            return self._engine.supervise(answers, self._check_members)
        except BaseException as error:
            self._stop()
            if isinstance(error, GONE):
                raise Lost(str(error)) from error
            raise

    async def _ask(self, member, method, arguments):
        from distributed.protocol import to_serialize

        address, name = member
        message = {"op": OPERATION, "member": name, "method": method}
        message["arguments"] = to_serialize(arguments)
        try:
            answer = await self._engine.client.scheduler.proxy(worker=address, msg=message)
        except Exception as error:  # of the connections; those of members are answers
            raise Lost(f"{address} does not answer: {error}") from error
        if answer["status"] == "gone":
            raise Lost(f"{address} does not have its member any more")
        if answer["status"] != "OK":
            raise answer["exception"]
        return answer["result"]

    def pieces(self, again, name):
        """A task a member: its `piece()`; where it is gone by then, what `again` makes.

        The context ends only when these have been computed.
        """
        submit = self._engine.submit
        pieces = [
            submit(_piece_of, own, number, again, *again.known, name=name, at=number)
            for number, own in enumerate(self.names)
        ]
        self._taken = [submit(_known, each, name="taken", at=at) for at, each in enumerate(pieces)]
        return pieces

    def _check_members(self):
        if any(future.status != "finished" for future in self.futures):
            raise Lost("a worker is gone")

    def _stop(self):
        """Let no member wait for another one, without waiting for that."""

        async def stop(futures):  # they keep members alive until these have heard of it
            asked = [self._ask(each, "stop", ()) for each in self._members]
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), STOPPING)

        with suppress(RuntimeError):  # the loop is closed, and the members with it
            self._engine.client.loop.add_callback(stop, list(self.futures))


class Batches:
    """How many rounds at once: few, then more as long as they are done soon."""

    def __init__(self, most=math.inf):
        self._most, self._count, self._began = most, FEW, None

    def next(self, done):
        now = time.monotonic()
        if self._began is not None and now - self._began < LASTING:
            self._count *= 2
        self._began = now
        return min(self._count, self._most - done)


def onward(report):
    """A report that leaves out what was reported before."""
    most = 0

    def forward(done, text):
        nonlocal most
        if done > most:
            most = done
            report(done, text)

    return forward


class Again:
    """What makes pieces once more: a function of an engine, of tasks, and of `more`.

    It gives a task a part, and may run in a task itself.
    """

    def __init__(self, engine, function, tasks):
        self._function, self._keys, self.more = function, [task.key for task in tasks], ()
        # Whoever has but one piece may need all tasks again: so the scheduler remembers them.
        self.known = [
            engine.submit(_known, task, name="known", at=at) for at, task in enumerate(tasks)
        ]

    def __getstate__(self):
        return vars(self) | {"known": None}

    def piece(self, number):
        from distributed import Future

        engine = engines.engine_of()
        tasks = [Future(key, engine.client) for key in self._keys]
        return engine.results([self._function(engine, tasks, *self.more)[number]])[0]


def _known(task):
    """Nothing: a task that depends on another, and is small."""


def _piece_of(name, number, again, *known):
    member = here(name)
    return again.piece(number) if member is None else member.piece()


UNAVAILABLE = OSError, RuntimeError, MemoryError  # what `make` raises; CUDA's are RuntimeErrors


def machine():
    """What is the same for processes that see each other: a text; None where nothing can be had."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.stat('/proc/self/ns/pid').st_ino} {os.getuid()}"
    except OSError:
        return None


def make(shape, dtype, xp=np):
    """(array of zeros, its address): another process gives the address to `reach`.

    The address holds as long as the array is there. One of UNAVAILABLE where there can be none.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if xp is not np:
        memory = xp.cuda.MemoryPointer(xp.cuda.Memory(size), 0)
        memory.memset(0, size)
        return xp.ndarray(shape, dtype, memory), xp.cuda.runtime.ipcGetMemHandle(memory.ptr)
    token = uuid.uuid4().bytes
    file = os.memfd_create("rapidsgraph")
    try:
        os.ftruncate(file, size + len(token))
        array = _mapped(file, shape, dtype)
        os.pwrite(file, token, size)
    except BaseException:
        os.close(file)
        raise
    weakref.finalize(array, os.close, file)
    return array, (os.getpid(), file, token)


def reach(address, shape, dtype, xp=np):
    """The array at an address that `make` gave; None where it cannot be reached."""
    if xp is not np:
        return _opened(address, shape, dtype, xp)
    process, file, token = address
    with suppress(OSError):
        own = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
        try:
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            if os.pread(own, len(token), size) == token:
                return _mapped(own, shape, dtype)
        finally:
            os.close(own)
    return None


def copy(source, to):
    """Copy between arrays of one type and size, also from another GPU's memory."""
    if isinstance(to, np.ndarray):
        to[:] = source
    else:
        to.data.copy_from(source.data, to.nbytes)


def _mapped(file, shape, dtype):
    count = int(np.prod(shape))
    memory = mmap.mmap(file, count * np.dtype(dtype).itemsize)
    return np.frombuffer(memory, dtype, count).reshape(shape)


def _opened(handle, shape, dtype, xp):
    """An array in another process's GPU memory; its own cannot be opened again."""
    runtime, owner = xp.cuda.runtime, _Opened()
    try:
        pointer = runtime.ipcOpenMemHandle(handle, runtime.cudaIpcMemLazyEnablePeerAccess)
    except runtime.CUDARuntimeError:
        return None
    weakref.finalize(owner, runtime.ipcCloseMemHandle, pointer)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = xp.cuda.UnownedMemory(pointer, size, owner)
    return xp.ndarray(shape, dtype, xp.cuda.MemoryPointer(memory, 0))


class _Opened:
    """Is there as long as an array that was opened."""
