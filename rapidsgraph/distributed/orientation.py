"""Distributed graphs of the same edges in other directions; `graph.orientation` has the local form.

An undirected graph has the ranges of vertices of the directed one: both ends of an edge count in
the balance of either.
"""

from __future__ import annotations

from ..device.arrays import Array
from ..graph import weight_sums
from ..graph.csr import MULTI_EDGES, MultiEdges, row_indices
from ..progress import Report
from ..validation import check_choice
from .communicator import Communicator
from .derived_graph import DerivedGraph, DerivedInfo
from .executor import release_on_error
from .graph import DistributedGraph
from .partition import Partition, build_partition, exchange_arcs

TRANSPOSED = {"csr": "csc", "csc": "csr"}


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
