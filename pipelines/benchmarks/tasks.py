"""The tasks that libraries are compared on: graphs, verified references, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import answers
from pipelines.benchmarks.adapters import CLUSTERS, DAMPING, LABEL_ITERATIONS, MANY
from pipelines.benchmarks.answers import MAX_DISTANCE
from pipelines.benchmarks.graphs import Workload, build_cases, pack, with_weights
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.verify.scan import count_common_neighbors

SAMPLE_SIZE = 20_000  # edges whose common neighbors are counted by an independent method
MAX_PROBES = 3 * 10**7  # of `rg.verify.scan`, which takes seconds; GPUs take 100 times as many

Reference = tuple[Any, dict[str, Any]]  # the answer in its compared form; facts for the records


@dataclass(frozen=True)
class Task:
    """A task of a suite, which is the record that it belongs to.

    `reference` returns that of a case, which has been verified, or raises; `compare` returns the
    problem of (answer, reference, precision) or None; `cpu` and `gpu` are the graphs, and `time` is
    the column of the time.
    """

    name: str
    suite: str
    reference: Callable[[Workload], Reference]
    compare: Callable[[Any, Any, str], str | None]
    cpu: tuple[str, ...]
    gpu: tuple[str, ...]
    time: str = "run_ms"
    is_undirected: bool = False
    is_weighted: bool = False

    def cases(self, workload: Workload, folder: Any = None) -> Iterator[Workload]:
        """Yield the graph as the task takes it; builds have one case per order of the rows."""
        if self.suite == "build":
            yield from build_cases(workload)
            return
        case = with_weights(workload, folder) if self.is_weighted else workload
        yield replace(case, directed=False) if self.is_undirected and case.directed else case


def num_bytes(case: Workload) -> int:
    """Return the bytes that must be moved: arcs with weights once, and per vertex 20 bytes."""
    weight = 0 if case.weight is None else case.weight.dtype.itemsize
    return (4 + weight) * int(case.arcs[0].size) + 20 * case.vertices


def pagerank_after(case: Workload, iterations: int, dangling: bool = True) -> Array:
    """Return the values after some iterations by the formula; dangling mass may be lost."""
    xp, vertices = case.xp, case.vertices
    sources, destinations = (
        (case.source, case.destination) if case.multi_edges == "keep" else case.arcs
    )
    degrees = xp.bincount(sources, minlength=vertices)
    values = xp.full(vertices, 1 / vertices)
    for _ in range(iterations):
        contributions = (values / xp.maximum(degrees, 1))[sources]
        sums = xp.bincount(destinations, weights=contributions, minlength=vertices)
        mass = float(values[degrees == 0].sum()) if dangling else 0.0
        values = DAMPING * (sums + mass / vertices) + (1 - DAMPING) / vertices
    return values


def verified(name: str, column: str, fact: str = "", **options: Any) -> Callable:
    """Return the reference of a call that `rapidsgraph.verify` checks; it may return a fact."""

    def reference(case: Workload) -> Reference:
        start = (case.start,) if name in ("bfs", "sssp") else ()
        result = getattr(rg, name)(case.graph, *start, **options)
        verify = getattr(rg.verify, name.removeprefix("connected_"))
        found = verify(case.graph, result, *start, **options)
        values = answers.result_arrays({column: result[column]}, case.xp)[column]
        if column == "distance":
            values = case.xp.where(values < 0, np.inf, values)
        return values, {fact: float(found)} if fact else {}

    return reference


def edge_counts(case: Workload) -> tuple[Array, Array, Array]:
    """Return (first ends, second ends, triangles) of the edges; a sample is counted again."""
    (first, second), sources = case.edges, row_indices(case.lists)
    counts = case.common_neighbors[sources < case.lists.neighbors]
    sample = np.random.default_rng(1).integers(0, max(first.size, 1), SAMPLE_SIZE)
    sample = case.xp.asarray(np.unique(sample)[: first.size])
    keys = pack(sources, case.lists.neighbors)
    expected = count_common_neighbors(first[sample], second[sample], case.lists, keys)
    if num_wrong := int((counts[sample] != expected).sum()):
        raise AssertionError(f"{num_wrong} of {sample.size} edges have a wrong count")
    return first, second, counts.astype(np.int64) - 2


def triangle_reference(case: Workload) -> Reference:
    """Return the triangles of each vertex: half of those of its edges."""
    first, second, counts = edge_counts(case)
    sums = [case.xp.bincount(ends, counts, case.vertices) for ends in (first, second)]
    triangles = (sums[0] + sums[1]).astype(np.int64) // 2
    return triangles, {"triangles": int(triangles.sum()) // 3}


def coefficient_reference(case: Workload) -> Reference:
    """Return the triangles of each vertex over its pairs of neighbors."""
    triangles, facts = triangle_reference(case)
    return case.coefficients(triangles), facts


def jaccard_reference(case: Workload) -> Reference:
    """Return the Jaccard coefficient of each edge."""
    first, second, counts = edge_counts(case)
    return case.jaccard(first, second, counts), {}


def scan_reference(case: Workload) -> Reference:
    """Return our clusters and cores; where `rg.verify.scan` would take long, serial SCAN runs."""
    result = rg.scan(case.graph, **CLUSTERS)
    clusters, is_core = answers.clusters_and_cores(result)
    facts = {"clusters": int(clusters.max(initial=-1)) + 1, "cores": int(is_core.sum())}
    first, second = case.edges
    probes = int(case.xp.minimum(case.degrees[first], case.degrees[second]).sum())
    if probes <= MAX_PROBES * (1 if case.xp is np else 100):
        rg.verify.scan(case.graph, result, **CLUSTERS)
        return (clusters, is_core), facts | {"verified": "verify.scan"}
    edge_counts(case)
    return (clusters, is_core), facts | {"verified": "sampled counts, and serial SCAN if it ran"}


def build_reference(case: Workload) -> Reference:
    """Return the packed arcs and the number of rows; builders share no code with it."""
    return (pack(*case.arcs), case.rows), {"case": case.case}


SEARCHED = {
    "cpu": ("rmat18", "NY", "rmat20", "grid1000", "grid1400"),
    "gpu": ("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000"),
}
COUNTED = {
    "cpu": ("rmat18u", "NY", "cnr-2000", "grid1000"),
    "gpu": ("rmat22u", "grid1400", "NY", "cnr-2000"),
    "is_undirected": True,
}
_TASKS = (
    Task("pagerank", "pagerank", lambda case: (pagerank_after(case, MANY), {}),
         lambda answer, reference, precision: answers.compare_pagerank(
             answer, reference, MAX_DISTANCE[precision]),
         ("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000"),
         ("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000"), "iteration_ms"),
    Task("bfs", "traversal", verified("bfs", "distance", "levels"), answers.compare_distances,
         **SEARCHED),
    Task("sssp", "traversal", verified("sssp", "distance", "farthest"), answers.compare_distances,
         is_weighted=True, **SEARCHED),
    Task("components", "traversal", verified("connected_components", "component", "components"),
         answers.compare_groups, **SEARCHED),
    Task("scan", "scan", scan_reference, answers.compare_clusters,
         ("rmat16u", "grid1000", "NY", "cnr-2000", "ego-Facebook", "ca-CondMat"),
         ("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook"), is_undirected=True),
    Task("build", "build", build_reference, answers.compare_build, ("rmat18", "NY"),
         ("rmat22", "grid1400"), "build_ms"),
    Task("build and iterate", "build", build_reference, answers.compare_build, ("rmat18", "NY"),
         ("rmat22", "grid1400")),
    Task("triangle_count", "structure", triangle_reference, answers.compare_values, **COUNTED),
    Task("clustering_coefficient", "structure", coefficient_reference, answers.compare_values,
         **COUNTED),
    Task("neighbor_similarity", "structure", jaccard_reference, answers.compare_values, **COUNTED),
    Task("core_number", "structure", verified("core_number", "core"), answers.compare_values,
         **COUNTED),
    Task("label_propagation", "structure",
         verified("label_propagation", "label", iterations=LABEL_ITERATIONS),
         answers.compare_values, ("rmat18", *COUNTED["cpu"]), ("rmat22", *COUNTED["gpu"])),
    Task("strong components", "structure",
         verified("connected_components", "component", "components", strong=True),
         answers.compare_groups, ("rmat18", *COUNTED["cpu"][1:]), ("rmat22", *COUNTED["gpu"][1:])),
)  # fmt: skip
TASKS = {task.name: task for task in _TASKS}
COMPARISONS = {suite: [task for task in _TASKS if task.suite == suite]
               for suite in dict.fromkeys(task.suite for task in _TASKS)}  # fmt: skip
QUICK_GRAPHS = ("rmat8", "rmat8u", "grid16")
SHORT_GRAPHS = ("rmat18", "rmat18u", "rmat16u", "NY", "rmat22", "rmat22u", "grid1400")

# Calls of one graph in different forms: frames, Dask frames, layered edge lists

CALLS: dict[str, Callable[..., Any]] = {
    "pagerank": partial(rg.pagerank, tolerance=0, max_iterations=10, progress=False),
    "bfs": rg.bfs,
    "sssp": rg.sssp,
    "components": rg.connected_components,
    "similarity": rg.structural_similarity,
    "scan": partial(rg.scan, epsilon=0.4),
    "strong components": partial(rg.connected_components, strong=True),
    "core numbers": rg.core_number,
    "labels": rg.label_propagation,
    "triangles": rg.triangle_count,
    "clustering": rg.clustering_coefficient,
    "neighbor similarity": rg.neighbor_similarity,
}


def call(task: str, graph: Any, start: int | None = None, **options: Any) -> Any:
    """Run a task of `CALLS` on what rapidsgraph takes; searches begin at `start`."""
    return CALLS[task](graph, *([start] if task in ("bfs", "sssp") else []), **options)
