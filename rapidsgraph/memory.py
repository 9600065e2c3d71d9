"""Estimate the memory of building a graph from a frame or file and running an algorithm on it.

The estimate is the larger of two peaks: that of the build (`graph.build_memory`), and that of the
run on the graph (`algorithms.run_memory`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from . import frames
from .algorithms.parameters import FRAME_OPTIONS
from .algorithms.run_memory import (
    ALGORITHM_BYTES,
    UNDIRECTED_ALGORITHMS,
    Algorithm,
    GraphStats,
    MemoryEstimate,
    estimate_graph_memory,
    gpu_run_bytes,
    run_bytes,
)
from .errors import GraphError, format_value
from .graph.build_memory import (
    MARGIN,
    RUN_MARGIN,
    NameColumnStats,
    build_bytes,
    name_column_stats,
    naming_bytes,
)
from .graph.local_graph import GraphLike, LocalGraph
from .io.edge_files import (
    choose_weight_column,
    declared_vertices,
    measure_text,
    read_edge_metadata,
)
from .io.formats import Format
from .io.inputs import InputFiles, open_input
from .relational.run_memory import FRAME_BYTES, estimate_bytes, estimate_graph_bytes
from .validation import (
    DEFAULT_WEIGHT,
    MAX_UNUSED_NAMES,
    as_list,
    check_choice,
    check_count,
    check_endpoint_columns,
    check_flag,
    choose_weight,
    is_default_weight,
)

FILE_BLOCK_BYTES = 2**20
READER_BYTES = 2**26  # retained by the threads of Arrow's readers, at most


def estimate_memory(
    graph_or_path: GraphLike | str | Path,
    algorithm: Algorithm,
    *,
    source: str | list[str] | None = None,
    destination: str | list[str] | None = None,
    weight: str | None = DEFAULT_WEIGHT,
    directed: bool = True,
    num_vertices: int | None = None,
    memberships: bool = False,
    method: Literal["auto", "frames"] = "auto",
    format: Format | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> MemoryEstimate:
    """Estimate the peak memory of an algorithm before it runs.

    Parameters
    ----------
    graph_or_path : Graph, LayeredEdgeList, edge frame, str or Path
        Graph, edges, or a file of edges: a path, folder, glob or URL as for `read_edges`.
    algorithm : {"pagerank", "bfs", "sssp", "connected_components", "core_number", \
"label_propagation", "scan", "scan_index", "structural_similarity", "triangle_count", \
"clustering_coefficient", "neighbor_similarity", "strong_components"}
        Algorithm to run.
    source, destination : str or list of str, optional
        Columns of vertex names in a frame or file; by default ``"source"`` and
        ``"destination"``.
    weight : str or None, default "weight"
        Column of weights in a frame or file, as for `Graph`. Of a frame, the default column counts
        for algorithms that use weights only.
    directed : bool, default True
        Whether the edges of a frame or file are directed.
    num_vertices : int, optional
        Upper bound of the number of vertices of a frame or file.
    memberships : bool, default False
        Whether ``"scan"`` runs with ``memberships=True`` or ``method="gpuscan"``.
    method : {"auto", "frames"}, default "auto"
        "frames" estimates the frame form of the algorithm, whose tables do not stream.
    format : {"csv", "tsv", "snap", "jsonl", "mtx", "parquet", "arrow"}, optional
        Format of a file, as in `read_edges`.
    storage_options : mapping, optional
        Options of the file system of a URL, as in `read_edges`.

    Returns
    -------
    MemoryEstimate
        Upper bounds ``needed`` and ``streamed``, in bytes.

    Raises
    ------
    GraphError
        If the algorithm is unknown or has no frame form, or the file cannot be read.

    Notes
    -----
    The number of rows of a file comes from its metadata (Parquet, Matrix Market) or its size. Text
    names are read, batch by batch, for their lengths. The files of a URL are downloaded to a
    temporary folder for this.

    Without `num_vertices`, the number of vertices is that of the size line of a Matrix Market file.
    For other input, it is two per row, or the range of integer ids if that is less; the estimate
    may then be several times the peak. On a CPU with a known number of vertices, the peak resident
    set is mostly above 0.7 of the estimate.

    On a GPU, repeated "sssp" calls on a `Graph` sort its adjacency lists by weight if 64 bytes per
    arc are free. The estimate does not include that optional sort.

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
    check_choice("method", method, ("auto", "frames"))
    is_relational = method == "frames"
    if is_relational and algorithm not in FRAME_BYTES:
        known = ", ".join(name for name in FRAME_BYTES if name in get_args(Algorithm))
        raise GraphError(
            f"{algorithm} has no frame form; {{parameter}} 'frames' is for {known}",
            parameter="method",
            value=method,
            hint="use 'auto'",
        )
    if isinstance(graph_or_path, LocalGraph):
        if is_relational:
            needed = estimate_graph_bytes(algorithm, graph_or_path)
            return MemoryEstimate(needed, needed)
        return estimate_graph_memory(graph_or_path, algorithm, memberships=memberships)
    if isinstance(graph_or_path, (str, Path)):
        with open_input(graph_or_path, format, storage_options) as files:
            edges = _input_stats(files, source, destination, weight)
    else:
        if algorithm not in FRAME_OPTIONS and is_default_weight(weight):
            weight = None
        edges = _frame_stats(graph_or_path, source, destination, weight)
    max_vertices = edges.max_vertices()
    if num_vertices is not None:
        check_count("num_vertices", num_vertices)
        max_vertices = min(max_vertices, num_vertices)
    is_undirected = algorithm in UNDIRECTED_ALGORITHMS
    if is_relational:
        num_arcs = edges.rows if directed or is_undirected else 2 * edges.rows
        needed = edges.frame_bytes + estimate_bytes(
            algorithm, num_arcs, max_vertices, [*map(_mean_length, edges.columns)]
        )
        needed = int(max(edges.read_bytes, needed))
        return MemoryEstimate(needed, needed)
    needed = edges.frame_bytes + _build_and_run_bytes(
        algorithm, edges, max_vertices, weighted=edges.weighted and not is_undirected,
        directed=directed and not is_undirected, memberships=memberships,
    )  # fmt: skip
    streamed = max_vertices * ALGORITHM_BYTES[algorithm].per_vertex
    return MemoryEstimate(int(max(edges.read_bytes, needed)), int(streamed))


def _mean_length(column: NameColumnStats) -> int | None:
    """Return the mean length of the names of a column in bytes; None for integers."""
    is_text = column.kind in ("arrow", "object", "cudf")
    return -(-column.text_bytes // max(column.rows, 1)) if is_text else None


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
    weighted : bool
        Whether the graph has weights.
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
    weighted: bool
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
    algorithm: Algorithm,
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
        multi_edges="sum" if weighted and algorithm == "pagerank" else "first",
    )  # fmt: skip
    if edges.xp is not np:
        text_bytes = sum(column.text_bytes for column in edges.columns)
        run = gpu_run_bytes(algorithm, num_vertices, num_arcs, weighted, text_bytes)
        graph = num_arcs * (12 if weighted else 4) + num_vertices * 8 + text_bytes
        return max(build, graph + run)
    weight_bytes = 8 if weighted else 0
    names = naming_bytes(edges.columns, num_vertices)[1] - 4 * edges.columns[0].rows
    stats = GraphStats(
        num_vertices, num_arcs, weight_bytes, directed, edges.columns, directed, is_simple=True
    )
    graph = (4 + weight_bytes) * num_arcs + 8 * num_vertices + names
    return max(build, int(RUN_MARGIN * graph) + run_bytes(algorithm, stats, memberships))


def _frame_stats(
    frame: Any,
    source: str | list[str] | None,
    destination: str | list[str] | None,
    weight: str | None,
) -> EdgeStats:
    _, frame = frames.normalize_frame(frame, "graph_or_path")
    source = "source" if source is None else source
    destination = "destination" if destination is None else destination
    check_endpoint_columns(as_list(source), as_list(destination))
    labels = [*as_list(source), *as_list(destination)]
    weight = choose_weight(weight, frames.column_names(frame), labels)
    if weight is not None:
        frames.get_column(frame, weight, "weight")  # raises if it does not exist
    endpoints: list[list[Any]] = []
    copy_bytes = 0
    for end, names in (("source", source), ("destination", destination)):
        labels = as_list(names)
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
        weighted=weight is not None,
        frame_bytes=copy_bytes,
    )


def _input_stats(
    files: InputFiles,
    source: str | list[str] | None,
    destination: str | list[str] | None,
    weight: str | None,
) -> EdgeStats:
    weight = choose_weight_column(files, weight, source, destination)
    rows, kind, limits = read_edge_metadata(
        files, source=source, destination=destination, weight=weight
    )
    declared = declared_vertices(files)
    num_declared = None if declared is None else len(declared)
    num_columns = len(as_list("source" if source is None else source))
    text_bytes = 0
    if kind == "integer":
        num_names = 2 * rows + (num_declared or 0)
        span = limits[1] - limits[0] + 1 if limits else 0
        if not span:
            name_kind = "integer"
        elif span > num_names + MAX_UNUSED_NAMES:
            name_kind = "hash"
        else:
            name_kind = "table" if limits and limits[0] else "ids"
        column = NameColumnStats(name_kind, num_names, span)
    else:
        text_bytes, max_length = measure_text(files, source=source, destination=destination)
        column = NameColumnStats("arrow", 2 * rows, text_bytes=text_bytes, max_length=max_length)
    row_bytes = 16 * num_columns + (8 if weight is not None else 0)
    frame_bytes = rows * row_bytes + text_bytes
    num_blocks = -(-files.nbytes // FILE_BLOCK_BYTES)
    read_bytes = 2 * frame_bytes + min(2 * num_blocks * FILE_BLOCK_BYTES, 2**27) + 2**24
    frame_bytes += min(2 * frame_bytes, READER_BYTES) + 8 * (num_declared or 0)
    return EdgeStats(
        rows=rows,
        columns=[column] * num_columns,
        xp=np,
        weighted=weight is not None,
        declared_vertices=num_declared,
        read_bytes=int(MARGIN * read_bytes),
        frame_bytes=int(MARGIN * frame_bytes),
    )
