"""NetworKit, which takes all threads except in searches."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_ITERATIONS,
    TOLERANCE,
    BuildAdapter,
    PageRankAdapter,
    ScanAdapter,
    TraversalAdapter,
    edges_once,
)
from pipelines.benchmarks.answers import compare_counts
from pipelines.benchmarks.graphs import BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

LIBRARY = "NetworKit"


class NetworKitPageRank(PageRankAdapter):
    """networkit.centrality.PageRank."""

    library = LIBRARY

    def __init__(self, networkit: ModuleType) -> None:
        super().__init__("PageRank")
        self.networkit = networkit
        self.note = f"{networkit.getMaxNumberOfThreads()} threads"

    def prepare(self, workload: Workload) -> Any:
        return build_graph(self.networkit, *workload.arcs, workload.vertices)

    def iterate(self, state: Any, iterations: int) -> np.ndarray:
        return self._run(state, iterations, -1.0)  # no residual is below it, not even 0

    def solve(self, state: Any) -> np.ndarray:
        return self._run(state, MAX_ITERATIONS, TOLERANCE["double"])

    def _run(self, graph: Any, iterations: int, tolerance: float) -> np.ndarray:
        centrality = self.networkit.centrality
        uniform = centrality.SinkHandling.DistributeSinks
        pagerank = centrality.PageRank(graph, DAMPING, tolerance, distributeSinks=uniform)
        pagerank.norm, pagerank.maxIterations = centrality.Norm.L1_NORM, iterations
        pagerank.run()
        return np.asarray(pagerank.scores())


class NetworKitTraversal(TraversalAdapter):
    """networkit.distance and networkit.components."""

    library = LIBRARY

    def __init__(self, networkit: ModuleType, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.networkit = networkit

    def prepare(self, workload: Workload) -> Any:
        endpoints, weights = edges_once(workload)
        return build_graph(
            self.networkit, *endpoints, workload.vertices, weights, workload.directed
        )

    def run(self, graph: Any, workload: Workload) -> np.ndarray:
        if self.task == "components":
            name = "WeaklyConnectedComponents" if workload.directed else "ConnectedComponents"
            search = getattr(self.networkit.components, name)(graph)
            search.run()
            return np.asarray(search.getPartition().getVector())
        kind = getattr(self.networkit.distance, self.implementation)
        search = kind(graph, workload.start, storePaths=self.predecessors)
        search.run()
        return np.asarray(search.getDistances(asarray=True))


class NetworKitCounts(ScanAdapter):
    """Triangles of every edge by its id; ids follow the order of the lists."""

    library = LIBRARY

    def __init__(self, networkit: ModuleType) -> None:
        note = f"{networkit.getMaxNumberOfThreads()} threads; edges have ids before"
        super().__init__("counts", "TriangleEdgeScore", note)
        self.networkit = networkit

    def prepare(self, case: ScanCase) -> Callable[[], Any]:
        def build() -> Any:
            endpoints, vertices = case.endpoints, case.workload.vertices
            graph = build_graph(self.networkit, *endpoints, vertices, directed=False)
            graph.sortEdges()
            graph.indexEdges()
            return graph

        graph = case.cached(LIBRARY, build)
        return self.networkit.sparsification.TriangleEdgeScore(graph).run

    def check(self, case: ScanCase, answer: Any) -> str | None:
        backward = ~case.is_forward  # ids ascend by the larger endpoint, then by the smaller
        counts = np.asarray(answer.scores(), np.int64) + 2
        return compare_counts(counts, case.common_neighbors[backward])


class AdjacencyListBuild(BuildAdapter):
    """NetworKit and igraph: both directions at once, parallel edges kept, no names."""

    cases = ("in order", "shuffled", "weighted", "undirected")

    def __init__(
        self,
        library: str,
        build_graph: Callable[..., Any],
        count_edges: Callable[[Any], int],
        note: str,
    ) -> None:
        self.library, self.build_graph, self.count_edges = library, build_graph, count_edges
        self.implementation, self.note = "both ways", note

    def build(self, case: BuildCase) -> Any:
        return self.build_graph(
            case.source, case.destination, case.vertices, case.weight, case.directed
        )

    def check(self, case: BuildCase, graph: Any) -> str | None:
        num_edges = self.count_edges(graph)
        return None if num_edges == case.rows else f"wrong: {num_edges} edges of {case.rows} rows"


def build_graph(
    networkit: ModuleType,
    sources: Array,
    destinations: Array,
    vertices: int,
    weights: Array | None = None,
    directed: bool = True,
) -> Any:
    """Build a graph from arrays, which is the fastest way; ids must have 64 bits."""
    endpoints = sources.astype(np.int64), destinations.astype(np.int64)
    coo = endpoints if weights is None else (weights, endpoints)
    return networkit.graph.GraphFromCoo(
        coo, n=vertices, weighted=weights is not None, directed=directed
    )


def traversal_adapters(networkit: ModuleType) -> list[TraversalAdapter]:
    """Return the searches with and without predecessors, and components."""
    adapters: list[TraversalAdapter] = []
    for predecessors, note in (
        (True, "storePaths: all shortest paths; one thread"),
        (False, "one thread"),
    ):
        adapters.append(NetworKitTraversal(networkit, "bfs", "BFS", predecessors, note))
        adapters.append(NetworKitTraversal(networkit, "sssp", "Dijkstra", predecessors, note))
    components = ("components", "ConnectedComponents", None, "one thread")
    return [*adapters, NetworKitTraversal(networkit, *components)]


def build_adapter(networkit: ModuleType) -> BuildAdapter:
    """Return the build by GraphFromCoo."""
    return AdjacencyListBuild(
        LIBRARY,
        lambda *edges: build_graph(networkit, *edges),
        lambda graph: graph.numberOfEdges(),
        "GraphFromCoo; parallel edges kept",
    )
