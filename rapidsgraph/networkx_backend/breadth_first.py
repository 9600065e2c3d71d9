"""Breadth-first search in the order of NetworkX.

Neighbors are followed in the order of the NetworkX graph, so that edges, layers and predecessors
are the same and in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np

from .. import kernels
from .graph import ConvertedGraph


class OrderedSearch:
    """A breadth-first search.

    Parameters
    ----------
    G : ConvertedGraph
    sources : list of nodes
        Which are in the graph, each once.
    depth_limit : float, optional
        Nodes farther away are not reached.

    Attributes
    ----------
    vertices : int32 array
        Those that are reached, in the order in which the search finds them.
    levels : int32 array, shape (all vertices,)
        The number of edges from the sources; -1 for a vertex that is not reached.
    parents : int32 array, shape (all vertices,)
        The vertex that found each one, unless it is a source.
    """

    def __init__(
        self, G: ConvertedGraph, sources: list[Any], depth_limit: float | None = None
    ) -> None:
        queue, self.parents = np.empty(len(G), np.int32), np.empty(len(G), np.int32)
        self.levels, counts = np.full(len(G), -1, np.int32), np.zeros(1, np.int64)
        positions = [G.positions[node] for node in sources]
        queue[: len(positions)] = positions
        self.levels[positions] = 0
        limit = len(G) if depth_limit is None else math.ceil(min(depth_limit, len(G)))
        adjacency = G.ordered_adjacency
        kernels.ordered_bfs.search_in_order(
            len(positions), adjacency.offsets, adjacency.neighbors, limit, queue, self.levels,
            self.parents, counts,
        )  # fmt: skip
        self.vertices = queue[: counts[0]]


def bfs_edges(
    G: ConvertedGraph,
    source: Any,
    reverse: bool = False,
    depth_limit: float | None = None,
    sort_neighbors: Callable[..., Any] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Generate the edges of the tree; see `networkx.bfs_edges`."""
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    search = OrderedSearch(G, [source], depth_limit)
    children = search.vertices[1:]
    yield from zip(G.nodes_at(search.parents[children]), G.nodes_at(children))


def generic_bfs_edges(
    G: ConvertedGraph,
    source: Any,
    neighbors: Callable[..., Any] | None = None,
    depth_limit: float | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Generate the edges of the tree; see `networkx.generic_bfs_edges`."""
    return bfs_edges(G, source, depth_limit=depth_limit)


def bfs_tree(
    G: ConvertedGraph,
    source: Any,
    reverse: bool = False,
    depth_limit: float | None = None,
    sort_neighbors: Callable[..., Any] | None = None,
) -> nx.DiGraph:
    """Return the tree as a graph of NetworkX; see `networkx.bfs_tree`."""
    edges = bfs_edges(G, source, depth_limit=depth_limit)
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(edges)
    return tree


def bfs_predecessors(
    G: ConvertedGraph,
    source: Any,
    depth_limit: float | None = None,
    sort_neighbors: Callable[..., Any] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Generate nodes and their parents; see `networkx.bfs_predecessors`."""
    for parent, child in bfs_edges(G, source, depth_limit=depth_limit):
        yield child, parent


def bfs_successors(
    G: ConvertedGraph,
    source: Any,
    depth_limit: float | None = None,
    sort_neighbors: Callable[..., Any] | None = None,
) -> Iterator[tuple[Any, list[Any]]]:
    """Generate nodes and their children; see `networkx.bfs_successors`."""
    edges = bfs_edges(G, source, depth_limit=depth_limit)
    is_leaf = True
    for parent, rows in groupby(edges, itemgetter(0)):
        is_leaf = False
        yield parent, [child for _, child in rows]
    if is_leaf:
        yield source, []


def bfs_layers(G: ConvertedGraph, sources: Any) -> Iterator[list[Any]]:
    """Generate lists of the nodes at each distance; see `networkx.bfs_layers`."""
    first = [sources] if sources in G else list(set(sources))
    for node in first:
        if node not in G:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
    search = OrderedSearch(G, first)
    nodes, levels = G.nodes_at(search.vertices), search.levels[search.vertices]
    starts = np.flatnonzero(np.diff(levels, prepend=-1)).tolist()
    for start, stop in zip(starts, [*starts[1:], len(nodes)]):
        yield nodes[start:stop]


def predecessor(
    G: ConvertedGraph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    """Return all predecessors on shortest paths by node; see `networkx.predecessor`."""
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    search = OrderedSearch(G, [source], max(cutoff, 1) if cutoff else None)
    before = _list_predecessors(G, search)
    levels = search.levels[search.vertices].tolist()
    if target is None:
        return (before, dict(zip(before, levels))) if return_seen else before
    if target not in before:
        return ([], -1) if return_seen else []
    level = int(search.levels[G.positions[target]])
    return (before[target], level) if return_seen else before[target]


def _list_predecessors(G: ConvertedGraph, search: OrderedSearch) -> dict[Any, list[Any]]:
    """Return the predecessors of each node, both in the order in which the search finds them."""
    adjacency, levels = G.ordered_adjacency, search.levels
    sources = np.repeat(np.arange(len(G), dtype=np.int32), np.diff(adjacency.offsets))
    before = levels[sources]
    is_tight = (before >= 0) & (levels[adjacency.neighbors] == before + 1)
    rank = np.empty(len(G), np.int64)
    rank[search.vertices] = np.arange(search.vertices.size)
    pairs = np.unique(  # of parallel edges, too
        rank[adjacency.neighbors[is_tight]] << 32 | rank[sources[is_tight]]
    )
    nodes = G.nodes_at(search.vertices)
    lists: dict[Any, list[Any]] = {node: [] for node in nodes}
    for child, parent in zip((pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist()):
        lists[nodes[child]].append(nodes[parent])
    return lists


def check_order(arguments: Any) -> str | None:
    """Return why a search cannot run with these arguments, or None if it can."""
    if arguments.get("reverse") and arguments["G"].is_directed():
        return "the order of the predecessors is not converted"
    if arguments.get("sort_neighbors") is not None or arguments.get("neighbors") is not None:
        return "the order of the neighbors is a function"
    return None
