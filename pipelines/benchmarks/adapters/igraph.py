"""igraph, on one thread."""

from __future__ import annotations

from functools import partial
from typing import Any

import igraph
import numpy as np

from pipelines.benchmarks.adapters import Library, products_below
from pipelines.benchmarks.graphs import Workload

MAX_ARCS = 8_000_000  # it takes Python lists


def is_large(case: Workload) -> str | None:
    return f"more than {MAX_ARCS:,} arcs" if case.arcs[0].size > MAX_ARCS else None


library = Library("igraph", "one thread")
add = partial(library.add, skip=is_large)


def build(sources, destinations, vertices, weights=None, directed=True) -> Any:
    """Build a graph from lists, which igraph reads faster than arrays."""
    edges = list(zip(sources.tolist(), destinations.tolist()))
    graph = igraph.Graph(n=vertices, edges=edges, directed=directed)
    if weights is not None:
        graph.es["weight"] = weights.tolist()
    return graph


def whole(case: Workload) -> Any:
    """Return the graph with weights, in which an undirected edge is one edge."""
    ends, weights = case.edges_once
    return build(*ends, case.vertices, weights, case.directed)


def simple(case: Workload) -> Any:
    """Return the undirected graph without self-loops and parallel edges."""
    return build(*case.edges, case.vertices, directed=False)


def levels(answer: Any, case: Workload) -> np.ndarray:
    """Return distances from an order and the starts of its levels."""
    order, starts, _ = answer
    values = np.full(case.vertices, np.inf)
    values[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return values


add("bfs", "bfs", lambda graph, case: graph.bfs(case.start), whole, levels, predecessors=True)
add("bfs", "distances", lambda graph, case: graph.distances(source=case.start)[0], whole,
    predecessors=False)  # fmt: skip
add("sssp", "distances",
    lambda graph, case: graph.distances(source=case.start, weights="weight")[0], whole,
    predecessors=False)  # fmt: skip
add("components", "connected_components",
    lambda graph, case: graph.connected_components(mode="weak").membership, whole)  # fmt: skip
add("strong components", "connected_components",
    lambda graph, case: graph.connected_components(mode="strong").membership, whole)  # fmt: skip
add("clustering_coefficient", "transitivity_local_undirected",
    lambda graph, case: graph.transitivity_local_undirected(mode="zero"), simple)  # fmt: skip
add("core_number", "coreness", lambda graph, case: graph.coreness(), simple)
add("neighbor_similarity", "similarity_jaccard",
    lambda graph, case: graph.similarity_jaccard(pairs=graph.get_edgelist(), loops=False), simple,
    skip=products_below(10**8))  # fmt: skip
