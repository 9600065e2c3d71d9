"""Estimate the memory of an algorithm on a graph before it is allocated.

A run is a sequence of phases, each with a bound per arc, vertex and byte of text that follows from
the arrays it allocates; the estimate is the largest of them.
`tests/test_memory.py` compares measured peaks with the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .. import device, frames
from ..graph.build_memory import (
    ARROW_POOL_BYTES,
    HEAP_ARRAY_BYTES,
    MARGIN,
    RUN_MARGIN,
    NameColumnStats,
    add_margin,
    counting_sort_bytes,
)
from ..graph.csr import is_simple
from ..graph.local_graph import LocalGraph
from ..summary import format_html
from ..validation import check_free_memory

Algorithm = Literal[
    "bfs",
    "clustering_coefficient",
    "connected_components",
    "core_number",
    "label_propagation",
    "neighbor_similarity",
    "pagerank",
    "scan",
    "scan_index",
    "sssp",
    "strong_components",
    "structural_similarity",
    "triangle_count",
]


class AlgorithmBytes(NamedTuple):
    """The bytes that an algorithm takes beyond the graph: per vertex, arc and weighted arc."""

    per_vertex: int
    per_arc: int
    per_weighted_arc: int

    def total(self, num_vertices: int, num_arcs: int, weighted: bool) -> int:
        """Return the bytes for a graph."""
        per_arc = self.per_weighted_arc if weighted else self.per_arc
        return num_vertices * self.per_vertex + num_arcs * per_arc


# For graphs on a GPU, partitions of a Dask graph, and algorithms that have no finer bound in
# `run_bytes`, which is for graphs on a CPU.
ALGORITHM_BYTES: dict[Algorithm, AlgorithmBytes] = {
    "bfs": AlgorithmBytes(64, 16, 28),
    "clustering_coefficient": AlgorithmBytes(144, 24, 24),
    "connected_components": AlgorithmBytes(64, 4, 4),
    "core_number": AlgorithmBytes(64, 24, 24),
    "label_propagation": AlgorithmBytes(72, 40, 40),
    "neighbor_similarity": AlgorithmBytes(80, 44, 44),
    "pagerank": AlgorithmBytes(96, 16, 56),
    "scan": AlgorithmBytes(112, 44, 44),
    "scan_index": AlgorithmBytes(112, 68, 68),
    "sssp": AlgorithmBytes(104, 16, 28),
    "strong_components": AlgorithmBytes(120, 16, 28),
    "structural_similarity": AlgorithmBytes(80, 44, 44),
    "triangle_count": AlgorithmBytes(112, 30, 30),
}
# For layered edge lists, of which tiles are in memory: per vertex, and per neighbor in a tile; for
# strong components per arc between nodes.
TILE_BYTES: dict[Algorithm, AlgorithmBytes] = {
    "clustering_coefficient": AlgorithmBytes(176, 20, 20),
    "core_number": AlgorithmBytes(192, 16, 16),
    "label_propagation": AlgorithmBytes(80, 40, 40),
    "neighbor_similarity": AlgorithmBytes(112, 44, 44),
    "strong_components": AlgorithmBytes(208, 40, 40),
    "structural_similarity": AlgorithmBytes(112, 44, 44),
    "triangle_count": AlgorithmBytes(176, 20, 20),
}
# Neighbors or arcs per vertex that the bytes per vertex include, so that there are few passes.
NEIGHBORS_PER_VERTEX: dict[Algorithm, int] = {"core_number": 4, "strong_components": 2}
PAIR_BYTES = 64  # of a pair that is compared: ids, degrees, the count and the result
# Algorithms of the undirected simple graph, in which an edge is two arcs.
UNDIRECTED_ALGORITHMS = {
    "core_number",
    "neighbor_similarity",
    "scan",
    "scan_index",
    "structural_similarity",
    "triangle_count",
}
# Layouts of the adjacency that an algorithm needs of a directed graph.
LAYOUTS = {
    "clustering_coefficient": ("csr", "csc"),
    "label_propagation": ("csr", "csc"),
    "pagerank": ("csc",),
    "bfs": ("csr", "csc"),
    "sssp": ("csr", "csc"),
    "strong_components": ("csr",),
}
# Copies of the text names that a result allocates on a GPU; results with predecessors have two name
# columns.
TEXT_COPIES = {
    "bfs": 4,
    "label_propagation": 4,
    "neighbor_similarity": 8,
    "sssp": 4,
    "structural_similarity": 8,
}
# Bounds of a run with integer names: per vertex or arc, and the sort of a SCAN index.
MAX_BYTES_PER_ITEM = 512
MAX_BASE_BYTES = 2**26
# Vertices and arcs of a graph of a few megabytes, for which no run takes more than 64 MB: to read
# how much memory is free, which varies by that anyway, takes up to 0.3 ms.
MIN_CHECKED_SIZE = 2**18
MIN_SORT_KEYS = 2**20  # keys by which a SCAN index is sorted, at least


class MemoryEstimate(NamedTuple):
    """Upper bounds of the memory of a call, in bytes.

    Attributes
    ----------
    needed : int
        Peak of building the graph (unless there is one) and running the algorithm in memory, beyond
        the input frame. For a file, the peak includes reading it.
    streamed : int
        Least memory of any run: the arrays by vertex, which never leave memory, and for a layered
        edge list two partitions.
    """

    needed: int
    streamed: int

    def _repr_html_(self) -> str:
        return format_html("MemoryEstimate", self._asdict())


@dataclass(frozen=True)
class GraphStats:
    """The properties of a graph on a CPU that determine the memory of an algorithm.

    Attributes
    ----------
    num_vertices, num_arcs : int
    weight_bytes : int
        Bytes of one weight; 0 without weights.
    directed : bool
    columns : list of NameColumnStats
    needs_transpose : bool
        Whether the adjacency of the other layout has to be built.
    is_simple : bool
        Whether neighborhoods equal the adjacency: no self-loops and no parallel edges.
    """

    num_vertices: int
    num_arcs: int
    weight_bytes: int
    directed: bool
    columns: list[NameColumnStats]
    needs_transpose: bool
    is_simple: bool

    def name_bytes(self, count: int, is_distinct: bool = True) -> int:
        """Return the bytes of the names of `count` vertices; 0 if names are ids."""
        if len(self.columns) == 1 and self.columns[0].kind == "ids":
            return 0
        text = sum(
            16 * count
            + (column.max_text_bytes(count) if is_distinct else count * column.max_length)
            for column in self.columns
            if column.kind == "arrow"
        )
        return 8 * count * len(self.columns) + text


def max_undirected_edges(layered: Any) -> int:
    """Return an upper bound on the undirected edges of a layered edge list."""
    return layered.num_edges if layered.directed else layered.num_edges // 2


def run_bytes(algorithm: Algorithm, graph: GraphStats, memberships: bool = False) -> int:
    """Return an upper bound of the bytes that an algorithm takes beyond a graph on a CPU."""
    if algorithm in UNDIRECTED_ALGORITHMS:
        peak = _clustering_bytes(algorithm, graph, memberships)
    else:
        peak = _sweep_bytes(algorithm, graph)
    has_arrow_text = any(column.kind == "arrow" for column in graph.columns)
    margin = RUN_MARGIN if 4 * graph.num_arcs <= HEAP_ARRAY_BYTES else MARGIN
    return add_margin(peak, np, margin) + (ARROW_POOL_BYTES if has_arrow_text else 0)


def _sweep_bytes(algorithm: Algorithm, graph: GraphStats) -> int:
    """Return the peak of an algorithm that reads the adjacency of a graph as it is."""
    vertices, arcs, weight_bytes = graph.num_vertices, graph.num_arcs, graph.weight_bytes
    names = graph.name_bytes(vertices)
    if algorithm == "connected_components":
        return 16 * vertices + names
    transpose = transpose_peak = 0
    if graph.needs_transpose:
        transpose = (4 + weight_bytes) * arcs + 8 * vertices
        order = 8 * arcs if weight_bytes else 0
        counters = counting_sort_bytes(arcs, vertices)
        transpose_peak = 8 * arcs + order + 16 * vertices + counters
    if algorithm == "strong_components":
        return max(transpose_peak, transpose + 30 * vertices + names)
    if algorithm == "pagerank":
        state = 20 * arcs + 86 * vertices if weight_bytes else 4 * arcs + 70 * vertices
        run = transpose + 8 * vertices + max(state, names + 24 * vertices)
        return max(transpose_peak, run)
    if algorithm not in ("bfs", "sssp"):
        state = ALGORITHM_BYTES[algorithm].total(vertices, arcs, weight_bytes > 0)
        return max(transpose_peak, transpose + state + names)
    kinds = {column.kind for column in graph.columns}
    if "arrow" in kinds:  # text of predecessors is taken, and taken again with nulls
        names += 2 * graph.name_bytes(vertices, is_distinct=False)
    elif "object" in kinds:
        names += 8 * vertices
    elif kinds != {"ids"}:
        names += 4 * vertices
    state = (30 if algorithm == "bfs" else 36) * vertices
    return max(transpose_peak, transpose + state + names)


def _clustering_bytes(algorithm: Algorithm, graph: GraphStats, memberships: bool) -> int:
    """Return the peak of structural clustering or similarity."""
    vertices, arcs = graph.num_vertices, graph.num_arcs * (2 if graph.directed else 1)
    neighborhoods = neighborhoods_peak = 0
    if not graph.is_simple:
        neighborhoods = 4 * arcs + 8 * vertices
        neighborhoods_peak = 13 * arcs + 10 * vertices
    if algorithm == "core_number":
        run = 16 * vertices + graph.name_bytes(vertices)
        return max(neighborhoods_peak, neighborhoods + run)
    similarity = 8 * arcs + 34 * vertices + counting_sort_bytes(arcs, vertices)
    if algorithm in ("neighbor_similarity", "structural_similarity"):
        # Half as many edges as arcs, with the names of both endpoints.
        names = 2 * graph.name_bytes(arcs // 2, is_distinct=False)
        per_arc = 20 if algorithm == "structural_similarity" else 36
        result = per_arc * arcs + 18 * vertices + names
    elif algorithm == "scan":
        # A membership is an arc from a border to a core.
        result = (40 if memberships else 4) * arcs + 52 * vertices + graph.name_bytes(vertices)
    elif algorithm == "triangle_count":
        similarity = 0
        result = 4 * arcs + 64 * vertices + graph.name_bytes(vertices)
    else:
        num_keys = max(vertices, MIN_SORT_KEYS)
        sort = 16 * num_keys + counting_sort_bytes(arcs, num_keys) + 8 * vertices
        result = 36 * arcs + max(sort, 60 * vertices)
    return max(neighborhoods_peak, neighborhoods + max(similarity, result))


def gpu_run_bytes(
    algorithm: Algorithm, num_vertices: int, num_arcs: int, weighted: bool, text_bytes: int
) -> int:
    """Return an upper bound of the bytes that an algorithm takes beyond a graph on a GPU."""
    arrays = ALGORITHM_BYTES[algorithm].total(num_vertices, num_arcs, weighted)
    return arrays + text_bytes * TEXT_COPIES.get(algorithm, 2)


def estimate_graph_memory(
    graph: LocalGraph, algorithm: Algorithm, *, memberships: bool = False
) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm on a graph; see `estimate_memory`."""
    vertices, arcs, names = graph.num_vertices, graph.num_arcs, graph.names
    streamed = int(vertices * ALGORITHM_BYTES[algorithm].per_vertex)
    is_undirected = algorithm in UNDIRECTED_ALGORITHMS
    if graph.xp is not np:
        arcs *= 2 if graph.directed and is_undirected else 1
        run = gpu_run_bytes(algorithm, vertices, arcs, graph.weighted, names.text_bytes)
        return MemoryEstimate(int(run), streamed)
    needs_transpose = not all(map(graph.has_layout, LAYOUTS.get(algorithm, ())))
    is_known_simple = (
        is_undirected
        and not graph.directed
        and graph.is_merged
        and (graph.is_loopless or is_simple(graph.csr))
    )
    _, adjacency = graph.first_adjacency()
    weight_bytes = adjacency.weights.itemsize if graph.weighted else 0
    columns = [
        _distinct_stats(values, sizes, vertices)
        for values, sizes in zip(names.distinct, names.text_sizes, strict=True)
    ]
    stats = GraphStats(
        vertices, arcs, weight_bytes, graph.directed, columns, needs_transpose, is_known_simple
    )
    return MemoryEstimate(run_bytes(algorithm, stats, memberships), streamed)


def estimate_layered_memory(layered: Any, algorithm: Algorithm) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm on a layered edge list; see `estimate_memory`."""
    tiles = longest_list = 0
    if algorithm == "strong_components" and not layered.directed:  # which are the weak ones
        algorithm = "connected_components"
    if algorithm == "strong_components":
        per_vertex, per_arc, _ = TILE_BYTES[algorithm]
        tiles = layered.num_edges * per_arc
        longest_list = layered.max_partition_edges * per_arc
    elif algorithm in TILE_BYTES:
        per_vertex, per_neighbor, _ = TILE_BYTES[algorithm]
        num_lists = 2 if layered.directed else 1
        tiles = num_lists * layered.num_edges * per_neighbor
        # A list is in one tile; parallel edges, of which a list may have more, are rare.
        longest_list = min(tiles, num_lists * layered.num_vertices * per_neighbor)
    else:
        per_vertex = ALGORITHM_BYTES[algorithm].per_vertex
    vertices = layered.num_vertices * per_vertex
    if algorithm in ("neighbor_similarity", "structural_similarity"):
        vertices += PAIR_BYTES * max_undirected_edges(layered)  # the result
    streamed = vertices + longest_list + min(2 * layered.largest_partition, layered.nbytes)
    return MemoryEstimate(vertices + tiles + layered.nbytes, streamed)


def check_run_memory(
    graph: LocalGraph, algorithm: Algorithm, operation: str, *, memberships: bool = False
) -> None:
    """Raise InsufficientMemoryError unless an algorithm on a graph fits into free memory.

    A small graph is not checked, and a bound that every estimate is below precedes the estimate,
    because both checks may take longer than the algorithm.

    Parameters
    ----------
    graph : LocalGraph
    algorithm, memberships
        As for `estimate_memory`.
    operation : str
        The operation as a noun phrase for the message.
    """
    size = graph.num_vertices + graph.num_arcs
    bound = MAX_BASE_BYTES + MAX_BYTES_PER_ITEM * size
    if graph.names.are_integers and (
        size < MIN_CHECKED_SIZE or bound <= device.free_memory(graph.xp)
    ):
        return
    needed = estimate_graph_memory(graph, algorithm, memberships=memberships).needed
    check_free_memory(operation, needed, graph.xp)


def _distinct_stats(values: Any, sizes: tuple[int, int], count: int) -> NameColumnStats:
    """Return the statistics of a column of the distinct names of a graph on a CPU.

    `sizes` are those of `VertexNames.text_sizes`.
    """
    if values is None:
        return NameColumnStats("ids", count, count)
    if device.is_array(values):
        return NameColumnStats("hash", count)
    if not frames.is_arrow_text(values):
        return NameColumnStats("object", count)
    text_bytes, max_length = sizes
    return NameColumnStats("arrow", count, text_bytes=text_bytes, max_length=max_length)
