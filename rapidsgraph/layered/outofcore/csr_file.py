"""Sort edges and write them as adjacency lists, on disk.

`BucketSorter` sorts edge keys: batches are scattered into buckets of consecutive keys, which are
written to disk. A bucket that fits in memory is then sorted there; a larger one is scattered again.
Equal keys stay in the order in which they came. `CsrFile` merges parallel edges and writes the
adjacency lists, and `bfs_distances` reads them.

References
----------
Knuth, The Art of Computer Programming, volume 3, section 5.4.9 (external distribution sort).
"""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ... import device, kernels
from ...graph.csr import offsets_from_sizes
from ...graph.multi_edges import MULTI_EDGES, MultiEdges
from ...kernels.constants import KEEP_ALL, MERGE_SUM, NO_KEY
from ..build import storage_dtype
from . import run_kernel
from .file_array import TempFiles

DIGIT_BITS = 12
MAX_BUCKETS = 512  # per pass; one read is scattered to as many buffers
SMALL_LEVEL = 2**12  # vertices of a level whose rows may be read in any order
CHUNK_ROWS = 2**16  # rows of a frontier whose sizes are computed at once


class BucketSorter:
    """Sort keys, with or without weights, that do not fit in memory.

    Parameters
    ----------
    files : TempFiles
    min_key, num_bits : int
        Keys are in [min_key, min_key + 2**num_bits).
    num_buckets : int
        Upper bound of the number of buckets.
    weight_dtype : dtype or None
        None without weights.
    max_keys : int
        Number of keys that fit in memory.
    """

    def __init__(
        self,
        files: TempFiles,
        *,
        min_key: int,
        num_bits: int,
        num_buckets: int,
        weight_dtype: Any,
        max_keys: int,
    ) -> None:
        self._files, self._min_key, self._max_keys = files, min_key, max_keys
        self._shift = max(num_bits - max(num_buckets - 1, 0).bit_length(), 0)
        self._num_buckets = 1 << (num_bits - self._shift)
        self._weighted = weight_dtype is not None
        self._weight_dtype = np.dtype(weight_dtype if self._weighted else np.float64)
        self._keys = files.create(np.uint64)
        self._weights = files.create(self._weight_dtype) if self._weighted else None
        self._batch_offsets: list[np.ndarray] = []  # by batch and bucket: (num_buckets + 1,)

    @property
    def size(self) -> int:
        return self._keys.size

    def add(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """Write a batch by bucket; `weights` is empty without weights."""
        if not keys.size:
            return
        offsets = np.array([0, keys.size])
        if self._num_buckets > 1:
            bucketed, bucketed_weights = np.empty_like(keys), np.empty_like(weights)
            offsets = _scatter(
                keys, weights, bucketed, bucketed_weights, min_key=self._min_key,
                shift=self._shift, num_digits=self._num_buckets,
            )  # fmt: skip
            keys, weights = bucketed, bucketed_weights
        self._batch_offsets.append(offsets + self._keys.size)
        self._keys.append(keys)
        if self._weights is not None:
            self._weights.append(weights)

    def sorted_batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (keys, weights); keys ascend within a batch and from batch to batch.

        A batch has at most `max_keys` keys. The arrays belong to the caller.
        """
        offsets = np.array(self._batch_offsets, np.int64).reshape(-1, self._num_buckets + 1)
        sizes = np.diff(offsets, axis=1).sum(axis=0)
        start = 0
        while start < self._num_buckets:
            stop, total = start, 0
            while stop < self._num_buckets and stop - start < MAX_BUCKETS:
                if total + int(sizes[stop]) > self._max_keys:
                    break
                total += int(sizes[stop])
                stop += 1
            if stop > start:
                yield self._sort_buckets(offsets, start, stop, total)
                start = stop
            else:
                yield from self._split_bucket(offsets, start)
                start += 1

    def _sort_buckets(
        self, offsets: np.ndarray, start: int, stop: int, total: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted keys of the buckets [start, stop), and their weights."""
        bucket_sizes = np.diff(offsets[:, start : stop + 1], axis=1).sum(axis=0)
        bucket_starts = offsets_from_sizes(bucket_sizes)
        keys = np.empty(total, np.uint64)
        weights = np.empty(total if self._weighted else 0, self._weight_dtype)
        cursors = bucket_starts[:-1].copy()
        for batch in offsets:
            sizes = np.diff(batch[start : stop + 1])
            slices = [
                slice(cursor, cursor + size)
                for cursor, size in zip(cursors.tolist(), sizes.tolist(), strict=True)
            ]
            self._keys.read_into(int(batch[start]), [keys[s] for s in slices])
            if self._weights is not None:
                self._weights.read_into(int(batch[start]), [weights[s] for s in slices])
            cursors += sizes
        if self._weighted:
            min_key = self._min_key + (start << self._shift)
            return radix_sort(keys, weights, min_key, (stop - start << self._shift) - 1)
        slices = [slice(*bounds) for bounds in itertools.pairwise(bucket_starts.tolist())]
        with ThreadPoolExecutor(device.num_threads()) as pool:
            list(pool.map(lambda s: keys[s].sort(), slices))
        return keys, weights

    def _split_bucket(
        self, offsets: np.ndarray, bucket: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the sorted batches of a bucket that does not fit in memory.

        The bucket is scattered again, unless all of its keys are equal.
        """
        sorter = None
        if self._shift:
            sorter = BucketSorter(
                self._files, min_key=self._min_key + (bucket << self._shift),
                num_bits=self._shift, num_buckets=MAX_BUCKETS // 2, max_keys=self._max_keys,
                weight_dtype=self._weight_dtype if self._weighted else None,
            )  # fmt: skip
        for batch in offsets:
            start, stop = map(int, batch[bucket : bucket + 2])
            for chunk in range(start, stop, max(self._max_keys // 2, 1)):
                chunk_stop = min(chunk + self._max_keys // 2, stop)
                keys, weights = self._keys.read(chunk, chunk_stop), np.empty(0, self._weight_dtype)
                if self._weights is not None:
                    weights = self._weights.read(chunk, chunk_stop)
                if sorter is not None:
                    sorter.add(keys, weights)
                else:
                    yield keys, weights
        if sorter is not None:
            yield from sorter.sorted_batches()
            sorter.close()

    def close(self) -> None:
        self._keys.close()
        if self._weights is not None:
            self._weights.close()


def _scatter(
    keys: np.ndarray,
    weights: np.ndarray,
    out_keys: np.ndarray,
    out_weights: np.ndarray,
    *,
    min_key: int,
    shift: int,
    num_digits: int,
    mask: int = 2**63 - 1,
) -> np.ndarray:
    """Group keys by the digit ``(key - min_key) >> shift & mask``; return the digits' offsets."""
    digit = np.uint64(min_key), np.uint64(shift), np.uint64(mask)
    cursors = np.zeros((device.num_threads(), num_digits), np.int64)
    offsets = np.empty(num_digits + 1, np.int64)
    run_kernel("count_digits", keys, *digit, cursors)
    kernels.counting.accumulate_counts(cursors, offsets)
    run_kernel(
        "scatter_by_digit", keys, weights, weights.size > 0, *digit, cursors, out_keys, out_weights
    )
    return offsets


def radix_sort(
    keys: np.ndarray, weights: np.ndarray, min_key: int, span: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys in [min_key, min_key + span] stably, with their weights."""
    other_keys, other_weights = np.empty_like(keys), np.empty_like(weights)
    used_bits = int(np.bitwise_or.reduce(keys - np.uint64(min_key))) if keys.size else 0
    mask = (1 << DIGIT_BITS) - 1
    for shift in range(0, span.bit_length(), DIGIT_BITS):
        if used_bits >> shift & mask:
            _scatter(
                keys, weights, other_keys, other_weights, min_key=min_key, shift=shift,
                num_digits=1 << DIGIT_BITS, mask=mask,
            )  # fmt: skip
            keys, weights, other_keys, other_weights = other_keys, other_weights, keys, weights
    return keys, weights


class CsrFile:
    """Neighbors and weights of all vertices in files, with the offsets in memory.

    Neighbors ascend and parallel edges are merged, as in ``Graph.csr``.

    Parameters
    ----------
    files : TempFiles
    num_vertices : int
    multi_edges : str
        As for `Graph`.
    weight_dtype : dtype or None
        Type of the weights to be added; None without weights.
    sum_dtype : dtype
        int64 or float64: the type in which weights are summed if `multi_edges` is "sum".

    Attributes
    ----------
    offsets : int64 array, shape (num_vertices + 1,)
    neighbors, weights : FileArray
        The weights are None without weights. Their dtype may be wider than `weight_dtype`, which
        is known only when all edges were added.
    infinite_edge : (int, int) or None
        Source and destination of an edge whose weights sum to infinity, after `finish`.
    """

    def __init__(
        self,
        files: TempFiles,
        num_vertices: int,
        multi_edges: MultiEdges,
        weight_dtype: np.dtype | None,
        sum_dtype: Any,
    ) -> None:
        policy = MULTI_EDGES[multi_edges]
        self._policy = KEEP_ALL if policy is None else policy
        sums = self._policy == MERGE_SUM
        self._counts = weight_dtype is None and sums  # the number of parallel edges is the weight
        self.weighted = weight_dtype is not None or sums
        self._merge_dtype = np.dtype(sum_dtype if sums else np.float64)
        file_dtype = np.float32 if weight_dtype == np.float32 and not sums else np.float64
        self.neighbors = files.create(np.int32)
        self.weights = files.create(file_dtype) if self.weighted else None
        self.offsets = np.zeros(num_vertices + 1, np.int64)
        self._weight_sums = np.zeros(num_vertices if self.weighted else 0)
        self._pending_key = np.array([NO_KEY], np.uint64)
        self._pending_weight = np.zeros(1, self._merge_dtype)
        self._fits_single = True
        self._infinite_arc: tuple[int, int] | None = None  # (index, destination)
        self.infinite_edge: tuple[int, int] | None = None

    def append_sorted(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """Append edges; keys ascend, also from call to call. Both arrays are overwritten."""
        if self._counts:
            weights = np.ones(keys.size)
        elif self.weighted:
            weights = weights.astype(self._merge_dtype, copy=False)
        neighbors = keys.view(np.int32)
        count = run_kernel(
            "merge_edges", keys, weights, self.weighted, self._policy, self._pending_key,
            self._pending_weight, neighbors, self.offsets[1:], self._weight_sums,
        )  # fmt: skip
        self._append(neighbors[:count], weights[:count])

    def _append(self, neighbors: np.ndarray, weights: np.ndarray) -> None:
        self.neighbors.append(neighbors)
        if self.weights is None:
            return
        can_overflow = self._policy == MERGE_SUM and self._infinite_arc is None and weights.size
        if can_overflow and weights.max() == np.inf:
            arc = int(weights.argmax())  # its source is known when all offsets are
            index = self.neighbors.size - neighbors.size + arc
            self._infinite_arc = index, int(neighbors[arc])
        self._fits_single &= storage_dtype(weights) is np.float32
        self.weights.append(weights)

    def finish(self) -> None:
        """Append the pending edge and compute the offsets."""
        key = int(self._pending_key[0])
        if key != NO_KEY:
            source, destination = key >> 32, key & 0xFFFFFFFF
            self.offsets[source + 1] += 1
            if self.weighted:
                self._weight_sums[source] += self._pending_weight[0]
            self._append(np.array([destination], np.int32), self._pending_weight)
        np.cumsum(self.offsets, out=self.offsets)
        if self._infinite_arc is not None:
            arc, destination = self._infinite_arc
            source = int(np.searchsorted(self.offsets, arc, side="right")) - 1
            self.infinite_edge = source, destination

    @property
    def num_arcs(self) -> int:
        return self.neighbors.size

    @property
    def weight_dtype(self) -> Any:
        """The type of the weights in a store: None, float32 or float64."""
        if not self.weighted:
            return None
        return np.float32 if self._fits_single else np.float64

    def out_weights(self) -> np.ndarray:
        """Return the sum of the weights of each vertex, or its degree without weights: float64."""
        return self._weight_sums if self.weighted else np.diff(self.offsets).astype(np.float64)

    def close(self) -> None:
        """Remove the files; the offsets stay."""
        self.neighbors.close()
        if self.weights is not None:
            self.weights.close()


def bfs_distances(
    csr: CsrFile, root: int, memory: int, report: Callable[[int, int], None]
) -> np.ndarray:
    """Compute the BFS distance of each vertex from `root`: int32, -1 where unreached.

    Each row is read once. The rows of a large level are read in the order of the file, and the
    pages are dropped after they were read.

    Parameters
    ----------
    csr : CsrFile
    root : int
        Vertex id.
    memory : int
        Bytes for mapped pages.
    report : callable
        Called after each level with the number of levels and of vertices so far.
    """
    offsets, num_vertices = csr.offsets, csr.offsets.size - 1
    distances, queue = np.full(num_vertices, -1, np.int32), np.empty(num_vertices, np.int32)
    distances[root], queue[0] = 0, root
    if not csr.num_arcs:
        return distances
    level, start, stop = 0, 0, 1
    max_vertices = max(memory // mmap.PAGESIZE, SMALL_LEVEL)
    neighbors = csr.neighbors.mapped()
    try:
        while start < stop:
            if stop - start < SMALL_LEVEL:
                start, stop, level = run_kernel(
                    "expand_small_levels", queue, start, stop, level, SMALL_LEVEL, max_vertices,
                    offsets, neighbors, distances,
                )  # fmt: skip
                csr.neighbors.release()
            else:
                queue[start:stop].sort()
                tail, level = stop, level + 1
                for rows in _split_frontier(queue[start:stop], offsets, memory):
                    tail = run_kernel(
                        "expand_frontier", rows, level, offsets, neighbors, distances, queue, tail
                    )
                    csr.neighbors.release()
                start, stop = stop, tail
            report(level, stop)
    finally:
        del neighbors
        csr.neighbors.unmap()
    return distances


def _split_frontier(frontier: np.ndarray, offsets: np.ndarray, memory: int) -> Iterator[np.ndarray]:
    """Split a frontier into ranges whose rows are on about `memory` bytes of pages."""
    for chunk in range(0, frontier.size, CHUNK_ROWS):
        rows = frontier[chunk : chunk + CHUNK_ROWS]
        page_bytes = np.cumsum((offsets[rows + 1] - offsets[rows]) * 4 + mmap.PAGESIZE)
        start = 0
        while start < rows.size:
            max_bytes = memory + (int(page_bytes[start - 1]) if start else 0)
            stop = max(int(np.searchsorted(page_bytes, max_bytes, side="right")), start + 1)
            yield rows[start:stop]
            start = stop
