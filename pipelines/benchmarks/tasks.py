"""The tasks that libraries are compared on: graphs, verified references, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import answers
from pipelines.benchmarks.adapters import DAMPING, MANY, Entry
from pipelines.benchmarks.adapters.rapidsgraph import CALLS
from pipelines.benchmarks.graphs import Workload, build_cases, pack, with_weights, without_isolated

MAX_LOOKUPS = 2 * 10**8  # of `rapidsgraph.verify`, in ten seconds on a CPU

Reference = tuple[Any, dict[str, Any]]  # the answer in its compared form; facts for the records


@dataclass(frozen=True)
class Task:
    """A task of a suite, which is the record that it belongs to.

    `reference` returns that of a case, which has been verified, or raises; `compare` returns the
    problem of (answer, reference, precision) or None; `cpu` and `gpu` are the graphs, and `time` is
    the column of the time. Without `entries`, the libraries have those of the task. A build has a
    case for each of `orders`, those of its rows; edge frames are `is_without_isolated` vertices.
    With `has_warm_up`, an untimed call precedes every timed one: a long call of another library
    evicts from the caches what a short call needs.
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
    entries: Sequence[Entry] = ()
    orders: Sequence[str] = ()
    is_without_isolated: bool = False
    has_warm_up: bool = False

    def cases(self, workload: Workload, folder: Any = None) -> Iterator[Workload]:
        """Yield the graph as the task takes it."""
        if self.orders:
            yield from (case for case in build_cases(workload) if case.case in self.orders)
            return
        workload = without_isolated(workload) if self.is_without_isolated else workload
        case = with_weights(workload, folder) if self.is_weighted else workload
        yield replace(case, directed=False) if self.is_undirected and case.directed else case


def num_bytes(case: Workload) -> int:
    """Return the bytes that must be moved: arcs with weights once, and per vertex 20 bytes."""
    weight = 0 if case.weight is None else case.weight.dtype.itemsize
    return (4 + weight) * int(case.arcs[0].size) + 20 * case.vertices


def pagerank_reference(iterations: int, dangling: bool = True) -> Callable[[Workload], Reference]:
    """Return PageRank after some iterations by the formula; dangling mass may be lost."""

    def reference(case: Workload) -> Reference:
        xp, vertices, (sources, destinations) = case.xp, case.vertices, case.arcs
        degrees = xp.bincount(sources, minlength=vertices)
        values = xp.full(vertices, 1 / vertices)
        for _ in range(iterations):
            contributions = (values / xp.maximum(degrees, 1))[sources]
            sums = xp.bincount(destinations, weights=contributions, minlength=vertices)
            mass = float(values[degrees == 0].sum()) if dangling else 0.0
            values = DAMPING * (sums + mass / vertices) + (1 - DAMPING) / vertices
        return values, {}

    return reference


def verified(
    task: str, fact: str = "", num_lookups: Callable[[Workload], float] = lambda case: 0
) -> Callable[[Workload], Reference]:
    """Return the reference of a call that `rapidsgraph.verify` checks; it may return a fact."""
    call = CALLS[task]

    def reference(case: Workload) -> Reference:
        arguments = case.graph, *call.starts(case)
        result, facts = call(*arguments), {"verified": "by agreement of the libraries"}
        if num_lookups(case) <= MAX_LOOKUPS * (1 if case.xp is np else 50):
            verify = getattr(rg.verify, call.function.removeprefix("connected_"))
            found = verify(arguments[0], result, *arguments[1:], **call.options)
            facts = {fact: float(found)} if fact else {}
        return call.values(result, case.xp), facts

    return reference


def triangle_lookups(case: Workload) -> int:
    """Return how many neighbors `rapidsgraph.verify` looks up to find all triangles."""
    first, second = case.edges
    return int(case.xp.minimum(case.degrees[first], case.degrees[second]).sum())


def build_reference(case: Workload) -> Reference:
    """Return the packed arcs and the number of rows; builders share no code with it."""
    keys = pack(case.source, case.destination)
    if not case.directed:
        keys = case.xp.concatenate([keys, pack(case.destination, case.source)])
    return (case.xp.unique(keys), case.rows), {"case": case.case}


SEARCHED = {
    "cpu": ("rmat18", "NY", "rmat20", "grid1000", "grid1400"),
    "gpu": ("rmat22", "rmat22u", "grid1400", "NY", "cnr-2000"),
}
COUNTED = {
    "cpu": ("rmat18u", "NY", "cnr-2000", "grid1000"),
    "gpu": ("rmat22u", "grid1400", "NY", "cnr-2000"),
    "is_undirected": True,
}
ORDERS = ("in order", "shuffled", "weighted")
_TASKS = (
    Task("pagerank", "pagerank", pagerank_reference(MANY), answers.compare_pagerank,
         ("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000"),
         ("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000"), "iteration_ms"),
    Task("bfs", "traversal", verified("bfs", "levels"), answers.compare_distances,
         **SEARCHED),
    Task("sssp", "traversal", verified("sssp", "farthest"), answers.compare_distances,
         is_weighted=True, **SEARCHED),
    Task("components", "traversal", verified("components", "components"),
         answers.compare_groups, **SEARCHED),
    Task("scan", "scan", verified("scan", "clusters", triangle_lookups),
         answers.compare_clusters,
         ("rmat16u", "grid1000", "NY", "cnr-2000", "ego-Facebook", "ca-CondMat"),
         ("rmat22u", "grid1400", "NY", "cnr-2000", "ego-Facebook"), is_undirected=True),
    Task("build", "build", build_reference, answers.compare_build, ("rmat18", "NY"),
         ("rmat22", "grid1400"), "build_ms", orders=ORDERS),
    Task("build and iterate", "build", build_reference, answers.compare_build, ("rmat18", "NY"),
         ("rmat22", "grid1400"), orders=ORDERS),
    Task("triangle_count", "structure",
         verified("triangle_count", "triangles", triangle_lookups),
         answers.compare_values, **COUNTED),
    Task("clustering_coefficient", "structure",
         verified("clustering_coefficient", "", triangle_lookups),
         answers.compare_values, **COUNTED),
    Task("neighbor_similarity", "structure",
         verified("neighbor_similarity", "", triangle_lookups),
         answers.compare_values, **COUNTED),
    Task("core_number", "structure", verified("core_number"), answers.compare_values,
         **COUNTED),
    Task("label_propagation", "structure",
         verified("label_propagation"),
         answers.compare_values, ("rmat18", *COUNTED["cpu"]), ("rmat22", *COUNTED["gpu"])),
    Task("strong components", "structure",
         verified("strong components", "components"),
         answers.compare_groups, ("rmat18", *COUNTED["cpu"][1:]), ("rmat22", *COUNTED["gpu"][1:])),
)  # fmt: skip
TASKS = {task.name: task for task in _TASKS}
COMPARISONS = {suite: [task for task in _TASKS if task.suite == suite]
               for suite in dict.fromkeys(task.suite for task in _TASKS)}  # fmt: skip
QUICK_GRAPHS = ("rmat8", "rmat8u", "grid16")
SHORT_GRAPHS = ("rmat18", "rmat18u", "rmat16u", "NY", "rmat22", "rmat22u", "grid1400")
