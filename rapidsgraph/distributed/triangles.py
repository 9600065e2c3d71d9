"""Triangles and clustering coefficients of a distributed graph.

As in `algorithms.triangles` a triangle is found at its vertex of the middle rank, by the rank that
has this vertex. The upper lists of all partitions travel around a ring for it.
"""

from __future__ import annotations

from .. import device
from ..algorithms.parameters import Parameters
from ..algorithms.run_memory import ALGORITHM_BYTES, Algorithm
from ..algorithms.triangles import (
    RankedRows,
    UpperLists,
    count_in_lists,
    divide_by_pairs,
    merge_directions,
    rank_by_degree,
    relabel,
)
from ..device.arrays import Array
from ..frames import Frame
from ..graph.csr import Adjacency, offsets_from_sizes, row_indices
from ..graph.local_graph import GraphLike
from ..progress import Report
from ..validation import check_free_memory
from .communicator import Communicator
from .executor import release_on_error
from .graph import DistributedGraph, as_distributed, as_undirected, create_vertex_frame
from .partition import Partition
from .storage import finish_frame

# Of a neighbor, if there are several ranks: in the merged and the ranked list, and its row, index,
# stop, flag and copy in `_pack_upper_lists`.
RING_BYTES = 4 + 4 + 4 + 8 + 8 + 1 + 4


@release_on_error
def triangle_count(graph: GraphLike, parameters: Parameters) -> Frame:
    """Count the triangles of every vertex; see `rapidsgraph.triangle_count`."""
    graph = as_undirected(graph)
    graph.check_name_collisions("triangles")
    frame, _ = graph.run_for_frame(
        _count_triangles, graph.simple_partitions(), tuple(graph.bounds), name="triangles"
    )
    return frame


@release_on_error
def clustering_coefficient(graph: GraphLike, parameters: Parameters) -> Frame:
    """Compute local clustering coefficients; see `rapidsgraph.clustering_coefficient`."""
    graph = as_distributed(graph)
    graph.check_name_collisions("coefficient")
    frame, _ = graph.run_for_frame(
        _compute_coefficients, *_get_both_layouts(graph), tuple(graph.bounds), graph.directed,
        name="coefficients",
    )  # fmt: skip
    return frame


def _get_both_layouts(graph: DistributedGraph) -> tuple[list, list]:
    """Return partitions by source and by destination; of an undirected graph simple ones twice."""
    if graph.directed:
        return graph.partitions("csr"), graph.partitions("csc")
    return (graph.simple_partitions(),) * 2


# SPMD functions: every rank of a communicator calls them.


def _count_triangles(
    communicator: Communicator, report: Report, partition: Partition, bounds: tuple[int, ...]
) -> tuple:
    """Return the frame of the triangles of the partition's vertices."""
    _check_memory(communicator, partition, "triangle_count", partition.num_arcs)
    counts = _count_by_vertex(communicator, partition, bounds, partition.adjacency)
    return finish_frame(communicator, create_vertex_frame(partition, {"triangles": counts}))


def _compute_coefficients(
    communicator: Communicator,
    report: Report,
    partition: Partition,
    by_destination: Partition,
    bounds: tuple[int, ...],
    directed: bool,
) -> tuple:
    """Return the frame of the coefficients of the partition's vertices."""
    num_neighbors = partition.num_arcs + (by_destination.num_arcs if directed else 0)
    _check_memory(communicator, partition, "clustering_coefficient", num_neighbors)
    adjacency = partition.adjacency
    if directed:
        adjacency = merge_directions(adjacency, by_destination.adjacency)
    counts = _count_by_vertex(communicator, partition, bounds, adjacency, has_flags=directed)
    num_arcs = counts if directed else 2 * counts
    degrees = partition.xp.diff(adjacency.offsets)[partition.local_range]
    columns = {"coefficient": divide_by_pairs(num_arcs, degrees)}
    return finish_frame(communicator, create_vertex_frame(partition, columns))


def _check_memory(
    communicator: Communicator, partition: Partition, algorithm: Algorithm, num_neighbors: int
) -> None:
    """Raise InsufficientMemoryError unless the neighborhoods of a partition fit into free memory.

    `num_neighbors` is the size of all its neighborhoods, or a bound: of a directed graph, the
    number of arcs of both layouts.
    """
    per_vertex, per_neighbor, _ = ALGORITHM_BYTES[algorithm]
    if communicator.size > 1:
        per_neighbor = max(per_neighbor, RING_BYTES)
    num_bytes = per_vertex * partition.num_vertices + per_neighbor * num_neighbors
    what = f"triangles of {num_neighbors:,} arcs in a partition"
    check_free_memory(what, num_bytes, partition.xp)


def _count_by_vertex(
    communicator: Communicator,
    partition: Partition,
    bounds: tuple[int, ...],
    adjacency: Adjacency,
    *,
    has_flags: bool = False,
) -> Array:
    """Return the counts of the partition's vertices; see `algorithms.triangles.count_by_vertex`.

    `adjacency` has their rows. In each step a rank has the upper lists of one other rank.
    """
    xp, local = partition.xp, partition.local_range
    rank, size = communicator.rank, communicator.size
    local_degrees = xp.diff(adjacency.offsets)[local]
    ranks, degrees = rank_by_degree(communicator.all_gather(local_degrees))
    row_sizes = xp.zeros_like(degrees)
    row_sizes[ranks[local]] = local_degrees
    rows = relabel(adjacency, ranks, row_sizes, has_flags=has_flags)
    upper_sizes = (rows.upper_stops - rows.offsets[:-1])[ranks[local]]
    upper_sizes = communicator.all_gather(upper_sizes)  # by vertex
    counts = xp.zeros(degrees.size, xp.int64)
    count_in_lists(rows, degrees, rows.upper_lists, counts)
    lists = _pack_upper_lists(rows) if size > 1 else rows.neighbors
    for step in range(1, size):
        lists = communicator.ring_shift(lists)
        other = (rank - step) % size
        start, stop = bounds[other : other + 2]
        sizes = xp.zeros_like(degrees)
        sizes[ranks[start:stop]] = upper_sizes[start:stop]
        offsets = offsets_from_sizes(sizes)
        upper = UpperLists(offsets[:-1], offsets[1:], lists)
        count_in_lists(rows, degrees, upper, counts)
    return communicator.all_reduce(counts)[ranks[local]]


def _pack_upper_lists(rows: RankedRows) -> Array:
    """Return the upper lists of all rows, one after the other."""
    xp = device.array_module(rows.offsets)
    arc_rows = row_indices(Adjacency(rows.offsets, rows.neighbors, xp.empty(0)))
    is_upper = xp.arange(arc_rows.size) < rows.upper_stops[arc_rows]
    return rows.neighbors[is_upper]
