"""The harness of all suites: options, a run with its records, failures, and the exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.benchmarks import memory, records, timing
from pipelines.benchmarks.graphs import (
    GraphUnavailableError,
    Workload,
    check_available,
    load,
)
from pipelines.benchmarks.records import Record
from rapidsgraph import device

EXIT_NOTHING_MEASURED = 1  # exit status
EXIT_WRONG_ANSWER = 3  # exit status if an answer of ours is wrong or failed, and all else went well

Measure = Callable[[], Iterable[Record]]


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds, and seconds for each job of a comparison."""

    rounds: int = 7
    budget: float = 3.0


QUICK = Effort(rounds=2, budget=0.02)


@dataclass(frozen=True)
class Suite:
    """What a record holds: named measurements, of which each yields rows.

    `summarize` returns what follows from all rows, and precedes them. `options` are defaults of
    those of the command, and `in_processes` says that only other processes use the GPU.
    """

    name: str
    measurements: Callable[[Session], Iterable[tuple[str, Measure]]]
    summarize: Callable[[list[Record]], Iterable[Record]] = lambda rows: ()
    effort: Effort = Effort()
    in_processes: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, options: argparse.Namespace) -> list[Record]:
        """Measure, save after each measurement, print the tables, and return the records."""
        defaults = {
            name: value for name, value in self.options.items()
            if not (getattr(options, name) or (options.quick and name == "graphs"))
        }  # fmt: skip
        session = Session(self, argparse.Namespace(**vars(options) | defaults))
        for name, measure in self.measurements(session):
            print(f"{self.name}: {name}", file=sys.stderr, flush=True)
            session.attempt(name, measure)
            del measure  # and its graph, before the next one is loaded
        session.rows = [*self.summarize(session.rows), *session.rows]
        session.save()
        print(records.markdown(session.records, self.name))
        return session.records


def parse_options(
    description: str | None, arguments: Sequence[str] | None = None
) -> argparse.Namespace:
    """Parse the options of the command; the result has `on_gpu` besides."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    names: dict[str, Any] = {"type": lambda text: text.split(","), "metavar": "NAME,..."}
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites and tasks, see --list")
    parser.add_argument("--list", action="store_true", help="print names, missing libraries")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--full", action="store_true", help="all graphs: takes longer")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, a smoke test")
    parser.add_argument("--output", type=Path, help="a folder for records, or FILE.jsonl for one")
    parser.add_argument("--graphs", **names, help="names separated by commas, as rmat18,NY")
    parser.add_argument("--libraries", **names, help="libraries to run, as rapidsgraph,SciPy")
    parser.add_argument("--only", **names, help="some tasks of a suite, separated by commas")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the real graphs")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="of scaling: when to stop")
    parser.add_argument("--workers", **names, help="of cluster: numbers of workers, as 1,2")
    parser.add_argument("--tests", default="tests", help="of sanitizer: a file or folder of tests")
    options = parser.parse_args(arguments)
    if options.device != "cpu":
        memory.import_gpu_libraries()
    problem = None if options.device == "cpu" else device.gpu_problem()
    if options.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    for name in options.graphs or ():
        try:
            check_available(name, options.data)
        except GraphUnavailableError as error:
            parser.error(f"--graphs {error}")
    if options.output and options.output.suffix != ".jsonl" and options.output.is_file():
        parser.error(f"--output {options.output} is a file; name a folder or FILE.jsonl")
    if options.output and options.output.suffix == ".jsonl" and options.output.is_dir():
        parser.error(f"--output {options.output} is a folder; name one without .jsonl, or a file")
    options.on_gpu = options.device != "cpu" and not problem
    return options


class Session:
    """One run of a suite: its device, its records so far, and their file."""

    def __init__(self, suite: Suite, options: argparse.Namespace) -> None:
        self.options, self.notes = options, list[str]()
        self.effort = QUICK if options.quick else suite.effort
        self.kind = "quick" if options.quick else "gpu" if options.on_gpu else "cpu"
        self.xp: Any = np
        settings: dict[str, Any] = {}
        if options.on_gpu and not suite.in_processes:
            settings["allocator"], note = memory.use_rmm_pool()
            self.xp = device.import_cupy()
            self.notes += [note] if note else []
        self.allocator: str | None = settings.get("allocator")
        self.clock = timing.Clock(self.xp)
        self.copy_rate: float | None = None  # bytes per second, for rooflines
        if options.quick:
            settings["quick"] = "tiny graphs and few repeats: no figures to go by"
        self.start = records.run_record(suite.name, **settings)
        self.rows: list[Record] = []
        self.path: Path | None = options.output
        if self.path and self.path.suffix != ".jsonl":
            self.path /= f"{suite.name}-{records.machine_label(self.start['machine'])}.jsonl"

    @property
    def on_gpu(self) -> bool:
        return self.xp is not np

    def tasks(self, default: Iterable[str], *others: str) -> list[str]:
        """Return the tasks of `--only`, or all but `others`; exit if there is no such task."""
        default = list(default)
        if unknown := {*(self.options.only or ())} - {*default, *others}:
            known = ", ".join([*default, *others])
            raise SystemExit(f"{self.start['benchmark']}: no {unknown.pop()!r} among {known}")
        return list(self.options.only or default)

    def graphs(self, names: Iterable[str]) -> Iterator[Workload]:
        """Yield workloads by name; those that are unavailable or do not fit become notes."""
        for name in names:
            try:
                yield load(name, self.xp, self.options.data)
            except GraphUnavailableError as error:
                self.notes.append(f"skipped {error}")
            except MemoryError as error:
                self.notes.append(f"{name}: {type(error).__name__}: {error}")

    def measure_peak(self, function: Callable[[], Any]) -> tuple[int | None, Any]:
        """Return (peak memory of a timed call above that before or None, its result)."""
        if self.allocator == memory.RMM_POOL:
            return memory.measure_device_peak(function)
        return (None, function()) if self.on_gpu else memory.measure_peak(function)

    def measure_copy_rate(self) -> None:
        """Measure the copy rate of this machine, for rooflines and the first record."""
        self.copy_rate = self.clock.copy_rate(1 << (22 if self.options.quick else 28))
        self.start["copy_gb_per_s"] = float(f"{self.copy_rate / 1e9:.3g}")

    def attempt(self, name: str, measure: Measure) -> None:
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
        """Write the records; without measurements, those of an earlier run stay."""
        if self.path and has_measurements(self.rows):
            records.write(self.path, self.records)


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


def has_measurements(rows: Iterable[Record]) -> bool:
    return any(row["table"] not in ("run", "graph", "note") for row in rows)


def exit_status(rows: Sequence[Record]) -> int:
    if any(is_ours for _, is_ours in failures(rows)):
        return EXIT_WRONG_ANSWER
    return 0 if has_measurements(rows) else EXIT_NOTHING_MEASURED
