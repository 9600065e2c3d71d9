"""Partitions on their way to where they are computed on, within a limit of memory.

Means: a feed's `sweep(wanted)` gives partitions one after the other, each ready to be launched on.
  On a GPU the first stay there, as many as fit beside the vertex arrays; the others are copied
  while the ones before are computed: through a few pinned buffers or, where they are copied again
  and the host has room, from where they are, which is pinned then. On a CPU they are used where
  they are: in memory, or in a mapped file whose pages are asked for ahead and given back behind.
Requires: what is done with a partition is launched before the next one is asked for.
Reference: Zhu et al. 2017 (WolfPath 4.5.2: copies and kernels in streams of their own).
"""

import collections
import concurrent.futures
import ctypes
import itertools
import mmap
import os

import numpy as np

from .. import device
from ..errors import InsufficientMemoryError
from ..kernels.constants import MAX_LAUNCH_PARTITIONS
from .packing import COLUMN, verify_partitions

DEVICE_BUFFERS = 3
SLICE, SLOTS = 2**21, 24  # bytes of a pinned buffer, and how many there are
THREADS = 12  # at most, that fill them
AHEAD = 64  # partitions that are looked at ahead


def feed(layered, reserved, limit, what, again=True):
    """The feed for a list, within a limit of memory.

    Parameters
    ----------
    layered : LayeredEdgeList
    reserved : int
        Bytes that arrays by vertex take beside.
    limit : int or None
        Bytes for all; None: what is free.
    what : str
        What the memory is for, for messages.
    again : bool
        Whether there will be more sweeps than one.

    Raises
    ------
    InsufficientMemoryError
        Vertices and two partitions do not fit; says what would.
    """
    on_gpu = layered.xp is not np
    sizes = _bytes_of(layered.table, "words")
    total, largest = int(sizes.sum()), int(sizes.max(initial=0))
    there = total if on_gpu and device.is_on_gpu(layered.words) else 0
    given = device.free_memory(layered.xp) + there if limit is None else limit
    least = reserved + min(2 * largest, total)
    if not on_gpu and not layered.is_mapped:
        least = reserved + total
    if given < least:
        where = "on the GPU" if on_gpu else "in memory"
        raise InsufficientMemoryError(
            what, least, given, where if limit is None else "memory_limit"
        )
    fits = reserved + total <= given
    if not on_gpu:
        return _Mapped(layered) if layered.is_mapped and not fits else InPlace(layered)
    if fits and (there or limit is None):
        layered.move_to_gpu()
        return InPlace(layered)
    buffers = 0 if fits else min(DEVICE_BUFFERS, max(2, (given - reserved) // max(largest, 1)))
    room = given - reserved - buffers * largest
    resident = int(np.searchsorted(np.cumsum(sizes), room, side="right"))
    return _Streamed(layered, resident, buffers, again)


def held_on_gpu(layered):
    """(words, table) of a list with all its partitions on the GPU."""
    streamed = _Streamed(layered, len(layered.table), 0, False)
    words, table = streamed.held, streamed.host_table
    streamed.close()
    return words, table


def _bytes_of(table, column):
    return table[:, COLUMN[column]] * 4


class InPlace:
    """All partitions where they are computed on.

    Attributes
    ----------
    table, sums : arrays on the device
        As kernels take them.
    partitions, nbytes : int
        Given so far.
    """

    def __init__(self, layered):
        self.layered, self.xp, self.words = layered, layered.xp, layered.words
        self.table, self.sums, self._checked = layered.on_device()
        self.partitions = self.nbytes = 0

    def sweep(self, wanted, *, forward_only=False, then=()):
        """Give (start, stop, origin, words) for the partitions `wanted`, ascending numbers.

        Partitions from `start` to before `stop` are in `words`, whose first is word `origin` of
        all. `wanted` is looked at ahead. With `forward_only` backward sections may be missing.
        `then` are the first partitions of the next sweep, if they are known.
        """
        for start, stop in _runs(wanted):
            yield self._given(start, stop, 0, self.words, forward_only)

    def _given(self, start, stop, origin, words, forward_only):
        layered = self.layered
        self.partitions += stop - start
        part = "forward_words" if forward_only else "words"
        self.nbytes += int(_bytes_of(layered.table[start:stop], part).sum())
        parts = 1 if forward_only else 2
        for partition in np.flatnonzero(~self._checked[start:stop, :parts].all(axis=1)) + start:
            self.sums[2 * partition : 2 * partition + 2] = 0
            verify_partitions(
                partition, partition + 1, origin, parts, layered.num_vertices, self.table, words,
                layered.weight_dtype, self.sums, int(layered.table[partition, COLUMN["words"]]),
            )  # fmt: skip
            self._checked[partition, :parts] = True
        return start, stop, origin, words

    def finish(self):
        """Wait for the last kernels; raise GraphError if a partition was damaged or invalid."""
        if (self._checked == self.layered.checked).all():
            return
        sums = self.sums.get() if device.is_on_gpu(self.sums) else self.sums
        fresh = self._checked & ~self.layered.checked
        for partition in np.flatnonzero(fresh.any(axis=1)).tolist():
            parts = int(self._checked[partition].sum())
            found = sums[2 * partition : 2 * partition + parts].tolist()
            self.layered.note_checksums(partition, found)

    def close(self):
        """Give back what was held."""


def _runs(wanted):
    """(start, stop) of consecutive numbers, as many as a launch takes."""
    start = stop = None
    for partition in wanted:
        if partition != stop or stop - start == MAX_LAUNCH_PARTITIONS:
            if stop is not None:
                yield start, stop
            start = partition
        stop = partition + 1
    if stop is not None:
        yield start, stop


class _Mapped(InPlace):
    """Partitions of a mapped file that memory does not hold: pages come ahead and go behind."""

    def sweep(self, wanted, *, forward_only=False, then=()):
        wanted = itertools.chain(wanted, (None,))
        ahead = next(wanted)
        while ahead is not None:
            partition, ahead = ahead, next(wanted)
            if ahead is not None:
                self._advise(ahead, mmap.MADV_WILLNEED)
            yield self._given(partition, partition + 1, 0, self.layered.words, forward_only)
            self._advise(partition, mmap.MADV_DONTNEED)

    def _advise(self, partition, advice):
        page, row = mmap.PAGESIZE, self.layered.table[partition]
        begin = int(row[COLUMN["position"]]) * 4
        end = begin + int(row[COLUMN["words"]]) * 4
        begin -= begin % page
        if end > begin:
            self.layered.mapped.madvise(advice, begin, end - begin)


class _Streamed(InPlace):
    """The first partitions on the GPU, the others through a ring there."""

    def __init__(self, layered, resident, buffers, again):
        import cupy

        layered.move_to_host()
        super().__init__(layered)
        self._cupy = cupy
        cupy.cuda.get_current_stream().synchronize()  # what was freed may still be in use there
        self._is_pinned = layered.pin(again)
        self._pool = concurrent.futures.ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1))
        self._source, self._slots = layered.words.ctypes.data, 0
        largest = int(layered.table[:, COLUMN["words"]].max(initial=1))
        if not self._is_pinned:
            every = int((-(-_bytes_of(layered.table, "words") // SLICE)).sum())
            self._slots = max(min(SLOTS, every), -(-4 * largest // SLICE))
            self._memory = cupy.cuda.alloc_pinned_memory(self._slots * SLICE)
        self._ring = [cupy.empty(largest, cupy.uint32) for _ in range(buffers)]
        self._copies = cupy.cuda.Stream(non_blocking=True)
        # When a pinned buffer may be filled again; when a buffer on the GPU is full, and free.
        self._copied, self._arrived, self._computed = (
            [cupy.cuda.Event(disable_timing=True) for _ in range(count)]
            for count in (self._slots, buffers, buffers)
        )
        self._turn = self._filled = 0
        self._ahead = collections.deque()
        self._resident = 0
        self.held, self.host_table = cupy.empty(0, cupy.uint32), layered.table
        if resident:
            self._hold(resident)

    def _hold(self, resident):
        """Bring the first partitions to the GPU, to stay."""
        own = self.layered.table.copy()
        sizes = own[:resident, COLUMN["words"]]
        own[:resident, COLUMN["position"]] = np.cumsum(sizes) - sizes
        self.held = self._cupy.empty(int(sizes.sum()), self._cupy.uint32)
        for partition, filling in self._filling(iter(range(resident)), False, iter(())):
            start = int(own[partition, COLUMN["position"]])
            self._copy(filling, self.held[start : start + int(sizes[partition])])
        self._copies.synchronize()
        self.host_table = own
        self.table, self._resident = self._cupy.asarray(own), resident

    def _size(self, partition, forward_only):
        row = self.layered.table[partition]
        return 4 * int(row[COLUMN["forward_words" if forward_only else "words"]])

    def _fill(self, partition, forward_only):
        """Have pinned buffers filled: (slot, address, offset, size, what to wait for) of each."""
        size = self._size(partition, forward_only)
        source = self._source + 4 * int(self.layered.table[partition, COLUMN["position"]])
        if self._is_pinned:
            return [(None, source, 0, size, None)]
        filling = []
        for start in range(0, size, SLICE):
            slot = self._filled % self._slots
            self._filled += 1
            target, count = self._memory.ptr + slot * SLICE, min(SLICE, size - start)
            filled = self._pool.submit(_move, self._copied[slot], target, source + start, count)
            filling.append((slot, target, start, count, filled))
        return filling

    def _copy(self, filling, target):
        """Copy to the GPU, in a stream of its own."""
        for slot, source, start, size, filled in filling:
            if filled is not None:
                filled.result()
            self._cupy.cuda.runtime.memcpyAsync(
                target.data.ptr + start, source, size, 1, self._copies.ptr
            )  # 1: from the host to the device
            if slot is not None:
                self._copied[slot].record(self._copies)

    def _filling(self, wanted, forward_only, then):
        """(partition, what `_fill` gives, or None if it stays on the GPU), filled ahead.

        `then` are filled, too, while there is room, and kept for the next sweep.
        """
        known, self._ahead = self._ahead, collections.deque()
        queue, used, coming = collections.deque(), 0, next(wanted, None)
        while queue or coming is not None:
            while coming is not None and len(queue) < AHEAD:
                need = self._need(coming, forward_only)
                if used and used + need > self._slots:
                    break
                if coming < self._resident:
                    filling = None
                elif known and known[0][0] == (coming, forward_only):
                    filling = known.popleft()[1]
                else:
                    while known:  # not what was expected: let their buffers go
                        self._drop(known.popleft()[1])
                    filling = self._fill(coming, forward_only)
                queue.append((coming, filling))
                used, coming = used + need, next(wanted, None)
            while coming is None and known:  # neither were these
                self._drop(known.popleft()[1])
            while coming is None and then is not None:
                following = next(then, None)
                if following is None:
                    then = None
                elif following >= self._resident:
                    need = self._need(following, forward_only)
                    if used + need > self._slots or len(self._ahead) == AHEAD:
                        then = itertools.chain((following,), then)
                        break
                    filling = self._fill(following, forward_only)
                    self._ahead.append(((following, forward_only), filling))
                    used += need
            partition, filling = queue.popleft()
            used -= self._need(partition, forward_only)
            yield partition, filling

    def _need(self, partition, forward_only):
        """Pinned buffers for a partition."""
        if self._is_pinned or partition < self._resident:
            return 0
        return -(-self._size(partition, forward_only) // SLICE)

    def sweep(self, wanted, *, forward_only=False, then=()):
        stream, run = self._cupy.cuda.get_current_stream(), None
        for partition, filling in self._filling(iter(wanted), forward_only, iter(then)):
            if filling is None:
                if run and run[1] == partition < run[0] + MAX_LAUNCH_PARTITIONS:
                    run = run[0], partition + 1
                    continue
                if run:
                    yield self._given(*run, 0, self.held, forward_only)
                run = partition, partition + 1
                continue
            if run:
                yield self._given(*run, 0, self.held, forward_only)
                run = None
            place = self._turn % len(self._ring)
            self._turn += 1
            self._copies.wait_event(self._computed[place])
            self._copy(filling, self._ring[place][: self._size(partition, forward_only) // 4])
            self._arrived[place].record(self._copies)
            stream.wait_event(self._arrived[place])
            origin = int(self.layered.table[partition, COLUMN["position"]])
            yield self._given(partition, partition + 1, origin, self._ring[place], forward_only)
            self._computed[place].record(stream)
        if run:
            yield self._given(*run, 0, self.held, forward_only)

    def _drop(self, filling):
        for *_, filled in filling:
            if filled is not None:
                filled.result()

    def close(self):
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._copies.synchronize()
        self._cupy.cuda.get_current_stream().synchronize()
        self._ring = self.held = self._memory = None


def _move(free, target, source, size):
    free.synchronize()
    ctypes.memmove(target, source, size)
