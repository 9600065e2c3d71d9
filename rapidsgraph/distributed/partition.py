"""Partition: one worker's rows of a distributed graph, and the tasks that build partitions.

A partition has the adjacency lists of a range of vertices. Ranges have about equally many edge
endpoints; the list of one vertex is never split. To kernels a partition is a graph with a row for
every vertex, empty outside of its range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from ..graph import csr
from ..graph.build_memory import build_bytes
from ..graph.csr import Adjacency, MultiEdges, from_coo, row_indices, to_undirected
from ..graph.edge_columns import EdgeColumns
from ..graph.local_graph import SelfLoops
from ..graph.vertex_names import Labeling
from ..graph.weight_sums import check_merged_weights
from ..validation import check_free_memory

NUM_BINS = 2**14  # of vertices; ranges begin at their bounds

EdgeList = tuple[Array, Array, Array | None]  # sources, destinations and weights
ArcList = tuple[Array, Array, Array | None]  # vertices of a range, their neighbors, and weights


class Partition:
    """Adjacency of the vertices ``start <= vertex < stop``, which no other partition has.

    Parameters
    ----------
    adjacency : Adjacency
        A row for each vertex of the graph, empty outside of the range.
    start, stop : int
        The range.
    weighted : bool
        Whether arcs have weights; the weights array of a partition without arcs does not tell.
    """

    directed = True

    def __init__(self, adjacency: Adjacency, start: int, stop: int, weighted: bool) -> None:
        self.adjacency, self.start, self.stop, self.weighted = adjacency, start, stop, weighted
        self._cache: dict[str, Any] = {}

    @property
    def xp(self) -> ArrayModule:
        """The array module of the adjacency."""
        return device.array_module(self.adjacency.neighbors)

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return self.adjacency.offsets.size - 1

    @property
    def num_local(self) -> int:
        """Number of vertices of the range."""
        return self.stop - self.start

    @property
    def num_arcs(self) -> int:
        """Number of arcs of the partition."""
        return self.adjacency.neighbors.size

    @property
    def local_ids(self) -> Array:
        """Ids of the vertices of the range: int32."""
        return self.xp.arange(self.start, self.stop, dtype=self.xp.int32)

    @property
    def local_range(self) -> slice:
        """The range as a slice of arrays over all vertices."""
        return slice(self.start, self.stop)

    @property
    def local_adjacency(self) -> Adjacency:
        """The rows of the range."""
        return Adjacency(
            self.adjacency.offsets[self.start : self.stop + 1],
            self.adjacency.neighbors,
            self.adjacency.weights,
        )

    @property
    def csr(self) -> Adjacency:
        """The adjacency, as of a LocalGraph."""
        return self.adjacency

    @property
    def built(self) -> list[Adjacency]:
        """The adjacency, as of a LocalGraph."""
        return [self.adjacency]

    def cached(self, key: str, make: Callable[[], Any], replace: bool = False) -> Any:
        """Return a cached result of `make`, which further tasks of this worker use."""
        if replace or key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def is_cached(self, key: str) -> bool:
        """Return whether a result is cached."""
        return key in self._cache

    def __getstate__(self) -> tuple:
        """Return the state without empty rows and cached results."""
        rows = self.local_adjacency
        numbers = (self.start, self.stop, self.weighted, self.num_vertices)
        return rows.offsets, rows.neighbors, rows.weights, *numbers

    def __setstate__(self, state: tuple) -> None:
        local_offsets, neighbors, weights, start, stop, weighted, num_vertices = state
        xp = device.array_module(neighbors)
        offsets = xp.empty(num_vertices + 1, xp.int64)
        offsets[:start], offsets[stop:] = 0, neighbors.size
        offsets[start : stop + 1] = local_offsets
        self.__init__(Adjacency(offsets, neighbors, weights), start, stop, weighted)  # type: ignore[misc]


# Tasks


def select_edges(
    endpoints: tuple[Array, Array], columns: EdgeColumns, self_loops: SelfLoops
) -> EdgeList:
    """Return the edges of a frame partition under a policy for self-loops."""
    sources, destinations = endpoints
    if self_loops != "drop":
        return sources, destinations, columns.weights
    keep = sources != destinations
    weights = None if columns.weights is None else columns.weights[keep]
    return sources[keep], destinations[keep], weights


def count_edges(edges: EdgeList) -> int:
    """Return the number of edges."""
    return edges[0].size


def count_endpoints(edges: EdgeList, num_vertices: int) -> np.ndarray:
    """Return the number of edge endpoints in each bin of vertices: int64, on the host."""
    width = _bin_width(num_vertices)
    num_bins = -(-num_vertices // width)
    counts = np.zeros(num_bins, np.int64)
    for ids in edges[:2]:
        if ids.size:
            bins = device.array_module(ids).bincount(ids // width, minlength=num_bins)
            counts += device.to_host(bins)
    return counts


def _bin_width(num_vertices: int) -> int:
    return max(1, -(-num_vertices // NUM_BINS))


def concatenate(arrays: list[Array]) -> Array:
    """Return the concatenation of arrays."""
    return device.array_module(arrays[0]).concatenate(arrays)


def add_arrays(*arrays: Array) -> Array:
    """Return the elementwise sum; of booleans the logical or."""
    total = arrays[0].copy()
    with np.errstate(over="ignore"):  # sums of weights are checked for infinity later
        for other in arrays[1:]:
            total += other
    return total


def balance_ranges(counts: np.ndarray, num_partitions: int, num_vertices: int) -> list[int]:
    """Return the bounds of ranges with about equal counts: ``num_partitions + 1`` values."""
    width, cumulative = _bin_width(num_vertices), np.concatenate([[0], np.cumsum(counts)])
    targets = cumulative[-1] * np.arange(1, num_partitions) / num_partitions
    bins = np.zeros(0, np.int64)
    if num_partitions > 1:
        bins = np.abs(cumulative[None, :] - targets[:, None]).argmin(axis=1)
    inner = np.minimum(bins.astype(np.int64) * width, num_vertices)
    return [0, *np.maximum.accumulate(inner).tolist(), num_vertices]


def split_edges(edges: EdgeList, bounds: list[int], layout: str, directed: bool) -> list[ArcList]:
    """Return the arcs of a frame partition for each partition of the graph.

    An undirected edge becomes two arcs, in the order of the edges; a self-loop becomes one.
    """
    sources, destinations, weights = edges
    xp = device.array_module(sources)
    keys, neighbors = sources, destinations
    if layout == "csc" and directed:
        keys, neighbors = destinations, sources
    if not directed:
        keys = xp.stack([sources, destinations], axis=1).ravel()
        neighbors = xp.stack([destinations, sources], axis=1).ravel()
        keep = xp.ones(keys.size, bool)
        keep[1::2] = sources != destinations
        keys, neighbors = keys[keep], neighbors[keep]
        weights = None if weights is None else xp.repeat(weights, 2)[keep]
    return _split_arcs(keys, neighbors, weights, bounds)


def split_transpose(partition: Partition, bounds: list[int]) -> list[ArcList]:
    """Return the arcs of the transpose for each partition of the graph."""
    adjacency = partition.adjacency
    weights = adjacency.weights if partition.weighted else None
    return _split_arcs(adjacency.neighbors, row_indices(adjacency), weights, bounds)


def split_undirected(partition: Partition, bounds: list[int]) -> list[ArcList]:
    """Return both arcs of every edge, without self-loops and weights, for each partition."""
    adjacency = to_undirected(partition.adjacency)
    return _split_arcs(row_indices(adjacency), adjacency.neighbors, None, bounds)


def simplify(partition: Partition) -> Partition:
    """Return an undirected partition without self-loops, parallel edges and weights."""
    return Partition(csr.simplify(partition.adjacency), partition.start, partition.stop, False)


def _split_arcs(
    keys: Array, neighbors: Array, weights: Array | None, bounds: list[int]
) -> list[ArcList]:
    if len(bounds) == 2:
        return [(keys, neighbors, weights)]
    xp = device.array_module(keys)
    owners = xp.searchsorted(xp.asarray(bounds[1:-1]), keys, side="right")
    arcs = []
    for number in range(len(bounds) - 1):
        own = owners == number
        own_weights = None if weights is None else weights[own]
        arcs.append((keys[own], neighbors[own], own_weights))
    return arcs


def build_partition(
    number: int,
    bounds: list[int],
    multi_edges: MultiEdges,
    sum_type: type | None,
    labeling: Labeling | None,
    *arcs: ArcList,
) -> Partition:
    """Build a partition from its arcs in every partition of the frame.

    `sum_type` is the type of summed weights under the policy "sum", and `labeling` has the vertex
    names for errors about them.
    """
    keys, neighbors, all_weights = zip(*arcs, strict=True)
    xp = device.array_module(keys[0])
    num_rows, num_vertices = sum(each.size for each in keys), bounds[-1]
    weights = None if all_weights[0] is None else xp.concatenate(all_weights)
    if sum_type is not None:
        weights = xp.ones(num_rows) if weights is None else weights.astype(sum_type)
    weighted = weights is not None
    num_bytes = build_bytes(num_rows, num_vertices, weighted=weighted)
    check_free_memory(f"building a partition of {num_rows:,} rows", num_bytes, xp)
    coo = [xp.concatenate(keys), xp.concatenate(neighbors), weights]
    del keys, neighbors, all_weights, weights
    adjacency = from_coo(coo, num_vertices, multi_edges)
    if labeling is not None:
        check_merged_weights(adjacency, labeling)
    return Partition(adjacency, bounds[number], bounds[number + 1], weighted)


def count_arcs(partition: Partition) -> tuple[int, int, int]:
    """Return the number of arcs, of self-loops among them, and of bytes."""
    adjacency = partition.adjacency
    num_loops = int((row_indices(adjacency) == adjacency.neighbors).sum())
    return partition.num_arcs, num_loops, adjacency.nbytes


def has_edges(partition: Partition) -> Array:
    """Return whether each vertex of the graph has an edge in the partition: bool."""
    adjacency = partition.adjacency
    flags = adjacency.offsets[1:] > adjacency.offsets[:-1]
    flags[adjacency.neighbors] = True
    return flags


def count_isolates(*flags: Array) -> int:
    """Return the number of vertices without an edge in any partition."""
    return int(flags[0].size - add_arrays(*flags).sum())


def join_partitions(partitions: list[Partition]) -> Adjacency:
    """Return the adjacency of the whole graph."""
    xp = partitions[0].xp
    num_arcs, offsets = 0, [xp.zeros(1, xp.int64)]
    for partition in partitions:
        offsets.append(partition.local_adjacency.offsets[1:] + num_arcs)
        num_arcs += partition.num_arcs
    weighted = [each.adjacency.weights for each in partitions if each.weighted]
    weights = xp.concatenate(weighted) if weighted else xp.empty(0)
    neighbors = xp.concatenate([each.adjacency.neighbors for each in partitions])
    return Adjacency(xp.concatenate(offsets), neighbors, weights)
