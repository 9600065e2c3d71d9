"""python-graphblas: algorithms as products over semirings, as in LAGraph, on all threads.

Szarnyas et al., "LAGraph: Linear Algebra, Network Analysis Libraries, and the Study of Graph
Algorithms", 2021, arXiv:2104.01661; components by FastSV: Zhang, Azad and Hu, arXiv:1910.05971.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import graphblas
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, replace, semiring, unary

from pipelines.benchmarks.adapters import DAMPING, Library, products_below
from pipelines.benchmarks.answers import PRECISIONS, tree_depths
from pipelines.benchmarks.graphs import Workload

library = Library("python-graphblas", f"{graphblas.ss.config['nthreads']} threads")
add = library.add
PULL_RATIO = 16  # a frontier of more than 1 / 16 of all vertices is pulled into, not pushed from


def matrix_of(case: Workload, ends: Any, value: Any = True) -> Matrix:
    return Matrix.from_coo(*ends, value, nrows=case.vertices, ncols=case.vertices)


def adjacencies(case: Workload) -> tuple[Matrix, Matrix]:
    adjacency = matrix_of(case, case.arcs)
    return adjacency, adjacency if case.symmetric else matrix_of(case, case.arcs[::-1])


def symmetric(case: Workload) -> Matrix:
    adjacency, transpose = case.shared(adjacencies)
    return adjacency if case.symmetric else adjacency.ewise_add(transpose, monoid.lor).new()


def simple(case: Workload) -> Matrix:
    first, second = case.edges
    return matrix_of(case, (np.append(first, second), np.append(second, first)), np.int64(1))


def halves(case: Workload) -> tuple[Matrix, Matrix]:
    """Return the symmetric adjacency, and its upper triangle."""
    matrix = case.shared(simple)
    return matrix, matrix.select("triu").new()


def transition(case: Workload, dtype: type) -> tuple[Matrix, Vector, Vector]:
    """Return the transpose, the damped inverse degrees, and the dangling vertices."""
    degrees = np.bincount(case.arcs[0], minlength=case.vertices)
    active, dangling = np.flatnonzero(degrees), np.flatnonzero(degrees == 0)
    return (
        matrix_of(case, case.arcs[::-1], dtype(1)),
        Vector.from_coo(active, (DAMPING / degrees[active]).astype(dtype), size=case.vertices),
        Vector.from_coo(dangling, dtype(1), size=case.vertices, dtype=dtype),
    )


def pagerank(graph: Any, case: Workload, iterations: int) -> Vector:
    """Run LAGraph's PageRank_GAP with dangling mass."""
    (matrix, weights, dangling), size = graph, case.vertices
    values = Vector.from_dense(np.full(size, 1 / size, matrix.dtype.np_type))
    for _ in range(iterations):
        contributions = values.ewise_mult(weights, binary.times).new()
        lost = values.ewise_mult(dangling, binary.first).reduce(monoid.plus).new().value
        new_values = Vector(values.dtype, size)
        new_values[:] << (DAMPING * (lost or 0) + 1 - DAMPING) / size
        new_values(binary.plus) << matrix.mxv(contributions, semiring.plus_second)
        change = new_values.ewise_mult(values, binary.minus).apply(unary.abs)
        change.new().reduce(monoid.plus).new()  # which a caller would look at
        values = new_values
    return values


def bfs(graph: Any, case: Workload, with_parents: bool) -> Vector:
    """Run LAGraph's BreadthFirstSearch: top-down, or bottom-up for a large frontier.

    The result has parents or levels. The values of a frontier are its own ids, or ones.
    """
    (adjacency, transpose), size, start = graph, case.vertices, case.start
    step = semiring.ss.any_secondi if with_parents else semiring.any_pair
    result, frontier = Vector(np.int64, size), Vector(np.int64 if with_parents else bool, size)
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


def depths(answer: Vector, case: Workload) -> np.ndarray:
    values, start = answer.to_dense(-1), case.start
    reached = np.flatnonzero(values >= 0)
    return tree_depths(np.append([start], reached[reached != start]), values)


def components(graph: Matrix, case: Workload) -> Vector:
    ids = np.arange(case.vertices + 1)
    parents = Vector.from_dense(ids[:-1])
    grandparents, minimum = parents.dup(), parents.dup()
    while True:
        minimum(binary.min) << graph.mxv(grandparents, semiring.min_second)
        to_parents = Matrix.from_csr(ids, parents.to_dense(), True, ncols=parents.size, dtype=bool)
        parents(binary.min) << minimum.vxm(to_parents, semiring.min_first)
        parents(binary.min) << minimum
        parents(binary.min) << grandparents
        previous, grandparents = grandparents, parents[parents.to_dense()].new()
        if grandparents.isequal(previous):
            return grandparents


def masked_product(matrix: Matrix, other: Matrix) -> Matrix:
    """Return the products of rows with rows of another matrix, at the edges."""
    counts = Matrix(np.int64, matrix.nrows, matrix.ncols)
    counts(matrix.S) << matrix.mxm(other.T, semiring.plus_pair)
    return counts


def triangles(graph: tuple[Matrix, Matrix], case: Workload) -> np.ndarray:
    """Count pairs of adjacent neighbors, as LAGraph's LCC does."""
    return masked_product(*graph).reduce_rowwise(monoid.plus).new().to_dense(0)


def similarities(matrix: Matrix, case: Workload) -> tuple[np.ndarray, ...]:
    """Return the ends and the Jaccard coefficients of edges with common neighbors."""
    first, second, counts = masked_product(matrix, matrix).select("triu").new().to_coo()
    return first, second, case.jaccard(first, second, counts)


def dense(answer: Vector, case: Workload) -> np.ndarray:
    """Return a vector, with -1 where it has no value."""
    return answer.to_dense(-1)


for precision, dtype in PRECISIONS.items():
    add("pagerank", "semiring loop", pagerank, partial(transition, dtype=dtype), dense,
        precision=precision, note="plus_second")  # fmt: skip
for predecessors in (True, False):
    add("bfs", "push and pull", partial(bfs, with_parents=predecessors), adjacencies,
        depths if predecessors else dense, predecessors=predecessors)  # fmt: skip
add("components", "FastSV", components, symmetric, dense)
skip = products_below(2 * 10**10)
add("triangle_count", "plus_pair, masked", triangles, halves, skip=skip)
add("clustering_coefficient", "plus_pair, masked",
    lambda graph, case: case.coefficients(triangles(graph, case)), halves, skip=skip)  # fmt: skip
add("neighbor_similarity", "plus_pair, masked", similarities, simple,
    lambda answer, case: case.by_edge(*answer), skip=skip)  # fmt: skip
