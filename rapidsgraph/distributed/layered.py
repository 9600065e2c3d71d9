"""BFS, SSSP and PageRank of a layered edge list whose partitions are distributed over workers.

Each worker takes consecutive partitions of the store, of about equally many words, and reads them
by itself from a path that the client and all workers can open; only arrays over vertices are sent.
In a superstep every worker sweeps over its own partitions, and the results are combined: the
minimum of parents or distances, the sum of what edges add to PageRank. SSSP sweeps within a shard
until nothing changes there, before other shards receive its distances, until nothing changes
anywhere.

BFS and SSSP equal those of the list in memory bit for bit, PageRank except for rounding.
See `layered.algorithms` for the algorithms and their source (WolfPath).
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..algorithms import traversal
from ..algorithms.pagerank import (
    METHODS,
    PRECISIONS,
    DanglingPolicy,
    PageRankMethod,
    Precision,
    check_convergence,
    check_parameters,
)
from ..device.arrays import Array
from ..frames import Frame, VertexValues, Vertices, is_dask, library_name
from ..kernels.constants import NO_VERTEX
from ..layered import sweeps
from ..layered.algorithms import check_root
from ..layered.packing import COLUMN
from ..layered.storage import LayeredStorage, StreamStats
from ..progress import Progress, reporter
from ..validation import check_auto_method, parse_bytes
from . import store_shard as tasks
from .executor import DaskExecutor, Executor, release_on_error
from .graph import create_meta
from .layered_storage import DistributedLayeredStorage


@release_on_error
def bfs(
    layered: DistributedLayeredStorage,
    source: Vertices | None = None,
    *,
    depth_limit: int | None = None,
    predecessors: bool = True,
    memory_limit: Any = None,
    progress: Progress = None,
) -> Frame:
    """Search breadth-first; see `rapidsgraph.bfs`."""
    limit = traversal.check_depth_limit(depth_limit)
    _check_arguments(layered, source, predecessors)
    return _bfs(layered, limit, predecessors, memory_limit, progress)


@release_on_error
def sssp(
    layered: DistributedLayeredStorage,
    source: Vertices | None = None,
    *,
    cutoff: float | None = None,
    predecessors: bool = True,
    memory_limit: Any = None,
    progress: Progress = None,
) -> Frame:
    """Find shortest paths; see `rapidsgraph.sssp`."""
    max_distance = traversal.check_cutoff(cutoff)
    _check_arguments(layered, source, predecessors)
    if not layered.weighted:
        limit = int(min(max_distance, NO_VERTEX))
        return _bfs(layered, limit, predecessors, memory_limit, progress, as_float=True)
    used = layered.local.partitions_before(int(layered.layer_starts[-1]))
    run = _ShardedRun(layered, "sssp", used, "words", memory_limit, progress)
    distances, parents = run.submit(tasks.start_distances, run.shards[0]), None
    distances = run.relax("relax", distances, max_distance)
    if max_distance == math.inf and layered.local.weight_dtype == np.float64:
        run.gather(run.submit(tasks.check_distances, run.shards[0], distances))
    if predecessors:
        parents = run.find_predecessors(distances, None, None)
        hops = run.submit(tasks.start_hops, distances, parents)
        if run.gather(run.submit(operator.is_not, hops, None)):
            hops = run.relax("relax_zero_weight", hops, distances)
            parents = run.find_predecessors(distances, hops, parents)
    return run.to_dask(create_sssp_rows, distances, parents)


@release_on_error
def pagerank(
    layered: DistributedLayeredStorage,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
    personalization: VertexValues | None = None,
    dangling: DanglingPolicy | VertexValues | None = None,
    start: VertexValues | None = None,
    method: PageRankMethod = "auto",
    precision: Precision = "double",
    progress: Progress = None,
    launch: Any = None,
    memory_limit: Any = None,
) -> Frame:
    """Compute PageRank; see `rapidsgraph.pagerank`.

    Frames among the parameters may be Dask frames.
    """
    damping, tolerance, max_iterations = check_parameters(
        damping, tolerance, max_iterations, dangling, method, precision, launch
    )
    check_auto_method(method, METHODS, "layered edge lists")
    layered.local.labeling.check_name_collisions("pagerank")
    run = _ShardedRun(layered, "pagerank", slice(None), "words", memory_limit, progress)
    frames = [_compute_frame(run.executor, each) for each in (personalization, dangling, start)]
    problem = run.submit(
        tasks.create_problem, run.shards[0], damping, tolerance, max_iterations, *frames
    )
    values = run.submit(tasks.start_pagerank, run.shards[0], problem)
    summary, num_submitted, is_converged = None, 0, False
    iterations, residual = 0, math.inf
    # An iteration is submitted before the summary of the previous one is known; it does nothing if
    # that one converged.
    with reporter(progress, "PageRank", max_iterations) as report:
        while not is_converged and (num_submitted < max_iterations or summary is not None):
            next_summary = None
            if num_submitted < max_iterations:
                sums = run.reduce("add", run.map(tasks.scatter, values, damping))
                values = run.submit(tasks.finish_iteration, run.shards[0], problem, values, sums)
                next_summary, num_submitted = run.submit(tasks.summarize, values), num_submitted + 1
            if summary is not None:
                iterations, residual, is_converged, layered.last_run = run.gather(summary)
                report(iterations, f"change {residual:.1e}")
            summary = next_summary
    check_convergence(iterations, residual, tolerance)
    return run.to_dask(create_pagerank_rows, values, PRECISIONS[precision])


def _check_arguments(layered: DistributedLayeredStorage, source: Any, predecessors: bool) -> None:
    traversal.check_result_columns(layered.local.labeling, predecessors)
    check_root(layered.local, source)


def _compute_frame(executor: Executor, values: Any) -> Any:
    """Return a parameter as it is, or a task of the whole of a Dask frame."""
    if not is_dask(values):
        return values
    return executor.submit(tasks.concat_frames, *executor.compute_partitions(values), name="concat")


def _bfs(
    layered: DistributedLayeredStorage,
    depth_limit: int,
    predecessors: bool,
    memory_limit: Any,
    progress: Progress,
    as_float: bool = False,
) -> Frame:
    """Search in one pass: distances are the layers, and edges that go forward have the parents."""
    last_layer, parents = min(depth_limit, layered.depth), None
    sweeps.check_vertices_fit(layered.local, "bfs", "BFS", memory_limit)
    used = np.empty(0, int)
    if predecessors:
        used = sweeps.forward_partitions(layered.local, last_layer)
    run = _ShardedRun(layered, "bfs", used, "forward_words", memory_limit, progress)
    if predecessors:
        results = run.map(tasks.find_parents, last_layer)
        run.wait(results, "BFS")
        parents = run.reduce("minimum", results)
    return run.to_dask(create_bfs_rows, last_layer, parents, as_float)


class _ShardedRun:
    """The shards of a call of an algorithm, and tasks on them.

    Workers read the partitions `used`, an index array or slice, whose cost is in the column `words`
    of the partition table.

    Attributes
    ----------
    shards : list of tasks of StoreShard, one per worker
    busy : list of int
        Indices of the shards that have partitions, or of one.
    """

    def __init__(
        self,
        layered: DistributedLayeredStorage,
        algorithm: str,
        used: Any,
        words: str,
        memory_limit: Any = None,
        progress: Progress = None,
    ) -> None:
        limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
        self.layered, self.executor = layered, DaskExecutor(layered.client)
        self.progress, layered.last_run = progress, tasks.NO_COST
        table = layered.local.table
        costs = np.zeros(len(table), np.int64)
        costs[used] = table[used, COLUMN[words]]
        store = str(layered.path), layered.local.manifest_checksum, layered.device
        ranges = tasks.balance_partitions(costs, len(self.executor.workers))
        self.shards = [
            self.submit(tasks.StoreShard, store, partitions, algorithm, limit, worker=number)
            for number, partitions in enumerate(ranges)
        ]
        self.busy = [number for number, (start, stop) in enumerate(ranges) if stop > start] or [0]

    def submit(self, function: Callable[..., Any], *arguments: Any, worker: int = 0) -> Any:
        return self.executor.submit(function, *arguments, name=function.__name__, worker=worker)

    def map(self, function: Callable[..., Any], *arguments: Any) -> list:
        return [
            self.submit(function, self.shards[number], *arguments, worker=number)
            for number in self.busy
        ]

    def gather(self, task: Any) -> Any:
        return self.executor.gather([task])[0]

    def reduce(self, operation: str, results: list) -> Any:
        combine = functools.partial(tasks.combine, operation)
        return self.executor.tree_reduce(combine, results, operation)

    def wait(self, results: Sequence[Any], title: str) -> StreamStats:
        """Wait for the results of all busy shards; add their cost to that of the run."""
        costs = [
            self.submit(tasks.get_cost, each, worker=number)
            for each, number in zip(results, self.busy, strict=True)
        ]
        shard_costs = []
        with reporter(self.progress, title, len(results)) as report:
            for num_done, cost in enumerate(costs, start=1):
                shard_costs.append(self.gather(cost))
                report(num_done, "workers")
        total = tasks.combine_costs(shard_costs)
        self.layered.last_run = tasks.add_costs(self.layered.last_run or tasks.NO_COST, total)
        return total

    def relax(self, entry: str, values: Any, constant: Any) -> Any:
        """Return values that no edge lowers any more: the minimum of those of all shards."""
        previous: list = [None] * len(self.busy)
        while True:
            results = [
                self.submit(
                    tasks.relax, self.shards[number], entry, values, own, constant, worker=number
                )
                for number, own in zip(self.busy, previous, strict=True)
            ]
            if not self.wait(results, "SSSP").partitions:
                return values
            values, previous = self.reduce("minimum", results), results

    def find_predecessors(self, distances: Any, hops: Any, predecessors: Any) -> Any:
        results = self.map(tasks.find_predecessors, distances, hops, predecessors)
        self.wait(results, "SSSP, predecessors")
        return self.reduce("minimum", results)

    def to_dask(self, create_rows: Callable[..., Frame], *arguments: Any) -> Frame:
        """Return the Dask frame of a result, with as many rows on each worker; ends the run."""
        # The next run may need the memory of the streams.
        self.executor.gather(self.map(tasks.StoreShard.close))
        num_vertices, num_workers = self.layered.num_vertices, len(self.shards)
        bounds = [num_vertices * number // num_workers for number in range(num_workers + 1)]
        frames = [
            self.submit(create_rows, self.shards[number], start, stop, *arguments, worker=number)
            for number, (start, stop) in enumerate(itertools.pairwise(bounds))
            if stop > start
        ]
        meta = self.gather(self.submit(create_meta, frames[0]))
        return self.executor.to_dask(frames, meta, (*sorted(set(bounds[:-1])), num_vertices - 1))


# Tasks that create the rows of a range of vertices


def create_bfs_rows(
    shard: tasks.StoreShard,
    start: int,
    stop: int,
    last_layer: int,
    parents: tasks.ShardResult | None,
    as_float: bool,
) -> Frame:
    """Return rows of BFS, with `as_float` as of SSSP; without predecessors if `parents` is None."""
    storage = shard.storage
    values = storage.xp.empty(0, storage.xp.int32) if parents is None else parents.values
    result = sweeps.bfs_result(storage, last_layer, values)
    own = result.distances[start:stop]
    distances: Any = traversal.float_distances(own) if as_float else (own, own >= 0)
    predecessors = None if parents is None else result.predecessors[start:stop]
    return _create_rows(storage, start, stop, {"distance": distances}, predecessors)


def create_sssp_rows(
    shard: tasks.StoreShard,
    start: int,
    stop: int,
    distances: tasks.ShardResult,
    predecessors: tasks.ShardResult | None,
) -> Frame:
    """Return rows of SSSP; without predecessors if None."""
    storage, own = shard.storage, slice(start, stop)
    by_id, by_id_predecessors = (
        None if each is None else sweeps.to_vertex_order(storage, each.values)[own]
        for each in (distances, predecessors)
    )
    return _create_rows(storage, start, stop, {"distance": by_id}, by_id_predecessors)


def create_pagerank_rows(
    shard: tasks.StoreShard, start: int, stop: int, pagerank: tasks.ShardResult, value_type: type
) -> Frame:
    """Return rows of PageRank."""
    values: Array = sweeps.to_vertex_order(shard.storage, pagerank.values)[start:stop]
    return _create_rows(shard.storage, start, stop, {"pagerank": values.astype(value_type)})


def _create_rows(
    storage: LayeredStorage,
    start: int,
    stop: int,
    columns: dict[str, Any],
    predecessors: Array | None = None,
) -> Frame:
    labeling = storage.labeling
    if predecessors is not None:
        columns |= labeling.name_columns(predecessors, predecessors < NO_VERTEX, "predecessor")
    frame = labeling.vertex_frame(columns, storage.xp.arange(start, stop, dtype=np.int32))
    frame.index = importlib.import_module(library_name(frame)).RangeIndex(start, stop)
    return frame
