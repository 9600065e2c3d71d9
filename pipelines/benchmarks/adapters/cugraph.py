"""cuGraph, called through pylibcugraph so that no dataframe layer takes part."""

from __future__ import annotations

from functools import partial
from typing import Any

import cupy
import numpy as np
import pylibcugraph

from pipelines.benchmarks.adapters import DAMPING, Library
from pipelines.benchmarks.answers import PRECISIONS
from pipelines.benchmarks.graphs import Workload

library = Library("cuGraph", "through pylibcugraph")
add = library.add
handle = pylibcugraph.ResourceHandle()


def build(
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


def transposed(case: Workload, dtype: type) -> Any:
    """Return the graph of PageRank, whose precision is that of the weights."""
    weights = case.xp.ones(case.arcs[0].size, dtype)
    return build(*case.arcs, case.vertices, weights, transpose=True)


def whole(case: Workload, dtype: type = np.float32) -> Any:
    weights = None if case.weight is None else case.arc_weights.astype(dtype)
    return build(*case.arcs, case.vertices, weights, symmetric=case.symmetric)


def symmetric(case: Workload) -> Any:
    """Return the graph of both directions of all arcs."""
    return build(*case.arcs, case.vertices, symmetric=True, symmetrize=not case.symmetric)


def simple(case: Workload) -> Any:
    (first, second), join = case.edges, case.xp.concatenate
    return build(join([first, second]), join([second, first]), case.vertices, symmetric=True)


def scatter(answer: tuple[Any, ...], case: Workload) -> Any:
    """Return values in the order of vertex ids."""
    vertices, values = answer[:2]
    ordered = values.copy()
    ordered[vertices] = values
    return ordered


def pagerank(graph: Any, case: Workload, iterations: int) -> Any:
    """Run PageRank for some iterations: no change is below a tolerance of 0."""
    return pylibcugraph.pagerank(
        handle, graph, None, None, None, None, DAMPING, 0.0, iterations, False,
        fail_on_nonconvergence=False,
    )  # fmt: skip


def search(graph: Any, start: Any, predecessors: bool = True, optimizing: bool = False) -> Any:
    """Search from an array of one vertex; return (vertices, distances)."""
    distances, _, vertices = pylibcugraph.bfs(
        handle, graph, start, optimizing, -1, predecessors, False
    )
    return vertices, distances


def bfs(graph: Any, case: Workload, **options: bool) -> Any:
    return search(graph, case.xp.asarray([case.start], np.int32), **options)


def components(graph: Any, case: Workload | None) -> Any:
    return pylibcugraph.weakly_connected_components(
        handle, graph, None, None, None, None, False
    )  # fmt: skip


def build_rows(_: None, case: Workload, **options: bool) -> Any:
    is_undirected = not case.directed
    return build(
        case.source, case.destination, case.vertices, case.weight, symmetric=is_undirected,
        symmetrize=is_undirected, **options,
    )  # fmt: skip


def build_and_iterate(_: None, case: Workload) -> Any:
    graph = build_rows(None, case, transpose=True)
    pagerank(graph, case, 1)
    return graph


def count_arcs(graph: Any, case: Workload) -> int:
    return int(pylibcugraph.out_degrees(handle, graph, None, False)[1].sum())


for precision, dtype in PRECISIONS.items():
    add("pagerank", "renumbered", pagerank, partial(transposed, dtype=dtype), scatter,
        precision=precision)  # fmt: skip
    add("sssp", "sssp",
        lambda graph, case: pylibcugraph.sssp(handle, graph, case.start, np.inf, True, False),
        partial(whole, dtype=dtype), scatter, precision=precision, predecessors=True)  # fmt: skip
for predecessors in (True, False):
    add("bfs", "top-down", partial(bfs, predecessors=predecessors, optimizing=False),
        whole, scatter, predecessors=predecessors)  # fmt: skip
    add("bfs", "direction-optimizing", partial(bfs, predecessors=predecessors, optimizing=True),
        whole, scatter, predecessors=predecessors, skip=lambda case: (
            None if case.symmetric else "not every arc has a reverse arc"))  # fmt: skip
add("components", "weak", components, symmetric, scatter,
    note="the graph is made symmetric before")  # fmt: skip
add("strong components", "strong", lambda graph, case: pylibcugraph.strongly_connected_components(
    handle, graph, None, None, None, None, False), whole, scatter)  # fmt: skip
add("triangle_count", "triangle_count", lambda graph, case: pylibcugraph.triangle_count(
    handle, graph, None, False), simple, scatter)  # fmt: skip
add("core_number", "core_number", lambda graph, case: pylibcugraph.core_number(
    handle, graph, "incoming", False), simple, scatter)  # fmt: skip
add("neighbor_similarity", "Jaccard", lambda graph, case: pylibcugraph.jaccard_coefficients(
    handle, graph, *case.edges, False, False), simple, precision="single",
    convert=lambda answer, case: (  # newer releases also return the pairs, in any order
        case.by_edge(*answer) if isinstance(answer, tuple) else answer))  # fmt: skip
for renumber in (True, False):
    add("build", f"by source, {'' if renumber else 'not '}renumbered",
        partial(build_rows, renumber=renumber), convert=count_arcs, by="source")  # fmt: skip
add("build and iterate", "pagerank", build_and_iterate, convert=count_arcs)
