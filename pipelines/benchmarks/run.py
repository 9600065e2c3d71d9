"""Compare libraries on tasks, and print and save the records.

    python pipelines/benchmarks/run.py [TASK ...] [--full] [--output FOLDER] [--device cpu|gpu]
    python pipelines/benchmarks/run.py --list

A TASK is one of the list, or a suite of it, by default every suite, on few graphs; with `--full` on
all of its graphs, and with `--graphs` on these. There is a record per suite.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import harness, performance, records
from pipelines.benchmarks.adapters import missing_libraries
from pipelines.benchmarks.harness import Session
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import QUICK_GRAPHS, SHORT_GRAPHS, SUITES, TASKS, Task


def graphs_of(task: Task, options: argparse.Namespace) -> Sequence[str]:
    """Return the names of the graphs that a task runs on."""
    if options.graphs or options.quick:
        return options.graphs or QUICK_GRAPHS
    names = task.gpu if options.on_gpu else task.cpu
    return names if options.full else [name for name in names if name in SHORT_GRAPHS]


def run_suite(suite: str, tasks: Sequence[Task], options: argparse.Namespace) -> list[Record]:
    """Run tasks of a suite, and return the records, which are saved after each task."""
    session = Session(suite, options, tasks=",".join(task.name for task in tasks))
    session.notes += missing_libraries(session.on_gpu)
    print(f"{suite}: warming up", file=sys.stderr, flush=True)
    harness.warm_up(tasks, session)
    session.measure_copy_rate()
    names = dict.fromkeys(name for task in tasks for name in graphs_of(task, options))
    for workload in session.graphs(names):
        session.rows.append({"table": "graph"} | workload.facts())
        for task in (task for task in tasks if workload.name in graphs_of(task, options)):
            print(f"{workload.name}: {task.name}", file=sys.stderr, flush=True)
            harness.run_task(task, workload, session)
    return session.finish()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks; return the exit status."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("tasks", nargs="*", metavar="TASK", help="see --list")
        parser.add_argument("--list", action="store_true", help="print names, missing libraries")
        parser.add_argument("--full", action="store_true", help="all graphs: takes longer")

    options = harness.parse_options(__doc__, arguments, add_options)
    options.full = options.full or options.list
    if options.list:
        for task in TASKS.values():
            print(f"{task.suite}: {task.name} on {', '.join(graphs_of(task, options))}")
        print(*missing_libraries(options.on_gpu), sep="\n")
        return 0
    if unknown := [name for name in options.tasks if name not in (*SUITES, *TASKS)]:
        known = ", ".join(dict.fromkeys([*SUITES, *TASKS]))
        raise SystemExit(f"run.py: unknown task {unknown[0]!r}; known are {known}")
    rows: list[Record] = []
    folder, label = options.output, performance.machine_label(records.machine())
    for suite, names in SUITES.items():
        chosen = [TASKS[name] for name in names
                  if not options.tasks or {suite, name} & set(options.tasks)]  # fmt: skip
        if chosen:
            options.output = folder and folder / f"{suite}-{label}.jsonl"
            rows += run_suite(suite, chosen, options)
    print(performance.summary(rows))
    for line, is_ours in harness.failures(rows):
        print(f"{'problem' if is_ours else 'peer'}: {line}", file=sys.stderr)
    return harness.exit_status(rows)


if __name__ == "__main__":
    sys.exit(main())
