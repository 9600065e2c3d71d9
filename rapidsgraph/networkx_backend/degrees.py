"""Degrees, and what follows from them, as NetworkX calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from .graph import ConvertedGraph


def degree_centrality(G: ConvertedGraph) -> dict[Any, float]:
    """Return degrees, relative to the largest possible; see `networkx.degree_centrality`."""
    return _scale(G, _count_degrees(G))


def in_degree_centrality(G: ConvertedGraph) -> dict[Any, float]:
    """Return in-degrees, relative to the largest; see `networkx.in_degree_centrality`."""
    return _scale(G, _count_in(G))


def out_degree_centrality(G: ConvertedGraph) -> dict[Any, float]:
    """Return out-degrees, relative to the largest; see `networkx.out_degree_centrality`."""
    return _scale(G, np.diff(G.ordered_adjacency.offsets))


def isolates(G: ConvertedGraph) -> Iterator[Any]:
    """Generate the nodes without an edge; see `networkx.isolates`."""
    return iter(G.nodes_at(np.flatnonzero(_count_degrees(G) == 0)))


def is_isolate(G: ConvertedGraph, n: Any) -> bool:
    """Return whether a node has no edge; see `networkx.is_isolate`."""
    return n in G and not _count_degrees(G)[G.positions[n]]


def number_of_isolates(G: ConvertedGraph) -> int:
    """Count the nodes without an edge; see `networkx.number_of_isolates`."""
    return int((_count_degrees(G) == 0).sum())


def number_of_selfloops(G: ConvertedGraph) -> int:
    """Count the self-loops; see `networkx.number_of_selfloops`."""
    sources, destinations = _list_arcs(G)
    return int((sources == destinations).sum())


def overall_reciprocity(G: ConvertedGraph) -> float:
    """Return the fraction of the edges that run both ways; see `networkx.overall_reciprocity`."""
    sources, destinations = _list_arcs(G)
    if not sources.size:
        raise nx.NetworkXError("Not defined for empty graphs")
    if not G.is_directed():
        return 0.0  # as in NetworkX
    low, high = np.minimum(sources, destinations), np.maximum(sources, destinations)
    num_pairs = np.unique(low.astype(np.int64) << 32 | high).size
    return (sources.size - num_pairs) * 2 / sources.size


def reciprocity(G: ConvertedGraph, nodes: Iterable[Any] | None = None) -> float:
    """Return the reciprocity of the graph; see `networkx.reciprocity`."""
    return overall_reciprocity(G)


def check_reciprocity(arguments: Any) -> str | None:
    """Return why the reciprocity cannot be computed, or None if it can."""
    if arguments["G"].is_multigraph():
        return "parallel edges have keys, which are not converted"
    return None if arguments.get("nodes") is None else "there are nodes"


def _list_arcs(G: ConvertedGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return the sources and destinations of all arcs; both ways of an undirected edge."""
    adjacency = G.ordered_adjacency
    sources = np.repeat(np.arange(len(G), dtype=np.int32), np.diff(adjacency.offsets))
    return sources, adjacency.neighbors


def _count_in(G: ConvertedGraph) -> np.ndarray:
    return np.bincount(G.ordered_adjacency.neighbors, minlength=len(G))


def _count_degrees(G: ConvertedGraph) -> np.ndarray:
    """Return the degrees of all nodes, to which a self-loop adds 2."""
    degrees = np.diff(G.ordered_adjacency.offsets)
    if G.is_directed():
        return degrees + _count_in(G)
    sources, destinations = _list_arcs(G)
    return degrees + np.bincount(sources[sources == destinations], minlength=len(G))


def _scale(G: ConvertedGraph, degrees: np.ndarray) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G, 1)
    return G.by_node(degrees * (1.0 / (len(G) - 1.0)))
