"""Triangles, clustering, Jaccard coefficients and core numbers, with NetworkX's signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..algorithms.similarity import neighborhoods
from ..api.core_number import core_number as find_core_numbers
from ..api.neighbor_similarity import neighbor_similarity
from ..api.triangles import triangle_count
from ..device import to_host
from ..graph.local_graph import storage_of
from .graph import ConvertedGraph


def triangles(G: ConvertedGraph, nodes: Any = None) -> Any:
    """Return the triangles of each node; see `networkx.triangles`."""
    return _select(G, _count_triangles(G), nodes)


def clustering(G: ConvertedGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """Return the clustering coefficient of each node; see `networkx.clustering`."""
    counts, degrees = _count_triangles(G), _count_neighbors(G)
    pairs = degrees * (degrees - 1)
    values = (2 * counts / np.maximum(pairs, 1)).astype(object)
    values[counts == 0] = 0  # an integer, as in NetworkX
    return _select(G, values, nodes)


def average_clustering(
    G: ConvertedGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """Return the mean coefficient; see `networkx.average_clustering`."""
    values = clustering(G, nodes).values()
    if not count_zeros:
        values = [value for value in values if value]
    return sum(values) / len(values)


def transitivity(G: ConvertedGraph) -> float:
    """Return the fraction of wedges that are closed; see `networkx.transitivity`."""
    counts, degrees = _count_triangles(G), _count_neighbors(G)
    total = int(counts.sum())
    return 2 * total / int((degrees * (degrees - 1)).sum()) if total else 0


def jaccard_coefficient(
    G: ConvertedGraph, ebunch: Iterable[tuple[Any, Any]] | None = None
) -> Iterator[tuple[Any, Any, float]]:
    """Generate pairs and their coefficients; see `networkx.jaccard_coefficient`."""
    if G.has_self_loops:
        raise NotImplementedError("self-loops count in NetworkX")
    pairs = [] if ebunch is None else list(ebunch)
    for u, v in pairs:  # a ValueError if there are more nodes than two, as in NetworkX
        for node in (u, v):
            if node not in G:
                raise nx.NodeNotFound(f"Node {node} not in G.")
    vertices = np.array([[G.positions[u], G.positions[v]] for u, v in pairs], np.int64)
    sources, destinations = vertices.reshape(-1, 2).T.copy()
    frame = {"source": sources, "destination": destinations}
    values = to_host(neighbor_similarity(G.unweighted, frame)["jaccard"]).tolist()
    return ((u, v, value or 0) for (u, v), value in zip(pairs, values, strict=True))


def check_pairs(arguments: Mapping[str, Any]) -> str | None:
    """Return why pairs are left to NetworkX, or None if they are not."""
    if arguments["ebunch"] is None:
        return "the pairs without an edge are too many"
    return None


def check_clustering(arguments: Mapping[str, Any]) -> str | None:
    """Return why a function of this module cannot run with these arguments, or None if it can."""
    if arguments["G"].is_directed():
        return "directed graphs have another definition"
    if arguments["G"].is_multigraph():
        return "multigraphs are left to NetworkX, which refuses most of them"
    if arguments.get("weight") is not None:
        return "weights are not supported"
    return None


def _count_triangles(G: ConvertedGraph) -> np.ndarray:
    return to_host(triangle_count(G.unweighted)["triangles"])


def _count_neighbors(G: ConvertedGraph) -> np.ndarray:
    """Return the degrees without self-loops."""
    return np.diff(to_host(neighborhoods(storage_of(G.unweighted)).offsets))


def _select(G: ConvertedGraph, values: np.ndarray, nodes: Any) -> Any:
    """Return values by node: of all, of some, or that of one."""
    if nodes is None:
        return G.by_node(values)
    by_vertex, positions = values.tolist(), G.positions
    if nodes in G:
        return by_vertex[positions[nodes]]
    try:
        names = iter(nodes)
    except TypeError:
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from None
    try:
        return {node: by_vertex[positions[node]] for node in names if node in positions}
    except TypeError:  # not hashable
        raise nx.NetworkXError("a node of the sequence nbunch is not a valid node") from None


def core_number(G: ConvertedGraph) -> dict[Any, int]:
    """Return the core number of each node; see `networkx.core_number`."""
    if G.has_self_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return G.by_node(find_core_numbers(G.unweighted)["core"])


def check_core_number(arguments: Mapping[str, Any]) -> str | None:
    """Return why `core_number` cannot run with these arguments, or None if it can."""
    if arguments["G"].is_directed():
        return "both arcs between two nodes of a directed graph count in NetworkX"
    return None
