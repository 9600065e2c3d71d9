"""SciPy, on one thread, and the loops over a CSR matrix that cuSPARSE shares."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from pipelines.benchmarks.adapters import (
    DAMPING,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
    products_below,
)
from pipelines.benchmarks.answers import PRECISIONS, jaccard, to_host, tree_depths
from pipelines.benchmarks.graphs import BuildCase, Workload

library = Library("SciPy", "one thread")
MAX_PRODUCTS = 10**9  # multiplications of A @ A, which are the sum of squared degrees


def add_matrix_entries(library: Library, sparse: Any, product: Callable = operator.matmul) -> None:
    """Declare PageRank as array code around a sparse product, the product alone, and builds."""

    def transition_matrix(case: Workload, value_type: type) -> tuple[Any, Any]:
        (sources, destinations), xp = case.arcs, case.xp
        degrees = xp.bincount(sources, minlength=case.vertices)
        weights = (1 / xp.maximum(degrees, 1))[sources].astype(value_type)
        shape = (case.vertices, case.vertices)
        matrix = sparse.csr_matrix((weights, (destinations, sources)), shape=shape)
        matrix.sum_duplicates()  # there are none; cuSPARSE's product requires the flag
        return matrix, xp.flatnonzero(degrees == 0)

    for precision, value_type in PRECISIONS.items():

        @library.add("pagerank", "CSR loop", precision=precision)
        def pagerank(case: Workload, precision: str = precision, value_type: type = value_type):
            matrix, dangling = case.shared(
                (library.name, precision), lambda: transition_matrix(case, value_type)
            )
            xp, vertices = case.xp, case.vertices

            def run(iterations: int | None = None) -> Any:
                values = xp.full(vertices, 1 / vertices, value_type)
                for _ in range(MAX_ITERATIONS if iterations is None else iterations):
                    new_values = product(matrix, values)
                    new_values *= DAMPING
                    mass = values[dangling].sum()
                    new_values += (DAMPING * mass + (1 - DAMPING)) / vertices
                    residual = xp.abs(new_values - values).sum()
                    values = new_values
                    if iterations is None and residual < TOLERANCE[precision]:
                        break
                return values

            return run, lambda values: values

        @library.add("pagerank", "CSR product", precision=precision, note="not PageRank",
                     is_compared=False)  # fmt: skip
        def multiply(case: Workload, precision: str = precision, value_type: type = value_type):
            matrix, _ = case.shared(
                (library.name, precision), lambda: transition_matrix(case, value_type)
            )

            def run(iterations: int | None = None) -> Any:
                values = case.xp.full(case.vertices, 1 / case.vertices, value_type)
                for _ in range(iterations or 1):
                    values = product(matrix, values)
                return values

            return run, lambda values: values

    for by in ("source", "destination"):

        @library.add("build", f"CSR by {by}", by=by)
        def build(case: BuildCase, by: str = by) -> Prepared:
            def run() -> Any:
                xp, ends, vertices = case.xp, [case.source, case.destination], case.vertices
                if case.has_names:
                    names, ids = xp.unique(xp.concatenate(ends), return_inverse=True)
                    ends, vertices = [ids[: case.rows], ids[case.rows :]], names.size
                values = xp.ones(case.rows, np.float32) if case.weight is None else case.weight
                if not case.directed:
                    ends = [xp.concatenate(ends), xp.concatenate(ends[::-1])]
                    values = xp.concatenate([values, values])
                pair = (ends[0], ends[1]) if by == "source" else (ends[1], ends[0])
                matrix = sparse.csr_matrix((values, pair), shape=(vertices, vertices))
                matrix.sum_duplicates()
                return matrix

            def pack(matrix: Any) -> Any:
                degrees = case.xp.diff(matrix.indptr)
                rows = np.repeat(np.arange(degrees.size), to_host(degrees))
                rows = case.xp.asarray(rows)
                columns = matrix.indices.astype(np.int64)
                return rows << 32 | columns if by == "source" else columns << 32 | rows

            return run, pack


def weighted_matrix(case: Workload) -> Any:
    """Return the shared adjacency with weights, or with ones."""
    weights = np.ones(case.arcs[0].size) if case.weight is None else case.arc_weights
    shape = (case.vertices, case.vertices)
    return case.shared("SciPy", lambda: sparse.csr_matrix((weights, case.arcs), shape=shape))


@library.add("bfs", "breadth_first_order", predecessors=True, note="gives no distances")
def bfs(case: Workload) -> Prepared:
    graph = weighted_matrix(case)
    run = lambda: csgraph.breadth_first_order(graph, case.start)  # noqa: E731
    return run, lambda answer: tree_depths(*answer)


@library.add("sssp", "dijkstra", predecessors=True)
def sssp(case: Workload) -> Prepared:
    graph, start = weighted_matrix(case), case.start
    run = lambda: csgraph.dijkstra(graph, indices=start, return_predecessors=True)  # noqa: E731
    return run, lambda answer: answer[0]


@library.add("sssp", "dijkstra", predecessors=False)
def sssp_distances(case: Workload) -> Prepared:
    graph, start = weighted_matrix(case), case.start
    return (lambda: csgraph.dijkstra(graph, indices=start)), np.asarray


@library.add("components", "connected_components")
def components(case: Workload) -> Prepared:
    graph = weighted_matrix(case)
    options = {"connection": "weak"} if case.directed else {"directed": False}
    return (lambda: csgraph.connected_components(graph, **options)[1]), np.asarray


@library.add("strong components", "connected_components")
def strong_components(case: Workload) -> Prepared:
    graph = weighted_matrix(case)
    run = lambda: csgraph.connected_components(graph, connection="strong")[1]  # noqa: E731
    return run, np.asarray


def simple_matrix(case: Workload) -> Any:
    """Return the shared symmetric adjacency without self-loops."""
    shape = (case.vertices, case.vertices)

    def build() -> Any:
        first, second = case.edges
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        return sparse.csr_matrix((np.ones(ends[0].size, np.int32), ends), shape=shape)

    return case.shared("SciPy, simple", build)


def paths(case: Workload) -> Callable[[], Any]:
    """Return the function that counts the common neighbors of each edge."""
    matrix = simple_matrix(case)
    return lambda: (matrix @ matrix).multiply(matrix)


@library.add("triangle_count", "(A @ A).multiply(A)", skip=products_below(MAX_PRODUCTS))
def triangle_count(case: Workload) -> Prepared:
    count = paths(case)
    return (lambda: np.asarray(count().sum(axis=1)).ravel() // 2), np.asarray


@library.add("clustering_coefficient", "(A @ A).multiply(A)", skip=products_below(MAX_PRODUCTS))
def clustering_coefficient(case: Workload) -> Prepared:
    count, degrees = paths(case), np.diff(simple_matrix(case).indptr)
    wedges = np.maximum(degrees * (degrees - 1.0), 1)
    return (lambda: np.asarray(count().sum(axis=1)).ravel() / wedges), np.asarray


@library.add("neighbor_similarity", "(A @ A).multiply(A)", skip=products_below(MAX_PRODUCTS))
def neighbor_similarity(case: Workload) -> Prepared:
    count, degrees = paths(case), np.diff(simple_matrix(case).indptr)

    def run() -> tuple[Any, ...]:
        pairs = sparse.triu(count(), format="coo")
        return pairs.row, pairs.col, jaccard(pairs.data, degrees[pairs.row], degrees[pairs.col])

    return run, lambda answer: case.by_edge(*answer)


add_matrix_entries(library, sparse)
