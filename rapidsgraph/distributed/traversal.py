"""BFS and SSSP on a distributed graph, as SPMD code over a communicator.

In a superstep each rank relaxes the arcs of its active vertices, and of all vertices that become
active, up to a common bound (chaotic relaxation: D. Chazan and W. Miranker, "Chaotic relaxation",
Linear Algebra and its Applications 2(2), 1969, https://doi.org/10.1016/0024-3795(69)90028-7). Then
it sends the distances it lowered to the ranks that own those vertices. Supersteps end when no rank
has active vertices. Distances equal those of Dijkstra's algorithm bit for bit, in whatever order
they are lowered. The first superstep of SSSP covers a short distance, and each further one twice as
much, so that all ranks soon have active vertices.

BFS is the same with edges of length 1. A superstep is one level, or more and more levels while
frontiers are small, since a superstep takes longer than they do. A large frontier is expanded
bottom-up: each rank searches the in-neighbors of its unreached vertices in the frontier of all
ranks (S. Beamer, K. Asanovic, D. Patterson, "Direction-optimizing breadth-first search", SC 2012,
https://doi.org/10.1109/SC.2012.50).
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import device, frames
from ..algorithms.parameters import FRAME_OPTIONS, SearchParameters
from ..algorithms.predecessors import (
    ArcSubgraph,
    pull_predecessors,
    push_predecessors,
    zero_weight_edges,
)
from ..algorithms.run_memory import ALGORITHM_BYTES, Algorithm
from ..algorithms.traversal import (
    allocate_queues,
    check_result_columns,
    float_distances,
    get_delta,
    relax_from,
    run_bfs,
    run_sssp,
)
from ..device.arrays import Array
from ..frames import Frame, Vertices, compute_if_dask
from ..graph import weight_sums
from ..graph.csr import Adjacency, from_coo, row_indices
from ..graph.local_graph import GraphLike
from ..graph.vertex_arguments import resolve_vertices
from ..kernels.constants import BFS_ALPHA, BFS_BETA, NO_VERTEX
from ..progress import Report, reporter
from ..validation import check_free_memory
from .communicator import Communicator
from .exchange import exchange_lowered, gather_values, list_ghosts
from .executor import release_on_error
from .graph import DistributedGraph, as_distributed, create_vertex_frame
from .partition import Partition
from .replica import WholeGraph, get_max_replica_arcs, replicate
from .storage import finish_frame

MIN_ARCS = {"cpu": 2**15, "gpu": 2**20}  # of a frontier that are worth a superstep of one level
NUM_SMALL = 4  # supersteps with small frontiers, after which one takes more and more levels
MAX_DOUBLINGS = 40  # of the distance that a superstep covers, which is unlimited then


class Search(NamedTuple):
    """The parameters of a search, which every rank receives.

    Attributes
    ----------
    is_sssp, weighted, predecessors : bool
    cutoff : float
        Vertices that are farther away count as unreached.
    can_overflow : bool
        Whether distances may exceed double precision.
    max_replica_arcs : int
        Every rank has a copy of graphs up to this size. The client decides: configurations of
        workers may differ.
    """

    is_sssp: bool
    weighted: bool
    predecessors: bool
    cutoff: float
    can_overflow: bool
    max_replica_arcs: int


@release_on_error
def bfs(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Search a DistributedGraph or Dask frame breadth-first; see `rapidsgraph.bfs`."""
    is_built = isinstance(graph, DistributedGraph)
    graph = as_distributed(graph)
    search = Search(
        is_sssp=False, weighted=False, predecessors=parameters.predecessors,
        cutoff=parameters.max_distance, can_overflow=False,
        max_replica_arcs=get_max_replica_arcs(graph.device),
    )  # fmt: skip
    return _search(graph, parameters, search, is_built)


@release_on_error
def sssp(graph: GraphLike, parameters: SearchParameters) -> Frame:
    """Find shortest paths in a DistributedGraph or Dask frame; see `rapidsgraph.sssp`."""
    cutoff = parameters.max_distance
    is_built = isinstance(graph, DistributedGraph)
    graph = as_weighted(graph)
    can_overflow = (
        graph.weighted and cutoff == math.inf and weight_sums.can_overflow(graph.total_weight)
    )
    search = Search(
        is_sssp=True, weighted=graph.weighted, predecessors=parameters.predecessors, cutoff=cutoff,
        can_overflow=can_overflow, max_replica_arcs=get_max_replica_arcs(graph.device),
    )  # fmt: skip
    return _search(graph, parameters, search, is_built)


def as_weighted(graph: GraphLike) -> DistributedGraph:
    """Return a DistributedGraph as it is; build one with minimum weights from a Dask frame."""
    return as_distributed(graph, **FRAME_OPTIONS["sssp"])


def _search(
    graph: DistributedGraph, parameters: SearchParameters, search: Search, is_built: bool
) -> Frame:
    check_result_columns(graph)
    # Of a Graph, CSC is built and cached for later searches, too, as in a LocalGraph.
    csc = graph.partitions("csc") if is_built or not graph.directed else None
    with reporter(parameters.progress, "SSSP" if search.is_sssp else "BFS", None) as report:
        frame, _ = graph.run_for_frame(
            _search_on_rank, graph.partitions("csr"), csc, tuple(graph.bounds),
            [compute_if_dask(parameters.source)] * graph.num_partitions, search,
            name="search", report=report,
        )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _search_on_rank(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition | None,
    bounds: tuple[int, ...],
    source: Vertices | None,
    search: Search,
) -> tuple[Frame, Any]:
    """Return the rows of the result for the vertices of a partition; see `finish_frame`."""
    labeling = csr.labeling
    ids = resolve_vertices(labeling, source)
    replicas = replicate(communicator, csr, csc, search.max_replica_arcs)
    check_search_memory(csr, "bfs" if replicas and not search.weighted else "sssp")
    if replicas:
        distances, predecessors = search_whole_graph(*replicas, ids, search)
        if search.can_overflow:
            weight_sums.check_distances(replicas[0].adjacency, distances, labeling)
        distances = distances[csr.local_range]
        if search.predecessors:
            predecessors = predecessors[csr.local_range]
    else:
        traversal = Traversal(communicator, csr, csc, bounds, search)
        traversal.find_distances(ids, report)
        distances = traversal.distances[csr.local_range]
        all_distances = distances
        if search.can_overflow or search.predecessors:
            all_distances = gather_values(communicator, distances, bounds)
        if search.can_overflow:
            weight_sums.check_distances(csr.adjacency, all_distances, labeling)
        predecessors = traversal.predecessors[csr.local_range]
        if search.predecessors:
            predecessors = traversal.find_predecessors(ids, all_distances)
    columns: dict[str, Any] = {"distance": distances}
    if not search.is_sssp:
        depths = csr.xp.where(distances < math.inf, distances, -1).astype(np.int32)
        columns["distance"] = frames.NullableIntegers(depths, null=-1)
    if search.predecessors:
        columns |= labeling.name_columns(predecessors, NO_VERTEX, "predecessor")
    frame = create_vertex_frame(csr, columns)
    return finish_frame(communicator, frame)


class Traversal:
    """A search on several ranks, as one of them sees it.

    Attributes
    ----------
    distances : float64 array, shape (vertices,)
        Final for the vertices of the partition when the search is complete; for other vertices the
        length of the shortest path that this rank knows.
    predecessors : int32 array, shape (vertices,) or (0,)
        Those that are known when the distances are complete, else NO_VERTEX.
    """

    def __init__(
        self,
        communicator: Communicator,
        csr: Partition,
        csc: Partition | None,
        bounds: tuple[int, ...],
        search: Search,
    ) -> None:
        self._communicator, self._bounds, self._search = communicator, bounds, search
        self._csr = csr if search.weighted else _with_unit_weights(csr)
        self._csc = csc if search.weighted or csc is None else _with_unit_weights(csc)
        xp, num_vertices = csr.xp, csr.num_vertices
        self.distances = xp.full(num_vertices, math.inf)
        self.predecessors = xp.full(num_vertices if search.predecessors else 0, NO_VERTEX, xp.int32)
        self._ghosts, self._splits = self._csr.cached(
            "ghosts", lambda: list_ghosts(self._csr, bounds)
        )
        self._bottom_up_levels: tuple[float, float] | None = None
        self._num_top_down_arcs = self._num_arcs = 0

    def find_distances(self, ids: Array, report: Report, targets: Array | None = None) -> None:
        """Compute the distances of the partition's vertices from int32 `ids`.

        With int32 `targets`, the search ends when their distances are final; those of farther
        vertices are upper bounds then.
        """
        csr, search, distances = self._csr, self._search, self.distances
        xp, is_bfs = csr.xp, not self._search.weighted
        local_distances = self.distances[csr.local_range]
        min_arcs = MIN_ARCS["cpu" if xp is np else "gpu"]
        queues = allocate_queues(csr.num_vertices, xp)
        distances[ids] = 0.0
        self._sent = distances[self._ghosts]
        first_width = get_delta(csr) if csr.num_arcs else math.inf
        first_width = min(self._communicator.all_gather_object(first_width))
        # Expanded are all vertices nearer than `bound`, except those that other ranks have lowered.
        bound, remote_frontier = 0.0, xp.empty(0, xp.int32)
        may_pull, num_small, num_supersteps = is_bfs and self._csc is not None, 0, 0
        while True:
            is_active = (local_distances >= bound) & (local_distances < math.inf)
            local_frontier = xp.flatnonzero(is_active) + csr.start
            active = xp.concatenate([remote_frontier, local_frontier.astype(xp.int32)])
            min_distance, num_arcs, total_arcs = self._sum_up(active)
            if min_distance == math.inf or (is_bfs and min_distance >= search.cutoff):
                return  # active vertices of a BFS lead beyond the cutoff only
            if targets is not None and self._max_distance(targets) < min_distance:
                return
            num_supersteps += 1
            report(num_supersteps, f"distance {min_distance:g}, {num_arcs:,} active edges")
            if may_pull and num_arcs * BFS_ALPHA > total_arcs:
                bound = self._expand_bottom_up(min_distance)
                self._bottom_up_levels = min_distance, bound
                self._sent = distances[self._ghosts]
                remote_frontier, may_pull, num_small = remote_frontier[:0], False, 0
                continue
            self._num_top_down_arcs, self._num_arcs = self._num_top_down_arcs + num_arcs, total_arcs
            num_small = num_small + 1 if num_arcs < min_arcs else 0
            exponent = num_small - NUM_SMALL if is_bfs else num_supersteps
            width = math.inf
            if exponent < MAX_DOUBLINGS:
                width = first_width * 2.0 ** max(exponent, 0)
            bound = max(bound, min_distance + width)
            active = active[distances[active] < bound]
            if active.size:
                relax_from(csr, active, distances, search.cutoff, bound, queues)
            remote_frontier = self._exchange(bound)

    def _sum_up(self, active: Array) -> tuple[float, int, int]:
        """Return minimum distance and arcs of active vertices, and all arcs, over all ranks."""
        min_distance, num_arcs = math.inf, 0
        if active.size:
            offsets = self._csr.adjacency.offsets
            degrees = offsets[active + 1] - offsets[active]
            sums = self._csr.xp.stack([self.distances[active].min(), degrees.sum(dtype=np.float64)])
            min_distance, num_arcs = device.to_host(sums).tolist()
        values = self._communicator.all_gather_object((min_distance, num_arcs, self._csr.num_arcs))
        minima, active_arcs, arcs = zip(*values, strict=True)
        return min(minima), int(sum(active_arcs)), sum(arcs)

    def _max_distance(self, targets: Array) -> float:
        """Return the largest distance of int32 `targets` over all ranks."""
        csr = self._csr
        local_targets = targets[(targets >= csr.start) & (targets < csr.stop)]
        distance = float(self.distances[local_targets].max()) if local_targets.size else 0.0
        return max(self._communicator.all_gather_object(distance))

    def _exchange(self, bound: float) -> Array:
        """Send the distances that were lowered to the owners of their vertices, and receive others.

        Returns the vertices of the partition nearer than `bound` that other ranks have lowered.
        """
        dtype = np.float64 if self._search.weighted else np.int32  # levels are integers
        ids, self._sent = exchange_lowered(
            self._communicator, self.distances, self._ghosts, self._splits, self._sent, dtype
        )
        return ids[self.distances[ids] < bound]

    def _expand_bottom_up(self, distance: float) -> float:
        """Expand levels from the one at `distance` while frontiers are large; return the last."""
        assert self._csc is not None
        csc, communicator, search = self._csc, self._communicator, self._search
        xp, rows, num_vertices = csc.xp, csc.local_adjacency, csc.num_vertices
        self.distances[self.distances > distance] = math.inf  # they may be too large
        local_distances, predecessors = self.distances[csc.local_range], self.predecessors
        if search.predecessors:
            predecessors = predecessors[csc.local_range]
        frontier = communicator.allocate((2, num_vertices), self._bounds, bool, xp)
        row = frontier.array[0]
        row[csc.local_range] = local_distances == distance
        num_new = sum(communicator.all_gather_object(device.count_nonzero(row[csc.local_range])))
        for level in range(int(distance) + 1, int(min(search.cutoff, num_vertices)) + 1):
            index = (level - int(distance) - 1) % 2
            frontier.all_gather(index)
            count = xp.zeros(1, np.int64)
            if local_distances.size:
                device.launch(
                    "bfs", "expand_bottom_up", size=local_distances.size,
                    num_vertices=local_distances.size, level=level,
                    with_predecessors=search.predecessors, offsets=rows.offsets,
                    neighbors=rows.neighbors, frontier=frontier.array[index],
                    next_frontier=frontier.array[1 - index][csc.local_range],
                    distances=local_distances, predecessors=predecessors, num_new=count,
                )  # fmt: skip
            before, num_new = num_new, sum(communicator.all_gather_object(int(count[0])))
            if not num_new or (num_new < before and num_new * BFS_BETA < num_vertices):
                return float(level)
        return search.cutoff

    def find_predecessors(self, ids: Array, distances: Array) -> Array:
        """Return the smallest valid predecessors of the partition's vertices: int32.

        Parameters
        ----------
        ids : int32 array
            Sources of the search.
        distances : float64 array, shape (vertices,)
        """
        csr, csc, communicator, predecessors = (
            self._csr, self._csc, self._communicator, self.predecessors,
        )  # fmt: skip
        xp, local = csr.xp, csr.local_range
        is_push_cheap = self._num_top_down_arcs * BFS_ALPHA <= self._num_arcs
        if csc is None or (self._bottom_up_levels is not None and is_push_cheap):
            # Vertices of bottom-up levels have their predecessors.
            skip_range = self._bottom_up_levels or (0.0, 0.0)
            push_predecessors(csr.adjacency, distances, predecessors, skip_range)
            slices = [predecessors[start:stop] for start, stop in pairwise(self._bounds)]
            local_predecessors = functools.reduce(xp.minimum, communicator.all_to_all(slices))
        else:
            pull_predecessors(csc.adjacency, distances, predecessors)
            local_predecessors = predecessors[local]
        if not self._search.weighted:
            return local_predecessors
        # Only zero-weight edges lead to the remaining vertices. These are few: every rank computes
        # the predecessors of all of them.
        remaining = (local_predecessors == NO_VERTEX) & (distances[local] < math.inf)
        is_local_source = (ids >= csr.start) & (ids < csr.stop)
        remaining[ids[is_local_source] - csr.start] = False
        if not any(communicator.all_gather_object(device.count_nonzero(remaining))):
            return local_predecessors
        all_remaining = communicator.all_gather(remaining)
        arcs = zero_weight_edges(csr.adjacency, distances, all_remaining, xp).csr
        coo = [communicator.all_gather(array) for array in (row_indices(arcs), arcs.neighbors)]
        subgraph = ArcSubgraph(xp, from_coo([*coo, None], csr.num_vertices, "keep"))
        starts = xp.flatnonzero(~all_remaining & (distances < math.inf)).astype(xp.int32)
        along_zeros = run_bfs(subgraph, starts, bottom_up=False).predecessors
        return xp.where(remaining, along_zeros[local], local_predecessors)


def check_search_memory(partition: Partition, algorithm: Algorithm) -> None:
    """Raise InsufficientMemoryError if a search of a partition would not fit."""
    num_bytes = ALGORITHM_BYTES[algorithm].total(partition.num_vertices, partition.num_arcs, True)
    what = f"distances in a partition of {partition.num_arcs:,} arcs"
    check_free_memory(what, num_bytes, partition.xp)


def search_whole_graph(
    csr: Partition,
    csc: Partition | None,
    ids: Array,
    search: Search,
    targets: Array | None = None,
) -> tuple[Array, Array]:
    """Return the distances and predecessors of all vertices, or up to `targets`."""
    graph = WholeGraph(csr, None if csc is None else csc.adjacency)
    bottom_up = csc is not None
    if search.weighted:
        result = run_sssp(graph, ids, search.cutoff, search.predecessors, bottom_up, targets)
        return result.distances, result.predecessors
    depth_limit = int(min(search.cutoff, NO_VERTEX))
    result = run_bfs(graph, ids, depth_limit, search.predecessors, bottom_up, targets)
    return float_distances(result.distances), result.predecessors


def _with_unit_weights(partition: Partition) -> Partition:
    """Return a partition whose edges have length 1."""

    def create() -> Partition:
        adjacency, xp = partition.adjacency, partition.xp
        weights = xp.ones(adjacency.neighbors.size, xp.uint8)
        adjacency = Adjacency(adjacency.offsets, adjacency.neighbors, weights)
        units = Partition(adjacency, partition.start, partition.stop, True)
        units.cached("delta", lambda: 1.0)  # the initial delta of SSSP
        return units

    return partition.cached("unit weights", create)
