"""Distributed graphs that are derived from others: subgraphs, reversed and undirected ones.

`graph.derived_graph` has the forms in one memory. An undirected graph has the ranges of vertices of
the directed one: both ends of an edge count in the balance of either.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..device.arrays import Array
from ..frames import Frame, Vertices
from ..graph import weight_sums
from ..graph.csr import count_upper, row_indices, select_rows
from ..graph.derived_graph import check_hops, check_subgraph_memory
from ..graph.multi_edges import MULTI_EDGES, MultiEdges
from ..graph.vertex_arguments import list_vertices, resolve_vertices
from ..progress import Report
from ..validation import check_choice
from .communicator import Communicator
from .executor import release_on_error
from .graph import DistributedGraph
from .partition import Partition, build_partition, choose_bounds, exchange_arcs, transpose
from .replica import get_max_replica_arcs, replicate
from .storage import finish_frame
from .traversal import Search, Traversal, check_search_memory, search_whole_graph

TRANSPOSED = {"csr": "csc", "csc": "csr"}


class DerivedInfo(NamedTuple):
    """Info of one rank for the client: a derived graph and the sizes of the rank's partition.

    Attributes
    ----------
    bounds : tuple of int
        Rank r has the vertices ``bounds[r]`` to ``bounds[r + 1]``.
    num_arcs, num_edges, nbytes : int
        Of the partition. An undirected edge counts where its smaller endpoint is.
    """

    bounds: tuple[int, ...]
    num_arcs: int
    num_edges: int
    nbytes: int

    @classmethod
    def of(cls, partition: Partition, bounds: Sequence[int], directed: bool) -> Self:
        """Return the description of a partition."""
        adjacency, num_arcs = partition.adjacency, partition.num_arcs
        num_edges = num_arcs if directed else int(count_upper(adjacency).sum())
        return cls(tuple(bounds), num_arcs, num_edges, adjacency.nbytes)


class DerivedGraph(DistributedGraph):
    """A graph derived from another one.

    It does not refer to the partitions of the other graph, so that these are released with that
    graph. If a worker is lost, they are built again for as long as it takes to derive this graph.

    Parameters
    ----------
    parent : DistributedGraph
    derive : callable
        Returns the tasks of the partitions, and `DerivedInfo` that together describe the graph,
        given the parent or another graph of the same partitions.
    layout : {"csr", "csc"}
        Of the partitions.
    directed, weighted : bool, optional
        That of the parent by default.
    multi_edges : str, optional
        That of the parent by default.
    num_rows : int, optional
        Number of edges that the graph is built from, of which parallel ones were merged; by default
        none were.
    """

    def __init__(
        self,
        parent: DistributedGraph,
        derive: Callable[[DistributedGraph], tuple[list, list[DerivedInfo]]],
        layout: str,
        *,
        directed: bool | None = None,
        weighted: bool | None = None,
        multi_edges: MultiEdges | None = None,
        num_rows: int | None = None,
    ) -> None:
        super().__init__(
            parent.executor,
            device=parent.device,
            directed=parent.directed if directed is None else directed,
            weighted=parent.weighted if weighted is None else weighted,
            multi_edges=parent.multi_edges if multi_edges is None else multi_edges,
            self_loops=parent.self_loops,
            layout=layout,
            schema=parent.schema,
        )
        self.num_partitions = parent.num_partitions  # the number of workers may have changed since
        self._origin, self._derive_partitions = parent.without_partitions(), derive
        if not self.weighted:
            self.weight_candidates = parent.weight_candidates
        tasks, infos = derive(parent)
        self._set_partitions(layout, tasks, [info.nbytes for info in infos])
        self.bounds = list(infos[0].bounds)
        self.num_vertices = self.bounds[-1]
        self.num_arcs = sum(info.num_arcs for info in infos)
        self.num_edges = sum(info.num_edges for info in infos)
        self.num_rows = self.num_edges if num_rows is None else num_rows
        self.num_loops_dropped = 0
        # Edges that are merged may sum their weights, which does not change the total.
        self.total_weight = parent.total_weight if parent.weighted else parent.num_arcs

    def share_layout(self, layout: str, tasks: list, nbytes: int) -> None:
        """Use partitions of another graph as those of the layout that was not built first."""
        self._set_partitions(layout, tasks, [nbytes])
        self._derivations[layout] = transpose, (self.built_partitions(), tuple(self.bounds))

    def _rebuild_first_layout(self) -> None:
        origin = self._origin.without_partitions()
        origin._rebuild()
        tasks, infos = self._derive_partitions(origin)
        self._set_partitions(self.built_layout, tasks, [info.nbytes for info in infos])


@release_on_error
def reverse(graph: DistributedGraph) -> DistributedGraph:
    """Return the graph of the reversed edges, which shares the partitions; see `Graph.reverse`."""
    layout, other = graph.built_layout, TRANSPOSED[graph.built_layout]
    infos = [
        DerivedInfo(
            tuple(graph.bounds), graph.num_arcs, graph.num_edges, graph.layout_nbytes(layout)
        )
    ]

    def derive(origin: DistributedGraph) -> tuple[list, list[DerivedInfo]]:
        return origin.built_partitions(), infos

    reversed_graph = DerivedGraph(graph, derive, other)
    if graph.has_layout(other):
        nbytes = graph.layout_nbytes(other)
        reversed_graph.share_layout(layout, graph.partitions(other), nbytes)
    return reversed_graph


@release_on_error
def to_undirected(graph: DistributedGraph, multi_edges: MultiEdges | None) -> DistributedGraph:
    """Return the undirected graph of a directed one; see `Graph.to_undirected`."""
    policy = graph.multi_edges if multi_edges is None else multi_edges
    check_choice("multi_edges", policy, MULTI_EDGES)

    def derive(origin: DistributedGraph) -> tuple[list, list[DerivedInfo]]:
        partitions = origin.partitions("csr"), tuple(origin.bounds)
        return origin.run(_symmetrize, *partitions, policy, name="undirected")

    weighted = graph.weighted or policy == "sum"
    return DerivedGraph(
        graph, derive, "csr", directed=False, weighted=weighted, multi_edges=policy,
        num_rows=graph.num_edges,
    )  # fmt: skip


def _symmetrize(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    bounds: tuple[int, ...],
    multi_edges: MultiEdges,
) -> tuple[Partition, DerivedInfo]:
    """Return the partition of the undirected graph."""
    adjacency, labeling = partition.adjacency, partition.labeling
    weights = adjacency.weights if partition.weighted else None
    if multi_edges == "sum":
        weights = _convert_to_sums(communicator, partition)
    # Rows are in order on all ranks, so that the first of parallel edges leaves the smaller vertex.
    arcs = [row_indices(adjacency), adjacency.neighbors, weights]
    arcs = exchange_arcs(communicator, arcs, bounds, directed=False)
    undirected = build_partition(arcs, bounds, communicator.rank, labeling, multi_edges)
    if multi_edges == "sum":
        weight_sums.check_merged_weights(undirected.adjacency, labeling)
    return undirected, DerivedInfo.of(undirected, bounds, directed=False)


def _convert_to_sums(communicator: Communicator, partition: Partition) -> Array:
    """Return weights in the type of their sums over all ranks; 1 for arcs without weights."""
    weights = partition.adjacency.weights
    if not partition.weighted:
        return partition.xp.ones(partition.num_arcs)
    total = None
    if weights.dtype.kind == "i":
        total = sum(communicator.all_gather_object(weight_sums.sum_exactly(weights)))
    return weights.astype(weight_sums.sum_type(total), copy=False)


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
        is_sssp=False, weighted=False, predecessors=False, can_overflow=False,
        cutoff=float(min(hops, graph.num_vertices)),
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
    local_ids = ids[(ids >= partition.start) & (ids < partition.stop)]
    check_subgraph_memory(partition.adjacency, local_ids, partition.weighted, xp)
    new_ids = xp.full(partition.num_vertices, -1, xp.int32)
    new_ids[ids] = xp.arange(ids.size, dtype=xp.int32)
    rows = select_rows(partition.adjacency, local_ids)
    neighbors = new_ids[rows.neighbors]
    keep = neighbors >= 0
    weights = rows.weights[keep] if partition.weighted else None
    arcs = [new_ids[local_ids][row_indices(rows)[keep]], neighbors[keep], weights]
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
