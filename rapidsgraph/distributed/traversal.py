"""BFS and SSSP on a distributed graph.

Each partition relaxes its own arcs until nothing changes there (chaotic relaxation: D. Chazan and
W. Miranker, "Chaotic relaxation", Linear Algebra and its Applications 2(2), 1969,
https://doi.org/10.1016/0024-3795(69)90028-7), and reports which vertices of other partitions it
improved. Supersteps end when no partition has updates. Distances equal those of Dijkstra's
algorithm bit for bit, in whatever order they fall.

BFS is the same with edges of length 1, within bounds: with many active vertices a superstep takes
one level, so that nothing is expanded twice; with few it takes more and more levels, since a
superstep costs more than they do. A single partition is searched as a graph in one memory. On
several workers, members of a group exchange updates directly; without a client, or where a member
is lost, a superstep is some tasks per partition. `traversal_partition` has what a worker does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, repeat
from typing import Any

import numpy as np

from .. import device
from ..algorithms.traversal import (
    TraversalResult,
    check_cutoff,
    check_depth_limit,
    check_result_columns,
    float_distances,
    run_bfs,
    run_sssp,
)
from ..device.arrays import Array
from ..frames import Frame, Vertices, compute_if_dask
from ..graph import weight_sums
from ..graph.csr import Adjacency
from ..graph.local_graph import GraphLike
from ..graph.vertex_arguments import resolve_vertices
from ..graph.vertex_names import Labeling
from ..kernels.constants import NO_VERTEX
from ..progress import Progress, reporter
from ..validation import check_memory_limit
from . import traversal_partition as tasks
from .actors import (
    ActorGroup,
    BatchSize,
    MemberLostError,
    Recomputation,
    report_increases,
)
from .executor import DaskExecutor, Executor, release_on_error
from .graph import DistributedGraph, as_distributed, create_vertex_frame
from .partition import Partition, concatenate
from .traversal_partition import Schedule

MIN_ACTIVE = {"cpu": 2**12, "gpu": 2**18}  # vertices that are worth a superstep of one level

Report = Callable[[int, str], Any]


@release_on_error
def bfs(
    graph: GraphLike,
    source: Vertices | None = None,
    *,
    depth_limit: int | None = None,
    predecessors: bool = True,
    memory_limit: Any = None,
    progress: Progress = None,
) -> Frame:
    """Search a DistributedGraph or Dask frame breadth-first; see `rapidsgraph.bfs`."""
    cutoff = float(check_depth_limit(depth_limit))
    check_memory_limit(memory_limit)
    is_built = isinstance(graph, DistributedGraph)
    graph = as_distributed(graph)
    return _search(graph, source, False, cutoff, predecessors, progress, is_built)


@release_on_error
def sssp(
    graph: GraphLike,
    source: Vertices | None = None,
    *,
    cutoff: float | None = None,
    predecessors: bool = True,
    memory_limit: Any = None,
    progress: Progress = None,
) -> Frame:
    """Find shortest paths in a DistributedGraph or Dask frame; see `rapidsgraph.sssp`."""
    max_distance = check_cutoff(cutoff)
    check_memory_limit(memory_limit)
    is_built = isinstance(graph, DistributedGraph)
    if not is_built and "weight" in graph.columns:
        graph = DistributedGraph(graph, weight="weight", multi_edges="min")
    graph = as_distributed(graph)
    return _search(graph, source, True, max_distance, predecessors, progress, is_built)


def _search(
    graph: DistributedGraph,
    source: Vertices,
    is_sssp: bool,
    cutoff: float,
    predecessors: bool,
    progress: Progress,
    is_built: bool,
) -> Frame:
    executor = graph.executor
    check_result_columns(graph, predecessors)
    ids = executor.submit(resolve_vertices, graph.labeling, compute_if_dask(source), name="sources")
    executor.gather([executor.submit(len, ids, name="stats")])  # raises for invalid sources
    weighted = is_sssp and graph.weighted
    # A graph that the caller keeps gets CSC, too, for this and later searches, as a LocalGraph.
    csr = graph.partitions("csr")
    csc = graph.partitions("csc") if is_built or not graph.directed else None
    if graph.num_partitions == 1:
        result = executor.submit(
            _search_single_partition, csr[0], csc and csc[0], ids, weighted, cutoff, predecessors,
            name="search",
        )  # fmt: skip
        distances = [executor.submit(_get_distances, result, name="distances")]
        if predecessors:
            local_predecessors = [executor.submit(_get_predecessors, result, name="predecessors")]
    else:
        if not weighted:
            csr = _with_unit_weights(graph, "csr")
            csc = csc and _with_unit_weights(graph, "csc")
        schedule = Schedule(cutoff, not weighted, MIN_ACTIVE[graph.device])
        with reporter(progress, "SSSP" if is_sssp else "BFS", None) as report:
            distances = _run_supersteps(executor, csr, ids, graph.bounds, schedule, report)
    if weighted and cutoff == math.inf and weight_sums.can_overflow(graph.total_weight):
        all_distances = executor.submit(concatenate, distances, name="all-distances")
        executor.gather(
            executor.map(
                _check_distances, csr, repeat(all_distances), repeat(graph.labeling), name="stats"
            )
        )
    if not predecessors:
        local_predecessors = [None] * graph.num_partitions
    elif graph.num_partitions > 1:
        local_predecessors = tasks.find_predecessors(
            executor, csr, csc, distances, ids, graph.bounds
        )
    frames = executor.map(
        _create_traversal_frame, repeat(graph.labeling), repeat(is_sssp), distances,
        local_predecessors, graph.starts, graph.stops, name="label",
    )  # fmt: skip
    return graph.to_dask(frames)


def _with_unit_weights(graph: DistributedGraph, layout: str) -> list:
    """Return partitions whose edges have length 1."""

    def create() -> list:
        partitions = graph.partitions(layout)
        return graph.executor.map(_set_unit_weights, partitions, name="unit-weights")

    key = layout if graph.directed else "undirected"
    return graph.cached(f"unit weights, {key}", create)


def _run_supersteps(
    executor: Executor, csr: list, ids: Any, bounds: list[int], schedule: Schedule, report: Report
) -> list:
    """Return a task per partition of the distances of its range."""
    arguments = csr, ids, bounds, schedule, report_increases(report)
    if isinstance(executor, DaskExecutor):
        with suppress(MemberLostError):
            return _search_by_group(executor, *arguments)
    return _search_by_tasks(executor, *arguments)


def _search_by_group(
    executor: DaskExecutor,
    csr: list,
    ids: Any,
    bounds: list[int],
    schedule: Schedule,
    report: Report,
) -> list:
    num_supersteps, is_done, batch_size = 0, False, BatchSize()
    recomputation = Recomputation(executor, _recompute, [*csr, ids])
    members = [(partition, ids, schedule) for partition in csr]
    with ActorGroup(executor, tasks.SearchMember, members, name="search-member") as group:
        while not is_done:
            num_updates, is_done = group.call("search", batch_size.next(num_supersteps))[0]
            for updates in num_updates:
                num_supersteps += 1
                report(num_supersteps, _format_progress(updates))
        recomputation.arguments = bounds, schedule
        return group.result_tasks(recomputation, "distances")


def _recompute(executor: Executor, inputs: list, bounds: list[int], schedule: Schedule) -> list:
    def report(superstep: int, text: str) -> None:
        """Report nothing."""

    *csr, ids = inputs
    return _search_by_tasks(executor, csr, ids, bounds, schedule, report)


def _format_progress(num_updates: int) -> str:
    return f"{num_updates:,} updates between partitions"


def _search_by_tasks(
    executor: Executor, csr: list, ids: Any, bounds: list[int], schedule: Schedule, report: Report
) -> list:
    superstep = schedule.first()
    states = executor.map(
        tasks.start_search, csr, repeat(ids), repeat(schedule.cutoff), repeat(superstep.bound),
        name="relax",
    )  # fmt: skip
    for num_supersteps in count(1):
        updates = executor.map(tasks.get_update, states, csr, name="updates")
        [totals] = executor.gather(
            [executor.submit(tasks.combine_updates, *updates, name="stats", worker=0)]
        )
        report(num_supersteps, _format_progress(totals[0]))
        following = schedule.next(superstep, *totals)
        if following is None:
            break
        superstep = following
        states = executor.map(
            tasks.continue_search, csr, states, count(), repeat(schedule.cutoff),
            repeat(superstep.bound), *map(repeat, updates), name="relax",
        )  # fmt: skip
    return executor.map(
        tasks.get_local_distances, states, bounds[:-1], bounds[1:], name="distances"
    )


# Tasks


def _check_distances(csr: Partition, distances: Array, labeling: Labeling) -> None:
    weight_sums.check_distances(csr.adjacency, distances, labeling)


@dataclass
class _WholeGraph:
    """A single partition with both layouts, as searches of a LocalGraph use them."""

    partition: Partition
    csc: Adjacency | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.partition, name)


def _search_single_partition(
    csr: Partition,
    csc: Partition | None,
    ids: Array,
    weighted: bool,
    cutoff: float,
    predecessors: bool,
) -> TraversalResult:
    tasks.check_search_memory(csr, "sssp" if weighted else "bfs")
    graph = _WholeGraph(csr, None if csc is None else csc.adjacency)
    bottom_up = csc is not None
    if weighted:
        return run_sssp(graph, ids, cutoff, predecessors, bottom_up)
    result = run_bfs(graph, ids, int(min(cutoff, NO_VERTEX)), predecessors, bottom_up)
    result.distances = float_distances(result.distances)
    return result


def _get_distances(result: TraversalResult) -> Array:
    return result.distances


def _get_predecessors(result: TraversalResult) -> Array:
    return result.predecessors


def _set_unit_weights(partition: Partition) -> Partition:
    adjacency, xp = partition.adjacency, partition.xp
    weights = xp.ones(adjacency.neighbors.size, xp.uint8)
    adjacency = Adjacency(adjacency.offsets, adjacency.neighbors, weights)
    units = Partition(adjacency, partition.start, partition.stop, True)
    units.cached("delta", lambda: 1.0)  # the initial delta of SSSP
    return units


def _create_traversal_frame(
    labeling: Labeling,
    is_sssp: bool,
    distances: Array,
    predecessors: Array | None,
    start: int,
    stop: int,
) -> Frame:
    xp = device.array_module(distances)
    columns: dict[str, Any] = {"distance": distances}
    if not is_sssp:
        is_reached = distances < math.inf
        columns["distance"] = xp.where(is_reached, distances, -1).astype(np.int32), is_reached
    if predecessors is not None:
        columns |= labeling.name_columns(predecessors, predecessors < NO_VERTEX, "predecessor")
    return create_vertex_frame(labeling, columns, start, stop)
