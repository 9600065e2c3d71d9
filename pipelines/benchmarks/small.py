"""Whole calls on kept graphs of about 1,000 edges, where overhead dominates.

Launches, allocations and the result frame take most of the time. PageRank runs 20 iterations. An
untimed call precedes every timed one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pipelines.benchmarks import comparisons
from pipelines.benchmarks.adapters import Entry, missing_libraries
from pipelines.benchmarks.graphs import Workload
from pipelines.benchmarks.harness import Effort, Measure, Session, Suite
from pipelines.benchmarks.scaling import LIBRARIES, main_entries
from pipelines.benchmarks.tasks import TASKS, Task, pagerank_reference

TASK_NAMES = ("pagerank", "bfs", "components", "scan")
GRAPHS = ("rmat6-16", "rmat7-8", "grid20")  # of 518, 704 and 1,094 edges
ITERATIONS = 20


def with_iterations(entry: Entry) -> Entry:
    """Return an entry of PageRank that runs `ITERATIONS` in one call."""

    def run(graph: Any, case: Workload) -> Any:
        return entry.run(graph, case, ITERATIONS)

    return replace(entry, run=run)


def create_task(name: str, session: Session) -> Task:
    """Return a task whose calls are timed as a whole, on small graphs."""
    entries = main_entries(name, session)
    task = replace(TASKS[name], entries=entries, cpu=GRAPHS, gpu=GRAPHS, has_warm_up=True)
    if name != "pagerank":
        return task
    return replace(
        task, name=f"pagerank, {ITERATIONS} iterations", time="run_ms",
        reference=pagerank_reference(ITERATIONS),
        entries=[with_iterations(entry) for entry in entries],
    )  # fmt: skip


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    session.notes += missing_libraries(session.on_gpu, session.options.libraries or LIBRARIES)
    tasks = [create_task(name, session) for name in session.tasks(TASK_NAMES)]
    return comparisons.compare_libraries(tasks, session)


SUITE = Suite("small", measurements, effort=Effort(rounds=101, budget=1.0), options={"full": True})
