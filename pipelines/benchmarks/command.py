"""What the commands share: options, the device, progress, and where records go."""

import argparse
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipelines.benchmarks import records, tables, timing
from pipelines.benchmarks.workloads import Missing, load
from rapidsgraph import device
from rapidsgraph.progress import reporter


@dataclass(frozen=True)
class Effort:
    """How long to measure. Budgets are seconds for one contender on one graph."""

    rounds: int = 7
    target: float = 0.1  # of the iterations in one timing
    most: int = 1000  # of those iterations
    whole: float = 0.4  # for repeating a whole run
    build: float = 1.5
    copy_bytes: int = 1 << 28
    memory_scale: int = 18


WRONG = 3  # the exit status where an answer of ours is wrong or failed, and all else went well
LIBRARIES = (
    "rapidsgraph", "serial", "SciPy", "igraph", "NetworKit", "python-graphblas", "NetworkX",
    "cuSPARSE", "cuGraph",
)  # fmt: skip
QUICK = Effort(
    rounds=2, target=0.0, most=20, whole=0.01, build=0.01, copy_bytes=1 << 22, memory_scale=8
)


def options(description, arguments, graphs, extend=None):
    """Parsed arguments; `graphs` are the names that a run on a CPU, on a GPU, or a quick one takes.

    `extend` adds options of one benchmark alone to the parser.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--graphs", help="names with commas between them, such as rmat18,NY")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, no real figures")
    parser.add_argument("--output", type=Path, metavar="FILE", help="records (.jsonl, .md beside)")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the real graphs are")
    parser.add_argument(
        "--patience", type=float, default=0.0, metavar="SECONDS",
        help="how long in all to repeat runs that other processes disturbed (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--libraries", type=some_of(LIBRARIES), metavar="NAMES",
        help="who takes part, such as rapidsgraph,SciPy (default: whoever is installed)",
    )  # fmt: skip
    parser.add_argument(
        "--fetch", action="store_true", help="get graphs that are missing from SNAP, if it has them"
    )
    if extend:
        extend(parser)
    found = parser.parse_args(arguments)
    problem = None if found.device == "cpu" else device.gpu_problem()
    if found.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    found.on_gpu = found.device != "cpu" and not problem
    found.effort = QUICK if found.quick else Effort()
    on_cpu, on_gpu, quick = graphs
    found.names = quick if found.quick else on_gpu if found.on_gpu else on_cpu
    if found.graphs:
        found.names = found.graphs.split(",")
    return found


def only(names):
    """An `extend` that adds --only, some of these names."""

    def extend(parser):
        parser.add_argument(
            "--only", type=some_of(names), default=names, metavar="TASKS",
            help=f"some of {','.join(names)}",
        )  # fmt: skip

    return extend


def some_of(names):
    """The type of an option that takes some of these names, with commas between them."""

    def some(text):
        if unknown := set(text.split(",")) - set(names):
            raise argparse.ArgumentTypeError(f"{min(unknown)!r} is none of {', '.join(names)}")
        return text.split(",")

    return some


def attempted(row, work):
    """What `work` returns; where it fails None, and the row says why: it must not end the run."""
    try:
        return work()
    except Exception as error:  # libraries raise whatever they like
        row["check"] = f"failed: {type(error).__name__}: {error}"[:300]


def warm_up(cases, contenders, work):
    """Call `work(contender, case)` for all, to compile what compiles on first use."""
    for case in cases:
        for contender in contenders:
            attempted({}, lambda: work(contender, case))  # noqa: B023


class Session:
    """One run of a benchmark: its device, its records so far, and where they are kept."""

    def __init__(self, benchmark, found, **settings):
        self.path, self.notes = found.output, []
        self.libraries, self.fetch = found.libraries, found.fetch
        self.xp, allocator = np, None
        if found.on_gpu:
            from pipelines.benchmarks import gpu

            self.xp, allocator = device.import_cupy(), gpu.use_pool(self.notes)
            settings["allocator"] = allocator
        self.allocator, self.clock, self.data = (
            allocator,
            timing.Clock(self.xp, found.patience),
            found.data,
        )
        if found.quick:
            settings["quick"] = "tiny graphs and few repeats: no figures to go by"
        self.start = records.run_record(benchmark, **settings)
        self.patient = found.patience > 0
        self.rows, self.busy, self.began = [], timing.busy_seconds(), time.perf_counter()

    def graphs(self, names):
        """Workloads by name; those that are missing become notes."""
        for name in names:
            try:
                yield load(name, self.xp, self.data, fetch=self.fetch)
            except Missing as missing:
                self.notes.append(str(missing))

    def peers(self, on_cpu, on_gpu):
        """Contenders of other libraries, made by a function, or by one of gpu.py named `on_gpu`."""
        if self.xp is not np:
            from pipelines.benchmarks import gpu

            on_cpu = getattr(gpu, on_gpu)
        contenders, notes = on_cpu()
        self.notes += notes
        return contenders

    def wanted(self, contenders):
        """Those of the libraries that --libraries names; without it, all."""
        return [one for one in contenders if not self.libraries or one.library in self.libraries]

    def measure_copies(self, effort):
        """How fast this machine copies, for the floors and the first record."""
        rate = timing.copy_rate(self.clock, effort.copy_bytes)
        self.start["copy_gb_per_s"] = float(f"{rate / 1e9:.3g}")

    @property
    def records(self):
        """Everything known now; versions are those of what has been imported by now."""
        start = self.start | {"machine": records.machine(), "versions": records.versions()}
        start["others"] = self.others()
        if self.patient:
            start["patience_left"] = round(self.clock.patience, 1)
        notes = [{"table": "note", "note": text} for text in dict.fromkeys(self.notes)]
        return [start, *self.rows, *notes]

    def others(self):
        """Share of the machine's CPU time that went to other processes meanwhile."""
        elapsed = time.perf_counter() - self.began
        return round(timing.taken(self.busy) / (elapsed * timing.cores()), 3)

    def save(self):
        if self.path:
            records.write(self.path, self.records)

    def finish(self):
        """Save, print the tables, and return the records."""
        found = self.records
        if self.path:
            records.write(self.path, found)
        print(tables.markdown(found, self.path.name if self.path else found[0]["benchmark"]))
        return found


@contextmanager
def progress(description, total):
    """step(text), which moves a bar on a terminal and does nothing in a pipe."""
    with reporter(None, description, total) as report:
        done = iter(range(total * 1000))
        yield lambda text: report(next(done), text)


def wrong_answers(rows):
    """(line, whether it is ours) of each record whose answer was wrong, or that failed.

    Where what others are compared with fails, which is ours, a note is all that there is.
    """
    for row in rows:
        if row.get("table") == "note" and ": failed: " in row["note"]:
            yield row["note"], True
        elif row.get("check", "ok") != "ok":
            about = [row.get(key) for key in ("table", "graph", "library", "implementation")]
            line = f"{' '.join(str(one) for one in about if one)}: {row['check']}"
            yield line, row.get("library", "rapidsgraph") == "rapidsgraph"


def status(rows):
    """The exit status of a command with these records: WRONG where an answer of ours is."""
    return WRONG if any(is_ours for _, is_ours in wrong_answers(rows)) else 0
