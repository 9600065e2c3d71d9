"""The harness of all benchmarks: options, a run with its records, checks, turns, exit status."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.benchmarks import memory, records, timing
from pipelines.benchmarks.adapters import FEW, MANY, Entry, find_entries
from pipelines.benchmarks.graphs import GraphUnavailableError, Workload, load
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import Task, num_bytes
from rapidsgraph import device

EXIT_WRONG_ANSWER = 3  # exit status if an answer of ours is wrong or failed, and all else went well
LONG_MS = 3000  # a run that takes longer is not repeated
MAX_VERIFIED_ROWS = 3 * 10**8  # of graphs that leave memory for references

Job = Callable[[], float]  # returns milliseconds


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds, and seconds for each job of a comparison."""

    rounds: int = 7
    budget: float = 3.0


QUICK = Effort(rounds=2, budget=0.02)


def parse_options(
    description: str | None,
    arguments: Sequence[str] | None,
    add_options: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """Parse the options of a command; the result has `on_gpu` and `effort` besides."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--graphs", type=split, help="names separated by commas, as rmat18,NY")
    parser.add_argument("--only", type=split, help="some of the tasks, separated by commas")
    parser.add_argument("--libraries", type=split, help="libraries to run, as rapidsgraph,SciPy")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, a smoke test")
    parser.add_argument("--output", type=Path, help="records (FILE.jsonl, FILE.md beside)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the real graphs")
    if add_options:
        add_options(parser)
    options = parser.parse_args(arguments)
    if options.device != "cpu":
        memory.import_gpu_libraries()
    problem = None if options.device == "cpu" else device.gpu_problem()
    if options.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    options.on_gpu = options.device != "cpu" and not problem
    options.effort = QUICK if options.quick else Effort()
    return options


def split(text: str) -> list[str]:
    """Return the names of an option."""
    return text.split(",")


class Session:
    """One run of a benchmark: its device, its records so far, and their file."""

    def __init__(self, benchmark: str, options: argparse.Namespace, **settings: Any) -> None:
        self.options, self.effort, self.notes = options, options.effort, list[str]()
        self.xp: Any = np
        if options.on_gpu:
            settings["allocator"], note = memory.use_rmm_pool()
            self.xp = device.import_cupy()
            self.notes += [note] if note else []
        self.allocator: str | None = settings.get("allocator")
        self.clock = timing.Clock(self.xp)
        self.copy_rate: float | None = None  # bytes per second, for rooflines
        if options.quick:
            settings["quick"] = "tiny graphs and few repeats: no figures to go by"
        self.start = records.run_record(benchmark, **settings)
        self.rows: list[Record] = []

    @property
    def on_gpu(self) -> bool:
        return self.xp is not np

    def graphs(self, names: Iterable[str]) -> Iterator[Workload]:
        """Yield workloads by name; unavailable ones become notes."""
        for name in names:
            try:
                yield load(name, self.xp, self.options.data)
            except GraphUnavailableError as error:
                self.notes.append(str(error))

    def measure_peak(self, function: Callable[[], Any]) -> tuple[int | None, Any]:
        """Return (peak memory of a call above that before or None, its result)."""
        return memory.measure_peak(function, self.clock, self.allocator)

    def measure_copy_rate(self) -> None:
        """Measure the copy rate of this machine, for rooflines and the first record."""
        self.copy_rate = self.clock.copy_rate(1 << (22 if self.options.quick else 28))
        self.start["copy_gb_per_s"] = float(f"{self.copy_rate / 1e9:.3g}")

    def attempt(self, name: str, measure: Callable[[], Iterable[Record]]) -> None:
        """Add the records that a function yields; its failure becomes a note. Save them."""
        failure: Record = {}
        try_call(failure, lambda: self.rows.extend(measure()))
        if failure:
            self.notes.append(f"{name}: {failure['check']}")
        self.save()

    @property
    def records(self) -> list[Record]:
        """All records so far; versions are those of the modules imported by now."""
        start = self.start | {"machine": records.machine(), "versions": records.versions()}
        notes = [{"table": "note", "note": text} for text in dict.fromkeys(self.notes)]
        return [start, *self.rows, *notes]

    def save(self) -> None:
        """Write the records so far, if they have a file."""
        if self.options.output:
            records.write(self.options.output, self.records)

    def finish(self) -> list[Record]:
        """Save, print the tables, and return the records."""
        self.save()
        print(records.markdown(self.records, self.start["benchmark"]))
        return self.records


def try_call(row: Record, function: Callable[[], Any]) -> Any:
    """Return the result of a function, or None after recording its failure as the row's check."""
    try:
        return function()
    except Exception as error:  # one library's failure must not end the run
        row["check"] = f"failed: {type(error).__name__}: {error}"[:300]
        return None


def failures(rows: Iterable[Record]) -> Iterator[tuple[str, bool]]:
    """Yield (line, is_ours) of each record with a wrong answer or a failure."""
    for row in rows:
        if row.get("table") == "note" and ": failed: " in row["note"]:
            yield row["note"], True  # of a reference, which is ours
        elif row.get("check", "ok") not in ("ok", "not compared", "not verified"):
            about = [row.get(key) for key in ("table", "graph", "library", "implementation")]
            line = f"{' '.join(str(value) for value in about if value)}: {row['check']}"
            yield line, row.get("library", "rapidsgraph") in ("rapidsgraph", "serial")


def exit_status(rows: Iterable[Record]) -> int:
    """Return the exit status of a command with these records."""
    return EXIT_WRONG_ANSWER if any(is_ours for _, is_ours in failures(rows)) else 0


# Comparisons


def take_turns(
    contenders: Iterable[tuple[Record, Callable[[Record], Job | None]]],
    session: Session,
    time: str = "run_ms",
) -> list[tuple[Record, list[float]]]:
    """Prepare contenders, time those that are correct in turns, and add their times.

    A contender is a record and a function that checks it and returns the job that times it, or
    None. A failure becomes its check.
    """
    rows = [(row, try_call(row, partial(prepare, row))) for row, prepare in contenders]
    jobs = {number: job for number, (_, job) in enumerate(rows) if job}
    times = timing.rounds(jobs, session.effort.rounds, session.effort.budget)
    for number, values in times.items():
        rows[number][0][time] = timing.summary(values)
    return [(row, times.get(number, [])) for number, (row, _) in enumerate(rows)]


def checked(
    run: Callable[[], Any], check: Callable[[Any], str | None], session: Session, row: Record
) -> Job | None:
    """Check a result, record the peak memory of its run, and return the job that times it."""
    peak, (first, answer) = session.measure_peak(partial(session.clock.timed, run))
    row |= {"check": check(answer) or "ok", "peak_bytes": peak}
    if row["check"].startswith("wrong"):
        return None
    measured = [first] if first > LONG_MS else []
    return lambda: measured.pop() if measured else session.clock.ms(run)


def measure(
    task: Task,
    case: Workload,
    session: Session,
    names: list[str] | None = None,
    without: Sequence[str] = (),
) -> list[Record]:
    """Return a record of each entry of a task: checked, then timed in turns.

    A wrong answer, or a failure, has no time. `names` are the libraries to run, by default all,
    and `without` are implementations to leave out.
    """
    is_verified = case.rows <= MAX_VERIFIED_ROWS
    reference, facts = task.reference(case) if is_verified else (None, {})
    entries, contenders = [], []
    for entry in find_entries(task.name, session.on_gpu, names or session.options.libraries):
        if entry.implementation in without:
            continue
        if reason := entry.skip(case):
            about = f"{case.name}, {task.name}: {entry.library}'s {entry.implementation}"
            session.notes.append(f"{about} is left out, {reason}")
            continue
        row = {"table": task.name, "graph": case.name} | entry.about() | facts
        contenders.append((row, partial(prepare_entry, task, case, entry, reference, session)))
        entries.append(entry)
    measured = take_turns(contenders, session, task.time)
    own: dict[Any, list[float]] = {}  # the first of several methods counts
    for entry, (row, values) in zip(entries, measured, strict=True):
        if entry.library == "rapidsgraph" and values:
            own.setdefault(entry.outputs, values)
            if session.copy_rate:
                floor = num_bytes(case) / session.copy_rate * 1e3
                row["floor_ms"] = float(f"{floor:.4g}")
    for entry, (row, values) in zip(entries, measured, strict=True):
        ours = own.get(entry.outputs) or own.get(("double", *entry.outputs[1:]), [])
        if values:
            row["ratio"] = timing.paired_ratio(values, ours)
    return [row for row, _ in measured]


def prepare_entry(
    task: Task, case: Workload, entry: Entry, reference: Any, session: Session, row: Record
) -> Job | None:
    """Check an entry, and return the job that times it: of PageRank, an iteration."""
    run = entry.prepare(case)

    def check(answer: Any) -> str | None:
        if reference is None:
            return "not verified"
        return task.compare(entry.convert(answer, case), reference, entry.precision)

    if task.time != "iteration_ms":
        return checked(run, check, session, row)
    long = checked(partial(run, MANY), check, session, row)
    short = partial(session.clock.ms, partial(run, FEW))
    return long and (lambda: (long() - short()) / (MANY - FEW))


def run_task(task: Task, workload: Workload, session: Session) -> None:
    """Add the records of a task on a graph to the session; a failure becomes a note."""
    for case in task.cases(workload, session.options.data):
        session.attempt(f"{workload.name}, {task.name}", partial(measure, task, case, session))


def warm_up(tasks: Iterable[Task], session: Session) -> None:
    """Compile kernels, and load what libraries load on their first call."""
    for name in ("rmat8", "rmat8u"):
        workload = load(name, session.xp)
        for task in tasks:
            for case in task.cases(workload):
                for entry in find_entries(task.name, session.on_gpu, session.options.libraries):
                    if not entry.skip(case):
                        arguments = (FEW,) if task.time == "iteration_ms" else ()
                        try_call({}, lambda: entry.prepare(case)(*arguments))  # noqa: B023
