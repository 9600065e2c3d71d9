"""Partition: one rank's rows of a distributed graph, and the exchange of arcs that builds it.

A partition has the adjacency lists of a range of vertices. Ranges have about equally many edge
endpoints; the list of one vertex is never split. To kernels a partition is a graph with a row for
every vertex, empty outside of its range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from .. import device
from ..device.arrays import Array, ArrayModule
from ..graph import csr
from ..graph.build_memory import build_bytes
from ..graph.csr import Adjacency, from_coo, row_indices
from ..graph.multi_edges import MultiEdges
from ..graph.vertex_names import Labeling
from ..kernels.constants import WARP
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator

NUM_BINS = 2**14  # of vertices; ranges begin at their bounds
MAX_SAMPLE = 2**20  # edges whose endpoints are counted to balance ranges
CHUNK_EDGES = 2**14  # edges that one warp or thread distributes among ranks


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
    labeling : Labeling, optional
        The names of all vertices of the graph.
    """

    def __init__(
        self,
        adjacency: Adjacency,
        start: int,
        stop: int,
        weighted: bool,
        labeling: Any = None,
    ) -> None:
        self.adjacency, self.start, self.stop, self.weighted = adjacency, start, stop, weighted
        self.labeling = labeling
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
        """The adjacency, as in a LocalGraph."""
        return self.adjacency

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """Return a cached result of `make`, which further tasks of this worker use."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def cached_on_all(self, communicator: Communicator, key: str, make: Callable[[], Any]) -> Any:
        """Return a cached result of `make`, which may use collectives; every rank must call this.

        If one rank has no result, for example on a new worker, all ranks call `make`.
        """
        if not all(communicator.all_gather_object(key in self._cache)):
            self._cache[key] = make()
        return self._cache[key]

    def __sizeof__(self) -> int:
        """Return the size of all arrays in bytes, also of cached results, for Dask."""
        return super().__sizeof__() + _count_bytes(vars(self), set())

    def __getstate__(self) -> tuple:
        """Return the state without empty rows and cached results."""
        rows = self.local_adjacency
        numbers = (self.start, self.stop, self.weighted, self.num_vertices)
        return rows.offsets, rows.neighbors, rows.weights, *numbers, self.labeling

    def __setstate__(self, state: tuple) -> None:
        local_offsets, neighbors, weights, start, stop, weighted, num_vertices, labeling = state
        xp = device.array_module(neighbors)
        offsets = xp.empty(num_vertices + 1, xp.int64)
        offsets[:start], offsets[stop:] = 0, neighbors.size
        offsets[start : stop + 1] = local_offsets
        adjacency = Adjacency(offsets, neighbors, weights)
        self.__init__(adjacency, start, stop, weighted, labeling)  # type: ignore[misc]


def _count_bytes(value: Any, counted: set[int]) -> int:
    """Return the size of the arrays and columns that an object refers to, each counted once."""
    if id(value) in counted or isinstance(value, (type, ModuleType)):
        return 0
    counted.add(id(value))
    if hasattr(value, "memory_usage"):  # a Series
        return int(value.memory_usage())
    if device.is_array(value):
        return int(value.nbytes)
    if not isinstance(value, (dict, list, tuple)):
        value = getattr(value, "__dict__", ())
    children = list(value.values() if isinstance(value, dict) else value)
    return sum(_count_bytes(child, counted) for child in children)


# Ranges of vertices


def choose_bounds(
    communicator: Communicator, endpoints: Array, num_edges: int, num_vertices: int
) -> list[int]:
    """Return the bounds of the ranges of all ranks.

    Parameters
    ----------
    communicator : Communicator
    endpoints : int32 array
        Sources and destinations of this rank's edges.
    num_edges, num_vertices : int
        Of all ranks.
    """
    # An odd stride, since rows of generated graphs often repeat with a period of a power of two.
    stride = 2 * num_edges // MAX_SAMPLE | 1
    width = _bin_width(num_vertices)
    num_bins = -(-num_vertices // width)
    counts = np.zeros(num_bins, np.int64)
    sample = endpoints[::stride]
    if sample.size:
        xp = device.array_module(sample)
        counts += device.to_host(xp.bincount(sample // width, minlength=num_bins))
    return balance_ranges(communicator.all_reduce(counts), communicator.size, num_vertices)


def balance_ranges(counts: np.ndarray, num_partitions: int, num_vertices: int) -> list[int]:
    """Return the bounds of ranges with about equal counts: ``num_partitions + 1`` values."""
    width, cumulative = _bin_width(num_vertices), np.concatenate([[0], np.cumsum(counts)])
    targets = cumulative[-1] * np.arange(1, num_partitions) / num_partitions
    bins = np.zeros(0, np.int64)
    if num_partitions > 1:
        bins = np.abs(cumulative[None, :] - targets[:, None]).argmin(axis=1)
    inner = np.minimum(bins.astype(np.int64) * width, num_vertices)
    return [0, *np.maximum.accumulate(inner).tolist(), num_vertices]


def _bin_width(num_vertices: int) -> int:
    return max(1, -(-num_vertices // NUM_BINS))


# Exchange of arcs


def exchange_arcs(
    communicator: Communicator,
    edges: list[Any],
    bounds: Sequence[int],
    blocks: dict[int, int] | None = None,
    *,
    directed: bool = True,
    drop_loops: bool = False,
) -> list[Any]:
    """Send each arc to the rank that owns its source, and return the arcs of this rank.

    Parameters
    ----------
    communicator : Communicator
    edges : list
        [sources, destinations, weights or None] of this rank's edges; emptied, so that arrays are
        freed early.
    bounds : sequence of int
        Rank r owns the vertices ``bounds[r]`` to ``bounds[r + 1]``.
    blocks : dict of int to int, optional
        The edges are blocks of a larger list: the place of each block in that list, ascending, and
        its number of edges. By default the list is the edges of all ranks, in rank order.
    directed : bool, default True
        Otherwise an edge is two arcs; a self-loop is one.
    drop_loops : bool, default False

    Returns
    -------
    list
        [sources, destinations, weights or None] in the order of the larger list: the first of
        parallel arcs is the first on every number of ranks, and sorted rows stay sorted.
    """
    if communicator.size == 1 and directed and not drop_loops:
        arcs = list(edges)
        edges.clear()
        return arcs
    blocks = {communicator.rank: edges[0].size} if blocks is None else blocks
    arcs, counts = group_by_owner(edges, bounds, list(blocks.values()), directed, drop_loops)
    splits = np.cumsum(counts.sum(axis=0))[:-1].tolist()
    tables = communicator.all_gather_object((list(blocks), counts))
    order = _block_order(tables, communicator.rank)
    for column, values in enumerate(arcs):
        if values is None:
            continue
        xp = device.array_module(values)
        received = communicator.all_to_all(xp.split(values, splits))
        arcs[column] = values = None
        if order is not None:
            received = [received[sender][start:stop] for _, sender, start, stop in order]
        arcs[column] = received[0] if len(received) == 1 else xp.concatenate(received)
    return arcs


def group_by_owner(
    edges: list[Any], bounds: Sequence[int], sizes: list[int], directed: bool, drop_loops: bool
) -> tuple[list[Any], np.ndarray]:
    """Return arcs sorted by owner, and their number by block and owner; empties `edges`."""
    sources, destinations, weights = edges
    edges.clear()
    xp, num_ranks = device.array_module(sources), len(bounds) - 1
    ends = np.cumsum([0, *sizes])
    chunks = [np.arange(ends[i], ends[i + 1], CHUNK_EDGES) for i in range(len(sizes))]
    chunk_starts = np.concatenate([*chunks, ends[-1:]])
    num_chunks = chunk_starts.size - 1
    arguments: dict[str, Any] = {
        "num_chunks": num_chunks, "chunk_starts": xp.asarray(chunk_starts), "sources": sources,
        "destinations": destinations, "directed": directed, "drop_loops": drop_loops,
        "num_ranks": num_ranks, "bounds": xp.asarray(bounds, xp.int64),
    }  # fmt: skip
    on_device = xp.zeros(num_chunks * num_ranks, xp.int64)
    size = WARP * num_chunks
    device.launch("build", "count_by_owner", size=size, counts=on_device, **arguments)
    counts = device.to_host(on_device).reshape(num_chunks, num_ranks)
    by_owner = counts.T.ravel()
    cursors = (np.cumsum(by_owner) - by_owner).reshape(num_ranks, num_chunks).T.ravel()
    num_arcs = int(by_owner.sum())
    keys, neighbors = xp.empty(num_arcs, xp.int32), xp.empty(num_arcs, xp.int32)
    weighted = weights is not None
    new_weights = xp.empty(num_arcs if weighted else 0, weights.dtype if weighted else np.float64)
    device.launch(
        "build", "group_by_owner", size=size, cursors=xp.asarray(cursors),
        weights=weights if weighted else new_weights, weighted=weighted, keys=keys,
        neighbors=neighbors, new_weights=new_weights, **arguments,
    )  # fmt: skip
    before = np.concatenate([np.zeros((1, num_ranks), np.int64), np.cumsum(counts, axis=0)])
    chunk_bounds = np.cumsum([0, *map(len, chunks)])
    by_block = np.diff(before[chunk_bounds], axis=0)
    return [keys, neighbors, new_weights if weighted else None], by_block


def _block_order(
    blocks: list[tuple[list[int], np.ndarray]], rank: int
) -> list[tuple[int, int, int, int]] | None:
    """Return (block, sender, start, stop) of the arcs that a rank receives, ordered by block.

    None if the arcs are in that order when those of all senders are concatenated.
    """
    ranges = []
    for sender, (numbers, counts) in enumerate(blocks):
        ends = np.cumsum([0, *counts[:, rank]]).tolist()
        ranges += [(block, sender, *ends[i : i + 2]) for i, block in enumerate(numbers)]
    ordered = sorted(ranges)
    return None if ordered == ranges else ordered


def build_partition(
    arcs: list[Any],
    bounds: Sequence[int],
    rank: int,
    labeling: Labeling,
    multi_edges: MultiEdges,
    *,
    is_transpose: bool = False,
) -> Partition:
    """Build a partition from [sources, destinations, weights or None], which are emptied.

    Arcs of a transpose come in the order of their destinations.
    """
    xp, num_rows, weighted = device.array_module(arcs[0]), arcs[0].size, arcs[2] is not None
    num_bytes = build_bytes(num_rows, bounds[-1], weighted=weighted)
    check_free_memory(f"building a partition of {num_rows:,} rows", num_bytes, xp)
    adjacency = from_coo(arcs, bounds[-1], multi_edges, minor_sorted=is_transpose)
    return Partition(adjacency, bounds[rank], bounds[rank + 1], weighted, labeling)


# SPMD functions: every rank of a communicator calls them.


def transpose(
    communicator: Communicator, report: Report, partition: Partition, bounds: tuple[int, ...]
) -> tuple[Partition, int]:
    """Return the partition of the reversed graph, and its size in bytes."""
    adjacency = partition.adjacency
    weights = adjacency.weights if partition.weighted else None
    arcs = [adjacency.neighbors, row_indices(adjacency), weights]
    arcs = exchange_arcs(communicator, arcs, bounds)
    transposed = build_partition(
        arcs, bounds, communicator.rank, partition.labeling, "keep", is_transpose=True
    )
    return transposed, transposed.adjacency.nbytes


def simplify(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    directed: bool,
) -> tuple[Partition, int]:
    """Return the partition of the undirected graph without self-loops, parallel edges, weights."""
    adjacency, labeling = partition.adjacency, partition.labeling
    if directed:
        arcs = [row_indices(adjacency), adjacency.neighbors, None]
        arcs = exchange_arcs(communicator, arcs, bounds, directed=False, drop_loops=True)
        simple = build_partition(arcs, bounds, communicator.rank, labeling, "first")
    else:
        adjacency = csr.simplify(adjacency)
        simple = Partition(adjacency, partition.start, partition.stop, False, labeling)
    return simple, simple.adjacency.nbytes


def count_isolates(
    communicator: Communicator, report: Report, partition: Partition
) -> tuple[None, int]:
    """Return the number of vertices of the graph without an edge."""
    adjacency = partition.adjacency
    has_edge = adjacency.offsets[1:] > adjacency.offsets[:-1]
    has_edge[adjacency.neighbors] = True
    has_edge = communicator.all_reduce(has_edge, "max")
    return None, has_edge.size - device.count_nonzero(has_edge)


def get_local_adjacency(partition: Partition) -> Adjacency:
    """Return the rows of a partition's range."""
    return partition.local_adjacency


def join_rows(rows: list[Adjacency]) -> Adjacency:
    """Return the adjacency of the whole graph from those of consecutive ranges."""
    xp = device.array_module(rows[0].neighbors)
    num_arcs, offsets = 0, [xp.zeros(1, xp.int64)]
    for adjacency in rows:
        offsets.append(adjacency.offsets[1:] + num_arcs)
        num_arcs += adjacency.neighbors.size
    return Adjacency(
        xp.concatenate(offsets),
        xp.concatenate([adjacency.neighbors for adjacency in rows]),
        xp.concatenate([adjacency.weights for adjacency in rows]),
    )
