"""What does not fit in memory, on disk in buckets by key.

Means: batches of keys come in any order and go out in ascending order, equal keys in the order in
  which they came; so lists of neighbors are sorted with as much memory as there is.
Requires: room on the disk of the folder; a temporary folder that vanishes, also after a kill: the
  next run removes it.
Reference: external distribution sort, Knuth, The Art of Computer Programming 3, 5.4.9.
"""

import contextlib
import ctypes
import math
import mmap
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ... import device
from ...errors import GraphError, format_bytes
from ...kernels import counting
from . import kernels

DIGIT = 12  # bits
BUCKETS = 512  # at most, at once; a read is scattered to as many buffers
POOLED_FROM = 10**9  # bytes of a limit, from which what allocators keep is of no account
PIECE = 2**27  # keys moved at once, at most: 1 GB, which one system call reads


def run(entry, *arguments):
    """Run a kernel that has no twin."""
    size = max(each.size for each in arguments if isinstance(each, np.ndarray))
    with device.parallel_region(size):
        return entry(*arguments)


@contextlib.contextmanager
def system_memory(limit):
    """Have Arrow allocate by malloc under a low limit, so that freed memory leaves the process.

    Its own allocators are faster, but keep tens of megabytes for its threads.
    """
    import pyarrow

    if limit >= POOLED_FROM:
        yield
        return
    before = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    try:
        yield
    finally:
        release_free_memory()
        pyarrow.set_memory_pool(before)


def release_free_memory():
    """Return memory that malloc keeps for reuse, in a block of `system_memory` and where it can."""
    import pyarrow

    if pyarrow.default_memory_pool().backend_name != "system":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # of glibc
        trim(0)


def check_disk(folder, needed):
    """Raise GraphError where the disk has less room than will be needed."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise GraphError(
            f"{folder}: about {format_bytes(needed, math.ceil)} are needed there while the layers "
            f"are built, and {format_bytes(free)} are free; free some, or write to another disk"
        )


class Scratch:
    """Files in a folder, which are closed at the end of the block; the folder is another's."""

    def __init__(self, folder):
        self.folder, self.files = Path(folder), []

    def flat(self, dtype):
        """A new Flat."""
        self.files.append(Flat(self.folder / f"{len(self.files)}.flat", dtype))
        return self.files[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.files:
            file.close()


class Flat:
    """An array in a file, written from its start and read anywhere."""

    def __init__(self, path, dtype):
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        self._map = None
        self.file = open(path, "w+b", buffering=0)  # noqa: SIM115 - until `close`

    def append(self, values):
        data = memoryview(np.ascontiguousarray(values, self.dtype)).cast("B")
        while len(data):
            data = data[self.file.write(data) :]
        self.size += len(values)

    def write(self, start, values):
        """Write `values` at `start`, inside or behind what is there."""
        data = memoryview(np.ascontiguousarray(values, self.dtype)).cast("B")
        place = start * self.dtype.itemsize
        while len(data):
            written = os.pwrite(self.file.fileno(), data, place)
            data, place = data[written:], place + written

    def mapped(self):
        """What was appended as an array over the mapped file; `release` drops its pages."""
        if not self.size:
            return np.empty(0, self.dtype)
        self._map = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(self._map, self.dtype)

    def release(self):
        """Drop the pages of the mapped file from this process; they are read again if needed."""
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)

    def read(self, begin, into):
        """Fill arrays, one after the other, with what begins at `begin`."""
        into = [values for values in into if len(values)]
        wanted = sum(values.nbytes for values in into)
        place, read = begin * self.dtype.itemsize, 0
        if wanted:
            read = os.preadv(self.file.fileno(), [memoryview(v).cast("B") for v in into], place)
        if read != wanted:
            raise OSError(f"{self.path}: {wanted} bytes were to be read at {place}, not {read}")

    def close(self):
        self.file.close()
        self.path.unlink(missing_ok=True)


class Spill:
    """Keys, perhaps with weights, in buckets of consecutive keys.

    Parameters
    ----------
    scratch : Scratch
    low, bits : int
        Keys are at least `low` and below low + 2**bits.
    buckets : int
        As many, or fewer.
    weight_type : dtype or None
    room : int
        Keys that may be in memory at once.
    """

    def __init__(self, scratch, low, bits, buckets, weight_type, room):
        self.scratch, self.low, self.room = scratch, low, room
        self.shift = max(bits - max(buckets - 1, 0).bit_length(), 0)
        self.count = 1 << (bits - self.shift)
        self.keys = scratch.flat(np.uint64)
        self.weighted = weight_type is not None
        self.weight_type = weight_type if self.weighted else np.float64
        self.weights = scratch.flat(self.weight_type) if self.weighted else None
        self.starts = []  # of each bucket in each batch, and the end

    def add(self, keys, weights):
        """Write a batch, by bucket; `weights` are empty where there are none."""
        if not keys.size:
            return
        moved, moved_weights, cursors = keys, weights, np.array([0, keys.size])
        if self.count > 1:
            moved, moved_weights = np.empty_like(keys), np.empty_like(weights)
            cursors = by_digit(
                keys, weights, self.low, self.shift, self.count, moved, moved_weights
            )
        self.starts.append(cursors + self.keys.size)
        self.keys.append(moved)
        if self.weighted:
            self.weights.append(moved_weights)

    @property
    def size(self):
        return self.keys.size

    def runs(self):
        """(keys, weights) of all buckets, keys ascending from the first run to the last.

        At most `room` keys at a time; arrays belong to the caller.
        """
        starts = np.array(self.starts, np.int64).reshape(-1, self.count + 1)
        sizes = np.diff(starts, axis=1).sum(axis=0)
        first = 0
        while first < self.count:
            last, total = first, 0
            while last < self.count and last - first < BUCKETS:
                if total + int(sizes[last]) > self.room:
                    break
                total += int(sizes[last])
                last += 1
            if last > first:
                yield self._sorted(starts, first, last, total)
                first = last
            else:
                yield from self._parts(starts, first)
                first += 1

    def _sorted(self, starts, first, last, total):
        ends = np.zeros(last - first + 1, np.int64)
        np.cumsum(np.diff(starts[:, first : last + 1], axis=1).sum(axis=0), out=ends[1:])
        keys = np.empty(total, np.uint64)
        weights = np.empty(total if self.weighted else 0, self.weight_type)
        cursors = ends[:-1].copy()
        for batch in starts:
            sizes = np.diff(batch[first : last + 1])
            slices = [slice(c, c + n) for c, n in zip(cursors.tolist(), sizes.tolist())]
            self.keys.read(int(batch[first]), [keys[s] for s in slices])
            if self.weighted:
                self.weights.read(int(batch[first]), [weights[s] for s in slices])
            cursors += sizes
        if self.weighted:
            low = self.low + (first << self.shift)
            return sort_digits(keys, weights, low, (last - first << self.shift) - 1)
        slices = [slice(begin, end) for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist())]
        with ThreadPoolExecutor(counting.threads()) as threads:
            list(threads.map(lambda s: keys[s].sort(), slices))
        return keys, weights

    def _parts(self, starts, bucket):
        """Runs of a bucket that is too large: spilled again, or as it is if its keys are equal."""
        parts = None
        if self.shift:
            low = self.low + (bucket << self.shift)
            weight_type = self.weight_type if self.weighted else None
            parts = Spill(self.scratch, low, self.shift, BUCKETS // 2, weight_type, self.room)
        for batch in starts:
            begin, end = map(int, batch[bucket : bucket + 2])
            for piece in range(begin, end, max(self.room // 2, 1)):
                size = min(self.room // 2, end - piece)
                keys = np.empty(size, np.uint64)
                weights = np.empty(size if self.weighted else 0, self.weight_type)
                self.keys.read(piece, [keys])
                if self.weighted:
                    self.weights.read(piece, [weights])
                if parts:
                    parts.add(keys, weights)
                else:
                    yield keys, weights
        if parts:
            yield from parts.runs()
            parts.close()

    def close(self):
        self.keys.close()
        if self.weights:
            self.weights.close()


def by_digit(keys, weights, low, shift, count, moved, moved_weights, mask=None):
    """Move keys by (key - low) >> shift; where each of the `count` digits begins, and the end."""
    mask = 2**63 - 1 if mask is None else mask
    low, shift, mask = np.uint64(low), np.uint64(shift), np.uint64(mask)
    cursors = np.zeros((counting.threads(), count), np.int64)
    starts = np.empty(count + 1, np.int64)
    run(kernels.count_digits, keys, low, shift, mask, cursors)
    counting.accumulate_parts(cursors, starts)
    run(
        kernels.move_digits, keys, weights, weights.size > 0, low, shift, mask, cursors, moved,
        moved_weights,
    )  # fmt: skip
    return starts


def sort_digits(keys, weights, low, span):
    """Both in the order of the keys, which are from `low` to low + span; equal ones as they are."""
    high, more = np.empty_like(keys), np.empty_like(weights)
    bits, shift = span.bit_length(), 0
    used = int(np.bitwise_or.reduce(keys - np.uint64(low))) if keys.size else 0
    while shift < bits:
        mask = (1 << DIGIT) - 1
        if used >> shift & mask:
            by_digit(keys, weights, low, shift, 1 << DIGIT, high, more, mask)
            keys, weights, high, more = high, more, keys, weights
        shift += DIGIT
    return keys, weights
