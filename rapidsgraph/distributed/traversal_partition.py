"""BFS and SSSP on one partition: the tasks and the group member that run supersteps.

In a superstep a partition relaxes its own arcs until nothing changes within a bound, and then
reports which vertices of other partitions it improved. It needs adjacency by source, and edges of
length 1 for BFS. Predecessors follow from the final distances, see `find_predecessors`; adjacency
by destination makes them local to each partition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..algorithms.traversal import ArcSubgraph, relax_from, run_bfs, zero_weight_edges
from ..device.arrays import Array
from ..graph.csr import from_coo, row_indices
from ..kernels.constants import NO_VERTEX, WARP
from ..memory import ALGORITHM_BYTES
from ..validation import check_free_memory
from . import shared_memory
from .actors import SharedMemoryMember
from .executor import Executor
from .partition import Partition, concatenate


class Superstep(NamedTuple):
    """Bounds of a superstep."""

    levels: int  # of BFS
    bound: float  # vertices from this distance on are not expanded


@dataclass(frozen=True)
class Schedule:
    """Chooses the supersteps of a search.

    Attributes
    ----------
    cutoff : float
        Distance from which on vertices count as unreached.
    is_bfs : bool
    min_active : int
        With fewer active vertices BFS takes several levels in a superstep.
    """

    cutoff: float
    is_bfs: bool
    min_active: int

    def first(self) -> Superstep:
        """Return the first superstep."""
        return Superstep(1, 1.0 if self.is_bfs else math.inf)

    def next(
        self, last: Superstep, num_updates: int, num_active: int, min_distance: float
    ) -> Superstep | None:
        """Return the superstep after `last`, or None if the search is complete.

        The other parameters are those of `FrontierUpdate` over all partitions.
        """
        if min_distance >= self.cutoff if self.is_bfs else min_distance > self.cutoff:
            min_distance = math.inf  # active vertices lead beyond the cutoff only
        if not num_updates and min_distance == math.inf:
            return None
        levels = 2 * last.levels if num_updates + num_active < self.min_active else 1
        return Superstep(levels, min_distance + levels if self.is_bfs else math.inf)


@dataclass
class FrontierState:
    """The state of a partition after a superstep.

    Attributes
    ----------
    distances : float64, shape (vertices,)
        Of the partition's own range final when no partition has updates; of other vertices the
        shortest distance that this partition knows.
    expanded : float64, shape (num_local,)
        Distance at which each vertex of the range was expanded last.
    ids, values : int32 and float64, shape (updates,)
        Vertices of other ranges that the superstep improved, ascending, and their distances.
    """

    distances: Array
    expanded: Array
    ids: Array
    values: Array


class FrontierUpdate(NamedTuple):
    """What other partitions need to know about a FrontierState.

    `ids` and `values` are None where the receiver reads distances from shared memory.
    """

    ids: Array | None
    values: Array | None
    num_updates: int  # vertices of other ranges that were improved
    num_active: int  # vertices of the own range that are not expanded yet
    min_distance: float  # of active and updated vertices


class SearchMember(SharedMemoryMember):
    """A group member that searches its partition.

    Its distances are in a buffer that peers read, also while it computes: a value that they see is
    always the length of some path, and they look again in the next superstep.
    """

    def __init__(
        self, rank: int, name: str, partition: Partition, ids: Array, schedule: Schedule
    ) -> None:
        super().__init__(rank, name)
        self._partition, self._ids, self._schedule = partition, ids, schedule
        self._next: Superstep | None = schedule.first()
        self._updates: list[FrontierUpdate] | None = None

    async def search(self, num_supersteps: int) -> tuple[list[int], bool]:
        """Run up to so many supersteps: the number of updates in each, and whether all is done."""
        num_updates = []
        if self._updates is None:
            await self.allocate_buffer(self._partition.num_vertices, np.float64, self._partition.xp)
            self._updates = await self.superstep(self._start)
            num_updates.append(self._schedule_next(self._updates))
        while len(num_updates) < num_supersteps and self._next is not None:
            self._updates = await self.superstep(self._continue, self._updates)
            num_updates.append(self._schedule_next(self._updates))
        return num_updates, self._next is None

    def _schedule_next(self, updates: list[FrontierUpdate]) -> int:
        """Choose the next superstep; return the number of updates in the last one."""
        assert self._next is not None
        totals = combine_updates(*updates)
        self._next = self._schedule.next(self._next, *totals)
        return totals[0]

    def _start(self) -> FrontierUpdate:
        check_search_memory(self._partition)
        self.buffer.fill(math.inf)
        self.buffer[self._ids] = 0.0
        return self._expand(self._partition.xp.full(self._partition.num_local, math.inf))

    def _continue(self, updates: list[FrontierUpdate]) -> FrontierUpdate:
        partition, xp = self._partition, self._partition.xp
        own = self.buffer[partition.local_range]
        for rank, update in enumerate(updates):
            if rank not in self.peer_buffers and rank != self.rank:
                apply_update(partition, self.buffer, update)
            elif rank != self.rank and own.size:
                distances = xp.empty_like(own)
                shared_memory.copy_array(self.peer_buffers[rank][partition.local_range], distances)
                xp.minimum(own, distances, out=own)
        return self._expand(self._state.expanded)

    def _expand(self, expanded: Array) -> FrontierUpdate:
        assert self._next is not None
        self._state = expand(
            self._partition, self.buffer, expanded, self._schedule.cutoff, self._next.bound
        )
        update = get_update(self._state, self._partition)
        device.synchronize(self._partition.xp)
        return update

    def message_for(self, rank: int, result: Any) -> Any:
        """Return the update without what member `rank` reads from the buffer."""
        if isinstance(result, FrontierUpdate) and self.is_read_by(rank):
            return result._replace(ids=None, values=None)
        return result

    def result(self) -> Array:
        """Return a copy of the distances of the range."""
        return self.buffer[self._partition.local_range].copy()


# Tasks of a superstep


def check_search_memory(partition: Partition, algorithm: str = "sssp") -> None:
    """Raise InsufficientMemoryError if a search of a partition would not fit."""
    bytes_per_vertex, _, bytes_per_arc = ALGORITHM_BYTES[algorithm]
    num_bytes = partition.num_vertices * bytes_per_vertex + partition.num_arcs * bytes_per_arc
    what = f"distances in a partition of {partition.num_arcs:,} arcs"
    check_free_memory(what, num_bytes, partition.xp)


def start_search(partition: Partition, ids: Array, cutoff: float, bound: float) -> FrontierState:
    """Run the first superstep, from int32 `ids`."""
    check_search_memory(partition)
    distances = partition.xp.full(partition.num_vertices, math.inf)
    distances[ids] = 0.0
    expanded = partition.xp.full(partition.num_local, math.inf)
    return expand(partition, distances, expanded, cutoff, bound)


def continue_search(
    partition: Partition,
    state: FrontierState,
    rank: int,
    cutoff: float,
    bound: float,
    *updates: FrontierUpdate,
) -> FrontierState:
    """Run a superstep from the updates of all partitions."""
    distances = state.distances.copy()
    for other, update in enumerate(updates):
        if other != rank:
            apply_update(partition, distances, update)
    return expand(partition, distances, state.expanded, cutoff, bound)


def apply_update(partition: Partition, distances: Array, update: FrontierUpdate) -> None:
    """Lower `distances` of the partition's range to those of another partition, in place."""
    xp, ids, values = partition.xp, update.ids, update.values
    assert ids is not None
    assert values is not None
    bounds = xp.searchsorted(ids, xp.asarray([partition.start, partition.stop]))
    own = slice(*(int(bound) for bound in bounds))
    ids, values = ids[own], values[own]
    is_lower = values < distances[ids]
    distances[ids[is_lower]] = values[is_lower]


def expand(
    partition: Partition, distances: Array, expanded: Array, cutoff: float, bound: float
) -> FrontierState:
    """Relax the arcs of active vertices of the partition that are nearer than `bound`.

    `distances` is modified. A finite bound is for edges of length 1; no path exceeds it.
    """
    xp, own = partition.xp, distances[partition.local_range]
    # At the cutoff only edges of weight 0 lead on.
    in_bounds = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    ids = (xp.flatnonzero((own < expanded) & in_bounds) + partition.start).astype(xp.int32)
    if not ids.size:
        return FrontierState(distances, expanded, xp.empty(0, xp.int32), xp.empty(0))
    old_distances = distances.copy()
    if bound <= cutoff and bool((distances[ids] == bound - 1).all()):
        levels = run_bfs(partition, ids, 1, predecessors=False, bottom_up=False).distances
        xp.minimum(distances, xp.where(levels == 1, bound, math.inf), out=distances)
    else:
        relax_from(partition, ids, distances, min(bound, cutoff))
    is_updated = distances < old_distances
    is_updated[partition.local_range] = False
    ids = xp.flatnonzero(is_updated).astype(xp.int32)
    in_bounds = own < min(bound, cutoff) if bound < math.inf else own <= cutoff
    expanded = xp.where(in_bounds, own, expanded)
    return FrontierState(distances, expanded, ids, distances[ids])


def get_update(state: FrontierState, partition: Partition) -> FrontierUpdate:
    """Return what other partitions need to know after a superstep."""
    own = state.distances[partition.local_range]
    active = own[own < state.expanded]
    minima = (float(values.min()) for values in (active, state.values) if values.size)
    return FrontierUpdate(
        state.ids, state.values, int(state.ids.size), int(active.size),
        min(minima, default=math.inf),
    )  # fmt: skip


def combine_updates(*updates: FrontierUpdate) -> tuple[int, int, float]:
    """Return numbers of updates and active vertices, and the minimum distance, of all."""
    return (
        sum(each.num_updates for each in updates),
        sum(each.num_active for each in updates),
        min(each.min_distance for each in updates),
    )


def get_local_distances(state: FrontierState, start: int, stop: int) -> Array:
    """Return a copy of the distances of a range."""
    return state.distances[start:stop].copy()


# Predecessors


def find_predecessors(
    executor: Executor, csr: list, csc: list | None, distances: list, ids: Any, bounds: list[int]
) -> list:
    """Return a task per partition of the smallest valid predecessors of its range: int32.

    Parameters
    ----------
    executor : Executor
    csr, csc : list of tasks of Partition
        By source, and by destination where that is built.
    distances : list of tasks
        Final distances of each range.
    ids : task
        int32 sources of the search.
    bounds : list of int
    """
    starts, stops = bounds[:-1], bounds[1:]
    all_distances = executor.submit(concatenate, distances, name="all-distances")
    if csc is None:
        candidates = executor.map(_push, csr, repeat(all_distances), name="predecessors")
        minima = executor.tree_reduce(elementwise_minimum, candidates, "predecessors")
        local = executor.map(_slice, repeat(minima), starts, stops, name="predecessors")
    else:
        candidates = executor.map(_pull, csc, repeat(all_distances), name="predecessors")
        local = executor.map(_slice, candidates, starts, stops, name="predecessors")
    counts = executor.map(_count_unresolved, local, distances, repeat(ids), starts, name="stats")
    if not sum(executor.gather(counts)):
        return local
    # Only zero-weight edges lead to the remaining vertices. These are few: one worker resolves
    # them.
    predecessors = executor.submit(concatenate, local, name="all-predecessors")
    unresolved = executor.submit(
        _find_unresolved, predecessors, all_distances, ids, name="unresolved"
    )
    arcs = executor.map(
        _list_zero_weight_arcs, csr, repeat(all_distances), repeat(unresolved),
        name="zero-weight-arcs",
    )  # fmt: skip
    resolved = executor.submit(
        _resolve, predecessors, unresolved, all_distances, *arcs, name="zero-weight-predecessors"
    )
    return executor.map(_slice, repeat(resolved), starts, stops, name="predecessors")


def _slice(values: Array, start: int, stop: int) -> Array:
    return values[start:stop].copy()


def elementwise_minimum(*arrays: Array) -> Array:
    """Return the elementwise minimum of arrays."""
    minimum = arrays[0].copy()
    for other in arrays[1:]:
        device.array_module(minimum).minimum(minimum, other, out=minimum)
    return minimum


def _push(csr: Partition, distances: Array) -> Array:
    """Return for every vertex its smallest predecessor in the partition's range."""
    return _nearer_predecessors(csr, distances, "push_predecessors")


def _pull(csc: Partition, distances: Array) -> Array:
    """Return the smallest predecessors of the vertices of the partition's range."""
    return _nearer_predecessors(csc, distances, "pull_predecessors")


def _nearer_predecessors(partition: Partition, distances: Array, entry: str) -> Array:
    """Return the smallest predecessors that are strictly nearer to the sources."""
    adjacency, num_vertices = partition.adjacency, partition.num_vertices
    predecessors = partition.xp.full(num_vertices, NO_VERTEX, partition.xp.int32)
    device.launch(
        "sssp", entry, size=WARP * num_vertices,
        num_vertices=num_vertices, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
        weights=adjacency.weights, distances=distances, predecessors=predecessors,
    )  # fmt: skip
    return predecessors


def _find_unresolved(predecessors: Array, distances: Array, ids: Array) -> Array:
    """Return whether a vertex is reached, not a source, and has no nearer predecessor."""
    unresolved = (predecessors == NO_VERTEX) & (distances < math.inf)
    unresolved[ids] = False
    return unresolved


def _count_unresolved(predecessors: Array, distances: Array, ids: Array, start: int) -> int:
    local_ids = ids[(ids >= start) & (ids < start + predecessors.size)] - start
    return int(_find_unresolved(predecessors, distances, local_ids).sum())


def _list_zero_weight_arcs(
    csr: Partition, distances: Array, unresolved: Array
) -> tuple[Array, Array]:
    """Return sources and destinations of zero-weight arcs to unresolved vertices."""
    subgraph = zero_weight_edges(csr.adjacency, distances, unresolved, csr.xp)
    return row_indices(subgraph.csr), subgraph.csr.neighbors


def _resolve(
    predecessors: Array, unresolved: Array, distances: Array, *arcs: tuple[Array, Array]
) -> Array:
    """Return predecessors along the fewest zero-weight arcs from resolved vertices."""
    xp = device.array_module(predecessors)
    coo = [xp.concatenate(each) for each in zip(*arcs, strict=True)]
    subgraph = ArcSubgraph(xp, from_coo([*coo, None], predecessors.size, "keep"))
    resolved = xp.flatnonzero(~unresolved & (distances < math.inf)).astype(xp.int32)
    search = run_bfs(subgraph, resolved, bottom_up=False)
    return xp.where(unresolved, search.predecessors, predecessors)
