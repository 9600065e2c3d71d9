"""Sweeps: passes of BFS, SSSP and PageRank over the partitions of a layered edge list.

A sweep reads partitions from a `PartitionStream` and lowers or adds to vertex arrays in layer
order. `algorithms` runs the sweeps of a whole list, and `distributed.layered` those of the shards
of a list.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import device
from ..algorithms.run_memory import ALGORITHM_BYTES, TILE_BYTES, Algorithm
from ..algorithms.traversal import TraversalResult
from ..device import Array
from ..errors import InsufficientMemoryError
from ..kernels.constants import BLOCK_THREADS, COOPERATIVE_THREADS, NO_VERTEX
from ..progress import Progress, reporter
from ..validation import parse_bytes
from .storage import LayeredStorage, StreamStats
from .streaming import PartitionStream, open_stream

logger = logging.getLogger(__name__)

BLOCKS_PER_MULTIPROCESSOR = 8
MAX_SUM_COPIES = 4  # of the sums of PageRank, one per CPU thread


def memory_requirement(
    storage: LayeredStorage, algorithm: Algorithm, title: str, memory_limit: int | str | None
) -> tuple[str, int, int | None]:
    """Return the purpose for messages, the bytes of vertex arrays, and the limit in bytes."""
    num_vertices = storage.num_vertices
    limit = None if memory_limit is None else parse_bytes(memory_limit, "memory_limit")
    purpose = f"{title} of a layered edge list of {num_vertices:,} vertices"
    per_vertex = TILE_BYTES.get(algorithm, ALGORITHM_BYTES[algorithm]).per_vertex
    return purpose, num_vertices * per_vertex, limit


def check_vertices_fit(
    storage: LayeredStorage, algorithm: Algorithm, title: str, memory_limit: int | str | None
) -> None:
    """Raise InsufficientMemoryError if the vertex arrays alone exceed the limit."""
    purpose, reserved, limit = memory_requirement(storage, algorithm, title, memory_limit)
    if limit is not None and limit < reserved:
        raise InsufficientMemoryError(purpose, reserved, limit, "memory_limit")


@contextlib.contextmanager
def algorithm_stream(
    storage: LayeredStorage,
    algorithm: Algorithm,
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
    logger.debug("streamed %d partitions in %d passes", stream.num_partitions, passes)


def launch_sweep(
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


def to_vertex_order(storage: LayeredStorage, values: Array) -> Array:
    """Return values by vertex id from values in layer order."""
    by_vertex = storage.xp.empty_like(values)
    by_vertex[storage.order] = values
    return by_vertex


# BFS


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
        launch_sweep(
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


# SSSP


def find_remaining(parents: Array, distances: Array) -> Array:
    """Mark vertices that are reached, but have no predecessor yet: by zero-weight edges only.

    All arrays are in layer order; the root is first.
    """
    remaining = (parents == NO_VERTEX) & (distances < math.inf)
    remaining[0] = False
    return remaining


class SsspSweeps:
    """Passes of SSSP over the partitions of reached vertices.

    Attributes
    ----------
    reached : int64 array
        Numbers of these partitions.
    passes : int
        Number of passes so far.
    """

    def __init__(
        self, storage: LayeredStorage, stream: PartitionStream, progress: Progress
    ) -> None:
        self.storage, self.stream, self.progress = storage, stream, progress
        self.reached = storage.partitions_before(int(storage.layer_starts[-1]))
        self.passes = 0

    def relax(self, entry: str, last_update: Array, **values: Any) -> int:
        """Run a `Relaxation` whose rows are all active; return the number of rounds."""
        relaxation = Relaxation(self, entry, last_update, values)
        partitions = self.reached
        while partitions.size:
            relaxation.run_pass(partitions)
            partitions = relaxation.find_active()
        return int(relaxation.num_rounds[0])

    def find_predecessors(
        self, distances: Array, hops: Array, zero_weight: bool, parents: Array
    ) -> None:
        """Lower `parents` to the smallest vertex id of a predecessor in one pass over all edges.

        With `zero_weight`, only vertices without a predecessor get one, by zero-weight edges from
        a vertex with fewer `hops`.
        """
        for start, stop, arguments in self.sweep(self.reached):
            launch_sweep(
                self.storage, "layered_sssp", "find_predecessors", start, stop, **arguments,
                zero_weight=zero_weight, names=self.storage.order, distances=distances, hops=hops,
                predecessors=parents,
            )  # fmt: skip

    def sweep(self, partitions: np.ndarray) -> Iterator[tuple[int, int, dict[str, Any]]]:
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


class Relaxation:
    """Passes of `relax` or `relax_zero_weight` over the partitions with active rows.

    A row is active if its value was lowered after the row was relaxed.

    Parameters
    ----------
    sweeps : SsspSweeps
    entry : {"relax", "relax_zero_weight"}
        The kernel.
    last_update : int32 array, shape (vertices,)
        0 for rows that are active at first, else -1.
    values : dict of str to Any
        Arguments of the kernel, among them the values that it lowers.

    Attributes
    ----------
    num_rounds : int64 array of two elements
        The first is the number of rounds of all passes.
    """

    def __init__(
        self, sweeps: SsspSweeps, entry: str, last_update: Array, values: dict[str, Any]
    ) -> None:
        storage, xp = sweeps.storage, sweeps.storage.xp
        self._sweeps, self._entry, self._values = sweeps, entry, values
        self._delta = storage.initial_delta if entry == "relax" else math.inf
        self._rounds = {
            "last_update": last_update,
            "last_relaxed": xp.zeros(storage.num_vertices, xp.int32),
            "last_relaxed_partition": xp.zeros(len(storage.table), xp.int32),
        }
        self.num_rounds = xp.zeros(2, xp.int64)

    def find_active(self) -> np.ndarray:
        """Return the reached partitions with active rows."""
        storage, stream = self._sweeps.storage, self._sweeps.stream
        is_active = storage.xp.zeros(len(storage.table), np.int32)
        device.launch(
            "layered_sssp", "find_active", size=storage.num_vertices,
            start=0, stop=len(storage.table), table=stream.table, **self._rounds,
            is_active=is_active,
        )  # fmt: skip
        reached = self._sweeps.reached
        return reached[device.to_host(is_active)[reached] != 0]

    def run_pass(self, partitions: np.ndarray) -> None:
        """Relax the active rows of some partitions, in their order."""
        storage = self._sweeps.storage
        arrived_blocks = storage.xp.zeros(1, np.uint64)
        for start, stop, arguments in self._sweeps.sweep(partitions):
            arrived_blocks.fill(0)
            device.launch(
                "layered_sssp", self._entry, size=storage.count_edges(start, stop),
                threads=COOPERATIVE_THREADS, cooperative=True,
                start=start, stop=stop, **arguments, delta=self._delta, **self._values,
                **self._rounds, arrived_blocks=arrived_blocks, state=self.num_rounds,
            )  # fmt: skip
        self._sweeps.stream.finish()  # rows of a damaged partition would stay active forever

    def activate(self, is_lowered: Array) -> None:
        """Make rows active whose values others have lowered between two passes."""
        xp, last_update = self._sweeps.storage.xp, self._rounds["last_update"]
        # On a CPU, rows of the last round are marked with the next one. On a GPU they are marked
        # with their round, but the last round of a kernel relaxes none.
        current_round = self.num_rounds[:1] + (1 if xp is np else 0)
        last_update[...] = xp.where(is_lowered, current_round.astype(np.int32), last_update)


# PageRank


def make_scatter(
    storage: LayeredStorage,
    stream: PartitionStream,
    damping: float,
    out_weights: Array,
    pagerank: Array,
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
            launch_sweep(
                storage, "layered_sweep", "scatter", start, stop,
                origin=origin, table=stream.table, words=words, checksums=stream.checksums,
                weight_type=weight_type, weighted=storage.weighted, damping=damping,
                out_weights=out_weights, pagerank=pagerank, state=state, sums=totals,
            )  # fmt: skip
        for index in range(num_copies):
            sums += copies[index * sums.size : (index + 1) * sums.size]
        return sums

    return scatter


def _num_sum_copies() -> int:
    """Return the number of sums, one per CPU thread, or 0 for atomic additions to one."""
    threads = device.num_threads()
    return max(threads, 2) if threads <= MAX_SUM_COPIES else 0
