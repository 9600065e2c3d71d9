"""The tasks that libraries are compared on: graphs, verified references, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import answers
from pipelines.benchmarks.adapters import DAMPING, LABEL_ITERATIONS, MANY, Entry
from pipelines.benchmarks.answers import EPSILON, MU, PRECISIONS
from pipelines.benchmarks.graphs import Workload, build_cases, pack, with_weights
from rapidsgraph.device.arrays import Array
from rapidsgraph.graph.csr import row_indices
from rapidsgraph.verify.scan import count_common_neighbors

MAX_DISTANCE = {"double": 1e-8, "single": 1e-4}  # of PageRank in total (L1)
TOLERANCE = {"double": 1e-9, "single": 1e-4}  # relative, of distances and similarities
SAMPLE_SIZE = 20_000  # edges whose common neighbors are counted by an independent method
MAX_PROBES = 3 * 10**7  # of `rg.verify.scan`, which takes seconds; GPUs take 100 times as many

Reference = tuple[Any, dict[str, Any]]  # the answer in its compared form; facts for the records
Comparison = Callable[[Any, Any, Entry, Workload], str | None]


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
    num_bytes : callable
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
    compare: Comparison
    num_bytes: Callable[[Workload, Any, Entry], int]
    cpu: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    time: str = "run_ms"
    is_undirected: bool = False
    is_weighted: bool = False

    def cases(self, workload: Workload, folder: Any = None) -> Iterator[Workload]:
        """Yield the graph as the task takes it; builds have one case per order of the rows."""
        if self.name == "build":
            yield from build_cases(workload)
            return
        case = with_weights(workload, folder) if self.is_weighted else workload
        yield replace(case, directed=False) if self.is_undirected and case.directed else case


# References


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
    if first.size:
        sample = np.unique(np.random.default_rng(1).integers(0, first.size, SAMPLE_SIZE))
        sample, keys = case.xp.asarray(sample), pack(sources, case.lists.neighbors)
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
    """Return twice the triangles of each vertex over its ordered pairs of neighbors."""
    triangles, facts = triangle_reference(case)
    return 2 * triangles / case.xp.maximum(case.degrees * (case.degrees - 1.0), 1), facts


def jaccard_reference(case: Workload) -> Reference:
    """Return the Jaccard coefficient of each edge."""
    first, second, counts = edge_counts(case)
    return answers.jaccard(counts, case.degrees[first], case.degrees[second]), {}


def scan_reference(case: Workload) -> Reference:
    """Return our clusters and cores; where `rg.verify.scan` would take long, serial SCAN runs."""
    result = rg.scan(case.graph, epsilon=EPSILON, mu=MU)
    clusters, is_core = answers.clusters_and_cores(result)
    facts = {"clusters": int(clusters.max(initial=-1)) + 1, "cores": int(is_core.sum())}
    first, second = case.edges
    probes = int(case.xp.minimum(case.degrees[first], case.degrees[second]).sum())
    if probes <= MAX_PROBES * (1 if case.xp is np else 100):
        rg.verify.scan(case.graph, result, epsilon=EPSILON, mu=MU)
        return (clusters, is_core), facts | {"verified": "verify.scan"}
    edge_counts(case)
    return (clusters, is_core), facts | {"verified": "sampled counts, and serial SCAN if it ran"}


def build_reference(case: Workload) -> Reference:
    """Return the names or None, and the packed arcs; it shares no code with any builder."""
    names, plain = None, case
    if case.has_names:
        names, ids = case.xp.unique(
            case.xp.concatenate([case.source, case.destination]), return_inverse=True
        )
        plain = replace(case, source=ids[: case.rows], destination=ids[case.rows :])
    return (names, pack(*plain.arcs)), {"case": case.case, "rows": int(case.rows)}


# Comparisons


def compare_pagerank(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare PageRank by the total difference."""
    return answers.compare_pagerank(
        case.xp.asarray(answer), reference, MAX_DISTANCE[entry.precision]
    )


def compare_distances(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare distances; libraries mark unreached vertices by -1 or the maximum of a type."""
    values = case.xp.asarray(answer)
    limit = (np.finfo if values.dtype.kind == "f" else np.iinfo)(values.dtype).max
    values = case.xp.where((values < 0) | (values >= limit), np.inf, values)
    tolerance = TOLERANCE[entry.precision] if case.weight is not None else 0
    return answers.compare_values(values, reference, tolerance, "distances")


def compare_components(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare partitions."""
    return answers.compare_components(case.xp.asarray(answer), reference, case.xp)


def compare_values(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare values of vertices or edges."""
    tolerance = TOLERANCE[entry.precision]
    return answers.compare_values(case.xp.asarray(answer), reference, tolerance, "values")


def compare_clusters(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare clusterings."""
    return answers.compare_clusters(*answer, *reference)


def compare_build(answer: Any, reference: Any, entry: Entry, case: Workload) -> str | None:
    """Compare packed arcs, or their number where a library does not show them."""
    keys = reference[1]
    if isinstance(answer, int):  # some libraries keep parallel edges
        is_right = answer in (keys.size, case.rows)
        return None if is_right else f"wrong: {answer} edges of {case.rows} rows"
    return answers.compare_values(case.xp.sort(answer), keys, 0, "arcs")


# Rooflines: inputs and results once, read or written, and nothing in between. Ids take 4 bytes,
# offsets and doubles 8; searches read the lists of the vertices that they reach.


def pagerank_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count an iteration: the ids of all arcs, and per vertex two values and a degree."""
    value = np.dtype(PRECISIONS[entry.precision]).itemsize
    return 4 * case.arcs[0].size + 3 * value * case.vertices


def search_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count the lists and weights of reached vertices, distances and maybe predecessors."""
    weight = 0 if case.weight is None else case.weight.dtype.itemsize
    reached = case.xp.isfinite(reference)
    lists = (4 + weight) * int(reached[case.arcs[0]].sum()) + 8 * int(reached.sum())
    return lists + ((8 if weight else 4) + 4 * bool(entry.columns["predecessors"])) * case.vertices


def label_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count all lists in one direction, and a label per vertex."""
    return 4 * case.arcs[0].size + 12 * case.vertices


def edge_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count the simple lists, and the result: per edge with both ends, or per vertex."""
    result = 16 * case.edges[0].size if "similarity" in entry.task else 8 * case.vertices
    return 8 * case.edges[0].size + 8 * case.vertices + result


def build_bytes(case: Workload, reference: Any, entry: Entry) -> int:
    """Count the rows as given, the ids and weights of each arc, and the offsets."""
    names, keys = reference
    weight = 0 if case.weight is None else case.weight.dtype.itemsize
    rows = (2 * case.source.dtype.itemsize + weight) * case.rows
    vertices = case.vertices if names is None else names.size
    return rows + (4 + weight) * keys.size + 8 * vertices


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
    Task("pagerank", "pagerank", lambda case: (pagerank_after(case, MANY), {}), compare_pagerank,
         pagerank_bytes, ("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000"),
         ("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000"), "iteration_ms"),
    Task("bfs", "traversal", verified("bfs", "distance", "levels"), compare_distances, search_bytes,
         **SEARCHED),
    Task("sssp", "traversal", verified("sssp", "distance", "farthest"), compare_distances,
         search_bytes, is_weighted=True, **SEARCHED),
    Task("components", "traversal", verified("connected_components", "component", "components"),
         compare_components, label_bytes, **SEARCHED),
    Task("scan", "scan", scan_reference, compare_clusters, edge_bytes,
         ("rmat16u", "grid1000", "NY", "cnr-2000", "ego-Facebook", "ca-CondMat"),
         ("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook"), is_undirected=True),
    Task("build", "build", build_reference, compare_build, build_bytes, ("rmat18", "NY"),
         ("rmat22", "grid1400"), "build_ms"),
    Task("triangle_count", "structure", triangle_reference, compare_values, edge_bytes, **COUNTED),
    Task("clustering_coefficient", "structure", coefficient_reference, compare_values, edge_bytes,
         **COUNTED),
    Task("neighbor_similarity", "structure", jaccard_reference, compare_values, edge_bytes,
         **COUNTED),
    Task("core_number", "structure", verified("core_number", "core"), compare_values, edge_bytes,
         **COUNTED),
    Task("label_propagation", "structure",
         verified("label_propagation", "label", iterations=LABEL_ITERATIONS), compare_values,
         label_bytes, ("rmat18", *COUNTED["cpu"]), ("rmat22", *COUNTED["gpu"])),
    Task("strong components", "structure",
         verified("connected_components", "component", "components", strong=True),
         compare_components, label_bytes, ("rmat18", *COUNTED["cpu"][1:]),
         ("rmat22", *COUNTED["gpu"][1:])),
)  # fmt: skip
TASKS: Mapping[str, Task] = {task.name: task for task in _TASKS}
SUITES = {suite: tuple(t.name for t in _TASKS if t.suite == suite)
          for suite in dict.fromkeys(task.suite for task in _TASKS)}  # fmt: skip
QUICK_GRAPHS = ("rmat8", "rmat8u", "grid16")
SHORT_GRAPHS = ("rmat18", "rmat18u", "rmat16u", "NY", "rmat22", "rmat22u", "grid1400")
