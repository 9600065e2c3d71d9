"""BFS, SSSP and PageRank of a layered edge list whose edges may exceed memory.

The results are those of the functions of the same names for the graph of the list. Vertex arrays
stay in memory, in layer order; edges stream through, one or more passes over the partitions.

The BFS distance of a vertex is its layer, so BFS only finds predecessors: in one pass over the
forward edges, all layers at once. One pass of SSSP is not exact, since a cheaper path may run
through a later layer and back: passes repeat over the partitions with an active source until
nothing changes. Within a partition, rounds repeat until nothing changes there, without the host.

References
----------
H. Zhu et al., "WolfPath: accelerating iterative traversing-based graph processing algorithms on
GPU", International Journal of Parallel Programming, 2017, doi:10.1007/s10766-017-0533-y,
algorithms 5 and 6, sections 4.3 to 4.5.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import device
from ..algorithms.pagerank_methods import initialize_sums, power_iterate
from ..algorithms.pagerank_problem import (
    PRECISIONS,
    PageRankProblem,
    check_convergence,
    check_parameters,
)
from ..algorithms.traversal import (
    TraversalResult,
    check_cutoff,
    check_depth_limit,
    check_result_columns,
    float_distances,
    traversal_frame,
)
from ..device import Array
from ..errors import GraphError, InsufficientMemoryError, format_value
from ..frames import Frame
from ..graph.vertex_arguments import resolve_vertices
from ..graph.weight_sums import check_out_weights, check_reached_distances
from ..kernels.constants import COOPERATIVE_THREADS, NO_VERTEX
from ..memory import ALGORITHM_BYTES
from ..progress import reporter
from ..validation import parse_bytes
from .partition_stream import PartitionStream
from .storage import LayeredStorage, StreamStats
from .streaming import open_stream

BLOCKS_PER_MULTIPROCESSOR, BLOCK_THREADS = 8, 256
MAX_SUM_COPIES = 4  # of the sums of PageRank, one per CPU thread


def pagerank(
    storage: LayeredStorage,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: Any = None,
    dangling: Any = None,
    start: Any = None,
    method: str = "auto",
    precision: str = "double",
    progress: Any = None,
    launch: Any = None,
    memory_limit: int | str | None = None,
) -> Frame:
    """Compute PageRank of a layered edge list; see `rapidsgraph.pagerank`.

    Every iteration streams the partitions once and accumulates in double precision.
    """
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    check_method(method)
    storage.labeling.check_name_collisions("pagerank")
    xp, dtype = storage.xp, PRECISIONS[precision]
    if not storage.num_vertices:
        return storage.labeling.vertex_frame({"pagerank": xp.empty(0, dtype)})
    if storage.weighted:
        check_out_weights(storage.out_weights, storage.labeling, storage.order)
    run = PageRankProblem.create(
        storage, np.float64, damping, tolerance, max_iterations, personalization, dangling, start
    )
    run.reorder(storage.order)
    with (
        reporter(progress, "PageRank", max_iterations) as report,
        algorithm_stream(storage, "pagerank", "PageRank", memory_limit) as run.partitions,
    ):
        values, iterations, residual = power_iterate(run, _scatter_sweep, report)
        finish_run(storage, run.partitions, iterations)
    check_convergence(iterations, residual, tolerance)
    pagerank = xp.empty(values.size, dtype)
    pagerank[storage.order] = values
    return storage.labeling.vertex_frame({"pagerank": pagerank})


def check_method(method: str) -> None:
    """Raise GraphError unless a layered edge list supports a method of PageRank."""
    if method != "auto":
        raise GraphError(
            f"method is {method!r}; a layered edge list supports only 'auto'",
            parameter="method",
            value=method,
            hint="leave method out",
        )


def _scatter_sweep(
    run: Any, method: str, out_weights: Array, ranks: Any, state: Array
) -> Callable[[int], Array]:
    """Return the function of one power iteration for `power_iterate`."""
    sums = run.graph.xp.empty(run.graph.num_vertices)
    scatter = make_scatter(run.graph, run.partitions, run.damping, out_weights, ranks[0], state)

    def sweep(parity: int) -> Array:
        initialize_sums(run, state, sums)
        scatter(sums)
        return sums

    return sweep


def bfs(
    storage: LayeredStorage,
    source: Any = None,
    *,
    depth_limit: int | None = None,
    predecessors: bool = True,
    memory_limit: int | str | None = None,
    progress: Any = None,
) -> Frame:
    """Traverse a layered edge list from its root; see `rapidsgraph.bfs`."""
    limit = check_depth_limit(depth_limit)
    check_result_columns(storage.labeling, predecessors)
    check_root(storage, source)
    result = run_bfs(storage, limit, predecessors, memory_limit, progress)
    distances = result.distances, result.distances >= 0
    return traversal_frame(storage.labeling, result, distances, predecessors)


def sssp(
    storage: LayeredStorage,
    source: Any = None,
    *,
    cutoff: float | None = None,
    predecessors: bool = True,
    memory_limit: int | str | None = None,
    progress: Any = None,
) -> Frame:
    """Compute shortest paths from the root of a layered edge list; see `rapidsgraph.sssp`."""
    limit = check_cutoff(cutoff)
    check_result_columns(storage.labeling, predecessors)
    check_root(storage, source)
    if storage.weighted:
        result = run_sssp(storage, limit, predecessors, memory_limit, progress)
        distances = result.distances
    else:
        depth_limit = int(min(limit, NO_VERTEX))
        result = run_bfs(storage, depth_limit, predecessors, memory_limit, progress)
        distances = float_distances(result.distances)
    return traversal_frame(storage.labeling, result, distances, predecessors)


def run_bfs(
    storage: LayeredStorage,
    depth_limit: int,
    predecessors: bool,
    memory_limit: int | str | None,
    progress: Any,
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


def forward_partitions(storage: LayeredStorage, last_layer: int) -> np.ndarray:
    """Return the numbers of the partitions with forward edges of layers before `last_layer`."""
    end = int(storage.layer_starts[last_layer])
    return storage.partitions_before(end, forward_only=True)


def find_parents(
    storage: LayeredStorage,
    stream: PartitionStream,
    last_layer: int,
    parents: Array,
    report: Callable[..., object],
) -> None:
    """Lower `parents` to the smallest position of a predecessor in one pass over forward edges."""
    starts, partitions = storage.layer_starts, forward_partitions(storage, last_layer)
    end = int(starts[last_layer])  # edges of the last layer reach no new vertices
    for start, stop, origin, words in stream.sweep(partitions.tolist(), forward_only=True):
        _launch(
            storage, "layered_sweep", "find_parents", start, stop,
            origin=origin, table=stream.table, words=words, checksums=stream.checksums,
            num_layers=starts.size - 1, layer_starts=storage.device_layer_starts, row_limit=end,
            parents=parents,
        )  # fmt: skip
        report(stream.num_partitions, "partitions")


def bfs_result(storage: LayeredStorage, last_layer: int, parents: Array) -> TraversalResult:
    """Convert layers up to `last_layer` and parents, by position, to a result by vertex id."""
    xp, num_vertices, starts = storage.xp, storage.num_vertices, storage.layer_starts
    distances = xp.empty(num_vertices, xp.int32)
    predecessors = xp.empty_like(parents)
    device.launch(
        "pack", "compute_distances", size=num_vertices,
        num_vertices=num_vertices, num_reached=int(starts[last_layer + 1]),
        num_layers=last_layer + 1, layer_starts=storage.device_layer_starts, order=storage.order,
        with_predecessors=parents.size > 0, parents=parents, distances=distances,
        predecessors=predecessors,
    )  # fmt: skip
    return TraversalResult(distances, predecessors, last_layer + 1)


def run_sssp(
    storage: LayeredStorage,
    cutoff: float,
    predecessors: bool,
    memory_limit: int | str | None,
    progress: Any,
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
            unresolved = find_unresolved(parents, distances)
            if bool(unresolved.any()):
                hops = xp.where(unresolved, np.int32(NO_VERTEX), np.int32(0))
                last_update[...] = xp.where(unresolved, np.int32(-1), np.int32(0))
                sweeps.relax("relax_zero_weight", last_update, distances=distances, hops=hops)
                sweeps.find_predecessors(distances, hops, True, parents)
        finish_run(storage, stream, sweeps.passes)
    del last_update
    parents = to_vertex_order(storage, parents) if predecessors else parents
    return TraversalResult(to_vertex_order(storage, distances), parents, rounds)


def find_unresolved(parents: Array, distances: Array) -> Array:
    """Mark vertices that are reached, but have no predecessor yet: by zero-weight edges only.

    All arrays are in layer order; the root is first.
    """
    unresolved = (parents == NO_VERTEX) & (distances < math.inf)
    unresolved[0] = False
    return unresolved


class SsspSweeps:
    """Passes of SSSP over the partitions of reached vertices.

    Attributes
    ----------
    reached : int64 array
        Numbers of these partitions.
    passes : int
        Number of passes so far.
    """

    def __init__(self, storage: LayeredStorage, stream: PartitionStream, progress: Any) -> None:
        self.storage, self.stream, self.progress = storage, stream, progress
        self.reached = storage.partitions_before(int(storage.layer_starts[-1]))
        self.passes = 0

    def relax(
        self, entry: str, last_update: Array, *, all_active: bool = True, **values: Any
    ) -> int:
        """Run the kernel `relax` or `relax_zero_weight` until nothing changes; return the rounds.

        The first pass covers all partitions with `all_active`, which saves a search for active
        rows, or else those with an active row.
        """
        storage, xp = self.storage, self.storage.xp
        delta = storage.initial_delta if entry == "relax" else math.inf
        last_relaxed = xp.zeros(storage.num_vertices, xp.int32)
        last_relaxed_partition = xp.zeros(len(storage.table), xp.int32)
        arrived_blocks, state = xp.zeros(1, xp.uint64), xp.zeros(2, xp.int64)

        def find_active() -> np.ndarray:
            return self._find_active(last_update, last_relaxed, last_relaxed_partition)

        partitions = self.reached if all_active else find_active()
        while partitions.size:
            for start, stop, arguments in self._sweep(partitions):
                arrived_blocks.fill(0)
                device.launch(
                    "layered_sssp", entry, size=storage.count_edges(start, stop),
                    threads=COOPERATIVE_THREADS, cooperative=True,
                    start=start, stop=stop, **arguments, delta=delta, **values,
                    last_update=last_update, last_relaxed=last_relaxed,
                    last_relaxed_partition=last_relaxed_partition, arrived_blocks=arrived_blocks,
                    state=state,
                )  # fmt: skip
            self.stream.finish()  # rows of a damaged partition would stay active forever
            partitions = find_active()
        return int(state[0])

    def _find_active(
        self, last_update: Array, last_relaxed: Array, last_relaxed_partition: Array
    ) -> np.ndarray:
        """Return the reached partitions with a row that was lowered after it was relaxed."""
        num_partitions = last_relaxed_partition.size
        is_active = self.storage.xp.zeros(num_partitions, self.storage.xp.int32)
        device.launch(
            "layered_sssp", "find_active", size=self.storage.num_vertices,
            start=0, stop=num_partitions, table=self.stream.table, last_update=last_update,
            last_relaxed=last_relaxed, last_relaxed_partition=last_relaxed_partition,
            is_active=is_active,
        )  # fmt: skip
        is_active = device.to_host(is_active)
        return self.reached[is_active[self.reached] != 0]

    def find_predecessors(
        self, distances: Array, hops: Array, zero_weight: bool, parents: Array
    ) -> None:
        """Lower `parents` to the smallest vertex id of a predecessor in one pass over all edges.

        With `zero_weight`, only vertices without a predecessor get one, by zero-weight edges from
        a vertex with fewer `hops`.
        """
        for start, stop, arguments in self._sweep(self.reached):
            _launch(
                self.storage, "layered_sssp", "find_predecessors", start, stop, **arguments,
                zero_weight=zero_weight, names=self.storage.order, distances=distances, hops=hops,
                predecessors=parents,
            )  # fmt: skip

    def _sweep(self, partitions: np.ndarray) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield runs of partitions, with the arguments of kernels that describe them."""
        self.passes += 1
        stream, weight_type = self.stream, self.storage.xp.empty(0, self.storage.weight_dtype)
        num_before = stream.num_partitions
        with reporter(self.progress, f"SSSP, pass {self.passes}", partitions.size) as report:
            for start, stop, origin, words in stream.sweep(partitions.tolist()):
                yield start, stop, {
                    "origin": origin, "table": stream.table, "words": words,
                    "checksums": stream.checksums, "weight_type": weight_type,
                }  # fmt: skip
                report(stream.num_partitions - num_before, "partitions")


def make_scatter(
    storage: LayeredStorage,
    stream: PartitionStream,
    damping: float,
    out_weights: Array,
    ranks: Array,
    state: Array,
) -> Callable[[Array], Array]:
    """Return a function that adds the contributions of all edges to an array of sums."""
    xp, partitions = storage.xp, range(len(storage.table))
    weight_type = xp.empty(0, storage.weight_dtype or np.float64)
    num_copies = _num_sum_copies() if xp is np else 0
    copies = np.empty(num_copies * storage.num_vertices)

    def scatter(sums: Array) -> Array:
        copies.fill(0)
        totals = copies if num_copies else sums
        for start, stop, origin, words in stream.sweep(partitions, next_partitions=partitions):
            _launch(
                storage, "layered_sweep", "scatter", start, stop,
                origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                weight_type=weight_type, weighted=storage.weighted, damping=damping,
                out_weights=out_weights, pagerank=ranks, state=state, sums=totals,
            )  # fmt: skip
        for index in range(num_copies):
            sums += copies[index * sums.size : (index + 1) * sums.size]
        return sums

    return scatter


def _num_sum_copies() -> int:
    """Return the number of sums, one per CPU thread, or 0 for atomic additions to one."""
    import numba

    threads = numba.get_num_threads()
    return max(threads, 2) if threads <= MAX_SUM_COPIES else 0


def _launch(
    storage: LayeredStorage, stem: str, entry: str, start: int, stop: int, **arguments: Any
) -> None:
    """Launch a kernel over a range of partitions, on a GPU with at most the resident blocks."""
    num_edges = storage.count_edges(start, stop)
    geometry = None
    if storage.xp is not np:
        multiprocessors = storage.xp.cuda.Device().attributes["MultiProcessorCount"]
        max_blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
        geometry = max(1, min(max_blocks, num_edges // BLOCK_THREADS)), BLOCK_THREADS
    device.launch(
        stem, entry, size=num_edges, geometry=geometry, start=start, stop=stop, **arguments
    )


def memory_requirement(
    storage: LayeredStorage, algorithm: str, title: str, memory_limit: int | str | None
) -> tuple[str, int, int | None]:
    """Return the purpose for messages, the bytes of vertex arrays, and the limit in bytes."""
    num_vertices = storage.num_vertices
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    purpose = f"{title} of a layered edge list of {num_vertices:,} vertices"
    return purpose, num_vertices * ALGORITHM_BYTES[algorithm].per_vertex, limit


def check_vertices_fit(
    storage: LayeredStorage, algorithm: str, title: str, memory_limit: int | str | None
) -> None:
    """Raise InsufficientMemoryError if the vertex arrays alone exceed the limit."""
    purpose, reserved, limit = memory_requirement(storage, algorithm, title, memory_limit)
    if limit is not None and limit < reserved:
        raise InsufficientMemoryError(purpose, reserved, limit, "memory_limit")


@contextlib.contextmanager
def algorithm_stream(
    storage: LayeredStorage,
    algorithm: str,
    title: str,
    memory_limit: int | str | None,
    is_repeated: bool = True,
) -> Iterator[PartitionStream]:
    """Yield the partition stream of an algorithm, and close it at the end."""
    purpose, reserved, limit = memory_requirement(storage, algorithm, title, memory_limit)
    stream = open_stream(storage, reserved, limit, purpose, is_repeated)
    try:
        yield stream
    finally:
        stream.close()


def finish_run(storage: LayeredStorage, stream: PartitionStream, passes: int) -> None:
    """Raise the error of a damaged partition, or else record the statistics of the run."""
    stream.finish()
    storage.last_run = StreamStats(passes, stream.num_partitions, stream.nbytes)


def to_vertex_order(storage: LayeredStorage, values: Array) -> Array:
    """Return values by vertex id from values in layer order."""
    by_vertex = storage.xp.empty_like(values)
    by_vertex[storage.order] = values
    return by_vertex


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
            hint="build a layered edge list from the other vertex, or leave the source out",
        )
