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


def take_turns(
    contenders: Iterable[tuple[Record, Callable[[Record], Job | None]]],
    session: Session,
    column: str = "run_ms",
) -> list[tuple[Record, list[float]]]:
    """Prepare contenders, time those that are correct in turns, and add their times.

    A contender is a record and a function that checks it and returns the job that times it, or
    None. A failure becomes its check.
    """
    rows = [(row, try_call(row, partial(prepare, row))) for row, prepare in contenders]
    jobs = {number: job for number, (_, job) in enumerate(rows) if job}
    times = timing.rounds(jobs, session.effort.rounds, session.effort.budget)
    for number, values in times.items():
        rows[number][0][column] = timing.summary(values)
    return [(row, times.get(number, [])) for number, (row, _) in enumerate(rows)]


def checked(
    run: Callable[[], Any], check: Callable[[Any], str | None], measure_peak: Callable[..., Any],
    session: Session, row: Record,
) -> Job | None:  # fmt: skip
    """Check a result, record the peak memory of its run, and return the job that times it."""
    peak, (first, answer) = measure_peak(partial(session.clock.timed, run))
    row |= {"check": check(answer) or "ok", "peak_bytes": peak}
    if row["check"].startswith("wrong"):
        return None
    measured = [first] if first > LONG_MS else []
    return lambda: measured.pop() if measured else session.clock.ms(run)


def measure(task: Task, case: Workload, session: Session) -> list[Record]:
    """Return a record of each entry of a task: checked, then timed in turns.

    A wrong answer, or a failure, has no time.
    """
    is_verified = case.rows <= MAX_VERIFIED_ROWS
    reference, facts = task.reference(case) if is_verified else (None, {})
    entries, contenders = [], []
    for entry in entries_of(task, session):
        if reason := entry.skip(case):
            about = f"{case.name}, {task.name}: {entry.library}'s {entry.implementation}"
            session.notes.append(f"{about} is left out, {reason}")
            continue
        row = {"table": task.name, "graph": case.name} | entry.about() | facts
        contenders.append((row, partial(prepare_entry, task, case, entry, reference, session)))
        entries.append(entry)
    measured = take_turns(contenders, session, task.time)
    our_times: dict[Any, list[float]] = {}  # the first of several methods counts
    for entry, (row, values) in zip(entries, measured, strict=True):
        if entry.library == "rapidsgraph" and values:
            our_times.setdefault(entry.outputs, values)
            if session.copy_rate:
                floor = num_bytes(case) / session.copy_rate * 1e3
                row["floor_ms"] = float(f"{floor:.4g}")
    for entry, (row, values) in zip(entries, measured, strict=True):
        if values:
            in_double = our_times.get(("double", *entry.outputs[1:]), [])
            row["ratio"] = timing.paired_ratio(values, our_times.get(entry.outputs, in_double))
    return [row for row, _ in measured]


def entries_of(task: Task, session: Session) -> Sequence[Entry]:
    return task.entries or find_entries(task.name, session.on_gpu, session.options.libraries)


def prepare_entry(
    task: Task, case: Workload, entry: Entry, reference: Any, session: Session, row: Record
) -> Job | None:
    """Check an entry, and return the job that times it: of PageRank, an iteration."""

    def check(answer: Any) -> str | None:
        if reference is None:
            return "not verified"
        return task.compare(entry.convert(answer, case), reference, entry.precision)

    run = entry.prepare(case)
    is_iteration = task.time == "iteration_ms"
    measure_peak = entry.measure_peak or session.measure_peak
    job = checked(partial(run, MANY) if is_iteration else run, check, measure_peak, session, row)
    row |= entry.facts(case.shared(entry.graph))
    if job and is_iteration:
        return lambda: (job() - session.clock.ms(partial(run, FEW))) / (MANY - FEW)
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
    warm_up(tasks, session)
    session.measure_copy_rate()
    start = time.perf_counter()
    for workload in session.graphs(
        dict.fromkeys(name for task in tasks for name in graphs_of(task, options))
    ):
        yield workload.name, lambda: [{"table": "graph"} | workload.facts()]  # noqa: B023
        for task in [task for task in left if workload.name in graphs_of(task, options)]:
            num_rows = len(rows)
            for case in task.cases(workload, options.data):
                yield f"{workload.name}, {task.name}", partial(measure, task, case, session)
            if budget is None:
                continue
            if time.perf_counter() - start > budget:
                session.notes.append(f"{task.name} ends at {workload.name}: the budget is used up")
                left.remove(task)
            elif not any("ratio" in row for row in rows[num_rows:]):  # such as memory
                left.remove(task)
        if not left:
            break
