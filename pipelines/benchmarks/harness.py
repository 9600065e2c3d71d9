"""Shared by all commands: options, the session of a benchmark, progress, the exit status."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pipelines.benchmarks import peak_memory, records, tables, timing
from pipelines.benchmarks.adapters.interface import Adapter, BuildAdapter
from pipelines.benchmarks.graphs import GraphUnavailableError, Workload, load
from pipelines.benchmarks.records import Record
from rapidsgraph import device
from rapidsgraph.progress import reporter

Step = Callable[[str], None]  # shows what runs now
Result = TypeVar("Result")
AnyAdapter = TypeVar("AnyAdapter", bound=Adapter | BuildAdapter)

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


def warm_up(
    cases: Iterable[Any], adapters: Iterable[Any], run: Callable[[Any, Any], object]
) -> None:
    """Call ``run(adapter, case)`` for all, to compile kernels before measurements."""
    adapters = list(adapters)
    for case in cases:
        for adapter in adapters:
            try_call({}, lambda: run(adapter, case))  # noqa: B023


class Session:
    """One run of a benchmark: its device, its records so far, and their file."""

    def __init__(self, benchmark: str, options: argparse.Namespace, **settings: Any) -> None:
        self.path: Path | None = options.output
        self.notes: list[str] = []
        self.libraries, self.fetch, self.data = options.libraries, options.fetch, options.data
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

    def peers(
        self, registry: Callable[[bool], tuple[list[AnyAdapter], list[str]]]
    ) -> list[AnyAdapter]:
        """Return the peers of a registry function; missing libraries become notes."""
        adapters, notes = registry(self.on_gpu)
        self.notes += notes
        return adapters

    def select_libraries(self, adapters: Iterable[AnyAdapter]) -> list[AnyAdapter]:
        """Return the adapters of the libraries that ``--libraries`` names, or all."""
        return [
            adapter
            for adapter in adapters
            if not self.libraries or adapter.library in self.libraries
        ]

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
        elif row.get("check", "ok") != "ok":
            about = [row.get(key) for key in ("table", "graph", "library", "implementation")]
            line = f"{' '.join(str(value) for value in about if value)}: {row['check']}"
            yield line, row.get("library", "rapidsgraph") == "rapidsgraph"


def exit_status(rows: Iterable[Record]) -> int:
    """Return the exit status of a command with these records."""
    return EXIT_WRONG_ANSWER if any(is_ours for _, is_ours in failures(rows)) else 0
