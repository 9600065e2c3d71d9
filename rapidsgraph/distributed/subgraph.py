"""Parts of a distributed graph: the subgraph of some vertices, and their neighborhood.

`graph.subgraph` has the form in one memory.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..frames import Frame, Vertices
from ..graph.csr import row_indices, select_rows
from ..graph.subgraph import check_hops, check_subgraph_memory
from ..graph.vertex_arguments import list_vertices, resolve_vertices
from ..progress import Report
from .communicator import Communicator
from .derived_graph import DerivedGraph, DerivedInfo
from .executor import release_on_error
from .graph import DistributedGraph
from .partition import Partition, build_partition, choose_bounds, exchange_arcs
from .replica import get_max_replica_arcs, replicate
from .storage import finish_frame
from .traversal import Search, Traversal, check_search_memory, search_whole_graph


@release_on_error
def subgraph(graph: DistributedGraph, vertices: Vertices) -> DistributedGraph:
    """Return the graph of some vertices and the edges between them; see `Graph.subgraph`."""
    vertices = copy.deepcopy(list_vertices(vertices))  # kept for a rebuild
    layout, directed = graph.built_layout, graph.directed

    def derive(origin: DistributedGraph) -> tuple[list, list[DerivedInfo]]:
        by_rank = [vertices] * origin.num_partitions
        return origin.run(
            _select_vertices, origin.partitions(layout), by_rank, directed, name="subgraph"
        )

    return DerivedGraph(graph, derive, layout)


@release_on_error
def neighborhood(graph: DistributedGraph, vertices: Vertices, hops: Any) -> Frame:
    """Return the vertices within some hops of others; see `Graph.neighborhood`."""
    check_hops(hops)
    graph.check_name_collisions("distance")
    search = Search(
        is_sssp=False, weighted=False, predecessors=False, cutoff=float(hops), can_overflow=False,
        max_replica_arcs=get_max_replica_arcs(graph.device),
    )  # fmt: skip
    # The transpose would take longer than one search without it.
    csc = graph.partitions("csc") if graph.has_layout("csc") else None
    frame, _ = graph.run_for_frame(
        _find_neighborhood, graph.partitions("csr"), csc, tuple(graph.bounds),
        [list_vertices(vertices)] * graph.num_partitions, search, name="neighborhood",
    )  # fmt: skip
    return frame


# SPMD functions: every rank of a communicator calls them.


def _select_vertices(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    vertices: Vertices,
    directed: bool,
) -> tuple[Partition, DerivedInfo]:
    """Return the partition of the subgraph, in ranges that are balanced anew."""
    xp, labeling = partition.xp, partition.labeling
    ids = resolve_vertices(labeling, vertices, "vertices", may_be_empty=True)
    own = ids[(ids >= partition.start) & (ids < partition.stop)]
    check_subgraph_memory(partition.adjacency, own, partition.weighted, xp)
    new_ids = xp.full(partition.num_vertices, -1, xp.int32)
    new_ids[ids] = xp.arange(ids.size, dtype=xp.int32)
    rows = select_rows(partition.adjacency, own)
    neighbors = new_ids[rows.neighbors]
    keep = neighbors >= 0
    weights = rows.weights[keep] if partition.weighted else None
    arcs = [new_ids[own][row_indices(rows)[keep]], neighbors[keep], weights]
    num_arcs = sum(communicator.all_gather_object(arcs[0].size))
    endpoints = xp.concatenate(arcs[:2])
    bounds = choose_bounds(communicator, endpoints, num_arcs, ids.size)
    arcs = exchange_arcs(communicator, arcs, bounds)
    names = replace(labeling, names=labeling.names.select(ids, xp))
    part = build_partition(arcs, bounds, communicator.rank, names, "keep")
    return part, DerivedInfo.of(part, bounds, directed)


def _find_neighborhood(
    communicator: Communicator,
    report: Report,
    csr: Partition,
    csc: Partition | None,
    bounds: tuple[int, ...],
    vertices: Vertices,
    search: Search,
) -> tuple[Frame, Any]:
    """Return the rows of the vertices of a partition that are reached; see `finish_frame`."""
    ids = resolve_vertices(csr.labeling, vertices, "vertices", may_be_empty=True)
    replicas = replicate(communicator, csr, csc, search.max_replica_arcs)
    check_search_memory(csr, "bfs" if replicas else "sssp")
    if replicas:
        distances, _ = search_whole_graph(*replicas, ids, search)
    else:
        traversal = Traversal(communicator, csr, csc, bounds, search)
        traversal.find_distances(ids, report)
        distances = traversal.distances
    distances = distances[csr.local_range]
    reached = csr.xp.flatnonzero(distances < math.inf)
    columns = {"distance": distances[reached].astype(np.int32)}
    return finish_frame(
        communicator,
        csr.labeling.vertex_frame(columns, (reached + csr.start).astype(np.int32)),
    )
