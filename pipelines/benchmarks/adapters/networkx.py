"""NetworkX, for small graphs."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_DICT_ARCS,
    MAX_ITERATIONS,
    TOLERANCE,
    PageRankAdapter,
    TraversalAdapter,
    edges_once,
)
from pipelines.benchmarks.graphs import Workload
from rapidsgraph.device.arrays import Array

LIBRARY = "NetworkX"


class NetworkXPageRank(PageRankAdapter):
    """networkx.pagerank."""

    library, counts_iterations = LIBRARY, False
    max_arcs, storage = MAX_DICT_ARCS, "dicts"

    def __init__(self, networkx: ModuleType) -> None:
        super().__init__("pagerank")
        self.networkx = networkx
        self.note = "makes a SciPy matrix in each call; raises where iterations are used up"

    def prepare(self, workload: Workload) -> Any:
        return build_graph(self.networkx, *workload.arcs, workload.vertices)

    def solve(self, state: Any) -> np.ndarray:
        tolerance = TOLERANCE["double"] / max(state.number_of_nodes(), 1)  # it is per vertex
        values = self.networkx.pagerank(state, DAMPING, max_iter=MAX_ITERATIONS, tol=tolerance)
        return np.fromiter(values.values(), np.float64, len(values))


class NetworkXTraversal(TraversalAdapter):
    """Shortest path lengths and connected components."""

    library, max_arcs, storage = LIBRARY, MAX_DICT_ARCS, "dicts"

    def __init__(self, networkx: ModuleType, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.networkx = networkx

    def prepare(self, workload: Workload) -> Any:
        endpoints, weights = edges_once(workload)
        return build_graph(self.networkx, *endpoints, workload.vertices, weights, workload.directed)

    def run(self, graph: Any, workload: Workload) -> Any:
        search = getattr(self.networkx, self.implementation)
        if self.task == "components":
            weak = self.networkx.weakly_connected_components
            return list(weak(graph) if workload.directed else search(graph))
        return search(graph, workload.start)

    def by_vertex(self, answer: Any, workload: Workload) -> Array:
        values = np.full(workload.vertices, np.inf)
        if self.task == "components":
            for label, members in enumerate(answer):
                values[list(members)] = label
            return values
        values[list(answer)] = list(answer.values())
        return super().by_vertex(values, workload)


def build_graph(
    networkx: ModuleType,
    sources: Array,
    destinations: Array,
    vertices: int,
    weights: Array | None = None,
    directed: bool = True,
) -> Any:
    """Build a graph whose vertices are in the order of their ids."""
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(range(vertices))
    endpoints = sources.tolist(), destinations.tolist()
    if weights is None:
        graph.add_edges_from(zip(*endpoints, strict=True))
    else:
        graph.add_weighted_edges_from(zip(*endpoints, weights.tolist(), strict=True))
    return graph


def traversal_adapters(networkx: ModuleType) -> list[TraversalAdapter]:
    """Return the searches, which give no predecessors, and components."""
    searches = [
        ("bfs", "single_source_shortest_path_length", False),
        ("sssp", "single_source_dijkstra_path_length", False),
        ("components", "connected_components", None),
    ]
    return [NetworkXTraversal(networkx, *search, "one thread") for search in searches]
