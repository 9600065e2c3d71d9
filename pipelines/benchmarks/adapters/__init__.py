"""One file per library; each declares how the library computes the tasks of ``tasks.py``.

A declaration is a function of a graph that builds what the library runs on and returns two
functions: the first is timed, and the second brings its result into the form in which results are
compared, by vertex id or in the order of `Workload.edges`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.benchmarks.graphs import Workload

DAMPING, MAX_ITERATIONS = 0.85, 1000
TOLERANCE = {"double": 1e-10, "single": 1e-6}  # L1 change of an iteration at which PageRank stops
ITERATIONS = 10  # of label propagation
MAX_DICT_ARCS = 1_000_000  # NetworkX builds its graph from dicts
MAX_LIST_ARCS = 8_000_000  # igraph builds its graph from Python lists
CPU_PEERS = ("SciPy", "NetworKit", "igraph", "python-graphblas", "NetworkX")
GPU_PEERS = ("cuSPARSE", "cuGraph")
MODULES = {"python-graphblas": "graphblas"}  # others are the name of the library in lower case
HINTS = {"cuGraph": "it is pylibcugraph-cu12 or -cu13", "cuSPARSE": "it is part of CuPy"}

Prepared = tuple[Callable[..., Any], Callable[[Any], Any]]


@dataclass(frozen=True, eq=False)
class Entry:
    """How a library computes a task.

    Attributes
    ----------
    library, implementation, precision, note : str
        As they are recorded.
    prepare : callable
        Of a workload; returns (function to time, function of its result).
    columns : dict
        Columns of the record; times are compared with ours of the same columns and precision.
    skip : callable, optional
        Of a workload; returns why it is left out, or None.
    call : callable, optional
        Of a graph and a workload, for ours: timed on a new graph and from the frame, too.
    is_compared : bool
        False where results may differ from ours and be correct.
    """

    library: str
    task: str
    implementation: str
    prepare: Callable[[Workload], Prepared]
    precision: str = "double"
    note: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    skip: Callable[[Workload], str | None] | None = None
    call: Callable[[Any, Workload], Any] | None = None
    is_compared: bool = True

    def about(self) -> dict[str, Any]:
        """Return the columns of a record that describe the entry."""
        names = ("library", "implementation", "precision", "note")
        return {name: getattr(self, name) for name in names} | dict(self.columns)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """What entries with comparable times have in common."""
        return self.precision, *sorted(self.columns.items())


class Library:
    """The entries of a library; `add` declares one, as a decorator."""

    def __init__(self, name: str, note: str = "", max_arcs: int | None = None) -> None:
        self.name, self.note, self.max_arcs = name, note, max_arcs
        self.entries: list[Entry] = []

    def add(
        self,
        task: str,
        implementation: str,
        *,
        precision: str = "double",
        note: str = "",
        skip: Callable[[Workload], str | None] | None = None,
        call: Callable[[Any, Workload], Any] | None = None,
        is_compared: bool = True,
        **columns: Any,
    ) -> Callable[[Callable[[Workload], Prepared]], Callable[[Workload], Prepared]]:
        """Return a decorator of the function that prepares a task."""

        def register(prepare: Callable[[Workload], Prepared]) -> Callable[[Workload], Prepared]:
            text = "; ".join(filter(None, [note, self.note]))
            entry = Entry(
                self.name, task, implementation, prepare, precision, text, columns,
                lambda workload: self.size_limit(workload) or (skip and skip(workload)) or None,
                call, is_compared,
            )  # fmt: skip
            self.entries.append(entry)
            return prepare

        return register

    def size_limit(self, workload: Workload) -> str | None:
        """Return why a graph is too large for the library, or None."""
        num_arcs = workload.arcs[0].size
        if self.max_arcs is None or num_arcs <= self.max_arcs:
            return None
        return f"{num_arcs:,} arcs are more than the {self.max_arcs:,} that it is given"


def products_below(limit: int) -> Callable[[Workload], str | None]:
    """Return a `skip` for what takes the sum of squared degrees, or comparable time."""

    def skip(workload: Workload) -> str | None:
        total = workload.squared_degree_sum
        if total <= limit:
            return None
        return f"the sum of its squared degrees is {total:,}, more than {limit:,}"

    return skip


def has_gaps(case: Any) -> str | None:
    """Return why a build is left out, as a `skip`."""
    return "ids with gaps are not taken" if case.has_names else None


def find_entries(task: str, on_gpu: bool, names: list[str] | None = None) -> list[Entry]:
    """Return the entries of a task by the libraries that can be imported."""
    entries = []
    for name in ("rapidsgraph", "serial", *(GPU_PEERS if on_gpu else CPU_PEERS)):
        if names is None or name in names:
            module, _ = import_adapter(name)
            entries += [
                e for e in getattr(module, "library", Library("")).entries if e.task == task
            ]
    return entries


def import_adapter(name: str) -> tuple[Any, str | None]:
    """Return (the module of a library or None, why it cannot be imported or None)."""
    module = MODULES.get(name, name.lower())
    try:
        return importlib.import_module(f"pipelines.benchmarks.adapters.{module}"), None
    except Exception as error:  # a broken installation may raise anything
        hint = HINTS.get(name, "pip install '.[benchmark]'")
        return None, f"{name} is left out: it cannot be imported ({error}); {hint}"


def missing_libraries(on_gpu: bool) -> list[str]:
    """Return a note on each peer that cannot be imported."""
    notes = [import_adapter(name)[1] for name in (GPU_PEERS if on_gpu else CPU_PEERS)]
    return [note for note in notes if note]
