"""Searches of converted graphs, with results in the forms that NetworkX returns."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..api.traversal import bfs, shortest_path, sssp
from ..device import to_host
from ..errors import GraphError
from ..graph.csr import row_indices
from ..graph.local_graph import storage_of
from .graph import MAX_EXACT_TOTAL, ConvertedGraph


class Search:
    """A breadth-first search, or shortest paths by weight.

    Parameters
    ----------
    G : ConvertedGraph
    sources : iterable of nodes
        Which are in the graph.
    weight : str or None
        None for a breadth-first search.
    cutoff : float, optional
        Nodes farther away are not reached.
    predecessors : bool, default False

    Attributes
    ----------
    vertices : int64 array
        Those that are reached: the sources, and the others by distance and in the order of the
        graph.
    distances : int64 or float64 array, shape (all vertices,)
        -1 or infinity for a vertex that is not reached.
    """

    def __init__(
        self,
        G: ConvertedGraph,
        sources: Iterable[Any],
        weight: str | None = None,
        cutoff: float | None = None,
        predecessors: bool = False,
    ) -> None:
        self.sources, self.weight = list(dict.fromkeys(sources)), weight
        self.G, self.has_integers = G, weight is None or G.has_integers
        positions = np.array([G.positions[node] for node in self.sources], np.int64)
        if weight is None:
            limit = None if cutoff is None or cutoff == math.inf else math.ceil(cutoff)
            result = bfs(G.unweighted, positions, depth_limit=limit, predecessors=predecessors)
        else:
            with exact_sums(G):
                result = sssp(G.weighted, positions, cutoff=cutoff, predecessors=predecessors)
        self.distances = distances = to_host(result["distance"])
        self._predecessors = to_host(result["predecessor"] if predecessors else np.empty(0))
        reached = np.flatnonzero((distances >= 0) & (distances < math.inf))
        keys = distances[reached]
        keys[np.searchsorted(reached, positions)] = -1  # others may be at distance 0
        self.vertices = reached[np.argsort(keys, kind="stable")]

    def lengths(self) -> dict[Any, Any]:
        """Return the distances by node: those of the sources, and others in ascending order."""
        values = self.distances[self.vertices]
        if self.has_integers:
            values = values.astype(np.int64)
        lengths = dict(zip(self.G.nodes_at(self.vertices), values.tolist()))
        if not self.has_integers:
            lengths |= dict.fromkeys(self.sources, 0)  # an int in NetworkX too
        return lengths

    def paths(self, reverse: bool = False) -> dict[Any, list[Any]]:
        """Return the path to each node, or with `reverse` from each node to the source."""
        nodes, predecessors = self.G.nodes, self._predecessors.tolist()
        order = self.vertices.tolist()
        paths: list[list[Any]] = [[]] * len(nodes)
        for vertex in order:
            pending = [vertex]
            before = predecessors[vertex]
            while before >= 0 and not paths[before]:  # comes later, along an edge of weight 0
                pending.append(before)
                before = predecessors[before]
            path = paths[before] if before >= 0 else []
            for vertex in reversed(pending):
                path = [nodes[vertex], *path] if reverse else [*path, nodes[vertex]]
                paths[vertex] = path
        return {nodes[vertex]: paths[vertex] for vertex in order}

    def all_predecessors(self) -> dict[Any, list[Any]]:
        """Return all predecessors of each node on shortest paths, nearest first."""
        graph = storage_of(self.G.unweighted if self.weight is None else self.G.weighted)
        sources, destinations = to_host(row_indices(graph.csr)), to_host(graph.csr.neighbors)
        weights = to_host(graph.csr.weights) if graph.weighted else 1.0
        before = self.distances[sources]
        with np.errstate(over="ignore"):
            is_tight = before + weights == self.distances[destinations]
        is_tight &= (before >= 0) & (before < math.inf)
        rank = np.empty(len(self.G), np.int64)  # in which the search reaches vertices
        rank[self.vertices] = np.arange(self.vertices.size)
        arcs = np.unique(rank[destinations[is_tight]] << 32 | rank[sources[is_tight]])
        nodes = self.G.nodes_at(self.vertices)
        lists: dict[Any, list[Any]] = {node: [] for node in nodes}
        for destination, source in zip((arcs >> 32).tolist(), (arcs & 0xFFFFFFFF).tolist()):
            lists[nodes[destination]].append(nodes[source])
        return lists


def find_path(
    G: ConvertedGraph,
    sources: Iterable[Any],
    target: Any,
    weight: str | None = None,
    cutoff: float | None = None,
) -> tuple[Any, list[Any]] | None:
    """Return the length and the nodes of a shortest path from the nearest source.

    None if no path leads to the target, the target is not in the graph, or it is farther than the
    cutoff. Other parameters are those of `Search`.
    """
    if target not in G:
        return None
    positions = np.array([G.positions[node] for node in sources], np.int64)
    if weight is None:
        result = shortest_path(G.unweighted, positions, G.positions[target], weighted=False)
    else:
        with exact_sums(G):
            result = shortest_path(G.weighted, positions, G.positions[target])
    vertices = to_host(result["vertex"])
    if not vertices.size:
        return None
    length = to_host(result["distance"])[-1].item()
    if cutoff is not None and length > cutoff:
        return None
    return int(length) if G.has_integers else length, G.nodes_at(vertices)


@contextlib.contextmanager
def exact_sums(G: ConvertedGraph) -> Iterator[None]:
    """Leave to NetworkX weights whose sums double precision does not represent."""
    if G.has_integers and G.total_weight >= MAX_EXACT_TOTAL:
        raise NotImplementedError("sums of the weights exceed double precision")
    try:
        yield
    except GraphError as error:  # a sum that is infinite
        raise NotImplementedError(str(error)) from error


def check_cutoff(arguments: Any) -> str | None:
    """Return why a search cannot run with these arguments, or None if it can."""
    cutoff = arguments["cutoff"]
    if cutoff is None or (isinstance(cutoff, (int, float)) and cutoff >= 0):
        return None
    return "cutoff is not a number, or negative"
