"""Time and peak memory against the number of edges, from ten thousand to the most that fit.

    python pipelines/benchmarks/scaling.py [--device auto|cpu|gpu] [--only bfs,sssp] [--budget 90]
                                           [--graphs rmat10,rmat11] [--quick] [--output FILE]

The graphs are R-MAT with 16 edges per vertex, each twice as large as the one before. All stop when
the budget in seconds is used up, or where `rg.estimate_memory` says that the next graph does not
fit. `exponent` is the power of the edges with which time or memory grows: least squares of the
logarithms over the upper half of the sizes. With --output a picture (.png) is drawn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, layers, timing
from pipelines.benchmarks.adapters import find_entries
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import TASKS, pagerank_after

ITERATIONS = 20  # of PageRank
ALGORITHMS = {  # task: its name in `rg.estimate_memory`
    "build": None, "pagerank": "pagerank", "bfs": "bfs", "sssp": "sssp",
    "components": "connected_components", "scan": "scan", "streamed bfs": "bfs",
}  # fmt: skip


def prepare(name: str, case: Workload, folder: Path) -> tuple[Callable[[], Any], int]:
    """Return (function to time, estimated bytes above the frame or the memory limit)."""
    if name == "build":
        return case.build, case.estimate_build()
    graph = case.build()
    estimate = rg.estimate_memory(graph, ALGORITHMS[name]).needed
    if name == "pagerank":
        limits = {"tolerance": 0, "max_iterations": ITERATIONS, "progress": False}
        return partial(rg.pagerank, graph, **limits), estimate
    if name == "streamed bfs":
        size = layers.partition_bytes(2 * graph.num_arcs)  # packed, an edge takes 2 bytes or more
        rg.LayeredEdgeList.build(graph, case.start, partition_bytes=size).save(folder / "store")
        layered = layers.open_store(folder / "store", case.xp)
        limit = layers.memory_limit(layered, "bfs")
        return partial(rg.bfs, layered, memory_limit=limit), limit
    if name == "scan":
        return lambda: (graph._cache.clear(), rg.scan(graph, epsilon=0.5, mu=4))[1], estimate
    calls = {"components": rg.connected_components}
    searches = {"bfs": rg.bfs, "sssp": rg.sssp}
    if name in searches:
        return partial(searches[name], graph, case.start), estimate
    return partial(calls[name], graph), estimate


def check_answer(name: str, case: Workload, answer: Any) -> str | None:
    """Compare an answer with the verified one."""
    if name == "pagerank":
        expected = pagerank_after(case, ITERATIONS)
        distance = float(abs(case.xp.asarray(answer["pagerank"]) - expected).sum())
        return None if distance < 1e-9 else f"wrong: {distance:.2g} in total"
    task = TASKS[name.removeprefix("streamed ")]
    entry = find_entries(task.name, case.xp is not np, ["rapidsgraph"])[0]
    if name == "build":
        case.case, case.has_names = "in order", False
    convert = entry.prepare(case)[1]
    return task.compare(convert(answer), task.reference(case)[0], entry, case)


def measure(name: str, plain: Workload, session: Session) -> Iterator[Record]:
    """Yield the record of a task on a graph."""
    task = TASKS[name.removeprefix("streamed ")]
    case = next(iter(task.cases(plain, session.options.data)))
    _ = case.frame
    row: Record = {"table": "size", "task": name, "graph": plain.name, "edges": int(plain.rows)}
    with tempfile.TemporaryDirectory() as folder:
        run, row["estimate_bytes"] = prepare(name, case, Path(folder))
        job = harness.checked(run, partial(check_answer, name, case), session, row)
        if job:
            row["run_ms"] = timing.summary([job() for _ in range(session.effort.rounds)])
            row["ns_per_edge"] = float(f"{row['run_ms']['median'] * 1e6 / row['edges']:.4g}")
    yield row


def fit_exponent(edges: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Return the power of the edges with which values grow, over the upper half of the sizes."""
    points = sorted((e, v) for e, v in zip(edges, values, strict=True) if v and v > 0)
    points = points[len(points) // 2 :]
    if len(points) < 2:
        return None
    return round(float(np.polyfit(*np.log(np.array(points).T), 1)[0]), 3)


def slopes(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield the exponents of time and memory of each task."""
    rows = [row for row in rows if row.get("table") == "size" and "run_ms" in row]
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        edges = [row["edges"] for row in own]
        exponent = fit_exponent(edges, [row["run_ms"]["median"] for row in own])
        memory = fit_exponent(edges, [row.get("peak_bytes") for row in own])
        yield {"table": "slope", "task": task, "to_edges": max(edges), "sizes": len(own),
               "time_slope": exponent, "memory_slope": memory}  # fmt: skip


def plot(rows: Sequence[Record], path: Path) -> None:
    """Draw time and peak memory against the edges on logarithmic axes."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row.get("table") == "size" and "run_ms" in row]
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    panels = (("time of a run, ms", lambda row: row["run_ms"]["median"]),
              ("peak memory, bytes", lambda row: row.get("peak_bytes") or np.nan))  # fmt: skip
    for axes, (title, value) in zip(figure.subplots(1, 2), panels, strict=True):
        for task in dict.fromkeys(row["task"] for row in rows):
            own = [(row["edges"], value(row)) for row in rows if row["task"] == task]
            axes.plot(*zip(*own, strict=True), marker="o", markersize=3, label=task)
        axes.set(xscale="log", yscale="log", xlabel="edges", title=title)
        axes.grid(True, linewidth=0.4, alpha=0.6)
        axes.legend(fontsize="small", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--budget", type=float, default=90.0, metavar="SECONDS")

    options = harness.parse_options(__doc__, arguments, add_options)
    session = Session("scaling", options, seed=SEED, budget_s=options.budget)
    tasks = options.only or list(ALGORITHMS)
    for task in tasks:  # compiles
        for name in ("rmat8", "rmat12"):
            harness.try_call({}, lambda: list(measure(task, load(name, session.xp), session)))  # noqa: B023
    names = [f"rmat{scale}" for scale in (range(6, 9) if options.quick else range(10, 31))]
    start = time.perf_counter()
    for workload in session.graphs(options.graphs or names):
        for task in list(tasks):
            if time.perf_counter() - start > options.budget:
                session.notes.append(f"{workload.name}, {task}: the budget is used up")
                tasks.remove(task)
                continue
            num_rows = len(session.rows)
            session.attempt(f"{workload.name}, {task}", partial(measure, task, workload, session))
            if len(session.rows) == num_rows:  # such as memory
                tasks.remove(task)
        if not tasks:
            break
    session.rows = [*slopes(session.rows), *session.rows]
    if options.output:
        plot(session.rows, options.output.with_suffix(".png"))
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
