"""cuGraph, called through pylibcugraph so that no dataframe layer takes part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cupy
import numpy as np
import pylibcugraph

from pipelines.benchmarks.adapters import (
    DAMPING,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
    has_gaps,
)
from pipelines.benchmarks.answers import PRECISIONS
from pipelines.benchmarks.graphs import BuildCase, Workload

library = Library("cuGraph", "through pylibcugraph")
handle = pylibcugraph.ResourceHandle()
FEW = 10  # iterations of PageRank at most: values that no longer change would end a run


def build_graph(
    sources, destinations, vertices=None, weights=None, *, renumber=True, transpose=False,
    symmetric=False, symmetrize=False,
):  # fmt: skip
    """Return an SGGraph of device arrays; `vertices` includes isolated ones below this number."""
    return pylibcugraph.SGGraph(
        handle,
        pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False),
        sources,
        destinations,
        weight_array=weights,
        store_transposed=transpose,
        renumber=renumber,
        do_expensive_check=False,
        vertices_array=None if vertices is None else cupy.arange(vertices, dtype=np.int32),
        symmetrize=symmetrize,
    )


def scatter(answer: tuple[Any, Any]) -> Any:
    """Return values in the order of vertex ids."""
    vertices, values = answer
    ordered = values.copy()
    ordered[vertices] = values
    return ordered


for precision, value_type in PRECISIONS.items():

    @library.add("pagerank", "renumbered", precision=precision)
    def pagerank(case: Workload, precision: str = precision, dtype: type = value_type) -> Prepared:
        weights = case.xp.ones(case.arcs[0].size, dtype)
        build = lambda: build_graph(*case.arcs, case.vertices, weights, transpose=True)  # noqa: E731
        graph = case.shared(("cuGraph", precision), build)

        def run(iterations: int | None = None) -> Any:
            tolerance = TOLERANCE[precision] if iterations is None else 1e-30
            answer = pylibcugraph.pagerank(
                handle, graph, None, None, None, None, DAMPING, tolerance,
                iterations or MAX_ITERATIONS, False, fail_on_nonconvergence=False,
            )  # fmt: skip
            return answer[:2]

        run.max_iterations = FEW  # type: ignore[attr-defined]
        return run, scatter


def search_graph(case: Workload, dtype: type) -> Any:
    """Return the graph of searches, with weights of a type."""
    weights = None if case.weight is None else case.arc_weights.astype(dtype)
    build = lambda: build_graph(  # noqa: E731
        *case.arcs, case.vertices, weights, symmetric=case.symmetric
    )
    return case.shared(("cuGraph, searches", dtype), build)


def is_directed(case: Workload) -> str | None:
    """Return why a direction-optimizing search is left out."""
    return None if case.symmetric else "not every arc has a reverse arc"


for name in ("top-down", "direction-optimizing"):
    for predecessors in (True, False):
        skip = is_directed if name == "direction-optimizing" else None

        @library.add("bfs", name, predecessors=predecessors, skip=skip)
        def bfs(case: Workload, name: str = name, predecessors: bool = predecessors) -> Prepared:
            graph, optimizes = search_graph(case, np.float32), name == "direction-optimizing"
            start = case.xp.asarray([case.start], np.int32)

            def run() -> Any:
                distances, _, vertices = pylibcugraph.bfs(
                    handle, graph, start, optimizes, -1, predecessors, False
                )
                return vertices, distances

            return run, scatter


for precision, value_type in PRECISIONS.items():

    @library.add("sssp", "sssp", precision=precision, predecessors=True)
    def sssp(case: Workload, dtype: type = value_type) -> Prepared:
        graph, start = search_graph(case, dtype), case.start
        run = lambda: pylibcugraph.sssp(handle, graph, start, np.inf, True, False)[:2]  # noqa: E731
        return run, scatter


def symmetric_graph(case: Workload) -> Any:
    """Return the graph of both directions of all arcs."""
    both = case if case.symmetric else replace(case, directed=False)
    build = lambda: build_graph(*both.arcs, both.vertices, symmetric=True)  # noqa: E731
    return case.shared("cuGraph, symmetric", build)


def simple_graph(case: Workload) -> Any:
    """Return the undirected graph without self-loops."""

    def build() -> Any:
        (first, second), xp = case.edges, case.xp
        ends = xp.concatenate([first, second]), xp.concatenate([second, first])
        return build_graph(*ends, case.vertices, symmetric=True)

    return case.shared("cuGraph, simple", build)


@library.add("components", "weak", note="the graph is made symmetric before")
def components(case: Workload) -> Prepared:
    graph, find = symmetric_graph(case), pylibcugraph.weakly_connected_components
    return (lambda: find(handle, graph, None, None, None, None, False)), scatter


@library.add("strong components", "strong")
def strong_components(case: Workload) -> Prepared:
    graph, find = search_graph(case, np.float32), pylibcugraph.strongly_connected_components
    return (lambda: find(handle, graph, None, None, None, None, False)), scatter


@library.add("triangle_count", "triangle_count")
def triangle_count(case: Workload) -> Prepared:
    graph = simple_graph(case)
    return (lambda: pylibcugraph.triangle_count(handle, graph, None, False)), scatter


@library.add("core_number", "core_number")
def core_number(case: Workload) -> Prepared:
    graph = simple_graph(case)
    return (lambda: pylibcugraph.core_number(handle, graph, "incoming", False)), scatter


@library.add("neighbor_similarity", "Jaccard", precision="single")
def neighbor_similarity(case: Workload) -> Prepared:
    graph, pairs = simple_graph(case), case.edges
    run = lambda: pylibcugraph.jaccard_coefficients(  # noqa: E731
        handle, graph, *pairs, False, False
    )
    # Newer releases also return the pairs, in any order.
    return run, lambda a: case.by_edge(*a) if isinstance(a, tuple) else a


for by in ("source", "destination"):
    for renumber in (True, False):
        name = f"by {by}, {'' if renumber else 'not '}renumbered"

        @library.add("build", name, by=by, skip=None if renumber else has_gaps)
        def build(case: BuildCase, by: str = by, renumber: bool = renumber) -> Prepared:
            def run() -> Any:
                return build_graph(
                    case.source, case.destination, None if case.has_names else case.vertices,
                    case.weight, renumber=renumber, transpose=by == "destination",
                    symmetric=not case.directed, symmetrize=not case.directed,
                )  # fmt: skip

            def count_arcs(graph: Any) -> int:
                return int(pylibcugraph.out_degrees(handle, graph, None, False)[1].sum())

            return run, count_arcs
