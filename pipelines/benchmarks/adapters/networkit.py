"""NetworKit, which takes all threads except in searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkit
import numpy as np

from pipelines.benchmarks.adapters import (
    DAMPING,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
    has_gaps,
)
from pipelines.benchmarks.answers import jaccard
from pipelines.benchmarks.graphs import BuildCase, Workload

library = Library("NetworKit", f"{networkit.getMaxNumberOfThreads()} threads")


def build_graph(sources, destinations, vertices, weights=None, directed=True) -> Any:
    """Build a graph from arrays, which is the fastest way; ids must have 64 bits."""
    endpoints = sources.astype(np.int64), destinations.astype(np.int64)
    coo = endpoints if weights is None else (weights, endpoints)
    return networkit.graph.GraphFromCoo(
        coo, n=vertices, weighted=weights is not None, directed=directed
    )


def shared_graph(case: Workload) -> Any:
    """Return the graph with weights, in which an undirected edge is one edge."""

    def build() -> Any:
        endpoints, weights = case.edges_once
        return build_graph(*endpoints, case.vertices, weights, case.directed)

    return case.shared("NetworKit", build)


def simple_graph(case: Workload) -> Any:
    """Return the undirected graph without self-loops; its edges have ids in order."""

    def build() -> Any:
        graph = build_graph(*case.edges, case.vertices, directed=False)
        graph.sortEdges()
        graph.indexEdges()
        return graph

    return case.shared("NetworKit, simple", build)


def algorithm(create: Callable[[], Any], result: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return the function that runs an algorithm and returns its result."""

    def run() -> Any:
        search = create()
        search.run()
        return result(search)

    return run


@library.add("pagerank", "PageRank")
def pagerank(case: Workload) -> Prepared:
    graph = case.shared("NetworKit, arcs", lambda: build_graph(*case.arcs, case.vertices))
    centrality = networkit.centrality

    def run(iterations: int | None = None) -> Any:
        tolerance = TOLERANCE["double"] if iterations is None else -1.0  # not even 0 is below it
        uniform = centrality.SinkHandling.DistributeSinks
        search = centrality.PageRank(graph, DAMPING, tolerance, distributeSinks=uniform)
        search.norm = centrality.Norm.L1_NORM
        search.maxIterations = iterations or MAX_ITERATIONS
        search.run()
        return search.scores()

    return run, np.asarray


for predecessors, note in ((True, "storePaths: all shortest paths"), (False, "")):
    for task, name in (("bfs", "BFS"), ("sssp", "Dijkstra")):

        @library.add(task, name, predecessors=predecessors, note=f"{note}; one thread".strip("; "))
        def search(case: Workload, name: str = name, predecessors: bool = predecessors) -> Prepared:
            graph, kind = shared_graph(case), getattr(networkit.distance, name)
            create = lambda: kind(graph, case.start, storePaths=predecessors)  # noqa: E731
            distances = lambda search: search.getDistances(asarray=True)  # noqa: E731
            return algorithm(create, distances), np.asarray


for task, names in (
    ("components", ("WeaklyConnectedComponents", "ConnectedComponents")),
    ("strong components", ("StronglyConnectedComponents", "ConnectedComponents")),
):

    @library.add(task, names[0])
    def components(case: Workload, names: tuple[str, str] = names) -> Prepared:
        graph, kind = shared_graph(case), getattr(networkit.components, names[not case.directed])
        partition = lambda search: search.getPartition().getVector()  # noqa: E731
        return algorithm(lambda: kind(graph), partition), np.asarray


def triangles_of_edges(case: Workload) -> Callable[[], np.ndarray]:
    """Return the function that counts the triangles of each edge, by edge id."""
    graph = simple_graph(case)
    score = networkit.sparsification.TriangleEdgeScore
    return algorithm(lambda: score(graph), lambda search: np.asarray(search.scores(), np.int64))


def edges_by_id(case: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the edges by id: ids ascend by the larger end, then by the smaller."""
    first, second = case.edges
    order = np.lexsort([first, second])
    return first[order], second[order]


@library.add("triangle_count", "TriangleEdgeScore", note="summed by vertex by NumPy")
def triangle_count(case: Workload) -> Prepared:
    count, (first, second) = triangles_of_edges(case), edges_by_id(case)

    def run() -> np.ndarray:
        counts = count()
        sums = [np.bincount(ends, counts, case.vertices) for ends in (first, second)]
        return (sums[0] + sums[1]).astype(np.int64) // 2

    return run, np.asarray


@library.add("neighbor_similarity", "TriangleEdgeScore", note="Jaccard by NumPy")
def neighbor_similarity(case: Workload) -> Prepared:
    count, (first, second), degrees = triangles_of_edges(case), edges_by_id(case), case.degrees
    run = lambda: jaccard(count(), degrees[first], degrees[second])  # noqa: E731
    return run, lambda values: case.by_edge(first, second, values)


@library.add("clustering_coefficient", "LocalClusteringCoefficient", note="turbo")
def clustering_coefficient(case: Workload) -> Prepared:
    graph, kind = simple_graph(case), networkit.centrality.LocalClusteringCoefficient
    return algorithm(lambda: kind(graph, turbo=True), lambda search: search.scores()), np.asarray


@library.add("core_number", "CoreDecomposition")
def core_number(case: Workload) -> Prepared:
    graph, kind = simple_graph(case), networkit.centrality.CoreDecomposition
    return algorithm(lambda: kind(graph), lambda search: search.scores()), np.asarray


@library.add("label_propagation", "PLP", note="asynchronous: other communities", is_compared=False)
def label_propagation(case: Workload) -> Prepared:
    graph, kind = simple_graph(case), networkit.community.PLP
    run = algorithm(lambda: kind(graph), lambda search: search.getPartition().getVector())
    return run, np.asarray


@library.add("build", "both directions", by="source", skip=has_gaps,
             note="GraphFromCoo; parallel edges kept")  # fmt: skip
def build(case: BuildCase) -> Prepared:
    run = lambda: build_graph(  # noqa: E731
        case.source, case.destination, case.vertices, case.weight, case.directed
    )
    return run, lambda graph: graph.numberOfEdges()
