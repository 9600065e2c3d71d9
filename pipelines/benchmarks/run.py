"""Run all benchmarks of this machine, or those named, and print what follows from their records.

    python pipelines/benchmarks/run.py [--output FOLDER] [--device cpu|gpu]
    python pipelines/benchmarks/run.py --list
    python pipelines/benchmarks/run.py bfs/rmat18 'pagerank/*/SciPy' kim

A name is TASK, TASK/GRAPH or TASK/GRAPH/LIBRARY; `*` stands for every graph that a benchmark has by
default. Each command runs in a process of its own, one after the other, and saves its records as it
goes: a command that exceeds the time limit keeps the records it has. The default is a short set,
which takes minutes; `--full` runs all graphs.
"""

from __future__ import annotations

import argparse
import importlib
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import performance, records, tables
from pipelines.benchmarks.graphs import FILES, FOLDERS
from pipelines.benchmarks.harness import EXIT_WRONG_ANSWER, GraphSets, failures
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.selection import COMMANDS, Group, libraries, select_groups
from rapidsgraph import device

BUDGET = {"cpu": 600.0, "gpu": 540.0}  # seconds of the short set
GRACE = 10.0  # seconds for a process to end after SIGINT
IS_INTERACTIVE = sys.stderr.isatty()


class Problem(NamedTuple):
    """A problem of a command, and whether it makes the run fail."""

    text: str
    is_failure: bool = False


def run_process(command: Sequence[str], path: Path, seconds: float) -> Problem | None:
    """Run a command that writes records to `path`."""
    log = path.with_suffix(".log")
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=None if IS_INTERACTIVE else output
        )
        try:
            status = process.wait(timeout=max(seconds, 1))
        except subprocess.TimeoutExpired:
            stop(process)
            return Problem(f"timed out after {seconds:.0f} s")
        except KeyboardInterrupt:
            stop(process)
            raise
    if status not in (0, EXIT_WRONG_ANSWER):  # the records have the wrong answers
        last = log.read_text().strip().splitlines()[-1:] or ["no output"]
        return Problem(f"failed with exit status {status}: {last[0]}", is_failure=True)
    log.unlink()
    return None


def stop(process: subprocess.Popen) -> None:
    """Interrupt a process, so that it can remove its files, and kill it if it does not end."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def list_names(device_name: str) -> list[str]:
    """Return a line for every name that can be run, and for every missing library."""
    lines, notes = [], []
    for name, command in COMMANDS.items():
        available, missing = libraries(name, device_name == "gpu")
        notes += missing
        graphs: Sequence[str] = ()
        if command.takes_graphs:
            module = importlib.import_module(f"pipelines.benchmarks.{name}")
            sets: GraphSets = module.GRAPHS
            graphs = sets.gpu if device_name == "gpu" else sets.cpu
        for task in command.tasks:
            suffix = f"  by {', '.join(available)}" if available else ""
            suffix += "" if command.is_default else "  (only if named)"
            lines += [f"{task}/{graph}{suffix}{missing_file(graph)}" for graph in graphs] or [
                f"{task}{suffix}"
            ]
    return lines + [f"missing: {note}" for note in dict.fromkeys(notes)]


def missing_file(graph: str) -> str:
    """Return a remark on a graph whose file is missing, or an empty string."""
    if graph not in FILES or any((folder / FILES[graph][0]).exists() for folder in FOLDERS):
        return ""
    return "  (file is missing: use --data, or --fetch of the command)"


def missing_results(rows: Iterable[Record], group: Group) -> Iterator[Problem]:
    """Yield a problem for each requested result that has no record."""
    rows = list(rows)
    graph = group.graphs[0] if len(group.graphs) == 1 else None
    if graph and all(row.get("graph") != graph or row["table"] == "graph" for row in rows):
        yield Problem(f"failed: nothing was measured on {graph}", is_failure=True)
    elif group.libraries and all(row.get("library") != group.libraries[1] for row in rows):
        yield Problem(f"failed: no record of {group.libraries[1]}", is_failure=True)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line, and select the processes to run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="TASK/GRAPH/LIBRARY; see --list")
    parser.add_argument("--list", action="store_true", help="print names and missing libraries")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="for records and tables")
    parser.add_argument("--full", action="store_true", help="all graphs: takes much longer")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, a smoke test")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="for all benchmarks")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of the real graphs")
    parser.add_argument("--tables", action="store_true", help="print every table at the end")
    options = parser.parse_args(arguments)
    problem = None if options.device == "cpu" else device.gpu_problem()
    if options.device == "gpu" and problem:
        parser.error(f"--device gpu: {problem}")
    options.device = "cpu" if options.device == "cpu" or problem else "gpu"
    if options.budget is not None and not options.budget > 0:
        parser.error(f"--budget is {options.budget:g}; it must be a number of seconds above 0")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: folder {options.data} does not exist")
    if options.output is not None:
        try:
            options.output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--output: cannot create folder {options.output}: {error}")
    try:
        options.groups = select_groups(options.names, options.device, options.full, options.quick)
    except ValueError as error:
        parser.error(str(error))
    return options


class Runner:
    """Run groups one after the other, and collect their records and problems."""

    def __init__(self, options: argparse.Namespace, folder: Path, temporary: Path) -> None:
        self.options, self.folder, self.temporary = options, folder, temporary
        self.rows_of: dict[str, list[Record]] = {}  # by command
        self.problems: list[str] = []
        self.has_failed = self.was_interrupted = False

    def report(self, title: str, problem: Problem) -> None:
        """Add a problem to those that are printed at the end."""
        self.problems.append(f"{title}: {problem.text}")
        self.has_failed |= problem.is_failure

    def run(self, deadline: float) -> None:
        """Run all groups until the deadline, a time of `time.monotonic`."""
        groups = self.options.groups
        for number, group in enumerate(groups):
            title = f"{group.command} ({', '.join(group.tasks)})"
            remaining = deadline - time.monotonic()
            if remaining < GRACE:
                self.report(title, Problem("left out, the time was up"))
                continue
            print(f"{number + 1} of {len(groups)}: {title}", file=sys.stderr, flush=True)
            start = time.monotonic()
            self._run_group(group, title, self.temporary / f"{number}.jsonl", remaining)
            print(f"   {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            if self.was_interrupted:
                break

    def _run_group(self, group: Group, title: str, path: Path, seconds: float) -> None:
        options = self.options
        line = group.command_line(options.device, path, options.quick, options.data, options.full)
        try:
            problem = run_process(line, path, min(seconds, 10**6))
        except KeyboardInterrupt:
            problem, self.was_interrupted = Problem("interrupted"), True
        if problem:
            self.report(title, problem)
        if not path.exists():
            return
        rows = records.read(path)
        if not problem:
            for missing in missing_results(rows, group):
                self.report(title, missing)
        self.rows_of.setdefault(group.command, []).extend(rows)
        label = performance.machine_label(rows[0]["machine"])
        output = self.folder / f"{group.command}-{label}.jsonl"
        records.write(output, self.rows_of[group.command])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks; return the exit status."""
    options = parse_arguments(arguments)
    if options.list:
        print("\n".join(list_names(options.device)))
        return 0
    budget = options.budget or (math.inf if options.full else BUDGET[options.device])
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.output or Path(temporary)
        runner = Runner(options, folder, Path(temporary))
        runner.run(start + budget)
        rows = [row for rows in runner.rows_of.values() for row in rows]
        if options.tables:
            for command, own in runner.rows_of.items():
                print(tables.markdown(own, command))
        if options.quick:
            print("--quick: the graphs are tiny, and the figures mean nothing\n")
        print(performance.summary(rows))
        if options.output:
            performance.draw(rows, folder)
    wrong = list(failures(rows))
    for note in dict.fromkeys(row["note"] for row in rows if row["table"] == "note"):
        print(f"left out: {note}", file=sys.stderr)
    for line in [*runner.problems, *(line for line, _ in wrong)]:
        print(f"problem: {line}", file=sys.stderr)
    print(f"{time.monotonic() - start:.0f} s in total", file=sys.stderr)
    if runner.was_interrupted:
        return 130
    return 1 if runner.has_failed or any(is_ours for _, is_ours in wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
