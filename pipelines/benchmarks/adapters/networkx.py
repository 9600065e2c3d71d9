"""NetworkX, on one thread, for small graphs."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np

from pipelines.benchmarks.adapters import (
    DAMPING,
    MAX_DICT_ARCS,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
)
from pipelines.benchmarks.graphs import Workload

library = Library("NetworkX", "one thread", MAX_DICT_ARCS)


def build_graph(sources, destinations, vertices, weights=None, directed=True) -> Any:
    """Build a graph whose vertices are in the order of their ids."""
    graph = networkx.DiGraph() if directed else networkx.Graph()
    graph.add_nodes_from(range(vertices))
    ends = sources.tolist(), destinations.tolist()
    if weights is None:
        graph.add_edges_from(zip(*ends))
    else:
        graph.add_weighted_edges_from(zip(*ends, weights.tolist()))
    return graph


def shared_graph(case: Workload) -> Any:
    """Return the graph with weights."""

    def build() -> Any:
        endpoints, weights = case.edges_once
        return build_graph(*endpoints, case.vertices, weights, case.directed)

    return case.shared("NetworkX", build)


def simple_graph(case: Workload) -> Any:
    """Return the undirected graph without self-loops."""
    build = lambda: build_graph(*case.edges, case.vertices, directed=False)  # noqa: E731
    return case.shared("NetworkX, simple", build)


def from_dict(values: dict[int, Any]) -> np.ndarray:
    """Return the values of a dict of all vertices by vertex id."""
    return np.array([values[vertex] for vertex in range(len(values))])


@library.add("pagerank", "pagerank", note="makes a SciPy matrix in each call")
def pagerank(case: Workload) -> Prepared:
    graph = case.shared("NetworkX, arcs", lambda: build_graph(*case.arcs, case.vertices))
    tolerance = TOLERANCE["double"] / max(case.vertices, 1)  # it is per vertex
    options = {"max_iter": MAX_ITERATIONS, "tol": tolerance, "backend": "networkx"}
    return (lambda: networkx.pagerank(graph, DAMPING, **options)), from_dict


for task, name in (
    ("bfs", "single_source_shortest_path_length"),
    ("sssp", "single_source_dijkstra_path_length"),
):

    @library.add(task, name, predecessors=False)
    def search(case: Workload, name: str = name) -> Prepared:
        graph = shared_graph(case)

        def distances(answer: dict[int, float]) -> np.ndarray:
            values = np.full(case.vertices, np.inf)
            values[list(answer)] = list(answer.values())
            return values

        return (lambda: getattr(networkx, name)(graph, case.start)), distances


for task, name in (
    ("components", "weakly_connected_components"),
    ("strong components", "strongly_connected_components"),
):

    @library.add(task, name)
    def components(case: Workload, name: str = name) -> Prepared:
        graph = shared_graph(case)
        find = getattr(networkx, name if case.directed else "connected_components")

        def labels(answer: list[set[int]]) -> np.ndarray:
            values = np.empty(case.vertices, np.int64)
            for label, members in enumerate(answer):
                values[list(members)] = label
            return values

        return (lambda: list(find(graph))), labels


for task, name in (
    ("triangle_count", "triangles"),
    ("clustering_coefficient", "clustering"),
    ("core_number", "core_number"),
):

    @library.add(task, name)
    def compute(case: Workload, name: str = name) -> Prepared:
        graph, function = simple_graph(case), getattr(networkx, name)
        return (lambda: function(graph)), from_dict


@library.add("neighbor_similarity", "jaccard_coefficient")
def neighbor_similarity(case: Workload) -> Prepared:
    graph, pairs = simple_graph(case), list(zip(*(ends.tolist() for ends in case.edges)))
    run = lambda: [value for *_, value in networkx.jaccard_coefficient(graph, pairs)]  # noqa: E731
    return run, np.asarray
