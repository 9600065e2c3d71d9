"""rapidsgraph: every method on a ready Graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rapidsgraph as rg
from pipelines.benchmarks.adapters import (
    CLUSTERS,
    DAMPING,
    LABEL_ITERATIONS,
    Library,
    products_below,
)
from pipelines.benchmarks.answers import PRECISIONS, clusters_and_cores, result_arrays
from pipelines.benchmarks.graphs import Workload, pack
from rapidsgraph.graph.csr import row_indices

library = Library("rapidsgraph")
add = library.add
COUNTS = "common neighbors"  # beginning of the keys by which a Graph caches the counts of edges


def ready(case: Workload) -> Any:
    return case.graph


def column(name: str) -> Callable[[Any, Workload], Any]:
    """Return the function that returns a column of a result as an array, with -1 for nulls."""
    return lambda answer, case: result_arrays({name: answer[name]}, case.xp)[name]


def uncached(call: Callable[..., Any]) -> Callable[[Any, Workload], Any]:
    """Return a call that first empties the graph's cache of counts."""

    def run(graph: Any, case: Workload) -> Any:
        for key in [key for key in graph._cache if key.startswith(COUNTS)]:
            del graph._cache[key]
        return call(graph)

    return run


for precision in PRECISIONS:
    for method in ("auto", "edge", "node", "contribution", "warp"):
        add("pagerank", method,
            lambda graph, case, iterations, m=method, p=precision: rg.pagerank(
                graph, damping=DAMPING, tolerance=0, max_iterations=iterations, method=m,
                precision=p, progress=False),
            ready, column("pagerank"), precision=precision)  # fmt: skip

for predecessors in (True, False):
    add("bfs", "bfs", lambda graph, case, p=predecessors: rg.bfs(graph, case.start, predecessors=p),
        ready, column("distance"), predecessors=predecessors)  # fmt: skip
    add("sssp", "sssp",
        lambda graph, case, p=predecessors: rg.sssp(graph, case.start, predecessors=p),
        ready, column("distance"), predecessors=predecessors)  # fmt: skip

for task, name, output, options in (
    ("components", "connected_components", "component", {}),
    ("strong components", "connected_components", "component", {"strong": True}),
    ("label_propagation", "label_propagation", "label", {"iterations": LABEL_ITERATIONS}),
    ("triangle_count", "triangle_count", "triangles", {}),
    ("clustering_coefficient", "clustering_coefficient", "coefficient", {}),
    ("core_number", "core_number", "core", {}),
    ("neighbor_similarity", "neighbor_similarity", "jaccard", {"kind": "jaccard"}),
):
    add(task, name, uncached(partial(getattr(rg, name), **options)), ready, column(output))


def cluster_counted(graph: Any, case: Workload, method: str) -> Any:
    graph.cached(f"{COUNTS}, {method}", lambda: case.common_neighbors)
    return rg.scan(graph, **CLUSTERS, method=method)


def clusters(answer: Any, case: Workload) -> Any:
    return clusters_and_cores(answer)


for method in ("auto", "gpuscan"):  # the latter compares whole lists
    skip = products_below(5 * 10**9) if method == "gpuscan" else lambda case: None
    add("scan", method, uncached(lambda graph, m=method: rg.scan(graph, **CLUSTERS, method=m)),
        ready, clusters, skip=skip, gives="similarity and clustering")  # fmt: skip
    add("scan", method, lambda graph, case, m=method: cluster_counted(graph, case, m),
        ready, clusters, skip=skip, gives="clustering alone")  # fmt: skip
add("scan", "ScanIndex.query", lambda index, case: index.query(**CLUSTERS),
    lambda case: rg.ScanIndex(case.graph), clusters, gives="clustering alone")  # fmt: skip


def build_and_iterate(_: None, case: Workload) -> Any:
    graph = case.build()
    rg.pagerank(graph, tolerance=0, max_iterations=1, precision="single", progress=False)
    return graph


def incoming(graph: Any, case: Workload) -> Any:
    """Return the packed arcs of the lists by destination."""
    return pack(graph.csc.neighbors, row_indices(graph.csc))


add("build", "by source", lambda _, case: case.build(), by="source",
    convert=lambda graph, case: pack(row_indices(graph.csr), graph.csr.neighbors))  # fmt: skip
add("build", "by destination", lambda _, case: case.build(layout="csc"), convert=incoming,
    by="destination")  # fmt: skip
add("build and iterate", "pagerank", build_and_iterate, convert=incoming)
