"""Triangles of every vertex, and local clustering coefficients.

Vertices are ranked by descending degree, and every triangle is found once, at the vertex of the
middle rank (kernels/triangles.cu). For directed graphs, the lists have a flag where both arcs exist
between two vertices, and a triangle counts for each vertex one or two arcs between the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import device
from ..device import Array
from ..frames import Frame
from ..graph.build import as_local_graph
from ..graph.csr import Adjacency, offsets_from_sizes
from ..graph.local_graph import GraphLike, LocalGraph
from ..graph.pair_sort import sort_pairs
from ..kernels.constants import WARP
from .parameters import Parameters
from .run_memory import check_run_memory
from .similarity import (
    BYTES_PER_SLOT,
    MAX_BLOCK_TABLE_SIZE,
    MAX_MERGE_DEGREE,
    MAX_THREAD_DEGREE,
    MAX_WARP_DEGREE,
    WARP_TABLE_SIZE,
    WARPS_PER_BLOCK,
    is_merging_cheap,
    measure_degrees,
    neighborhoods,
    undirected_graph,
)

BLOCK_WARPS = 16  # of a block in count_by_block


def triangle_count(graph: GraphLike, parameters: Parameters) -> Frame:
    """Count the triangles of every vertex; see `rapidsgraph.triangle_count`."""
    graph = undirected_graph(graph, "triangles")
    graph.labeling.check_name_collisions("triangles")
    check_run_memory(graph, "triangle_count", f"triangles of {graph.num_edges:,} edges")
    counts = count_by_vertex(neighborhoods(graph))
    return graph.labeling.vertex_frame({"triangles": counts})


def clustering_coefficient(graph: GraphLike, parameters: Parameters) -> Frame:
    """Compute local clustering coefficients; see `rapidsgraph.clustering_coefficient`."""
    graph = as_local_graph(
        graph,
        compile_ahead=lambda _: device.compile_ahead("clustering coefficients", "triangles"),
    )
    graph.labeling.check_name_collisions("coefficient")
    operation = f"clustering coefficients of {graph.num_edges:,} edges"
    check_run_memory(graph, "clustering_coefficient", operation)
    adjacency, num_arcs = count_arcs_between_neighbors(graph)
    coefficients = divide_by_pairs(num_arcs, measure_degrees(adjacency))
    return graph.labeling.vertex_frame({"coefficient": coefficients})


def count_arcs_between_neighbors(graph: LocalGraph) -> tuple[Adjacency, Array]:
    """Return the neighborhoods of all vertices, and the number of arcs within each: int64."""
    if graph.directed:
        adjacency = merge_directions(graph.csr, graph.csc)
        return adjacency, count_by_vertex(adjacency, has_flags=True)
    adjacency = neighborhoods(graph)
    num_arcs = count_by_vertex(adjacency)
    num_arcs *= 2
    return adjacency, num_arcs


def divide_by_pairs(num_arcs: Array, degrees: Array) -> Array:
    """Return the int64 numbers of arcs over ``degrees * (degrees - 1)``, or 0: float64."""
    coefficients = device.array_module(degrees).empty(degrees.size)
    device.launch(
        "triangles", "divide_by_pairs", size=degrees.size, num_vertices=degrees.size,
        num_arcs=num_arcs, degrees=degrees, coefficients=coefficients,
    )  # fmt: skip
    return coefficients


def merge_directions(csr: Adjacency, csc: Adjacency) -> Adjacency:
    """Return the neighbors of every vertex in either direction, without the vertex itself.

    They are in any order, and negative (the sign bit is set) where both arcs exist.
    """
    xp, num_vertices = device.array_module(csr.neighbors), csr.offsets.size - 1
    arguments: dict[str, Any] = {
        "size": csr.neighbors.size + csc.neighbors.size + num_vertices,
        "num_vertices": num_vertices, "out_offsets": csr.offsets, "out_neighbors": csr.neighbors,
        "in_offsets": csc.offsets, "in_neighbors": csc.neighbors,
    }  # fmt: skip
    out_sizes, sizes = xp.empty(num_vertices, xp.int64), xp.zeros(num_vertices, xp.int64)
    device.launch("triangles", "count_neighbors", out_sizes=out_sizes, sizes=sizes, **arguments)
    offsets = offsets_from_sizes(sizes)
    neighbors = xp.empty(int(offsets[-1]), xp.int32)
    device.launch(
        "triangles", "list_neighbors", out_sizes=out_sizes, new_offsets=offsets,
        new_neighbors=neighbors, **arguments,
    )  # fmt: skip
    return Adjacency(offsets, neighbors, xp.empty(0))


def count_by_vertex(adjacency: Adjacency, *, has_flags: bool = False) -> Array:
    """Return the number of triangles of every vertex: int64.

    Parameters
    ----------
    adjacency : Adjacency
        Both arcs of every edge, without self-loops and parallel arcs.
    has_flags : bool, default False
        Whether neighbors are those of `merge_directions`. A triangle then counts the arcs between
        the other two vertices.
    """
    xp = device.array_module(adjacency.neighbors)
    degrees = measure_degrees(adjacency)
    counts = xp.zeros(degrees.size, xp.int64)
    if not has_flags and _is_merging_cheap(degrees, adjacency.neighbors.size):
        # To rank vertices would take longer, and separate neighbors that are close in memory.
        device.launch(
            "triangles", "merge_lists", size=degrees.size + adjacency.neighbors.size,
            num_vertices=degrees.size, offsets=adjacency.offsets, neighbors=adjacency.neighbors,
            counts=counts,
        )  # fmt: skip
        return counts
    ranks, degrees = rank_by_degree(degrees)
    rows = relabel(adjacency, ranks, degrees, has_flags=has_flags)
    count_in_lists(rows, degrees, rows.upper_lists, counts)
    return device.take(counts, ranks)


def _is_merging_cheap(degrees: Array, num_arcs: int) -> bool:
    """Return whether merging the lists takes less time than ranking the vertices."""
    if device.is_on_gpu(degrees):  # the thread of one long list would keep the others waiting
        return not degrees.size or int(degrees.max()) <= MAX_MERGE_DEGREE
    return not num_arcs or is_merging_cheap(degrees, num_arcs)


def rank_by_degree(degrees: Array) -> tuple[Array, Array]:
    """Return the int32 rank of every vertex by descending degree, and the degrees by rank."""
    xp, num_vertices = device.array_module(degrees), degrees.size
    if not num_vertices:
        return xp.empty(0, xp.int32), degrees
    max_degree = int(degrees.max())
    vertices, keys = device.arange(num_vertices, xp.int32, xp), xp.empty(num_vertices, xp.int32)
    device.launch(
        "triangles", "invert_degrees", size=num_vertices,
        num_vertices=num_vertices, max_degree=max_degree, degrees=degrees, keys=keys,
    )  # fmt: skip
    order = sort_pairs([keys, vertices], max_degree + 1, num_vertices, minor_sorted=True).minor
    return device.invert_order(order), device.take(degrees, order)


@dataclass(frozen=True)
class UpperLists:
    """The neighbors of lower rank of some vertices; kernel arguments.

    Attributes
    ----------
    list_starts, list_stops : int64 array, shape (vertices,)
        By rank; equal for vertices without a list here.
    lists : uint32 array
    """

    list_starts: Array
    list_stops: Array
    lists: Array


@dataclass(frozen=True)
class RankedRows:
    """An adjacency by rank; kernel arguments. See kernels/triangles.cu.

    Attributes
    ----------
    offsets : int64 array, shape (vertices + 1,)
    upper_stops : int64 array, shape (vertices,)
        Where the neighbors of lower rank end, which come first.
    neighbors : uint32 array
        Ranks, with flags doubled.
    has_flags : bool
    """

    offsets: Array
    upper_stops: Array
    neighbors: Array
    has_flags: bool

    @property
    def upper_lists(self) -> UpperLists:
        """The lists of neighbors of lower rank."""
        return UpperLists(self.offsets[:-1], self.upper_stops, self.neighbors)


def relabel(
    adjacency: Adjacency, ranks: Array, sizes: Array, *, has_flags: bool = False
) -> RankedRows:
    """Return an adjacency by rank.

    Parameters
    ----------
    adjacency : Adjacency
        A partition of a graph has rows of its own range only.
    ranks : int32 array, shape (vertices,)
    sizes : integer array, shape (vertices,)
        Sizes of the rows of `adjacency`, by rank.
    has_flags : bool, default False
    """
    xp, num_vertices = device.array_module(ranks), ranks.size
    offsets = offsets_from_sizes(sizes)
    upper_stops = xp.empty(num_vertices, xp.int64)
    neighbors = xp.empty(adjacency.neighbors.size, xp.uint32)
    device.launch(
        "triangles", "relabel", size=num_vertices + neighbors.size,
        num_vertices=num_vertices, has_flags=has_flags, offsets=adjacency.offsets,
        neighbors=adjacency.neighbors, ranks=ranks, new_offsets=offsets, upper_stops=upper_stops,
        new_neighbors=neighbors,
    )  # fmt: skip
    return RankedRows(offsets, upper_stops, neighbors, has_flags)


def count_in_lists(rows: RankedRows, degrees: Array, upper: UpperLists, counts: Array) -> None:
    """Add the triangles whose middle vertex has a row, and whose last one a list, to `counts`.

    Parameters
    ----------
    rows : RankedRows
    degrees : integer array, shape (vertices,)
        Degrees in the whole graph by rank.
    upper : UpperLists
    counts : int64 array, shape (vertices,)
        By rank.
    """
    xp, num_vertices = device.array_module(counts), counts.size
    sizes = xp.empty(num_vertices, xp.int64)
    lists: dict[str, Any] = {"offsets": rows.offsets, "upper_stops": rows.upper_stops}
    device.launch(
        "triangles", "measure_upper", size=num_vertices, num_vertices=num_vertices,
        sizes=sizes, **lists,
    )  # fmt: skip
    max_upper = int(sizes.max()) if num_vertices else 0
    if not max_upper or not upper.lists.size:
        return
    size = num_vertices + rows.neighbors.size
    arguments: dict[str, Any] = {
        "size": size, "has_flags": rows.has_flags, "neighbors": rows.neighbors, **lists,
        "list_starts": upper.list_starts, "list_stops": upper.list_stops, "lists": upper.lists,
        "counts": counts,
    }  # fmt: skip
    # Ranks descend by degree, so that the rows of a kernel are a range.
    num_long, num_longer = (
        device.count_nonzero(device.mark_range(degrees, limit + 1))
        for limit in (MAX_THREAD_DEGREE, MAX_WARP_DEGREE)
    )
    if num_longer:
        num_chunks = sizes[:num_longer]  # reuses the memory
        device.launch(
            "triangles", "count_chunks", size=num_longer, num_rows=num_longer,
            num_chunks=num_chunks, **lists,
        )  # fmt: skip
        table_size = min(max(64, 1 << (2 * max_upper - 1).bit_length()), MAX_BLOCK_TABLE_SIZE)
        device.launch(
            "triangles", "count_by_block", start=0, stop=num_longer,
            threads=WARP * BLOCK_WARPS, shared_bytes=BYTES_PER_SLOT * table_size,
            next_chunk=xp.zeros(1, xp.int64), table_size=table_size,
            chunk_offsets=offsets_from_sizes(num_chunks), **arguments,
        )  # fmt: skip
    if num_long > num_longer:
        device.launch(
            "triangles", "count_by_warp", start=num_longer, stop=num_long,
            threads=WARP * WARPS_PER_BLOCK,
            shared_bytes=BYTES_PER_SLOT * WARP_TABLE_SIZE * WARPS_PER_BLOCK,
            next_row=xp.zeros(1, xp.int64), table_size=WARP_TABLE_SIZE, **arguments,
        )  # fmt: skip
    if num_vertices > num_long:
        device.launch(
            "triangles", "count_by_thread", start=num_long, stop=num_vertices, **arguments
        )
