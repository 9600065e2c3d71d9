"""rapidsgraph: every method on a ready Graph, and layered edge lists in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.adapters import (
    DAMPING,
    ITERATIONS,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
    products_below,
)
from pipelines.benchmarks.answers import EPSILON, MU, PRECISIONS, column_array
from pipelines.benchmarks.graphs import BuildCase, Workload
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import build_graph

library = Library("rapidsgraph")
METHODS = ("auto", "edge", "node", "contribution", "warp")
COUNTS = "common neighbors"  # beginning of the keys by which a Graph caches the counts of edges
MAX_COMPARED = 5 * 10**9  # squared degrees for method "gpuscan", which compares whole lists


def pagerank_of(graph: Any, case: Workload, iterations: int | None = None, **options: Any) -> Any:
    """Run PageRank for some iterations, or until it converges."""
    limits = {"tolerance": 0, "max_iterations": iterations}
    if iterations is None:
        tolerance = TOLERANCE[options["precision"]]
        limits = {"tolerance": tolerance, "max_iterations": MAX_ITERATIONS}
    return rg.pagerank(graph, damping=DAMPING, progress=False, **limits, **options)["pagerank"]


def layered_list(case: Workload) -> Any:
    """Return the layered edge list of the start of searches."""
    build = lambda: rg.LayeredEdgeList.build(case.graph, case.start)  # noqa: E731
    return case.shared("rapidsgraph, layered", build)


for precision in PRECISIONS:
    for method in METHODS:

        @library.add("pagerank", method, precision=precision,
                     call=lambda graph, case, m=method, p=precision: pagerank_of(
                         graph, case, 1, method=m, precision=p))  # fmt: skip
        def pagerank(case: Workload, method: str = method, precision: str = precision) -> Prepared:
            graph = case.shared("rapidsgraph", case.build)
            options = {"method": method, "precision": precision}
            pagerank_of(graph, case, 1, **options)  # builds a layout, if the method has one
            return partial(pagerank_of, graph, case, **options), column


@library.add("pagerank", "layered", note="of a layered edge list")
def layered_pagerank(case: Workload) -> Prepared:
    return partial(pagerank_of, layered_list(case), case, precision="double"), column


def column(values: Any) -> Any:
    """Return a column as an array, with infinity for nulls."""
    if hasattr(values, "fillna"):
        values = values.astype(np.float64).fillna(np.inf).values
    return values


def distances(answer: Any) -> Any:
    """Return distances as float64, infinity where unreached, which is -1 in arrays."""
    values = column(answer["distance"]).astype(np.float64)
    values[values < 0] = np.inf
    return values


def add_call(
    task: str,
    name: str,
    call: Callable[[Any, Workload], Any],
    convert: Callable[[Any], Any],
    *,
    clear: bool = False,
    **options: Any,
) -> None:
    """Declare a call on a ready Graph; `clear` empties its cache of counts before each run."""

    @library.add(task, name, call=call, **options)
    def prepare(case: Workload) -> Prepared:
        graph = case.shared("rapidsgraph", case.build)

        def run() -> Any:
            for key in [key for key in graph._cache if clear and key.startswith(COUNTS)]:
                del graph._cache[key]
            return call(graph, case)

        return run, convert


for predecessors in (True, False):
    for task in ("bfs", "sssp"):
        add_call(task, task, lambda graph, case, task=task, p=predecessors: getattr(rg, task)(
            graph, case.start, predecessors=p), distances, predecessors=predecessors)  # fmt: skip

for task in ("bfs", "sssp"):

    @library.add(task, "layered", predecessors=True, note="of a layered edge list")
    def layered_search(case: Workload, task: str = task) -> Prepared:
        return partial(getattr(rg, task), layered_list(case)), distances


add_call("components", "connected_components", lambda graph, case: rg.connected_components(graph),
         lambda answer: column_array(answer, "component"))  # fmt: skip
add_call("strong components", "connected_components",
         lambda graph, case: rg.connected_components(graph, strong=True),
         lambda answer: column_array(answer, "component"))  # fmt: skip
for task, name in (
    ("triangle_count", "triangles"),
    ("clustering_coefficient", "coefficient"),
    ("core_number", "core"),
):
    add_call(task, task, lambda graph, case, task=task: getattr(rg, task)(graph),
             lambda answer, name=name: column_array(answer, name), clear=True)  # fmt: skip
add_call("label_propagation", "label_propagation",
         lambda graph, case: rg.label_propagation(graph, iterations=ITERATIONS),
         lambda answer: column_array(answer, "label"))  # fmt: skip
add_call("neighbor_similarity", "neighbor_similarity",
         lambda graph, case: rg.neighbor_similarity(graph, kind="jaccard"),
         lambda answer: column_array(answer, "jaccard"), clear=True)  # fmt: skip

for method in ("auto", "gpuscan"):
    skip = products_below(MAX_COMPARED) if method == "gpuscan" else None
    add_call("similarity", method,
             lambda graph, case, m=method: rg.structural_similarity(graph, method=m),
             lambda answer: column_array(answer, "similarity"), clear=True, skip=skip,
             gives="similarity")  # fmt: skip
    add_call("scan", method,
             lambda graph, case, m=method: rg.scan(graph, epsilon=EPSILON, mu=MU, method=m),
             lambda answer: answer, clear=True, skip=skip,
             gives="similarity and clustering")  # fmt: skip

    @library.add("scan", method, skip=skip, gives="clustering alone")
    def cluster(case: Workload, method: str = method) -> Prepared:
        graph, options = case.shared("rapidsgraph", case.build), {"epsilon": EPSILON, "mu": MU}

        def run() -> Any:
            graph.cached(f"{COUNTS}, {method}", lambda: case.common_neighbors)
            return rg.scan(graph, **options, method=method)

        return run, lambda answer: answer


@library.add("scan", "ScanIndex.query", note="build is that of the index", gives="clustering alone")
def query(case: Workload) -> Prepared:
    index = case.shared("rapidsgraph, index", lambda: rg.ScanIndex(case.graph))
    return (lambda: index.query(EPSILON, MU)), lambda answer: answer


@library.add("build", "by source", by="source")
def build(case: BuildCase) -> Prepared:
    def pack(graph: Any) -> Any:
        csr = graph.csr
        return row_indices(csr).astype(np.int64) << 32 | csr.neighbors

    return case.build, pack


@library.add("build", "by destination", by="destination", note="vertices are not given")
def build_by_destination(case: BuildCase) -> Prepared:
    """Build as rg.pagerank(frame) does; vertices without edges are unknown."""

    def pack(graph: Any) -> Any:
        csc, names = graph.csc, case.xp.asarray(graph.vertices["vertex"])
        sources, destinations = csc.neighbors, row_indices(csc)
        if not case.has_names:
            sources, destinations = names[sources], names[destinations]
        return sources.astype(np.int64) << 32 | destinations.astype(np.int64)

    return (lambda: build_graph(case.frame, layout="csc", directed=case.directed)), pack
