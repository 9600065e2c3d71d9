"""The tasks that libraries are compared on: graphs, verified references, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import answers
from pipelines.benchmarks.adapters import DAMPING, ITERATIONS, MAX_ITERATIONS, Entry
from pipelines.benchmarks.answers import EPSILON, MU, PRECISIONS, WrongAnswerError
from pipelines.benchmarks.graphs import (
    BUILD_CASES,
    BuildCase,
    Workload,
    make_build_case,
    with_weights,
)
from rapidsgraph.device.arrays import Array
from rapidsgraph.verify.scan import count_common_neighbors

MAX_DISTANCE = {"double": 1e-8, "single": 1e-4}  # of PageRank in total (L1)
DISTANCE_TOLERANCE = {"double": 1e-9, "single": 1e-4}  # relative, of SSSP
SAMPLE_SIZE = 20_000  # edges whose common neighbors are counted by an independent method
MAX_PROBES = 3 * 10**7  # of `rg.verify.scan`, which takes seconds; GPUs take 100 times as many

Reference = tuple[Any, dict[str, Any]]  # the answer in its compared form; facts for the records


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes
    ----------
    suite : str
        The record that it belongs to.
    reference : callable
        Of a case; returns a `Reference` that has been verified, or raises.
    compare : callable
        Of (answer, reference, entry, case); returns the problem or None.
    num_bytes : callable, optional
        Of (case, reference, entry): the bytes that any method must move, for the roofline.
    cpu, gpu : tuple of str
        The graphs; ``--quick`` takes tiny ones.
    time : str
        The column of the time.
    is_undirected, is_weighted : bool
        How the graph is passed.
    """

    name: str
    suite: str
    reference: Callable[[Workload], Reference]
    compare: Callable[[Any, Any, Entry, Workload], str | None]
    num_bytes: Callable[[Workload, Any, Entry], int] | None = None
    cpu: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    time: str = "run_ms"
    is_undirected: bool = False
    is_weighted: bool = False

    def cases(self, workload: Workload, folder: Any = None) -> Iterator[Workload]:
        """Yield the graph as the task takes it; builds have one case per order of the rows."""
        if self.name == "build":
            yield from (make_build_case(workload, name) for name in BUILD_CASES)
            return
        case = with_weights(workload, folder) if self.is_weighted else workload
        yield replace(case, directed=False) if self.is_undirected and case.directed else case


# References


def pagerank_reference(case: Workload) -> Reference:
    """Return converged values."""
    result = rg.pagerank(case.graph, tolerance=1e-12, max_iterations=MAX_ITERATIONS, progress=False)
    rg.verify.pagerank(case.graph, result, tolerance=1e-11)
    return case.xp.asarray(result["pagerank"]), {}


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


def distance_reference(task: str) -> Callable[[Workload], Reference]:
    """Return the reference function of BFS or SSSP."""

    def reference(case: Workload) -> Reference:
        result = getattr(rg, task)(case.graph, case.start)
        fact = getattr(rg.verify, task)(case.graph, result, case.start)
        values = result["distance"]
        if hasattr(values, "fillna"):
            values = values.astype(np.float64).fillna(np.inf).values
        values = case.xp.asarray(values).astype(np.float64)
        values = case.xp.where(values < 0, np.inf, values)
        return values, {"levels": int(fact)} if task == "bfs" else {"farthest": float(fact)}

    return reference


def component_reference(strong: bool) -> Callable[[Workload], Reference]:
    """Return the reference function of weak or strong components."""

    def reference(case: Workload) -> Reference:
        result = rg.connected_components(case.graph, strong=strong)
        count = rg.verify.components(case.graph, result, strong=strong)
        return case.xp.asarray(result["component"]), {"components": int(count)}

    return reference


def verified_reference(name: str, column: str, **options: Any) -> Callable[[Workload], Reference]:
    """Return the reference function of a call that `rapidsgraph.verify` checks."""

    def reference(case: Workload) -> Reference:
        result = getattr(rg, name)(case.graph, **options)
        getattr(rg.verify, name)(case.graph, result, **options)
        return case.xp.asarray(result[column]), {}

    return reference


def common_neighbors(case: Workload) -> tuple[Array, Array, Array]:
    """Return (first ends, second ends, triangles) of the edges; a sample is counted again."""
    first, second = case.edges
    sources = np.repeat(np.arange(case.vertices), answers.to_host(case.degrees))
    sources = case.xp.asarray(sources)
    counts = case.common_neighbors[sources < case.lists.neighbors]
    if first.size:
        sample = np.unique(np.random.default_rng(1).integers(0, first.size, SAMPLE_SIZE))
        sample = case.xp.asarray(sample)
        keys = sources.astype(np.int64) << 32 | case.lists.neighbors
        expected = count_common_neighbors(first[sample], second[sample], case.lists, keys)
        if num_wrong := int((counts[sample] != expected).sum()):
            raise WrongAnswerError(f"{num_wrong} of {sample.size} edges have a wrong count")
    return first, second, counts.astype(np.int64) - 2


def triangle_reference(case: Workload) -> Reference:
    """Return the triangles of each vertex: half of those of its edges."""
    first, second, counts = common_neighbors(case)
    sums = [case.xp.bincount(ends, counts, case.vertices) for ends in (first, second)]
    triangles = (sums[0] + sums[1]).astype(np.int64) // 2
    return triangles, {"triangles": int(triangles.sum()) // 3}


def coefficient_reference(case: Workload) -> Reference:
    """Return twice the triangles of each vertex over its ordered pairs of neighbors."""
    triangles, facts = triangle_reference(case)
    return 2 * triangles / case.xp.maximum(case.degrees * (case.degrees - 1.0), 1), facts


def jaccard_reference(case: Workload) -> Reference:
    """Return the Jaccard coefficient of each edge."""
    first, second, counts = common_neighbors(case)
    return answers.jaccard(counts, case.degrees[first], case.degrees[second]), {}


def similarity_reference(case: Workload) -> Reference:
    """Return the structural similarity of each edge."""
    first, second, counts = common_neighbors(case)
    sizes = case.degrees + 1.0
    return (counts + 2) / case.xp.sqrt(sizes[first] * sizes[second]), {}


def scan_reference(case: Workload) -> Reference:
    """Return our clustering; the serial loop verifies it where `rg.verify.scan` would take long."""
    answer = rg.scan(case.graph, epsilon=EPSILON, mu=MU)
    clusters, is_core = answers.clusters_and_cores(answer)
    facts = {"clusters": int(clusters.max()) + 1, "cores": int(is_core.sum())}
    first, second = case.edges
    probes = int(case.xp.minimum(case.degrees[first], case.degrees[second]).sum())
    if probes <= MAX_PROBES * (1 if case.xp is np else 100):
        rg.verify.scan(case.graph, answer, epsilon=EPSILON, mu=MU)
        return answer, facts | {"verified": "verify.scan"}
    from pipelines.benchmarks.serial_scan import serial_scan

    common_neighbors(case)
    arrays = case.lists.offsets, case.lists.neighbors, case.common_neighbors
    offsets, neighbors, counts = map(answers.to_host, arrays)
    serial = serial_scan(offsets, neighbors, *answers.exact_ratio(EPSILON), MU, counts)
    if problem := answers.compare_clusters(clusters, is_core, *serial):
        raise WrongAnswerError(problem)
    return answer, facts | {"verified": "serial loop, sampled counts"}


def build_reference(case: BuildCase) -> Reference:
    """Return the packed arcs."""
    names, keys, _ = case.expected
    return (names, keys), {"case": case.case, "rows": int(case.rows)}


# Comparisons


def compare_pagerank(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare PageRank by the total difference."""
    return answers.compare_pagerank(answer, reference, MAX_DISTANCE[entry.precision])


def compare_distances(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare distances; libraries mark unreached vertices by the maximum of a type."""
    xp, values = case.xp, case.xp.asarray(answer)
    limits: Any = np.finfo if values.dtype.kind == "f" else np.iinfo
    values = xp.where(values < limits(values.dtype).max, values, np.inf)
    tolerance = DISTANCE_TOLERANCE[entry.precision] if case.weight is not None else 0
    return answers.compare_values(values, reference, tolerance, "distances")


def compare_components(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare partitions."""
    return answers.compare_components(case.xp.asarray(answer), reference, case.xp)


def compare_values(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare values of vertices or edges: integers exactly."""
    tolerance = 0 if reference.dtype.kind in "iu" else answers.SIMILARITY_TOLERANCE[entry.precision]
    return answers.compare_values(case.xp.asarray(answer), reference, tolerance, "values")


def compare_clusters(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare clusterings: ours exactly, and those of the serial loop as partitions."""
    if entry.library == "serial":
        return answers.compare_clusters(*answers.clusters_and_cores(reference), *answer)
    same = answers.is_same_clustering(answer, reference)
    return None if same else "wrong: differs from the verified answer"


def compare_build(answer: Any, reference: Any, entry: Entry, case: BuildCase) -> str | None:
    """Compare packed arcs, or their number where a library does not show them."""
    keys = reference[1]
    if isinstance(answer, int):
        counts = {keys.size, case.rows}  # some libraries keep parallel edges
        return None if answer in counts else f"wrong: {answer} edges of {case.rows} rows"
    values = case.xp.sort(answer)
    return None if answers.is_equal(values, keys) else "wrong: arcs differ"


# Rooflines: inputs and results once, read or written, and nothing in between. Ids take 4 bytes,
# offsets and doubles 8; searches read the lists of the vertices that they reach.


def list_bytes(case: Workload, is_reached: Array, arc: int) -> int:
    """Return the bytes of the lists of some vertices."""
    return arc * int(is_reached[case.arcs[0]].sum()) + 8 * int(is_reached.sum())


def pagerank_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count an iteration: the ids of all arcs, and per vertex two values and a degree."""
    value = np.dtype(PRECISIONS[entry.precision]).itemsize
    return 4 * case.arcs[0].size + 3 * value * case.vertices


def search_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count the lists and weights of reached vertices, distances and maybe predecessors."""
    weight = 0 if case.weight is None else case.weight.dtype.itemsize
    result = (8 if weight else 4) + 4 * bool(entry.columns.get("predecessors"))
    reached = case.xp.isfinite(reference)
    return list_bytes(case, reached, 4 + weight) + result * case.vertices


def component_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count all lists in one direction, and a label per vertex."""
    return 4 * case.arcs[0].size + 12 * case.vertices


def edge_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count the simple lists, and the result: per edge with both ends, or per vertex."""
    per_edge = "similarity" in entry.task
    result = 16 * case.edges[0].size if per_edge else 8 * case.vertices
    return 8 * case.edges[0].size + 8 * case.vertices + result


def build_bytes(case: BuildCase, reference: Any, entry: Entry) -> int:
    """Count the rows as given, the ids and weights of each arc, and the offsets."""
    columns = [case.source, case.destination] + ([] if case.weight is None else [case.weight])
    arc = 4 + (0 if case.weight is None else case.weight.dtype.itemsize)
    names, keys = reference
    vertices = case.vertices if names is None else names.size
    return sum(values.nbytes for values in columns) + arc * keys.size + 8 * vertices


SEARCHED = {
    "cpu": ("rmat18", "NY", "rmat20", "grid1000", "grid1400"),
    "gpu": ("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000"),
}
CLUSTERED = {
    "cpu": ("rmat16u", "grid1000", "NY", "cnr-2000", "ego-Facebook", "ca-CondMat"),
    "gpu": ("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook"),
}
COUNTED = {
    "cpu": ("rmat18u", "NY", "cnr-2000", "grid1000"),
    "gpu": ("rmat22u", "grid1400", "NY", "cnr-2000"),
    "is_undirected": True,
}
LABELED = {
    "cpu": ("rmat18", "rmat18u", "NY", "cnr-2000", "grid1000"),
    "gpu": ("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000"),
}
_TASKS = (
    Task("pagerank", "pagerank", pagerank_reference, compare_pagerank, pagerank_bytes,
         ("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000"),
         ("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000"), "iteration_ms"),
    Task("bfs", "traversal", distance_reference("bfs"), compare_distances, search_bytes,
         **SEARCHED),
    Task("sssp", "traversal", distance_reference("sssp"), compare_distances, search_bytes,
         is_weighted=True, **SEARCHED),
    Task("components", "traversal", component_reference(False), compare_components,
         component_bytes, **SEARCHED),
    Task("similarity", "scan", similarity_reference, compare_values, edge_bytes,
         is_undirected=True, **CLUSTERED),
    Task("scan", "scan", scan_reference, compare_clusters, edge_bytes, is_undirected=True,
         **CLUSTERED),
    Task("build", "build", build_reference, compare_build, build_bytes, ("rmat18", "NY"),
         ("rmat22", "grid1400"), "build_ms"),
    Task("triangle_count", "structure", triangle_reference, compare_values, edge_bytes, **COUNTED),
    Task("clustering_coefficient", "structure", coefficient_reference, compare_values, edge_bytes,
         **COUNTED),
    Task("neighbor_similarity", "structure", jaccard_reference, compare_values, edge_bytes,
         **COUNTED),
    Task("core_number", "structure", verified_reference("core_number", "core"), compare_values,
         edge_bytes, **COUNTED),
    Task("label_propagation", "structure",
         verified_reference("label_propagation", "label", iterations=ITERATIONS), compare_values,
         None, **LABELED),
    Task("strong components", "structure", component_reference(True), compare_components,
         component_bytes, ("rmat18", "NY", "cnr-2000", "grid1000"),
         ("rmat22", "grid1400", "NY", "cnr-2000")),
)  # fmt: skip
TASKS: Mapping[str, Task] = {task.name: task for task in _TASKS}
SUITES = {suite: tuple(t.name for t in _TASKS if t.suite == suite)
          for suite in dict.fromkeys(task.suite for task in _TASKS)}  # fmt: skip
QUICK_GRAPHS = ("rmat8", "rmat8u", "grid16")
SHORT_GRAPHS = ("rmat18", "rmat18u", "rmat16u", "NY", "rmat22", "rmat22u", "grid1400")
