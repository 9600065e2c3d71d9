"""Run benchmarks by name, print their tables, and save their records.

    python pipelines/benchmarks/run.py [NAME ...] [--full] [--output FOLDER] [--device cpu|gpu]
    python pipelines/benchmarks/run.py --list

A NAME is that of a record of `results`, or a task of the suites that compare libraries. By default
all of these run, on few graphs; with `--full` on all of theirs, and with `--graphs` on these.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from pipelines.benchmarks import (
    cluster,
    comparisons,
    frames,
    gpuscan,
    harness,
    kim,
    layers,
    networkx_backend,
    performance,
    reddy,
    sanitizer,
    scaling,
    small,
    startup,
)
from pipelines.benchmarks.adapters import missing_libraries
from pipelines.benchmarks.harness import Suite
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.tasks import COMPARISONS, TASKS

CUGRAPH = ("build", "build and iterate", "pagerank", "bfs", "sssp", "components",
           "strong components", "triangle_count", "core_number")  # fmt: skip
FRAMES = [task.name for task in COMPARISONS["structure"]]
SUITES = {
    suite.name: suite
    for suite in (
        kim.SUITE, reddy.SUITE, gpuscan.SUITE, layers.SUITE, scaling.SUITE, small.SUITE,
        frames.SUITE, cluster.SUITE, networkx_backend.SUITE, sanitizer.SUITE,
        Suite("startup", startup.measurements, in_processes=True),
        replace(layers.SUITE, name="layers-large", options={"only": ["large"]}),
        replace(frames.SUITE, name="frames-structure",
                options={"only": FRAMES, "graphs": ["rmat12-8"]}),
        replace(cluster.SUITE, name="cluster-build",
                options={"only": ["pagerank"], "workers": ["2"]}),
        replace(scaling.SUITE, name="cugraph",
                options={"only": CUGRAPH, "graphs": ["rmat20-16", "rmat22-16"]}),
        replace(scaling.SUITE, name="cugraph-large",
                options={"only": [*CUGRAPH[2:7], "core_number", *CUGRAPH[:2]],
                         "graphs": ["rmat24-40"]}),
    )
}  # fmt: skip


def select(names: Sequence[str]) -> Iterator[Suite]:
    """Yield the suites of names; those that compare libraries have the tasks that are named."""
    for suite, tasks in COMPARISONS.items():
        chosen = [task for task in tasks if not names or {suite, task.name} & {*names}]
        if chosen:
            yield Suite(suite, partial(comparisons.compare_libraries, chosen))
    yield from (suite for name, suite in SUITES.items() if name in names)


def run(arguments: Sequence[str] | None = None) -> list[Record]:
    options = harness.parse_options(__doc__, arguments)
    known = [*COMPARISONS, *TASKS, *SUITES]
    if unknown := [name for name in options.names if name not in known]:
        raise SystemExit(f"run.py: unknown name {unknown[0]!r}; known are {', '.join(known)}")
    if options.list:
        print_names(options)
        return []
    suites = list(select(options.names))
    if len(suites) > 1 and options.output and options.output.suffix == ".jsonl":
        raise SystemExit(f"run.py: --output {options.output} is one file, for one suite")
    return [row for suite in suites for row in suite.run(options)]


def print_names(options: argparse.Namespace) -> None:
    options.full = True
    for task in TASKS.values():
        print(f"{task.suite}: {task.name} on {', '.join(comparisons.graphs_of(task, options))}")
    print(*SUITES, *missing_libraries(options.on_gpu), sep="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    rows = run(arguments)
    if not rows:  # --list
        return 0
    if comparisons := list(performance.compare(rows)):
        print(f"## Ours and the fastest peer\n\n{performance.comparison_table(comparisons)}\n")
    for line, is_ours in harness.failures(rows):
        print(f"{'problem' if is_ours else 'peer'}: {line}", file=sys.stderr)
    if (status := harness.exit_status(rows)) == harness.EXIT_NOTHING_MEASURED:
        print("run.py: nothing was measured", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
