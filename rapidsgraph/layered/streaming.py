"""Provide partitions to kernels within a memory limit.

A partition stream yields one partition after another in memory that kernels can read. On a GPU, the
first partitions stay there, as many as fit beside the vertex arrays. The others are copied while
their predecessors are processed, in a CUDA stream of their own [1]_: through a few page-locked
buffers or, if they are copied more than once and host memory suffices, directly from their own
memory, which is then page-locked. On a CPU, partitions are used in place, in memory or in a
memory-mapped file.

Kernels that read a partition must be launched before the next partition is requested.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   section 4.5.2.
"""

from __future__ import annotations

import collections
import concurrent.futures
import ctypes
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import device
from ..device import Array
from ..errors import InsufficientMemoryError
from ..kernels.constants import MAX_LAUNCH_PARTITIONS
from .packing import COLUMN, verify_partitions
from .storage import LayeredStorage

NUM_DEVICE_BUFFERS = 3
PINNED_BUFFER_BYTES, MAX_PINNED_BUFFERS = 2**21, 24
MAX_COPY_THREADS = 12  # that fill pinned buffers
MAX_PREFETCH = 64  # partitions
HOST_TO_DEVICE = 1  # cudaMemcpyHostToDevice

# First partition, stop, index of the first word, words.
Run = tuple[int, int, int, Array]
# Buffer number (None: copied directly), address, offset and size in bytes, and the pending copy.
Chunk = tuple[int | None, int, int, int, concurrent.futures.Future | None]


def open_stream(
    storage: LayeredStorage,
    reserved: int,
    limit: int | None,
    purpose: str,
    is_repeated: bool = True,
) -> PartitionStream:
    """Open the partition stream of a storage.

    Parameters
    ----------
    storage : LayeredStorage
    reserved : int
        Bytes of the vertex arrays of the algorithm.
    limit : int or None
        Memory limit in bytes, which includes `reserved`; None is the free memory.
    purpose : str
        What the memory is for, in the message of the InsufficientMemoryError that is raised if the
        vertex arrays and two partitions do not fit.
    is_repeated : bool
        Whether there is more than one sweep.
    """
    on_gpu = storage.xp is not np
    sizes = 4 * storage.table[:, COLUMN["words"]]
    total, largest = int(sizes.sum()), int(sizes.max(initial=0))
    available = available_memory(storage, limit)
    check_memory(storage, purpose, reserved + min_stream_bytes(storage), available, limit)
    resident_bytes = _resident_bytes(storage)
    fits = reserved + total <= available
    if not on_gpu:
        return MappedStream(storage) if storage.is_mapped and not fits else PartitionStream(storage)
    if fits and (resident_bytes or limit is None):
        if not device.is_on_gpu(storage.words):
            stream = GpuStream(storage, len(storage.table), 0, is_repeated=False)
            storage.words, storage.table = stream.resident, stream.resident_table
            storage.is_mapped = False
            stream.close()
        return PartitionStream(storage)
    num_buffers = 0
    if not fits:
        num_buffers = min(NUM_DEVICE_BUFFERS, max(2, (available - reserved) // max(largest, 1)))
    resident_limit = available - reserved - num_buffers * largest
    num_resident = int(np.searchsorted(np.cumsum(sizes), resident_limit, side="right"))
    return GpuStream(storage, num_resident, num_buffers, is_repeated)


def available_memory(storage: LayeredStorage, limit: int | None) -> int:
    """Return the bytes that a run may take, including partitions that are on the GPU already."""
    if limit is not None:
        return limit
    return device.free_memory(storage.xp) + _resident_bytes(storage)


def min_stream_bytes(storage: LayeredStorage) -> int:
    """Return the minimum bytes of the stream of a storage: two partitions if it can stream."""
    is_streamable = storage.xp is not np or storage.is_mapped
    return min(2 * storage.largest_partition, storage.nbytes) if is_streamable else storage.nbytes


def check_memory(
    storage: LayeredStorage, purpose: str, needed: int, available: int, limit: int | None
) -> None:
    """Raise InsufficientMemoryError if a run needs more memory than is available."""
    if available < needed:
        on_gpu = storage.xp is not np
        where = "memory_limit" if limit is not None else "on the GPU" if on_gpu else "in memory"
        raise InsufficientMemoryError(purpose, needed, available, where)


def _resident_bytes(storage: LayeredStorage) -> int:
    is_resident = storage.xp is not np and device.is_on_gpu(storage.words)
    return storage.nbytes if is_resident else 0


class PartitionStream:
    """A stream of partitions that kernels read in place.

    Attributes
    ----------
    table, checksums : arrays on the device
        Arguments of kernels.
    num_partitions, nbytes : int
        Number and size of the partitions that were yielded so far.
    """

    def __init__(self, storage: LayeredStorage) -> None:
        self.storage, self.words = storage, storage.words
        self.table, self.checksums, self._is_verified = storage.verification_arrays()
        self.num_partitions = self.nbytes = 0

    def sweep(
        self,
        partitions: Iterable[int],
        *,
        forward_only: bool = False,
        next_partitions: Iterable[int] = (),
    ) -> Iterator[Run]:
        """Yield runs of partitions: (start, stop, origin, words).

        `words[0]` has the index `origin` among the words of all partitions.

        Parameters
        ----------
        partitions : iterable of int
            Ascending numbers; the stream looks ahead.
        forward_only : bool
            Whether backward sections may be missing.
        next_partitions : iterable of int
            First partitions of the next sweep, if they are known, to be prefetched.
        """
        runs = self._runs(iter(partitions), forward_only, iter(next_partitions))
        for start, stop, origin, words in runs:
            self._verify(start, stop, origin, words, forward_only)
            yield start, stop, origin, words

    def _runs(
        self, partitions: Iterator[int], forward_only: bool, next_partitions: Iterator[int]
    ) -> Iterator[Run]:
        for start, stop in _consecutive_runs(partitions):
            yield start, stop, 0, self.words

    def _verify(self, start: int, stop: int, origin: int, words: Array, forward_only: bool) -> None:
        """Count a run of partitions and launch its verification if necessary."""
        storage = self.storage
        self.num_partitions += stop - start
        self.nbytes += self._num_bytes(start, stop, forward_only)
        sections = 1 if forward_only else 2
        is_complete = self._is_verified[start:stop, :sections].all(axis=1)
        for partition in (np.flatnonzero(~is_complete) + start).tolist():
            self.checksums[2 * partition : 2 * partition + 2] = 0
            verify_partitions(
                partition, partition + 1, origin, sections, storage.num_vertices, self.table,
                words, storage.weight_dtype, self.checksums,
                int(storage.table[partition, COLUMN["words"]]),
            )  # fmt: skip
            self._is_verified[partition, :sections] = True

    def _num_bytes(self, start: int, stop: int, forward_only: bool) -> int:
        column = COLUMN["forward_words" if forward_only else "words"]
        return 4 * int(self.storage.table[start:stop, column].sum())

    def finish(self) -> None:
        """Wait for the last kernels; raise GraphError if a partition was damaged or invalid."""
        if (self._is_verified == self.storage.is_verified).all():
            return
        checksums = device.to_host(self.checksums)
        is_new = self._is_verified & ~self.storage.is_verified
        for partition in np.flatnonzero(is_new.any(axis=1)).tolist():
            sections = int(self._is_verified[partition].sum())
            computed = checksums[2 * partition : 2 * partition + sections].tolist()
            self.storage.record_checksums(partition, computed)

    def close(self) -> None:
        """Release buffers and threads."""


def _consecutive_runs(partitions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive numbers, at most as many as one launch accepts."""
    start = stop = -1
    for partition in partitions:
        if partition != stop or stop - start == MAX_LAUNCH_PARTITIONS:
            if stop >= 0:
                yield start, stop
            start = partition
        stop = partition + 1
    if stop >= 0:
        yield start, stop


class MappedStream(PartitionStream):
    """A stream from a memory-mapped file that does not fit in memory."""

    def _runs(
        self, partitions: Iterator[int], forward_only: bool, next_partitions: Iterator[int]
    ) -> Iterator[Run]:
        ahead = next(partitions, None)
        while ahead is not None:
            partition, ahead = ahead, next(partitions, None)
            if ahead is not None:
                self._advise(ahead, mmap.MADV_WILLNEED)
            yield partition, partition + 1, 0, self.words
            self._advise(partition, mmap.MADV_DONTNEED)

    def _advise(self, partition: int, advice: int) -> None:
        row = self.storage.table[partition]
        start = int(row[COLUMN["position"]]) * 4
        stop = start + int(row[COLUMN["words"]]) * 4
        start -= start % mmap.PAGESIZE
        if stop > start:
            self.storage.mapped.madvise(advice, start, stop - start)


class GpuStream(PartitionStream):
    """A stream of resident partitions, and of others through a ring of buffers on the GPU."""

    def __init__(
        self, storage: LayeredStorage, num_resident: int, num_buffers: int, is_repeated: bool
    ) -> None:
        import cupy

        storage.words = device.to_host(storage.words)
        super().__init__(storage)
        self._cupy = cupy
        cupy.cuda.get_current_stream().synchronize()  # freed memory may still be in use
        self._is_pinned = storage.pin(is_repeated)
        self._pool = concurrent.futures.ThreadPoolExecutor(
            min(MAX_COPY_THREADS, os.cpu_count() or 1)
        )
        self._source, self._num_pinned = storage.words.ctypes.data, 0
        largest = int(storage.table[:, COLUMN["words"]].max(initial=1))
        if not self._is_pinned:
            sizes = 4 * storage.table[:, COLUMN["words"]]
            num_chunks = int((-(-sizes // PINNED_BUFFER_BYTES)).sum())
            self._num_pinned = max(
                min(MAX_PINNED_BUFFERS, num_chunks), -(-4 * largest // PINNED_BUFFER_BYTES)
            )
            num_bytes = self._num_pinned * PINNED_BUFFER_BYTES
            self._pinned: Any = cupy.cuda.alloc_pinned_memory(num_bytes)
        self._ring = [cupy.empty(largest, cupy.uint32) for _ in range(num_buffers)]
        self._copy_stream = cupy.cuda.Stream(non_blocking=True)
        # A pinned buffer may be refilled; a buffer on the GPU is full, and may be refilled.
        self._copied, self._arrived, self._processed = (
            [cupy.cuda.Event(disable_timing=True) for _ in range(count)]
            for count in (self._num_pinned, num_buffers, num_buffers)
        )
        self._num_ring_uses = self._num_fills = self._num_resident = 0
        # Chunks that were filled for the next sweep: ((partition, forward_only), chunks).
        self._prefetched: collections.deque[Any] = collections.deque()
        self.resident, self.resident_table = cupy.empty(0, cupy.uint32), storage.table
        if num_resident:
            self._load_resident(num_resident)

    def _load_resident(self, num_resident: int) -> None:
        """Copy the first partitions to the GPU, where they stay."""
        table = self.storage.table.copy()
        sizes = table[:num_resident, COLUMN["words"]]
        table[:num_resident, COLUMN["position"]] = np.cumsum(sizes) - sizes
        self.resident = self._cupy.empty(int(sizes.sum()), self._cupy.uint32)
        for partition, chunks in self._prefetch(iter(range(num_resident)), False, iter(())):
            assert chunks is not None
            start = int(table[partition, COLUMN["position"]])
            self._copy(chunks, self.resident[start : start + int(sizes[partition])])
        self._copy_stream.synchronize()
        self.resident_table = table
        self.table, self._num_resident = self._cupy.asarray(table), num_resident

    def _fill(self, partition: int, forward_only: bool) -> list[Chunk]:
        """Start to fill pinned buffers with a partition."""
        size = self._num_bytes(partition, partition + 1, forward_only)
        source = self._source + 4 * int(self.storage.table[partition, COLUMN["position"]])
        if self._is_pinned:
            return [(None, source, 0, size, None)]
        chunks: list[Chunk] = []
        for start in range(0, size, PINNED_BUFFER_BYTES):
            buffer = self._num_fills % self._num_pinned
            self._num_fills += 1
            target = self._pinned.ptr + buffer * PINNED_BUFFER_BYTES
            count = min(PINNED_BUFFER_BYTES, size - start)
            pending = self._pool.submit(
                _copy_when_free, self._copied[buffer], target, source + start, count
            )
            chunks.append((buffer, target, start, count, pending))
        return chunks

    def _copy(self, chunks: list[Chunk], target: Array) -> None:
        """Copy chunks to the GPU in the copy stream."""
        for buffer, source, start, size, pending in chunks:
            if pending is not None:
                pending.result()
            self._cupy.cuda.runtime.memcpyAsync(
                target.data.ptr + start, source, size, HOST_TO_DEVICE, self._copy_stream.ptr
            )
            if buffer is not None:
                self._copied[buffer].record(self._copy_stream)

    def _prefetch(
        self, partitions: Iterator[int], forward_only: bool, next_partitions: Iterator[int] | None
    ) -> Iterator[tuple[int, list[Chunk] | None]]:
        """Yield partitions and their chunks, filled ahead; None for resident partitions.

        Pinned buffers that are left at the end of the sweep are filled for the next one.
        """
        prefetched, self._prefetched = self._prefetched, collections.deque()
        queue: collections.deque[tuple[int, list[Chunk] | None]] = collections.deque()
        num_used, ahead = 0, next(partitions, None)
        while queue or ahead is not None:
            while ahead is not None and len(queue) < MAX_PREFETCH:
                num_needed = self._num_buffers(ahead, forward_only)
                if num_used and num_used + num_needed > self._num_pinned:
                    break
                chunks = None
                if ahead >= self._num_resident:
                    if prefetched and prefetched[0][0] == (ahead, forward_only):
                        chunks = prefetched.popleft()[1]
                    else:
                        _discard_all(prefetched)  # other partitions were expected
                        chunks = self._fill(ahead, forward_only)
                queue.append((ahead, chunks))
                num_used, ahead = num_used + num_needed, next(partitions, None)
            if ahead is None:
                _discard_all(prefetched)
            while ahead is None and next_partitions is not None:
                following = next(next_partitions, None)
                if following is None:
                    next_partitions = None
                elif following >= self._num_resident:
                    num_needed = self._num_buffers(following, forward_only)
                    is_full = num_used + num_needed > self._num_pinned
                    if is_full or len(self._prefetched) == MAX_PREFETCH:
                        next_partitions = itertools.chain((following,), next_partitions)
                        break
                    chunks = self._fill(following, forward_only)
                    self._prefetched.append(((following, forward_only), chunks))
                    num_used += num_needed
            partition, chunks = queue.popleft()
            num_used -= self._num_buffers(partition, forward_only)
            yield partition, chunks

    def _num_buffers(self, partition: int, forward_only: bool) -> int:
        """Return the number of pinned buffers that a partition takes."""
        if self._is_pinned or partition < self._num_resident:
            return 0
        return -(-self._num_bytes(partition, partition + 1, forward_only) // PINNED_BUFFER_BYTES)

    def _runs(
        self, partitions: Iterator[int], forward_only: bool, next_partitions: Iterator[int]
    ) -> Iterator[Run]:
        stream = self._cupy.cuda.get_current_stream()
        run: tuple[int, int] | None = None  # of resident partitions
        for partition, chunks in self._prefetch(partitions, forward_only, next_partitions):
            is_next = run and run[1] == partition < run[0] + MAX_LAUNCH_PARTITIONS
            if chunks is None and run and is_next:
                run = run[0], partition + 1
                continue
            if run:
                yield *run, 0, self.resident
            run = (partition, partition + 1) if chunks is None else None
            if chunks is None:
                continue
            index = self._num_ring_uses % len(self._ring)
            self._num_ring_uses += 1
            buffer = self._ring[index]
            size = self._num_bytes(partition, partition + 1, forward_only)
            self._copy_stream.wait_event(self._processed[index])
            self._copy(chunks, buffer[: size // 4])
            self._arrived[index].record(self._copy_stream)
            stream.wait_event(self._arrived[index])
            origin = int(self.storage.table[partition, COLUMN["position"]])
            yield partition, partition + 1, origin, buffer
            self._processed[index].record(stream)
        if run:
            yield *run, 0, self.resident

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._copy_stream.synchronize()
        self._cupy.cuda.get_current_stream().synchronize()
        self._ring, self.resident, self._pinned = [], None, None


def _discard_all(prefetched: collections.deque[Any]) -> None:
    """Wait until chunks are filled and forget them, so that their buffers can be used again."""
    while prefetched:
        _, chunks = prefetched.popleft()
        for *_, pending in chunks:
            if pending is not None:
                pending.result()


def _copy_when_free(free: Any, target: int, source: int, size: int) -> None:
    """Copy into a pinned buffer as soon as the event `free` says that it was read."""
    free.synchronize()
    ctypes.memmove(target, source, size)
