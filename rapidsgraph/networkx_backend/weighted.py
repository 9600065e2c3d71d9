"""Shortest paths by weight, with the signatures of NetworkX.

The Dijkstra and the Bellman-Ford functions return the same results, because no weight is negative.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx

from .graph import ConvertedGraph
from .search import Search, find_path


def multi_source_dijkstra(
    G: ConvertedGraph,
    sources: Collection[Any],
    target: Any = None,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> Any:
    """Return distances and paths, or those of a target; see `networkx.multi_source_dijkstra`."""
    _check_sources(G, sources)
    if target in sources:
        return 0, [target]
    if target is None:
        search = _search(G, sources, weight, cutoff, predecessors=True)
        return search.lengths(), search.paths()
    result = find_path(G, sources, target, weight, cutoff)
    if result is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return result


def multi_source_dijkstra_path(
    G: ConvertedGraph,
    sources: Collection[Any],
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> dict[Any, list[Any]]:
    """Return paths; see `networkx.multi_source_dijkstra_path`."""
    _check_sources(G, sources)
    return _search(G, sources, weight, cutoff, predecessors=True).paths()


def multi_source_dijkstra_path_length(
    G: ConvertedGraph,
    sources: Collection[Any],
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> dict[Any, Any]:
    """Return distances; see `networkx.multi_source_dijkstra_path_length`."""
    _check_sources(G, sources)
    return _search(G, sources, weight, cutoff).lengths()


def single_source_dijkstra(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> Any:
    """Return distances and paths, or those of a target; see `networkx.single_source_dijkstra`."""
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """Return paths; see `networkx.single_source_dijkstra_path`."""
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, Any]:
    """Return distances; see `networkx.single_source_dijkstra_path_length`."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def dijkstra_path(
    G: ConvertedGraph, source: Any, target: Any, weight: str | None = "weight"
) -> list[Any]:
    """Return a path; see `networkx.dijkstra_path`."""
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: str | None = "weight"
) -> Any:
    """Return a distance; see `networkx.dijkstra_path_length`."""
    _check_sources(G, [source])
    if source == target:
        return 0
    result = find_path(G, [source], target, weight)
    if result is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return result[0]


def dijkstra_predecessor_and_distance(
    G: ConvertedGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    """Return all predecessors, and distances; see the function of this name of `networkx`."""
    _check_sources(G, [source])
    search = _search(G, [source], weight, cutoff)
    return search.all_predecessors(), search.lengths()


def all_pairs_dijkstra(
    G: ConvertedGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, tuple[dict[Any, Any], dict[Any, list[Any]]]]]:
    """Generate distances and paths from each node; see `networkx.all_pairs_dijkstra`."""
    for node in G:
        yield node, single_source_dijkstra(G, node, None, cutoff, weight)


def all_pairs_dijkstra_path_length(
    G: ConvertedGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Generate distances from each node; see `networkx.all_pairs_dijkstra_path_length`."""
    for node in G:
        yield node, single_source_dijkstra_path_length(G, node, cutoff, weight)


def all_pairs_dijkstra_path(
    G: ConvertedGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Generate paths from each node; see `networkx.all_pairs_dijkstra_path`."""
    for node in G:
        yield node, single_source_dijkstra_path(G, node, cutoff, weight)


def single_source_bellman_ford(
    G: ConvertedGraph, source: Any, target: Any = None, weight: str | None = "weight"
) -> Any:
    """Return distances and paths; see `networkx.single_source_bellman_ford`."""
    return single_source_dijkstra(G, source, target, weight=weight)


def single_source_bellman_ford_path(
    G: ConvertedGraph, source: Any, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """Return paths; see `networkx.single_source_bellman_ford_path`."""
    return single_source_dijkstra_path(G, source, weight=weight)


def single_source_bellman_ford_path_length(
    G: ConvertedGraph, source: Any, weight: str | None = "weight"
) -> dict[Any, Any]:
    """Return distances; see `networkx.single_source_bellman_ford_path_length`."""
    return single_source_dijkstra_path_length(G, source, weight=weight)


def bellman_ford_path(
    G: ConvertedGraph, source: Any, target: Any, weight: str | None = "weight"
) -> list[Any]:
    """Return a path; see `networkx.bellman_ford_path`."""
    return dijkstra_path(G, source, target, weight)


def bellman_ford_path_length(
    G: ConvertedGraph, source: Any, target: Any, weight: str | None = "weight"
) -> Any:
    """Return a distance; see `networkx.bellman_ford_path_length`."""
    return dijkstra_path_length(G, source, target, weight)


def all_pairs_bellman_ford_path_length(
    G: ConvertedGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Generate distances from each node; see `networkx.all_pairs_bellman_ford_path_length`."""
    return all_pairs_dijkstra_path_length(G, weight=weight)


def all_pairs_bellman_ford_path(
    G: ConvertedGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Generate paths from each node; see `networkx.all_pairs_bellman_ford_path`."""
    return all_pairs_dijkstra_path(G, weight=weight)


def _search(
    G: ConvertedGraph,
    sources: Collection[Any],
    weight: str | None,
    cutoff: float | None,
    predecessors: bool = False,
) -> Search:
    """Search up to a cutoff; without weights, distances are numbers of edges."""
    if weight is None and cutoff is not None and cutoff < math.inf:
        cutoff = math.floor(cutoff)  # a breadth-first search of NetworkX rounds it up
    return Search(G, sources, weight, cutoff, predecessors)


def _check_sources(G: ConvertedGraph, sources: Collection[Any]) -> None:
    if not sources:
        raise ValueError("sources must not be empty")
    for source in sources:
        if source not in G:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
