"""rapidsgraph, and the serial SCAN that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_ITERATIONS,
    PRECISIONS,
    SCAN_TASKS,
    TOLERANCE,
    BuildAdapter,
    PageRankAdapter,
    ScanAdapter,
    TraversalAdapter,
)
from pipelines.benchmarks.answers import (
    clusters_and_cores,
    column_array,
    compare_arcs,
    compare_clusters,
    compare_counts,
    compare_similarities,
    is_equal,
    is_same_clustering,
)
from pipelines.benchmarks.graphs import BuildCase, Workload
from pipelines.benchmarks.scan_reference import (
    COUNTERS,
    EPSILON,
    MU,
    ScanCase,
    exact_ratio,
    serial_scan,
)
from rapidsgraph.algorithms import similarity
from rapidsgraph.device.arrays import Array
from rapidsgraph.frames import Frame
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.graph.local_graph import LocalGraph, build_graph

LIBRARY = "rapidsgraph"
PAGERANK_METHODS = ("auto", "edge", "node", "contribution", "warp")
KIM_LAUNCH = (1000, 1000)  # blocks, threads
# Sums of squared degrees, which are the steps of comparing the lists of all edges.
MAX_COMPARED = {"cpu": 5 * 10**9, "gpu": 10**12}
MAX_CLUSTERED = {"cpu": 2 * 10**10, "gpu": 10**12}
MAX_SERIAL_STEPS = 2 * 10**10  # of the serial loop, on any machine


class RapidsgraphPageRank(PageRankAdapter):
    """One method; all methods share a graph, on which a layout is cached after its first use."""

    library = LIBRARY

    def __init__(self, method: str, precision: str, launch: tuple[int, int] | None = None) -> None:
        name = method if launch is None else f"{method}, launch {launch[0]} x {launch[1]}"
        super().__init__(name, precision)
        self.options: dict[str, Any] = {"method": method, "precision": precision, "launch": launch}

    def prepare(self, workload: Workload) -> LocalGraph:
        return workload.build()

    def ready_state(self, workload: Workload) -> LocalGraph:
        return workload.graph

    def iterate(self, state: LocalGraph, iterations: int) -> Array:
        return self._pagerank(state, tolerance=0, max_iterations=iterations)

    def solve(self, state: LocalGraph) -> Array:
        tolerance = TOLERANCE[self.precision]
        return self._pagerank(state, tolerance=tolerance, max_iterations=MAX_ITERATIONS)

    def _pagerank(self, graph: LocalGraph, **limits: Any) -> Array:
        options = self.options | limits
        return rg.pagerank(graph, damping=DAMPING, progress=False, **options)["pagerank"]


class RapidsgraphTraversal(TraversalAdapter):
    """BFS, SSSP or connected components of a Graph."""

    library = LIBRARY

    def __init__(self, task: str, predecessors: bool | None = None) -> None:
        names = {"components": "connected_components"}
        super().__init__(task, names.get(task, task), predecessors)

    def prepare(self, workload: Workload) -> LocalGraph:
        return workload.build()

    def run(self, graph: Any, workload: Workload) -> Frame:
        if self.task == "components":
            return rg.connected_components(graph)
        search = rg.bfs if self.task == "bfs" else rg.sssp
        return search(graph, workload.start, predecessors=self.predecessors)

    def run_from_frame(self, workload: Workload) -> Frame:
        """Run from the rows; only a Graph can be undirected."""
        takes_frame = workload.directed or self.task == "components"
        return self.run(workload.frame if takes_frame else workload.build(), workload)

    def by_vertex(self, answer: Frame, workload: Workload) -> Array:
        if self.task == "components":
            return super().by_vertex(answer["component"], workload)
        return distances_by_vertex(answer, workload)


def distances_by_vertex(answer: Frame, workload: Workload) -> Array:
    """Return the distances of a result as float64, infinity where unreached."""
    distances = answer["distance"]
    if hasattr(distances, "fillna"):  # a Series; in BFS it has nulls
        distances = distances.astype(np.float64).fillna(np.inf).values
    distances = workload.xp.asarray(distances).astype(np.float64)
    return workload.xp.where(distances < 0, np.inf, distances)  # arrays have no nulls


class RapidsgraphScanAdapter(ScanAdapter):
    """Adapters of which the method "gpuscan" takes quadratic time."""

    library, limits = LIBRARY, MAX_COMPARED

    def __init__(self, task: str, method: str) -> None:
        super().__init__(task, method)
        if method == "gpuscan":
            self.max_steps = self.limits


class RapidsgraphSimilarity(RapidsgraphScanAdapter):
    """structural_similarity of a ready graph, which makes its lists simple."""

    def __init__(self, method: str) -> None:
        super().__init__("similarity", method)

    def prepare(self, case: ScanCase) -> Callable[[], Frame]:
        graph = case.clear_graph_cache()
        return partial(rg.structural_similarity, graph, method=self.implementation)

    def check(self, case: ScanCase, answer: Frame) -> str | None:
        first, second = case.endpoints
        for name, expected in (("source", first), ("destination", second)):
            if problem := compare_counts(column_array(answer, name), expected):
                return problem.replace("counts", f"{name}s")
        sizes = case.degrees + 1
        common = case.common_neighbors[case.is_forward]
        expected = common / case.xp.sqrt(sizes[first] * sizes[second])
        return compare_similarities(column_array(answer, "similarity"), expected)


class RapidsgraphCounts(RapidsgraphScanAdapter):
    """Common neighbors of every arc, from simple lists."""

    limits = dict.fromkeys(MAX_COMPARED, MAX_COMPARED["cpu"])  # on a GPU similarity shows it

    def __init__(self, method: str) -> None:
        super().__init__("counts", method)

    def prepare(self, case: ScanCase) -> Callable[[], Array]:
        return partial(COUNTERS[self.implementation], case.lists)

    def check(self, case: ScanCase, answer: Array) -> str | None:
        return compare_counts(answer, case.common_neighbors)


class RapidsgraphScan(RapidsgraphScanAdapter):
    """scan of a ready graph; for the task "alone" common neighbors are cached."""

    limits = MAX_CLUSTERED

    def prepare(self, case: ScanCase) -> Callable[[], Frame]:
        graph, method = case.graph, self.implementation
        if self.task == "whole":
            case.clear_graph_cache()
        else:
            similarity.neighborhoods(graph)
            graph.cached(f"common neighbors, {method}", lambda: case.common_neighbors)
        return partial(rg.scan, graph, epsilon=EPSILON, mu=MU, method=method)

    def check(self, case: ScanCase, answer: Frame) -> str | None:
        if is_same_clustering(answer, case.clustering[0]):
            return None
        return "wrong: differs from the verified answer"


class SerialScan(ScanAdapter):
    """GPUSCAN's algorithm 1 on one thread of the CPU, from simple lists."""

    library = "serial"

    def __init__(self, task: str) -> None:
        super().__init__(task, "algorithm 1", "Numba, one thread of the CPU")
        if task == "whole":
            self.max_steps = dict.fromkeys(MAX_CLUSTERED, MAX_SERIAL_STEPS)

    def prepare(self, case: ScanCase) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        offsets, neighbors, common_neighbors = case.host_arrays
        counts = common_neighbors if self.task == "alone" else None
        return partial(serial_scan, offsets, neighbors, *exact_ratio(EPSILON), MU, counts)

    def check(self, case: ScanCase, answer: tuple[np.ndarray, np.ndarray]) -> str | None:
        return compare_clusters(*clusters_and_cores(case.clustering[0]), *answer)


class RapidsgraphBuild(BuildAdapter):
    """Graph(frame): adjacency by source."""

    library, implementation = LIBRARY, "by source"

    def build(self, case: BuildCase) -> LocalGraph:
        return case.build()

    def check(self, case: BuildCase, graph: LocalGraph) -> str | None:
        names, keys, first_rows = case.expected
        if case.has_names and not is_equal(case.xp.asarray(graph.vertices["vertex"]), names):
            return "wrong: vertex names differ"
        csr = graph.csr
        if problem := compare_arcs(case.xp, row_indices(csr), csr.neighbors, keys):
            return problem
        if case.weight is not None and not is_equal(csr.weights, case.weight[first_rows]):
            return "wrong: weights differ"
        return None


class RapidsgraphBuildByDestination(RapidsgraphBuild):
    """The build of rg.pagerank(frame): adjacency by destination."""

    implementation, by = "by destination", "destination"
    note = "vertices are not given"
    cases = ("in order", "shuffled", "gaps", "far apart")

    def build(self, case: BuildCase) -> LocalGraph:
        return build_graph(case.frame, layout="csc")

    def check(self, case: BuildCase, graph: LocalGraph) -> str | None:
        # Vertices without edges are unknown, so an id is an index into the names of the others.
        xp, csr = case.xp, graph.csc
        expected_names = xp.unique(xp.concatenate([case.source, case.destination]))
        names = xp.asarray(graph.vertices["vertex"])
        if not is_equal(names, expected_names):
            return "wrong: vertex names differ"
        sources, destinations = csr.neighbors, row_indices(csr)
        if not case.has_names:
            sources, destinations = names[sources], names[destinations]
        return compare_arcs(xp, sources, destinations, case.expected[1], sort=True)


def pagerank_adapters(
    methods: Iterable[str] = PAGERANK_METHODS, on_gpu: bool = False
) -> list[RapidsgraphPageRank]:
    """Return all methods in both precisions; on a GPU also Kim's launch of Kim's methods."""
    adapters = [RapidsgraphPageRank(method, p) for p in PRECISIONS for method in methods]
    if on_gpu:
        adapters += [
            RapidsgraphPageRank(method, "single", KIM_LAUNCH) for method in ("edge", "node")
        ]
    return adapters


def traversal_adapters() -> list[RapidsgraphTraversal]:
    """Return BFS and SSSP with and without predecessors, and components."""
    searches = [
        RapidsgraphTraversal(task, predecessors)
        for task in ("bfs", "sssp")
        for predecessors in (True, False)
    ]
    return [*searches, RapidsgraphTraversal("components")]


def similarity_adapters() -> list[ScanAdapter]:
    """Return similarities and common neighbors by every method."""
    kinds = (RapidsgraphSimilarity, RapidsgraphCounts)
    return [kind(method) for kind in kinds for method in similarity.KERNEL_METHODS]


def scan_adapters() -> list[list[ScanAdapter]]:
    """Return ours and the serial loop, in a list for each of `SCAN_TASKS`."""
    return [
        [*(RapidsgraphScan(task, method) for method in similarity.KERNEL_METHODS), SerialScan(task)]
        for task in SCAN_TASKS
    ]


def build_adapters() -> list[BuildAdapter]:
    """Return builds by source and by destination."""
    return [RapidsgraphBuild(), RapidsgraphBuildByDestination()]
