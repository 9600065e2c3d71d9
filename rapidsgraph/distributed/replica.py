"""Copies of a small distributed graph on all ranks, for algorithms with many short supersteps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import device
from ..graph.csr import Adjacency, offsets_from_sizes
from .communicator import Communicator
from .partition import Partition

MAX_REPLICA_ARCS = {"cpu": 2**24, "gpu": 2**30}  # of a graph that every rank has a copy of
REPLICA_LIMIT = "rapidsgraph.max-replica-arcs"  # key in Dask's configuration for another limit
REPLICA = "replica"  # cache key of the replica


def get_max_replica_arcs(device_name: str) -> int:
    """Return up to how many arcs of a graph every rank has a copy of it."""
    from dask import config

    return int(config.get(REPLICA_LIMIT, MAX_REPLICA_ARCS[device_name]))


@dataclass
class WholeGraph:
    """A single partition with both layouts, as searches of a LocalGraph use them."""

    partition: Partition
    csc: Adjacency | None

    def __getattr__(self, name: str) -> Any:
        if name == "partition":  # not set yet in a copy
            raise AttributeError(name)
        return getattr(self.partition, name)


def replicate(
    communicator: Communicator, csr: Partition, csc: Partition | None, max_arcs: int
) -> tuple[Partition, Partition | None] | None:
    """Return both layouts of the whole graph if it has up to `max_arcs` arcs, else None.

    A superstep takes longer than many levels of a small graph in one memory. Such a graph is
    therefore copied to all ranks at its first search, and each rank searches all of it.
    """
    if communicator.size == 1:
        return csr, csc
    xp, layouts = csr.xp, [csr] if csc is None else [csr, csc]
    arc_bytes = sum(layout.adjacency.nbytes // max(1, layout.num_arcs) + 1 for layout in layouts)
    rank_sizes = csr.num_arcs, arc_bytes, device.free_memory(xp)
    arcs, bytes_per_arc, free = zip(*communicator.all_gather_object(rank_sizes), strict=True)
    # Ranks on a CPU are taken to share a machine.
    num_arcs, num_copies = sum(arcs), 1 if xp is not np else communicator.size
    if num_arcs > max_arcs or num_arcs * max(bytes_per_arc) * num_copies > min(free) // 4:
        return None
    replicas = [
        layout.cached_on_all(communicator, REPLICA, partial(join_partitions, communicator, layout))
        for layout in layouts
    ]
    return replicas[0], replicas[1] if len(replicas) > 1 else None


def join_partitions(communicator: Communicator, partition: Partition) -> Partition:
    """Return the whole graph as one partition."""
    xp, rows = partition.xp, partition.local_adjacency
    offsets = offsets_from_sizes(communicator.all_gather(xp.diff(rows.offsets)))
    neighbors, weights = communicator.all_gather(rows.neighbors), rows.weights
    if partition.weighted:
        weights = communicator.all_gather(weights)
    adjacency = Adjacency(offsets, neighbors, weights)
    stop, labeling = partition.num_vertices, partition.labeling
    return Partition(adjacency, 0, stop, partition.weighted, labeling)
