"""Estimate the peak memory of an algorithm before it is allocated.

A run is a sequence of phases, each with a bound per arc, vertex and byte of text that follows from
the arrays it allocates; the estimate is the largest of them, or of those of building the graph.
`pipelines/benchmarks/memory_estimates.py` records measured peaks beside the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from . import device, frames
from .errors import GraphError, format_value
from .graph.build_memory import (
    ARROW_POOL_BYTES,
    HEAP_ARRAY_BYTES,
    MARGIN,
    RUN_MARGIN,
    NameColumnStats,
    add_margin,
    build_bytes,
    counting_sort_bytes,
    name_column_stats,
    naming_bytes,
)
from .graph.csr import is_simple
from .graph.local_graph import GraphLike, LocalGraph
from .io.edge_files import declared_vertices, measure_text, read_edge_metadata
from .validation import as_list, check_count, check_flag, check_free_memory, check_path

Algorithm = Literal[
    "bfs",
    "connected_components",
    "pagerank",
    "scan",
    "scan_index",
    "sssp",
    "structural_similarity",
]


class AlgorithmBytes(NamedTuple):
    """The bytes that an algorithm takes beyond the graph: per vertex, arc and weighted arc."""

    per_vertex: int
    per_arc: int
    per_weighted_arc: int


# For graphs on a GPU and partitions of a Dask graph; `run_bytes` is finer for graphs on a CPU.
ALGORITHM_BYTES: dict[str, AlgorithmBytes] = {
    "bfs": AlgorithmBytes(64, 16, 28),
    "connected_components": AlgorithmBytes(64, 4, 4),
    "pagerank": AlgorithmBytes(96, 16, 56),
    "scan": AlgorithmBytes(112, 44, 44),
    "scan_index": AlgorithmBytes(112, 68, 68),
    "sssp": AlgorithmBytes(104, 16, 28),
    "structural_similarity": AlgorithmBytes(80, 44, 44),
}
UNDIRECTED_ALGORITHMS = {"scan", "scan_index", "structural_similarity"}  # an edge is two arcs
# Layouts of the adjacency that an algorithm needs of a directed graph.
LAYOUTS = {
    "pagerank": ("csc",),
    "bfs": ("csr", "csc"),
    "sssp": ("csr", "csc"),
}
# Copies of the text names that a result allocates on a GPU; results with predecessors have two name
# columns.
TEXT_COPIES = {"bfs": 4, "sssp": 4, "structural_similarity": 8}
# Bounds of a run with integer names: per vertex or arc, and the sort of a SCAN index.
MAX_BYTES_PER_ITEM = 512
MAX_BASE_BYTES = 2**26
MIN_SORT_KEYS = 2**20  # keys by which a SCAN index is sorted, at least
FILE_BLOCK_BYTES = 2**20
READER_BYTES = 2**26  # retained by the threads of Arrow's readers, at most


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


def run_bytes(algorithm: str, graph: GraphStats, memberships: bool = False) -> int:
    """Return an upper bound of the bytes that an algorithm takes beyond a graph on a CPU."""
    if algorithm in UNDIRECTED_ALGORITHMS:
        peak = _clustering_bytes(algorithm, graph, memberships)
    else:
        peak = _sweep_bytes(algorithm, graph)
    has_arrow_text = any(column.kind == "arrow" for column in graph.columns)
    margin = RUN_MARGIN if 4 * graph.num_arcs <= HEAP_ARRAY_BYTES else MARGIN
    return add_margin(peak, np, margin) + (ARROW_POOL_BYTES if has_arrow_text else 0)


def _sweep_bytes(algorithm: str, graph: GraphStats) -> int:
    """Return the peak of PageRank, a traversal or connected components."""
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
    if algorithm == "pagerank":
        state = 20 * arcs + 86 * vertices if weight_bytes else 4 * arcs + 70 * vertices
        run = transpose + 8 * vertices + max(state, names + 24 * vertices)
        return max(transpose_peak, run)
    kinds = {column.kind for column in graph.columns}
    if "arrow" in kinds:  # text of predecessors is taken, and taken again with nulls
        names += 2 * graph.name_bytes(vertices, is_distinct=False)
    elif "object" in kinds:
        names += 8 * vertices
    elif kinds != {"ids"}:
        names += 4 * vertices
    state = (30 if algorithm == "bfs" else 36) * vertices
    return max(transpose_peak, transpose + state + names)


def _clustering_bytes(algorithm: str, graph: GraphStats, memberships: bool) -> int:
    """Return the peak of structural clustering or similarity."""
    vertices, arcs = graph.num_vertices, graph.num_arcs * (2 if graph.directed else 1)
    neighborhoods = neighborhoods_peak = 0
    if not graph.is_simple:
        neighborhoods = 4 * arcs + 8 * vertices
        neighborhoods_peak = 13 * arcs + 10 * vertices
    similarity = 8 * arcs + 34 * vertices
    if algorithm == "structural_similarity":
        # Half as many edges as arcs, with the names of both endpoints.
        names = 2 * graph.name_bytes(arcs // 2, is_distinct=False)
        result = 20 * arcs + 10 * vertices + names
    elif algorithm == "scan":
        # A membership is an arc from a border to a core.
        result = (40 if memberships else 4) * arcs + 52 * vertices + graph.name_bytes(vertices)
    else:
        num_keys = max(vertices, MIN_SORT_KEYS)
        sort = 16 * num_keys + counting_sort_bytes(arcs, num_keys) + 8 * vertices
        result = 36 * arcs + max(sort, 60 * vertices)
    return max(neighborhoods_peak, neighborhoods + max(similarity, result))


def _gpu_run_bytes(
    algorithm: str, num_vertices: int, num_arcs: int, weighted: bool, text_bytes: int
) -> int:
    per = ALGORITHM_BYTES[algorithm]
    arcs = num_arcs * (per.per_weighted_arc if weighted else per.per_arc)
    return num_vertices * per.per_vertex + arcs + text_bytes * TEXT_COPIES.get(algorithm, 2)


def estimate_memory(
    graph_or_path: GraphLike | str | Path,
    algorithm: Algorithm,
    *,
    source: str | list[str] | None = None,
    destination: str | list[str] | None = None,
    weight: str | None = None,
    directed: bool = True,
    num_vertices: int | None = None,
    memberships: bool = False,
) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm before it runs.

    Parameters
    ----------
    graph_or_path : Graph, LayeredEdgeList, edge frame, str or Path
        Graph, edges, or a file of edges.
    algorithm : {"pagerank", "bfs", "sssp", "connected_components", "scan", "scan_index", \
"structural_similarity"}
        Algorithm to run.
    source, destination : str or list of str, optional
        Columns of vertex names in a frame or file; by default ``"source"`` and
        ``"destination"``.
    weight : str, optional
        Column of weights in a frame or file; by default, there are none.
    directed : bool, default True
        Whether the edges of a frame or file are directed.
    num_vertices : int, optional
        Upper bound of the number of vertices of a frame or file.
    memberships : bool, default False
        Whether ``"scan"`` runs with ``memberships=True`` or ``method="gpuscan"``.

    Returns
    -------
    MemoryEstimate
        Upper bounds ``needed`` and ``streamed``, in bytes.

    Raises
    ------
    GraphError
        If the algorithm is unknown or the file cannot be read.

    Notes
    -----
    The number of rows of a file comes from its metadata (Parquet, Matrix Market) or its size. Text
    names are read, batch by batch, for their lengths.

    Without `num_vertices`, the estimate assumes as many vertices as the size line of a Matrix
    Market file declares. For other input it assumes the range of integer ids, or two vertices per
    row if that is less or the names are text; it may then be several times the peak. On a CPU with
    a known number of vertices, the peak of the resident set is mostly above 0.7 of the estimate.

    Examples
    --------
    >>> import numpy, rapidsgraph as rg
    >>> ring = numpy.arange(10**6)
    >>> edges = {"source": ring, "destination": numpy.roll(ring, 1)}
    >>> rg.estimate_memory(edges, "pagerank").needed > 70 * 10**6
    True
    """
    check_flag("directed", directed)
    check_algorithm(algorithm)
    if isinstance(graph_or_path, LocalGraph):
        return estimate_graph_memory(graph_or_path, algorithm, memberships=memberships)
    if isinstance(graph_or_path, (str, Path)):
        edges = _file_stats(graph_or_path, source, destination, weight)
        weighted = weight is not None
    else:
        edges = _frame_stats(graph_or_path, source, destination)
        weighted = weight is not None or (algorithm == "sssp" and _has_weights(graph_or_path))
    max_vertices = edges.max_vertices()
    if num_vertices is not None:
        check_count("num_vertices", num_vertices)
        max_vertices = min(max_vertices, num_vertices)
    is_undirected = algorithm in UNDIRECTED_ALGORITHMS
    needed = edges.frame_bytes + _build_and_run_bytes(
        algorithm, edges, max_vertices, weighted=weighted and not is_undirected,
        directed=directed and not is_undirected, memberships=memberships,
    )  # fmt: skip
    streamed = max_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    return MemoryEstimate(int(max(edges.read_bytes, needed)), int(streamed))


def check_algorithm(algorithm: Any) -> None:
    """Raise GraphError unless there is an estimate for `algorithm`."""
    if not isinstance(algorithm, str) or algorithm not in get_args(Algorithm):
        known = ", ".join(get_args(Algorithm))
        raise GraphError(
            f"no estimate for algorithm {format_value(algorithm)}; there is one for {known}",
            parameter="algorithm",
            value=algorithm,
            hint=f"use one of {known}",
        )


@dataclass(frozen=True)
class EdgeStats:
    """The properties of an edge frame or file that determine the memory of its graph.

    Attributes
    ----------
    rows : int
    columns : list of NameColumnStats
    xp : module
        NumPy or CuPy: the array module of the graph.
    declared_vertices : int or None
        Number of vertices that the file declares, including vertices without edges.
    read_bytes : int
        Peak of reading the file; 0 for a frame.
    frame_bytes : int
        Bytes retained beyond the input frame: converted columns, or the frame of a file.
    """

    rows: int
    columns: list[NameColumnStats]
    xp: ModuleType
    declared_vertices: int | None = None
    read_bytes: int = 0
    frame_bytes: int = 0

    def max_vertices(self) -> int:
        """Return the declared number of vertices, or an upper bound."""
        if self.declared_vertices is not None:
            return self.declared_vertices
        if len(self.columns) > 1:
            return 2 * self.rows
        return max((column.max_distinct() for column in self.columns), default=0)


def _build_and_run_bytes(
    algorithm: str,
    edges: EdgeStats,
    num_vertices: int,
    *,
    weighted: bool,
    directed: bool,
    memberships: bool,
) -> int:
    """Return an upper bound of the bytes of building a graph and running an algorithm on it."""
    num_arcs = edges.rows if directed else 2 * edges.rows
    build = build_bytes(
        edges.rows, num_vertices, weighted=weighted, directed=directed, columns=edges.columns,
        xp=edges.xp, self_loops="drop" if algorithm in UNDIRECTED_ALGORITHMS else "keep",
    )  # fmt: skip
    if edges.xp is not np:
        text_bytes = sum(column.text_bytes for column in edges.columns)
        run = _gpu_run_bytes(algorithm, num_vertices, num_arcs, weighted, text_bytes)
        graph = num_arcs * (12 if weighted else 4) + num_vertices * 8 + text_bytes
        return max(build, graph + run)
    weight_bytes = 8 if weighted else 0
    names = naming_bytes(edges.columns, num_vertices)[1] - 4 * edges.columns[0].rows
    stats = GraphStats(
        num_vertices, num_arcs, weight_bytes, directed, edges.columns, directed, is_simple=True
    )
    graph = (4 + weight_bytes) * num_arcs + 8 * num_vertices + names
    return max(build, int(RUN_MARGIN * graph) + run_bytes(algorithm, stats, memberships))


def estimate_graph_memory(
    graph: LocalGraph, algorithm: str, *, memberships: bool = False
) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm on a graph; see `estimate_memory`."""
    vertices, arcs, names = graph.num_vertices, graph.num_arcs, graph.names
    streamed = int(vertices * ALGORITHM_BYTES[algorithm].per_vertex)
    is_undirected = algorithm in UNDIRECTED_ALGORITHMS
    if graph.xp is not np:
        arcs *= 2 if graph.directed and is_undirected else 1
        run = _gpu_run_bytes(algorithm, vertices, arcs, graph.weighted, names.text_bytes)
        return MemoryEstimate(int(run), streamed)
    needs_transpose = not all(map(graph.has_layout, LAYOUTS.get(algorithm, ())))
    is_known_simple = (
        is_undirected
        and not graph.directed
        and graph.is_merged
        and (graph.is_loopless or is_simple(graph.csr))
    )
    weight_bytes = graph.built[0].weights.itemsize if graph.weighted else 0
    columns = [_distinct_stats(values, vertices) for values in names.distinct]
    stats = GraphStats(
        vertices, arcs, weight_bytes, graph.directed, columns, needs_transpose, is_known_simple
    )
    return MemoryEstimate(run_bytes(algorithm, stats, memberships), streamed)


def check_run_memory(
    graph: LocalGraph, algorithm: str, operation: str, *, memberships: bool = False
) -> None:
    """Raise InsufficientMemoryError unless an algorithm on a graph fits into free memory.

    A bound that every estimate is below comes first, because for a small graph the estimate takes
    longer than the algorithm.

    Parameters
    ----------
    graph : LocalGraph
    algorithm, memberships
        As for `estimate_memory`.
    operation : str
        The operation as a noun phrase for the message.
    """
    bound = MAX_BASE_BYTES + MAX_BYTES_PER_ITEM * (graph.num_vertices + graph.num_arcs)
    if graph.names.are_integers and bound <= device.free_memory(graph.xp):
        return
    needed = estimate_graph_memory(graph, algorithm, memberships=memberships).needed
    check_free_memory(operation, needed, graph.xp)


def estimate_layered_memory(layered: Any, algorithm: str) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm on a layered edge list; see `estimate_memory`."""
    check_algorithm(algorithm)
    vertices = layered.num_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    streamed = vertices + min(2 * layered.largest_partition, layered.nbytes)
    return MemoryEstimate(vertices + layered.nbytes, streamed)


def _distinct_stats(values: Any, count: int) -> NameColumnStats:
    """Return the statistics of a column of the distinct names of a graph on a CPU."""
    if values is None:
        return NameColumnStats("ids", count, count)
    if device.is_array(values):
        return NameColumnStats("hash", count)
    if not frames.is_arrow_text(values):
        return NameColumnStats("object", count)
    text_bytes, max_length = frames.text_sizes(values)
    return NameColumnStats("arrow", count, text_bytes=text_bytes, max_length=max_length)


def _has_weights(frame: Any) -> bool:
    """Return whether `sssp` uses a weight column of the frame by default."""
    return "weight" in frames.column_names(frames.normalize_frame(frame)[1])


def _frame_stats(
    frame: Any, source: str | list[str] | None, destination: str | list[str] | None
) -> EdgeStats:
    _, frame = frames.normalize_frame(frame)
    endpoints: list[list[Any]] = []
    copy_bytes = 0
    for end, names in (("source", source), ("destination", destination)):
        labels = as_list(names or end)
        columns = [frames.get_column(frame, label, end) for label in labels]
        copy_bytes += sum(
            frames.copied_bytes(values, frame[label])
            for values, label in zip(columns, labels, strict=True)
        )
        endpoints.append(columns)
    sources, destinations = endpoints
    return EdgeStats(
        rows=len(sources[0]),
        columns=name_column_stats(sources, destinations),
        xp=frames.common_array_module([*sources, *destinations]),
        frame_bytes=copy_bytes,
    )


def _file_stats(
    path: str | Path,
    source: str | list[str] | None,
    destination: str | list[str] | None,
    weight: str | None,
) -> EdgeStats:
    path = Path(check_path(path))
    rows, kind, limits = read_edge_metadata(path, source=source, destination=destination)
    declared = declared_vertices(path)
    num_declared = None if declared is None else len(declared)
    num_columns = len(as_list(source or "source"))
    text_bytes = 0
    if kind == "integer":
        num_names = 2 * rows + (num_declared or 0)
        span = limits[1] - limits[0] + 1 if limits else 0
        if not span:
            name_kind = "integer"
        elif span > num_names + 1024:
            name_kind = "hash"
        else:
            name_kind = "table" if limits and limits[0] else "ids"
        column = NameColumnStats(name_kind, num_names, span)
    else:
        text_bytes, max_length = measure_text(path, source=source, destination=destination)
        column = NameColumnStats("arrow", 2 * rows, text_bytes=text_bytes, max_length=max_length)
    row_bytes = 16 * num_columns + (8 if weight is not None else 0)
    frame_bytes = rows * row_bytes + text_bytes
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    num_blocks = -(-sum(file.stat().st_size for file in files) // FILE_BLOCK_BYTES)
    read_bytes = 2 * frame_bytes + min(2 * num_blocks * FILE_BLOCK_BYTES, 2**27) + 2**24
    frame_bytes += min(2 * frame_bytes, READER_BYTES) + 8 * (num_declared or 0)
    return EdgeStats(
        rows=rows,
        columns=[column] * num_columns,
        xp=np,
        declared_vertices=num_declared,
        read_bytes=int(MARGIN * read_bytes),
        frame_bytes=int(MARGIN * frame_bytes),
    )
