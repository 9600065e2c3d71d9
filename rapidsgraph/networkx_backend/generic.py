"""Shortest paths with or without weights, as NetworkX calls them."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .graph import ConvertedGraph
from .search import Search
from .unweighted import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    bidirectional_shortest_path,
    single_source_shortest_path,
    single_source_shortest_path_length,
    single_target_shortest_path,
    single_target_shortest_path_length,
)
from .weighted import (
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    dijkstra_path,
    dijkstra_path_length,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
)


def has_path(G: ConvertedGraph, source: Any, target: Any) -> bool:
    """Return whether there is a path; see `networkx.has_path`."""
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


def shortest_path(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """Return a path, or paths by node; see `networkx.shortest_path`."""
    _check_method(method)
    if source is None and target is None:
        if weight is None:
            return all_pairs_shortest_path(G)
        return all_pairs_dijkstra_path(G, weight=weight)
    if source is None:
        if weight is None:
            return single_target_shortest_path(G, target)
        _check_node(G, target)
        return Search(G.reversed, [target], weight, predecessors=True).paths(reverse=True)
    if target is None:
        if weight is None:
            return single_source_shortest_path(G, source)
        return single_source_dijkstra_path(G, source, weight=weight)
    if weight is None:
        return bidirectional_shortest_path(G, source, target)
    if method == "dijkstra":
        _check_node(G, source)
        _check_node(G, target)
    return dijkstra_path(G, source, target, weight)


def shortest_path_length(
    G: ConvertedGraph,
    source: Any = None,
    target: Any = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """Return a distance, or distances by node; see `networkx.shortest_path_length`."""
    _check_method(method)
    if source is None and target is None:
        if weight is None:
            return all_pairs_shortest_path_length(G)
        return all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        if weight is None:
            return single_target_shortest_path_length(G, target)
        return single_source_dijkstra_path_length(G.reversed, target, weight=weight)
    if target is None:
        if weight is None:
            return single_source_shortest_path_length(G, source)
        return single_source_dijkstra_path_length(G, source, weight=weight)
    if weight is None:
        return len(bidirectional_shortest_path(G, source, target)) - 1
    return dijkstra_path_length(G, source, target, weight)


def average_shortest_path_length(
    G: ConvertedGraph, weight: str | None = None, method: str | None = None
) -> float:
    """Return the mean distance; see `networkx.average_shortest_path_length`."""
    _check_method(method, "unweighted", "floyd-warshall", "floyd-warshall-numpy", None)
    if len(G) < 2:
        if not len(G):
            raise nx.NetworkXPointlessConcept("the null graph has no mean of distances")
        return 0
    total, weight = 0.0, None if method == "unweighted" else weight
    for node in G:
        search = Search(G, [node], weight)
        if search.vertices.size < len(G):
            kind = "strongly connected" if G.is_directed() else "connected"
            raise nx.NetworkXError(f"Graph is not {kind}.")
        total += search.distances.sum(dtype=np.float64).item()
    return total / (len(G) * (len(G) - 1))


def check_method(arguments: Any) -> str | None:
    """Return why the mean distance cannot be computed by a method, or None if it can."""
    if arguments["method"] in ("floyd-warshall", "floyd-warshall-numpy"):
        return "method needs a matrix of all distances"
    return None


def _check_method(method: str | None, *others: str | None) -> None:
    if method not in ("dijkstra", "bellman-ford", *others):
        raise ValueError(f"method not supported: {method}")


def _check_node(G: ConvertedGraph, node: Any) -> None:
    if node not in G:
        raise nx.NodeNotFound(f"Node {node} is not in G")
