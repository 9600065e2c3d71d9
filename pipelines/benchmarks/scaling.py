"""Measure time and peak memory against the number of edges, from ten thousand to the most that fit.

    python pipelines/benchmarks/scaling.py [--device auto|cpu|gpu] [--only bfs,sssp] [--budget 90]
                                           [--graphs rmat10,rmat11] [--folder FOLDER]
                                           [--quick] [--output FILE] [--plot FILE]

The graphs are R-MAT with 16 edges per vertex, each twice as large as the one before. A task stops
where `rg.estimate_memory` says that the next graph does not fit, or where the remaining seconds
would not suffice, the costliest task first; notes say which. Answers of each size are verified,
untimed. README.md in this folder explains the columns.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

from pipelines.benchmarks import harness, scaling_plot, scaling_tasks
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import GraphSets, Session, Step
from pipelines.benchmarks.records import Record
from rapidsgraph import device
from rapidsgraph.errors import InsufficientMemoryError

NAMES = tuple(f"rmat{scale}" for scale in range(10, 31))
GRAPHS = GraphSets(cpu=NAMES, gpu=NAMES, quick=tuple(f"rmat{scale}" for scale in range(6, 10)))
WARM_UP_GRAPHS = ("rmat8", "rmat12")  # serial kernels, and parallel ones
BUDGET = 90.0  # seconds for everything but compilation
MIN_GROWTH, MAX_GROWTH = 2.2, 4.0  # expected growth of a task's time for twice the edges
DRAWING = "drawing"  # of a graph, whose time is recorded like a task's


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    harness.add_only_option(tuple(scaling_tasks.TASKS))(parser)
    parser.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        metavar="SECONDS",
        help="after compilation (default: 90)",
    )
    parser.add_argument("--folder", type=Path, help="for stores that are streamed")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture (.png) of the records")


class Schedule:
    """The active tasks, whose times so far predict those on the next graph."""

    def __init__(
        self,
        tasks: Iterable[str],
        budget: float,
        notes: list[str],
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.active, self.notes, self.now = list(tasks), notes, now
        self.deadline = now() + budget
        self.times: dict[str, list[float]] = {}

    @property
    def remaining(self) -> float:
        """The seconds that remain."""
        return self.deadline - self.now()

    def record(self, name: str, seconds: float) -> None:
        """Record the time of a task on a graph."""
        self.times.setdefault(name, []).append(seconds)

    def predict(self, name: str) -> float:
        """Return the likely time on the next graph, which is twice as large."""
        times = self.times.get(name, [])
        if not times:
            return 0.0
        growth = MIN_GROWTH
        if len(times) > 1 and times[-2] > 0.1:
            growth = times[-1] / times[-2]
        return times[-1] * min(max(growth, MIN_GROWTH), MAX_GROWTH)

    def drop(self, name: str, reason: str) -> None:
        """Stop a task, and note the reason."""
        if name in self.active:
            self.active.remove(name)
            self.notes.append(f"{name} stops: {reason}")

    def drop_slowest(self, graph: str) -> None:
        """Drop the slowest tasks until the remaining time suffices for the next graph."""
        while self.active:
            predicted = {name: self.predict(name) for name in self.active}
            total = self.predict(DRAWING) + sum(predicted.values())
            if total <= self.remaining:
                return
            slowest = max(predicted, key=lambda name: predicted[name])
            self.drop(
                slowest,
                f"{graph} with all remaining tasks would take {total:.0f} s, and "
                f"{max(self.remaining, 0):.0f} s of the budget remain",
            )


def fit_exponent(edges: Iterable[float], values: Iterable[float | None]) -> float | None:
    """Return the exponent of the growth of values, by least squares over the upper half.

    None if there are fewer than two sizes.
    """
    points = [(e, v) for e, v in zip(edges, values, strict=True) if v and v > 0]
    points = sorted(points)[len(points) // 2 :]
    if len({edges for edges, _ in points}) < 2:
        return None
    x, y = (np.log([point[axis] for point in points]) for axis in (0, 1))
    x = x - x.mean()
    return round(float((x * (y - y.mean())).sum() / (x * x).sum()), 3)


def slope_rows(rows: Iterable[Record]) -> list[Record]:
    """Return a record of the exponents of each task, with a sentence."""
    rows = list(rows)
    slopes = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task and row["check"] == "ok"]
        num_edges = [row["edges"] for row in own]
        upper_half = sorted(num_edges)[len(own) // 2 :]
        time_slope = fit_exponent(num_edges, [row["run_ms"]["median"] for row in own])
        if time_slope is None:
            continue
        memory_slope = fit_exponent(num_edges, [row.get("peak_bytes") for row in own])
        sentence = f"Time of {task} grows with the edges to the power of {time_slope:.2f}"
        if memory_slope is not None:
            sentence += f", its peak memory to that of {memory_slope:.2f}"
        slopes.append(
            {
                "table": "slope", "task": task, "from_edges": upper_half[0],
                "to_edges": upper_half[-1], "sizes": len(upper_half), "time_slope": time_slope,
                "memory_slope": memory_slope, "says": f"{sentence}.",
            }
        )  # fmt: skip
    return slopes


def drop_tasks_over_memory(schedule: Schedule, workload: Workload, xp: Any) -> None:
    """Drop the tasks that `rg.estimate_memory` says do not fit beside the graph's rows."""
    free = device.free_memory(xp)
    for name in list(schedule.active):
        needed = scaling_tasks.TASKS[name].estimate(workload)
        if needed > free:
            reason = f"{workload.name} would take {format_gib(needed)}, {format_gib(free)} are free"
            schedule.drop(name, reason)


def format_gib(nbytes: int) -> str:
    """Return bytes in GiB."""
    return f"{nbytes / 2**30:.1f} GiB"


def run_all(session: Session, options: argparse.Namespace, schedule: Schedule, step: Step) -> None:
    """Run all tasks on all graphs; records are saved after each graph."""
    rows: list[Record] = []
    for name in options.names:
        schedule.drop_slowest(name)
        if not schedule.active:
            break
        step(f"drawing {name}")
        start = time.perf_counter()
        try:
            workload = load(name, session.xp, session.data)
            _ = workload.frame
        except (InsufficientMemoryError, MemoryError) as error:
            session.notes.append(f"everything stops: {name} cannot be drawn, {error}")
            break
        drop_tasks_over_memory(schedule, workload, session.xp)
        schedule.record(DRAWING, time.perf_counter() - start)
        for task in list(schedule.active):
            step(f"{name}: {task}")
            run_task(schedule, scaling_tasks.TASKS[task], workload, session, options, rows)
        session.rows = [*slope_rows(rows), *rows]
        session.save()
        del workload


def run_task(
    schedule: Schedule,
    task: scaling_tasks.Task,
    workload: Workload,
    session: Session,
    options: argparse.Namespace,
    rows: list[Record],
) -> None:
    """Run a task on a graph; a failing task stops, and a note says why."""
    start = time.perf_counter()
    failure: Record = {
        "table": "size", "task": task.name, "graph": workload.name, "edges": int(workload.rows)
    }  # fmt: skip
    try:
        rows.append(scaling_tasks.measure(task, workload, session, options.effort, options.folder))
    except InsufficientMemoryError as error:
        schedule.drop(task.name, f"{workload.name}: {error}")
    except MemoryError as error:  # beyond the estimate, or in the check of the answer
        schedule.drop(task.name, f"{workload.name}: out of memory ({error})"[:300])
    except Exception as error:  # one task's failure must not end the run
        rows.append(failure | {"check": harness.describe_failure(error)})
        schedule.drop(task.name, f"{workload.name} failed")
    schedule.record(task.name, time.perf_counter() - start)


def warm_up(session: Session, options: argparse.Namespace) -> None:
    """Compile kernels before measurements."""
    for graph in WARM_UP_GRAPHS[:1] if options.quick else WARM_UP_GRAPHS:
        tiny = load(graph, session.xp)
        for name in options.only:
            task = scaling_tasks.TASKS[name]
            run = partial(scaling_tasks.measure, task, tiny, session, harness.QUICK)
            harness.try_call({}, run)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options(
        "Measure time and memory against edges.", arguments, GRAPHS, add_options
    )
    if not (math.isfinite(options.budget) and options.budget > 0):
        raise SystemExit(f"--budget is {options.budget:g}; it must be a number of seconds above 0")
    session = Session("scaling", options, seed=SEED, budget_s=options.budget)
    if not session.on_gpu and not scaling_tasks.CAN_MEASURE_PEAK:
        session.notes.append("peak memory is left out: it is read from /proc, which only Linux has")
    with harness.progress("Scaling", len(options.names) * len(options.only)) as step:
        step("warming up")
        warm_up(session, options)
        # The budget starts when everything is compiled.
        schedule = Schedule(options.only, options.budget, session.notes)
        run_all(session, options, schedule, step)
    rows = session.finish()
    if options.plot:
        scaling_plot.plot(rows, options.plot)
    return rows


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
