"""Layered edge lists: building, iterations, in memory, streamed, larger than memory.

    python pipelines/benchmarks/layers.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                          [--only build,flag,iterations,resident,streamed] [--large]
                                          [--large-graphs rmat22-128] [--folder FOLDER]
                                          [--quick] [--output FILE] [--data FOLDER]

Records are saved after each of them. Answers are checked in the same run: whoever gives a wrong one
gets no time. WolfPath's figures stand beside ours, and sentences that are made of both. README.md
beside this file says what the columns mean.
"""

import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

from pipelines.benchmarks import command, flagged, large, streams, timing, wolfpath, wolfpath_claims
from pipelines.benchmarks.in_memory import built, iterations, resident
from pipelines.benchmarks.workloads import SEED, load

TASKS = ("resident", "iterations", "flag", "streamed", "build", "large")
IN_MEMORY = "resident", "iterations", "flag", "build"
CPU_GRAPHS = ("rmat18", "NY")
GPU_GRAPHS = ("rmat22", "grid1400")
QUICK_GRAPHS = ("rmat8", "grid16")
STREAMED = {"cpu": CPU_GRAPHS, "gpu": ("uniform21-128", "rmat24"), "quick": ("uniform9-32",)}
LARGE = {"cpu": ("rmat22-128",), "gpu": ("uniform20-1024",), "quick": ("uniform9-64",)}
SMALL_LIMITS = 2**30, 2**22  # of a process and its arrays, in a quick run


def extend(parser):
    command.only(TASKS)(parser)
    parser.set_defaults(only=None)
    parser.add_argument("--large", action="store_true", help="the large graph, too: minutes more")
    parser.add_argument("--large-graphs", metavar="NAMES", help="such as rmat22-128")
    parser.add_argument("--stream-graphs", metavar="NAMES", help="those that are streamed")
    parser.add_argument(
        "--folder", type=Path, help="for stores and the large file, which is kept there"
    )


class Run:
    """A session whose records are saved as they come, with what follows from them."""

    def __init__(self, session, tasks, step):
        self.session, self.step, self.rows = session, step, []
        self.beside = wolfpath.paper_rows(tasks)
        where = "a GPU" if session.xp is not np else f"{timing.cores()} cores of a CPU"
        self.where = session.start["machine"].get("gpu", where)

    def add(self, name, work):
        """Records that a generator gives, until it fails."""
        failed = {}

        def all_of():
            for row in work():
                self.rows.append(row)
                self.save()

        command.attempted(failed, all_of)
        if failed:
            self.session.notes.append(f"{name}: {failed['check']}")
        self.save()

    def save(self):
        derived = wolfpath.derived(self.rows)
        own = [*self.rows, *derived]
        self.session.rows = [*own, *self.beside, *wolfpath_claims.claims(own, self.where)]
        self.session.save()


def tasks_of(found):
    if found.only is not None:
        return tuple(dict.fromkeys([*found.only, *(["large"] if found.large else [])]))
    return TASKS if found.large else TASKS[:-1]


def main(arguments=None):
    graphs = CPU_GRAPHS, GPU_GRAPHS, QUICK_GRAPHS
    found = command.options("Time layered edge lists.", arguments, graphs, extend)
    tasks, kind = tasks_of(found), "gpu" if found.on_gpu else "cpu"
    session = command.Session("layers", found, seed=SEED, tasks=",".join(tasks))
    names = {"streamed": STREAMED, "large": LARGE}
    names = {task: of["quick" if found.quick else kind] for task, of in names.items()}
    for task, given in (("streamed", found.stream_graphs), ("large", found.large_graphs)):
        names[task] = given.split(",") if given else names[task]
    clock, effort, xp = session.clock, found.effort, session.xp
    rate = None if xp is np else partial(streams.pinned_rate, clock)
    with ExitStack() as stack:
        step = stack.enter_context(command.progress("Layers", 100))
        run = Run(session, tasks, step)
        step("warming up")
        warm_up(session, tasks)
        in_memory = [task for task in IN_MEMORY if task in tasks]
        for workload in session.graphs(found.names if in_memory else ()):
            run.rows.append({"table": "graph"} | workload.facts() | workload.start_facts())
            work = {
                "resident": partial(resident, workload, session, effort, step),
                "iterations": partial(iterations, workload, session, effort, step),
                "flag": partial(flagged.measure, workload, session, effort, step),
                "build": partial(built, workload, session, effort, found.folder, step),
            }
            for task in in_memory:
                run.add(f"{workload.name}, {task}", work[task])
        for workload in session.graphs(names["streamed"] if "streamed" in tasks else ()):
            streamed = partial(streams.measure, workload, clock, effort, found.folder, rate, step)
            run.add(f"{workload.name}, streamed", streamed)
            del streamed, workload  # before there is another
        for name in names["large"] if "large" in tasks else ():
            folder = found.folder or stack.enter_context(tempfile.TemporaryDirectory())
            limits = SMALL_LIMITS if found.quick else (large.PROCESS_LIMIT, large.ARRAYS_LIMIT)
            run.add(name, partial(one_large, name, session, folder, limits, rate, step))
        run.save()
    return session.finish()


def one_large(name, session, folder, limits, rate, step):
    on_gpu = session.xp is not np
    at = rate(streams.PARTITION_BYTES) if on_gpu else None
    limits, iterations = (None, 3) if on_gpu else (limits, 1)
    yield from large.measure(name, session, folder, limits, at, iterations, step)


def warm_up(session, tasks):
    """Compile what compiles on first use."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rmat9", "grid8"):
            tiny = load(name, session.xp)
            quick = command.QUICK
            work = {
                "resident": partial(resident, tiny, session, quick, lambda text: None),
                "iterations": partial(iterations, tiny, session, quick, lambda text: None),
                "flag": partial(flagged.measure, tiny, session, quick, lambda text: None),
                "build": partial(built, tiny, session, quick, folder, lambda text: None),
                "streamed": partial(streams.measure, tiny, session.clock, quick, folder),
            }
            for task in work:
                if task in tasks or task == "build":
                    command.attempted({}, lambda: list(work[task]()))  # noqa: B023


if __name__ == "__main__":
    sys.exit(command.status(main()))
