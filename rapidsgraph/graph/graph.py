"""Graph: the public type of graphs, whatever memory holds them.

A `Graph` delegates to a storage: `LocalGraph` for edges in one process, or the distributed graph
that `rapidsgraph.dispatch` registers for Dask frames.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import frames
from ..errors import GraphError
from ..frames import Frame, Vertices
from .csr import MultiEdges
from .local_graph import BuildReport, LocalGraph, SelfLoops, StoredGraph, build_graph

_build_distributed: Callable[..., Any] | None = None  # set by `dispatch`, which is above


def register_distributed_graph(build: Callable[..., Any]) -> None:
    """Register the builder of graphs from Dask frames."""
    global _build_distributed  # noqa: PLW0603 - imports point down, so `dispatch` sets it
    _build_distributed = build


class Graph(StoredGraph):
    """A directed or undirected graph with named vertices, built from an edge frame.

    Parameters
    ----------
    edges : frame
        One row per edge: a pandas, cuDF, Polars, Arrow or Dask frame, or a dict from column name to
        NumPy or CuPy array. The graph of a cuDF frame or of CuPy arrays is on the GPU; the graph of
        a Dask frame is partitioned over the workers of the cluster.
    source, destination : str or list of str, default "source" and "destination"
        Columns of vertex names: integers, text, or several columns that together name a vertex.
    weight : str, optional
        Column of edge weights, which must be finite and not negative.
    directed : bool, default True
        In an undirected graph, an edge is an arc each way, and (a, b) is parallel to (b, a).
    multi_edges : {"first", "sum", "min", "max", "keep"}, default "first"
        How parallel edges are merged: into one with the weight of the first row, or with the sum,
        minimum or maximum of all weights. "sum" without weights counts the edges. "keep" does not
        merge them. Sums of integers are exact while the total of all weights is below 2^63, and in
        double precision otherwise.
    self_loops : {"keep", "drop"}, default "keep"
        Whether edges from a vertex to itself are kept.
    vertices : int, range, frame, array or Series, optional
        Names of vertices to include even if they have no edge, as from `read_vertices`. An int n
        means ``range(n)``, which also says that all names are integers below n.

    Raises
    ------
    GraphError
        If a column is missing; a name is missing or of the wrong type; a weight is negative, NaN,
        infinite or not a number (the error has the row); the weights of parallel edges sum to
        infinity; a policy does not exist.
    InsufficientMemoryError
        If the build would not fit into memory; raised before it starts.

    See Also
    --------
    read_edges : Read an edge frame from a file.
    LayeredEdgeList : A graph that may be larger than memory.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["b", "a", "b"], "destination": ["a", "c", "a"]})
    >>> graph = rg.Graph(edges)
    >>> graph.num_vertices, graph.num_edges, graph.report.rows_merged
    (3, 2, 1)
    """

    _no_local_graph = (
        "the graph is partitioned over a Dask cluster, which this function does not support; call "
        "graph.compute() first"
    )

    def __init__(
        self,
        edges: Frame,
        source: str | list[str] = "source",
        destination: str | list[str] = "destination",
        weight: str | None = None,
        *,
        directed: bool = True,
        multi_edges: MultiEdges = "first",
        self_loops: SelfLoops = "keep",
        vertices: int | Vertices | None = None,
    ) -> None:
        if isinstance(edges, StoredGraph):
            raise GraphError(
                f"{{parameter}} is a {type(edges).__name__}; build a Graph from an edge frame",
                parameter="edges",
                value=edges,
            )
        build: Callable[..., Any] | None = build_graph
        if frames.is_dask(edges):
            build = _build_distributed
        if build is None:
            raise GraphError(
                "{parameter} is a Dask frame; import rapidsgraph before building its graph",
                parameter="edges",
            )
        self._storage = build(
            edges,
            source,
            destination,
            weight,
            directed=directed,
            multi_edges=multi_edges,
            self_loops=self_loops,
            vertices=vertices,
        )

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._storage.num_edges

    @property
    def vertices(self) -> Frame:
        """Frame of the vertex names, sorted, one row per vertex."""
        return self._storage.vertices

    @property
    def report(self) -> BuildReport:
        """Row counts of the build: dropped, merged and remaining edges."""
        return self._storage.report

    @property
    def nbytes(self) -> int:
        """Size of the adjacency that is in memory now, in bytes."""
        return self._storage.nbytes

    def compute(self) -> Graph:
        """Collect a partitioned graph into this process; return a local graph unchanged.

        Returns
        -------
        Graph
            Local graph of the same vertices and edges.
        """
        if isinstance(self._storage, LocalGraph):
            return self
        return self._from_storage(self._storage.compute())
