"""SciPy, and the same loops over a CSR matrix on cuSPARSE through CuPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

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
from pipelines.benchmarks.answers import compare_arcs
from pipelines.benchmarks.graphs import BUILD_CASES, BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

MAX_PRODUCTS = 10**8  # multiplications of A @ A, which are the sum of squared degrees


class CsrPageRank(PageRankAdapter):
    """PageRank by array operations around the library's sparse matrix-vector product.

    Parameters
    ----------
    library : str
    sparse : module
        scipy.sparse or cupyx.scipy.sparse.
    precision : {"double", "single"}
    product : callable(matrix, vector)
        The operator ``@`` of CuPy may call another library than cuSPARSE.
    """

    def __init__(
        self,
        library: str,
        sparse: ModuleType,
        precision: str,
        product: Callable[[Any, Array], Array] = operator.matmul,
    ) -> None:
        super().__init__("CSR loop", precision)
        self.library, self.sparse, self.product = library, sparse, product
        self.note = "product, sinks, teleport, change"

    def prepare(self, workload: Workload) -> tuple[Any, Array, Any]:
        """Return (P, dangling vertices, array module).

        Column u of P holds 1 / out-degree(u) at the out-neighbors of u.
        """
        xp, vertices = workload.xp, workload.vertices
        sources, destinations = workload.arcs
        degrees = xp.bincount(sources, minlength=vertices)
        weights = (1 / xp.maximum(degrees, 1))[sources].astype(self.value_type)
        matrix = self.sparse.csr_matrix(
            (weights, (destinations, sources)), shape=(vertices, vertices)
        )
        matrix.sum_duplicates()  # there are none; cuSPARSE's product requires the flag
        return matrix, xp.flatnonzero(degrees == 0), xp

    def iterate(self, state: Any, iterations: int) -> Array:
        return self._loop(state, iterations, 0)

    def solve(self, state: Any) -> Array:
        return self._loop(state, MAX_ITERATIONS, TOLERANCE[self.precision])

    def _loop(self, state: Any, iterations: int, tolerance: float) -> Array:
        matrix, dangling, xp = state
        vertices = matrix.shape[0]
        values = xp.full(vertices, 1 / vertices, self.value_type)
        for _ in range(iterations):
            new_values = self.product(matrix, values)
            new_values *= DAMPING
            new_values += (DAMPING * values[dangling].sum() + (1 - DAMPING)) / vertices
            residual = xp.abs(new_values - values).sum()
            values = new_values
            if tolerance and residual < tolerance:
                break
        return values


class CsrProduct(CsrPageRank):
    """The product of that matrix and a vector alone, a lower bound of a CSR iteration."""

    gives_pagerank = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.implementation, self.note = "CSR product", "the product alone; checked with the loop"

    def iterate(self, state: Any, iterations: int) -> Array:
        matrix, _, xp = state
        values = xp.full(matrix.shape[0], 1 / matrix.shape[0], self.value_type)
        for _ in range(iterations):
            values = self.product(matrix, values)
        return values


class SciPyTraversal(TraversalAdapter):
    """scipy.sparse.csgraph."""

    library = "SciPy"

    def prepare(self, workload: Workload) -> Any:
        from scipy import sparse

        shape = (workload.vertices, workload.vertices)
        return sparse.csr_matrix((workload.arc_weights, workload.arcs), shape=shape)

    def run(self, graph: Any, workload: Workload) -> Any:
        from scipy.sparse import csgraph

        if self.task == "bfs":
            return csgraph.breadth_first_order(graph, workload.start)
        if self.task == "sssp":
            answer = csgraph.dijkstra(
                graph, indices=workload.start, return_predecessors=self.predecessors
            )
            return answer[0] if self.predecessors else answer
        options = {"connection": "weak"} if workload.directed else {"directed": False}
        return csgraph.connected_components(graph, **options)[1]

    def by_vertex(self, answer: Any, workload: Workload) -> Array:
        answer = tree_depths(*answer) if self.task == "bfs" else answer
        return super().by_vertex(answer, workload)


class SciPyCounts(ScanAdapter):
    """Common neighbors as paths of two edges between the endpoints of each edge."""

    library = "SciPy"

    def __init__(self) -> None:
        super().__init__("counts", "(A @ A).multiply(A)", "one thread")
        self.max_steps = {"cpu": MAX_PRODUCTS}

    def prepare(self, case: ScanCase) -> Callable[[], Any]:
        from scipy import sparse

        def build() -> Any:
            shape = (case.workload.vertices,) * 2
            offsets, neighbors = case.lists.offsets, case.lists.neighbors
            return sparse.csr_matrix((np.ones(neighbors.size, np.int32), neighbors, offsets), shape)

        matrix = case.cached("SciPy", build)
        return lambda: (matrix @ matrix).multiply(matrix)

    def check(self, case: ScanCase, answer: Any) -> str | None:
        answer = answer.tocoo()
        return compare_triangles(case, slice(None), answer.row, answer.col, answer.data)


class CsrBuild(BuildAdapter):
    """COO to CSR: SciPy on a CPU, CuPy on a GPU. Parallel edges are summed."""

    def __init__(self, library: str, sparse: ModuleType, by: str) -> None:
        self.library, self.sparse, self.by = library, sparse, by
        self.implementation = f"CSR by {by}"
        self.cases = BUILD_CASES if by == "source" else ("in order", "shuffled")

    def build(self, case: BuildCase) -> Any:
        xp, ends, vertices = case.xp, [case.source, case.destination], case.vertices
        if case.has_names:
            names, ids = xp.unique(xp.concatenate(ends), return_inverse=True)
            ends, vertices = [ids[: case.rows], ids[case.rows :]], names.size
        values = xp.ones(case.rows, np.float32) if case.weight is None else case.weight
        if not case.directed:
            ends = [xp.concatenate(ends), xp.concatenate(ends[::-1])]
            values = xp.concatenate([values, values])
        rows, columns = ends if self.by == "source" else ends[::-1]
        return self.assemble(rows, columns, values, vertices)

    def assemble(self, rows: Array, columns: Array, values: Array, size: int) -> Any:
        """Return the matrix of some entries."""
        matrix = self.sparse.csr_matrix((values, (rows, columns)), shape=(size, size))
        matrix.sum_duplicates()
        return matrix

    def arcs(self, case: BuildCase, matrix: Any) -> tuple[Array, Array]:
        """Return rows and columns of the stored entries, in order."""
        entries = case.xp.arange(matrix.nnz)
        rows = case.xp.searchsorted(matrix.indptr, entries, side="right") - 1
        return rows, matrix.indices

    def check(self, case: BuildCase, graph: Any) -> str | None:
        keys, (rows, columns) = case.expected[1], self.arcs(case, graph)
        if self.by == "source":
            return compare_arcs(case.xp, rows, columns, keys)
        return compare_arcs(case.xp, columns, rows, keys, sort=True)


def pagerank_adapters(
    library: str,
    sparse: ModuleType,
    note: str,
    product: Callable[[Any, Array], Array] = operator.matmul,
) -> list[PageRankAdapter]:
    """Return the loop and the bare product in both precisions."""
    adapters: list[PageRankAdapter] = []
    for precision in PRECISIONS:
        for kind in (CsrPageRank, CsrProduct):
            adapter = kind(library, sparse, precision, product)
            adapter.note += f"; {note}"
            adapters.append(adapter)
    return adapters


def traversal_adapters() -> list[TraversalAdapter]:
    """Return the searches of csgraph."""
    note = "gives order and predecessors, from which the check takes distances; one thread"
    return [
        SciPyTraversal("bfs", "breadth_first_order", True, note),
        SciPyTraversal("sssp", "dijkstra", True, "one thread"),
        SciPyTraversal("sssp", "dijkstra", False, "one thread"),
        SciPyTraversal("components", "connected_components", None, "one thread"),
    ]


def build_adapters(library: str, sparse: ModuleType) -> list[BuildAdapter]:
    """Return builds by source and by destination."""
    return [CsrBuild(library, sparse, by) for by in ("source", "destination")]
