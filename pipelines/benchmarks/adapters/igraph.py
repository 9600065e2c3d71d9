"""igraph, on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_LIST_ARCS,
    BuildAdapter,
    PageRankAdapter,
    TraversalAdapter,
    edges_once,
)
from pipelines.benchmarks.adapters.networkit import AdjacencyListBuild
from pipelines.benchmarks.graphs import Workload
from rapidsgraph.device.arrays import Array

LIBRARY = "igraph"


class IgraphPageRank(PageRankAdapter):
    """PRPACK."""

    library, counts_iterations = LIBRARY, False

    def __init__(self) -> None:
        super().__init__("PRPACK")
        self.note = "counts no iterations, so only a whole solution can be timed"

    def prepare(self, workload: Workload) -> Any:
        return build_graph(*workload.arcs, workload.vertices)

    def solve(self, state: Any) -> np.ndarray:
        return np.asarray(state.pagerank(damping=DAMPING, implementation="prpack"))


class IgraphTraversal(TraversalAdapter):
    """Graph.bfs, Graph.distances and Graph.connected_components."""

    library, max_arcs = LIBRARY, MAX_LIST_ARCS

    def prepare(self, workload: Workload) -> Any:
        endpoints, weights = edges_once(workload)
        return build_graph(*endpoints, workload.vertices, weights, workload.directed)

    def run(self, graph: Any, workload: Workload) -> Any:
        if self.task == "components":
            return graph.connected_components(mode="weak").membership
        if self.predecessors:
            return graph.bfs(workload.start)
        weights = "weight" if self.task == "sssp" else None
        return graph.distances(source=workload.start, weights=weights)[0]

    def by_vertex(self, answer: Any, workload: Workload) -> Array:
        if self.predecessors:
            order, level_starts, _ = answer
            answer = np.full(workload.vertices, np.inf)
            answer[order] = np.repeat(np.arange(len(level_starts) - 1), np.diff(level_starts))
        return super().by_vertex(answer, workload)


def build_graph(
    sources: Array,
    destinations: Array,
    vertices: int,
    weights: Array | None = None,
    directed: bool = True,
) -> Any:
    """Build a graph from lists, which igraph reads faster than arrays."""
    import igraph

    edges = list(zip(sources.tolist(), destinations.tolist(), strict=True))
    graph = igraph.Graph(n=vertices, edges=edges, directed=directed)
    if weights is not None:
        graph.es["weight"] = weights.tolist()
    return graph


def traversal_adapters() -> list[TraversalAdapter]:
    """Return the searches, of which only `bfs` gives predecessors."""
    note = "gives order, levels and parents, from which the check takes distances; one thread"
    return [
        IgraphTraversal("bfs", "bfs", True, note),
        IgraphTraversal("bfs", "distances", False, "one thread"),
        IgraphTraversal("sssp", "distances", False, "gives no predecessors; one thread"),
        IgraphTraversal("components", "connected_components", None, "one thread"),
    ]


def build_adapter() -> BuildAdapter:
    """Return the build from lists."""
    note = "from lists made of the arrays; parallel edges kept"
    return AdjacencyListBuild(LIBRARY, build_graph, lambda graph: graph.ecount(), note)
