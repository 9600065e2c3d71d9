"""Shared by all commands: options, the session of a benchmark, progress, the exit status."""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pipelines.benchmarks import peak_memory, records, tables, timing
from pipelines.benchmarks.adapters import Entry, find_entries
from pipelines.benchmarks.graphs import GraphUnavailableError, Workload, load
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import Task, pagerank_after
from rapidsgraph import device
from rapidsgraph.progress import reporter

Step = Callable[[str], None]  # shows what runs now
Result = TypeVar("Result")

EXIT_WRONG_ANSWER = 3  # exit status if an answer of ours is wrong or failed, and all else went well
LIBRARIES = (
    "rapidsgraph", "serial", "SciPy", "igraph", "NetworKit", "python-graphblas", "NetworkX",
    "cuSPARSE", "cuGraph",
)  # fmt: skip


@dataclass(frozen=True)
class Effort:
    """Duration of measurements; times are in seconds, for one adapter on one graph.

    Attributes
    ----------
    rounds : int
        Timings per adapter.
    iteration_time : float
        Target for the iterations of one timing.
    max_iterations : int
        Maximum number of iterations of one timing.
    run_budget, build_budget : float
        For repeating a whole run, and for repeating a build or a search.
    copy_bytes : int
        Size of the array whose copies give the copy rate.
    memory_scale : int
        Scale of the R-MAT graph whose build's peak memory is measured on a CPU.
    """

    rounds: int = 7
    iteration_time: float = 0.1
    max_iterations: int = 1000
    run_budget: float = 0.4
    build_budget: float = 1.5
    copy_bytes: int = 1 << 28
    memory_scale: int = 18


QUICK = Effort(
    rounds=2,
    iteration_time=0.0,
    max_iterations=20,
    run_budget=0.01,
    build_budget=0.01,
    copy_bytes=1 << 22,
    memory_scale=8,
)


@dataclass(frozen=True)
class GraphSets:
    """Names of the graphs that a command takes by default."""

    cpu: Sequence[str]
    gpu: Sequence[str]
    quick: Sequence[str]


def ignore_step(text: str) -> None:
    """Do nothing."""


def parse_options(
    description: str,
    arguments: Sequence[str] | None,
    graphs: GraphSets,
    add_options: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """Parse the options of a command; `add_options` adds those of this command alone.

    Besides the options the result has `on_gpu`, `effort`, and the `names` of the graphs.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--graphs", help="names separated by commas, such as rmat18,NY")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, a smoke test")
    parser.add_argument("--output", type=Path, metavar="FILE", help="records (.jsonl, .md beside)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the real graphs")
    parser.add_argument(
        "--patience", type=float, default=0.0, metavar="SECONDS",
        help="total time for repeating runs that other processes disturbed (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--libraries", type=choice_list(LIBRARIES), metavar="NAMES",
        help="libraries to run, such as rapidsgraph,SciPy (default: all that are installed)",
    )  # fmt: skip
    parser.add_argument(
        "--fetch", action="store_true", help="download missing graphs from SNAP, if it has them"
    )
    if add_options:
        add_options(parser)
    options = parser.parse_args(arguments)
    problem = None if options.device == "cpu" else device.gpu_problem()
    if options.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    options.on_gpu = options.device != "cpu" and not problem
    options.effort = QUICK if options.quick else Effort()
    default = graphs.quick if options.quick else graphs.gpu if options.on_gpu else graphs.cpu
    options.names = options.graphs.split(",") if options.graphs else default
    return options


def add_only_option(names: Sequence[str]) -> Callable[[argparse.ArgumentParser], None]:
    """Return a function that adds ``--only``, which takes some of these names."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--only", type=choice_list(names), default=names, metavar="TASKS",
            help=f"some of {','.join(names)}",
        )  # fmt: skip

    return add_options


def choice_list(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the type of an option that takes some of these names, separated by commas."""

    def parse(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(names):
            raise argparse.ArgumentTypeError(f"{min(unknown)!r} is none of {', '.join(names)}")
        return text.split(",")

    return parse


def try_call(row: Record, function: Callable[[], Result]) -> Result | None:
    """Return the result of a function, or None after recording its failure as the row's check."""
    try:
        return function()
    except Exception as error:  # one library's failure must not end the run
        row["check"] = describe_failure(error)
        return None


def describe_failure(error: Exception) -> str:
    """Return the check of a record whose measurement failed."""
    return f"failed: {type(error).__name__}: {error}"[:300]


LONG_MS = 3000  # a run that takes longer is not repeated
CHECKED_ITERATIONS = 3  # compared too, because fewer iterations than requested would look fast


class Session:
    """One run of a benchmark: its device, its records so far, and their file."""

    def __init__(self, benchmark: str, options: argparse.Namespace, **settings: Any) -> None:
        self.path: Path | None = options.output
        self.notes: list[str] = []
        self.libraries, self.fetch, self.data = options.libraries, options.fetch, options.data
        self.effort: Effort = getattr(options, "effort", QUICK)
        self.xp: Any = np
        self.allocator: str | None = None
        if options.on_gpu:
            self.xp = device.import_cupy()
            self.allocator = peak_memory.use_rmm_pool(self.notes)
            settings["allocator"] = self.allocator
        self.clock = timing.Clock(self.xp, options.patience)
        if options.quick:
            settings["quick"] = "tiny graphs and few repeats: no figures to go by"
        self.start = records.run_record(benchmark, **settings)
        self.has_patience = options.patience > 0
        self.rows: list[Record] = []
        self._cpu_times, self._start_time = timing.cpu_seconds(), time.perf_counter()

    @property
    def on_gpu(self) -> bool:
        return self.xp is not np

    def graphs(self, names: Iterable[str]) -> Iterator[Workload]:
        """Yield workloads by name; unavailable ones become notes."""
        for name in names:
            try:
                yield load(name, self.xp, self.data, fetch=self.fetch)
            except GraphUnavailableError as error:
                self.notes.append(str(error))

    def measure_peak(self, function: Callable[[], Result]) -> tuple[int | None, Result]:
        """Return (peak memory of a call above that before or None, its result)."""
        if self.on_gpu:
            return peak_memory.measure_device_peak(self.clock, function, self.allocator)
        if not peak_memory.STATUS.exists():
            return None, function()
        return peak_memory.measure_peak(function)

    def measure_copy_rate(self, effort: Effort) -> None:
        """Measure the copy rate of this machine, for rooflines and the first record."""
        rate = timing.copy_rate(self.clock, effort.copy_bytes)
        self.start["copy_gb_per_s"] = float(f"{rate / 1e9:.3g}")

    @property
    def records(self) -> list[Record]:
        """All records so far; versions are those of the modules imported by now."""
        start = self.start | {"machine": records.machine(), "versions": records.versions()}
        start["others"] = self.other_processes()
        if self.has_patience:
            start["patience_left"] = round(self.clock.patience, 1)
        notes = [{"table": "note", "note": text} for text in dict.fromkeys(self.notes)]
        return [start, *self.rows, *notes]

    def other_processes(self) -> float | str:
        """Return the fraction of the machine's CPU time that other processes used."""
        elapsed = time.perf_counter() - self._start_time
        return round(timing.other_cpu_seconds(self._cpu_times) / (elapsed * timing.cores()), 3)

    def save(self) -> None:
        """Write the records so far, if they have a file."""
        if self.path:
            records.write(self.path, self.records)

    def finish(self) -> list[Record]:
        """Save, print the tables, and return the records."""
        rows = self.records
        if self.path:
            records.write(self.path, rows)
        print(tables.markdown(rows, self.path.name if self.path else rows[0]["benchmark"]))
        return rows


@contextmanager
def progress(description: str, total: int) -> Iterator[Step]:
    """Yield ``step(text)``, which advances a bar on a terminal and does nothing in a pipe."""
    with reporter(None, description, total) as report:
        numbers = iter(range(total * 1000))
        yield lambda text: report(next(numbers), text)


def failures(rows: Iterable[Record]) -> Iterator[tuple[str, bool]]:
    """Yield (line, is_ours) of each record with a wrong answer or a failure.

    A failed reference, which is ours, has a note alone.
    """
    for row in rows:
        if row.get("table") == "note" and ": failed: " in row["note"]:
            yield row["note"], True
        elif row.get("check", "ok") not in ("ok", "not compared"):
            about = [row.get(key) for key in ("table", "graph", "library", "implementation")]
            line = f"{' '.join(str(value) for value in about if value)}: {row['check']}"
            yield line, row.get("library", "rapidsgraph") == "rapidsgraph"


def exit_status(rows: Iterable[Record]) -> int:
    """Return the exit status of a command with these records."""
    return EXIT_WRONG_ANSWER if any(is_ours for _, is_ours in failures(rows)) else 0


# One task on one graph


def measure(
    task: Task, case: Workload, session: Session, names: list[str] | None = None, **columns: Any
) -> list[Record]:
    """Return a record of each entry: checked, then timed in turns.

    A wrong answer, or a failure, has no time. `names` are the libraries to run, by default all.
    """
    clock, effort = session.clock, session.effort
    reference, facts = task.reference(case)
    rows: dict[Entry, Record] = {}
    jobs: dict[Entry, Callable[[], float]] = {}
    for entry in find_entries(task.name, session.on_gpu, names or session.libraries):
        if reason := entry.skip and entry.skip(case):
            session.notes.append(
                f"{case.name}, {task.name}: {entry.library}'s {entry.implementation} is left out, "
                f"{reason}"
            )
            continue
        row = rows[entry] = {"table": task.name, "graph": case.name} | columns | entry.about()
        row |= facts
        if job := try_call(row, partial(prepare_job, task, case, entry, reference, row, session)):
            jobs[entry] = job
    times = timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
    own = {
        entry.outputs: times[entry]
        for entry in reversed(times)  # the first of several counts
        if entry.library == "rapidsgraph"
    }
    for entry, values in times.items():
        row = rows[entry]
        row[task.time] = timing.summary(values)
        ours = own.get(entry.outputs) or own.get(("double", *entry.outputs[1:]), [])
        row["ratio"] = timing.paired_ratio(values, ours)
        if entry.library == "rapidsgraph" and task.num_bytes is not None:
            row |= timing.roofline_ms(clock, task.num_bytes(case, reference, entry))
    for row in rows.values():  # libraries that do not count iterations
        if "solve_ms" in row and task.time not in row and rows:
            solve = next(iter(rows.values())).get("solve_ms")
            ratio = row["solve_ms"]["median"] / solve["median"] if solve else 0
            row["ratio"] = float(f"{ratio:.3g}") or None
    return list(rows.values())


def prepare_job(
    task: Task, case: Workload, entry: Entry, reference: Any, row: Record, session: Session
) -> Callable[[], float] | None:
    """Check an entry, and return the function that gives the milliseconds of a run."""
    clock, case.last_shared = session.clock, None
    run, convert = entry.prepare(case)
    if case.last_shared in case.build_ms:
        row["build_ms"] = timing.summary([case.build_ms[case.last_shared]])
    peak, (first, answer) = session.measure_peak(partial(clock.timed, run))
    row["check"] = "not compared"
    if entry.is_compared:
        row["check"] = task.compare(convert(answer), reference, entry, case) or "ok"
    row["peak_bytes"] = peak
    del answer
    if task.time == "iteration_ms" and row["check"] in ("ok", "not compared"):
        return prepare_iterations(task, case, entry, run, convert, row, session)
    if row["check"].startswith("wrong"):
        return None
    if entry.call is not None and first <= LONG_MS:
        add_first_calls(case, entry.call, row, session, 3 if first < 100 else 1)
    measured = [first] if first > LONG_MS else []
    return lambda: measured.pop() if measured else clock.ms(run)


def add_first_calls(
    case: Workload,
    call: Callable[[Any, Workload], Any],
    row: Record,
    session: Session,
    count: int = 3,
) -> None:
    """Time a call on new graphs, and with the build."""
    clock, graphs = session.clock, [case.build() for _ in range(count)]
    row["first_ms"] = timing.summary([clock.ms(partial(call, graph, case)) for graph in graphs])
    whole = clock.repeated(lambda: call(case.build(), case), count, session.effort.run_budget)
    row["frame_ms"] = timing.summary(whole)


def prepare_iterations(
    task: Task,
    case: Workload,
    entry: Entry,
    run: Callable[..., Any],
    convert: Callable[[Any], Any],
    row: Record,
    session: Session,
) -> Callable[[], float] | None:
    """Time runs to convergence; return the function that gives the milliseconds of an iteration."""
    clock, effort = session.clock, session.effort
    row["solve_ms"] = timing.summary(clock.repeated(run, 3, effort.run_budget))
    if "iterations" not in inspect.signature(run).parameters:
        return None
    max_iterations = min(getattr(run, "max_iterations", 1000), effort.max_iterations)
    if entry.is_compared and max_iterations >= 1000:
        expected = pagerank_after(case, CHECKED_ITERATIONS)
        if problem := task.compare(convert(run(CHECKED_ITERATIONS)), expected, entry, case):
            row["check"] = f"{problem} after {CHECKED_ITERATIONS} iterations"
            return None
    if entry.call is not None:
        add_first_calls(case, entry.call, row, session)
    short, long = timing.plan_iterations(clock, run, effort.iteration_time, max_iterations)
    row["iterations"] = [short, long]
    return partial(timing.per_iteration, clock, run, short, long)


def run_task(task: Task, workload: Workload, session: Session) -> None:
    """Add the records of a task on a graph to the session; a failure becomes a note."""
    for case in task.cases(workload, session.data):
        failure: Record = {}
        rows = try_call(failure, partial(measure, task, case, session))
        session.rows += rows or []
        if failure:  # also a reference that is wrong
            session.notes.append(f"{workload.name}, {task.name}: {failure['check']}")
        session.save()


def warm_up(tasks: Iterable[Task], session: Session) -> None:
    """Compile kernels, and load what libraries load on their first call."""
    for name in ("rmat8", "rmat8u"):
        workload = load(name, session.xp)
        for task in tasks:
            entries = find_entries(task.name, session.on_gpu, session.libraries)
            for case in task.cases(workload):
                for entry in entries:
                    try_call({}, partial(run_once, entry, case))


def run_once(entry: Entry, case: Workload) -> None:
    """Run an entry that takes the graph."""
    if entry.skip is None or entry.skip(case) is None:
        entry.prepare(case)[0]()
