"""Breadth-first search and single-source shortest paths on one CPU or GPU.

The kernels run all levels of a traversal in one launch. SSSP sums weights in double precision from
the source on. Since adding a weight is monotonic, every order of relaxations ends at the same
distances, and they equal those of Dijkstra's algorithm bit for bit.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .. import device, frames, kernels
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, count_nonempty
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.vertex_arguments import id_of_integer, resolve_vertices
from ..graph.vertex_names import Labeling
from ..graph.weight_order import lists_by_weight, record_search, should_read_by_weight
from ..graph.weight_sums import can_overflow, check_distances
from ..kernels.constants import (
    COOPERATIVE_THREADS,
    FRONTIER_CHUNK,
    NO_VERTEX,
    SHARED_FRONTIER,
)
from ..validation import check_number, is_integral, reject
from .parameters import FRAME_OPTIONS, SearchParameters
from .predecessors import (
    find_predecessors,
    pull_predecessors,
    push_predecessors,
    zero_weight_edges,
)
from .run_memory import Algorithm, check_run_memory

logger = logging.getLogger(__name__)

# Shared memory per vertex of a small graph: in each of two frontiers an int64 entry of a list and
# an int32 id.
SHARED_VERTEX_BYTES = 24
NUM_COUNTERS = 24  # of bfs.cu and sssp.cu: three sets per round, report and team barrier
ZEROED_BUFFERS = ("counters", "arrived_blocks")  # by which blocks synchronize
GPU_FULL_WIDTH_DEGREE = 4  # mean degree up to which a GPU begins with the full width
SAMPLE_SIZE = 2**16  # weights that determine the initial delta
# Standard deviation of the logarithm of the weights from which a radix heap is faster on a CPU:
# no width of the near queue fits weights of many magnitudes.
MIN_LOG_DEVIATION = 5.0
REACHED_KEY = "vertices reached by the last two searches"  # in a graph's cache


@dataclass
class TraversalResult:
    """The result of a traversal by vertex id.

    Attributes
    ----------
    distances : int32 or float64 array, shape (vertices,)
        Numbers of edges, -1 for an unreached vertex; or sums of weights, infinity for one.
    predecessors : int32 array, shape (vertices,)
        NO_VERTEX for a vertex without one; empty if predecessors were not computed.
    num_rounds : int or int64 array, shape ()
        Number of levels of a BFS, or of steps of shortest paths; on the device if it is there.
    distance_mask, predecessor_mask : NullMask, optional
        Masks of the columns of a BFS on a GPU, if they were asked for.
    """

    distances: Array
    predecessors: Array
    num_rounds: int | Array
    distance_mask: frames.NullMask | None = None
    predecessor_mask: frames.NullMask | None = None


def bfs(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Search a graph or frame breadth-first; see `rapidsgraph.bfs`."""
    is_graph = isinstance(graph, LocalGraph)
    graph = as_local_graph(graph, compile_ahead=lambda _: compile_search(None))
    # The host waits for the null counts of a cuDF frame, after the search; it need not wait for the
    # source as well. An absent one reaches no vertex.
    with_masks = graph.xp is not np and graph.labeling.library == "cudf"
    _check_run(graph, "bfs", "BFS")
    ids: Any = id_of_integer(graph.labeling, parameters.source)
    if ids is None:
        ids = resolve_vertices(graph.labeling, parameters.source, wait=not with_masks)
    bottom_up = is_graph or not graph.directed
    is_predictable = with_masks and parameters.depth_limit == NO_VERTEX
    result = run_bfs(
        graph, ids, parameters.depth_limit, parameters.predecessors, bottom_up,
        with_masks=with_masks,
        expected_reached=_expect_reached(graph) if is_predictable else None,
    )  # fmt: skip
    mask = result.distance_mask
    distances = frames.NullableIntegers(result.distances, null=-1, mask=mask)
    frame = traversal_frame(graph.labeling, result, distances, parameters.predecessors)
    if mask is not None and not mask.count_valid():
        resolve_vertices(graph.labeling, parameters.source)  # raises the error
        raise AssertionError("a search from a vertex of the graph reached none")
    if is_predictable and mask is not None:
        _record_reached(graph, mask.count_valid())
    return frame


def _expect_reached(graph: LocalGraph) -> int | None:
    """Return how many vertices the last two searches of a graph reached, if they agree, else None.

    Most searches begin in the largest component.
    """
    previous, last = graph.cached(REACHED_KEY, lambda: (None, None))
    return last if previous == last else None


def _record_reached(graph: LocalGraph, num_reached: int) -> None:
    """Record how many vertices a search without a depth limit has reached."""
    _, last = graph.cached(REACHED_KEY, lambda: (None, None))
    graph.replace_cached(REACHED_KEY, (last, num_reached))


def sssp(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Find shortest paths in a graph or frame; see `rapidsgraph.sssp`."""
    cutoff, predecessors = parameters.max_distance, parameters.predecessors
    is_graph = isinstance(graph, LocalGraph)
    graph = weighted_graph(graph)
    _check_run(graph, "sssp", "SSSP")
    ids = resolve_vertices(graph.labeling, parameters.source)
    bottom_up = is_graph or not graph.directed
    if graph.weighted:
        by_weight = is_graph and should_read_by_weight(graph)
        result = run_sssp(graph, ids, cutoff, predecessors, bottom_up, by_weight=by_weight)
        record_search(graph)
        distances = result.distances
        if cutoff == math.inf and can_overflow(graph.total_weight):
            check_distances(graph.csr, distances, graph.labeling)
    else:
        result = run_bfs(graph, ids, parameters.depth_limit, predecessors, bottom_up)
        distances = float_distances(result.distances)
    return traversal_frame(graph.labeling, result, distances, predecessors)


def float_distances(distances: Array) -> Array:
    """Return the distances of a BFS as `sssp` returns them."""
    weights = device.array_module(distances).empty(distances.size, np.float64)
    device.launch(
        "sssp", "convert_depths", size=distances.size,
        num_vertices=distances.size, depths=distances, distances=weights,
    )  # fmt: skip
    return weights


def weighted_graph(edges: GraphLike) -> LocalGraph:
    """Return the storage of a graph; build one with minimum weights from a frame."""
    return as_local_graph(edges, compile_ahead=compile_search, **FRAME_OPTIONS["sssp"])


def compile_search(weight_type: Any) -> None:
    """Start to compile the kernels of a search, of shortest paths if there are weights."""
    if weight_type is None:
        device.compile_ahead("bfs")
    else:
        device.compile_ahead("sssp", weights=weight_type)


def _check_run(graph: LocalGraph, algorithm: Algorithm, title: str) -> None:
    """Check result columns and free memory."""
    check_result_columns(graph.labeling)
    size = f"{graph.num_vertices:,} vertices and {graph.num_arcs:,} arcs"
    check_run_memory(graph, algorithm, f"{title} of {size}")


def check_result_columns(labeling: Any) -> None:
    """Raise GraphError if result columns of a traversal collide with name columns."""
    labeling.check_name_collisions("distance", *labeling.endpoint_columns("predecessor").values())


def traversal_frame(
    labeling: Labeling, result: TraversalResult, distances: Any, predecessors: bool
) -> Frame:
    """Return the result frame of `bfs` and `sssp`."""
    columns = {"distance": distances}
    if predecessors:
        columns |= labeling.name_columns(
            result.predecessors, NO_VERTEX, "predecessor", result.predecessor_mask
        )
    return labeling.vertex_frame(columns)


def check_cutoff(cutoff: Any) -> float:
    """Return the cutoff as float, infinity for None; it must be a number, 0 or more."""
    return math.inf if cutoff is None else check_number("cutoff", cutoff)


def check_depth_limit(limit: Any) -> int:
    """Return the limit as int, NO_VERTEX for None; it must be an integer, 0 or more."""
    if limit is None:
        return NO_VERTEX
    if not is_integral(limit) or limit < 0:
        reject("depth_limit", limit, "it must be a number of edges, 0 or more")
    return min(int(limit), NO_VERTEX)


def run_bfs(
    graph: Any,
    ids: Array | int,
    depth_limit: int = NO_VERTEX,
    predecessors: bool = True,
    bottom_up: bool = True,
    targets: Array | None = None,
    with_masks: bool = False,
    expected_reached: int | None = None,
) -> TraversalResult:
    """Run BFS from int32 `ids`; `bottom_up` levels need the CSC, which is built if missing.

    A single id may be an int, which saves a launch on a GPU. Ids of -1 are ignored. With int32
    `targets`, the search ends with the level of the farthest one. `expected_reached` is the
    probable number of vertices reached, for the masks of `with_masks`.
    """
    xp, num_vertices, adjacency = graph.xp, graph.num_vertices, graph.csr
    no_vertices = device.no_values(np.int32, xp)
    source, sources = (ids, no_vertices) if isinstance(ids, int) else (-1, ids)
    targets = no_vertices if targets is None else targets
    in_adjacency = graph.csc if bottom_up else adjacency
    mask_size = frames.mask_size(num_vertices) if with_masks else 0
    num_words = (num_vertices + 31) // 32
    num_queues = 2 if xp is not np else 3  # two queues, or 64-bit keys and a queue
    arrays = device.allocate_groups(
        xp,
        {"state": (2, np.int64), "reached_mask": (mask_size, np.uint32),
         "predecessor_mask": (mask_size if predecessors else 0, np.uint32),
         "distances": (num_vertices, np.int32)},
        {"predecessors": (num_vertices if predecessors else 0, np.int32)},
        {**_work_space_sizes(graph), "queues": (num_queues * num_vertices + 2, np.int32),
         "frontier_bits": (3 * num_words, np.uint32)},
        zeroed=("state", *ZEROED_BUFFERS),
    )  # fmt: skip
    device.launch(
        "bfs", "search", size=num_vertices + graph.num_arcs // 4, threads=COOPERATIVE_THREADS,
        cooperative=True, shared_bytes=SHARED_FRONTIER * SHARED_VERTEX_BYTES,
        num_vertices=num_vertices, num_arcs=graph.num_arcs, depth_limit=depth_limit,
        bottom_up=bottom_up, with_predecessors=predecessors, source=source,
        num_sources=sources.size, sources=sources, num_targets=targets.size, targets=targets,
        offsets=adjacency.offsets, neighbors=adjacency.neighbors,
        in_offsets=in_adjacency.offsets, in_neighbors=in_adjacency.neighbors,
        with_masks=with_masks, **arrays,
    )  # fmt: skip
    num_rounds, num_sources = arrays["state"][0], 1 if source >= 0 else sources.size
    if logger.isEnabledFor(logging.DEBUG):  # on a GPU, reading the number waits for the search
        logger.debug("bfs: %d levels from %d sources", int(num_rounds), num_sources)
    result = TraversalResult(arrays["distances"], arrays["predecessors"], num_rounds)
    if with_masks:
        read_state = device.start_reading(arrays["state"])
        result.distance_mask = frames.NullMask(
            arrays["reached_mask"], lambda: read_state()[1], expected_reached
        )
        result.predecessor_mask = frames.NullMask(
            arrays["predecessor_mask"], lambda: max(read_state()[1] - num_sources, 0),
            None if expected_reached is None else max(expected_reached - num_sources, 0),
        )  # fmt: skip
    return result


def run_sssp(
    graph: Any,
    ids: Array,
    cutoff: float = math.inf,
    predecessors: bool = True,
    bottom_up: bool = True,
    targets: Array | None = None,
    by_weight: bool = False,
) -> TraversalResult:
    """Run SSSP from int32 `ids`; with `bottom_up`, predecessors are computed from the CSC.

    `by_weight` needs lists in the order of weights, which are built if missing. With int32
    `targets`, the search ends when their distances are final, and vertices farther than all of them
    count as unreached.
    """
    distances = device.full(graph.num_vertices, math.inf, np.float64, graph.xp)
    device.put(distances, ids, 0.0)
    lists = lists_by_weight(graph) if by_weight else None
    pull_start = graph.xp.empty(1, np.float64)
    num_rounds = relax_from(
        graph, ids, distances, cutoff, targets=targets, lists=lists, pull_start=pull_start
    )
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("sssp: %d steps from %d sources", int(num_rounds), ids.size)
    if targets is not None:
        drop_farther(distances, targets)
    result = TraversalResult(distances, device.no_values(np.int32, graph.xp), num_rounds)
    if predecessors:
        result.predecessors = _compute_predecessors(
            graph, ids, distances, bottom_up, lists, pull_start
        )
    return result


def drop_farther(distances: Array, targets: Array) -> None:
    """Set the distances of vertices that are farther than all int32 `targets` to infinity."""
    device.launch(
        "sssp", "drop_farther", size=distances.size, num_vertices=distances.size,
        limit=device.take(distances, targets).max().reshape(1), distances=distances,
    )  # fmt: skip


def relax_from(
    graph: Any,
    ids: Array,
    distances: Array,
    cutoff: float = math.inf,
    stop: float = math.inf,
    queues: Array | None = None,
    targets: Array | None = None,
    lists: tuple[Adjacency, Adjacency] | None = None,
    pull_start: Array | None = None,
) -> int | Array:
    """Lower `distances` in place along all paths from int32 `ids`.

    Parameters
    ----------
    graph : LocalGraph or Partition
    ids : int32 array
        Distinct vertices nearer than `stop`.
    distances : float64 array, shape (vertices,)
    cutoff : float
        Largest distance to write.
    stop : float
        Vertices at this distance or farther are reached, but not expanded.
    queues : int32 array, optional
        From `allocate_queues`, for several calls.
    targets : int32 array, optional
        Vertices at whose final distances the search ends.
    lists : (Adjacency, Adjacency), optional
        From `lists_by_weight`.
    pull_start : float64 array, shape (1,), optional
        Becomes the distance from which on `find_predecessors` pulls.

    Returns
    -------
    int or int64 array, shape ()
        The number of steps; on the device if it is there.
    """
    targets = ids[:0] if targets is None else targets
    xp, num_vertices, adjacency = graph.xp, graph.num_vertices, graph.csr
    queues = allocate_queues(num_vertices, xp) if queues is None else queues
    if xp is np and has_wide_weights(graph):
        return kernels.radix_heap.shortest_paths(
            float(cutoff), float(stop), ids, targets, adjacency.offsets, adjacency.neighbors,
            adjacency.weights, distances, queues,
        )  # fmt: skip
    adjacency, in_adjacency = lists or (adjacency, adjacency)
    state = xp.zeros(1, np.int64)
    device.launch(
        "sssp", "shortest_paths", size=num_vertices + graph.num_arcs // 4,
        threads=COOPERATIVE_THREADS, cooperative=True,
        num_vertices=num_vertices, num_arcs=graph.num_arcs, cutoff=cutoff, stop=stop,
        delta=get_delta(graph), by_weight=lists is not None,
        num_sources=ids.size, sources=ids, num_targets=targets.size, targets=targets,
        offsets=adjacency.offsets, neighbors=adjacency.neighbors, weights=adjacency.weights,
        in_offsets=in_adjacency.offsets, in_neighbors=in_adjacency.neighbors,
        in_weights=in_adjacency.weights, distances=distances, queues=queues,
        marks=xp.zeros((1 if xp is np else 2) * num_vertices, xp.int32),
        min_distance=device.full(3, math.inf, np.float64, xp),
        pull_start=xp.empty(1, np.float64) if pull_start is None else pull_start,
        state=state, **device.allocate(xp, zeroed=ZEROED_BUFFERS, **_work_space_sizes(graph)),
    )  # fmt: skip
    return state[0]


def allocate_queues(num_vertices: int, xp: ModuleType) -> Array:
    """Return the queues of `relax_from`, on a CPU of valid vertices: it prefetches beyond ends."""
    size = (2 if xp is np else 4) * num_vertices + 2
    return xp.zeros(size, xp.int32) if xp is np else xp.empty(size, xp.int32)


def _work_space_sizes(graph: Any) -> dict[str, tuple[int, Any]]:
    """Return the sizes and types of the work space of a traversal by parameter name.

    Those in `ZEROED_BUFFERS` have to be 0. `chunks` lists parts of long adjacency lists of two
    frontiers.
    """
    num_chunks = 0 if graph.xp is np else 4 * (graph.num_arcs // FRONTIER_CHUNK + 2)
    return {
        "counters": (NUM_COUNTERS, np.int64), "arrived_blocks": (1, np.uint64),
        "chunks": (num_chunks, np.int64),
    }  # fmt: skip


def _compute_predecessors(
    graph: Any,
    ids: Array,
    distances: Array,
    bottom_up: bool,
    lists: tuple[Adjacency, Adjacency] | None,
    pull_start: Array,
) -> Array:
    """Return the smallest valid predecessor of every reached vertex that is not a source."""
    xp, num_vertices = graph.xp, graph.num_vertices
    predecessors = device.full(num_vertices, NO_VERTEX, xp.int32, xp)
    if lists is not None:
        find_predecessors(*lists, pull_start, distances, predecessors)
    elif bottom_up:
        pull_predecessors(graph.csc, distances, predecessors)
    else:
        push_predecessors(graph.csr, distances, predecessors)
    remaining = xp.empty(num_vertices, bool)
    device.launch(
        "sssp", "mark_remaining", size=num_vertices, num_vertices=num_vertices,
        distances=distances, predecessors=predecessors, remaining=remaining,
    )  # fmt: skip
    device.put(remaining, ids, False)
    num_remaining = device.count_nonzero(remaining)
    # Only zero-weight edges lead to these vertices: a BFS along them starts at all others.
    if num_remaining and xp is np:
        adjacency = graph.csr
        kernels.zero_weight_edges.find_predecessors(
            adjacency.offsets, adjacency.neighbors, adjacency.weights, distances, remaining,
            np.empty(num_remaining, np.int32), predecessors,
        )  # fmt: skip
    elif num_remaining:
        subgraph = zero_weight_edges(graph.csr, distances, remaining, xp)
        has_predecessor = predecessors < NO_VERTEX
        has_predecessor[ids] = True
        starts = device.flatnonzero(has_predecessor)
        result = run_bfs(subgraph, starts, bottom_up=False)
        predecessors = xp.where(remaining, result.predecessors, predecessors)
    return predecessors


def get_delta(graph: Any) -> float:
    """Return the initial width of the near queue of SSSP, cached on the graph or partition."""
    adjacency, xp = graph.csr, graph.xp

    def estimate() -> float:
        num_sources = count_nonempty(adjacency)
        degree = adjacency.neighbors.size / max(num_sources, 1)
        delta = initial_delta(_sample(adjacency.weights), degree, xp)
        # The kernel widens the queue where it has few vertices.
        return delta if xp is np else delta * min(1.0, GPU_FULL_WIDTH_DEGREE / max(degree, 1))

    return graph.cached("delta", estimate)


def has_wide_weights(graph: Any) -> bool:
    """Return whether the weights have many magnitudes, cached on the graph or partition."""

    def estimate() -> bool:
        weights = _sample(graph.csr.weights)
        weights = weights[(weights > 0) & (weights < math.inf)]
        return bool(weights.size and np.log(weights).std() >= MIN_LOG_DEVIATION)

    return graph.cached("has wide weights", estimate)


def _sample(weights: Array) -> np.ndarray:
    step = max(weights.size // SAMPLE_SIZE, 1)
    if step == 1 or not device.is_on_gpu(weights):
        return weights[::step] if step > 1 else device.to_host(weights)
    dtype: Any = np.uint32 if weights.size < 2**32 else np.int64
    positions = np.arange(0, weights.size, step, dtype=dtype)
    return device.to_host(device.take(weights, device.array_module(weights).asarray(positions)))


def initial_delta(weights: np.ndarray, degree: float, xp: ModuleType) -> float:
    """Return the initial width of the near queue of SSSP, from the median positive weight.

    A GPU needs many vertices per step, a CPU as few repeated relaxations as possible: the higher
    the degree, the more arcs are longer than a path around them.

    Parameters
    ----------
    weights : array on the host
        A sample of the weights.
    degree : float
        Mean out-degree of vertices with out-edges.
    xp : module
        NumPy or CuPy.
    """
    weights = weights[weights > 0]
    middle = weights.size // 2
    median = float(np.partition(weights, middle)[middle]) if weights.size else 1.0
    return median / 2 if xp is not np else 4 * median / max(degree, 2) ** 2
