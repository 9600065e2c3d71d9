"""Adjacency lists in files, and a breadth-first search that reads them from disk."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...graph.csr import MULTI_EDGES
from ..build import storage_dtype
from . import KEEP_ALL, MERGE_SUM, NO_KEY, run_kernel
from .file_array import TempFiles

SMALL_LEVEL = 2**12  # vertices of a level whose rows may be read in any order
CHUNK_ROWS = 2**16  # rows of a frontier whose sizes are computed at once


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
        multi_edges: str,
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
        self._pending_key = np.array([NO_KEY])
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
        if key != int(NO_KEY):
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
