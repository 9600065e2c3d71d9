"""Compare libraries on tasks, and print and save the records.

    python pipelines/benchmarks/run.py --list
    python pipelines/benchmarks/run.py [NAME ...] [--full] [--output FOLDER] [--device cpu|gpu]
    python pipelines/benchmarks/run.py bfs/rmat18 structure 'pagerank/*/SciPy' kim

A NAME is a suite (pagerank, traversal, scan, build, structure), or TASK/GRAPH/LIBRARY, where "*",
or nothing, stands for all; or a command of `COMMANDS`, which runs in a process of its own. Without
names all suites run on few graphs, and with `--full` on all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import harness, memory, performance, records
from pipelines.benchmarks.adapters import CPU_PEERS, GPU_PEERS, missing_libraries
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import QUICK_GRAPHS, SHORT_GRAPHS, SUITES, TASKS

COMMANDS = ("kim", "reddy", "gpuscan", "layers", "scaling", "frames", "cluster", "networkx_backend")

LIBRARIES = ("rapidsgraph", "serial", *CPU_PEERS, *GPU_PEERS)


def select(names: Sequence[str]) -> tuple[dict[str, dict[str, list[str]]], list[str], set[str]]:
    """Return ({suite: {task: graphs}}, commands, libraries); ValueError names an unknown one."""
    suites: dict[str, dict[str, list[str]]] = {}
    commands: list[str] = []
    libraries: set[str] = set()
    for name in names or SUITES:
        task, graph, library = ([*name.split("/"), "", ""])[:3]
        if name in COMMANDS:
            commands.append(name)
            continue
        tasks = SUITES.get(task, (task,))
        if tasks[0] not in TASKS or name.count("/") > 2:
            known = ", ".join(dict.fromkeys([*SUITES, *TASKS, *COMMANDS]))
            raise ValueError(f"unknown benchmark {name!r}; known are {known}")
        if library not in ("", "*"):
            if library not in LIBRARIES:
                known = ", ".join(LIBRARIES)
                raise ValueError(f"{name!r}: unknown library; known are {known}")
            libraries |= {"rapidsgraph", library}
        for each in tasks:
            graphs = suites.setdefault(TASKS[each].suite, {}).setdefault(each, [])
            graphs += [graph] if graph not in ("", "*") else []
    return suites, commands, libraries


def run_suite(suite: str, tasks: dict[str, list[str]], options: argparse.Namespace) -> list[Record]:
    """Run tasks of a suite, and return the records, which are saved after each task."""
    session = Session(suite, options, tasks=",".join(tasks))
    session.notes += missing_libraries(session.on_gpu)
    chosen = [TASKS[name] for name in tasks]
    print(f"{suite}: warming up", file=sys.stderr, flush=True)
    harness.warm_up(chosen, session)
    session.measure_copy_rate()
    graphs_of: dict[str, list[str]] = {}
    for task in chosen:
        default = task.gpu if session.on_gpu else task.cpu
        if not options.full:
            default = tuple(name for name in default if name in SHORT_GRAPHS)
        default = QUICK_GRAPHS if options.quick else default
        named = options.graphs or tasks[task.name]
        for graph in named or default:
            graphs_of.setdefault(graph, []).append(task.name)
    for workload in session.graphs(graphs_of):
        session.rows.append({"table": "graph"} | workload.facts() | workload.start_facts())
        for name in graphs_of[workload.name]:
            print(f"{workload.name}: {name}", file=sys.stderr, flush=True)
            harness.run_task(TASKS[name], workload, session)
    return session.finish()


def run_command(name: str, options: argparse.Namespace) -> int:
    """Run a command of this folder, and return its exit status."""
    line = [sys.executable, str(Path(__file__).with_name(f"{name}.py")), "--device", options.device]
    if options.output:
        line += ["--output", str(output_path(name, options))]
    line += ["--quick"] if options.quick else []
    line += ["--data", str(options.data)] if options.data else []
    return subprocess.run(line, check=False).returncode


def output_path(name: str, options: argparse.Namespace) -> Path:
    """Return the file of the records of a suite or a command on this machine."""
    if options.on_gpu:  # or the machine would be its CPU
        memory.import_gpu_libraries()
    return options.folder / f"{name}-{performance.machine_label(records.machine())}.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks; return the exit status."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("selected", nargs="*", metavar="NAME", help="see --list")
        parser.add_argument("--list", action="store_true", help="print names, missing libraries")
        parser.add_argument("--full", action="store_true", help="all graphs: takes longer")

    options = harness.parse_options(__doc__, arguments, add_options)
    if options.list:
        for suite, tasks in SUITES.items():
            for task in tasks:
                graphs = TASKS[task].gpu if options.on_gpu else TASKS[task].cpu
                print(f"{suite}: {task} on {', '.join(graphs)}")
        print(f"commands: {', '.join(COMMANDS)}", *missing_libraries(options.on_gpu), sep="\n")
        return 0
    try:
        suites, commands, libraries = select(options.selected)
    except ValueError as error:
        raise SystemExit(f"run.py: {error}") from error
    options.libraries = options.libraries or sorted(libraries) or None
    options.folder = options.output
    rows: list[Record] = []
    for suite, tasks in suites.items():
        options.output = options.folder and output_path(suite, options)
        rows += run_suite(suite, tasks, options)
    options.output = options.folder
    failed = [name for name in commands if run_command(name, options)]
    if options.quick:
        print("--quick: the graphs are tiny, and the figures mean nothing\n")
    print(performance.summary(rows))
    for line, is_ours in harness.failures(rows):
        print(f"{'problem' if is_ours else 'peer'}: {line}", file=sys.stderr)
    print(*(f"failed: {name}" for name in failed), sep="\n", file=sys.stderr)
    return 1 if failed else harness.exit_status(rows)


if __name__ == "__main__":
    sys.exit(main())
