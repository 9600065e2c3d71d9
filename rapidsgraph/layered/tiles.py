"""Tiles: the neighbors of ranges of vertices, as many at a time as fit in memory.

Some algorithms compare the neighbors of a vertex with one another, or count what they have: they
need its whole list, which in a directed list is spread over the partitions. A tile has the lists of
consecutive positions. It is loaded by a sweep over the partitions that may have some of its arcs:
in an undirected list those of its own vertices, in a directed one also those whose range of
neighbors includes one of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from .. import device, kernels
from ..algorithms.run_memory import NEIGHBORS_PER_VERTEX, TILE_BYTES, Algorithm
from ..algorithms.triangles import merge_directions
from ..device import Array
from ..graph.csr import Adjacency, offsets_from_sizes, row_indices
from ..graph.pair_sort import sort_pairs
from ..validation import MAX_VERTICES
from .packing import COLUMN, DIRECTIONS
from .storage import LayeredStorage
from .streaming import (
    PartitionStream,
    available_memory,
    check_memory,
    min_stream_bytes,
    open_stream,
)
from .sweeps import finish_run, launch_sweep, memory_requirement

NUM_SORTS = 8  # of a tile on a GPU: a sort takes 24 bytes per neighbor
POSITION_BITS = 0x7FFFFFFF  # of a neighbor whose sign is its flag


@contextlib.contextmanager
def open_tiles(
    storage: LayeredStorage,
    algorithm: Algorithm,
    title: str,
    memory_limit: int | str | None,
    result_bytes: int = 0,
    rank: int = 0,
    size: int = 1,
) -> Iterator[Tiles]:
    """Yield the tiles of an algorithm; at the end, record the statistics of the run.

    `result_bytes` are those of results that are not by vertex. If several ranks open the tiles,
    each has tiles of its own.

    Raises
    ------
    InsufficientMemoryError
        If the vertex arrays, the longest list and two partitions do not fit. If the longest list is
        the reason, it is raised after one sweep, which counts the neighbors.
    """
    purpose, reserved, limit = memory_requirement(storage, algorithm, title, memory_limit)
    reserved += result_bytes
    per_neighbor = TILE_BYTES[algorithm].per_arc
    num_neighbors = (2 if storage.directed else 1) * storage.num_edges
    available, least = available_memory(storage, limit), reserved + min_stream_bytes(storage)
    if available < least:  # name a limit that suffices for the list of any vertex
        bound = num_neighbors
        if storage.is_merged:
            bound = min(bound, (2 if storage.directed else 1) * storage.num_vertices)
        check_memory(storage, purpose, least + per_neighbor * bound, available, limit)
    remaining = max(available - least, 0)
    if limit is None:
        remaining //= 2  # of the free memory, which others use, too
    tile_bytes = min(per_neighbor * num_neighbors, remaining)
    stream = open_stream(storage, reserved + tile_bytes, limit, purpose)
    try:
        tiles = Tiles(storage, stream)
        longest = int(tiles.degrees.max()) if storage.num_vertices else 0
        check_memory(storage, purpose, least + per_neighbor * longest, least + tile_bytes, limit)
        num_reserved = NEIGHBORS_PER_VERTEX.get(algorithm, 0) * storage.num_vertices
        tiles.max_neighbors = tile_bytes // per_neighbor + num_reserved
        tiles.split(rank, size)
        yield tiles
        finish_run(storage, stream, tiles.passes)
    finally:
        stream.close()


class Tiles:
    """Ranges of the vertices of a layered edge list, and the neighbors of those of one range.

    Attributes
    ----------
    degrees : int64 array, shape (vertices,)
        Number of arcs from and to each position, of an undirected list from it.
    bounds : list of int
        The positions of tile t are bounds[t] to bounds[t + 1].
    local_tiles : range
        The tiles of this rank, which are all tiles of a single one.
    max_neighbors : int
        Number of neighbors that fit into memory; at least the longest list.
    passes : int
        Number of sweeps so far.
    """

    def __init__(self, storage: LayeredStorage, stream: PartitionStream) -> None:
        self.storage, self.stream = storage, stream
        self.bounds, self.local_tiles, self.max_neighbors, self.passes = [0], range(0), 0, 0
        xp, num_vertices = storage.xp, storage.num_vertices
        self._counts = [xp.zeros(num_vertices, xp.int64) for _ in range(1 + storage.directed)]
        for start, stop, origin, words in self._sweep(np.arange(len(storage.table))):
            launch_sweep(
                storage, "layered_tiles", "count_arcs", start, stop,
                origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                is_directed=storage.directed, out_counts=self._counts[0],
                in_counts=self._counts[-1],
            )  # fmt: skip
        stream.finish()  # lists are sized by the counts, which leave damaged partitions out
        self.degrees = self._counts[0] + self._counts[1] if storage.directed else self._counts[0]
        self._loaded: tuple[int, list[Adjacency]] | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def local_range(self) -> slice:
        """The positions of this rank; those of all ranks follow one another."""
        return slice(self.bounds[self.local_tiles.start], self.bounds[self.local_tiles.stop])

    def split(self, rank: int, size: int) -> None:
        """Set bounds so that no tile with several vertices has more than `max_neighbors`.

        Each rank has about as many neighbors as any other one.
        """
        xp, num_vertices = self.storage.xp, self.storage.num_vertices
        totals = offsets_from_sizes(self.degrees)
        shares = [int(totals[-1]) * number // size for number in range(1, size)]
        limits = [0, *(int(xp.searchsorted(totals[1:], share)) for share in shares), num_vertices]
        bounds, starts = [0], [0]
        for limit in limits[1:]:
            while bounds[-1] < limit:
                target = int(totals[bounds[-1]]) + self.max_neighbors
                stop = int(xp.searchsorted(totals, target, side="right")) - 1
                bounds.append(min(max(stop, bounds[-1] + 1), limit))
            starts.append(len(bounds) - 1)
        self.bounds, self.local_tiles = bounds, range(starts[rank], starts[rank + 1])

    def find(self, first: int, last: int) -> range:
        """Return the tiles of the positions from `first` to `last`."""
        start, stop = np.searchsorted(self.bounds, [first, last], side="right")
        return range(int(start) - 1, int(stop))

    def load(self, tile: int) -> list[Adjacency]:
        """Return the lists of the vertices of a tile, in any order; those of others are empty.

        Neighbors are positions. A directed list has two adjacencies: of arcs from the vertices, and
        of arcs to them. The last tile remains in memory.
        """
        if self._loaded is not None and self._loaded[0] == tile:
            return self._loaded[1]
        self._loaded = None
        xp, first, last = self.storage.xp, self.bounds[tile], self.bounds[tile + 1]
        adjacencies, cursors = [], []
        for counts in self._counts:
            offsets = xp.zeros(self.degrees.size + 1, xp.int64)
            xp.cumsum(counts[first:last], out=offsets[first + 1 : last + 1])
            offsets[last + 1 :] = offsets[last]
            neighbors = xp.empty(int(offsets[-1]), xp.int32)
            adjacencies.append(Adjacency(offsets, neighbors, xp.empty(0)))
            cursors.append(offsets[first:last].copy())
        is_loaded = xp.zeros(self.degrees.size, bool)
        is_loaded[first:last] = True
        self._list_neighbors(self._find_partitions(is_loaded), first, adjacencies, cursors)
        self._loaded = tile, adjacencies
        return adjacencies

    def load_simple(self, tile: int, *, with_flags: bool = False) -> Adjacency:
        """Return the neighbors of the vertices of a tile in either direction, each once.

        Self-loops are left out, and the order is any. With flags, neighbors are those of
        `merge_directions`; only directed lists have flags.
        """
        adjacencies = self.load(tile)
        self._loaded = None  # the lists are of no use once they are merged
        return self._merge(adjacencies, self.bounds[tile], self.bounds[tile + 1], with_flags)

    def load_rows(self, is_loaded: Array) -> Adjacency:
        """Return what `load_simple` does for the positions that a mask selects."""
        xp, num_vertices = self.storage.xp, self.storage.num_vertices
        adjacencies, cursors = [], []
        for counts in self._counts:
            offsets = offsets_from_sizes(counts * is_loaded)
            neighbors = xp.empty(int(offsets[-1]), xp.int32)
            adjacencies.append(Adjacency(offsets, neighbors, xp.empty(0)))
            cursors.append(xp.where(is_loaded, offsets[:-1], -1))
        self._list_neighbors(self._find_partitions(is_loaded), 0, adjacencies, cursors)
        cursors.clear()
        return self._merge(adjacencies, 0, num_vertices, False)

    def _list_neighbors(
        self, partitions: np.ndarray, first: int, adjacencies: list[Adjacency], cursors: list[Array]
    ) -> None:
        """Fill in the neighbors of positions from `first` on that have a cursor of 0 or more."""
        storage, stream = self.storage, self.stream
        for start, stop, origin, words in self._sweep(partitions):
            launch_sweep(
                storage, "layered_tiles", "list_neighbors", start, stop,
                origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                tile_start=first, tile_stop=first + cursors[0].size, is_directed=storage.directed,
                out_cursors=cursors[0], out_neighbors=adjacencies[0].neighbors,
                in_cursors=cursors[-1], in_neighbors=adjacencies[-1].neighbors,
            )  # fmt: skip

    def _merge(
        self, adjacencies: list[Adjacency], start: int, stop: int, with_flags: bool
    ) -> Adjacency:
        """Return the neighbors of [start, stop) in either direction, each once."""
        xp = self.storage.xp
        for adjacency in adjacencies:
            sort_lists(adjacency, start, stop)
        if not self.storage.directed:
            offsets = xp.zeros_like(adjacencies[0].offsets)
            adjacencies.append(Adjacency(offsets, xp.empty(0, xp.int32), xp.empty(0)))
        adjacency = merge_directions(*adjacencies)
        if not with_flags:
            neighbors = adjacency.neighbors
            neighbors &= np.int32(POSITION_BITS)
        return adjacency

    def _find_partitions(self, is_loaded: Array) -> np.ndarray:
        """Return the partitions that may have arcs from or to the positions of a mask."""
        storage, xp = self.storage, self.storage.xp
        table, num_vertices = storage.table, storage.num_vertices
        num_before = xp.zeros(num_vertices + 1, xp.int32)
        xp.cumsum(is_loaded, out=num_before[1:])

        def has_any(first: np.ndarray, count: np.ndarray) -> np.ndarray:
            ends = xp.asarray(np.minimum([first, first + count], num_vertices))
            start, stop = device.to_host(num_before[ends])
            return stop > start

        is_needed = has_any(table[:, COLUMN["first"]], table[:, COLUMN["rows"]])
        if storage.directed:
            for direction in DIRECTIONS:
                edges, base, bits = (
                    table[:, COLUMN[f"{direction}_{name}"]] for name in ("edges", "base", "bits")
                )
                is_needed |= (edges > 0) & has_any(base, 1 << bits)
        return np.flatnonzero(is_needed & (table[:, COLUMN["words"]] > 0))

    def _sweep(self, partitions: np.ndarray) -> Iterator[tuple[int, int, int, Array]]:
        self.passes += 1
        return self.stream.sweep(partitions.tolist())


def sort_lists(adjacency: Adjacency, start: int, stop: int) -> None:
    """Sort the lists of the rows [start, stop) in place, on a GPU some of them at a time."""
    offsets, neighbors = adjacency.offsets, adjacency.neighbors
    if not device.is_on_gpu(neighbors):
        with device.kernel_lock(), device.limit_threads(neighbors.size):
            kernels.counting.sort_lists(start, stop, offsets, neighbors)
        return
    xp, max_arcs = device.array_module(neighbors), neighbors.size // NUM_SORTS + 1
    while start < stop:
        first = int(offsets[start])
        end = int(xp.searchsorted(offsets, first + max_arcs, side="right")) - 1
        end = min(max(end, start + 1), stop)
        lists = neighbors[first : int(offsets[end])]
        local = Adjacency(offsets[start : end + 1] - first, lists, xp.empty(0))
        lists[...] = sort_pairs([row_indices(local), lists], end - start, MAX_VERTICES).minor
        start = end
