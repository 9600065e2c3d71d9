"""Graphs from NetworkX, SciPy and igraph: the public functions.

Endpoints of edges are read as positions among the vertices of the other library, so that only the
names of vertices are factorized.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from .. import frames
from ..device import Array
from ..dispatch import Graph
from ..errors import GraphError, MissingColumnError, format_value
from ..frames import Column
from ..graph.csr import MultiEdges
from ..graph.edge_columns import name_vertices
from ..graph.local_graph import build_graph
from ..graph.vertex_names import Labeling, VertexNames, check_names
from ..validation import check_flag, check_weights, reject, vertex_labels
from .keywords import suggest_parameters

MISSING = object()  # an edge attribute that an edge does not have


@suggest_parameters
def from_networkx(
    g: Any, weight: str | None = "weight", *, multi_edges: MultiEdges = "keep"
) -> Graph:
    """Build a graph from a NetworkX graph.

    Parameters
    ----------
    g : networkx.Graph or a subclass
        Nodes are integers, text, or tuples of one length, whose items become name columns.
    weight : str or None, default "weight"
        Edge attribute of weights. As in NetworkX, an edge without it has weight 1, and if no edge
        has `weight`, the graph has no weights. Any other attribute must exist. None ignores
        weights.
    multi_edges : {"keep", "first", "sum", "min", "max"}, default "keep"
        How parallel edges of a MultiGraph or MultiDiGraph are merged; see `Graph`.

    Returns
    -------
    Graph
        Directed if `g` is; with all its nodes. Results are pandas frames.

    Raises
    ------
    GraphError
        If nodes are of another type; no edge has the attribute; a weight is negative, NaN,
        infinite or not a number.

    See Also
    --------
    Graph.to_networkx : The inverse.

    Examples
    --------
    >>> import networkx, rapidsgraph as rg
    >>> rg.from_networkx(networkx.path_graph(["a", "b", "c"]))
    <Graph: 3 vertices, 2 undirected edges, cpu>
    """
    if not all(hasattr(g, name) for name in ("adjacency", "is_directed", "is_multigraph")):
        reject("g", g, "it must be a NetworkX graph")
    directed, is_multigraph = g.is_directed(), g.is_multigraph()
    adjacency = dict(g.adjacency())
    nodes, rows = list(adjacency), list(adjacency.values())
    ids = {node: index for index, node in enumerate(nodes)}
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    sources = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
    destinations = np.fromiter(
        map(ids.__getitem__, chain.from_iterable(rows)), np.int32, sources.size
    )
    del ids

    def edge_data() -> Iterator[Any]:
        by_neighbor = chain.from_iterable(row.values() for row in rows)
        if is_multigraph:  # a dict by key for each neighbor
            return chain.from_iterable(by_key.values() for by_key in by_neighbor)
        return by_neighbor

    if is_multigraph:
        by_neighbor = chain.from_iterable(row.values() for row in rows)
        counts = np.fromiter(map(len, by_neighbor), np.int64, sources.size)
        sources, destinations = np.repeat(sources, counts), np.repeat(destinations, counts)
    weights = None
    if weight is not None and sources.size:
        values = [data.get(weight, MISSING) for data in edge_data()]
        if any(value is not MISSING for value in values):
            values = [1 if value is MISSING else value for value in values]
            weights = _read_weights(values, weight)
        elif weight != "weight":
            raise _missing_attribute_error(weight, chain.from_iterable(edge_data()))
    return _build(
        sources, destinations, weights, len(nodes), nodes, names_column="node", directed=directed,
        multi_edges=multi_edges if is_multigraph else "first",
        has_both_arcs=not directed,
    )  # fmt: skip


@suggest_parameters
def from_scipy(matrix: Any, names: Any = None, directed: bool = True) -> Graph:
    """Build a graph from a SciPy sparse array or matrix, its adjacency matrix.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, shape (n, n)
        Each entry (i, j) that is stored, also a zero, is an edge from vertex i to vertex j, and its
        value the weight. The edges of a boolean matrix have no weights. Duplicates are summed.
    names : list, array, Series or frame, optional
        Name of each row's vertex: integers, text, tuples of these, or a frame of name columns. By
        default the vertices are 0 to n-1.
    directed : bool, default True
        If False, the matrix must be symmetric, and the entries (i, j) and (j, i) are one edge.

    Returns
    -------
    Graph
        With n vertices. Results are pandas frames.

    Raises
    ------
    GraphError
        If the matrix is not sparse, not square or, for ``directed=False``, not symmetric; the
        number of names is not n, or a name occurs twice; a value is negative, NaN, infinite or not
        a number.

    See Also
    --------
    Graph.to_scipy : The inverse.

    Examples
    --------
    >>> import rapidsgraph as rg, scipy.sparse
    >>> matrix = scipy.sparse.csr_array([[0, 2], [1, 0]])
    >>> rg.from_scipy(matrix, names=["a", "b"]).to_edges()
      source destination  weight
    0      a           b       2
    1      b           a       1
    """
    check_flag("directed", directed)
    if not hasattr(matrix, "tocsr"):
        reject("matrix", matrix, "it must be a SciPy sparse array")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(
            f"{{parameter}} has the shape {tuple(matrix.shape)}; an adjacency matrix is square",
            parameter="matrix",
            value=matrix,
        )
    csr = matrix.tocsr(copy=True)
    csr.sum_duplicates()
    if not directed:
        transpose = csr.T.tocsr()
        pairs = ((csr.indptr, transpose.indptr), (csr.indices, transpose.indices))
        if not all(map(np.array_equal, *zip(*pairs, (csr.data, transpose.data)))):
            hint = "pass matrix.maximum(matrix.T), or directed=True"
            raise GraphError(
                f"{{parameter}} is not symmetric, as that of an undirected graph is; {hint}",
                parameter="matrix",
                value=matrix,
                hint=hint,
            )
    num_vertices = csr.shape[0]
    sources = np.repeat(np.arange(num_vertices, dtype=np.int32), np.diff(csr.indptr))
    weights = None
    if csr.dtype.kind != "b":
        weights = _read_weights(csr.data, "weight")
    return _build(
        sources, csr.indices, weights, num_vertices, names, directed=bool(directed),
        multi_edges="first", has_both_arcs=not directed,
    )  # fmt: skip


@suggest_parameters
def from_igraph(
    g: Any, weight: str | None = "weight", *, multi_edges: MultiEdges = "keep"
) -> Graph:
    """Build a graph from an igraph graph.

    Parameters
    ----------
    g : igraph.Graph
        The vertex attribute `name` names the vertices, as in `from_networkx`; without it they are
        0 to n-1.
    weight : str or None, default "weight"
        Edge attribute of weights. `weight` is used if it exists; any other attribute must exist.
        None ignores weights.
    multi_edges : {"keep", "first", "sum", "min", "max"}, default "keep"
        How parallel edges are merged; see `Graph`.

    Returns
    -------
    Graph
        Directed if `g` is; with all its vertices. Results are pandas frames.

    Raises
    ------
    GraphError
        If names are of another type, or a name occurs twice; the attribute does not exist; a weight
        is missing, negative, NaN, infinite or not a number.

    See Also
    --------
    Graph.to_igraph : The inverse.

    Examples
    --------
    >>> import igraph, rapidsgraph as rg  # doctest: +SKIP
    >>> rg.from_igraph(igraph.Graph.Ring(4))  # doctest: +SKIP
    <Graph: 4 vertices, 4 undirected edges, cpu>
    """
    if not all(hasattr(g, name) for name in ("vs", "es", "get_edgelist")):
        reject("g", g, "it must be an igraph graph")
    num_edges = g.ecount()
    endpoints = np.fromiter(chain.from_iterable(g.get_edgelist()), np.int32, 2 * num_edges)
    weights, attributes = None, g.es.attributes()
    if weight is not None and weight in attributes:
        weights = _read_weights(g.es[weight], weight)
    elif weight not in (None, "weight"):
        raise _missing_attribute_error(weight, attributes)
    names = g.vs["name"] if "name" in g.vs.attributes() else None
    return _build(
        endpoints[::2], endpoints[1::2], weights, g.vcount(), names, names_column="name",
        directed=g.is_directed(), multi_edges=multi_edges if g.has_multiple() else "first",
    )  # fmt: skip


def _read_weights(values: Any, attribute: str) -> Array:
    """Return the checked weights of an attribute of edges."""
    return check_weights(frames.get_column({attribute: values}, attribute, "weight"), attribute, np)


def _missing_attribute_error(name: str, attributes: Iterable[str]) -> MissingColumnError:
    """Return the error for an attribute that no edge has, as for a missing column."""
    names = list(dict.fromkeys(map(str, attributes)))
    listing = f"; their attributes are {', '.join(names)}" if names else ", nor any other"
    return MissingColumnError(
        f"no edge has the attribute {name!r}{listing}",
        parameter="weight",
        column=name,
        columns=names,
    )


def _build(
    sources: Array,
    destinations: Array,
    weights: Array | None,
    num_vertices: int,
    names: Any,
    *,
    names_column: str = "names",
    directed: bool,
    multi_edges: MultiEdges,
    has_both_arcs: bool = False,
) -> Graph:
    """Build a graph from the positions of the endpoints of edges among the vertices.

    Errors call the names `names_column`. With `has_both_arcs`, edges from a later to an earlier
    vertex are the reverse of others.
    """
    if has_both_arcs:
        is_upper = sources <= destinations
        sources, destinations = sources[is_upper], destinations[is_upper]
        weights = None if weights is None else weights[is_upper]
    labeling, ids = _name_vertices(names, names_column, num_vertices)
    if ids is not None:
        sources, destinations = ids[sources], ids[destinations]
    edges = {"source": sources, "destination": destinations}
    if weights is not None:
        edges["weight"] = weights
    graph = build_graph(
        edges, weight=None if weights is None else "weight", directed=directed,
        multi_edges=multi_edges, vertices=range(num_vertices),
    )  # fmt: skip
    graph.labeling, graph.names = labeling, labeling.names
    return Graph._from_storage(graph)


def _name_vertices(
    names: Any, names_column: str, num_vertices: int
) -> tuple[Labeling, Array | None]:
    """Return a labeling, and the id of each vertex unless the ids are positions."""
    num_columns, ids = 1, None
    if names is None:
        vertex_names = VertexNames(["vertex"], [None], num_vertices, dtype=np.dtype(np.int64))
    else:
        columns = _name_columns(names, names_column)
        num_columns = len(columns)
        lengths = [len(values) for values in columns] or [0]
        if {*lengths} != {num_vertices}:
            length = next(length for length in lengths if length != num_vertices)
            raise GraphError(
                f"{{parameter}} has {length} names, and there are {num_vertices} vertices",
                parameter="names",
            )
        for values in columns:
            check_names(values, names_column)
        labels = vertex_labels(*_endpoint_columns(num_columns))
        vertex_names, ids, _ = name_vertices(columns, columns, None, labels, np)
        if vertex_names.count < num_vertices:
            _, first = np.unique(ids, return_index=True)
            row = int(np.setdiff1d(np.arange(num_vertices), first)[0])
            name = vertex_names.name_of(int(ids[row]), np)
            raise GraphError(
                f"{{column}} has {format_value(name)} again in row {{row}}; the names of vertices "
                "must be distinct",
                column=names_column,
                row=row,
                value=name,
            )
    source_columns, _ = _endpoint_columns(num_columns)
    return Labeling(vertex_names, np, "pandas", [True] * num_columns, source_columns), ids


def _name_columns(names: Any, names_column: str) -> list[Column]:
    """Return names, a sequence or a frame, as columns on the host."""
    if frames.is_frame(names):
        _, table = frames.normalize_frame(names)
        labels = frames.column_names(table)
    elif isinstance(names, (str, set, frozenset)) or not hasattr(names, "__len__"):
        reject("names", names, "it must be a list, array, Series or frame")
    else:
        names = names if hasattr(names, "dtype") else list(names)
        are_tuples = isinstance(names, list) and all(isinstance(name, tuple) for name in names)
        if are_tuples and len(set(map(len, names))) == 1:  # several columns name a vertex
            table = {f"{names_column}_{i}": values for i, values in enumerate(zip(*names))}
        else:
            table = {names_column: names}
        labels = list(table)
    return [frames.to_device(frames.get_column(table, each, "vertex"), np) for each in labels]


def _endpoint_columns(num_columns: int) -> list[list[str]]:
    """Return the names of the columns of sources and of destinations."""
    return [
        [endpoint] if num_columns == 1 else [f"{endpoint}_{i}" for i in range(num_columns)]
        for endpoint in ("source", "destination")
    ]
