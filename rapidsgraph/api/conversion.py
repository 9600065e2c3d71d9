"""Graphs from NetworkX, SciPy and igraph: the public functions.

Endpoints of edges are read as positions among the vertices of the other library, so that only the
names of vertices are factorized.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from .. import frames
from ..dispatch import Graph
from ..errors import GraphError
from ..graph.multi_edges import MULTI_EDGES, MultiEdges
from ..graph.positions import (
    NetworkXEdges,
    build_graph_of_positions,
    missing_attribute_error,
    read_weights,
)
from ..validation import (
    check_choice,
    check_flag,
    reject,
    suggest_parameters,
)

CHECKED_EDGES = 100  # whose attributes are looked at for those that may be weights
NUMBERS = (int, float, np.integer, np.floating)
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
        If the nodes are not all integers, all text, or all tuples of these of one length; no edge
        has the attribute; a weight is negative, NaN, infinite or not a number.

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
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    directed, is_multigraph = g.is_directed(), g.is_multigraph()
    edges = NetworkXEdges(g)
    nodes, sources, destinations = edges.nodes, edges.sources, edges.destinations
    weights, candidates = None, []
    if weight is not None and sources.size:
        values = [data.get(weight, MISSING) for data in edges.data]
        if any(value is not MISSING for value in values):
            values = [1 if value is MISSING else value for value in values]
            weights = read_weights(values, weight, "edge", nodes, sources, destinations)
        elif weight != "weight":
            raise missing_attribute_error(weight, chain.from_iterable(edges.data))
        else:
            candidates = _find_weight_candidates(edges.data)
    graph = build_graph_of_positions(
        sources, destinations, weights, len(nodes), nodes, noun="node", directed=directed,
        multi_edges=multi_edges if is_multigraph else "first",
        has_both_arcs=not directed,
    )  # fmt: skip
    graph.weight_candidates, graph.build_call = candidates, "rg.from_networkx(g"
    return Graph._from_storage(graph)


def _find_weight_candidates(attributes: Iterable[Mapping[Any, Any]]) -> list[str]:
    """Return the attributes that are numbers where the first edges have them."""
    values: dict[str, list[Any]] = {}
    for edge in islice(attributes, CHECKED_EDGES):
        for name, value in edge.items():
            if isinstance(name, str):
                values.setdefault(name, []).append(value)
    return frames.sort_weight_candidates(
        name
        for name, column in values.items()
        if all(isinstance(value, NUMBERS) and not isinstance(value, bool) for value in column)
    )


@suggest_parameters
def from_scipy(matrix: Any, names: Any = None, directed: bool = True) -> Graph:
    """Build a graph from a SciPy sparse array or matrix, its adjacency matrix.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, shape (n, n)
        Each entry (i, j) that is stored, also a zero, is an edge from vertex i to vertex j, and its
        value the weight. The edges of a boolean matrix have no weights. Duplicates are summed, as
        by ``multi_edges="sum"`` of `Graph`.
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
    >>> rg.from_scipy(matrix, names=["a", "b"]).edges
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
    entries, weights = matrix.tocoo(), None
    has_duplicates = csr.nnz < entries.nnz
    if not has_duplicates:
        entries = csr.tocoo()
    sources, destinations = (ids.astype(np.int32) for ids in (entries.row, entries.col))
    if csr.dtype.kind != "b":
        positions = range(csr.shape[0])
        weights = read_weights(entries.data, "weight", "entry", positions, sources, destinations)
    graph = build_graph_of_positions(
        sources, destinations, weights, csr.shape[0], names, noun="name", directed=bool(directed),
        multi_edges="sum" if has_duplicates and weights is not None else "first",
        has_both_arcs=not directed,
    )  # fmt: skip
    return Graph._from_storage(graph)


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
        If the names are not all integers or all text, or a name occurs twice; the attribute does
        not exist; a weight is missing, negative, NaN, infinite or not a number.

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
    check_choice("multi_edges", multi_edges, MULTI_EDGES)
    num_vertices, num_edges = g.vcount(), g.ecount()
    endpoints = np.fromiter(chain.from_iterable(g.get_edgelist()), np.int32, 2 * num_edges)
    sources, destinations = endpoints[::2].copy(), endpoints[1::2].copy()
    weights, candidates, attributes = None, [], g.es.attributes()
    names = g.vs["name"] if "name" in g.vs.attributes() else None
    if weight is not None and weight in attributes:
        vertices = range(num_vertices) if names is None else names
        weights = read_weights(g.es[weight], weight, "edge", vertices, sources, destinations)
    elif weight not in (None, "weight"):
        raise missing_attribute_error(weight, attributes)
    elif weight is not None:
        first = range(min(num_edges, CHECKED_EDGES))
        candidates = _find_weight_candidates(g.es[index].attributes() for index in first)
    graph = build_graph_of_positions(
        sources, destinations, weights, num_vertices, names, noun="vertex name",
        directed=g.is_directed(), multi_edges=multi_edges if g.has_multiple() else "first",
    )  # fmt: skip
    graph.weight_candidates, graph.build_call = candidates, "rg.from_igraph(g"
    return Graph._from_storage(graph)
