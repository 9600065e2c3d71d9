"""BFS, SSSP and PageRank of a layered edge list whose partitions are distributed over workers.

Each rank streams its own partitions of the store, within a memory limit of its own. A sweep
computes what their edges imply for all vertices, and an all-reduce combines the results of all
ranks: the minimum of parents or distances, the sum of contributions to PageRank. In a superstep of
SSSP a rank sweeps its active partitions once: distances that other ranks are about to lower would
be swept again. Supersteps end when no rank has an active vertex.

BFS and SSSP equal those of the list in memory bit for bit, PageRank except for rounding.
See `layered.algorithms` for the algorithms and their source (WolfPath).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .. import device, frames
from ..algorithms import traversal
from ..algorithms.pagerank import PageRankProblem
from ..algorithms.pagerank_methods import initialize_sums, power_iterate
from ..algorithms.parameters import PageRankParameters, PathParameters, SearchParameters
from ..algorithms.run_memory import Algorithm, estimate_layered_memory
from ..algorithms.shortest_path import resolve_targets
from ..device.arrays import Array
from ..frames import Frame, Vertices, compute_if_dask
from ..graph import weight_sums
from ..kernels.constants import NO_VERTEX
from ..layered import sweeps
from ..layered.algorithms import check_root, find_last_layer
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.streaming import PartitionStream
from ..progress import Report
from .communicator import Communicator
from .executor import release_on_error
from .layered_storage import TITLES, DistributedLayeredStorage, find_worker
from .shortest_path import create_path_frame
from .storage import finish_frame


@release_on_error
def bfs(layered: DistributedLayeredStorage, parameters: SearchParameters) -> Frame:
    """Search breadth-first; see `rapidsgraph.bfs`."""
    _check_arguments(layered, parameters)
    return _bfs(layered, parameters)


@release_on_error
def sssp(layered: DistributedLayeredStorage, parameters: SearchParameters) -> Frame:
    """Find shortest paths; see `rapidsgraph.sssp`."""
    _check_arguments(layered, parameters)
    if not layered.weighted:
        return _bfs(layered, parameters, as_float=True)
    used = layered.local.partitions_before(int(layered.layer_starts[-1]))
    frame, _ = layered.run_algorithm(
        "sssp", _find_distances, used, "words", parameters.max_distance,
        parameters.predecessors, memory_limit=parameters.memory_limit,
        progress=parameters.progress,
    )  # fmt: skip
    return frame


@release_on_error
def pagerank(
    layered: DistributedLayeredStorage, parameters: PageRankParameters
) -> tuple[Frame, int, float]:
    """Compute PageRank; see `algorithms.pagerank.pagerank`.

    Frames among the parameters may be Dask frames.
    """
    layered.local.labeling.check_name_collisions("pagerank")
    with layered.client.as_current():
        names = "personalization", "dangling", "start"
        values = {name: compute_if_dask(getattr(parameters, name)) for name in names}
    rank_parameters = replace(parameters, progress=None, **values)
    frame, (iterations, residual) = layered.run_algorithm(
        "pagerank", _compute_pagerank, slice(None), "words", rank_parameters,
        memory_limit=parameters.memory_limit, progress=parameters.progress,
        total=parameters.max_iterations,
    )  # fmt: skip
    return frame, iterations, residual


@release_on_error
def shortest_path(layered: DistributedLayeredStorage, parameters: PathParameters) -> Frame:
    """Find shortest paths; see `rapidsgraph.shortest_path`."""
    check_root(layered.local, parameters.source)
    with layered.client.as_current():
        target = compute_if_dask(parameters.target)
    targets = resolve_targets(layered.local.labeling, target)
    by_rank = [target] * layered.num_partitions
    options: dict[str, Any] = {"memory_limit": parameters.memory_limit, "progress": None}
    if parameters.weighted and layered.weighted:
        used = layered.local.partitions_before(int(layered.layer_starts[-1]))
        frame, _ = layered.run_algorithm(
            "sssp", _find_weighted_paths, used, "words", by_rank, **options
        )
        return frame
    last_layer = find_last_layer(layered.local, targets.ids)
    frame, _ = layered.run_algorithm(
        "bfs", _find_paths, sweeps.forward_partitions(layered.local, last_layer), "forward_words",
        by_rank, last_layer, parameters.weighted, **options,
    )  # fmt: skip
    return frame


def _check_arguments(layered: DistributedLayeredStorage, parameters: SearchParameters) -> None:
    traversal.check_result_columns(layered.local.labeling)
    check_root(layered.local, parameters.source)


def _bfs(
    layered: DistributedLayeredStorage, parameters: SearchParameters, as_float: bool = False
) -> Frame:
    """Search in one pass: distances are the layers, and edges that go forward have the parents."""
    memory_limit, predecessors = parameters.memory_limit, parameters.predecessors
    last_layer, used = min(parameters.depth_limit, layered.depth), np.empty(0, int)
    sweeps.check_vertices_fit(layered.local, "bfs", "BFS", memory_limit)
    if predecessors:
        used = sweeps.forward_partitions(layered.local, last_layer)
    frame, _ = layered.run_algorithm(
        "bfs", _find_parents, used, "forward_words", last_layer, predecessors, as_float,
        memory_limit=memory_limit, progress=parameters.progress,
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _find_parents(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    last_layer: int,
    predecessors: bool,
    as_float: bool,
) -> tuple[Frame, Any]:
    """Return the rows of BFS, with `as_float` like those of SSSP."""
    result, stats = _search(communicator, report, storage, memory_limit, last_layer, predecessors)
    distances: Any = frames.NullableIntegers(result.distances, null=-1)
    if as_float:
        distances = traversal.float_distances(result.distances)
    columns = {"distance": distances}
    return finish_vertices(communicator, storage, columns, result.predecessors, (stats, None))


def _find_paths(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    target: Vertices,
    last_layer: int,
    as_float: bool,
) -> tuple[Frame, Any]:
    """Return the rows of paths by the number of edges."""
    result, stats = _search(communicator, report, storage, memory_limit, last_layer, True)
    if as_float:
        result.distances = traversal.float_distances(result.distances)
    return _finish_paths(communicator, storage, target, result, stats)


def _search(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    last_layer: int,
    predecessors: bool,
) -> tuple[traversal.TraversalResult, StreamStats]:
    """Return the distances and predecessors of BFS by vertex id."""
    xp, stats = storage.xp, StreamStats(0, 0, 0)
    parents = xp.full(storage.num_vertices if predecessors else 0, NO_VERTEX, xp.int32)
    if predecessors:
        with _open_stream(storage, "bfs", memory_limit) as stream:
            sweeps.find_parents(storage, stream, last_layer, parents, report)
            stats = _finish_stream(stream, int(stream.num_partitions > 0))
        parents = communicator.all_reduce(parents, "min")
    return sweeps.bfs_result(storage, last_layer, parents), stats


def _find_distances(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    cutoff: float,
    predecessors: bool,
) -> tuple[Frame, Any]:
    """Return the rows of SSSP."""
    result, stats = _search_weighted(
        communicator, report, storage, memory_limit, cutoff, predecessors
    )
    columns = {"distance": result.distances}
    return finish_vertices(communicator, storage, columns, result.predecessors, (stats, None))


def _find_weighted_paths(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    target: Vertices,
) -> tuple[Frame, Any]:
    """Return the rows of paths by weight."""
    result, stats = _search_weighted(communicator, report, storage, memory_limit, math.inf, True)
    return _finish_paths(communicator, storage, target, result, stats)


def _finish_paths(
    communicator: Communicator,
    storage: LayeredStorage,
    target: Vertices,
    result: traversal.TraversalResult,
    stats: StreamStats,
) -> tuple[Frame, Any]:
    """Return the rows of the paths to the targets; see `finish_frame`."""
    labeling = storage.labeling
    targets = resolve_targets(labeling, target)
    frame = create_path_frame(
        communicator, labeling, targets, result.distances, result.predecessors
    )
    return finish_frame(communicator, frame, (stats, None))


def _search_weighted(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    cutoff: float,
    predecessors: bool,
) -> tuple[traversal.TraversalResult, StreamStats]:
    """Return the distances and predecessors of SSSP by vertex id."""
    xp, num_vertices = storage.xp, storage.num_vertices
    distances = xp.full(num_vertices, math.inf)
    distances[0] = 0.0
    parents = xp.full(num_vertices if predecessors else 0, NO_VERTEX, xp.int32)
    with _open_stream(storage, "sssp", memory_limit) as stream:
        passes = sweeps.SsspSweeps(storage, stream, False)

        def find_predecessors(hops: Array, zero_weight: bool) -> Array:
            passes.find_predecessors(distances, hops, zero_weight, parents)
            report(passes.passes, "predecessors")
            stream.finish()
            return communicator.all_reduce(parents, "min")

        distances = _relax(communicator, report, passes, "relax", distances, cutoff)
        if cutoff == math.inf:
            reached = distances[: int(storage.layer_starts[-1])]
            weight_sums.check_reached_distances(reached, storage.order, storage.labeling)
        if predecessors:
            parents = find_predecessors(xp.empty(0, xp.int32), False)
            remaining = sweeps.find_remaining(parents, distances)
            if device.count_nonzero(remaining):
                hops = xp.where(remaining, np.int32(NO_VERTEX), np.int32(0))
                hops = _relax(communicator, report, passes, "relax_zero_weight", hops, distances)
                parents = find_predecessors(hops, True)
        stats = _finish_stream(stream, passes.passes)
    if predecessors:
        parents = sweeps.to_vertex_order(storage, parents)
    distances = sweeps.to_vertex_order(storage, distances)
    return traversal.TraversalResult(distances, parents, passes.passes), stats


def _relax(
    communicator: Communicator,
    report: Report,
    passes: sweeps.SsspSweeps,
    entry: str,
    values: Array,
    constant: Any,
) -> Array:
    """Return values that no edge of any rank lowers.

    The kernel `entry` is "relax", which lowers distances up to the cutoff `constant`, or
    "relax_zero_weight", which lowers numbers of hops between equal distances, `constant`.
    """
    xp = passes.storage.xp
    is_active = values < (math.inf if entry == "relax" else NO_VERTEX)
    arguments: dict[str, Any] = {"cutoff": constant, "distances": values}
    if entry == "relax_zero_weight":
        arguments = {"distances": constant, "hops": values}
    last_update = xp.where(is_active, np.int32(0), np.int32(-1))
    relaxation = sweeps.Relaxation(passes, entry, last_update, arguments)
    while True:
        partitions = relaxation.find_active()
        counts = communicator.all_gather_object(partitions.size)
        if not any(counts):
            return values
        report(passes.passes + 1, f"{sum(counts):,} active partitions")
        if partitions.size:
            relaxation.run_pass(partitions)
        minima = communicator.all_reduce(values.copy(), "min")
        relaxation.activate(minima < values)
        values[...] = minima


def _compute_pagerank(
    communicator: Communicator,
    report: Report,
    storage: LayeredStorage,
    memory_limit: int | None,
    parameters: PageRankParameters,
) -> tuple[Frame, Any]:
    """Return the rows of PageRank, and the number of iterations and the residual."""
    if storage.weighted:
        weight_sums.check_out_weights(storage.out_weights, storage.labeling, storage.order)
    problem = PageRankProblem(storage, np.float64, parameters)
    problem.reorder(storage.order)
    with _open_stream(storage, "pagerank", memory_limit) as problem.partitions:
        sweep = partial(_create_sweep, communicator)
        values, iterations, residual = power_iterate(problem, sweep, report)
        stats = _finish_stream(problem.partitions, iterations)
    values = sweeps.to_vertex_order(storage, values).astype(parameters.value_type)
    columns = {"pagerank": values}
    empty, info = storage.xp.empty(0, np.int32), (stats, (iterations, residual))
    return finish_vertices(communicator, storage, columns, empty, info)


def _create_sweep(
    communicator: Communicator,
    problem: PageRankProblem,
    method: Any,
    out_weights: Array,
    pagerank: Array,
    state: Array,
) -> Callable[[int], Array]:
    """Return the function of one power iteration for `power_iterate`."""
    storage, stream = problem.graph, problem.partitions
    sums, rank_sums = storage.xp.empty((2, storage.num_vertices))
    scatter = sweeps.make_scatter(storage, stream, problem.damping, out_weights, pagerank[0], state)

    def sweep(parity: int) -> Array:
        rank_sums.fill(0)
        scatter(rank_sums)
        stream.finish()
        initialize_sums(problem, state, sums)
        # The reduction adds in rank order, so that every rank has the same sums.
        sums[...] += communicator.all_reduce(rank_sums)
        return sums

    return sweep


def local_vertices(communicator: Communicator, storage: LayeredStorage) -> slice:
    """Return the vertices of which a rank has the rows: about as many as any other rank."""
    start, stop = (
        storage.num_vertices * rank // communicator.size
        for rank in (communicator.rank, communicator.rank + 1)
    )
    return slice(start, stop)


def finish_vertices(
    communicator: Communicator,
    storage: LayeredStorage,
    columns: dict[str, Any],
    predecessors: Array,
    info: Any,
) -> tuple[Frame, Any]:
    """Return the rows of a rank from the arrays of all vertices; see `finish_frame`.

    There is no column of predecessors if `predecessors` is empty.
    """
    labeling, rows = storage.labeling, local_vertices(communicator, storage)
    local_columns = {name: values[rows] for name, values in columns.items()}
    if predecessors.size:
        local_columns |= labeling.name_columns(predecessors[rows], NO_VERTEX, "predecessor")
    ids = storage.xp.arange(rows.start, rows.stop, dtype=np.int32)
    return finish_frame(communicator, labeling.vertex_frame(local_columns, ids), info)


def _open_stream(
    storage: LayeredStorage, algorithm: Algorithm, memory_limit: int | None
) -> AbstractContextManager[PartitionStream]:
    """Return the partition stream of an algorithm as a context manager."""
    title = TITLES[algorithm]
    memory_limit = choose_limit(storage, algorithm, memory_limit)
    return sweeps.algorithm_stream(
        storage, algorithm, title, memory_limit, is_repeated=algorithm != "bfs"
    )


def choose_limit(
    storage: LayeredStorage, algorithm: Algorithm, memory_limit: int | None
) -> int | None:
    """Return the memory limit of a rank.

    Without a limit, half of the worker's own limit applies on a CPU: pages of a mapped file count
    as memory of the worker, which Dask ends if it uses too much.
    """
    worker_limit = getattr(getattr(find_worker(), "memory_manager", None), "memory_limit", None)
    if memory_limit is None and storage.xp is np and worker_limit:
        minimum = estimate_layered_memory(storage, algorithm).streamed
        free = device.free_memory(np)
        if free >= minimum:
            memory_limit = max(min(worker_limit // 2, free), minimum)
    return memory_limit


def _finish_stream(stream: PartitionStream, passes: int) -> StreamStats:
    """Return the cost of a run; raise the error of a damaged partition."""
    stream.finish()
    return StreamStats(passes, stream.num_partitions, stream.nbytes)
