"""Time Reddy's table 6.2: 1000 iterations of PageRank, serial and by implementations I, II and III.

    python pipelines/benchmarks/reddy.py [--device auto|cpu|gpu] [--graphs ego-Facebook,cit-DBLP]
                                         [--quick] [--output FILE] [--data FOLDER]

A run starts on a ready graph and ends with values on the host, in single precision; as in Reddy,
dangling mass is lost. I is our method node, II contribution. III was only planned there: our
method warp is similar, and on a GPU reddy_dynamic_parallelism.cu has it as planned, with child
kernels, and the same sums without them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np
from numba import njit

import rapidsgraph as rg
from pipelines.benchmarks import harness, reddy_dynamic_parallelism, timing
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import Effort, GraphSets, Session, Step, ignore_step
from pipelines.benchmarks.pagerank_papers import (
    CHILD_PER_LONG_LIST,
    CHILD_PER_VERTEX,
    DAMPING,
    NO_CHILDREN,
    REDDY_SECONDS,
    pagerank_formula,
    reddy_claims,
)
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.reddy_dynamic_parallelism import WarpSums
from pipelines.benchmarks.tasks import MAX_DISTANCE
from pipelines.benchmarks.timing import Clock
from rapidsgraph.graph.local_graph import LocalGraph

ITERATIONS, QUICK_ITERATIONS = 1000, 50
CONVERGED = 300  # iterations after which values in double precision are constant: 0.85^300 = 7e-22
MIN_CHILD_ITERATIONS, CHILD_BUDGET_MS = 20, 700  # of child kernels
LONG_LIST = 32  # neighbors; a child kernel cannot pay for fewer
ROUNDS, BUDGET = 10, 0.7  # Reddy's rounds; seconds for all of them
GRAPHS = GraphSets(cpu=tuple(REDDY_SECONDS), gpu=tuple(REDDY_SECONDS), quick=("rmat8", "karate"))


@njit
def serial_pagerank(offsets, neighbors, degrees, damping, iterations):
    """Evaluate listing 3.1: one thread, single precision, one division per edge."""
    vertices = len(degrees)
    values = np.full(vertices, np.float32(1.0) / np.float32(vertices), np.float32)
    new_values = np.empty(vertices, np.float32)
    teleport = (np.float32(1.0) - damping) / np.float32(vertices)
    for _ in range(iterations):
        for vertex in range(vertices):
            contribution = np.float32(0.0)
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                source = neighbors[edge]
                contribution += values[source] / np.float32(degrees[source])
            new_values[vertex] = teleport + damping * contribution
        values[:] = new_values
    return values


@dataclass(frozen=True)
class Implementation:
    """A row of the table."""

    name: str
    method: str
    note: str = ""

    def prepare(self, workload: Workload) -> Any:
        """Return the argument of `run`."""
        raise NotImplementedError

    def run(self, state: Any, iterations: int) -> np.ndarray:
        """Return the values after some iterations, by vertex id."""
        raise NotImplementedError

    def about(self, workload: Workload) -> Record:
        """Return the columns of a record that describe it, with Reddy's figures."""
        row: Record = {"implementation": self.name, "kind": self.method, "note": self.note}
        seconds = REDDY_SECONDS.get(workload.name, {})
        if self.name in seconds:
            row["paper_ms"] = round(1e3 * seconds[self.name], 3)
            row["paper_by_serial"] = float(f"{seconds['serial'] / seconds[self.name]:.3g}")
        return row

    def choose_iterations(self, state: Any, max_iterations: int, clock: Clock) -> int:
        """Return how many iterations to time."""
        return max_iterations

    def facts(self, state: Any) -> Record:
        """Return further columns of the record."""
        return {}


class Serial(Implementation):
    """Reddy's listing 3.1, on the host."""

    def prepare(self, workload: Workload) -> Any:
        csc = workload.graph.csc
        neighbors = to_host(csc.neighbors)
        degrees = np.bincount(neighbors, minlength=workload.vertices)
        return to_host(csc.offsets), neighbors, degrees.astype(np.int32)

    def run(self, state: Any, iterations: int) -> np.ndarray:
        return serial_pagerank(*state, np.float32(DAMPING), iterations)


class Method(Implementation):
    """A method of rapidsgraph."""

    def prepare(self, workload: Workload) -> LocalGraph:
        graph = workload.build()
        self.run(graph, 1)  # builds lists by destination, and a layout if the method has one
        return graph

    def run(self, state: LocalGraph, iterations: int) -> np.ndarray:
        result = rg.pagerank(
            state, damping=DAMPING, tolerance=0, max_iterations=iterations, dangling="drop",
            method=self.method, precision="single", progress=False,
        )  # fmt: skip
        return to_host(result["pagerank"])


class BlockSums(Implementation):
    """Sums by warps without child kernels, one block per vertex."""

    def prepare(self, workload: Workload) -> WarpSums:
        kernel = reddy_dynamic_parallelism.block_kernel()
        return WarpSums(workload.graph, kernel, DAMPING)

    def run(self, state: WarpSums, iterations: int) -> np.ndarray:
        return to_host(state.iterate(iterations))


@dataclass(frozen=True)
class ChildSums(BlockSums):
    """The same in child kernels, for lists of more than `max_inline` neighbors."""

    max_inline: int = 0

    def prepare(self, workload: Workload) -> WarpSums:
        compiler = reddy_dynamic_parallelism.working_compiler()
        kernel = reddy_dynamic_parallelism.child_kernel(compiler)
        reddy_dynamic_parallelism.allow_pending_launches(workload.vertices)
        return WarpSums(workload.graph, kernel, DAMPING, self.max_inline)

    def run(self, state: WarpSums, iterations: int) -> np.ndarray:
        values = to_host(state.iterate(iterations))
        state.check_launches()
        return values

    def choose_iterations(self, state: WarpSums, max_iterations: int, clock: Clock) -> int:
        """Return as many iterations as fit into the budget: each takes the same time."""
        self.run(state, 2)
        elapsed = clock.ms(lambda: self.run(state, MIN_CHILD_ITERATIONS)) / MIN_CHILD_ITERATIONS
        return int(min(max_iterations, max(MIN_CHILD_ITERATIONS, CHILD_BUDGET_MS / elapsed)))

    def facts(self, state: WarpSums) -> Record:
        lengths = state.xp.diff(state.offsets)
        compiler = reddy_dynamic_parallelism.working_compiler()
        return {"children": int((lengths > self.max_inline).sum()), "compiler": compiler}


def implementations(on_gpu: bool) -> list[Implementation]:
    """Return the rows of the table; only a GPU has child kernels."""
    rows: list[Implementation] = [
        Serial("serial", "listing 3.1", "one thread of the CPU"),
        Method("I", "node"),
        Method("II", "contribution"),
        Method("III", "warp", "without child kernels"),
    ]
    if on_gpu:
        note = f"{reddy_dynamic_parallelism.VERTEX_THREADS} threads for each vertex"
        rows += [
            ChildSums(
                CHILD_PER_VERTEX, "child kernels", "as planned, for every list that is not empty"
            ),
            ChildSums(
                CHILD_PER_LONG_LIST, "child kernels", f"for lists beyond {LONG_LIST}", LONG_LIST
            ),
            BlockSums(NO_CHILDREN, "the same sums", note),
        ]
    return [*rows, Method("auto", "auto", "ours, not Reddy's")]


class FormulaCache:
    """Reference values of a workload by number of iterations, computed on first use."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._values: dict[int, np.ndarray] = {}

    def after(self, iterations: int) -> np.ndarray:
        """Return the values after some iterations."""
        count, workload = min(iterations, CONVERGED), self.workload
        if count not in self._values:
            values = pagerank_formula(workload.xp, workload.vertices, *workload.arcs, count)
            self._values[count] = to_host(values)
        return self._values[count]


def measure(
    workload: Workload,
    contenders: Sequence[Implementation],
    effort: Effort,
    clock: Clock,
    max_iterations: int = ITERATIONS,
    step: Step = ignore_step,
) -> list[Record]:
    """Return a record for each implementation: checked, then timed in turns."""
    references = FormulaCache(workload)
    rows: dict[Implementation, Record] = {}
    jobs: dict[Implementation, Callable[[], float]] = {}
    for implementation in contenders:
        step(f"{workload.name}: {implementation.name}")
        row: Record = {"table": "Reddy", "graph": workload.name, "vertices": workload.vertices}
        row |= {"edges": int(workload.rows)} | implementation.about(workload)
        rows[implementation] = row
        prepare = partial(
            prepare_job, implementation, workload, references, row, clock, max_iterations
        )
        if job := harness.try_call(row, prepare):
            jobs[implementation] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, effort.build_budget, clock)
    by_name = {implementation.name: own_times for implementation, own_times in times.items()}
    for implementation, own_times in times.items():
        row = rows[implementation]
        row["thousand_ms"] = timing.summary(own_times)
        if implementation.name != "serial" and "serial" in by_name:
            row["by_serial"] = timing.paired_ratio(by_name["serial"], own_times)
        if implementation.name != "auto" and "auto" in by_name:
            row["by_auto"] = timing.paired_ratio(own_times, by_name["auto"])
    return list(rows.values())


def prepare_job(
    implementation: Implementation,
    workload: Workload,
    references: FormulaCache,
    row: Record,
    clock: Clock,
    max_iterations: int,
) -> Callable[[], float] | None:
    """Check an implementation; return the job that gives the milliseconds of `max_iterations`."""
    build_ms, state = clock.timed(lambda: implementation.prepare(workload))
    iterations = implementation.choose_iterations(state, max_iterations, clock)
    values, expected = implementation.run(state, iterations), references.after(iterations)
    problem = compare_pagerank(values, expected, MAX_DISTANCE["single"], "formula (1)")
    row["check"] = problem or "ok"
    if problem:
        return None
    if isinstance(implementation, Method):
        row["build_ms"] = timing.summary([build_ms])
    row |= implementation.facts(state)
    if iterations < max_iterations:
        remark = f"{max_iterations} extrapolated from {iterations}"
        row["note"] = f"{row['note']}; {remark}" if row["note"] else remark
    scale = max_iterations / iterations
    return lambda: clock.ms(lambda: implementation.run(state, iterations)) * scale


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options("Time Reddy's table 6.2.", arguments, GRAPHS)
    iterations = QUICK_ITERATIONS if options.quick else ITERATIONS
    session = Session("reddy", options, seed=SEED, precision="single", iterations=iterations)
    contenders = implementations(options.on_gpu)
    if not options.on_gpu:
        session.notes.append("III with child kernels is left out: only a GPU has them")
    machine = session.start["machine"]
    where = f"{machine['cores']} cores ({machine['cpu']})"
    where = f"{machine['gpu']} and {where}" if options.on_gpu else where
    rounds = options.effort.rounds if options.quick else ROUNDS
    effort = replace(options.effort, rounds=rounds, build_budget=BUDGET)
    all_rows: list[Record] = []
    with harness.progress("Reddy", len(options.names) * (len(contenders) + 1) + 1) as step:
        step("warming up")
        measure(load("rmat6", session.xp), contenders, harness.QUICK, session.clock, 2)
        for workload in session.graphs(options.names):
            failure: Record = {}
            run = partial(measure, workload, contenders, effort, session.clock, iterations, step)
            if rows := harness.try_call(failure, run):
                all_rows += rows
                session.rows = [*all_rows, *reddy_claims(all_rows, where)]
                session.save()
            else:
                text = f"{workload.name}: nothing was measured, {failure['check']}"
                session.notes.append(text)
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
