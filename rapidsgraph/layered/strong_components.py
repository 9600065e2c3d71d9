"""Strong components of a layered edge list whose edges may exceed memory.

The graph is contracted while its arcs are read [1]_: whenever memory is full of arcs, strong
components of what is known so far become one node each, and arcs within nodes and parallel ones are
dropped. On most graphs the largest component contains most arcs and is found among the first ones,
so that one pass suffices. If the arcs between nodes do not fit into memory either, passes alternate
that contract the graph, that remove nodes without active arcs in one direction [2]_, and that color
the others [3]_.

References
----------
.. [1] Z. Zhang, J. X. Yu, L. Qin, L. Chang and X. Lin, "I/O efficient: computing SCCs in massive
   graphs", SIGMOD 2013. https://doi.org/10.1145/2463676.2463703
.. [2] W. McLendon III, B. Hendrickson, S. J. Plimpton and L. Rauchwerger, "Finding strongly
   connected components in distributed graphs", J. Parallel Distrib. Comput. 65(8), 2005.
   https://doi.org/10.1016/j.jpdc.2005.03.007
.. [3] S. Orzan, "On distributed verification and verified distribution", PhD thesis, Vrije
   Universiteit Amsterdam, 2004.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import device
from ..algorithms import strong_components as in_memory
from ..algorithms.predecessors import ArcSubgraph
from ..algorithms.run_memory import NEIGHBORS_PER_VERTEX, TILE_BYTES
from ..device import Array
from ..graph.csr import Adjacency, from_coo, row_indices
from ..kernels.constants import NO_VERTEX, WARP
from .packing import COLUMN
from .storage import LayeredStorage
from .streaming import (
    PartitionStream,
    available_memory,
    check_memory,
    min_stream_bytes,
    open_stream,
)
from .sweeps import finish_run, launch_sweep, memory_requirement, to_vertex_order

MIN_REMOVED = 1 / 16  # of the nodes; if a pass removes fewer, the others are colored


def find_strong_roots(storage: LayeredStorage, memory_limit: int | str | None) -> Array:
    """Return the smallest vertex of every vertex's strong component, by vertex id: int32."""
    with open_condensation(storage, memory_limit) as condensation:
        condensation.complete()
    return condensation.find_roots()


@contextlib.contextmanager
def open_condensation(
    storage: LayeredStorage, memory_limit: int | str | None
) -> Iterator[Condensation]:
    """Yield the condensation of a list; at the end, record the statistics of the run."""
    purpose, reserved, limit = memory_requirement(
        storage, "strong_components", "strong components", memory_limit
    )
    per_arc = TILE_BYTES["strong_components"].per_arc
    largest = storage.max_partition_edges
    available = available_memory(storage, limit)
    least = reserved + min_stream_bytes(storage) + per_arc * largest
    check_memory(storage, purpose, least, available, limit)
    remaining = available - least
    if limit is None:
        remaining //= 2  # of the free memory, which others use, too
    num_more = min(remaining // per_arc, storage.num_edges)
    capacity = NEIGHBORS_PER_VERTEX["strong_components"] * storage.num_vertices + largest + num_more
    capacity = min(capacity, storage.num_edges)
    stream = open_stream(storage, reserved + per_arc * (largest + num_more), limit, purpose)
    try:
        condensation = Condensation(storage, stream, capacity)
        yield condensation
        finish_run(storage, stream, condensation.passes)
    finally:
        stream.close()


class Condensation:
    """A graph whose strong components are contracted to nodes as they become known.

    Parameters
    ----------
    storage : LayeredStorage
    stream : PartitionStream
    capacity : int
        Number of arcs that fit into memory; at least those of every partition.

    Attributes
    ----------
    nodes : int32 array, shape (vertices,)
        The node of each position.
    num_active, num_nodes : int
        Nodes from `num_active` on are whole components.
    passes : int
        Number of sweeps so far.
    """

    def __init__(self, storage: LayeredStorage, stream: PartitionStream, capacity: int) -> None:
        self.storage, self.stream, self.passes = storage, stream, 0
        xp = storage.xp
        self.nodes = xp.arange(storage.num_vertices, dtype=xp.int32)
        self.num_active = self.num_nodes = storage.num_vertices
        self._sources, self._destinations = xp.empty((2, capacity), xp.int32)
        self._size = 0  # number of arcs in memory
        columns = COLUMN["forward_edges"], COLUMN["backward_edges"]
        edges = storage.table[:, columns].sum(axis=1)
        self._edges_before = np.concatenate(([0], np.cumsum(edges)))
        self._max_run = max(capacity // 4, storage.max_partition_edges)  # arcs read at a time

    def complete(self) -> None:
        """Contract all strong components."""
        is_complete = False
        while not is_complete:
            is_complete = self.contract()
            if not is_complete and self.remove() < MIN_REMOVED * self.num_active:
                self.color()

    def find_roots(self) -> Array:
        """Return the smallest vertex id of every vertex's node, by vertex id: int32."""
        storage, xp = self.storage, self.storage.xp
        nodes = to_vertex_order(storage, self.nodes)
        smallest = xp.full(self.num_nodes, NO_VERTEX, xp.int32)
        xp.minimum.at(smallest, nodes, xp.arange(nodes.size, dtype=xp.int32))
        return smallest[nodes]

    def contract(self, partitions: range | None = None) -> bool:
        """Contract components in one pass; return whether all arcs between nodes were known.

        The arcs are those of some `partitions`, by default of all; those between nodes stay.
        """
        partitions = range(len(self.storage.table)) if partitions is None else partitions
        is_complete = True
        for _, is_last in self._batches(partitions):
            self.contract_batch()
            if not is_last and self._size + self._max_run > self._sources.size:
                self._size, is_complete = 0, False
        return is_complete

    def contract_batch(self) -> None:
        """Contract the components of the arcs in memory, of which those between nodes are left."""
        adjacency = self._index_arcs()
        if not adjacency.neighbors.size:
            return
        xp = self.storage.xp
        roots = in_memory.find_strong_roots(ArcSubgraph(xp, adjacency))
        new_nodes = self._renumber(roots, xp.zeros(roots.size, bool))
        sources = new_nodes[row_indices(adjacency)]
        destinations = new_nodes[adjacency.neighbors]
        del adjacency
        is_between = sources != destinations
        self._size = device.count_nonzero(is_between)
        self._sources[: self._size] = sources[is_between]
        self._destinations[: self._size] = destinations[is_between]

    def contract_ranks(
        self,
        is_complete: bool,
        join: Callable[[Array], None],
        gather: Callable[[int, Array, Array], tuple[Array, Array] | None],
    ) -> bool:
        """Contract the components of several ranks; return whether these are all.

        Parameters
        ----------
        is_complete : bool
            Whether all arcs of this rank between nodes are in memory. No node is a whole component
            so far.
        join : callable
            ``join(parents)`` makes the smallest position of the nodes of all ranks the parent of
            each.
        gather : callable
            ``gather(capacity, sources, destinations)`` returns the arcs of all ranks, or None if
            these are more than the capacity of a rank.
        """
        xp, num_vertices = self.storage.xp, self.storage.num_vertices
        first = xp.full(self.num_nodes, NO_VERTEX, xp.int32)  # position of each node
        positions = xp.arange(num_vertices, dtype=xp.int32)
        xp.minimum.at(first, self.nodes, positions)
        sources, destinations = (
            first[arcs[: self._size]] for arcs in (self._sources, self._destinations)
        )
        parents = first[self.nodes]
        join(parents)
        self.num_active = self.num_nodes = num_vertices
        self.nodes = positions
        new_nodes = self._renumber(parents, xp.zeros(num_vertices, bool))
        capacity = self._sources.size if is_complete else -1
        arcs = gather(capacity, new_nodes[sources], new_nodes[destinations])
        del sources, destinations
        if arcs is None:
            return False
        self._size = arcs[0].size
        self._sources[: self._size], self._destinations[: self._size] = arcs
        self.contract_batch()
        return True

    def remove(self) -> int:
        """Remove nodes without active arcs in one direction in one pass; return their number.

        Partitions are read from the last one to the first one, since arcs lead to later layers more
        often than to earlier ones: a node that is a vertex of the batch is removed in the same pass
        as its successors.
        """
        storage, xp, num_active = self.storage, self.storage.xp, self.num_active
        states = xp.full(num_active, NO_VERTEX, xp.int32)  # another value once removed
        sizes = xp.bincount(self.nodes, minlength=self.num_nodes)[:num_active]
        is_vertex, has_predecessor = sizes == 1, xp.zeros(num_active, bool)
        has_successor = xp.zeros(num_active, bool)
        del sizes
        for partitions, _ in self._batches(range(len(storage.table) - 1, -1, -1)):
            adjacency = self._index_arcs()
            self._size = 0
            first, last = self._complete_rows(*partitions)
            rows: Any = self.nodes[first:last]
            rows = rows[rows < num_active]
            rows = rows[is_vertex[rows]]
            num_before = -1
            while rows.size != num_before:
                num_before = rows.size
                device.launch(  # in-neighbors are taken to be there where out-neighbors are
                    "coloring", "trim", size=rows.size, num_active=rows.size, active=rows,
                    offsets=adjacency.offsets, neighbors=adjacency.neighbors,
                    in_offsets=adjacency.offsets, in_neighbors=adjacency.neighbors, roots=states,
                )  # fmt: skip
                rows = rows[states[rows] == NO_VERTEX]
            sources = row_indices(adjacency)
            is_open = states[sources] == NO_VERTEX
            is_open &= states[adjacency.neighbors] == NO_VERTEX
            has_successor[sources[is_open]] = True
            has_predecessor[adjacency.neighbors[is_open]] = True
        is_final = states != NO_VERTEX
        is_final |= ~(has_predecessor & has_successor)
        self._renumber(xp.arange(num_active, dtype=xp.int32), is_final)
        return num_active - self.num_active

    def color(self) -> None:
        """Contract the component of the smallest node that reaches each node, if both are in one.

        Passes repeat until nothing changes; within a batch, rounds do.
        """
        xp, num_active = self.storage.xp, self.num_active
        active = xp.arange(num_active, dtype=xp.int32)
        colors, roots = active.copy(), xp.full(num_active, NO_VERTEX, xp.int32)
        for entry in ("lower_colors", "join_roots"):
            has_changed = True
            while has_changed:
                has_changed = False
                for _ in self._batches(range(len(self.storage.table))):
                    adjacency = self._index_arcs()
                    self._size = 0
                    while self._launch_coloring(entry, active, adjacency, roots, colors):
                        has_changed = True
        is_final = roots != NO_VERTEX
        self._renumber(xp.where(is_final, roots, active), is_final)

    def _launch_coloring(
        self, entry: str, active: Array, adjacency: Adjacency, roots: Array, colors: Array
    ) -> bool:
        """Launch a kernel on the arcs of a batch; return whether it has changed a value."""
        has_changed = self.storage.xp.zeros(1, np.int64)
        device.launch(
            "coloring", entry, size=WARP * active.size, num_active=active.size, active=active,
            offsets=adjacency.offsets, neighbors=adjacency.neighbors, roots=roots, colors=colors,
            has_changed=has_changed,
        )  # fmt: skip
        return bool(has_changed[0])

    def _renumber(self, roots: Array, is_final: Array) -> Array:
        """Merge the active nodes of equal roots, and put final ones last; return the new numbers.

        Parameters
        ----------
        roots : int32 array, shape (active nodes,)
            The smallest node of those to be merged.
        is_final : bool array, shape (active nodes,)
            Equal for nodes that are merged.
        """
        xp, num_old = self.storage.xp, self.num_active
        is_root = roots == xp.arange(num_old, dtype=xp.int32)
        is_active = is_root & ~is_final
        self.num_active = device.count_nonzero(is_active)
        num_final = device.count_nonzero(is_root) - self.num_active
        numbers = xp.empty(self.num_nodes, xp.int32)  # of the old nodes
        new = xp.where(
            is_active,
            xp.cumsum(is_active, dtype=xp.int32) - np.int32(1),
            xp.cumsum(is_root & is_final, dtype=xp.int32) + np.int32(self.num_active - 1),
        )
        numbers[:num_old] = new[roots]
        first_final = self.num_active + num_final
        self.num_nodes += first_final - num_old
        numbers[num_old:] = xp.arange(first_final, self.num_nodes, dtype=xp.int32)
        self.nodes = numbers[self.nodes]
        return numbers[:num_old]

    def _index_arcs(self) -> Adjacency:
        """Return the arcs in memory by source, parallel ones once."""
        arcs = self._sources[: self._size], self._destinations[: self._size]
        return from_coo([*arcs, None], self.num_active, "first")

    def _batches(self, partitions: range) -> Iterator[tuple[tuple[int, int], bool]]:
        """Sweep over partitions, and add their arcs between active nodes to those in memory.

        Yields
        ------
        partitions : (int, int)
            Range of those that were read since the last batch.
        is_last : bool
            Otherwise there may be no room for the arcs of another partition, and the caller makes
            some.
        """
        storage, stream, xp = self.storage, self.stream, self.storage.xp
        self.passes += 1
        num_arcs = xp.zeros(1, xp.int64)
        self._size = max_size = 0
        batch: list[int] = []
        for start, stop, origin, words in stream.sweep(partitions):
            for first, last in self._split_run(start, stop):
                num_edges = storage.count_edges(first, last)
                if max_size + num_edges > self._sources.size:
                    max_size = self._size = int(num_arcs[0])
                    if self._size + num_edges > self._sources.size:
                        yield (min(batch), max(batch)), False
                        batch.clear()
                        max_size = self._size
                        num_arcs[0] = max_size
                launch_sweep(
                    storage, "layered_tiles", "list_arcs", first, last,
                    origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                    num_active=self.num_active, nodes=self.nodes, num_arcs=num_arcs,
                    sources=self._sources, destinations=self._destinations,
                )  # fmt: skip
                max_size += num_edges
                batch += [first, last]
        self._size = int(num_arcs[0])
        stream.finish()  # without the arcs of a damaged partition, passes might not end
        yield (min(batch, default=0), max(batch, default=0)), True

    def _split_run(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of partitions of at most `_max_run` arcs."""
        before = self._edges_before
        while start < stop:
            last = int(np.searchsorted(before, before[start] + self._max_run, side="right")) - 1
            last = min(max(last, start + 1), stop)
            yield start, last
            start = last

    def _complete_rows(self, start: int, stop: int) -> tuple[int, int]:
        """Return the range of positions all of whose arcs are in a range of partitions."""
        table = self.storage.table
        starts, rows = table[:, COLUMN["first"]], table[:, COLUMN["rows"]]
        if start == stop:
            return 0, 0
        stops = starts + rows
        first, last = int(starts[start]), int(stops[stop - 1])
        if start and stops[start - 1] > first:
            first += 1
        if stop < len(table) and starts[stop] < last:
            last -= 1
        return first, max(first, last)
