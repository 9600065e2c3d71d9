"""python-graphblas: each algorithm as products over semirings, as in LAGraph, on all threads.

References
----------
.. [1] G. Szarnyas et al., "LAGraph: Linear Algebra, Network Analysis Libraries, and the Study of
   Graph Algorithms", 2021, arXiv:2104.01661.
.. [2] Y. Zhang, A. Azad and Z. Hu, "FastSV: A Distributed-Memory Connected Component Algorithm with
   Fast Convergence", 2020, arXiv:1910.05971.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import graphblas
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, replace, semiring, unary

from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_ITERATIONS,
    PRECISIONS,
    TOLERANCE,
    BuildAdapter,
    PageRankAdapter,
    ScanAdapter,
    TraversalAdapter,
    compare_triangles,
    tree_depths,
)
from pipelines.benchmarks.adapters.rapidsgraph import MAX_COMPARED
from pipelines.benchmarks.adapters.scipy import CsrBuild
from pipelines.benchmarks.graphs import BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

LIBRARY = "python-graphblas"
PULL_RATIO = 16  # a frontier of more than 1 / 16 of all vertices is pulled into, not pushed from


def num_threads() -> str:
    """Return the number of threads as text for notes."""
    return f"{graphblas.ss.config['nthreads']} threads"


def pattern_matrix(rows: Array, columns: Array, size: int, dtype: type = bool) -> Matrix:
    """Return an iso-valued matrix of ones."""
    return Matrix.from_coo(rows, columns, dtype(1), nrows=size, ncols=size, dtype=dtype)


class GraphBlasPageRank(PageRankAdapter):
    """LAGraph's PageRank_GAP with dangling mass."""

    library = LIBRARY

    def __init__(self, precision: str) -> None:
        super().__init__("semiring loop", precision)
        self.note = f"plus_second; product, sinks, teleport, change; {num_threads()}"

    def prepare(self, workload: Workload) -> tuple[Matrix, Vector, Vector]:
        """Return (transposed adjacency, damping by out-degree, dangling vertices)."""
        (sources, destinations), size = workload.arcs, workload.vertices
        degrees = np.bincount(sources, minlength=size)
        active, dangling = np.flatnonzero(degrees), np.flatnonzero(degrees == 0)
        weights = (DAMPING / degrees[active]).astype(self.value_type)
        return (
            pattern_matrix(destinations, sources, size, self.value_type),
            Vector.from_coo(active, weights, size=size),
            Vector.from_coo(dangling, self.value_type(1), size=size, dtype=self.value_type),
        )

    def iterate(self, state: Any, iterations: int) -> Vector:
        return self._loop(state, iterations, 0)

    def solve(self, state: Any) -> Vector:
        return self._loop(state, MAX_ITERATIONS, TOLERANCE[self.precision])

    def _loop(self, state: Any, iterations: int, tolerance: float) -> Vector:
        matrix, weights, dangling = state
        size = matrix.nrows
        values = Vector.from_dense(np.full(size, 1 / size, self.value_type))
        for _ in range(iterations):
            contributions = values.ewise_mult(weights, binary.times).new()
            mass = values.ewise_mult(dangling, binary.first).reduce(monoid.plus).new().value or 0
            new_values = Vector(self.value_type, size)
            new_values[:] << (DAMPING * mass + 1 - DAMPING) / size
            new_values(binary.plus) << matrix.mxv(contributions, semiring.plus_second)
            change = new_values.ewise_mult(values, binary.minus).apply(unary.abs)
            residual = change.new().reduce(monoid.plus).new().value
            values = new_values
            if tolerance and residual < tolerance:
                break
        return values

    def by_vertex(self, answer: Vector) -> np.ndarray:
        return answer.to_dense()


class GraphBlasTraversal(TraversalAdapter):
    """Base of the traversals; the adapters of a task share a matrix."""

    library = LIBRARY

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.graph_key = self.task
        self.note = "; ".join(filter(None, [self.note, num_threads()]))


class GraphBlasBfs(GraphBlasTraversal):
    """LAGraph's BreadthFirstSearch: top-down, or bottom-up for a large frontier."""

    def prepare(self, workload: Workload) -> tuple[Matrix, Matrix]:
        """Return the adjacency and its transpose."""
        (sources, destinations), size = workload.arcs, workload.vertices
        adjacency = pattern_matrix(sources, destinations, size)
        if workload.symmetric:
            return adjacency, adjacency
        return adjacency, pattern_matrix(destinations, sources, size)

    def run(self, graph: tuple[Matrix, Matrix], workload: Workload) -> Vector:
        adjacency, transpose = graph
        size, start = workload.vertices, workload.start
        # The result has parents or levels. The values of a frontier are its own ids, or ones.
        dtype = np.int64 if self.predecessors else bool
        step = semiring.ss.any_secondi if self.predecessors else semiring.any_pair
        result, frontier = Vector(np.int64, size), Vector(dtype, size)
        result[start], frontier[start] = (start, start) if self.predecessors else (0, True)
        for level in range(1, size + 1):
            if frontier.nvals * PULL_RATIO > size:
                frontier(~result.S, replace) << transpose.mxv(frontier, step)
            else:
                frontier(~result.S, replace) << frontier.vxm(adjacency, step)
            if frontier.nvals == 0:
                break
            result(frontier.S) << (frontier if self.predecessors else level)
        result.wait()
        return result

    def by_vertex(self, answer: Vector, workload: Workload) -> Array:
        values = answer.to_dense(-1)
        if self.predecessors:
            reached = np.flatnonzero(values >= 0)
            reached = reached[reached != workload.start]
            return tree_depths(np.concatenate([[workload.start], reached]), values)
        return np.where(values < 0, np.inf, values)


class GraphBlasSssp(GraphBlasTraversal):
    """Bellman-Ford: vertices with a new distance relax their edges until nothing changes."""

    def skip_reason(self, graph: Workload) -> str | None:
        reason = super().skip_reason(graph)
        if reason is None and graph.is_road:
            reason = "it takes one product per edge of the longest path, and roads are long"
        return reason

    def prepare(self, workload: Workload) -> Matrix:
        size = workload.vertices
        return Matrix.from_coo(*workload.arcs, workload.arc_weights, nrows=size, ncols=size)

    def run(self, graph: Matrix, workload: Workload) -> Vector:
        distances = Vector(np.float64, graph.nrows)
        distances[workload.start] = 0.0
        frontier = distances.dup()
        while frontier.nvals:
            candidates = frontier.vxm(graph, semiring.min_plus).new()
            no_better = candidates.ewise_mult(distances, binary.ge).new()
            frontier(~no_better.V, replace) << candidates
            distances(binary.min) << frontier
        distances.wait()
        return distances

    def by_vertex(self, answer: Vector, workload: Workload) -> Array:
        return answer.to_dense(np.inf)


class GraphBlasComponents(GraphBlasTraversal):
    """FastSV: hooking of vertices and of their parents, and shortcutting."""

    def prepare(self, workload: Workload) -> Matrix:
        matrix = pattern_matrix(*workload.arcs, workload.vertices)
        if not workload.symmetric:
            matrix << matrix.ewise_add(matrix.T, monoid.lor)
        return matrix

    def run(self, graph: Matrix, workload: Workload) -> Vector:
        size = graph.nrows
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

    def by_vertex(self, answer: Vector, workload: Workload) -> Array:
        return answer.to_dense()


class GraphBlasCounts(ScanAdapter):
    """Triangles of every edge: a product masked by the edges, without its zeros."""

    library = LIBRARY

    def __init__(self) -> None:
        super().__init__("counts", "plus_pair(A @ A.T), masked", num_threads())
        self.max_steps = MAX_COMPARED

    def prepare(self, case: ScanCase) -> Callable[[], Matrix]:
        def build() -> tuple[Matrix, Matrix]:
            size, (first, second) = case.workload.vertices, case.endpoints
            adjacency = pattern_matrix(case.arc_sources, case.lists.neighbors, size, np.int32)
            return adjacency, pattern_matrix(second, first, size)

        adjacency, edges = case.cached(LIBRARY, build)

        def count() -> Matrix:
            triangles = Matrix(np.int32, adjacency.nrows, adjacency.ncols)
            triangles(edges.S) << adjacency.mxm(adjacency.T, semiring.plus_pair)
            triangles.wait()
            return triangles

        return count

    def check(self, case: ScanCase, answer: Matrix) -> str | None:
        return compare_triangles(case, ~case.is_forward, *answer.to_coo())


class GraphBlasBuild(CsrBuild):
    """GrB_Matrix_build. Parallel edges are summed, of which there are none without weights."""

    def assemble(self, rows: Array, columns: Array, values: Array, size: int) -> Matrix:
        matrix = Matrix.from_coo(rows, columns, values, nrows=size, ncols=size, dup_op=binary.plus)
        matrix.wait()
        return matrix

    def arcs(self, case: BuildCase, matrix: Matrix) -> tuple[Array, Array]:
        return matrix.to_coo(values=False, sort=True)[:2]


def pagerank_adapters() -> list[PageRankAdapter]:
    """Return PageRank in both precisions."""
    return [GraphBlasPageRank(precision) for precision in PRECISIONS]


def traversal_adapters() -> list[TraversalAdapter]:
    """Return the searches and components."""
    note = "gives parents, from which the check takes distances"
    return [
        GraphBlasBfs("bfs", "push and pull", True, note),
        GraphBlasBfs("bfs", "push and pull", False),
        GraphBlasSssp("sssp", "Bellman-Ford", False, "gives no predecessors"),
        GraphBlasComponents("components", "FastSV", None),
    ]


def build_adapter(module: ModuleType = graphblas) -> BuildAdapter:
    """Return the build by source."""
    return GraphBlasBuild(LIBRARY, module, "source")
