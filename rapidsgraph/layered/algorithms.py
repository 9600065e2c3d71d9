"""BFS, SSSP and PageRank of a layered edge list, whose edges may be elsewhere.

Means: what the functions of the same names give for the graph that the list was made of.
Requires: a pass over the edges, or several, of partitions that are wanted; vertex arrays stay.
Reference: Zhu et al. 2017 (WolfPath, algorithms 5 and 6, sections 4.3 to 4.5).

A distance in edges is the layer, so BFS only looks for predecessors: one pass over the edges that
go forward, all layers at once. One pass of SSSP is not exact, since a cheaper way may run through
a later layer and back: passes go on until nothing changes, over partitions with a source that
changed. Within a partition rounds go on until nothing changes there, without the host.
"""

import contextlib
import math

import numpy as np

from .. import device
from ..algorithms.pagerank import PRECISIONS, check_convergence, check_parameters
from ..algorithms.pagerank_methods import initialize_sums, power_iterate
from ..algorithms.pagerank_problem import PageRankProblem
from ..algorithms.traversal import (
    TraversalResult,
    check_cutoff,
    check_depth_limit,
    check_result_columns,
    float_distances,
    traversal_frame,
)
from ..errors import GraphError, InsufficientMemoryError, format_value
from ..graph.vertex_arguments import resolve_vertices
from ..graph.weight_sums import check_out_weights, check_reached_distances
from ..kernels.constants import COOPERATIVE_THREADS, NO_VERTEX
from ..memory import ALGORITHM_BYTES
from ..progress import reporter
from ..validation import parse_bytes
from .edge_list import Run
from .streaming import feed

BLOCKS, THREADS = 8, 256  # a multiprocessor, a block
MOST_COPIES = 4  # of the sums of PageRank, in memory


def pagerank(
    layered,
    *,
    damping=0.85,
    tolerance=1e-6,
    max_iterations=100,
    personalization=None,
    dangling=None,
    start=None,
    method="auto",
    precision="double",
    progress=None,
    launch=None,
    memory_limit=None,
):
    """Compute PageRank of a layered edge list; see `rapidsgraph.pagerank`.

    Every iteration streams the partitions once and accumulates in double precision.
    """
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    if method != "auto":
        raise GraphError(f"method is {method!r}; a layered edge list has 'auto' alone")
    layered.labeling.check_name_collisions("pagerank")
    xp, value_type = layered.xp, PRECISIONS[precision]
    if not layered.num_vertices:
        return layered.labeling.vertex_frame({"pagerank": xp.empty(0, value_type)})
    if layered.weighted:
        check_out_weights(layered.out_weights, layered.labeling, layered.order)
    run = PageRankProblem.create(
        layered, np.float64, damping, tolerance, max_iterations, personalization, dangling, start
    )
    run.reorder(layered.order)
    with (
        reporter(progress, "PageRank", max_iterations) as report,
        feeding(layered, "pagerank", "PageRank", memory_limit) as run.partitions,
    ):
        by_place, iterations, residual = power_iterate(run, _scatter_sweep, report)
        finish(layered, run.partitions, iterations)
    check_convergence(iterations, residual, tolerance)
    ranks = xp.empty(by_place.size, value_type)
    ranks[layered.order] = by_place
    return layered.labeling.vertex_frame({"pagerank": ranks})


def _scatter_sweep(run, method, out_weights, ranks, state):
    """Return the function of one power iteration for `power_iterate`."""
    sums = run.graph.xp.empty(run.graph.num_vertices)
    scatter = scattering(run.graph, run.partitions, run.damping, out_weights, ranks[0], state)

    def sweep(parity):
        initialize_sums(run, state, sums)
        scatter(sums)
        return sums

    return sweep


def bfs(
    layered, source=None, *, depth_limit=None, predecessors=True, memory_limit=None, progress=None
):
    """Traverse a layered edge list from its root; see `rapidsgraph.bfs`."""
    limit = check_depth_limit(depth_limit)
    check_result_columns(layered.labeling, predecessors)
    check_root(layered, source)
    result = search(layered, limit, predecessors, memory_limit, progress)
    distances = result.distances, result.distances >= 0
    return traversal_frame(layered.labeling, result, distances, predecessors)


def sssp(layered, source=None, *, cutoff=None, predecessors=True, memory_limit=None, progress=None):
    """Compute shortest paths from the root of a layered edge list; see `rapidsgraph.sssp`."""
    limit = check_cutoff(cutoff)
    check_result_columns(layered.labeling, predecessors)
    check_root(layered, source)
    if layered.weighted:
        result = paths(layered, limit, predecessors, memory_limit, progress)
        distances = result.distances
    else:
        depth_limit = int(min(limit, NO_VERTEX))
        result = search(layered, depth_limit, predecessors, memory_limit, progress)
        distances = float_distances(result.distances)
    return traversal_frame(layered.labeling, result, distances, predecessors)


def search(layered, depth_limit, predecessors, memory_limit, progress):
    """BFS from the root, as `TraversalResult`, by vertex id."""
    xp, last = layered.xp, min(depth_limit, layered.depth)
    parents = xp.full(layered.num_vertices if predecessors else 0, NO_VERTEX, xp.int32)
    layered.last_run = Run(0, 0, 0)
    if not predecessors:
        check_vertices_fit(layered, "bfs", "BFS", memory_limit)
    else:
        wanted = forward_partitions(layered, last)
        with feeding(layered, "bfs", "BFS", memory_limit, again=False) as partitions:
            with reporter(progress, "BFS", wanted.size) as report:
                find_parents(layered, partitions, last, parents, report)
            finish(layered, partitions, int(wanted.size > 0))
    return levels(layered, last, parents)


def forward_partitions(layered, last):
    """Numbers of the partitions whose edges lead from a layer before `last` to a later one."""
    return layered.partitions_before(int(layered.layer_starts[last]), forward_only=True)


def find_parents(layered, partitions, last, parents, report):
    """Lower `parents` to the place before each, in a pass over those partitions."""
    starts, wanted = layered.layer_starts, forward_partitions(layered, last)
    end = int(starts[last])  # what leaves the last layer leads nowhere new
    for start, stop, origin, words in partitions.sweep(wanted.tolist(), forward_only=True):
        _launch(
            layered, "layered_sweep", "find_parents", start, stop,
            origin=origin, table=partitions.table, words=words, checksums=partitions.sums,
            num_layers=starts.size - 1, layer_starts=layered.starts_on_device, row_limit=end,
            parents=parents,
        )  # fmt: skip
        report(partitions.partitions, "partitions")


def levels(layered, last, parents):
    """Layers up to `last` and parents (by place, or none) as `TraversalResult`, by vertex id."""
    xp, vertices, starts = layered.xp, layered.num_vertices, layered.layer_starts
    distances = xp.empty(vertices, xp.int32)
    before = xp.empty_like(parents)
    device.launch(
        "pack", "compute_distances", size=vertices,
        num_vertices=vertices, num_reached=int(starts[last + 1]), num_layers=last + 1,
        layer_starts=layered.starts_on_device, order=layered.order,
        with_predecessors=parents.size > 0, parents=parents, distances=distances,
        predecessors=before,
    )  # fmt: skip
    return TraversalResult(distances, before, last + 1)


def paths(layered, cutoff, predecessors, memory_limit, progress):
    """SSSP from the root by weight, as `TraversalResult`, by vertex id."""
    xp, vertices = layered.xp, layered.num_vertices
    distances = xp.full(vertices, math.inf)
    distances[0] = 0.0
    stamps = xp.full(vertices, -1, xp.int32)
    stamps[0] = 0
    before = xp.full(vertices if predecessors else 0, NO_VERTEX, xp.int32)
    with feeding(layered, "sssp", "SSSP", memory_limit) as partitions:
        sweeps = Sweeps(layered, partitions, progress)
        rounds = sweeps.run("relax", stamps, cutoff=cutoff, distances=distances)
        if cutoff == math.inf:
            reached = distances[: int(layered.layer_starts[-1])]
            check_reached_distances(reached, layered.order, layered.labeling)
        if predecessors:
            sweeps.look_back(distances, stamps, False, before)
            open_ends = ends_without(before, distances)
            if bool(open_ends.any()):
                steps = xp.where(open_ends, np.int32(NO_VERTEX), np.int32(0))
                stamps[...] = xp.where(open_ends, np.int32(-1), np.int32(0))
                sweeps.run("relax_zero_weight", stamps, distances=distances, hops=steps)
                sweeps.look_back(distances, steps, True, before)
        finish(layered, partitions, sweeps.passes)
    del stamps
    before = by_id(layered, before) if predecessors else before
    return TraversalResult(by_id(layered, distances), before, rounds)


def ends_without(before, distances):
    """Where no vertex was found before one that is reached: only edges that add nothing lead there.

    All are by place.
    """
    open_ends = (before == NO_VERTEX) & (distances < math.inf)
    open_ends[0] = False  # the root
    return open_ends


class Sweeps:
    """Passes over the partitions that the root reaches, until nothing changes."""

    def __init__(self, layered, partitions, progress):
        self.layered, self.partitions, self.progress = layered, partitions, progress
        self.reached = layered.partitions_before(int(layered.layer_starts[-1]))
        self.passes = 0

    def run(self, entry, stamps, *, everywhere=True, **values):
        """Rounds of `relax` or `relax_zero_weight`; how many there were.

        At first over all partitions, which saves a look at them, or where a row waits.
        """
        layered, xp = self.layered, self.layered.xp
        count, step = len(layered.table), layered.step if entry == "relax" else math.inf
        relaxed, done = (xp.zeros(size, xp.int32) for size in (layered.num_vertices, count))
        arrived, state = xp.zeros(1, xp.uint64), xp.zeros(2, xp.int64)
        waiting = layered, self.partitions, self.reached, stamps, relaxed, done
        wanted = self.reached if everywhere else _where_rows_wait(*waiting)
        while wanted.size:
            for start, stop, given in self._sweep(wanted):
                arrived.fill(0)
                device.launch(
                    "layered_sssp", entry,
                    size=layered.work(start, stop), threads=COOPERATIVE_THREADS, cooperative=True,
                    start=start, stop=stop, **given, delta=step, **values, last_update=stamps,
                    last_relaxed=relaxed, last_relaxed_partition=done,
                    arrived_blocks=arrived, state=state,
                )  # fmt: skip
            self.partitions.finish()  # rows of what is damaged would wait for ever
            wanted = _where_rows_wait(*waiting)
        return int(state[0])

    def look_back(self, distances, steps, tied, before):
        """The smallest vertex before each, by a pass over all edges."""
        for start, stop, given in self._sweep(self.reached):
            _launch(
                self.layered, "layered_sssp", "find_predecessors", start, stop, **given,
                zero_weight=tied, names=self.layered.order, distances=distances, hops=steps,
                predecessors=before,
            )  # fmt: skip

    def _sweep(self, wanted):
        self.passes += 1
        sample = self.layered.xp.empty(0, self.layered.weight_dtype)
        partitions = self.partitions
        already = partitions.partitions
        with reporter(self.progress, f"SSSP, pass {self.passes}", wanted.size) as report:
            for start, stop, origin, words in partitions.sweep(wanted.tolist()):
                yield start, stop, {
                    "origin": origin, "table": partitions.table, "words": words,
                    "checksums": partitions.sums, "weight_type": sample,
                }  # fmt: skip
                report(partitions.partitions - already, "partitions")


def _where_rows_wait(layered, partitions, reached, stamps, relaxed, done):
    """Those partitions of `reached` with a row that was lowered since it was relaxed."""
    changed = layered.xp.zeros(done.size, layered.xp.int32)
    device.launch(
        "layered_sssp", "find_active", size=layered.num_vertices,
        start=0, stop=done.size, table=partitions.table, last_update=stamps, last_relaxed=relaxed,
        last_relaxed_partition=done, is_active=changed,
    )  # fmt: skip
    changed = changed.get() if device.is_on_gpu(changed) else changed
    return reached[changed[reached] != 0]


def scattering(layered, partitions, damping, out_weights, ranks, state):
    """A function that returns what a pass over all edges adds to `sums`, PageRank's edge method."""
    xp, wanted = layered.xp, range(len(layered.table))
    sample = xp.empty(0, layered.weight_dtype or np.float64)
    copies = _copies() if xp is np else 0
    kept = np.empty(copies * layered.num_vertices)

    def scatter(sums):
        kept.fill(0)
        totals = kept if copies else sums
        for start, stop, origin, words in partitions.sweep(wanted, then=wanted):
            _launch(
                layered, "layered_sweep", "scatter", start, stop,
                origin=origin, table=partitions.table, words=words, checksums=partitions.sums,
                weight_type=sample, weighted=layered.weighted, damping=damping,
                out_weights=out_weights, pagerank=ranks, state=state, sums=totals,
            )  # fmt: skip
        for part in range(copies):
            sums += kept[part * sums.size : (part + 1) * sums.size]
        return sums

    return scatter


def _copies():
    """Of the sums, one for each thread of a CPU, which saves atomic additions; 0 for too many."""
    import numba

    threads = numba.get_num_threads()
    return max(threads, 2) if threads <= MOST_COPIES else 0


def _launch(layered, stem, entry, start, stop, **arguments):
    """One sweep over partitions; on a GPU no more blocks than are there at once."""
    work = layered.work(start, stop)
    geometry = None
    if layered.xp is not np:
        most = BLOCKS * layered.xp.cuda.Device().attributes["MultiProcessorCount"]
        geometry = max(1, min(most, work // THREADS)), THREADS
    device.launch(stem, entry, size=work, geometry=geometry, start=start, stop=stop, **arguments)


def needs(layered, algorithm, title, memory_limit):
    """(what runs, bytes of its arrays by vertex, the limit in bytes or None)."""
    vertices = layered.num_vertices
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    what = f"{title} of a layered edge list of {vertices:,} vertices"
    return what, vertices * ALGORITHM_BYTES[algorithm].per_vertex, limit


def check_vertices_fit(layered, algorithm, title, memory_limit):
    """Raise InsufficientMemoryError where arrays by vertex alone are more than the limit."""
    what, reserved, limit = needs(layered, algorithm, title, memory_limit)
    if limit is not None and limit < reserved:
        raise InsufficientMemoryError(what, reserved, limit, "memory_limit")


@contextlib.contextmanager
def feeding(layered, algorithm, title, memory_limit, again=True):
    """The feed of a run; closed at the end."""
    what, reserved, limit = needs(layered, algorithm, title, memory_limit)
    partitions = feed(layered, reserved, limit, what, again)
    try:
        yield partitions
    finally:
        partitions.close()


def finish(layered, partitions, passes):
    """End a run: raise what was damaged, or keep what it took."""
    partitions.finish()
    layered.last_run = Run(passes, partitions.partitions, partitions.nbytes)


def by_id(layered, values):
    """Values by place, by id."""
    found = layered.xp.empty_like(values)
    found[layered.order] = values
    return found


def check_root(layered, source):
    """Raise GraphError unless `source` is None or the root."""
    if source is None:
        return
    ids = resolve_vertices(layered.labeling, source)
    if ids.size > 1 or int(ids[0]) != layered.root_id:
        raise GraphError(
            f"source is {format_value(source)}, and the layers are those of the root {layered.root!r}; "
            "build a layered edge list of the other vertex, or leave the source out"
        )
