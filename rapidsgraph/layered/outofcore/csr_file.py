"""Adjacency lists in a file, and a search through them.

Means: what Graph.csr holds: neighbors ascending, parallel edges merged, offsets by vertex in
  memory and the rest on the disk; and the distances of a breadth-first search.
Requires: keys in ascending order.
"""

import contextlib
import mmap

import numpy as np

from ...graph.csr import MULTI_EDGES
from ..build import stored_dtype
from . import kernels
from .bucket_sort import run

PAGE = mmap.PAGESIZE
FEW = 2**12  # vertices of a level whose rows may be read in any order


class Lists:
    """Neighbors of every vertex, in a file.

    Parameters
    ----------
    scratch : Scratch
    count : int
        Vertices.
    multi_edges : as Graph
    weight_type : dtype or None
        Of the weights that are given.
    sum_type : int64 or float64
        Type in which weights are summed where `multi_edges` is "sum".

    Attributes
    ----------
    offsets : int64, shape (count + 1,)
    neighbors, weights : Flat
        Weights of weight_dtype, or of float64 before they turn out to fit in that.
    weight_dtype : None, float32 or float64
        Of a store.
    infinite : None or (int, int)
        Ids of both ends of an edge whose weight is an infinite sum, once all is added.
    """

    def __init__(self, scratch, count, multi_edges, weight_type, sum_type):
        how = MULTI_EDGES[multi_edges]
        self.how, self.counts = (
            -1 if how is None else how,
            weight_type is None and how == kernels.SUM,
        )
        self.weighted = weight_type is not None or self.counts
        sums = multi_edges == "sum"
        single = weight_type == np.float32 and not sums
        self.wide = sum_type if sums else np.float64
        self.stored = np.float32 if single else np.float64
        self.neighbors = scratch.flat(np.int32)
        self.weights = scratch.flat(self.stored) if self.weighted else None
        self.offsets = np.zeros(count + 1, np.int64)
        self.sums = np.zeros(count if self.weighted else 0)
        self.open_key, self.open_weight = np.array([kernels.NO_KEY]), np.zeros(1, self.wide)
        self.is_single, self.infinite = True, None

    def add(self, keys, weights):
        """Append edges; keys ascend, also from call to call. Both arrays are overwritten."""
        if self.counts:
            weights = np.ones(keys.size)
        elif self.weighted:
            weights = weights.astype(self.wide, copy=False)
        neighbors = keys.view(np.int32)
        count = run(
            kernels.merge, keys, weights, self.weighted, self.how, self.open_key, self.open_weight,
            neighbors, self.offsets[1:], self.sums,
        )  # fmt: skip
        self._append(neighbors[:count], weights[:count])

    def _append(self, neighbors, weights):
        self.neighbors.append(neighbors)
        if self.weighted:
            may_overflow = self.how == kernels.SUM and self.infinite is None and weights.size
            if may_overflow and weights.max() == np.inf:
                arc = int(weights.argmax())  # its source is known once all offsets are
                self.infinite = self.neighbors.size - neighbors.size + arc, int(neighbors[arc])
            self.is_single &= stored_dtype(weights) is np.float32
            self.weights.append(weights)

    def finish(self):
        """The last edge, and offsets."""
        key = int(self.open_key[0])
        if key != int(kernels.NO_KEY):
            source, neighbor = key >> 32, key & 0xFFFFFFFF
            self.offsets[source + 1] += 1
            if self.weighted:
                self.sums[source] += self.open_weight[0]
            self._append(np.array([neighbor], np.int32), self.open_weight)
        np.cumsum(self.offsets, out=self.offsets)
        if self.infinite is not None:
            arc, neighbor = self.infinite
            self.infinite = int(np.searchsorted(self.offsets, arc, side="right")) - 1, neighbor

    @property
    def size(self):
        return self.neighbors.size

    @property
    def weight_dtype(self):
        if not self.weighted:
            return None
        return np.float32 if self.is_single else np.float64

    def out_weights(self):
        """float64, by vertex."""
        return self.sums if self.weighted else np.diff(self.offsets).astype(np.float64)

    def close(self):
        self.neighbors.close()
        if self.weights:
            self.weights.close()


def search(lists, root, room, report):
    """Distances from `root` in edges, int32, -1 where it does not lead.

    A row is read once, those of a large level in the order of the file, and pages are given back
    behind them. `report` is called with (levels, vertices).
    """
    offsets = lists.offsets
    distances, queue = np.full(offsets.size - 1, -1, np.int32), np.empty(offsets.size - 1, np.int32)
    distances[root], queue[0] = 0, root
    if not lists.size:
        return distances
    level, first, last = 0, 0, 1
    mapped = mmap.mmap(lists.neighbors.file.fileno(), 0, access=mmap.ACCESS_READ)
    neighbors = np.frombuffer(mapped, np.int32)
    try:
        while first < last:
            if last - first < FEW:
                first, last, level = run(
                    kernels.reach_few, queue, first, last, level, FEW, max(room // PAGE, FEW),
                    offsets, neighbors, distances,
                )  # fmt: skip
                mapped.madvise(mmap.MADV_DONTNEED)
            else:
                queue[first:last].sort()
                tail, level = last, level + 1
                for piece in _pieces(queue[first:last], offsets, room):
                    tail = run(
                        kernels.reach, piece, level, offsets, neighbors, distances, queue, tail
                    )
                    mapped.madvise(mmap.MADV_DONTNEED)
                first, last = last, tail
            report(level, last)
    finally:
        del neighbors
        with contextlib.suppress(BufferError):  # where an error still holds what it happened to
            mapped.close()
    return distances


def _pieces(frontier, offsets, room):
    """A frontier in runs of rows whose pages take about so many bytes."""
    for start in range(0, frontier.size, 2**16):
        rows = frontier[start : start + 2**16]
        cost = np.cumsum((offsets[rows + 1] - offsets[rows]) * 4 + PAGE)
        first = 0
        while first < rows.size:
            most = room + (int(cost[first - 1]) if first else 0)
            last = max(int(np.searchsorted(cost, most, side="right")), first + 1)
            yield rows[first:last]
            first = last
