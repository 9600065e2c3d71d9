"""StoreShard: a worker's consecutive partitions of a layered edge list, and the tasks on shards.

A sweep over a shard computes what its edges imply for all vertices, in arrays by position in the
store; the results of all shards are combined. Tasks do not modify their arguments except for the
shard, whose stream stays open during a run. A shard that moves to another worker opens the store
there.
"""

from __future__ import annotations

import dataclasses
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
from ..algorithms.pagerank import PageRankProblem
from ..algorithms.pagerank_methods import initialize_sums, measure_change, num_measure_blocks
from ..device.arrays import Array, Device
from ..errors import GpuUnavailableError, GraphError
from ..frames import Frame, library_name
from ..graph import weight_sums
from ..kernels.constants import NO_VERTEX
from ..layered import sweeps
from ..layered.storage import LayeredStorage, StreamStats
from ..layered.store import open_store
from ..layered.streaming import open_stream

TITLES = {"bfs": "BFS", "sssp": "SSSP", "pagerank": "PageRank"}
NO_COST = StreamStats(0, 0, 0)


class ShardResult(NamedTuple):
    """The result of a sweep, or the values of all shards.

    `values` are by position in the store. PageRank also has a `state`: iterations, residual,
    dangling mass, and whether it converged, as in pagerank.cu.
    """

    values: Array
    cost: StreamStats
    state: Any = None


def balance_partitions(costs: np.ndarray, num_workers: int) -> list[tuple[int, int]]:
    """Return ranges of partitions for each worker, of about equal cost.

    Partitions before the first and after the last one with a cost belong to no worker.
    """
    nonzero = np.flatnonzero(costs)
    if not nonzero.size:
        return [(0, 0)] * num_workers
    start, stop = int(nonzero[0]), int(nonzero[-1]) + 1
    ends = np.cumsum(costs[start:stop].astype(np.float64))
    middles = ends - costs[start:stop] / 2
    inner = np.searchsorted(middles, ends[-1] * np.arange(1, num_workers) / num_workers)
    return list(itertools.pairwise([start, *(start + inner).tolist(), stop]))


class StoreShard:
    """Consecutive partitions of a store, and the stream that reads them.

    Parameters
    ----------
    store : tuple
        Path of the store, checksum of its manifest, and device: "cpu" or "gpu".
    partitions : (start, stop)
    algorithm : {"bfs", "sssp", "pagerank"}
    memory_limit : int or None
        In bytes.

    Attributes
    ----------
    storage : LayeredStorage
        With these partitions only.
    """

    def __init__(
        self,
        store: tuple[str, str, Device],
        partitions: tuple[int, int],
        algorithm: str,
        memory_limit: int | None,
    ) -> None:
        self.arguments = store, partitions, algorithm, memory_limit
        self._lock = threading.Lock()
        self._stream: Any = None
        self._finalizer: weakref.finalize | None = None
        self.storage = open_shard_store(*store).slice_partitions(*partitions)

    def __reduce__(self) -> tuple:
        return StoreShard, self.arguments

    @cached_property
    def is_dangling(self) -> Array:
        """Whether the vertex at each position has no out-edges."""
        return self.storage.out_weights == 0

    @cached_property
    def out_weights(self) -> Array:
        """Out-weight of the vertex at each position, 1 for dangling vertices."""
        return self.storage.xp.where(self.is_dangling, 1.0, self.storage.out_weights)

    def sweep(self, function: Callable[[Any], tuple[int, Array]]) -> ShardResult:
        """Run ``function(stream)``, which returns the number of passes and the values."""
        with self._lock:
            if self._finalizer is None:
                self._open_stream()
            stream = self._stream
            num_partitions, num_bytes = stream.num_partitions, stream.nbytes
            passes, values = function(stream)
            stream.finish()
            cost = StreamStats(
                passes, stream.num_partitions - num_partitions, stream.nbytes - num_bytes
            )
            return ShardResult(values, cost)

    def _open_stream(self) -> None:
        _, _, algorithm, memory_limit = self.arguments
        purpose, reserved, limit = sweeps.memory_requirement(
            self.storage, algorithm, TITLES[algorithm], memory_limit
        )
        if limit is None:
            limit = _default_memory_limit(self.storage, reserved)
        self._stream = open_stream(self.storage, reserved, limit, purpose, algorithm != "bfs")
        self._finalizer = weakref.finalize(self, self._stream.close)
        self._finalizer.atexit = False  # the operating system frees the memory of a process

    def close(self) -> None:
        """Release the memory of the stream."""
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()
                self._stream = self._finalizer = None


def _get_worker() -> Any:
    """Return the Dask worker of this task, or None."""
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def _default_memory_limit(storage: LayeredStorage, reserved: int) -> int | None:
    """Return the limit in bytes of a run without `memory_limit`; None for the free memory.

    Pages of a mapped file count as memory of the worker, which Dask ends if it uses too much.
    """
    worker_limit = getattr(getattr(_get_worker(), "memory_manager", None), "memory_limit", None)
    if storage.xp is not np or not worker_limit:
        return None
    minimum = reserved + min(2 * storage.largest_partition, storage.nbytes)
    free = device.free_memory(np)
    return max(min(worker_limit // 2, free), minimum) if free >= minimum else None


def open_shard_store(path: str, checksum: str, device: Device) -> LayeredStorage:
    """Open the layered edge list in a folder on this worker.

    Raises
    ------
    GraphError
        It cannot be opened, or has another checksum; the message names the path and the worker.
    """
    address = getattr(_get_worker(), "address", "in this process")
    try:
        storage = LayeredStorage.from_store(open_store(path), device)
    except GraphError as error:
        error_type = GpuUnavailableError if isinstance(error, GpuUnavailableError) else GraphError
        raise error_type(
            f"{error} (seen by worker {address}; every worker reads the store by itself, from a "
            "file system that all of them share)",
            path=path,
        ) from error
    if storage.manifest_checksum != checksum:
        raise GraphError(
            f"{path}: worker {address} sees another layered edge list there than the client; put "
            "it on a file system that all of them share, and open it again",
            path=path,
        )
    return storage


def get_device(path: str, checksum: str, device: Device) -> str:
    """Return the device, "cpu" or "gpu", on which this worker opens a store."""
    return open_shard_store(path, checksum, device).device


def get_cost(result: ShardResult) -> StreamStats:
    """Return the cost of a result."""
    return result.cost


def combine_costs(costs: Sequence[StreamStats]) -> StreamStats:
    """Return the cost of sweeps of several shards at the same time."""
    passes, partitions, nbytes = zip(*costs, strict=True)
    return StreamStats(max(passes), sum(partitions), sum(nbytes))


def add_costs(first: StreamStats, second: StreamStats) -> StreamStats:
    """Return the cost of two consecutive supersteps."""
    return StreamStats(*(a + b for a, b in zip(first, second, strict=True)))


def combine(operation: str, *results: ShardResult) -> ShardResult:
    """Return the elementwise "minimum" or "add" of results."""
    values = results[0].values.copy()
    function = getattr(device.array_module(values), operation)
    for other in results[1:]:
        function(values, other.values, out=values)
    return ShardResult(values, combine_costs([each.cost for each in results]))


# BFS


def find_parents(shard: StoreShard, last_layer: int) -> ShardResult:
    """Return the smallest parent of each position among the shard's edges, up to a layer."""
    storage = shard.storage
    parents = storage.xp.full(storage.num_vertices, NO_VERTEX, storage.xp.int32)
    if not sweeps.forward_partitions(storage, last_layer).size:
        return ShardResult(parents, NO_COST)

    def sweep(stream: Any) -> tuple[int, Array]:
        sweeps.find_parents(storage, stream, last_layer, parents, lambda *_: None)
        return 1, parents

    return shard.sweep(sweep)


# SSSP


def start_distances(shard: StoreShard) -> ShardResult:
    """Return distances that are 0 at the root, which has position 0, and infinite elsewhere."""
    distances = shard.storage.xp.full(shard.storage.num_vertices, math.inf)
    distances[0] = 0.0
    return ShardResult(distances, NO_COST)


def check_distances(shard: StoreShard, distances: ShardResult) -> None:
    """Raise GraphError if a distance exceeds double precision."""
    storage = shard.storage
    reachable = distances.values[: int(storage.layer_starts[-1])]
    weight_sums.check_reached_distances(reachable, storage.order, storage.labeling)


def start_hops(distances: ShardResult, predecessors: ShardResult) -> ShardResult | None:
    """Return the initial hops of `relax_zero_weight`; None if all vertices have predecessors."""
    unresolved = sweeps.find_unresolved(predecessors.values, distances.values)
    if not bool(unresolved.any()):
        return None
    xp = device.array_module(unresolved)
    return ShardResult(xp.where(unresolved, np.int32(NO_VERTEX), np.int32(0)), NO_COST)


def relax(
    shard: StoreShard,
    entry: str,
    current: ShardResult,
    previous: ShardResult | None,
    constant: Any,
) -> ShardResult:
    """Lower values along the edges of a shard until nothing changes there.

    The kernel `entry` is "relax", which lowers distances up to the cutoff `constant`, or
    "relax_zero_weight", which lowers numbers of hops between equal distances, `constant`. Positions
    with lower values than in `previous`, the last result of this shard, are active; at first, those
    with a value are.
    """
    storage, xp, values = shard.storage, shard.storage.xp, current.values.copy()
    unreached = math.inf if entry == "relax" else NO_VERTEX
    is_active = values < (unreached if previous is None else previous.values)
    last_update = xp.where(is_active, np.int32(0), np.int32(-1))
    arguments: dict[str, Any] = {"cutoff": constant, "distances": values}
    if entry == "relax_zero_weight":
        arguments = {"distances": constant.values, "hops": values}

    def sweep(stream: Any) -> tuple[int, Array]:
        passes = sweeps.SsspSweeps(storage, stream, False)
        passes.relax(entry, last_update, **arguments, all_active=False)
        return passes.passes, values

    return shard.sweep(sweep)


def find_predecessors(
    shard: StoreShard,
    distances: ShardResult,
    hops: ShardResult | None,
    predecessors: ShardResult | None,
) -> ShardResult:
    """Return the smallest predecessors among the shard's edges; with `hops`, zero-weight edges."""
    storage, xp = shard.storage, shard.storage.xp
    if predecessors is None:
        values = xp.full(storage.num_vertices, NO_VERTEX, xp.int32)
    else:
        values = predecessors.values.copy()
    num_hops = xp.empty(0, xp.int32) if hops is None else hops.values

    def sweep(stream: Any) -> tuple[int, Array]:
        passes = sweeps.SsspSweeps(storage, stream, False)
        if passes.reached.size:
            passes.find_predecessors(distances.values, num_hops, hops is not None, values)
        return passes.passes, values

    return shard.sweep(sweep)


# PageRank


def concat_frames(*partitions: Frame) -> Frame:
    """Return one frame of several partitions."""
    return importlib.import_module(library_name(partitions[0])).concat(partitions)


def create_problem(shard: StoreShard, *parameters: Any) -> PageRankProblem:
    """Return the problem with its terms by position and without its graph, for other workers."""
    storage = shard.storage
    if storage.weighted:
        weight_sums.check_out_weights(storage.out_weights, storage.labeling, storage.order)
    problem = PageRankProblem.create(storage, np.float64, *parameters)
    problem.reorder(storage.order)
    return dataclasses.replace(problem, graph=None)


def start_pagerank(shard: StoreShard, problem: PageRankProblem) -> ShardResult:
    """Return the values before the first iteration."""
    xp = shard.storage.xp
    values = xp.empty(shard.storage.num_vertices)
    values[...] = problem.start
    dangling_mass = float(values[shard.is_dangling].sum())
    return ShardResult(values, NO_COST, xp.asarray([0.0, math.inf, dangling_mass, 0.0]))


def scatter(shard: StoreShard, pagerank: ShardResult, damping: float) -> ShardResult:
    """Return the sums of contributions along the shard's edges; no values after convergence."""
    storage = shard.storage
    if bool(pagerank.state[3]):
        return ShardResult(storage.xp.empty(0), NO_COST)

    def sweep(stream: Any) -> tuple[int, Array]:
        add_contributions = sweeps.make_scatter(
            storage, stream, damping, shard.out_weights, pagerank.values, pagerank.state
        )
        return 1, add_contributions(storage.xp.zeros(storage.num_vertices))

    return shard.sweep(sweep)


def finish_iteration(
    shard: StoreShard, problem: PageRankProblem, pagerank: ShardResult, sums: ShardResult
) -> ShardResult:
    """Return the next values from the sums over all edges; the same ones after convergence."""
    if not sums.values.size:
        return pagerank
    xp, state = shard.storage.xp, pagerank.state.copy()
    values = xp.empty(pagerank.values.size)
    initialize_sums(problem, state, values)
    values += sums.values
    partials = xp.zeros(2 * num_measure_blocks(xp))
    measure_change(values, pagerank.values, shard.is_dangling, state, partials, problem.tolerance)
    return ShardResult(values, add_costs(pagerank.cost, sums.cost), state)


def summarize(pagerank: ShardResult) -> tuple[int, float, bool, StreamStats]:
    """Return the number of iterations, the residual, whether it converged, and the cost."""
    num_iterations, residual, _, is_converged = pagerank.state.tolist()
    return int(num_iterations), residual, is_converged != 0, pagerank.cost
