"""Unweighted shortest paths, and the functions of NetworkX that also take weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from .graph import ConvertedGraph
from .search import Search, find_path
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
        _check_node(G, target, f"Node {target} is not in G")
        return Search(G.reversed, [target], weight, predecessors=True).paths(reverse=True)
    if target is None:
        if weight is None:
            return single_source_shortest_path(G, source)
        return single_source_dijkstra_path(G, source, weight=weight)
    if weight is None:
        return bidirectional_shortest_path(G, source, target)
    if method == "dijkstra":
        _check_node(G, source, f"Node {source} is not in G")
        _check_node(G, target, f"Node {target} is not in G")
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


def single_source_shortest_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return distances; see `networkx.single_source_shortest_path_length`."""
    _check_node(G, source, f"Source {source} is not in G")
    return Search(G, [source], cutoff=cutoff).lengths()


def single_target_shortest_path_length(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return distances; see `networkx.single_target_shortest_path_length`."""
    _check_node(G, target, f"Target {target} is not in G")
    return Search(G.reversed, [target], cutoff=cutoff).lengths()


def all_pairs_shortest_path_length(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Generate distances from each node; see `networkx.all_pairs_shortest_path_length`."""
    for node in G:
        yield node, single_source_shortest_path_length(G, node, cutoff)


def single_source_shortest_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    """Return paths; see `networkx.single_source_shortest_path`."""
    _check_node(G, source, f"Source {source} not in G")
    return Search(G, [source], cutoff=cutoff, predecessors=True).paths()


def single_target_shortest_path(
    G: ConvertedGraph, target: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    """Return paths; see `networkx.single_target_shortest_path`."""
    _check_node(G, target, f"Target {target} not in G")
    return Search(G.reversed, [target], cutoff=cutoff, predecessors=True).paths(reverse=True)


def all_pairs_shortest_path(
    G: ConvertedGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Generate paths from each node; see `networkx.all_pairs_shortest_path`."""
    for node in G:
        yield node, single_source_shortest_path(G, node, cutoff)


def bidirectional_shortest_path(G: ConvertedGraph, source: Any, target: Any) -> list[Any]:
    """Return a path; see `networkx.bidirectional_shortest_path`."""
    _check_node(G, source, f"Source {source} is not in G")
    _check_node(G, target, f"Target {target} is not in G")
    result = find_path(G, [source], target)
    if result is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return result[1]


def descendants(G: ConvertedGraph, source: Any) -> set[Any]:
    """Return the nodes that paths lead to; see `networkx.descendants`."""
    _check_start(G, source)
    return set(G.nodes_at(Search(G, [source]).vertices[1:]))


def ancestors(G: ConvertedGraph, source: Any) -> set[Any]:
    """Return the nodes that paths lead from; see `networkx.ancestors`."""
    _check_start(G, source)
    return set(G.nodes_at(Search(G.reversed, [source]).vertices[1:]))


def descendants_at_distance(G: ConvertedGraph, source: Any, distance: int) -> set[Any]:
    """Return the nodes at a distance; see `networkx.descendants_at_distance`."""
    _check_start(G, source)
    if distance < 0:
        return set()
    search = Search(G, [source], cutoff=distance)
    return set(G.nodes_at(search.vertices[search.distances[search.vertices] == distance]))


def _check_method(method: str | None, *others: str | None) -> None:
    if method not in ("dijkstra", "bellman-ford", *others):
        raise ValueError(f"method not supported: {method}")


def _check_node(G: ConvertedGraph, node: Any, message: str) -> None:
    if node not in G:
        raise nx.NodeNotFound(message)


def _check_start(G: ConvertedGraph, node: Any) -> None:
    if node not in G:
        raise nx.NetworkXError(f"The node {node} is not in the graph.")
