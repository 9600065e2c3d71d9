"""Shortest paths by the number of edges, as NetworkX calls them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from .graph import ConvertedGraph
from .search import Search, find_path


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


def _check_node(G: ConvertedGraph, node: Any, message: str) -> None:
    if node not in G:
        raise nx.NodeNotFound(message)


def _check_start(G: ConvertedGraph, node: Any) -> None:
    if node not in G:
        raise nx.NetworkXError(f"The node {node} is not in the graph.")
