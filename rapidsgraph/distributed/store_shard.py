"""StoreShard: a worker's consecutive partitions of a layered edge list, and the tasks on shards.

A sweep over a shard computes what its edges imply for all vertices, in arrays by position in the
store; the results of all shards are combined. Tasks do not modify their arguments except for the
shard, whose feed stays open during a run. A shard that is sent elsewhere opens the store there.
"""

from __future__ import annotations

import importlib
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import device
from ..algorithms.pagerank_methods import measure_change
from ..algorithms.pagerank_problem import (
    dangling_weights,
    num_measure_blocks,
    vertex_distribution,
)
from ..device.arrays import Array
from ..errors import GpuUnavailableError, GraphError
from ..frames import Frame, library_name
from ..graph import weight_sums
from ..kernels.constants import NO_VERTEX
from ..layered import algorithms as sweeps
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.store import open_store
from ..layered.streaming import open_stream

NO_COST = StreamStats(0, 0, 0)


class ShardRequest(NamedTuple):
    """Which partitions of which store to read, and for what.

    Attributes
    ----------
    path, checksum : str
        Of the store; the checksum of its manifest.
    device : {"cpu", "gpu"}
    start, stop : int
        Range of partitions.
    algorithm, title : str
    memory_limit : int or None
        In bytes.
    """

    path: str
    checksum: str
    device: str
    start: int
    stop: int
    algorithm: str
    title: str
    memory_limit: int | None


class ShardResult(NamedTuple):
    """The result of a sweep: values by position, none after convergence, and its cost."""

    values: Array
    run: StreamStats


def balance_partitions(costs: np.ndarray, num_workers: int) -> list[tuple[int, int]]:
    """Return ranges of partitions for each worker, of about equal cost.

    Partitions before the first and behind the last that has a cost belong to no worker.
    """
    nonzero = np.flatnonzero(costs)
    if not nonzero.size:
        return [(0, 0)] * num_workers
    start, stop = int(nonzero[0]), int(nonzero[-1]) + 1
    ends = np.cumsum(costs[start:stop].astype(np.float64))
    middles = ends - costs[start:stop] / 2
    inner = np.searchsorted(middles, ends[-1] * np.arange(1, num_workers) / num_workers)
    bounds = [start, *(start + inner).tolist(), stop]
    return list(itertools.pairwise(bounds))


class StoreShard:
    """Some partitions of a store that this worker opens, and the feed that reads them.

    Attributes
    ----------
    request : ShardRequest
    layered : LayeredStorage
        With these partitions only.
    """

    def __init__(self, request: ShardRequest) -> None:
        self.request, self._lock = request, threading.Lock()
        self._feed: Any = None
        self._finalizer: weakref.finalize | None = None
        store = open_shard_store(request.path, request.checksum, request.device)
        self.layered = store.slice_partitions(request.start, request.stop)

    def __reduce__(self) -> tuple:
        return StoreShard, (self.request,)

    @cached_property
    def out_weights(self) -> Array:
        """Out-weight of the vertex at each position, 1 for dangling vertices."""
        weights = self.layered.out_weights
        return self.layered.xp.where(weights == 0, 1.0, weights)

    def sweep(self, function: Callable[[Any], tuple[int, Array]]) -> ShardResult:
        """StreamStats ``function(feed)``, which returns the number of passes and the values."""
        with self._lock:
            if self._finalizer is None:
                self._open_feed()
            reader = self._feed
            num_partitions, num_bytes = reader.num_partitions, reader.nbytes
            passes, values = function(reader)
            reader.finish()
            cost = StreamStats(
                passes, reader.num_partitions - num_partitions, reader.nbytes - num_bytes
            )
            return ShardResult(values, cost)

    def _open_feed(self) -> None:
        layered, request = self.layered, self.request
        what, reserved, limit = sweeps.memory_requirement(
            layered, request.algorithm, request.title, request.memory_limit
        )
        limit = _default_limit(layered, reserved) if limit is None else limit
        self._feed = open_stream(layered, reserved, limit, what, request.algorithm != "bfs")
        self._finalizer = weakref.finalize(self, self._feed.close)
        self._finalizer.atexit = False  # the operating system frees the memory of a process

    def close(self) -> None:
        """Release the memory of the feed."""
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()
                self._feed = self._finalizer = None


def _get_worker() -> Any:
    """Return the Dask worker of this task, or None."""
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _default_limit(layered: LayeredStorage, reserved: int) -> int | None:
    """Return the memory limit in bytes of a run without one; None for the free memory.

    Pages of a mapped file count as memory of the worker, which Dask ends if it uses too much.
    """
    worker_limit = getattr(getattr(_get_worker(), "memory_manager", None), "memory_limit", None)
    if layered.xp is not np or not worker_limit:
        return None
    minimum = reserved + min(2 * layered.largest_partition, layered.nbytes)
    free = device.free_memory(np)
    return max(min(worker_limit // 2, free), minimum) if free >= minimum else None


def open_shard_store(path: str, checksum: str, device: str) -> LayeredStorage:
    """Return the LayeredStorage in a folder, as this worker sees it.

    Raises
    ------
    GraphError
        It cannot be opened here, or is another one; the message names the path and the worker.
    """
    address = getattr(_get_worker(), "address", "in this process")
    try:
        store = LayeredStorage.from_store(open_store(path), device)
    except GraphError as error:
        error_type = GpuUnavailableError if isinstance(error, GpuUnavailableError) else GraphError
        raise error_type(
            f"{error} (seen by worker {address}; every worker reads the store by itself, from a "
            "file system that all of them share)",
            path=path,
        ) from error
    if store.manifest_checksum != checksum:
        raise GraphError(
            f"{path}: worker {address} sees another layered edge list there than the client; put "
            "it on a file system that all of them share, and open it again",
            path=path,
        )
    return store


def get_device(path: str, checksum: str, device: str) -> str:
    """Return the device, "cpu" or "gpu", on which this worker opens a store."""
    return open_shard_store(path, checksum, device).device


def close(shard: StoreShard) -> None:
    """Release the memory of a shard's feed."""
    shard.close()


def get_run(result: ShardResult) -> StreamStats:
    """Return the cost of a result."""
    return result.run


def combine_runs(runs: Sequence[StreamStats]) -> StreamStats:
    """Return the cost of sweeps of several shards at the same time."""
    passes, partitions, nbytes = zip(*runs, strict=True)
    return StreamStats(max(passes), sum(partitions), sum(nbytes))


def combine_minima(*results: ShardResult) -> ShardResult:
    """Return the elementwise minimum of results."""
    return _combine("minimum", results)


def combine_sums(*results: ShardResult) -> ShardResult:
    """Return the elementwise sum of results."""
    return _combine("add", results)


def _combine(function: str, results: Sequence[ShardResult]) -> ShardResult:
    values = results[0].values.copy()
    combine = getattr(device.array_module(values), function)
    for other in results[1:]:
        combine(values, other.values, out=values)
    return ShardResult(values, combine_runs([each.run for each in results]))


# BFS


def find_parents(shard: StoreShard, last_layer: int) -> ShardResult:
    """Return the smallest parent of each position that the shard knows, up to a layer."""
    layered = shard.layered
    parents = layered.xp.full(layered.num_vertices, NO_VERTEX, layered.xp.int32)
    if not sweeps.forward_partitions(layered, last_layer).size:
        return ShardResult(parents, NO_COST)

    def sweep(partitions: Any) -> tuple[int, Array]:
        sweeps.find_parents(layered, partitions, last_layer, parents, lambda *_: None)
        return 1, parents

    return shard.sweep(sweep)


# SSSP


def start_distances(shard: StoreShard) -> ShardResult:
    """Return distances that are 0 at the root, which has position 0, and infinite elsewhere."""
    distances = shard.layered.xp.full(shard.layered.num_vertices, math.inf)
    distances[0] = 0.0
    return ShardResult(distances, NO_COST)


def check_distances(shard: StoreShard, distances: ShardResult) -> None:
    """Raise GraphError if a distance exceeds double precision."""
    layered = shard.layered
    reachable = distances.values[: int(layered.layer_starts[-1])]
    weight_sums.check_reached_distances(reachable, layered.order, layered.labeling)


def start_zero_weight_steps(
    distances: ShardResult, predecessors: ShardResult
) -> ShardResult | None:
    """Return the initial steps of `relax_zero_weight`; None if all vertices have predecessors."""
    unresolved = sweeps.find_unresolved(predecessors.values, distances.values)
    if not bool(unresolved.any()):
        return None
    xp = device.array_module(unresolved)
    return ShardResult(xp.where(unresolved, np.int32(NO_VERTEX), np.int32(0)), NO_COST)


def is_not_none(value: Any) -> bool:
    """Return whether a task has a result."""
    return value is not None


def relax(
    shard: StoreShard,
    entry: str,
    current: ShardResult,
    previous: ShardResult | None,
    constants: Any,
) -> ShardResult:
    """Lower values along the edges of a shard until nothing changes there.

    Parameters
    ----------
    shard : StoreShard
    entry : {"relax", "relax_zero_weight"}
        The kernel: lower distances, or numbers of zero-weight steps.
    current : ShardResult
        Values over all shards.
    previous : ShardResult or None
        Last result of this shard: positions with lower values are active. At first all positions
        with values are.
    constants : float or ShardResult
        The cutoff, or the distances.
    """
    layered, xp, values = shard.layered, shard.layered.xp, current.values
    if previous is None:
        is_active = values < (math.inf if entry == "relax" else NO_VERTEX)
    else:
        is_active = values < previous.values
    stamps = xp.where(is_active, np.int32(0), np.int32(-1))
    values = values.copy()
    arguments: dict[str, Any]
    if entry == "relax":
        arguments = {"cutoff": constants, "distances": values}
    else:
        arguments = {"distances": constants.values, "hops": values}

    def sweep(partitions: Any) -> tuple[int, Array]:
        passes = sweeps.SsspSweeps(layered, partitions, False)
        passes.relax(entry, stamps, **arguments, all_active=False)
        return passes.passes, values

    return shard.sweep(sweep)


def find_predecessors(
    shard: StoreShard,
    distances: ShardResult,
    steps: ShardResult | None,
    predecessors: ShardResult | None,
) -> ShardResult:
    """Return the smallest predecessors that the shard knows; with `steps` by zero-weight edges."""
    layered, xp = shard.layered, shard.layered.xp
    if predecessors is None:
        values = xp.full(layered.num_vertices, NO_VERTEX, xp.int32)
    else:
        values = predecessors.values.copy()
    is_zero_weight = steps is not None
    num_steps = xp.empty(0, xp.int32) if steps is None else steps.values

    def sweep(partitions: Any) -> tuple[int, Array]:
        passes = sweeps.SsspSweeps(layered, partitions, False)
        if passes.reached.size:
            passes.find_predecessors(distances.values, num_steps, is_zero_weight, values)
        return passes.passes, values

    return shard.sweep(sweep)


# PageRank


class PageRankTerms(NamedTuple):
    """Terms of an iteration beside the edges, by position or with one value for all."""

    teleport: Array
    dangling_weights: Array
    start: Array
    is_dangling: Array


class PageRankIterate(NamedTuple):
    """PageRank by position after some iterations.

    Attributes
    ----------
    values : float64, shape (vertices,)
    state : float64, shape (4,)
        Iterations, residual, dangling mass, and whether they converged; as in pagerank.cu.
    run : StreamStats
    """

    values: Array
    state: Array
    run: StreamStats


def concat_frames(*partitions: Frame) -> Frame:
    """Return one frame of several partitions."""
    return importlib.import_module(library_name(partitions[0])).concat(partitions)


def create_pagerank_terms(
    shard: StoreShard, damping: float, personalization: Any, dangling: Any, start: Any
) -> PageRankTerms:
    """Return the terms of iterations, after a check of the out-weights."""
    layered = shard.layered
    out_weights, order = layered.out_weights, layered.order
    if layered.weighted:
        weight_sums.check_out_weights(out_weights, layered.labeling, order)
    teleport = vertex_distribution(layered.labeling, personalization, "personalization")
    dangling_terms = damping * dangling_weights(layered.labeling, dangling, teleport)
    start_values = vertex_distribution(layered.labeling, start, "start")

    def by_position(values: Array) -> Array:
        return values if values.size == 1 else values[order]

    return PageRankTerms(
        by_position((1 - damping) * teleport), by_position(dangling_terms),
        by_position(start_values), out_weights == 0,
    )  # fmt: skip


def start_pagerank(terms: PageRankTerms) -> PageRankIterate:
    """Return the values before the first iteration."""
    xp = device.array_module(terms.is_dangling)
    values = xp.empty(terms.is_dangling.size)
    values[...] = terms.start
    dangling_mass = float(values[terms.is_dangling].sum())
    return PageRankIterate(values, xp.asarray([0.0, math.inf, dangling_mass, 0.0]), NO_COST)


def scatter(shard: StoreShard, pagerank: PageRankIterate, damping: float) -> ShardResult:
    """Return what the shard's edges add in the next iteration; no values after convergence."""
    layered = shard.layered
    if bool(pagerank.state[3]):
        return ShardResult(layered.xp.empty(0), NO_COST)

    def sweep(partitions: Any) -> tuple[int, Array]:
        add_contributions = sweeps.make_scatter(
            layered, partitions, damping, shard.out_weights, pagerank.values, pagerank.state
        )
        return 1, add_contributions(layered.xp.zeros(layered.num_vertices))

    return shard.sweep(sweep)


def finish_iteration(
    terms: PageRankTerms, pagerank: PageRankIterate, sums: ShardResult, tolerance: float
) -> PageRankIterate:
    """Return the next iterate from the sums over edges; the same one after convergence."""
    if not sums.values.size:
        return pagerank
    xp, vertices = device.array_module(pagerank.values), pagerank.values.size
    values, state = xp.empty(vertices), pagerank.state.copy()
    device.launch(
        "pagerank", "initialize_sums", size=vertices,
        num_vertices=vertices, teleport=terms.teleport, num_teleports=terms.teleport.size,
        dangling_weights=terms.dangling_weights,
        num_dangling_weights=terms.dangling_weights.size, state=state, sums=values,
    )  # fmt: skip
    values += sums.values
    partials = xp.zeros(2 * num_measure_blocks(xp))
    measure_change(values, pagerank.values, terms.is_dangling, state, partials, tolerance)
    return PageRankIterate(
        values, state, StreamStats(*(a + b for a, b in zip(pagerank.run, sums.run, strict=True)))
    )


def summarize(pagerank: PageRankIterate) -> tuple[int, float, bool, StreamStats]:
    """Return the number of iterations, the residual, whether it converged, and the cost."""
    num_iterations, residual, _, is_converged = pagerank.state.tolist()
    return int(num_iterations), residual, is_converged != 0, pagerank.run


# Rows of results, by id


def create_bfs_rows(
    shard: StoreShard,
    start: int,
    stop: int,
    last_layer: int,
    parents: ShardResult | None,
    as_float: bool,
) -> Frame:
    """Return rows of BFS, or with distances as SSSP returns them; without parents if None."""
    layered = shard.layered
    values = layered.xp.empty(0, layered.xp.int32) if parents is None else parents.values
    levels = sweeps.bfs_result(layered, last_layer, values)
    distances: Any = levels.distances[start:stop]
    is_reached = distances >= 0
    if as_float:
        distances = layered.xp.where(is_reached, distances.astype(np.float64), math.inf)
    else:
        distances = distances, is_reached
    predecessors = None if parents is None else levels.predecessors[start:stop]
    return _create_traversal_rows(layered, start, stop, distances, predecessors)


def create_sssp_rows(
    shard: StoreShard,
    start: int,
    stop: int,
    distances: ShardResult,
    predecessors: ShardResult | None,
) -> Frame:
    """Return rows of SSSP; without predecessors if None."""
    layered, own = shard.layered, slice(start, stop)
    own_distances = sweeps.to_vertex_order(layered, distances.values)[own]
    own_predecessors = None
    if predecessors is not None:
        own_predecessors = sweeps.to_vertex_order(layered, predecessors.values)[own]
    return _create_traversal_rows(layered, start, stop, own_distances, own_predecessors)


def _create_traversal_rows(
    layered: LayeredStorage, start: int, stop: int, distances: Any, predecessors: Array | None
) -> Frame:
    columns: dict[str, Any] = {"distance": distances}
    if predecessors is not None:
        is_known = predecessors < NO_VERTEX
        columns |= layered.labeling.name_columns(predecessors, is_known, "predecessor")
    return _create_rows(layered, start, stop, columns)


def create_pagerank_rows(
    shard: StoreShard, start: int, stop: int, pagerank: PageRankIterate, value_type: type
) -> Frame:
    """Return rows of PageRank."""
    values: Array = sweeps.to_vertex_order(shard.layered, pagerank.values)[start:stop]
    return _create_rows(shard.layered, start, stop, {"pagerank": values.astype(value_type)})


def _create_rows(layered: LayeredStorage, start: int, stop: int, columns: dict[str, Any]) -> Frame:
    frame = layered.labeling.vertex_frame(columns, layered.xp.arange(start, stop, dtype=np.int32))
    frame.index = importlib.import_module(library_name(frame)).RangeIndex(start, stop)
    return frame
