"""PageRank, degree centrality, isolates and reciprocity, with the signatures of NetworkX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..api.pagerank import pagerank as compute_pagerank
from ..errors import ConvergenceError, GraphError
from .graph import ConvertedGraph


def pagerank(
    G: ConvertedGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """Compute PageRank; see `networkx.pagerank`."""
    if not len(G):
        return {}
    values = _tabulate(G, personalization)
    if values is not None and not values["value"].any():
        raise ZeroDivisionError
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        result = compute_pagerank(
            G.unweighted if weight is None else G.weighted,
            damping=alpha,
            tolerance=len(G) * tol,  # NetworkX compares the mean change of a vertex
            max_iterations=max_iter,
            personalization=values,
            dangling=_tabulate(G, dangling),
            start=_tabulate(G, nstart),
            progress=False,
        )
    except ConvergenceError as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    except GraphError as error:  # NetworkX computes with values that are negative or not finite
        raise NotImplementedError(str(error)) from error
    return G.by_node(result["pagerank"])


def check_pagerank(arguments: Mapping[str, Any]) -> str | None:
    """Return why `pagerank` cannot run with these arguments, or None if it can."""
    for name in ("personalization", "nstart", "dangling"):
        values = arguments[name]
        if values is not None and not isinstance(values, Mapping):
            return f"{name} is not a dict"
    if not 0 <= arguments["alpha"] <= 1:
        return "alpha is not between 0 and 1"
    if not arguments["tol"] > 0:
        return "tol is not positive"
    return None


def _tabulate(G: ConvertedGraph, values: Mapping[Any, float] | None) -> dict[str, Any] | None:
    """Return a frame of the values of the nodes that are in the graph."""
    if values is None:
        return None
    pairs = [(G.positions[node], value) for node, value in values.items() if node in G.positions]
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return {"vertex": table[:, 0].astype(np.int64), "value": table[:, 1]}


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
