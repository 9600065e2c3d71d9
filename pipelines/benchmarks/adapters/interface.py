"""Interfaces of the adapters: each library has a class for each of its tasks.

An adapter builds what its library runs on (untimed), runs it (timed), and brings the answer into
the order of vertex ids, in which answers are compared (untimed). PageRank has the same definition
everywhere: damping 0.85, dangling mass distributed uniformly, values that sum to 1.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from pipelines.benchmarks.answers import compare_counts
from pipelines.benchmarks.graphs import BUILD_CASES, BuildCase, Workload
from pipelines.benchmarks.scan_reference import ScanCase
from rapidsgraph.device.arrays import Array

PRECISIONS = {"double": np.float64, "single": np.float32}
DAMPING = 0.85
# PageRank stops when one iteration changes the values by less in total (L1), and the result may
# differ by at most MAX_DISTANCE in total from the values that rapidsgraph.verify has passed.
TOLERANCE = {"double": 1e-10, "single": 1e-6}
MAX_DISTANCE = {"double": 1e-8, "single": 1e-4}
MAX_ITERATIONS = 1000
# Relative error that a distance of a peer may have in SSSP. BFS distances must be equal.
DISTANCE_TOLERANCE = {"double": 1e-9, "single": 1e-4}
MAX_DICT_ARCS = 1_000_000  # NetworkX builds its graph from dicts
MAX_LIST_ARCS = 8_000_000  # igraph builds its graph from Python lists
TRAVERSALS = ("bfs", "sssp", "components")
SCAN_TASKS = {"whole": "similarity and clustering", "alone": "clustering alone"}
INSTALL_HINT = "pip install '.[benchmark]'"

AdapterType = TypeVar("AdapterType", bound="Adapter")


class Adapter:
    """Base of the adapters of all tasks.

    Attributes
    ----------
    library, implementation, precision, note : str
        As they are recorded.
    max_arcs : int or None
        Larger graphs are left out.
    storage : str
        The Python objects from which the library builds its graph, the reason for `max_arcs`.
    """

    library = ""
    note = ""
    max_arcs: int | None = None
    storage = ""

    def __init__(self, implementation: str, precision: str = "double") -> None:
        self.implementation, self.precision = implementation, precision

    def __str__(self) -> str:
        return f"{self.library}, {self.implementation}, {self.precision}"

    @property
    def value_type(self) -> type:
        return PRECISIONS[self.precision]

    def about(self) -> dict[str, Any]:
        """Return the columns of a record that describe the adapter."""
        names = ("library", "implementation", "precision", "note")
        return {name: getattr(self, name) for name in names}

    def skip_reason(self, graph: Any) -> str | None:
        """Return why a Workload or ScanCase is left out, or None."""
        num_arcs = graph.arcs[0].size
        if self.max_arcs and num_arcs > self.max_arcs:
            return (
                f"the graph has {num_arcs:,} arcs, more than {self.max_arcs:,}; it is built from "
                f"Python {self.storage}"
            )
        return None


class PageRankAdapter(Adapter):
    """PageRank: `iterate` runs exactly k iterations, `solve` runs until convergence.

    Attributes
    ----------
    counts_iterations : bool
        Whether the library can run a given number of iterations.
    max_iterations : int
        The most iterations that one timing may have.
    gives_pagerank : bool
        Whether the result of few iterations is PageRank, and can be compared.
    """

    counts_iterations = True
    max_iterations = 1000
    gives_pagerank = True

    def prepare(self, workload: Workload) -> Any:
        """Build the library's graph."""
        raise NotImplementedError

    def ready_state(self, workload: Workload) -> Any:
        """Return the argument of `iterate` and `solve`; it is built unless adapters share it."""
        return self.prepare(workload)

    def iterate(self, state: Any, iterations: int) -> Any:
        """Run a number of iterations."""
        raise NotImplementedError

    def solve(self, state: Any) -> Any:
        """Run until convergence."""
        raise NotImplementedError

    def by_vertex(self, answer: Any) -> Array:
        """Return the values in the order of vertex ids."""
        return answer


class TraversalAdapter(Adapter):
    """BFS, SSSP or weak components.

    Attributes
    ----------
    predecessors : bool or None
        Whether the answer has them; None for components.
    graph_key : object
        Adapters of a library with the same key share a graph.
    needs_symmetric : bool
        Whether it takes only graphs in which the reverse of every arc is an arc.
    """

    storage = "lists"
    graph_key: Any = ""
    needs_symmetric = False

    def __init__(
        self,
        task: str,
        implementation: str,
        predecessors: bool | None = None,
        note: str = "",
        precision: str = "double",
    ) -> None:
        super().__init__(implementation, precision)
        self.task, self.predecessors, self.note = task, predecessors, note

    def __str__(self) -> str:
        result = {None: "components", True: "predecessors", False: "distances"}[self.predecessors]
        return f"{self.task}, {super().__str__()}, {result}"

    def about(self) -> dict[str, Any]:
        return super().about() | {"predecessors": self.predecessors}

    def skip_reason(self, graph: Workload) -> str | None:
        reason = super().skip_reason(graph)
        if reason is None and self.needs_symmetric and not graph.symmetric:
            reason = "not every arc has a reverse arc"
        return reason

    @property
    def method(self) -> tuple[str, str, str]:
        """What runs, with or without predecessors."""
        return self.library, self.implementation, self.precision

    def prepare(self, workload: Workload) -> Any:
        """Build the library's graph."""
        raise NotImplementedError

    def run(self, graph: Any, workload: Workload) -> Any:
        """Search from the start of the workload."""
        raise NotImplementedError

    def by_vertex(self, answer: Any, workload: Workload) -> Array:
        """Return labels of components, or float64 distances, infinity where unreached.

        Libraries mark unreached vertices by the maximum of an integer or floating-point type.
        """
        answer = workload.xp.asarray(answer)
        if self.task == "components":
            return answer
        limits: Any = np.finfo if answer.dtype.kind == "f" else np.iinfo
        return workload.xp.where(answer < limits(answer.dtype).max, answer, np.inf)


class ScanAdapter(Adapter):
    """Similarities ("similarity"), common neighbors ("counts"), or one of `SCAN_TASKS`.

    Attributes
    ----------
    max_steps : dict from device to int
        Graphs with a larger sum of squared degrees are left out.
    """

    max_steps: dict[str, int] = {}  # noqa: RUF012

    def __init__(
        self, task: str, implementation: str, note: str = "", precision: str = "double"
    ) -> None:
        super().__init__(implementation, precision)
        self.task, self.note = task, note

    def __str__(self) -> str:
        return f"{self.task}, {self.library}, {self.implementation}"

    def about(self) -> dict[str, Any]:
        return super().about() | {"gives": SCAN_TASKS.get(self.task, self.task)}

    def skip_reason(self, graph: ScanCase) -> str | None:
        limit = self.max_steps.get(graph.graph.device)
        if limit and graph.squared_degree_sum > limit:
            return (
                f"the sum of its squared degrees is {graph.squared_degree_sum:,}, "
                f"more than {limit:,}"
            )
        return None

    def prepare(self, case: ScanCase) -> Callable[[], Any]:
        """Return the function that is timed."""
        raise NotImplementedError

    def check(self, case: ScanCase, answer: Any) -> str | None:
        """Return the problem of an answer, or None."""
        raise NotImplementedError


class BuildAdapter:
    """Graph builds.

    Attributes
    ----------
    cases : sequence of str
        The `BUILD_CASES` that it takes.
    by : {"source", "destination"}
        The adjacency that it builds; ratios compare with ours by the same.
    """

    library = ""
    implementation = ""
    note = ""
    cases: Iterable[str] = BUILD_CASES
    by = "source"

    def __str__(self) -> str:
        return f"{self.library}, {self.implementation}"

    def build(self, case: BuildCase) -> Any:
        """Build the library's graph; this is timed."""
        raise NotImplementedError

    def check(self, case: BuildCase, graph: Any) -> str | None:
        """Return the problem of a graph, or None."""
        raise NotImplementedError


def import_optional(name: str, notes: list[str], hint: str = INSTALL_HINT) -> ModuleType | None:
    """Import a module, or return None and add a note that names it."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation may raise anything
        notes.append(f"{name} is left out: it cannot be imported ({error}); {hint}")
        return None


def select_supported(
    adapters: Iterable[AdapterType], graph: Workload | ScanCase, notes: list[str]
) -> list[AdapterType]:
    """Return the adapters that take a graph; notes name the others with the reason."""
    supported = []
    for adapter in adapters:
        if reason := adapter.skip_reason(graph):
            name = f"{adapter.library}'s {adapter.implementation}"
            notes.append(f"{graph.name}: {name} is left out, {reason}")
        else:
            supported.append(adapter)
    return supported


def edges_once(workload: Workload) -> tuple[tuple[Array, Array], Array]:
    """Return ((sources, destinations), weights), with each undirected edge once."""
    (sources, destinations), weights = workload.arcs, workload.arc_weights
    if workload.directed:
        return (sources, destinations), weights
    keep = sources <= destinations
    return (sources[keep], destinations[keep]), weights[keep]


def tree_depths(order: np.ndarray, predecessors: np.ndarray) -> np.ndarray:
    """Return the depth of each vertex in a tree whose root is the first of `order`.

    Pointer jumping: the distance over which a vertex looks back doubles in every round.
    """
    below, ancestor = order[1:], np.arange(predecessors.size)
    ancestor[below] = predecessors[below]
    depth = np.full(ancestor.size, np.inf)
    depth[order[0]], depth[below] = 0, 1
    for _ in range(ancestor.size.bit_length()):
        depth[below] += depth[ancestor[below]]
        ancestor = ancestor[ancestor]
    return depth


def compare_triangles(
    case: ScanCase, arcs: Any, rows: np.ndarray, columns: np.ndarray, triangles: np.ndarray
) -> str | None:
    """Compare the triangle counts of some arcs, of which zeros may be left out."""
    keys = (case.arc_sources.astype(np.int64) << 32 | case.lists.neighbors)[arcs]
    pairs = rows.astype(np.int64) << 32 | columns.astype(np.int64)
    index = np.minimum(np.searchsorted(keys, pairs), keys.size - 1) if keys.size else pairs
    if not np.array_equal(keys[index], pairs):
        return "wrong: counts of pairs that are not edges"
    counts = np.full(keys.size, 2, np.int64)  # the two endpoints of an edge
    counts[index] += triangles
    return compare_counts(counts, case.common_neighbors[arcs])
