"""Graphs in the memory of one process, on a CPU or GPU, and their build from an edge frame.

A build reads the columns of the frame, names the vertices and sorts the edges. Memory is estimated
before each phase from what is known by then. Arrays are freed as soon as the next phase does not
need them, which is why they are passed in lists that the callee empties.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np

from .. import device
from ..device import Array, ArrayModule
from ..errors import GraphError, WeightWarning, warn
from ..frames import Frame, Vertices
from ..summary import format_html
from ..validation import MAX_VERTICES, check_choice, check_flag, check_free_memory
from . import weight_sums
from .build_memory import build_bytes, csr_build_bytes, merge_bytes, name_column_stats
from .csr import Adjacency, from_coo, mark_proper, sort_endpoints, symmetrize, transpose
from .edge_columns import EdgeColumns, read_columns
from .key_sums import count_by_key, sum_by_key
from .multi_edges import MULTI_EDGES, DefaultMultiEdges, MultiEdges
from .vertex_arguments import check_vertices
from .vertex_names import Labeling
from .vertex_naming import kernel_type, name_vertices

logger = logging.getLogger(__name__)

# A `Graph`, an edge frame (see `frames.Frame`), or a `LayeredEdgeList` where a function says so.
GraphLike: TypeAlias = Any
CompileAhead: TypeAlias = Callable[[Any], None]  # of the type of weights, None without weights
SelfLoops = Literal["keep", "drop"]

# The estimate of a build by integer names is below MAX_BASE_BYTES + MAX_BYTES_PER_NAME per row and
# name column.
MAX_BASE_BYTES = 2**26
MAX_BYTES_PER_NAME = 1024
# A smaller graph by integer names takes a few megabytes, by which free memory varies anyway.
MIN_CHECKED_SIZE = 2**16


@dataclass(frozen=True)
class BuildReport:
    """Row counts of a graph build, and the size of its result.

    Attributes
    ----------
    rows : int
        Rows of the edge frame.
    self_loops_dropped, rows_merged : int
        Rows that the policies `self_loops` and `multi_edges` removed.
    edges, vertices : int
    isolates : int
        Vertices without an edge.
    nbytes : int
        Bytes of the adjacency.
    """

    rows: int
    self_loops_dropped: int
    rows_merged: int
    edges: int
    vertices: int
    isolates: int
    nbytes: int

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows: {self.self_loops_dropped:,} self-loops dropped, "
            f"{self.rows_merged:,} merged into others, {self.edges:,} edges left; "
            f"{self.vertices:,} vertices, {self.isolates:,} of them without an edge; "
            f"{self.nbytes:,} bytes"
        )

    def _repr_html_(self) -> str:
        return format_html("BuildReport", asdict(self))


class LocalGraph:
    """A graph in the memory of one process: the storage of `Graph` on one CPU or GPU.

    Neighbors are sorted, so results do not depend on the order of rows. The adjacency of the other
    layout is derived on first use; an undirected graph has one adjacency for both.

    Parameters
    ----------
    labeling : Labeling
    adjacency : Adjacency
    layout : {"csr", "csc"}
        Whether `adjacency` is by source or by destination.
    directed, weighted : bool
    multi_edges, self_loops : str
        Policies of the build.
    num_rows, num_loops_dropped : int
        Rows of the edge frame, and how many of them were dropped as self-loops.
    num_edges : int
        An undirected edge counts once.
    """

    weight_candidates: Sequence[str] = ()  # columns of the edge frame that may be weights
    build_call = "rg.Graph(edges"  # for messages about them

    def __init__(
        self,
        labeling: Labeling,
        adjacency: Adjacency,
        layout: str,
        *,
        directed: bool,
        weighted: bool,
        multi_edges: MultiEdges,
        self_loops: SelfLoops,
        num_rows: int,
        num_loops_dropped: int,
        num_edges: int,
    ) -> None:
        self.labeling, self.directed, self.weighted = labeling, directed, weighted
        self.multi_edges, self.self_loops = multi_edges, self_loops
        self._num_rows, self._num_loops_dropped = num_rows, num_loops_dropped
        self.names, self.num_vertices = labeling.names, labeling.num_vertices
        self.num_edges, self.num_arcs = num_edges, adjacency.neighbors.size
        self._cache: dict[str, Any] = {}
        self._adjacencies = {layout if directed else "csr": adjacency}  # by layout

    @property
    def xp(self) -> ArrayModule:
        return self.labeling.xp

    @property
    def device(self) -> str:
        return self.labeling.device

    @property
    def csr(self) -> Adjacency:
        """Adjacency by source."""
        if "csr" not in self._adjacencies:
            self._adjacencies["csr"] = transpose(self._adjacencies["csc"])
        return self._adjacencies["csr"]

    @property
    def csc(self) -> Adjacency:
        """Adjacency by destination."""
        if not self.directed:
            return self.csr
        if "csc" not in self._adjacencies:
            self._adjacencies["csc"] = transpose(self._adjacencies["csr"])
        return self._adjacencies["csc"]

    def has_layout(self, layout: str) -> bool:
        """Return whether the adjacency of a layout, "csr" or "csc", has been built."""
        return layout in self._adjacencies or not self.directed

    @cached_property
    def out_degrees(self) -> Array:
        """Number of arcs that leave each vertex: float64, shape (vertices,)."""
        if "csr" in self._adjacencies:
            return self.xp.diff(self.csr.offsets).astype(self.xp.float64)
        return count_by_key(self.csc.neighbors, self.num_vertices)

    @cached_property
    def out_weights(self) -> Array:
        """Sum of the weights that leave each vertex, or its out-degree: float64."""
        if not self.weighted:
            return self.out_degrees
        return sum_by_key(self.csc.neighbors, self.csc.weights, self.num_vertices)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights of all arcs, which no distance exceeds; infinite if it overflows."""
        return weight_sums.total_weight(self.built[0].weights)

    def cached(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the result of `compute`, which is called once per key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def is_cached(self, key: str) -> bool:
        """Return whether `cached` has the result of a key."""
        return key in self._cache

    def uncache(self, key: str) -> None:
        """Free the result of a key, if `cached` has one."""
        self._cache.pop(key, None)

    @property
    def built(self) -> list[Adjacency]:
        """The adjacency of each layout that has been built so far."""
        layouts = ("csr", "csc")
        return [self._adjacencies[name] for name in layouts if name in self._adjacencies]

    @property
    def is_merged(self) -> bool:
        """Whether the build merged parallel edges, so that there are none."""
        return self.multi_edges != "keep"

    @property
    def is_loopless(self) -> bool:
        """Whether the build dropped self-loops, so that there are none."""
        return self.self_loops == "drop"

    def derive(
        self, adjacencies: dict[str, Adjacency], labeling: Labeling, num_edges: int
    ) -> LocalGraph:
        """Return a graph of the same policies, given its adjacencies by layout."""
        layout, adjacency = next(iter(adjacencies.items()))
        graph = LocalGraph(
            labeling, adjacency, layout, directed=self.directed, weighted=self.weighted,
            multi_edges=self.multi_edges, self_loops=self.self_loops, num_rows=num_edges,
            num_loops_dropped=0, num_edges=num_edges,
        )  # fmt: skip
        graph._adjacencies |= adjacencies
        return graph.with_candidates_of(self)

    def with_candidates_of(self, origin: Any) -> Self:
        """Take over the columns that may be weights of the graph that this one derives from."""
        if not self.weighted:
            self.weight_candidates = origin.weight_candidates
            self.build_call = origin.build_call
        return self

    @property
    def vertices(self) -> Any:
        return self.labeling.vertex_frame({})

    @property
    def nbytes(self) -> int:
        return sum(adjacency.nbytes for adjacency in self.built)

    @cached_property
    def report(self) -> BuildReport:
        adjacency = self.built[0]
        has_arc = adjacency.offsets[1:] > adjacency.offsets[:-1]
        has_arc[adjacency.neighbors] = True
        num_merged = self._num_rows - self._num_loops_dropped - self.num_edges
        return BuildReport(
            self._num_rows, self._num_loops_dropped, num_merged, self.num_edges, self.num_vertices,
            self.num_vertices - device.count_nonzero(has_arc), self.nbytes,
        )  # fmt: skip

    def summarize(self) -> dict[str, Any]:
        """Return the properties that a notebook shows."""
        return {
            "vertices": self.num_vertices, "edges": self.num_edges, "directed": self.directed,
            "weighted": self.weighted, "device": self.device, "nbytes": self.nbytes,
        }  # fmt: skip

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"<Graph: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges"
            f"{', weighted' if self.weighted else ''}, {self.device}>"
        )


class StoredGraph:
    """Base of the public graph types, which delegate to a storage."""

    _storage: Any
    _no_local_graph: ClassVar[str]  # why the storage is no LocalGraph, if it is none

    @classmethod
    def _from_storage(cls, storage: Any) -> Self:
        graph = cls.__new__(cls)
        graph._storage = storage
        return graph

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._storage.num_vertices

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._storage.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._storage.weighted

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"gpu"``, where computations run."""
        return self._storage.device

    def __repr__(self) -> str:
        return repr(self._storage)

    def _repr_html_(self) -> str:
        return format_html(type(self).__name__, self._storage.summarize())


def storage_of(graph: Any) -> Any:
    """Return the storage of a `Graph` or `LayeredEdgeList`; anything else unchanged."""
    return graph._storage if isinstance(graph, StoredGraph) else graph


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
            compile_ahead(storage.built[0].weights.dtype if storage.weighted else None)
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
        _compile_build(columns, directed=directed)
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
    fits = are_arrays and (num_names < MIN_CHECKED_SIZE or bound <= device.free_memory(xp))
    del endpoints
    if fits:
        more_names = check_vertices(vertices, len(columns.sources), columns.schema.labels, xp)
    else:
        more_names = _check_vertices(columns, vertices, options, check_memory)
    names, *coo = name_vertices(
        columns.sources, columns.destinations, more_names, columns.schema.labels, xp,
        None if fits else check_table,
    )  # fmt: skip
    labeling, coo = columns.schema.labeling(names, xp), [*coo, columns.weights]
    del columns
    if not fits:
        check_memory(csr_build_bytes(num_rows, labeling.num_vertices, **options))
    return build_from_ids(coo, labeling, layout=layout, **policies)


def _compile_build(columns: EdgeColumns, *, directed: bool) -> None:
    """Start to compile the kernels of a build on a GPU."""
    names, weights = columns.sources[0], columns.weights
    if device.is_array(names):
        name_type = np.dtype(kernel_type(names.dtype))
        device.compile_ahead("name vertices", names=name_type)
        if name_type != np.int32:
            device.compile_ahead("convert names", names=name_type)
    if weights is None:
        device.compile_ahead("sort arcs", "merge arcs")
    else:
        device.compile_ahead("sort weighted arcs", "merge arcs", weights=weights.dtype)
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
            f"{rows} of another weight, which is that of the first row; choose it by "
            "multi_edges='first', or 'sum', 'min', 'max' or 'keep'",
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
