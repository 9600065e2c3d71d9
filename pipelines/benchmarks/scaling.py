"""Time and peak memory as R-MAT graphs grow, up to 10^9 edges, beside cuGraph on a GPU.

Each graph is twice as large as the one before. A task ends when the budget in seconds is used up,
or at the first graph that does not fit. `time_slope` and `memory_slope` are the powers of the edges
with which they grow: least squares of the logarithms over the upper half of the sizes. A picture of
the times is saved beside the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas

from pipelines.benchmarks import comparisons, performance
from pipelines.benchmarks.adapters import Entry, find_entries, missing_libraries
from pipelines.benchmarks.harness import Measure, Session, Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS

DEFAULT = ("build", "pagerank", "bfs", "sssp", "components", "scan")
LIBRARIES = ["rapidsgraph", "cuGraph"]
SCALES = {"cpu": range(10, 31), "gpu": range(10, 31), "quick": range(6, 9)}
BUDGET = 90.0  # seconds
OTHER_METHODS = (
    "edge", "node", "contribution", "warp", "gpuscan", "ScanIndex.query", "by destination",
)  # fmt: skip


def fit_exponent(edges: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Return the power of the edges with which values grow, over the upper half of the sizes."""
    points = sorted((e, v) for e, v in zip(edges, values, strict=True) if v and v > 0)
    points = points[len(points) // 2 :]
    if len(points) < 2:
        return None
    return round(float(np.polyfit(*np.log(np.array(points).T), 1)[0]), 3)


def contests(rows: Sequence[Record]) -> Iterator[tuple[str, pandas.DataFrame]]:
    """Yield each contest and its rows, with the edges of their graphs and the times."""
    edges = {row["graph"]: row["rows"] for row in rows if row["table"] == "graph"}
    for title, contest in performance.by_contest(rows):
        yield title, pandas.DataFrame([
            row | {"edges": edges[row["graph"]], "ms": performance.median(row),
                   "name": f"{row['library']} {row['implementation']}"} for row in contest
        ])  # fmt: skip


def slopes(rows: Sequence[Record]) -> Iterator[Record]:
    for title, contest in contests(rows):
        ours = contest[contest["library"] == "rapidsgraph"]
        yield {
            "table": "slope", "task": title, "to_edges": int(ours["edges"].max()),
            "sizes": len(ours), "time_slope": fit_exponent(ours["edges"], ours["ms"]),
            "memory_slope": fit_exponent(ours["edges"], ours["peak_bytes"]),
        }  # fmt: skip


def plot(panels: Sequence[tuple[str, pandas.DataFrame]], path: Path) -> None:
    """Draw the times of all libraries against the edges, a panel per contest."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3 * -(-len(panels) // 4)), layout="constrained")
    grid = figure.subplots(-(-len(panels) // 4), 4, squeeze=False).flat
    for (title, contest), axes in zip(panels, grid, strict=False):
        roofline = contest.assign(name="roofline", ms=contest.get("floor_ms"))
        times = pandas.concat([contest, roofline]).pivot_table("ms", "edges", "name")
        times.plot(ax=axes, loglog=True, title=title, ylabel="ms", marker="o", markersize=3,
                   grid=True)  # fmt: skip
        axes.legend(fontsize="x-small", frameon=False)
    for axes in grid:  # without a contest
        axes.remove()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main_entries(task: str, session: Session) -> list[Entry]:
    """Return the entries of a task without further methods of ours, by default beside cuGraph."""
    libraries = session.options.libraries or LIBRARIES
    entries = find_entries(task, session.on_gpu, libraries)
    return [entry for entry in entries if entry.implementation not in OTHER_METHODS]


def measurements(session: Session) -> Iterator[tuple[str, Measure]]:
    options = session.options
    options.libraries = options.libraries or LIBRARIES
    options.graphs = options.graphs or [f"rmat{scale}" for scale in SCALES[session.kind]]
    budget = session.start["budget_s"] = options.budget or BUDGET
    session.notes += missing_libraries(session.on_gpu, options.libraries)
    tasks = []
    for name in session.tasks(DEFAULT, *TASKS):
        orders = ("shuffled",) if TASKS[name].orders else ()
        tasks.append(replace(TASKS[name], entries=main_entries(name, session), orders=orders))
    yield from comparisons.compare_libraries(tasks, session, budget)
    if session.path and (panels := list(contests(session.rows))):
        plot(panels, session.path.with_suffix(".png"))


SUITE = Suite("scaling", measurements, slopes)
