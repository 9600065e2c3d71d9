"""igraph, on one thread."""

from __future__ import annotations

from typing import Any

import igraph
import numpy as np

from pipelines.benchmarks.adapters import (
    DAMPING,
    MAX_LIST_ARCS,
    Library,
    Prepared,
    has_gaps,
    products_below,
)
from pipelines.benchmarks.graphs import BuildCase, Workload

library = Library("igraph", "one thread", MAX_LIST_ARCS)
MAX_PRODUCTS = 10**10


def build_graph(sources, destinations, vertices, weights=None, directed=True) -> Any:
    """Build a graph from lists, which igraph reads faster than arrays."""
    edges = list(zip(sources.tolist(), destinations.tolist()))
    graph = igraph.Graph(n=vertices, edges=edges, directed=directed)
    if weights is not None:
        graph.es["weight"] = weights.tolist()
    return graph


def shared_graph(case: Workload) -> Any:
    """Return the graph with weights, in which an undirected edge is one edge."""

    def build() -> Any:
        endpoints, weights = case.edges_once
        return build_graph(*endpoints, case.vertices, weights, case.directed)

    return case.shared("igraph", build)


def simple_graph(case: Workload) -> Any:
    """Return the undirected graph without self-loops and parallel edges."""
    build = lambda: build_graph(*case.edges, case.vertices, directed=False)  # noqa: E731
    return case.shared("igraph, simple", build)


@library.add("pagerank", "PRPACK", note="counts no iterations: whole runs are compared")
def pagerank(case: Workload) -> Prepared:
    graph = case.shared("igraph, arcs", lambda: build_graph(*case.arcs, case.vertices))

    def run() -> Any:
        return graph.pagerank(damping=DAMPING, implementation="prpack")

    return run, np.asarray


@library.add("bfs", "bfs", predecessors=True, note="gives order, levels and parents")
def bfs(case: Workload) -> Prepared:
    graph = shared_graph(case)

    def distances(answer: Any) -> np.ndarray:
        order, level_starts, _ = answer
        values = np.full(case.vertices, np.inf)
        values[order] = np.repeat(np.arange(len(level_starts) - 1), np.diff(level_starts))
        return values

    return (lambda: graph.bfs(case.start)), distances


@library.add("bfs", "distances", predecessors=False)
def bfs_distances(case: Workload) -> Prepared:
    graph = shared_graph(case)
    return (lambda: graph.distances(source=case.start)[0]), np.asarray


@library.add("sssp", "distances", predecessors=False)
def sssp(case: Workload) -> Prepared:
    graph = shared_graph(case)
    return (lambda: graph.distances(source=case.start, weights="weight")[0]), np.asarray


@library.add("components", "connected_components")
def components(case: Workload) -> Prepared:
    graph = shared_graph(case)
    return (lambda: graph.connected_components(mode="weak").membership), np.asarray


@library.add("strong components", "connected_components")
def strong_components(case: Workload) -> Prepared:
    graph = shared_graph(case)
    return (lambda: graph.connected_components(mode="strong").membership), np.asarray


@library.add("clustering_coefficient", "transitivity_local_undirected")
def clustering_coefficient(case: Workload) -> Prepared:
    graph = simple_graph(case)
    return (lambda: graph.transitivity_local_undirected(mode="zero")), np.asarray


@library.add("core_number", "coreness")
def core_number(case: Workload) -> Prepared:
    graph = simple_graph(case)
    return graph.coreness, np.asarray


@library.add("label_propagation", "community_label_propagation", is_compared=False,
             note="asynchronous until it converges: other communities")  # fmt: skip
def label_propagation(case: Workload) -> Prepared:
    graph = simple_graph(case)
    return (lambda: graph.community_label_propagation().membership), np.asarray


@library.add("neighbor_similarity", "similarity_jaccard", skip=products_below(MAX_PRODUCTS // 100))
def neighbor_similarity(case: Workload) -> Prepared:
    graph, pairs = simple_graph(case), list(zip(*(ends.tolist() for ends in case.edges)))
    return (lambda: graph.similarity_jaccard(pairs=pairs, loops=False)), np.asarray


@library.add("build", "both directions", by="source", skip=has_gaps,
             note="lists of arrays; parallel edges kept")  # fmt: skip
def build(case: BuildCase) -> Prepared:
    run = lambda: build_graph(  # noqa: E731
        case.source, case.destination, case.vertices, case.weight, case.directed
    )
    return run, lambda graph: graph.ecount()
