"""BFS, SSSP and PageRank of a layered edge list whose edges may exceed memory.

The results are those of the functions of the same names for the graph of the list. Vertex arrays
stay in memory, in layer order; edges stream through, one or more passes over the partitions.

The BFS distance of a vertex is its layer, so BFS only finds predecessors: in one pass over the
forward edges, all layers at once. One pass of SSSP is not exact, since a cheaper path may run
through a later layer and back: passes repeat over the partitions with an active source until
nothing changes [1]_. Within a partition, rounds repeat until nothing changes there, without the
host.

References
----------
.. [1] H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms
   on GPU", Int. J. Parallel Program. 47, 2019. https://doi.org/10.1007/s10766-017-0533-y,
   algorithms 5 and 6, sections 4.3 to 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import device, frames
from ..algorithms.pagerank import PageRankProblem
from ..algorithms.pagerank_methods import initialize_sums, power_iterate
from ..algorithms.parameters import PageRankParameters, PathParameters, SearchParameters
from ..algorithms.shortest_path import path_frame, resolve_targets
from ..algorithms.traversal import (
    TraversalResult,
    check_result_columns,
    float_distances,
    traversal_frame,
)
from ..device import Array
from ..errors import GraphError, format_value
from ..frames import Frame
from ..graph.vertex_arguments import resolve_vertices
from ..graph.weight_sums import check_out_weights, check_reached_distances
from ..kernels.constants import NO_VERTEX
from ..progress import Progress, reporter
from .storage import LayeredStorage, StreamStats
from .sweeps import (
    SsspSweeps,
    algorithm_stream,
    bfs_result,
    check_vertices_fit,
    find_parents,
    find_remaining,
    finish_run,
    forward_partitions,
    make_scatter,
    to_vertex_order,
)


def pagerank(storage: LayeredStorage, parameters: PageRankParameters) -> tuple[Frame, int, float]:
    """Compute PageRank of a layered edge list; see `algorithms.pagerank.pagerank`.

    Every iteration streams the partitions once and accumulates in double precision.
    """
    storage.labeling.check_name_collisions("pagerank")
    xp, dtype = storage.xp, parameters.value_type
    if not storage.num_vertices:
        return storage.labeling.vertex_frame({"pagerank": xp.empty(0, dtype)}), 0, 0.0
    if storage.weighted:
        check_out_weights(storage.out_weights, storage.labeling, storage.order)
    problem = PageRankProblem(storage, np.float64, parameters)
    problem.reorder(storage.order)
    with (
        reporter(parameters.progress, "PageRank", parameters.max_iterations) as report,
        algorithm_stream(
            storage, "pagerank", "PageRank", parameters.memory_limit
        ) as problem.partitions,
    ):
        values, iterations, residual = power_iterate(problem, _scatter_sweep, report)
        finish_run(storage, problem.partitions, iterations)
    pagerank = xp.empty(values.size, dtype)
    pagerank[storage.order] = values
    return storage.labeling.vertex_frame({"pagerank": pagerank}), iterations, residual


def _scatter_sweep(
    problem: Any, method: str, out_weights: Array, pagerank: Any, state: Array
) -> Callable[[int], Array]:
    """Return the function of one power iteration for `power_iterate`."""
    graph = problem.graph
    sums = graph.xp.empty(graph.num_vertices)
    scatter = make_scatter(
        graph, problem.partitions, problem.damping, out_weights, pagerank[0], state
    )

    def sweep(parity: int) -> Array:
        initialize_sums(problem, state, sums)
        scatter(sums)
        return sums

    return sweep


def bfs(storage: LayeredStorage, parameters: SearchParameters) -> Frame:
    """Traverse a layered edge list from its root; see `rapidsgraph.bfs`."""
    check_result_columns(storage.labeling)
    check_root(storage, parameters.source)
    result = run_bfs(
        storage, parameters.depth_limit, parameters.predecessors, parameters.memory_limit,
        parameters.progress,
    )  # fmt: skip
    distances = frames.NullableIntegers(result.distances, null=-1)
    return traversal_frame(storage.labeling, result, distances, parameters.predecessors)


def sssp(storage: LayeredStorage, parameters: SearchParameters) -> Frame:
    """Compute shortest paths from the root of a layered edge list; see `rapidsgraph.sssp`."""
    predecessors, memory_limit = parameters.predecessors, parameters.memory_limit
    check_result_columns(storage.labeling)
    check_root(storage, parameters.source)
    if storage.weighted:
        result = run_sssp(
            storage, parameters.max_distance, predecessors, memory_limit, parameters.progress
        )
        distances = result.distances
    else:
        result = run_bfs(
            storage, parameters.depth_limit, predecessors, memory_limit, parameters.progress
        )
        distances = float_distances(result.distances)
    return traversal_frame(storage.labeling, result, distances, predecessors)


def shortest_path(storage: LayeredStorage, parameters: PathParameters) -> Frame:
    """Find shortest paths from the root of a layered edge list; see `rapidsgraph.shortest_path`.

    BFS ends at the layer of the farthest target; SSSP finds the distances of all vertices.
    """
    check_root(storage, parameters.source)
    targets = resolve_targets(storage.labeling, parameters.target)
    memory_limit = parameters.memory_limit
    if parameters.weighted and storage.weighted:
        result = run_sssp(storage, math.inf, True, memory_limit, None)
    else:
        result = run_bfs(storage, find_last_layer(storage, targets.ids), True, memory_limit, None)
    distances = result.distances
    if parameters.weighted and not storage.weighted:
        distances = float_distances(distances)
    return path_frame(storage.labeling, targets, distances, result.predecessors)


def find_last_layer(storage: LayeredStorage, ids: Array) -> int:
    """Return the last layer that has one of the vertices `ids`; 0 if the root reaches none."""
    positions = storage.xp.flatnonzero(storage.xp.isin(storage.order, ids))
    layers = np.searchsorted(storage.layer_starts, device.to_host(positions), side="right") - 1
    return int(layers[layers <= storage.depth].max(initial=0))


def run_bfs(
    storage: LayeredStorage,
    depth_limit: int,
    predecessors: bool,
    memory_limit: int | str | None,
    progress: Progress,
) -> TraversalResult:
    """Return BFS distances and predecessors by vertex id."""
    xp, last_layer = storage.xp, min(depth_limit, storage.depth)
    parents = xp.full(storage.num_vertices if predecessors else 0, NO_VERTEX, xp.int32)
    storage.last_run = StreamStats(0, 0, 0)
    if not predecessors:
        check_vertices_fit(storage, "bfs", "BFS", memory_limit)
    else:
        partitions = forward_partitions(storage, last_layer)
        with algorithm_stream(storage, "bfs", "BFS", memory_limit, is_repeated=False) as stream:
            with reporter(progress, "BFS", partitions.size) as report:
                find_parents(storage, stream, last_layer, parents, report)
            finish_run(storage, stream, int(partitions.size > 0))
    return bfs_result(storage, last_layer, parents)


def run_sssp(
    storage: LayeredStorage,
    cutoff: float,
    predecessors: bool,
    memory_limit: int | str | None,
    progress: Progress,
) -> TraversalResult:
    """Return SSSP distances and predecessors by vertex id."""
    xp, num_vertices = storage.xp, storage.num_vertices
    distances = xp.full(num_vertices, math.inf)
    distances[0] = 0.0
    last_update = xp.full(num_vertices, -1, xp.int32)
    last_update[0] = 0
    parents = xp.full(num_vertices if predecessors else 0, NO_VERTEX, xp.int32)
    with algorithm_stream(storage, "sssp", "SSSP", memory_limit) as stream:
        sweeps = SsspSweeps(storage, stream, progress)
        rounds = sweeps.relax("relax", last_update, cutoff=cutoff, distances=distances)
        if cutoff == math.inf:
            reached = distances[: int(storage.layer_starts[-1])]
            check_reached_distances(reached, storage.order, storage.labeling)
        if predecessors:
            sweeps.find_predecessors(distances, last_update, False, parents)
            remaining = find_remaining(parents, distances)
            if device.count_nonzero(remaining):
                hops = xp.where(remaining, np.int32(NO_VERTEX), np.int32(0))
                last_update[...] = xp.where(remaining, np.int32(-1), np.int32(0))
                sweeps.relax("relax_zero_weight", last_update, distances=distances, hops=hops)
                sweeps.find_predecessors(distances, hops, True, parents)
        finish_run(storage, stream, sweeps.passes)
    del last_update
    parents = to_vertex_order(storage, parents) if predecessors else parents
    return TraversalResult(to_vertex_order(storage, distances), parents, rounds)


def check_root(storage: LayeredStorage, source: Any) -> None:
    """Raise GraphError unless `source` is None or the root."""
    if source is None:
        return
    ids = resolve_vertices(storage.labeling, source)
    if ids.size > 1 or int(ids[0]) != storage.root_id:
        raise GraphError(
            f"{{parameter}} is {format_value(source)}, but the layers belong to the root "
            f"{storage.root!r}; build a layered edge list from the other vertex, or leave "
            "{parameter} out",
            parameter="source",
            value=source,
            hint="build a layered edge list from the other vertex, or leave source out",
        )
