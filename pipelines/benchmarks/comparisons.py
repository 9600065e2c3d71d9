"""Comparisons: what takes part is checked, then timed in turns; libraries are compared on tasks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from pipelines.benchmarks import timing
from pipelines.benchmarks.adapters import FEW, MANY, Entry, find_entries, missing_libraries
from pipelines.benchmarks.graphs import Workload, load
from pipelines.benchmarks.harness import Measure, Session, try_call
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import QUICK_GRAPHS, SHORT_GRAPHS, Task, num_bytes

LONG_MS = 3000  # a run that takes longer is not repeated
MAX_VERIFIED_ROWS = 3 * 10**8  # of graphs that leave memory for references

Job = Callable[[], float]  # returns milliseconds


def measure(task: Task, case: Workload, session: Session) -> list[Record]:
    """Return a record of each entry of a task: checked, then timed in turns.

    A wrong answer, or a failure, has no time.
    """
    is_verified = case.rows <= MAX_VERIFIED_ROWS
    reference, facts = task.reference(case) if is_verified else (None, {})
    rows, jobs = dict[Entry, Record](), dict[Entry, Job]()
    for entry in entries_of(task, session):
        if reason := entry.skip(case):
            about = f"{case.name}, {task.name}: {entry.library}'s {entry.implementation}"
            session.notes.append(f"{about} is left out, {reason}")
            continue
        row = rows[entry] = {"table": task.name, "graph": case.name} | entry.about() | facts
        if job := try_call(row, partial(prepare, task, case, entry, reference, session, row)):
            jobs[entry] = job
    times = timing.rounds(jobs, session.effort.rounds, session.effort.budget)
    our_times: dict[Any, list[float]] = {}  # the first of several methods counts
    for entry, values in times.items():
        rows[entry][task.time] = timing.summary(values)
        if entry.library == "rapidsgraph":
            our_times.setdefault(entry.outputs, values)
            if session.copy_rate:
                floor = num_bytes(case) / session.copy_rate * 1e3
                rows[entry]["floor_ms"] = float(f"{floor:.4g}")
    for entry, values in times.items():
        in_double = our_times.get(("double", *entry.outputs[1:]), [])
        ratio = timing.paired_ratio(values, our_times.get(entry.outputs, in_double))
        rows[entry]["ratio"] = ratio
    return [*rows.values()]


def entries_of(task: Task, session: Session) -> Sequence[Entry]:
    return task.entries or find_entries(task.name, session.on_gpu, session.options.libraries)


def prepare(
    task: Task, case: Workload, entry: Entry, reference: Any, session: Session, row: Record
) -> Job | None:
    """Check an entry, record the peak memory of its run, and return the job that times it.

    Of PageRank, it times an iteration. There is none if the answer is wrong.
    """
    run, is_iteration = entry.prepare(case), task.time == "iteration_ms"
    whole, short = (partial(run, MANY), partial(run, FEW)) if is_iteration else (run, None)
    measure_peak = entry.measure_peak or session.measure_peak
    peak, (first, answer) = measure_peak(partial(session.clock.timed, whole))
    row |= {"check": "not verified", "peak_bytes": peak} | entry.facts(case.shared(entry.graph))
    if reference is not None:
        problem = task.compare(entry.convert(answer, case), reference, entry.precision)
        row["check"] = problem or "ok"
        if problem:
            return None
    measured = [first] if first > LONG_MS else []

    def job() -> float:
        if task.has_warm_up and not measured:
            whole()
        ms = measured.pop() if measured else session.clock.ms(whole)
        return ms if short is None else (ms - session.clock.ms(short)) / (MANY - FEW)

    return job


def warm_up(tasks: Iterable[Task], session: Session) -> None:
    """Compile kernels, and load what libraries load on their first call."""
    for name in ("rmat8", "rmat8u"):
        workload = load(name, session.xp)
        for task in tasks:
            for case in task.cases(workload):
                for entry in entries_of(task, session):
                    if not entry.skip(case):
                        arguments = (FEW,) if task.time == "iteration_ms" else ()
                        try_call({}, lambda: entry.prepare(case)(*arguments))  # noqa: B023


def graphs_of(task: Task, options: argparse.Namespace) -> Sequence[str]:
    if options.graphs or options.quick:
        return options.graphs or QUICK_GRAPHS
    names = task.gpu if options.on_gpu else task.cpu
    return names if options.full else [name for name in names if name in SHORT_GRAPHS]


def describe(workload: Workload) -> list[Record]:
    return [{"table": "graph"} | workload.facts()]


def compare_libraries(
    tasks: Sequence[Task], session: Session, budget: float | None = None
) -> Iterator[tuple[str, Measure]]:
    """Yield the measurements of tasks on their graphs.

    With a budget in seconds, a task ends when it is used up, or at the first graph without a time.
    """
    options, rows, left = session.options, session.rows, list(tasks)
    session.start["tasks"] = ",".join(task.name for task in tasks)
    if not all(task.entries for task in tasks):
        session.notes += missing_libraries(session.on_gpu, options.libraries)
    if not options.quick:
        warm_up(tasks, session)
    session.measure_copy_rate()
    start = time.perf_counter()
    for workload in session.graphs(
        dict.fromkeys(name for task in tasks for name in graphs_of(task, options))
    ):
        yield workload.name, partial(describe, workload)
        for task in [task for task in left if workload.name in graphs_of(task, options)]:
            num_rows = len(rows)
            for case in task.cases(workload, options.data):
                yield f"{workload.name}, {task.name}", partial(measure, task, case, session)
                del case
            if budget is None:
                continue
            if time.perf_counter() - start > budget:
                session.notes.append(f"{task.name} ends at {workload.name}: the budget is used up")
                left.remove(task)
            elif not any("ratio" in row for row in rows[num_rows:]):  # such as memory
                left.remove(task)
        if not left:
            break
        del workload  # before the next one is loaded
