"""Core numbers of a distributed graph.

Each rank has the degrees of the vertices of its partition. In a round, the ranks exchange the
vertices that they remove, and lower the degrees of their own neighbors of all of these. A round of
a small graph takes less time than an exchange, so every rank peels a copy of such a graph.
"""

from __future__ import annotations

from typing import Any

from .. import device
from ..algorithms import core_number as local
from ..algorithms.parameters import Parameters
from ..algorithms.run_memory import ALGORITHM_BYTES
from ..device.arrays import Array
from ..frames import Frame
from ..graph.csr import Adjacency, transpose
from ..graph.local_graph import GraphLike
from ..kernels.constants import NO_VERTEX, WARP
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .executor import release_on_error
from .graph import as_undirected, create_vertex_frame
from .partition import Partition
from .replica import get_max_replica_arcs, replicate
from .storage import finish_frame


@release_on_error
def core_number(graph: GraphLike, parameters: Parameters) -> Frame:
    """Find the core numbers of a graph; see `rapidsgraph.core_number`."""
    graph = as_undirected(graph)
    graph.check_name_collisions("core")
    frame, _ = graph.run_for_frame(
        _compute_cores, graph.simple_partitions(), get_max_replica_arcs(graph.device), name="cores"
    )
    return frame


def _compute_cores(
    communicator: Communicator, report: Report, partition: Partition, max_replica_arcs: int
) -> tuple:
    """Return the result frame of the partition's vertices; see `finish_frame`."""
    replicas = replicate(communicator, partition, None, max_replica_arcs)
    if replicas is None:
        cores = find_core_numbers(communicator, partition)
    else:
        cores = local.find_core_numbers(replicas[0].adjacency)
    cores = cores[partition.local_range]
    return finish_frame(communicator, create_vertex_frame(partition, {"core": cores}))


def find_core_numbers(communicator: Communicator, partition: Partition) -> Array:
    """Return the core numbers of the partition's vertices in an array of all vertices: int32."""
    num_bytes = ALGORITHM_BYTES["core_number"].total(
        partition.num_vertices, partition.num_arcs, False
    )
    what = f"core numbers in a partition of {partition.num_arcs:,} arcs"
    check_free_memory(what, num_bytes, partition.xp)
    xp, adjacency = partition.xp, partition.adjacency
    # Arcs by removed vertex, to the vertices of this partition.
    arcs = transpose(Adjacency(adjacency.offsets, adjacency.neighbors, xp.empty(0)))
    cores = xp.diff(adjacency.offsets).astype(xp.int32)
    remaining, level = partition.local_ids, 0
    while True:
        degrees = cores[remaining]
        frontier, remaining = remaining[degrees == level], remaining[degrees > level]
        least = int(degrees[degrees > level].min()) if remaining.size else NO_VERTEX
        states = communicator.all_gather_object((frontier.size, least))
        num_removed = sum(size for size, _ in states)
        if not num_removed:
            level = min(least for _, least in states)
            if level == NO_VERTEX:
                return cores
            continue
        while True:
            removed = communicator.all_gather(frontier)
            if not removed.size:
                break
            frontier = _remove(removed, level, arcs, cores, partition.num_local)
        level += 1


def _remove(removed: Array, level: int, arcs: Adjacency, cores: Array, num_local: int) -> Array:
    """Lower the degrees of the neighbors of removed vertices; return those that reach `level`."""
    xp = device.array_module(cores)
    queue: Any = xp.empty(num_local, xp.int32)
    num_queued = xp.zeros(1, xp.uint64)
    device.launch(
        "core_number", "remove_vertices", size=WARP * removed.size, num_removed=removed.size,
        removed=removed, level=level, offsets=arcs.offsets, neighbors=arcs.neighbors, cores=cores,
        queue=queue, num_queued=num_queued,
    )  # fmt: skip
    return queue[: int(num_queued[0])]
