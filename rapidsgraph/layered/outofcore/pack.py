"""Pack adjacency lists from files into partitions in layer order.

The adjacency lists are read once, in their order, and scattered into buckets of positions in
layer order. A bucket fits in memory; it becomes partitions, with rows by position and their
neighbors split into forward and backward ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...graph.csr import offsets_from_sizes
from ...kernels.constants import UNREACHED
from ...progress import Report
from ..build import LayerOrder
from ..packing import Section, pack_partition, split_rows
from . import run_kernel
from .csr_file import CsrFile
from .file_array import TempFiles

ROW_BYTES = 64  # in memory, of a row of a bucket
CHUNK_ROWS = 2**16  # rows whose degrees are gathered at once
MIN_BUCKET_SIZE = 64  # rows or arcs
MIN_PARTITION_BYTES = 256


def pack_partitions(
    csr: CsrFile,
    layers: LayerOrder,
    writer: Any,
    files: TempFiles,
    *,
    memory: int,
    partition_bytes: int,
    report: Report,
) -> np.ndarray:
    """Write the partitions of all edges.

    Parameters
    ----------
    csr : CsrFile
        Closed as soon as its edges are in buckets.
    layers : LayerOrder
    writer : StoreWriter
    files : TempFiles
    memory : int
        Bytes that arrays may take.
    partition_bytes : int
        Approximate size of a partition before packing.
    report : callable
        Called with the number of arcs so far, which are processed twice, and a text.

    Returns
    -------
    int64 array, shape (2, number of layers)
        Number of forward and backward edges of each layer.
    """
    packer = _Packer(csr, layers, files, memory, partition_bytes)
    packer.fill_buckets(report)
    num_arcs = csr.num_arcs
    csr.close()
    for bucket, arc_stop in enumerate(packer.bucket_arc_stops.tolist()):
        for words, table_row in packer.pack_bucket(bucket):
            writer.add(words, table_row)
        report(num_arcs + arc_stop, f"{arc_stop:,} edges packed")
    packer.close()
    return packer.layer_edges


class _Packer:
    """The state of `pack_partitions`, with the arcs by bucket and vertex id in files.

    Attributes
    ----------
    bucket_starts : int64 array, shape (buckets + 1,)
        First position of each bucket, and the number of vertices.
    bucket_arc_stops : int64 array, shape (buckets,)
        Number of arcs up to the end of each bucket.
    layer_edges : int64 array, shape (2, number of layers)
    """

    def __init__(
        self,
        csr: CsrFile,
        layers: LayerOrder,
        files: TempFiles,
        memory: int,
        partition_bytes: int,
    ) -> None:
        self._csr, self._layers, self._offsets = csr, layers, csr.offsets
        self._positions = files.create(np.int32)  # of the neighbors
        self._weights = None if csr.weights is None else files.create(csr.weights.dtype)
        self._batch_offsets: list[np.ndarray] = []  # first arc of each bucket, by batch
        self._dtype = csr.weight_dtype
        self._weight_bytes = 0 if self._dtype is None else np.dtype(self._dtype).itemsize
        file_weight_bytes = 0 if csr.weights is None else csr.weights.dtype.itemsize
        arc_bytes = 16 + 3 * self._weight_bytes + file_weight_bytes
        self._max_arcs = max(memory // 2 // arc_bytes, MIN_BUCKET_SIZE)
        self._max_rows = max(memory // 4 // ROW_BYTES, MIN_BUCKET_SIZE)
        self._partition_bytes = max(min(partition_bytes, memory // 8), MIN_PARTITION_BYTES)
        self.layer_edges = np.zeros((2, layers.depth + 1), np.int64)
        self.bucket_starts, self.bucket_arc_stops = self._cut_buckets()

    def _cut_buckets(self) -> tuple[np.ndarray, np.ndarray]:
        num_vertices = self._layers.order.size
        arc_offsets = np.zeros(num_vertices + 1, np.int64)  # by position
        for chunk in range(0, num_vertices, CHUNK_ROWS):
            rows = self._layers.order[chunk : chunk + CHUNK_ROWS]
            degrees = self._offsets[rows + 1] - self._offsets[rows]
            arc_offsets[chunk + 1 : chunk + 1 + rows.size] = degrees
        np.cumsum(arc_offsets, out=arc_offsets)
        starts = [0]
        while starts[-1] < num_vertices:
            start = starts[-1]
            max_arc = int(arc_offsets[start]) + self._max_arcs
            stop = max(int(np.searchsorted(arc_offsets, max_arc, side="right")) - 1, start + 1)
            starts.append(min(stop, start + self._max_rows, num_vertices))
        bucket_starts = np.array(starts, np.int64)
        return bucket_starts, arc_offsets[bucket_starts[1:]]

    def fill_buckets(self, report: Report) -> None:
        """Scatter all rows into buckets."""
        offsets = self._offsets
        start, num_arcs = 0, self._csr.num_arcs
        while start < num_arcs:
            first_row = int(np.searchsorted(offsets, start, side="right")) - 1
            last_row = min(first_row + self._max_rows, offsets.size - 1)
            stop = min(start + self._max_arcs, int(offsets[last_row]))
            last_row = int(np.searchsorted(offsets, stop, side="left"))
            self._scatter(first_row, last_row, start, stop)
            report(stop, f"{stop:,} edges by layer")
            start = stop

    def _scatter(self, first_row: int, last_row: int, start: int, stop: int) -> None:
        """Scatter the arcs [start, stop), which belong to the rows [first_row, last_row)."""
        position_of = self._layers.positions
        neighbors = self._csr.neighbors.read(start, stop)
        weights = np.empty(0)
        if self._csr.weights is not None:
            weights = self._csr.weights.read(start, stop)
        row_positions = position_of[first_row:last_row]
        row_buckets = np.searchsorted(self.bucket_starts, row_positions, side="right") - 1
        cursors = np.zeros(self.bucket_starts.size, np.int64)
        targets = np.empty(last_row - first_row, np.int64)
        run_kernel(
            "assign_row_targets", first_row, start, stop, self._offsets, row_buckets, cursors,
            targets,
        )  # fmt: skip
        positions, bucketed_weights = np.empty_like(neighbors), np.empty_like(weights)
        run_kernel(
            "scatter_rows", first_row, start, stop, self._offsets, targets, position_of, neighbors,
            weights, self._dtype is not None, positions, bucketed_weights,
        )  # fmt: skip
        bucket_offsets = np.zeros(self.bucket_starts.size, np.int64)
        bucket_offsets[1:] = cursors[:-1]  # each cursor ends at the start of the next bucket
        self._batch_offsets.append(bucket_offsets + self._positions.size)
        self._positions.append(positions)
        if self._weights is not None:
            self._weights.append(bucketed_weights)

    def _read_bucket(self, bucket: int, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions and weights of the arcs [start, stop) of a bucket."""
        positions = np.empty(stop - start, np.int32)
        weights = np.empty(0)
        if self._weights is not None:
            weights = np.empty(positions.size, self._weights.dtype)
        batch_start = size = 0
        for offsets in self._batch_offsets:
            first, last = int(offsets[bucket]), int(offsets[bucket + 1])
            low, high = max(start - batch_start, 0), min(stop - batch_start, last - first)
            if high > low:
                target = slice(size, size + high - low)
                self._positions.read_into(first + low, [positions[target]])
                if self._weights is not None:
                    self._weights.read_into(first + low, [weights[target]])
                size += high - low
            batch_start += last - first
        return positions, weights

    def pack_bucket(self, bucket: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the words and the table row of each partition of a bucket."""
        first, last = map(int, self.bucket_starts[bucket : bucket + 2])
        positions = np.arange(first, last)
        starts, depth = self._layers.starts, self._layers.depth
        layer = np.searchsorted(starts, positions, side="right") - 1
        is_reached = layer <= depth
        # Neighbors from the start of the row's layer on are forward. Unreached rows have none.
        bounds = np.where(is_reached, starts[np.minimum(layer, depth)], UNREACHED).astype(np.int32)
        rows = self._layers.order[first:last]
        degrees = self._offsets[rows + 1] - self._offsets[rows]
        order = np.argsort(rows)  # the rows of a bucket are by vertex id
        row_starts = np.empty(order.size, np.int64)
        row_starts[order] = np.cumsum(degrees[order]) - degrees[order]
        num_arcs = int(degrees.sum())
        if num_arcs > self._max_arcs and last - first == 1:
            yield from self._pack_long_row(bucket, num_arcs, bounds, layer)
            return
        arcs = self._read_bucket(bucket, 0, num_arcs)
        sections = self._split(arcs, row_starts, degrees, bounds)
        self._count_edges(sections, layer)
        total_offsets = sections[0][0] + sections[1][0]
        for start, stop in split_rows(total_offsets, self._weight_bytes, self._partition_bytes):
            range_sections = [
                (offsets[start : stop + 1], neighbors, weights)
                for offsets, neighbors, weights in sections
            ]
            yield from pack_partition(
                first + start, range_sections, self._weight_bytes, self._partition_bytes
            )

    def _pack_long_row(
        self,
        bucket: int,
        num_arcs: int,
        bounds: np.ndarray,
        layer: np.ndarray,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pack a row that does not fit in memory: all forward arcs, then all backward arcs."""
        position, no_offsets = int(self.bucket_starts[bucket]), np.zeros(2, np.int64)
        for section in range(2):
            for start in range(0, num_arcs, self._max_arcs):
                arcs = self._read_bucket(bucket, start, min(start + self._max_arcs, num_arcs))
                degrees = np.array([arcs[0].size])
                sections = self._split(arcs, np.zeros(1, np.int64), degrees, bounds)
                _, neighbors, weights = sections[1 - section]
                sections[1 - section] = no_offsets, neighbors[:0], weights[:0]
                self._count_edges(sections, layer)
                if sections[section][1].size:
                    yield from pack_partition(
                        position, sections, self._weight_bytes, self._partition_bytes
                    )

    def _split(
        self,
        arcs: tuple[np.ndarray, np.ndarray],
        starts: np.ndarray,
        degrees: np.ndarray,
        bounds: np.ndarray,
    ) -> list[Section]:
        """Split the neighbors and weights of rows into a forward and a backward section."""
        neighbors, weights = arcs
        weighted = self._dtype is not None
        if weighted:
            weights = weights.astype(self._dtype, copy=False)
        num_forward = np.empty(starts.size, np.int64)
        run_kernel("count_forward", starts, degrees, bounds, neighbors, num_forward)
        offsets = [offsets_from_sizes(num_forward), offsets_from_sizes(degrees - num_forward)]
        section_neighbors = [
            np.empty(int(section_offsets[-1]), np.int32) for section_offsets in offsets
        ]
        section_weights = [
            np.empty(values.size if weighted else 0, weights.dtype) for values in section_neighbors
        ]
        run_kernel(
            "split_rows", starts, degrees, bounds, neighbors, weights, weighted, *offsets,
            *section_neighbors, *section_weights,
        )  # fmt: skip
        return list(zip(offsets, section_neighbors, section_weights, strict=True))

    def _count_edges(self, sections: list[Section], layer: np.ndarray) -> None:
        is_reached = layer <= self._layers.depth
        for section, (offsets, *_) in enumerate(sections):
            np.add.at(self.layer_edges[section], layer[is_reached], np.diff(offsets)[is_reached])

    def close(self) -> None:
        """Remove the files of the buckets."""
        self._positions.close()
        if self._weights is not None:
            self._weights.close()
