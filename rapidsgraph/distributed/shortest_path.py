"""Shortest paths between vertices of a distributed graph, as SPMD code over a communicator.

The search ends when the distances of the targets are final. Rank 0 then has the predecessors of all
vertices, follows them, and returns all rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import device
from ..algorithms.parameters import PathParameters
from ..algorithms.shortest_path import Targets, path_frame, resolve_targets
from ..algorithms.traversal import drop_farther
from ..device.arrays import Array
from ..frames import Frame, Vertices, compute_if_dask
from ..graph import weight_sums
from ..graph.local_graph import GraphLike
from ..graph.vertex_arguments import resolve_vertices
from ..graph.vertex_names import Labeling
from ..progress import Report
from .communicator import Communicator
from .exchange import gather_values
from .executor import release_on_error
from .graph import as_distributed
from .partition import Partition
from .replica import get_max_replica_arcs, replicate
from .storage import finish_frame
from .traversal import (
    Search,
    Traversal,
    as_weighted,
    check_search_memory,
    search_whole_graph,
)


@release_on_error
def shortest_path(graph: GraphLike, parameters: PathParameters) -> Frame:
    """Find shortest paths in a DistributedGraph or Dask frame; see `rapidsgraph.shortest_path`."""
    graph = as_weighted(graph) if parameters.weighted else as_distributed(graph)
    weighted = parameters.weighted and graph.weighted
    search = Search(
        is_sssp=parameters.weighted, weighted=weighted, predecessors=True, cutoff=math.inf,
        can_overflow=weighted and weight_sums.can_overflow(graph.total_weight),
        max_replica_arcs=get_max_replica_arcs(graph.device),
    )  # fmt: skip
    # The transpose would take longer than one search without it.
    csc = graph.partitions("csc") if graph.has_layout("csc") else None
    endpoints = (compute_if_dask(vertices) for vertices in (parameters.source, parameters.target))
    frame, _ = graph.run_for_frame(
        _find_paths_on_rank, graph.partitions("csr"), csc, tuple(graph.bounds),
        *([vertices] * graph.num_partitions for vertices in endpoints), search, name="path",
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _find_paths_on_rank(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition | None,
    bounds: tuple[int, ...],
    source: Vertices | None,
    target: Vertices,
    search: Search,
) -> tuple[Frame, Any]:
    """Return all rows on rank 0, and none on other ranks; see `finish_frame`."""
    labeling = csr.labeling
    ids, targets = resolve_vertices(labeling, source), resolve_targets(labeling, target)
    replicas = replicate(communicator, csr, csc, search.max_replica_arcs)
    check_search_memory(csr, "bfs" if replicas and not search.weighted else "sssp")
    if replicas:
        distances, predecessors = search_whole_graph(*replicas, ids, search, targets.ids)
    else:
        traversal = Traversal(communicator, csr, csc, bounds, search)
        traversal.find_distances(ids, report, targets.ids)
        distances = gather_values(communicator, traversal.distances[csr.local_range], bounds)
        drop_farther(distances, targets.ids)
        local_predecessors = traversal.find_predecessors(ids, distances)
        predecessors = gather_values(communicator, local_predecessors, bounds)
    if search.can_overflow and device.count_nonzero(distances[targets.ids] == math.inf):
        adjacency = replicas[0].adjacency if replicas else csr.adjacency
        weight_sums.check_distances(adjacency, distances, labeling)
    if not search.is_sssp:
        distances = csr.xp.where(distances < math.inf, distances, -1).astype(np.int32)
    frame = create_path_frame(communicator, labeling, targets, distances, predecessors)
    return finish_frame(communicator, frame)


def create_path_frame(
    communicator: Communicator,
    labeling: Labeling,
    targets: Targets,
    distances: Array,
    predecessors: Array,
) -> Frame:
    """Return all rows on rank 0, and none on other ranks; see `path_frame`."""
    if communicator.rank > 0:
        targets = Targets(targets.ids[:0], targets.are_several)
    return path_frame(labeling, targets, distances, predecessors)
