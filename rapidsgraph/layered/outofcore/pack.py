"""From adjacency lists in a file to packed partitions in layer order.

Means: the lists are read once in their order and written into buckets of places; a bucket becomes
  partitions, its rows by place and their neighbors forward or back.
Requires: about ROW bytes a row of a bucket and `arc_bytes` an arc.
"""

import numpy as np

from ..build import UNREACHED
from ..packing import cut, pack_partition
from . import kernels as spill
from .bucket_sort import run

ROW = 64
CUT_ROWS = 2**16  # whose degrees are gathered at once


def pack_places(lists, layers, writer, scratch, room, partition_bytes, report):
    """Give a writer all partitions; the forward and backward edges of each layer, int64 (2, n)."""
    packing = _Packing(lists, layers, room, partition_bytes)
    buckets = packing.spill(scratch, report)
    lists.close()
    for bucket in range(len(packing.firsts) - 1):
        for words, row in packing.packed(buckets, bucket):
            writer.add(words, row)
        report(
            lists.size + int(packing.ends[bucket]), f"{int(packing.ends[bucket]):,} edges packed"
        )
    buckets.close()
    return packing.layer_edges


class _Buckets:
    """Neighbors' places and weights, of rows by bucket, each bucket's by vertex."""

    def __init__(self, scratch, weight_type):
        self.places = scratch.flat(np.int32)
        self.weights = None if weight_type is None else scratch.flat(weight_type)
        self.starts = []

    def add(self, places, weights, starts):
        self.starts.append(starts + self.places.size)
        self.places.append(places)
        if self.weights:
            self.weights.append(weights)

    def read(self, bucket, begin, end):
        """Arcs begin to end of a bucket."""
        places = np.empty(end - begin, np.int32)
        weights = np.empty(0)
        if self.weights:
            weights = np.empty(places.size, self.weights.dtype)
        at, filled = 0, 0
        for starts in self.starts:
            first, last = int(starts[bucket]), int(starts[bucket + 1])
            low, high = max(begin - at, 0), min(end - at, last - first)
            if high > low:
                piece = slice(filled, filled + high - low)
                self.places.read(first + low, [places[piece]])
                if self.weights:
                    self.weights.read(first + low, [weights[piece]])
                filled += high - low
            at += last - first
        return places, weights

    def close(self):
        self.places.close()
        if self.weights:
            self.weights.close()


class _Packing:
    def __init__(self, lists, layers, room, partition_bytes):
        self.lists, self.layers, self.offsets = lists, layers, lists.offsets
        self.dtype = lists.weight_dtype
        self.weight_bytes = 0 if self.dtype is None else np.dtype(self.dtype).itemsize
        self.stored_bytes = 0 if self.dtype is None else lists.weights.dtype.itemsize
        arc_bytes = 16 + 3 * self.weight_bytes + self.stored_bytes
        self.most = max(room // 2 // arc_bytes, 64)
        self.rows = max(room // 4 // ROW, 64)
        self.partition_bytes = max(min(partition_bytes, room // 8), 256)
        self.layer_edges = np.zeros((2, layers.depth + 1), np.int64)
        self._cut()

    def _cut(self):
        """First places of the buckets, and where their arcs end."""
        vertices = self.layers.order.size
        offsets = np.zeros(vertices + 1, np.int64)
        for start in range(0, vertices, CUT_ROWS):
            rows = self.layers.order[start : start + CUT_ROWS]
            offsets[start + 1 : start + 1 + rows.size] = self.offsets[rows + 1] - self.offsets[rows]
        np.cumsum(offsets, out=offsets)
        firsts = [0]
        while firsts[-1] < vertices:
            first = firsts[-1]
            most = int(offsets[first]) + self.most
            last = max(int(np.searchsorted(offsets, most, side="right")) - 1, first + 1)
            firsts.append(min(last, first + self.rows, vertices))
        self.firsts = np.array(firsts, np.int64)
        self.ends = offsets[self.firsts[1:]]

    def spill(self, scratch, report):
        """Move all rows into buckets."""
        lists, offsets = self.lists, self.offsets
        buckets = _Buckets(scratch, None if self.dtype is None else lists.weights.dtype)
        begin, size = 0, lists.size
        while begin < size:
            first = int(np.searchsorted(offsets, begin, side="right")) - 1
            last = min(first + self.rows, offsets.size - 1)
            end = min(begin + self.most, int(offsets[last]))
            last = int(np.searchsorted(offsets, end, side="left"))
            self._move(buckets, first, last, begin, end)
            report(end, f"{end:,} edges by layer")
            begin = end
        return buckets

    def _move(self, buckets, first, last, begin, end):
        """Move the arcs from `begin` to `end`, of rows from `first` to `last`."""
        places_of = self.layers.place_of
        neighbors = np.empty(end - begin, np.int32)
        self.lists.neighbors.read(begin, [neighbors])
        weights = np.empty(0)
        if self.dtype is not None:
            weights = np.empty(end - begin, self.lists.weights.dtype)
            self.lists.weights.read(begin, [weights])
        of_rows = np.searchsorted(self.firsts, places_of[first:last], side="right") - 1
        cursors, targets = np.zeros(self.firsts.size, np.int64), np.empty(last - first, np.int64)
        run(spill.find_room, first, begin, end, self.offsets, of_rows, cursors, targets)
        places, moved = np.empty_like(neighbors), np.empty_like(weights)
        run(
            spill.move_rows, first, begin, end, self.offsets, targets, places_of, neighbors,
            weights, self.dtype is not None, places, moved,
        )  # fmt: skip
        starts = np.zeros(self.firsts.size, np.int64)  # the cursors have come to the next bucket's
        starts[1:] = cursors[:-1]
        buckets.add(places, moved, starts)

    def packed(self, buckets, bucket):
        """(words, row of the table) of each partition of a bucket."""
        first, last = map(int, self.firsts[bucket : bucket + 2])
        places = np.arange(first, last)
        layer = np.searchsorted(self.layers.starts, places, side="right") - 1
        is_reached = layer <= self.layers.depth
        bounds = np.where(
            is_reached, self.layers.starts[np.minimum(layer, self.layers.depth)], UNREACHED
        ).astype(np.int32)
        by_place = self.layers.order[first:last]
        degrees = self.offsets[by_place + 1] - self.offsets[by_place]
        order = np.argsort(by_place)
        starts = np.empty(order.size, np.int64)
        starts[order] = np.cumsum(degrees[order]) - degrees[order]
        total = int(degrees.sum())
        if total > self.most and last - first == 1:
            yield from self._long_row(buckets, bucket, first, total, bounds, layer)
            return
        lists = self._parted(*buckets.read(bucket, 0, total), starts, degrees, bounds)
        self._count(lists, layer)
        ranges = cut(lists[0][0] + lists[1][0], self.weight_bytes, self.partition_bytes)
        for begin, end in ranges:
            own = [(offsets[begin : end + 1], *rest) for offsets, *rest in lists]
            yield from pack_partition(first + begin, own, self.weight_bytes, self.partition_bytes)

    def _long_row(self, buckets, bucket, place, total, bounds, layer):
        """A row that has more arcs than fit: first all that go forward, then all others."""
        none = np.zeros(2, np.int64)
        for part in range(2):
            for begin in range(0, total, self.most):
                read = buckets.read(bucket, begin, min(begin + self.most, total))
                lists = self._parted(*read, np.zeros(1, np.int64), np.array([read[0].size]), bounds)
                lists[1 - part] = (none, *(values[:0] for values in lists[1 - part][1:]))
                self._count(lists, layer)
                if lists[part][1].size:
                    yield from pack_partition(place, lists, self.weight_bytes, self.partition_bytes)

    def _parted(self, neighbors, weights, starts, degrees, bounds):
        """[(offsets, neighbors, weights)] of the rows, forward and back."""
        weighted = self.dtype is not None
        if weighted:
            weights = weights.astype(self.dtype, copy=False)
        ahead = np.empty(starts.size, np.int64)
        run(spill.count_ahead, starts, degrees, bounds, neighbors, ahead)
        offsets = [np.zeros(starts.size + 1, np.int64) for _ in range(2)]
        np.cumsum(ahead, out=offsets[0][1:])
        np.cumsum(degrees - ahead, out=offsets[1][1:])
        parts = [np.empty(int(each[-1]), np.int32) for each in offsets]
        moved = [np.empty(part.size if weighted else 0, weights.dtype) for part in parts]
        run(
            spill.part_rows, starts, degrees, bounds, neighbors, weights, weighted, *offsets,
            *parts, *moved,
        )  # fmt: skip
        return list(zip(offsets, parts, moved, strict=True))

    def _count(self, lists, layer):
        kept = layer <= self.layers.depth
        for part, (offsets, *_) in enumerate(lists):
            np.add.at(self.layer_edges[part], layer[kept], np.diff(offsets)[kept])
