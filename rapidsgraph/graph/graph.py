"""Graph: the public type of graphs, whatever memory holds them.

A `Graph` delegates to a storage: `LocalGraph` for edges in one process, or a distributed graph for
Dask frames, whose functions `rapidsgraph.dispatch` registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import frames
from ..errors import GraphError, VertexNotFoundError, VertexTypeError
from ..frames import Frame, Vertices
from ..validation import DEFAULT_WEIGHT, as_list, is_default_weight, suggest_parameters
from . import derived_graph, export
from .build import as_local_graph, build_graph
from .local_graph import BuildReport, LocalGraph, SelfLoops, StoredGraph
from .multi_edges import DEFAULT_MULTI_EDGES, MultiEdges
from .vertex_arguments import find_vertices, is_scalar

# What properties and methods of `Graph` do with a LocalGraph, by name.
_LOCAL_METHODS: dict[str, Callable[..., Any]] = {
    "edges": export.edges,
    "degrees": export.degrees,
    "neighborhood": derived_graph.neighborhood,
    "reverse": derived_graph.reverse,
    "subgraph": derived_graph.subgraph,
    "to_undirected": derived_graph.to_undirected,
}
# Set by `dispatch`, which is above: it imports a function by its name.
_load_distributed: Callable[[str], Callable[..., Any]] | None = None


def register_distributed(load: Callable[[str], Callable[..., Any]]) -> None:
    """Register the loader of functions for Dask.

    Parameters
    ----------
    load : callable
        Returns the function of a name: a key of `_LOCAL_METHODS`, whose function takes a
        distributed graph instead, or "build_graph", "build_layered" or "open_layered".
    """
    global _load_distributed  # noqa: PLW0603 - set once, on import
    _load_distributed = load


def distributed_function(name: str) -> Callable[..., Any]:
    """Return a function for Dask, importing it on first use; see `register_distributed`."""
    if _load_distributed is None:
        raise GraphError("import rapidsgraph.dispatch before using graphs on a Dask cluster")
    return _load_distributed(name)


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
    weight : str or None, default "weight"
        Column of edge weights, which must be finite and not negative. The column `weight` is used
        if it exists; any other one must exist. None ignores weights.
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

    Warns
    -----
    WeightWarning
        If rows of different weights in the memory of this process are merged, and `multi_edges` was
        not given.

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

    @suggest_parameters
    def __init__(
        self,
        edges: Frame,
        source: str | list[str] = "source",
        destination: str | list[str] = "destination",
        weight: str | None = DEFAULT_WEIGHT,
        *,
        directed: bool = True,
        multi_edges: MultiEdges = DEFAULT_MULTI_EDGES,
        self_loops: SelfLoops = "keep",
        vertices: int | Vertices | None = None,
    ) -> None:
        if isinstance(edges, StoredGraph):
            raise GraphError(
                f"{{parameter}} is a {type(edges).__name__}; build a Graph from an edge frame",
                parameter="edges",
                value=edges,
            )
        build = distributed_function("build_graph") if frames.is_dask(edges) else build_graph
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
        if is_default_weight(weight) and not self.weighted:
            used = [*as_list(source), *as_list(destination)]
            self._storage.weight_candidates = frames.find_weight_candidates(edges, used)

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._storage.num_edges

    @property
    def vertices(self) -> Frame:
        """Frame of the vertex names, sorted, one row per vertex."""
        return self._storage.vertices

    @property
    def edges(self) -> Frame:
        """Frame of the edges, one row per edge, sorted by source and destination.

        Columns are `source` and `destination` (numbered if several columns name a vertex; a column
        that both endpoints share comes first, once), and `weight` if the graph has weights. An
        undirected edge is one row. A `Graph` of a Dask frame gives a Dask frame. Vertices without
        an edge are in `vertices`.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": ["b", "a"], "destination": ["a", "c"]})
        >>> rg.Graph(edges).edges
          source destination
        0      a           c
        1      b           a
        """
        return self._call("edges")

    @property
    def degrees(self) -> Frame:
        """Frame of the degrees, one row per vertex, sorted by vertex.

        Columns are `vertex`, `in_degree` and `out_degree`; of an undirected graph `vertex` and
        `degree`, to which a self-loop adds 2, as in NetworkX. With weights there are also sums of
        weights, `weighted_in_degree` and `weighted_out_degree`, or `weighted_degree`: float64. A
        `Graph` of a Dask frame gives a Dask frame.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": ["b", "a"], "destination": ["a", "c"]})
        >>> rg.Graph(edges).degrees
          vertex  in_degree  out_degree
        0      a          1           1
        1      b          0           1
        2      c          1           0
        """
        return self._call("degrees")

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

    def subgraph(self, vertices: Vertices) -> Graph:
        """Return the subgraph of some vertices and all edges between them.

        Parameters
        ----------
        vertices : vertex name, or several
            A list, array or Series of names, or a frame with a column `vertex`, such as a result
            or one from `neighborhood`. A vertex with names in several columns is a tuple.

        Returns
        -------
        Graph
            With these vertices, also those without an edge between them, and the policies of this
            graph. The subgraph of a partitioned graph is partitioned, too, and that of no vertex is
            empty.

        Raises
        ------
        GraphError
            If a vertex is not in the graph.
        InsufficientMemoryError
            If the subgraph would not fit into memory; raised before it is built.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
        >>> rg.Graph(edges).subgraph([0, 1]).edges
           source  destination
        0       0            1
        """
        return self._from_storage(self._call("subgraph", vertices))

    @suggest_parameters
    def neighborhood(self, vertices: Vertices, hops: int = 1) -> Frame:
        """List the vertices that are at most some edges away from given ones.

        Parameters
        ----------
        vertices : vertex name, or several
            As for `subgraph`.
        hops : int, default 1
            The largest number of edges. These lead away from `vertices`; for edges in the other
            direction or in both, call this on `reverse()` or `to_undirected()`.

        Returns
        -------
        frame
            Columns `vertex` and `distance`, the number of edges (int32): one row per vertex, sorted
            by vertex, including `vertices` themselves at distance 0. A `Graph` of a Dask frame
            gives a Dask frame.

        Raises
        ------
        GraphError
            If a vertex is not in the graph.
        InsufficientMemoryError
            If the arrays by vertex would not fit into memory.

        See Also
        --------
        bfs : Distances to all vertices.

        Notes
        -----
        The ego graph of NetworkX and cuGraph is ``graph.subgraph(graph.neighborhood(v, radius))``.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3]})
        >>> rg.Graph(edges).neighborhood(1, hops=2)
           vertex  distance
        0       1         0
        1       2         1
        2       3         2
        """
        return self._call("neighborhood", vertices, hops)

    def reverse(self) -> Graph:
        """Return the graph of the reversed edges.

        Returns
        -------
        Graph
            It shares the arrays of this graph, so that it takes no memory. An undirected graph is
            returned unchanged.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 1], "destination": [1, 2]})
        >>> rg.Graph(edges).reverse().edges
           source  destination
        0       1            0
        1       2            1
        """
        if not self.directed:
            return self
        return self._from_storage(self._call("reverse"))

    def to_undirected(self, *, multi_edges: MultiEdges | None = None) -> Graph:
        """Return the undirected graph of the same vertices and edges.

        Parameters
        ----------
        multi_edges : {"first", "sum", "min", "max", "keep"}, optional
            How edges in both directions are merged, as for `Graph`; by default as this graph was
            built. The first is the one that leaves the smaller vertex.

        Returns
        -------
        Graph
            An undirected graph is returned unchanged.

        Raises
        ------
        GraphError
            If the weights of parallel edges sum to infinity.
        InsufficientMemoryError
            If the build would not fit into memory; raised before it starts.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": [0, 1, 2], "destination": [1, 0, 1]})
        >>> rg.Graph(edges).to_undirected().edges
           source  destination
        0       0            1
        1       1            2
        """
        if not self.directed:
            return self
        return self._from_storage(self._call("to_undirected", multi_edges))

    def to_scipy(self) -> Any:
        """Convert to a SciPy sparse array, the adjacency matrix.

        Returns
        -------
        scipy.sparse.csr_array
            Entry (i, j) is the weight of the edge from vertex i to vertex j, in the order of
            `vertices`; 1 without weights. Parallel edges are summed: integers exactly while the
            total of all weights is below 2^63, and in double precision otherwise. The matrix of an
            undirected graph is symmetric. The arrays are copies in host memory.

        Raises
        ------
        GraphError
            If SciPy is not installed; the graph is partitioned over a Dask cluster; the weights of
            parallel edges sum to infinity.

        See Also
        --------
        from_scipy : The inverse.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": ["b", "a"], "destination": ["a", "c"]})
        >>> rg.Graph(edges).to_scipy().toarray()
        array([[0, 0, 1],
               [1, 0, 0],
               [0, 0, 0]])
        """
        return export.to_scipy(as_local_graph(self))

    def to_networkx(self) -> Any:
        """Convert to a NetworkX graph.

        Returns
        -------
        networkx.Graph or a subclass
            Graph or DiGraph; MultiGraph or MultiDiGraph if the graph was built with
            ``multi_edges="keep"``. Nodes are int, str, or tuples if several columns name a vertex,
            in the order of `vertices`. Weights are the edge attribute `weight`.

        Raises
        ------
        GraphError
            If NetworkX is not installed, or the graph is partitioned over a Dask cluster.

        See Also
        --------
        from_networkx : The inverse.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": ["b", "a"], "destination": ["a", "c"]})
        >>> rg.Graph(edges).to_networkx().edges
        OutEdgeView([('a', 'c'), ('b', 'a')])
        """
        return export.to_networkx(as_local_graph(self))

    def to_igraph(self) -> Any:
        """Convert to an igraph graph.

        Returns
        -------
        igraph.Graph
            Vertices are in the order of `vertices`, with their names as the vertex attribute
            `name`, unless these are 0 to n-1. Weights are the edge attribute `weight`.

        Raises
        ------
        GraphError
            If igraph is not installed, or the graph is partitioned over a Dask cluster.

        See Also
        --------
        from_igraph : The inverse.

        Examples
        --------
        >>> import pandas, rapidsgraph as rg
        >>> edges = pandas.DataFrame({"source": ["b", "a"], "destination": ["a", "c"]})
        >>> graph = rg.Graph(edges).to_igraph()  # doctest: +SKIP
        >>> graph.vs["name"], graph.get_edgelist()  # doctest: +SKIP
        (['a', 'b', 'c'], [(0, 2), (1, 0)])
        """
        return export.to_igraph(as_local_graph(self))

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call the function that a method or property runs for this storage."""
        is_local = isinstance(self._storage, LocalGraph)
        function = _LOCAL_METHODS[name] if is_local else distributed_function(name)
        return function(self._storage, *arguments)

    def __len__(self) -> int:
        return self.num_vertices

    def __contains__(self, vertex: Any) -> bool:
        """Return whether a vertex, by its name, is in the graph."""
        hash(vertex)  # a list of names is a TypeError, as in a dict
        is_local = isinstance(self._storage, LocalGraph)
        schema = self._storage.labeling.names if is_local else self._storage.schema
        is_tuple = isinstance(vertex, tuple)
        if is_tuple != (len(schema.labels) > 1) or not (is_tuple or is_scalar(vertex)):
            return False
        try:
            if is_local:
                find_vertices(self._storage.labeling, vertex, "vertex")
            else:
                self.neighborhood(vertex, 0)
        except (VertexNotFoundError, VertexTypeError):
            return False
        except GraphError as error:
            if type(error) is not GraphError:  # not about the name
                raise
            return False  # no name of a vertex, such as None
        return True
