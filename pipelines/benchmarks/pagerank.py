"""Time PageRank, ours and peers': an iteration, the first call, and whole runs.

    python pipelines/benchmarks/pagerank.py [--device auto|cpu|gpu] [--graphs rmat18,NY]
                                            [--quick] [--output FILE] [--data FOLDER]

The time of an iteration is the difference of a long and a short run on a ready graph, divided by
the difference of their iterations. Answers are checked in the same run: rapidsgraph.verify passes
the reference, and an adapter with other values gets no time. README.md in this folder explains the
columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

import numpy as np

import rapidsgraph as rg
from pipelines.benchmarks import harness, roofline, timing
from pipelines.benchmarks.adapters import registry
from pipelines.benchmarks.adapters.interface import (
    DAMPING,
    MAX_DISTANCE,
    MAX_ITERATIONS,
    PageRankAdapter,
    select_supported,
)
from pipelines.benchmarks.adapters.rapidsgraph import RapidsgraphPageRank, pagerank_adapters
from pipelines.benchmarks.answers import compare_pagerank, to_host
from pipelines.benchmarks.graphs import SEED, Workload, load
from pipelines.benchmarks.harness import Effort, GraphSets, Step, ignore_step
from pipelines.benchmarks.records import Record
from pipelines.benchmarks.timing import Clock
from rapidsgraph.device.arrays import Array

GRAPHS = GraphSets(
    cpu=("rmat18", "NY", "grid1000", "ego-Facebook", "cit-DBLP", "cnr-2000"),
    gpu=("rmat22", "grid1400", "ego-Facebook", "cit-DBLP", "cnr-2000"),
    quick=("rmat8", "grid16"),
)
CHECKED_ITERATIONS = 3  # compared too, because fewer iterations than requested would look fast
SMALL = 20_000  # vertices; such graphs also run 1000 iterations, as in Reddy


def reference_pagerank(workload: Workload) -> Array:
    """Return values that rapidsgraph.verify has passed, or raise VerificationError."""
    graph = workload.graph
    result = rg.pagerank(graph, tolerance=1e-12, max_iterations=MAX_ITERATIONS, progress=False)
    rg.verify.pagerank(graph, result, tolerance=1e-11)
    return workload.xp.asarray(result["pagerank"])


def pagerank_after(workload: Workload, iterations: int) -> Array:
    """Return the values after some iterations, by the formula alone."""
    xp, vertices = workload.xp, workload.vertices
    sources, destinations = workload.arcs
    degrees = xp.bincount(sources, minlength=vertices)
    values = xp.full(vertices, 1 / vertices)
    for _ in range(iterations):
        contributions = (values / xp.maximum(degrees, 1))[sources]
        sums = xp.bincount(destinations, weights=contributions, minlength=vertices)
        dangling_mass = float(values[degrees == 0].sum())
        values = DAMPING * (sums + dangling_mass / vertices) + (1 - DAMPING) / vertices
    return values


def check_answer(adapter: PageRankAdapter, answer: Any, reference: Array, xp: Any) -> str | None:
    """Return the problem of an answer, or None."""
    values = xp.asarray(adapter.by_vertex(answer))
    return compare_pagerank(values, reference, MAX_DISTANCE[adapter.precision])


def measure(
    workload: Workload,
    adapters: Sequence[PageRankAdapter],
    effort: Effort,
    clock: Clock,
    step: Step = ignore_step,
) -> list[Record]:
    """Return the records of one graph: all adapters are checked, and correct ones take turns."""
    reference = reference_pagerank(workload)
    rows: dict[PageRankAdapter, Record] = {}
    jobs: dict[PageRankAdapter, Callable[[], float]] = {}
    for adapter in adapters:
        step(f"{workload.name}: {adapter}")
        row: Record = {"table": "pagerank", "graph": workload.name} | adapter.about()
        rows[adapter] = row
        prepare = partial(prepare_job, adapter, workload, reference, row, effort, clock)
        if job := harness.try_call(row, prepare):
            jobs[adapter] = job
    step(f"{workload.name}: taking turns")
    times = timing.rounds(jobs, effort.rounds, 2 * effort.build_budget, clock)
    for adapter, row in rows.items():
        if adapter in times:
            row["iteration_ms"] = timing.summary(times[adapter])
        if row["check"] == "ok" and isinstance(adapter, RapidsgraphPageRank):
            nbytes = roofline.pagerank_bytes(workload, adapter.precision)
            row |= timing.roofline_ms(clock, nbytes)
    add_ratios(rows, times)
    return list(rows.values())


def prepare_job(
    adapter: PageRankAdapter,
    workload: Workload,
    reference: Array,
    row: Record,
    effort: Effort,
    clock: Clock,
) -> Callable[[], float] | None:
    """Check an adapter and time everything but an iteration; return the job that times one."""
    state = adapter.ready_state(workload)
    if adapter.counts_iterations:
        adapter.iterate(state, 1)  # builds a layout, if the method has one
    first, answer = clock.timed(lambda: adapter.solve(state))
    problem = check_answer(adapter, answer, reference, workload.xp)
    if not problem and adapter.counts_iterations and adapter.gives_pagerank:
        answer = adapter.iterate(state, CHECKED_ITERATIONS)
        expected = pagerank_after(workload, CHECKED_ITERATIONS)
        if problem := check_answer(adapter, answer, expected, workload.xp):
            problem = f"{problem} after {CHECKED_ITERATIONS} iterations"
    row["check"] = problem or "ok"
    if problem:
        return None
    budget = effort.run_budget
    solve = clock.repeated(lambda: adapter.solve(state), 3, budget, first=first)
    row["solve_ms"] = timing.summary(solve)
    is_ours = isinstance(adapter, RapidsgraphPageRank)
    if not is_ours or adapter.implementation == "auto":
        build = clock.repeated(lambda: adapter.prepare(workload), 5, budget)
        row["build_ms"] = timing.summary(build)
    if not adapter.counts_iterations:
        return None
    if is_ours:
        add_whole_runs(adapter, workload, row, effort, clock)
    max_iterations = min(adapter.max_iterations, effort.max_iterations)
    if workload.vertices <= SMALL and max_iterations >= 1000:
        thousand = clock.repeated(lambda: adapter.iterate(state, 1000), 5, budget)
        row["thousand_ms"] = timing.summary(thousand)
    iterate = partial(adapter.iterate, state)
    short, long = timing.plan_iterations(clock, iterate, effort.iteration_time, max_iterations)
    row["iterations"] = [short, long]
    return partial(timing.per_iteration, clock, iterate, short, long)


def add_whole_runs(
    adapter: PageRankAdapter, workload: Workload, row: Record, effort: Effort, clock: Clock
) -> None:
    """Time the first call of a method, and runs that start with the columns."""
    first = []
    for _ in range(3):
        graph = adapter.prepare(workload)
        first.append(clock.ms(lambda: adapter.iterate(graph, 1)))  # noqa: B023
    row["first_ms"] = timing.summary(first)
    columns = [to_host(values) for values in (workload.source, workload.destination)]

    def run_from_host() -> np.ndarray:
        source, destination = map(workload.xp.asarray, columns)
        on_device = replace(workload, source=source, destination=destination)
        return to_host(adapter.iterate(adapter.prepare(on_device), 10))

    if adapter.precision == "single":
        row["ten_ms"] = timing.summary(clock.repeated(run_from_host, 3, effort.run_budget))
    if workload.vertices <= SMALL and effort.max_iterations >= 1000:
        whole = clock.repeated(
            lambda: adapter.iterate(adapter.prepare(workload), 1000), 5, effort.run_budget
        )
        row["thousand_frame_ms"] = timing.summary(whole)


def add_ratios(
    rows: Mapping[PageRankAdapter, Record], times: Mapping[PageRankAdapter, Sequence[float]]
) -> None:
    """Add the ratio to our `auto` in the same precision, in the same rounds."""
    own = {
        adapter.precision: adapter
        for adapter in rows
        if isinstance(adapter, RapidsgraphPageRank) and adapter.implementation == "auto"
    }
    for adapter, row in rows.items():
        ours = own.get(adapter.precision)
        if ours is None or row["check"] != "ok" or rows[ours]["check"] != "ok":
            continue
        if adapter in times:
            row["ratio"] = timing.paired_ratio(times[adapter], times[ours])
        else:
            solves = [rows[a]["solve_ms"]["median"] for a in (adapter, ours)]
            row["ratio"] = timing.paired_ratio(solves[:1], solves[1:])


def run_once(adapter: PageRankAdapter, workload: Workload) -> None:
    """Run everything once, to compile kernels."""
    state = adapter.ready_state(workload)
    adapter.solve(state)
    if adapter.counts_iterations:
        adapter.iterate(state, 2)


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Run the benchmark, and return its records."""
    options = harness.parse_options("Time PageRank, ours and peers'.", arguments, GRAPHS)
    session = harness.Session("pagerank", options, seed=SEED)
    clock, xp = session.clock, session.xp
    available: list[PageRankAdapter] = [*pagerank_adapters(on_gpu=options.on_gpu)]
    available += session.peers(registry.pagerank_peers)
    adapters = session.select_libraries(available)
    num_steps = len(options.names) * (len(adapters) + 1) + 1
    with harness.progress("PageRank", num_steps) as step:
        step("warming up")
        tiny = load("rmat6", xp)
        harness.warm_up((tiny, replace(tiny, directed=False)), adapters, run_once)
        session.measure_copy_rate(options.effort)
        for workload in session.graphs(options.names):
            supported = select_supported(adapters, workload, session.notes)
            try:
                rows = measure(workload, supported, options.effort, clock, step)
            except rg.GraphError as error:  # also a reference that verify rejects
                session.notes.append(f"{workload.name}: nothing was measured: {error}")
                continue
            columns = (workload.source, workload.destination)
            transfers = timing.transfers(clock, columns, workload.vertices, np.float32)
            session.rows += [{"table": "graph"} | workload.facts() | transfers, *rows]
            session.save()
    return session.finish()


if __name__ == "__main__":
    sys.exit(harness.exit_status(main()))
