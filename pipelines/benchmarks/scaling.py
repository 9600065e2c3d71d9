"""Time and peak memory as R-MAT graphs grow, up to 10^9 edges, beside cuGraph on a GPU.

Each graph is twice as large as the one before. A task stops when the budget in seconds is used up,
or at the first graph that does not fit. `time_slope` and `memory_slope` are the powers of the edges
with which they grow: least squares of the logarithms over the upper half of the sizes. A picture of
the times is saved beside the record.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas

from pipelines.benchmarks import comparisons, performance
from pipelines.benchmarks.adapters import missing_libraries
from pipelines.benchmarks.graphs import SEED, Workload
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS

DEFAULT = ("build", "pagerank", "bfs", "sssp", "components", "scan")
LIBRARIES = ["rapidsgraph", "cuGraph"]
SCALES = {"cpu": range(10, 31), "gpu": range(10, 31), "quick": range(6, 9)}
BUDGET = 90.0  # seconds
METHODS = ("edge", "node", "contribution", "warp", "gpuscan", "ScanIndex.query", "by destination")


def measure(name: str, plain: Workload, session: Session) -> Iterator[Record]:
    """Yield the records of a task on a graph, of our default method and of the peers'."""
    task = TASKS[name]
    for case in task.cases(plain, session.options.data):
        if case.case in ("", "shuffled"):
            for row in comparisons.measure(task, case, session, without=METHODS):
                yield row | {"edges": int(plain.rows)}


def fit_exponent(edges: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Return the power of the edges with which values grow, over the upper half of the sizes."""
    points = sorted((e, v) for e, v in zip(edges, values, strict=True) if v and v > 0)
    points = points[len(points) // 2 :]
    if len(points) < 2:
        return None
    return round(float(np.polyfit(*np.log(np.array(points).T), 1)[0]), 3)


def slopes(rows: Sequence[Record]) -> Iterator[Record]:
    for title, contest in performance.by_contest(rows):
        ours = [row for row in contest if row["library"] == "rapidsgraph"]
        edges = [row["edges"] for row in ours]
        yield {
            "table": "slope", "task": title, "to_edges": max(edges), "sizes": len(ours),
            "time_slope": fit_exponent(edges, [performance.median(row) for row in ours]),
            "memory_slope": fit_exponent(edges, [row["peak_bytes"] for row in ours]),
        }  # fmt: skip


def plot(rows: Sequence[Record], path: Path) -> None:
    """Draw the times of all libraries against the edges, a panel per contest."""
    from matplotlib.figure import Figure

    contests = list(performance.by_contest(rows))
    figure = Figure(figsize=(13, 3 * -(-len(contests) // 4)), layout="constrained")
    panels = figure.subplots(-(-len(contests) // 4), 4, squeeze=False).flat
    for axes, (title, contest) in zip(panels, contests, strict=False):
        times = pandas.DataFrame(
            [(f"{row['library']} {row['implementation']}", row["edges"], performance.median(row))
             for row in contest]
            + [("roofline", row["edges"], row["floor_ms"]) for row in contest if "floor_ms" in row],
            columns=["library", "edges", "ms"],
        )  # fmt: skip
        times.pivot_table("ms", "edges", "library").plot(
            ax=axes, loglog=True, title=title, ylabel="ms", marker="o", markersize=3, grid=True
        )
        axes.legend(fontsize="x-small", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    options.libraries = options.libraries or LIBRARIES
    session.notes += missing_libraries(session.on_gpu, options.libraries)
    others = [name for name in TASKS if name not in DEFAULT]
    tasks, budget = session.tasks(DEFAULT, *others), options.budget or BUDGET
    session.start |= {"seed": SEED, "budget_s": budget}
    comparisons.warm_up([TASKS[name] for name in tasks], session)
    session.measure_copy_rate()
    start = time.perf_counter()
    for workload in session.graphs(
        options.graphs or [f"rmat{scale}" for scale in SCALES[session.kind]]
    ):
        for task in list(tasks):
            if time.perf_counter() - start > budget:
                session.notes.append(f"{workload.name}, {task}: the budget is used up")
                tasks.remove(task)
                continue
            num_rows = len(session.rows)
            yield f"{workload.name}, {task}", partial(measure, task, workload, session)
            if not any("ratio" in row for row in session.rows[num_rows:]):  # such as memory
                tasks.remove(task)
        if not tasks:
            break
    if session.path and session.rows:
        plot(session.rows, session.path.with_suffix(".png"))


SUITE = Suite("scaling", measurements, slopes)
