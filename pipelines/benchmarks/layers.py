"""Time layered edge lists: builds, iterations, in memory, streamed, and larger than memory.

    python pipelines/benchmarks/layers.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                          [--only build,flag,iterations,streamed] [--large]
                                          [--large-graphs rmat22-128] [--folder FOLDER]
                                          [--quick] [--output FILE] [--data FOLDER]

Records are saved after each task. Answers are checked in the same run: a wrong one gets no time.
WolfPath's figures stand beside ours, with verdicts on its claims. README.md in this folder explains
the columns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import (
    harness,
    layered_in_memory,
    layered_out_of_core,
    layered_streaming,
    timing,
    wolfpath,
    wolfpath_claims,
    wolfpath_host_flag,
)
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import Effort, GraphSets, Session, Step, ignore_step
from pipelines.benchmarks.records import Record
from rapidsgraph.layered.packing import PARTITION_BYTES

TASKS = ("iterations", "flag", "streamed", "build", "large")
IN_MEMORY_TASKS = ("iterations", "flag", "build")
GRAPHS = GraphSets(cpu=("rmat18", "NY"), gpu=("rmat22", "grid1400"), quick=("rmat8", "grid16"))
STREAMED = {"cpu": GRAPHS.cpu, "gpu": ("uniform21-128", "rmat24"), "quick": ("uniform9-32",)}
LARGE = {"cpu": ("rmat22-128",), "gpu": ("uniform20-1024",), "quick": ("uniform9-64",)}
QUICK_LIMITS = 2**30, 2**22  # of a process and its arrays


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    harness.add_only_option(TASKS)(parser)
    parser.set_defaults(only=None)
    parser.add_argument("--large", action="store_true", help="also the large graph: minutes more")
    parser.add_argument("--large-graphs", metavar="NAMES", help="such as rmat22-128")
    parser.add_argument("--stream-graphs", metavar="NAMES", help="graphs that are streamed")
    parser.add_argument(
        "--folder", type=Path, help="for stores and the large file, which is kept there"
    )


class Run:
    """A session whose records are saved immediately, with the claims derived from them."""

    def __init__(self, session: Session, tasks: Sequence[str]) -> None:
        self.session = session
        self.rows: list[Record] = []
        self.paper_rows = wolfpath.paper_rows(tasks)
        where = "a GPU" if session.on_gpu else f"{timing.cores()} cores of a CPU"
        self.where = session.start["machine"].get("gpu", where)

    def add(self, name: str, measure: Callable[[], Iterable[Record]]) -> None:
        """Add the records that a generator yields until it fails."""
        failure: Record = {}

        def add_all() -> None:
            for row in measure():
                self.rows.append(row)
                self.save()

        harness.try_call(failure, add_all)
        if failure:
            self.session.notes.append(f"{name}: {failure['check']}")
        self.save()

    def save(self) -> None:
        """Save all records, with those derived from them."""
        own = [*self.rows, *wolfpath.derived_rows(self.rows)]
        self.session.rows = [*own, *self.paper_rows, *wolfpath_claims.claims(own, self.where)]
        self.session.save()


def select_tasks(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the tasks of ``--only`` and ``--large``."""
    if options.only is not None:
        return tuple(dict.fromkeys([*options.only, *(["large"] if options.large else [])]))
    return TASKS if options.large else TASKS[:-1]


def in_memory_measures(
    workload: Workload, session: Session, effort: Effort, folder: Path | None, step: Step
) -> dict[str, Callable[[], Iterator[Record]]]:
    """Return the function that measures each of `IN_MEMORY_TASKS`."""
    arguments = workload, session, effort
    return {
        "iterations": partial(layered_in_memory.measure_iterations, *arguments, step),
        "flag": partial(wolfpath_host_flag.measure, *arguments, step),
        "build": partial(layered_in_memory.measure_builds, *arguments, folder, step),
    }


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options("Time layered edge lists.", arguments, GRAPHS, add_options)
    tasks = select_tasks(options)
    session = Session("layers", options, seed=SEED, tasks=",".join(tasks))
    key = "quick" if options.quick else "gpu" if options.on_gpu else "cpu"
    streamed = options.stream_graphs.split(",") if options.stream_graphs else STREAMED[key]
    large = options.large_graphs.split(",") if options.large_graphs else LARGE[key]
    clock, effort, folder = session.clock, options.effort, options.folder
    copy_rate = partial(layered_streaming.pinned_copy_rate, clock) if session.on_gpu else None
    with ExitStack() as stack:
        step = stack.enter_context(harness.progress("Layers", 100))
        run = Run(session, tasks)
        step("warming up")
        warm_up(session, tasks)
        in_memory = [task for task in IN_MEMORY_TASKS if task in tasks]
        for workload in session.graphs(options.names if in_memory else ()):
            run.rows.append({"table": "graph"} | workload.facts() | workload.start_facts())
            measures = in_memory_measures(workload, session, effort, folder, step)
            for task in in_memory:
                run.add(f"{workload.name}, {task}", measures[task])
        for workload in session.graphs(streamed if "streamed" in tasks else ()):
            measure = partial(
                layered_streaming.measure, workload, clock, effort, folder, copy_rate, step
            )
            run.add(f"{workload.name}, streamed", measure)
            del measure, workload  # free the memory before the next graph is built
        for name in large if "large" in tasks else ():
            large_folder = folder or stack.enter_context(tempfile.TemporaryDirectory())
            measure_name = partial(
                measure_large, name, session, large_folder, options.quick, copy_rate, step
            )
            run.add(name, measure_name)
        run.save()
    return session.finish()


def measure_large(
    name: str,
    session: Session,
    folder: str | Path,
    is_quick: bool,
    copy_rate: Callable[[int], float] | None,
    step: Step,
) -> Iterator[Record]:
    """Yield the records of a graph larger than memory; on a CPU processes are limited."""
    if copy_rate is not None:
        rate = copy_rate(PARTITION_BYTES)
        yield from layered_out_of_core.measure(name, session, folder, None, rate, 3, step)
        return
    limits = layered_out_of_core.PROCESS_LIMIT, layered_out_of_core.ARRAYS_LIMIT
    limits = QUICK_LIMITS if is_quick else limits
    yield from layered_out_of_core.measure(name, session, folder, limits, None, 1, step)


def warm_up(session: Session, tasks: Sequence[str]) -> None:
    """Compile kernels before measurements."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("rmat9", "grid8"):
            tiny = load(name, session.xp)
            measures = in_memory_measures(tiny, session, harness.QUICK, folder, ignore_step)
            measures["streamed"] = partial(
                layered_streaming.measure, tiny, session.clock, harness.QUICK, folder
            )
            for task, measure in measures.items():
                if task in tasks or task == "build":
                    harness.try_call({}, lambda: list(measure()))  # noqa: B023


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
