"""rapidsgraph: its call of each task, and every method on a ready Graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.adapters import CLUSTERS, DAMPING, Library, products_below
from pipelines.benchmarks.answers import PRECISIONS, clusters_and_cores, result_array
from pipelines.benchmarks.graphs import Workload, pack
from rapidsgraph.graph.csr import row_indices

COUNTS = "common neighbors"  # beginning of the keys by which a Graph caches the counts of edges
STEPS = "steps of pruned SCAN"  # the key by which a Graph caches how much has been pruned
library = Library("rapidsgraph")


@dataclass(frozen=True)
class Call:
    """A function of rapidsgraph, its options, and the column of its result that is compared.

    It takes graphs, frames of any library, and layered edge lists.
    """

    function: str
    column: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def starts(self, case: Workload) -> tuple[int, ...]:
        """Return the arguments after the graph: of searches, the vertex where they start."""
        return (case.start,) if self.column == "distance" else ()

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return getattr(rg, self.function)(*arguments, **{**self.options, **options})

    def values(self, result: Any, xp: Any = np) -> Any:
        """Return a result in the form in which it is compared."""
        result = result.compute() if hasattr(result, "compute") else result
        if self.column == "cluster":
            return clusters_and_cores(result)
        values = result_array(result, self.column, xp)
        return xp.where(values < 0, np.inf, values) if self.column == "distance" else values


CALLS = {
    "pagerank": Call("pagerank", "pagerank",
                     {"damping": DAMPING, "tolerance": 0, "progress": False}),
    "bfs": Call("bfs", "distance"),
    "sssp": Call("sssp", "distance"),
    "components": Call("connected_components", "component"),
    "strong components": Call("connected_components", "component", {"strong": True}),
    "label_propagation": Call("label_propagation", "label"),
    "triangle_count": Call("triangle_count", "triangles"),
    "clustering_coefficient": Call("clustering_coefficient", "coefficient"),
    "core_number": Call("core_number", "core"),
    "neighbor_similarity": Call("neighbor_similarity", "jaccard"),
    "similarity": Call("structural_similarity", "similarity"),
    "scan": Call("scan", "cluster", CLUSTERS),
}  # fmt: skip


def forget_counts(graph: Any) -> None:
    """Remove the common neighbors that a Graph has cached, and the steps of earlier SCANs."""
    for key in [key for key in graph._cache if key.startswith((COUNTS, STEPS))]:
        del graph._cache[key]


def add(task: str, implementation: str, options: Mapping[str, Any], **columns: Any) -> None:
    """Add a call on a Graph, for which common neighbors are counted again."""
    call = CALLS[task]

    def run(arguments: Any, case: Workload, *iterations: int) -> Any:
        forget_counts(arguments[0])
        limits = zip(["max_iterations"], iterations, strict=False)
        return call(*arguments, **options, **dict(limits))

    library.add(task, implementation, run, lambda case: (case.graph, *call.starts(case)),
                lambda answer, case: call.values(answer, case.xp), **columns)  # fmt: skip


for precision in PRECISIONS:
    for method in ("auto", "edge", "node", "contribution", "warp"):
        options = {"method": method, "precision": precision}
        add("pagerank", method, options, precision=precision)
for predecessors in (True, False):
    for task in ("bfs", "sssp"):
        add(task, task, {"predecessors": predecessors}, predecessors=predecessors)
for task in (
    "components", "strong components", "label_propagation", "triangle_count",
    "clustering_coefficient", "core_number", "neighbor_similarity",
):  # fmt: skip
    add(task, CALLS[task].function, {})


def cluster_counted(graph: Any, case: Workload, method: str) -> Any:
    graph.cached(f"{COUNTS}, {method}", lambda: case.common_neighbors)
    return rg.scan(graph, **CLUSTERS, method=method)


for method in ("auto", "gpuscan"):  # the latter compares whole lists
    skip = products_below(5 * 10**9) if method == "gpuscan" else lambda case: None
    add("scan", method, {"method": method}, skip=skip, gives="similarity and clustering")
    library.add("scan", method, partial(cluster_counted, method=method), lambda case: case.graph,
                lambda answer, case: clusters_and_cores(answer), skip=skip,
                gives="clustering alone")  # fmt: skip
library.add("scan", "ScanIndex.query", lambda index, case: index.query(**CLUSTERS),
            lambda case: rg.ScanIndex(case.graph),
            lambda answer, case: clusters_and_cores(answer), gives="clustering alone")  # fmt: skip


def build_and_iterate(_: None, case: Workload, layout: str) -> Any:
    """Run an iteration on a new graph: by destination, as `rg.pagerank` builds that of a frame."""
    graph = case.build(layout=layout)
    rg.pagerank(graph, tolerance=0, max_iterations=1, precision="single", progress=False)
    return graph


def incoming(graph: Any, case: Workload) -> Any:
    """Return the packed arcs of the lists by destination."""
    return pack(graph.csc.neighbors, row_indices(graph.csc))


library.add("build", "by source", lambda _, case: case.build(), by="source",
            convert=lambda graph, case: pack(row_indices(graph.csr), graph.csr.neighbors)
            )  # fmt: skip
library.add("build", "by destination", lambda _, case: case.build(layout="csc"), convert=incoming,
            by="destination")  # fmt: skip
for layout, kind in (("csc", "frame"), ("csr", "Graph")):
    library.add("build and iterate", f"pagerank of a {kind}",
                partial(build_and_iterate, layout=layout), convert=incoming)  # fmt: skip
