"""One file per library: the table of how it computes the tasks of ``tasks.py``.

A row names a task and has up to five functions: `graph` builds what the library runs on, `run` of
that and the workload (and a number of iterations for PageRank) is timed, `convert` brings the
result into the form in which results are compared, by vertex id or in the order of
`Workload.edges`, `skip` says why a workload is left out, and `facts` of what the library ran on
are recorded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
import pandas

from pipelines.benchmarks.graphs import Workload

DAMPING = 0.85
CLUSTERS = {"epsilon": 0.5, "mu": 4}  # GPUSCAN's mu of 3, which does not count the vertex itself
FEW, MANY = 5, 25  # iterations of PageRank, whose difference gives the time of an iteration
CPU_PEERS = ("SciPy", "NetworKit", "igraph", "python-graphblas")
GPU_PEERS = ("cuSPARSE", "cuGraph")
MODULES = {"python-graphblas": "graphblas"}  # others are the name of the library in lower case
HINTS = {"cuGraph": "it is pylibcugraph-cu12 or -cu13", "cuSPARSE": "it is part of CuPy"}


@dataclass(frozen=True, eq=False)
class Entry:
    """How a library computes a task; times are compared with ours of the same `outputs`.

    `measure_peak` is that of the session unless the work is done elsewhere.
    """

    library: str
    task: str
    implementation: str
    run: Callable[..., Any]
    graph: Callable[[Workload], Any] = lambda case: None
    convert: Callable[[Any, Workload], Any] = lambda answer, case: answer
    skip: Callable[[Workload], str | None] = lambda case: None
    facts: Callable[[Any], Mapping[str, Any]] = lambda graph: {}
    precision: str = "double"
    note: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    measure_peak: Callable[[Callable[[], Any]], tuple[int | None, Any]] | None = None

    def prepare(self, case: Workload) -> Callable[..., Any]:
        return partial(self.run, case.shared(self.graph), case)

    def about(self) -> dict[str, Any]:
        """Return the columns of a record that describe the entry."""
        names = ("library", "implementation", "precision", "note")
        return {name: getattr(self, name) for name in names} | dict(self.columns)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """What entries with comparable times have in common."""
        return self.precision, *sorted(self.columns.items())


FIELDS = {item.name for item in fields(Entry)}


class Library:
    """The entries of a library."""

    def __init__(self, name: str, note: str = "") -> None:
        self.name, self.note, self.entries = name, note, list[Entry]()

    def add(
        self, task: str, implementation: str, *functions: Callable, note: str = "", **options: Any
    ) -> None:
        """Add an entry, whose columns are the options that are no fields of an entry."""
        known = {name: options.pop(name) for name in FIELDS & options.keys()}
        note = "; ".join(filter(None, [note, self.note]))
        self.entries.append(Entry(self.name, task, implementation, *functions, note=note,
                                  columns=options, **known))  # fmt: skip


def products_below(limit: int) -> Callable[[Workload], str | None]:
    """Return a `skip` for what takes the sum of squared degrees, or comparable time."""

    def skip(case: Workload) -> str | None:
        total = int((case.degrees.astype("int64") ** 2).sum())
        return f"squared degrees add up to {total:,}, beyond {limit:,}" if total > limit else None

    return skip


def scatter(column: str) -> Callable[[pandas.DataFrame, Workload], Any]:
    """Return the function that orders a column by vertex id, with -1 for vertices that lack."""

    def convert(answer: pandas.DataFrame, case: Workload) -> Any:
        values = np.full(case.vertices, -1.0)
        values[answer["vertex"]] = answer[column]
        return case.xp.asarray(values)

    return convert


def find_entries(task: str, on_gpu: bool, names: list[str] | None = None) -> list[Entry]:
    known = ("rapidsgraph", "serial", *(GPU_PEERS if on_gpu else CPU_PEERS))
    modules = [import_adapter(name)[0] for name in known if names is None or name in names]
    entries = [entry for module in modules if module for entry in module.library.entries]
    return [entry for entry in entries if entry.task == task]


def import_adapter(name: str) -> tuple[Any, str | None]:
    """Return (the module of a library or None, why it cannot be imported or None)."""
    module = MODULES.get(name, name.lower())
    try:
        return importlib.import_module(f"pipelines.benchmarks.adapters.{module}"), None
    except Exception as error:  # a broken installation may raise anything
        hint = HINTS.get(name, "pip install '.[benchmark]'")
        return None, f"{name} is left out: it cannot be imported ({error}); {hint}"


def missing_libraries(on_gpu: bool, names: Sequence[str] | None = None) -> list[str]:
    """Return a note on each peer, or those of `names`, that cannot be imported."""
    peers = [name for name in (GPU_PEERS if on_gpu else CPU_PEERS) if name in (names or (name,))]
    return [note for _, note in map(import_adapter, peers) if note]
