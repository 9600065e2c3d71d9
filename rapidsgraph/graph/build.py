"""Build of a graph in the memory of one process from an edge frame.

A build reads the columns of the frame, names the vertices and sorts the edges. Memory is estimated
before each phase from what is known by then. Arrays are freed as soon as the next phase does not
need them, which is why they are passed in lists that the callee empties.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..errors import GraphError, WeightWarning, warn
from ..frames import Frame, Vertices
from ..validation import MAX_VERTICES, check_choice, check_flag, check_free_memory
from . import weight_sums
from .build_memory import build_bytes, csr_build_bytes, merge_bytes, name_column_stats
from .csr import from_coo, mark_proper, sort_endpoints, symmetrize
from .edge_columns import EdgeColumns, read_columns
from .local_graph import GraphLike, LocalGraph, SelfLoops, StoredGraph, storage_of
from .multi_edges import MULTI_EDGES, DefaultMultiEdges, MultiEdges
from .pair_sort import MIN_BUCKET_SORTED
from .vertex_arguments import check_vertices
from .vertex_names import Labeling
from .vertex_naming import kernel_type, name_vertices

logger = logging.getLogger(__name__)

CompileAhead: TypeAlias = Callable[[Any], None]  # of the type of weights, None without weights

# The estimate of a build by integer names is below MAX_BASE_BYTES + MAX_BYTES_PER_NAME per row and
# name column.
MAX_BASE_BYTES = 2**26
MAX_BYTES_PER_NAME = 1024
# A smaller graph by integer names takes a few megabytes, by which free memory varies anyway.
MIN_CHECKED_SIZE = 2**16


def as_local_graph(
    graph: GraphLike, *, compile_ahead: CompileAhead | None = None, **options: Any
) -> LocalGraph:
    """Return the storage of a graph; build a graph from an edge frame.

    Parameters
    ----------
    graph : Graph or frame
    compile_ahead : callable, optional
        Called before a graph is built on a GPU with the type of its weights, or None without
        weights, to start compiling the kernels of an algorithm by `device.compile_ahead`.
    **options
        How to build the graph of a frame; see `build_graph`. By default, it is directed and has
        no weights.

    Raises
    ------
    GraphError
        If the graph is partitioned over the workers of a Dask cluster, or a layered edge list.
    """
    storage = storage_of(graph)
    if isinstance(storage, LocalGraph):
        if compile_ahead is not None and storage.xp is not np:
            _, adjacency = storage.first_adjacency()
            compile_ahead(adjacency.weights.dtype if storage.weighted else None)
        return storage
    if isinstance(graph, StoredGraph):
        raise GraphError(graph._no_local_graph, parameter="graph")
    try:
        return build_graph(graph, compile_ahead=compile_ahead, **options)
    except GraphError as error:
        if error.parameter != "edges":
            raise
        raise error.with_fields(parameter="graph") from None


def build_graph(
    edges: Frame,
    source: str | list[str] = "source",
    destination: str | list[str] = "destination",
    weight: str | None = None,
    *,
    directed: bool = True,
    multi_edges: MultiEdges = "first",
    self_loops: SelfLoops = "keep",
    vertices: int | Vertices | None = None,
    layout: str = "csr",
    unweighted_multi_edges: MultiEdges | None = None,
    compile_ahead: CompileAhead | None = None,
) -> LocalGraph:
    """Build a graph in the memory of this process.

    Parameters
    ----------
    edges, source, destination, weight, directed, multi_edges, self_loops, vertices
        As for `Graph`.
    layout : {"csr", "csc"}
        The adjacency to build from the frame; the other one is derived from it on first use.
    unweighted_multi_edges : str, optional
        The policy `multi_edges` for a frame without weights.
    compile_ahead : callable, optional
        As for `as_local_graph`.
    """
    check_policies(directed, multi_edges, self_loops)
    columns = read_columns(edges, source, destination, weight, multi_edges)
    if columns.xp is not np:
        if compile_ahead is not None:
            compile_ahead(None if columns.weights is None else columns.weights.dtype)
        _compile_build(columns, multi_edges, directed=directed)
    if columns.weights is None and unweighted_multi_edges is not None:
        multi_edges = unweighted_multi_edges
    num_rows, xp = len(columns.sources[0]), columns.xp
    policies: dict[str, Any] = {
        "directed": directed, "multi_edges": multi_edges, "self_loops": self_loops,
    }  # fmt: skip
    options = {"weighted": columns.weights is not None, "xp": xp, **policies}

    def check_memory(num_bytes: int) -> None:
        check_free_memory(f"building a graph of {num_rows:,} rows", num_bytes, xp)

    def check_table(count: int, nbytes: int) -> None:
        check_memory(merge_bytes("arrow" if nbytes else "hash", count, nbytes))

    # For a small graph, to read how much memory is free takes as long as the build, and the
    # statistics of the name columns, which estimates need, take longer.
    endpoints = columns.sources + columns.destinations
    num_names = num_rows * len(endpoints)
    if isinstance(vertices, range):  # whose length may be too large for len()
        num_names += max(0, vertices.stop - vertices.start)
    bound = MAX_BASE_BYTES + MAX_BYTES_PER_NAME * num_names
    are_arrays = vertices is None or isinstance(vertices, range)
    are_arrays = are_arrays and all(isinstance(values, xp.ndarray) for values in endpoints)
    skips_estimate = are_arrays and (
        num_names < MIN_CHECKED_SIZE or bound <= device.free_memory(xp)
    )
    del endpoints
    if skips_estimate:
        more_names = check_vertices(vertices, len(columns.sources), columns.schema.labels, xp)
    else:
        more_names = _check_vertices(columns, vertices, options, check_memory)
    names, *coo = name_vertices(
        columns.sources, columns.destinations, more_names, columns.schema.labels, xp,
        None if skips_estimate else check_table,
    )  # fmt: skip
    labeling, coo = columns.schema.labeling(names, xp), [*coo, columns.weights]
    del columns
    if not skips_estimate:
        check_memory(csr_build_bytes(num_rows, labeling.num_vertices, **options))
    return build_from_ids(coo, labeling, layout=layout, **policies)


def _compile_build(columns: EdgeColumns, multi_edges: MultiEdges, *, directed: bool) -> None:
    """Start to compile the kernels of a build on a GPU."""
    names, weights = columns.sources[0], columns.weights
    if device.is_array(names):
        name_type = np.dtype(kernel_type(names.dtype))
        device.compile_ahead("name vertices", names=name_type)
        if name_type != np.int32:
            device.compile_ahead("convert names", names=name_type)
    is_large = len(names) >= MIN_BUCKET_SORTED
    if weights is None:
        device.compile_ahead("sort arcs")
        if is_large:
            device.compile_ahead("sort many arcs")
    else:
        device.compile_ahead("sort weighted arcs", weights=weights.dtype)
        if is_large:
            device.compile_ahead("sort many weighted arcs")
    if multi_edges != "keep":
        device.compile_ahead("merge arcs")
        if weights is not None:
            device.compile_ahead("merge weights", weights=weights.dtype)
    if weights is not None and isinstance(multi_edges, DefaultMultiEdges):
        device.compile_ahead("count conflicts", weights=weights.dtype)
    if not directed:
        weight_type = np.float64 if weights is None else weights.dtype
        device.compile_ahead("symmetrize", weights=weight_type)


def build_from_ids(
    coo: list[Any],
    labeling: Labeling,
    *,
    directed: bool,
    multi_edges: MultiEdges,
    self_loops: SelfLoops = "keep",
    layout: str = "csr",
) -> LocalGraph:
    """Build a graph from the vertex ids of edges.

    Parameters
    ----------
    coo : list
        [sources, destinations, weights or None]: int32 arrays and checked weights; emptied, so that
        arrays are freed once they are sorted.
    labeling : Labeling
    directed, multi_edges, self_loops, layout
        As for `build_graph`.
    """
    num_rows, xp = coo[0].size, labeling.xp
    if self_loops == "drop":
        is_proper = mark_proper(*coo[:2])
        if device.count_nonzero(is_proper) < num_rows:
            kept = [values for values in coo if values is not None]
            coo[: len(kept)] = device.compress(is_proper, *kept)
            del kept
        del is_proper
    num_kept, is_summed = coo[0].size, multi_edges == "sum"
    is_default = isinstance(multi_edges, DefaultMultiEdges)
    if is_summed:
        coo[2] = _summable_weights(coo[2], num_kept, xp)
    weighted = coo[2] is not None
    if not directed:
        coo[:2] = sort_endpoints(*coo[:2])
    elif layout == "csc":
        coo[:2] = coo[1::-1]
    adjacency = from_coo(
        coo, labeling.num_vertices, multi_edges,
        report_conflicts=_warn_about_conflicts if is_default else None,
    )  # fmt: skip
    if is_summed:
        weight_sums.check_merged_weights(adjacency, labeling)
    num_edges = adjacency.neighbors.size
    logger.info(
        "built a graph on the %s: %d vertices, %d edges from %d rows, %s, %s, multi_edges %r",
        labeling.device, labeling.num_vertices, num_edges, num_rows,
        "directed" if directed else "undirected", "weighted" if weighted else "unweighted",
        multi_edges,
    )  # fmt: skip
    return LocalGraph(
        labeling,
        adjacency if directed else symmetrize(adjacency),
        layout,
        directed=directed,
        weighted=weighted,
        multi_edges=multi_edges,
        self_loops=self_loops,
        num_rows=num_rows,
        num_loops_dropped=num_rows - num_kept,
        num_edges=num_edges,
    )


def _warn_about_conflicts(count: int) -> None:
    """Warn that the default policy has dropped weights of parallel edges."""
    if count:
        rows = "1 row was merged into a parallel edge"
        if count > 1:
            rows = f"{count:,} rows were merged into parallel edges"
        warn(
            f"{rows} of a different weight, and the first weight was kept; pass "
            "multi_edges='first', 'sum', 'min', 'max' or 'keep' to choose explicitly",
            WeightWarning,
        )


def _check_vertices(
    columns: EdgeColumns,
    vertices: Any,
    options: dict[str, Any],
    check_memory: Callable[[int], None],
) -> Any:
    """Return `vertices` as a range or name columns; check that the build fits in memory."""
    endpoints, num_rows = (columns.sources, columns.destinations), len(columns.sources[0])

    def check_build(num_vertices: int, names: Any) -> None:
        stats = name_column_stats(*endpoints, names)
        check_memory(build_bytes(num_rows, num_vertices, columns=stats, **options))

    is_range = isinstance(vertices, range)
    if is_range and 0 < vertices.start < vertices.stop <= vertices.start + MAX_VERTICES:
        check_build(len(vertices), None)  # before the names of the range are listed
    vertices = check_vertices(vertices, len(endpoints[0]), columns.schema.labels, columns.xp)
    # Without a range the number of vertices is unknown, and the estimate a lower bound.
    check_build(len(vertices) if isinstance(vertices, range) else 0, vertices)
    return vertices


def _summable_weights(weights: Array | None, num_rows: int, xp: ArrayModule) -> Array:
    """Return weights of a type that holds the sums of parallel edges; 1 each without weights."""
    if weights is None:
        return xp.ones(num_rows)
    total = weight_sums.sum_exactly(weights) if weights.dtype.kind == "i" else None
    return weights.astype(weight_sums.sum_type(total), copy=False)


def check_policies(directed: Any, multi_edges: Any, self_loops: Any) -> None:
    """Raise GraphError for a policy that `Graph` does not have."""
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    check_choice("self_loops", self_loops, get_args(SelfLoops))
    check_flag("directed", directed)
