"""python-graphblas: algorithms as products over semirings, as in LAGraph, on all threads.

References
----------
.. [1] G. Szarnyas et al., "LAGraph: Linear Algebra, Network Analysis Libraries, and the Study of
   Graph Algorithms", 2021, arXiv:2104.01661.
.. [2] Y. Zhang, A. Azad and Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with
   Fast Convergence", 2020, arXiv:1910.05971.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphblas
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, replace, semiring, unary

from pipelines.benchmarks.adapters import (
    DAMPING,
    ITERATIONS,
    MAX_ITERATIONS,
    TOLERANCE,
    Library,
    Prepared,
    products_below,
)
from pipelines.benchmarks.answers import PRECISIONS, jaccard, tree_depths
from pipelines.benchmarks.graphs import BuildCase, Workload

library = Library("python-graphblas", f"{graphblas.ss.config['nthreads']} threads")
PULL_RATIO = 16  # a frontier of more than 1 / 16 of all vertices is pulled into, not pushed from
MAX_PRODUCTS = 2 * 10**10


def pattern(rows: Any, columns: Any, size: int, dtype: type = bool) -> Matrix:
    """Return an iso-valued matrix of ones."""
    return Matrix.from_coo(rows, columns, dtype(1), nrows=size, ncols=size, dtype=dtype)


def simple_matrix(case: Workload) -> Matrix:
    """Return the symmetric adjacency without self-loops."""

    def build() -> Matrix:
        first, second = case.edges
        ends = np.concatenate([first, second]), np.concatenate([second, first])
        return pattern(*ends, case.vertices, np.int64)

    return case.shared("python-graphblas, simple", build)


def adjacencies(case: Workload) -> tuple[Matrix, Matrix]:
    """Return the adjacency and its transpose."""

    def build() -> tuple[Matrix, Matrix]:
        (sources, destinations), size = case.arcs, case.vertices
        adjacency = pattern(sources, destinations, size)
        return adjacency, adjacency if case.symmetric else pattern(destinations, sources, size)

    return case.shared("python-graphblas", build)


for precision, value_type in PRECISIONS.items():

    @library.add("pagerank", "semiring loop", precision=precision, note="plus_second")
    def pagerank(case: Workload, precision: str = precision, dtype: type = value_type) -> Prepared:
        """LAGraph's PageRank_GAP with dangling mass."""

        def build() -> tuple[Matrix, Vector, Vector]:
            (sources, destinations), size = case.arcs, case.vertices
            degrees = np.bincount(sources, minlength=size)
            active, dangling = np.flatnonzero(degrees), np.flatnonzero(degrees == 0)
            return (
                pattern(destinations, sources, size, dtype),
                Vector.from_coo(active, (DAMPING / degrees[active]).astype(dtype), size=size),
                Vector.from_coo(dangling, dtype(1), size=size, dtype=dtype),
            )

        matrix, weights, dangling = case.shared(("python-graphblas", precision), build)
        size = case.vertices

        def run(iterations: int | None = None) -> Vector:
            values = Vector.from_dense(np.full(size, 1 / size, dtype))
            for _ in range(MAX_ITERATIONS if iterations is None else iterations):
                contributions = values.ewise_mult(weights, binary.times).new()
                lost = values.ewise_mult(dangling, binary.first).reduce(monoid.plus).new().value
                new_values = Vector(dtype, size)
                new_values[:] << (DAMPING * (lost or 0) + 1 - DAMPING) / size
                new_values(binary.plus) << matrix.mxv(contributions, semiring.plus_second)
                change = new_values.ewise_mult(values, binary.minus).apply(unary.abs)
                residual = change.new().reduce(monoid.plus).new().value
                values = new_values
                if iterations is None and residual < TOLERANCE[precision]:
                    break
            return values

        return run, lambda values: values.to_dense()


for with_parents in (True, False):

    @library.add("bfs", "push and pull", predecessors=with_parents)
    def bfs(case: Workload, with_parents: bool = with_parents) -> Prepared:
        """LAGraph's BreadthFirstSearch: top-down, or bottom-up for a large frontier."""
        adjacency, transpose = adjacencies(case)
        size, start = case.vertices, case.start
        # The result has parents or levels. The values of a frontier are its own ids, or ones.
        dtype = np.int64 if with_parents else bool
        step = semiring.ss.any_secondi if with_parents else semiring.any_pair

        def run() -> Vector:
            result, frontier = Vector(np.int64, size), Vector(dtype, size)
            result[start], frontier[start] = (start, start) if with_parents else (0, True)
            for level in range(1, size + 1):
                if frontier.nvals * PULL_RATIO > size:
                    frontier(~result.S, replace) << transpose.mxv(frontier, step)
                else:
                    frontier(~result.S, replace) << frontier.vxm(adjacency, step)
                if frontier.nvals == 0:
                    break
                result(frontier.S) << (frontier if with_parents else level)
            result.wait()
            return result

        def distances(answer: Vector) -> np.ndarray:
            values = answer.to_dense(-1)
            if not with_parents:
                return np.where(values < 0, np.inf, values)
            reached = np.flatnonzero(values >= 0)
            return tree_depths(np.concatenate([[start], reached[reached != start]]), values)

        return run, distances


def is_road(case: Workload) -> str | None:
    """Return why Bellman-Ford is left out."""
    return "it takes a product per edge of the longest path" if case.is_road else None


@library.add("sssp", "Bellman-Ford", predecessors=False, skip=is_road)
def sssp(case: Workload) -> Prepared:
    size = case.vertices
    build = lambda: Matrix.from_coo(  # noqa: E731
        *case.arcs, case.arc_weights, nrows=size, ncols=size
    )
    graph = case.shared("python-graphblas, weighted", build)

    def run() -> Vector:
        distances = Vector(np.float64, size)
        distances[case.start] = 0.0
        frontier = distances.dup()
        while frontier.nvals:  # vertices with a new distance relax their edges
            candidates = frontier.vxm(graph, semiring.min_plus).new()
            no_better = candidates.ewise_mult(distances, binary.ge).new()
            frontier(~no_better.V, replace) << candidates
            distances(binary.min) << frontier
        distances.wait()
        return distances

    return run, lambda answer: answer.to_dense(np.inf)


@library.add("components", "FastSV")
def components(case: Workload) -> Prepared:
    def build() -> Matrix:
        matrix = pattern(*case.arcs, case.vertices)
        if not case.symmetric:
            matrix << matrix.ewise_add(matrix.T, monoid.lor)
        return matrix

    graph, size = case.shared("python-graphblas, symmetric", build), case.vertices

    def run() -> Vector:
        ids = np.arange(size + 1)
        parents = Vector.from_dense(ids[:size])
        grandparents, minimum = parents.dup(), parents.dup()
        while True:
            minimum(binary.min) << graph.mxv(grandparents, semiring.min_second)
            to_parents = Matrix.from_csr(ids, parents.to_dense(), True, ncols=size, dtype=bool)
            parents(binary.min) << minimum.vxm(to_parents, semiring.min_first)
            parents(binary.min) << minimum
            parents(binary.min) << grandparents
            previous, grandparents = grandparents, parents[parents.to_dense()].new()
            if grandparents.isequal(previous):
                return grandparents

    return run, lambda answer: answer.to_dense()


def triangles(case: Workload) -> Callable[[], Matrix]:
    """Return the function that counts the triangles of each edge in both directions."""
    matrix = simple_matrix(case)

    def count() -> Matrix:
        counts = Matrix(np.int64, matrix.nrows, matrix.ncols)
        counts(matrix.S) << matrix.mxm(matrix.T, semiring.plus_pair)
        return counts

    return count


def triangles_of_vertices(case: Workload) -> Callable[[], np.ndarray]:
    """Return the function that counts pairs of adjacent neighbors, as LAGraph's LCC does."""
    matrix = simple_matrix(case)
    upper = case.shared("python-graphblas, upper", lambda: matrix.select("triu").new())

    def count() -> np.ndarray:
        counts = Matrix(np.int64, matrix.nrows, matrix.ncols)
        counts(matrix.S) << matrix.mxm(upper.T, semiring.plus_pair)
        return counts.reduce_rowwise(monoid.plus).new().to_dense(0)

    return count


@library.add("triangle_count", "plus_pair, masked", skip=products_below(MAX_PRODUCTS))
def triangle_count(case: Workload) -> Prepared:
    return triangles_of_vertices(case), np.asarray


@library.add("clustering_coefficient", "plus_pair, masked", skip=products_below(MAX_PRODUCTS))
def clustering_coefficient(case: Workload) -> Prepared:
    count, degrees = triangles_of_vertices(case), case.degrees
    wedges = np.maximum(degrees * (degrees - 1.0), 1)
    return (lambda: 2 * count() / wedges), np.asarray


@library.add("neighbor_similarity", "plus_pair, masked", skip=products_below(MAX_PRODUCTS))
def neighbor_similarity(case: Workload) -> Prepared:
    count, degrees = triangles(case), case.degrees

    def run() -> tuple[np.ndarray, ...]:
        first, second, counts = count().select("triu").new().to_coo()
        return first, second, jaccard(counts, degrees[first], degrees[second])

    return run, lambda answer: case.by_edge(*answer)


@library.add("core_number", "peeling by products", skip=products_below(10**9))
def core_number(case: Workload) -> Prepared:
    matrix, size = simple_matrix(case), case.vertices

    def run() -> np.ndarray:
        degrees = matrix.reduce_rowwise(monoid.plus).new()
        cores, k = np.zeros(size, np.int64), 0
        while degrees.nvals:
            k = max(k, degrees.reduce(monoid.min).new().value)
            removed = degrees.select("<=", k).new()
            while removed.nvals:
                cores[removed.to_coo(values=False)[0]] = k
                degrees(~removed.S, replace) << degrees
                lost = matrix.mxv(removed, semiring.plus_pair).new()
                degrees(degrees.S, binary.minus) << lost
                removed = degrees.select("<=", k).new()
        return cores

    return run, np.asarray


@library.add("label_propagation", "sorted tuples", note="labels of neighbors, sorted by NumPy")
def label_propagation(case: Workload) -> Prepared:
    """LAGraph's CDLP."""

    def build() -> Matrix:
        (sources, destinations), size = case.arcs, case.vertices
        if case.directed:  # an edge in both directions counts twice
            sources, destinations = (
                np.concatenate([sources, destinations]), np.concatenate([destinations, sources]),
            )  # fmt: skip
        values = np.ones(sources.size, np.int64)
        return Matrix.from_coo(
            sources, destinations, values, nrows=size, ncols=size, dup_op=binary.plus
        )

    matrix = case.shared("python-graphblas, labels", build)

    def run() -> np.ndarray:
        labels = np.arange(case.vertices)
        vertices, neighbors, counts = matrix.to_coo()
        for _ in range(ITERATIONS):
            keys = vertices.astype(np.int64) * case.vertices + labels[neighbors]
            order = np.argsort(keys, kind="stable")
            starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
            frequencies = np.add.reduceat(counts[order], starts)
            owners, candidates = np.divmod(keys[order][starts], case.vertices)
            best = np.lexsort([candidates, -frequencies, owners])  # the smallest of the frequent
            first = np.flatnonzero(np.diff(owners[best], prepend=-1))
            labels = labels.copy()
            labels[owners[best][first]] = candidates[best][first]
        return labels

    return run, np.asarray


@library.add("build", "CSR by source", by="source")
def build_matrix(case: BuildCase) -> Prepared:
    def run() -> Matrix:
        ends, vertices = [case.source, case.destination], case.vertices
        if case.has_names:
            names, ids = np.unique(np.concatenate(ends), return_inverse=True)
            ends, vertices = [ids[: case.rows], ids[case.rows :]], names.size
        values = np.ones(case.rows, np.float32) if case.weight is None else case.weight
        if not case.directed:
            ends = [np.concatenate(ends), np.concatenate(ends[::-1])]
            values = np.concatenate([values, values])
        matrix = Matrix.from_coo(*ends, values, nrows=vertices, ncols=vertices, dup_op=binary.plus)
        matrix.wait()
        return matrix

    def pack(matrix: Matrix) -> Any:
        rows, columns, _ = matrix.to_coo(values=False, sort=True)
        return rows.astype(np.int64) << 32 | columns.astype(np.int64)

    return run, pack
