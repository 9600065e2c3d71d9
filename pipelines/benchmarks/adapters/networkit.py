"""NetworKit, which takes all threads except in searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkit
import numpy as np

from pipelines.benchmarks.adapters import DAMPING, Library
from pipelines.benchmarks.graphs import Workload

library = Library("NetworKit", f"{networkit.getMaxNumberOfThreads()} threads")
add = library.add


def build(sources, destinations, vertices, weights=None, directed=True) -> Any:
    """Build a graph from arrays, which is the fastest way; ids must have 64 bits."""
    ends = sources.astype(np.int64), destinations.astype(np.int64)
    coo = ends if weights is None else (weights, ends)
    return networkit.graph.GraphFromCoo(
        coo, n=vertices, weighted=weights is not None, directed=directed
    )


def arcs(case: Workload) -> Any:
    return build(*case.arcs, case.vertices)


def whole(case: Workload) -> Any:
    """Return the graph with weights, in which an undirected edge is one edge."""
    ends, weights = case.edges_once
    return build(*ends, case.vertices, weights, case.directed)


def simple(case: Workload) -> Any:
    """Return the undirected graph without self-loops; its edges have ids in order."""
    graph = build(*case.edges, case.vertices, directed=False)
    graph.sortEdges()
    graph.indexEdges()
    return graph


def ends_by_id(case: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the edges by id: ids ascend by the larger end, then by the smaller."""
    first, second = case.edges
    order = np.lexsort([first, second])
    return first[order], second[order]


def done(algorithm: Any) -> Any:
    algorithm.run()
    return algorithm


def pagerank(graph: Any, case: Workload, iterations: int) -> Any:
    """Run PageRank; not even a change of 0 is below its tolerance."""
    kind = networkit.centrality.PageRank
    sinks = networkit.centrality.SinkHandling.DistributeSinks
    search = kind(graph, DAMPING, -1.0, distributeSinks=sinks)
    search.norm, search.maxIterations = networkit.centrality.Norm.L1_NORM, iterations
    return done(search).scores()


def partition(kind: Callable, undirected: Callable) -> Callable[[Any, Workload], Any]:
    """Return the function that finds components of directed and of undirected graphs."""
    return lambda graph, case: (
        done((kind if case.directed else undirected)(graph)).getPartition().getVector()
    )


def edge_triangles(graph: Any) -> np.ndarray:
    return np.asarray(done(networkit.sparsification.TriangleEdgeScore(graph)).scores(), np.int64)


def triangles(graph: Any, case: Workload) -> np.ndarray:
    counts, ends = edge_triangles(graph), case.shared(ends_by_id)
    sums = [np.bincount(ids, counts, case.vertices) for ids in ends]
    return (sums[0] + sums[1]).astype(np.int64) // 2


def similarities(graph: Any, case: Workload) -> np.ndarray:
    return case.jaccard(*case.shared(ends_by_id), edge_triangles(graph))


add("pagerank", "PageRank", pagerank, arcs)
for task, kind in (("bfs", networkit.distance.BFS), ("sssp", networkit.distance.Dijkstra)):
    for predecessors, note in ((True, "storePaths: all shortest paths"), (False, "")):
        add(task, kind.__name__, lambda graph, case, kind=kind, p=predecessors: done(
            kind(graph, case.start, storePaths=p)).getDistances(asarray=True), whole,
            predecessors=predecessors, note=f"{note}; one thread".strip("; "))  # fmt: skip
add("components", "WeaklyConnectedComponents",
    partition(networkit.components.WeaklyConnectedComponents,
              networkit.components.ConnectedComponents), whole)  # fmt: skip
add("strong components", "StronglyConnectedComponents",
    partition(networkit.components.StronglyConnectedComponents,
              networkit.components.ConnectedComponents), whole)  # fmt: skip
add("triangle_count", "TriangleEdgeScore", triangles, simple, note="summed by vertex by NumPy")
add("neighbor_similarity", "TriangleEdgeScore", similarities, simple,
    lambda answer, case: case.by_edge(*ends_by_id(case), answer),
    note="Jaccard by NumPy")  # fmt: skip
add("clustering_coefficient", "LocalClusteringCoefficient",
    lambda graph, case: done(
        networkit.centrality.LocalClusteringCoefficient(graph, turbo=True)).scores(),
    simple, note="turbo")  # fmt: skip
add("core_number", "CoreDecomposition",
    lambda graph, case: done(networkit.centrality.CoreDecomposition(graph)).scores(),
    simple)  # fmt: skip
