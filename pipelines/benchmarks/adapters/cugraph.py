"""cuGraph, called through pylibcugraph so that no dataframe layer takes part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    DISTANCE_TOLERANCE,
    MAX_ITERATIONS,
    PRECISIONS,
    TOLERANCE,
    BuildAdapter,
    PageRankAdapter,
    ScanAdapter,
    TraversalAdapter,
)
from pipelines.benchmarks.answers import compare_counts, compare_similarities
from pipelines.benchmarks.graphs import BUILD_CASES, BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

LIBRARY = "cuGraph"
HINT = "it comes from NVIDIA's package index or PyPI, as pylibcugraph-cu12 or -cu13"


class CuGraphPageRank(PageRankAdapter):
    """pylibcugraph.pagerank.

    `max_iterations` is low: values that no longer change would end a run early.
    """

    library, max_iterations = LIBRARY, 10
    gives_pagerank = False  # its solutions are checked, not the result of few iterations

    def __init__(
        self,
        pylibcugraph: ModuleType,
        precision: str = "single",
        renumber: bool = True,
        weighted: bool = True,
    ) -> None:
        super().__init__("renumbered" if renumber else "not renumbered", precision)
        self.pylibcugraph, self.handle = pylibcugraph, pylibcugraph.ResourceHandle()
        self.renumber, self.weighted = renumber, weighted
        self.note = f"{'with' if weighted else 'without'} weights; through pylibcugraph"

    def prepare(self, workload: Workload) -> Any:
        weights = workload.xp.ones(workload.arcs[0].size, self.value_type)
        return build_graph(
            self.pylibcugraph,
            self.handle,
            *workload.arcs,
            workload.vertices,
            weights if self.weighted else None,
            renumber=self.renumber,
        )

    def iterate(self, state: Any, iterations: int) -> tuple[Array, Array]:
        vertices, values, has_converged = self._run(state, iterations, 1e-30)
        if has_converged:
            raise RuntimeError(f"converged before {iterations} iterations were done")
        return vertices, values

    def solve(self, state: Any) -> tuple[Array, Array]:
        return self._run(state, MAX_ITERATIONS, TOLERANCE[self.precision])[:2]

    def _run(self, graph: Any, iterations: int, epsilon: float) -> tuple[Array, Array, bool]:
        return self.pylibcugraph.pagerank(
            self.handle, graph, None, None, None, None, DAMPING, epsilon, iterations, False,
            fail_on_nonconvergence=False,
        )  # fmt: skip

    def by_vertex(self, answer: tuple[Array, Array]) -> Array:
        return scatter(*answer)


class CuGraphTraversal(TraversalAdapter):
    """pylibcugraph's bfs, sssp and weakly_connected_components, which needs a symmetric graph."""

    library = LIBRARY

    def __init__(
        self,
        pylibcugraph: ModuleType,
        handle: Any,
        *arguments: Any,
        renumber: bool = True,
        precision: str = "single",
    ) -> None:
        super().__init__(*arguments, precision=precision)
        self.pylibcugraph, self.handle, self.renumber = pylibcugraph, handle, renumber
        self.needs_symmetric = self.implementation == "direction-optimizing"
        symmetry = "symmetric" if self.task == "components" else "as given"
        self.graph_key = (precision, renumber, symmetry)
        self.note = "; ".join(filter(None, [self.note, "through pylibcugraph"]))

    def prepare(self, workload: Workload) -> Any:
        arcs, weights = workload.arcs, workload.arc_weights.astype(self.value_type)
        symmetric = workload.symmetric
        if self.task == "components" and not symmetric:
            arcs, weights, symmetric = replace(workload, directed=False).arcs, None, True
        return build_graph(
            self.pylibcugraph,
            self.handle,
            *arcs,
            workload.vertices,
            weights,
            renumber=self.renumber,
            transpose=False,
            symmetric=symmetric,
            symmetrize=False,
        )

    def run(self, graph: Any, workload: Workload) -> tuple[Array, Array]:
        library, handle = self.pylibcugraph, self.handle
        if self.task == "components":
            return library.weakly_connected_components(handle, graph, None, None, None, None, False)
        if self.task == "sssp":
            return library.sssp(handle, graph, workload.start, np.inf, self.predecessors, False)[:2]
        start = workload.xp.asarray([workload.start], np.int32)
        distances, _, vertices = library.bfs(
            handle, graph, start, self.needs_symmetric, -1, self.predecessors, False
        )
        return vertices, distances

    def by_vertex(self, answer: tuple[Array, Array], workload: Workload) -> Array:
        return super().by_vertex(scatter(*answer), workload)


class CuGraphJaccard(ScanAdapter):
    """pylibcugraph.jaccard_coefficients of every edge: common neighbors by those of either end.

    No vertex is its own neighbor here, so it is not SCAN's similarity, but it is the same work.
    """

    library = LIBRARY

    def __init__(self, pylibcugraph: ModuleType, handle: Any) -> None:
        note = "open neighborhoods; through pylibcugraph"
        super().__init__("similarity", "Jaccard", note, "single")
        self.pylibcugraph, self.handle = pylibcugraph, handle

    def prepare(self, case: ScanCase) -> Callable[[], Any]:
        library, handle = self.pylibcugraph, self.handle

        def build() -> Any:
            return build_graph(
                library,
                handle,
                case.arc_sources,
                case.lists.neighbors,
                case.workload.vertices,
                transpose=False,
                symmetric=True,
                symmetrize=False,
            )

        graph = case.cached(LIBRARY, build)
        return lambda: library.jaccard_coefficients(handle, graph, *case.endpoints, False, False)

    def check(self, case: ScanCase, answer: Any) -> str | None:
        """Compare the values; newer releases also return the pairs, in any order."""
        xp, (first, second) = case.xp, case.endpoints
        triangles = (case.common_neighbors[case.is_forward] - 2).astype(np.float64)
        expected = triangles / (case.degrees[first] + case.degrees[second] - triangles)
        if isinstance(answer, tuple):
            low, high = xp.minimum(*answer[:2]), xp.maximum(*answer[:2])
            keys = low.astype(np.int64) << 32 | high
            order = xp.argsort(keys)
            if problem := compare_counts(keys[order], first.astype(np.int64) << 32 | second):
                return problem.replace("counts", "pairs")
            answer = answer[2][order]
        return compare_similarities(answer, expected, self.precision)


class CuGraphBuild(BuildAdapter):
    """pylibcugraph.SGGraph from device arrays."""

    library = LIBRARY

    def __init__(self, pylibcugraph: ModuleType, transpose: bool, renumber: bool) -> None:
        self.pylibcugraph, self.handle = pylibcugraph, pylibcugraph.ResourceHandle()
        self.transpose, self.renumber = transpose, renumber
        self.by = "destination" if transpose else "source"
        self.implementation = f"by {self.by}, {'' if renumber else 'not '}renumbered"
        self.note = "through pylibcugraph"
        with_names = ("gaps", "far apart")
        self.cases = [name for name in BUILD_CASES if renumber or name not in with_names]

    def build(self, case: BuildCase) -> Any:
        return build_graph(
            self.pylibcugraph, self.handle, case.source, case.destination,
            None if case.has_names else case.vertices, case.weight, renumber=self.renumber,
            transpose=self.transpose, symmetric=not case.directed,
        )  # fmt: skip

    def check(self, case: BuildCase, graph: Any) -> str | None:
        degrees = self.pylibcugraph.out_degrees(self.handle, graph, None, False)[1]
        num_arcs, expected = int(degrees.sum()), case.expected[1].size
        return None if num_arcs == expected else f"wrong: {num_arcs} arcs instead of {expected}"


def build_graph(
    pylibcugraph: ModuleType,
    handle: Any,
    sources: Array,
    destinations: Array,
    vertices: int | None = None,
    weights: Array | None = None,
    renumber: bool = True,
    transpose: bool = True,
    symmetric: bool = False,
    symmetrize: bool | None = None,
) -> Any:
    """Return a pylibcugraph.SGGraph of device arrays.

    Parameters
    ----------
    vertices : int, optional
        Includes the isolated vertices below this number.
    symmetric : bool
        The graph is undirected, and its edges are passed once.
    symmetrize : bool, optional
        False if both arcs of undirected edges are passed.
    """
    import cupy

    vertex_ids = None if vertices is None else cupy.arange(vertices, dtype=np.int32)
    return pylibcugraph.SGGraph(
        handle,
        pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False),
        sources,
        destinations,
        weight_array=weights,
        store_transposed=transpose,
        renumber=renumber,
        do_expensive_check=False,
        vertices_array=vertex_ids,
        symmetrize=symmetric if symmetrize is None else symmetrize,
    )


def scatter(vertices: Array, values: Array) -> Array:
    """Return values in the order of vertex ids."""
    ordered = values.copy()
    ordered[vertices] = values
    return ordered


def pagerank_adapters(pylibcugraph: ModuleType) -> list[PageRankAdapter]:
    """Return PageRank renumbered or not, with weights or without, and in double precision."""
    adapters: list[PageRankAdapter] = [
        CuGraphPageRank(pylibcugraph, renumber=renumber, weighted=weighted)
        for renumber in (True, False)
        for weighted in (True, False)
    ]
    return [*adapters, CuGraphPageRank(pylibcugraph, "double")]


def traversal_adapters(pylibcugraph: ModuleType) -> list[TraversalAdapter]:
    """Return BFS in two directions, SSSP in both precisions, and weak components."""

    def adapter(*arguments: Any, **options: Any) -> CuGraphTraversal:
        return CuGraphTraversal(pylibcugraph, handle, *arguments, **options)

    handle = pylibcugraph.ResourceHandle()
    adapters: list[TraversalAdapter] = []
    for name in ("top-down", "direction-optimizing"):
        adapters += [adapter("bfs", name, predecessors) for predecessors in (True, False)]
    adapters.append(adapter("bfs", "top-down, not renumbered", False, renumber=False))
    for precision in PRECISIONS:
        tolerance = DISTANCE_TOLERANCE[precision]
        note = f"always with predecessors; distances may be off by {tolerance:g} of them"
        adapters.append(adapter("sssp", "sssp", True, note, precision=precision))
    adapters.append(adapter("components", "weak", None, "the graph is made symmetric before"))
    return adapters


def build_adapters(pylibcugraph: ModuleType) -> list[BuildAdapter]:
    """Return builds by source and destination, renumbered or not."""
    return [
        CuGraphBuild(pylibcugraph, transpose, renumber)
        for transpose in (False, True)
        for renumber in (False, True)
    ]
