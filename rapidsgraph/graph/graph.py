"""Graph: the public type of graphs, whatever memory holds them.

A `Graph` delegates to a storage: `LocalGraph` for edges in one process, or the distributed graph
that `rapidsgraph.dispatch` registers for Dask frames.
"""

from collections.abc import Callable
from typing import Any

from .. import frames
from ..errors import GraphError
from .local_graph import LocalGraph
from .report import BuildReport

_builders: dict[str, Callable[..., Any]] = {}  # of graphs in several partitions


def register_distributed_graph(build: Callable[..., Any]) -> None:
    """Register the builder of graphs from Dask frames."""
    _builders["dask"] = build


class Graph:
    """A graph built from an edge frame.

    Parameters
    ----------
    edges : frame
        pandas, cuDF, Polars or another Arrow frame, or a mapping from names to NumPy or CuPy
        arrays; one row an edge. On a GPU the graph stays there. Of a Dask frame a
        `DistributedGraph` is built, which has the same attributes.
    source, destination : str or list of str
        Columns that name the ends: integers, text, or several columns together.
    weight : str, optional
        Column of weights: finite, not negative.
    directed : bool
        Without direction an edge goes both ways, and (a, b) is parallel to (b, a).
    multi_edges : {"first", "sum", "min", "max", "keep"}
        What becomes of parallel edges: the first row's weight, or a combination of all; "sum"
        without weights counts them. "keep" keeps each. Integer weights are summed exactly while
        the total of all is below 2^63, and in double precision from there on.
    self_loops : {"keep", "drop"}
    vertices : int, range, frame, array or Series, optional
        Names to include even without edges, as from `read_vertices`; ``range(n)`` (or n) says
        ids are below n already.

    Attributes
    ----------
    num_vertices, num_edges : int
    vertices : frame
        Names, one row a vertex, sorted, in the caller's library.
    directed, weighted : bool
    device : {"cpu", "gpu"}
    report : Report
    nbytes : int
        Held by adjacency lists now, in bytes; what algorithms keep beside them is not counted.

    Raises
    ------
    GraphError
        Missing column, missing or unsuitable name, weight that is negative, NaN, infinite or no
        number (names the row), parallel edges whose weights sum to infinity (names both ends),
        unknown policy.
    InsufficientMemoryError
        The build would not fit; raised before it starts.

    Examples
    --------
    >>> import pandas, rapidsgraph as rg
    >>> edges = pandas.DataFrame({"source": ["b", "a", "b"], "destination": ["a", "c", "a"]})
    >>> graph = rg.Graph(edges)
    >>> graph.num_vertices, graph.num_edges, graph.report.rows_merged
    (3, 2, 1)
    """

    def __init__(
        self,
        edges: Any,
        source: str | list[str] = "source",
        destination: str | list[str] = "destination",
        weight: str | None = None,
        *,
        directed: bool = True,
        multi_edges: str = "first",
        self_loops: str = "keep",
        vertices: Any = None,
    ) -> None:
        build = _builders["dask"] if frames.is_dask(edges) else LocalGraph
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
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self._storage.num_vertices

    @property
    def num_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._storage.num_edges

    @property
    def vertices(self) -> Any:
        """Frame of the vertex names, sorted, one row per vertex."""
        return self._storage.vertices

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
        """``"cpu"`` or ``"gpu"``, where the adjacency is stored."""
        return self._storage.device

    @property
    def report(self) -> BuildReport:
        """Row counts of the build: dropped, merged and remaining edges."""
        return self._storage.report

    @property
    def nbytes(self) -> int:
        """Size of the adjacency that is in memory now, in bytes."""
        return self._storage.nbytes

    def compute(self) -> "Graph":
        """Collect a graph of a Dask frame into this process; return a local graph unchanged."""
        if isinstance(self._storage, LocalGraph):
            return self
        return _wrap(self._storage.compute())

    def __repr__(self) -> str:
        return repr(self._storage)


def _wrap(storage: Any) -> Graph:
    graph = Graph.__new__(Graph)
    graph._storage = storage
    return graph


def storage_of(graph: Any) -> Any:
    """Return the storage of a `Graph`; anything else unchanged."""
    return graph._storage if isinstance(graph, Graph) else graph


def as_local(graph: Any) -> Any:
    """Return the `LocalGraph` of a `Graph`, or an edge frame unchanged.

    Raises
    ------
    GraphError
        The graph is distributed over the workers of a Dask cluster.
    """
    storage = storage_of(graph)
    if isinstance(graph, Graph) and not isinstance(storage, LocalGraph):
        raise GraphError(
            "the graph is partitioned over a Dask cluster, which this function does not support; "
            "call graph.compute() first",
            parameter="graph",
        )
    return storage


def as_local_graph(edges: Any, direction: str = "csr") -> LocalGraph:
    """Return a graph as it is; build a directed one with default policies from an edge frame."""
    storage = as_local(edges)
    return storage if isinstance(storage, LocalGraph) else LocalGraph.for_sweep(storage, direction)
