"""Streams of partitions that kernels read in place, in memory or in a memory-mapped file."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Iterable, Iterator

import numpy as np

from .. import device
from ..device import Array
from ..kernels.constants import MAX_LAUNCH_PARTITIONS
from .packing import COLUMN, verify_partitions
from .storage import LayeredStorage

# Number of the first partition, number after the last one, position of the first word, words.
Run = tuple[int, int, int, Array]


def column_bytes(table: np.ndarray, column: str) -> np.ndarray:
    """Return a column of sizes in words as sizes in bytes."""
    return table[:, COLUMN[column]] * 4


class PartitionStream:
    """A stream of partitions that kernels read in place.

    Attributes
    ----------
    table, checksums : arrays on the device
        Arguments of kernels.
    num_partitions, nbytes : int
        Partitions that were yielded so far, and their size.
    """

    def __init__(self, storage: LayeredStorage) -> None:
        self.storage, self.xp, self.words = storage, storage.xp, storage.words
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

        Parameters
        ----------
        partitions : iterable of int
            Ascending numbers; the stream looks ahead.
        forward_only : bool
            Whether backward sections may be missing.
        next_partitions : iterable of int
            First partitions of the next sweep, if they are known, to be prefetched.

        Yields
        ------
        start, stop : int
            Range of partitions.
        origin : int
            Position of `words[0]` among the words of all partitions.
        words : uint32 array
        """
        for start, stop in _consecutive_runs(partitions):
            yield self._verified(start, stop, 0, self.words, forward_only)

    def _verified(
        self, start: int, stop: int, origin: int, words: Array, forward_only: bool
    ) -> Run:
        """Count a run of partitions and launch its verification if necessary."""
        storage = self.storage
        self.num_partitions += stop - start
        column = "forward_words" if forward_only else "words"
        self.nbytes += int(column_bytes(storage.table[start:stop], column).sum())
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
        return start, stop, origin, words

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

    def sweep(
        self,
        partitions: Iterable[int],
        *,
        forward_only: bool = False,
        next_partitions: Iterable[int] = (),
    ) -> Iterator[Run]:
        following: Iterator[int | None] = itertools.chain(partitions, (None,))
        ahead = next(following)
        while ahead is not None:
            partition, ahead = ahead, next(following)
            if ahead is not None:
                self._advise(ahead, mmap.MADV_WILLNEED)
            yield self._verified(partition, partition + 1, 0, self.storage.words, forward_only)
            self._advise(partition, mmap.MADV_DONTNEED)

    def _advise(self, partition: int, advice: int) -> None:
        row = self.storage.table[partition]
        start = int(row[COLUMN["position"]]) * 4
        stop = start + int(row[COLUMN["words"]]) * 4
        start -= start % mmap.PAGESIZE
        if stop > start:
            self.storage.mapped.madvise(advice, start, stop - start)
